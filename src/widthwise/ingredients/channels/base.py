r"""What every output channel P_out(y | λ) gives to the theory, to the errors and to the learners.

With ω = shift + ξ√q, ξ a standard Gaussian, and V = r - q the *gap*, all follows from the predictive law
(eq. defPsiPout of arXiv:2505.24849)

.. math:: Z(y; \omega, V) = E_u P_\mathrm{out}(y \mid \omega + u\sqrt V),

through  ψ = E_ξ ∫dy Z ln Z,  ψ' = ½ E_ξ ∫dy Z (∂_ω ln Z)²,  ψ'' = ½ E_ξ ∫dy Z (∂²_ω ln Z)².
The second is half the Fisher information of a label on λ (Nishimori); the third follows from it by the
heat equation ∂_q Z = -½ ∂²_ω Z.  Functions take the gap, not q, which keeps digits near perfect learning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import Array, Bools
from ..._bad_value import shown
from .rules import panels

__all__ = ["Channel", "positive", "set_shift", "special"]

# Gaps below this are taken for it: a curvature V^(-3/2), of labels without noise, still fits a float there.
_LEAST_GAP = 1e-190
# In the root of the gap, where ψ' is smooth up to 0 or diverges as 1/root, graded towards 0 and towards the
# largest gap, where ψ' of labels that do not tell the sign of λ has a root of its own.
_DEFICIT_EDGES = np.array([0.0, 2.0**-9, 2.0**-6, 2.0**-4, 2.0**-2, 0.75, 1 - 2.0**-4, 1 - 2.0**-7, 1.0])


class Channel:
    """An output channel; see the module for the functions it stands for."""

    name: ClassVar[str]
    is_additive: ClassVar[bool] = False
    """Whether P_out(y | λ) depends on y - λ only (then the mean of the activation drops out)."""

    shift: float | None = None
    """Mean μ₀Λ of λ, with Λ = Σv_i/√k; None is 0, and refused where it has to be stated."""

    labels: tuple[float, ...] | None = None
    """The labels if there are finitely many, else None."""

    is_discrete: bool = False
    """Whether labels are single values and not an interval."""

    is_noiseless: bool = False
    """Whether λ determines the label through a jump, so that ψ_out' diverges when the gap closes."""

    breaks: tuple[float, ...] = ()
    """Values of λ at which P_out(y | λ) is not smooth."""

    @property
    def spec(self) -> dict[str, Any]:
        """What :func:`resolve` turns back into this channel."""
        fields = {key: value for key, value in vars(self).items() if key != "shift" or value is not None}
        return {"kind": self.name, **fields}

    def __repr__(self) -> str:
        fields = [repr(value) for key, value in vars(self).items() if key != "shift"]
        if self.shift is not None:
            fields.append(f"shift={self.shift!r}")
        return f"channels.{type(self).__name__}({', '.join(fields)})"

    @property
    def centre(self) -> float:
        """The mean of λ as a number."""
        return 0.0 if self.shift is None else self.shift

    # ------------------------------------------------------------------ one label

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        """ln P_out(y | λ) elementwise, in the arithmetic of ``xp`` (numpy or jax.numpy)."""
        raise NotImplementedError

    def check_labels(self, labels: ArrayLike) -> Array:
        """The labels as an array, or a ValueError that names one the channel cannot give."""
        y = np.asarray(labels, dtype=float)
        bad = ~np.isfinite(y) | ~self._is_possible(y)
        if np.any(bad):
            raise ValueError(
                f"{y[bad].flat[0]:g} is no label of {self!r} ({np.count_nonzero(bad)} of {y.size} labels "
                f"are outside): labels are {self._label_words()}"
            )
        return y

    def _is_possible(self, labels: Array) -> Bools:
        return np.isin(labels, self.labels) if self.labels is not None else np.ones(labels.shape, dtype=bool)

    def _label_words(self) -> str:
        if self.labels is None:
            return "finite numbers"
        return " or ".join(f"{label:g}" for label in self.labels)

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> Array:
        """One label for each output λ."""
        raise NotImplementedError

    def mean(self, outputs: ArrayLike) -> Array:
        """E[y | λ]."""
        raise NotImplementedError

    def predictive(self, omega: ArrayLike, gap: float, power: float) -> tuple[Array, Array]:
        """The law of a label given ω, as labels and probabilities of shape (ω, labels).

        For continuous labels these are quadrature nodes, and Z times their weights. ``gap`` may
        be 0, which is P_out itself; ω includes the shift.
        """
        raise NotImplementedError

    def output_derivatives(
        self, labels: ArrayLike, omega: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, Array]:
        """∂_ω ln Z and -∂²_ω ln Z at each label, for message passing; variance > 0."""
        y, omega, variance = np.broadcast_arrays(
            np.asarray(labels, dtype=float), np.asarray(omega, dtype=float), np.asarray(variance, dtype=float)
        )
        shape = y.shape
        y, omega, root = y.reshape(-1), omega.reshape(-1), np.sqrt(variance).reshape(-1)
        u = np.linspace(-8.0, 8.0, 161)
        moments = np.empty((2, y.size))
        for i in range(0, y.size, 4096):
            part = slice(i, i + 4096)
            log_weight = self.log_likelihood(y[part, None], omega[part, None] + root[part, None] * u)
            log_weight = log_weight - 0.5 * u**2
            weight = np.exp(log_weight - np.max(log_weight, axis=1, keepdims=True))
            weight /= weight.sum(axis=1, keepdims=True)
            mean = weight @ u
            moments[:, part] = mean, np.sum(weight * (u - mean[:, None]) ** 2, axis=1)
        return (moments[0] / root).reshape(shape), ((1 - moments[1]) / root**2).reshape(shape)

    # ------------------------------------------------------------------ what the theory asks for

    def _evaluate(self, gap: Array, power: float) -> Array:
        """ψ, ψ', ψ'' and the mean-square Bayes error at each gap (one axis), of shape (4, n)."""
        raise NotImplementedError

    def _values(self, which: int | slice, gap: ArrayLike, power: float) -> Array:
        return self._at_gaps(lambda gap: self._evaluate(gap, float(power))[which], gap, power)

    def _at_gaps(self, function: Callable[[Array], Array], gap: ArrayLike, power: float) -> Array:
        """A function of gaps on one axis (its last), at gaps of any shape; NaN where a gap is."""
        gap = np.asarray(gap, dtype=float)
        if np.any(gap < 0):
            raise ValueError(f"the gap r - q must be >= 0, got {np.min(gap):g}")
        # A gap may underflow to 0, where some channels have no finite slope, and exceed r by rounding.
        flat = np.clip(gap.reshape(-1), _LEAST_GAP, power)
        is_unknown = np.isnan(flat)  # a Newton step may have left the domain
        found = function(np.where(is_unknown, power, flat))
        if is_unknown.any():
            found = np.where(is_unknown, np.nan, found)
        return found.reshape(found.shape[:-1] + gap.shape)

    def free_entropy(self, gap: ArrayLike, power: float) -> Array:
        """ψ_out at q = power - gap."""
        return self._values(0, gap, power)

    def free_entropy_slope(self, gap: ArrayLike, power: float) -> Array:
        """∂ψ_out/∂q >= 0."""
        return self._values(1, gap, power)

    def free_entropy_curvature(self, gap: ArrayLike, power: float) -> Array:
        """∂²ψ_out/∂q² >= 0."""
        return self._values(2, gap, power)

    def free_entropy_slopes(self, gap: ArrayLike, power: float) -> tuple[Array, Array]:
        """∂ψ_out/∂q and ∂²ψ_out/∂q², for less than the cost of two."""
        slope, curvature = self._values(slice(1, 3), gap, power)
        return slope, curvature

    def free_entropy_known(self, power: float) -> float:
        """ψ_out(power; power): minus the entropy of the label given λ."""
        raise NotImplementedError

    def free_entropy_deficit(self, gap: ArrayLike, power: float) -> Array:
        """ψ_out(power; power) - ψ_out at the gap, >= 0: a label's information on λ that is still to be had.

        Where it is small it is the integral of ψ_out', so that it keeps its relative accuracy however small.
        """
        gap = np.asarray(gap, dtype=float)
        known = self.free_entropy_known(power)
        result = known - self.free_entropy(gap, power)
        is_small = result < 0.05 * (1 + abs(known))
        if is_small.any():
            x, w = panels(_DEFICIT_EDGES)
            nodes = np.minimum(gap, power)[is_small, None] * x**2
            slope = self.free_entropy_slope(np.maximum(nodes, _LEAST_GAP), power)
            result = np.array(result)
            result[is_small] = np.sum(slope * (2 * w * x), axis=-1) * np.minimum(gap, power)[is_small]
        return result

    def irreducible_error(self, power: float) -> float:
        """Mean-square error that is left when λ is known, E Var(y | λ); inf if labels have no variance."""
        raise NotImplementedError

    def bayes_error(self, gap: ArrayLike, power: float) -> Array:
        """Mean-square error of the optimal prediction of a fresh label; inf if labels have no variance."""
        return self._values(3, gap, power)

    def gibbs_error(self, gap: ArrayLike, power: float) -> Array:
        """Mean-square error of the prediction E[y | λ] by one draw from the posterior.

        ε_Gibbs - ε_∞ = 2 (ε_opt - ε_∞) for any channel, ε_∞ the irreducible error: with
        m(ξ) = E[y | ξ] it is E y² - 2E m² + E E[y|λ]², while ε_opt = E y² - E m². All three are inf for
        labels without variance, such as those with Cauchy noise.
        """
        floor = self.irreducible_error(power)
        bayes = self.bayes_error(gap, power)
        return bayes if math.isinf(floor) else 2 * bayes - floor


def positive(value: Any, what: str, *, zero: bool = False) -> float:
    """A finite number > 0, or a ValueError that says what it is and why."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = float(value)
    except OverflowError:
        raise ValueError(f"{what} must be > 0 and finite; got {shown(value)}") from None
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be a number, got {shown(value)}") from None
    if not (math.isfinite(number) and (number > 0 or (zero and number == 0))):
        raise ValueError(f"{what} must be > 0 and finite; got {number:g}")
    return number


def set_shift(channel: Channel) -> None:
    """Check the shift of a frozen channel and store it as a float."""
    if channel.shift is None:
        return
    try:
        shift = float(channel.shift)
    except (TypeError, ValueError):
        raise ValueError(f"shift must be a number (mean of the output), got {channel.shift!r}") from None
    if not math.isfinite(shift):
        raise ValueError(f"shift must be finite (mean of the output); got {shift:g}")
    object.__setattr__(channel, "shift", shift)


def special(xp: Any) -> Any:
    """The special functions that go with ``xp``; imported late, for both take long to load."""
    if xp is np:
        import scipy.special as functions
    else:
        import jax.scipy.special as functions
    return functions

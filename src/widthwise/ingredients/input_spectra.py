r"""Laws of the inputs: Gaussian with a covariance C, of which the eigenvalues e (mean 1) are all that counts.

With Gaussian weights a unit sees the direction of eigenvalue e through a Gaussian channel of snr xe, and its
overlap wᵀCw⁰/d is the average over the spectrum

.. math:: \psi(x) = E_e\,\tfrac12[xe - \ln(1 + xe)], \qquad q = 2\psi'(x) = E_e\frac{xe^2}{1 + xe}, \qquad
          1 - q = E_e\frac{e}{1 + xe}

(arXiv:2510.24616). Everything else of the theory stays as it is, provided that the activation has no
quadratic part: the matrix WᵀD_vW seen through C is not invariant under rotations, and no formula for it is
known.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .._bad_value import BadValue, Remedy
from .descriptions import Described
from .finite_laws import ROUNDING
from .scalar_channel import ChannelValues, gaussian_channel
from .weights import Gaussian as GaussianWeights

__all__ = [
    "MOST_EIGENVALUES",
    "Gaussian",
    "GaussianOnSpectrum",
    "InputLaw",
    "Isotropic",
    "PowerLaw",
    "Spiked",
    "require_isotropic",
]

MOST_EIGENVALUES = 4096
"""Of a law: each is a term of every average."""

_LAST_DIGITS = 1e-13  # of a sum of thousands of numbers
_CHUNK = 2_000_000  # numbers at a time in an average over the spectrum


class InputLaw(Described):
    """Centred Gaussian inputs; the covariance has trace d."""

    _module = "inputs"
    is_isotropic: bool = False
    eigenvalues: tuple[float, ...]
    """Distinct eigenvalues of the covariance, largest first; their mean is 1."""
    probabilities: tuple[float, ...]
    """Shares of the directions."""
    is_data: bool = False
    rows: Array | None = None
    """The samples themselves, one a row, where the inputs are data and not Gaussian."""

    @property
    def assumption(self) -> str:
        """What the theory takes for granted about these inputs, in a sentence; empty if nothing."""
        if not self.is_data:
            return ""
        return (
            f"the theory takes the inputs as Gaussian with the covariance of {self.name}: on the data "
            "themselves it is an approximation, and the optimum may lie on either side of it"
        )

    @property
    def mean_square(self) -> float:
        """E e² = tr C²/d: 1 for white inputs; d/(E e²) directions count, roughly."""
        e, p = np.array(self.eigenvalues), np.array(self.probabilities)
        return float(p @ e**2)

    def layout(self, d: int) -> Array:
        """Eigenvalues of d directions, largest first: the law without its sampling noise, mean 1."""
        e, p = np.array(self.eigenvalues), np.array(self.probabilities)
        at = np.searchsorted(np.cumsum(p) / p.sum(), (np.arange(d) + 0.5) / d)
        found = e[np.minimum(at, e.size - 1)]
        if not found.any():
            raise BadValue("inputs", f"{{field}} {self.name} leave no direction with variance at d = {d}")
        return np.asarray(found / found.mean())

    def root(self, d: int) -> Array | None:
        """R with RRᵀ = C: its diagonal for Gaussian inputs, whose axes are eigenvectors; None for C = 1."""
        if self.is_isotropic:
            return None
        if not self.is_data:
            return np.asarray(np.sqrt(self.layout(d)))
        assert self.rows is not None
        e, axes = np.linalg.eigh(self.rows.T @ self.rows / len(self.rows))
        return np.asarray(axes * np.sqrt(np.maximum(e, 0.0)))

    def sample(self, rng: np.random.Generator, d: int, n: int) -> NDArray[np.float32]:
        """Independent inputs, d × n, in single precision; data are not drawn by this."""
        x = rng.standard_normal((d, n), dtype=np.float32)
        if not self.is_isotropic:
            x *= np.sqrt(self.layout(d)).astype(np.float32)[:, None]
        return x


@dataclass(frozen=True, repr=False)
class Isotropic(InputLaw):
    """White inputs, C = 1."""

    is_isotropic = True
    eigenvalues = (1.0,)
    probabilities = (1.0,)


@dataclass(frozen=True, init=False, repr=False)
class Gaussian(InputLaw):
    """Gaussian inputs whose covariance has given eigenvalues, of mean 1.

    Parameters
    ----------
    eigenvalues : sequence of numbers >= 0
        Of the covariance, in any order; 0 is a direction that the inputs do not have.
    probabilities : sequence, optional
        Shares of the directions; by default all eigenvalues have the same.
    normalise : bool
        Divide the eigenvalues by their mean instead of refusing another one than 1.
    """

    eigenvalues: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __init__(
        self,
        eigenvalues: tuple[float, ...],
        probabilities: tuple[float, ...] | None = None,
        *,
        normalise: bool = False,
    ) -> None:
        e, p = _spectrum(eigenvalues, probabilities, normalise)
        object.__setattr__(self, "eigenvalues", tuple(e.tolist()))
        object.__setattr__(self, "probabilities", tuple(p.tolist()))

    @property
    def spec(self) -> dict[str, Any]:
        columns = {"eigenvalues": list(self.eigenvalues), "probabilities": list(self.probabilities)}
        return {"kind": "gaussian"} | columns

    @property
    def name(self) -> str:
        if len(self.eigenvalues) <= 4:
            return f"covariance({', '.join(f'{e:.3g}' for e in self.eigenvalues)})"
        return f"covariance of {len(self.eigenvalues)} eigenvalues"


class _Written(InputLaw):
    """A spectrum that a few numbers describe."""

    def _values(self) -> tuple[Array, Array | None]:
        raise NotImplementedError

    @functools.cached_property
    def _columns(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        e, p = _spectrum(*self._values(), True)
        return tuple(e.tolist()), tuple(p.tolist())

    @property
    def eigenvalues(self) -> tuple[float, ...]:  # type: ignore[override]
        return self._columns[0]

    @property
    def probabilities(self) -> tuple[float, ...]:  # type: ignore[override]
        return self._columns[1]


@dataclass(frozen=True, repr=False)
class PowerLaw(_Written):
    """Eigenvalues proportional to i^(-exponent), i = 1 … count; ``count`` is usually d."""

    exponent: float
    count: float

    def __post_init__(self) -> None:
        exponent, count = float(self.exponent), float(self.count)
        if not (math.isfinite(exponent) and exponent >= 0):
            raise BadValue("inputs", "{field}: the exponent of a power law must be >= 0", exponent)
        if not (count.is_integer() and 1 <= count <= MOST_EIGENVALUES):
            raise BadValue(
                "inputs",
                "{field}: the count of eigenvalues of a power law must be a whole number from 1 to "
                f"{MOST_EIGENVALUES}",
                count,
            )
        object.__setattr__(self, "exponent", exponent)
        object.__setattr__(self, "count", int(count))

    def _values(self) -> tuple[Array, Array | None]:
        return np.arange(1.0, self.count + 1) ** -self.exponent, None


@dataclass(frozen=True, repr=False)
class Spiked(_Written):
    """A share of the directions has a given eigenvalue, the rest equal ones, so that the mean is 1.

    A share, not a number: finitely many directions do not change the limit of large d.
    """

    eigenvalue: float
    share: float

    def __post_init__(self) -> None:
        eigenvalue, share = float(self.eigenvalue), float(self.share)
        if not 0 < share < 1:
            raise BadValue("inputs", "{field}: the share of spiked directions must lie in (0, 1)", share)
        if not (math.isfinite(eigenvalue) and 0 <= eigenvalue * share <= 1):
            raise BadValue(
                "inputs",
                "{field}: the eigenvalue of spiked directions must lie between 0 and 1/share, "
                f"{1 / share:g} here, so that the mean of all can be 1",
                eigenvalue,
            )
        object.__setattr__(self, "eigenvalue", eigenvalue)
        object.__setattr__(self, "share", share)

    def _values(self) -> tuple[Array, Array | None]:
        rest = (1 - self.eigenvalue * self.share) / (1 - self.share)
        return np.array([self.eigenvalue, rest]), np.array([self.share, 1 - self.share])


@dataclass(frozen=True, repr=False)
class GaussianOnSpectrum(GaussianWeights):
    """Standard normal weights as inputs of a given law show them: the channel averaged over the spectrum."""

    inputs: InputLaw

    def __repr__(self) -> str:
        return f"inputs.GaussianOnSpectrum({self.inputs!r})"

    @property
    def name(self) -> str:
        return f"gaussian on {self.inputs.name}"

    def _channel(self, x: Array) -> ChannelValues:
        e, p = np.array(self.inputs.eigenvalues), np.array(self.inputs.probabilities)
        step = max(1, _CHUNK // e.size)
        parts = [_averaged(x[i : i + step], e, p) for i in range(0, max(x.size, 1), step)]
        return ChannelValues(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _averaged(x: Array, e: Array, p: Array) -> ChannelValues:
    one = gaussian_channel(np.multiply.outer(x, e))
    return ChannelValues(
        one.free_entropy @ p,
        one.overlap @ (p * e),
        one.mmse @ (p * e),
        one.overlap_slope @ (p * e**2),
        one.entropy_deficit @ p,
    )


def require_isotropic(law: InputLaw, what: str) -> None:
    """Refuse inputs that are not white, in the name of a method that is made for those."""
    if not law.is_isotropic:
        raise BadValue(
            "inputs",
            f"{{field}} must be isotropic for {what}: it denoises a matrix that is invariant under "
            f"rotations, which inputs with a covariance ({law.name}) do not show",
            remedy="take hmc or adam, or inputs 'isotropic'",
        )


def _spectrum(eigenvalues: Any, probabilities: Any, normalise: bool) -> tuple[Array, Array]:
    """Eigenvalues, largest first, and their shares, checked; equal ones merged."""
    e = np.atleast_1d(np.asarray(eigenvalues, dtype=float))
    p = np.full(e.size, 1 / max(e.size, 1)) if probabilities is None else np.asarray(probabilities, float)
    if e.ndim != 1 or e.size == 0 or p.shape != e.shape:
        raise BadValue(
            "inputs",
            f"{{field}} need as many probabilities as eigenvalues, at least one; got {p.size} and {e.size}",
        )
    if not (np.isfinite(e).all() and np.isfinite(p).all()):
        raise BadValue("inputs", "{field}: eigenvalues and probabilities must be finite numbers")
    if (e < 0).any():
        raise BadValue(
            "inputs",
            "{field}: eigenvalues of a covariance must be >= 0",
            float(e.min()),
            "set to 0 what is negative by rounding",
        )
    if (p < 0).any() or not p.sum() > 0 or (not normalise and abs(p.sum() - 1) > ROUNDING):
        raise BadValue(
            "inputs",
            "{field}: probabilities of eigenvalues must be >= 0 and sum to 1",
            float(p.min() if (p < 0).any() else p.sum()),
        )
    total = math.fsum(p)
    p = p if abs(total - 1) < _LAST_DIGITS else p / total
    trace = math.fsum(p * e)
    if not trace > 0:
        raise BadValue("inputs", "{field}: the trace of the covariance must be > 0: all eigenvalues are 0")
    if not normalise and abs(trace - 1) > ROUNDING:
        steps = f"divide the eigenvalues by {trace:.10g}"
        raise BadValue(
            "inputs",
            "{field}: eigenvalues of the covariance must have mean 1",
            trace,
            Remedy(
                f"{steps}, or give normalise=True",
                f"{steps}, or give --normalise",
                f"{steps}, or write normalise = true",
                steps,
            ),
        )
    # What is 1 but for rounding stays as it is: a law that is written down and read back is the same.
    values, label = np.unique(e if abs(trace - 1) < _LAST_DIGITS else e / trace, return_inverse=True)
    shares = np.asarray(np.bincount(label, weights=p), dtype=float)
    keep = shares > 0
    values, shares = values[keep][::-1], shares[keep][::-1]
    if values.size > MOST_EIGENVALUES:
        raise BadValue(
            "inputs",
            f"{{field}} may have at most {MOST_EIGENVALUES} distinct eigenvalues",
            int(values.size),
            "round them, or take their quantiles",
        )
    return values, shares

r"""Activation functions, their Hermite coefficients and the kernel of all orders above the second.

An activation is sigma = sum_l mu_l He_l / l! (App. A of arXiv:2505.24849). The theory needs mu_0, mu_1, mu_2
and

.. math:: g(x) = \sum_{l\ge 3} \frac{\mu_l^2}{l!} x^l
                = \mathbb{E}[\sigma(y)\sigma(z)] - \mu_0^2 - \mu_1^2 x - \tfrac12 \mu_2^2 x^2

for unit Gaussians y, z of correlation x. By Price's theorem g' is the same average of sigma'. Which route is
taken (power series, closed form, quadrature) is decided from the function and never shows in the result.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .._bad_value import BadValue, Remedy, did_you_mean
from .expressions import parse
from .functions import FUNCTIONS, MAX_HERMITE
from .gaussian_pairs import PairAverage
from .hermite import RADII, Panels, hermite_series, resolve
from .kernels import N_SERIES, SeriesKernel, SeriesSlope, TabulatedKernel
from .sampled import SampledFunction

__all__ = ["ACTIVATIONS", "Activation", "activation"]

_NAMED = {
    "relu": "relu(x)",
    "leaky-relu": "leaky(x,0.01)",
    "elu": "elu(x)",
    "selu": "selu(x)",
    "softplus": "softplus(x)",
    "gelu": "gelu(x)",
    "silu": "silu(x)",
    "mish": "mish(x)",
    "tanh": "tanh(x)",
    "erf": "erf(x)",
    "sigmoid": "sigmoid(x)",
    "sin": "sin(x)",
    "hard-tanh": "hardtanh(x)",
    "heaviside": "heaviside(x)",
    "quadratic": "x**2",
    "linear": "x",
    "identity": "x",
    "sigma1": "he2(x)/sqrt(2)",
    "sigma2": "he3(x)/sqrt(6)",
    "sigma3": "he2(x)/sqrt(2)+he3(x)/6",
    "he2": "he2(x)",
    "he3": "he3(x)",
    "he4": "he4(x)",
}
_ALIASES = {
    "swish": "silu",
    "hardtanh": "hard-tanh",
    "step": "heaviside",
    "leakyrelu": "leaky-relu",
    "sine": "sin",
}
ACTIVATIONS: tuple[str, ...] = tuple(_NAMED)
"""Names that :func:`activation` knows.

So are he5, he6, ... he50, leaky-relu(slope), other spellings (swish, hardtanh, step) and the name of any
function of one argument that a formula may use, such as cos.
``erf`` is the error function erf(x) of mathematics, not erf(x/sqrt(2)); ``quadratic`` is x**2, of mu_2 = 2.
"""

_LONGEST_SERIES = 1400  # panels of width 1/2 resolve Hermite functions up to there; 15 ms
_ROUNDING = 1e-12  # by which an overlap may exceed its range, and is then taken for the end of it
_NOISE = 4e-16  # coefficients below this, against the norm, are rounding


@dataclass(frozen=True, eq=False, repr=False)
class Activation:
    """An activation function with its Gaussian averages; made by :func:`activation`.

    Two are equal when they were made from the same name or formula, or from the same callable.
    """

    name: str
    spec: str | None
    """What :func:`activation` turns back into an equal object; None for a callable."""
    kinks: tuple[float, ...]
    """Places where sigma or a derivative of it is not continuous."""
    _function: Callable[[Array], Array] = field()
    _derivative: Callable[[Array], Array] = field()
    _source: object = field()

    def __call__(self, x: ArrayLike) -> Array:
        """sigma(x), elementwise."""
        return self._function(np.asarray(x, dtype=float))

    def derivative(self, x: ArrayLike) -> Array:
        """sigma'(x), elementwise; at a kink, some value between the two slopes."""
        return self._derivative(np.asarray(x, dtype=float))

    def __eq__(self, other: object) -> bool:
        return self._source == other._source if isinstance(other, Activation) else NotImplemented

    def __hash__(self) -> int:
        return hash((Activation, self._source))

    def __repr__(self) -> str:
        return f"activation({self.spec!r})" if self.spec is not None else f"activation({self.name})"

    def __reduce__(self) -> tuple[Callable[..., "Activation"], tuple[object]]:
        return activation, (self._source,)

    # ------------------------------------------------------------------ averages over one Gaussian

    def hermite_coefficients(self, order: int) -> Array:
        """mu_0 ... mu_order, with mu_l = E[He_l(z) sigma(z)], right to 1e-12 sqrt(l!); order <= 150."""
        if not 0 <= order <= 150:
            raise ValueError(f"order must be between 0 and 150 (l! overflows beyond), got {order}")
        factorials = np.array([math.sqrt(math.factorial(level)) for level in range(order + 1)])
        coefficients: Array = self._normalised(max(order + 1, N_SERIES))[: order + 1] * factorials
        return coefficients

    @cached_property
    def hermite(self) -> Array:
        """mu_0 ... mu_8, read only."""
        coefficients = self.hermite_coefficients(8)
        coefficients.flags.writeable = False
        return coefficients

    @cached_property
    def second_moment(self) -> float:
        """E sigma(z)^2 over a standard Gaussian z."""
        return self._panels.mean(self._values**2)

    # ------------------------------------------------------------------ averages over a pair

    @cached_property
    def has_jumps(self) -> bool:
        """Whether it is discontinuous: then g' grows like (1 - x)^(-1/2) towards x = 1."""
        return bool(self._jumps())

    def tail_kernel(self, x: ArrayLike) -> Array:
        """g(x) for x in [-1, 1]: nonnegative and increasing on [0, 1], of order x^3 at 0."""
        return self._kernel.value(_within(x, -1.0, "an overlap x"))

    def tail_kernel_slope(self, x: ArrayLike) -> Array:
        """g'(x) for x in [-1, 1]; +inf at 1 if sigma jumps."""
        return self._kernel.slope(_within(x, -1.0, "an overlap x"))

    def tail_kernel_curvature(self, x: ArrayLike) -> Array:
        """g''(x) for x in [-1, 1]; +inf at 1 if sigma' jumps."""
        return self._kernel.curvature(_within(x, -1.0, "an overlap x"))

    def tail_kernel_gap(self, gap: ArrayLike) -> Array:
        """g(1) - g(1 - gap) for gap in [0, 1], to full relative accuracy however small the gap."""
        return self._kernel.drop(_within(gap, 0.0, "gap"))

    def tail_kernel_gap_slope(self, gap: ArrayLike) -> Array:
        """g'(1 - gap) for gap in [0, 1], the derivative of :meth:`tail_kernel_gap`.

        If sigma jumps it grows as gap^(-1/2), and is +inf at gap = 0.
        """
        return self._kernel.slope_below_one(_within(gap, 0.0, "gap"))

    def tail_kernel_gap_curvature(self, gap: ArrayLike) -> Array:
        """g''(1 - gap) for gap in [0, 1], to full relative accuracy however small the gap.

        If sigma' jumps it grows as gap^(-1/2), if sigma jumps as gap^(-3/2), which overflows to +inf for gaps
        below 1e-205: :meth:`tail_kernel_gap_bend` does not.
        """
        return self._kernel.curvature_below_one(_within(gap, 0.0, "gap"))

    def tail_kernel_gap_bend(self, gap: ArrayLike) -> Array:
        """gap g''(1 - gap) = -d g'(1 - gap)/d ln(gap), never larger than g' when sigma has kinks or jumps.

        It is 0 at gap = 0, but +inf if sigma jumps.
        """
        return self._kernel.bend(_within(gap, 0.0, "gap"))

    # ------------------------------------------------------------------ how they are computed

    @cached_property
    def _radius(self) -> float:
        return _decay_radius(self)

    @cached_property
    def _panels(self) -> Panels:
        radius = self._radius
        base = np.linspace(-radius, radius, int(4 * radius) + 1)
        inside = [k for k in self.kinks if abs(k) < radius]
        return Panels(resolve(self, np.concatenate([base, inside])))

    @cached_property
    def _values(self) -> Array:
        return self(self._panels.nodes)

    def _normalised(self, length: int) -> Array:
        """c_l = mu_l / sqrt(l!) for l < length, exact zeros where only rounding is left."""
        series = hermite_series(self._panels, self._values, length)
        return np.where(np.abs(series) < _NOISE * math.sqrt(self.second_moment), 0.0, series)

    @cached_property
    def _kernel(self) -> SeriesKernel | TabulatedKernel:
        squares = self._normalised(N_SERIES) ** 2
        smooth = not any(abs(k) < self._radius for k in self.kinks)
        if smooth and (terms := self._converged(squares)) is not None:
            return SeriesKernel(terms)
        fold = self._fold_at_zero()
        if fold is not None:
            return TabulatedKernel(squares, lambda mirrored: _fold_slope(fold, mirrored))
        if smooth:
            terms = self._converged(self._normalised(_LONGEST_SERIES) ** 2)
            if terms is not None:
                series = SeriesKernel(terms)
                return TabulatedKernel(squares, lambda mirrored: SeriesSlope(series, mirrored))
        jumps = self._jumps()
        return TabulatedKernel(squares, lambda mirrored: self._pair_slope(jumps, mirrored))

    def _converged(self, squares: Array) -> Array | None:
        """The series cut where g'(1) has converged to rounding, or None if it has not by the end."""
        weighted = np.arange(squares.size) * squares
        rest = np.maximum.accumulate(weighted[::-1])[::-1]
        length = int(np.count_nonzero(rest > 1e-17 * weighted.max()))
        if length > squares.size - 8:
            return None
        # A long run of zeros is no proof: sin(30x) begins with four hundred of them.
        missing = self.second_moment - float(np.sum(squares))
        return squares[:length] if missing <= 1e-13 * self.second_moment else None

    def _pair_slope(self, jumps: tuple[tuple[float, float], ...], mirrored: bool) -> PairAverage:
        first, second = self.hermite[1:3]
        # Taking out mu_1 + mu_2 x before averaging, not after: g' may be a small remainder.
        tail = lambda x: self._derivative(x) - first - second * x  # noqa: E731
        x = self._panels.nodes
        floor = float(
            np.max((np.abs(self._derivative(x)) + abs(first) + abs(second * x)) * np.exp(-0.25 * x**2))
        )
        floor *= getattr(self._function, "rounding", 1.0)
        return PairAverage(tail, self.kinks, self._radius, jumps, mirrored, floor)

    def _fold_at_zero(self) -> float | None:
        """q if sigma(x) = a + p x + q |x|, whose kernel is known in closed form; else None."""
        if [k for k in self.kinks if abs(k) < self._radius] != [0.0]:
            return None
        x = self._panels.nodes
        left, middle, right = self(np.array([-1.0, 0.0, 1.0]))
        line = middle + 0.5 * (right - left) * x + (0.5 * (right + left) - middle) * np.abs(x)
        size = abs(left) + abs(middle) + abs(right)
        exact = np.all(np.abs(self._values - line) <= 1e-14 * size * (1 + np.abs(x)))
        return float(0.5 * (right + left) - middle) if exact else None

    def _jumps(self) -> tuple[tuple[float, float], ...]:
        """(place, height) of each discontinuity of sigma itself."""
        found = []
        for kink in self.kinks:
            if abs(kink) < self._radius:
                step = 1e-10 * max(1.0, abs(kink))
                near, far = (float(self(kink + s)) - float(self(kink - s)) for s in (step, 2 * step))
                if abs(2 * near - far) > 1e-7 * math.sqrt(self.second_moment):
                    found.append((kink, 2 * near - far))
        return tuple(found)


def activation(spec: "str | Callable[[Any], Any] | Activation") -> Activation:
    """Activation for a name, a formula in ``x``, a callable, or an Activation (returned as it is).

    Parameters
    ----------
    spec : str, callable or Activation
        One of ``ACTIVATIONS``, ``"leaky-relu(0.1)"``, ``"he7"``; or a formula such as ``"tanh(2*x)"`` or
        ``"he2(x)/sqrt(2)+he3(x)/6"``; or a function of an array. Kinks of a callable are searched for; a
        formula is safer, for its kinks and derivative are exact.

    Raises
    ------
    ValueError
        If the text cannot be read, or the function is not finite for |x| <= 13 or grows so fast that
        E sigma(z)^2 diverges.
    """
    if isinstance(spec, Activation):
        return spec
    if isinstance(spec, str):
        return _from_text(spec.strip())
    if callable(spec):
        return _from_callable(spec)
    raise BadValue("activation", "{field} must be a name, a formula in x, a callable or an Activation", spec)


@lru_cache(maxsize=256)
def _from_text(text: str) -> Activation:
    name = text.lower().replace("_", "-")
    name = _ALIASES.get(name, name)
    formula, spec = text, None
    if name in _NAMED:
        formula, spec = _NAMED[name], name
    elif re.fullmatch(r"he\d+", name):
        if not 2 <= int(name[2:]) <= MAX_HERMITE:
            raise BadValue("activation", f"he<N> takes a degree N between 2 and {MAX_HERMITE}", text)
        formula, spec = f"{name}(x)", f"he{int(name[2:])}"
    elif name in FUNCTIONS and FUNCTIONS[name].least == 1:
        formula = f"{name}(x)"
    elif match := re.fullmatch(r"leaky-?relu\(\s*([-+\d.e]+)\s*\)", name):
        try:
            slope = float(match.group(1))
        except ValueError:
            raise BadValue(
                "activation", "leaky-relu takes the slope for x < 0, a number", match.group(1)
            ) from None
        formula, spec = f"leaky(x,{slope!r})", "leaky-relu" if slope == 0.01 else f"leaky-relu({slope!r})"
    elif re.fullmatch(r"[a-z][a-z\d]*(-[a-z][a-z\d]*)*", name) and name not in ("x", "pi", "e"):
        raise BadValue(
            "activation",
            f"unknown activation {text!r}; {did_you_mean(name, [*ACTIVATIONS, *_ALIASES], 3)}"
            f"choose from {', '.join(ACTIVATIONS)}",
            remedy=Remedy("or write a formula in x, or pass a callable", *3 * ["or write a formula in x"]),
        )
    expression = parse(formula)
    spec = spec or expression.text
    for pole in expression.poles(RADII[0]):
        raise ValueError(
            f"activation {spec!r} must be finite for |x| <= {RADII[0]:g}, but it divides by zero "
            f"(or takes the logarithm of zero) at x = {pole:g}; write a formula without that point"
        )
    return _checked(Activation(spec, spec, expression.kinks(), expression, expression.derivative(), spec))


def _from_callable(function: Callable[[Any], Any]) -> Activation:
    sampled = SampledFunction(function)
    name = getattr(function, "__name__", type(function).__name__)
    return _checked(Activation(name, None, sampled.kinks, sampled, sampled.derivative, function))


def _checked(made: Activation) -> Activation:
    x = np.linspace(-RADII[0], RADII[0], 2601)
    bad = ~np.isfinite(made(x))
    if bad.any():
        place = x[bad][np.argmin(np.abs(x[bad]))]
        raise ValueError(
            f"activation {made.name!r} must be finite for |x| <= {RADII[0]:g}, but at x = {place:g} it is "
            f"{float(made(place)):g}; choose a function that is finite there"
        )
    _decay_radius(made)
    return made


def _decay_radius(made: Activation) -> float:
    """Where sigma exp(-x^2/4) has vanished to rounding; growth too fast for that is refused."""
    for radius in RADII:
        x = np.linspace(-radius, radius, 401)
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(made(x)) * np.exp(-0.25 * x**2)
        if np.all(np.isfinite(size)) and max(size[0], size[-1]) <= 1e-12 * size.max():
            return radius
    raise ValueError(
        f"activation {made.name!r} grows too fast: E sigma(z)^2 over a standard Gaussian must be finite, "
        f"but |sigma| exp(-x^2/4) has not decayed at |x| = {RADII[-1]:g}; choose one that grows more slowly"
    )


def _fold_slope(fold: float, mirrored: bool) -> Callable[[Array], Array]:
    """g' for q |x|: the arc-cosine kernel, q^2 (1 - 2 theta/pi - (2/pi) cos theta), odd in x."""
    sign = -1.0 if mirrored else 1.0
    return lambda theta: sign * fold**2 * (1 - 2 / np.pi * (theta + np.cos(theta)))


def _within(x: ArrayLike, low: float, what: str) -> Array:
    values = np.asarray(x, dtype=float)
    inside: Array = np.clip(values, low, 1.0)
    if not np.all(np.abs(values - inside) <= _ROUNDING):  # written so that NaN is refused too
        worst = values[~(np.abs(values - inside) <= _ROUNDING)].flat[0]
        raise ValueError(f"{what} must be between {low:g} and 1, got {worst:.15g}")
    return inside

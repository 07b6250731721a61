r"""Classification, y = ±1: probit (the sign of λ plus Gaussian noise) and noiseless sign.

For the probit Z = Φ(yt) with t = ω/s, s² = V + Δ, and all functions are single integrals over ω.  Their
integrands carry a factor exp(-t²/2) beside the Gaussian law of ω; with the two merged into one Gaussian
what is left is smooth and of order 1 however small V and Δ are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import Array
from .base import Channel, positive, set_shift, special
from .rules import NORMAL_NODES, NORMAL_WEIGHTS

__all__ = ["Probit", "Sign"]

_SQRT2PI = math.sqrt(2 * math.pi)


class _Threshold(Channel):
    """P(y | λ) = Φ(yλ/√Δ), also at Δ = 0."""

    noise: float

    labels = (-1.0, 1.0)
    is_discrete = True

    def mean(self, outputs: ArrayLike) -> Array:
        outputs = np.asarray(outputs, dtype=float)
        if self.noise == 0:
            mean: Array = np.sign(outputs)
        else:
            mean = special(np).erf(outputs / math.sqrt(2 * self.noise))
        return mean

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        noisy = outputs + math.sqrt(self.noise) * rng.standard_normal(outputs.shape)
        return np.where(noisy >= 0, 1.0, -1.0)

    def predictive(self, omega: ArrayLike, gap: float, power: float) -> tuple[np.ndarray, np.ndarray]:
        omega = np.asarray(omega, dtype=float)
        width = math.sqrt(gap + self.noise)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(omega == 0, 0.0, omega / width) if width == 0 else omega / width
        ndtr = special(np).ndtr
        return np.array([-1.0, 1.0]), np.stack([ndtr(-t), ndtr(t)], axis=1)

    def output_derivatives(
        self, labels: ArrayLike, omega: ArrayLike, variance: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(labels, dtype=float)
        width = np.sqrt(self.noise + np.asarray(variance, dtype=float))
        t = y * np.asarray(omega, dtype=float) / width
        ratio = _mills(t)
        return y * ratio / width, ratio * (ratio + t) / width**2

    def _nodes(self, gap: Array, power: float) -> tuple[Array, Array, Array, Array, Array]:
        """Variance of λ that is left with that of the noise, and on nodes t, a row for each gap: a = |t|,
        weights for integrands that are divided by exp(-a²/2), Φ(-a) exp(a²/2) and Φ(a).
        """
        functions = special(np)
        s2 = (gap + self.noise)[:, None]
        q = np.maximum(power - gap, 0.0)[:, None]
        s, total = np.sqrt(s2), s2 + q
        a = np.abs(self.centre * s / total + np.sqrt(q / total) * NORMAL_NODES)
        weight = s / np.sqrt(total) * np.exp(-0.5 * self.centre**2 / total) * NORMAL_WEIGHTS
        return s2[:, 0], a, weight, 0.5 * functions.erfcx(a / math.sqrt(2)), functions.ndtr(a)

    def _evaluate(self, gap: np.ndarray, power: float) -> np.ndarray:
        functions = special(np)
        nodes = s2, a, weight, tail, upper = self._nodes(gap, power)
        # Relative to exp(-a²/2), -Φ(a) ln Φ(a) is tail(a) times a function of order 1.
        log_upper = functions.log_ndtr(a)
        lower = np.exp(-0.5 * a**2) * tail
        with np.errstate(divide="ignore", invalid="ignore"):
            near = np.where(lower > 1e-8, -log_upper / np.where(lower > 0, lower, 1.0), 1 + 0.5 * lower)
        entropy = tail * (upper * near + 0.5 * a**2 - np.log(tail))
        return np.stack(
            [
                -np.sum(weight * entropy, axis=1),
                _slope(*nodes),
                _curvature(*nodes),
                4 * np.sum(weight * upper * tail, axis=1),
            ]
        )

    # Two of the four functions alone: curves ask for them thousands of times, the deficit for one of them.

    def free_entropy_slope(self, gap: ArrayLike, power: float) -> Array:
        return self._at_gaps(lambda gap: _slope(*self._nodes(gap, power)), gap, power)

    def free_entropy_slopes(self, gap: ArrayLike, power: float) -> tuple[Array, Array]:
        def both(gap: Array) -> Array:
            nodes = self._nodes(gap, power)
            return np.stack([_slope(*nodes), _curvature(*nodes)])

        slope, curvature = self._at_gaps(both, gap, power)
        return slope, curvature

    def free_entropy_known(self, power: float) -> float:
        return float(self._evaluate(np.zeros(1), power)[0, 0]) if self.noise > 0 else 0.0

    def irreducible_error(self, power: float) -> float:
        return float(self._evaluate(np.zeros(1), power)[3, 0]) if self.noise > 0 else 0.0


@dataclass(frozen=True, repr=False)
class Probit(_Threshold):
    """y = sign(λ + √noise z), the sign of the output with Gaussian noise of variance ``noise`` > 0."""

    noise: float
    shift: float | None = None

    name: ClassVar[str] = "probit"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", positive(self.noise, "noise (variance before the sign)"))
        set_shift(self)

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        return special(xp).log_ndtr(labels * outputs / math.sqrt(self.noise))


@dataclass(frozen=True, repr=False)
class Sign(_Threshold):
    """y = sign(λ), without noise."""

    shift: float | None = None

    name: ClassVar[str] = "sign"
    breaks = (0.0,)
    is_noiseless = True
    noise = 0.0

    def __post_init__(self) -> None:
        set_shift(self)

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        return xp.where(labels * outputs >= 0, 0.0, -xp.inf)


def _slope(s2: Array, a: Array, weight: Array, tail: Array, upper: Array) -> Array:
    """∂ψ_out/∂q; arguments as from ``_nodes``."""
    slope: Array = 0.5 * np.sum(weight / (2 * math.pi * upper * tail), axis=1) / s2
    return slope


def _curvature(s2: Array, a: Array, weight: Array, tail: Array, upper: Array) -> Array:
    """∂²ψ_out/∂q²."""
    density = np.exp(-0.5 * a**2)
    small, large = density / (_SQRT2PI * upper), 1 / (_SQRT2PI * tail)  # φ/Φ at a and at -a
    # Φ(a) (m(m + a))² carries exp(-a²), Φ(-a) (M(M - a))² carries exp(-a²/2).
    unlikely = tail * (large * _inverse_mills_gap(a, large)) ** 2
    likely = (small + a) ** 2 * density / (2 * math.pi * upper)
    curvature: Array = 0.5 * np.sum(weight * (unlikely + likely), axis=1) / s2 / s2
    return curvature


def _mills(t: Array) -> Array:
    """φ(t)/Φ(t) for any t."""
    functions = special(np)
    far = math.sqrt(2 / math.pi) / functions.erfcx(np.maximum(-t, 0.0) / math.sqrt(2))
    near = np.exp(-0.5 * np.maximum(t, 0.0) ** 2) / (_SQRT2PI * functions.ndtr(np.maximum(t, 0.0)))
    ratio: Array = np.where(t < 0, far, near)
    return ratio


def _inverse_mills_gap(a: Array, large: Array) -> Array:
    """M(a) - a for M = φ(a)/Φ(-a); by its continued fraction where the two nearly cancel."""
    gap = large - a
    is_far = a > 6.0
    x = a[is_far]
    rest = x
    for k in range(40, 1, -1):
        rest = x + k / rest
    gap[is_far] = 1 / rest
    return gap

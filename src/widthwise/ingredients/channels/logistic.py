r"""The logistic rule, P(y | λ) = 1/(1 + e^(-steepness yλ)) for y = ±1, as a mixture of probits.

A logistic variable is a Gaussian whose deviation is 2K, K of Kolmogorov's law (Andrews and Mallows 1974), so
that in units of 1/steepness

.. math:: P(y \mid \lambda) = \sum_k p_k\, \Phi(y\lambda/s_k), \qquad
          Z(y; \omega, V) = \sum_k p_k\, \Phi\big(y\omega/\sqrt{V + s_k^2}\big):

sums of positive terms, right to rounding for outputs up to 45 on either side and for any gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import Array
from .base import positive, set_shift, special
from .integrated import Integrated
from .rules import REACH
from .tables import GapTable

__all__ = ["Logistic"]

_STEP = 0.06  # in ln s: 65 terms; 0.08 stops at 1e-6 for an output of 45
_FAR = 45.0  # in units of 1/steepness, beyond √V: what is left there is e⁻⁴⁵
# The nearest zeros of Z are π off the axis at V = 0, and 2.8√V at large V: 0.4 of this leaves 1e-16.
_WIDTH2 = 1.5
_CHUNK = 400_000


@dataclass(frozen=True, repr=False)
class Logistic(Integrated):
    """P(y | λ) = 1/(1 + exp(-steepness y λ)) for y = ±1."""

    steepness: float = 1.0
    shift: float | None = None

    name: ClassVar[str] = "logistic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steepness", positive(self.steepness, "steepness (factor of the output)"))
        set_shift(self)

    labels = (-1.0, 1.0)
    is_discrete = True

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        return -xp.logaddexp(0.0, -self.steepness * labels * outputs)

    def score(self, labels: Array, outputs: Array, step: float) -> Array:
        score: Array = self.steepness * labels * special(np).expit(-self.steepness * labels * outputs)
        return score

    def mean(self, outputs: ArrayLike) -> np.ndarray:
        return np.tanh(0.5 * self.steepness * np.asarray(outputs, dtype=float))

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        positive_mass = special(np).expit(self.steepness * outputs)
        return np.where(rng.random(outputs.shape) < positive_mass, 1.0, -1.0)

    def predictive(self, omega: ArrayLike, gap: float, power: float) -> tuple[np.ndarray, np.ndarray]:
        t = self.steepness * np.asarray(omega, dtype=float)
        tail = _tail(np.abs(t), np.full(t.shape, self.steepness**2 * gap))[0]
        return np.array([-1.0, 1.0]), np.stack(
            [np.where(t > 0, tail, 1 - tail), np.where(t > 0, 1 - tail, tail)], axis=1
        )

    def output_derivatives(
        self, labels: ArrayLike, omega: ArrayLike, variance: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        y, omega, variance = np.broadcast_arrays(
            np.asarray(labels, dtype=float), np.asarray(omega, dtype=float), np.asarray(variance, dtype=float)
        )
        t = self.steepness * y * omega
        tail, slope, bend = _tail(np.abs(t), self.steepness**2 * variance)
        # In t > 0 the label is the likely one: Z = 1 - tail, Z' = slope and Z'' = -bend.
        z = np.where(t > 0, 1 - tail, tail)
        first, second = slope / z, np.where(t > 0, -bend, bend) / z
        return self.steepness * y * first, self.steepness**2 * (first**2 - second)

    def _evaluate(self, gap: np.ndarray, power: float) -> np.ndarray:
        return _table(self, power)(gap)

    def _integrals(self, gap: Array, power: float) -> Array:
        """ψ, ψ', ψ'' and the error at each gap, without table."""
        scale = self.steepness**2
        values = np.empty((4, gap.size))
        variance, q = scale * gap, scale * np.maximum(power - gap, 0.0)
        centre = self.steepness * self.centre
        for part in _alike(variance, q, centre):
            values[:, part] = _averages(variance[part], q[part], centre)
        scaled: Array = values * np.array([1.0, scale, scale**2, 1.0])[:, None]
        return scaled

    def free_entropy_known(self, power: float) -> float:
        return float(self._integrals(np.zeros(1), power)[0, 0])

    def irreducible_error(self, power: float) -> float:
        return float(self._integrals(np.zeros(1), power)[3, 0])


@lru_cache(maxsize=64)
def _table(channel: Logistic, power: float) -> GapTable:
    return GapTable(lambda gaps: channel._integrals(gaps, power), power, is_largest=True)


def _range(variance: np.ndarray, q: np.ndarray, centre: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of the part of the ω axis that matters, and how many nodes it takes."""
    spread = REACH * np.sqrt(q)
    reach = np.maximum(_FAR + REACH * np.sqrt(variance), np.abs(centre) - spread + _FAR)
    low, high = np.maximum(centre - spread, -reach), np.minimum(centre + spread, reach)
    step = 0.4 * np.sqrt(np.minimum(np.where(q > 0, q, 1.0), variance + _WIDTH2))
    return low, high, np.ceil((high - low) / step).astype(int) + 1


def _alike(variance: np.ndarray, q: np.ndarray, centre: float) -> list[np.ndarray]:
    """Gaps with about as many nodes, few enough for one array."""
    n_nodes = _range(variance, q, centre)[2]
    parts, order = [], np.argsort(n_nodes)
    start = 0
    while start < order.size:
        stop = start + 1
        while stop < order.size and (stop + 1 - start) * n_nodes[order[stop]] * _mixture()[0].size < _CHUNK:
            stop += 1
        parts.append(order[start:stop])
        start = stop
    return parts


def _averages(variance: np.ndarray, q: np.ndarray, centre: float) -> np.ndarray:
    """ψ, ψ', ψ'' and the error for unit steepness: trapezoids over ω."""
    low, high, n_nodes = _range(variance, q, centre)
    place = np.linspace(0.0, 1.0, int(n_nodes.max()))
    omega = low[:, None] + (high - low)[:, None] * place
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.exp(-0.5 * (omega - centre) ** 2 / q[:, None]) / np.sqrt(2 * math.pi * q)[:, None]
    weight *= ((high - low) / max(place.size - 1, 1))[:, None]
    # ω is known where q = 0.
    is_known = (high <= low)[:, None]
    omega = np.where(is_known, centre, omega)
    weight = np.where(is_known, 1 / place.size, weight)
    tail, slope, bend = _tail(np.abs(omega), variance[:, None])
    rest = 1 - tail
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(tail > 0, tail * np.log(tail), 0.0) + rest * np.log1p(-tail)
        ratio = np.where(tail > 0, slope / tail, 0.0)
        unlikely = np.where(tail > 0, tail * (bend / tail - ratio**2) ** 2, 0.0)
    likely = rest * (bend / rest + (slope / rest) ** 2) ** 2
    rows = (entropy, 0.5 * slope * (ratio + slope / rest), 0.5 * (unlikely + likely), 4 * tail * rest)
    return np.stack([np.sum(weight * row, axis=1) for row in rows])


def _tail(a: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Z of the label that is not expected at a distance a >= 0 (unit steepness), -dZ/da and d²Z/da²."""
    deviations, p = _mixture()
    inverse = 1 / np.sqrt(variance[..., None] + deviations**2)
    t = a[..., None] * inverse
    tail = special(np).ndtr(-t) @ p
    density = np.exp(-0.5 * t * t) * (inverse / math.sqrt(2 * math.pi))
    slope = density @ p
    density *= t
    density *= inverse
    return tail, slope, density @ p


@lru_cache(maxsize=1)
def _mixture() -> tuple[np.ndarray, np.ndarray]:
    """Deviations s_k and weights p_k: a trapezoid in ln s over twice Kolmogorov's variable."""
    k = np.exp(np.arange(math.log(0.17), math.log(6.0), _STEP))
    n = np.arange(1, 30)[:, None]
    # The density's series in exp(-2n²k²), or after Poisson's summation in exp(-π²n²/8k²) with n odd.
    large = 8 * k * np.sum((-1.0) ** (n + 1) * n**2 * np.exp(-2 * (n * k) ** 2), axis=0)
    rate = ((2 * n - 1) * math.pi / k) ** 2 / 8
    small = math.sqrt(2 * math.pi) / k**2 * np.sum((2 * rate - 1) * np.exp(-rate), axis=0)
    p = np.where(k > 0.8, large, small) * k
    return 2 * k, p / p.sum()

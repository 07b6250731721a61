r"""Additive noise, y = λ + noise: all depends on the density p_V of the noise plus a Gaussian of variance V.

ψ_out = ∫ p_V ln p_V,  ψ' = ½ ∫ p_V (∂ ln p_V)²,  ψ'' = ½ ∫ p_V (∂² ln p_V)²: single integrals that do not
depend on the power r nor on the mean of λ.  In every law ``noise`` is a variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .base import Channel, positive, special
from .rules import REACH, panels
from .tables import GapTable

__all__ = ["Additive", "Gaussian", "Laplace", "StudentT"]


@dataclass(frozen=True, repr=False)
class Additive(Channel):
    """y = λ + noise of the given variance, centred and symmetric."""

    noise: float

    is_additive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", positive(self.noise, "noise (variance Delta of the labels)"))

    def mean(self, outputs: ArrayLike) -> np.ndarray:
        return np.asarray(outputs, dtype=float)

    def irreducible_error(self, power: float) -> float:
        return self.noise

    def bayes_error(self, gap: ArrayLike, power: float) -> np.ndarray:
        return self.noise + np.asarray(gap, dtype=float)

    def gibbs_error(self, gap: ArrayLike, power: float) -> np.ndarray:
        return self.noise + 2 * np.asarray(gap, dtype=float)

    def absolute_error(self, gap: ArrayLike) -> np.ndarray:
        """E|y - ω|, the least mean absolute error (the median of the predictive law is ω)."""
        gap = np.asarray(gap, dtype=float)
        rules = [self._rule(float(v)) for v in gap.reshape(-1)]
        return np.array([np.abs(x) @ w for x, w in rules]).reshape(gap.shape)

    def predictive(self, omega: ArrayLike, gap: float, power: float) -> tuple[np.ndarray, np.ndarray]:
        omega = np.asarray(omega, dtype=float)
        x, w = self._rule(gap)
        return omega[:, None] + x, np.broadcast_to(w, (omega.size, x.size))

    def _evaluate(self, gap: np.ndarray, power: float) -> np.ndarray:
        # In units of the noise there is one table for each shape of the law.
        psi, slope, curvature, _ = self._unit_table()(gap / self.noise)
        return np.stack(
            [
                psi - 0.5 * math.log(self.noise),
                slope / self.noise,
                curvature / self.noise / self.noise,
                self.noise + gap,
            ]
        )

    def _unit_table(self) -> GapTable:
        """ψ, ψ' and ψ'' (and a fourth row) for noise of variance 1."""
        raise NotImplementedError

    def _rule(self, gap: float) -> tuple[np.ndarray, np.ndarray]:
        """Nodes x and weights p_V(x) dx, exact for functions that are smooth but at x = 0."""
        raise NotImplementedError


class Gaussian(Additive):
    """y = λ + √noise z: ``noise`` is the variance Δ of the label noise, > 0.

    ψ_out = -½ ln[2πe(Δ + r - q)]  (eq. F_E_BayesOpt_GaussChann).
    """

    name: ClassVar[str] = "gaussian"

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        return -((labels - outputs) ** 2) / (2 * self.noise) - 0.5 * math.log(2 * math.pi * self.noise)

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        return outputs + math.sqrt(self.noise) * rng.standard_normal(outputs.shape)

    def output_derivatives(
        self, labels: ArrayLike, omega: ArrayLike, variance: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        total = self.noise + np.asarray(variance, dtype=float)
        slope = (np.asarray(labels, dtype=float) - np.asarray(omega, dtype=float)) / total
        return slope, np.broadcast_to(1 / total, slope.shape)

    def free_entropy(self, gap: ArrayLike, power: float) -> np.ndarray:
        return -0.5 * np.log(2 * math.pi * math.e * (self.noise + np.asarray(gap)))

    def free_entropy_slope(self, gap: ArrayLike, power: float) -> np.ndarray:
        return 0.5 / (self.noise + np.asarray(gap))

    def free_entropy_curvature(self, gap: ArrayLike, power: float) -> np.ndarray:
        return 0.5 / (self.noise + np.asarray(gap)) ** 2

    def free_entropy_slopes(self, gap: ArrayLike, power: float) -> tuple[np.ndarray, np.ndarray]:
        return self.free_entropy_slope(gap, power), self.free_entropy_curvature(gap, power)

    def free_entropy_known(self, power: float) -> float:
        return -0.5 * math.log(2 * math.pi * math.e * self.noise)

    def free_entropy_deficit(self, gap: ArrayLike, power: float) -> np.ndarray:
        return 0.5 * np.log1p(np.asarray(gap, dtype=float) / self.noise)

    def _rule(self, gap: float) -> tuple[np.ndarray, np.ndarray]:
        x, w = panels(np.linspace(-REACH, REACH, 13))
        return math.sqrt(self.noise + gap) * x, w * np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)


class Laplace(Additive):
    """y = λ + Laplace noise of variance ``noise``, density exp(-|x|/b)/(2b) with b = √(noise/2)."""

    name: ClassVar[str] = "laplace"

    @property
    def _scale(self) -> float:
        return math.sqrt(0.5 * self.noise)

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        return -xp.abs(labels - outputs) / self._scale - math.log(2 * self._scale)

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        return outputs + rng.laplace(scale=self._scale, size=outputs.shape)

    def output_derivatives(
        self, labels: ArrayLike, omega: ArrayLike, variance: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        residual = np.asarray(labels, dtype=float) - np.asarray(omega, dtype=float)
        _, slope, bend = self._density(np.abs(residual), np.sqrt(np.asarray(variance, dtype=float)))
        return -np.sign(residual) * slope, -bend

    def free_entropy_known(self, power: float) -> float:
        return -math.log(2 * math.e * self._scale)

    def _unit_table(self) -> GapTable:
        return _laplace_table()

    def _integrals(self, gap: np.ndarray) -> np.ndarray:
        """ψ, ψ', ψ'' and the error, without table."""
        root = np.sqrt(gap)[:, None]
        x, w = self._panels(root)
        log_p, slope, bend = self._density(x, root)
        mass = 2 * w * np.exp(log_p)
        rows = (log_p, 0.5 * slope**2, 0.5 * bend**2)
        return np.stack([*(np.sum(mass * row, axis=1) for row in rows), self.noise + gap])

    def _rule(self, gap: float) -> tuple[np.ndarray, np.ndarray]:
        if gap == 0:
            x, w = panels(self._scale * np.array([0.0, 1, 2, 4, 6, 9, 13, 18, 24, 32, 42]))
            log_p = -x / self._scale - math.log(2 * self._scale)
        else:
            root = np.array([[math.sqrt(gap)]])
            nodes, weights = self._panels(root)
            x, w, log_p = nodes[0], weights[0], self._density(nodes, root)[0][0]
        mass = w * np.exp(log_p)
        return np.concatenate([-x[::-1], x]), np.concatenate([mass[::-1], mass])

    def _panels(self, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes on x > 0, graded both at the width √V of the rounded cusp and at b."""
        near = root * np.array([0.0, 0.7, 1.5, 2.5, 3.5, 5, 7, REACH])
        b = self._scale * np.ones_like(root)
        far = near[:, -1:] + b * np.array([0.5, 1.5, 3, 5, 8, 12, 17, 23, 31, 42])
        # A cusp much wider than b needs no panels at b inside it: p_V is smooth on the scale √V.
        return panels(np.concatenate([near, far], axis=1))

    def _density(self, x: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln p_V, its slope and its second derivative at x >= 0, root = √V > 0."""
        functions = special(np)
        b = self._scale
        t, ratio = x / root, root / b
        gauss = -0.5 * t**2
        # p = (A + B)/(4b), A' = -A/b + 4b N(x; 0, V)/(2b) and B' = B/b - the same: no differences.
        a = (ratio - t) / math.sqrt(2)
        log_a = np.where(
            a < 0,
            0.5 * ratio**2 - x / b + np.log(functions.erfc(np.minimum(a, 0.0))),
            gauss + np.log(functions.erfcx(np.maximum(a, 0.0))),
        )
        log_b = gauss + np.log(functions.erfcx((ratio + t) / math.sqrt(2)))
        total = np.logaddexp(log_a, log_b)
        slope = -np.tanh(0.5 * (log_a - log_b)) / b
        share = np.exp(gauss - 0.5 * math.log(2 * math.pi) - np.log(root) - total + math.log(4 * b))
        bend = 1 / np.cosh(np.minimum(0.5 * (log_a - log_b), 350.0)) ** 2 / b**2 - share / b**2
        return total - math.log(4 * b), slope, bend


@dataclass(frozen=True, repr=False)
class StudentT(Additive):
    """y = λ + Student-t noise of variance ``noise`` with ``dof`` > 2 degrees of freedom."""

    dof: float

    name: ClassVar[str] = "student-t"

    def __post_init__(self) -> None:
        super().__post_init__()
        dof = positive(self.dof, "dof (degrees of freedom)")
        if not dof > 2:
            raise ValueError(f"dof must be > 2, for noise is the variance of the labels; got {dof:g}")
        object.__setattr__(self, "dof", dof)

    @property
    def _scale(self) -> float:
        return math.sqrt(self.noise * (self.dof - 2) / self.dof)

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        a = 0.5 * (self.dof + 1)
        constant = -_log_beta(0.5 * self.dof) - 0.5 * math.log(self.dof)
        square = ((labels - outputs) / self._scale) ** 2 / self.dof
        return constant - math.log(self._scale) - a * xp.log1p(square)

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        return outputs + self._scale * rng.standard_t(self.dof, outputs.shape)

    def free_entropy_known(self, power: float) -> float:
        half = 0.5 * self.dof
        entropy = (half + 0.5) * _half_step(half) + 0.5 * math.log(self.dof) + _log_beta(half)
        return -entropy - math.log(self._scale)

    def _unit_table(self) -> GapTable:
        return _student_table(self.dof)

    def _at(self, gap: float) -> np.ndarray:
        x, w, p, slope, bend = self._density(gap)
        mass = 2 * w * p
        log_p = np.log(p)
        return np.array([mass @ log_p, 0.5 * mass @ slope**2, 0.5 * mass @ bend**2, self.noise + gap])

    def _rule(self, gap: float) -> tuple[np.ndarray, np.ndarray]:
        x, w, p, _, _ = self._density(gap)
        return np.concatenate([-x[::-1], x]), np.concatenate([(w * p)[::-1], w * p])

    def _density(self, gap: float) -> tuple[np.ndarray, ...]:
        """Nodes on x > 0, weights, p_V, (ln p_V)' and (ln p_V)''.

        Student's law is a mixture of Gaussians of variance noise (dof - 2)/(2G), G ~ Gamma(dof/2), and
        so is p_V.  The tail beyond 1e-19 of the mass is left out; there ln p is a slow logarithm.
        """
        shape = 0.5 * self.dof
        step = min(0.25, 0.5 / math.sqrt(shape))
        low, high = -45 / shape - math.sqrt(90 / shape), math.log1p(12 / math.sqrt(shape) + 45 / shape)
        u = np.arange(low, high, step)  # ln(G/shape)
        weight = np.exp(shape * (u - np.expm1(u)))
        weight /= weight.sum()
        variance = gap + self._scale**2 * np.exp(-u)
        width = math.sqrt(gap + self._scale**2)
        # The core (Gaussian where V is large) and the tail meet within twice REACH: panels of a fifth there.
        far = self._scale * math.sqrt(self.dof * math.expm1(38 * math.log(10) / self.dof))
        core, reach = math.asinh(2 * REACH), math.asinh(max(far / width, REACH))
        edges = np.linspace(0.0, min(core, reach), math.ceil(5 * min(core, reach)) + 1)
        if reach > core:
            edges = np.append(edges, np.linspace(core, reach, math.ceil(1.5 * (reach - core)) + 1)[1:])
        x, w = panels(edges)
        w = width * np.cosh(x) * w
        x = width * np.sinh(x)
        z2 = x[:, None] ** 2 / variance
        part = weight / np.sqrt(2 * math.pi * variance) * np.exp(-0.5 * z2)
        p = part.sum(axis=1)
        slope = -x * (part @ (1 / variance)) / p
        bend = np.sum(part * (z2 - 1) / variance, axis=1) / p - slope**2
        return x, w, p, slope, bend


def _log_beta(h: float) -> float:
    """ln B(h, 1/2), by Stirling's series where the logarithms of Gamma would cancel."""
    if h < 20:
        return math.lgamma(h) + 0.5 * math.log(math.pi) - math.lgamma(h + 0.5)
    x = 1 / h**2
    tail = (1 / 8 - x * (1 / 192 - x * (1 / 640 - x * (17 / 14336 - x * 31 / 18432)))) / h
    return 0.5 * math.log(math.pi / h) + tail


def _half_step(h: float) -> float:
    """digamma(h + 1/2) - digamma(h)."""
    if h < 20:
        digamma = special(np).digamma
        return float(digamma(h + 0.5) - digamma(h))
    x = 1 / h**2
    return (0.5 + (1 / 8 - x * (1 / 64 - x * (1 / 128 - x * (17 / 2048 - x * 31 / 2048)))) / h) / h


@lru_cache(maxsize=1)
def _laplace_table() -> GapTable:
    # The cusp of the density makes ψ'' diverge as V^(-1/2).
    return GapTable(Laplace(1.0)._integrals, 1.0, (0, 0, 1, 0))


@lru_cache(maxsize=64)
def _student_table(dof: float) -> GapTable:
    unit = StudentT(1.0, dof)
    return GapTable(lambda gaps: np.array([unit._at(float(gap)) for gap in gaps]).T, 1.0)

r"""What the saddle-point equations use: the numbers of a problem, made once, and averages over hidden units.

.. math:: m = E v^2\mathcal Q^2, \qquad 1 - m, \qquad E v^2[g(1) - g(\mathcal Q)], \qquad
          E[\psi_W(x) - \tfrac12 x\mathcal Q]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._arrays import Array, Bools
from .._bad_value import BadValue
from ..ingredients.readouts import Discrete
from ..problem import NO_QUADRATIC_PART, Problem
from .matrix_channel import GaussianMatrix, MatrixChannel, matrix_channel
from .units import UnitTable, UnitValues, unit_table

__all__ = [
    "MOST_CLASSES",
    "THEORIES",
    "Averages",
    "ReadoutClasses",
    "Setting",
    "class_averages",
    "readout_classes",
    "setting_of",
]

THEORIES = ("main", "factorised")
MOST_CLASSES = 1000
"""Sizes of readouts up to which problems with a matrix part are solved."""
_MOST_TILTED = 64  # sizes of readouts up to which the spectrum is computed if mu_2 = 0
_ORDINARY = 10.0  # |ln g(1)|, or of μ₂²/2
_LEAST = 1e-290  # stands for 0 in logarithms: overlaps closer to 1 than this are 1


@dataclass(frozen=True)
class ReadoutClasses:
    """Distinct |readouts| > 0 of a discrete law, largest first."""

    values2: Array
    """v²."""
    powers: Array
    """E[v²; class]; they sum to 1."""

    @property
    def masses(self) -> Array:
        """P_v(class)."""
        return self.powers / self.values2

    @property
    def sizes(self) -> Array:
        """|v|."""
        return np.sqrt(self.values2)

    def __len__(self) -> int:
        return self.values2.size


@dataclass(frozen=True, eq=False)
class Setting:
    """A problem with its matrix channel and unit functions, for one of the two theories."""

    problem: Problem
    theory: str
    matrix: MatrixChannel
    """Of specialised solutions."""
    units: UnitTable
    gamma: float
    mu2_squared: float
    power: float
    """r_K."""
    kernel_total: float
    """g(1)."""
    classes: ReadoutClasses | None
    """None for a continuous readout law."""

    @property
    def spectral(self) -> MatrixChannel:
        """The channel of the universal branch, which both theories share."""
        return matrix_channel(self.problem.readouts, self.gamma)

    @property
    def has_tilt(self) -> bool:
        """Whether τ is computed: of many features it is dear, and without μ₂ nothing depends on it."""
        return self.mu2_squared > 0 or self.classes is None or len(self.classes) <= _MOST_TILTED

    @property
    def is_linear(self) -> bool:
        """Whether everything is learnt from n = Θ(d) samples."""
        return self.kernel_total == 0 and self.mu2_squared == 0

    @property
    def log_hat_scale(self) -> float:
        """ln of q̂₂/B = γμ₂²."""
        return float(np.log(self.gamma * self.mu2_squared)) if self.mu2_squared > 0 else -np.inf

    @property
    def log_coupling_unit(self) -> float:
        """ln of the unit of B, 1/g(1) or 2/μ₂²: 0 for outputs of all ordinary sizes, which have one grid."""
        if self.is_linear:
            return 0.0
        size = float(np.log(self.kernel_total if self.kernel_total > 0 else 0.5 * self.mu2_squared))
        return -size if abs(size) > _ORDINARY else 0.0

    def output_gap(self, matrix_mmse: Array, kernel_gap: Array) -> Array:
        """r_K - q_K = μ₂²/2 (r₂ - q₂) + E v²[g(1) - g(𝒬)]."""
        gap = 0.5 * self.mu2_squared * matrix_mmse + kernel_gap
        return np.clip(gap, 0.0, self.power)  # rounding of sums

    def log_alpha_and_slope(self, log_coupling: Array, gap: Array) -> tuple[Array, Array]:
        """:meth:`log_alpha`, and its derivative in the gap at fixed B, ψ_out''/ψ_out'."""
        slope, curvature = self.problem.channel.free_entropy_slopes(gap, self.power)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(0.5 * self.gamma) + log_coupling - np.log(slope), curvature / slope

    def log_alpha(self, log_coupling: Array, gap: Array) -> Array:
        """ln of the α at which the data give the coupling B = (2α/γ) ψ_out'."""
        slope = self.problem.channel.free_entropy_slope(gap, self.power)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_alpha: Array = np.log(0.5 * self.gamma) + log_coupling - np.log(slope)
            return log_alpha

    def universal_alpha(self, mmse: float, odds: float) -> float:
        """α at which the universal branch has this mmse(q̂₂), with ``odds`` = ln[(1 - mmse)/mmse]."""
        log_hat = self.spectral.log_snr_of(np.array([odds]))
        gap = self.output_gap(np.array([mmse]), np.array([self.kernel_total]))
        return float(np.exp(self.log_alpha(log_hat - self.log_hat_scale, gap)[0]))


def setting_of(problem: Problem, theory: str = "main") -> Setting:
    """The setting of a problem; ``theory`` chooses the matrix channel of specialised solutions."""
    if theory not in THEORIES:
        raise ValueError(f"unknown theory {theory!r}; choose from {', '.join(THEORIES)}")
    return _setting(problem, theory)


@lru_cache(maxsize=128)
def _setting(problem: Problem, theory: str) -> Setting:
    mu2_squared = problem.hermite[2] ** 2
    if mu2_squared < NO_QUADRATIC_PART * problem.output_power:
        mu2_squared = 0.0  # rounding of an odd activation's μ₂
    kernel_total = float(problem.activation.tail_kernel(1.0))
    if kernel_total < 1e-28 * problem.output_power:
        kernel_total = 0.0
    # Without a quadratic part the matrix does not enter, and any channel will do.
    is_spectral = theory == "main" and mu2_squared > 0
    classes = readout_classes(problem)
    if mu2_squared > 0 and classes is not None and len(classes) > MOST_CLASSES:
        raise BadValue(
            "readouts",
            f"{{field}} may have at most {MOST_CLASSES} sizes if the activation has a quadratic part (mu_2)",
            len(classes),
            "take fewer features, or an activation with mu_2 = 0 such as an odd one",
        )
    return Setting(
        problem,
        theory,
        matrix_channel(problem.readouts, problem.gamma) if is_spectral else GaussianMatrix(),
        unit_table(problem.activation, problem.seen_weights),
        problem.gamma,
        mu2_squared,
        problem.output_power,
        kernel_total,
        classes,
    )


@lru_cache(maxsize=128)
def readout_classes(problem: Problem) -> ReadoutClasses | None:
    """The classes of a discrete readout law; None for a continuous one."""
    law = problem.readouts
    if not isinstance(law, Discrete):
        return None
    v, p = np.abs(np.asarray(law.told_apart)), np.asarray(law.probabilities)
    order = np.argsort(-v)
    v2, weight = v[order] ** 2, p[order]
    v2, weight = v2[v2 > 0], weight[v2 > 0]
    # Values that differ by rounding are one class.
    starts = np.nonzero(np.append(True, -np.diff(v2) > 1e-12 * v2[1:]))[0]
    powers = np.add.reduceat(weight * v2, starts)
    return ReadoutClasses(v2[starts], powers)


@dataclass
class Averages:
    """Averages over hidden units, and how they move with the couplings: one entry for each pair (A, B)."""

    learnt: Array
    left: Array
    """1 - learnt, accurate where it is small."""
    kernel_gap: Array
    entropy: Array
    learnt_slopes: Array
    """Derivatives of ``learnt`` in ln A and ln B, as two rows."""
    kernel_slopes: Array
    """Derivatives of ``kernel_gap`` in ln A and ln B."""

    @property
    def odds(self) -> Array:
        """ln(m/(1 - m))."""
        return np.log(np.maximum(self.learnt, _LEAST)) - np.log(np.maximum(self.left, _LEAST))

    @property
    def odds_slopes(self) -> Array:
        """Derivatives of the odds in ln A and ln B."""
        return self.learnt_slopes * self.odds_per_learnt

    @property
    def odds_per_learnt(self) -> Array:
        return 1 / np.maximum(self.learnt, _LEAST) + np.where(
            self.left > _LEAST, 1 / np.maximum(self.left, _LEAST), 0.0
        )


def class_averages(
    u: UnitValues,
    values2: Array,
    powers: Array,
    pull: Array,
    coupling: Array,
    is_held: Bools | None = None,
) -> Averages:
    """Averages over classes with given v², E[v²; class] and values at their roots.

    Classes are columns, pairs of couplings rows.
    Classes that are not learnt, or known, do not move with the couplings; nor do those that are held.
    """
    a, b = pull[:, None], coupling[:, None]
    moves = (u.snr > 0) & (u.snr < np.inf)
    if is_held is not None:
        moves &= ~is_held
    with np.errstate(divide="ignore", invalid="ignore"):
        stiff = 1 - values2 * (a * u.overlap_slope + b * u.kernel_curvature)
        rate = powers * values2 * u.overlap_slope / stiff
        by_pull = np.where(moves, rate * a * u.overlap, 0.0)
        by_coupling = np.where(moves, rate * b * u.kernel_slope, 0.0)
    slopes = np.stack([by_pull, by_coupling])
    kernel_slope = np.where(moves, u.kernel_slope, 0.0)
    return Averages(
        u.overlap**2 @ powers,
        (u.gap * (1 + u.overlap)) @ powers,
        u.kernel_gap @ powers,
        u.entropy @ (powers / values2),
        (2 * u.overlap * slopes).sum(axis=2),
        -(kernel_slope * slopes).sum(axis=2),
    )

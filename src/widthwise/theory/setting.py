"""The numbers of a problem that the saddle-point equations use, made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._arrays import Array
from .._bad_value import BadValue
from ..ingredients.readouts import Discrete
from ..problem import NO_QUADRATIC_PART, Problem
from .matrix_channel import GaussianMatrix, MatrixChannel, matrix_channel
from .units import UnitTable, unit_table

__all__ = ["MOST_CLASSES", "THEORIES", "ReadoutClasses", "Setting", "readout_classes", "setting_of"]

THEORIES = ("main", "factorised")
MOST_CLASSES = 1000
"""Sizes of readouts up to which problems with a matrix part are solved."""
_MANY = 64  # sizes of readouts


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
        """The channel of the universal branch, which both theories share.

        Three digits for many features without a quadratic part, where nothing but the reported tilt needs it.
        """
        is_rough = self.mu2_squared == 0 and self.classes is not None and len(self.classes) > _MANY
        return matrix_channel(self.problem.readouts, self.gamma, is_rough=is_rough)

    @property
    def is_linear(self) -> bool:
        """Whether everything is learnt from n = Θ(d) samples."""
        return self.kernel_total == 0 and self.mu2_squared == 0

    @property
    def log_hat_scale(self) -> float:
        """ln of q̂₂/B = γμ₂²."""
        return float(np.log(self.gamma * self.mu2_squared)) if self.mu2_squared > 0 else -np.inf

    def output_gap(self, matrix_mmse: Array, kernel_gap: Array) -> Array:
        """r_K - q_K = μ₂²/2 (r₂ - q₂) + E v²[g(1) - g(𝒬)]."""
        gap = 0.5 * self.mu2_squared * matrix_mmse + kernel_gap
        return np.clip(gap, 0.0, self.power)  # rounding of sums

    def log_alpha_and_bend(self, log_coupling: Array, gap: Array) -> tuple[Array, Array]:
        """:meth:`log_alpha`, and ψ_out''/ψ_out', by which ln α grows with the gap."""
        slope, curvature = self.problem.channel.free_entropy_slopes(gap, self.power)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(0.5 * self.gamma) + log_coupling - np.log(slope), curvature / slope

    def log_alpha(self, log_coupling: Array, gap: Array) -> Array:
        """ln of the α at which the data give the coupling B = (2α/γ) ψ_out'."""
        slope = self.problem.channel.free_entropy_slope(gap, self.power)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_alpha: Array = np.log(0.5 * self.gamma) + log_coupling - np.log(slope)
            return log_alpha


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
        matrix_channel(problem.readouts, problem.gamma, is_rough=False) if is_spectral else GaussianMatrix(),
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
    v, p = np.abs(np.asarray(law.values)), np.asarray(law.probabilities)
    order = np.argsort(-v)
    v2, weight = v[order] ** 2, p[order]
    v2, weight = v2[v2 > 0], weight[v2 > 0]
    # Values that differ by rounding are one class.
    starts = np.nonzero(np.append(True, -np.diff(v2) > 1e-12 * v2[1:]))[0]
    powers = np.add.reduceat(weight * v2, starts)
    return ReadoutClasses(v2[starts], powers)

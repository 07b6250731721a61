r"""Newton's method on the saddle-point equations, for many values of α at once.

With the couplings of :mod:`units`,

.. math:: \hat q_2 = \gamma\mu_2^2 B, \qquad
          A = \frac{\mathrm{mmse}(\tau) - \mathrm{mmse}(\tau + \hat q_2)}{-\gamma\,\mathrm{mmse}'(\tau)},

what is left are the moment matching condition, mmse(τ) = 1 - E v²𝒬², the strength of the
data, B = (2α/γ) ψ_out'(q_K), and one scalar equation for each readout value that is learnt.
Unknowns are the logarithms of τ, B and the x(v): nothing over- or underflows, and all
equations are differences of logarithms, so that residuals are relative errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem import Problem
from .factorised import GaussianMatrixTable
from .matrix_table import MatrixPair, MatrixTable, matrix_table
from .roots import newton_rows
from .units import evaluate_units

__all__ = ["ClassSolutions", "Setting", "class_equations", "pull_slopes", "solve_classes", "solve_universal"]

RTOL = 1e-12
MAX_STEPS = 40
_LONGEST_STEP = 2.0  # in any logarithm
LEAST = 1e-290  # stands for 0 in logarithms: overlaps closer to 1 than this are 1


@dataclass(frozen=True)
class Setting:
    """The numbers of a problem that the equations use."""

    problem: Problem
    table: MatrixTable | GaussianMatrixTable
    gamma: float
    mu2_squared: float
    power: float
    kernel_total: float
    """g(1)."""

    @classmethod
    def of(cls, problem: Problem, theory: str = "main") -> Setting:
        kernel_total = float(problem.activation.tail_kernel(1.0))
        mu2_squared = problem.hermite[2] ** 2
        if mu2_squared < 1e-28 * problem.output_power:
            mu2_squared = 0.0  # rounding of an odd activation's μ₂
        return cls(
            problem,
            matrix_table(problem.readouts, problem.gamma) if theory == "main" else GaussianMatrixTable(),
            problem.gamma,
            mu2_squared,
            problem.output_power,
            kernel_total,
        )

    def output_gap(self, matrix_mmse: np.ndarray, kernel_gap: np.ndarray) -> np.ndarray:
        """r_K - q_K = μ₂²/2 (r₂ - q₂) + E v²[g(1) - g(𝒬)]."""
        return 0.5 * self.mu2_squared * matrix_mmse + kernel_gap

    def alpha_of(self, coupling: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """α at which the data give the coupling B: γB/(2ψ_out')."""
        return self.gamma * coupling / (2 * self.problem.channel.free_entropy_slope(gap, self.power))


@dataclass
class ClassSolutions:
    """Solutions with the readout classes of largest |v| learnt, one row for each point."""

    log_tilt: np.ndarray
    log_coupling: np.ndarray
    log_snr: np.ndarray
    residual: np.ndarray


def pull_slopes(
    setting: Setting,
    matrix: MatrixPair,
    tau: np.ndarray,
    hat: np.ndarray,
    steepening: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of A in ln τ and ln B; ``steepening`` d ln(-mmse')/d ln τ is interpolated if not given."""
    if steepening is None:
        steepening = setting.table.guess_steepening(np.log(tau), matrix)
    by_tau = -(tau * (1 - matrix.slope_ratio) + matrix.pull * steepening)
    # For q̂₂ << τ this cancels; there γA = q̂₂ + O(q̂₂²/τ).
    by_tau = np.where(hat < 1e-3 * tau, hat**2 / tau, by_tau)
    return by_tau / setting.gamma, hat * matrix.slope_ratio / setting.gamma


def solve_universal(
    setting: Setting, alpha: np.ndarray, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """ln B on the universal branch (all overlaps 0) at each α, and the residual.

    α = γB/(2ψ_out'(r_K - q_K)) with q̂₂ = γμ₂²B: explicit in B, hence one scalar equation.
    Without a start in ln B, Newton's method begins where nothing is learnt.
    """
    channel, power = setting.problem.channel, setting.power
    full = setting.output_gap(np.ones(1), np.full(1, setting.kernel_total))
    first = channel.free_entropy_slope(full, power)
    if start is not None:
        u = start.copy()
    elif power - full[0] < 1e-12 * power and first[0] < 1e-9 * channel.free_entropy_slope(0.5 * power, power):
        # Labels that depend on |λ| say nothing on an output of which nothing is known: B = 0 exactly.
        return np.full(alpha.shape, -np.inf), np.zeros(alpha.shape)
    else:
        u = np.log(2 * alpha * first / setting.gamma)
    residual = np.full(alpha.shape, np.inf)
    active = np.arange(alpha.size)
    for _ in range(MAX_STEPS):
        hat = setting.gamma * setting.mu2_squared * np.exp(u[active])
        mmse, _, slope = setting.table.exact(hat)
        gap = setting.output_gap(mmse, np.full(mmse.shape, setting.kernel_total))
        first = channel.free_entropy_slope(gap, power)
        error = u[active] - np.log(2 * alpha[active] * first / setting.gamma)
        moved = channel.free_entropy_curvature(gap, power) / first * 0.5 * setting.mu2_squared * slope * hat
        step = -error / (1 + moved)
        step = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        residual[active] = np.abs(error)
        u[active] += np.where(np.abs(error) > RTOL / 100, step, 0.0)
        active = active[np.abs(error) > RTOL]
        if active.size == 0:
            break
    return u, residual


def solve_classes(
    setting: Setting,
    alpha: np.ndarray,
    values2: np.ndarray,
    weights: np.ndarray,
    unlearnt: float,
    start: ClassSolutions,
    *,
    is_exact: bool = False,
) -> ClassSolutions:
    """Polish solutions in which the classes ``values2`` (v², any order) are learnt.

    ``weights`` are E[v²] within each class and ``unlearnt`` that of all other readouts. The exact Jacobian
    is dearer, and needed where it is nearly singular (folds).
    """
    z = np.concatenate([start.log_tilt[:, None], start.log_coupling[:, None], start.log_snr], axis=1)
    # Guesses may run away, as where all is learnt without an error: their residual says so.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        best, residual = newton_rows(
            lambda rows, z: class_equations(
                setting, alpha[rows], values2, weights, unlearnt, z, is_exact=is_exact
            ),
            z,
            rtol=RTOL,
            max_steps=MAX_STEPS,
        )
    return ClassSolutions(best[:, 0], best[:, 1], best[:, 2:], residual)


def class_equations(
    setting: Setting,
    alpha: np.ndarray,
    values2: np.ndarray,
    weights: np.ndarray,
    unlearnt: float,
    z: np.ndarray,
    *,
    is_exact: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The equations and their Jacobian in (ln τ, ln B, ln x).

    One entry of the Jacobian is interpolated, to four digits, unless ``is_exact``.
    """
    problem, gamma, mu2 = setting.problem, setting.gamma, setting.mu2_squared
    n, m = z.shape[0], z.shape[1] - 2
    tau, coupling, x = np.exp(z[:, 0]), np.exp(z[:, 1]), np.exp(z[:, 2:])
    units = evaluate_units(problem.activation, problem.weights, x)
    hat = gamma * mu2 * coupling
    matrix = setting.table.pair(tau, hat)
    pull = matrix.pull / gamma

    learnt = units.overlap**2 @ weights
    left = (units.gap * (1 + units.overlap)) @ weights + unlearnt
    gap = setting.output_gap(matrix.mmse_after, units.kernel_gap @ weights + unlearnt * setting.kernel_total)
    first = problem.channel.free_entropy_slope(gap, setting.power)
    bend = problem.channel.free_entropy_curvature(gap, setting.power) / first
    force = pull[:, None] * units.overlap + coupling[:, None] * units.kernel_slope

    errors = np.empty((n, m + 2))
    errors[:, 0] = np.log(np.maximum(learnt, LEAST) / np.maximum(left, LEAST)) - np.log(
        matrix.recovered / matrix.mmse
    )
    errors[:, 1] = np.log(alpha) - z[:, 1] + np.log(2 * first / gamma)
    errors[:, 2:] = z[:, 2:] - np.log(values2 * force)

    moved = weights * units.overlap_slope * x  # d(Σ weights Q)/d ln x
    jacobian = np.zeros((n, m + 2, m + 2))
    jacobian[:, 0, 0] = matrix.log_slope / (matrix.mmse * matrix.recovered)
    odds_slope = 1 / learnt + np.where(left > LEAST, 1 / np.maximum(left, LEAST), 0.0)
    jacobian[:, 0, 2:] = 2 * moved * units.overlap * odds_slope[:, None]
    after = 0.5 * mu2 * matrix.slope_after
    jacobian[:, 1, 0] = -bend * after * tau
    jacobian[:, 1, 1] = -1 - bend * after * hat
    jacobian[:, 1, 2:] = bend[:, None] * moved * units.kernel_slope
    steepening = setting.table.guess_steepening(z[:, 0], matrix)
    # Next to the birth of a class the equations are nearly degenerate: nothing less than the
    # exact derivative leads Newton's method there.
    is_new = ((np.min(x, axis=1) < 1e-2) | is_exact) & (tau > 1e-6)
    if is_new.any():
        steepening[is_new] = setting.table.steepening(tau[is_new])
    pull_by_tau, pull_by_coupling = pull_slopes(setting, matrix, tau, hat, steepening)
    jacobian[:, 2:, 0] = -pull_by_tau[:, None] * units.overlap / force
    jacobian[:, 2:, 1] = (
        -(pull_by_coupling[:, None] * units.overlap + coupling[:, None] * units.kernel_slope) / force
    )
    own = 1 - x * (pull[:, None] * units.overlap_slope + coupling[:, None] * units.kernel_curvature) / force
    diagonal = np.arange(2, m + 2)
    jacobian[:, diagonal, diagonal] = own
    return errors, jacobian

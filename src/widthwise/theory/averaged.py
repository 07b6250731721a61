r"""Solutions for readouts of many or continuous values: two unknowns, ln τ and ln B.

Every unit sits at its equilibrium root for the couplings (A, B), so that the specialised
solutions form one curve.  It is parametrised by τ: E v²𝒬² grows with B at fixed τ (both
couplings grow), so moment matching fixes B, and α = γB/(2ψ_out') is explicit.
"""

from __future__ import annotations

import numpy as np

from .families import Family
from .profiles import ContinuousProfile, DiscreteProfile
from .roots import decreasing_root, newton_rows
from .saddle import LEAST, MAX_STEPS, RTOL, ClassSolutions, Setting, pull_slopes

__all__ = ["Profile", "profile_equations", "solve_averaged", "trace_averaged", "trace_tilts"]

Profile = ContinuousProfile | DiscreteProfile

LOG_TILT = np.arange(np.log(1e-13), np.log(1e13), 0.7)
_LOG_COUPLING = (-40.0, 45.0)


def trace_averaged(setting: Setting, profile: Profile) -> Family:
    """The curve of equilibrium profiles, approximately, over a grid of tilts."""
    log_tilt, log_coupling, log_alpha = trace_tilts(setting, profile, LOG_TILT, is_rough=True)
    # The grid is too coarse for a law whose support ends within one of its cells.
    missed = ~np.isfinite(log_alpha)
    if missed.any():
        _, log_coupling[missed], log_alpha[missed] = trace_tilts(
            setting, profile, LOG_TILT[missed], is_rough=False
        )
    keep = np.isfinite(log_alpha)
    return Family(log_tilt[keep], log_coupling[keep], np.empty((int(keep.sum()), 0)), log_alpha[keep])


def trace_tilts(
    setting: Setting, profile: Profile, u: np.ndarray, *, is_rough: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ln τ, ln B and ln α; NaN where no profile has exactly this tilt (a class jumps there)."""
    log_hat = np.log(max(setting.gamma * setting.mu2_squared, 1e-300))
    goal, _, _ = setting.table.odds(u)

    def averages(log_coupling: np.ndarray):
        pull, after = setting.table.guess(u, log_hat + log_coupling)
        pull = np.maximum(pull / setting.gamma, 1e-280)
        return profile.averages(pull, np.exp(log_coupling), is_rough=is_rough), after

    def shortfall(log_coupling: np.ndarray) -> np.ndarray:
        a, _ = averages(log_coupling)
        return goal - np.log(np.maximum(a.learnt, LEAST)) + np.log(np.maximum(a.left, LEAST))

    low, high = (np.full(u.size, end) for end in _LOG_COUPLING)
    log_coupling = decreasing_root(shortfall, low, high, atol=1e-4 if is_rough else 1e-9)
    a, after = averages(log_coupling)
    alpha = setting.alpha_of(np.exp(log_coupling), setting.output_gap(after, a.kernel_gap))
    is_met = (np.abs(shortfall(log_coupling)) < 0.3) & (alpha > 0)
    return u.copy(), log_coupling, np.where(is_met, np.log(np.maximum(alpha, 1e-300)), np.nan)


def solve_averaged(
    setting: Setting, profile: Profile, alpha: np.ndarray, start: ClassSolutions
) -> ClassSolutions:
    """Polish solutions (ln τ, ln B) at each α by Newton's method."""
    best, residual = newton_rows(
        lambda rows, z: profile_equations(setting, profile, alpha[rows], z),
        np.stack([start.log_tilt, start.log_coupling], axis=1),
        rtol=RTOL,
        max_steps=MAX_STEPS,
    )
    return ClassSolutions(best[:, 0], best[:, 1], np.empty((alpha.size, 0)), residual)


def profile_equations(
    setting: Setting, profile: Profile, alpha: np.ndarray, z: np.ndarray, *, is_exact: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Moment matching and the strength of the data, and their Jacobian in (ln τ, ln B).

    One entry of the Jacobian is interpolated, to four digits, unless ``is_exact``.
    """
    gamma, mu2, channel = setting.gamma, setting.mu2_squared, setting.problem.channel
    tau, coupling = np.exp(z[:, 0]), np.exp(z[:, 1])
    hat = gamma * mu2 * coupling
    matrix = setting.table.pair(tau, hat)
    pull = matrix.pull / gamma
    a = profile.averages(np.maximum(pull, 1e-280), coupling)
    gap = setting.output_gap(matrix.mmse_after, a.kernel_gap)
    first = channel.free_entropy_slope(gap, setting.power)
    bend = channel.free_entropy_curvature(gap, setting.power) / first
    learnt, left = np.maximum(a.learnt, LEAST), np.maximum(a.left, LEAST)

    errors = np.stack(
        [
            np.log(learnt / left) - np.log(matrix.recovered / matrix.mmse),
            np.log(alpha) - z[:, 1] + np.log(2 * first / gamma),
        ],
        axis=1,
    )
    steepening = setting.table.steepening(tau) if is_exact else None
    pull_by_tau, pull_by_coupling = pull_slopes(setting, matrix, tau, hat, steepening)
    learnt_by = (
        a.learnt_slopes[0] * pull_by_tau,
        a.learnt_slopes[0] * pull_by_coupling + a.learnt_slopes[1] * coupling,
    )
    after = 0.5 * mu2 * matrix.slope_after
    gap_by = (
        after * tau + a.kernel_gap_slopes[0] * pull_by_tau,
        after * hat + a.kernel_gap_slopes[0] * pull_by_coupling + a.kernel_gap_slopes[1] * coupling,
    )
    jacobian = np.empty((alpha.size, 2, 2))
    for k in range(2):
        jacobian[:, 0, k] = learnt_by[k] * (1 / learnt + 1 / left)
        jacobian[:, 1, k] = -bend * gap_by[k]
    jacobian[:, 0, 0] += matrix.log_slope / (matrix.mmse * matrix.recovered)
    jacobian[:, 1, 1] -= 1
    return errors, jacobian

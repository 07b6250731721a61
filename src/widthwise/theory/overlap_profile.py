r"""The overlap 𝒬_W(v) of a solution at any readouts, finer than the grid that it reports.

The couplings of a solution follow from its fields, A from τ and q̂₂ and B from the error; given these,
𝒬_W(v) is a scalar equation for each v (:mod:`units`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .families.continuous_profile import ContinuousProfile
from .setting import setting_of
from .solution import Solution

__all__ = ["overlap_profile"]


def overlap_profile(solution: Solution, readouts: ArrayLike, *, theory: str = "main") -> Array:
    """𝒬_W at given readouts; for one that P_v does not have, that of a single unit added with it."""
    v = np.atleast_1d(np.asarray(readouts, dtype=float))
    if not solution.is_converged:
        return np.full(v.shape, np.nan)
    if solution.branch == "universal":
        return np.zeros(v.shape)
    if np.isinf(solution.tilt):  # all weights are known
        return np.where(v == 0, 0.0, 1.0)
    problem = solution.problem
    setting = setting_of(problem, theory)
    slope = problem.channel.free_entropy_slope(np.array([solution.excess_error]), setting.power)
    coupling = 2 * solution.alpha / setting.gamma * slope
    with np.errstate(divide="ignore"):
        pair = setting.matrix.pair(np.log([solution.tilt]), np.log([solution.matrix_overlap_hat]))
    pull = np.maximum(np.exp(pair.log_pull) / setting.gamma, 1e-280)
    profile = ContinuousProfile(setting.units, problem.readouts, setting.kernel_total)  # type: ignore[arg-type]
    snr = profile.snr_at(pull, coupling, v.ravel() ** 2)
    overlap: Array = np.asarray(setting.units.weights.overlap(snr))[0].reshape(v.shape)
    return overlap

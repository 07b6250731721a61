"""More than one universal solution: all crossings of the universal curve with a given α.

With every overlap 0 the strength B of the data is the only unknown and α = γB/(2ψ_out') is explicit in
it. For additive noise α grows with B. For a channel that hardly tells λ from -λ, ψ_out' starts near 0 and
grows faster than B: the curve folds, and a solution that has learnt nothing stands beside one that has.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..problem import Problem
from .saddle import Setting

__all__ = ["universal_guesses"]

_LOG_HAT = np.linspace(np.log(1e-8), np.log(1e11), 200)


def universal_guesses(setting: Setting, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index into α and a first guess of ln B for each crossing, where there is more than one."""
    if setting.problem.channel.is_additive or setting.mu2_squared == 0:
        return np.empty(0, dtype=int), np.empty(0)
    log_coupling, log_alpha = _curve(setting)
    if np.all(np.diff(log_alpha) > 0):
        return np.empty(0, dtype=int), np.empty(0)
    distance = log_alpha[None, :] - np.log(alpha)[:, None]
    who, left = np.nonzero(distance[:, 1:] * distance[:, :-1] <= 0)
    share = distance[who, left] / (distance[who, left] - distance[who, left + 1] + 1e-300)
    return who, log_coupling[left] + share * np.diff(log_coupling)[left]


def _curve(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    return _traced(setting.problem, setting.gamma * setting.mu2_squared, setting.kernel_total)


@lru_cache(maxsize=64)
def _traced(problem: Problem, scale: float, kernel_total: float) -> tuple[np.ndarray, np.ndarray]:
    setting = Setting.of(problem)
    log_coupling = _LOG_HAT - np.log(scale)
    mmse = setting.table.exact(np.exp(_LOG_HAT))[0]
    gap = setting.output_gap(mmse, np.full(mmse.shape, kernel_total))
    slope = problem.channel.free_entropy_slope(gap, setting.power)
    # Where ψ' is rounding around 0 nothing can be said, and no α is met.
    usable = slope > 1e-9 * slope.max()
    return log_coupling[usable], np.log(setting.gamma / (2 * slope[usable])) + log_coupling[usable]

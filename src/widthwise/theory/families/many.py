r"""Laws of many readout classes: the number of classes at the upper root is chosen by the potential.

Each class has a small weight, so that in equilibrium all but a few sit at the root of largest potential of their
own, up to a threshold of |v|: the n largest at the upper root, the others at the lowest.  Solutions with
neighbouring n coexist at one α.  First guesses come from the curve of such profiles over τ; from each of them n
climbs as long as the free entropy does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ...numerics.roots import decreasing_root, newton_rows
from ...problem import Problem
from ..setting import Setting, setting_of
from ..units import Root
from .averages import class_averages
from .base import Points, System
from .continuous_profile import jump_levels
from .threshold import ThresholdFamily

if False:  # pragma: no cover
    from ..solution import Solution

__all__ = ["solve_many"]

_LOG_TILT = np.linspace(np.log(1e-8), np.log(1e15), 140)
_LOG_COUPLING = 60.0
_MAX_CLIMB = 400
_REACH = (1, -1, 2, -2, 3, -3)  # changes of n that are tried


class _Rows(ThresholdFamily):
    """Threshold families with a number of upper classes for each row."""

    def __init__(self, setting: Setting, n_upper: np.ndarray) -> None:
        super().__init__(setting, 0)
        self.counts = n_upper

    def only(self, rows: np.ndarray) -> _Rows:
        return _Rows(self.setting, self.counts[rows])

    def snr(self, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
        roots = self.setting.units.roots
        upper = roots(self.values2, pull, coupling, Root.HIGHEST)
        lower = roots(self.values2, pull, coupling, Root.LOWEST)
        return np.where(np.arange(self.values2.size) < self.counts[:, None], upper, lower)

    def solve(self, log_alpha: np.ndarray, u: np.ndarray, z: np.ndarray) -> Points:
        """Newton's method at given α, row by row."""

        def equations(rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            s: System = self.only(rows).system(y[:, -1], y[:, :-1])
            errors = np.column_stack([s.errors, s.log_alpha - log_alpha[rows]])
            upper = np.concatenate([s.by_z, s.by_u[..., None]], axis=2)
            lower = np.column_stack([s.alpha_by_z, s.alpha_by_u])[:, None, :]
            return errors, np.concatenate([upper, lower], axis=1)

        with np.errstate(all="ignore"):
            y, residual = newton_rows(equations, np.column_stack([z, u]), rtol=1e-13, max_steps=40)
            points = self._points(y[:, -1], y[:, :-1], residual)
        points.log_alpha = np.where(points.is_good, log_alpha, points.log_alpha)
        return points


def solve_many(setting: Setting, alpha: np.ndarray) -> Iterator[tuple[int, Solution]]:
    """Solutions in which units are learnt, with the index of their α."""
    if setting.is_linear:
        return
    who, u, z, counts = _guesses(setting, alpha)
    if not who.size:
        return
    target = np.log(alpha)[who]
    solved: dict[tuple[int, int], Solution] = {}
    states: dict[tuple[int, int], tuple[float, np.ndarray]] = {}

    def solve(which: np.ndarray, n: np.ndarray, u: np.ndarray, z: np.ndarray) -> None:
        points = _Rows(setting, n).solve(np.log(alpha)[which], u, z)
        good = np.nonzero(points.is_good)[0]
        for n_here in np.unique(n[good]):
            rows = good[n[good] == n_here]
            family = ThresholdFamily(setting, int(n_here))
            for row, solution in zip(rows, family.solutions(points[rows], alpha[which[rows]]), strict=True):
                key = (int(which[row]), int(n_here))
                if key not in solved or solution.free_entropy > solved[key].free_entropy:
                    solved[key] = solution
                    states[key] = float(points.u[row]), points.z[row]

    solve(who, counts, u, z)
    del target
    top = setting.classes.values2.size if setting.classes is not None else 0
    tried = set(solved)
    frontier = list(solved)
    for _ in range(_MAX_CLIMB):
        wanted = []
        for key in frontier:
            i, n = key
            here = solved[key].free_entropy
            best = max((s.free_entropy for (j, _), s in solved.items() if j == i), default=-np.inf)
            if here < best - 1e-9 * (1 + abs(best)) and not _is_local_top(solved, key):
                continue
            wanted += [(i, n + step, key) for step in _REACH if 0 <= n + step <= top and (i, n + step) not in tried]
        if not wanted:
            break
        unique = {(i, n): key for i, n, key in wanted}
        tried |= set(unique)
        which = np.array([i for i, _ in unique])
        n = np.array([n for _, n in unique])
        start_u = np.array([states[key][0] for key in unique.values()])
        start_z = np.array([states[key][1] for key in unique.values()])
        solve(which, n, start_u, start_z)
        frontier = [key for key in unique if key in solved]
    for (i, _), solution in solved.items():
        yield i, solution


def _is_local_top(solved: dict[tuple[int, int], Solution], key: tuple[int, int]) -> bool:
    """Whether neither neighbour that is known has a higher free entropy."""
    i, n = key
    own = solved[key].free_entropy
    return all(solved[i, n + s].free_entropy <= own for s in (-1, 1) if (i, n + s) in solved)


def _guesses(
    setting: Setting, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Index into α, ln B, ln τ and n of first guesses: where the curve of profiles crosses α, or nearly."""
    log_tilt, log_coupling, counts, log_alpha = _curve(setting.problem, setting.theory)
    target = np.log(alpha)[:, None]
    low = np.minimum(log_alpha[:-1], log_alpha[1:])
    high = np.maximum(log_alpha[:-1], log_alpha[1:])
    # The curve steps back where a class jumps: neighbours overlap by about such a step.
    slack = 0.02
    who, left = np.nonzero((target >= low - slack) & (target <= high + slack))
    width = log_alpha[left + 1] - log_alpha[left]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(np.nan_to_num((target[who, 0] - log_alpha[left]) / width, nan=0.5), 0.0, 1.0)

    def between(y: np.ndarray) -> np.ndarray:
        return y[left] + share * (y[left + 1] - y[left])

    n = np.round(between(counts.astype(float))).astype(int)
    return who, between(log_coupling), between(log_tilt)[:, None], n


@lru_cache(maxsize=32)
def _curve(problem: Problem, theory: str) -> tuple[np.ndarray, ...]:
    """ln τ, ln B, number of upper classes and ln α along the profiles with every class at its own maximum."""
    setting = setting_of(problem, theory)
    assert setting.classes is not None
    values2, powers = setting.classes.values2, setting.classes.powers
    units = setting.units
    goal = setting.matrix.odds(_LOG_TILT)[0]

    def state(z: np.ndarray):
        pair = setting.matrix.pair(_LOG_TILT, setting.log_hat_scale + z)
        pull = np.maximum(np.exp(pair.log_pull) / setting.gamma, 1e-280)
        coupling = np.exp(z)
        level = jump_levels(units, pull, coupling)
        n = np.sum(values2 > level[:, None], axis=1)
        upper = units.roots(values2, pull, coupling, Root.HIGHEST, is_rough=True)
        lower = units.roots(values2, pull, coupling, Root.LOWEST, is_rough=True)
        snr = np.where(np.arange(values2.size) < n[:, None], np.nan_to_num(upper), lower)
        return pair, n, class_averages(units, values2, powers, snr, pull, coupling)

    with np.errstate(all="ignore"):
        ends = np.full(_LOG_TILT.size, _LOG_COUPLING)
        z = decreasing_root(lambda z: goal - state(z)[2].odds, -ends, ends, atol=1e-6)
        pair, n, averages = state(z)
        gap = setting.output_gap(pair.mmse_after, averages.kernel_gap)
        log_alpha = setting.log_alpha(z, gap)
    keep = np.isfinite(log_alpha)
    return _LOG_TILT[keep], z[keep], n[keep], log_alpha[keep]

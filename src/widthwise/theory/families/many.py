r"""Laws of many readout classes: the number of classes at the upper root is chosen by the potential.

Each class has a small weight, so that in equilibrium all but a few sit at the root of largest potential of
their own, up to a threshold of |v|: the n largest at the upper root, the others at the lowest.  Solutions
with neighbouring n coexist at one α.  First guesses come from the curve of such profiles over τ; from each of
them n changes as long as the free entropy grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...numerics.roots import decreasing_root, newton_rows
from ...problem import Problem
from ..setting import Setting, setting_of
from ..units import Root
from .averages import class_averages
from .base import Points, System
from .continuous_profile import jump_levels
from .threshold import ThresholdFamily

if TYPE_CHECKING:
    from ..solution import Solution

__all__ = ["solve_many"]

_LOG_TILT = np.linspace(np.log(1e-8), np.log(1e15), 140)
_LOG_COUPLING = 60.0
_MAX_CLIMB = 400
_REACH = (1, -1, 2, -2, 3, -3)  # changes of n that are tried
_ALL = 24  # classes up to which every n is tried
_CLOSE = 1.0  # in ln α, of points of the curve that are first guesses


class _Rows(ThresholdFamily):
    """Threshold families with a number of upper classes for each row."""

    def __init__(self, setting: Setting, n_upper: np.ndarray, upper: Root) -> None:
        super().__init__(setting, 0, upper)
        self.counts = n_upper

    def only(self, rows: np.ndarray) -> _Rows:
        return _Rows(self.setting, self.counts[rows], self.upper)

    def snr(self, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
        roots = self.setting.units.roots
        upper = roots(self.values2, pull, coupling, self.upper)
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
    yield from _climbed(setting, alpha, Root.HIGHEST, _guesses(setting, alpha))
    if setting.units.can_be_known:
        yield from _climbed(setting, alpha, Root.KNOWN, _guesses_if_known(setting, alpha))


def _climbed(
    setting: Setting, alpha: np.ndarray, upper: Root, guesses: tuple[np.ndarray, ...]
) -> Iterator[tuple[int, Solution]]:
    """What the guesses lead to, and all that lie on the way up from there as n changes."""
    who, u, z, counts = guesses
    if not who.size:
        return
    solved: dict[tuple[int, int], Solution] = {}

    def solve(which: np.ndarray, n: np.ndarray, u: np.ndarray, z: np.ndarray) -> None:
        points = _Rows(setting, n, upper).solve(np.log(alpha)[which], u, z)
        good = np.nonzero(points.is_good)[0]
        for n_here in np.unique(n[good]):
            rows = good[n[good] == n_here]
            family = ThresholdFamily(setting, int(n_here), upper)
            for row, solution in zip(rows, family.solutions(points[rows], alpha[which[rows]]), strict=True):
                key = (int(which[row]), int(n_here))
                if key not in solved or solution.free_entropy > solved[key].free_entropy:
                    solved[key] = solution

    solve(who, counts, u, z)
    assert setting.classes is not None
    top = len(setting.classes)
    tried = set(solved)
    frontier = list(solved)
    for _ in range(_MAX_CLIMB):
        asked: dict[tuple[int, int], tuple[int, int]] = {}
        for key in frontier:
            i, n = key
            if top <= _ALL or _is_local_top(solved, key):
                near = ((i, n + step) for step in _REACH if 0 <= n + step <= top)
                asked |= {new: key for new in near if new not in tried}
        if not asked:
            break
        tried |= set(asked)
        solve(
            np.array([i for i, _ in asked]),
            np.array([n for _, n in asked]),
            np.array([solved[key].parameter for key in asked.values()]),
            np.array([solved[key].state for key in asked.values()]),
        )
        frontier = [key for key in asked if key in solved]
    for (i, _), solution in solved.items():
        yield i, solution


def _is_local_top(solved: dict[tuple[int, int], Solution], key: tuple[int, int]) -> bool:
    """Whether neither neighbour that is known has a higher free entropy."""
    i, n = key
    own = solved[key].free_entropy
    return all(solved[i, n + s].free_entropy <= own for s in (-1, 1) if (i, n + s) in solved)


def _guesses(setting: Setting, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Index into α, ln B, ln τ and n of first guesses: for every n, the nearest point of the curve."""
    log_tilt, log_coupling, counts, log_alpha = _curve(setting.problem, setting.theory)
    who, at = [], []
    for i, target in enumerate(np.log(alpha)):
        apart = np.abs(log_alpha - target)
        order = np.argsort(apart)
        close = order[(apart[order] < _CLOSE) | (np.arange(order.size) < 3)]
        _, first = np.unique(counts[close], return_index=True)
        near = np.unique(np.concatenate([close[first], close[:4]]))
        who += [i] * near.size
        at += near.tolist()
    rows, index = np.array(at, dtype=int), np.array(who, dtype=int)
    shift = np.log(alpha)[index] - log_alpha[rows]  # B is proportional to α at given errors
    return index, log_coupling[rows] + shift, log_tilt[rows][:, None], counts[rows]


def _guesses_if_known(
    setting: Setting, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same for weights that are known exactly, with nothing learnt of the other classes."""
    assert setting.classes is not None
    total = np.cumsum(setting.classes.powers)
    n = np.unique(np.round(np.geomspace(1, total.size, 8)).astype(int))
    n = n[n < total.size]
    learnt, left = total[n - 1], np.maximum(1 - total[n - 1], 1e-12)
    gap = setting.output_gap(left, left * setting.kernel_total)
    slope = setting.problem.channel.free_entropy_slope(gap, setting.power)
    who = np.repeat(np.arange(alpha.size), n.size)
    log_coupling = np.log(2 * alpha[who] / setting.gamma) + np.tile(np.log(slope), alpha.size)
    log_tilt = setting.matrix.rough_log_snr_of(np.log(learnt) - np.log(left))
    return who, log_coupling, np.tile(log_tilt, alpha.size)[:, None], np.tile(n, alpha.size)


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

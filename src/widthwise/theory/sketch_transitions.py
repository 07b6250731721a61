r"""Transitions read off a sketch: where the curve on top changes, to about three digits.

A solution is stationary, so αf changes with α only explicitly, d(αf)/dα = ψ_out: with that slope αf is
interpolated along every run of stable points by cubics.  Where the highest run ends and the next begins
beside it with hardly larger overlaps, units set in continuously; where two runs cross, the optimum jumps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .branches import Branch
from .solution import Solution
from .solver import exact_reason
from .stretches import has_few_classes
from .transitions import Transition

__all__ = ["sketch_transitions"]

_N_GRID = 400
_SMALL = 0.12  # a run that begins with overlaps this close to those below it was born there continuously
_N_BISECTIONS = 12  # of a step of the grid, 1.4 per cent
_LOST = 1e-4  # heights of runs that meet differ by less


@dataclass(frozen=True)
class _Run:
    """Neighbouring stable points of a branch in increasing α, with αf and its slope."""

    points: list[Solution]
    alpha: np.ndarray
    height: np.ndarray
    slope: np.ndarray
    end: float
    """Largest α, if the branch goes on from there unstably; inf if it leaves the frame."""

    def at(self, alpha: np.ndarray) -> np.ndarray:
        """αf by cubic interpolation; -inf outside."""
        i = np.clip(np.searchsorted(self.alpha, alpha, side="right") - 1, 0, self.alpha.size - 2)
        step = self.alpha[i + 1] - self.alpha[i]
        t = (alpha - self.alpha[i]) / step
        y0, y1 = self.height[i], self.height[i + 1]
        m0, m1 = step * self.slope[i], step * self.slope[i + 1]
        value = y0 + t * (m0 + t * (3 * (y1 - y0) - 2 * m0 - m1 + t * (m0 + m1 - 2 * (y1 - y0))))
        return np.where((alpha >= self.alpha[0]) & (alpha <= self.alpha[-1]), value, -np.inf)

    def nearest(self, alpha: float) -> Solution:
        return self.points[int(np.argmin(np.abs(self.alpha - alpha)))]


def sketch_transitions(branches: Sequence[Branch]) -> list[Transition]:
    """The transitions of the equilibrium along sketched branches, in order of α."""
    runs = [run for branch in branches for run in _stable_runs(branch)]
    if len(runs) < 2 or exact_reason(branches[0].problem):
        return []
    ends = np.concatenate([run.alpha[[0, -1]] for run in runs])
    grid = np.union1d(np.geomspace(ends.min(), ends.max(), _N_GRID), ends)
    heights = np.stack([run.at(grid) for run in runs])
    top = np.where(np.isfinite(heights.max(axis=0)), heights.argmax(axis=0), -1)
    seen = np.nonzero(top >= 0)[0]
    found: list[Transition] = []
    for a, b in zip(seen[:-1], seen[1:], strict=True):
        if top[a] != top[b]:
            found += _change(runs[top[a]], runs[top[b]], float(grid[a]), float(grid[b]))
    return found


def _stable_runs(branch: Branch) -> list[_Run]:
    points, is_stable = list(branch), [point.is_stable for point in branch]
    cuts = [0, *(i for i in range(1, len(points)) if is_stable[i] != is_stable[i - 1]), len(points)]
    runs = []
    for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
        if stop - start < 2 or not is_stable[start]:
            continue
        alpha = np.array([point.alpha for point in points[start:stop]])
        order = np.argsort(alpha)
        order = order[np.concatenate([[True], np.diff(alpha[order]) > 0])]
        if order.size < 2:
            continue
        own, alpha = [points[start + i] for i in order], alpha[order]
        beside = (start - 1 if order[-1] == 0 else stop) if order[-1] in (0, stop - start - 1) else -1
        end = float(alpha[-1]) if 0 <= beside < len(points) else math.inf
        gap = np.array([point.excess_error for point in own])
        slope = branch.problem.channel.free_entropy(gap, branch.problem.output_power)
        height = alpha * np.array([point.free_entropy for point in own])
        runs.append(_Run(own, alpha, height, slope, end))
    return runs


def _change(old: _Run, new: _Run, low: float, high: float) -> list[Transition]:
    """The run on top changes between two values of α."""
    before, after = old.nearest(low), new.nearest(high)
    gain = after.weight_overlap - before.weight_overlap
    jump = float(gain.max())
    if not has_few_classes(before.problem):  # single units of a profile may jump while nothing else does
        jump = float(after.readout_weights @ (after.readout_values**2 * gain))
    if low <= new.alpha[0] <= high and jump < _SMALL:
        return [Transition(_size(before, after, gain), float(new.alpha[0]), "continuous")]
    last = old.alpha[-1:]
    if last[0] <= high and (abs(jump) < _SMALL or new.at(last)[0] < old.at(last)[0] - _LOST):
        return []  # one curve of doubtful stability, or one that leaves the frame
    alpha, error = _crossing(old, new, low, high), before.excess_error - after.excess_error
    spinodals = (float(new.alpha[0]), old.end)
    return [Transition(_size(before, after, gain), alpha, "first-order", spinodals, jump, error)]


def _crossing(old: _Run, new: _Run, low: float, high: float) -> float:
    """Where the new run overtakes the old one, by bisection."""
    for _ in range(_N_BISECTIONS):
        middle = np.array([0.5 * (low + high)])
        if new.at(middle)[0] > old.at(middle)[0]:
            high = float(middle[0])
        else:
            low = float(middle[0])
    return 0.5 * (low + high)


def _size(before: Solution, after: Solution, gain: np.ndarray) -> float:
    """|v| of the units that begin to be learnt, or whose overlap grows most."""
    size = np.abs(after.readout_values)
    newly = (after.weight_overlap > 0) & (before.weight_overlap == 0)
    return float(size[newly].max() if newly.any() else size[int(np.argmax(gain))])

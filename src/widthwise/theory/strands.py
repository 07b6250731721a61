"""All branches along alpha: every solution, joined into continuous strands.

A strand keeps the number of |readouts| that are learnt. Where solutions appear, vanish or change
rank, values of alpha are inserted, so that folds and transitions are resolved to a small part of
the spacing of the values given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from .solution import LearningCurve, Solution
from .solver import _as_alpha, all_solutions

__all__ = ["Change", "Strands", "readout_sizes", "solutions_along", "trace_strands"]

# Solutions at neighbouring alpha further apart than this (in any overlap) are not one strand, and
# strands that begin within the second distance of another solution branch off from it.
_FAR, _NEAR = 0.3, 0.1
_N_MISSED = 2  # values of alpha between the last point of a strand and that of its partner in a fold
_ROUNDS, _N_INSERTED, _N_INTERVALS = 3, 7, 12  # of refinement: each round makes an interval 8 times shorter


class Change(NamedTuple):
    """Where the equilibrium moves to another branch."""

    alpha: float
    is_jump: bool


class Strands(NamedTuple):
    """All solutions along alpha, joined into continuous curves, and the changes of the equilibrium."""

    curves: list[LearningCurve]
    changes: list[Change]


def trace_strands(problem: Problem, alphas: ArrayLike) -> Strands:
    """Every solution along alpha, joined into continuous curves.

    A strand ends where its solution vanishes; there it includes the point that it branches off from
    or merges with, so that a line through it leaves no gap.
    """
    grid = np.unique(np.asarray(alphas, dtype=float))
    table = dict(zip(grid.tolist(), solutions_along(problem, grid), strict=True))
    for _ in range(_ROUNDS):
        columns = [table[alpha] for alpha in sorted(table)]
        inserted = _inserted(sorted(table), columns, _linked(columns))
        if not inserted:
            break
        table.update(zip(inserted, solutions_along(problem, inserted), strict=True))
    columns = [table[alpha] for alpha in sorted(table)]
    strands = _linked(columns)
    changes = []
    best = [_equilibrium(column) for column in columns if column]
    for here, there in zip(best, best[1:], strict=False):
        if not _is_followed(here, there, strands):
            middle = 0.5 * (here.alpha + there.alpha)
            changes.append(Change(middle, _distance(here, there) > 0.5 * _NEAR))
    curves = [LearningCurve(problem, s.points[0].branch, [*s.before, *s.points, *s.after]) for s in strands]
    return Strands(curves, changes)


def solutions_along(problem: Problem, alphas: ArrayLike) -> list[list[Solution]]:
    """Every solution found at each alpha, highest free entropy first, as one batch."""
    return all_solutions(problem, _as_alpha(alphas))


def readout_sizes(values: np.ndarray) -> list[int]:
    """One index for each distinct |v| > 0, largest first."""
    size = np.abs(values)
    found: list[int] = []
    for i in np.argsort(-size, kind="stable"):
        if size[i] > 0 and (not found or size[found[-1]] - size[i] > 1e-12 * size[i]):
            found.append(int(i))
    return found


class _Strand:
    def __init__(self, first: int, point: Solution) -> None:
        self.first = self.last = first
        self.points = [point]
        self.before: list[Solution] = []
        self.after: list[Solution] = []


def _inserted(grid: list[float], columns: list[list[Solution]], strands: list[_Strand]) -> list[float]:
    """Values of alpha to add where the solutions change in number or stability, or the equilibrium moves."""
    kinds = [sorted((_pattern(s), s.is_stable) for s in column) for column in columns]
    new: list[float] = []
    n_intervals = 0
    for i in range(len(grid) - 1):
        here, there = columns[i], columns[i + 1]
        is_same = kinds[i] == kinds[i + 1]
        if is_same and (not here or _is_followed(_equilibrium(here), _equilibrium(there), strands)):
            continue
        n_intervals += 1
        if n_intervals <= _N_INTERVALS:
            new += np.linspace(grid[i], grid[i + 1], _N_INSERTED + 2)[1:-1].tolist()
    return new


def _equilibrium(column: list[Solution]) -> Solution:
    """Mostly the first, but not where the potential is known to prefer a wrong one."""
    return next((point for point in column if point.is_equilibrium), column[0])


def _is_followed(here: Solution, there: Solution, strands: list[_Strand]) -> bool:
    """Whether two solutions belong to one strand."""
    return any(
        any(point is here for point in strand.points) and any(point is there for point in strand.points)
        for strand in strands
    )


def _linked(columns: list[list[Solution]]) -> list[_Strand]:
    strands: list[_Strand] = []
    for i, column in enumerate(columns):
        alive = [strand for strand in strands if strand.last == i - 1]
        pairs = sorted(
            (_cost(strand, point, alive, column), s, p)
            for s, strand in enumerate(alive)
            for p, point in enumerate(column)
            if _pattern(strand.points[-1]) == _pattern(point)
        )
        taken_strands: set[int] = set()
        taken_points: set[int] = set()
        for distance, s, p in pairs:
            if distance < _FAR and s not in taken_strands and p not in taken_points:
                taken_strands.add(s)
                taken_points.add(p)
                alive[s].points.append(column[p])
                alive[s].last = i
        strands += [_Strand(i, point) for p, point in enumerate(column) if p not in taken_points]
    if len(columns) > 2:  # close to a fold the solver may find one solution of the two: leave out crumbs
        strands = [strand for strand in strands if len(strand.points) > 1]
    for strand in strands:
        others = [other for other in strands if other is not strand]
        if strand.first > 0:
            born = [other.points[0] for other in others if abs(other.first - strand.first) <= _N_MISSED]
            strand.before = _joint(strand.points[0], born, columns[strand.first - 1])
        if strand.last < len(columns) - 1:
            died = [other.points[-1] for other in others if abs(other.last - strand.last) <= _N_MISSED]
            strand.after = _joint(strand.points[-1], died, columns[strand.last + 1])
    return strands


def _cost(strand: _Strand, point: Solution, alive: list[_Strand], column: list[Solution]) -> float:
    """How unlikely it is that a strand goes on with a point."""
    pattern = _pattern(point)
    n_alive = sum(_pattern(other.points[-1]) == pattern for other in alive)
    if n_alive == 1 and sum(_pattern(other) == pattern for other in column) == 1:
        return 0.0  # no choice, however steep the strand
    end = strand.points[-1]
    return _distance(end, point) + 0.1 * (end.is_stable != point.is_stable)


def _joint(end: Solution, partners: list[Solution], beyond: list[Solution]) -> list[Solution]:
    """The point to which the end of a strand is drawn: its partner in a fold, or where it branches off."""
    for candidates, reach in ((partners, _FAR), (beyond, _NEAR)):
        if candidates is partners and end.is_stable:
            continue  # the unstable one of the two closes the gap
        near = min(candidates, key=lambda other: _distance(end, other), default=None)
        if near is not None and _distance(end, near) < reach:
            return [near]
    return []


def _pattern(point: Solution) -> int:
    """How many |readouts| are learnt; only whether any is for continuous laws and those of many atoms."""
    if point.branch == "universal":
        return 0
    if not point.problem.readouts.is_discrete or point.readout_values.size > 12:
        return 1
    return int(np.sum(point.weight_overlap[readout_sizes(point.readout_values)] > 0))


def _distance(one: Solution, other: Solution) -> float:
    moved = np.abs(one.weight_overlap - other.weight_overlap)
    if one.problem.readouts.is_discrete:
        overlaps = np.max(moved)
    else:  # single units in the tail of the law may move a lot
        overlaps = np.sum(one.readout_weights * one.readout_values**2 * moved)
    return float(max(overlaps, abs(one.matrix_overlap_centred - other.matrix_overlap_centred)))

r"""Branches of solutions, drawn through folds and branch points.

Each family (:mod:`exact`) is a graph over its own parameter, with α as a dependent variable,
so that α may turn back; a branch is born where its overlap leaves 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from .assemble import ACCEPTED
from .exact import ExactFamily
from .made_once import exact_families
from .saddle import ClassSolutions
from .solution import LearningCurve, Solution
from .solver import _as_alpha, all_solutions, exact_reason
from .stretches import births, learnt_classes

__all__ = ["Branch", "trace_branches"]

# Neighbours on a branch are at most this far apart, in ln α and in the overlap of the class that
# parametrises the family, unless halving the distance this many times does not get there. Profiles
# cost ten times as much a point, and are smooth.
_STEP_ALPHA, _STEP_OVERLAP, _N_HALVINGS = 0.06, 0.03, 6
_STEP_PROFILE = 0.1

_EQUAL = 1e-10  # free entropies closer than this are those of one solution, or of two at a Maxwell point


class Branch(LearningCurve):
    """Solutions in order along one curve; α may turn back at ``folds`` (values of α)."""

    def __init__(
        self, problem: Problem, name: str, points: Sequence[Solution], folds: Sequence[float]
    ) -> None:
        super().__init__(problem, name, points)
        self.folds = tuple(folds)


def trace_branches(
    problem: Problem, alpha: tuple[float, float], n_points: int = 80, *, at: ArrayLike = ()
) -> list[Branch]:
    """Every branch of solutions between two values of α, as curves through folds.

    Points that have the free entropy of the equilibrium at their α are marked so.  A fold, where
    stability changes, counts to its stable side.

    Parameters
    ----------
    alpha : (low, high)
        Range of α; parts of a branch outside are left out, and it has points at both ends.
    n_points : int
        Points of the universal branch; the others are resolved as finely as they turn.
    at : values of α, optional
        Every branch that passes them has points exactly there (those outside the range are ignored).

    Returns
    -------
    list of Branch
        The universal branch first, then one for each stretch of a family inside the range,
        ordered from its birth, where it touches the branch that it comes from; ``folds`` are the
        α at which it turns back.
    """
    low, high = (float(x) for x in alpha)
    if not (0 < low < high and np.isfinite(high)):
        raise ValueError(f"alpha must be a range (low, high) with 0 < low < high, got ({low:g}, {high:g})")
    _as_alpha([low, high])
    families = exact_families(problem)
    born = births(problem) if families else ()
    wanted = np.concatenate([[low, high], born, np.ravel(np.asarray(at, dtype=float))])
    knots = np.unique(wanted[(wanted >= low) & (wanted <= high)])
    grid = np.union1d(np.geomspace(low, high, n_points)[1:-1], knots)
    ranked = all_solutions(problem, grid)
    table = {float(a): found for a, found in zip(grid, ranked, strict=True)}
    universal = [s for found in ranked for s in found if s.branch == "universal"]
    at_knots = [s for knot in knots for s in table[float(knot)] if np.isfinite(s.tilt)]
    branches = [Branch(problem, "universal", universal, ())]
    if perfect := [s for found in ranked for s in found if np.isinf(s.tilt)]:  # is no part of a family
        branches.append(Branch(problem, "perfect", perfect, ()))
    for family, birth in zip(families, born, strict=True):
        branches += _stretches(problem, family, (low, high), at_knots, birth)
    return _marked(problem, branches, table)


@dataclass
class _Curve:
    """Points of a family in order of ln(parameter); None where it has no solution or is out of range."""

    u: np.ndarray
    points: list[Solution | None]
    is_fold: np.ndarray

    def merged(self, u: np.ndarray, points: Sequence[Solution | None], is_fold: bool = False) -> _Curve:
        every = np.concatenate([self.u, u])
        both = [*self.points, *points]
        flags = np.concatenate([self.is_fold, np.full(len(u), is_fold)])
        order = np.argsort(every, kind="stable")
        return _Curve(every[order], [both[i] for i in order], flags[order])


def _stretches(
    problem: Problem,
    family: ExactFamily,
    span: tuple[float, float],
    at_knots: Sequence[Solution],
    birth: float,
) -> list[Branch]:
    """The parts of a family inside the range, refined where they are steep, with their folds."""
    m = family.n_learnt
    own = [s for s in at_knots if s.branch == "specialised" and (not m or learnt_classes(s) == m)]
    # At the birth itself a solution with an overlap of rounding size may be found: the exact one is 0.
    own = [s for s in own if s.alpha != birth or _parameter(family, s) > family.grid[0]]
    curve = _Curve(family.grid, _inside(family, family.on_grid, span), np.zeros(family.grid.size, dtype=bool))
    if not own and not any(curve.points):
        return []
    folds = family.turning_points[0]
    curve = curve.merged(folds, _solved(family, folds, span), is_fold=True)
    curve = curve.merged(np.array([_parameter(family, s) for s in own]), own)
    for _ in range(_N_HALVINGS):
        middle = np.array(
            [0.5 * (a + b) for a, b, p, q in _neighbours(curve) if _is_far(family, a, b, p, q)], dtype=float
        )
        if not middle.size:
            break
        found = _solved(family, middle, span)
        good = [i for i, point in enumerate(found) if point is not None]
        curve = curve.merged(middle[good], [found[i] for i in good])
    if (first := curve.points[0]) is not None and curve.u[0] == family.grid[0]:
        mother = [s for s in at_knots if s.alpha == birth and learnt_classes(s) == max(m - 1, 0)]
        if mother and abs(np.log(first.alpha / birth)) < 1e-2:
            nearest = min(mother, key=lambda s: np.max(np.abs(s.weight_overlap - first.weight_overlap)))
            curve = curve.merged(np.array([-np.inf]), [replace(nearest, is_stable=first.is_stable)])
    name = f"specialised {m}" if m else "specialised"
    return [Branch(problem, name, *_with_folds(part)) for part in _parts(curve)]


def _solved(family: ExactFamily, u: np.ndarray, span: tuple[float, float]) -> list[Solution | None]:
    """The solutions at values of ln(parameter) that lie strictly inside the range."""
    return _inside(family, family.solve(u), span)


def _inside(
    family: ExactFamily,
    solved: tuple[ClassSolutions, np.ndarray, np.ndarray],
    span: tuple[float, float],
) -> list[Solution | None]:
    states, log_alpha, _ = solved
    points: list[Solution | None] = [None] * log_alpha.size
    low, high = np.log(span)
    # Those at the ends themselves come from the batch at given α, without rounding.
    inside = (log_alpha > low + 1e-12) & (log_alpha < high - 1e-12)
    keep = np.nonzero((states.residual <= ACCEPTED) & inside)[0]
    if keep.size:
        part = ClassSolutions(*(getattr(states, name)[keep] for name in vars(states)))
        for i, point in zip(keep, family.assemble(part, log_alpha[keep]), strict=True):
            points[i] = point if point.is_converged else None
    return points


def _parameter(family: ExactFamily, point: Solution) -> float:
    """ln(parameter) of a solution of the family."""
    if not family.n_learnt:
        return float(np.log(point.tilt))
    assert family.values2 is not None
    last = np.argmin(np.abs(point.readout_values**2 - family.values2[family.n_learnt - 1]))
    return float(np.log(point.weight_overlap_hat[last]))


def _neighbours(curve: _Curve):
    """(u, u', point, point') of neighbours that one line may join."""
    for i, (p, q) in enumerate(zip(curve.points[:-1], curve.points[1:], strict=True)):
        # Between two points of one α the curve turns, at a fold, or leaves for infinite α.
        if p is not None and q is not None and p.alpha != q.alpha:
            yield curve.u[i], curve.u[i + 1], p, q


def _is_far(family: ExactFamily, a: float, b: float, p: Solution, q: Solution) -> bool:
    if b - a < 1e-6:
        return False
    if abs(np.log(q.alpha / p.alpha)) > (_STEP_ALPHA if family.n_learnt else _STEP_PROFILE):
        return True
    if not family.n_learnt:
        return False
    low, high = family.setting.problem.weights.overlap(np.exp(np.array([a, b])))
    return bool(high - low > _STEP_OVERLAP)


def _parts(curve: _Curve) -> list[_Curve]:
    """The curve cut where it has no point, or comes back to one α without a fold between."""
    runs: list[list[int]] = [[]]
    for i, point in enumerate(curve.points):
        if point is None:
            runs.append([])
            continue
        if runs[-1]:
            before = curve.points[runs[-1][-1]]
            assert before is not None
            if before.alpha == point.alpha and curve.u[i] - curve.u[i - 1] > 1e-9:
                runs.append([])
        runs[-1].append(i)
    return [_Curve(curve.u[r], [curve.points[i] for i in r], curve.is_fold[r]) for r in runs if len(r) > 1]


def _with_folds(part: _Curve) -> tuple[list[Solution], list[float]]:
    points = [p for p in part.points if p is not None]
    folds = []
    for i in np.nonzero(part.is_fold)[0].tolist():
        beside = points[max(i - 1, 0) : i + 2]
        points[i] = replace(points[i], is_stable=any(p.is_stable for p in beside))
        folds.append(points[i].alpha)
    return points, folds


def _marked(problem: Problem, branches: list[Branch], table: dict[float, list[Solution]]) -> list[Branch]:
    """The branches with ``is_equilibrium`` set, by the free entropy of the equilibrium at each α."""
    missing = sorted({p.alpha for branch in branches for p in branch} - set(table))
    if missing:
        table = table | dict(zip(missing, all_solutions(problem, np.array(missing)), strict=True))
    is_exact = bool(exact_reason(problem))

    def mark(point: Solution) -> Solution:
        best = next((s for s in table[point.alpha] if s.is_equilibrium), None)
        is_best = best is None or point.free_entropy >= best.free_entropy - _EQUAL
        if is_exact:
            is_best = point.branch == "universal"
        return replace(point, is_equilibrium=is_best)

    return [Branch(problem, b.asked, [mark(p) for p in b], b.folds) for b in branches]

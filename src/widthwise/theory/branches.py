r"""Branches of solutions, drawn through folds and branch points.

Each family (:mod:`families`) is a graph over its own parameter, with α as a dependent variable,
so that α may turn back; a branch is born where its overlap leaves 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Bools
from ..problem import Problem
from .families import has_few_classes, specialised_families
from .families.base import Family
from .families.classes import ClassFamily
from .families.equations import Points
from .onsets import births, first_unit
from .setting import setting_of
from .solution import LearningCurve, Solution, equilibrium_of
from .solver import all_solutions, as_alpha, exact_reason
from .units import Root

__all__ = ["Branch", "trace_branches"]

# Neighbours on a branch are at most this far apart, in ln α and in the overlap of the class that
# parametrises the family, unless halving the distance this many times does not get there. Profiles
# cost ten times as much a point, and are smooth.
_STEP_ALPHA, _STEP_OVERLAP, _N_HALVINGS = 0.06, 0.03, 6
_STEP_PROFILE = 0.1

# A branch begins at its birth if its first point is this close, in ln α and in overlaps.
_NEAR_BIRTH = 1e-3

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
        The universal branch first, then one for each piece of a family inside the range,
        ordered from its birth, where it touches the branch that it comes from; ``folds`` are the
        α at which it turns back.
    """
    low, high = (float(x) for x in alpha)
    if not (0 < low < high and np.isfinite(high)):
        raise ValueError(f"alpha must be a range (low, high) with 0 < low < high, got ({low:g}, {high:g})")
    as_alpha([low, high])
    setting = setting_of(problem)
    is_traced = setting.classes is None or has_few_classes(setting)
    families = specialised_families(problem) if is_traced else ()
    born = sorted({alpha for family in families for alpha in _births_of(family)})
    asked = np.concatenate([[low, high], born, np.ravel(np.asarray(at, dtype=float))])
    knots = np.unique(asked[(asked >= low) & (asked <= high)])
    grid = np.union1d(np.geomspace(low, high, n_points)[1:-1], knots)
    ranked = all_solutions(problem, grid)
    table = {float(a): [s for s in found if s.is_converged] for a, found in zip(grid, ranked, strict=True)}
    universal = [s for a in grid for s in table[float(a)] if s.branch == "universal"]
    branches = [Branch(problem, "universal", universal, ())]
    if perfect := [s for a in grid for s in table[float(a)] if np.isinf(s.tilt)]:  # is no part of a family
        branches.append(Branch(problem, "perfect", perfect, ()))
    if not families and any(s.branch == "specialised" for s in _tops(table)):
        branches.append(
            Branch(problem, "specialised", [s for s in _tops(table) if s.branch == "specialised"], ())
        )
    for family in families:
        branches += _of_family(family, (low, high), knots, table)
    return _marked(problem, branches, table)


def _tops(table: dict[float, list[Solution]]) -> list[Solution]:
    return [found[0] for _, found in sorted(table.items()) if found]


def _of_family(
    family: Family, span: tuple[float, float], knots: np.ndarray, table: Mapping[float, list[Solution]]
) -> list[Branch]:
    """The parts of a family inside the range, refined where they are steep, with their folds."""
    family.narrow_steps()
    nodes, is_joined = family.curve
    if len(nodes) < 2:
        return []
    low, high = np.log(span)
    at_knots = family.crossings(knots).points
    parts: list[Branch] = []
    breaks = np.nonzero(~is_joined)[0]
    for start, stop in zip(np.append(0, breaks[:-1] + 1), breaks + 1, strict=True):
        run = nodes[np.arange(start, stop)]
        own = at_knots[(at_knots.u >= run.u[0]) & (at_knots.u <= run.u[-1])]
        run = _ordered([run, own])
        inside = (run.log_alpha >= low - 1e-12) & (run.log_alpha <= high + 1e-12)
        for first, last in _runs(inside):
            part = _refined(family, run[np.arange(first, last)])
            parts += _branches_of(family, part, table)
    return parts


def _ordered(parts: Sequence[Points]) -> Points:
    """Points in order of the parameter, without repetitions."""
    every = Points.joined(parts)
    every = every[np.argsort(every.u, kind="stable")]
    keep = np.append(True, np.diff(every.u) > 1e-12)
    return every[keep]


def _refined(family: Family, part: Points) -> Points:
    """Points added until neighbours are close."""
    for _ in range(_N_HALVINGS):
        if len(part) < 2:
            break
        far = np.abs(np.diff(part.log_alpha)) > (
            _STEP_PROFILE if family.setting.classes is None else _STEP_ALPHA
        )
        if isinstance(family, ClassFamily):
            far |= np.abs(np.diff(family.setting.units.weights.overlap(np.exp(part.u)))) > _STEP_OVERLAP
        far &= np.diff(part.u) > 1e-6
        left = np.nonzero(far)[0]
        if not left.size:
            break
        new = family.at(0.5 * (part.u[left] + part.u[left + 1]), 0.5 * (part.z[left] + part.z[left + 1]))
        inside = (new.log_alpha - part.log_alpha[left]) * (new.log_alpha - part.log_alpha[left + 1]) <= 0
        good = new.is_good & inside
        if not good.any():
            break
        part = _ordered([part, new[good]])
    return part


def _branches_of(family: Family, part: Points, table: Mapping[float, list[Solution]]) -> list[Branch]:
    """One branch for each run of points that no other family has."""
    points = [_at_knot(point, table) for point in family.solutions(part)]
    folds = part.slope == 0
    keep = _is_own(family, part)
    found = []
    for first, last in _runs(keep):
        run, turns = points[first:last], []
        for i in np.nonzero(folds[first:last])[0].tolist():
            # A fold, where stability changes, counts to its stable side.
            beside = run[max(i - 1, 0) : i + 2]
            run[i] = replace(run[i], is_stable=any(p.is_stable for p in beside))
            turns.append(run[i].alpha)
        if len(run) > 1:
            run = _with_birth(family, run, table)
            name = "specialised" if family.setting.classes is None else f"specialised {family.n_learnt}"
            found.append(Branch(family.setting.problem, name, run, turns))
    return found


def _runs(flags: Bools) -> list[tuple[int, int]]:
    """Beginning and end (exclusive) of each run of neighbours that are True."""
    edges = np.nonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))[0].tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _at_knot(point: Solution, table: Mapping[float, list[Solution]]) -> Solution:
    """The point, with the α that was asked for where exp(ln α) differs from it by rounding."""
    nearest = min(table, key=lambda alpha: abs(alpha - point.alpha))
    return replace(point, alpha=nearest) if abs(nearest / point.alpha - 1) < 1e-14 else point


def _is_own(family: Family, part: Points) -> Bools:
    """Where a family whose smaller classes wake up differs from the families of these."""
    if not isinstance(family, ClassFamily) or family.smaller is Root.ZERO:
        return np.ones(len(part), dtype=bool)
    state = family.state(part.u, part.z)
    j = family.moving
    highest = family.setting.units.roots(family.values2[j : j + 1], state.pull, state.coupling, Root.HIGHEST)[
        :, 0
    ]
    return (state.snr[:, j + 1] > 0) & (np.exp(part.u) < highest * (1 - 1e-6))


def _with_birth(family: Family, run: list[Solution], table: Mapping[float, list[Solution]]) -> list[Solution]:
    """The run begun at its birth, on the branch that it comes from, where it is born continuously."""
    first = run[0]
    parents = [
        s
        for alpha in _births_of(family)
        if abs(np.log(first.alpha / alpha)) < _NEAR_BIRTH
        for s in table.get(alpha, ())
        if np.max(np.abs(s.weight_overlap - first.weight_overlap)) < _NEAR_BIRTH
    ]
    if not parents:
        return run
    parent = min(parents, key=lambda s: float(np.max(np.abs(s.weight_overlap - first.weight_overlap))))
    rest = run[1:] if abs(np.log(first.alpha / parent.alpha)) < 1e-9 else run
    return [replace(parent, is_stable=first.is_stable), *rest]


def _births_of(family: Family) -> list[float]:
    """Values of α at which a family may leave the branch that it is born on."""
    problem = family.setting.problem
    if family.setting.classes is None:
        largest = problem.readouts.largest
        return [first_unit(problem, largest)] if np.isfinite(largest) else []
    number = family.moving if isinstance(family, ClassFamily) else 0
    return [birth.alpha for birth in births(problem) if birth.number == number]


def _marked(problem: Problem, branches: list[Branch], table: dict[float, list[Solution]]) -> list[Branch]:
    """The branches with ``is_equilibrium`` set, by the free entropy of the equilibrium at each α."""
    missing = sorted({p.alpha for branch in branches for p in branch} - set(table))
    if missing:
        table = table | dict(zip(missing, all_solutions(problem, np.array(missing)), strict=True))
    is_exact = bool(exact_reason(problem))

    def mark(point: Solution) -> Solution:
        best = equilibrium_of(table[point.alpha])
        is_best = best is None or point.free_entropy >= best.free_entropy - _EQUAL
        if is_exact:
            is_best = point.branch == "universal"
        return replace(point, is_equilibrium=is_best)

    return [Branch(problem, b.asked, [mark(p) for p in b], b.folds) for b in branches]

r"""A family of solutions is a curve over a parameter u, with α as a dependent variable.

At given u a few unknowns z solve the family's equations, and ln α follows.  α may turn back along the
curve (folds) while u never does, so that all solutions at a given α are the crossings of ln α(u) with it.
The curve is traced once for a problem: nodes are added until ln α is monotone between neighbours, folds are
nodes themselves, and every crossing is bracketed before Newton's method polishes it.  No solution is
lost in silence: a bracket that Newton's method cannot polish is bisected, and what still fails is counted.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ..._arrays import Array, Bools, Integers
from ...numerics.in_step import ask, is_in_step
from ..setting import Setting
from ..solution import Solution
from .equations import Equations, Points

__all__ = ["Crossings", "Family", "Question", "with_sides"]

_N_BEND, _NEAR_BEND = 24, 1e-6  # steps on the way to a sharp bend, and how near in u they lead
_LOST = 2.0  # width in u over which a curve may be lost at a bend
_MET = 1e-3  # difference in z of both sides of a bend that meet
_LEFT_OF_WAY = (0.4, 0.8)  # of the way to it after a step, and after one if that fails
_PARTS = (2, 2, 4, 8)  # of pieces on which ln α is not seen to be monotone, one time after the other
_N_SMOOTH = 5  # steps towards a fold at which the slope is smooth
_STEP = 4.0  # times as much as around it the slope changes where it is not
_N_CROSSING = 24
# Times that what holds a step is parted at first, and if an α asked for may be so near in ln α; parts.
_N_STEP_FIRST, _N_STEP, _NEAR_STEP, _N_STEP_PARTS = 2, 10, 1e-4, 4
_CREPT = (0.25, 0.06)  # of a bracket whose middle cannot be reached
_NARROW = 0.15  # width in u of a bracket in which a fold is looked for
_FAR = np.log(1e14)  # α and 1/α beyond which nothing is computed
_OUT = np.log(1e13)  # α beyond which a curve on which it rises is not walked along
_N_PARTS = 16  # of what holds a fold or the end of a curve, all tried at once
_N_END = 3  # times that what holds an end is parted
# An end that is no fold of another family is looked for more closely if an α asked for is so near to it in
# ln α: within so much of u, parted so often.
_NEAR_END, _BEHIND_END, _N_SHARP_END = 0.01, 0.01, 5
# From an end that is none: how smooth the curve is there, how often it goes on, and by how much, all at once;
# how much faster if all strides stay on the curve, and slower if none does.
_SMOOTH, _N_WALK, _STRIDES, _FASTER = 1e-3, 60, (1.0, 4.0, 16.0, 64.0, 256.0), 64.0
# Steps in ln α or an unknown along a curve that runs away, and from what change of it on the way to its end.
_N_STEEP, _STEEP, _LEAST_RISE = 40, 1.5, 0.3
_MOST_NODES = 400
_TORN = 0.3  # of an unknown between neighbours on the grid, beyond what its slopes say
_ROUNDING = 1e-13  # changes of ln α that mean nothing


@dataclass
class Crossings:
    """Where a family crosses given values of α."""

    index: np.ndarray
    """Into the values of α, of each point."""
    points: Points
    lost: np.ndarray
    """Index of each α at which a crossing is bracketed, but could not be resolved."""
    lost_ends: Points
    """The ends of these brackets."""


@dataclass(frozen=True)
class Question:
    """What is asked of the equations of a family: a method, and arguments with a row for each point."""

    family: Family
    method: str
    arguments: tuple[Array | Integers, ...]

    def answer(self) -> Any:
        return getattr(self.family, self.method)(*self.arguments)


class Family(Equations):
    """One curve of solutions; subclasses say what is solved at given u."""

    setting: Setting
    n_learnt: int
    """Classes of readouts that are learnt on it (1 for a profile, 0 for the universal branch)."""
    _sharp_ends: Array = np.empty(0)
    """Values of u at which the curve is known to end, to rounding."""
    _steps: Array = np.empty((2, 0))
    """Values of u before and behind steps of the curve that have not been looked at closely."""
    before_steps: Array = np.empty(0)
    """Values of u of nodes before a step of another class: what ends there goes on in another family."""
    _sheet: Points | None = None
    """The points on the grid, where there are other solutions z at the same u."""

    @property
    @abstractmethod
    def grid(self) -> np.ndarray:
        """Values of u to begin with."""

    @property
    def stops(self) -> np.ndarray:
        """Values of u after which it is asked whether the rest of the grid matters."""
        return np.empty(0)

    @abstractmethod
    def solutions(self, points: Points, alpha: np.ndarray | None = None) -> list[Solution]:
        """Points of the family with everything that is reported of them (at just these α, if given)."""

    # ------------------------------------------------------------------ at given u, at given α

    def at(self, u: np.ndarray, start: np.ndarray | None = None) -> Points:
        """The solutions at given u; their residuals tell which of them exist."""
        u = np.asarray(u, dtype=float)
        found: Points = self.together("solved", *([u] if start is None else [u, start]))
        return found

    def at_alpha(self, log_alpha: np.ndarray, u: np.ndarray, z: np.ndarray) -> Points:
        """The solutions at given α that Newton's method reaches from (u, z)."""
        found: Points = self.together("solved_at_alpha", log_alpha, u, z)
        return found

    def at_unknown(self, which: Integers, value: Array, u: Array, z: Array) -> Points:
        """The solutions at a given value of one of the unknowns that Newton's method reaches from (u, z)."""
        found: Points = self.together("solved_at_unknown", which, value, u, z)
        return found

    def together(self, method: str, *arguments: Array | Integers) -> Any:
        """What a method of the equations gives, asked together with what other families ask if there are."""
        question = Question(self, method, arguments)
        return ask(question) if is_in_step() else question.answer()

    def near(self, u: np.ndarray, start: np.ndarray) -> Points:
        """:meth:`at` from the given start; where that fails, from a first guess."""
        found = self.at(u, start)
        bad = np.nonzero(~found.is_good)[0]
        if bad.size and self._sheet is None:  # a guess may lead to another sheet
            again = self.at(u[bad])
            found.put(bad, again)
        return found

    # ------------------------------------------------------------------ the whole curve

    @cached_property
    def curve(self) -> tuple[Points, np.ndarray]:
        """Nodes in order of u, and whether each is joined to the next by a monotone piece of ln α(u)."""
        found = self._first_points if self._sheet is None else self._sheet
        u, is_good = found.u, found.is_good
        nodes = found[is_good]
        if not len(nodes):
            return nodes, np.zeros(0, dtype=bool)
        # Neighbours with a failure between them are not joined; the end of the curve is looked for there.
        position = np.nonzero(is_good)[0]
        is_joined = np.append(np.diff(position) == 1, False)
        nodes, is_joined = self._with_ends(nodes, is_joined, u, is_good)
        nodes, is_joined = self._with_steps(nodes, is_joined)
        is_own = self._is_own(nodes)
        if not is_own.all():
            keep = np.append(is_own, False) | np.append(False, is_own)
            nodes, is_joined = nodes[keep], (is_joined & np.append(is_own, False))[keep]
        return self._refined(nodes, is_joined)

    def _is_own(self, nodes: Points) -> Bools:
        """Which pieces between neighbours no other family has."""
        return np.ones(max(len(nodes) - 1, 0), dtype=bool)

    @cached_property
    def _first_points(self) -> Points:
        return self._with_retries(self._on_grid())

    def _on_grid(self) -> Points:
        """The grid, from its lower end up to where α is beyond anything that is computed."""
        grid = self.grid
        parts = []
        for chunk in np.split(grid, np.unique(np.searchsorted(grid, self.stops))):
            if not chunk.size:
                continue
            parts.append(self.at(chunk))
            last = parts[-1][-1:]
            if last.is_good[0] and last.log_alpha[0] > _FAR and last.slope[0] > 0.5:
                break
        return Points.joined(parts)

    @property
    def is_sheet(self) -> bool:
        """Whether there are other solutions z at the same u, on another curve."""
        return self._sheet is not None

    def sheets(self, *, may_bend: bool = True) -> list[Family]:
        """The family itself, or one for each of several solutions z that it has at the same u.

        Then neighbours on the grid do not lie on one smooth curve; each is followed across, to where the
        curve ends or meets points that are known. Where a sheet has ended Newton's method may lead to
        another one: that is no meeting, if sheets have no bend as sharp as this.
        """
        found = self._first_points
        good = found.is_good
        if len(found) < 2:
            return [self]
        is_torn = good[:-1] & good[1:] & (_off_slopes(found[:-1], found[1:]) > _TORN)
        if not is_torn.any():
            return [self]
        # Runs of neighbours on one curve, each followed across both of its ends.
        known: dict[int, list[int]] = {}  # place on the grid: numbers of its points
        points: list[Points] = []
        sheet: list[int] = []
        for k in np.nonzero(good)[0].tolist():
            is_first = k == 0 or not good[k - 1] or is_torn[k - 1]
            sheet.append(len(points) if is_first else sheet[-1])
            known[k] = [len(points)]
            points.append(found[k : k + 1])
        self._follow(found.u, np.nonzero(is_torn)[0].tolist(), known, points, sheet, may_bend)
        if all(len(numbers) < 2 for numbers in known.values()):
            return [self]  # a sharp bend of one curve
        for k in np.nonzero(is_torn)[0].tolist():
            if len(known[k]) == len(known[k + 1]) == 1:
                mine, theirs = (sheet[known[place][0]] for place in (k, k + 1))
                sheet = [mine if label == theirs else label for label in sheet]
        families: list[Family] = []
        for label in sorted(set(sheet)):
            rows = sorted(
                (points[i] for i in range(len(points)) if sheet[i] == label), key=lambda p: float(p.u[0])
            )
            families.append(self._on_sheet(Points.joined(rows), found))
        return families

    def _follow(
        self,
        grid: Array,
        torn: list[int],
        known: dict[int, list[int]],
        points: list[Points],
        sheet: list[int],
        may_bend: bool,
    ) -> None:
        """Points of every sheet along the grid, from both sides of the places that are torn, until a sheet
        ends or meets a point that is known."""
        ways = [(begin, way) for k in torn for begin, way in ((k, 1), (k + 1, -1))]
        walkers = [(known[begin][0], begin + way, way) for begin, way in ways]  # the next place of each
        while walkers := [walker for walker in walkers if 0 <= walker[1] < grid.size]:
            here = Points.joined([points[number] for number, _, _ in walkers])
            u = grid[[place for _, place, _ in walkers]]
            new = self._along(here, u)
            gone_on = []
            is_there = new.is_good & (may_bend | (_off_slopes(here, new) <= _TORN))
            for i in np.nonzero(is_there)[0].tolist():
                number, place, way = walkers[i]
                there = known.setdefault(place, [])
                met = [other for other in there if np.max(np.abs(points[other].z - new.z[i])) < 1e-6]
                if met:
                    mine, theirs = sheet[number], sheet[met[0]]
                    sheet[:] = [mine if label == theirs else label for label in sheet]
                    continue
                there.append(len(points))
                gone_on.append((len(points), place + way, way))
                sheet.append(sheet[number])
                points.append(new[i : i + 1])
            walkers = gone_on

    def _on_sheet(self, points: Points, grid: Points) -> Family:
        """The family on one sheet; beside its ends the grid has nothing of it."""
        beside = grid[(grid.u < points.u[0]) | (grid.u > points.u[-1])]
        beside.residual = np.full(len(beside), np.inf)
        everything = Points.joined([points, beside])
        one = copy(self)
        one._sheet = everything[np.argsort(everything.u, kind="stable")]
        return one

    def _with_retries(self, found: Points) -> Points:
        """Points that failed, tried again along tangents of their neighbours for as long as some are found.

        Those next to a point that is there are also tried in two steps.
        """
        while True:
            good, bad = np.nonzero(found.is_good)[0], np.nonzero(~found.is_good)[0]
            if not good.size or not bad.size:
                break
            near = good[np.argmin(np.abs(good[:, None] - bad), axis=0)]
            distance = np.abs(near - bad)
            bad, near, distance = (which[distance <= 2] for which in (bad, near, distance))
            if not bad.size:
                break
            again = self._along(found[near], found.u[bad])
            left = np.nonzero(~again.is_good & (distance == 1))[0]
            if left.size:
                begin, end = found[near[left]], found.u[bad[left]]
                halfway = self._along(begin, 0.5 * (begin.u + end))
                is_there = halfway.is_good
                again.put(left[is_there], self._along(halfway[is_there], end[is_there]))
            better = again.is_good
            if not better.any():
                break
            found.put(bad[better], again[better])
        return found

    def _along(self, points: Points, u: Array) -> Points:
        """What Newton's method reaches at u from the tangents of points."""
        return self.at(u, points.z + (u - points.u)[:, None] * points.z_slope)

    def _with_ends(
        self, nodes: Points, is_joined: np.ndarray, u: np.ndarray, is_good: np.ndarray
    ) -> tuple[Points, np.ndarray]:
        """Nodes close to where the curve ends within the grid, all ends at once."""
        edge = np.nonzero(is_good[:-1] != is_good[1:])[0]
        inside = np.where(is_good[edge], edge, edge + 1)
        outside = np.where(is_good[edge], edge + 1, edge)
        place = np.searchsorted(nodes.u, u[inside])
        # What lies beyond any α that is computed does not matter.
        matters = np.abs(nodes.log_alpha[place]) < _FAR
        last, far = nodes[place[matters]], u[outside[matters]].copy()
        if not far.size:
            return nodes, is_joined
        first = last.u.copy()
        last, far = self._last_before(last, far)
        walked, last, far, bad = self._walked(nodes, first, last, far, u[~is_good])
        ends = Points.joined([walked, self._nearing(last, far)])
        ends = ends[~np.isin(ends.u, first)]
        ends = ends[np.unique(ends.u, return_index=True)[1]]
        everything = Points.joined([nodes, ends])
        order = np.argsort(everything.u, kind="stable")
        flags = np.concatenate([is_joined, np.zeros(len(ends), dtype=bool)])[order]
        everything = everything[order]
        # An end is joined to the node that it was reached from.
        for k in np.nonzero(np.isin(everything.u, ends.u))[0]:
            if k > 0 and not np.any((bad > everything.u[k - 1]) & (bad < everything.u[k])):
                flags[k - 1] = True
            if k + 1 < len(everything) and not np.any((bad > everything.u[k]) & (bad < everything.u[k + 1])):
                flags[k] = True
        return everything, flags

    def _walked(
        self, nodes: Points, first: Array, last: Points, far: Array, bad: Array
    ) -> tuple[Points, Points, Array, Array]:
        """The points found when ends that are none are walked on from, in steps that adapt.

        An end is none if the curve goes on smoothly from the last point before it, though Newton's method did
        not get there from ``first``. Also the ends there are then, places behind them, and those of the grid
        where nothing is known of the curve. A walk ends at the next node, which it may meet.
        """
        is_false = self._goes_on(last, self._along(last, far), _SMOOTH) & ~_runs_out(last, far - first)
        if not is_false.any():
            return last, last, far, bad
        found, is_closed = [last], np.zeros(far.size, dtype=bool)
        last, far, way = last[np.arange(far.size)], far.copy(), np.sign(far - first)
        known, edges = nodes, np.append(nodes.u, bad)
        for sign in (1.0, -1.0):
            rows = np.nonzero(is_false & (way == sign))[0]
            if rows.size:
                edge = sign * np.max(sign * edges)
                new, ends, far[rows], is_closed[rows] = self._walk(last[rows], far[rows], known, edge)
                last.put(rows, ends)
                found += new
            known = Points.joined([known, *found])
        ahead = np.where(is_closed, far, last.u)[:, None]
        passed = np.any((bad - first[:, None]) * (bad - ahead) <= 0, axis=0)
        last, far = last[~is_closed], far[~is_closed]
        return Points.joined(found), last, far, np.append(bad[~passed], far)

    def _walk(
        self, last: Points, far: Array, known: Points, edge: float
    ) -> tuple[list[Points], Points, Array, Bools]:
        """What is found on the way from each of some points to the next node that is known behind ``far``, or
        to the edge where there is none.

        Also the last points, places behind them, and whether the nodes were met, on the same curve.
        """
        every, step = np.arange(far.size), far - last.u
        sign, shortest = np.sign(step), np.abs(step)
        ahead = np.where(sign[:, None] * (known.u - far[:, None]) > 0, sign[:, None] * known.u, np.inf)
        place = np.argmin(ahead, axis=1)
        has_node = np.isfinite(ahead[every, place])
        goal = np.where(has_node, known.u[place], edge)
        found, rows, has_met = [], every, np.zeros(far.size, dtype=bool)
        for _ in range(_N_WALK):
            if not rows.size:
                break
            to, is_node = goal[rows], has_node[rows]
            new, u, count = self._strides(last[rows], step[rows], to)
            column, is_all = np.arange(rows.size), count == len(_STRIDES)
            best = new[np.maximum(count - 1, 0) * rows.size + column]
            is_there = (count > 0) & (best.u == to)
            meets = np.max(np.abs(known.z[place[rows]] - best.z), axis=1) < 1e-6
            has_met[rows] = is_there & is_node & meets
            # What is on the way, up to a node that is known.
            n_new = np.minimum(count, np.count_nonzero((u != to) | ~is_node, axis=0))
            moves = np.nonzero(n_new)[0]
            last.put(rows[moves], new[(n_new[moves] - 1) * rows.size + moves])
            found.append(new[(np.arange(len(u))[:, None] < n_new).ravel()])
            missed = u[np.minimum(count, len(u) - 1), column]
            behind = np.where(is_there | is_all, 0.5 * (last.u[rows] + to), missed)
            far[rows] = np.where(has_met[rows], to, behind)
            step[rows] *= np.where(is_all, _FASTER, np.where(count > 0, 1.0, 1 / _FASTER))
            is_there |= _runs_out(last[rows], sign[rows])
            rows = rows[~is_there & (np.abs(step[rows]) >= shortest[rows])]
        return found, last, far, has_met

    def _strides(self, here: Points, step: Array, goal: Array) -> tuple[Points, Array, Integers]:
        """Points at longer and longer strides from some, no farther than to their goals, stride by stride.

        Also their u, and how many of the strides, from the shortest on, stay on the curve.
        """
        u = here.u + np.array(_STRIDES)[:, None] * step
        u = np.where((u - goal) * step > 0, goal, u)
        begin = here[np.tile(np.arange(len(here)), len(u))]
        new = self._along(begin, u.ravel())
        is_on = self._goes_on(begin, new, _TORN).reshape(u.shape)
        return new, u, np.logical_and.accumulate(is_on).sum(axis=0)

    def _goes_on(self, here: Points, there: Points, off: float) -> Bools:
        """Whether points are on one smooth piece with the ones that they were reached from."""
        is_on: Bools = there.is_good & (_off_slopes(here, there) < off)
        before, behind = self._other_roots(here), self._other_roots(there)
        if before is not None and behind is not None:
            is_on &= _off_own_slopes(np.stack([here.u, there.u]), np.stack([before, behind]))[0] < off
        return is_on

    def _other_roots(self, points: Points) -> Array | None:
        """What is no unknown of the curve, but may step where the unknowns hardly move, if there is such.

        For each point a row of values and one of their slopes in u.
        """
        return None

    def _with_steps(self, nodes: Points, is_joined: Bools) -> tuple[Points, Bools]:
        """Both sides of steps as nodes that are not joined: there one piece of the curve ends and another
        one begins, though the unknowns of both may be nearly the same."""
        there = self._other_roots(nodes)
        if there is None:
            return nodes, is_joined
        is_step = _matters(nodes, is_joined) & (_off_own_slopes(nodes.u, there) > _TORN)
        left = np.nonzero(is_step)[0]
        low, high, is_step = self._narrowed(nodes[left], nodes[left + 1], _N_STEP_FIRST)
        left, low, high = left[is_step], low[is_step], high[is_step]
        self._steps, self.before_steps = np.stack([low.u, high.u]), low.u
        return with_sides(nodes, is_joined, left, low, high, is_step[is_step])

    def _narrowed(self, low: Points, high: Points, n_rounds: int) -> tuple[Points, Points, Bools]:
        """Neighbours on both sides of steps, nearer to each other; and whether there is a step between."""
        is_step = np.ones(len(low), dtype=bool)
        rows, place = np.arange(len(low)), np.arange(_N_STEP_PARTS + 1)[:, None]
        for _ in range(n_rounds):
            if not rows.size:
                break
            n = rows.size
            every = np.tile(rows, _N_STEP_PARTS - 1)
            share = np.repeat(np.arange(1, _N_STEP_PARTS) / _N_STEP_PARTS, n)
            new = self._between(low[every], high[every], share, np.ones(every.size, dtype=bool))
            points = Points.joined([low[rows], new, high[rows]])
            there = self._other_roots(points)
            assert there is not None
            # Each point that is there with the last one before it: the step is where they differ most.
            is_there = points.is_good.reshape(-1, n)
            before = np.maximum.accumulate(np.where(is_there, place, 0), axis=0)[:-1] * n + np.arange(n)
            behind = place[1:] * n + np.arange(n)
            pairs = np.stack([before, behind])
            off = np.where(is_there[1:], _off_own_slopes(points.u[pairs], there[pairs])[0], -1.0)
            first = np.argmax(off, axis=0)
            low.put(rows, points[before[first, np.arange(n)]])
            high.put(rows, points[behind[first, np.arange(n)]])
            is_step[rows] = off.max(axis=0) > _TORN
            rows = rows[is_step[rows]]
        return low, high, is_step

    @property
    def step_ends(self) -> tuple[Points, Array]:
        """The ends of pieces of the curve on both sides of steps, and which way (±1) α goes beyond each."""
        nodes, is_joined = self.curve
        before = np.nonzero(np.isin(nodes.u, self.before_steps) & ~is_joined)[0]
        before = before[before + 1 < len(nodes)]
        ends = nodes[np.concatenate([before, before + 1])]
        return ends, np.sign(ends.slope) * np.repeat([1.0, -1.0], before.size)

    def narrow_steps(self, log_alpha: Array | None = None) -> None:
        """Take the curve up to both sides of the steps at which one of these α may lie, or of all."""
        nodes, is_joined = self.curve
        self._steps = self._steps[:, np.isin(self._steps, nodes.u).all(axis=0)]  # others are not its own
        if not self._steps.size:
            return
        left = np.searchsorted(nodes.u, self._steps[0])
        low, high = nodes[left], nodes[left + 1]
        is_asked = np.ones(len(low), dtype=bool)
        if log_alpha is not None:
            # A root that ends goes as the square root of the distance: twice as far as its slope says.
            way = 2.5 * (high.u - low.u)
            ends = [low.log_alpha, low.log_alpha + way * low.slope]
            ends += [high.log_alpha, high.log_alpha - way * high.slope]
            least, most = np.min(ends, axis=0) - _NEAR_STEP, np.max(ends, axis=0) + _NEAR_STEP
            is_asked = np.any((log_alpha[:, None] > least) & (log_alpha[:, None] < most), axis=0)
        if not is_asked.any():
            return
        low, high, is_step = self._narrowed(low[is_asked], high[is_asked], _N_STEP)
        self._steps = self._steps[:, ~is_asked]
        self.before_steps = np.append(self.before_steps, low.u[is_step])
        sides = with_sides(nodes, is_joined, left[is_asked], low, high, is_step)
        self.__dict__["curve"] = self._refined(*sides)
        self.__dict__.pop("folds", None)

    def _refined(self, nodes: Points, is_joined: np.ndarray) -> tuple[Points, np.ndarray]:
        nodes, is_joined = self._with_bends(nodes, is_joined)
        for _ in range(2):  # folds first, then what lies between them
            for n_parts in _PARTS:
                left = np.nonzero(_matters(nodes, is_joined) & ~_is_monotone(nodes[:-1], nodes[1:]))[0]
                if not left.size or len(nodes) > _MOST_NODES:
                    break
                nodes, is_joined = self._inserted(nodes, is_joined, left, n_parts)
            turns = np.nonzero(_matters(nodes, is_joined) & (nodes.slope[:-1] * nodes.slope[1:] < 0))[0]
            if not turns.size:
                break
            nodes, is_joined = self._with_folds(nodes, is_joined, turns)
        return nodes, is_joined

    def _side_of_bend(self, nodes: Points) -> Array | None:
        """Something that passes 0 where the curve may have a sharp bend, if it may."""
        return None

    def _continued(self, points: Points, u: Array) -> Array:
        """Guesses of z at u, along the tangents of points."""
        guess = points.z + (u - points.u)[:, None] * points.z_slope
        changed: Array = self.together("with_root", u, guess)
        return changed

    def _with_bends(self, nodes: Points, is_joined: np.ndarray) -> tuple[Points, np.ndarray]:
        """Nodes close to both sides of sharp bends, between which α may turn unseen.

        A bend is neared from both sides along their tangents, by steps that are a part of what is left of
        the way: the nearer, the more the slopes change. Where the curve was lost around a bend it goes on if
        both sides meet.
        """
        side = self._side_of_bend(nodes)
        if side is None:
            return nodes, is_joined
        n_failed = np.zeros(len(nodes), dtype=int)  # steps from both ends of what follows a node
        for _ in range(_N_BEND):
            may_go_on = (np.diff(nodes.u) > _NEAR_BEND) & (n_failed[:-1] < len(_LEFT_OF_WAY))
            is_bend = _is_within(nodes) & (side[:-1] * side[1:] < 0)
            left = np.nonzero(is_bend & (is_joined[:-1] | (np.diff(nodes.u) < _LOST)) & may_go_on)[0]
            if not left.size:
                break
            low, high = nodes[left], nodes[left + 1]
            way = np.clip(side[left] / (side[left] - side[left + 1]), 0.01, 0.99)
            bend, rest = low.u + way * (high.u - low.u), np.array(_LEFT_OF_WAY)[n_failed[left]]
            ends = Points.joined([low, high])
            u = np.concatenate([bend + rest * (end.u - bend) for end in (low, high)])
            new = self.at(u, self._continued(ends, u))
            is_good = new.is_good
            n_failed[left] += ~is_good.reshape(2, -1).any(axis=0)
            # What is reached from a node is joined to it; what follows is as it was.
            is_from_low = np.repeat([True, False], left.size)
            flags = np.where(is_from_low, np.tile(is_joined[left], 2), True)[is_good]
            is_joined = is_joined.copy()
            is_joined[left[is_good[: left.size]]] = True
            new = new[is_good]
            everything = Points.joined([nodes, new])
            order = np.argsort(everything.u, kind="stable")
            is_joined = np.concatenate([is_joined, flags])[order]
            n_failed = np.concatenate([n_failed, np.zeros(len(new), dtype=int)])[order]
            nodes, side_of_new = everything[order], self._side_of_bend(new)
            side = side if side_of_new is None else np.concatenate([side, side_of_new])[order]
        have_met = (np.diff(nodes.u) <= _NEAR_BEND) & (side[:-1] * side[1:] < 0)
        have_met &= np.max(np.abs(np.diff(nodes.z, axis=0)), axis=1, initial=0.0) < _MET
        return nodes, is_joined | np.append(have_met, False)

    def _inserted(
        self, nodes: Points, is_joined: np.ndarray, left: np.ndarray, n_parts: int
    ) -> tuple[Points, np.ndarray]:
        """New nodes that part the intervals to the right of ``left``."""
        share = np.repeat(np.arange(1, n_parts) / n_parts, left.size)
        begin = np.tile(left, n_parts - 1)
        low, high = nodes[begin], nodes[begin + 1]
        new = self.near(*_hermite(low, high, share))
        bad = np.nonzero(~new.is_good)[0]
        if bad.size:  # a bend between neighbours: from the tangent of either
            new.put(bad, self._between(low[bad], high[bad], share[bad], np.ones(bad.size, dtype=bool)))
        everything = Points.joined([nodes, new])
        order = np.argsort(everything.u, kind="stable")
        is_there = np.concatenate([np.ones(len(nodes), dtype=bool), new.is_good])[order]
        flags = np.concatenate([is_joined, np.ones(len(new), dtype=bool)])[order]
        # A node that failed parts its neighbours.
        before = np.maximum.accumulate(np.where(is_there, np.arange(order.size), 0))
        flags[before[~is_there]] = False
        return everything[order[is_there]], flags[is_there]

    def _with_folds(
        self, nodes: Points, is_joined: np.ndarray, turns: np.ndarray
    ) -> tuple[Points, np.ndarray]:
        """The zeros of d ln α/du, as nodes: brackets are parted, then narrowed by regula falsi on the slope.

        Where the slope steps over 0 (another class wakes up there) they are parted again and again. Where the
        curve does not go on between two neighbours (the root of another class ends) there is no zero: they
        are parted, and the ends of both pieces become nodes.
        """
        low, high, best = nodes[turns], nodes[turns + 1], nodes[turns]
        rows, is_torn = np.arange(turns.size), np.zeros(turns.size, dtype=bool)
        while rows.size:
            one, other, new, is_smooth = self._parted_at_turn(low[rows], high[rows], is_torn[rows])
            low.put(rows, one)
            high.put(rows, other)
            best.put(rows, new)
            is_torn[rows] = ~is_smooth
            rows = rows[new.is_good & ~_is_fold(new, other.u - one.u)]
            rows = np.concatenate(
                [rows[is_torn[rows]], self._by_slopes(low, high, best, rows[~is_torn[rows]])]
            )
        is_parted = ~best.is_good
        folds = best[~is_parted]
        folds.slope = np.zeros(len(folds))
        parted = np.nonzero(is_parted)[0]
        lasts = [self._last_before(end[parted], best.u[parted])[0] for end in (low, high)]
        everything = Points.joined([nodes, folds, *lasts])
        order = np.argsort(everything.u, kind="stable")
        is_joined = is_joined.copy()
        is_joined[turns[parted]] = True  # to the end of its piece
        flags = [is_joined, np.ones(len(folds), dtype=bool), np.zeros(parted.size, dtype=bool)]
        flags.append(np.ones(parted.size, dtype=bool))
        return everything[order], np.concatenate(flags)[order]

    def _by_slopes(self, low: Points, high: Points, best: Points, rows: Integers) -> Integers:
        """Some brackets of folds narrowed, and the best point of each; which of them are no smooth folds.

        The Illinois variant of regula falsi: an end that stays for a second time counts half.
        """
        weight_low, weight_high = low.slope.copy(), high.slope.copy()
        side = np.zeros(len(low))
        for _ in range(_N_SMOOTH if rows.size else 0):
            width = high.u[rows] - low.u[rows]
            share = np.clip(weight_low[rows] / (weight_low[rows] - weight_high[rows]), 1e-3, 1 - 1e-3)
            new = self._between(low[rows], high[rows], share, np.zeros(rows.size, dtype=bool))
            best.put(rows, new)
            same = new.slope * low.slope[rows] > 0
            halved_low, halved_high = 0.5 * weight_low[rows], 0.5 * weight_high[rows]
            weight_high[rows] = np.where(
                same, np.where(side[rows] == 1, halved_high, weight_high[rows]), new.slope
            )
            weight_low[rows] = np.where(
                same, new.slope, np.where(side[rows] == -1, halved_low, weight_low[rows])
            )
            side[rows] = np.where(same, 1, -1)
            good = new.is_good
            low.put(rows[good & same], new[good & same])
            high.put(rows[good & ~same], new[good & ~same])
            rows = rows[good & ~_is_fold(new, width)]
            if not rows.size:
                break
        return rows

    def _parted_at_turn(
        self, low: Points, high: Points, is_torn: Bools
    ) -> tuple[Points, Points, Points, Bools]:
        """Of some points between neighbours the two at which the slope first changes its sign.

        And the second of these once more, or a place between them at which nothing is found; and whether the
        slope changes no more between them than around.
        """
        n, row = len(low), np.arange(len(low))
        every = np.tile(row, _N_PARTS - 1)
        share = np.repeat(np.arange(1, _N_PARTS) / _N_PARTS, n)
        new = self._between(low[every], high[every], share, is_torn[every])
        points = Points.joined([low, new, high])
        is_good, slope = points.is_good.reshape(-1, n), points.slope.reshape(-1, n)
        has_turned = is_good & (slope * low.slope <= 0)
        has_turned[-1] = True
        place = np.arange(_N_PARTS + 1)[:, None]
        second = np.argmax(has_turned, axis=0)
        first = np.max(np.where(is_good & (place < second), place, 0), axis=0)
        best = np.where(second - first > 1, first + 1, np.minimum(second, _N_PARTS - 1))
        change = np.abs(np.diff(np.concatenate([slope[:1], slope, slope[-1:]]), axis=0))
        around = np.maximum(change[first, row], change[np.minimum(second + 1, _N_PARTS), row])
        is_smooth: Bools = change[second, row] < _STEP * around
        one, other, found = (points[k * n + row] for k in (first, second, best))
        return one, other, found, is_smooth

    def _between(self, low: Points, high: Points, share: Array, is_torn: Bools) -> Points:
        """Points at shares of the way between neighbours, of which some do not lie on one smooth piece.

        A point of those continues the piece of one neighbour or the other: Newton's method starts from both.
        """
        u, start = _hermite(low, high, share)
        torn = np.nonzero(is_torn)[0]
        start[torn] = self._continued(low[torn], u[torn])
        new = self.at(u, start)
        again = np.nonzero(is_torn & ~new.is_good)[0]
        if again.size:
            new.put(again, self.at(u[again], self._continued(high[again], u[again])))
        rest = np.nonzero(~new.is_good)[0]
        if rest.size:
            new.put(rest, self.near(u[rest], _hermite(low[rest], high[rest], share[rest])[1]))
        return new

    def _last_before(self, last: Points, far: np.ndarray) -> tuple[Points, np.ndarray]:
        """The last points of pieces of the curve that end between ``last``, which are on it, and ``far``.

        And places behind the ends, near to them.
        """
        for _ in range(_N_END if far.size else 0):
            last, far = self._parted(last, far)
        return last, far

    def _parted(self, last: Points, far: Array) -> tuple[Points, Array]:
        """The last of some points between that are on the curve, and what follows it."""
        n, share = far.size, np.arange(_N_PARTS + 1) / _N_PARTS
        u = last.u + share[:, None] * (far - last.u)
        begin = last[np.tile(np.arange(n), _N_PARTS - 1)]
        new = self._along(begin, u[1:-1].ravel())
        is_on = new.is_good & (not self.is_sheet or _off_slopes(begin, new) <= _TORN)  # and on no other sheet
        is_there = np.vstack([np.ones(n, dtype=bool), is_on.reshape(-1, n)])
        place = _N_PARTS - 1 - np.argmax(is_there[::-1], axis=0)
        row = np.arange(n)
        return Points.joined([last, new])[place * n + row], u[place + 1, row]

    def _nearing(self, last: Points, far: Array) -> Points:
        """The last points, and further ones where ln α or an unknown runs away, at even steps of it.

        B may run away long before α does: with hardly any noise α stays about the same for long.
        """
        found = [last]
        step = np.full(far.size, _STEEP)
        for _ in range(_N_STEEP):
            rate, which = _steepest(last, far)
            with np.errstate(invalid="ignore"):
                is_steep = np.abs(rate * (far - last.u)) > _LEAST_RISE
            is_steep &= (np.abs(last.log_alpha) < _FAR) & (step > 0.2)
            last, far, step = last[is_steep], far[is_steep], step[is_steep]
            rate, which = rate[is_steep], which[is_steep]
            if not far.size:
                break
            move = step * np.sign(rate * (far - last.u)) / rate
            reach = np.where(np.abs(move) < np.abs(far - last.u), move, 0.9 * (far - last.u))
            u, z = last.u + reach, last.z + move[:, None] * last.z_slope
            new = last[np.arange(far.size)]
            rows = np.nonzero(which < 0)[0]
            if rows.size:
                goal = last.log_alpha[rows] + move[rows] * last.slope[rows]
                new.put(rows, self.at_alpha(goal, u[rows], z[rows]))
            rows = np.nonzero(which >= 0)[0]
            if rows.size:
                new.put(rows, self.at_unknown(which[rows], z[rows, which[rows]], u[rows], z[rows]))
            is_there = new.is_good & ((new.u - last.u) * (far - new.u) > 0)
            step = np.where(is_there, step, 0.5 * step)
            last = _choose(is_there, new, last)
            found.append(new[is_there])
        return Points.joined(found)

    @cached_property
    def folds(self) -> Points:
        """Where α turns back."""
        nodes, _ = self.curve
        return nodes[nodes.slope == 0]

    # ------------------------------------------------------------------ crossings

    def crossings(self, alpha: np.ndarray, between: tuple[float, float] = (-np.inf, np.inf)) -> Crossings:
        """All points of the curve at the given α, or those with u between two values."""
        if self.setting.units.can_be_known:
            self._sharpen(np.log(alpha))
        self.narrow_steps(np.log(alpha))
        nodes, is_joined = self.curve
        ahead = nodes.log_alpha - np.log(alpha)[:, None]
        is_asked = is_joined[:-1] & (nodes.u[:-1] >= between[0]) & (nodes.u[1:] <= between[1])
        who, left = np.nonzero((ahead[:, :-1] * ahead[:, 1:] <= 0) & is_asked)
        low, high = nodes[left], nodes[left + 1]
        if not who.size:
            return Crossings(who, low, who, low)
        target = np.log(alpha)[who]
        share = _inverse_hermite(low, high, target)
        points = self.at_alpha(target, *_hermite(low, high, share))
        slack = 1e-6 + 0.01 * (high.u - low.u)
        is_inside = (points.u >= low.u - slack) & (points.u <= high.u + slack)
        failed = np.nonzero(~(points.is_good & is_inside))[0]
        is_step = np.zeros(who.size, dtype=bool)
        if failed.size:
            again, is_step[failed] = self._bisected(low[failed], high[failed], target[failed])
            points.put(failed, again)
        # A bracket that closes on a step of the curve (a root of another class that ends) holds no solution.
        good, lost = points.is_good & ~is_step, ~points.is_good & ~is_step
        ends = Points.joined([low[lost], high[lost]])
        return Crossings(who[good], points[good], np.tile(who[lost], 2), ends)

    def _sharpen(self, log_alpha: np.ndarray) -> None:
        """Take the curve further towards those of its ends behind which an α asked for may lie."""
        nodes, is_joined = self.curve
        for way in (1, -1) if len(nodes) else ():
            is_end = ~is_joined if way > 0 else ~np.append(False, is_joined[:-1])
            room = np.append(np.diff(nodes.u), np.inf) if way > 0 else np.append(np.inf, np.diff(nodes.u))
            # The other side of a step is no farther part of this one.
            is_end &= (room > _BEHIND_END) & ~np.isin(nodes.u, self._steps)
            ahead = way * np.sign(nodes.slope)[:, None] * (log_alpha - nodes.log_alpha[:, None])
            is_end &= np.any((ahead > 0) & (ahead < _NEAR_END), axis=1) & (nodes.slope != 0)
            ends = nodes[is_end & ~np.isin(nodes.u, self._sharp_ends)]
            if not len(ends):
                continue
            last, far = ends, ends.u + way * _BEHIND_END
            for _ in range(_N_SHARP_END):
                last, far = self._parted(last, far)
            self._sharp_ends = np.concatenate([self._sharp_ends, ends.u, last.u])
            is_new = last.u != ends.u
            if way > 0:  # each is joined to the end that it was reached from
                is_joined = is_joined | np.isin(nodes.u, ends.u[is_new])
            everything = Points.joined([nodes, last[is_new]])
            order = np.argsort(everything.u, kind="stable")
            nodes = everything[order]
            is_joined = np.concatenate([is_joined, np.full(int(is_new.sum()), way < 0)])[order]
        if len(nodes) > len(self.curve[0]):  # α may turn back just before an end
            self.__dict__["curve"] = self._refined(nodes, is_joined)
            self.__dict__.pop("folds", None)

    def interrupted(self, alpha: np.ndarray) -> np.ndarray:
        """Which α lie where the curve should go on and could not be followed."""
        return np.empty(0, dtype=int)

    def _bisected(self, low: Points, high: Points, target: np.ndarray) -> tuple[Points, np.ndarray]:
        """The crossing within a bracket, by halving it in u, and whether there is none.

        There is none where the bracket closes on a step of the curve, or on a gap: a place that Newton's
        method reaches from neither side.
        """
        n = len(low)
        result = low[np.arange(n)]
        result.residual = np.full(n, np.inf)
        is_empty = np.zeros(n, dtype=bool)
        active = np.arange(n)
        for step in range(_N_CROSSING):
            u, z = _hermite(low, high, np.full(len(low), 0.5))
            middle = self.near(u, z)
            for side in (low, high):
                bad = np.nonzero(~middle.is_good)[0]
                if bad.size:
                    middle.put(bad, self._along(side[bad], u[bad]))
            good = middle.is_good
            same = good & ((middle.log_alpha - target[active]) * (low.log_alpha - target[active]) > 0)
            low, high = _choose(same, middle, low), _choose(good & ~same, middle, high)
            is_stuck = ~good
            if is_stuck.any():
                is_stuck[is_stuck] = self._crept(low, high, np.nonzero(is_stuck)[0], target[active])
            is_closed = high.u - low.u < 1e-7 * (1 + np.abs(high.u))
            is_empty[active] = is_stuck | (is_closed & (np.abs(high.log_alpha - low.log_alpha) > 1e-6))
            is_done = is_stuck | is_closed
            if step % 3 == 2:
                polished = self.at_alpha(target[active], middle.u, middle.z)
                is_inside = polished.is_good & (polished.u >= low.u) & (polished.u <= high.u)
                result.put(active[is_inside], polished[is_inside])
                is_empty[active[is_inside]] = False
                is_done |= is_inside
            active, low, high = active[~is_done], low[~is_done], high[~is_done]
            if not active.size:
                break
        return result, is_empty

    def _crept(self, low: Points, high: Points, rows: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Narrow some brackets from their ends, in steps short enough to be followed; which could not be.

        Next to where two classes of nearly one size part, the curve has a kink that no neighbour foretells.
        """
        is_stuck = np.ones(rows.size, dtype=bool)
        for share in _CREPT:
            for sign in (1.0, -1.0):
                side = (low if sign > 0 else high)[rows]
                step = sign * share * (high.u[rows] - low.u[rows])
                new = self._along(side, side.u + step)
                same = (new.log_alpha - target[rows]) * (low.log_alpha[rows] - target[rows]) > 0
                for end, which in ((low, new.is_good & same), (high, new.is_good & ~same)):
                    end.put(rows[which], new[which])
                is_stuck &= ~new.is_good
            if not is_stuck.any():
                break
        return is_stuck


def with_sides(
    nodes: Points, is_joined: Bools, left: Integers, low: Points, high: Points, is_step: Bools
) -> tuple[Points, Bools]:
    """Both sides of steps put between nodes and their next ones: joined to these, not to each other."""
    is_low, is_high = low.u > nodes.u[left], high.u < nodes.u[left + 1]  # others have not moved
    is_joined = is_joined.copy()
    is_joined[left] = is_low | ~is_step
    everything = Points.joined([nodes, low[is_low], high[is_high]])
    flags = [is_joined, ~is_step[is_low], np.ones(int(is_high.sum()), dtype=bool)]
    order = np.argsort(everything.u, kind="stable")
    return everything[order], np.concatenate(flags)[order]


def _steepest(points: Points, far: Array) -> tuple[Array, Integers]:
    """Slope of what runs away on the way to places behind points: of ln α (number -1), else of an unknown."""
    rows = np.arange(len(points))
    with np.errstate(invalid="ignore"):
        is_alpha = np.abs(points.slope * (far - points.u)) > _LEAST_RISE
    if not points.z.shape[1]:
        return points.slope, np.full(rows.size, -1)
    which = np.argmax(np.abs(points.z_slope), axis=1)
    rate = np.where(is_alpha, points.slope, points.z_slope[rows, which])
    return rate, np.where(is_alpha, -1, which)


def _runs_out(points: Points, way: Array) -> Bools:
    """Where α is beyond what is computed, and rises on the way."""
    runs_out: Bools = (points.log_alpha > _OUT) & (points.slope * way > 0)
    return runs_out


def _choose(condition: np.ndarray, one: Points, other: Points) -> Points:
    parts = []
    for f in fields(Points):
        a, b = getattr(one, f.name), getattr(other, f.name)
        parts.append(np.where(condition[:, None] if a.ndim == 2 else condition, a, b))
    return Points(*parts)


def _off_slopes(one: Points, other: Points) -> Array:
    """By how much unknowns change from one point to another beyond what the slopes at both say."""
    step = (other.u - one.u)[:, None]
    off = other.z - one.z - 0.5 * step * (one.z_slope + other.z_slope)
    return np.asarray(np.max(np.abs(off), axis=1, initial=0.0))


def _off_own_slopes(u: Array, there: Array) -> Array:
    """By how much values change from each point to the next beyond what slopes at both say; given both."""
    values, slopes = there[..., 0, :], there[..., 1, :]
    step = np.diff(u, axis=0)[..., None]
    off = np.diff(values, axis=0) - 0.5 * step * (slopes[:-1] + slopes[1:])
    return np.asarray(np.max(np.abs(off), axis=-1, initial=0.0))


def _matters(nodes: Points, is_joined: Bools) -> Bools:
    """Which pieces between neighbours may hold an α that is computed."""
    matters: Bools = is_joined[:-1] & _is_within(nodes)
    return matters


def _is_within(nodes: Points) -> Bools:
    """Between which neighbours ln α is not beyond everything that is computed, if it is monotone."""
    low, high = nodes.log_alpha[:-1], nodes.log_alpha[1:]
    is_within: Bools = ~(((low > _FAR) & (high > _FAR)) | ((low < -_FAR) & (high < -_FAR)))
    return is_within


def _is_fold(points: Points, width: Array) -> Bools:
    """Whether ln α is that of the fold, to rounding, given the widths of what points were found in."""
    slope = np.abs(points.slope)
    is_fold: Bools = (slope < 1e-9) | (width < 1e-9) | (slope * width < _ROUNDING)
    return is_fold


def _is_monotone(low: Points, high: Points) -> Bools:
    """Whether ln α is monotone between neighbours, to judge from values and slopes at both.

    A cubic with these is monotone if neither slope exceeds three times the mean one; both must also be
    compatible with it. Where the slopes have opposite signs there is a fold: halved until it is isolated.
    """
    width = high.u - low.u
    rise = high.log_alpha - low.log_alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        # Infinite, and of both signs, where α is the same on both sides of a fold.
        ratio = np.stack([low.slope, high.slope]) * width / rise
        is_smooth = np.all((ratio >= 0) & (ratio < 2.5), axis=0) & (np.abs(ratio.mean(axis=0) - 1) < 0.3)
    is_fold = (low.slope * high.slope < 0) & (width < _NARROW)
    is_flat = (
        (np.abs(rise) < _ROUNDING) & (np.abs(low.slope) * width < 1e-9) & (np.abs(high.slope) * width < 1e-9)
    )
    is_tiny = width < 1e-6
    is_monotone: Bools = is_smooth | is_fold | is_flat | is_tiny
    return is_monotone


def _hermite(low: Points, high: Points, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u and z at shares of the way between neighbours, by cubic interpolation."""
    width = high.u - low.u
    t = share[:, None]
    h = width[:, None]
    z = (
        low.z * (1 + 2 * t) * (1 - t) ** 2
        + high.z * t**2 * (3 - 2 * t)
        + h * (low.z_slope * t * (1 - t) ** 2 - high.z_slope * t**2 * (1 - t))
    )
    linear = low.z + t * (high.z - low.z)
    # Next to a fold of a single unit slopes diverge: then a straight line is the better guess.
    is_wild = np.any(np.abs(z - linear) > 0.5 * np.abs(high.z - low.z) + 1e-3, axis=1)
    return low.u + share * width, np.where(is_wild[:, None], linear, z)


def _inverse_hermite(low: Points, high: Points, target: np.ndarray) -> np.ndarray:
    """Shares at which the cubic through values and slopes has the target, to six digits, by bisection."""
    width, rise = high.u - low.u, high.log_alpha - low.log_alpha
    goal = target - low.log_alpha
    m0, m1 = low.slope * width, high.slope * width
    sign = np.sign(rise)
    a, b = np.zeros(goal.size), np.ones(goal.size)
    for _ in range(20):
        t = 0.5 * (a + b)
        value = rise * t**2 * (3 - 2 * t) + m0 * t * (1 - t) ** 2 - m1 * t**2 * (1 - t)
        is_below = sign * (value - goal) < 0
        a, b = np.where(is_below, t, a), np.where(is_below, b, t)
    return 0.5 * (a + b)

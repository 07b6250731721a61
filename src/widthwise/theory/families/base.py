r"""A family of solutions is a curve over a parameter u, with α as a dependent variable.

At given u a few unknowns z solve the family's equations, and ln α follows.  α may turn back along the
curve (folds) while u never does, so that all solutions at a given α are the crossings of ln α(u) with it.
The curve is traced once for a problem: nodes are added until ln α is monotone between neighbours, folds are
nodes themselves, and every crossing is bracketed before Newton's method polishes it.  No solution is
lost in silence: a bracket that Newton's method cannot polish is bisected, and what still fails is counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..._arrays import Array, Bools, Integers
from ...numerics.roots import newton_rows
from ..setting import Setting

if TYPE_CHECKING:
    from ..solution import Solution

__all__ = ["ACCEPTED", "Crossings", "Family", "Points", "System"]

ACCEPTED = 1e-10
"""Residual (relative error of every saddle-point equation) up to which a solution is reported."""

_RTOL, _MAX_STEPS = 1e-13, 40
_N_HALVINGS = 7
_N_BISECTIONS = 60
_N_CROSSING = 24
_NARROW = 0.15  # width in u of a bracket in which a fold is looked for
_FAR = np.log(1e14)  # α and 1/α beyond which nothing is computed
_N_END = 10
_MOST_NODES = 400
_ROUNDING = 1e-13  # changes of ln α that mean nothing


@dataclass
class System:
    """Equations of a family at given u, ln α, and their derivatives in the unknowns z and in u."""

    errors: Array
    by_z: Array
    by_u: Array
    log_alpha: Array
    alpha_by_z: Array
    alpha_by_u: Array


@dataclass
class Points:
    """Solutions along a family, one a row."""

    u: Array
    z: Array
    log_alpha: Array
    residual: Array
    z_slope: Array
    """dz/du along the curve."""
    slope: Array
    """d ln α/du."""

    def __len__(self) -> int:
        return self.u.size

    def __getitem__(self, rows: Bools | Integers | slice) -> Points:
        return Points(*(getattr(self, f.name)[rows] for f in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Points]) -> Points:
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    @property
    def is_good(self) -> Bools:
        return (self.residual <= ACCEPTED) & np.isfinite(self.log_alpha) & np.isfinite(self.slope)


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


class Family(ABC):
    """One curve of solutions; subclasses say what is solved at given u."""

    name: str
    setting: Setting
    n_learnt: int
    """Classes of readouts that are learnt on it (1 for a profile, 0 for the universal branch)."""

    @property
    @abstractmethod
    def grid(self) -> np.ndarray:
        """Values of u to begin with."""

    @property
    def stops(self) -> np.ndarray:
        """Values of u after which it is asked whether the rest of the grid matters."""
        return np.empty(0)

    @abstractmethod
    def guess(self, u: np.ndarray) -> np.ndarray:
        """First guesses of the unknowns z, one row for each u."""

    @abstractmethod
    def system(self, u: np.ndarray, z: np.ndarray) -> System:
        """The equations at u and z."""

    @abstractmethod
    def solutions(self, points: Points, alpha: np.ndarray | None = None) -> list[Solution]:
        """Points of the family with everything that is reported of them (at just these α, if given)."""

    # ------------------------------------------------------------------ at given u, at given α

    def at(self, u: np.ndarray, start: np.ndarray | None = None) -> Points:
        """The solutions at given u; their residuals tell which of them exist."""
        u = np.asarray(u, dtype=float)
        z = self.guess(u) if start is None else start

        def equations(rows: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            s = self.system(u[rows], z)
            return s.errors, s.by_z

        with np.errstate(all="ignore"):  # guesses may run away: their residual says so
            z, residual = newton_rows(equations, z, rtol=_RTOL, max_steps=_MAX_STEPS)
            return self._points(u, z, residual)

    def near(self, u: np.ndarray, start: np.ndarray) -> Points:
        """:meth:`at` from the given start; where that fails, from a first guess."""
        found = self.at(u, start)
        bad = np.nonzero(~found.is_good)[0]
        if bad.size:
            again = self.at(u[bad])
            for f in fields(Points):
                getattr(found, f.name)[bad] = getattr(again, f.name)
        return found

    def at_alpha(self, log_alpha: np.ndarray, u: np.ndarray, z: np.ndarray) -> Points:
        """The solutions at given α that Newton's method reaches from (u, z)."""

        def equations(rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            s = self.system(y[:, -1], y[:, :-1])
            errors = np.column_stack([s.errors, s.log_alpha - log_alpha[rows]])
            upper = np.concatenate([s.by_z, s.by_u[..., None]], axis=2)
            lower = np.column_stack([s.alpha_by_z, s.alpha_by_u])[:, None, :]
            return errors, np.concatenate([upper, lower], axis=1)

        with np.errstate(all="ignore"):
            y, residual = newton_rows(equations, np.column_stack([z, u]), rtol=_RTOL, max_steps=_MAX_STEPS)
            points = self._points(y[:, -1], y[:, :-1], residual)
        points.log_alpha = np.where(points.is_good, log_alpha, points.log_alpha)
        return points

    def _points(self, u: np.ndarray, z: np.ndarray, residual: np.ndarray) -> Points:
        s = self.system(u, z)
        n, m = z.shape
        good: Bools = np.all(np.isfinite(s.by_z), axis=(1, 2)) & np.all(np.isfinite(s.by_u), axis=1)
        determinant = np.linalg.det(np.where(good[:, None, None], s.by_z, np.eye(m)))
        good &= determinant != 0
        z_slope = np.zeros((n, m))
        if m and good.any():
            z_slope[good] = np.linalg.solve(s.by_z[good], -s.by_u[good][..., None])[..., 0]
        slope = s.alpha_by_u + np.sum(s.alpha_by_z * z_slope, axis=1)
        slope[~good] = np.nan
        return Points(u, z, s.log_alpha, residual, z_slope, slope)

    # ------------------------------------------------------------------ the whole curve

    @cached_property
    def curve(self) -> tuple[Points, np.ndarray]:
        """Nodes in order of u, and whether each is joined to the next by a monotone piece of ln α(u)."""
        found = self._with_retries(self._on_grid())
        u, is_good = found.u, found.is_good
        nodes = found[is_good]
        if not len(nodes):
            return nodes, np.zeros(0, dtype=bool)
        # Neighbours with a failure between them are not joined; the end of the curve is looked for there.
        position = np.nonzero(is_good)[0]
        is_joined = np.append(np.diff(position) == 1, False)
        nodes, is_joined = self._with_ends(nodes, is_joined, u, is_good)
        return self._refined(nodes, is_joined)

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

    def _with_retries(self, found: Points) -> Points:
        """Points that failed, tried again from their neighbours."""
        for _ in range(3):
            good = np.nonzero(found.is_good)[0]
            bad = np.nonzero(~found.is_good)[0]
            if not good.size or not bad.size:
                break
            near = good[np.argmin(np.abs(good[:, None] - bad), axis=0)]
            near_enough = np.abs(near - bad) <= 2
            bad, near = bad[near_enough], near[near_enough]
            step = (found.u[bad] - found.u[near])[:, None]
            again = self.at(found.u[bad], found.z[near] + step * found.z_slope[near])
            better = again.is_good
            if not better.any():
                break
            for f in fields(Points):
                getattr(found, f.name)[bad[better]] = getattr(again, f.name)[better]
        return found

    def _with_ends(
        self, nodes: Points, is_joined: np.ndarray, u: np.ndarray, is_good: np.ndarray
    ) -> tuple[Points, np.ndarray]:
        """Nodes close to where the curve ends within the grid, by bisection of all ends at once."""
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
        last = self._last_before(last, far)
        ends = last[last.u != first]
        everything = Points.joined([nodes, ends])
        order = np.argsort(everything.u, kind="stable")
        flags = np.concatenate([is_joined, np.zeros(len(ends), dtype=bool)])[order]
        everything = everything[order]
        # An end is joined to the node that it was reached from.
        bad = u[~is_good]
        for k in np.nonzero(np.isin(everything.u, ends.u))[0]:
            if k > 0 and not np.any((bad > everything.u[k - 1]) & (bad < everything.u[k])):
                flags[k - 1] = True
            if k + 1 < len(everything) and not np.any((bad > everything.u[k]) & (bad < everything.u[k + 1])):
                flags[k] = True
        return everything, flags

    def _refined(self, nodes: Points, is_joined: np.ndarray) -> tuple[Points, np.ndarray]:
        for _ in range(2):  # folds first, then what lies between them
            for _ in range(_N_HALVINGS):
                left = np.nonzero(is_joined[:-1] & ~_is_monotone(nodes[:-1], nodes[1:]))[0]
                if not left.size or len(nodes) > _MOST_NODES:
                    break
                nodes, is_joined = self._inserted(nodes, is_joined, left, np.full(left.size, 0.5))
            turns = np.nonzero(is_joined[:-1] & (nodes.slope[:-1] * nodes.slope[1:] < 0))[0]
            if not turns.size:
                break
            nodes, is_joined = self._with_folds(nodes, is_joined, turns)
        return nodes, is_joined

    def _inserted(
        self, nodes: Points, is_joined: np.ndarray, left: np.ndarray, share: np.ndarray
    ) -> tuple[Points, np.ndarray]:
        """New nodes at shares of the intervals to the right of ``left``."""
        u, z = _hermite(nodes[left], nodes[left + 1], share)
        new = self.near(u, z)
        good = new.is_good
        everything = Points.joined([nodes, new[good]])
        order = np.argsort(everything.u, kind="stable")
        # A node that failed parts its neighbours.
        is_joined = is_joined.copy()
        is_joined[left[~good]] = False
        flags = np.concatenate([is_joined, np.ones(int(good.sum()), dtype=bool)])[order]
        return everything[order], flags

    def _with_folds(
        self, nodes: Points, is_joined: np.ndarray, turns: np.ndarray
    ) -> tuple[Points, np.ndarray]:
        """The zeros of d ln α/du, as nodes: the Illinois variant of regula falsi on the slope.

        Where the curve does not go on between two neighbours (the root of another class ends) there is none:
        they are parted, and the ends of both pieces become nodes.
        """
        low, high = nodes[turns], nodes[turns + 1]
        weight_low, weight_high = low.slope.copy(), high.slope.copy()
        side = np.zeros(turns.size)
        best, is_parted = low, np.zeros(turns.size, dtype=bool)
        for _ in range(_N_BISECTIONS):
            width = high.u - low.u
            share = np.clip(weight_low / (weight_low - weight_high), 1e-3, 1 - 1e-3)
            u, z = _hermite(low, high, share)
            best = self.near(u, z)
            is_parted |= ~best.is_good
            slope = np.where(is_parted, 0.0, best.slope)
            same = slope * low.slope > 0
            weight_high = np.where(same & (side == 1), 0.5 * weight_high, np.where(same, weight_high, slope))
            weight_low = np.where(~same & (side == -1), 0.5 * weight_low, np.where(same, slope, weight_low))
            side = np.where(same, 1, -1)
            low, high = _choose(same & ~is_parted, best, low), _choose(~same & ~is_parted, best, high)
            weight_low, weight_high = (
                np.where(is_parted, end.slope, weight)
                for end, weight in ((low, weight_low), (high, weight_high))
            )
            if np.all((np.abs(slope) < 1e-9) | (width < 1e-9)):
                break
        folds = best[~is_parted]
        folds.slope = np.zeros(len(folds))
        parted = np.nonzero(is_parted)[0]
        lasts = [self._last_before(end[parted], best.u[parted]) for end in (low, high)]
        everything = Points.joined([nodes, folds, *lasts])
        order = np.argsort(everything.u, kind="stable")
        is_joined = is_joined.copy()
        is_joined[turns[parted]] = True  # to the end of its piece
        flags = [is_joined, np.ones(len(folds), dtype=bool), np.zeros(parted.size, dtype=bool)]
        flags.append(np.ones(parted.size, dtype=bool))
        return everything[order], np.concatenate(flags)[order]

    def _last_before(self, last: Points, far: np.ndarray) -> Points:
        """The last points of pieces of the curve that end between ``last``, which are on it, and ``far``."""
        if not far.size:
            return last
        for _ in range(_N_END):
            middle = 0.5 * (last.u + far)
            new = self.at(middle, last.z + (middle - last.u)[:, None] * last.z_slope)
            far = np.where(new.is_good, far, middle)
            last = _choose(new.is_good, new, last)
        return last

    @cached_property
    def folds(self) -> Points:
        """Where α turns back."""
        nodes, _ = self.curve
        return nodes[nodes.slope == 0]

    # ------------------------------------------------------------------ crossings

    def crossings(self, alpha: np.ndarray) -> Crossings:
        """All points of the curve at the given α."""
        nodes, is_joined = self.curve
        ahead = nodes.log_alpha - np.log(alpha)[:, None]
        who, left = np.nonzero((ahead[:, :-1] * ahead[:, 1:] <= 0) & is_joined[:-1])
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
            for f in fields(Points):
                getattr(points, f.name)[failed] = getattr(again, f.name)
        # A bracket that closes on a step of the curve (a root of another class that ends) holds no solution.
        good, lost = points.is_good & ~is_step, ~points.is_good & ~is_step
        ends = Points.joined([low[lost], high[lost]])
        return Crossings(who[good], points[good], np.tile(who[lost], 2), ends)

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
                    near = side[bad]
                    again = self.at(u[bad], near.z + (u[bad] - near.u)[:, None] * near.z_slope)
                    for f in fields(Points):
                        getattr(middle, f.name)[bad] = getattr(again, f.name)
            good = middle.is_good
            same = good & ((middle.log_alpha - target[active]) * (low.log_alpha - target[active]) > 0)
            low, high = _choose(same, middle, low), _choose(good & ~same, middle, high)
            is_closed = high.u - low.u < 1e-7 * (1 + np.abs(high.u))
            is_empty[active] = ~good | (is_closed & (np.abs(high.log_alpha - low.log_alpha) > 1e-6))
            is_done = ~good | is_closed
            if step % 3 == 2:
                polished = self.at_alpha(target[active], middle.u, middle.z)
                is_inside = polished.is_good & (polished.u >= low.u) & (polished.u <= high.u)
                for f in fields(Points):
                    getattr(result, f.name)[active[is_inside]] = getattr(polished, f.name)[is_inside]
                is_empty[active[is_inside]] = False
                is_done |= is_inside
            active, low, high = active[~is_done], low[~is_done], high[~is_done]
            if not active.size:
                break
        return result, is_empty


def _choose(condition: np.ndarray, one: Points, other: Points) -> Points:
    parts = []
    for f in fields(Points):
        a, b = getattr(one, f.name), getattr(other, f.name)
        parts.append(np.where(condition[:, None] if a.ndim == 2 else condition, a, b))
    return Points(*parts)


def _is_monotone(low: Points, high: Points) -> Bools:
    """Whether ln α is monotone between neighbours, to judge from values and slopes at both.

    A cubic with these is monotone if neither slope exceeds three times the mean one; both must also be
    compatible with it. Where the slopes have opposite signs there is a fold: halved until it is isolated.
    """
    width = high.u - low.u
    rise = high.log_alpha - low.log_alpha
    with np.errstate(divide="ignore", invalid="ignore"):
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
    """Shares at which the cubic through values and slopes has the target, by bisection."""
    width, rise = high.u - low.u, high.log_alpha - low.log_alpha
    goal = target - low.log_alpha
    m0, m1 = low.slope * width, high.slope * width
    sign = np.sign(rise)
    a, b = np.zeros(goal.size), np.ones(goal.size)
    for _ in range(40):
        t = 0.5 * (a + b)
        value = rise * t**2 * (3 - 2 * t) + m0 * t * (1 - t) ** 2 - m1 * t**2 * (1 - t)
        is_below = sign * (value - goal) < 0
        a, b = np.where(is_below, t, a), np.where(is_below, b, t)
    return 0.5 * (a + b)

r"""Laws of many readout classes: the number of classes at the upper root is chosen by the potential.

Each class has a small weight, so that in equilibrium all but a few sit at the root of largest potential of
their own, up to a threshold of |v|: the n largest at the upper root, the others at the lowest.  Solutions
with neighbouring n coexist at one α.  f may have several maxima along n, one in each gap between readouts, so
that up to 128 classes every n is tried.  Of more, f is computed for n spread over all classes, then between
those around each of its maxima, until neighbours of a maximum differ by one class.  From each maximum the
next n are solved once more, until none is higher: other starts may lead to a worse solution with this n.

Where classes have more roots, or can be known exactly (discrete weights and an activation that jumps), there
are several such numbers: f is maximised in one of them after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..._arrays import Array, Integers
from ...problem import Problem
from ..setting import Setting, setting_of
from ..solution import Solution
from ..units import Root
from .classes import ClassFamily, ClassPoints, ThresholdFamily
from .threshold_table import threshold_table

__all__ = ["solve_many"]

_N_ALL = 128  # values of n up to which all are tried
_N_SPREAD = 24  # values of n to begin with
_N_BETWEEN = 5  # of n between neighbours around a maximum
_N_ROUNDS = 12
_N_CLIMBS = 40  # steps from a maximum of f to higher ones next to it
_N_ITERATIONS = 12
_BLOCK = 256  # solutions that are described at once: Hessians of all their classes
_N_TURNS = 6  # of searches in n and in m
_N_TRACED = 16  # classes whose curves are traced, those of the largest |v|
_REACH = (1, -1, 2, -2)  # changes of n that are tried at a maximum
# Where between its roots a class is looked for: from the upper one (0) to the lower, or a share of the upper.
_BETWEEN, _SHARE = (0.1, 0.5, 0.9), 1e-3
_SAME = 1e-13  # difference of free entropies that is rounding
_BEYOND_FOLD = 4.0  # the upper end where there is no upper root, over x at the fold of φ


class _Moving(ClassFamily):
    """Families with a moving class for each row, larger ones at their upper root, smaller at the lowest."""

    def __init__(self, setting: Setting, moving: np.ndarray, known: np.ndarray) -> None:
        super().__init__(setting, 0, Root.HIGHEST, Root.LOWEST)
        self.moving, self.known = moving, known  # type: ignore[assignment]

    def only(self, rows: np.ndarray) -> _Moving:
        return _Moving(self.setting, np.asarray(self.moving)[rows], self.known[rows])

    def points_of(self, n_points: int) -> ClassPoints:
        roots = [np.full(n_points, list(Root).index(root)) for root in (self.larger, self.smaller)]
        all_classes = np.full(n_points, self.values2.size)
        return ClassPoints(self.setting, np.asarray(self.moving), self.known, all_classes, *roots)


class _Rows(ThresholdFamily):
    """Threshold families with counts for each row."""

    def __init__(self, setting: Setting, counts: np.ndarray) -> None:
        super().__init__(setting, (0, 0))
        self.rows = counts

    def only(self, rows: np.ndarray) -> _Rows:
        return _Rows(self.setting, self.rows[rows])

    def snr(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> np.ndarray:
        return self.setting.units.threshold_roots(self.values2, pull, coupling, self.rows, is_rough=is_rough)

    def starts(self, log_alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln B and ln τ after some rounds of the saddle-point equations, from the upper classes known."""
        setting, units = self.setting, self.setting.units
        with np.errstate(all="ignore"):
            snr = np.where(np.arange(self.values2.size) < self.rows[:, -1:], units.grid[-1], 0.0)
            log_tilt = np.full(log_alpha.size, -np.inf)
            log_coupling = np.zeros(log_alpha.size)
            for _ in range(_N_ITERATIONS):
                log_tilt = setting.matrix.rough_log_snr_of(units.rough_odds(snr, self.powers))
                log_hat = setting.log_hat_scale + log_coupling
                after = setting.matrix.mmse(np.logaddexp(log_tilt, log_hat))[0]
                gap = setting.output_gap(after, units.rough_kernel_gap(snr, self.powers))
                slope = setting.problem.channel.free_entropy_slope(gap, setting.power)
                log_coupling = np.log(2 / setting.gamma) + log_alpha + np.log(slope)
                pair = setting.matrix.pair(log_tilt, setting.log_hat_scale + log_coupling)
                new = self.snr(np.exp(pair.log_pull) / setting.gamma, np.exp(log_coupling), is_rough=True)
                # A class that has no upper root for the moment waits at the fold.
                snr = np.where(np.isnan(new), 0.5 * snr, new)
        return log_coupling, log_tilt


def solve_many(setting: Setting, alpha: np.ndarray) -> Iterator[tuple[int, Solution]]:
    """Solutions in which units are learnt, with the index of their α."""
    if setting.is_linear:
        return
    best: dict[int, Solution] = {}
    for i, solution in _searched(setting, alpha):
        if i not in best or solution.free_entropy > best[i].free_entropy:
            best[i] = solution
        yield i, solution
    yield from _beside(setting, alpha, best)


def _beside(setting: Setting, alpha: np.ndarray, best: dict[int, Solution]) -> Iterator[tuple[int, Solution]]:
    """Solutions on the whole curves of the classes next to the threshold, if few are learnt.

    These have some weight, and may set in by a small jump of their own or be held between their roots.
    """
    assert setting.classes is not None
    asked: dict[int, list[int]] = {}
    for i in range(alpha.size):
        n = _n_learnt(best[i]) if i in best else 0
        for moving in range(max(n - 1, 1), min(n + 2, _N_TRACED, len(setting.classes))):
            asked.setdefault(moving, []).append(i)
    for moving, rows in asked.items():
        # Larger readouts are learnt in part, or known if they can be.
        for n_known in (0, moving) if setting.units.can_be_known else (0,):
            family = _traced(setting.problem, setting.theory, moving, n_known)
            found = family.crossings(alpha[rows])
            index = np.array(rows)[found.index]
            yield from zip(index.tolist(), family.solutions(found.points, alpha[index]), strict=True)


def _n_learnt(solution: Solution) -> int:
    """Sizes of readouts whose units are learnt."""
    return np.unique(np.abs(solution.readout_values[solution.weight_overlap > 0])).size


@lru_cache(maxsize=256)
def _traced(problem: Problem, theory: str, moving: int, n_known: int) -> ClassFamily:
    return ClassFamily(setting_of(problem, theory), moving, Root.HIGHEST, Root.ZERO, n_known)


def _searched(setting: Setting, alpha: np.ndarray) -> Iterator[tuple[int, Solution]]:
    """Solutions of highest free entropy over the numbers of classes at each root, and others on the way."""
    assert setting.classes is not None
    n_classes, can_be_known = len(setting.classes), setting.units.can_be_known
    n_counts = max(2, setting.units.n_sections)
    kinds = [(0,) * j + (None,) * (n_counts - j) for j in range(0 if can_be_known else 1, n_counts)]
    searched: set[_Line] = set()
    best: list[tuple[int, Solution]] = []
    for counts in kinds:
        lines = [_Line(i, n_classes, counts) for i in range(alpha.size)]
        search = _Search(setting, alpha, lines)
        yield from search.run()
        searched |= set(lines)
        best += search.maxima()
    for _ in range(_N_TURNS):
        through = {
            line: s
            for i, s in best
            for line in _lines_through(i, s, n_classes, can_be_known=can_be_known)
            if line not in searched
        }
        if not through:
            break
        searched |= set(through)
        search = _Search(setting, alpha, list(through), list(through.values()))
        yield from search.run()
        best = search.maxima(only_highest=True)


@dataclass(frozen=True)
class _Line:
    """Counts of :class:`ThresholdFamily` at one α; those that are None are t, which goes along the line."""

    index: int
    """Of α."""
    n_classes: int
    counts: tuple[int | None, ...]

    @property
    def bottom(self) -> int:
        before = self.counts[: self.counts.index(None)]
        return before[-1] or 0 if before else 0

    @property
    def top(self) -> int:
        after = [n for n in self.counts[self.counts.index(None) :] if n is not None]
        most = self.n_classes - (self.counts[0] is None)  # all known is perfect learning
        return min([most, *after])

    @property
    def spread(self) -> set[int]:
        """Values of t to begin with."""
        if self.top - self.bottom <= _N_ALL:
            return set(range(self.bottom, self.top + 1))
        steps = np.geomspace(1, max(self.top - self.bottom, 1), _N_SPREAD)
        return {self.bottom, *(t for step in steps if (t := self.bottom + round(step)) <= self.top)}

    def at(self, t: int) -> tuple[int, ...]:
        """All counts."""
        return tuple(t if n is None else n for n in self.counts)

    def t(self, counts: tuple[int, ...]) -> int:
        """The place of a family on the line."""
        return counts[self.counts.index(None)]


def _lines_through(index: int, solution: Solution, n_classes: int, *, can_be_known: bool) -> Iterator[_Line]:
    """Those on which one of the counts changes, or all from one on."""
    family = solution.family
    assert isinstance(family, ThresholdFamily)
    for j in range(0 if can_be_known else 1, len(family.counts)):
        before, after = family.counts[:j], family.counts[j + 1 :]
        yield _Line(index, n_classes, (*before, None, *(None for _ in after)))
        if after and after[0] > (before[-1] if before else 0):
            yield _Line(index, n_classes, (*before, None, *after))


class _Search:
    """Solutions along lines, by (number of the line, t); ``begin`` are solutions known on them."""

    def __init__(
        self, setting: Setting, alpha: np.ndarray, lines: list[_Line], begin: list[Solution] | None = None
    ) -> None:
        self.setting, self.lines = setting, lines
        self.alpha = alpha[[line.index for line in lines]]
        self.solved: dict[tuple[int, int], Solution] = {}
        self.tried: set[tuple[int, int]] = set()
        self._families: dict[tuple[int, ...], ThresholdFamily] = {}
        for k, solution in enumerate(begin or []):
            family = solution.family
            assert isinstance(family, ThresholdFamily)
            self.solved[k, lines[k].t(family.counts)] = solution

    def run(self) -> Iterator[tuple[int, Solution]]:
        self._solve([(k, t) for k, line in enumerate(self.lines) for t in sorted(line.spread)])
        self._from_table()
        self._around_maxima()
        self._climb()
        for (k, _), solution in self.solved.items():
            yield self.lines[k].index, solution
        yield from self._between_roots()

    def _around_maxima(self) -> None:
        for _ in range(_N_ROUNDS):
            asked = [key for k in range(len(self.lines)) for key in self._next(k)]
            if not asked:
                break
            self._solve(asked)

    def _climb(self) -> None:
        """Try the t around maxima of f from the solutions there, until none is higher.

        Other starts may lead to another solution with the same numbers, or to none: next to where it is
        born it is close to those with some classes less.
        """
        asked: set[tuple[int, int, int, float]] = set()
        for _ in range(_N_CLIMBS):
            new: dict[tuple[int, int, int, float], Solution] = {}
            for k, tops in self._maxima_by_line().items():
                line = self.lines[k]
                for t, solution in tops.items():
                    for to in (t + step for step in _REACH):
                        if line.bottom <= to <= line.top:
                            new[k, to, t, solution.free_entropy] = solution
            new = {key: solution for key, solution in new.items() if key not in asked}
            if not new:
                break
            asked |= set(new)
            u, z = (np.array([getattr(s, name) for s in new.values()]) for name in ("parameter", "state"))
            self._polish([key[:2] for key in new], np.arange(len(new)), u, z)

    def _maxima_by_line(self) -> dict[int, dict[int, Solution]]:
        """Solutions on each line that are not below those with the next t, by number and t, in order of t.

        Of several t that make no difference the first and the last.
        """
        found: dict[int, dict[int, Solution]] = {}
        for k, t in sorted(self.solved):
            found.setdefault(k, {})[t] = self.solved[k, t]
        for k, own in found.items():
            f = np.array([-np.inf, *(s.free_entropy for s in own.values()), -np.inf])
            room = _SAME * (1 + np.abs(f[1:-1]))
            below, above = f[1:-1] - f[:-2], f[1:-1] - f[2:]
            is_maximum = (below >= -room) & (above >= -room) & ((below > room) | (above > room))
            found[k] = {t: own[t] for t, is_highest in zip(own, is_maximum, strict=True) if is_highest}
        return found

    def maxima(self, *, only_highest: bool = False) -> list[tuple[int, Solution]]:
        """Where f is highest on each line, and where most classes are learnt of all its maxima; with the
        index of α.

        The second may lead to the highest of all, beyond the range of the first one's neighbours.
        """
        found = []
        for k, tops in self._maxima_by_line().items():
            highest = max(tops, key=lambda t: tops[t].free_entropy)
            chosen = {highest} if only_highest else {highest, max(tops)}
            found += [(self.lines[k].index, tops[t]) for t in sorted(chosen)]
        return found

    def _next(self, k: int) -> set[tuple[int, int]]:
        """Values of t that are still to be tried around the maxima of f along a line."""
        line = self.lines[k]
        known = sorted(t for j, t in self.solved if j == k)
        asked = set()
        for at, t in enumerate(known):
            own = self.solved[k, t].free_entropy
            below = known[at - 1] if at else line.bottom - 1
            above = known[at + 1] if at + 1 < len(known) else line.top + 1
            if any(self.solved[k, s].free_entropy > own for s in (below, above) if (k, s) in self.solved):
                continue
            between = np.concatenate(
                [np.linspace(below, t, _N_BETWEEN + 2), np.linspace(t, above, _N_BETWEEN + 2)]
            )
            asked |= {(k, int(s)) for s in np.round(between)} | {(k, t + step) for step in _REACH}
        return {(j, t) for j, t in asked if line.bottom <= t <= line.top} - self.tried

    def _solve(self, keys: list[tuple[int, int]]) -> None:
        """Try the given t, from what neighbours are solved and from the start with upper classes known."""
        self.tried |= set(keys)
        which = np.array([k for k, _ in keys])
        counts = np.array([self.lines[k].at(t) for k, t in keys])
        u, z = _Rows(self.setting, counts).starts(np.log(self.alpha)[which])
        starts = [(np.arange(len(keys)), u, z[:, None])]
        near = [self._nearest(*key) for key in keys]
        if warm := [row for row, s in enumerate(near) if s is not None]:
            guesses = [s for s in near if s is not None]
            u, z = np.array([s.parameter for s in guesses]), np.array([s.state for s in guesses])
            starts.append((np.array(warm), u, z))
        self._polish(keys, *(np.concatenate(parts) for parts in zip(*starts, strict=True)))

    def _from_table(self) -> None:
        """Solutions from where the table of the whole problem has them."""
        counts = self.lines[0].counts
        if any(n for n in counts) or counts[1] is not None:
            return
        table = threshold_table(self.setting.problem, self.setting.theory, is_known=counts[0] is None)
        which, n, u, z = table.starts(np.log(self.alpha))
        if which.size:
            keys = list(zip(which.tolist(), n.tolist(), strict=True))
            self._polish(keys, np.arange(which.size), u, z[:, None])

    def _polish(self, keys: list[tuple[int, int]], key: Integers, u: Array, z: Array) -> None:
        """Newton's method for the keys of given numbers from (u, z)."""
        which = np.array([k for k, _ in keys])
        counts = np.array([self.lines[k].at(t) for k, t in keys])
        alpha = self.alpha[which[key]]
        rows_of = _Rows(self.setting, counts[key])
        points = rows_of.at_alpha(np.log(alpha), u, z)
        good = np.nonzero(points.is_good)[0]
        for first in range(0, good.size, _BLOCK):
            rows = good[first : first + _BLOCK]
            found = rows_of.only(rows).solutions(points[rows], alpha[rows])
            for row, solution in zip(rows.tolist(), found, strict=True):
                own = keys[key[row]]
                old = self.solved.get(own)
                if old is None or solution.free_entropy > old.free_entropy:
                    self.solved[own] = replace(solution, family=self._family(counts[key[row]]))

    def _family(self, counts: Integers) -> ThresholdFamily:
        own = tuple(counts.tolist())
        if own not in self._families:
            self._families[own] = ThresholdFamily(self.setting, own)
        return self._families[own]

    def _between_roots(self) -> Iterator[tuple[int, Solution]]:
        """Solutions in which one class is held between its own roots by what it does to all the others.

        A class of some weight may be, next to the maxima of f over n.
        """
        asked: dict[tuple[int, int], Solution] = {}
        for k, n in self.solved:
            line = self.lines[k]
            if line.counts[0] is None or any(c is not None for c in line.counts[1:]):
                continue
            highest = self.solved[k, n].free_entropy
            near = [self.solved[k, m].free_entropy for m in (n - 1, n + 1) if (k, m) in self.solved]
            if all(f <= highest + _SAME * (1 + abs(highest)) for f in near):
                reach = range(max(n - 2, line.bottom), min(n + 2, line.top))
                asked |= {(k, m): self.solved[k, n] for m in reach if not self._has_one_root(k, m)}
        if not asked:
            return
        which, moving = (np.array(column) for column in zip(*asked, strict=True))
        known = np.array([self.lines[k].bottom for k in which])
        log_tilt = np.array([s.state[0] for s in asked.values()])
        log_coupling = np.array([s.parameter for s in asked.values()])
        family = _Moving(self.setting, moving, known)
        z = np.column_stack([log_tilt, log_coupling])
        pull, coupling = family.couplings(z)
        roots = self.setting.units.roots
        rows = np.arange(moving.size)
        upper = roots(family.values2, pull, coupling, Root.HIGHEST, is_rough=True)[rows, moving]
        lower = roots(family.values2, pull, coupling, Root.LOWEST, is_rough=True)[rows, moving]
        # Without an upper root at these couplings, a class that is learnt itself may still have one.
        upper = np.where(np.isnan(upper), _BEYOND_FOLD * self.setting.units.first_fold(pull, coupling), upper)
        starts = [np.log(np.maximum(lower, _SHARE * upper)) * t + np.log(upper) * (1 - t) for t in _BETWEEN]
        n_starts = len(starts)
        moving, known, which = (np.tile(column, n_starts) for column in (moving, known, which))
        family = _Moving(self.setting, moving, known)
        log_alpha = np.log(self.alpha)[which]
        points = family.at_alpha(log_alpha, np.concatenate(starts), np.tile(z, (n_starts, 1)))
        for m, n in np.unique(np.column_stack([known, moving]), axis=0):
            own = np.nonzero(points.is_good & (known == m) & (moving == n))[0]
            one = ClassFamily(self.setting, int(n), Root.HIGHEST, Root.LOWEST, int(m))
            found = one.solutions(points[own], self.alpha[which[own]])
            yield from zip([self.lines[k].index for k in which[own]], found, strict=True)

    def _has_one_root(self, k: int, m: int) -> bool:
        """Whether it makes no difference if class m is said to be at its upper root or at its lowest."""
        pair = [self.solved[k, t].free_entropy for t in (m, m + 1) if (k, t) in self.solved]
        return len(pair) == 2 and abs(pair[1] - pair[0]) <= _SAME * (1 + abs(pair[0]))

    def _nearest(self, k: int, t: int) -> Solution | None:
        """The solution on the same line with the nearest t, if one is known."""
        known = [s for j, s in self.solved if j == k]
        return self.solved[k, min(known, key=lambda s: abs(s - t))] if known else None

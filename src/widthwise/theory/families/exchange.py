r"""Solutions next to known ones: a class of readouts is put to another of its roots.

Where units have three stable roots or more, or can be known exactly (discrete weights and an activation that
jumps), the classes at each of the roots can be chosen in too many ways to trace them all, and what is the
highest root of one class is the middle one of another.  So the best solutions that are known are changed, one
class at a time, to every root that leaves overlaps ordered as readouts are; where there are many, also
several neighbours at once to where the next class is.  From there all classes follow

.. math:: x \leftarrow v^2 [A\,F(x) + B\,g'(F(x))]

with the couplings that they make, which ends at a stable solution; Newton's method has the last digits.  What
is among the best of all that are known is changed in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..._arrays import Array
from ..setting import Setting
from ..solution import Solution
from .classes import ClassFamily, ThresholdFamily

__all__ = ["SeenRoots", "can_be_exchanged", "class_snr", "exchanged"]

_N_BEST = 8  # solutions at each α that are changed, and what comes out if it is among the best then
_N_ROUNDS = 12
_MANY = 16  # classes beyond which several are changed at once, too
_SEVERAL = (2, 4, 8, 16, 32)
_N_ITERATIONS = 80
_MOVED = 0.3  # in ln x: another root
_SAME = 0.02  # in ln x: the same solution, before it is polished
_NOTHING = 1e-9  # x that is on its way to 0
_LEAST, _MOST = 1e-300, 1e300  # in place of 0 and of infinity


Polished = Callable[[float, Array, float, float], Solution | None]
"""The solution near α, x of all classes, ln τ and ln B, if there is one."""


def can_be_exchanged(setting: Setting) -> bool:
    """Whether units have so many roots that solutions may be missing from what is traced."""
    if setting.classes is None or setting.is_linear or len(setting.classes) < 2:
        return False
    return setting.units.n_sections > 2 or setting.units.can_be_known


def exchanged(
    setting: Setting, alpha: Array, known: Sequence[Sequence[Solution]], polished: Polished
) -> Iterator[tuple[int, Solution]]:
    """Stable solutions next to the best of those known at each α, with the index of α."""
    there = [SeenRoots([class_snr(setting, s) for s in here if s.is_converged]) for here in known]
    best: list[list[float]] = []  # free entropies of the best known at each α
    changed: list[tuple[int, Solution]] = []
    for i, here in enumerate(known):
        stable = [s for s in here if s.is_stable and isinstance(s.family, ClassFamily | ThresholdFamily)]
        stable = sorted(stable, key=lambda s: -s.free_entropy)[:_N_BEST]
        best.append([s.free_entropy for s in stable])
        changed += [(i, s) for s in stable]
    for _ in range(_N_ROUNDS):
        begin: list[tuple[int, Array]] = []
        tried: dict[int, SeenRoots] = {}
        for i, s in changed:
            for start in _starts(setting, s):
                if start not in (before := tried.setdefault(i, SeenRoots())):
                    before.add(start)
                    begin.append((i, start))
        if not begin:
            return
        index = [i for i, _ in begin]
        snr, log_tilt, log_coupling = _settled(setting, np.log(alpha[index]), np.array([x for _, x in begin]))
        new_ones = []
        for i, x, *logs in zip(index, snr, log_tilt, log_coupling, strict=True):
            if not x.any() or np.isnan(x).any() or np.isinf(x).all() or x in there[i]:
                continue
            new = polished(float(alpha[i]), x, *logs)
            is_other = new is not None and new.is_stable and class_snr(setting, new) not in there[i]
            there[i].add(x)
            if new is None or not is_other:
                continue
            there[i].add(class_snr(setting, new))
            yield i, new
            new_ones.append((i, new))
            best[i] = sorted([*best[i], new.free_entropy], reverse=True)[:_N_BEST]
        changed = [(i, s) for i, s in new_ones if s.free_entropy >= best[i][-1]]


def class_snr(setting: Setting, solution: Solution) -> Array:
    """x of every class."""
    assert setting.classes is not None
    nearest = np.abs(solution.readout_values[:, None] ** 2 - setting.classes.values2).argmin(axis=0)
    snr: Array = solution.weight_overlap_hat[nearest]
    return snr


class SeenRoots:
    """x of all classes at some solutions; ``in`` asks whether one of them has the same x of every class."""

    def __init__(self, snr: Sequence[Array] = ()) -> None:
        self._n, self._logs = 0, np.empty((0, 0))
        for one in snr:
            self.add(one)

    def add(self, snr: Array) -> None:
        if self._n == len(self._logs):  # room for as many again
            self._logs = np.resize(self._logs, (2 * self._n + 8, snr.size))
        self._logs[self._n] = self._log(snr)
        self._n += 1

    def __contains__(self, snr: Array) -> bool:
        if not self._n:
            return False
        log = self._log(snr)
        # The largest readouts tell most of them apart; few are compared in all classes.
        near = np.nonzero(np.abs(self._logs[: self._n, 0] - log[0]) < _SAME)[0]
        return bool((np.abs(self._logs[near] - log).max(axis=1, initial=0.0) < _SAME).any())

    @staticmethod
    def _log(snr: Array) -> Array:
        """ln x, and finite numbers in place of -∞ and ∞."""
        log: Array = np.log(np.minimum(np.where(snr < _NOTHING, _LEAST, snr), _MOST))
        return log


def _starts(setting: Setting, solution: Solution) -> Iterator[Array]:
    """x of all classes, one of them put to another of its roots, or to where its neighbours are."""
    assert setting.classes is not None
    units, values2 = setting.units, setting.classes.values2
    family = solution.family
    assert isinstance(family, ClassFamily | ThresholdFamily)
    state = family.state(np.array([solution.parameter]), solution.state[None])
    snr = state.snr[0]
    level = units.log_level(state.pull, state.coupling)[0]
    above, below = np.append(np.inf, snr[:-1]), np.append(snr[1:], 0.0)
    # Where it would be if it did as its neighbours do.
    with np.errstate(invalid="ignore"):
        like_above = np.append(np.inf, snr[:-1] * (values2[1:] / values2[:-1]))
        like_below = np.append(snr[1:] * (values2[:-1] / values2[1:]), 0.0)
    for i, value2 in enumerate(values2):
        is_above = level < np.log(value2)
        roots = units.grid[1:][is_above[:-1] & ~is_above[1:]]
        tried = [*roots, 0.0, like_above[i], like_below[i]]
        chosen: list[float] = [snr[i]]
        for x in tried:
            if np.isinf(x) and not units.can_be_known or not below[i] <= x <= above[i]:
                continue
            if not _is_near(x, chosen):
                chosen.append(x)
                start = snr.copy()
                start[i] = x
                yield start
    if len(values2) > _MANY:
        yield from _moved_boundaries(values2, snr)


def _moved_boundaries(values2: Array, snr: Array) -> Iterator[Array]:
    """x of all classes, some on one side of a jump in x put to where their neighbours on the other are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.diff(np.log(snr / values2)))
    for last in np.nonzero(apart > _MOVED)[0].tolist():  # NaN where both are 0 or both are known
        for way, like in ((1, last), (-1, last + 1)):
            for step in _SEVERAL:
                first = last + 1 if way > 0 else last + 1 - step
                own = slice(max(first, 0), first + step)
                start = snr.copy()
                start[own] = snr[like] * values2[own] / values2[like]
                yield start


def _is_near(x: float, others: Sequence[float]) -> bool:
    return any(x == y or (0 < x < np.inf and 0 < y < np.inf and abs(np.log(x / y)) < _MOVED) for y in others)


def _settled(setting: Setting, log_alpha: Array, snr: Array) -> tuple[Array, Array, Array]:
    """x of all classes (one start a row), ln τ and ln B after some rounds of the saddle-point equations."""
    assert setting.classes is not None
    values2, powers = setting.classes.values2, setting.classes.powers
    log_tilt, log_coupling = np.full(log_alpha.size, -np.inf), np.zeros(log_alpha.size)
    with np.errstate(all="ignore"):
        for step in range(_N_ITERATIONS):
            values = setting.units.at_roots(snr)
            learnt, left = values.overlap**2 @ powers, (values.gap * (1 + values.overlap)) @ powers
            kernel_gap = values.kernel_gap @ powers
            log_tilt = setting.matrix.rough_log_snr_of(np.log(learnt) - np.log(left))
            for _ in range(1 if step else 5):
                after = setting.matrix.mmse(np.logaddexp(log_tilt, setting.log_hat_scale + log_coupling))[0]
                gap = setting.output_gap(after, kernel_gap)
                slope = setting.problem.channel.free_entropy_slope(gap, setting.power)
                log_coupling = np.log(2 / setting.gamma) + log_alpha + np.log(slope)
            pair = setting.matrix.pair(log_tilt, setting.log_hat_scale + log_coupling)
            pull, coupling = np.exp(pair.log_pull) / setting.gamma, np.exp(log_coupling)
            new = values2 * (pull[:, None] * values.overlap + coupling[:, None] * values.kernel_slope)
            new = np.where(np.isinf(snr), np.inf, new)
            snr = np.where(new < _NOTHING, 0.0, new)
    return snr, log_tilt, log_coupling

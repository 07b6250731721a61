r"""Laws of many readout classes: the number of classes at the upper root is chosen by the potential.

Each class has a small weight, so that in equilibrium all but a few sit at the root of largest potential of
their own, up to a threshold of |v|: the n largest at the upper root, the others at the lowest.  Solutions
with neighbouring n coexist at one α, and f changes smoothly with n.  It is computed for n spread over all
classes, then between those around each of its maxima, until neighbours of a maximum differ by one class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...numerics.roots import newton_rows
from ..setting import Setting
from ..units import Root
from .averages import Averages, class_averages
from .base import Family, Points
from .classes import ClassFamily, ClassState
from .threshold import ThresholdFamily

if TYPE_CHECKING:
    from ..solution import Solution

__all__ = ["solve_many"]

_N_SPREAD = 24  # values of n to begin with
_N_BETWEEN = 5  # of n between neighbours around a maximum
_N_ROUNDS = 12
_N_ITERATIONS = 12
_REACH = (1, -1, 2, -2)  # changes of n that are tried at a maximum
# Where between its roots a class is looked for: from the upper one (0) to the lower, or a share of the upper.
_BETWEEN, _SHARE = (0.1, 0.5, 0.9), 1e-3


def _solved(
    family: Family, only: Callable[[np.ndarray], Family], log_alpha: np.ndarray, u: np.ndarray, z: np.ndarray
) -> Points:
    """Newton's method at given α, for families that differ from row to row."""

    def equations(rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = only(rows).system(y[:, -1], y[:, :-1])
        errors = np.column_stack([s.errors, s.log_alpha - log_alpha[rows]])
        upper = np.concatenate([s.by_z, s.by_u[..., None]], axis=2)
        lower = np.column_stack([s.alpha_by_z, s.alpha_by_u])[:, None, :]
        return errors, np.concatenate([upper, lower], axis=1)

    with np.errstate(all="ignore"):
        y, residual = newton_rows(equations, np.column_stack([z, u]), rtol=1e-13, max_steps=40)
        points = family._points(y[:, -1], y[:, :-1], residual)
    points.log_alpha = np.where(points.is_good, log_alpha, points.log_alpha)
    return points


class _Moving(ClassFamily):
    """Families with a moving class for each row, larger ones at their upper root, smaller at the lowest."""

    def __init__(self, setting: Setting, moving: np.ndarray) -> None:
        super().__init__(setting, 0, Root.HIGHEST, Root.LOWEST)
        self.moving = moving  # type: ignore[assignment]

    def only(self, rows: np.ndarray) -> _Moving:
        return _Moving(self.setting, np.asarray(self.moving)[rows])

    def state(self, u: np.ndarray, z: np.ndarray) -> ClassState:
        setting, units = self.setting, self.setting.units
        pair = setting.matrix.pair(z[:, 0], setting.log_hat_scale + z[:, 1])
        pull, coupling = np.exp(pair.log_pull) / setting.gamma, np.exp(z[:, 1])
        number, moving = np.arange(self.values2.size), np.asarray(self.moving)[:, None]
        upper = units.roots(self.values2, pull, coupling, Root.HIGHEST)
        lower = units.roots(self.values2, pull, coupling, Root.LOWEST)
        snr = np.where(number < moving, upper, lower)
        is_moving = number == moving
        snr = np.where(is_moving, np.exp(u)[:, None], snr)
        # The others move with the couplings, this one does not.
        powers = np.where(is_moving, 0.0, self.powers)
        rest = class_averages(units, self.values2, powers, snr, pull, coupling)
        own = units(np.exp(u))
        power = self.powers[self.moving]
        nothing = np.zeros((2, u.size))
        averages = rest + Averages(
            power * own.overlap**2,
            power * own.gap * (1 + own.overlap),
            power * own.kernel_gap,
            power / self.values2[self.moving] * own.entropy,
            nothing,
            nothing,
        )
        return ClassState(pair, pull, coupling, snr, own, averages)


class _Rows(ThresholdFamily):
    """Threshold families with a number of upper classes for each row."""

    def __init__(self, setting: Setting, n_upper: np.ndarray, upper: Root) -> None:
        super().__init__(setting, 0, upper)
        self.counts = n_upper

    def only(self, rows: np.ndarray) -> _Rows:
        return _Rows(self.setting, self.counts[rows], self.upper)

    def snr(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> np.ndarray:
        roots = self.setting.units.roots
        upper = roots(self.values2, pull, coupling, self.upper, is_rough=is_rough)
        lower = roots(self.values2, pull, coupling, Root.LOWEST, is_rough=is_rough)
        return np.where(np.arange(self.values2.size) < self.counts[:, None], upper, lower)

    def starts(self, log_alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln B and ln τ after some rounds of the saddle-point equations, from the upper classes known."""
        setting, units = self.setting, self.setting.units
        with np.errstate(all="ignore"):
            snr = np.where(np.arange(self.values2.size) < self.counts[:, None], units.grid[-1], 0.0)
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
    for upper in (Root.HIGHEST, Root.KNOWN) if setting.units.can_be_known else (Root.HIGHEST,):
        yield from _Search(setting, alpha, upper).run()


class _Search:
    """Solutions by (index of α, n)."""

    def __init__(self, setting: Setting, alpha: np.ndarray, upper: Root) -> None:
        assert setting.classes is not None
        self.setting, self.alpha, self.upper = setting, alpha, upper
        self.top = len(setting.classes) - (upper is Root.KNOWN)
        self.solved: dict[tuple[int, int], Solution] = {}
        self.tried: set[tuple[int, int]] = set()

    def run(self) -> Iterator[tuple[int, Solution]]:
        spread = np.unique(np.round(np.geomspace(1, self.top, _N_SPREAD)).astype(int)).tolist()
        first = [(i, n) for i in range(self.alpha.size) for n in [0, *spread]]
        self._solve(first)
        for _ in range(_N_ROUNDS):
            asked = [key for i in range(self.alpha.size) for key in self._next(i)]
            if not asked:
                break
            self._solve(asked)
        for (i, _), solution in self.solved.items():
            yield i, solution
        if self.upper is Root.HIGHEST:
            yield from self._between_roots()

    def _next(self, i: int) -> set[tuple[int, int]]:
        """Values of n that are still to be tried around the maxima of f over n."""
        known = sorted(n for j, n in self.solved if j == i)
        asked = set()
        for at, n in enumerate(known):
            own = self.solved[i, n].free_entropy
            below, above = known[at - 1] if at else -1, known[at + 1] if at + 1 < len(known) else self.top + 1
            if any(self.solved[i, m].free_entropy > own for m in (below, above) if (i, m) in self.solved):
                continue
            between = np.concatenate(
                [np.linspace(below, n, _N_BETWEEN + 2), np.linspace(n, above, _N_BETWEEN + 2)]
            )
            asked |= {(i, int(m)) for m in np.round(between)} | {(i, n + step) for step in _REACH}
        return {(j, m) for j, m in asked if 0 <= m <= self.top} - self.tried

    def _solve(self, keys: list[tuple[int, int]]) -> None:
        """Try the given n, from what neighbours are solved and from the start with n classes known."""
        self.tried |= set(keys)
        which, n = (np.array(column) for column in zip(*keys, strict=True))
        u, z = _Rows(self.setting, n, self.upper).starts(np.log(self.alpha)[which])
        starts = [(which, n, u, z[:, None])]
        near = [self._nearest(*key) for key in keys]
        if warm := [k for k, s in enumerate(near) if s is not None]:
            guesses = [s for s in near if s is not None]
            starts.append(
                (
                    which[warm],
                    n[warm],
                    np.array([s.parameter for s in guesses]),
                    np.array([s.state for s in guesses]),
                )
            )
        which, n, u, z = (np.concatenate(parts) for parts in zip(*starts, strict=True))
        rows_of = _Rows(self.setting, n, self.upper)
        points = _solved(rows_of, rows_of.only, np.log(self.alpha)[which], u, z)
        good = np.nonzero(points.is_good)[0]
        for count in np.unique(n[good]):
            rows = good[n[good] == count]
            family = ThresholdFamily(self.setting, int(count), self.upper)
            found = family.solutions(points[rows], self.alpha[which[rows]])
            for row, solution in zip(rows, found, strict=True):
                key = (int(which[row]), int(count))
                old = self.solved.get(key)
                if old is None or solution.free_entropy > old.free_entropy:
                    self.solved[key] = solution

    def _between_roots(self) -> Iterator[tuple[int, Solution]]:
        """Solutions in which one class is held between its own roots by what it does to all the others.

        A class of some weight may be, next to the maxima of f over n.
        """
        asked: dict[tuple[int, int], Solution] = {}
        for i, n in self.solved:
            near = [self.solved[i, m].free_entropy for m in (n - 1, n + 1) if (i, m) in self.solved]
            if all(f <= self.solved[i, n].free_entropy for f in near):
                asked |= {(i, m): self.solved[i, n] for m in range(n - 2, n + 2) if 0 <= m < self.top}
        if not asked:
            return
        which, moving = (np.array(column) for column in zip(*asked, strict=True))
        log_tilt = np.array([s.state[0] for s in asked.values()])
        log_coupling = np.array([s.parameter for s in asked.values()])
        family = _Moving(self.setting, moving)
        z = np.column_stack([log_tilt, log_coupling])
        pull, coupling = family.couplings(z)
        roots = self.setting.units.roots
        rows = np.arange(moving.size)
        upper = roots(family.values2, pull, coupling, Root.HIGHEST, is_rough=True)[rows, moving]
        lower = roots(family.values2, pull, coupling, Root.LOWEST, is_rough=True)[rows, moving]
        upper = np.where(np.isnan(upper), 1.0, upper)
        starts = [np.log(np.maximum(lower, _SHARE * upper)) * t + np.log(upper) * (1 - t) for t in _BETWEEN]
        n_starts = len(starts)
        family = _Moving(self.setting, np.tile(moving, n_starts))
        index = np.tile(which, n_starts)
        points = _solved(
            family, family.only, np.log(self.alpha)[index], np.concatenate(starts), np.tile(z, (n_starts, 1))
        )
        for m in np.unique(moving):
            own = np.nonzero(points.is_good & (family.moving == m))[0]
            one = ClassFamily(self.setting, int(m), Root.HIGHEST, Root.LOWEST)
            found = one.solutions(points[own], self.alpha[index[own]])
            yield from zip(index[own].tolist(), found, strict=True)

    def _nearest(self, i: int, n: int) -> Solution | None:
        """The solution at the same α with the nearest n, if one is known."""
        known = [m for j, m in self.solved if j == i]
        return self.solved[i, min(known, key=lambda m: abs(m - n))] if known else None

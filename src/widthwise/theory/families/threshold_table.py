r"""Where to look for solutions with n classes learnt: ln α along ln τ, for many n at once.

With the n largest classes at their highest root (or known) and the others at the lowest, E v²𝒬² grows with
B at fixed τ, so that moment matching fixes B, and α follows.  Every change of sign of ln α(τ) - ln α along τ
holds a solution.  All sums over classes are taken once on a grid in (ln τ, ln B), for all n by adding them up
from both ends; between its nodes ln B is found by regula falsi.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..._arrays import Array, Integers
from ...problem import Problem
from ..setting import Setting, setting_of
from ..units import Root

__all__ = ["ThresholdTable", "threshold_table"]

_LOG_TILT = np.linspace(np.log(1e-9), np.log(1e15), 80)
_LOG_COUPLING = np.linspace(-45.0, 60.0, 106)
_N_STEPS = 4  # of regula falsi in a cell of ln B
_N_CLOSER, _CLOSER = 2, (0.25, 0.5, 0.75)  # rounds and shares of the way to an extremum
_MOST = 64  # numbers n in the table
_MOST_STARTS = 8  # for one α and n


class ThresholdTable:
    """Starts for :mod:`many`: ``n`` classes at the highest root, or known if ``is_known``."""

    def __init__(self, setting: Setting, *, is_known: bool) -> None:
        assert setting.classes is not None
        self.setting, self.is_known = setting, is_known
        top = len(setting.classes) - is_known
        counts: Integers = np.unique(np.round(np.geomspace(1, top, _MOST)).astype(int))
        if top <= _MOST:
            counts = np.arange(1, top + 1)
        # One entry for each n and τ, in this order.
        self.n, self.log_tilt = np.repeat(counts, _LOG_TILT.size), np.tile(_LOG_TILT, counts.size)
        with np.errstate(all="ignore"):
            self.log_coupling = self._matched(counts)
            self.log_alpha = self._alpha(self.n, self.log_tilt, self.log_coupling)
            for _ in range(_N_CLOSER):
                self._look_closer()

    def starts(self, log_alpha: Array) -> tuple[Integers, Integers, Array, Array]:
        """Index of α, n, ln B and ln τ of crossings; of very many at one α and n, some spread evenly."""
        with np.errstate(invalid="ignore"):
            ahead = self.log_alpha - log_alpha[:, None]
            is_next = self.n[1:] == self.n[:-1]
            which, left = np.nonzero((ahead[:, :-1] * ahead[:, 1:] <= 0) & is_next)
            keep = _spread(which * (len(self.n) + 1) + self.n[left])
            which, left = which[keep], left[keep]
            low, high = ahead[which, left], ahead[which, left + 1]
            share = np.where(low == high, 0.5, low / (low - high))
        u, z = (
            column[left] + share * (column[left + 1] - column[left])
            for column in (self.log_coupling, self.log_tilt)
        )
        return which, self.n[left], u, z

    def _look_closer(self) -> None:
        """More τ about each extremum of α: two solutions that have just been born lie close to it."""
        alpha, n = self.log_alpha, self.n
        rise = np.diff(alpha)
        turns = 1 + np.nonzero((rise[:-1] * rise[1:] < 0) & (n[:-2] == n[2:]) & (np.abs(rise[1:]) > 1e-9))[0]
        if not turns.size:
            return
        left, middle, right = (self.log_tilt[turns + k] for k in (-1, 0, 1))
        new = np.concatenate([end + t * (middle - end) for end in (left, right) for t in _CLOSER])
        rows = np.tile(turns, 2 * len(_CLOSER))
        near = self.log_coupling[np.stack([rows - 1, rows, rows + 1])]
        low, high = near.min(axis=0) - 0.1, near.max(axis=0) + 0.1
        counts = n[rows]
        under, over = self._short_of(counts, new, low), -self._short_of(counts, new, high)
        coupling = self._between(counts, new, low, high, under, over, _N_STEPS + 3)
        coupling[(under < 0) | (over < 0)] = np.nan
        found = self._alpha(counts, new, coupling)
        keep = np.isfinite(found)
        every = np.append(n, counts[keep])
        tilt = np.append(self.log_tilt, new[keep])
        order = np.lexsort((tilt, every))
        self.n, self.log_tilt = every[order], tilt[order]
        self.log_coupling = np.append(self.log_coupling, coupling[keep])[order]
        self.log_alpha = np.append(alpha, found[keep])[order]

    def _couplings(self, log_tilt: Array, log_coupling: Array) -> tuple[Array, Array]:
        """A and B."""
        setting = self.setting
        log_pull = setting.matrix.pair(log_tilt, setting.log_hat_scale + log_coupling).log_pull
        return np.exp(log_pull) / setting.gamma, np.exp(log_coupling)

    def _shortfall(self, log_tilt: Array, log_coupling: Array) -> Array:
        """Moment matching, for n = 0, 1, ... (columns): positive where B is too small (or roots lack)."""
        units, classes = self.setting.units, self.setting.classes
        assert classes is not None
        pull, coupling = self._couplings(log_tilt, log_coupling)
        ends = []
        for root in (Root.KNOWN if self.is_known else Root.HIGHEST, Root.LOWEST):
            snr = units.roots(classes.values2, pull, coupling, root, is_rough=True)
            overlap, gap, _ = units.rough_values(snr)
            terms = np.stack([overlap**2, gap * (1 + overlap)]) * classes.powers
            # NaN, where there is no such root, stays to the end of the sum.
            ends.append(np.cumsum(terms if root is not Root.LOWEST else terms[..., ::-1], axis=-1))
        upper, lower = (np.concatenate([np.zeros((*e.shape[:-1], 1)), e], axis=-1) for e in ends)
        learnt, left = upper + lower[..., ::-1]
        goal = self.setting.matrix.odds(log_tilt)[0]
        short: Array = np.nan_to_num(goal[:, None] - (np.log(learnt) - np.log(left)), nan=np.inf)
        return short

    def _snr(self, n: Integers, log_tilt: Array, log_coupling: Array) -> Array:
        """x of every class (columns) for one n a row."""
        counts = np.column_stack([n if self.is_known else np.zeros_like(n), n])
        couplings = self._couplings(log_tilt, log_coupling)
        assert self.setting.classes is not None
        values2 = self.setting.classes.values2
        return self.setting.units.threshold_roots(values2, *couplings, counts, is_rough=True)

    def _short_of(self, n: Integers, log_tilt: Array, log_coupling: Array) -> Array:
        """The shortfall for one n a row."""
        setting, classes = self.setting, self.setting.classes
        assert classes is not None
        odds = setting.units.rough_odds(self._snr(n, log_tilt, log_coupling), classes.powers)
        short: Array = np.nan_to_num(setting.matrix.odds(log_tilt)[0] - odds, nan=np.inf)
        return short

    def _matched(self, counts: Integers) -> Array:
        """ln B for each n and τ; NaN where there is none."""
        log_coupling = _LOG_COUPLING + self.setting.log_coupling_unit
        t, b = (grid.ravel() for grid in np.meshgrid(_LOG_TILT, log_coupling, indexing="ij"))
        short = self._shortfall(t, b)[:, counts].reshape(_LOG_TILT.size, log_coupling.size, counts.size)
        first = np.argmax(short <= 0, axis=1).T  # n, τ
        row, at = np.nonzero((short <= 0).any(axis=1).T & (first > 0))
        cell = first[row, at]
        found = np.full(first.shape, np.nan)
        found[row, at] = self._between(
            counts[row],
            _LOG_TILT[at],
            log_coupling[cell - 1],
            log_coupling[cell],
            short[at, cell - 1, row],
            -short[at, cell, row],
            _N_STEPS,
        )
        return found.ravel()

    def _between(
        self,
        n: Integers,
        log_tilt: Array,
        low: Array,
        high: Array,
        under: Array,
        over: Array,
        n_steps: int,
    ) -> Array:
        """ln B within brackets, from the shortfall at their lower and the surplus at their upper ends."""
        for _ in range(n_steps):
            share = under / (under + over)
            share = np.clip(np.where(np.isfinite(share), share, 0.5), 0.05, 0.95)
            middle = low + share * (high - low)
            value = self._short_of(n, log_tilt, middle)
            is_short = value > 0
            low, high = np.where(is_short, middle, low), np.where(is_short, high, middle)
            under, over = np.where(is_short, value, 0.5 * under), np.where(is_short, 0.5 * over, -value)
        share = under / (under + over)
        return low + np.where(np.isfinite(share), share, 1.0) * (high - low)

    def _alpha(self, n: Integers, log_tilt: Array, log_coupling: Array) -> Array:
        found = np.full(n.shape, np.nan)
        at = np.nonzero(np.isfinite(log_coupling))[0]
        if at.size:
            setting, b, t = self.setting, log_coupling[at], log_tilt[at]
            assert setting.classes is not None
            after = setting.matrix.pair(t, setting.log_hat_scale + b).mmse_after
            kernel_gap = setting.units.rough_kernel_gap(self._snr(n[at], t, b), setting.classes.powers)
            found[at] = setting.log_alpha(b, setting.output_gap(after, kernel_gap))
        return found


def _spread(group: Integers) -> Integers:
    """Places, at most _MOST_STARTS of each run of equal numbers: what crosses more often is rounding."""
    _, first, size = np.unique(group, return_index=True, return_counts=True)
    if not size.size or size.max() <= _MOST_STARTS:
        return np.arange(group.size)
    chosen = [np.unique(np.round(np.linspace(0, n - 1, min(n, _MOST_STARTS)))) for n in size]
    return np.concatenate([at + own.astype(int) for at, own in zip(first, chosen, strict=True)])


@lru_cache(maxsize=32)
def threshold_table(problem: Problem, theory: str, *, is_known: bool) -> ThresholdTable:
    """The table of a problem, made once."""
    return ThresholdTable(setting_of(problem, theory), is_known=is_known)

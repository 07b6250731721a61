r"""Families in which no class moves: the largest |v| known or at their highest root, others at the lowest.

The parameter is u = ln B and the unknown z = ln τ, fixed by moment matching (eq. tauDef).  These are the
solutions of laws with many classes (:mod:`many`), and those in which the weights of some classes are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..setting import Setting
from ..units import Root
from .averages import class_averages
from .base import Family, Points, System
from .classes import ClassState

if TYPE_CHECKING:
    from ..solution import Solution

__all__ = ["ThresholdFamily", "threshold_roots"]


class ThresholdFamily(Family):
    """The first ``counts[0]`` classes are known, those up to ``counts[1]`` at their highest root, up to
    ``counts[2]`` at the next one below, and so on; the others are at their lowest.
    """

    def __init__(self, setting: Setting, counts: tuple[int, ...]) -> None:
        assert setting.classes is not None
        self.setting, self.counts = setting, counts
        self.values2, self.powers = setting.classes.values2, setting.classes.powers
        self.n_learnt = counts[-1]
        self.name = f"specialised {self.n_learnt}"

    def __repr__(self) -> str:
        return f"ThresholdFamily(counts={self.counts})"

    @property
    def grid(self) -> np.ndarray:
        return np.linspace(-40.0, 60.0, 140)

    def log_tilt(self, points: Points) -> np.ndarray:
        return points.z[:, 0]

    def log_coupling(self, points: Points) -> np.ndarray:
        return points.u

    def snr(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> np.ndarray:
        """x of every class."""
        counts = np.tile(self.counts, (pull.size, 1))
        return threshold_roots(self.setting, pull, coupling, counts, is_rough=is_rough)

    def state(self, u: np.ndarray, z: np.ndarray) -> ClassState:
        setting = self.setting
        coupling = np.exp(u)
        pair = setting.matrix.pair(z[:, 0], setting.log_hat_scale + u)
        pull = np.exp(pair.log_pull) / setting.gamma
        snr = self.snr(pull, coupling)
        averages = class_averages(setting.units, self.values2, self.powers, snr, pull, coupling)
        return ClassState(pair, pull, coupling, snr, None, averages)

    def has_same_roots(self, one: Points, other: Points) -> bool:
        state = self.state(np.concatenate([one.u, other.u]), np.concatenate([one.z, other.z]))
        return self.setting.units.are_joined(state.pull, state.coupling, state.snr)

    def with_roots_from(self, point: Points, which: Root) -> ThresholdFamily:
        """The same at a point, one row: all classes that can be said to be at HIGHEST or LOWEST roots are."""
        state, units = self.state(point.u, point.z), self.setting.units
        root = units.roots(self.values2, state.pull, state.coupling, which)[0]
        is_there = np.isclose(state.snr[0], root, rtol=1e-9, atol=0)
        n_known = self.counts[0]
        if which is Root.HIGHEST:
            is_there[:n_known] = True
            n = int(np.argmin(np.append(is_there, False)))
            return ThresholdFamily(self.setting, (n_known, *(max(n, m) for m in self.counts[1:])))
        n = max(n_known, is_there.size - int(np.argmin(np.append(is_there[::-1], False))))
        return ThresholdFamily(self.setting, (n_known, *(min(n, m) for m in self.counts[1:])))

    def system(self, u: np.ndarray, z: np.ndarray) -> System:
        setting, state = self.setting, self.state(u, z)
        pair, averages = state.pair, state.averages
        half = 0.5 * setting.mu2_squared
        odds_a, odds_b = averages.odds_slopes
        gap = setting.output_gap(pair.mmse_after, averages.kernel_gap)
        log_alpha, bend = setting.log_alpha_and_bend(u, gap)
        gap_a, gap_b = averages.kernel_slopes
        return System(
            (averages.odds - pair.odds)[:, None],
            (odds_a * pair.pull_by_tilt - pair.rate)[:, None, None],
            (odds_a * pair.pull_by_hat + odds_b)[:, None],
            log_alpha,
            (bend * (half * pair.after_by_tilt + gap_a * pair.pull_by_tilt))[:, None],
            1 + bend * (half * pair.after_by_hat + gap_a * pair.pull_by_hat + gap_b),
        )

    def guess(self, u: np.ndarray) -> np.ndarray:
        """As if only the upper classes were learnt, and well."""
        learnt = float(self.powers[: self.n_learnt].sum())
        left = max(1 - learnt, 1e-6)
        odds = np.full(u.size, np.log(max(learnt, 1e-12)) - np.log(left))
        return self.setting.matrix.rough_log_snr_of(odds)[:, None]

    def solutions(self, points: Points, alpha: np.ndarray | None = None) -> list[Solution]:
        from ..stationary import class_solutions

        return class_solutions(self, points, alpha)


def threshold_roots(
    setting: Setting, pull: np.ndarray, coupling: np.ndarray, counts: np.ndarray, *, is_rough: bool = False
) -> np.ndarray:
    """x of every class (columns), with couplings and the counts of :class:`ThresholdFamily` row by row."""
    assert setting.classes is not None
    values2, units = setting.classes.values2, setting.units
    number = np.arange(values2.size)
    # How many of the counts have been passed: 0 for known, 1 for the highest root, ...
    passed = (number >= counts[:, :, None]).sum(axis=1)
    snr = units.roots(values2, pull, coupling, Root.LOWEST, is_rough=is_rough)
    if counts.shape[1] == 2:
        upper = units.roots(values2, pull, coupling, Root.HIGHEST, is_rough=is_rough)
    else:
        upper = units.ranked_roots(values2, pull, coupling, passed - 1, is_rough=is_rough)
    snr = np.where(passed < counts.shape[1], upper, snr)
    return np.where(passed == 0, np.inf, snr)

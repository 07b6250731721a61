r"""Families in which no class moves: the largest |v| at one kind of root, the others at another.

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

__all__ = ["ThresholdFamily"]


class ThresholdFamily(Family):
    """The first ``n_upper`` classes at the root ``upper``, the others at their lowest."""

    def __init__(self, setting: Setting, n_upper: int, upper: Root = Root.HIGHEST) -> None:
        assert setting.classes is not None
        self.setting, self.n_upper, self.upper = setting, n_upper, upper
        self.values2, self.powers = setting.classes.values2, setting.classes.powers
        self.n_learnt = n_upper
        self.name = f"specialised {n_upper}"

    def __repr__(self) -> str:
        return f"ThresholdFamily(n_upper={self.n_upper}, upper={self.upper.value})"

    @property
    def grid(self) -> np.ndarray:
        return np.linspace(-40.0, 60.0, 140)

    def log_tilt(self, points: Points) -> np.ndarray:
        return points.z[:, 0]

    def log_coupling(self, points: Points) -> np.ndarray:
        return points.u

    def snr(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> np.ndarray:
        """x of every class."""
        roots, n = self.setting.units.roots, self.n_upper
        return np.concatenate(
            [
                roots(self.values2[:n], pull, coupling, self.upper, is_rough=is_rough),
                roots(self.values2[n:], pull, coupling, Root.LOWEST, is_rough=is_rough),
            ],
            axis=1,
        )

    def state(self, u: np.ndarray, z: np.ndarray) -> ClassState:
        setting = self.setting
        coupling = np.exp(u)
        pair = setting.matrix.pair(z[:, 0], setting.log_hat_scale + u)
        pull = np.exp(pair.log_pull) / setting.gamma
        snr = self.snr(pull, coupling)
        averages = class_averages(setting.units, self.values2, self.powers, snr, pull, coupling)
        return ClassState(pair, pull, coupling, snr, None, averages)

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
        learnt = float(self.powers[: self.n_upper].sum())
        left = max(1 - learnt, 1e-6)
        odds = np.full(u.size, np.log(max(learnt, 1e-12)) - np.log(left))
        return self.setting.matrix.rough_log_snr_of(odds)[:, None]

    def solutions(self, points: Points, alpha: np.ndarray | None = None) -> list[Solution]:
        from ..stationary import class_solutions

        return class_solutions(self, points, alpha)

r"""Families of a discrete readout law: one class moves, or none; the others sit at roots of their equations.

With a moving class (:class:`ClassFamily`) the parameter is u = ln x of that class; the unknowns are
z = (ln τ, ln B).  With the couplings

.. math:: \gamma A = \frac{\mathrm{mmse}(\tau) - \mathrm{mmse}(\tau + \hat q_2)}{-\mathrm{mmse}'(\tau)},
          \qquad \hat q_2 = \gamma\mu_2^2 B,

what is solved are moment matching (eq. tauDef), mmse(τ) = 1 - E v²𝒬², and the equation of the moving
class, x = v²(A F + B g').  The strength of the data is explicit: α = γB/(2ψ_out').

Overlaps are ordered as |v| is: classes of larger |v| take the highest of their stable roots (or the one next
above the moving class), those of smaller |v| the lowest (or the next below), or 0.

Without one (:class:`ThresholdFamily`) the parameter is u = ln B and the unknown z = ln τ, fixed by moment
matching.  These are the solutions of laws with many classes (:mod:`many`), and those in which the weights of
some classes are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._arrays import Array, Bools, Integers
from ...ingredients.scalar_channel import SNR_MAX
from ...numerics.roots import decreasing_root
from ..matrix_channel import MatrixPair
from ..setting import Averages, Setting, class_averages
from ..solution import Solution, readout_grid
from ..stationary import Stationary, is_maximum_over_classes, solutions_at
from ..units import ROOTS, Root, UnitValues
from .base import Family, Question
from .equations import Equations, Points, System

__all__ = ["ClassFamily", "ClassPoints", "ClassState", "ThresholdFamily", "answers"]

_LOGIT = 60.0
_SAME = 1e-6  # in ln τ and ln B: one solution
_N_PROJECTION = 6  # steps of Newton's method for ln B alone
_ALIKE = 0.01  # difference in ln v² of classes that are learnt alike
_ZERO, _KNOWN = ROOTS.index(Root.ZERO), ROOTS.index(Root.KNOWN)


@dataclass
class ClassState:
    """Everything at given u and z."""

    pair: MatrixPair
    pull: np.ndarray
    coupling: np.ndarray
    snr: np.ndarray
    """x of every class, one a column."""
    own: UnitValues | None
    """The moving class, if one does."""
    averages: Averages
    """Over all classes; their slopes hold the moving class fixed."""


class ClassPoints(Equations):
    """Equations of points of several class families of one problem: one entry for each point.

    Class ``moving`` moves, those before number ``n_known`` are known, those from ``n_awake`` on stay at 0;
    the others take the root ``larger`` or ``smaller``, as their |v| is to that of the moving one.
    """

    def __init__(
        self,
        setting: Setting,
        moving: Integers,
        n_known: Integers,
        n_awake: Integers,
        larger: Integers,
        smaller: Integers,
    ) -> None:
        assert setting.classes is not None
        self.setting, self.classes = setting, setting.classes
        self.moving, self.n_known, self.n_awake = moving, n_known, n_awake
        self.larger, self.smaller = larger, smaller  # numbers of roots, in the order of ROOTS

    @classmethod
    def joined(cls, families: Sequence[ClassFamily], n_points: Sequence[int]) -> ClassPoints:
        """So many points of each of the families, one family after the other."""
        roles = [
            (f.moving, f.n_known, f.n_awake, ROOTS.index(f.larger), ROOTS.index(f.smaller)) for f in families
        ]
        return cls(families[0].setting, *np.repeat(np.array(roles), n_points, axis=0).T)

    def only(self, rows: Integers) -> ClassPoints:
        roles = (self.moving, self.n_known, self.n_awake, self.larger, self.smaller)
        return ClassPoints(self.setting, *(role[rows] for role in roles))

    @property
    def own_value2(self) -> Array:
        """v² of the moving class."""
        return self.classes.values2[self.moving]

    def snr(self, u: Array, pull: Array, coupling: Array, *, is_rough: bool = False) -> Array:
        """x of every class; that of the moving one is e^u."""
        units, values2 = self.setting.units, self.classes.values2
        x, number, moving = np.exp(u), np.arange(values2.size), self.moving[:, None]
        takes = np.full((u.size, values2.size), _ZERO)
        for which, is_own in (
            (np.full(u.size, _KNOWN), number < self.n_known[:, None]),
            (self.larger, (number >= self.n_known[:, None]) & (number < moving)),
            (self.smaller, (number > moving) & (number < self.n_awake[:, None])),
        ):
            takes = np.where(is_own, which[:, None], takes)
        takes[np.arange(u.size), self.moving] = _ZERO
        snr = units.chosen_roots(values2, pull, coupling, takes, x, is_rough=is_rough)
        snr[np.arange(u.size), self.moving] = x
        return snr

    def state(self, u: Array, z: Array) -> ClassState:
        """Everything at u and z."""
        setting, values2 = self.setting, self.classes.values2
        pair = setting.matrix.pair(z[:, 0], setting.log_hat_scale + z[:, 1])
        pull, coupling = np.exp(pair.log_pull) / setting.gamma, np.exp(z[:, 1])
        snr = self.snr(u, pull, coupling)
        values = setting.units.at_roots(snr)
        is_moving = np.arange(values2.size) == self.moving[:, None]
        averages = class_averages(values, values2, self.classes.powers, pull, coupling, is_moving)
        own = values.chosen((np.arange(u.size), self.moving))
        return ClassState(pair, pull, coupling, snr, own, averages)

    def system(self, u: Array, z: Array) -> System:
        s, setting = self.state(u, z), self.setting
        own, averages, pair = s.own, s.averages, s.pair
        assert own is not None
        power, half = self.classes.powers[self.moving], 0.5 * setting.mu2_squared
        force = s.pull * own.overlap + s.coupling * own.kernel_slope
        force_slope = s.pull * own.overlap_slope + s.coupling * own.kernel_curvature
        x = np.exp(u)
        errors = np.column_stack([averages.odds - pair.odds, u - np.log(self.own_value2 * force)])
        odds_a, odds_b = averages.odds_slopes
        # A moves with ln τ and with ln B, and B with itself.
        pulled, driven = s.pull * own.overlap / force, s.coupling * own.kernel_slope / force
        by_z = np.empty((u.size, 2, 2))
        by_z[:, 0, 0] = odds_a * pair.pull_by_tilt - pair.rate
        by_z[:, 0, 1] = odds_a * pair.pull_by_hat + odds_b
        by_z[:, 1, 0] = -pulled * pair.pull_by_tilt
        by_z[:, 1, 1] = -pulled * pair.pull_by_hat - driven
        by_u = np.column_stack(
            [
                2 * power * own.overlap * own.overlap_slope * x * averages.odds_per_learnt,
                1 - x * force_slope / force,
            ]
        )
        gap = setting.output_gap(pair.mmse_after, averages.kernel_gap)
        log_alpha, alpha_by_gap = setting.log_alpha_and_slope(z[:, 1], gap)
        gap_a, gap_b = averages.kernel_slopes
        gap_by_z = np.column_stack(
            [
                half * pair.after_by_tilt + gap_a * pair.pull_by_tilt,
                half * pair.after_by_hat + gap_a * pair.pull_by_hat + gap_b,
            ]
        )
        gap_by_u = -power * own.kernel_slope * own.overlap_slope * x
        alpha_by_z = alpha_by_gap[:, None] * gap_by_z
        alpha_by_z[:, 1] += 1
        return System(errors, by_z, by_u, log_alpha, alpha_by_z, alpha_by_gap * gap_by_u)

    def other_roots(self, u: Array, z: Array, z_slope: Array) -> Array:
        """ln(1 + x) of the classes that do not move, and its slopes along curves with the given dz/du."""
        s, values2, row = self.state(u, z), self.classes.values2, np.arange(u.size)
        values = self.setting.units.at_roots(s.snr)
        pull, coupling = s.pull[:, None], s.coupling[:, None]
        pull_rate = s.pair.pull_by_tilt * z_slope[:, 0] + s.pair.pull_by_hat * z_slope[:, 1]
        # Of weights that are known but for less than the smallest double g' may be infinite.
        moves = (s.snr > 0) & np.isfinite(s.snr) & np.isfinite(values.kernel_slope)
        found = np.zeros((u.size, 2, values2.size))
        with np.errstate(all="ignore"):
            driven = pull * values.overlap * pull_rate[:, None]
            driven += coupling * values.kernel_slope * z_slope[:, 1:]
            stiff = 1 - values2 * (pull * values.overlap_slope + coupling * values.kernel_curvature)
            found[:, 0] = np.log1p(np.minimum(s.snr, SNR_MAX))
            found[:, 1] = np.where(moves, values2 * driven / stiff / (1 + s.snr), 0.0)
        found[row, :, self.moving] = 0.0
        return found

    def guess(self, u: Array) -> Array:
        """By the share of B in the force on the moving class: given it, everything else is explicit."""
        setting = self.setting
        own = setting.units(np.exp(u))
        log_force = u - np.log(self.own_value2)
        is_driven = setting.kernel_total > 0
        rough_tilt = setting.matrix.rough_log_snr_of

        def couplings(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """ln A and ln B."""
            if setting.mu2_squared == 0:
                return np.full(u.size, -np.inf), log_force - np.log(own.kernel_slope)
            if not is_driven:
                return log_force - np.log(own.overlap), s
            log_share, log_rest = -np.logaddexp(0, -s), -np.logaddexp(0, s)
            return log_force - np.log(own.overlap) + log_rest, log_force - np.log(
                own.kernel_slope
            ) + log_share

        def tilt(log_pull: np.ndarray, log_coupling: np.ndarray) -> np.ndarray:
            snr = self.snr(u, np.exp(log_pull), np.exp(log_coupling), is_rough=True)
            return rough_tilt(setting.units.rough_odds(snr, self.classes.powers))

        def surplus(s: Array) -> Array:
            """ln of the pull assumed over the one that τ and q̂₂ give; falls with the share of B."""
            log_pull, log_coupling = couplings(s)
            log_tilt = tilt(log_pull, log_coupling)
            given = setting.matrix.pair(log_tilt, setting.log_hat_scale + log_coupling).log_pull
            gap: Array = np.nan_to_num(log_pull + np.log(setting.gamma) - given, nan=np.inf)
            return gap

        with np.errstate(all="ignore"):
            s = np.zeros(u.size)
            if setting.mu2_squared > 0:
                ends = np.full(u.size, _LOGIT)
                s = decreasing_root(surplus, -ends, ends, atol=0.02)
            log_pull, log_coupling = couplings(s)
            return np.column_stack([tilt(log_pull, log_coupling), log_coupling])

    def with_root(self, u: Array, z: Array) -> Array:
        """ln B changed such that the moving class obeys its own equation: then a class next above it has a
        root too, however close both are to the fold of φ."""
        setting, own = self.setting, self.setting.units(np.exp(u))
        log_tilt, log_coupling = z[:, 0], z[:, 1]
        with np.errstate(all="ignore"):
            for _ in range(_N_PROJECTION):
                pair = setting.matrix.pair(log_tilt, setting.log_hat_scale + log_coupling)
                pulled = np.exp(pair.log_pull) / setting.gamma * own.overlap
                driven = np.exp(log_coupling) * own.kernel_slope
                error = np.log(self.own_value2 * (pulled + driven)) - u
                rate = (pulled * pair.pull_by_hat + driven) / (pulled + driven)
                log_coupling = log_coupling - np.clip(error / rate, -1.0, 1.0)
        is_finite = np.isfinite(log_coupling)
        return np.column_stack([log_tilt, np.where(is_finite, log_coupling, z[:, 1])])


def answers(questions: Sequence[Question]) -> list[Any]:
    """What is asked of families; the same of several class families of one problem together."""
    found: dict[int, Any] = {}
    groups: dict[object, list[int]] = {}
    for i, q in enumerate(questions):
        if isinstance(q.family, ClassFamily):
            groups.setdefault((q.family.setting, q.method, len(q.arguments)), []).append(i)
        else:
            found[i] = q.answer()
    for which in groups.values():
        asked = [questions[i] for i in which]
        n_points = [q.arguments[0].size for q in asked]
        points = ClassPoints.joined([q.family for q in asked if isinstance(q.family, ClassFamily)], n_points)
        columns = zip(*(q.arguments for q in asked), strict=True)
        together = getattr(points, asked[0].method)(*(np.concatenate(column) for column in columns))
        ends = np.cumsum(n_points)
        for i, begin, end in zip(which, (ends - n_points).tolist(), ends.tolist(), strict=True):
            found[i] = together[begin:end]
    return [found[i] for i in range(len(questions))]


class ClassFamily(Family):
    """Class ``moving`` (0 is the largest |v|) moves; ``larger`` and ``smaller`` say what the others do.

    ``asleep`` is the family that differs from this one in that smaller classes stay at 0: this one is traced
    only where they do not. Classes from number ``n_awake`` on stay at 0.
    """

    shared: tuple[Family, ...] = ()
    """Families that have some of its solutions: these pieces of the curve are left to them."""

    def __init__(
        self,
        setting: Setting,
        moving: int,
        larger: Root = Root.HIGHEST,
        smaller: Root = Root.ZERO,
        n_known: int = 0,
        asleep: ClassFamily | None = None,
        n_awake: int | None = None,
    ) -> None:
        assert setting.classes is not None
        self.n_awake = len(setting.classes) if n_awake is None else n_awake
        self.setting, self.moving, self.n_known, self.asleep = setting, moving, n_known, asleep
        self.larger, self.smaller = larger, smaller
        self.values2, self.powers = setting.classes.values2, setting.classes.powers
        self.n_learnt = moving + 1

    def __repr__(self) -> str:
        return (
            f"ClassFamily(moving={self.moving}, larger={self.larger.value}, smaller={self.smaller.value}, "
            f"n_known={self.n_known})"
        )

    def held_at_0(self, number: int) -> ClassFamily:
        """The same with this class and smaller ones at 0, whether or not they can stay there."""
        return ClassFamily(
            self.setting, self.moving, self.larger, self.smaller, self.n_known, self.asleep, number
        )

    @property
    def grid(self) -> Array:
        u = self.setting.units.log_grid
        is_coarse = (u < np.log(1e-3)) | (u > np.log(1e6))
        every = np.arange(u.size)
        grid: Array = u[np.where(is_coarse, every % 2 == 0, every % 4 == 0) | (every == u.size - 1)]
        return grid

    @property
    def stops(self) -> np.ndarray:
        return np.log([1e15, 1e21])

    def is_awake(self, points: Points) -> np.ndarray:
        """Whether the next smaller class cannot stay at 0."""
        if self.setting.mu2_squared == 0 or self.moving + 1 == self.values2.size:
            return np.zeros(len(points), dtype=bool)
        pull, _ = self.couplings(points.z)
        return np.asarray(self.values2[self.moving + 1] * pull > 1)

    def _on_grid(self) -> Points:
        if self.asleep is None:
            return super()._on_grid()
        nodes, _ = self.asleep.curve
        same = nodes[~self.asleep.is_awake(nodes)]
        grid = self.grid
        rest = grid[~np.isin(grid, same.u) & (grid <= nodes.u[-1])]
        found = Points.joined([same, self.at(rest)])
        return found[np.argsort(found.u, kind="stable")]

    @cached_property
    def curve(self) -> tuple[Points, np.ndarray]:
        nodes, is_joined = super().curve
        if self.asleep is None or not len(nodes):
            return nodes, is_joined
        is_awake = self.is_awake(nodes)
        is_joined = is_joined & (is_awake | np.append(is_awake[1:], False))
        keep = is_joined | np.append(False, is_joined[:-1])
        return nodes[keep], is_joined[keep]

    def _is_own(self, nodes: Points) -> Bools:
        """From one node before others have other solutions to one behind."""
        is_same = np.zeros(len(nodes), dtype=bool)
        for family in self.shared if not self.is_sheet else ():
            theirs, _ = family.curve
            if len(theirs):
                place = np.minimum(np.searchsorted(theirs.u, nodes.u), len(theirs) - 1)
                is_near = np.max(np.abs(theirs.z[place] - nodes.z), axis=1) < _SAME
                is_same |= (theirs.u[place] == nodes.u) & is_near
        around = np.concatenate([[True], is_same, [True]])
        is_own: Bools = ~(around[:-3] & around[1:-2] & around[2:-1] & around[3:])
        return is_own

    def _side_of_bend(self, nodes: Points) -> Array | None:
        """Slope of ln φ at the moving class: where it passes 0, a class of nearly the same |v| parts."""
        first, last = max(self.moving - 1, self.n_known), min(self.moving + 2, self.n_awake)
        apart = np.abs(np.log(self.values2[first:last] / self.values2[self.moving]))
        if np.count_nonzero(apart < _ALIKE) < 2:  # one is the moving class itself
            return None
        side: Array = self.system(nodes.u, nodes.z).by_u[:, 1]
        return side

    def _other_roots(self, points: Points) -> Array | None:
        """Those of other classes, where units may be at one of three or more."""
        if self.setting.units.n_sections < 3 or len(self.values2) < 2:
            return None
        found: Array = self.together("other_roots", points.u, points.z, points.z_slope)
        return found

    def other_roots(self, u: Array, z: Array, z_slope: Array) -> Array:
        return self.points_of(u.size).other_roots(u, z, z_slope)

    def with_root(self, u: Array, z: Array) -> Array:
        return self.points_of(u.size).with_root(u, z)

    def log_tilt(self, points: Points) -> np.ndarray:
        return points.z[:, 0]

    def log_coupling(self, points: Points) -> np.ndarray:
        return points.z[:, 1]

    def couplings(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B."""
        pair = self.setting.matrix.pair(z[:, 0], self.setting.log_hat_scale + z[:, 1])
        return np.exp(pair.log_pull) / self.setting.gamma, np.exp(z[:, 1])

    def points_of(self, n_points: int) -> ClassPoints:
        """The equations of some points, each of this family."""
        return ClassPoints.joined([self], [n_points])

    def snr(
        self, u: np.ndarray, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False
    ) -> np.ndarray:
        """x of every class; that of the moving one is e^u."""
        return self.points_of(u.size).snr(u, pull, coupling, is_rough=is_rough)

    def state(self, u: np.ndarray, z: np.ndarray) -> ClassState:
        """Everything at u and z."""
        return self.points_of(u.size).state(u, z)

    def system(self, u: np.ndarray, z: np.ndarray) -> System:
        return self.points_of(u.size).system(u, z)

    def guess(self, u: np.ndarray) -> np.ndarray:
        return self.points_of(u.size).guess(u)

    def solutions(self, points: Points, alpha: np.ndarray | None = None) -> list[Solution]:
        return class_solutions(self, points, alpha)


class ThresholdFamily(Family):
    """The first ``counts[0]`` classes are known, those up to ``counts[1]`` at their highest root, up to
    ``counts[2]`` at the next one below, and so on; the others are at their lowest.
    """

    def __init__(self, setting: Setting, counts: tuple[int, ...]) -> None:
        assert setting.classes is not None
        self.setting, self.counts = setting, counts
        self.values2, self.powers = setting.classes.values2, setting.classes.powers
        self.n_learnt = counts[-1]

    def __repr__(self) -> str:
        return f"ThresholdFamily(counts={self.counts})"

    @property
    def grid(self) -> np.ndarray:
        grid: Array = np.linspace(-40.0, 60.0, 140) + self.setting.log_coupling_unit
        return grid

    def log_tilt(self, points: Points) -> np.ndarray:
        return points.z[:, 0]

    def log_coupling(self, points: Points) -> np.ndarray:
        return points.u

    def snr(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> np.ndarray:
        """x of every class."""
        counts = np.tile(self.counts, (pull.size, 1))
        return self.setting.units.threshold_roots(self.values2, pull, coupling, counts, is_rough=is_rough)

    def state(self, u: np.ndarray, z: np.ndarray) -> ClassState:
        setting = self.setting
        coupling = np.exp(u)
        pair = setting.matrix.pair(z[:, 0], setting.log_hat_scale + u)
        pull = np.exp(pair.log_pull) / setting.gamma
        snr = self.snr(pull, coupling)
        values = setting.units.at_roots(snr)
        averages = class_averages(values, self.values2, self.powers, pull, coupling)
        return ClassState(pair, pull, coupling, snr, None, averages)

    def system(self, u: np.ndarray, z: np.ndarray) -> System:
        setting, state = self.setting, self.state(u, z)
        pair, averages = state.pair, state.averages
        half = 0.5 * setting.mu2_squared
        odds_a, odds_b = averages.odds_slopes
        gap = setting.output_gap(pair.mmse_after, averages.kernel_gap)
        log_alpha, alpha_by_gap = setting.log_alpha_and_slope(u, gap)
        gap_a, gap_b = averages.kernel_slopes
        return System(
            (averages.odds - pair.odds)[:, None],
            (odds_a * pair.pull_by_tilt - pair.rate)[:, None, None],
            (odds_a * pair.pull_by_hat + odds_b)[:, None],
            log_alpha,
            (alpha_by_gap * (half * pair.after_by_tilt + gap_a * pair.pull_by_tilt))[:, None],
            1 + alpha_by_gap * (half * pair.after_by_hat + gap_a * pair.pull_by_hat + gap_b),
        )

    def guess(self, u: np.ndarray) -> np.ndarray:
        """As if only the upper classes were learnt, and well."""
        learnt = float(self.powers[: self.n_learnt].sum())
        left = max(1 - learnt, 1e-6)
        odds = np.full(u.size, np.log(max(learnt, 1e-12)) - np.log(left))
        return self.setting.matrix.rough_log_snr_of(odds)[:, None]

    def solutions(self, points: Points, alpha: np.ndarray | None = None) -> list[Solution]:
        return class_solutions(self, points, alpha)


def class_solutions(
    family: ClassFamily | ThresholdFamily, points: Points, alpha: np.ndarray | None = None
) -> list[Solution]:
    """Points of a family of classes with everything that is reported of them."""
    setting = family.setting
    state = family.state(points.u, points.z)
    v, _ = readout_grid(setting.problem)
    column = np.argmin(np.abs(v[:, None] ** 2 - family.values2), axis=1)
    is_zero = v == 0
    snr = np.where(is_zero, 0.0, state.snr[:, column])
    overlap = np.where(np.isinf(snr), 1.0, setting.units.weights.overlap(np.where(np.isinf(snr), 0.0, snr)))
    alpha = np.exp(points.log_alpha) if alpha is None else alpha
    log_tilt, log_coupling = family.log_tilt(points), family.log_coupling(points)
    is_stable = is_maximum_over_classes(
        setting, alpha, log_tilt, log_coupling, state.pair, state.averages, state.snr, state.pull
    )
    found = Stationary(
        family,
        points.u,
        points.z,
        points.residual,
        alpha,
        log_tilt,
        setting.log_hat_scale + log_coupling,
        state.pair,
        state.averages,
        overlap,
        snr,
        is_stable,
    )
    return solutions_at(setting, "specialised", found)

r"""Hidden units as scalar problems: the equation each readout value obeys, given two couplings.

A unit with readout v sees a scalar Gaussian channel of signal-to-noise ratio x = 𝒬̂_W(v),

.. math:: x = v^2\,[A\,Q + B\,g'(Q)], \qquad Q = F(x),

A the pull of the learnt matrix S₂ and B that of the higher Hermite terms.  x = 0 is always a
root; others exist when v² exceeds values of φ(x) = x/(A F(x) + B g'(F(x))), and there are
several of them where φ falls.  Working in x, not in Q, keeps 1 - Q accurate when a unit is
learnt exponentially well.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from .._arrays import Array, Bools, Integers
from ..ingredients.activations import Activation
from ..ingredients.weights import WeightLaw
from ..numerics.piecewise import PiecewiseChebyshev
from ..numerics.roots import guarded_step

__all__ = ["ROOTS", "Root", "UnitTable", "UnitValues", "evaluate_units", "unit_table"]

# x from where a unit has just begun to be learnt to where any weights are known.
_GRID = np.unique(np.concatenate([np.logspace(-12, -4, 33), np.logspace(-4, 8, 193), np.logspace(8, 30, 67)]))
_N_POLISH = 60
_N_HALVINGS = 40
_LARGEST = 1e60
_LARGEST_LOG = 750.0
_BLOCK = 64  # rows that are searched at once: they stay in the cache
_FEW = 4  # units up to which comparing with all of the grid is quicker than running minima
_SLACK = 1e-8  # of a cell's ends in ln x, beyond the rounding with which it is found
_LEAST_CURVED, _MOST_CURVED = 1e-190, 1e300  # 1 - Q down to which g'' itself is a double, if it is no larger
_LEAST_GAP = 1e-280  # of 1 - Q, where activations with jumps are still finite


class Root(Enum):
    """Which root of x = v²(A F + B g') a class takes, of those where φ rises (its own stable ones)."""

    ZERO = "zero"
    LOWEST = "lowest"
    """The smallest positive one if x = 0 is unstable, else x = 0."""
    BELOW = "below"
    """The next one below a given x (x = 0 if there is none)."""
    ABOVE = "above"
    """The next one above a given x."""
    HIGHEST = "highest"
    KNOWN = "known"
    """x = ∞: weights known exactly, for discrete weights and activations with jumps."""


ROOTS = tuple(Root)
"""Choices by number."""
_FROM_ABOVE = np.array([which in (Root.HIGHEST, Root.BELOW) for which in ROOTS])
"""Whether the highest of those that may be chosen is."""


@dataclass
class UnitValues:
    """Functions of the overlap Q = F(x) of a unit at signal-to-noise ratio x."""

    snr: Array
    overlap: Array
    """Q = F(x)."""
    gap: Array
    """1 - Q, accurate where it is tiny."""
    overlap_slope: Array
    """F'(x)."""
    entropy: Array
    """ψ_W(x) - xQ/2."""
    kernel_slope: Array
    """g'(Q)."""
    kernel_curvature: Array
    """d g'(Q)/dx = g''(Q) F'(x), finite also where g'' is not."""
    kernel_gap: Array
    """g(1) - g(Q)."""
    kernel: Array
    """g(Q), accurate where it is tiny."""

    def chosen(self, which: Any) -> UnitValues:
        """At some of the places: what an array may be indexed with."""
        return UnitValues(*(getattr(self, f.name)[which] for f in fields(UnitValues)))


def evaluate_units(activation: Activation, weights: WeightLaw, snr: Array) -> UnitValues:
    """All of :class:`UnitValues` at the given signal-to-noise ratios."""
    channel = weights.channel(snr)
    gap = np.minimum(channel.mmse, 1.0)  # rounding
    overlap = np.minimum(channel.overlap, 1.0)
    total = float(activation.tail_kernel(1.0))
    kernel_gap = activation.tail_kernel_gap(gap)
    curvature = np.minimum(activation.tail_kernel_gap_curvature(np.maximum(gap, _LEAST_CURVED)), _MOST_CURVED)
    kernel_slope, kernel = activation.tail_kernel_gap_slope(gap), total - kernel_gap
    # Relative accuracy near Q = 1 comes from the gap, near 0 from Q itself.
    is_small = overlap < 0.5
    if is_small.any():
        q = overlap[is_small]
        kernel[is_small] = activation.tail_kernel(q)
        kernel_slope[is_small] = activation.tail_kernel_slope(q)
        curvature[is_small] = activation.tail_kernel_curvature(q)
    # Steep activations have a tiny g' up to where Q is large, and rounding may make it negative.
    kernel_slope, curvature = np.maximum(kernel_slope, 0.0), np.maximum(curvature, 0.0)
    kernel_curvature = curvature * channel.overlap_slope
    is_known = (0 < gap) & (gap < _LEAST_CURVED)
    if is_known.any():
        kernel_curvature[is_known] = _curvature_of_known(
            activation, gap[is_known], channel.overlap_slope[is_known]
        )
    return UnitValues(
        snr,
        overlap,
        gap,
        channel.overlap_slope,
        channel.entropy_deficit,
        kernel_slope,
        kernel_curvature,
        kernel_gap,
        kernel,
    )


def _curvature_of_known(activation: Activation, gap: Array, overlap_slope: Array) -> Array:
    """g''(Q) F'(x) where weights are all but known.

    g'' of a kink or a jump, a power of 1 - Q, may be beyond the largest double while the product is not.
    """
    least, more = activation.tail_kernel_gap_curvature(_LEAST_CURVED * np.array([1.0, 100.0]))
    if not 0 < least < _MOST_CURVED:
        return np.asarray(min(least, _MOST_CURVED) * overlap_slope)
    power = np.log(least / more) / np.log(100.0)
    with np.errstate(divide="ignore", under="ignore"):
        product: Array = np.exp(np.log(least) + power * np.log(_LEAST_CURVED / gap) + np.log(overlap_slope))
    return product


# Rows of the table; the first four are all that roots need.
_TABULATED = (
    "overlap",
    "kernel_slope",
    "overlap_slope",
    "kernel_curvature",
    "gap",
    "kernel_gap",
    "entropy",
    "kernel",
)
_N_FOR_ROOTS = 4
_LEAST = 1e-300  # of what is tabulated as a logarithm; below it is 0


class UnitTable:
    """The unit functions of an activation and a law of the weights, and the roots of units.

    All functions are positive (the entropy negative) and smooth in ln x: their logarithms are tabulated.
    """

    def __init__(self, activation: Activation, weights: WeightLaw) -> None:
        self.activation, self.weights = activation, weights
        on_grid = evaluate_units(activation, weights, _GRID)
        keep = np.isfinite(on_grid.kernel_slope) & (on_grid.overlap > 0)
        self.can_be_known = weights.entropy is not None and not np.isfinite(
            float(activation.tail_kernel_gap_slope(0.0))
        )
        if self.can_be_known:
            keep &= on_grid.gap > _LEAST_GAP
        self.grid = _GRID[keep]
        self.log_grid = np.log(self.grid)
        self.values = on_grid.chosen(keep)
        self._forces = np.stack([self.values.overlap, self.values.kernel_slope])
        self._rates = self.grid * np.stack([self.values.overlap_slope, self.values.kernel_curvature])
        self._log_gap = np.log(np.maximum(self.values.gap, _LEAST_GAP))
        self._at_zero = evaluate_units(activation, weights, np.zeros(1))
        self.slope_at_zero = float(self._at_zero.overlap_slope[0])  # 1, or E e² of inputs with a covariance
        self._table = PiecewiseChebyshev(
            self._logarithms,
            (float(self.log_grid[0]), float(self.log_grid[-1])),
            widest=1.0,
            narrowest=0.01,
            atol=1e-13,
            noise=1e-3,
        )

    def _logarithms(self, log_snr: Array) -> Array:
        values = evaluate_units(self.activation, self.weights, np.exp(log_snr))
        rows = [np.abs(getattr(values, name)) for name in _TABULATED]
        logs: Array = np.log(np.maximum(np.nan_to_num(np.stack(rows)), _LEAST))
        return logs

    def _looked_up(self, log_snr: Array, n_functions: int | None = None) -> Array:
        values: Array = np.exp(self._table.values(log_snr, n_functions))
        values[values < 2 * _LEAST] = 0.0
        return values

    def __call__(self, snr: Array) -> UnitValues:
        # Newton's method may look far beyond any solution; NaN is taken for 0.
        snr = np.minimum(np.fmax(snr, 0.0), _LARGEST)
        flat = snr.ravel()
        with np.errstate(divide="ignore"):
            log_snr = np.log(flat)
        inside = np.minimum(np.maximum(log_snr, self._table.low), self._table.high)
        rows = self._looked_up(inside)
        rows[_TABULATED.index("entropy")] *= -1
        is_beyond = log_snr != inside
        if is_beyond.any():
            is_zero = flat == 0
            rows[:, is_zero] = np.stack([getattr(self._at_zero, name) for name in _TABULATED])
            rest = is_beyond & ~is_zero
            if rest.any():
                beyond = evaluate_units(self.activation, self.weights, flat[rest])
                rows[:, rest] = np.stack([getattr(beyond, name) for name in _TABULATED])
        named = {name: row.reshape(snr.shape) for name, row in zip(_TABULATED, rows, strict=True)}
        return UnitValues(snr=snr, **named)

    def at_roots(self, snr: Array) -> UnitValues:
        """At roots: x may be infinite (weights are known); NaN, where there is no root, makes NaN."""
        is_finite = np.isfinite(snr)
        if is_finite.all():
            return self(snr)
        u = self(np.where(is_finite, snr, 1.0))
        is_known, known = np.isinf(snr), -(self.weights.entropy or 0.0)
        u.snr, u.overlap[is_known], u.entropy[is_known] = snr, 1.0, known
        u.gap[is_known] = u.kernel_gap[is_known] = 0.0
        u.overlap[np.isnan(snr)] = np.nan
        return u

    def _for_roots(self, log_snr: Array) -> Array:
        """Q, g', F' and dg'/dx."""
        if log_snr.size and log_snr.min() >= self._table.low and log_snr.max() <= self._table.high:
            return self._looked_up(log_snr, _N_FOR_ROOTS)
        values = self(np.exp(log_snr))
        return np.stack([getattr(values, name) for name in _TABULATED[:_N_FOR_ROOTS]])

    @property
    def n_sections(self) -> int:
        """Largest number of stretches on which φ rises, for any ratio B/A."""
        return _count_sections(self)

    def log_level(self, pull: Array, coupling: Array) -> Array:
        """ln φ = ln[x/(A F + B g')] on the grid, one row for each pair of couplings.

        In one array: temporary ones of this size would cost more than the logarithms.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            level: Array = np.column_stack([pull, coupling]) @ self._forces
            np.log(level, out=level)
            np.subtract(self.log_grid, level, out=level)
        np.fmin(level, _LARGEST_LOG, out=level)  # NaN too: no root is there
        return np.maximum(level, -_LARGEST_LOG, out=level)

    def rough_values(self, snr: Array) -> tuple[Array, Array, Array]:
        """Q, 1 - Q and g(1) - g(Q), to a few digits; NaN where x is."""
        with np.errstate(divide="ignore"):
            log_snr = np.log(snr)
        overlap: Array = np.interp(log_snr, self.log_grid, self.values.overlap, left=0.0)
        gap: Array = np.exp(np.interp(log_snr, self.log_grid, self._log_gap))
        total = float(self._at_zero.kernel_gap[0])
        kernel_gap: Array = np.interp(log_snr, self.log_grid, self.values.kernel_gap, left=total)
        return overlap, gap, kernel_gap

    def rough_odds(self, snr: Array, powers: Array) -> Array:
        """ln of E v²Q² over 1 - E v²Q², to a few digits, for classes (columns) of the given powers."""
        overlap, gap, _ = self.rough_values(snr)
        with np.errstate(divide="ignore"):
            return np.log(overlap**2 @ powers) - np.log((gap * (1 + overlap)) @ powers)

    def rough_kernel_gap(self, snr: Array, powers: Array) -> Array:
        """E v²[g(1) - g(Q)], to a few digits."""
        found: Array = self.rough_values(snr)[2] @ powers
        return found

    def roots(
        self,
        values2: Array,
        pull: Array,
        coupling: Array,
        which: Root,
        beside: Array | None = None,
        *,
        is_rough: bool = False,
        level: Array | None = None,
    ) -> Array:
        """x of units with given v² (columns) at couplings A, B (rows); 0 or NaN where there is none.

        ``beside`` is the x, one a row, that ABOVE and BELOW refer to. ``is_rough`` interpolates on the grid.
        ``level`` is :meth:`log_level` of the couplings, if that is known.
        """
        takes = np.full((pull.size, values2.size), ROOTS.index(which))
        return self.chosen_roots(values2, pull, coupling, takes, beside, is_rough=is_rough, level=level)

    def chosen_roots(
        self,
        values2: Array,
        pull: Array,
        coupling: Array,
        takes: Integers,
        beside: Array | None = None,
        *,
        is_rough: bool = False,
        level: Array | None = None,
    ) -> Array:
        """:meth:`roots` with a choice for each unit at each pair of couplings: its place in ``ROOTS``."""
        result = np.zeros(takes.shape)
        kinds = [ROOTS[number] for number in np.flatnonzero(np.bincount(takes.ravel()))]
        searched = [which for which in kinds if which not in (Root.ZERO, Root.KNOWN)]
        if Root.KNOWN in kinds:
            result[takes == ROOTS.index(Root.KNOWN)] = np.inf
        if not searched:
            return result
        level = self.log_level(pull, coupling) if level is None else level
        can_leave_zero = pull[:, None] * values2 * self.slope_at_zero > 1
        cell = np.zeros(takes.shape, dtype=int)
        has_root, is_tiny, may_hide = (np.zeros(takes.shape, dtype=bool) for _ in range(3))
        for which in searched:
            block: tuple[Any, slice] = np.s_[:, :]
            own = takes == ROOTS.index(which)
            if len(kinds) > 1:
                rows, columns = np.flatnonzero(own.any(axis=1)), np.flatnonzero(own.any(axis=0))
                block = slice(None) if rows.size == pull.size else rows, slice(columns[0], columns[-1] + 1)
                own = own[block]
            found = self._cells_of(
                level[block[0]],
                np.log(values2[block[1]]),
                can_leave_zero[block],
                which,
                None if beside is None else beside[block[0]],
            )
            for target, its in zip((cell, has_root, is_tiny, may_hide), found, strict=True):
                target[block] = np.where(own, its, target[block])
            if which in (Root.ABOVE, Root.HIGHEST):
                result[block] = np.where(own, np.nan, result[block])
        self._fill(result, values2, pull, coupling, level, cell, has_root, is_rough)
        if not is_rough:
            self._fill_hidden(result, values2, pull, coupling, level, takes, beside, may_hide)
        at, column = np.nonzero(is_tiny)
        if at.size:
            low = np.full(at.size, np.log(1e-30))
            result[at, column] = self.polish(
                values2[column], pull[at], coupling[at], low, np.full(at.size, self.log_grid[0])
            )
        return result

    def _cells_of(
        self, level: Array, log_v2: Array, can_leave_zero: Bools, which: Root, beside: Array | None
    ) -> tuple[Integers, Bools, Bools, Bools]:
        """The cell of the grid with the root, whether there is one, whether it lies between 0 and the grid,
        and whether another one may hide next to a fold."""
        if which in (Root.ABOVE, Root.BELOW):
            assert beside is not None
            cell, has_root = self._cells_beside(level, log_v2, which, beside)
        elif which is Root.HIGHEST and self.can_be_known:  # φ < v² again where weights are all but known
            last = np.full(len(level), np.inf)
            cell, has_root = self._cells_beside(level, log_v2, Root.BELOW, last)
        else:
            cell = _last_below(level, log_v2) if which is Root.HIGHEST else _first_above(level, log_v2) - 1
            has_root = (cell >= 0) & (cell < self.grid.size - 1)
        is_tiny = can_leave_zero & (level[:, :1] >= log_v2)
        if which in (Root.LOWEST, Root.BELOW):
            if which is Root.BELOW:
                is_tiny &= ~has_root
            has_root &= ~is_tiny
            has_root &= can_leave_zero | (which is not Root.LOWEST)
        else:
            is_tiny &= ~has_root & (which is Root.HIGHEST)
        may_hide = ~is_tiny
        if which is Root.LOWEST:
            may_hide &= can_leave_zero
        if self.n_sections < 3:  # no root is at the place of another one
            may_hide &= ~has_root & (which in (Root.HIGHEST, Root.LOWEST))
        return cell, has_root, is_tiny, may_hide

    def first_fold(self, pull: Array, coupling: Array) -> Array:
        """x on the grid of the first minimum of φ, where two roots meet; 1 where φ has none."""
        level = self.log_level(pull, coupling)
        is_minimum = (level[:, 1:-1] < level[:, :-2]) & (level[:, 1:-1] <= level[:, 2:])
        first = np.argmax(is_minimum, axis=1)
        return np.where(is_minimum.any(axis=1), self.grid[1 + first], 1.0)

    def ranked_roots(
        self, values2: Array, pull: Array, coupling: Array, rank: Integers, *, is_rough: bool = False
    ) -> Array:
        """x of the stable root > 0 that is number ``rank`` from the top, 0 the highest; NaN if there is none.

        Ranks are given for each pair of couplings (rows) and unit (columns).
        """
        level = self.log_level(pull, coupling)
        cell, has_root = _ranked_cells(level, np.log(values2), rank)
        result = np.full(rank.shape, np.nan)
        self._fill(result, values2, pull, coupling, level, cell, has_root, is_rough)
        return result

    def threshold_roots(
        self, values2: Array, pull: Array, coupling: Array, counts: Integers, *, is_rough: bool = False
    ) -> Array:
        """x of classes in order of their size (columns), of which the first ones are at higher roots.

        ``counts`` has in each row how many are known, then how many are at the highest root or known, and so
        on; the last ones are at the lowest root.
        """
        number = np.arange(values2.size)
        # How many of the counts have been passed: 0 for known, 1 for the highest root, ...
        passed = (number >= counts[:, :, None]).sum(axis=1)
        is_upper = (passed > 0) & (passed < counts.shape[1])
        is_ranked = is_upper & (counts.shape[1] > 2)
        takes = np.select(
            [is_ranked, is_upper, passed == 0],
            [ROOTS.index(which) for which in (Root.ZERO, Root.HIGHEST, Root.KNOWN)],
            ROOTS.index(Root.LOWEST),
        )
        snr = self.chosen_roots(values2, pull, coupling, takes, is_rough=is_rough)
        some = np.flatnonzero(is_ranked.any(axis=0))
        if some.size:
            rank = np.where(is_ranked[:, some], passed[:, some] - 1, -1)
            own = self.ranked_roots(values2[some], pull, coupling, rank, is_rough=is_rough)
            snr[:, some] = np.where(is_ranked[:, some], own, snr[:, some])
        return snr

    def _fill(
        self,
        result: Array,
        values2: Array,
        pull: Array,
        coupling: Array,
        level: Array,
        cell: Integers,
        has_root: Bools,
        is_rough: bool,
    ) -> None:
        """Write the roots within the given cells of the grid."""
        rows, columns = np.nonzero(has_root)
        if not rows.size:
            return
        at = cell[rows, columns]
        begin, end = self.log_grid[at], self.log_grid[at + 1]
        below, above = level[rows, at], level[rows, at + 1]
        share = (np.log(values2)[columns] - below) / (above - below)
        if is_rough:
            result[rows, columns] = np.exp(begin + (end - begin) * share)
            return
        a, b = pull[rows], coupling[rows]
        start = begin + self._way_to_root(at, share, above - below, end - begin, a, b)
        low, high = begin - _SLACK, end + _SLACK
        result[rows, columns] = self.polish(values2[columns], a, b, low, high, start)

    def _way_to_root(
        self, cell: Integers, share: Array, rise: Array, width: Array, pull: Array, coupling: Array
    ) -> Array:
        """How far into its cell, in ln x, ln φ has risen by a share: a cubic for the inverse."""
        bends = []
        for place in (cell, cell + 1):
            rates = pull * self._rates[0, place] + coupling * self._rates[1, place]
            forces = pull * self._forces[0, place] + coupling * self._forces[1, place]
            with np.errstate(all="ignore"):
                bends.append(rise / (1 - rates / forces) - width)  # off a straight line, for the whole cell
        bend = share * (1 - share) * (bends[0] * (1 - share) - bends[1] * share)
        is_mild = (np.abs(bends[0]) < width) & (np.abs(bends[1]) < width)
        way: Array = width * share + np.where(is_mild, bend, 0.0)
        return way

    def _fill_hidden(
        self,
        result: Array,
        values2: Array,
        pull: Array,
        coupling: Array,
        level: Array,
        takes: Integers,
        beside: Array | None,
        is_asked: Bools,
    ) -> None:
        """Write roots that lie beside another one between neighbours of the grid, next to a fold of φ.

        They lie on both sides of a minimum of φ, or of a maximum; the stable one of both is where φ rises.
        A root that is already known (not 0, not NaN) stays if it is the one that is asked for.
        """
        if not is_asked.any():
            return
        rises = np.diff(level, axis=1) > 0
        is_upper = _FROM_ABOVE[takes]
        # Where they may be: beyond the root that is known, and on the side that is asked for.
        is_known = result > 0
        least = np.where(is_known & is_upper, result, 0.0)
        most = np.where(is_known & ~is_upper, result, np.inf)
        if beside is not None:
            is_above, is_below = (takes == ROOTS.index(which) for which in (Root.ABOVE, Root.BELOW))
            least = np.where(is_above, np.fmax(least, beside[:, None]), least)
            most = np.where(is_below, np.fmin(most, beside[:, None]), most)
        row, node = np.nonzero(rises[:, :-1] != rises[:, 1:])
        sign = np.where(rises[row, node], -1.0, 1.0)  # of a maximum, of a minimum
        left, here, right = (sign * level[row, node + i] for i in range(3))
        # A parabola through three nodes falls below the lowest by an eighth of their second difference.
        depth = here[:, None] - sign[:, None] * np.log(values2)
        is_near = (depth > 0) & (depth < 0.25 * (left + right - 2 * here)[:, None]) & is_asked[row]
        is_near &= (self.grid[node + 2, None] > least[row]) & (self.grid[node, None] < most[row])
        turn, column = np.nonzero(is_near)
        if not turn.size:
            return
        row, node, sign, depth = row[turn], node[turn], sign[turn], depth[turn, column]
        slopes = sign * self._log_level_slopes(pull[row], coupling[row], node + np.arange(3)[:, None])
        deep = np.nonzero(~(depth > 1.5 * self._fall(level, row, node, slopes, sign)))[0]
        row, node, sign, column = row[deep], node[deep], sign[deep], column[deep]
        if not row.size:
            return
        begin, end = self.log_grid[node], self.log_grid[node + 2]
        a, b = pull[row], coupling[row]
        fold, force = self._turning_point(a, b, node, slopes[:, deep], sign)
        turn_level = fold - np.log(force)  # ln φ
        depth = sign * (np.log(values2[column]) - turn_level)
        found = np.nonzero(depth > 0)[0]
        row, column, node, sign = row[found], column[found], node[found], sign[found]
        fold, depth = fold[found], depth[found]
        far = np.where(sign < 0, begin[found], end[found])
        beyond = level[row, np.where(sign < 0, node, node + 2)]
        # A parabola from the fold through the node beside it.
        share = np.sqrt(depth / np.maximum(sign * (beyond - turn_level[found]), depth))
        x = self.polish(
            values2[column],
            a[found],
            b[found],
            np.minimum(fold, far),
            np.maximum(fold, far),
            fold + share * (far - fold),
        )
        if beside is not None:
            is_there = ~is_above[row, column] | (x > beside[row])
            is_there &= ~is_below[row, column] | (x < beside[row])
            row, column, x = row[is_there], column[is_there], x[is_there]
        for i, j, root in zip(row, column, x, strict=True):
            there = result[i, j]
            if not there > 0 or (root > there if is_upper[i, j] else root < there):
                result[i, j] = root

    def _log_level_slopes(self, pull: Array, coupling: Array, place: Integers) -> Array:
        """d ln φ/d ln x at places of the grid."""
        with np.errstate(all="ignore"):
            rates = pull * self._rates[0, place] + coupling * self._rates[1, place]
            slopes: Array = 1 - rates / (pull * self._forces[0, place] + coupling * self._forces[1, place])
        return slopes

    def _fall(self, level: Array, row: Integers, node: Integers, slopes: Array, sign: Array) -> Array:
        """By how much ±ln φ falls below its lowest of three nodes, by a cubic; NaN where that has no end.

        ``slopes`` are those of ±ln φ at the nodes.
        """
        # From the middle towards the side on which it falls.
        side, every = np.where(slopes[1] < 0, 2, 0), np.arange(row.size)
        there, here = node + side, node + 1
        width = np.abs(self.log_grid[there] - self.log_grid[here])
        rise = sign * (level[row, there] - level[row, here])
        with np.errstate(all="ignore"):
            begin, end = -np.abs(slopes[1]) * width, np.where(side == 2, 1, -1) * slopes[side, every] * width
            cubic, square = 3 * (begin + end - 2 * rise), 2 * (3 * rise - 2 * begin - end)
            t = 2 * begin / (-square - np.sqrt(square**2 - 4 * cubic * begin))
            fall: Array = -t * (begin + t * (square / 2 + t * cubic / 3))
        return fall

    def _turning_point(
        self, pull: Array, coupling: Array, node: Integers, slopes: Array, sign: Array
    ) -> tuple[Array, Array]:
        """ln x of the only minimum of ±ln φ within two cells of the grid, and the force there.

        ``slopes`` are those at their three nodes.
        """
        begin = np.where(slopes[1] < 0, 1, 0)  # the cell that has it
        low, high = self.log_grid[node + begin], self.log_grid[node + begin + 1]
        every, side = np.arange(node.size), np.zeros(node.size)
        at_low, at_high = slopes[begin, every], slopes[begin + 1, every]
        is_bracket = (at_low < 0) & (at_high > 0)
        at_low, at_high = (np.where(is_bracket, slope, np.nan) for slope in (at_low, at_high))
        for _ in range(_N_HALVINGS):
            with np.errstate(invalid="ignore"):
                share = np.clip(at_low / (at_low - at_high), 0.02, 0.98)
            fold = low + np.where(np.isnan(share), 0.5, share) * (high - low)
            overlap, kernel_slope, overlap_slope, kernel_curvature = self._for_roots(fold)
            force = pull * overlap + coupling * kernel_slope
            rate = sign * (1 - np.exp(fold) * (pull * overlap_slope + coupling * kernel_curvature) / force)
            if np.all((np.abs(rate) < 1e-9) | (high - low < 1e-11)):
                break
            is_past = rate > 0
            # Regula falsi; an end that stays for a second time counts half (Illinois).
            halved_low = np.where(side == 1, 0.5 * at_low, at_low)
            halved_high = np.where(side == -1, 0.5 * at_high, at_high)
            at_low, at_high = np.where(is_past, halved_low, rate), np.where(is_past, rate, halved_high)
            low, high = np.where(is_past, low, fold), np.where(is_past, fold, high)
            side = np.where(is_past, 1, -1)
        return fold, force

    def _cells_beside(
        self, level: Array, log_v2: Array, which: Root, beside: Array
    ) -> tuple[Integers, Bools]:
        """The cell of the grid with the root next above or below a given x, and whether there is one."""
        is_above = level[:, None, :] < log_v2[:, None]
        is_root = is_above[..., :-1] & ~is_above[..., 1:]
        side = self.grid[1:] > beside[:, None] if which is Root.ABOVE else self.grid[:-1] < beside[:, None]
        is_root &= side[:, None, :]
        if which is Root.ABOVE:
            cell = np.argmax(is_root, axis=-1)
        else:
            cell = is_root.shape[-1] - 1 - np.argmax(is_root[..., ::-1], axis=-1)
        return cell, np.asarray(is_root.any(axis=-1))

    def polish(
        self,
        values2: Array,
        pull: Array,
        coupling: Array,
        low: Array,
        high: Array,
        start: Array | None = None,
    ) -> Array:
        """The root x between e^low and e^high, by Newton's method within the bracket."""
        low, high = low.copy(), high.copy()
        z = 0.5 * (low + high) if start is None else start.copy()
        active = np.arange(z.size)
        for _ in range(_N_POLISH):
            x = np.exp(z[active])
            overlap, kernel_slope, overlap_slope, kernel_curvature = self._for_roots(z[active])
            a, b = pull[active], coupling[active]
            with np.errstate(all="ignore"):
                force = a * overlap + b * kernel_slope
                error = z[active] - np.log(values2[active] * force)  # rises through the root
                rate = 1 - x * (a * overlap_slope + b * kernel_curvature) / force
                step = -error / rate
            low[active] = np.where(error < 0, z[active], low[active])
            high[active] = np.where(error > 0, z[active], high[active])
            new = guarded_step(z[active], step, low[active], high[active])
            moved = np.abs(new - z[active])
            z[active] = new
            # Quadratic convergence: the next step would be the square of this one, over the slope.
            active = active[moved > np.maximum(1e-9, 3e-8 * np.minimum(np.abs(rate), 1.0))]
            if active.size == 0:
                break
        return np.exp(z)


def _ranked_cells(level: Array, values: Array, rank: Integers) -> tuple[Integers, Bools]:
    """The cell in which each row rises through each value for the (rank + 1)-th time from its upper end.

    Also whether there is one. Rows are parted into the stretches on which they rise: each passes a value once
    at most, and that place is found by bisection.
    """
    rises = level[:, 1:] > level[:, :-1]
    edge = np.diff(rises, axis=1, prepend=False, append=False)
    row, place = np.nonzero(edge)  # where stretches begin and end, by turns
    row, first, last = row[::2], place[::2], place[1::2]
    n_stretches = np.bincount(row, minlength=len(level))
    behind = np.cumsum(n_stretches)
    cell, has_root = np.zeros(rank.shape, dtype=int), np.zeros(rank.shape, dtype=bool)
    left = rank.copy()
    for number in range(int(n_stretches.max(initial=0))):  # from the upper end of each row
        rows = np.nonzero(number < n_stretches)[0]
        which = behind[rows] - 1 - number
        low, high = first[which], last[which]
        is_passed = (values > level[rows, low][:, None]) & (values <= level[rows, high][:, None])
        one, column = np.nonzero(is_passed & (left[rows] == 0))
        cell[rows[one], column] = _bisected(level, rows[one], values[column], low[one], high[one])
        has_root[rows[one], column] = True
        left[rows] -= is_passed
    return cell, has_root


def _bisected(level: Array, row: Integers, value: Array, low: Integers, high: Integers) -> Integers:
    """The cell between two places of a row, between which it rises, in which it passes a value."""
    while np.any(high - low > 1):
        middle = (low + high) // 2
        is_below = level[row, middle] < value
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return low


def _last_below(level: Array, values: Array) -> Integers:
    """The last place of each row at which it is below each of the values; -1 or the last one if nowhere."""
    if values.size <= _FEW:
        is_below = level[:, None, ::-1] < values[:, None]
        last: Integers = level.shape[1] - 1 - np.argmax(is_below, axis=-1)
        return last
    least = np.empty_like(level)
    np.minimum.accumulate(level[:, ::-1], axis=1, out=least[:, ::-1])
    return _count_below(least, values) - 1


def _first_above(level: Array, values: Array) -> Integers:
    """The first place of each row at which it is not below each of the values; 0 or the size if nowhere."""
    if values.size <= _FEW:
        first: Integers = np.argmin(level[:, None, :] < values[:, None], axis=-1)
        return first
    return _count_below(np.maximum.accumulate(level, axis=1), values)


def _count_below(rising: Array, values: Array) -> Integers:
    """How many logarithms of each row, which rise along it, are below each of the values."""
    n_rows, n = rising.shape
    count = np.empty((n_rows, values.size), dtype=np.intp)
    for first in range(0, n_rows, _BLOCK):
        rows = rising[first : first + _BLOCK]
        number = np.arange(len(rows))[:, None]
        apart = 4 * _LARGEST_LOG * number
        count[first : first + _BLOCK] = np.searchsorted((rows + apart).ravel(), values + apart) - n * number
    return count


@lru_cache(maxsize=64)
def unit_table(activation: Activation, weights: WeightLaw) -> UnitTable:
    """The unit functions of an activation and a law of the weights, made once."""
    return UnitTable(activation, weights)


@lru_cache(maxsize=64)
def _count_sections(table: UnitTable) -> int:
    total = float(table.activation.tail_kernel(1.0))
    coupling = np.logspace(-12, 12, 1201) / (total if total > 0 else 1.0)
    is_falling = np.diff(table.log_level(np.ones(coupling.size), coupling), axis=1) < -1e-9
    starts = is_falling[:, 1:] & ~is_falling[:, :-1]
    return 1 + int((starts.sum(axis=1) + is_falling[:, 0]).max())

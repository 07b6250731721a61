r"""Averages over the overlap profile 𝒬_W(v) of a continuous readout law.

Given the couplings A and B, a unit with readout v sits at a root of x = v²(A F(x) + B g'(F(x))),
that is at v² = φ(x).  The averages are integrals over *x*, not v,

.. math:: E[f(v, x(v))] = 2\int p(v)\, f\, \frac{\phi'(x)}{2 v}\, dx, \qquad v = \sqrt{\phi(x)},

so the kink at which 𝒬(v) leaves 0 is the end x = 0 of a smooth integral and no equation is
solved at any node.  Where φ falls, the profile jumps: in equilibrium from x_a to x_b, at the
readout where the two roots have equal potential (Maxwell's rule),

.. math:: \Phi_v(x) = \psi_W(x) - \tfrac12 xF + v^2(\tfrac14 A F^2 + \tfrac12 B g(F)).

In the plane of E = ¼AF² + ½Bg and S = ψ_W - ½xF the jumps are the straight edges of the upper hull.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from ..._arrays import Array, Bools, Integers
from ...ingredients.readouts import _Continuous
from ..setting import Averages
from ..units import UnitTable, UnitValues

__all__ = ["ContinuousProfile", "jump_levels"]

_N_PANELS = 5  # for ln v
_WIDEST = 1.5  # of a panel in ln(x + x₀), with x₀ where units have begun to be learnt
_BEGUN = 1e-3  # overlap there
_ROUNDED = 6  # numbers of panels are multiples of this
_X, _W = np.polynomial.legendre.leggauss(10)
_X, _W = 0.5 * (_X + 1), 0.5 * _W
_N_MAXWELL = 20
_NARROW = 8  # nodes of the grid, of a jump whose folds are looked for themselves
_N_LOOK, _N_FOLD = 65, 30
_CLOSED = 1e-4  # distance of folds in ln x below which they do nothing: its third power is an error


@dataclass
class _Jumps:
    """Jumps of the profile, in order of v: one row for each pair of couplings, NaN where there are fewer."""

    low: np.ndarray
    high: np.ndarray
    level: np.ndarray
    """v² at which the profile jumps from x = low to x = high."""


class ContinuousProfile:
    """Averages for a symmetric continuous readout law, each unit at its equilibrium root."""

    def __init__(self, units: UnitTable, readouts: _Continuous, kernel_total: float) -> None:
        self.units, self.readouts, self.kernel_total = units, readouts, kernel_total
        self.reach2 = min(readouts.largest, getattr(readouts, "cutoff", np.inf)) ** 2
        self._x = np.concatenate([[0.0], units.grid])
        self._begun = float(units.grid[np.argmax(units.values.overlap > _BEGUN)])
        at_zero = units(np.zeros(1))
        self._table = UnitValues(
            *(
                np.concatenate([getattr(at_zero, f.name), getattr(units.values, f.name)])
                for f in fields(UnitValues)
            )
        )

    def levels(self, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
        """φ on the grid, one row for each pair of couplings; 1/A at x = 0."""
        t = self._table
        force = pull[:, None] * t.overlap[1:] + coupling[:, None] * t.kernel_slope[1:]
        with np.errstate(divide="ignore", over="ignore"):
            return np.concatenate([1 / pull[:, None], self._x[1:] / force], axis=1)

    # ------------------------------------------------------------------ jumps

    def jumps(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> _Jumps:
        """Where the equilibrium profile jumps."""
        t = self._table
        with np.errstate(over="ignore", invalid="ignore"):
            levels = self.levels(pull, coupling)
            is_falling = np.diff(levels, axis=1) < -1e-12 * levels[:, 1:]
            if not is_rough:
                is_falling |= self._falls_between(pull, coupling)
            energy = 0.25 * pull[:, None] * t.overlap**2 + 0.5 * coupling[:, None] * t.kernel
        owner, first, last = _hull_edges(energy, t.entropy, levels, is_falling)
        ends = None
        if not is_rough:
            is_narrow = (last - first <= _NARROW) & (first > 2)
            ends, is_real = self._narrow_ends(first, last, is_narrow, pull[owner], coupling[owner])
            owner, first, last, ends = owner[is_real], first[is_real], last[is_real], ends[:, is_real]
        count = np.bincount(owner, minlength=pull.size)
        blank = np.full((pull.size, int(count.max(initial=0))), np.nan)
        jumps = _Jumps(blank, blank.copy(), blank.copy())
        if not owner.size:
            return jumps
        low, high = self._x[first], self._x[last]
        with np.errstate(divide="ignore", invalid="ignore"):
            v2 = (t.entropy[first] - t.entropy[last]) / (energy[owner, last] - energy[owner, first])
        if ends is not None:
            low, high, v2 = self._maxwell(low, high, v2, pull[owner], coupling[owner], ends)
        place = np.concatenate([np.arange(c) for c in count])
        jumps.low[owner, place], jumps.high[owner, place], jumps.level[owner, place] = low, high, v2
        return jumps

    def _rate(self, z: Array, pull: Array, coupling: Array) -> Array:
        """d ln φ/d ln x at x = e^z."""
        u = self.units(np.exp(z))
        rate: Array = 1 - np.exp(z) * (pull * u.overlap_slope + coupling * u.kernel_curvature) / (
            pull * u.overlap + coupling * u.kernel_slope
        )
        return rate

    def _falls_between(self, pull: Array, coupling: Array) -> Bools:
        """Cells of the grid within which φ falls for a while, to judge from its slope at three nodes."""
        t = self._table
        a, b = pull[:, None], coupling[:, None]
        with np.errstate(all="ignore"):
            force = a * t.overlap[1:] + b * t.kernel_slope[1:]
            rate = 1 - self._x[1:] * (a * t.overlap_slope[1:] + b * t.kernel_curvature[1:]) / force
            left, middle, right = rate[:, :-2], rate[:, 1:-1], rate[:, 2:]
            slope, bend = 0.5 * (right - left), right - 2 * middle + left
            lowest = middle - 0.5 * slope**2 / bend
            is_dip = (middle <= left) & (middle <= right) & (bend > 0) & (lowest < 0)
        falls = np.zeros((pull.size, self._x.size - 1), dtype=bool)
        falls[:, 1:-1] |= is_dip & (slope > 0)  # the cell before the middle node
        falls[:, 2:] |= is_dip & (slope <= 0)
        return falls

    def _narrow_ends(
        self, first: Integers, last: Integers, is_narrow: Bools, pull: Array, coupling: Array
    ) -> tuple[Array, Bools]:
        """Between which ln x the upper and the lower fold of narrow jumps lie, and which jumps are real.

        A fold that closes is narrower than the grid; NaN for jumps that are not narrow.
        """
        ends, is_real = np.full((2, first.size), np.nan), np.ones(first.size, dtype=bool)
        rows = np.nonzero(is_narrow)[0]
        if not rows.size:
            return ends, is_real
        log_x = np.log(self._x[1:])  # the first node is x = 0
        low = log_x[np.maximum(first[rows] - 3, 0)]
        high = log_x[np.minimum(last[rows] + 1, log_x.size - 1)]
        z = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _N_LOOK)
        a, b = pull[rows], coupling[rows]
        falls = self._rate(z, a[:, None], b[:, None]) < 0
        has_fall = falls.any(axis=1)
        top = np.argmax(falls, axis=1)
        bottom = _N_LOOK - 1 - np.argmax(falls[:, ::-1], axis=1)
        has_fall &= (top > 0) & (bottom < _N_LOOK - 1)
        is_real[rows[~has_fall & ~falls.any(axis=1)]] = False
        rows, z, top, bottom = rows[has_fall], z[has_fall], top[has_fall], bottom[has_fall]
        a, b, every = a[has_fall], b[has_fall], np.arange(rows.size)
        for k, inside, outside in ((0, top, top - 1), (1, bottom, bottom + 1)):
            falling, rising = z[every, inside], z[every, outside]
            for _ in range(_N_FOLD):
                middle = 0.5 * (falling + rising)
                is_down = self._rate(middle, a, b) < 0
                falling, rising = np.where(is_down, middle, falling), np.where(is_down, rising, middle)
            ends[k, rows] = rising
        is_real[rows[ends[1, rows] - ends[0, rows] < _CLOSED]] = False
        return ends, is_real

    def _maxwell(
        self, low: np.ndarray, high: np.ndarray, v2: np.ndarray, a: np.ndarray, b: np.ndarray, ends: Array
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both roots and v² where their potentials are equal, from the edge of the hull on the grid.

        Newton's method on all three: potentials are stationary at the roots, so that v² is right to second
        order while these are still moving. Where a jump is narrow φ is a cubic, whose folds (``ends``) lie
        at 1/√3 of the distance of its roots from the middle, which has the level of the jump.
        """
        n = v2.size
        is_on = low > 0  # otherwise the lower root is 0
        z = np.log(np.concatenate([np.where(is_on, low, 1.0), high]))
        a2, b2 = np.tile(a, 2), np.tile(b, 2)
        is_narrow = np.isfinite(ends[0])
        if is_narrow.any():
            middle, half = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])
            for part, side in ((slice(0, n), -1), (slice(n, None), 1)):
                z[part] = np.where(is_narrow, middle + side * np.sqrt(3) * half, z[part])
            u = self.units(np.exp(np.where(is_narrow, middle, 0.0)))
            v2 = np.where(is_narrow, np.exp(middle) / (a * u.overlap + b * u.kernel_slope), v2)
        least = np.concatenate([np.full(n, -np.inf), np.where(is_narrow, ends[1], -np.inf)])
        most = np.concatenate([np.where(is_narrow, ends[0], np.inf), np.full(n, np.inf)])
        for _ in range(_N_MAXWELL):
            u = self.units(np.exp(z))
            with np.errstate(all="ignore"):
                force = a2 * u.overlap + b2 * u.kernel_slope
                rate = 1 - np.exp(z) * (a2 * u.overlap_slope + b2 * u.kernel_curvature) / force
                energy = 0.25 * a2 * u.overlap**2 + 0.5 * b2 * u.kernel
                energies = energy[n:] - np.where(is_on, energy[:n], 0.0)
                gain = u.entropy[n:] - np.where(is_on, u.entropy[:n], 0.0) + v2 * energies
                step = np.clip(np.nan_to_num(-gain / (v2 * energies)), -0.2, 0.2)
                v2 = v2 * (1 + step)
                error = z - np.log(np.tile(v2, 2) * force)
                move = np.clip(np.nan_to_num(-error / rate), -0.3, 0.3)
            move[:n][~is_on] = 0.0
            z = np.clip(z + move, least, most)
            if np.all(np.abs(step) <= 1e-13) and np.all(np.abs(move) <= 1e-8):
                break
        x = np.exp(z)
        return np.where(is_on, x[:n], 0.0), x[n:], v2

    def first_level(self, pull: Array, coupling: Array) -> Array:
        """v² from which units are learnt: where they leave 0, or jump."""
        jumps = self.jumps(pull, coupling)
        start = 1 / np.maximum(pull, 1e-280)
        if jumps.level.shape[1]:
            is_first = jumps.low[:, 0] == 0
            start = np.where(is_first, jumps.level[:, 0], start)
        return start

    def snr_at(self, pull: np.ndarray, coupling: np.ndarray, values2: np.ndarray) -> np.ndarray:
        """x of units with given v² (columns): the root of largest potential."""
        jumps = self.jumps(pull, coupling)
        levels = self.levels(pull, coupling)
        shape = (pull.size, values2.size)
        snr = np.zeros(shape)
        for i in range(pull.size):
            # The stretch of x that each readout belongs to, between two jumps.
            ends = [
                0.0,
                *(e for k in range(jumps.level.shape[1]) for e in (jumps.low[i, k], jumps.high[i, k])),
            ]
            ends = [e for e in ends if np.isfinite(e)] + [np.inf]
            cuts = jumps.level[i][np.isfinite(jumps.level[i])]
            piece = np.searchsorted(cuts, values2)
            for p in range(cuts.size + 1):
                own = np.nonzero(piece == p)[0]
                low, high = ends[2 * p], ends[2 * p + 1]
                if p == 0:
                    own = own[values2[own] * pull[i] > 1]
                    if high == 0:
                        continue
                if own.size:
                    snr[i, own] = self._on_stretch(
                        values2[own], pull[i], coupling[i], levels[i], max(low, 1e-30), high
                    )
        return snr

    def _on_stretch(
        self, values2: np.ndarray, pull: float, coupling: float, levels: np.ndarray, low: float, high: float
    ) -> np.ndarray:
        """Roots on a rising stretch of φ."""
        high = min(high, self._x[-1])
        inside = np.nonzero((self._x > low) & (self._x < high))[0]
        x = np.concatenate([[low], self._x[inside], [high]])
        level = np.concatenate([[0.0], np.maximum.accumulate(levels[inside]), [np.inf]])
        cell = np.clip(np.searchsorted(level, values2, side="right") - 1, 0, x.size - 2)
        ones = np.ones(values2.size)
        return self.units.polish(
            values2,
            pull * ones,
            coupling * ones,
            np.log(x[cell]),
            np.log(np.maximum(x[cell + 1], x[cell] * (1 + 1e-15))),
        )

    # ------------------------------------------------------------------ averages

    def averages(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> Averages:
        """All averages at couplings A and B; ``is_rough`` evaluates on the grid (two digits)."""
        pull = np.maximum(pull, 1e-280)
        n = pull.size
        jumps = self.jumps(pull, coupling, is_rough=is_rough)
        levels = self.levels(pull, coupling)
        total = Averages(
            np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((2, n)), np.zeros((2, n))
        )
        if is_rough:
            x = self._x[1:]
            keep = levels[:, 1:] < self.reach2
            for k in range(jumps.level.shape[1]):
                keep &= ~((x > jumps.low[:, k : k + 1]) & (x < jumps.high[:, k : k + 1]))
            dx = np.where(keep, np.gradient(np.log(x)) * x, 0.0)
            units = UnitValues(
                *(np.broadcast_to(getattr(self._table, f.name)[1:], keep.shape) for f in fields(UnitValues))
            )
            self._add(total, np.arange(n), np.broadcast_to(x, keep.shape), dx, units, pull, coupling)
        else:
            self._add_stretches(total, jumps, levels, pull, coupling)
        start = 1 / pull
        if jumps.level.shape[1]:
            is_first = (jumps.low[:, 0] == 0) & (jumps.level[:, 0] < start)
            start = np.where(is_first, jumps.level[:, 0], start)
        unlearnt = self.readouts.power_below(np.sqrt(np.minimum(start, self.reach2)))
        total.left += unlearnt
        total.kernel_gap += unlearnt * self.kernel_total
        self._add_jumps(total, jumps, pull, coupling)
        return total

    def _add_stretches(
        self, total: Averages, jumps: _Jumps, levels: np.ndarray, pull: np.ndarray, coupling: np.ndarray
    ) -> None:
        """Gauss–Legendre panels on every stretch of x that readouts of the law reach."""
        stretches: list[tuple[int, float, float]] = []
        is_reached = np.isfinite(jumps.level) & (jumps.level < self.reach2)
        start = np.zeros(pull.size)
        for k in range(jumps.level.shape[1]):
            start = np.where(is_reached[:, k], jumps.high[:, k], start)
        last = self._last(levels, pull, coupling, start)
        for i in range(pull.size):
            ends = [0.0]
            for k in np.nonzero(is_reached[i])[0].tolist():
                ends += [jumps.low[i, k], jumps.high[i, k]]
            ends.append(last[i])
            for low, high in zip(ends[::2], ends[1::2], strict=True):
                if high > low:
                    stretches.append((i, low, high))
        # x may go over many decades, of which all have their share. Stretches with as many panels, or a few
        # more, go together.
        together: dict[int, list[tuple[int, float, float]]] = {}
        for i, low, high in stretches:
            decades = math.log((high + self._begun) / (low + self._begun))
            n = math.ceil((_N_PANELS + decades / _WIDEST) / _ROUNDED) * _ROUNDED
            together.setdefault(n, []).append((i, low, high))
        for n, group in together.items():
            share = np.linspace(0, 1, n + 1)
            edges = np.array([self._cuts(levels[i], low, high, share) for i, low, high in group])
            rows = np.array([i for i, _, _ in group])
            x, dx = _nodes(edges)
            self._add(total, rows, x, dx, self.units(x), pull[rows], coupling[rows])

    def _last(
        self, levels: np.ndarray, pull: np.ndarray, coupling: np.ndarray, start: np.ndarray
    ) -> np.ndarray:
        """x of the largest readout, on the stretch that begins at ``start`` (start, if it is not learnt)."""
        is_above = (levels > self.reach2) & (self._x > start[:, None])
        k = np.argmax(is_above, axis=1)
        low = np.maximum(np.maximum(start, self._x[np.maximum(k - 1, 0)]), 1e-30)
        last = start.copy()
        last[~is_above.any(axis=1)] = self._x[-1]
        is_learnt = (start > 0) | (pull * self.reach2 > 1)
        rows = np.nonzero(is_above.any(axis=1) & is_learnt & (self._x[k] > low))[0]
        if rows.size:
            last[rows] = self.units.polish(
                np.full(rows.size, self.reach2),
                pull[rows],
                coupling[rows],
                np.log(low[rows]),
                np.log(self._x[k[rows]]),
            )
        return last

    def _cuts(self, levels: Array, low: float, high: float, share: Array) -> Array:
        """Ends of panels between two x of one stretch, in parts even in ln v, in parts in ln(x + x₀)."""
        inside = (self._x > low) & (self._x < high)
        if inside.sum() > 1:
            x = self._x[inside]
            log_v, log_x = np.log(np.maximum.accumulate(levels[inside])), np.log(x + self._begun)
            way = (log_x - log_x[0]) / _WIDEST
            if log_v[-1] > log_v[0]:
                way += _N_PANELS * (log_v - log_v[0]) / (log_v[-1] - log_v[0])
            cuts: Array = np.interp(share * way[-1], way, x)
        else:
            cuts = low + share * (high - low)
        cuts[0], cuts[-1] = low, high
        return cuts

    def _add(
        self,
        total: Averages,
        rows: np.ndarray,
        x: np.ndarray,
        dx: np.ndarray,
        u: UnitValues,
        pull: np.ndarray,
        coupling: np.ndarray,
    ) -> None:
        a, b = pull[:, None], coupling[:, None]
        with np.errstate(all="ignore"):
            force = a * u.overlap + b * u.kernel_slope
            force_slope = a * u.overlap_slope + b * u.kernel_curvature
            v2 = x / force
            v = np.sqrt(v2)
            density = 2 * self.readouts.density(v) * dx
            measure = density * np.maximum(force - x * force_slope, 0.0) / (force * force) / (2 * v)
            moved = density * v2 * v / (2 * force) * u.overlap_slope
        for name, value in (
            ("learnt", measure * v2 * u.overlap**2),
            ("left", measure * v2 * u.gap * (1 + u.overlap)),
            ("kernel_gap", measure * v2 * u.kernel_gap),
            ("entropy", measure * u.entropy),
        ):
            np.add.at(getattr(total, name), rows, np.nan_to_num(value).sum(axis=1))
        for k, lever in enumerate((a * u.overlap, b * u.kernel_slope)):
            by = np.nan_to_num(moved * lever)
            np.add.at(total.learnt_slopes[k], rows, (by * 2 * u.overlap).sum(axis=1))
            np.add.at(total.kernel_slopes[k], rows, -(by * u.kernel_slope).sum(axis=1))

    def _add_jumps(self, total: Averages, jumps: _Jumps, pull: np.ndarray, coupling: np.ndarray) -> None:
        """What the moving readouts at which the profile jumps add to the slopes."""
        for k in range(jumps.level.shape[1]):
            rows = np.nonzero(np.isfinite(jumps.level[:, k]) & (jumps.level[:, k] < self.reach2))[0]
            if not rows.size:
                continue
            low, high = self.units(jumps.low[rows, k]), self.units(jumps.high[rows, k])
            a, b, v2 = pull[rows], coupling[rows], jumps.level[rows, k]
            squares = 0.25 * a * (high.overlap**2 - low.overlap**2)
            kernels = 0.5 * b * (high.kernel - low.kernel)
            v = np.sqrt(v2)
            for i, part in enumerate((squares, kernels)):
                # d(v)/d ln A or ln B; units between the old and the new place change by the jump.
                shift = -v2 * part / (squares + kernels) / (2 * v)
                mass = -2 * self.readouts.density(v) * v2 * shift
                total.learnt_slopes[i][rows] += mass * (high.overlap**2 - low.overlap**2)
                total.kernel_slopes[i][rows] += mass * (high.kernel_gap - low.kernel_gap)


def _nodes(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of all panels of each stretch: even in ln x on wide ones that do not begin at 0."""
    low, high = edges[:, :-1, None], edges[:, 1:, None]
    is_wide = (low > 0) & (high > 1.5 * low)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(is_wide, np.log(high / np.where(is_wide, low, 1.0)), 0.0)
    x = np.where(is_wide, low * np.exp(ratio * _X), low + (high - low) * _X)
    dx = np.where(is_wide, x * ratio, high - low) * _W
    return np.maximum(x, 1e-14).reshape(len(edges), -1), dx.reshape(len(edges), -1)


def jump_levels(units: UnitTable, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
    """v² from which a unit prefers its upper root to lower ones, on the grid; infinite where φ only rises."""
    t = units.values
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        levels = np.concatenate(
            [
                1 / pull[:, None],
                units.grid / (pull[:, None] * t.overlap + coupling[:, None] * t.kernel_slope),
            ],
            axis=1,
        )
        energy = 0.25 * pull[:, None] * t.overlap**2 + 0.5 * coupling[:, None] * t.kernel
    energy, entropy = np.pad(energy, ((0, 0), (1, 0))), np.append(0.0, t.entropy)
    is_falling = np.diff(levels, axis=1) < -1e-12 * levels[:, 1:]
    owner, first, last = _hull_edges(energy, entropy, levels, is_falling)
    level = np.full(pull.size, np.inf)
    np.minimum.at(
        level, owner, (entropy[first] - entropy[last]) / (energy[owner, last] - energy[owner, first])
    )
    return level


def _hull_edges(
    energy: np.ndarray, entropy: np.ndarray, levels: np.ndarray, is_falling: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of the upper hulls of the points (energy, entropy), one hull a row, over falling stretches of φ.

    Returns row, first and last point of each edge, in order.
    """
    starts = is_falling & ~np.pad(is_falling[:, :-1], ((0, 0), (1, 0)))
    n_stretches = starts.sum(axis=1)
    single = np.nonzero(n_stretches == 1)[0]
    first, last = _tangents(energy[single], entropy, levels[single], is_falling[single])
    edges = list(zip(single.tolist(), first.tolist(), last.tolist(), strict=True))
    for i in np.nonzero(n_stretches > 1)[0].tolist():
        edges += [(i, a, b) for a, b in _edges_of_one(energy[i], entropy, is_falling[i])]
    found = np.array(sorted(edges), dtype=int).reshape(-1, 3)
    return found[:, 0], found[:, 1], found[:, 2]


def _tangents(
    energy: np.ndarray, entropy: np.ndarray, levels: np.ndarray, is_falling: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the common tangent over the only falling stretch of each row, by bisection in v²."""
    if not energy.shape[0]:
        return np.empty(0, dtype=int), np.empty(0, dtype=int)
    top = np.argmax(is_falling, axis=1)
    bottom = is_falling.shape[1] - np.argmax(is_falling[:, ::-1], axis=1)
    rows, column = np.arange(energy.shape[0]), np.arange(levels.shape[1])
    low = np.log(levels[rows, bottom])
    high = np.log(np.minimum(levels[rows, top], 1e250))
    for _ in range(40):
        middle = np.exp(0.5 * (low + high))
        below = levels <= middle[:, None]
        last = np.max(np.where(below & (column >= bottom[:, None]), column, bottom[:, None]), axis=1)
        first = np.max(np.where(below & (column <= top[:, None]), column, 0), axis=1)
        gain = entropy[last] - entropy[first] + middle * (energy[rows, last] - energy[rows, first])
        low, high = np.where(gain > 0, low, 0.5 * (low + high)), np.where(gain > 0, 0.5 * (low + high), high)
    return first, last


def _edges_of_one(energy: np.ndarray, entropy: np.ndarray, is_falling: np.ndarray) -> list[tuple[int, int]]:
    """The same for a row with several falling stretches: the hull itself, point by point."""
    where = np.nonzero(is_falling)[0]
    keep = np.nonzero(np.diff(energy, prepend=-1.0) > 0)[0]
    hull: list[int] = []
    e, s = energy.tolist(), entropy.tolist()
    for k in keep.tolist():
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            if (s[j] - s[i]) * (e[k] - e[i]) > (s[k] - s[i]) * (e[j] - e[i]):
                break
            hull.pop()
        hull.append(k)
    return [(i, j) for i, j in zip(hull[:-1], hull[1:], strict=True) if np.any((where >= i) & (where < j))]

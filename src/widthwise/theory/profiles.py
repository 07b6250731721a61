r"""Averages over the overlap profile 𝒬_W(v) for readouts of many or continuous values.

Given the couplings A and B, a unit with readout v sits at a root of x = v²(A F(x) + B g'(F(x))),
that is at v² = φ(x).  For a continuous law the averages are integrals over *x*, not v,

.. math:: E[f(v, x(v))] = 2\int p(v)\, f\, \frac{\phi'(x)}{2 v}\, dx, \qquad v = \sqrt{\phi(x)},

so the kink at which 𝒬(v) leaves 0 is the end x = 0 of a smooth integral and no equation is
solved at any node.  Where φ falls, the profile jumps: in equilibrium from x_a to x_b, at the
readout where the two roots have equal potential (Maxwell's rule),

.. math:: \Phi_v(x) = \psi_W(x) - \tfrac12 xF + v^2(\tfrac14 A F^2 + \tfrac12 B g(F)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ingredients.readouts import Readouts, _Continuous
from .units import GRID, UnitValues, evaluate_units, unit_table

__all__ = ["Averages", "ContinuousProfile", "DiscreteProfile"]

_N_PANELS = 12
_X, _W = np.polynomial.legendre.leggauss(10)
_X, _W = 0.5 * (_X + 1), 0.5 * _W


@dataclass
class Averages:
    """E v²𝒬², its complement, E v²[g(1) - g(𝒬)], E[ψ_W - x𝒬/2]; slopes in A and B of the first and third."""

    learnt: np.ndarray
    left: np.ndarray
    kernel_gap: np.ndarray
    entropy: np.ndarray
    learnt_slopes: np.ndarray
    kernel_gap_slopes: np.ndarray


class _Profile:
    def __init__(self, activation, weights, readouts: Readouts) -> None:
        self.activation, self.weights, self.readouts = activation, weights, readouts
        self.table: UnitValues = unit_table(activation, weights)
        self.kernel_total = float(activation.tail_kernel(1.0))

    def units(self, x: np.ndarray) -> UnitValues:
        return evaluate_units(self.activation, self.weights, x)

    def level_table(self, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
        """φ on the grid, one row for each pair of couplings; 1/A at x = 0."""
        t = self.table
        force = pull[:, None] * t.overlap[1:] + coupling[:, None] * t.kernel_slope[1:]
        with np.errstate(divide="ignore"):
            return np.concatenate([1 / pull[:, None], GRID[1:] / force], axis=1)

    def potential(
        self, units: UnitValues, v2: np.ndarray, pull: np.ndarray, coupling: np.ndarray
    ) -> np.ndarray:
        return units.entropy + v2 * (0.25 * pull * units.overlap**2 + 0.5 * coupling * units.kernel)

    def jump(
        self, levels: np.ndarray, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False
    ) -> tuple[np.ndarray, ...]:
        """Where the equilibrium profile jumps: x_a, x_b and v² (equal x and v² = 0 if it does not)."""
        n = pull.size
        x_low, x_high, level = np.zeros(n), np.zeros(n), np.zeros(n)
        drops = np.diff(levels, axis=1) < -1e-12 * levels[:, 1:]
        rows = np.nonzero(drops.any(axis=1))[0]
        if rows.size == 0:
            return x_low, x_high, level
        first = np.argmax(drops[rows], axis=1)  # φ rises up to here
        last = drops.shape[1] - np.argmax(drops[rows][:, ::-1], axis=1)  # and again from here
        every = np.arange(rows.size)
        a, b = pull[rows], coupling[rows]
        top, bottom = levels[rows, first], levels[rows, last]
        t = self.table
        energy = 0.25 * a[:, None] * t.overlap**2 + 0.5 * b[:, None] * t.kernel
        lo, hi = np.log(bottom), np.log(np.minimum(top, 1e6 * bottom))
        column = np.arange(GRID.size)
        for _ in range(12 if is_rough else 30):
            middle = np.exp(0.5 * (lo + hi))
            below = levels[rows] <= middle[:, None]
            at_high = np.max(np.where(below & (column >= last[:, None]), column, last[:, None]), axis=1)
            at_low = np.max(np.where(below & (column <= first[:, None]), column, 0), axis=1)
            gain = (
                t.entropy[at_high]
                - t.entropy[at_low]
                + middle * (energy[every, at_high] - energy[every, at_low])
            )
            hi = np.where(gain > 0, 0.5 * (lo + hi), hi)
            lo = np.where(gain > 0, lo, 0.5 * (lo + hi))
        v2 = np.exp(0.5 * (lo + hi))
        xa, xb = GRID[at_low], np.maximum(GRID[at_high], GRID[last])
        for _ in range(0 if is_rough else 12):
            xa = (
                np.where(v2 * a > 1, self._root(np.maximum(xa, 1e-6), v2, a, b), 0.0)
                if np.any(xa > 0)
                else xa
            )
            xb = self._root(xb, v2, a, b)
            ua, ub = self.units(xa), self.units(xb)
            gain = self.potential(ub, v2, a, b) - self.potential(ua, v2, a, b)
            rate = 0.25 * a * (ub.overlap**2 - ua.overlap**2) + 0.5 * b * (ub.kernel - ua.kernel)
            step = -gain / rate
            v2 = np.clip(v2 + step, 0.5 * v2, 2 * v2)
            if np.all(np.abs(step) <= 1e-14 * v2):
                break
        x_low[rows], x_high[rows], level[rows] = xa, xb, v2
        return x_low, x_high, level

    def first_level(self, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
        """v² from which units are learnt: where they leave 0, or jump."""
        levels = self.level_table(pull, coupling)
        _, _, jump = self.jump(levels, pull, coupling)
        return np.where(jump > 0, np.minimum(jump, levels[:, 0]), levels[:, 0])

    def snr_at(
        self, pull: np.ndarray, coupling: np.ndarray, values2: np.ndarray, *, is_rough: bool = False
    ) -> np.ndarray:
        """x of units with given v² (columns): the root of largest potential."""
        levels = self.level_table(pull, coupling)
        _, x_high, level = self.jump(levels, pull, coupling, is_rough=is_rough)
        shape = (pull.size, values2.size)
        guess = np.zeros(shape)
        for i, column in enumerate(levels):
            if level[i] > 0:
                rising = int(np.searchsorted(GRID, x_high[i]))
                upper = np.interp(values2, column[rising:], GRID[rising:])
                top = int(np.argmax(np.diff(column) < 0)) + 1
                lower = np.interp(values2, column[:top], GRID[:top], left=0.0, right=0.0)
                guess[i] = np.where(values2 > level[i], np.maximum(upper, x_high[i]), lower)
            else:
                guess[i] = np.interp(values2, column, GRID, left=0.0)
        is_on = guess > 0
        if is_rough or not is_on.any():
            return guess
        v2 = np.broadcast_to(values2, shape)[is_on]
        a = np.broadcast_to(pull[:, None], shape)[is_on]
        b = np.broadcast_to(coupling[:, None], shape)[is_on]
        guess[is_on] = self._root(guess[is_on], v2, a, b)
        return guess

    def _root(self, x: np.ndarray, v2: np.ndarray, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
        """Polish a root of x = v²(A F + B g') by Newton's method in ln x."""
        z = np.log(np.maximum(x, 1e-12))
        for _ in range(30):
            x = np.exp(z)
            u = self.units(x)
            force = pull * u.overlap + coupling * u.kernel_slope
            error = z - np.log(v2 * force)
            rate = 1 - x * (pull * u.overlap_slope + coupling * u.kernel_curvature) / force
            step = np.clip(-error / np.where(np.abs(rate) > 1e-6, rate, 1e-6), -0.5, 0.5)
            z = z + step
            if np.all(np.abs(error) <= 1e-14 * (1 + np.abs(z))):
                break
        return np.exp(z)


class ContinuousProfile(_Profile):
    """Averages for a symmetric continuous readout law."""

    readouts: _Continuous

    def averages(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> Averages:
        """All averages at couplings A and B; ``is_rough`` evaluates on the grid (two digits)."""
        reach2 = min(self.readouts.largest, self.readouts.cutoff) ** 2
        levels = self.level_table(pull, coupling)
        x_low, x_high, level = self.jump(levels, pull, coupling, is_rough=is_rough)
        n = pull.size
        total = _Sum(n)
        if is_rough:
            x = np.broadcast_to(GRID[1:], (n, GRID.size - 1))
            t = self.table
            units = UnitValues(*(np.broadcast_to(getattr(t, f)[1:], x.shape) for f in vars(t)))
            dx = np.gradient(np.log(GRID[1:])) * GRID[1:]
            keep = (x >= x_high[:, None]) | (x <= x_low[:, None])
            keep &= levels[:, 1:] < reach2
            self._add(total, x, np.where(keep, dx, 0.0), units, pull, coupling)
        else:
            # From the jump (or x = 0) to where v reaches the end of the support.
            end = self._end(levels, pull, coupling, reach2, x_high)
            self._add_interval(total, levels, x_high, end, pull, coupling)
            two = x_low > 0
            if two.any():
                part = _Sum(int(two.sum()))
                self._add_interval(
                    part, levels[two], np.zeros(part.size), x_low[two], pull[two], coupling[two]
                )
                total.scatter(part, two)
        is_jump = level > 0
        start = np.where(is_jump & (x_low == 0), level, levels[:, 0])
        unlearnt = self.readouts.power_below(np.sqrt(np.minimum(start, reach2)))
        if is_jump.any():
            self._add_jump(total, x_low, x_high, level, pull, coupling, is_jump)
        return Averages(
            total.learnt,
            total.left + unlearnt,
            total.kernel_gap + unlearnt * self.kernel_total,
            total.entropy,
            total.learnt_slopes,
            total.kernel_gap_slopes,
        )

    def overlaps(
        self, pull: np.ndarray, coupling: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """𝒬_W(v) and 𝒬̂_W(v) at given readouts (columns) for each pair of couplings (rows)."""
        snr = self.snr_at(pull, coupling, values**2)
        return self.weights.overlap(snr), snr

    def _end(self, levels, pull, coupling, reach2, x_high) -> np.ndarray:
        """x at the end of the support (x_high where even that is not learnt)."""
        n = pull.size
        end = np.empty(n)
        for i in range(n):
            above = np.nonzero(levels[i] > reach2)[0]
            above = above[GRID[above] > x_high[i]]
            end[i] = GRID[above[0]] if above.size else GRID[-1]
        learnt = (levels[:, 0] < reach2) | ((x_high > 0) & (x_high < end))
        root = self._root(end, np.full(n, reach2), pull, coupling)
        return np.where(learnt & (root > x_high), root, x_high)

    def _add_interval(self, total, levels, start, end, pull, coupling) -> None:
        """Gauss–Legendre panels between two x of the same rising stretch, even in ln v."""
        n = start.size
        cuts = np.empty((n, _N_PANELS + 1))
        share = np.linspace(0, 1, _N_PANELS + 1)
        for i in range(n):
            inside = (GRID > start[i]) & (GRID < end[i])
            xs = np.concatenate([[start[i]], GRID[inside], [end[i]]])
            lv = (
                np.maximum.accumulate(np.concatenate([[0.0], levels[i, inside], [np.inf]])[1:-1])
                if inside.any()
                else np.empty(0)
            )
            if lv.size > 1:
                logs = np.log(lv)
                grid = logs[0] + share * (logs[-1] - logs[0])
                cuts[i] = np.interp(grid, logs, xs[1:-1])
            else:
                cuts[i] = start[i] + share * (end[i] - start[i])
            cuts[i, 0], cuts[i, -1] = start[i], end[i]
        width = np.diff(cuts, axis=1)
        x = (cuts[:, :-1, None] + width[:, :, None] * _X).reshape(n, -1)
        dx = (width[:, :, None] * _W).reshape(n, -1)
        x = np.maximum(x, 1e-12)
        self._add(total, x, dx, self.units(x), pull, coupling)

    def _add(self, total, x, dx, u: UnitValues, pull, coupling) -> None:
        a, b = pull[:, None], coupling[:, None]
        force = a * u.overlap + b * u.kernel_slope
        force_slope = a * u.overlap_slope + b * u.kernel_curvature
        v2 = x / force
        v = np.sqrt(v2)
        density = 2 * self.readouts.density(v) * dx
        measure = density * np.maximum(force - x * force_slope, 0.0) / (force * force) / (2 * v)
        total.learnt += np.sum(measure * v2 * u.overlap**2, axis=1)
        total.left += np.sum(measure * v2 * u.gap * (1 + u.overlap), axis=1)
        total.kernel_gap += np.sum(measure * v2 * u.kernel_gap, axis=1)
        total.entropy += np.sum(measure * u.entropy, axis=1)
        moved = density * v2 * v / (2 * force) * u.overlap_slope
        for k, lever in enumerate((u.overlap, u.kernel_slope)):
            total.learnt_slopes[k] += np.sum(moved * lever * 2 * u.overlap, axis=1)
            total.kernel_gap_slopes[k] -= np.sum(moved * lever * u.kernel_slope, axis=1)

    def _add_jump(self, total, x_low, x_high, level, pull, coupling, is_jump) -> None:
        """What the moving readout at which the profile jumps adds to the slopes."""
        low, high = self.units(x_low[is_jump]), self.units(x_high[is_jump])
        a, b, v2 = pull[is_jump], coupling[is_jump], level[is_jump]
        squares = 0.25 * (high.overlap**2 - low.overlap**2)
        kernels = 0.5 * (high.kernel - low.kernel)
        energy = a * squares + b * kernels
        v = np.sqrt(v2)
        for k, part in enumerate((squares, kernels)):
            # d(v*)/dA or dB; units between the old and the new place change by the jump.
            shift = -v2 * part / energy / (2 * v)
            mass = -2 * self.readouts.density(v) * v2 * shift
            total.learnt_slopes[k][is_jump] += mass * (high.overlap**2 - low.overlap**2)
            total.kernel_gap_slopes[k][is_jump] += mass * (high.kernel_gap - low.kernel_gap)


class DiscreteProfile(_Profile):
    """Averages for a discrete law of many atoms, each class at its equilibrium root."""

    def __init__(
        self, activation, weights, readouts: Readouts, values2: np.ndarray, powers: np.ndarray
    ) -> None:
        super().__init__(activation, weights, readouts)
        self.values2, self.powers = values2, powers
        self._mass = powers / values2

    def averages(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> Averages:
        snr = self.snr_at(pull, coupling, self.values2, is_rough=is_rough)
        u = self.units(snr)
        a, b = pull[:, None], coupling[:, None]
        force_slope = a * u.overlap_slope + b * u.kernel_curvature
        stiff = 1 - self.values2 * force_slope
        total = _Sum(pull.size)
        weight = self.powers
        total.learnt[:] = u.overlap**2 @ weight
        total.left[:] = (u.gap * (1 + u.overlap)) @ weight
        total.kernel_gap[:] = u.kernel_gap @ weight
        total.entropy[:] = u.entropy @ self._mass
        moved = np.where(snr > 0, weight * u.overlap_slope * self.values2 / stiff, 0.0)
        for k, lever in enumerate((u.overlap, u.kernel_slope)):
            total.learnt_slopes[k][:] = np.sum(moved * lever * 2 * u.overlap, axis=1)
            total.kernel_gap_slopes[k][:] = -np.sum(moved * lever * u.kernel_slope, axis=1)
        return Averages(
            total.learnt,
            total.left,
            total.kernel_gap,
            total.entropy,
            total.learnt_slopes,
            total.kernel_gap_slopes,
        )


class _Sum:
    """Accumulators of the averages, one entry for each pair of couplings."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.learnt, self.left = np.zeros(size), np.zeros(size)
        self.kernel_gap, self.entropy = np.zeros(size), np.zeros(size)
        self.learnt_slopes, self.kernel_gap_slopes = np.zeros((2, size)), np.zeros((2, size))

    def scatter(self, part: _Sum, where: np.ndarray) -> None:
        for name in ("learnt", "left", "kernel_gap", "entropy"):
            getattr(self, name)[where] += getattr(part, name)
        self.learnt_slopes[:, where] += part.learnt_slopes
        self.kernel_gap_slopes[:, where] += part.kernel_gap_slopes

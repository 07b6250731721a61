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

import numpy as np

from ..ingredients.activations import Activation
from ..ingredients.weights import WeightLaw

__all__ = ["Root", "UnitTable", "UnitValues", "evaluate_units", "unit_table"]

# x from where a unit has just begun to be learnt to where any weights are known.
_GRID = np.unique(np.concatenate([np.logspace(-12, -4, 33), np.logspace(-4, 8, 193), np.logspace(8, 30, 67)]))
_N_POLISH = 60
_LARGEST = 1e60
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


@dataclass
class UnitValues:
    """Functions of the overlap Q = F(x) of a unit at signal-to-noise ratio x."""

    snr: np.ndarray
    overlap: np.ndarray
    """Q = F(x)."""
    gap: np.ndarray
    """1 - Q, accurate where it is tiny."""
    overlap_slope: np.ndarray
    """F'(x)."""
    entropy: np.ndarray
    """ψ_W(x) - xQ/2."""
    kernel_slope: np.ndarray
    """g'(Q)."""
    kernel_curvature: np.ndarray
    """d g'(Q)/dx = g''(Q) F'(x), finite also where g'' is not."""
    kernel_gap: np.ndarray
    """g(1) - g(Q)."""
    kernel: np.ndarray
    """g(Q), accurate where it is tiny."""


def evaluate_units(activation: Activation, weights: WeightLaw, snr: np.ndarray) -> UnitValues:
    """All of :class:`UnitValues` at the given signal-to-noise ratios."""
    channel = weights.channel(snr)
    gap = np.minimum(channel.mmse, 1.0)  # rounding
    overlap = np.minimum(channel.overlap, 1.0)
    curvature = _kernel_curvature(activation, gap)
    # Relative accuracy near Q = 0 from g itself, near 1 from the gap.
    return UnitValues(
        snr,
        overlap,
        gap,
        channel.overlap_slope,
        channel.entropy_deficit,
        activation.tail_kernel_gap_slope(gap),
        curvature * channel.overlap_slope,
        activation.tail_kernel_gap(gap),
        activation.tail_kernel(overlap),
    )


def _kernel_curvature(activation: Activation, gap: np.ndarray) -> np.ndarray:
    """g''(1 - gap), for products with F'.

    It diverges at gap = 0 for kinks and jumps, while F' vanishes faster: it is taken a whisker above.
    """
    return np.minimum(activation.tail_kernel_gap_curvature(np.maximum(gap, 1e-190)), 1e300)


class UnitTable:
    """The unit functions of an activation and a law of the weights, and the roots of units."""

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
        self.values = UnitValues(*(getattr(on_grid, f.name)[keep] for f in fields(UnitValues)))

    def __call__(self, snr: np.ndarray) -> UnitValues:
        # Newton's method may look far beyond any solution.
        return evaluate_units(self.activation, self.weights, np.clip(np.nan_to_num(snr), 0.0, _LARGEST))

    @property
    def n_sections(self) -> int:
        """Largest number of stretches on which φ rises, for any ratio B/A."""
        return _count_sections(self)

    def log_force(self, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
        """ln(A F + B g') on the grid, one row for each pair of couplings."""
        t = self.values
        with np.errstate(divide="ignore", over="ignore"):
            return np.log(pull[:, None] * t.overlap + coupling[:, None] * t.kernel_slope)

    def roots(
        self,
        values2: np.ndarray,
        pull: np.ndarray,
        coupling: np.ndarray,
        which: Root,
        beside: np.ndarray | None = None,
        *,
        is_rough: bool = False,
    ) -> np.ndarray:
        """x of units with given v² (columns) at couplings A, B (rows); 0 or NaN where there is none.

        ``beside`` is the x, one a row, that ABOVE and BELOW refer to. ``is_rough`` interpolates on the grid.
        """
        shape = (pull.size, values2.size)
        if which is Root.ZERO or values2.size == 0:
            return np.zeros(shape)
        if which is Root.KNOWN:
            return np.full(shape, np.inf)
        surplus = self.log_force(pull, coupling) - self.log_grid
        log_v2 = np.log(values2)
        is_above = surplus[:, None, :] > -log_v2[:, None]
        is_root = is_above[..., :-1] & ~is_above[..., 1:]
        if which in (Root.ABOVE, Root.BELOW):
            assert beside is not None
            side = (
                self.grid[1:] > beside[:, None] if which is Root.ABOVE else self.grid[:-1] < beside[:, None]
            )
            is_root &= side[:, None, :]
        if which in (Root.ABOVE, Root.LOWEST):
            cell = np.argmax(is_root, axis=-1)
        else:
            cell = is_root.shape[-1] - 1 - np.argmax(is_root[..., ::-1], axis=-1)
        has_root = is_root.any(axis=-1)
        result = np.full(shape, np.nan if which in (Root.ABOVE, Root.HIGHEST) else 0.0)
        # Between 0 and the first node of the grid.
        is_tiny = (pull[:, None] * values2 > 1) & ~is_above[..., 0]
        if which in (Root.LOWEST, Root.BELOW):
            takes_tiny = is_tiny & (~has_root if which is Root.BELOW else True)
            has_root &= ~takes_tiny
            has_root &= (pull[:, None] * values2 > 1) | (which is not Root.LOWEST)
        else:
            takes_tiny = is_tiny & ~has_root & (which is Root.HIGHEST)
        rows, columns = np.nonzero(has_root)
        if rows.size:
            at = cell[rows, columns]
            low, high = self.log_grid[at], self.log_grid[at + 1]
            here, there = surplus[rows, at] + log_v2[columns], surplus[rows, at + 1] + log_v2[columns]
            start = low + (high - low) * here / (here - there)
            result[rows, columns] = (
                np.exp(start)
                if is_rough
                else self.polish(values2[columns], pull[rows], coupling[rows], low, high, start)
            )
        rows, columns = np.nonzero(takes_tiny)
        if rows.size:
            low = np.full(rows.size, np.log(1e-30))
            result[rows, columns] = self.polish(
                values2[columns], pull[rows], coupling[rows], low, np.full(rows.size, self.log_grid[0])
            )
        return result

    def polish(
        self,
        values2: np.ndarray,
        pull: np.ndarray,
        coupling: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        start: np.ndarray | None = None,
    ) -> np.ndarray:
        """The root x between e^low and e^high, by Newton's method within the bracket."""
        low, high = low.copy(), high.copy()
        z = 0.5 * (low + high) if start is None else start.copy()
        active = np.arange(z.size)
        for _ in range(_N_POLISH):
            x = np.exp(z[active])
            channel = self.weights.channel(np.clip(x, 0.0, _LARGEST))
            overlap, gap = np.minimum(channel.overlap, 1.0), np.minimum(channel.mmse, 1.0)
            kernel_slope = self.activation.tail_kernel_gap_slope(gap)
            curvature = _kernel_curvature(self.activation, gap)
            a, b = pull[active], coupling[active]
            with np.errstate(all="ignore"):
                force = a * overlap + b * kernel_slope
                error = z[active] - np.log(values2[active] * force)  # rises through the root
                rate = 1 - x * (a + b * curvature) * channel.overlap_slope / force
                step = -error / rate
            low[active] = np.where(error < 0, z[active], low[active])
            high[active] = np.where(error > 0, z[active], high[active])
            new = z[active] + step
            is_inside = (new >= low[active]) & (new <= high[active])
            new = np.where(is_inside, new, 0.5 * (low[active] + high[active]))
            moved = np.abs(new - z[active])
            z[active] = new
            # Quadratic convergence: a step of 1e-9 was the last that mattered.
            active = active[moved > 1e-9]
            if active.size == 0:
                break
        return np.exp(z)


@lru_cache(maxsize=64)
def unit_table(activation: Activation, weights: WeightLaw) -> UnitTable:
    """The unit functions of an activation and a law of the weights, made once."""
    return UnitTable(activation, weights)


@lru_cache(maxsize=64)
def _count_sections(table: UnitTable) -> int:
    coupling = np.logspace(-10, 10, 101)
    level = table.log_grid - table.log_force(np.ones(coupling.size), coupling)
    is_falling = np.diff(level, axis=1) < -1e-9
    starts = is_falling[:, 1:] & ~is_falling[:, :-1]
    return 1 + int((starts.sum(axis=1) + is_falling[:, 0]).max())

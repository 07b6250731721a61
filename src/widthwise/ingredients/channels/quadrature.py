r"""One quadrature for all channels that have no closed form: adaptive in the label y, in λ and in ω.

With the grids of :class:`OutputGrid`, for a gap V,

- where √V is not small against the panels in λ, Z = K P is a product of matrices, K the Gaussian
  kernel N(λ; ω, V), and its derivatives in ω are those of the kernel;
- where it is, P_out is smooth on the scale √V: Z is a Gauss–Hermite average around each ω, and
  ∂Z the average of P_out times its score ∂ ln P_out/∂λ, free of cancellation down to V = 0.  Near
  breaks of P_out it is a product again, on panels that end at the break, and if P_out jumps there ∂Z comes
  from the kernel.

Averages over ω are trapezoids where nothing can be narrower than their step, and else panels that are halved
until they have converged: ∂² ln Z can vary much faster than Z, as for y = λ² + noise, where the sign of λ is
settled within a distance V/λ of ω = 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..._arrays import Array, Bools, Integers
from .label_rules import CHUNK
from .output_grid import BandedDensity, FewerLabels, OutputGrid, without_traces
from .rules import REACH, hermite_rule, panels, subdivide

if TYPE_CHECKING:
    from .integrated import Integrated

__all__ = ["OutputQuadrature", "quadrature"]

# What the panels in ω may miss, of ψ, ψ', ψ'' and the error, and how often a panel is halved for it.
_RTOL = np.array([1e-12, 1e-12, 1e-10, 1e-12])
_MOST_HALVINGS = 12
# Of ψ' times the power: where labels say all but nothing it is a mean square of what rounding leaves.
_LEAST = 1e-21
_NOISE = 1e-8
# Trapezoids of n and 2n steps may differ by the root of what the second may miss: convergence is geometric.
_AGREED = np.array([1e-7, 1e-7, 3e-6, 1e-7])
_STEPS = (24, 48, 96, 192)
_ALL = slice(None)
_MOST_TOGETHER = 64  # values of ω
_LADDER = 0.3  # from one gap at which labels are tried to the next
_MERGED = (1, 2, 4, 8)  # panels of labels that one may stand for
_STRICTER = 0.1  # what these may miss, of what the others may: errors of many panels add up
_WIDE = 1000  # range of outputs, in widths of the narrowest panel, on which a grid for all ω is costly
_MUCH_FEWER = 0.8  # of the labels: otherwise all are taken

Labels = OutputGrid | FewerLabels


@lru_cache(maxsize=64)
def quadrature(channel: Integrated, power: float) -> OutputQuadrature:
    """The grids for a channel at a power, made once."""
    return OutputQuadrature(channel, power)


class OutputQuadrature(OutputGrid):
    """Functions of the gap for outputs of variance ``power``."""

    def __init__(self, channel: Integrated, power: float) -> None:
        super().__init__(channel, power)
        self._widest = float(np.max(np.diff(self.edges)))
        self._kept: tuple[float, Labels, tuple[Array, Array, BandedDensity]] | None = None
        self._fewer: list[tuple[float, FewerLabels]] = []
        if self.is_continuous:
            self._refine_labels()
        self.look()
        self._corners = np.concatenate([self.breaks, self.turns])

    def _refine_labels(self) -> None:
        """Halve panels of labels until ∫dy has converged: Z ln Z may bend where Z does not.

        Labels on either side of a jump are told apart over a distance Δ/D if it is D high and the noise has
        variance Δ, much less than √Δ. Where Z is smoother than P_out, at large gaps, fewer labels will do.
        """
        gaps: list[float] = []
        while not self._is_local(gap := self.power * _LADDER ** len(gaps)):
            gaps.append(gap)
        for _ in range(_MOST_HALVINGS):
            missed = [(gap, *self._missed_labels(gap)) for gap in gaps]
            is_coarse = np.zeros(len(self.label_panels), dtype=bool)
            for gap, here, merged in missed:
                is_coarse |= here
                if not here.any() and len(merged) < _MUCH_FEWER * len(self.label_panels):
                    self._fewer.append((gap, FewerLabels(self, merged)))
            if not is_coarse.any():
                break
            self.halve_labels(is_coarse)
            self._kept = None
            gaps = [gap for gap, here, _ in missed if here.any()]
        self._fewer.sort(key=lambda pair: -pair[0])

    def _labels_for(self, gap: float) -> Labels:
        """Labels that resolve Z at a gap: those that did at a smaller one."""
        if not self._is_local(gap):
            for least, fewer in self._fewer:
                if least <= gap * (1 + 1e-12):
                    return fewer
        return self

    def _missed_labels(self, gap: float) -> tuple[Bools, Array]:
        """Which panels of labels miss something at this gap, tried for some ω; and panels that would do."""
        root_q, root_v = math.sqrt(self.power - gap), math.sqrt(gap)
        xi = np.linspace(-6, 6, 49) if root_q > 0 else np.zeros(1)
        near_breaks = [b + root_v * np.linspace(-4, 4, 9) for b in self.breaks]
        omega = np.concatenate([self.centre + root_q * xi, *near_breaks])
        share = np.append(np.exp(-0.5 * xi**2), np.zeros(omega.size - xi.size))
        order = np.argsort(omega, kind="stable")
        omega, share = omega[order], share[order] / share.sum()
        # ψ' is of order 1/V or less, and may be 0 by symmetry.
        n_panels = len(self.label_panels)
        total = np.append(1e-3 / gap ** np.arange(3), 1e-300)
        groups = [_neighbours(self.label_panels, m) for m in _MERGED]
        missed = [np.zeros((4, len(first))) for first in groups]
        density = np.zeros(self.labels.size)
        done = 0
        for part in self._batches(omega, gap, 8 if self.channel.has_bands else _MOST_TOGETHER):
            reach = REACH * root_v
            band = self.band(float(part.min()) - reach, float(part.max()) + reach)
            start, stop, _ = band.indices(self.labels.size)
            band = slice(start - start % 16, stop + -stop % 16)
            z, first, second = self._by_kernel(part, gap, self, band)
            density[band] += share[done : done + part.size] @ z
            done += part.size
            rows = _integrands(z, first, second, self.labels[band], self.label_weights[band])
            if root_q > 0:
                rows *= np.exp(-0.5 * ((part - self.centre) / root_q) ** 2)[:, None]
            total = np.maximum(total, np.abs(rows.sum(axis=2)).max(axis=1))
            every = np.zeros((4, part.size, n_panels, 16))
            every[:, :, band.start // 16 : band.stop // 16] = rows.reshape(4, part.size, -1, 16)
            for m, begin, worst in zip(_MERGED, groups, missed, strict=True):
                here = slice(*np.searchsorted(begin, [band.start // 16 - m + 1, band.stop // 16]))
                together = every[:, :, begin[here, None] + np.arange(m)].reshape(4, part.size, -1, 16 * m)
                worst[:, here] = np.maximum(worst[:, here], _missed(together).max(axis=1))
        allowed = (_RTOL * total)[:, None]
        is_coarse: Bools = np.any(missed[0][:3] > allowed[:3], axis=0)
        # Labels between those that the tried ω give have not been seen: their density would be far off.
        is_seen = np.all(
            (np.abs(density - self.label_density) < 0.5 * self.label_density).reshape(-1, 16), axis=1
        )
        is_missed = [
            np.any(worst > _STRICTER * allowed, axis=0) | ~is_seen[begin[:, None] + np.arange(m)].all(axis=1)
            for m, begin, worst in zip(_MERGED, groups, missed, strict=True)
        ]
        return is_coarse, _merged(self.label_panels, groups, is_missed)

    def evaluate(self, gap: float) -> Array:
        """ψ, ψ', ψ'' and the mean-square Bayes error at one gap."""
        q = max(self.power - gap, 0.0)
        if q <= 1e-15 * self.power:
            values = self._rows(np.array([self.centre]), gap)[:, 0]
            at_centre: Array = values[:4] / values[4]
            return at_centre
        averages = self._by_trapezoid(gap, q)
        if averages is None:
            averages = self._by_panels(gap, q)
        if gap < self._least_bent:
            averages[2] = self._last_bend
        return averages

    @property
    def _least_bent(self) -> float:
        """Gap below which ψ'' is what it is there, to 1e-8; ∂²Z has a factor 1/√V and is lost in rounding."""
        least: float = (1e-4 * self.narrowest) ** 2
        return 0.0 if self.breaks.size else min(least, 1e-3 * self.power)

    @cached_property
    def _last_bend(self) -> float:
        return float(self.evaluate(self._least_bent)[2])

    def predictive(self, omega: Array, gap: float) -> Array:
        """Z on (ω, labels), for sorted ω; gap 0 gives P_out."""
        if gap == 0:
            return self.density(omega, _ALL)
        make = self._around if self._is_local(gap) else self._by_kernel
        size = max(16, min(256, CHUNK // (200 * self.labels.size)))
        parts = [omega[i : i + size] for i in range(0, omega.size, size)]
        return np.concatenate([make(part, gap, self, _ALL, n_derivatives=0)[0] for part in parts])

    # ------------------------------------------------------------------ averages over ω

    def _by_trapezoid(self, gap: float, q: float) -> Array | None:
        """The averages by trapezoids with ever more steps, or None if they do not settle."""
        root = math.sqrt(q)
        finest = 2 * REACH * root / _STEPS[-1]
        # Z varies on the scale √V at least, or on that of P_out if this is wider, but for the corners.
        least = 0.06 * math.sqrt(gap) if self._corners.size else max(math.sqrt(gap), 0.5 * self.narrowest)
        if finest > least:
            return None
        total, last = np.zeros(5), np.full(4, np.nan)
        for n in _STEPS:
            # Each rule has the nodes of the one before: only those between are new.
            place = np.arange(n + 1) if n == _STEPS[0] else np.arange(1, n, 2)
            xi = REACH * (2 * place / n - 1)
            rows = self._all_rows(self.centre + root * xi, gap)
            total = total + rows @ np.exp(-0.5 * xi**2)
            values: Array = total[:4] / total[4]
            if np.all(np.abs(values - last) <= _AGREED * np.abs(values)):
                return values
            last = values
        return None

    def _by_panels(self, gap: float, q: float) -> Array:
        total = np.zeros(5)
        least = _LEAST * np.array([0.0, 1 / self.power, 1 / self.power**2, 0.0])
        edges = self._omega_edges(gap)
        check = np.column_stack([edges[:-1], edges[1:]])
        before = np.full((4, len(check)), np.inf)
        for _ in range(_MOST_HALVINGS):
            values, missed = self._on_panels(check, gap, q)
            scale = np.abs(total + values.sum(axis=1))[:4, None]
            # What does not fall when a panel is halved is noise: numerical scores have some.
            is_noise = (missed <= _NOISE * scale) & (missed > 0.1 * before)
            good = np.all((missed <= _RTOL[:, None] * scale + least[:, None]) | is_noise, axis=0)
            total += values[:, good].sum(axis=1)
            if good.all():
                break
            low, high = check[~good].T
            middle = 0.5 * (low + high)
            check = np.stack([low, middle, middle, high], axis=1).reshape(-1, 2)
            before = np.repeat(missed[:, ~good], 2, axis=1)
        else:
            total += values[:, ~good].sum(axis=1)
        averages: Array = total[:4] / total[4]
        return averages

    def _omega_edges(self, gap: float) -> Array:
        """Panels in ω to begin with."""
        root_q, root_v = math.sqrt(max(self.power - gap, 0.0)), math.sqrt(gap)
        low, high = self.centre - REACH * root_q, self.centre + REACH * root_q
        steps = np.array([-13, -9, -6, -3.5, -1.5, 0, 1.5, 3.5, 6, 9, 13]) * root_v
        near = [b + steps for b in (self.breaks if self._is_local(gap) else self._corners)]
        edges = subdivide(_clipped([self.smooth_edges], low, high), 3 * root_q)
        # Close corners have their panels in common.
        return _thinned(_clipped([edges, *near], low, high), 0.5 * root_v)

    def _on_panels(self, edges: Array, gap: float, q: float) -> tuple[Array, Array]:
        """Integrals over each panel of ω, of shape (5, panels), and what they miss of the first four."""
        omega, weight = (x.reshape(-1) for x in panels(edges))
        weight = weight * np.exp(-0.5 * (omega - self.centre) ** 2 / q) / math.sqrt(2 * math.pi * q)
        parts = (self._all_rows(omega, gap) * weight).reshape(5, len(edges), -1)
        return parts.sum(axis=2), _missed(parts[:4])

    def _all_rows(self, omega: Array, gap: float) -> Array:
        return np.concatenate([self._rows(part, gap) for part in self._batches(omega, gap)], axis=1)

    def _batches(self, omega: Array, gap: float, most: int = _MOST_TOGETHER) -> Iterator[Array]:
        """Neighbouring ω, that see about the same outputs and labels."""
        size = max(16, CHUNK // (50 * self.labels.size)) if self._is_local(gap) else 4096
        size = min(size, most)
        for i in range(0, omega.size, size):
            yield omega[i : i + size]

    def _rows(self, omega: Array, gap: float) -> Array:
        """The integrands of the four functions at each ω, and the mass Z dy, of shape (5, ω)."""
        reach = REACH * math.sqrt(gap)
        at = self._labels_for(gap)
        band = at.band(float(omega.min()) - reach, float(omega.max()) + reach)
        make = self._around if self._is_local(gap) else self._by_kernel
        rows = _sums(*make(omega, gap, at, band), at.labels[band], at.label_weights[band])
        if gap < self._least_bent:
            rows[2] = 0.0
        return rows

    # ------------------------------------------------------------------ Z and its derivatives

    def _is_local(self, gap: float) -> bool:
        """Whether P_out is looked up anew around every ω, not on one grid of outputs for all."""
        is_wide = self.edges[-1] - self.edges[0] > _WIDE * self.narrowest
        return math.sqrt(gap) < self.narrowest * (1.0 if is_wide else 0.25)

    def _on_outputs(self, gap: float, at: Labels) -> tuple[Array, Array, BandedDensity]:
        """Nodes, weights and P_out for a kernel of variance V; kept, for many V have the same."""
        # Widths are powers of two of the narrowest panel, so that neighbouring gaps share them.
        width = self.narrowest * 2.0 ** math.floor(math.log2(4 * math.sqrt(gap) / self.narrowest))
        width = min(width, self._widest)
        if self._kept is None or self._kept[0] != width or self._kept[1] is not at:
            outputs, w = panels(subdivide(self.edges, width))
            self._kept = width, at, (outputs, w, BandedDensity(at, outputs))
        return self._kept[2]

    def _by_kernel(
        self, omega: Array, gap: float, at: Labels, band: slice, n_derivatives: int = 2
    ) -> tuple[Array, Array, Array]:
        """Z, ∂Z and ∂²Z in ω, on (ω, labels of the band)."""
        outputs, w, density = self._on_outputs(gap, at)
        reach = REACH * math.sqrt(gap)
        near = slice(*np.searchsorted(outputs, [omega.min() - reach, omega.max() + reach]))
        outputs, w = outputs[near], w[near]
        u = (outputs - omega[:, None]) / math.sqrt(gap)
        kernel = w * without_traces(np.exp(-0.5 * u**2)) / math.sqrt(2 * math.pi * gap)
        if n_derivatives == 0:
            z = density.product(kernel[None], omega, reach, near, band)[0]
            return z, z, z
        shares = np.stack([kernel, kernel * (u / math.sqrt(gap)), kernel * ((u**2 - 1) / gap)])
        z, first, second = density.product(shares, omega, reach, near, band)
        return z, first, second

    def _around(
        self, omega: Array, gap: float, at: Labels, band: slice, n_derivatives: int = 2
    ) -> tuple[Array, Array, Array]:
        """The same where P_out is smooth on the scale √V but for its breaks, at the labels of the grid."""
        root = math.sqrt(gap)
        result = np.empty((3, omega.size, at.labels[band].size))
        nearest = np.full(omega.size, -1)
        if self.breaks.size:
            distance = np.abs(self.breaks - omega[:, None])
            nearest = np.where(distance.min(axis=1) < REACH * root, np.argmin(distance, axis=1), -1)
        for i in np.unique(nearest):
            own = nearest == i
            if i < 0:
                # Panels of width w hold frequencies up to 16/w; so many nodes average them to 1e-14.
                u, w = hermite_rule(5 + math.ceil(120 * root / self.narrowest))
                outputs = omega[own, None] + root * u
            else:
                ends = self.breaks[i] + 2 * REACH * root * np.array([-1.0, 1.0])
                inside = self.breaks[(self.breaks > ends[0]) & (self.breaks < ends[1])]
                outputs, weight = panels(subdivide(np.sort(np.append(ends, inside)), 4 * root))
                u = (outputs - omega[own, None]) / root
                w = weight * without_traces(np.exp(-0.5 * u**2)) / (math.sqrt(2 * math.pi) * root)
            result[:, own] = self._average(outputs, gap, u, w, band, n_derivatives)
        return result[0], result[1], result[2]

    def _average(
        self, outputs: Array, gap: float, u: Array, w: Array, band: slice, n_derivatives: int
    ) -> tuple[Array, Array, Array]:
        """Averages over u from P_out at outputs ω + u√V, which all ω share if ``outputs`` has one axis."""
        root, channel = math.sqrt(gap), self.channel
        density = self.density(outputs, band)
        z = w @ density
        if n_derivatives == 0:
            return z, z, z
        is_by_kernel = channel.has_jumps and self.breaks.size > 0
        if is_by_kernel or (not channel.has_exact_score and root > 0.001 * self.narrowest):
            return z, (w * u) @ density / root, (w * (u**2 - 1)) @ density / gap
        density = density * channel.score(self.labels[band], outputs[..., None], 0.02 * self.narrowest)
        return z, w @ density, (w * u) @ density / root


def _clipped(edges: list[Array], low: float, high: float) -> Array:
    """All the edges between two ends, and the ends."""
    return np.unique(np.clip(np.concatenate([*edges, [low, high]]), low, high))


def _thinned(edges: Array, apart: float) -> Array:
    """The edges without those that follow another too closely, but with the ends."""
    kept = [edges[0]]
    for edge in edges[1:-1]:
        if edge - kept[-1] >= apart:
            kept.append(edge)
    return np.array([*kept, edges[-1]])


def _neighbours(edges: Array, m: int) -> Integers:
    """First panels of groups of ``m`` that follow each other and are as wide."""
    width = edges[:, 1] - edges[:, 0]
    is_next = (edges[1:, 0] == edges[:-1, 1]) & (np.abs(width[1:] - width[:-1]) < 1e-9 * width[1:])
    starts = np.flatnonzero(np.append(True, ~is_next))
    counts = np.diff(np.append(starts, len(edges)))
    return np.concatenate(
        [start + m * np.arange(count // m) for start, count in zip(starts, counts, strict=True)]
    )


def _merged(edges: Array, groups: list[Integers], is_missed: list[Bools]) -> Array:
    """The panels, with groups of them in one where this misses nothing: as many as possible."""
    kept, is_free = [], np.ones(len(edges), dtype=bool)
    for m, first, missed in reversed(list(zip(_MERGED, groups, is_missed, strict=True))):
        for i in first[is_free[first] & (~missed | (m == 1))]:
            kept.append((edges[i, 0], edges[i + m - 1, 1]))
            is_free[i : i + m] = False
    return np.array(sorted(kept))


@lru_cache(maxsize=8)
def _series_of_group(m: int) -> Array:
    """:func:`legendre_series` of one wide panel from all nodes of the ``m`` that it is made of.

    Up to a degree at which the narrow ones are still right.
    """
    n = max(16, 8 * m)
    x = np.polynomial.legendre.leggauss(16)[0]
    place = ((2 * np.arange(m)[:, None] + 1 + x) / m - 1).reshape(-1)
    series: Array = (np.polynomial.legendre.legvander(place, n - 1) * (np.arange(n) + 0.5)).T
    return series


def _missed(parts: Array) -> Array:
    """What Gauss's rule misses on each panel (axis before the last), from weighted values on its nodes.

    There may be the nodes of several panels, of which one with 16 nodes is to be made.
    """
    # Coefficients fall like ρ^-n, and the rule misses those from n = 32 on: the last one squared,
    # with something to spare.
    series = np.abs(parts @ _series_of_group(parts.shape[-1] // 16).T)
    largest = np.max(series, axis=-1)
    ratio = np.max(series[..., 14:], axis=-1) / np.where(largest > 0, largest, 1.0)
    missed: Array = largest * ratio**1.75
    return missed


def _logarithmic(z: Array, first: Array, second: Array) -> tuple[Array, ...]:
    """ln Z and its two derivatives."""
    safe = np.maximum(z, 1e-130)  # below, nothing is left to integrate
    slope = first / safe
    bend = second / safe
    bend -= slope * slope
    return np.log(safe), slope, bend


def _integrands(z: Array, first: Array, second: Array, labels: Array, label_weights: Array) -> Array:
    """Z ln Z dy, ½Z(∂ ln Z)² dy, ½Z(∂² ln Z)² dy and Z(y - <y>)² dy on (ω, labels)."""
    log_z, slope, bend = _logarithmic(z, first, second)
    mass = z * label_weights
    mean = (mass @ labels) / np.maximum(mass.sum(axis=1), 1e-300)
    rows: Array = mass * np.stack([log_z, 0.5 * slope**2, 0.5 * bend**2, (labels - mean[:, None]) ** 2])
    return rows


def _sums(z: Array, first: Array, second: Array, labels: Array, label_weights: Array) -> Array:
    """∫dy of Z ln Z, ½Z(∂ ln Z)², ½Z(∂² ln Z)², Z(y - <y>)² and Z at each ω, from Z and its derivatives."""
    log_z, slope, bend = _logarithmic(z, first, second)
    mass = z * label_weights
    row = mass.sum(axis=1)
    mean = (mass @ labels) / np.where(row > 0, row, 1.0)
    return np.stack(
        [
            np.einsum("ij,ij->i", mass, log_z),
            0.5 * np.einsum("ij,ij,ij->i", mass, slope, slope),
            0.5 * np.einsum("ij,ij,ij->i", mass, bend, bend),
            np.einsum("ij,ij->i", mass, (labels - mean[:, None]) ** 2),
            row,
        ]
    )

r"""Grids in the label y and in the output λ on which a likelihood P_out(y | λ) is resolved.

Both are refined until P_out is integrated to 1e-13 in either direction.  A label is seen from a band of
outputs only, and what lies outside is never computed: y = λ³ + noise has thousands of labels and of outputs,
but few pairs of them matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..._arrays import Array
from .label_rules import CHUNK, refine_labels, require_normalised, require_size
from .rules import REACH, legendre_series, panels

if TYPE_CHECKING:
    from .integrated import Integrated

__all__ = ["BandedDensity", "FewerLabels", "OutputGrid", "without_traces"]

_N = 16  # nodes of a panel
_N_BETWEEN = 3  # outputs from one for which labels are tried to the next: P_out is smooth on panels of 16
_SEEN = 1e-40  # likelihoods below this are not
_SMOOTH, _RARE = 1e-7, 1e-4  # last Legendre coefficients, of a label that is not this much rarer than others
_ROWS = 64  # outputs of a block of P_out
_BLOCK = 16  # panels looked at together: their bands of labels are almost the same


class OutputGrid:
    """Labels with their weights, and panels in λ, for outputs of variance ``power``."""

    def __init__(self, channel: Integrated, power: float) -> None:
        self.channel, self.power, self.centre = channel, power, channel.centre
        radius = REACH * math.sqrt(power)
        low, high = self.centre - radius, self.centre + radius
        self.breaks = np.array([b for b in sorted(channel.breaks) if low < b < high])
        even = np.linspace(low, high, 13)
        if self.breaks.size:  # an edge that should be on a break, but for rounding, is one
            even = even[np.abs(even[:, None] - self.breaks).min(axis=1) > 1e-6 * radius]
        edges = np.unique(np.concatenate([[low, high], even, self.breaks]))
        self.rule = rule = channel.label_rule(low, high)
        self.is_continuous = rule.label is not None
        label_edges = rule.values
        require_size(channel, _N * edges.size, label_edges.size * (_N if self.is_continuous else 1))
        for _ in range(12):
            some = panels(edges)[0][::_N_BETWEEN]
            label_edges, labels_moved = refine_labels(channel, rule, label_edges, some)
            self.labels, self.label_weights = rule.nodes(label_edges)
            edges, outputs_moved = self._refine_outputs(edges)
            require_size(channel, edges.size * _N, self.labels.size)
            if not (labels_moved or outputs_moved):
                break
        self.edges = edges
        self.narrowest = float(np.min(np.diff(edges)))
        self.outputs, self.output_weights = panels(edges)
        self.label_panels = np.column_stack([label_edges[:-1], label_edges[1:]])
        self._trim_labels()
        self._find_bands()

    def halve_labels(self, is_coarse: np.ndarray) -> None:
        """Halve some panels of the labels, which must be continuous."""
        low, high = self.label_panels[is_coarse].T
        middle = 0.5 * (low + high)
        halves = np.stack([low, middle, middle, high], axis=1).reshape(-1, 2)
        kept = np.concatenate([self.label_panels[~is_coarse], halves])
        self.label_panels = kept[np.argsort(kept[:, 0])]
        self.labels, self.label_weights = (x.reshape(-1) for x in self.rule.nodes(self.label_panels))
        require_size(self.channel, self.outputs.size, self.labels.size)
        self._find_bands()

    # ------------------------------------------------------------------ P_out and its bands

    def density(self, outputs: np.ndarray, band: slice) -> np.ndarray:
        """P_out on (outputs, labels of the band)."""
        return without_traces(np.exp(self.channel.log_likelihood(self.labels[band], outputs[..., None])))

    def band(self, low: float, high: float) -> slice:
        """Labels that can be seen from some output between ``low`` and ``high``."""
        i, j = np.searchsorted(self.outputs, [low, high])
        i, j = max(i - 1, 0), min(j + 1, self.outputs.size)
        if j <= i:
            i, j = max(j - 1, 0), max(j, 1)
        first, last = int(self._first[i:j].min()), int(self._last[i:j].max())
        return slice(first, last + 1) if last >= first else slice(None)

    # ------------------------------------------------------------------ making the grids

    def _possible(self, low: float, high: float) -> slice:
        """Labels that the channel may give between two outputs, before it is known which are seen."""
        ends = self.channel.label_range(low, high)
        if ends is None:
            return slice(0, self.labels.size)
        i, j = np.searchsorted(self.labels, ends)
        return slice(max(int(i) - 1, 0), min(int(j) + 1, self.labels.size))

    def _refine_outputs(self, edges: np.ndarray) -> tuple[np.ndarray, bool]:
        """Edges between which the likelihood of each label, rare ones too, is a polynomial to 1e-7.

        Its integral is then right to the square of this, and so are averages over Gaussians that are not
        narrower than a quarter of a panel.
        """
        moved = False
        check = np.column_stack([edges[:-1], edges[1:]])
        done = []
        peak = np.zeros(self.labels.size)
        last_rows = legendre_series()[-2:]
        while check.size:
            rest = np.zeros(len(check))
            for first in (True, False):  # how likely a label can be has to be known before
                for part, band in self._runs(check):
                    x, w = panels(check[part])
                    share = (w * self._gaussian(x))[..., None] * self.density(x, band)
                    if first:
                        peak[band] = np.maximum(peak[band], share.sum(axis=1).max(axis=0))
                    else:
                        tail = np.abs(np.einsum("dj,ijk->idk", last_rows, share)).max(axis=1)
                        rest[part] = (tail / (peak[band] + _RARE * peak.max())).max(axis=1)
            good = rest <= _SMOOTH
            done.append(check[good][:, 0])
            low, high = check[~good].T
            middle = 0.5 * (low + high)
            moved |= bool(middle.size)
            # Neighbours stay together, for they see the same labels.
            check = np.stack([low, middle, middle, high], axis=1).reshape(-1, 2)
            require_size(self.channel, _N * (sum(map(len, done)) + len(check)), self.labels.size)
        return np.append(np.sort(np.concatenate(done)), edges[-1]), moved

    def _runs(self, check: np.ndarray) -> Iterator[tuple[slice, slice]]:
        """Panels that can be looked at together, and the labels possible there."""
        i = 0
        while i < len(check):
            part = slice(i, i + _BLOCK)
            band = self._possible(float(check[part, 0].min()), float(check[part, 1].max()))
            size = max(1, CHUNK // (3 * _N * max(band.stop - band.start, 1)))
            part = slice(i, i + min(size, _BLOCK))
            yield part, band
            i = part.stop

    def _gaussian(self, x: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * (x - self.centre) ** 2 / self.power) / math.sqrt(2 * math.pi * self.power)

    def _panels(self) -> Iterator[tuple[slice, slice]]:
        """Runs of output nodes and the labels possible there."""
        n = self.outputs.size
        for i in range(0, n, _BLOCK * _N):
            part = slice(i, min(i + _BLOCK * _N, n))
            yield part, self._possible(float(self.outputs[part][0]), float(self.outputs[part][-1]))

    def _trim_labels(self) -> None:
        mass = np.zeros(self.labels.size)
        w = self.output_weights * self._gaussian(self.outputs)
        for part, band in self._panels():
            mass[band] += w[part] @ self.density(self.outputs[part], band)
        mass *= self.label_weights
        per_panel = _N if self.is_continuous else 1
        keep = np.repeat(mass.reshape(-1, per_panel).sum(axis=1) > 1e-20 * mass.sum(), per_panel)
        self.labels, self.label_weights = self.labels[keep], self.label_weights[keep]
        if self.is_continuous:
            self.label_panels = self.label_panels[keep[::_N]]

    def _find_bands(self) -> None:
        """Which labels each output sees, and the density of each label when nothing is known of λ."""
        n = self.outputs.size
        self._first, self._last = np.full(n, self.labels.size), np.full(n, -1)
        self.label_density = np.zeros(self.labels.size)
        w = self.output_weights * self._gaussian(self.outputs)
        for part, band in self._panels():
            p = self.density(self.outputs[part], band)
            self.label_density[band] += w[part] @ p
            seen = p > _SEEN
            any_seen = seen.any(axis=1)
            self._first[part] = np.where(any_seen, np.argmax(seen, axis=1) + band.start, self.labels.size)
            self._last[part] = np.where(any_seen, band.stop - 1 - np.argmax(seen[:, ::-1], axis=1), -1)

    def look(self) -> None:
        """The averages over the labels that are smooth functions of λ: once the grid of labels is final."""
        n, channel = self.outputs.size, self.channel
        mass, entropy, fisher, mean, variance = np.zeros((5, n))
        for part, band in self._panels():
            outputs, labels = self.outputs[part, None], self.labels[band]
            log_p = channel.log_likelihood(labels, outputs)
            p = np.exp(log_p)
            seen = p > _SEEN
            p, log_p = np.where(seen, p * self.label_weights[band], 0.0), np.where(seen, log_p, 0.0)
            score = np.where(seen, channel.rough_score(labels, outputs, 0.02 * self.narrowest), 0.0)
            mass[part], mean[part] = p.sum(axis=1), p @ labels
            entropy[part] = np.einsum("ij,ij->i", p, log_p)
            fisher[part] = np.einsum("ij,ij,ij->i", p, score, score)
            variance[part] = np.einsum("ij,ij->i", p, (labels - mean[part, None]) ** 2)
        w = self.output_weights * self._gaussian(self.outputs)
        near = np.abs(self.outputs - self.centre) < 5 * math.sqrt(self.power)
        require_normalised(channel, self.outputs[near], mass[near])
        self.has_variance = self._has_variance()
        self.known = float(w @ entropy), float(w @ variance) if self.has_variance else math.inf
        rows = [entropy, fisher, mean, variance] if self.has_variance else [entropy, fisher]
        self.smooth_edges = self._smooth_edges(np.stack(rows))
        self.turns = self._turns(fisher)

    def _has_variance(self) -> bool:
        """Whether E y² has converged on the grid of labels: it has not for a heavy tail."""
        if not self.is_continuous:
            return True
        part = (self.density(np.array([self.centre]), slice(None)) * self.label_weights * self.labels**2)[0]
        ends = part[:2].sum() + part[-2:].sum()
        return bool(ends < 1e-8 * part.sum())

    def _turns(self, fisher: np.ndarray) -> np.ndarray:
        """Outputs at which a label stops telling larger from smaller ones: there λ and its mirror image
        give the same labels, and which of them it is may be settled on a scale much shorter than √V."""
        panel = fisher.reshape(-1, _N)
        around = np.array([panel[max(i - 1, 0) : i + 2].max() for i in range(len(panel))])
        low = np.flatnonzero((fisher[1:-1] < fisher[:-2]) & (fisher[1:-1] <= fisher[2:])) + 1
        low = low[fisher[low] < 1e-2 * around[low // _N]]
        # The bottom of the parabola through three nodes of √fisher with the sign changed in between.
        x, f = self.outputs, np.sqrt(fisher)
        left, right = np.maximum(low - 2, 0), np.minimum(low + 2, x.size - 1)
        is_seen = f[left] + f[right] > 0  # otherwise labels tell nothing over a whole stretch
        left, right = left[is_seen], right[is_seen]
        turns: np.ndarray = (x[left] * f[right] + x[right] * f[left]) / (f[left] + f[right])
        return turns

    def _smooth_edges(self, rows: np.ndarray) -> np.ndarray:
        """Panels as wide as they can be for functions of λ, known on the nodes, to be polynomials still."""
        rows = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
        damping = np.exp(-0.5 * (self.outputs - self.centre) ** 2 / self.power)
        series = legendre_series() * np.polynomial.legendre.leggauss(_N)[1]
        coefficients = rows.reshape(len(rows), -1, _N) @ series.T  # (row, panel, degree)

        def on_panels(x: Array) -> Array:
            i = np.clip(np.searchsorted(self.edges, x) - 1, 0, self.edges.size - 2)
            low, high = self.edges[i], self.edges[i + 1]
            local = np.clip(2 * (x - low) / (high - low) - 1, -1.0, 1.0)
            values: Array = np.einsum(
                "rxd,xd->rx", coefficients[:, i], np.polynomial.legendre.legvander(local, _N - 1)
            )
            return values

        def is_polynomial(i: int, j: int) -> bool:
            low, high = self.edges[i], self.edges[j]
            inside = slice(_N * i, _N * j)
            fit = on_panels(panels(np.array([low, high]))[0]) @ series.T
            local = 2 * (self.outputs[inside] - low) / (high - low) - 1
            off = rows[:, inside] - fit @ np.polynomial.legendre.legvander(local, _N - 1).T
            return bool(np.all(np.abs(off) * damping[inside] < _SMOOTH))

        kept, i = [0], 0
        fixed = np.searchsorted(self.edges, [*self.breaks, self.edges[-1]])
        while i < self.edges.size - 1:
            # The largest power of two of panels that one polynomial follows, not across a break.
            most, n = int(fixed[fixed > i][0]) - i, 1
            while 2 * n <= most and is_polynomial(i, i + 2 * n):
                n *= 2
            i += n
            kept.append(i)
        return self.edges[kept]


class FewerLabels:
    """Labels in wider panels than those of the grid, for predictive laws that are smoother than P_out."""

    def __init__(self, grid: OutputGrid, panels: Array) -> None:
        self._grid = grid
        self.labels, self.label_weights = (x.reshape(-1) for x in grid.rule.nodes(panels))

    def density(self, outputs: Array, band: slice) -> Array:
        """P_out on (outputs, labels of the band)."""
        log_p = self._grid.channel.log_likelihood(self.labels[band], outputs[..., None])
        return without_traces(np.exp(log_p))

    def band(self, low: float, high: float) -> slice:
        """Labels among those of the grid that can be seen, and one more on either side."""
        seen = self._grid.labels[self._grid.band(low, high)]
        first, last = np.searchsorted(self.labels, [seen[0], seen[-1]])
        return slice(max(int(first) - 1, 0), min(int(last) + 1, self.labels.size))


class BandedDensity:
    """P_out on (outputs, labels), in blocks of outputs with the labels that they see, made when needed."""

    def __init__(self, grid: OutputGrid | FewerLabels, outputs: np.ndarray) -> None:
        self._grid, self._outputs = grid, outputs
        self._blocks: dict[int, tuple[int, np.ndarray]] = {}

    def product(
        self, shares: np.ndarray, omega: np.ndarray, reach: float, near: slice, band: slice
    ) -> np.ndarray:
        """``shares`` (anything, ω, outputs of ``near``) times P_out, for the labels of ``band``.

        Shares of outputs further than ``reach`` from ω, which must be sorted, count as 0.
        """
        first, last, _ = band.indices(self._grid.labels.size)
        result = np.zeros((*shares.shape[:2], last - first))
        for k in range(near.start // _ROWS, -(-near.stop // _ROWS)):
            start, p = self._block(k)
            rows = slice(max(near.start, k * _ROWS), min(near.stop, (k + 1) * _ROWS))
            low, high = max(first, start), min(last, start + p.shape[1])
            ends = self._outputs[rows.start] - reach, self._outputs[rows.stop - 1] + reach
            seen = slice(*np.searchsorted(omega, ends))
            if low < high and seen.start < seen.stop:
                p = p[rows.start - k * _ROWS : rows.stop - k * _ROWS, low - start : high - start]
                result[:, seen, low - first : high - first] += (
                    shares[:, seen, rows.start - near.start : rows.stop - near.start] @ p
                )
        return result

    def _block(self, k: int) -> tuple[int, np.ndarray]:
        """First label that the block sees, and P_out from there on."""
        if k not in self._blocks:
            outputs = self._outputs[k * _ROWS : (k + 1) * _ROWS]
            band = self._grid.band(float(outputs[0]), float(outputs[-1]))
            self._blocks[k] = band.indices(self._grid.labels.size)[0], self._grid.density(outputs, band)
        return self._blocks[k]


def without_traces(x: np.ndarray) -> np.ndarray:
    """``x`` without what is too small to matter, for processors are slow at products of such numbers."""
    x[x < 1e-150] = 0.0
    return x

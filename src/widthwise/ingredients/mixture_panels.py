r"""Where to cut the axis of y = sqrt(snr) w + z so that Gauss–Legendre resolves every posterior average.

w is a mixture of Gaussians, sorted by mean. The axis is divided into cells, one for each mean, that meet half
way between neighbours; positions are kept as distances from the mean of their cell. Atoms much closer to each
other than to 0 would otherwise have no digits left at large snr, where y itself is huge.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array

__all__ = ["NODE", "NODE_WEIGHT", "MixturePanels", "Panels"]

Index = NDArray[np.intp]

# Gauss–Legendre panels: 16 nodes on 1.5 standard deviations, and on 3 logistic widths next to a crossing of
# two components (zeros of p(y) lie pi widths off the axis), leave less than 1e-15.
NODE, NODE_WEIGHT = np.polynomial.legendre.leggauss(16)
_PANEL = 1.5
_BODY = np.arange(-10.5, 10.6, _PANEL)
# Panels double away from a crossing: there p Var(w|y) falls at least like exp(-|t|/2), t in logistic widths.
_CROSSING = np.array([-80.0, -48, -24, -12, -6, -3, 0, 3, 6, 12, 24, 48, 80])
_CROSSING_PANEL = np.array([32.0, 24, 12, 6, 3, 3, 3, 3, 3, 6, 12, 24, 32])
_BATCH = 200_000  # doubles in one array


class Panels(NamedTuple):
    """Intervals of y, in order: which snr, which cell, and the ends as distances from its mean."""

    owner: Index
    cell: Index
    low: Array
    high: Array


class _Edges(NamedTuple):
    """Places asked for (snr, edges): distances from the mean of a component, and the panel wanted there."""

    component: Index
    offset: Array
    size: Array


class MixturePanels:
    """Panels for a mixture whose components (sorted by mean) are given, with ``apart[i, j]`` = m_i - m_j."""

    def __init__(self, apart: Array, variances: Array, probabilities: Array, *, is_smooth: bool = False):
        self._apart, self._v, self._log_p = apart, variances, np.log(probabilities)
        self._is_smooth = is_smooth
        # Where the cells end, seen from each component: half way between neighbouring means.
        self._ends = 0.5 * (apart[1:] + apart[:-1]).T

    def __call__(self, snr: Array) -> Panels:
        root, width = np.sqrt(snr)[:, None], np.sqrt(1 + snr[:, None] * self._v)
        n_snr, n = width.shape
        edges = _Edges(
            np.broadcast_to(np.repeat(np.arange(n), _BODY.size), (n_snr, n * _BODY.size)),
            (width[..., None] * _BODY).reshape(n_snr, -1),
            np.repeat(width * _PANEL, _BODY.size, axis=1),
        )
        if not self._is_smooth and n > 1:
            more = self._crossings(root, width)
            edges = _joined(edges, more, axis=1)
        cell, place, size = self._in_cells(edges, root, width)
        order = np.lexsort((place, cell), axis=1)
        cell = np.take_along_axis(cell, order, axis=1)
        place, size = (np.take_along_axis(a, order, axis=1) for a in (place, size))
        owner, column = np.nonzero(_thinned(cell, place, size))
        cell, place = cell[owner, column], place[owner, column]
        is_panel = (owner[1:] == owner[:-1]) & (cell[1:] == cell[:-1]) & (place[1:] > place[:-1])
        return Panels(owner[:-1][is_panel], cell[:-1][is_panel], place[:-1][is_panel], place[1:][is_panel])

    def _in_cells(self, edges: _Edges, root: Array, width: Array) -> tuple[Index, Array, Array]:
        """Cell, place in it and panel wanted, of every edge and of both ends of every cell (0: keep them)."""
        n_snr, n = width.shape
        cell = np.empty(edges.offset.shape, dtype=np.intp)
        rows = max(1, _BATCH // (edges.offset.shape[1] * n))
        for first in range(0, n_snr, rows):
            part = slice(first, first + rows)
            ends = root[part, :, None] * self._ends[edges.component[part]]
            cell[part] = np.count_nonzero(edges.offset[part][..., None] > ends, axis=2)
        place = edges.offset + root * self._apart[edges.component, cell]
        half = 0.5 * root * np.diagonal(self._apart, -1)
        first = (root * self._apart[:, 0] + _BODY[0] * width).min(axis=1, keepdims=True)
        last = (root * self._apart[:, -1] + _BODY[-1] * width).max(axis=1, keepdims=True)
        low, high = np.concatenate([first, -half], axis=1), np.concatenate([half, last], axis=1)
        place = np.clip(place, np.take_along_axis(low, cell, axis=1), np.take_along_axis(high, cell, axis=1))
        every = np.broadcast_to(np.arange(n), low.shape)
        return (
            np.concatenate([cell, every, every], axis=1),
            np.concatenate([place, low, high], axis=1),
            np.concatenate([edges.size, np.zeros((n_snr, 2 * n))], axis=1),
        )

    def _crossings(self, root: Array, width: Array) -> _Edges:
        """Edges where the two most likely components change places, graded by the distance over which."""
        if self._v.any():
            i, j = np.triu_indices(width.shape[1], 1)
            # Seen from the narrower one, whose mean may be far away in units of its width.
            i, j = np.where(self._v[i] <= self._v[j], (i, j), (j, i))
            rows = max(1, _BATCH // (2 * i.size * width.shape[1]))
            parts = [
                self._top_crossings(root[first : first + rows], width[first : first + rows], i, j)
                for first in range(0, root.size, rows)
            ]
        else:
            parts = [self._atom_crossings(float(x)) for x in root[:, 0]]
        n_top = max(part.offset.shape[1] for part in parts)
        component, at, scale = _joined(*(_padded(part, n_top) for part in parts), axis=0)
        shape = (root.size, n_top * _CROSSING.size)
        return _Edges(
            np.repeat(component, _CROSSING.size, axis=1),
            (at[..., None] + scale[..., None] * _CROSSING).reshape(shape),
            (scale[..., None] * _CROSSING_PANEL).reshape(shape),
        )

    def _atom_crossings(self, root: float) -> _Edges:
        """The same for atoms: but for a common parabola ln p_i(y) are lines, whose upper envelope this is."""
        apart: list[list[float]] = self._apart.tolist()
        log_p: list[float] = self._log_p.tolist()

        def crossing(i: int, j: int) -> float:
            gap = root * apart[j][i]
            return gap / 2 + (log_p[i] - log_p[j]) / gap  # from the mean of component i

        top = [0]
        for j in range(1, len(log_p)):
            while len(top) > 1:
                before, i = top[-2:]
                if crossing(i, j) > crossing(before, i) - root * apart[i][before]:
                    break
                top.pop()
            top.append(j)
        pairs = list(zip(top, top[1:], strict=False))
        at = np.array([[crossing(i, j) for i, j in pairs]])
        scale = np.array([[min(1 / (root * apart[j][i]), 1.0) for i, j in pairs]])
        return _Edges(np.array([[i for i, _ in pairs]]), at, scale)

    def _top_crossings(self, root: Array, width: Array, i: Index, j: Index) -> _Edges:
        """The crossings themselves; rows with fewer of them are filled with the mean of component 0."""
        gap, s_i, s_j = root * self._apart[j, i], width[:, i], width[:, j]
        a = (1 / s_j**2 - 1 / s_i**2) / 2
        b = -gap / s_j**2
        c = self._log_p[i] - self._log_p[j] + np.log(s_j / s_i) + gap**2 / (2 * s_j**2)
        with np.errstate(all="ignore"):  # absent roots become NaN or infinite and are dropped
            q = -(b + np.copysign(np.sqrt(b * b - 4 * a * c), b)) / 2
            at = np.concatenate([q / a, c / q], axis=1)  # from the mean of component i
            slope = np.abs(2 * np.tile(a, 2) * at + np.tile(b, 2))
            scale = np.minimum(1 / slope, np.tile(np.minimum(s_i, s_j), 2))
            i = np.tile(i, 2)
            z = (at[..., None] + root[..., None] * self._apart[i]) / width[:, None]
            log_joint = (self._log_p - np.log(width))[:, None] - z**2 / 2
            here = np.take_along_axis(log_joint, i[None, :, None], axis=2)[..., 0]
            is_top = np.isfinite(at) & (here >= log_joint.max(axis=2) - 1e-6 * (1 + np.abs(here)))
        n_top = max(1, int(is_top.sum(axis=1).max()))
        order = np.argsort(~is_top, axis=1, kind="stable")[:, :n_top]
        is_kept = np.take_along_axis(is_top, order, axis=1)
        return _Edges(
            np.where(is_kept, i[order], 0),
            np.where(is_kept, np.take_along_axis(at, order, axis=1), 0.0),
            np.where(is_kept, np.take_along_axis(scale, order, axis=1), width[:, :1]),
        )


def _joined(*parts: _Edges, axis: int) -> _Edges:
    return _Edges(
        np.concatenate([part.component for part in parts], axis=axis),
        np.concatenate([part.offset for part in parts], axis=axis),
        np.concatenate([part.size for part in parts], axis=axis),
    )


def _padded(part: _Edges, length: int) -> _Edges:
    """The edges with the last one repeated."""
    column = np.minimum(np.arange(length), part.offset.shape[1] - 1)
    return _Edges(part.component[:, column], part.offset[:, column], part.size[:, column])


def _thinned(cell: Index, place: Array, size: Array) -> NDArray[np.bool_]:
    """Which edges to keep: not those closer to the last one kept than half the panel they ask for."""
    is_kept = np.ones(cell.shape, dtype=bool)
    last = place[:, 0]
    for column in range(1, cell.shape[1]):
        is_new = cell[:, column] != cell[:, column - 1]
        is_kept[:, column] = is_new | (place[:, column] - last >= size[:, column] / 2)
        last = np.where(is_kept[:, column], place[:, column], last)
    return is_kept

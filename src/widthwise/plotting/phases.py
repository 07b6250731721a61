"""Phase diagrams between their points: sharp edges on the lines, and names where there is room for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["fine_map", "phase_places"]

_LEAST = 0.03  # of the diagram: smaller phases get no name


def phase_places(
    phase: np.ndarray,
    first: ArrayLike,
    second: ArrayLike,
    names: Sequence[str],
    lines: Sequence[ArrayLike] = (),
) -> list[tuple[str, float, float]]:
    """(name, place on the first axis, on the second) of each phase that fills enough of a diagram.

    ``phase`` is the number of classes learnt, over both axes, and ``names`` are those of its values. The
    place is the point furthest from where another phase begins, from the ``lines`` (values on the second axis
    in each column) and from the frame.
    """
    from scipy.ndimage import distance_transform_edt

    xs, ys = np.asarray(first), np.asarray(second)
    share = np.linspace(0, 1, xs.size)
    is_central = (share > 0.16) & (share < 0.84)
    is_free = np.ones(phase.shape, dtype=bool)
    for line in lines:
        for column, place in enumerate(np.asarray(line, dtype=float)):
            if ys[0] <= place <= ys[-1]:
                is_free[column, int(np.argmin(np.abs(ys - place)))] = False
    places = []
    for n in np.unique(phase[np.isfinite(phase)]):
        own = (phase == n) & is_free
        if own.mean() < _LEAST or n >= len(names):
            continue
        # A name is wider than high: steps along the first axis count less.
        room = distance_transform_edt(np.pad(own, 1), sampling=(0.5 / xs.size, 1 / ys.size))[1:-1, 1:-1]
        if (room[is_central] > 0).any():  # a name beside the frame would be cut
            room[~is_central] = 0.0
        i, j = np.unravel_index(int(np.argmax(room)), room.shape)
        places.append((names[int(n)], float(xs[i]), float(ys[j])))
    return places


def fine_map(
    first: ArrayLike,
    alphas: ArrayLike,
    values: np.ndarray,
    lines: Sequence[ArrayLike],
    *,
    is_log: tuple[bool, bool] = (False, False),
    shape: tuple[int, int] = (240, 240),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A quantity between the points of a diagram, with its edges on the lines: (first, alphas, values).

    ``lines`` are values of α in each column, NaN where a line does not exist. A point between two columns is
    looked up in both at the same height between the lines that enclose it, so that a jump stays a jump; where
    a line ends between them, at the same α. Inside a column it is interpolated between points of one side.
    """
    given = zip((first, alphas), is_log, strict=True)
    x, y = (np.log(a) if log else np.asarray(a, dtype=float) for a, log in given)
    xs, ys = np.linspace(x[0], x[-1], shape[0]), np.linspace(y[0], y[-1], shape[1])
    table = np.array(lines, dtype=float).reshape(-1, x.size)
    table = np.log(table) if is_log[1] else table
    fine = np.empty(shape)
    for i, place in enumerate(xs):
        left = min(max(int(np.searchsorted(x, place, side="right")) - 1, 0), x.size - 2)
        share = (place - x[left]) / (x[left + 1] - x[left])
        shared = np.isfinite(table[:, left]) & np.isfinite(table[:, left + 1])
        ends = [np.sort(table[shared, j]) for j in (left, left + 1)]
        here = np.concatenate([[-np.inf], (1 - share) * ends[0] + share * ends[1], [np.inf]])
        part = np.searchsorted(here, ys, side="right") - 1
        columns = []
        for j, bounds in zip((left, left + 1), ends, strict=True):
            own = np.concatenate([[-np.inf], bounds, [np.inf]])
            columns.append(_column(y, values[j], own, table[:, j], _moved(ys, part, here, own), part))
        fine[i] = (1 - share) * columns[0] + share * columns[1]
    back = [np.exp(a) if log else a for a, log in zip((xs, ys), is_log, strict=True)]
    return back[0], back[1], fine


def _moved(ys: np.ndarray, part: np.ndarray, here: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Heights between the lines of this place, as heights between those of a column."""
    low, high, low_own, high_own = here[part], here[part + 1], own[part], own[part + 1]
    with np.errstate(invalid="ignore", divide="ignore"):  # the first and the last part have no end
        between = low_own + (ys - low) * (high_own - low_own) / (high - low)
        below, above = ys + high_own - high, ys + low_own - low
    is_low, is_high = np.isfinite(low), np.isfinite(high)
    return np.select([is_low & is_high, is_high, is_low], [between, below, above], ys)


def _column(
    y: np.ndarray, values: np.ndarray, bounds: np.ndarray, lines: np.ndarray, at: np.ndarray, part: np.ndarray
) -> np.ndarray:
    """Values of a column at some heights, each between the bounds of its part."""
    found = np.full(at.shape, np.nan)
    inner = np.sort(lines[np.isfinite(lines)])
    for n in np.unique(part):
        # Other lines of the column, which its neighbour does not have, part it further.
        own_lines = inner[(inner > bounds[n]) & (inner < bounds[n + 1])]
        edges = np.concatenate([bounds[n : n + 1], own_lines, bounds[n + 1 : n + 2]])
        for low, high in zip(edges[:-1], edges[1:], strict=True):
            asked = (part == n) & (at >= low) & (at <= high)
            own = (y > low) & (y < high) & np.isfinite(values)
            if asked.any() and own.any():
                found[asked] = np.interp(at[asked], y[own], values[own])
    # A part without a point of its own takes the nearest one.
    lost, good = np.isnan(found), np.isfinite(values)
    if lost.any() and good.any():
        nearest = np.abs(at[lost][:, None] - y[good]).argmin(axis=1)
        found[lost] = values[good][nearest]
    return found

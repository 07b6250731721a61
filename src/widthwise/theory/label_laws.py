"""Laws of a continuous label between the nodes on which they are given: medians and mean distances."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre

from .._arrays import Array, Integers

__all__ = ["LabelLaws"]

_SIZE = 16  # nodes to a panel


class LabelLaws:
    """Laws given at Gauss–Legendre nodes, 16 to a panel, as polynomials there: right to about 1e-8."""

    def __init__(self, labels: Array, p: Array) -> None:
        """``labels`` and, on (laws, labels), density times weight."""
        self.n = p.shape[0]
        x, weight = legendre.leggauss(_SIZE)
        to_series = (legendre.legvander(x, _SIZE - 1) * weight[:, None]).T
        to_series *= (np.arange(_SIZE) + 0.5)[:, None]
        self._to_series, self._weight = to_series, weight
        self._parts = p.reshape(self.n, -1, _SIZE)
        self._labels = labels.reshape(-1, _SIZE)
        self._label_series = self._labels @ to_series.T

    def median(self) -> np.ndarray:
        """The median of each law."""
        panel, x = self._inside(self._parts, 0.5)
        return legendre.legval(x, self._label_series[panel].T, tensor=False)

    def _inside(self, parts: Array, share: float) -> tuple[Integers, Array]:
        """Panel, and place in it, where each law has that share of its mass below."""
        masses = parts.sum(axis=2)
        total = np.cumsum(masses, axis=1)
        goal = share * total[:, -1]
        panel = np.argmax(total >= goal[:, None], axis=1)
        rows = np.arange(self.n)
        left = goal - (total[rows, panel] - masses[rows, panel])
        return panel, _increasing(self._integral(parts[rows, panel]), left)

    def _integral(self, parts: Array) -> np.ndarray:
        """Series of the mass from the left end of the panel, from that at its nodes; one law a column."""
        return legendre.legint((parts / self._weight) @ self._to_series.T, lbnd=-1, axis=1).T

    def absolute(self, points: Array) -> Array:
        """E|y - point| for each law and its point."""
        rows = np.arange(self.n)
        ends = legendre.legval(1.0, self._label_series.T)
        panel = np.clip(np.searchsorted(ends, points), 0, len(self._labels) - 1)
        x = _increasing(self._label_series[panel].T, points)
        below, total = [], []
        for parts in (self._parts, self._parts * self._labels):
            sums = np.cumsum(parts.sum(axis=2), axis=1)
            before = np.where(panel > 0, sums[rows, panel - 1], 0.0)
            inside = legendre.legval(x, self._integral(parts[rows, panel]), tensor=False)
            below.append(before + inside)
            total.append(sums[:, -1])
        mass, moment = below
        mean: Array = points * (2 * mass - total[0]) + total[1] - 2 * moment
        return mean


def _increasing(series: Array, goal: Array) -> Array:
    """Where increasing functions on [-1, 1] reach their goals: Newton's method inside brackets."""
    slope = legendre.legder(series)
    low, high = -np.ones(goal.size), np.ones(goal.size)
    x = np.zeros(goal.size)
    for _ in range(60):
        off = legendre.legval(x, series, tensor=False) - goal
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = x - off / legendre.legval(x, slope, tensor=False)
        is_done = (np.abs(newton - x) < 1e-12) | (high - low < 1e-15)
        if is_done.all():
            break
        is_inside = (newton > low) & (newton < high)
        x = np.where(is_done, x, np.where(is_inside, newton, 0.5 * (low + high)))
    return x

r"""A bare callable made fit for quadrature: vectorised, with its kinks found and a derivative of high order.

The function is replaced, for the derivative only, by polynomials of degree 15 on panels that halve until they
represent it to rounding. Where they would halve for ever there is a kink, and no panel reaches across it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from widthwise.ingredients.hermite import N_NODES, RADII, gauss_legendre, resolve

from .._arrays import Array

__all__ = ["SampledFunction"]

_SUSPICIOUS = 0.02  # smooth functions worth integrating are resolved by wider panels than this


class SampledFunction:
    """A function of an array, its kinks and its derivative."""

    rounding = 50.0  # of the derivative, in units of what a formula would give

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        radius = RADII[0]
        # The first edges are crooked on purpose: a kink at 0 or 1/2 that fell on an edge would go unseen.
        start = np.linspace(-radius - 0.1234567, radius + 0.0987654, 29)
        self.kinks: tuple[float, ...] = ()
        sample = self(np.linspace(-radius, radius, 201))
        self._edges = start
        if np.all(np.isfinite(sample)):  # the caller reports the place if it is not
            edges = resolve(self, start, check_ends=True)
            self.kinks = tuple(self._locate(core) for core in _cores(edges))
            if self.kinks:
                # Panels next to a kink now end there; slivers left by the search would only add noise.
                edges = resolve(self, np.union1d(start, self.kinks))
            self._edges = edges
        self._table = self._differentiate()

    def __call__(self, x: Array) -> Array:
        """The function, elementwise."""
        x = np.asarray(x, dtype=float)
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(self._function(x), dtype=float)
            if value.shape == x.shape:
                return value
        except (TypeError, ValueError):
            pass
        # A function of one number, such as math.tanh.
        value = np.array([float(self._function(float(point))) for point in x.ravel()])
        return value.reshape(x.shape)

    def derivative(self, x: Array) -> Array:
        """Derivative, elementwise, from the polynomial of the panel (beyond them: central differences)."""
        x = np.asarray(x, dtype=float)
        flat = x.ravel()
        edges = self._edges
        panel = np.clip(np.searchsorted(edges, flat, side="right") - 1, 0, edges.size - 2)
        width = np.diff(edges)[panel]
        local = 2 * (flat - edges[panel]) / width - 1
        inside = np.abs(local) <= 1
        result: np.ndarray = np.polynomial.legendre.legval(
            np.where(inside, local, 0.0), self._table[:, panel], tensor=False
        )
        if not inside.all():
            far = flat[~inside]
            step = 1e-3
            near_difference = (self(far + step) - self(far - step)) / (2 * step)
            far_difference = (self(far + 2 * step) - self(far - 2 * step)) / (4 * step)
            result[~inside] = (4 * near_difference - far_difference) / 3
        return result.reshape(x.shape)

    def _locate(self, core: tuple[float, float]) -> float:
        """The kink inside ``core``: half way between where polynomials fitted left and right of it fail."""
        low, high = core
        width = min(max(20 * (high - low), 1e-3), 0.2)
        node, _ = gauss_legendre(N_NODES)
        fails = []
        for start, stop, away in ((low, high, -1.0), (high, low, 1.0)):
            x = start + away * 0.5 * width * (1 + node)
            fit = np.polynomial.Legendre.fit(x, self(x), N_NODES - 1)
            allowed = 1e-12 * float(np.max(np.abs(self(x)), initial=1.0))
            for _ in range(60):
                middle = 0.5 * (start + stop)
                if abs(float(self(np.array(middle))) - fit(middle)) > allowed:
                    stop = middle
                else:
                    start = middle
            fails.append(stop)
        place, doubt = 0.5 * (fails[0] + fails[1]), abs(fails[0] - fails[1])
        rounded = round(place, 6) + 0.0  # no negative zero
        return rounded if abs(rounded - place) <= doubt + 1e-11 else place

    def _differentiate(self) -> Array:
        """Legendre coefficients of the derivative, one column for each panel."""
        node, weight = gauss_legendre(N_NODES)
        width = np.diff(self._edges)
        values = self(self._edges[:-1] + 0.5 * width * (1 + node[:, None]))
        if not np.all(np.isfinite(values)):
            return np.full((N_NODES - 1, width.size), np.nan)
        basis = np.polynomial.legendre.legvander(node, N_NODES - 1)
        coefficients = (basis * weight[:, None]).T @ values * (np.arange(N_NODES) + 0.5)[:, None]
        # A coefficient at the level of rounding is amplified 2 n^2 / width times by the derivative: drop it.
        size = np.abs(values).max(axis=0)
        coefficients[np.abs(coefficients) < 4e-16 * size] = 0.0
        return np.polynomial.legendre.legder(coefficients, axis=0) * (2 / width)


def _cores(edges: Array) -> list[tuple[float, float]]:
    """Narrowest panel, with its neighbours, of each run of suspiciously narrow ones."""
    width = np.diff(edges)
    narrow = width < _SUSPICIOUS
    starts = np.flatnonzero(narrow & ~np.insert(narrow[:-1], 0, False))
    stops = np.flatnonzero(narrow & ~np.append(narrow[1:], False)) + 1
    cores = []
    for start, stop in zip(starts, stops, strict=True):
        at = int(start) + int(np.argmin(width[start:stop]))
        first, last = max(at - 1, 0), min(at + 2, int(edges.size) - 1)
        cores.append((float(edges[first]), float(edges[last])))
    return cores

"""Adaptive Gauss–Legendre quadrature along the bands of many spectra at once.

In the angle φ, with a = middle + half·sin φ, the square-root ends of a band are smooth.
Panels of sixteen nodes are halved until their Legendre coefficients decay fast enough;
all panels of all spectra form one array, so a hundred spectra cost one pass of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._arrays import Array, Bools, Integers
from .spectral_curve import Bands, CurvePoints, Poles
from .trapezoid import Tolerance, integrate_far_bands

__all__ = ["Panels", "integrate"]

_ORDER = 16
_X, _W = np.polynomial.legendre.leggauss(_ORDER)
# Legendre coefficients of a panel's values: c_n = (2n+1)/2 Σ w f P_n.
_TO_LEGENDRE = (np.polynomial.legendre.legvander(_X, _ORDER - 1) * _W[:, None]) * (np.arange(_ORDER) + 0.5)
# From a panel's values to those at the nodes of its two halves.
_TO_HALVES = np.stack(
    [_TO_LEGENDRE @ np.polynomial.legendre.legvander(0.5 * (_X + side), _ORDER - 1).T for side in (-1, 1)]
)
_MAX_DEPTH = 48
_MAX_PANELS = 500  # for each spectrum at one depth: a bound on time, never met in the tests


class Panels:
    """Panels (in φ) of the bands of several spectra, with the curve at their nodes.

    A panel is measured from the cut φ₀ at one of its ends, the one with the smaller |a|: with δ = φ - φ₀,

        a = a₀ + 2 half cos(φ₀ + δ/2) sin(δ/2)

    has relative accuracy where a is tiny, which small readouts ask for at a huge snr.
    """

    def __init__(self, poles: Poles, c0: np.ndarray, bands: Bands) -> None:
        self.poles, self.c0 = poles, c0
        self._band_owner, self._half = bands.owner, bands.half
        band = np.arange(bands.owner.size)
        cut_band, place = [band, band, band], [bands.low, bands.middle, bands.high]
        around_zero = band[(bands.low < 0) & (bands.high > 0) & (bands.middle != 0)]
        cut_band.append(around_zero)
        place.append(np.zeros(around_zero.size))
        if bands.pinch.size:
            # Panels must end where b nearly has a corner.
            keys = bands.owner + _squash(bands.low)
            host = np.searchsorted(keys, bands.pinch_owner + _squash(bands.pinch), side="right") - 1
            inside = (host >= 0) & (bands.owner[host] == bands.pinch_owner)
            inside &= (bands.pinch > bands.low[host]) & (bands.pinch < bands.high[host])
            cut_band.append(host[inside])
            place.append(bands.pinch[inside])
        hosts, places = np.concatenate(cut_band), np.concatenate(place)
        order = np.lexsort((places, hosts))
        self._cut_band, self._place = hosts[order], places[order]
        half, low, high = self._half[self._cut_band], bands.low[self._cut_band], bands.high[self._cut_band]
        below, above = self._place - low, high - self._place
        self._sine = 0.5 * (below - above) / half
        self._cosine = np.sqrt(below * above) / half
        # φ from the nearer end of the band, for the sake of what lies close to it.
        from_low, from_high = (
            2 * np.arcsin(np.sqrt(np.minimum(0.5 * x / half, 1.0))) for x in (below, above)
        )
        width = np.where(below[1:] < above[1:], np.diff(from_low), -np.diff(from_high))
        is_panel = (self._cut_band[1:] == self._cut_band[:-1]) & (width > 0)
        if poles.is_symmetric:  # of bands in the middle the upper half
            is_panel &= (bands.middle[self._cut_band[1:]] > 0) | (self._place[1:] > 0)
        left = np.nonzero(is_panel)[0]
        is_left = np.abs(self._place[left]) <= np.abs(self._place[left + 1])
        width = width[left]
        self.anchor: Integers = np.where(is_left, left, left + 1)
        self.start, self.end = np.where(is_left, 0.0, -width), np.where(is_left, width, 0.0)

    def nodes(
        self, anchor: Integers, start: Array, end: Array, guess: Array | None = None
    ) -> tuple[CurvePoints, Array]:
        """The curve at the nodes of the given panels (panels × 16) and da/dx of each."""
        half_width = 0.5 * (end - start)[:, None]
        delta = 0.5 * (start + end)[:, None] + half_width * _X
        half = self._half[self._cut_band[anchor]][:, None]
        sine, cosine = self._sine[anchor][:, None], self._cosine[anchor][:, None]
        middle = cosine * np.cos(0.5 * delta) - sine * np.sin(0.5 * delta)  # cos(φ₀ + δ/2)
        a = self._place[anchor][:, None] + 2 * half * middle * np.sin(0.5 * delta)
        c0 = np.broadcast_to(self.c0[self.owner(anchor)][:, None], a.shape)
        jacobian = half * (cosine * np.cos(delta) - sine * np.sin(delta)) * half_width
        return self.poles.points(a, c0, guess), jacobian

    def owner(self, anchor: Integers) -> Integers:
        return self._band_owner[self._cut_band[anchor]]


def integrate(poles: Poles, c0: np.ndarray, integrand: Callable[[CurvePoints], np.ndarray]) -> np.ndarray:
    """∫ integrand da over the bands of each spectrum: one row for each output, one column for each c0.

    ``integrand`` maps curve points (panels × nodes) to an array (outputs × panels × nodes). The tolerance is
    relative to the largest of the outputs: give them in the same units. All must be odd in b: bands that are
    not close to each other are done by the trapezoidal rule.
    """
    bands = poles.bands(c0)
    if poles.is_symmetric:
        bands = bands.upper_half()
    tolerance = Tolerance(poles, c0.size, poles.hidden)
    total = np.zeros((1, c0.size))
    if poles.has_whole_bands:
        is_middle = (bands.middle == 0) & poles.is_symmetric
        left = []
        for group, is_half in ((~is_middle, False), (is_middle, True)):
            if group.any():
                index = np.nonzero(group)[0]
                part, rest = integrate_far_bands(
                    poles, c0, integrand, bands.chosen(index), tolerance, is_half=is_half
                )
                total = total + part
                left.append(index[rest])
        bands = bands.chosen(np.sort(np.concatenate(left)))
    if bands.owner.size:
        total = total + _integrate_panels(poles, c0, integrand, bands, tolerance)
    return 2 * total if poles.is_symmetric else total


def _integrate_panels(
    poles: Poles,
    c0: np.ndarray,
    integrand: Callable[[CurvePoints], np.ndarray],
    bands: Bands,
    tolerance: Tolerance,
) -> np.ndarray:
    panels = Panels(poles, c0, bands)
    anchor, start, end = panels.anchor, panels.start, panels.end
    total = np.zeros((0, c0.size))
    guess: np.ndarray | None = None
    for depth in range(_MAX_DEPTH):
        points, jacobian = panels.nodes(anchor, start, end, guess)
        values = integrand(points) * jacobian
        part = values @ _W
        owner = panels.owner(anchor)
        if depth == 0:
            total = np.zeros((values.shape[0], c0.size))
        is_fine = _is_resolved(values, *tolerance.of(part, tolerance.rounding(values, points), owner, total))
        if depth == _MAX_DEPTH - 1 or anchor.size > _MAX_PANELS * c0.size:
            is_fine[:] = True
        for row, piece in zip(total, part, strict=True):
            np.add.at(row, owner[is_fine], piece[is_fine])
        if is_fine.all():
            break
        coarse = ~is_fine
        # b is smooth in φ up to the ends: the parent's values start Newton's method close by.
        b = points.b[coarse]
        halves = np.stack([b @ _TO_HALVES[0], b @ _TO_HALVES[1]], axis=1).reshape(-1, _ORDER)
        # (In exponential tails an interpolated b means nothing: 0 asks for a fresh start.)
        largest = np.repeat(b.max(axis=1), 2)[:, None]
        guess = np.where(halves > 1e-2 * largest, halves, 0.0) ** 2
        middle = 0.5 * (start[coarse] + end[coarse])
        anchor = np.repeat(anchor[coarse], 2)
        start, end = (
            np.stack([start[coarse], middle], axis=1).ravel(),
            np.stack([middle, end[coarse]], axis=1).ravel(),
        )
    return total


def _is_resolved(values: Array, tolerance: Array, hidden: Array) -> Bools:
    """Whether the Gauss rule is right to the tolerance, from the decay of the coefficients.

    The rule is exact up to degree 31; the decay from degrees 7–8 to 14–15 is carried on to
    there. Slow (algebraic) decay is thereby never mistaken for convergence. A weak singularity
    close by shows only once the rest has decayed: the last coefficients must be below ``hidden``.
    """
    c = np.abs(values @ _TO_LEGENDRE)
    early = np.maximum(c[..., 7], c[..., 8])
    late = np.maximum(c[..., 14], c[..., 15])
    ratio = np.minimum(late / np.maximum(early, 1e-300), 1.0)
    # A panel that holds next to nothing is done, whatever rounding makes of its shape.
    is_fine = (late * ratio**2 <= tolerance) & (late <= np.maximum(hidden, tolerance))
    is_resolved: Bools = np.all(is_fine | (c[..., 0] + late <= 30 * tolerance), axis=0)
    return is_resolved


def _squash(x: Array) -> Array:
    """An increasing map into (0, 1), to order positions within their spectra."""
    return 0.5 + np.arctan(x) / (1.001 * math.pi)

r"""The tail kernel g(x) = sum_{l>=3} c_l^2 x^l (eq. g_func of arXiv:2505.24849), made quick to evaluate.

Two forms share one set of methods. :class:`SeriesKernel` sums the power series, all of whose terms are
positive for x >= 0. :class:`TabulatedKernel` does so for |x| <= 1/2 and beyond looks up g' as a function of
theta = arccos|x|, where it is piecewise analytic up to and including x = 1: kinks of the activation show as
odd powers of theta, that is of sqrt(1 - x). The gap g(1) - g(1 - gap) is the integral of g', a mean of
positive numbers, so that no digits are lost however close to 1 one comes.
"""

from collections.abc import Callable

import numpy as np

from widthwise.ingredients.hermite import gauss_legendre

from .._arrays import Array

__all__ = ["SeriesKernel", "SeriesSlope", "TabulatedKernel"]

_Function = Callable[[Array], Array]

N_SERIES = 57  # terms needed for |x| <= 1/2, since 2^-57 = 7e-18
SWITCH = 0.5  # |x| beyond which the table is used
_DEGREE = 16
_TOLERANCE = 2e-14
_NARROWEST = 1e-10

_ORDER = np.arange(_DEGREE)
_POINTS = np.cos(np.pi * (_ORDER + 0.5) / _DEGREE)[::-1].copy()
_TO_CHEBYSHEV = (
    np.cos(np.outer(_ORDER, np.arccos(_POINTS))) * np.where(_ORDER == 0, 1.0, 2.0)[:, None] / _DEGREE
)


class SeriesKernel:
    """g from its squared normalised coefficients, c_l^2 at index l (the first three are ignored)."""

    def __init__(self, squares: Array) -> None:
        terms = np.array(squares, dtype=float)
        terms[:3] = 0.0
        terms = np.trim_zeros(terms, "b")
        order = np.arange(terms.size)
        self._value = terms
        self._slope = (order * terms)[1:]
        self._curvature = (order * (order - 1) * terms)[2:]
        # (1 - x^l) / (1 - x) = 1 + x + ... + x^(l-1): the gap is again a series with positive terms.
        self._drop = np.cumsum(terms[:0:-1])[::-1]

    def value(self, x: Array) -> Array:
        """g(x), for x in [-1, 1]."""
        return _horner(self._value, x)

    def slope(self, x: Array) -> Array:
        """g'(x)."""
        return _horner(self._slope, x)

    def curvature(self, x: Array) -> Array:
        """g''(x)."""
        return _horner(self._curvature, x)

    def drop(self, gap: Array) -> Array:
        """g(1) - g(1 - gap), for gap in [0, 1]."""
        return gap * _horner(self._drop, 1.0 - gap)

    def slope_below_one(self, gap: Array) -> Array:
        """g'(1 - gap)."""
        return self.slope(1.0 - gap)

    def curvature_below_one(self, gap: Array) -> Array:
        """g''(1 - gap)."""
        return self.curvature(1.0 - gap)

    def bend(self, gap: Array) -> Array:
        """gap g''(1 - gap)."""
        return gap * self.curvature(1.0 - gap)


class SeriesSlope:
    """theta -> g'(± cos theta) from a long series, as a source for a table."""

    def __init__(self, series: SeriesKernel, mirrored: bool) -> None:
        self._series = series
        self._sign = -1.0 if mirrored else 1.0

    def __call__(self, theta: Array) -> Array:
        return self._series.slope(self._sign * np.cos(theta))

    def curvature(self, theta: Array) -> Array:
        """g''(± cos theta)."""
        return self._series.curvature(self._sign * np.cos(theta))


class TabulatedKernel:
    r"""g from a short series and tables of g' near x = 1 and, made when first asked for, near x = -1.

    Parameters
    ----------
    squares : ndarray
        c_l^2 for l = 0 ... 56 at least.
    make_slope : callable
        ``make_slope(mirrored)`` returns a function theta -> g'(± cos theta), times sin(theta) if it has an
        attribute ``is_singular`` that is true: a discontinuous activation makes g' infinite at that end. Its
        ``curvature`` is used if it has one, else g'' comes from differentiating the table.
    """

    def __init__(self, squares: Array, make_slope: Callable[[bool], _Function]) -> None:
        self._series = SeriesKernel(squares[:N_SERIES])
        self._make_slope = make_slope
        self._sides: dict[bool, _Side] = {}

    def value(self, x: Array) -> Array:
        """g(x), for x in [-1, 1]."""
        return self._piecewise(x, self._series.value, _Side.value)

    def slope(self, x: Array) -> Array:
        """g'(x)."""
        return self._piecewise(x, self._series.slope, _Side.slope)

    def curvature(self, x: Array) -> Array:
        """g''(x); +inf at x = 1 if the activation has kinks."""
        return self._piecewise(x, self._series.curvature, _Side.curvature)

    def drop(self, gap: Array) -> Array:
        """g(1) - g(1 - gap), for gap in [0, 1]."""
        side = self._side(False)
        near = gap <= 1 - SWITCH
        if near.all():
            return side.drop(gap)
        far_value = side.end - self._series.value(1.0 - np.maximum(gap, 1 - SWITCH))
        return np.where(near, side.drop(np.minimum(gap, 1 - SWITCH)), far_value)

    def slope_below_one(self, gap: Array) -> Array:
        """g'(1 - gap), which for kinked activations still varies when 1 - gap rounds to 1."""
        return self._below_one(gap, self._series.slope_below_one, _Side.slope)

    def curvature_below_one(self, gap: Array) -> Array:
        """g''(1 - gap)."""
        return self._below_one(gap, self._series.curvature_below_one, _Side.curvature)

    def bend(self, gap: Array) -> Array:
        """gap g''(1 - gap)."""
        return self._below_one(gap, self._series.bend, _Side.bend)

    def _below_one(self, gap: Array, far: _Function, near: Callable[["_Side", Array], Array]) -> Array:
        edge = 1 - SWITCH
        value: Array = np.where(
            gap <= edge, near(self._side(False), np.minimum(gap, edge)), far(np.maximum(gap, edge))
        )
        return value

    def _side(self, mirrored: bool) -> "_Side":
        if mirrored not in self._sides:
            start = float(self._series.value(np.array(-SWITCH if mirrored else SWITCH)))
            self._sides[mirrored] = _Side(self._make_slope(mirrored), mirrored, start)
        return self._sides[mirrored]

    def _piecewise(self, x: Array, inner: _Function, outer: Callable[["_Side", Array], Array]) -> Array:
        flat = x.ravel()
        result = np.empty_like(flat)
        middle = np.abs(flat) <= SWITCH
        result[middle] = inner(flat[middle])
        for mirrored in (False, True):
            chosen = flat < -SWITCH if mirrored else flat > SWITCH
            if chosen.any():
                result[chosen] = outer(self._side(mirrored), 1.0 - np.abs(flat[chosen]))
        return result.reshape(x.shape)


class _Side:
    """g near one end x = e = ±1, as Chebyshev panels in theta, x = e cos(theta) with 0 <= theta <= pi/3."""

    def __init__(self, slope: _Function, mirrored: bool, start: float) -> None:
        self._sign = -1.0 if mirrored else 1.0
        self._is_singular = bool(getattr(slope, "is_singular", False))
        self._edges, self._slope = _chebyshev_panels(slope, np.pi / 3)
        width = np.diff(self._edges)
        derivative = np.polynomial.chebyshev.chebder(self._slope, axis=0) * (2 / width)
        self._derivative = np.vstack([derivative, np.zeros(width.size)])
        self._mean = self._tabulate_mean()
        curvature = getattr(slope, "curvature", None)
        if curvature is None:
            self._finite_curvature = self._tabulate_curvature()
        else:
            self._finite_curvature = _TO_CHEBYSHEV @ curvature(self._points())
        whole = self._sign * float(self.drop(np.array([1 - SWITCH]))[0])
        self.end = start + whole  # g(±1)

    def drop(self, gap: Array) -> Array:
        """(g(e) - g(e (1 - gap))) e, the integral of g' over the gap."""
        theta = _angle(gap)
        mean = self._look_up(self._mean, theta)
        if self._edges.size == 2:
            return self._measure(gap) * mean
        return np.where(theta < self._edges[1], self._measure(gap), 1.0) * mean

    def value(self, gap: Array) -> Array:
        return self.end - self._sign * self.drop(gap)

    def slope(self, gap: Array) -> Array:
        theta = _angle(gap)
        slope = self._look_up(self._slope, theta)
        if self._is_singular:
            with np.errstate(divide="ignore"):
                return slope / np.sin(theta)
        return slope

    def bend(self, gap: Array) -> Array:
        """gap g'' e, of the size of g' or less however small the gap."""
        if self._finite_curvature is not None:
            return gap * self._look_up(self._finite_curvature, _angle(gap))
        # x = e cos(theta), and gap/sin(theta)^2 = 1/(1 + cos(theta)) does not underflow.
        theta = _angle(gap)
        sine, cosine = np.sin(theta), np.cos(theta)
        moved = -self._sign * self._look_up(self._derivative, theta) * sine
        if self._is_singular:
            with np.errstate(divide="ignore"):
                moved = (moved + self._sign * self._look_up(self._slope, theta) * cosine) / sine
        bend: Array = moved / (1 + cosine)
        return bend

    def curvature(self, gap: Array) -> Array:
        if self._finite_curvature is not None:
            return self._look_up(self._finite_curvature, _angle(gap))
        if self._is_singular:
            with np.errstate(divide="ignore", over="ignore"):
                return self.bend(gap) / gap
        with np.errstate(divide="ignore"):
            theta = _angle(gap)
            return -self._sign * self._look_up(self._derivative, theta) / np.sin(theta)

    def _measure(self, gap: Array) -> Array:
        # Jumps make the drop of order sqrt(gap) instead of gap.
        return np.sqrt(2 * gap) if self._is_singular else gap

    def _look_up(self, coefficients: Array, theta: Array) -> Array:
        """Value of the panel polynomials at theta (Clenshaw's recurrence)."""
        left = self._edges[:-1]
        if left.size == 1:
            rows = coefficients[:, 0]
            local = theta * (2 / self._edges[1]) - 1
        else:
            panel = np.clip(np.searchsorted(self._edges, theta, side="right") - 1, 0, left.size - 1)
            rows = coefficients[:, panel]
            local = (theta - left[panel]) * (2 / np.diff(self._edges))[panel] - 1
        twice = 2 * local
        last, current = np.zeros_like(local), np.zeros_like(local)
        for row in rows[:0:-1]:
            last, current = current, row + twice * current - last
        value: Array = rows[0] + local * current - last
        return value

    def _points(self) -> Array:
        left, width = self._edges[:-1], np.diff(self._edges)
        points: Array = left + 0.5 * width * (1 + _POINTS[:, None])  # (degree, panel)
        return points

    def _tabulate_mean(self) -> Array:
        """Chebyshev coefficients of the drop; in the first panel of drop / measure, a mean of g'."""
        node, weight = gauss_legendre(_DEGREE)
        left, right = self._edges[:-1], self._edges[1:]

        def integral(stop: Array) -> Array:
            half = 0.5 * (stop - left)[..., None]
            theta = left[:, None] + half * (1 + node)
            values = self._look_up(self._slope, theta.ravel()).reshape(theta.shape)
            if not self._is_singular:
                values = values * np.sin(theta)
            return (values * half) @ weight

        before = np.concatenate([[0.0], np.cumsum(integral(right))[:-1]])
        theta = self._points()
        measure = self._measure(2 * np.sin(theta / 2) ** 2)
        measure[:, 1:] = 1.0
        coefficients: Array = _TO_CHEBYSHEV @ ((before + integral(theta)) / measure)
        return coefficients

    def _tabulate_curvature(self) -> Array | None:
        """Coefficients of g'' if it is finite at the end, which asks that dg'/dtheta vanish there."""
        at_end = float(self._look_up(self._derivative, np.zeros(1))[0])
        size = float(np.max(np.abs(self._slope[0]))) or 1.0
        # The derivative of a panel of width w carries rounding of about 1e-13 / w.
        if self._is_singular or abs(at_end) * self._edges[1] > 1e-10 * size:
            return None
        theta = self._points()
        derivative = self._look_up(self._derivative, theta.ravel()).reshape(theta.shape)
        derivative[:, 0] -= at_end
        coefficients: Array = _TO_CHEBYSHEV @ (-self._sign * derivative / np.sin(theta))
        return coefficients


def _angle(gap: Array) -> Array:
    """arccos(1 - gap), to full relative accuracy."""
    return 2 * np.arcsin(np.sqrt(0.5 * gap))


def _horner(coefficients: Array, x: Array) -> Array:
    """Σ c_l x^l; in x² where only even or only odd powers are there."""
    if coefficients.size > 4 and not coefficients[1::2].any():
        return _horner(coefficients[::2], x * x)
    if coefficients.size > 4 and not coefficients[::2].any():
        return x * _horner(coefficients[1::2], x * x)
    result = np.zeros_like(x)
    for coefficient in coefficients[::-1]:
        result *= x
        result += coefficient
    return result


def _chebyshev_panels(function: _Function, stop: float) -> tuple[Array, Array]:
    """Edges from 0 to ``stop`` and coefficients (degree, panel) that represent ``function`` to rounding."""
    left, right = np.array([0.0]), np.array([stop])
    lefts: list[Array] = []
    tables: list[Array] = []
    scale = 0.0
    while left.size:
        theta = left + 0.5 * (right - left) * (1 + _POINTS[:, None])
        values = function(theta)
        local = np.abs(values).max(axis=0)
        scale = max(scale, float(local.max()))
        table = _TO_CHEBYSHEV @ values
        # Strict where the function is small, for it may have a high peak at 0 that holds little of its
        # integral; never below the rounding of the quadrature. Noise that looks like structure stops at 1/16.
        allowed = np.maximum(_TOLERANCE * local, 0.02 * _TOLERANCE * scale)
        size = np.abs(table[-2:]).max(axis=0)
        narrow = (right - left < left / 16) & (size <= 1e-11 * scale)
        good = (size <= allowed) | narrow | (right - left < _NARROWEST)
        lefts.append(left[good])
        tables.append(table[:, good])
        middle = 0.5 * (left + right)[~good]
        left, right = np.concatenate([left[~good], middle]), np.concatenate([middle, right[~good]])
    starts, coefficients = np.concatenate(lefts), np.concatenate(tables, axis=1)
    order = np.argsort(starts)
    return np.append(starts[order], stop), np.ascontiguousarray(coefficients[:, order])

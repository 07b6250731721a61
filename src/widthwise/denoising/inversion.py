r"""The point of the spectral curve above a given eigenvalue, which shrinkage and density are read off.

In terms of x = y/√η - s v̄ and c₀ = 1/η the point ζ = a + ib solves

.. math:: F(\zeta) = \zeta + e(\zeta) + \frac{c_0}{\zeta} - x = 0, \qquad
          e(\zeta) = \sum_i{}' \frac{c_i}{\zeta - a_i} .

For x inside a band there is exactly one root in the upper half plane: a root found there is the right one,
and Newton's method in the complex plane finds it in about ten steps. Beyond the last pole F is convex on the
axis, and Newton's method from a = x > root is monotone. What neither settles to full precision (next to an
edge, where two roots merge; gaps between bands; the far tails of continuous laws) goes to a bracketed search
along the curve. For 150 eigenvalues of a random matrix this takes 1 ms, the search alone 20 to 40.
"""

from __future__ import annotations

import math

import numpy as np

from ..numerics.roots import guarded_step
from .spectral_curve import CurvePoints, Poles

__all__ = ["band_ends", "points_at"]

_N_STEPS = 80
_N_AVERAGED, _N_NEWTON = 4, 24
# Error of ζ, as rounding and the slope of F predict it, up to which Newton's root is taken; and the height
# above the axis below which the sums over continuous laws are differences of nearly equal numbers.
_ATOL, _HEIGHT = 1e-12, 1e-4


def points_at(poles: Poles, y: np.ndarray, snr: float) -> CurvePoints:
    """Points of the curve above the eigenvalues ``y`` (t = 0 outside the bands)."""
    c0 = 1 / snr
    x = y / math.sqrt(snr) - poles.centre
    with np.errstate(all="ignore"):  # points that run off are told by their error
        zeta, is_found = _complex_newton(poles, x, c0)
        is_outside = np.zeros(x.size, dtype=bool)
        if not is_found.all() and poles.outermost is not None:
            for side, end in zip((-1.0, 1.0), poles.outermost, strict=True):
                index = np.nonzero(~is_found & (side * (x - end) > 0))[0]
                a, is_good = _real_newton(poles, x[index], c0)
                zeta[index[is_good]] = a[is_good]
                is_found[index[is_good]] = is_outside[index[is_good]] = True
        missing = ~is_found
        if missing.any():
            zeta[missing], is_outside[missing] = _bracketed(poles, x[missing], snr)
    return _on_curve(poles, zeta, is_outside, c0)


def band_ends(poles: Poles, snr: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ends of the bands in a, and in y."""
    bands = poles.bands(np.array([1 / snr]))
    is_gap = bands.low[1:] > bands.high[:-1]  # pieces of one band share their ends
    low, high = bands.low[np.r_[True, is_gap]], bands.high[np.r_[is_gap, True]]
    ends = [math.sqrt(snr) * (poles.centre + _outside(poles, a, 1 / snr).shift) for a in (low, high)]
    return low, high, ends[0], ends[1]


def _complex_newton(poles: Poles, x: np.ndarray, c0: float) -> tuple[np.ndarray, np.ndarray]:
    """ζ and whether it is the root to full precision."""
    zeta = x + 1j * math.sqrt(1 + c0)
    is_found = np.zeros(x.size, dtype=bool)
    for step in range(_N_AVERAGED + _N_NEWTON):
        a, b = zeta.real, zeta.imag
        power1, weight1, s0, s1 = poles.all_sums(a, b * b)
        noise = c0 / zeta
        error = zeta + (power1 - 1j * b * weight1) + noise - x
        if step < _N_AVERAGED:
            # ζ ← x - e - c0/ζ maps the half plane into itself; averaged, it cannot cycle.
            zeta = zeta - 0.5 * error
            continue
        slope = 1 - weight1 + 2 * b * (b * s0 + 1j * s1) - noise / zeta
        change = error / slope
        rounding = 2e-16 * (np.abs(x) + np.abs(zeta) + np.abs(noise)) / np.abs(slope)
        # Steps square themselves, on the scale of b: after this one what is left is rounding.
        is_last = np.abs(change) < 1e-8 * np.abs(slope) * b
        is_found = is_last & (rounding < _ATOL * (1 + np.abs(zeta))) & (b > _HEIGHT)
        new = zeta - change
        zeta = np.where(new.imag > 0, new, a + 0.25j * b)
        if np.all(is_found | (b < _HEIGHT)):
            break
    return zeta, is_found


def _real_newton(poles: Poles, x: np.ndarray, c0: float) -> tuple[np.ndarray, np.ndarray]:
    """Roots beyond all poles, and whether they are there and far enough from an edge."""
    a = x.copy()
    rounding = np.full(x.size, np.inf)
    change = np.zeros(x.size)
    for _ in range(_N_STEPS):
        power1, weight1, *_ = poles.all_sums(a, np.zeros_like(a))
        slope = 1 - weight1 - c0 / a**2
        change = (a + power1 + c0 / a - x) / slope
        rounding = 2e-16 * (np.abs(x) + np.abs(a)) / slope
        a = a - np.where(slope > 0, change, 0.0)
        if np.all((np.abs(change) < 1e-15 * np.abs(a)) | (slope < 1e-4)):
            break
    is_good = (slope > 1e-4) & (rounding < _ATOL * np.abs(a)) & (np.abs(change) < _ATOL * np.abs(a))
    return a, is_good


def _bracketed(poles: Poles, goal: np.ndarray, snr: float) -> tuple[np.ndarray, np.ndarray]:
    """ζ and whether it lies outside the bands: bisection-guarded Newton in a."""
    c0 = 1 / snr
    a_low, a_high, y_low, y_high = band_ends(poles, snr)
    x_low, x_high = (ends / math.sqrt(snr) - poles.centre for ends in (y_low, y_high))
    reach = 2 + np.abs(goal).max(initial=0.0) + np.abs(a_high[-1]) + np.abs(a_low[0])
    cuts = np.stack([a_low, a_high], axis=1).ravel()
    values = np.stack([x_low, x_high], axis=1).ravel()
    cuts = np.concatenate([[a_low[0] - reach], cuts, [a_high[-1] + reach]])
    segment = np.searchsorted(values, goal)
    low, high = cuts[segment].copy(), cuts[segment + 1].copy()
    is_outside = segment % 2 == 0
    zeta = np.empty(goal.size, dtype=complex)
    for outside in (True, False):
        mask = is_outside == outside
        if not mask.any():
            continue
        lo, hi, target = low[mask], high[mask], goal[mask]
        a = 0.5 * (lo + hi)
        for _ in range(_N_STEPS):
            p = _outside(poles, a, c0) if outside else poles.points(a, np.full(a.shape, c0))
            error = p.shift - target
            hi = np.where(error > 0, a, hi)
            lo = np.where(error > 0, lo, a)
            slope = 1 - p.weight1 - c0 / p.a**2 if outside else p.jacobian
            new = guarded_step(a, -error / slope, lo, hi)
            done = np.all(np.abs(new - a) <= 1e-15 * (1 + np.abs(a)))
            a = new
            if done:
                break
        zeta[mask] = a if outside else a + 1j * poles.points(a, np.full(a.shape, c0)).b
    return zeta, is_outside


def _outside(poles: Poles, a: np.ndarray, c0: float) -> CurvePoints:
    """Real ζ beyond a band, where the curve lies on the axis (t = 0 up to rounding)."""
    tiny = np.full(a.shape, 1e-22 * (1 + float(np.max(np.abs(a), initial=0.0))) ** 2)
    return poles.at(a, tiny, np.full(a.shape, c0))


def _on_curve(poles: Poles, zeta: np.ndarray, is_outside: np.ndarray, c0: float) -> CurvePoints:
    a = zeta.real.copy()
    tiny = 1e-22 * (1 + float(np.max(np.abs(a), initial=0.0))) ** 2
    points = poles.at(a, np.where(is_outside, tiny, zeta.imag**2), np.full(a.shape, c0))
    points.t = np.where(is_outside, 0.0, points.t)
    # The estimate is ξ = (y - 2 Re g)/√η; on the curve, where Σ c w = 1, this is it.
    points.weight1 = np.where(is_outside, 1 - c0 / points.radius2, points.weight1)
    return points

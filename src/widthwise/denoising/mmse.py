r"""Minimum mean-square error of matrix denoising, and its slope in the signal-to-noise ratio η.

Two formulas hold at every η; both are averages of positive numbers over the spectrum,

.. math::
    \eta\,\mathrm{mmse} = \int \rho \sum_i{}' \frac{c_i}{|\zeta - a_i|^2}\, dy, \qquad
    1 - \mathrm{mmse} = \int \rho\,(\xi - s\bar v)^2 dy,

ρ the spectral density of Y and ξ(y) the optimal shrinkage.  (The first is 1 - (4π²/3)∫ρ³, since
∫ρh² = (π²/3)∫ρ³ for h = Re g, and |g|² = c₀/|ζ|² is 1 minus the sum on the curve.)  Slopes come from the
implicit function theorem at fixed y/√η, where bands of the signal hardly move and others keep their scale.
"""

from __future__ import annotations

import math

import numpy as np

from .quadrature import integrate
from .spectral_curve import CurvePoints, Poles

__all__ = ["limit", "mmse_and_rest", "mmse_and_slope", "mmse_by_both_formulas"]

# From η = 0.2 on 1 - mmse >= η/(1 + η) >= 0.17: 1 minus the other is as good.
_SMALL_SNR = 0.2
_MOST_RECOVERED = 0.8  # 1 - mmse at smaller η (rare, large readouts) from which mmse is integrated instead
_WIDE = 0.4  # γ from which a formula for the slope may cancel to the order of 1 - (1 - γ)²


def mmse_and_slope(poles: Poles, snr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """mmse, 1 - mmse and d mmse/dη at positive snr (one-dimensional), each to relative accuracy.

    The slope underflows to -0 beyond snr = 1e160.
    """
    mmse, rest, slope = np.empty_like(snr), np.empty_like(snr), np.empty_like(snr)
    is_tiny, is_huge = snr < poles.least_snr, snr > poles.most_snr
    is_small = ~is_tiny & (snr < _SMALL_SNR)
    is_large = ~is_huge & ~is_tiny & ~is_small
    if is_tiny.any():
        # 1 - mmse = η - (1 - (E v³)²/γ) η² + O((η E v⁴/γ)² η).
        bend = (1 - poles.readouts.third_moment**2 / poles.gamma) * snr[is_tiny]
        rest[is_tiny] = snr[is_tiny] * (1 - bend)
        slope[is_tiny] = -1 + 2 * bend
    if is_small.any():
        c0 = 1 / snr[is_small]
        value, moved = integrate(poles, c0, _recovered_integrands)
        rest[is_small], slope[is_small] = value, c0 * moved
        mmse[is_small] = 1 - value
        is_large[is_small] = value > _MOST_RECOVERED
    if is_large.any():
        c0 = 1 / snr[is_large]
        value, moved = _left(poles, c0)
        mmse[is_large], slope[is_large] = c0 * value, -(c0**2) * (value + moved)
    if is_huge.any():
        mmse[is_huge] = limit(poles) / snr[is_huge]
        slope[is_huge] = -mmse[is_huge] / snr[is_huge]
    mmse[is_tiny] = 1 - rest[is_tiny]
    is_most = is_large | is_huge
    rest[is_most] = 1 - mmse[is_most]
    return mmse, rest, slope


def mmse_and_rest(poles: Poles, snr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two of :func:`mmse_and_slope`, cheaper: slopes are infinite at the ends of bands."""
    mmse, rest, c0 = np.empty_like(snr), np.empty_like(snr), 1 / snr
    is_less, is_extreme = snr < _SMALL_SNR, (snr < poles.least_snr) | (snr > poles.most_snr)
    if is_extreme.any():
        mmse[is_extreme], rest[is_extreme], _ = mmse_and_slope(poles, snr[is_extreme])
    small, large = is_less & ~is_extreme, ~is_less & ~is_extreme
    if small.any():
        rest[small] = integrate(poles, c0[small], lambda p: (p.mass * p.estimate**2)[None], is_bare=True)[0]
        mmse[small] = 1 - rest[small]
        large[small] = rest[small] > _MOST_RECOVERED
    if large.any():
        left = integrate(poles, c0[large], lambda p: (p.mass * p.weight1)[None], is_bare=True)[0]
        mmse[large] = c0[large] * left
        rest[large] = 1 - mmse[large]
    return mmse, rest


def mmse_by_both_formulas(poles: Poles, snr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mmse by the large-η and by the small-η formula: their difference is an error estimate."""
    c0 = 1 / snr
    left = _left(poles, c0)[0]
    recovered = integrate(poles, c0, _recovered_integrands)[0]
    return c0 * left, 1 - recovered


def limit(poles: Poles) -> float:
    """η mmse as η → ∞, from the largest snr that is integrated; kept."""
    if poles.limit is None:
        c0 = np.array([1 / poles.most_snr])
        poles.limit = float(_left(poles, c0)[0, 0])
    return poles.limit


def _left(poles: Poles, c0: np.ndarray) -> np.ndarray:
    """η mmse and c0 times its slope in c0 = 1/η."""
    if poles.gamma > _WIDE:
        return integrate(poles, c0, _left_integrands_wide, is_bare=True)
    return integrate(poles, c0, _left_integrands)


def _left_integrands(p: CurvePoints) -> np.ndarray:
    """The integrand of η mmse, and c0 times its slope in c0 = 1/η at fixed y/√η."""
    a_moves, b_moves, density_moves = p.flow
    weight_moves = -2 * (p.r1 * a_moves + p.r0 * p.b * b_moves)
    moved = density_moves * p.weight1 + p.b / p.radius2 * weight_moves
    return np.stack([p.mass * p.weight1, moved / math.pi])


def _left_integrands_wide(p: CurvePoints) -> np.ndarray:
    """The same with the slope of 1 - (4π²/3)∫ρ³, which is small next to the ends of bands.

    For wide networks only: η mmse is of order γ for narrow ones, and this one a difference of order 1.
    """
    density = p.b / p.radius2
    moved = 3 * p.flow[2] + density * p.jacobian
    return np.stack([p.mass * p.weight1, -4 / (3 * math.pi) * p.c0 * density**2 * moved])


def _recovered_integrands(p: CurvePoints) -> np.ndarray:
    """The integrand of 1 - mmse, and c0 times its slope in c0 = 1/η at fixed y/√η."""
    estimate = p.estimate
    a_moves, b_moves, density_moves = p.flow
    by_a = 2 * (p.t * p.r0 - p.a * p.r1)
    by_b = -2 * p.b * (p.r1 + p.a * p.r0)
    moved = density_moves * estimate + 2 * p.b / p.radius2 * (by_a * a_moves + by_b * b_moves)
    return np.stack([p.mass * estimate**2, moved * estimate / math.pi])

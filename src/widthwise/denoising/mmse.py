r"""Minimum mean-square error of matrix denoising, its slope in the signal-to-noise ratio η, and information.

Two formulas hold at every η; both are averages of positive numbers over the spectrum,

.. math::
    \eta\,\mathrm{mmse} = \int \rho \sum_i{}' \frac{c_i}{|\zeta - a_i|^2}\, dy, \qquad
    1 - \mathrm{mmse} = \int \rho\,(\xi - s\bar v)^2 dy,

ρ the spectral density of Y and ξ(y) the optimal shrinkage.  (The first is 1 - (4π²/3)∫ρ³, as in eq.
def_mmse_function of arXiv:2505.24849, since
∫ρh² = (π²/3)∫ρ³ for h = Re g, and |g|² = c₀/|ζ|² is 1 minus the sum on the curve.)  Slopes come from the
implicit function theorem, with points that move as the ends of bands do.

The mutual information per d² is  ι(η) = 1/8 + ½ ∫ρ(y) Re U(y) dy.

U(y) = ∫ρ(t) ln(y - t) dt is the logarithmic potential, known in closed form on the curve,

.. math:: U = yg - 1 - \ln g + \gamma E\ln(1 - v/(s\zeta)) - g^2/2,  \qquad dU/dy = g,

so the double logarithmic integral of the definition becomes a single one.  With ∫ρ y Re g = ½, ∫ρ Re g = 0,
∫ρ Re g² = -½ ∫ρ|g|² and |g|² = 1 - W, W the sum of which η mmse is the average, it is

.. math:: \iota = \tfrac12 \int \rho\,\Big[-\tfrac12\ln(1 - W) - \tfrac14 W
          + \gamma E\,\mathrm{Re}\{\ln(1 - v/(s\zeta)) + v/(s\zeta)\}\Big] dy,

whose terms vanish with η and with γ as ι does: nothing is lost however small it is.  The last term averages
to 0; it is left out at large η, where it is large beside the others and not beside the one before it.
"""

from __future__ import annotations

import math

import numpy as np

from .quadrature import integrate
from .spectral_curve import CurvePoints, Poles

__all__ = ["information", "limit", "mmse_and_rest", "mmse_and_slope", "mmse_by_both_formulas"]

# From η = 0.2 on 1 - mmse >= η/(1 + η) >= 0.17: 1 minus the other is as good.
_SMALL_SNR = 0.2
_MOST_RECOVERED = 0.8  # 1 - mmse at smaller η (rare, large readouts) from which mmse is integrated instead


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
    """The first two of :func:`mmse_and_slope`, cheaper."""
    mmse, rest, c0 = np.empty_like(snr), np.empty_like(snr), 1 / snr
    is_less, is_extreme = snr < _SMALL_SNR, (snr < poles.least_snr) | (snr > poles.most_snr)
    if is_extreme.any():
        mmse[is_extreme], rest[is_extreme], _ = mmse_and_slope(poles, snr[is_extreme])
    small, large = is_less & ~is_extreme, ~is_less & ~is_extreme
    if small.any():
        rest[small] = integrate(poles, c0[small], lambda p: (p.mass * p.estimate**2)[None])[0]
        mmse[small] = 1 - rest[small]
        large[small] = rest[small] > _MOST_RECOVERED
    if large.any():
        left = integrate(poles, c0[large], lambda p: (p.mass * p.weight1)[None])[0]
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
    return integrate(poles, c0, _left_integrands)


def _left_integrands(p: CurvePoints) -> np.ndarray:
    """The integrand of η mmse, and c0 times its slope in c0 = 1/η."""
    a_moves, b_moves, mass_moves = p.flow
    weight_moves = -2 * (p.r1 * a_moves + p.r0 * p.b * b_moves)
    moved = mass_moves * p.weight1 + p.b / p.radius2 * weight_moves
    return np.stack([p.mass * p.weight1, moved / math.pi])


def _recovered_integrands(p: CurvePoints) -> np.ndarray:
    """The integrand of 1 - mmse, and c0 times its slope in c0 = 1/η."""
    estimate = p.estimate
    a_moves, b_moves, mass_moves = p.flow
    by_a = 2 * (p.t * p.r0 - p.a * p.r1)
    by_b = -2 * p.b * (p.r1 + p.a * p.r0)
    moved = mass_moves * estimate + 2 * p.b / p.radius2 * (by_a * a_moves + by_b * b_moves)
    return np.stack([p.mass * estimate**2, moved * estimate / math.pi])


def information(poles: Poles, snr: np.ndarray) -> np.ndarray:
    """ι at positive snr (one-dimensional), to relative accuracy."""
    result = 0.25 * snr
    usual = snr >= poles.least_snr
    result[~usual] *= 1 - 0.5 * snr[~usual]
    if usual.any():
        c0 = 1 / np.minimum(snr[usual], poles.most_snr)
        result[usual] = integrate(poles, c0, lambda p: _information_integrand(poles, p))[0]
    huge = snr > poles.most_snr
    if huge.any():
        result[huge] += 0.25 * limit(poles) * np.log(snr[huge] / poles.most_snr)
    return result


def _information_integrand(poles: Poles, p: CurvePoints) -> np.ndarray:
    """½ρ [...] dy/da."""
    is_half = p.weight1 < 0.5
    log_rest = np.where(is_half, np.log1p(-np.where(is_half, p.weight1, 0.0)), np.log(p.c0 / p.radius2))
    potential = poles.potential(p.a + 1j * p.b, p.c0 > 10)
    return (0.5 * p.mass * (potential - 0.5 * log_rest - 0.25 * p.weight1))[None]

r"""Minimum mean-square error of matrix denoising, and its slope in the signal-to-noise ratio η.

Two formulas hold at every η; each is used where it does not cancel:

.. math::
    \mathrm{mmse} = \tfrac1\eta\Big(1 - \tfrac{4\pi^2}{3}\int\rho^3 dy\Big)
    \quad\text{(large η)},\qquad
    1 - \mathrm{mmse} = \int \rho\,(\xi - s\bar v)^2 dy \quad\text{(small η)},

ρ the spectral density of Y and ξ(y) the optimal shrinkage.  Slopes come from the implicit
function theorem at fixed y: how the resolvent moves with η is known in closed form.
"""

from __future__ import annotations

import math

import numpy as np

from .quadrature import integrate
from .spectral_curve import CurvePoints, Poles

__all__ = ["mmse_and_slope", "mmse_by_both_formulas"]

# At η = 0.2 either formula loses less than one digit: 1 - mmse is 0.17 there.
_SMALL_SNR = 0.2


def mmse_and_slope(poles: Poles, snr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """mmse, 1 - mmse (both without cancellation) and d mmse/dη at positive snr (one-dimensional)."""
    mmse, rest, slope = np.empty_like(snr), np.empty_like(snr), np.empty_like(snr)
    is_small = snr < _SMALL_SNR
    if is_small.any():
        c0 = 1 / snr[is_small]
        # The slope's integrand cancels as 1/η; below 1e-5 its first two terms are better and
        # the quadrature need not resolve it (a relative accuracy of 1 asks for nothing).
        is_tiny = is_small & (snr < 1e-5 * min(1.0, poles.gamma))
        noise = np.stack([0 * c0, np.where(is_tiny[is_small], 1.0, 1e-15 * c0)])
        value, derivative = integrate(poles, c0, _recovered_integrands, noise)
        rest[is_small], mmse[is_small] = value, 1 - value
        slope[is_small] = c0 * derivative
        skewness = poles.readouts.third_moment**2 / poles.gamma
        slope[is_tiny] = -1 + 2 * (1 - skewness) * snr[is_tiny]
    is_large = ~is_small
    if is_large.any():
        c0 = 1 / snr[is_large]
        value, derivative = integrate(poles, c0, _cubed_density_integrands)
        mmse[is_large] = c0 * (1 - c0 * value)
        rest[is_large] = 1 - mmse[is_large]
        slope[is_large] = -(c0**2) * (1 - c0 * value - c0 * derivative)
    return mmse, rest, slope


def mmse_by_both_formulas(poles: Poles, snr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mmse by the large-η and by the small-η formula: their difference is an error estimate."""
    c0 = 1 / snr
    cubed = integrate(poles, c0, _cubed_density_integrands)[0]
    recovered = integrate(poles, c0, _recovered_integrands, np.stack([0 * c0, 1e-15 * c0]))[0]
    return c0 * (1 - c0 * cubed), 1 - recovered


def _cubed_density_integrands(p: CurvePoints) -> np.ndarray:
    """(4/3π) b³ |ζ|⁻⁶ dx/da, whose integral I is (4π²/3) η ∫ρ³, and d(c0 I)/dc0."""
    r2 = p.radius2
    ratio = p.b / r2  # -Im 1/ζ
    scale = 4 / (3 * math.pi) * ratio**2
    jacobian = p.jacobian
    value = scale * ratio * jacobian
    # ∫ρ³dy = ∫(-Im g)³/π³ dy with g = √c0/ζ; only Im ∂g/∂c0 at fixed y is needed.
    inverse = (p.a - 1j * p.b) / r2
    moved = 3 * scale * ((p.flow * inverse**2).imag * p.c0 + 0.5 * ratio * jacobian)
    return np.stack([value, moved])


def _recovered_integrands(p: CurvePoints) -> np.ndarray:
    """ρ (ξ - s v̄)² dy/da and c0 times its slope in c0 = 1/η."""
    r2, jacobian, estimate = p.radius2, p.jacobian, p.estimate
    ratio = p.b / (math.pi * r2)
    value = ratio * estimate**2 * jacobian
    inverse = (p.a - 1j * p.b) / r2
    # √η (dx/da) ∂g/∂c0, and ξ - s v̄ = √c0 (y - 2 Re g) about the mean.
    resolvent = 0.5 * jacobian * inverse / p.c0 - p.flow * inverse**2
    density_moves = -resolvent.imag / math.pi * estimate**2
    estimate_moves = 2 * ratio * estimate * (0.5 * estimate * jacobian / p.c0 - 2 * p.c0 * resolvent.real)
    return np.stack([value, p.c0 * (density_moves + estimate_moves)])

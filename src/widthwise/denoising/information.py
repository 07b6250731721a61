r"""Mutual information of matrix denoising per d²,  ι(η) = 1/8 + ½ ∫ρ(y) Re U(y) dy.

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

import numpy as np

from .mmse import limit
from .quadrature import integrate
from .spectral_curve import CurvePoints, Poles

__all__ = ["information"]


def information(poles: Poles, snr: np.ndarray) -> np.ndarray:
    """ι at positive snr (one-dimensional), to relative accuracy."""
    result = 0.25 * snr
    usual = snr >= poles.least_snr
    result[~usual] *= 1 - 0.5 * snr[~usual]
    if usual.any():
        c0 = 1 / np.minimum(snr[usual], poles.most_snr)
        result[usual] = integrate(poles, c0, lambda p: _integrand(poles, p), is_bare=True)[0]
    huge = snr > poles.most_snr
    if huge.any():
        result[huge] += 0.25 * limit(poles) * np.log(snr[huge] / poles.most_snr)
    return result


def _integrand(poles: Poles, p: CurvePoints) -> np.ndarray:
    """½ρ [...] dy/da."""
    is_half = p.weight1 < 0.5
    log_rest = np.where(is_half, np.log1p(-np.where(is_half, p.weight1, 0.0)), np.log(p.c0 / p.radius2))
    potential = poles.potential(p.a + 1j * p.b, p.c0 > 10)
    return (0.5 * p.mass * (potential - 0.5 * log_rest - 0.25 * p.weight1))[None]

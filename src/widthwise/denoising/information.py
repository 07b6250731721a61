r"""Mutual information of matrix denoising per d²:  ι(η) = 1/8 + ½ ∫ρ(y) Re U(y) dy.

U(y) = ∫ρ(t) ln(y - t) dt is the logarithmic potential, known in closed form on the curve,

.. math:: U = yg - 1 - \ln g + \gamma E\ln(1 - v/(s\zeta)) - g^2/2,  \qquad dU/dy = g,

so the double logarithmic integral of the definition becomes a single smooth one.
"""

from __future__ import annotations

import math

import numpy as np

from .quadrature import integrate
from .spectral_curve import CurvePoints, Poles

__all__ = ["information"]


def information(poles: Poles, snr: np.ndarray) -> np.ndarray:
    """ι at positive snr (one-dimensional)."""
    integral = integrate(poles, 1 / snr, lambda p: _integrand(poles, p))[0]
    return 0.125 + 0.5 * integral


def _integrand(poles: Poles, p: CurvePoints) -> np.ndarray:
    """ρ Re U dy/da."""
    zeta = p.a + 1j * p.b
    inverse = 1 / zeta
    potential = (p.shift + poles.centre) * inverse.real - 1
    potential -= 0.5 * np.log(p.c0 / p.radius2) + 0.5 * p.c0 * (inverse**2).real
    potential += poles.potential(zeta)
    return (p.b / (math.pi * p.radius2) * p.jacobian * potential)[None]

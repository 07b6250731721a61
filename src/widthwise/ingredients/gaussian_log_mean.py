"""E ln(z - v) for a standard Gaussian v, in closed form up to a polynomial."""

import math
from functools import lru_cache

import numpy as np

from .._arrays import Complex

__all__ = ["gaussian_log_mean"]


def gaussian_log_mean(z: np.ndarray) -> np.ndarray:
    """E ln(z - v), v ~ N(0, 1), Im z >= 0."""
    length, coefficients, constant = _faddeeva_integral()
    return _log_mean_up_to_constant(z, length, coefficients) + constant


@lru_cache(maxsize=1)
def _faddeeva_integral() -> tuple[float, np.ndarray, complex]:
    """Weideman's rational expansion of w(u), integrated term by term.

    With Z = (L + iu)/(L - iu), w = 2 p(Z)/(L - iu)² + 1/(√π (L - iu)), hence
    ∫w du = P(Z)/(iL) + (i/√π) ln(L - iu) + const with P' = p: a polynomial and a logarithm.
    Returns L, the coefficients of P/(iL) (highest first) and the constant of E ln(z - v).
    """
    n = 60  # right to 1e-15 in the upper half plane
    m = 2 * n
    length = math.sqrt(n / math.sqrt(2))
    theta = np.arange(-m + 1, m) * math.pi / m
    t = length * np.tan(theta / 2)
    f = np.concatenate([[0.0], np.exp(-(t**2)) * (length**2 + t**2)])
    p = (np.fft.fft(np.fft.fftshift(f)).real / (2 * m))[1 : n + 1]
    integrated = np.concatenate([[0.0], p / np.arange(1, n + 1)]) / (1j * length)
    coefficients = integrated[::-1].copy()
    anchor = np.array([20j])  # the moment series is exact there
    series = np.log(anchor) - sum(
        math.prod(range(1, 2 * k, 2)) / (2 * k * anchor ** (2 * k)) for k in range(1, 30)
    )
    constant = complex((series - _log_mean_up_to_constant(anchor, length, coefficients))[0])
    return length, coefficients, constant


def _log_mean_up_to_constant(z: Complex, length: float, coefficients: Complex) -> Complex:
    u = z / math.sqrt(2)
    below = length - 1j * u
    integral = np.polyval(coefficients, (length + 1j * u) / below) + 1j / math.sqrt(math.pi) * np.log(below)
    return -1j * math.sqrt(math.pi) * integral

r"""Slow, obvious reference versions of matrix denoising, independent of the library's formulas.

``y`` is an eigenvalue of Y = √η S̄ + Z, ``g`` its resolvent: y = √η R(√η g) + g + 1/g with the
R-transform R(w) = s E[v/(1 - wv/s)], s = √γ. The density is |Im g|/π.
"""

import math

import mpmath as mp
import numpy as np
from scipy.integrate import quad

from widthwise.denoising.inversion import band_ends


def resolvent_polynomial(values, probabilities, gamma, snr, y):
    """Coefficients (highest first) of the polynomial in g whose complex root is the resolvent."""
    root, s = math.sqrt(snr), math.sqrt(gamma)
    factors = [np.array([-root * v / s, 1.0]) for v in values]
    product = np.array([1.0])
    for factor in factors:
        product = np.polymul(product, factor)
    # g [y - g - √η s Σ p v/(1 - √η g v/s)] - 1 = 0, times all denominators.
    total = np.polymul(np.array([-1.0, y, -1.0]), product)
    for i, (v, p) in enumerate(zip(values, probabilities, strict=True)):
        others = np.array([1.0])
        for j, factor in enumerate(factors):
            if j != i:
                others = np.polymul(others, factor)
        total = np.polysub(total, np.polymul(np.array([root * s * p * v, 0.0]), others))
    return total


def density(values, probabilities, gamma, snr, y):
    """Spectral density at y from numpy.roots."""
    roots = np.roots(resolvent_polynomial(values, probabilities, gamma, snr, y))
    return float(np.max(np.abs(roots.imag))) / math.pi


def mmse(values, probabilities, gamma, snr, bands):
    """(1 - (4π²/3)∫ρ³)/η with scipy.integrate.quad over the given bands: eight digits or so."""

    def cubed(y):
        return density(values, probabilities, gamma, snr, y) ** 3

    total = sum(quad(cubed, low, high, epsabs=1e-11, epsrel=1e-10, limit=200)[0] for low, high in bands)
    return (1 - 4 * math.pi**2 / 3 * total) / snr


class Curve:
    """One spectrum at ``digits`` digits, parametrised as in the design but solved by bisection.

    ``law`` is a pair (values, probabilities), or "uniform" or "gaussian".
    """

    def __init__(self, law, gamma, snr, digits=30):
        self.digits = digits
        with mp.workdps(digits + 10):
            self.gamma, self.snr = mp.mpf(gamma), mp.mpf(snr)
            self.s = mp.sqrt(self.gamma)
            self.law = law
            if not isinstance(law, str):
                self.v = [mp.mpf(x) for x in law[0]]
                p = [mp.mpf(x) for x in law[1]]
                # Doubles hold E v² = 1 to 1e-16 only: restore it, or 30 digits mean nothing.
                p = [x / mp.fsum(p) for x in p]
                power = mp.sqrt(mp.fsum(q * x * x for q, x in zip(p, self.v, strict=True)))
                self.p, self.v = p, [x / power for x in self.v]

    def h(self, z):
        """E v²/(z - v) and its derivative."""
        if self.law == "uniform":
            e = mp.sqrt(3)
            m = (mp.log(z + e) - mp.log(z - e)) / (2 * e)
            return z * z * m - z, 2 * z * m - z * z / (z * z - 3) - 1
        if self.law == "gaussian":
            m = -1j * mp.sqrt(mp.pi / 2) * mp.exp(-z * z / 2) * mp.erfc(-1j * z / mp.sqrt(2))
            return z * z * m - z, 2 * z * m + z * z * (1 - z * m) - 1
        pairs = list(zip(self.p, self.v, strict=True))
        return (
            mp.fsum(p * v * v / (z - v) for p, v in pairs),
            -mp.fsum(p * v * v / (z - v) ** 2 for p, v in pairs),
        )

    def excess(self, a, b):
        """Σ c/|ζ - a_i|² - 1 at ζ = a + ib, from -Im of the resolvent equation over b."""
        zeta = mp.mpc(a, b)
        return (-(self.s * self.h(self.s * zeta)[0] + 1 / (self.snr * zeta)).imag) / b - 1

    def height(self, a, start):
        """The root b, by secants from nearby and bisection when they stray."""
        low, high = mp.mpf(10) ** (-self.digits), 2 * mp.sqrt(1 + 1 / self.snr) + 1
        if self.excess(a, low) <= 0:
            return low
        b = start if low < start < high else (low + high) / 2
        for _ in range(300):
            f = self.excess(a, b)
            low, high = (b, high) if f > 0 else (low, b)
            step = b * mp.mpf(10) ** (-self.digits // 2)
            slope = (self.excess(a, b + step) - f) / step
            new = b - f / slope if slope else low
            new = new if low < new < high else (low + high) / 2
            if abs(new - b) < b * mp.mpf(10) ** (3 - self.digits):
                return new
            b = new
        raise ArithmeticError("no root")

    def integrands(self, a, start):
        """b and the integrands in a of (4π²/3)∫ρ³dy, ∫ρ(ξ - s v̄)²dy and ∫ρ dy."""
        b = self.height(a, start)
        zeta = mp.mpc(a, b)
        h0, h1 = self.h(self.s * zeta)
        e0 = self.s * h0
        slope = 1 + self.gamma * h1 - 1 / (self.snr * zeta**2)  # dx/dζ, x = y/√η
        jacobian = abs(slope) ** 2 / slope.real  # dx/da along the curve
        density = -(1 / zeta).imag / mp.pi  # of x
        estimate = e0.real + a * (-e0.imag / b)
        cubed = 4 * mp.pi**2 / 3 * density**3 * jacobian / self.snr
        return b, (cubed, density * estimate**2 * jacobian, density * jacobian)

    def integrals(self, bands, degree=6):
        """The three integrals over the bands, each a list of its ends with cuts in between.

        Tanh-sinh handles the square-root ends; give a cut wherever the curve bends sharply.
        """
        with mp.workdps(self.digits + 10):
            state, cache = {"b": mp.mpf(1)}, {}

            def value(a, index):
                if a not in cache:
                    state["b"], cache[a] = self.integrands(a, state["b"])
                return cache[a][index]

            totals = []
            for index in range(3):
                parts = [mp.quad(lambda a, i=index: value(a, i), cuts, maxdegree=degree) for cuts in bands]
                totals.append(mp.fsum(parts))
            return totals

    def mmse(self, bands, degree=6):
        """Both formulas of the mmse."""
        cubed, recovered, _ = self.integrals(bands, degree)
        with mp.workdps(self.digits + 10):
            return (1 - cubed) / self.snr, 1 - recovered


def bands_in_a(denoiser, snr):
    """The bands of a discrete law in a, cut at 0 (ends to 16 digits do: b vanishes there)."""
    low, high, _, _ = band_ends(denoiser._poles, snr)
    return [
        [low_end, 0, high_end] if low_end < 0 < high_end else [low_end, high_end]
        for low_end, high_end in zip(low.tolist(), high.tolist(), strict=True)
    ]


def information_by_chebyshev(density, low, high, n=400):
    r"""1/8 + ½∬ρρ ln|x - y| for one band: the definition, with the kernel diagonal in Chebyshev.

    With y = m + h cos θ and ρ dy = Σ f_n cos nθ dθ,
    -ln|cos θ - cos θ'| = ln 2 + Σ (2/n) cos nθ cos nθ'.
    """
    theta = (np.arange(n) + 0.5) * math.pi / n
    half = 0.5 * (high - low)
    f = density(0.5 * (low + high) + half * np.cos(theta)) * half * np.sin(theta)
    order = np.arange(n)
    coefficients = 2 / n * np.cos(np.outer(order, theta)) @ f
    coefficients[0] /= 2
    double = math.log(half / 2) * (math.pi * coefficients[0]) ** 2
    double -= np.sum((math.pi * coefficients[1:]) ** 2 / (2 * order[1:]))
    return 0.125 + 0.5 * double

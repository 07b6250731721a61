r"""The spectral curve of  Y = √η S̄ + Z,  S̄ = Wᵀ D_v W/√(kd),  Z a standard GOE matrix.

With s = √γ and ζ = 1/(√η g), g the resolvent of Y, the equation of the resolvent reads

.. math:: y/\sqrt\eta = s\bar v + \zeta + \sum_{i\ge 0} \frac{c_i}{\zeta - a_i},

a sum over simple poles: the readouts, a_i = v_i/s with c_i = P_v(v_i) v_i², and the noise,
a_0 = 0 with c_0 = 1/η.  Real y are the points ζ = a + ib of the curve

.. math:: V(a, t) := \sum_i \frac{c_i}{(a - a_i)^2 + t} = 1,  \qquad t = b^2 \ge 0.

V decreases in t, so there is one t for every a of the bands V(a, 0) > 1, and y increases
with a.  Nothing below subtracts nearly equal numbers: dy/da and all derivatives are sums
of one sign over the poles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._arrays import Array, Bools, Complex, Integers
from ..ingredients.readouts import Readouts

__all__ = ["N_NEWTON", "Bands", "CurvePoints", "Poles"]

N_NEWTON = 60  # monotone and quadratic: five steps are typical, the rest is for double roots


@dataclass
class CurvePoints:
    r"""Points ζ = a + i√t and the sums over the poles of the readouts that integrands need.

    ``power1`` Σ' c(a - a_i)w, ``weight1`` Σ' c w, ``r0`` Σ' c w², ``r1`` Σ' c(a - a_i)w², with
    w = 1/((a - a_i)² + t).
    """

    a: Array
    t: Array
    c0: Array
    power1: Array
    weight1: Array
    r0: Array
    r1: Array

    @cached_property
    def b(self) -> Array:
        return np.sqrt(self.t)

    @cached_property
    def radius2(self) -> Array:
        """|ζ|²."""
        return self.a**2 + self.t

    @cached_property
    def noise2(self) -> Array:
        """c0/|ζ|⁴, what the noise adds to Σ c w²."""
        return self.c0 / self.radius2 / self.radius2

    @cached_property
    def s0(self) -> Array:
        """Σ c w², the noise included."""
        return self.r0 + self.noise2

    @cached_property
    def s1(self) -> Array:
        """Σ c(a - a_i)w², the noise included."""
        return self.r1 + self.a * self.noise2

    @cached_property
    def jacobian(self) -> Array:
        """d(y/√η)/da along the curve."""
        return 2 * (self.t * self.s0 + self.s1**2 / self.s0)

    @cached_property
    def mass(self) -> Array:
        """ρ dy/da."""
        return self.b * self.jacobian / (math.pi * self.radius2)

    @property
    def shift(self) -> Array:
        """y/√η - s v̄, real on the curve."""
        return self.a * (1 + self.c0 / self.radius2) + self.power1

    @property
    def estimate(self) -> Array:
        """ξ - s v̄: what the optimal estimator makes of the eigenvalue y, about its mean."""
        return self.power1 + self.a * self.weight1

    @cached_property
    def flow(self) -> tuple[Array, Array, Array]:
        """c0 (dx/da) times the derivatives of a, b and ρ dx by c0, as the points move with the ends of bands.

        x = y/√η - s v̄ depends on c0 as c0/ζ does: points that move by u = Re 1/ζ have
        ζ̇ = (u - 1/ζ)/x'(ζ) with x' = 2b (b s0 + i s1) on the curve, hence (dx/da) ζ̇ = (s1/s0 + ib)/|ζ|².
        Nothing diverges at the ends of bands, where u is their velocity. (At fixed x derivatives
        diverge as 1/b, and rounding of the ends is felt by its root.) For ρ dx = b/|ζ|² dx, up to π, there is
        the stretching du/da besides.
        """
        share = self.c0 / self.radius2
        slope = self.s1 / self.s0
        a_moves, b_moves = share * slope, share * self.b
        real, imaginary = self.a / self.radius2, -self.b / self.radius2  # of 1/ζ
        by_real, by_both = real * real - imaginary * imaginary, 2 * real * imaginary  # of 1/ζ²
        # Of -Im 1/ζ the derivative is Im(ζ̇/ζ²), and du/da = -Re[(1 + i db/da)/ζ²] with b db/da = -s1/s0.
        moves = b_moves * by_real + a_moves * by_both
        stretch = -share * (self.b * by_real + slope * by_both)
        return a_moves, b_moves, moves + stretch


@dataclass
class Bands:
    """Bands of several spectra: the spectrum each belongs to and its ends in a, in order.

    A band may come in pieces that share their ends, where the curve is hard to integrate across.
    ``pinch`` are points inside where a band nearly closes: b has almost a corner there.
    """

    owner: Integers
    low: Array
    high: Array
    pinch_owner: Integers
    pinch: Array

    @property
    def middle(self) -> Array:
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> Array:
        return 0.5 * (self.high - self.low)

    def chosen(self, which: Bools | Integers) -> Bands:
        """Some of the bands."""
        return Bands(self.owner[which], self.low[which], self.high[which], self.pinch_owner, self.pinch)

    def upper_half(self) -> Bands:
        """The bands at a >= 0 of symmetric spectra; one in the middle is there as a whole."""
        upper = self.chosen(self.high > 0)
        upper.low = np.where(upper.low < 0, -upper.high, upper.low)
        return upper


class Poles:
    """The readout poles of a law at a given γ; the noise pole comes with each call."""

    rtol = 1e-14
    """Relative accuracy that quadratures along the curve should ask for."""
    hidden = 1e-13
    """How large the last coefficients of a panel may be, however fast they decay."""
    is_symmetric = False
    """Whether v and -v have the same law, and so ζ and -ζ*."""
    has_whole_bands = False
    """Whether b vanishes at both ends of all bands."""
    outermost: tuple[float, float] | None = None
    """First and last pole, the noise's included; None where they are not isolated."""

    def __init__(self, readouts: Readouts, gamma: float) -> None:
        self.readouts = readouts
        self.gamma = gamma
        self.scale = math.sqrt(gamma)
        self.centre = self.scale * readouts.mean
        # Below the first the expansion in snr has two terms to 1e-16; beyond the second η mmse is constant.
        self.least_snr = 1e-8 / max(1.0, readouts.fourth_moment / gamma)
        self.most_snr = 1e30
        self.limit: float | None = None
        # Second moment of the pole positions, for the lower bound on t below.
        self._first = readouts.third_moment / self.scale
        self._second = readouts.fourth_moment / gamma

    def sums(self, a: Array, t: Array) -> tuple[Array, Array]:
        """Σ' c w and Σ' c w² over the readouts."""
        raise NotImplementedError

    def all_sums(self, a: Array, t: Array) -> tuple[Array, ...]:
        """power1, weight1, r0, r1 of :class:`CurvePoints`."""
        raise NotImplementedError

    def bands(self, c0: Array) -> Bands:
        """The bands in a for each noise weight c0 = 1/η."""
        raise NotImplementedError

    def potential(self, zeta: Complex, is_noisy: Bools) -> np.ndarray:
        """γ E Re[ln(1 - v/(sζ)) + v/(sζ)], the second term only where it ``is_noisy``."""
        raise NotImplementedError

    @property
    def splittings(self) -> list[float]:
        """The snr at which a band of the spectrum splits in two."""
        return []

    def band_guess(self, bands: Bands, a: Array, c0: Array) -> Array:
        """A first t at the places ``a`` (bands × nodes), 0 where nothing better is known."""
        raise NotImplementedError

    def first_guess(self, a: Array, c0: Array) -> Array:
        # By Jensen V(a, t) >= C²/(Σ c (a-a_i)² + C t) with C = Σ c, and V >= c0/(a² + t):
        # both give a t not above the root, from where Newton's steps only go up.
        total = 1 + c0
        spread = total * a**2 - 2 * a * self._first + self._second
        return np.maximum(np.maximum(total - spread / total, c0 - a**2), 0.0)

    def solve(self, a: Array, c0: Array, guess: Array | None = None) -> Array:
        """t > 0 with V(a, t) = 1 for a inside a band (nearly 0 at its ends).

        Newton's method on 1/V - 1, which is concave in t (a harmonic mean of linear
        functions): from the left it is monotone, from the right it steps to the left side.
        """
        shape = a.shape
        t = self.first_guess(a, c0).ravel()
        if guess is not None:
            t = np.where(guess.ravel() > 0, guess.ravel(), t)
        a, c0 = a.ravel(), c0.ravel()
        every_a, every_c0 = a, c0
        result = t.copy()
        index = np.arange(t.size)
        for _ in range(N_NEWTON):
            v1, v2 = self.sums(a, t)
            w = 1 / (a * a + t)
            v1 += c0 * w
            v2 += c0 * w * w
            step = (v1 - 1) * v1 / v2
            new = t + step
            t = np.where(new > 0, new, 0.25 * t)
            # Quadratic convergence: a relative step of 1e-8 was the last that mattered.
            active = (np.abs(step) > 1e-8 * t) & (np.abs(v1 - 1) > 1e-14)
            result[index] = t
            n_active = np.count_nonzero(active)
            if n_active == 0:
                break
            if n_active < 0.7 * t.size:
                index, a, t, c0 = index[active], a[active], t[active], c0[active]
        is_closed = result <= 0
        if is_closed.any():
            # Where bands touch rounding may close the curve: t is known to ε/|∂V/∂t| only.
            a, c0 = every_a[is_closed], every_c0[is_closed]
            result[is_closed] = 1e-17 / (self.sums(a, np.zeros_like(a))[1] + c0 / a**4)
        return result.reshape(shape)

    def blur(self, p: CurvePoints) -> Array:
        """Relative uncertainty of t in units of rounding: V(a, t) = 1 is known to one such unit."""
        return 1 / (p.t * p.s0)

    def points(self, a: Array, c0: Array, guess: Array | None = None) -> CurvePoints:
        """The curve at the abscissae ``a`` (inside bands) for noise weights ``c0`` = 1/η."""
        return self.at(a, self.solve(a, c0, guess), c0)

    def at(self, a: Array, t: Array, c0: Array) -> CurvePoints:
        return CurvePoints(a, t, c0, *self.all_sums(a, t))

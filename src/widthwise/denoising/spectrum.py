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

import numpy as np

from ..ingredients.readouts import Discrete, Readouts, _Continuous

__all__ = ["Bands", "CurvePoints", "Poles", "make_poles"]

# |v| below and beyond which a continuous law counts as sparse (v² P_v(v) < 0.06 for N(0, 1)).
_CORE, _TAIL = 0.4, 3.0
_N_BISECTIONS = 45
_N_NEWTON = 60  # monotone and quadratic: five steps are typical, the rest is for double roots


@dataclass
class CurvePoints:
    r"""Points ζ = a + i√t and the sums over the poles (noise included) that integrands need.

    ``power1`` Σ' c(a - a_i)w (readouts only), ``weight1`` Σ' c w (readouts only),
    ``s0`` Σ c w², ``s1`` Σ c(a - a_i)w², where w = 1/((a - a_i)² + t).
    """

    a: np.ndarray
    t: np.ndarray
    c0: np.ndarray
    power1: np.ndarray
    weight1: np.ndarray
    s0: np.ndarray
    s1: np.ndarray

    @property
    def b(self) -> np.ndarray:
        return np.sqrt(self.t)

    @property
    def radius2(self) -> np.ndarray:
        """|ζ|²."""
        return self.a**2 + self.t

    @property
    def jacobian(self) -> np.ndarray:
        """d(y/√η)/da along the curve."""
        return 2 * (self.t * self.s0 + self.s1**2 / self.s0)

    @property
    def shift(self) -> np.ndarray:
        """y/√η - s v̄, real on the curve."""
        return self.a * (1 + self.c0 / self.radius2) + self.power1

    @property
    def estimate(self) -> np.ndarray:
        """ξ - s v̄: what the optimal estimator makes of the eigenvalue y, about its mean."""
        return self.power1 + self.a * self.weight1

    @property
    def flow(self) -> np.ndarray:
        """(dx/da) ∂ζ/∂c0 at fixed y (about its mean): how the curve moves with the noise."""
        return (self.shift / (2 * self.c0) - 1 / (self.a + 1j * self.b)) * (
            1 - 1j * self.s1 / (self.b * self.s0)
        )


@dataclass
class Bands:
    """Bands of several spectra: the spectrum each belongs to and its ends in a, in order.

    A band may come in pieces that share their ends, where the curve is hard to integrate across.
    ``pinch`` are points inside where a band nearly closes: b has almost a corner there.
    """

    owner: np.ndarray
    low: np.ndarray
    high: np.ndarray
    pinch_owner: np.ndarray
    pinch: np.ndarray


class Poles:
    """The readout poles of a law at a given γ; the noise pole comes with each call."""

    rtol = 1e-14
    """Relative accuracy that quadratures along the curve should ask for."""
    hidden = 1e-8
    """How large the last Legendre coefficients of a panel may be, however fast they decay."""
    outermost: tuple[float, float] | None = None
    """First and last pole, the noise's included; None where they are not isolated."""

    def __init__(self, readouts: Readouts, gamma: float) -> None:
        self.readouts = readouts
        self.gamma = gamma
        self.scale = math.sqrt(gamma)
        self.centre = self.scale * readouts.mean
        # Second moment of the pole positions, for the lower bound on t below.
        self._first = readouts.third_moment / self.scale
        self._second = readouts.fourth_moment / gamma

    def sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ' c w and Σ' c w² over the readouts."""
        raise NotImplementedError

    def all_sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, ...]:
        """power1, weight1, s0, s1 over the readouts."""
        raise NotImplementedError

    def bands(self, c0: np.ndarray) -> Bands:
        """The bands in a for each noise weight c0 = 1/η."""
        raise NotImplementedError

    def potential(self, zeta: np.ndarray) -> np.ndarray:
        """γ E ln|1 - v/(sζ)|."""
        raise NotImplementedError

    def first_guess(self, a: np.ndarray, c0: np.ndarray) -> np.ndarray:
        # By Jensen V(a, t) >= C²/(Σ c (a-a_i)² + C t) with C = Σ c, and V >= c0/(a² + t):
        # both give a t not above the root, from where Newton's steps only go up.
        total = 1 + c0
        spread = total * a**2 - 2 * a * self._first + self._second
        return np.maximum(np.maximum(total - spread / total, c0 - a**2), 0.0)

    def solve(self, a: np.ndarray, c0: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
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
        for _ in range(_N_NEWTON):
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

    def blur(self, p: CurvePoints) -> np.ndarray:
        """Relative uncertainty of t in units of rounding: V(a, t) = 1 is known to one such unit."""
        return 1 / (p.t * p.s0)

    def points(self, a: np.ndarray, c0: np.ndarray, guess: np.ndarray | None = None) -> CurvePoints:
        """The curve at the abscissae ``a`` (inside bands) for noise weights ``c0`` = 1/η."""
        return self.at(a, self.solve(a, c0, guess), c0)

    def at(self, a: np.ndarray, t: np.ndarray, c0: np.ndarray) -> CurvePoints:
        power1, weight1, s0, s1 = self.all_sums(a, t)
        w = 1 / (a * a + t)
        s0 = s0 + c0 * w * w
        s1 = s1 + c0 * a * w * w
        return CurvePoints(a, t, c0, power1, weight1, s0, s1)


class _DiscretePoles(Poles):
    def __init__(self, readouts: Discrete, gamma: float) -> None:
        super().__init__(readouts, gamma)
        v = np.asarray(readouts.values)
        p = np.asarray(readouts.probabilities)
        keep = v != 0  # a unit with readout 0 does not reach the output
        self.v, self.p = v[keep], p[keep]
        self.where = self.v / self.scale
        self.weight = self.p * self.v**2
        self.outermost = min(float(self.where.min()), 0.0), max(float(self.where.max()), 0.0)

    def sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        v1, v2 = np.zeros_like(a), np.zeros_like(a)
        for ai, ci in zip(self.where, self.weight, strict=True):
            w = a - ai
            w *= w
            w += t
            np.divide(1.0, w, out=w)
            term = ci * w
            v1 += term
            term *= w
            v2 += term
        return v1, v2

    def all_sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, ...]:
        totals = [np.zeros_like(a) for _ in range(4)]
        for ai, ci in zip(self.where, self.weight, strict=True):
            d = a - ai
            w = 1 / (d * d + t)
            term = ci * w
            totals[1] += term
            totals[0] += term * d
            term *= w
            totals[2] += term
            totals[3] += term * d
        return tuple(totals)

    def potential(self, zeta: np.ndarray) -> np.ndarray:
        inverse = 1 / zeta
        real, imaginary = inverse.real, inverse.imag
        total = np.zeros(zeta.shape)
        for ai, pi in zip(self.where, self.p, strict=True):
            total += pi * np.log((1 - ai * real) ** 2 + (ai * imaginary) ** 2)
        return 0.5 * self.gamma * total

    def bands(self, c0: np.ndarray) -> Bands:
        n = c0.size
        i0 = int(np.searchsorted(self.where, 0.0))
        where = np.insert(self.where, i0, 0.0)
        weights = np.empty((n, where.size))
        weights[:] = np.insert(self.weight, i0, 0.0)
        weights[:, i0] = c0
        every = np.arange(n)
        left = _edge(where, weights, every, np.full(n, 0), -1.0)
        right = _edge(where, weights, every, np.full(n, where.size - 1), 1.0)
        owner, low, high = [every], [left], [right]
        pinch_owner, pinch = np.empty(0, dtype=int), np.empty(0)

        # Between neighbouring poles V >= (c_l^⅓ + c_r^⅓)³/D², plus what the others give at the
        # far end: most gaps are ruled out by this.
        roots = np.cbrt(weights)
        distance = np.diff(where)
        bound = (roots[:, :-1] + roots[:, 1:]) ** 3 / distance**2
        reach = np.maximum(np.abs(where - where[:-1, None]), np.abs(where - where[1:, None]))
        others = 1 / reach**2
        gaps = np.arange(distance.size)
        others[gaps, gaps] = others[gaps, gaps + 1] = 0.0
        bound += weights @ others.T
        who, gap = np.nonzero(bound < 2.0)
        if who.size:
            share = roots[who, gap] / (roots[who, gap] + roots[who, gap + 1])
            middle, least = _least(where, weights[who], gap, where[gap] + share * distance[gap])
            # Rounding decides below this; a gap that narrow holds no mass and is integrated over.
            is_open = least < 1 - 1e-13
            is_pinched = ~is_open & (least < 2.0)
            pinch_owner, pinch = who[is_pinched], middle[is_pinched]
            if is_open.any():
                who, gap = who[is_open], gap[is_open]
                gap_left = _edge(where, weights, who, gap, 1.0, middle[is_open])
                gap_right = _edge(where, weights, who, gap + 1, -1.0, middle[is_open])
                owner.append(who)
                low.append(gap_right)
                high.append(gap_left)
        owner_all = np.concatenate(owner)
        # Each gap ends one band and begins the next: sort both lists of ends apart.
        lows = np.concatenate(low)
        highs = np.concatenate(high)
        first, second = np.lexsort((lows, owner_all)), np.lexsort((highs, owner_all))
        return Bands(owner_all[first], lows[first], highs[second], pinch_owner, pinch)


class _ContinuousPoles(Poles):
    readouts: _Continuous
    rtol = 1e-12  # the closed forms are differences outside the support: their rounding shows

    def __init__(self, readouts: _Continuous, gamma: float) -> None:
        super().__init__(readouts, gamma)
        # Soft edges are weak singularities, and η mmse is a difference of order γ: with 1e-9
        # throughout, an error of 6e-9 hid at γ = 0.05.
        self.hidden = 1e-9 * min(1.0, gamma)

    def sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, v1, v2, _ = self.all_sums(a, t)
        return v1, v2

    def all_sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, ...]:
        # e(ζ) = E v²/(ζ - v/s) = s h(sζ): its parts and those of its slope are the sums.
        b = np.sqrt(t)
        h0, h1 = self.readouts.weighted_resolvent(self.scale * (a + 1j * b))
        e0, e1 = self.scale * h0, self.gamma * h1
        weight1 = -e0.imag / b
        return e0.real, weight1, (e1.real + weight1) / (2 * t), e1.imag / (2 * b)

    def first_guess(self, a: np.ndarray, c0: np.ndarray) -> np.ndarray:
        # Inside the support V grows as π c(a)/b when b -> 0: start where that term alone is 1.
        # Outside it the sums lose digits below b = 1e-7 (they are differences there).
        v = self.scale * a
        density = math.pi * self.scale * v**2 * self.readouts.density(v)
        is_inside = np.abs(v) < min(self.readouts.largest, self.readouts.cutoff)
        floor = np.where(is_inside & (density > 0), density, 1e-7 * (1 + np.abs(a)))
        return np.maximum(super().first_guess(a, c0), floor**2)

    def blur(self, p: CurvePoints) -> np.ndarray:
        # The closed forms h = z²m - z and h' lose two and four powers of |z|; the series nothing.
        z2 = self.gamma * p.radius2
        return np.where(z2 < self.readouts.cutoff**2, (1 + z2) ** 2, 1.0) * super().blur(p)

    def potential(self, zeta: np.ndarray) -> np.ndarray:
        return self.gamma * self.readouts.log_potential(self.scale * zeta).real

    def bands(self, c0: np.ndarray) -> Bands:
        """One band for each η, cut at its soft edges."""
        start = min(self.readouts.largest, self.readouts.cutoff) / self.scale
        edge = np.full(c0.size, start)
        outside = self.readouts.largest <= self.readouts.cutoff
        # Beyond the support V(a, 0) = c0/a² - s² h'(sa): same concave iteration as for atoms.
        a = np.maximum(edge * (1 + 1e-13 if outside else 1.0), np.sqrt(c0))
        for _ in range(_N_NEWTON):
            h1, h2 = self.readouts.outer_slopes(self.scale * a)
            v = c0 / a**2 - self.gamma * h1
            slope = -2 * c0 / a**3 - self.gamma * self.scale * h2
            new = a + 2 * (v - v**1.5) / slope
            new = np.where(v > 1, new, a)
            done = np.all(np.abs(new - a) <= 1e-15 * a)
            a = new
            if done:
                break
        every = np.arange(c0.size)
        inner, outer = self._soft_edges(c0, a)
        # Beside a small circle the curve varies on the scale of its radius: pieces of their own.
        near = np.minimum(2 * inner, outer)
        far = np.where(32 * inner < outer, 16 * inner, near)
        ends = [-a, -outer, -far, -near, -inner, inner, near, far, outer, a]
        owner = np.tile(every, len(ends) - 1)
        lows, highs = np.concatenate(ends[:-1]), np.concatenate(ends[1:])
        is_real = highs > lows  # absent soft edges leave empty pieces
        owner, lows, highs = owner[is_real], lows[is_real], highs[is_real]
        order = np.lexsort((lows, owner))
        return Bands(owner[order], lows[order], highs[order], every[:0], c0[:0])

    def _soft_edges(self, c0: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Radii where the curve leaves the circle of the noise pole for a low plain of readouts.

        There it nearly has an end (b falls steeply to the little that the sparse readouts
        give), so that a quadrature does well to begin anew. At γ < 1 and large η the circle
        is small and v²P_v(v) vanishes with v; at small η it is large and P_v a tail.
        Where the plain is not low the inner radius is 0 or the outer one ``end``.
        """
        core = np.full(c0.size, _CORE / self.scale)
        tail = np.minimum(min(_TAIL, self.readouts.largest) / self.scale, end)
        low, high = np.concatenate([0 * core, tail]), np.concatenate([core, end])
        inner, outer = np.split(self._circle(np.tile(c0, 2), low, high), 2)
        return np.where(inner < core, inner, 0.0), np.where(outer > tail, outer, end)

    def _circle(self, c0: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Root of c0/a² - γ Re h'(sa) = 1 between the given radii (or an end), by bisection."""
        for _ in range(_N_BISECTIONS):
            a = 0.5 * (low + high)
            slope = self.readouts.weighted_resolvent(self.scale * a + 0j)[1].real
            is_below = c0 / a**2 - self.gamma * slope > 1
            low, high = np.where(is_below, a, low), np.where(is_below, high, a)
        return high


def make_poles(readouts: Readouts, gamma: float) -> Poles:
    """The poles of a readout law at width γ."""
    if isinstance(readouts, Discrete):
        return _DiscretePoles(readouts, gamma)
    if isinstance(readouts, _Continuous):
        return _ContinuousPoles(readouts, gamma)
    raise TypeError(f"no spectral curve for readouts of type {type(readouts).__name__}")


def _edge(
    where: np.ndarray,
    weights: np.ndarray,
    who: np.ndarray,
    pole: np.ndarray,
    side: float,
    stop: np.ndarray | None = None,
) -> np.ndarray:
    """Root of V(a, 0) = 1 next to a pole, on the given side of it.

    V^(-1/2) is concave between poles (a power mean of linear functions), and V >= 1 within
    √c of a pole: Newton's method from there is monotone and never passes the root.
    """
    c = weights[who]
    x = where[pole] + side * np.sqrt(c[np.arange(who.size), pole])
    for _ in range(_N_NEWTON):
        d = x[:, None] - where
        inverse = 1 / d
        terms = c * inverse * inverse
        v = terms.sum(axis=1)
        slope = -2 * (terms * inverse).sum(axis=1)
        step = 2 * (v - v**1.5) / slope
        new = x + np.where(v > 1, step, 0.0)
        if stop is not None:
            new = np.minimum(new, stop) if side > 0 else np.maximum(new, stop)
        done = np.all(np.abs(new - x) <= 2e-16 * np.abs(new))
        x = new
        if done:
            break
    return x


def _least(
    where: np.ndarray, weights: np.ndarray, gap: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimum of the convex V(a, 0) between neighbouring poles, by safeguarded Newton."""
    low, high, x = where[gap].copy(), where[gap + 1].copy(), start.copy()
    width = high - low
    for _ in range(_N_NEWTON):
        inverse = 1 / (x[:, None] - where)
        cubes = weights * inverse * inverse * inverse
        slope = -2 * cubes.sum(axis=1)
        curvature = 6 * (cubes * inverse).sum(axis=1)
        high = np.where(slope > 0, x, high)
        low = np.where(slope > 0, low, x)
        new = x - slope / curvature
        new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        # V is flat here: a step of 1e-9 of the gap is the last one that can change it.
        done = np.all(np.abs(new - x) <= 1e-9 * width)
        x = new
        if done:
            break
    v = (weights / (x[:, None] - where) ** 2).sum(axis=1)
    return x, v

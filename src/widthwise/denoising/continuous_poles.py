"""The spectral curve of a continuous readout law: sums over poles are its resolvent, in closed form."""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from ..ingredients.readouts import _Continuous
from .spectral_curve import N_NEWTON, Bands, CurvePoints, Poles

__all__ = ["ContinuousPoles"]

# |v| below and beyond which a continuous law counts as sparse (v² P_v(v) < 0.06 for N(0, 1)).
_CORE, _TAIL = 0.4, 3.0
_N_BISECTIONS = 45
# Pieces beyond a soft edge end at powers of its width, in units of the way to the next end, if that is small.
_GRADES = (1.0, 0.03), (0.75, 1e-8), (0.5, 1e-4), (0.25, 1e-8)


class ContinuousPoles(Poles):
    readouts: _Continuous
    is_symmetric = True
    rtol = 1e-12  # the closed forms are differences outside the support: their rounding shows

    def __init__(self, readouts: _Continuous, gamma: float) -> None:
        super().__init__(readouts, gamma)
        # Soft edges are weak singularities, and η mmse is a difference of order γ.
        self.hidden = 3e-12 * min(1.0, gamma)

    def sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, v1, v2, _ = self.all_sums(a, t)
        return v1, v2

    def all_sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, ...]:
        # e(ζ) = E v²/(ζ - v/s) = s h(sζ): its parts and those of its slope are the sums. Near 0 it is -γζ,
        # which belongs to the first two of them only, and a remainder.
        b = np.sqrt(t)
        (h0, h1), inner = self.readouts.split_resolvent(self.scale * (a + 1j * b))
        e0, e1 = self.scale * h0, self.gamma * h1
        linear = self.gamma * inner
        weight1 = -e0.imag / b
        return e0.real - linear * a, weight1 + linear, (e1.real + weight1) / (2 * t), e1.imag / (2 * b)

    def first_guess(self, a: Array, c0: Array) -> Array:
        # Inside the support V grows as π c(a)/b when b -> 0: start where that term alone is 1.
        # Outside it the sums lose digits below b = 1e-7 (they are differences there).
        v = self.scale * a
        density = math.pi * self.scale * v**2 * self.readouts.density(v)
        is_inside = np.abs(v) < min(self.readouts.largest, self.readouts.cutoff)
        floor = np.where(is_inside & (density > 0), density, 1e-7 * (1 + np.abs(a)))
        guess: Array = np.maximum(super().first_guess(a, c0), floor**2)
        return guess

    def blur(self, p: CurvePoints) -> Array:
        # The closed forms h = z²m - z and h' lose two and four powers of |z|; the series nothing.
        z2 = self.gamma * p.radius2
        return np.where(z2 < self.readouts.cutoff**2, (1 + z2) ** 2, 1.0) * super().blur(p)

    def potential(self, zeta: np.ndarray, is_noisy: np.ndarray) -> np.ndarray:
        return self.gamma * self.readouts.log_potential(self.scale * zeta).real

    def bands(self, c0: np.ndarray) -> Bands:
        """One band for each η, cut at its soft edges."""
        start = min(self.readouts.largest, self.readouts.cutoff) / self.scale
        edge = np.full(c0.size, start)
        outside = self.readouts.largest <= self.readouts.cutoff
        # Beyond the support V(a, 0) = c0/a² - s² h'(sa): same concave iteration as for atoms.
        a = np.maximum(edge * (1 + 1e-13 if outside else 1.0), np.sqrt(c0))
        for _ in range(N_NEWTON):
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
        positive = [*self._graded(c0, inner, near), far, *self._graded(c0, outer, a)]
        ends = [-x for x in positive[::-1]] + positive
        owner = np.tile(every, len(ends) - 1)
        lows, highs = np.concatenate(ends[:-1]), np.concatenate(ends[1:])
        is_real = highs > lows  # absent soft edges leave empty pieces
        owner, lows, highs = owner[is_real], lows[is_real], highs[is_real]
        order = np.lexsort((lows, owner))
        return Bands(owner[order], lows[order], highs[order], every[:0], c0[:0])

    def _graded(self, c0: np.ndarray, edge: np.ndarray, end: np.ndarray) -> list[np.ndarray]:
        """Radii from a soft edge to ``end``: the curve bends over a distance t/2a, t its height there."""
        radii = [edge]
        is_real = (edge > 0) & (edge < end)
        if is_real.any():
            a, gap = edge[is_real], (end - edge)[is_real]
            share = 0.5 * self.solve(a, c0[is_real]) / a / gap
            for power, least in _GRADES:
                cut = radii[-1].copy()
                cut[is_real] = np.where(share < least, a + share**power * gap, cut[is_real])
                radii.append(cut)
        return [*radii, end]

    def _soft_edges(self, c0: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Radii where the curve leaves the circle of the noise pole for a low plain of readouts.

        There it nearly has an end (b falls steeply to the little that the sparse readouts
        give), so that a quadrature does well to begin anew. At γ < 1 and large η the circle
        is small and v²P_v(v) vanishes with v; at small η it is large and P_v a tail.
        Where the plain is not low the inner radius is 0 or the outer one ``end``.
        """
        core = np.full(c0.size, _CORE / self.scale)
        tail = np.minimum(min(_TAIL, self.readouts.largest) / self.scale, end)
        low, high = np.concatenate([np.minimum(np.sqrt(c0), core), tail]), np.concatenate([core, end])
        inner, outer = np.split(self._circle(np.tile(c0, 2), low, high), 2)
        return np.where(inner < core, inner, 0.0), np.where(outer > tail, outer, end)

    def _circle(self, c0: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Root of c0/a² - γ Re h'(sa) = 1 between the given radii (or an end), by bisection in ln a."""
        for _ in range(_N_BISECTIONS):
            a = np.sqrt(low * high)
            slope = self.readouts.weighted_resolvent(self.scale * a + 0j)[1].real
            is_below = c0 / a**2 - self.gamma * slope > 1
            low, high = np.where(is_below, a, low), np.where(is_below, high, a)
        return high

"""The spectral curve of a discrete readout law: finitely many poles, band edges by Newton's method."""

from __future__ import annotations

import numpy as np

from ..ingredients.readouts import Discrete
from .spectral_curve import N_NEWTON, Bands, Poles

__all__ = ["DiscretePoles"]

_SMALL, _N_SERIES = 0.05, 13  # ln(1 - u) + u by its series: 0.05^13 = 1e-17


class DiscretePoles(Poles):
    def __init__(self, readouts: Discrete, gamma: float) -> None:
        super().__init__(readouts, gamma)
        v = np.asarray(readouts.values)
        p = np.asarray(readouts.probabilities)
        keep = v != 0  # a unit with readout 0 does not reach the output
        self.v, self.p = v[keep], p[keep]
        self.where = self.v / self.scale
        self.weight = self.p * self.v**2
        # Small readouts are told from none when the noise is as small as they are.
        self.most_snr = min(1e30 * max(1.0, float(np.min(np.abs(self.where))) ** -2), 1e70)
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

    def potential(self, zeta: np.ndarray, is_noisy: np.ndarray) -> np.ndarray:
        inverse = 1 / zeta
        real, imaginary = inverse.real, inverse.imag
        total = np.zeros(zeta.shape)
        for ai, pi in zip(self.where, self.p, strict=True):
            x, y = ai * real, ai * imaginary
            size = x * x + y * y
            # A rare readout has a band so narrow that rounding may put a point of it on the pole.
            term = 0.5 * np.log(np.maximum((1 - x) ** 2 + y * y, 1e-300)) + np.where(is_noisy, x, 0.0)
            is_small = is_noisy & (size < _SMALL**2)
            if is_small.any():
                u = (x + 1j * y)[is_small]
                series = np.zeros_like(u)
                for k in range(_N_SERIES, 1, -1):
                    series = (series + 1 / k) * u
                term[is_small] = -(series * u).real
            total += pi * term
        return self.gamma * total

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
    for _ in range(N_NEWTON):
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
    for _ in range(N_NEWTON):
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

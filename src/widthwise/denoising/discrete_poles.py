"""The spectral curve of a discrete readout law: finitely many poles, band edges by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._arrays import Array, Integers
from ..ingredients.readouts import Discrete
from .spectral_curve import N_NEWTON, Bands, Poles

__all__ = ["DiscretePoles"]

_BLOCK = 32768  # numbers
_N_OPENING = 30  # Newton steps for the noise at which a gap opens; five are typical
_SMALL, _N_SERIES = 0.05, 13  # ln(1 - u) + u by its series: 0.05^13 = 1e-17
_LEAST = 1e-140  # squared distance from a pole: a first guess may lie on one


class DiscretePoles(Poles):
    has_whole_bands = True

    def __init__(self, readouts: Discrete, gamma: float) -> None:
        super().__init__(readouts, gamma)
        v = np.asarray(readouts.values)
        p = np.asarray(readouts.probabilities)
        keep = v != 0  # a unit with readout 0 does not reach the output
        self.v, self.p = v[keep], p[keep]
        self.where = self.v / self.scale
        self.weight = self.p * self.v**2
        self.is_symmetric = bool(np.all(self.v == -self.v[::-1]) and np.all(self.p == self.p[::-1]))
        # Small readouts are told from none when the noise is as small as they are.
        smallest = max(float(np.min(np.abs(self.where))), 1e-20)
        self.most_snr = 1e30 * max(1.0, smallest**-2)
        self.outermost = min(float(self.where.min()), 0.0), max(float(self.where.max()), 0.0)

    def sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        totals = np.empty((2, a.size))
        for block in self._blocks(a.size):
            _, w = self._distances(a.ravel()[block], t.ravel()[block])
            np.matmul(self.weight, w, out=totals[0, block])
            w *= w
            np.matmul(self.weight, w, out=totals[1, block])
        v1, v2 = totals.reshape(2, *a.shape)
        return v1, v2

    def all_sums(self, a: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, ...]:
        totals = np.empty((4, a.size))
        for block in self._blocks(a.size):
            d, w = self._distances(a.ravel()[block], t.ravel()[block])
            np.matmul(self.weight, d * w, out=totals[0, block])
            np.matmul(self.weight, w, out=totals[1, block])
            w *= w
            np.matmul(self.weight, w, out=totals[2, block])
            w *= d
            np.matmul(self.weight, w, out=totals[3, block])
        return tuple(totals.reshape(4, *a.shape))

    def _distances(self, a: Array, t: Array) -> tuple[Array, Array]:
        """a - a_i and w = 1/((a - a_i)² + t) (poles × points)."""
        d = a - self.where[:, None]
        w = d * d
        w += np.maximum(t, _LEAST)
        np.divide(1.0, w, out=w)
        return d, w

    def _blocks(self, n_points: int) -> list[slice]:
        """Slices of points for which the arrays (poles × points) stay in the cache."""
        step = max(1, _BLOCK // self.where.size)
        return [slice(i, i + step) for i in range(0, n_points, step)]

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

    def band_guess(self, bands: Bands, a: Array, c0: Array) -> Array:
        # The bound of first_guess from the poles of the band alone: exact if there is one.
        moments = np.zeros((3, self.where.size + 1))
        np.cumsum(
            [self.weight, self.weight * self.where, self.weight * self.where**2], axis=1, out=moments[:, 1:]
        )
        first, last = (np.searchsorted(self.where, end) for end in (bands.low, bands.high))
        total, once, twice = moments[:, last] - moments[:, first]
        total = (total + np.where((bands.low < 0) & (bands.high > 0), c0, 0.0))[:, None]
        spread = total * a**2 - 2 * a * once[:, None] + twice[:, None]
        guess: Array = np.maximum(total - spread / np.maximum(total, 1e-300), 0.0)
        return guess

    @cached_property
    def gaps(self) -> Gaps:
        """Where gaps between neighbouring poles (the noise's, 0, included) open as the noise goes away.

        V < 1 somewhere between the two if c0 < F(a) := a² (1 - Σ' c/(a - a_i)²) there.  The maximum of F is
        found by Newton's method for min V = 1 as an equation for c0, monotone for it is concave.
        """
        where, weights = self._with_noise(np.ones(1))
        distance = np.diff(where)
        roots = np.cbrt(np.where(where == 0, 0.0, weights[0]))
        # Between neighbours V >= (c_l^⅓ + c_r^⅓)³/D²: most gaps are ruled out by this.
        left = np.nonzero((roots[:-1] + roots[1:]) ** 3 < 2 * distance**2)[0]

        def largest_noise(a: Array) -> Array:
            with np.errstate(over="ignore"):
                noise: Array = a**2 * (1 - (self.weight / (a[..., None] - self.where) ** 2).sum(axis=-1))
                return noise

        share = np.concatenate(
            [[1e-6, 1e-4, 1e-2], np.linspace(0, 1, 34)[1:-1], [1 - 1e-2, 1 - 1e-4, 1 - 1e-6]]
        )
        places = where[left, None] + distance[left, None] * share
        a = places[np.arange(left.size), np.argmax(largest_noise(places), axis=1)]
        noise = np.zeros(left.size)
        for _ in range(_N_OPENING):
            new = np.maximum(largest_noise(a), noise)
            done = np.all(new - noise <= 1e-15 * new)
            noise = new
            weights = self._with_noise(np.maximum(noise, 1e-30 * a**2))[1]
            a, _ = _least(where, weights, left, a)
            if done:
                break
        return Gaps(left, a, noise)

    @property
    def splittings(self) -> list[float]:
        noise = self.gaps.noise
        return sorted(set((1 / noise[noise > 1 / self.most_snr]).tolist()))

    def _with_noise(self, c0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of all poles and their weights (spectra × poles)."""
        i0 = int(np.searchsorted(self.where, 0.0))
        weights = np.empty((c0.size, self.where.size + 1))
        weights[:] = np.insert(self.weight, i0, 0.0)
        weights[:, i0] = c0
        return np.insert(self.where, i0, 0.0), weights

    def bands(self, c0: np.ndarray) -> Bands:
        n = c0.size
        where, weights = self._with_noise(c0)
        every = np.arange(n)
        left = _edge(where, weights, every, np.full(n, 0), -1.0)
        right = _edge(where, weights, every, np.full(n, where.size - 1), 1.0)
        owner, low, high = [every], [left], [right]
        pinch_owner, pinch = np.empty(0, dtype=int), np.empty(0)
        gaps = self.gaps
        is_closed = np.ones((n, where.size - 1), dtype=bool)
        if gaps.left.size:
            v = (self.weight / (gaps.a[:, None] - self.where) ** 2).sum(axis=1) + c0[:, None] / gaps.a**2
            # Rounding decides below this; a gap that narrow holds no mass and is integrated over.
            who, gap = np.nonzero(v < 1 - 1e-13)
            is_closed[who, gaps.left[gap]] = False
            gap_left = _edge(where, weights, who, gaps.left[gap], 1.0, gaps.a[gap])
            gap_right = _edge(where, weights, who, gaps.left[gap] + 1, -1.0, gaps.a[gap])
            owner.append(who)
            low.append(gap_right)
            high.append(gap_left)
        # Between neighbouring poles V >= (c_l^⅓ + c_r^⅓)³/D², plus what the others give at the far end.
        roots = np.cbrt(weights)
        distance = np.diff(where)
        reach = np.maximum(np.abs(where - where[:-1, None]), np.abs(where - where[1:, None]))
        others = 1 / reach**2
        every_gap = np.arange(distance.size)
        others[every_gap, every_gap] = others[every_gap, every_gap + 1] = 0.0
        bound = (roots[:, :-1] + roots[:, 1:]) ** 3 / distance**2 + weights @ others.T
        who, gap = np.nonzero(is_closed & (bound < 2.0))
        if who.size:
            # From the nearer pole: the other one's distance may be nothing beside its own size.
            left, right = roots[who, gap], roots[who, gap + 1]
            from_left = np.maximum(where[gap] + left / (left + right) * distance[gap], _after(where[gap], 1))
            from_right = np.minimum(
                where[gap + 1] - right / (left + right) * distance[gap], _after(where[gap + 1], -1)
            )
            start = np.where(left < right, from_left, from_right)
            place, least = _least(where, weights[who], gap, start)
            pinch_owner, pinch = who[least < 2.0], place[least < 2.0]
        owner_all = np.concatenate(owner)
        # Each gap ends one band and begins the next: sort both lists of ends apart.
        lows = np.concatenate(low)
        highs = np.concatenate(high)
        first, second = np.lexsort((lows, owner_all)), np.lexsort((highs, owner_all))
        return Bands(owner_all[first], lows[first], highs[second], pinch_owner, pinch)


@dataclass(frozen=True)
class Gaps:
    """Gaps that may open: the pole on the left, a place inside, and the noise c0 below which it is open.

    The place is where V is least when the gap opens; c0 is 0 if it never does.
    """

    left: np.ndarray
    a: np.ndarray
    noise: np.ndarray


def _edge(
    where: Array, weights: Array, who: Integers, pole: Integers, side: float, stop: Array | None = None
) -> Array:
    """Root of V(a, 0) = 1 next to a pole, on the given side of it.

    V^(-1/2) is concave between poles (a power mean of linear functions), and V >= 1 within
    √c of a pole: Newton's method from there is monotone and never passes the root.
    """
    c = weights[who]
    x = where[pole] + side * np.sqrt(c[np.arange(who.size), pole])
    result = x.copy()
    index = np.arange(x.size)
    for _ in range(N_NEWTON):
        inverse = 1 / (x[:, None] - where)
        terms = c * inverse * inverse
        v = terms.sum(axis=1)
        slope = -2 * np.einsum("ij,ij->i", terms, inverse)
        step = 2 * (v - v**1.5) / slope
        new = x + np.where(v > 1, step, 0.0)
        if stop is not None:
            new = np.minimum(new, stop) if side > 0 else np.maximum(new, stop)
        active = np.abs(new - x) > 2e-16 * np.abs(new)
        result[index] = x = new
        if not active.any():
            break
        if np.count_nonzero(active) < 0.7 * active.size:
            index, x, c = index[active], x[active], c[active]
            stop = None if stop is None else stop[active]
    return result


def _after(x: Array, side: int) -> Array:
    """The next number on one side, and 0 itself for 0."""
    return np.where(x == 0, x, np.nextafter(x, side * np.inf))


def _least(
    where: np.ndarray, weights: np.ndarray, gap: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimum of the convex V(a, 0) between neighbouring poles, by safeguarded Newton."""
    low, high, x = where[gap].copy(), where[gap + 1].copy(), start.copy()
    width = high - low
    result, all_weights = x.copy(), weights
    index = np.arange(x.size)
    for _ in range(N_NEWTON):
        inverse = 1 / (x[:, None] - where)
        cubes = weights * inverse * inverse * inverse
        slope = -2 * cubes.sum(axis=1)
        curvature = 6 * np.einsum("ij,ij->i", cubes, inverse)
        high = np.where(slope > 0, x, high)
        low = np.where(slope > 0, low, x)
        new = x - slope / curvature
        new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        # V is flat here: a step of 1e-9 of the gap is the last one that can change it.
        active = np.abs(new - x) > 1e-9 * width
        result[index] = x = new
        if not active.any():
            break
        if np.count_nonzero(active) < 0.7 * active.size:
            index, x, low, high, width = (each[active] for each in (index, x, low, high, width))
            weights = weights[active]
    v = (all_weights / (result[:, None] - where) ** 2).sum(axis=1)
    return result, v

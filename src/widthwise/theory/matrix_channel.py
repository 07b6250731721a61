r"""Matrix denoising as the saddle-point equations use it: functions of ln η, cheap and smooth.

The logarithm of the odds, o(u) = ln[(1 - mmse)/mmse] at η = e^u, is u itself for a matrix of independent
Gaussian entries, and differs from u by a bounded, slowly varying function otherwise.  That function is
represented by Chebyshev series on panels (about 12 digits); everything else follows from o, o' and o''
without cancellation.  With τ = e^u, τ + q̂₂ = e^{u₁} and Δ = o(u₁) - o(u),

.. math:: \gamma A = \frac{\mathrm{mmse}(\tau) - \mathrm{mmse}(\tau + \hat q_2)}{-\mathrm{mmse}'(\tau)}
          = \tau\,\frac{\mathrm{mmse}(\tau + \hat q_2)}{\mathrm{mmse}(\tau)}\,
            \frac{e^{\Delta} - 1}{o'(u)} .
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._arrays import Array, Integers
from ..denoising import MatrixDenoiser
from ..ingredients.readouts import Discrete, Readouts
from ..numerics.piecewise import PiecewiseChebyshev
from ..numerics.roots import guarded_step

__all__ = [
    "MOST_ATOMS",
    "GaussianMatrix",
    "MatrixChannel",
    "MatrixPair",
    "SpectralMatrix",
    "grouped",
    "matrix_channel",
]

# Below and above, o(u) - u tends to constants as a power of η, and is carried on so. (Beyond, rounding makes
# the quadrature of the spectral density slow.) A small readout v is seen from η = 1/v² on only.
_LOW = math.log(1e-16)
_LEAST_HIGH, _MOST_HIGH = math.log(1e11), math.log(1e60)
_SEEN = math.log(1e9)  # v²η from which on the smallest readout v follows the power
_ATOL = 3e-13  # of o(u): relative error of the odds
_NOISE = 1e-11  # last coefficients that may be rounding, for continuous laws and at extremes
_GAUSS_X, _GAUSS_W = np.polynomial.legendre.leggauss(5)
_N_STEPS = 60
_WIDEST, _N_TERMS = 6.0, 20  # of a panel
_BESIDE = 0.05  # width of panels beside the splitting of a band, where o(u) is as smooth as |u|³ ln|u|
MOST_ATOMS = 128
"""Distinct readouts up to which the spectrum is that of the law itself."""
_CLOSE = 3e-3  # in ln η: nearer than this a difference is an integral (which a splitting within would spoil)
_LITTLE = -40.0  # ln q̂₂/τ below which γA is q̂₂ to rounding


class MatrixPair(NamedTuple):
    """The mmse at τ and at τ + q̂₂, and the pull that their difference gives."""

    log_pull: Array
    """ln γA; -inf where q̂₂ = 0."""
    pull_by_tilt: Array
    """d ln γA/d ln τ."""
    pull_by_hat: Array
    """d ln γA/d ln q̂₂."""
    odds: Array
    """ln[(1 - mmse)/mmse] at τ."""
    rate: Array
    """d odds/d ln τ."""
    mmse_after: Array
    """mmse(τ + q̂₂) = r₂ - q₂."""
    after_by_tilt: Array
    after_by_hat: Array
    """Derivatives of mmse(τ + q̂₂) in ln τ and ln q̂₂."""


class MatrixChannel:
    """What follows from the odds alone."""

    def odds(self, log_snr: Array) -> tuple[Array, Array, Array]:
        """ln[(1 - mmse)/mmse] and its first two derivatives in ln η."""
        raise NotImplementedError

    def log_snr_of(self, odds: Array) -> Array:
        """ln η at which ln[(1 - mmse)/mmse] has the given value."""
        raise NotImplementedError

    def rough_log_snr_of(self, odds: Array) -> Array:
        """:meth:`log_snr_of` to a few digits, for first guesses."""
        return self.log_snr_of(odds)

    def information(self, log_snr: Array) -> Array:
        """ι(η); 4 dι/dη = mmse."""
        raise NotImplementedError

    def mmse(self, log_snr: Array) -> tuple[Array, Array, Array]:
        """mmse, 1 - mmse, and d mmse/d ln η."""
        odds, rate, _ = self.odds(log_snr)
        mmse, recovered = _shares(odds)
        return mmse, recovered, -mmse * recovered * rate

    def pair(self, log_tilt: Array, log_hat: Array) -> MatrixPair:
        """Everything at τ and τ + q̂₂, given their logarithms."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
            apart = np.logaddexp(0.0, log_hat - log_tilt)
            share = np.exp(-apart)  # τ/(τ + q̂₂)
            rest = -np.expm1(-apart)
            # Both in one look-up: for the few points of a step its overhead is what counts.
            odds, rates, bends = self.odds(np.concatenate([log_tilt, log_tilt + apart]))
            (before, after), (rate, rate_after), (bend, _) = (x.reshape(2, -1) for x in (odds, rates, bends))
            (_, mmse_after), (recovered, recovered_after) = (x.reshape(2, -1) for x in _shares(odds))
            step = after - before
            close = apart < _CLOSE
            if close.any():
                # The integral of a smooth function has the relative accuracy that a difference loses.
                width = 0.5 * apart[close, None]
                rates = self.odds(log_tilt[close, None] + width * (1 + _GAUSS_X))[1]
                step[close] = (width * rates) @ _GAUSS_W
            log_ratio = np.logaddexp(0, before) - np.logaddexp(0, after)
            log_growth = np.where(step > 30, step, np.log(np.expm1(np.minimum(step, 30.0))))
            # γA = q̂₂ (1 + O(q̂₂/τ)), also where q̂₂/τ is below the smallest double.
            is_little = log_hat - log_tilt < _LITTLE
            log_pull = np.where(is_little, log_hat, log_tilt + log_ratio + log_growth - np.log(rate))
            inverse = 1 / -np.expm1(-step)
            by_tilt = (
                1
                - recovered_after * rate_after * share
                + recovered * rate
                + (rate_after * share - rate) * inverse
                - bend / rate
            )
            # For q̂₂ << τ this is the difference of large numbers.
            by_tilt = np.where(apart < 1e-7, 0.0, by_tilt)
            by_hat = np.where(~is_little, rest * (inverse - recovered_after) * rate_after, 1.0)
            slope = -mmse_after * recovered_after * rate_after
        return MatrixPair(log_pull, by_tilt, by_hat, before, rate, mmse_after, slope * share, slope * rest)

    def information_drop(self, log_tilt: Array, log_hat: Array) -> Array:
        """ι(τ) - ι(τ + q̂₂), without cancellation where q̂₂ << τ."""
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.logaddexp(0.0, log_hat - log_tilt)
        drop = self.information(log_tilt) - self.information(np.logaddexp(log_tilt, log_hat))
        close = apart < _CLOSE
        if close.any():
            # 4 dι/du = η mmse = e^u/(1 + e^o).
            u = log_tilt[close, None] + 0.5 * apart[close, None] * (1 + _GAUSS_X)
            density = np.exp(u - np.logaddexp(0, self.odds(u)[0]))
            drop[close] = -0.125 * apart[close] * (density @ _GAUSS_W)
        return drop


class GaussianMatrix(MatrixChannel):
    """A matrix of independent Gaussian entries, mmse = 1/(1 + η): the factorised ansatz."""

    def odds(self, log_snr: Array) -> tuple[Array, Array, Array]:
        log_snr = np.asarray(log_snr, dtype=float)
        return log_snr.copy(), np.ones_like(log_snr), np.zeros_like(log_snr)

    def log_snr_of(self, odds: Array) -> Array:
        return np.asarray(odds, dtype=float).copy()

    def information(self, log_snr: Array) -> Array:
        return 0.25 * np.logaddexp(0.0, log_snr)


class SpectralMatrix(MatrixChannel):
    """S̄ = Wᵀ D_v W/√(kd): the odds from its spectral curve, as piecewise polynomials in ln η."""

    def __init__(self, readouts: Readouts, gamma: float) -> None:
        denoiser = MatrixDenoiser(readouts, gamma)
        self._end = _highest(readouts)

        def functions(u: Array) -> Array:
            """o - u and η mmse, and their slopes in u."""
            snr = np.exp(u)
            mmse, recovered, slope = denoiser.evaluate(snr)
            rate = -slope * (snr / recovered) / mmse
            left = snr * mmse
            return np.stack(
                [
                    [np.log(recovered) - np.log(mmse) - u, left],
                    [rate - 1, left * (1 - recovered * rate)],
                ]
            )

        self._table = PiecewiseChebyshev(
            functions,
            (_LOW, self._end),
            breaks=np.log(denoiser.splittings),
            widest=_WIDEST,
            narrowest=1e-5,
            atol=_ATOL,
            noise=_NOISE,
            n_terms=_N_TERMS,
            has_slopes=True,
            beside_break=_BESIDE,
        )
        self._power = self._table.integrated(1)
        ends, slopes, bends = self._table(np.array([_LOW, self._end]))
        self._low, self._high = ends
        self._low_slope, self._high_slope = slopes
        # The power is 1/2 for continuous laws and 1 for discrete ones, 2/3 at γ = 1.
        self._decay = 1.0 if readouts.is_discrete else 0.5
        if readouts.is_discrete and abs(slopes[1]) > 1e-8:
            self._decay = float(np.clip(-bends[1] / slopes[1], 0.3, 1.5))
        nodes = self._table.nodes.ravel()
        self._rough = nodes + self._table(nodes)[0], nodes

    def odds(self, log_snr: Array) -> tuple[Array, Array, Array]:
        u = np.asarray(log_snr, dtype=float)
        inside = np.clip(u, _LOW, self._end)
        excess, slope, bend = self._table(inside)
        below, above = u < _LOW, u > self._end
        if below.any():
            part = np.exp(u[below] - _LOW)
            excess[below] = self._low - self._low_slope * (1 - part)
            slope[below] = bend[below] = self._low_slope * part
        if above.any():
            part = np.exp(-self._decay * (u[above] - self._end))
            excess[above] = self._high + self._high_slope / self._decay * (1 - part)
            slope[above] = self._high_slope * part
            bend[above] = -self._decay * slope[above]
        return u + excess, 1 + slope, bend

    def log_snr_of(self, odds: Array) -> Array:
        goal = np.asarray(odds, dtype=float)
        edges = self._table.edges
        at = edges + self._table(edges)[0]
        cell = np.clip(np.searchsorted(at, goal, side="right") - 1, 0, edges.size - 2)
        low, high = edges[cell], edges[cell + 1]
        outside = (goal < at[0]) | (goal > at[-1])
        low, high = np.where(outside, goal - 60.0, low), np.where(outside, goal + 60.0, high)
        u = np.where(outside, goal, 0.5 * (low + high))
        for _ in range(_N_STEPS):
            value, rate, _ = self.odds(u)
            error = value - goal
            low, high = np.where(error < 0, u, low), np.where(error > 0, u, high)
            new = guarded_step(u, -error / rate, low, high)
            done = np.all(np.abs(new - u) <= 1e-14 * (1 + np.abs(u)))
            u = new
            if done:
                break
        return u

    def rough_log_snr_of(self, odds: Array) -> Array:
        at, u = self._rough
        inside = np.interp(odds, at, u)
        log_snr: Array = (
            inside + np.where(odds < at[0], odds - at[0], 0.0) + np.where(odds > at[-1], odds - at[-1], 0.0)
        )
        return log_snr

    def information(self, log_snr: Array) -> Array:
        u = np.asarray(log_snr, dtype=float)
        total = self._power(np.clip(u, _LOW, self._end))[0] + math.log1p(math.exp(_LOW))
        below, above = u < _LOW, u > self._end
        total[below] = np.log1p(np.exp(u[below]))
        if above.any():  # η mmse tends to a constant
            beyond, rate = u[above] - self._end, self._high_slope / self._decay
            tail = rate / self._decay * -np.expm1(-self._decay * beyond)
            total[above] += math.exp(-self._high - rate) * (beyond + tail)
        return 0.25 * total


def _highest(readouts: Readouts) -> float:
    """ln η beyond which the odds follow a power of η."""
    if not isinstance(readouts, Discrete):
        return _LEAST_HIGH
    sizes = np.abs(np.asarray(readouts.values))
    smallest = float(sizes[sizes > 0].min())
    return min(max(_LEAST_HIGH, _SEEN - 2 * math.log(smallest)), _MOST_HIGH)


@lru_cache(maxsize=128)
def matrix_channel(readouts: Readouts, gamma: float) -> SpectralMatrix:
    """The matrix channel of a readout law and width, made once; of many atoms, from groups of them."""
    if isinstance(readouts, Discrete) and len(readouts.values) > MOST_ATOMS:
        readouts = grouped(readouts, MOST_ATOMS)
    return SpectralMatrix(readouts, gamma)


def grouped(law: Discrete, most: int) -> Discrete:
    """The law with atoms of one sign and nearly one size put together, ``most`` of them or fewer.

    A group becomes the two atoms of Gauss' quadrature, which have its mass and first three moments: spectra
    move by the fourth power of its width.
    """
    v, p = np.asarray(law.values), np.asarray(law.probabilities)
    atoms = [(np.zeros(1), p[v == 0])] if np.any(v == 0) else []
    n_left = most - len(atoms)
    signs = [sign for sign in (-1.0, 1.0) if np.any(sign * v > 0)]
    for sign in signs:
        own = sign * v > 0
        share = float(p[own] @ v[own] ** 2) / float(p @ v**2)
        n_cells = max(1, int(n_left * (0.5 / len(signs) + 0.5 * share)) // 2)
        cell = _cells(np.abs(v[own]), p[own], n_cells)
        atoms += [_gauss_pair(v[own][cell == c], p[own][cell == c]) for c in np.unique(cell)]
    values, masses = (np.concatenate(part) for part in zip(*atoms, strict=True))
    return Discrete(values, masses / masses.sum(), normalise=True)


def _cells(size: Array, p: Array, n_cells: int) -> Integers:
    """Groups of atoms of one sign, by number: half of them even in ln |v|, half where the power is.

    Errors of even powers add up least if widths go with the inverse cube root of the density of the power.
    """
    order = np.argsort(size)
    log_size = np.log(size[order])
    gaps = np.diff(log_size, prepend=log_size[0])
    power = p[order] * size[order] ** 2
    even = np.cumsum(gaps)
    dense = np.cumsum(np.cbrt(power * gaps**2))
    place = 0.5 * even / max(even[-1], 1e-300) + 0.5 * dense / max(dense[-1], 1e-300)
    cell = np.empty(size.size, dtype=int)
    cell[order] = np.minimum((n_cells * place).astype(int), n_cells - 1)
    return cell


def _gauss_pair(v: Array, p: Array) -> tuple[Array, Array]:
    """Two atoms with the mass and the first three moments of the given ones."""
    if v.size <= 2:
        return v, p
    mass = p.sum()
    mean = p @ v / mass
    variance, third = (float(p @ (v - mean) ** k / mass) for k in (2, 3))
    if variance <= (1e-12 * mean) ** 2:
        return np.array([mean]), np.array([mass])
    skew = 0.5 * third / variance
    root = math.sqrt(skew**2 + variance)
    nodes = np.array([skew - root, skew + root])
    return mean + nodes, mass * np.array([nodes[1], -nodes[0]]) / (2 * root)


def _shares(odds: Array) -> tuple[Array, Array]:
    """mmse and 1 - mmse of ln[(1 - mmse)/mmse]."""
    return np.exp(-np.logaddexp(0, odds)), np.exp(-np.logaddexp(0, -odds))

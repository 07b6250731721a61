r"""The mmse of matrix denoising as a function of ln η, for first guesses and for very large η.

The logarithm of the odds (1 - mmse)/mmse is almost ln η (exactly so for a Gaussian matrix),
so a cubic interpolant on a coarse grid is good to four digits.  Final values never come from
here, except beyond η = 1e13 where mmse = C/η to rounding.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ..denoising import MatrixDenoiser
from ..ingredients.readouts import Readouts

__all__ = ["MatrixPair", "MatrixTable", "matrix_table"]

_LOG_LOW, _LOG_HIGH, _STEP = np.log(1e-4), np.log(1e10), 0.5
_HUGE = 1e13


class MatrixPair(NamedTuple):
    """The mmse at τ and at τ + q̂₂, as the saddle-point equations use them."""

    pull: np.ndarray
    """γA = (mmse(τ) - mmse(τ + q̂₂))/(-mmse'(τ))."""
    mmse: np.ndarray
    recovered: np.ndarray
    log_slope: np.ndarray
    """d mmse/d ln τ at τ."""
    mmse_after: np.ndarray
    slope_after: np.ndarray
    slope_ratio: np.ndarray
    """mmse'(τ + q̂₂)/mmse'(τ)."""


class MatrixTable:
    """Interpolated mmse and slope, and exact ones that also accept huge signal-to-noise ratios."""

    def __init__(self, readouts: Readouts, gamma: float) -> None:
        self.denoiser = MatrixDenoiser(readouts, gamma)
        self._u = np.arange(_LOG_LOW, _LOG_HIGH + _STEP, _STEP)
        mmse, recovered, slope = self.denoiser.evaluate(np.exp(self._u))
        self._odds = np.log(recovered / mmse)
        self._rate = -slope * np.exp(self._u) / (mmse * recovered)

    @cached_property
    def _limit(self) -> float:
        """C of mmse = C/η."""
        return float(self.denoiser.evaluate(_HUGE)[0]) * _HUGE

    def exact(self, snr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """mmse, 1 - mmse, slope; by the law C/η beyond the reach of the quadrature."""
        is_huge = snr > _HUGE
        if not is_huge.any():
            return self.denoiser.evaluate(snr)
        mmse, recovered, slope = self.denoiser.evaluate(np.where(is_huge, 1.0, snr))
        tail = self._limit / snr
        return (
            np.where(is_huge, tail, mmse),
            np.where(is_huge, 1 - tail, recovered),
            np.where(is_huge, -tail / snr, slope),
        )

    def information_drop(self, snr: np.ndarray, more: np.ndarray) -> np.ndarray:
        """ι(snr) - ι(snr + more)."""
        is_huge = snr > _HUGE
        is_close = ~is_huge & (more < 1e-3 * snr)
        result = np.zeros_like(snr)
        result[is_huge] = -0.25 * self._limit * np.log1p(more[is_huge] / snr[is_huge])
        if is_close.any():
            # ι' = mmse/4: three Gauss points beat the difference of two nearly equal numbers.
            x, w = np.polynomial.legendre.leggauss(3)
            nodes = snr[is_close, None] + 0.5 * more[is_close, None] * (1 + x)
            result[is_close] = -0.125 * more[is_close] * (self.denoiser.evaluate(nodes)[0] @ w)
        plain = ~is_huge & ~is_close
        if plain.any():
            both = self.denoiser.information(np.stack([snr[plain], snr[plain] + more[plain]]))
            result[plain] = both[0] - both[1]
        return result

    def pair(self, snr: np.ndarray, more: np.ndarray) -> MatrixPair:
        """Exact values at snr (τ) and at snr + more (τ + q̂₂), differences without cancellation."""
        both = np.stack([snr, snr + more])
        mmse, recovered, slope = self.exact(both)
        drop = np.where(snr < 1, recovered[1] - recovered[0], mmse[0] - mmse[1])
        is_close = (more < 3e-3 * snr) & (more > 0) & (snr <= _HUGE)
        if is_close.any():
            offset = 0.5 + np.array([[-1.0], [1.0]]) / np.sqrt(12)
            nodes = snr[is_close] + offset * more[is_close]
            drop[is_close] = -more[is_close] * self.exact(nodes)[2].mean(axis=0)
        # Beyond _HUGE, where slopes underflow: mmse = C/η gives the ratios in closed form.
        is_huge = snr > _HUGE
        share = 1 / (1 + np.where(is_huge, more / np.maximum(snr, 1.0), 0.0))
        safe = np.where(is_huge, -1.0, slope[0])
        return MatrixPair(
            pull=np.where(is_huge, more * share, -drop / safe),
            mmse=mmse[0],
            recovered=recovered[0],
            log_slope=np.where(is_huge, -mmse[0], slope[0] * snr),
            mmse_after=mmse[1],
            slope_after=slope[1],
            slope_ratio=np.where(is_huge, share**2, slope[1] / safe),
        )

    def steepening(self, snr: np.ndarray) -> np.ndarray:
        """d ln(-mmse')/d ln η from exact slopes (central difference of step 3e-3: six digits)."""
        step = 3e-3
        ends = self.exact(snr * np.exp(np.array([[step], [-step]])))[2]
        is_huge = snr > _HUGE
        rate = np.log(np.where(is_huge, 1.0, ends[0]) / np.where(is_huge, 1.0, ends[1])) / (2 * step)
        return np.where(is_huge, -2.0, rate)

    def odds(self, log_snr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln((1 - mmse)/mmse) and its first two derivatives in ln η, interpolated."""
        u = np.clip(log_snr, self._u[0], self._u[-1])
        i = np.clip(((u - self._u[0]) / _STEP).astype(int), 0, self._u.size - 2)
        t = (u - self._u[i]) / _STEP
        y0, y1 = self._odds[i], self._odds[i + 1]
        m0, m1 = self._rate[i] * _STEP, self._rate[i + 1] * _STEP
        c2 = 3 * (y1 - y0) - 2 * m0 - m1
        c3 = m0 + m1 - 2 * (y1 - y0)
        value = y0 + t * (m0 + t * (c2 + t * c3))
        slope = (m0 + t * (2 * c2 + 3 * t * c3)) / _STEP
        curvature = (2 * c2 + 6 * t * c3) / _STEP**2
        outside = log_snr - u  # the odds are proportional to η there
        return value + outside, np.where(outside == 0, slope, 1.0), np.where(outside == 0, curvature, 0.0)

    def guess(self, log_snr: np.ndarray, log_more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interpolated γA = (mmse(η) - mmse(η + more))/(-mmse'(η)), and mmse(η + more)."""
        odds, rate, _ = self.odds(log_snr)
        ratio = rate / (1 + np.exp(-odds))  # -d ln mmse / d ln η
        apart = np.logaddexp(0, log_more - log_snr)
        odds_after, _, _ = self.odds(log_snr + apart)
        fall = np.logaddexp(0, odds_after) - np.logaddexp(0, odds)  # ln mmse(η) - ln mmse(η + more)
        with np.errstate(over="ignore", invalid="ignore"):
            pull = np.where(apart < 1e-4, np.exp(log_more), np.exp(log_snr) * -np.expm1(-fall) / ratio)
        return pull, np.exp(-np.logaddexp(0, odds_after))

    def log_snr_of(self, log_odds: np.ndarray) -> np.ndarray:
        """ln η at given ln odds, interpolated."""
        u = np.interp(log_odds, self._odds, self._u)
        u = np.where(log_odds < self._odds[0], self._u[0] + log_odds - self._odds[0], u)
        u = np.where(log_odds > self._odds[-1], self._u[-1] + log_odds - self._odds[-1], u)
        for _ in range(2):
            value, slope, _ = self.odds(u)
            u = u - (value - log_odds) / slope
        return u

    def guess_steepening(self, log_snr: np.ndarray, at: MatrixPair) -> np.ndarray:
        """d ln(-mmse')/d ln η from the interpolated odds L, mmse = 1/(1 + e^L)."""
        _, rate, bend = self.odds(log_snr)
        curvature = -at.mmse * at.recovered * (bend - (1 - 2 * at.mmse) * rate**2)  # in ln η
        return curvature / at.log_slope - 1


@lru_cache(maxsize=64)
def matrix_table(readouts: Readouts, gamma: float) -> MatrixTable:
    """The table of a readout law at width γ, made once."""
    return MatrixTable(readouts, gamma)

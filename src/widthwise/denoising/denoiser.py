r"""Matrix denoising of S̄ = Wᵀ D_v W/√(kd) from Y = √η S̄ + Z, for any readout law and width.

Everything is computed from the spectral curve at the moment of asking: nothing is tabulated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .._display import Plotted
from ..ingredients import readouts as readout_laws
from ..numerics.roots import guarded_step
from .continuous_poles import ContinuousPoles
from .discrete_poles import DiscretePoles
from .inversion import band_ends, points_at
from .mmse import information, mmse_and_rest, mmse_and_slope, mmse_by_both_formulas
from .spectral_curve import Poles

__all__ = ["LARGEST_SPECTRAL_SNR", "MatrixDenoiser"]

_N_STEPS = 80  # halvings of the widest bracket down to rounding; Newton needs about five
_LEAST_SPECTRAL_SNR = 1e-100  # below, Y is its noise to fifty digits
LARGEST_SPECTRAL_SNR = 1e30
_LOG_SNR = -745.0, 709.7  # of positive floating-point numbers


class MatrixDenoiser(Plotted):
    """Optimal denoising of the matrix built from the hidden units.

    Parameters
    ----------
    readouts
        A readout law or what :func:`widthwise.readouts.resolve` understands.
    gamma : float
        Hidden units per input k/d, > 0.

    Notes
    -----
    ``snr`` is η >= 0. mmse(0) = 1, mmse'(0) = -1, and η mmse(η) -> 1 - (1-γ)₊² for readouts
    without an atom at 0. All methods take scalars or arrays.
    """

    def __init__(self, readouts: Any, gamma: float) -> None:
        gamma = float(gamma)
        if not (gamma > 0 and math.isfinite(gamma)):
            raise ValueError(f"gamma must be > 0 and finite (hidden units per input, k/d); got {gamma:g}")
        self.readouts = readout_laws.resolve(readouts)
        self.gamma = gamma
        self._poles = _poles(self.readouts, gamma)

    def __repr__(self) -> str:
        return f"MatrixDenoiser({self.readouts.spec!r}, gamma={self.gamma:g})"

    def mmse(self, snr: ArrayLike) -> Any:
        """Minimum mean-square error, 1 at snr = 0 and decreasing."""
        return self._shaped(snr, lambda x: mmse_and_rest(self._poles, x)[0], at_zero=1.0)

    def recovered(self, snr: ArrayLike) -> Any:
        """1 - mmse, accurate to relative precision also where it is small."""
        return self._shaped(snr, lambda x: mmse_and_rest(self._poles, x)[1], at_zero=0.0)

    def mmse_slope(self, snr: ArrayLike) -> Any:
        """d mmse / d snr, negative; -1 at snr = 0."""
        return self._shaped(snr, lambda x: mmse_and_slope(self._poles, x)[2], at_zero=-1.0)

    def evaluate(self, snr: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """mmse, 1 - mmse and the slope at once, for the price of one."""
        snr = _as_snr(snr)
        flat = snr.ravel()
        results = np.tile([[1.0], [0.0], [-1.0]], flat.size)
        positive = flat >= np.finfo(float).tiny  # 1/η overflows below
        if positive.any():
            results[:, positive] = mmse_and_slope(self._poles, flat[positive])
        mmse, recovered, slope = (row.reshape(snr.shape) for row in results)
        return mmse, recovered, slope

    def log_odds(self, snr: ArrayLike) -> Any:
        """ln[(1 - mmse)/mmse] at snr > 0, to absolute accuracy however large or small."""

        def odds(x: Array) -> Array:
            mmse, recovered = mmse_and_rest(self._poles, x)
            value: Array = np.log(recovered) - np.log(mmse)
            return value

        return self._shaped(snr, odds, at_zero=-math.inf)

    @property
    def splittings(self) -> list[float]:
        """The snr at which a band of the spectrum splits in two, in order."""
        return self._poles.splittings

    def information(self, snr: ArrayLike) -> Any:
        """Mutual information ι of Y and S̄ per d², in nats; 4 dι/dη = mmse."""
        return self._shaped(snr, lambda x: information(self._poles, x), at_zero=0.0)

    def error_estimate(self, snr: ArrayLike) -> Any:
        """Difference of the two independent formulas of the mmse: what rounding and quadrature cost."""
        return self._shaped(
            snr, lambda x: np.abs(np.subtract(*mmse_by_both_formulas(self._poles, x))), at_zero=0.0
        )

    def inverse_mmse(self, mmse: ArrayLike) -> Any:
        """The snr at which the minimum mean-square error is ``mmse``, in (0, 1].

        Newton's method in (ln snr, ln of the odds of the mmse), nearly a straight line.
        """
        mmse = np.asarray(mmse, dtype=float)
        if not np.all((mmse > 0) & (mmse <= 1)):
            raise ValueError("mmse must lie in (0, 1]: it is 1 without data and 0 only at infinite snr")
        return self.snr_of(mmse, 1 - mmse)

    def snr_of(self, mmse: ArrayLike, recovered: ArrayLike) -> Any:
        """:meth:`inverse_mmse` for a pair (mmse, 1 - mmse) that are both accurate."""
        mmse, recovered = np.asarray(mmse, dtype=float), np.asarray(recovered, dtype=float)
        shape = mmse.shape
        mmse, recovered = mmse.ravel(), recovered.ravel()
        result = np.zeros_like(mmse)
        index = np.nonzero(recovered > 0)[0]
        goal = np.log(recovered[index]) - np.log(mmse[index])
        low, high = np.full(goal.size, _LOG_SNR[0]), np.full(goal.size, _LOG_SNR[1])
        x = np.clip(goal, low, high)  # exact for a Gaussian matrix: odds = snr
        for _ in range(_N_STEPS):
            snr = np.exp(x)
            value, rest, slope = mmse_and_slope(self._poles, snr)
            error = np.log(rest) - np.log(value) - goal
            low, high = np.where(error <= 0, x, low), np.where(error >= 0, x, high)
            # d ln(odds) / d ln(snr) = -slope snr / (mmse (1 - mmse)), 1 where mmse ∝ 1/snr
            rate = np.where(snr > self._poles.most_snr, 1.0, -slope * (snr / rest) / value)
            new = guarded_step(x, -error / rate, low, high)
            active = np.abs(new - x) > 1e-9
            x = new
            result[index] = np.exp(x)
            if not active.any():
                break
            index, x, goal, low, high = (each[active] for each in (index, x, goal, low, high))
        return result.reshape(shape) if shape else float(result[0])

    def support(self, snr: float) -> list[tuple[float, float]]:
        """Bands of the spectrum of Y, from left to right ((-inf, inf) for Gaussian readouts)."""
        snr, _ = _spectral_snr(snr)
        if snr == 0:
            return [(-2.0, 2.0)]
        if math.isinf(self.readouts.largest):
            return [(-math.inf, math.inf)]
        low, high = band_ends(self._poles, snr)[2:]
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def density(self, x: ArrayLike, snr: float) -> Any:
        """Spectral density of Y at the eigenvalues ``x`` (0 outside the support)."""
        x = np.asarray(x, dtype=float)
        snr, _ = _spectral_snr(snr)
        if snr == 0:
            result = np.sqrt(np.maximum(4 - x**2, 0)) / (2 * math.pi)
        else:
            p = points_at(self._poles, x.ravel(), snr)
            result = (np.sqrt(p.c0) * p.b / (math.pi * p.radius2)).reshape(x.shape)
        return result if x.shape else float(result)

    def shrink(self, eigenvalues: ArrayLike, snr: float) -> Any:
        """Optimal estimate ξ of the eigenvalues of S̄ from those of Y (the RIE), eigenvectors kept.

        ξ = (y - 2 Re g(y))/√η, increasing, outside the support too (where a finite matrix may
        have a stray eigenvalue).
        """
        y = np.asarray(eigenvalues, dtype=float)
        snr, scale = _spectral_snr(snr)
        if snr == 0:
            result = np.full(y.shape, self._poles.centre)
        else:
            estimate = scale * points_at(self._poles, y.ravel(), snr).estimate
            result = (self._poles.centre + estimate).reshape(y.shape)
        return result if y.shape else float(result)

    def _shaped(self, snr: ArrayLike, function: Any, *, at_zero: float) -> Any:
        snr = _as_snr(snr)
        flat = snr.ravel()
        result = np.full(flat.size, at_zero)
        positive = flat >= np.finfo(float).tiny  # 1/η overflows below
        if positive.any():
            result[positive] = function(flat[positive])
        return result.reshape(snr.shape) if snr.shape else float(result[0])


def _as_snr(snr: ArrayLike) -> np.ndarray:
    snr = np.asarray(snr, dtype=float)
    if not np.all((snr >= 0) & np.isfinite(snr)):  # written so that NaN is refused too
        raise ValueError(
            f"snr must be >= 0 and finite, got {snr.ravel()[~((snr >= 0) & np.isfinite(snr)).ravel()][0]:g}"
        )
    return snr


def _spectral_snr(snr: ArrayLike) -> tuple[float, float]:
    """snr at which spectra are computed, and what estimates (∝ √snr where it is tiny) are to be scaled by."""
    snr = float(_as_snr(snr))
    if snr > LARGEST_SPECTRAL_SNR:
        raise ValueError(
            f"snr must be at most {LARGEST_SPECTRAL_SNR:g} for spectra (beyond, bands of the noise are "
            f"lost in the rounding of those of the signal), got {snr:g}; mmse and information take any"
        )
    used = max(snr, _LEAST_SPECTRAL_SNR) if snr > 0 else 0.0
    return used, math.sqrt(snr / used) if used > 0 else 0.0


def _poles(readouts: readout_laws.Readouts, gamma: float) -> Poles:
    """The spectral curve of a readout law at width γ, by its poles."""
    if isinstance(readouts, readout_laws.Discrete):
        return DiscretePoles(readouts, gamma)
    if isinstance(readouts, readout_laws._Continuous):
        return ContinuousPoles(readouts, gamma)
    raise TypeError(f"no spectral curve for readouts of type {type(readouts).__name__}")

"""When an integral along the curve is resolved."""

from __future__ import annotations

import numpy as np

from .spectral_curve import CurvePoints, Poles

__all__ = ["Tolerance"]

_EPSILON = 2e-16


class Tolerance:
    """Errors allowed on each panel, relative to the whole of its spectrum as far as it has been seen."""

    def __init__(self, poles: Poles, n_spectra: int, hidden: float) -> None:
        self._poles, self._hidden = poles, hidden
        self._scale = np.zeros(n_spectra)

    def rounding(self, values: np.ndarray, points: CurvePoints) -> np.ndarray:
        """By how much rounding blurs the values of each panel: no halving makes that smaller."""
        blurred: np.ndarray = _EPSILON * (np.abs(values) * self._poles.blur(points)).max(axis=-1)
        return blurred

    def of(
        self, part: np.ndarray, floor: np.ndarray, owner: np.ndarray, total: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Allowed error of each panel, and size of the last coefficients that may hide none larger.

        Panels hold ``part`` (outputs × panels) of the spectra ``owner``; ``total`` is what is settled.
        """
        if not np.all(np.isfinite(part)):
            raise FloatingPointError("the spectral curve gave a value that is not finite")
        # Coarse panels may miss a narrow band, so the scale grows as it is seen.
        seen = np.abs(total).max(axis=0)
        np.add.at(seen, owner, np.abs(part).max(axis=0))
        self._scale = np.maximum(self._scale, seen)
        scale = self._scale[owner]
        return self._poles.rtol * scale + floor, self._hidden * scale + floor

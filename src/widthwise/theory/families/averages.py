r"""Averages over hidden units that the saddle-point equations use, and how they move with the couplings.

.. math:: m = E v^2\mathcal Q^2, \qquad 1 - m, \qquad E v^2[g(1) - g(\mathcal Q)], \qquad
          E[\psi_W(x) - \tfrac12 x\mathcal Q].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._arrays import Array
from ..units import UnitTable

__all__ = ["LEAST", "Averages", "class_averages"]

LEAST = 1e-290
"""Stands for 0 in logarithms: overlaps closer to 1 than this are 1."""


@dataclass
class Averages:
    """One entry for each pair of couplings (A, B)."""

    learnt: Array
    left: Array
    """1 - learnt, accurate where it is small."""
    kernel_gap: Array
    entropy: Array
    learnt_slopes: Array
    """Derivatives of ``learnt`` in ln A and ln B, as two rows."""
    kernel_slopes: Array
    """Derivatives of ``kernel_gap`` in ln A and ln B."""

    def __add__(self, other: Averages) -> Averages:
        return Averages(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def odds(self) -> Array:
        """ln(m/(1 - m))."""
        return np.log(np.maximum(self.learnt, LEAST)) - np.log(np.maximum(self.left, LEAST))

    @property
    def odds_slopes(self) -> Array:
        """Derivatives of the odds in ln A and ln B."""
        return self.learnt_slopes * self.odds_per_learnt

    @property
    def odds_per_learnt(self) -> Array:
        return 1 / np.maximum(self.learnt, LEAST) + np.where(
            self.left > LEAST, 1 / np.maximum(self.left, LEAST), 0.0
        )


def class_averages(
    units: UnitTable,
    values2: Array,
    powers: Array,
    snr: Array,
    pull: Array,
    coupling: Array,
) -> Averages:
    """Averages over classes with given v², E[v²; class] and x (one row for each pair of couplings).

    x may be 0 (not learnt) or infinite (known); NaN, where a class has no such root, makes NaN.
    """
    n = pull.size
    is_known = np.isinf(snr)
    u = units(np.where(np.isfinite(snr), snr, 1.0))
    overlap = np.where(is_known, 1.0, np.where(np.isnan(snr), np.nan, u.overlap))
    gap = np.where(is_known, 0.0, u.gap)
    kernel_gap = np.where(is_known, 0.0, u.kernel_gap)
    entropy = np.where(is_known, -(units.weights.entropy or 0.0), u.entropy)
    a, b = pull[:, None], coupling[:, None]
    stiff = 1 - values2 * (a * u.overlap_slope + b * u.kernel_curvature)
    moves = (snr > 0) & ~is_known
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(moves, powers * u.overlap_slope * values2 / stiff, 0.0)
    forces = (a * u.overlap, b * u.kernel_slope)
    masses = powers / values2
    with np.errstate(invalid="ignore"):
        slopes = [np.where(moves, rate * force, 0.0) for force in forces]
    return Averages(
        (overlap**2 * powers).sum(axis=1),
        (gap * (1 + overlap) * powers).sum(axis=1),
        (kernel_gap * powers).sum(axis=1),
        (entropy * masses).sum(axis=1),
        np.stack([(2 * overlap * s).sum(axis=1) for s in slopes]).reshape(2, n),
        -np.stack([(np.where(moves, u.kernel_slope, 0.0) * s).sum(axis=1) for s in slopes]).reshape(2, n),
    )

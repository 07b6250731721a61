r"""Hidden units as scalar problems: the equation each readout value obeys, given two couplings.

A unit with readout v sees a scalar Gaussian channel of signal-to-noise ratio x = 𝒬̂_W(v),

.. math:: x = v^2\,[A\,Q + B\,g'(Q)], \qquad Q = F(x),

A the pull of the learnt matrix S₂ and B that of the higher Hermite terms.  x = 0 is always a
root; others exist when v² exceeds values of φ(x) = x/(A F(x) + B g'(F(x))), and there are
several of them where φ falls.  Working in x, not in Q, keeps 1 - Q accurate when a unit is
learnt exponentially well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..ingredients.activations import Activation
from ..ingredients.weights import WeightLaw

__all__ = ["GRID", "UnitValues", "evaluate_units", "unit_table"]

# x from 1e-8 (a unit that has just begun to be learnt) to 1e11, twelve to a decade.
GRID = np.concatenate([[0.0], np.logspace(-8, 11, 19 * 12 + 1)])


@dataclass
class UnitValues:
    """Functions of the overlap Q = F(x) of a unit at signal-to-noise ratio x."""

    snr: np.ndarray
    overlap: np.ndarray
    """Q = F(x)."""
    gap: np.ndarray
    """1 - Q, accurate where it is tiny."""
    overlap_slope: np.ndarray
    """F'(x)."""
    entropy: np.ndarray
    """ψ_W(x) - xQ/2."""
    kernel_slope: np.ndarray
    """g'(Q)."""
    kernel_curvature: np.ndarray
    """d g'(Q)/dx = g''(Q) F'(x), finite also where g'' is not."""
    kernel_gap: np.ndarray
    """g(1) - g(Q)."""
    kernel: np.ndarray
    """g(Q), accurate where it is tiny."""


def evaluate_units(activation: Activation, weights: WeightLaw, snr: np.ndarray) -> UnitValues:
    """All of :class:`UnitValues` at the given signal-to-noise ratios."""
    channel = weights.channel(snr)
    gap = channel.mmse
    overlap = channel.overlap
    # g'' diverges at Q = 1 for kinked activations, but only as (1-Q)^(-1/2) while F' vanishes as
    # (1-Q)² or faster: the product is 0 there, and taken a whisker below 1 it is exact.
    curvature = activation.tail_kernel_curvature(np.minimum(overlap, 1 - 1e-14))
    # Relative accuracy near Q = 0 from g itself, near 1 from the gap.
    return UnitValues(
        snr,
        overlap,
        gap,
        channel.overlap_slope,
        channel.entropy_deficit,
        activation.tail_kernel_gap_slope(gap),
        curvature * channel.overlap_slope,
        activation.tail_kernel_gap(gap),
        activation.tail_kernel(overlap),
    )


@lru_cache(maxsize=32)
def unit_table(activation: Activation, weights: WeightLaw) -> UnitValues:
    """The unit functions on :data:`GRID`, for first guesses."""
    return evaluate_units(activation, weights, GRID)

"""Bracketed roots of many monotone functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["decreasing_root"]

_N_HALVINGS = 6
_N_STEPS = 40


def decreasing_root(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, atol: float = 1e-6
) -> np.ndarray:
    """Where a decreasing function changes sign in [low, high], element by element.

    A few halvings, then the Illinois variant of regula falsi. Without a change of sign the
    nearer end comes back.
    """
    low, high = low.copy(), high.copy()
    for _ in range(_N_HALVINGS):
        middle = 0.5 * (low + high)
        above = function(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    at_low, at_high = function(low), function(high)
    root = 0.5 * (low + high)
    last = np.zeros(low.shape, dtype=int)
    for _ in range(_N_STEPS):
        with np.errstate(invalid="ignore", divide="ignore"):
            new = high - at_high * (high - low) / (at_high - at_low)
        new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        value = function(new)
        above = value > 0
        # Illinois: halve the weight of an end that stays twice in a row.
        at_high = np.where(above & (last == 1), 0.5 * at_high, at_high)
        at_low = np.where(~above & (last == -1), 0.5 * at_low, at_low)
        last = np.where(above, 1, -1)
        low, at_low = np.where(above, new, low), np.where(above, value, at_low)
        high, at_high = np.where(above, high, new), np.where(above, at_high, value)
        done = np.all(np.abs(new - root) <= atol * (1 + np.abs(new)))
        root = new
        if done:
            break
    return root

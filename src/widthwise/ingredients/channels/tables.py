"""Functions of the gap that are costly to evaluate, as piecewise Chebyshev series built where they are asked.

Panels are quarter-decades and the like: [4ᵏ, 4ᵏ⁺¹] times a reference gap, in ln gap.  Once the functions
hardly change from one panel to the next, one last panel in √gap reaches down to 0: likelihoods that
are smooth in λ give functions smooth in the gap; kinks and jumps give functions smooth in its root, up to
a known power of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["GapTable"]

_ORDER = 16
# Size of the last coefficients; what they miss is smaller by the rate of decay, 9 or more.  The third
# function is a curvature, for Newton's method and stability: more digits would only cost panels.
_RTOL = np.array([2e-12, 2e-12, 1e-9, 2e-12])
_DEEPEST = 5
_NODES = np.cos(math.pi * (np.arange(_ORDER) + 0.5) / _ORDER)
_TO_COEFFICIENTS = np.cos(math.pi * np.outer(np.arange(_ORDER), np.arange(_ORDER) + 0.5) / _ORDER)
_TO_COEFFICIENTS *= np.where(np.arange(_ORDER) == 0, 1.0, 2.0)[:, None] / _ORDER


class GapTable:
    """Four functions of one gap (ψ, ψ', ψ'' and an error), right to about 1e-11 of their size."""

    def __init__(
        self,
        evaluate: Callable[[float], np.ndarray],
        reference: float,
        powers: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> None:
        """``powers`` of 1/√gap with which the functions diverge at 0; the table is of what is left."""
        self._raw, self._reference, self._powers = evaluate, reference, np.array(powers)
        self._size = np.zeros(4)
        self._panels: dict[int, list[tuple[float, float, np.ndarray]]] = {}
        self._last: tuple[float, np.ndarray] | None = None

    def __call__(self, gap: np.ndarray) -> np.ndarray:
        """Values of shape (functions, gaps)."""
        level = np.floor(np.log(gap / self._reference) / math.log(4) - 1e-12).astype(int)
        result: np.ndarray | None = None
        # From above, so that the last panel is found before anything is built beneath it.
        for k in np.unique(level)[::-1]:
            own = level == k
            values = self._on_level(int(k), gap[own])
            if result is None:
                result = np.empty((values.shape[0], gap.size))
            result[:, own] = values
        if result is None:
            return np.empty((4, 0))
        return result / np.sqrt(gap) ** self._powers[:, None]

    def _evaluate(self, gap: float) -> np.ndarray:
        return self._raw(gap) * math.sqrt(gap) ** self._powers

    def _on_level(self, level: int, gap: np.ndarray) -> np.ndarray:
        if self._last is not None and np.all(gap <= self._last[0]):
            return _series(self._last[1], 2 * np.sqrt(gap / self._last[0]) - 1)
        if level not in self._panels:
            self._build(level)
            if self._last is not None and np.all(gap <= self._last[0]):
                return self._on_level(level, gap)
        x = np.log(gap)
        parts = self._panels[level]
        # Which part each gap falls in; ends of the level are open, for rounding may carry a gap past them.
        part = np.searchsorted([high for _, high, _ in parts[:-1]], x)
        result = np.empty((4, gap.size))
        for i, (low, high, coefficients) in enumerate(parts):
            own = part == i
            if np.any(own):
                result[:, own] = _series(coefficients, (2 * x[own] - low - high) / (high - low))
        return result

    def _build(self, level: int) -> None:
        low = math.log(self._reference) + level * math.log(4)
        self._panels[level] = self._fit(low, low + math.log(4), 0)
        first, last = (self._panels[level][i][2] for i in (0, -1))
        below, above = _series(first, np.array([-1.0]))[:, 0], _series(last, np.array([1.0]))[:, 0]
        self._size = np.maximum(self._size, np.abs(above))
        if self._last is None and np.all(np.abs(above - below) < 0.15 * self._size):
            self._try_last(math.exp(low))

    def _try_last(self, top: float) -> None:
        samples = np.array([self._evaluate(top * (0.5 * (1 + x)) ** 2) for x in _NODES])
        coefficients = _TO_COEFFICIENTS @ samples
        if _is_resolved(coefficients):
            self._last = top, coefficients

    def _fit(self, low: float, high: float, depth: int) -> list[tuple[float, float, np.ndarray]]:
        x = 0.5 * (low + high) + 0.5 * (high - low) * _NODES
        coefficients = _TO_COEFFICIENTS @ np.array([self._evaluate(math.exp(u)) for u in x])
        if depth == _DEEPEST or _is_resolved(coefficients):
            return [(low, high, coefficients)]
        middle = 0.5 * (low + high)
        return self._fit(low, middle, depth + 1) + self._fit(middle, high, depth + 1)


def _series(coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.polynomial.chebyshev.chebval(np.clip(x, -1.0, 1.0), coefficients)


def _is_resolved(coefficients: np.ndarray) -> bool:
    size = np.max(np.abs(coefficients), axis=0)
    rest = np.max(np.abs(coefficients[-2:]), axis=0)
    return bool(np.all((rest <= _RTOL * size) | ~np.isfinite(size)))

"""Functions of the gap that are costly to evaluate, as piecewise Chebyshev series built where they are asked.

Panels are [32ᵏ, 32ᵏ⁺¹] times a reference gap, in ln gap.  Once the functions change little from one panel
to the next, one last panel in √gap reaches down to 0: likelihoods that are smooth in λ give functions
smooth in the gap; kinks and jumps give functions smooth in its root, up to a known power of it.  If the
reference is the power r, the largest gap there is, the uppermost panel is in √ln(r/gap), which is √(q/r) for
small q = r - gap: labels that do not tell the sign of λ teach little before q is finite, much soon after.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..._arrays import Array

__all__ = ["GapTable"]

_FACTOR = 32.0
_ORDER, _TOP_ORDER, _LAST_ORDER = 24, 28, 16
# Size of the last coefficients; what they miss is smaller by the rate of decay, 5 or more.  ψ enters
# differences, so its error is absolute where it is small; the third function is a curvature, for Newton's
# method and stability: more digits would only cost panels.
_RTOL = np.array([1e-12, 1e-11, 2e-8, 1e-11])
_ATOL = np.array([1e-12, 0.0, 0.0, 0.0])
_NOISE = 1e-7
_LEAST = 1e-20  # of ψ' times the largest gap: labels that say less than this say nothing
_DEEPEST = 5
# Gaps, relative to the largest, at which what is still to be resolved is a jump far out in the tail of the
# outputs, known to a few digits: more would take minutes, for errors below 1e-18 of those without data.
_UNSEEN, _UNSEEN_RTOL = 1e-18, 1e-2
_DEEP = -6  # level from which on a table without a last panel is built from above

Panel = tuple[float, float, Array]


class GapTable:
    """Four functions of one gap (ψ, ψ', ψ'' and an error), right to about 1e-11 of their size.

    To a per cent only, below 1e-18 of the largest gap, where they are not resolved before.
    """

    def __init__(
        self,
        evaluate: Callable[[Array], Array],
        reference: float,
        powers: tuple[int, int, int, int] = (0, 0, 0, 0),
        *,
        is_largest: bool = False,
    ) -> None:
        """``powers`` of 1/√gap with which the functions diverge at 0; the table is of what is left."""
        self._raw, self._reference, self._powers = evaluate, reference, np.array(powers)
        self._has_top = is_largest
        self._atol = _ATOL
        if is_largest:
            least = _LEAST / reference ** np.array([0, 1, 2, 0]) * [0, 1, 1, 0]
            self._atol = _ATOL + least * np.sqrt(reference) ** self._powers
        self._panels: dict[int, list[Panel]] = {}
        self._last: tuple[float, Array] | None = None

    def __call__(self, gap: Array) -> Array:
        """Values of shape (functions, gaps)."""
        level = np.floor(np.log(gap / self._reference) / math.log(_FACTOR) - 1e-12).astype(int)
        result: Array | None = None
        # From above, so that the last panel is found before anything is built beneath it.
        for k in np.unique(level)[::-1]:
            own = level == k
            values = self._on_level(int(k), gap[own])
            if result is None:
                result = np.empty((values.shape[0], gap.size))
            result[:, own] = values
        if result is None:
            return np.empty((4, 0))
        unscaled: Array = result / np.sqrt(gap) ** self._powers[:, None]
        return unscaled

    def _evaluate(self, gap: Array) -> Array:
        scaled: Array = self._raw(gap) * np.sqrt(gap) ** self._powers[:, None]
        return scaled

    def _is_top(self, level: int) -> bool:
        return self._has_top and level == -1

    def _on_level(self, level: int, gap: Array) -> Array:
        if self._last is not None and np.all(gap <= self._last[0]):
            return _series(self._last[1], 2 * np.sqrt(gap / self._last[0]) - 1)
        if level not in self._panels:
            # Far down the last panel is looked for on the way: beneath it nothing can be resolved.
            for k in range(_DEEP, level - 1, -1):
                if self._last is None and k not in self._panels:
                    self._build(k)
            if level > _DEEP:
                self._build(level)
            if self._last is not None and np.all(gap <= self._last[0]):
                return self._on_level(level, gap)
        x = np.log(gap)
        if self._is_top(level):
            x = np.sqrt(np.maximum(math.log(self._reference) - x, 0.0))
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
        if self._is_top(level):
            reference = self._reference

            def at(x: Array) -> Array:
                return self._evaluate(reference * np.exp(-x * x))

            self._panels[level] = self._fit(at, 0.0, math.sqrt(math.log(_FACTOR)), _TOP_ORDER)
            return
        width = math.log(_FACTOR)
        low = math.log(self._reference) + level * width
        if level * width + width < math.log(_UNSEEN):
            self._try_last(math.exp(low + width), _UNSEEN_RTOL)
            if self._last is not None:
                return
        self._panels[level] = self._fit(lambda x: self._evaluate(np.exp(x)), low, low + width, _ORDER)
        first, last = (self._panels[level][i][2] for i in (0, -1))
        below, above = _series(first, np.array([-1.0]))[:, 0], _series(last, np.array([1.0]))[:, 0]
        # Functions of gap/noise such as 1/(noise + gap) change by so much where the last panel can begin.
        size = np.maximum(np.abs(below), np.abs(above))
        if self._last is None and np.all(np.abs(above - below) <= 0.9 * size):
            self._try_last(math.exp(low))

    def _try_last(self, top: float, rtol: float = 0.0) -> None:
        nodes, to_coefficients = _chebyshev(_LAST_ORDER)
        coefficients = to_coefficients @ self._evaluate(top * (0.5 * (1 + nodes)) ** 2).T
        is_rough = np.all(_missed(coefficients) <= rtol * np.max(np.abs(coefficients), axis=0))
        if is_rough or self._is_resolved(coefficients):
            self._last = top, coefficients

    def _fit(
        self,
        function: Callable[[Array], Array],
        low: float,
        high: float,
        order: int,
        depth: int = 0,
        missed: Array | float = np.inf,
    ) -> list[Panel]:
        """Panels between low and high, halved until each is resolved; ``missed`` is what the last one did."""
        nodes, to_coefficients = _chebyshev(order)
        x = 0.5 * (low + high) + 0.5 * (high - low) * nodes
        coefficients = to_coefficients @ function(x).T
        if depth == _DEEPEST or self._is_resolved(coefficients, missed):
            return [(low, high, coefficients)]
        middle, missed = 0.5 * (low + high), _missed(coefficients)
        return [
            *self._fit(function, low, middle, order, depth + 1, missed),
            *self._fit(function, middle, high, order, depth + 1, missed),
        ]

    def _is_resolved(self, coefficients: Array, missed: Array | float = np.inf) -> bool:
        size, rest = np.max(np.abs(coefficients), axis=0), _missed(coefficients)
        # What does not fall when a panel is halved is noise: numerical scores have some.
        is_noise = (rest <= _NOISE * size) & (rest > 0.2 * missed)
        return bool(np.all((rest <= np.maximum(_RTOL * size, self._atol)) | is_noise | ~np.isfinite(size)))


def _missed(coefficients: Array) -> Array:
    last: Array = np.max(np.abs(coefficients[-2:]), axis=0)
    return last


@lru_cache(maxsize=4)
def _chebyshev(order: int) -> tuple[Array, Array]:
    """Nodes, and the matrix from values there to coefficients."""
    j = np.arange(order)
    angle = math.pi * (j + 0.5) / order
    matrix = np.cos(np.outer(j, angle)) * np.where(j == 0, 1.0, 2.0)[:, None] / order
    return np.cos(angle), matrix


def _series(coefficients: Array, x: Array) -> np.ndarray:
    return np.polynomial.chebyshev.chebval(np.clip(x, -1.0, 1.0), coefficients)

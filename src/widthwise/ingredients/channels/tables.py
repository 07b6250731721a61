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
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..._arrays import Array, Integers

__all__ = ["GapTable"]

_WIDTH = math.log(32.0)  # of a level in ln gap
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
"""Both ends, in the variable of the level, and the coefficients there (functions, terms)."""


@dataclass(frozen=True)
class _Row:
    """All panels that are there, from the smallest gaps on; the first one holds whatever is below it."""

    begin: Array
    """ln gap at the lower end of each."""
    low: Array
    high: Array
    is_top: Array
    """Whether the variable is √ln(r/gap), not ln gap."""
    coefficients: list[Array]
    """Of each panel, (functions, terms)."""


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
        self._last: tuple[int, Array] | None = None
        """The highest level that the last panel holds, and its coefficients (functions, terms)."""

    def __call__(self, gap: Array) -> Array:
        """Values of shape (functions, gaps)."""
        log_gap = np.log(gap)
        # Upper ends belong to a level: ends are open, for rounding may carry a gap past them.
        level = np.floor((log_gap - math.log(self._reference)) / _WIDTH - 1e-12).astype(int)
        # From above, so that the last panel is found before anything is built beneath it.
        for k in np.unique(level)[::-1].tolist():
            if not self._has(k):
                self._build(k)
        result = np.empty((len(self._powers), gap.size))
        is_last = np.zeros(gap.size, dtype=bool)
        if self._last is not None:
            most, coefficients = self._last
            is_last = level <= most
            x = np.sqrt(gap[is_last] / self._top(most))
            result[:, is_last] = coefficients @ _polynomials(2 * x - 1, _LAST_ORDER)
        if not is_last.all():
            self._on_panels(result, np.nonzero(~is_last)[0], log_gap)
        unscaled: Array = result / np.sqrt(gap) ** self._powers[:, None]
        return unscaled

    def _on_panels(self, result: Array, which: Integers, log_gap: Array) -> None:
        """Write the values at some of the gaps, which lie on panels of levels that are there."""
        row, x = self._row, log_gap[which]
        place = np.searchsorted(row.begin[1:], x, side="right")
        is_top = row.is_top[place]
        if is_top.any():
            x[is_top] = np.sqrt(np.maximum(math.log(self._reference) - x[is_top], 0.0))
        low, high = row.low[place], row.high[place]
        values = _polynomials((2 * x - low - high) / (high - low), _TOP_ORDER)
        for k in np.unique(place).tolist():
            own, coefficients = place == k, row.coefficients[k]
            result[:, which[own]] = coefficients @ values[: coefficients.shape[1], own]

    @cached_property
    def _row(self) -> _Row:
        panels = [
            (
                -high * high + math.log(self._reference) if self._is_top(k) else low,
                low,
                high,
                self._is_top(k),
                c,
            )
            for k, parts in self._panels.items()
            for low, high, c in parts
        ]
        begin, low, high, is_top, coefficients = zip(*sorted(panels, key=lambda p: p[0]), strict=True)
        return _Row(np.array(begin), np.array(low), np.array(high), np.array(is_top), list(coefficients))

    def _evaluate(self, gap: Array) -> Array:
        scaled: Array = self._raw(gap) * np.sqrt(gap) ** self._powers[:, None]
        return scaled

    def _is_top(self, level: int) -> bool:
        return self._has_top and level == -1

    def _top(self, level: int) -> float:
        """The largest gap of a level."""
        return math.exp(math.log(self._reference) + (level + 1) * _WIDTH)

    def _has(self, level: int) -> bool:
        return level in self._panels or (self._last is not None and level <= self._last[0])

    def _build(self, level: int) -> None:
        # Far down the last panel is looked for on the way: beneath it nothing can be resolved.
        for k in [*range(_DEEP, level, -1), level]:
            if not self._has(k):
                self._build_one(k)

    def _build_one(self, level: int) -> None:
        self.__dict__.pop("_row", None)
        if self._is_top(level):
            reference = self._reference

            def at(x: Array) -> Array:
                return self._evaluate(reference * np.exp(-x * x))

            self._panels[level] = self._fit(at, 0.0, math.sqrt(_WIDTH), _TOP_ORDER)
            return
        low = math.log(self._reference) + level * _WIDTH
        if (level + 1) * _WIDTH < math.log(_UNSEEN):
            self._try_last(level, _UNSEEN_RTOL)
            if self._last is not None:
                return
        panels = self._fit(lambda x: self._evaluate(np.exp(x)), low, low + _WIDTH, _ORDER)
        self._panels[level] = panels
        below, above = (
            c @ _polynomials(np.array([x]), _ORDER) for c, x in ((panels[0][2], -1.0), (panels[-1][2], 1.0))
        )
        # Functions of gap/noise such as 1/(noise + gap) change by so much where the last panel can begin.
        size = np.maximum(np.abs(below), np.abs(above))
        if self._last is None and np.all(np.abs(above - below) <= 0.9 * size):
            self._try_last(level - 1)

    def _try_last(self, level: int, rtol: float = 0.0) -> None:
        """One panel for a level and all below it, if that resolves them."""
        nodes, to_coefficients = _chebyshev(_LAST_ORDER)
        coefficients = self._evaluate(self._top(level) * (0.5 * (1 + nodes)) ** 2) @ to_coefficients.T
        is_rough = np.all(_missed(coefficients) <= rtol * np.max(np.abs(coefficients), axis=1))
        if is_rough or self._is_resolved(coefficients):
            self._last = level, coefficients

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
        coefficients = function(x) @ to_coefficients.T
        if depth == _DEEPEST or self._is_resolved(coefficients, missed):
            return [(low, high, coefficients)]
        middle, missed = 0.5 * (low + high), _missed(coefficients)
        return [
            *self._fit(function, low, middle, order, depth + 1, missed),
            *self._fit(function, middle, high, order, depth + 1, missed),
        ]

    def _is_resolved(self, coefficients: Array, missed: Array | float = np.inf) -> bool:
        size, rest = np.max(np.abs(coefficients), axis=1), _missed(coefficients)
        # What does not fall when a panel is halved is noise: numerical scores have some.
        is_noise = (rest <= _NOISE * size) & (rest > 0.2 * missed)
        return bool(np.all((rest <= np.maximum(_RTOL * size, self._atol)) | is_noise | ~np.isfinite(size)))


def _missed(coefficients: Array) -> Array:
    last: Array = np.max(np.abs(coefficients[:, -2:]), axis=1)
    return last


@lru_cache(maxsize=4)
def _chebyshev(order: int) -> tuple[Array, Array]:
    """Nodes, and the matrix from values there to coefficients."""
    j = np.arange(order)
    angle = math.pi * (j + 0.5) / order
    matrix = np.cos(np.outer(j, angle)) * np.where(j == 0, 1.0, 2.0)[:, None] / order
    return np.cos(angle), matrix


def _polynomials(x: Array, order: int) -> Array:
    """T_k, k = 0 ... order - 1 as rows, at x; which rounding may have carried out of [-1, 1].

    By T_(k+j) = 2 T_k T_j - T_(k-j), for twice as many at each step.
    """
    found = np.empty((order, x.size))
    found[0], found[1] = 1.0, np.clip(x, -1.0, 1.0)
    k = 1
    while (n := min(k, order - 1 - k)) > 0:
        found[k + 1 : k + n + 1] = 2 * found[k] * found[1 : n + 1] - found[k - n : k][::-1]
        k += n
    return found

"""Lines of a diagram at fixed α: where along the second axis a transition passes this α.

For each class of readouts the α of its transitions is a smooth function of the second axis; what is looked
for are its crossings with the given α.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..numerics.roots import bracketed_root
from ..problem import Problem
from .diagram_lines import keyed, lines_of
from .transitions import Transition

__all__ = ["Crossing", "find_crossings"]

_RTOL = 1e-8  # of the place of a line on the second axis
_BEYOND = 30.0  # transitions are looked for up to this many times α: one that moves past it is seen coming

Lines = dict[tuple[int, int], Transition]


@dataclass(frozen=True)
class Crossing:
    """One point of a line."""

    second: float
    """Where on the second axis."""
    kind: str
    readout: float
    phases: tuple[int, int]
    """Classes learnt below and above it on the second axis."""


def find_crossings(
    make: Callable[[float], Problem], ys: np.ndarray, cells: Sequence[int], alpha: float, theory: str
) -> list[Crossing]:
    """The lines that pass through the given cells of the second axis."""
    known: dict[float, Lines] = {}

    def lines_at(y: float) -> Lines:
        if y not in known:
            problem = make(y)
            known[y] = keyed(problem, lines_of(problem, _BEYOND * alpha, theory))
        return known[y]

    found = []
    for j in cells:
        low, high = float(ys[j]), float(ys[j + 1])
        for key in sorted(set(lines_at(low)) | set(lines_at(high))):
            if (_distance(lines_at(low), key, alpha) <= 0) != (_distance(lines_at(high), key, alpha) <= 0):
                found.append(_crossing(lines_at, key, alpha, low, high))
    return sorted(found, key=lambda c: c.second)


def _distance(lines: Lines, key: tuple[int, int], alpha: float) -> float:
    """ln of the transition's α over the given one; infinite where there is none."""
    if key not in lines:
        return math.inf
    at = lines[key].alpha
    return math.log(at / alpha) if at > 0 else -math.inf


def _crossing(
    lines_at: Callable[[float], Lines], key: tuple[int, int], alpha: float, a: float, b: float
) -> Crossing:
    c, (a, b) = bracketed_root(lambda y: _distance(lines_at(y), key, alpha), a, b, xtol=_RTOL, ftol=_RTOL)
    passed = next(lines_at(y)[key] for y in (c, a, b) if key in lines_at(y))
    return Crossing(c, passed.kind, passed.readout, (_phase(lines_at(a), alpha), _phase(lines_at(b), alpha)))


def _phase(lines: Lines, alpha: float) -> int:
    """Classes that are learnt at this α."""
    return len({number for (number, _), t in lines.items() if t.alpha <= alpha})

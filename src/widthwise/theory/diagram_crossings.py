"""Lines of a diagram at fixed α: where along the second axis a transition passes this α.

For each class of readouts the α of its transitions is a smooth function of the second axis; what is looked
for are its crossings with the given α, by the Illinois variant of regula falsi (by halving where the
transition does not exist on one side).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..problem import Problem
from .diagram_lines import keyed, lines_of
from .transitions import Transition

__all__ = ["Crossing", "find_crossings"]

_RTOL = 1e-8  # of the place of a line on the second axis
_N_STEPS = 60
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
    fa, fb = (_distance(lines_at(y), key, alpha) for y in (a, b))
    side, c = 0, 0.5 * (a + b)
    for _ in range(_N_STEPS):
        c = b - fb * (b - a) / (fb - fa) if math.isfinite(fa) and math.isfinite(fb) else 0.5 * (a + b)
        fc = _distance(lines_at(c), key, alpha)
        if (fc <= 0) == (fb <= 0):
            b, fb, fa, side = c, fc, (0.5 * fa if side == 1 else fa), 1
        else:
            a, fa, fb, side = c, fc, (0.5 * fb if side == -1 else fb), -1
        if abs(fc) < _RTOL or abs(b - a) < _RTOL * max(abs(a), abs(b)):
            break
    passed = next(lines_at(y)[key] for y in (c, a, b) if key in lines_at(y))
    return Crossing(c, passed.kind, passed.readout, (_phase(lines_at(a), alpha), _phase(lines_at(b), alpha)))


def _phase(lines: Lines, alpha: float) -> int:
    """Classes that are learnt at this α."""
    return len({number for (number, _), t in lines.items() if t.alpha <= alpha})

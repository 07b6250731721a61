"""Lines of the phase diagram: transitions of neighbouring columns that belong together.

A transition continues the line that is nearest, among those of its |readout|: its α changes smoothly
with width and noise, while others may begin, end or overtake it.  Where its kind changes the line goes on
as another stroke from the same point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..theory.transitions import Transition

__all__ = ["Line", "join_lines"]

_STEEPEST = 8.0  # largest |d ln α/d ln (width or noise)| of a line
_JITTER = 0.1  # and how far two neighbours may lie apart besides


@dataclass
class Line:
    """A stroke of one kind, as points (value of the column, α)."""

    kind: str
    readout: float
    points: list[tuple[float, float]] = field(default_factory=list)


def join_lines(columns: Sequence[tuple[float, Sequence[Transition]]]) -> list[Line]:
    """Strokes through the transitions of columns that are ordered by their value."""
    finished: list[Line] = []
    growing: list[Line] = []
    for value, found in columns:
        here = [change for change in found if change.alpha > 0]
        pairs = sorted(
            (distance, i, j)
            for i, line in enumerate(growing)
            for j, change in enumerate(here)
            if (distance := _distance(line, value, change)) is not None
        )
        used_lines: set[int] = set()
        grown: dict[int, Line] = {}
        for _, i, j in pairs:
            if i in used_lines or j in grown:
                continue
            used_lines.add(i)
            grown[j] = _continued(growing[i], value, here[j], finished)
        finished += [line for i, line in enumerate(growing) if i not in used_lines]
        growing = [
            grown.get(j, Line(change.kind, change.readout, [(value, change.alpha)]))
            for j, change in enumerate(here)
        ]
    return finished + growing


def _distance(line: Line, value: float, change: Transition) -> float | None:
    """How far a transition is from the end of a line in ln α; None if it cannot belong to it."""
    same = line.readout == change.readout or math.isclose(line.readout, change.readout, rel_tol=1e-6)
    last, alpha = line.points[-1]
    step = abs(math.log(value / last))
    apart = abs(math.log(change.alpha / alpha))
    if not same or apart > _STEEPEST * step + _JITTER:
        return None
    return apart + (0.0 if line.kind == change.kind else step)


def _continued(line: Line, value: float, change: Transition, finished: list[Line]) -> Line:
    point = (value, change.alpha)
    if line.kind == change.kind:
        line.points.append(point)
        return line
    finished.append(line)
    return Line(change.kind, change.readout, [line.points[-1], point])

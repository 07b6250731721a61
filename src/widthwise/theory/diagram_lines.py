"""Lines between phases: the transitions of each problem, numbered so that neighbours can be joined."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..problem import Problem
from .setting import readout_classes
from .solution import Solution
from .solver import exact_reason
from .transitions import Transition, factorised_transition, transitions

__all__ = ["BEYOND", "SIDE", "halvings", "keyed", "lines_of"]

BEYOND = 1.5
"""Lines are followed up to this many times the largest α: so they leave the frame."""

SIDE = 2e-5
"""Relative distance of the points that are taken either side of a line."""

_N_GRID = 20  # values of α at which branches are compared, where the diagram itself has none close by


def lines_of(
    problem: Problem, alpha_max: float, theory: str, solved: Mapping[float, list[Solution]] | None = None
) -> list[Transition]:
    """All transitions up to alpha_max; ``solved`` are all solutions at some values of α."""
    if theory == "factorised":
        at = factorised_transition(problem, alpha_max)
        return [Transition(problem.readouts.largest, at, "first-order")] if math.isfinite(at) else []
    # Where the exact answer is the universal branch the potential's own transitions mean nothing.
    if exact_reason(problem):
        return []
    return list(transitions(problem, alpha_max, n_grid=_N_GRID, solved=solved))


def keyed(problem: Problem, found: Iterable[Transition]) -> dict[tuple[int, int], Transition]:
    """Transitions by the number of their class of readouts and how often it has changed before."""
    classes = readout_classes(problem)
    sizes = None if classes is None else classes.sizes
    here: dict[tuple[int, int], Transition] = {}
    for t in found:
        number = 0 if sizes is None else int(np.argmin(np.abs(sizes - t.readout)))
        here[number, sum(key[0] == number for key in here)] = t
    return here


def halvings(grid: np.ndarray, at: Sequence[float], n: int, *, is_log: bool = False) -> np.ndarray:
    """Points that halve the cells holding lines n times towards these, and the two sides of each line."""
    more: set[float] = set()
    for line in at if n else ():
        j = int(np.searchsorted(grid, line)) - 1
        if not (0 <= j < grid.size - 1 and grid[j] < line < grid[j + 1]):
            continue
        low, high = float(grid[j]), float(grid[j + 1])
        for _ in range(n):
            middle = math.sqrt(low * high) if is_log else 0.5 * (low + high)
            more.add(middle)
            low, high = (middle, high) if middle < line else (low, middle)
        away = SIDE * abs(line)
        more |= {y for y in (line - away, line + away) if grid[j] < y < grid[j + 1]}
    return np.array(sorted(more))

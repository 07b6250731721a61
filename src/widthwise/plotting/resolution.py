"""Branches with as many points as a figure needs: no corner of a line can be seen.

Between two points a curve is drawn straight, and the eye sees a corner where two such lines meet at an angle
of a few degrees. Intervals beside such corners are divided until the angles are small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from ..theory.branches import Branch, trace_branches
from ..theory.solution import LearningCurve

__all__ = ["smooth_branches"]

_FRAME = np.array([800.0, 320.0])  # width and height of a figure
_ANGLE = np.radians(2.0)  # of a corner that nobody sees
_SHORT = 3.0  # nor does anybody see one between lines that are as short as this, in the units of the frame
_N_FIRST = 60
_MOST = 10  # pieces of one interval
_N_MORE = 80  # points in one round
_N_ROUNDS = 2


def smooth_branches(
    problem: Problem,
    alpha: tuple[float, float],
    values: Callable[[LearningCurve], np.ndarray],
    *,
    at: ArrayLike = (),
    is_log_x: bool = False,
    is_log_y: bool = True,
) -> list[Branch]:
    """Every branch of solutions between two α, with points where ``values`` bend on these axes.

    ``at`` are values of α at which every branch has points, as in :func:`trace_branches`.
    """
    knots = np.ravel(np.asarray(at, dtype=float))
    branches = trace_branches(problem, alpha, _N_FIRST, at=knots)
    for _ in range(_N_ROUNDS):
        more = _more(branches, [values(branch) for branch in branches], alpha, is_log_x, is_log_y)
        if not more.size:
            break
        knots = np.concatenate([knots, more])
        branches = trace_branches(problem, alpha, _N_FIRST, at=knots)
    return branches


def _more(
    branches: Sequence[Branch],
    values: Sequence[np.ndarray],
    span: tuple[float, float],
    is_log_x: bool,
    is_log_y: bool,
) -> np.ndarray:
    """Values of α between points whose chord would be seen."""
    every = np.concatenate(values)
    every = every[np.isfinite(every) & ((every > 0) | (not is_log_y))]
    if not every.size:
        return np.empty(0)
    x_of = np.log if is_log_x else np.asarray
    y_of = np.log if is_log_y else np.asarray
    height = max(float(np.ptp(y_of(every))), 1e-300)
    left, width = x_of(span[0]), float(x_of(span[1]) - x_of(span[0]))
    found: list[tuple[float, float]] = []  # (how badly it is needed, α)
    for branch, y in zip(branches, values, strict=True):
        good = np.isfinite(y) & ((y > 0) | (not is_log_y))
        x, y = x_of(branch.alpha[good]), y_of(y[good])
        if x.size < 3:
            continue
        path = _FRAME * np.column_stack([(x - left) / width, (y - y.min()) / height])
        length, angle = _corners(path)
        for i in np.nonzero((angle > _ANGLE) & (length > _SHORT))[0].tolist():
            n = min(_MOST, int(np.ceil(min(angle[i] / _ANGLE, length[i] / _SHORT))))
            found += [(angle[i] / n, float(place)) for place in np.linspace(x[i], x[i + 1], n + 1)[1:-1]]
    found.sort(reverse=True)
    places = np.array([place for _, place in found[:_N_MORE]])
    return np.exp(places) if is_log_x else places


def _corners(path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Length of each interval, and the larger of the angles at its two ends."""
    step = np.diff(path, axis=0)
    direction = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    turn = np.abs(np.diff(direction))
    angle = np.maximum(np.append(turn, 0.0), np.append(0.0, turn))
    return np.hypot(step[:, 0], step[:, 1]), angle

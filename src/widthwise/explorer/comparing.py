"""Measurements beside the theory: points on the curve, and how far each is from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..theory.solver import learning_curve
from .quantities import values_of
from .tasks import quietly, read_problem
from .uploads import Measured

__all__ = ["compare", "points_trace", "store_choices", "store_points"]

COLOR = "#C2185B"


def compare(
    fields: Mapping[str, Any], quantity: str, points: Sequence[Measured]
) -> list[tuple[Measured, float, float]] | dict[str, str]:
    """(measured, predicted at equilibrium, predicted on the universal branch) of each point."""
    problem, errors = read_problem(fields)
    if problem is None:
        return errors
    alphas = np.unique([p.alpha for p in points])
    predicted = [
        dict(zip(alphas, values_of(quietly(learning_curve, problem, alphas, branch), quantity), strict=True))
        for branch in ("equilibrium", "universal")
    ]
    return [(p, float(predicted[0][p.alpha]), float(predicted[1][p.alpha])) for p in points]


def points_trace(points: Sequence[Measured], name: str = "data") -> dict[str, Any]:
    """Markers with error bars, for the learning curve."""
    std = [p.std for p in points]
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": [p.alpha for p in points],
        "y": [p.value for p in points],
        "name": name,
        "legendrank": 3000,
        "marker": {"color": COLOR, "size": 9, "line": {"color": "#ffffff", "width": 1}},
        "hovertemplate": "α = %{x:.4g}<br>measured %{y:.5g}<extra>" + name + "</extra>",
    }
    if any(s is not None for s in std):
        trace["error_y"] = {"type": "data", "array": [s or 0.0 for s in std], "color": COLOR, "width": 3}
    return trace


def distance(point: Measured, predicted: float) -> str:
    """How far a point is from its prediction: in standard deviations, or in per cent."""
    if not math.isfinite(predicted):
        return "–"
    if point.std:
        return f"{(point.value - predicted) / point.std:+.1f} σ"
    return f"{100 * (point.value / predicted - 1):+.1f} %" if predicted else "–"


def store_choices(store: Any) -> dict[str, str]:
    """The series of results in a store: one for each problem, learner and d."""
    table = store.summary()
    found: dict[str, str] = {}
    for where in dict.fromkeys(zip(table["problem"], table["learner"], table["d"], strict=True)):
        problem, learner, d = where
        label = f"{learner}, d = {d}" + ("" if problem == "problem" else f" ({problem})")
        found[str(len(found))] = label
    return found


def store_points(store: Any, choice: str, quantity: str) -> list[Measured]:
    """Means over seeds of one series, with their standard errors."""
    table = store.summary()
    series = list(dict.fromkeys(zip(table["problem"], table["learner"], table["d"], strict=True)))
    if not choice.isdigit() or int(choice) >= len(series):
        raise ValueError("the store has no such series")
    problem, learner, d = series[int(choice)]
    own = table[(table["problem"] == problem) & (table["learner"] == learner) & (table["d"] == d)]
    if quantity not in own:
        raise ValueError("the store does not hold this quantity; choose the excess error")
    points = []
    for alpha, value, error in zip(
        own["alpha"], own[quantity], own[f"{quantity}_standard_error"], strict=True
    ):
        if math.isfinite(value):
            points.append(
                Measured(float(alpha), float(value), float(error) if math.isfinite(error) else None)
            )
    return points

"""Measurements beside the theory: read as data and nothing else, drawn on the curve, judged."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..networks.measurements import Judged, Measured, judge, read_measurements
from ..theory.solver import learning_curve
from .quantities import values_of
from .security import MAX_UPLOAD
from .tasks import quietly, read_problem

__all__ = ["MAX_ROWS", "compare", "decode", "points_trace", "read_table", "store_choices", "store_points"]

COLOR = "#C2185B"
MAX_ROWS = 500
"""More points than a figure can show."""


def decode(contents: str) -> str:
    """The text of an upload, which arrives as ``data:...;base64,...``."""
    _, found, data = contents.partition(";base64,")
    if not found or len(data) > MAX_UPLOAD * 4 // 3 + 4:
        raise ValueError(f"the file is too large or is no text; at most {MAX_UPLOAD // 1000} kB are read")
    try:
        raw = base64.b64decode(data, validate=True)
        return raw.decode("utf-8-sig")
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("the file is no text in UTF-8; save the table as CSV") from None


def read_table(text: str) -> list[Measured]:
    """The measurements of a table."""
    return read_measurements(text, MAX_ROWS)


def compare(
    fields: Mapping[str, Any], quantity: str, points: Sequence[Measured]
) -> list[tuple[Judged, Judged]] | dict[str, str]:
    """Each point judged against the equilibrium and against the universal branch."""
    problem, errors = read_problem(fields)
    if problem is None:
        return errors
    alphas, back = np.unique([p.alpha for p in points], return_inverse=True)
    sides = []
    for branch in ("equilibrium", "universal"):
        values = values_of(quietly(learning_curve, problem, alphas, branch), quantity)
        sides.append(judge(problem, quantity, points, values[back]))
    return list(zip(*sides, strict=True))


def points_trace(points: Sequence[Measured], name: str = "data") -> dict[str, Any]:
    """Markers with error bars, for the learning curve."""
    errors = [p.error for p in points]
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
    if any(e is not None for e in errors):
        bars = [e or 0.0 for e in errors]
        trace["error_y"] = {"type": "data", "array": bars, "color": COLOR, "width": 3}
    return trace


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
    columns = (own[name] for name in ("alpha", quantity, f"{quantity}_standard_error", "n_seeds"))
    return [
        Measured(float(alpha), float(value), float(error) if math.isfinite(error) else None, int(n))
        for alpha, value, error, n in zip(*columns, strict=True)
        if math.isfinite(value)
    ]

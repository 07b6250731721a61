"""Worker tasks whose results are texts, ready to be drawn: the server only hands them on to the browser."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..problem import Problem
from .facts import facts
from .figures import curve_figure
from .point import PointResult, point_figures, point_view, point_words
from .quantities import allowed
from .tasks import CurveResult, compute_curve, read_curve

__all__ = ["as_text", "curve_text", "learning_curve_figure", "point_text", "result_figure"]


def curve_text(fields: Mapping[str, Any], reach: float, quantity: str, axes: Mapping[str, bool]) -> str:
    """A curve while a hand moves: figure, facts about the activation, what is wrong with the controls."""
    result = read_curve(fields, reach, quantity, axes, is_smooth=False)
    if isinstance(result, dict):
        return as_text({"errors": result})
    look = {**axes, "reach": reach}
    found = {"figure": result_figure(result, look), "facts": facts(result.problem), "errors": result.errors}
    return as_text(found)


def learning_curve_figure(
    problem: Problem,
    reach: float = 6.0,
    quantity: str = "excess_error",
    *,
    is_log_x: bool = False,
    is_log_y: bool = True,
) -> Any:
    """The page's figure of a problem, for notebooks and scripts: all branches up to an α, transitions.

    ``quantity`` is a field of a solution or another measure: see ``widthwise.explorer.quantities``.
    """
    import plotly.graph_objects as go

    why = allowed(quantity, problem.channel)
    if why:
        raise ValueError(why)
    axes = {"is_log_x": is_log_x, "is_log_y": is_log_y}
    return go.Figure(result_figure(compute_curve(problem, reach, quantity, **axes), {**axes, "reach": reach}))


def point_text(fields: Mapping[str, Any], alpha: float) -> str:
    """The views of one α: three figures and a sentence."""
    result = point_view(fields, alpha)
    if not isinstance(result, PointResult):
        return as_text({"errors": {"alpha": result.get("alpha", "")}})
    return as_text({"figures": point_figures(result), "words": point_words(result), "errors": {}})


def result_figure(result: CurveResult, look: Mapping[str, Any]) -> dict[str, Any]:
    """A curve as it is to be drawn."""
    return curve_figure(
        result.branches,
        result.values,
        result.quantity,
        result.changes,
        **look,
    )


def as_text(value: Any) -> str:
    """JSON, in which what is not finite is null: browsers do not read NaN."""
    return json.dumps(_plain(value), allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value

"""Worker tasks whose results are texts, ready to be drawn: the server only hands them on to the browser."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..problem import Problem
from .figures import curve_figure
from .point import PointResult, point_figures, point_view, point_words
from .quantities import allowed
from .tasks import CurveResult, compute_curve, read_curve

__all__ = ["as_text", "curve_text", "learning_curve_figure", "point_text", "result_figure"]

_SUBSCRIPTS = "₀₁₂₃₄"


def curve_text(fields: Mapping[str, Any], reach: float, quantity: str, axes: Mapping[str, bool]) -> str:
    """A curve while a hand moves: figure, facts about the activation, what is wrong with the controls."""
    result = read_curve(fields, reach, quantity, axes, is_smooth=False)
    if isinstance(result, dict):
        return as_text({"errors": result})
    look = {**axes, "reach": reach}
    found = {"figure": result_figure(result, look), "facts": _facts(result.problem), "errors": result.errors}
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
    return curve_figure(result.branches, result.values, result.quantity, result.changes, **look)


def as_text(value: Any) -> str:
    """JSON, in which what is not finite is null: browsers do not read NaN."""
    return json.dumps(_plain(value), allow_nan=False, separators=(",", ":"))


def _facts(problem: Problem) -> dict[str, str]:
    """The activation at a glance: its graph, as an address of an image, and Hermite coefficients in words."""
    mu = problem.activation.hermite
    words = "  ".join(f"μ{_SUBSCRIPTS[i]}\u00a0=\u00a0{mu[i]:.3g}" for i in range(5) if abs(mu[i]) > 1e-12)
    return {
        "graph": _graph(problem),
        "alt": f"graph of the activation {problem.activation.name}",
        "words": words,
    }


def _graph(problem: Problem) -> str:
    """The activation on [-3, 3]."""
    x = np.linspace(-3, 3, 61)
    y = np.nan_to_num(problem.activation(x), posinf=1e3, neginf=-1e3)
    reach = max(1e-9, float(np.max(np.abs(y))))
    points = " ".join(
        f"{4 + 92 * (a + 3) / 6:.1f},{24 - 20 * b / reach:.1f}" for a, b in zip(x, y, strict=True)
    )
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 48">'
        '<path d="M4 24H96M50 3V45" stroke="#8a8f98" stroke-width="0.7"/>'
        f'<polyline points="{points}" fill="none" stroke="#0a85d1" stroke-width="2.4"/></svg>'
    )
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


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

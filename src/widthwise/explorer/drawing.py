"""Worker tasks whose results are texts, ready to be drawn: the server only hands them on to the browser."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .facts import facts
from .figures import curve_figure
from .point import PointResult, point_figures, point_view, point_words
from .tasks import CurveResult, sketch_curve

__all__ = ["as_text", "point_text", "result_figure", "sketch_text"]


def sketch_text(fields: Mapping[str, Any], reach: float, quantity: str, look: Mapping[str, Any]) -> str:
    """A curve with few points: figure, facts about the activation, what is wrong with the controls."""
    result = sketch_curve(fields, reach, quantity)
    if isinstance(result, dict):
        return as_text({"errors": result})
    found = {"figure": result_figure(result, look), "facts": facts(result.problem), "errors": result.errors}
    return as_text(found)


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

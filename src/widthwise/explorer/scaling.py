"""The scaling law of the page's problem with readouts i^(-β): a figure, and words for one n."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ingredients.readouts import PowerLaw
from ..plotting.style import PALETTE
from ..theory.scaling import ScalingLaw, scaling_law
from .figures import look
from .tasks import quietly, read_problem

__all__ = ["MOST_WITH_MATRIX", "scaling_view"]

MOST_WITH_MATRIX = 20
"""Features that are drawn for an activation with a quadratic part, which takes longer."""

_N_POINTS = 25
_SPAN = (1e-2, 1e3)  # of n/(kd), widened to hold the n asked for


def scaling_view(fields: Mapping[str, Any], beta: float, k: int, per_weight: float) -> dict[str, Any]:
    """Error and effective width against n, and a sentence for n = ``per_weight`` k d."""
    problem, errors = read_problem(fields)
    if problem is None:
        return {"beta": next(iter(errors.values()))}
    note = ""
    if abs(problem.hermite[2]) > 1e-12 and k > MOST_WITH_MATRIX:
        k, note = MOST_WITH_MATRIX, f" ({MOST_WITH_MATRIX} features: this activation has a quadratic part.)"
    problem = problem.replace(readouts=PowerLaw(beta, k))
    unit = k * (k / problem.gamma)
    low, high = min(_SPAN[0], per_weight / 3), max(_SPAN[1], per_weight * 3)
    n = np.geomspace(low, high, _N_POINTS) * unit
    law = quietly(scaling_law, problem, np.append(n, per_weight * unit))
    return {"figure": _figure(law), "words": _words(law) + note}


def _words(law: ScalingLaw) -> str:
    n, error, width = (float(column[-1]) for column in (law.n, law.excess_error, law.effective_width))
    slope, first = float(law.local_exponent[-1]), law.predicted_exponents[0]
    text = (
        f"At n = {n:.3g} samples of dimension d = {law.d:g}: {width:g} of {law.k:g} features are learnt, "
        f"the best error is {error:.3g} and falls as n^{slope:.2f}."
    )
    if math.isfinite(first):
        text += f" Predicted: n^{first:.2f} while features are found, 1/n when all are."
    return text


def _figure(law: ScalingLaw) -> dict[str, Any]:
    layout = look(x="samples n", y="excess error", is_log_x=True, is_log_y=True)
    right = {**layout["yaxis"], "overlaying": "y", "side": "right", "showgrid": False}
    layout["yaxis2"] = right | {"title": {"text": "effective width"}}
    layout["margin"]["r"] = 70
    x, at = law.n[:-1].tolist(), float(law.n[-1])
    lines = (
        ("best possible", law.excess_error, {"color": PALETTE[0], "width": 2.8}, "y"),
        (
            "one draw of the posterior",
            law.one_draw_error,
            {"color": PALETTE[1], "width": 2, "dash": "dash"},
            "y",
        ),
        ("effective width", law.effective_width, {"color": PALETTE[2], "width": 2}, "y2"),
    )
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": x,
            "y": _positive(y[:-1]),
            "name": name,
            "line": line,
            "yaxis": axis,
        }
        for name, y, line, axis in lines
    ]
    mark = {"size": 9, "color": PALETTE[0]}
    here = {"x": [at], "y": _positive(law.excess_error[-1:]), "name": "n of the slider", "marker": mark}
    data.append({"type": "scatter", "mode": "markers", "showlegend": False, **here})
    return {"data": data, "layout": layout}


def _positive(values: np.ndarray) -> list[float | None]:
    """What a logarithmic axis can show."""
    return [float(value) if math.isfinite(value) and value > 0 else None for value in values]

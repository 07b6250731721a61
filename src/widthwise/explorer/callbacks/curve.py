"""The learning curve: a sketch while something moves, all digits once it rests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dash import Input, Output, State, html, no_update

from ..compute import Cache, Dropped, TookTooLong
from ..figures import curve_figure
from ..state import LIMITS, problem_fields
from ..tasks import CurveResult, exact_curve, sketch_curve

__all__ = ["CONTROLS", "register"]

CONTROLS = ("activation", "weights", "readouts", "channel", "noise", "gamma", "reach", "quantity")
"""Controls with a place for a sentence beside them."""


def register(app: Any, explorer: Any) -> None:
    """Connect the curve with the problem."""
    explorer.curves = Cache(48)

    @app.callback(
        Output("sketch", "data"),
        Output("facts", "children"),
        *[Output(f"{name}-error", "children") for name in CONTROLS],
        Input("wanted", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_sketch(wanted: Any, tab: Any) -> Any:
        asked = Wanted.read(wanted)
        explorer.slow.cancel((str(tab), "exact"))
        result = compute(explorer.quick, explorer.curves, (str(tab), "sketch"), sketch_curve, asked)
        if result is None:
            return [no_update] * (2 + len(CONTROLS))
        errors = asked.errors | (result if isinstance(result, dict) else result.errors)
        complaints = [errors.get(name, "") for name in CONTROLS]
        if isinstance(result, dict):
            return [no_update, no_update, *complaints]
        return [asked.answer(result), facts(result), *complaints]

    @app.callback(
        Output("exact", "data"),
        Output("transitions", "children"),
        Input("settled", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_exact(settled: Any, tab: Any) -> Any:
        asked = Wanted.read(settled)
        result = compute(explorer.slow, explorer.curves, (str(tab), "exact"), exact_curve, asked)
        if not isinstance(result, CurveResult):
            return no_update, no_update
        return asked.answer(result), listing(result)


class Wanted:
    """What a curve is asked for: the problem, the range and how it is drawn."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.fields = problem_fields(state)
        self.quantity = str(state.get("quantity"))
        self.is_log_x, self.is_log_y = state.get("xaxis") == "log", state.get("yaxis") == "log"
        self.errors: dict[str, str] = {}
        low, high = LIMITS["reach"]
        try:
            self.reach = float(state.get("reach"))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            self.reach = float("nan")
        if not low <= self.reach <= high:
            self.errors["reach"] = f"The largest α must lie between {low:g} and {high:g}."
            self.reach = 6.0
        self.serial = state.get("serial")

    @classmethod
    def read(cls, data: Any) -> Wanted:
        if not isinstance(data, Mapping):
            raise ValueError("the state of the page must be a record")
        return cls(data)

    @property
    def key(self) -> str:
        return json.dumps([self.fields, self.reach, self.quantity], sort_keys=True)

    def answer(self, result: CurveResult) -> dict[str, Any]:
        figure = curve_figure(
            result.branches,
            result.values,
            result.quantity,
            result.changes,
            is_log_x=self.is_log_x,
            is_log_y=self.is_log_y,
            reach=self.reach,
        )
        return {"serial": self.serial, "figure": figure.to_plotly_json()}


def compute(workers: Any, cache: Cache, owner: Any, function: Any, asked: Wanted) -> Any:
    """A result from the cache or a worker; None if a newer wish has taken the place of this one."""
    key = (function.__name__, asked.key)
    found = cache.get(key)
    if found is not None:
        return found
    try:
        found = workers.submit(owner, function, asked.fields, asked.reach, asked.quantity).result(150)
    except Dropped:
        return None
    except TookTooLong:
        return {"activation": "This takes too long to compute; try a simpler problem."}
    except (ValueError, RuntimeError, ArithmeticError, MemoryError) as error:
        return {"activation": f"This could not be computed: {error}"}
    cache.put(key, found)
    return found


def facts(result: CurveResult) -> Any:
    """Hermite coefficients of the activation."""
    mu = result.problem.activation.hermite
    return [html.Span(f"μ{'₀₁₂₃₄'[i]} = {mu[i]:.3g}", className="fact") for i in range(5)]


def listing(result: CurveResult) -> Any:
    """The transitions in words."""
    if not result.changes:
        return html.P(result.note or "No transition in this range.", className="hint")
    return html.Ul([html.Li(str(change)) for change in result.changes])

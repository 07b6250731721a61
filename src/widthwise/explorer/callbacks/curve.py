"""The learning curve: a sketch while something moves, all digits once it rests; pins and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Input, Output, State, ctx, dcc, no_update

from ..compute import Cache
from ..export import command_line, curve_csv, curve_json, python_code
from ..facts import facts, listing
from ..figures import PIN_COLORS, branch_traces, curve_figure, describe
from ..state import LIMITS, PROBLEM, bounded, problem_fields, read_pins
from ..tasks import CurveResult, exact_curve, sketch_curve
from .asking import as_state, ask

__all__ = ["CONTROLS", "Wanted", "register"]

CONTROLS = ("activation", "weights", "readouts", "channel", "noise", "gamma", "reach", "quantity")
"""Controls with a place for a sentence beside them."""


class Wanted:
    """What a curve is asked for: the problem, the range and how it is drawn."""

    def __init__(self, data: Any) -> None:
        state = as_state(data)
        self.fields = problem_fields(state)
        self.quantity = str(state.get("quantity"))
        self.is_log_x, self.is_log_y = state.get("xaxis") == "log", state.get("yaxis") == "log"
        self.pins = read_pins(str(state.get("pins") or ""))
        self.serial = state.get("serial")
        self.errors: dict[str, str] = {}
        try:
            self.reach = bounded(state, "reach")
        except ValueError:
            low, high = LIMITS["reach"]
            self.errors["reach"] = f"The largest α must lie between {low:g} and {high:g}."
            self.reach = 6.0

    def answer(self, result: CurveResult) -> dict[str, Any]:
        """A figure with the serial number of the wish that it answers."""
        figure = curve_figure(
            result.branches,
            result.values,
            result.quantity,
            result.changes,
            is_log_x=self.is_log_x,
            is_log_y=self.is_log_y,
            reach=self.reach,
        )
        return {"serial": self.serial, "figure": figure}


def register(app: Any, explorer: Any) -> None:
    """Connect the curve with the problem."""
    cache = Cache(64)

    def sketched(tab: Any, fields: Mapping[str, Any], wanted: Wanted) -> Any:
        owner = (str(tab), "sketch", str(fields) if fields is not wanted.fields else "")
        arguments = (fields, wanted.reach, wanted.quantity)
        return ask(explorer.quick, cache, owner, sketch_curve, *arguments, blame="activation")

    def solved(tab: Any, wanted: Wanted) -> Any:
        arguments = (wanted.fields, wanted.reach, wanted.quantity)
        return ask(explorer.slow, cache, (str(tab), "exact"), exact_curve, *arguments, blame="activation")

    @app.callback(
        Output("sketch", "data"),
        Output("facts", "children"),
        *[Output(f"{name}-error", "children") for name in CONTROLS],
        Input("wanted", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_sketch(data: Any, tab: Any) -> Any:
        wanted = Wanted(data)
        explorer.slow.cancel((str(tab), "exact"))
        result = sketched(tab, wanted.fields, wanted)
        if result is None:
            return [no_update] * (2 + len(CONTROLS))
        errors = wanted.errors | (result if isinstance(result, dict) else result.errors)
        complaints = [errors.get(name, "") for name in CONTROLS]
        if isinstance(result, dict):
            return [no_update, no_update, *complaints]
        return [wanted.answer(result), facts(result.problem), *complaints]

    @app.callback(
        Output("exact", "data"),
        Output("transitions", "children"),
        Output("python", "children"),
        Output("command", "children"),
        Input("settled", "data"),
        State("alpha", "value"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_exact(data: Any, alpha: Any, tab: Any) -> Any:
        wanted = Wanted(data)
        result = solved(tab, wanted)
        if not isinstance(result, CurveResult):
            return [no_update] * 4
        try:
            at = bounded({"alpha": alpha}, "alpha")
        except ValueError:
            at = 2.0
        code = python_code(result.problem, wanted.reach, at)
        return wanted.answer(result), listing(result), code, command_line(result.problem, wanted.reach)

    @app.callback(
        Output("pinned", "data"), Input("settled", "data"), State("tab", "data"), prevent_initial_call=True
    )
    def draw_pins(data: Any, tab: Any) -> Any:
        wanted = Wanted(data)
        traces: list[dict[str, Any]] = []
        for i, pin in enumerate(wanted.pins):
            result = sketched(tab, problem_fields({**PROBLEM, **pin}), wanted)
            if isinstance(result, CurveResult):
                name, color = describe(result.problem), PIN_COLORS[i % len(PIN_COLORS)]
                look: dict[str, Any] = {"name": name, "width": 0.75, "has_unstable": False}
                traces += branch_traces(result.branches, result.values, color, **look)
        return traces

    @app.callback(
        Output("file", "data"),
        Input("save-csv", "n_clicks"),
        Input("save-json", "n_clicks"),
        State("settled", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def save(_csv: Any, _json: Any, data: Any, tab: Any) -> Any:
        result = solved(tab, Wanted(data))
        if not isinstance(result, CurveResult):
            return no_update
        if ctx.triggered_id == "save-csv":
            return dcc.send_string(curve_csv(result), "widthwise.csv")
        return dcc.send_string(curve_json(result), "widthwise.json")

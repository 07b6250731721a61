"""The learning curve once nothing moves: all digits, transitions in words, pins and files."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import Input, Output, State, ctx, dcc, html, no_update

from ..asking import ask
from ..compute import Cache
from ..drawing import result_figure
from ..export import command_line, curve_csv, curve_json, python_code
from ..figures import PIN_COLORS, branch_traces, describe
from ..state import PROBLEM, bounded, problem_fields
from ..tasks import CurveResult, exact_curve
from ..wanted import Wanted

__all__ = ["register"]


def register(app: Any, explorer: Any) -> None:
    """Connect the curve with the problem."""
    cache = Cache(64)

    def solved(owner: tuple[Any, ...], wanted: Wanted, fields: Any = None) -> Any:
        what = (wanted.fields if fields is None else fields, wanted.reach, wanted.quantity)
        return ask(explorer.slow, cache, owner, exact_curve, *what, blame="activation")

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
        result = solved((str(tab), "exact"), wanted)
        if not isinstance(result, CurveResult):
            return [no_update] * 4
        try:
            at = bounded({"alpha": alpha}, "alpha")
        except ValueError:
            at = 2.0
        code = python_code(result.problem, wanted.reach, at)
        answer = {"serial": wanted.serial, "figure": result_figure(result, wanted.look)}
        return answer, _listing(result), code, command_line(result.problem, wanted.reach)

    @app.callback(
        Output("pinned", "data"), Input("settled", "data"), State("tab", "data"), prevent_initial_call=True
    )
    def draw_pins(data: Any, tab: Any) -> Any:
        wanted = Wanted(data)
        traces: list[dict[str, Any]] = []
        for i, pin in enumerate(wanted.pins):
            result = solved((str(tab), "pin", i), wanted, problem_fields({**PROBLEM, **pin}))
            if result is None:
                return no_update  # newer pins are on their way
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
        result = solved((str(tab), "file"), Wanted(data))
        if not isinstance(result, CurveResult):
            return no_update
        if ctx.triggered_id == "save-csv":
            return dcc.send_string(curve_csv(result), "widthwise.csv")
        return dcc.send_string(curve_json(result), "widthwise.json")


def _listing(result: CurveResult) -> Any:
    """The transitions in words."""
    if not result.changes:
        return html.P(result.note or "No transition in this range.", className="hint")
    items = []
    for change in result.changes:
        who = "all units" if not np.isfinite(change.readout) else f"units with |v| = {change.readout:.4g}"
        where = "0⁺" if change.alpha == 0 else f"{change.alpha:.6g}"
        text = f"α = {where}: {change.kind} transition, {who} begin to be learnt"
        if change.spinodals:
            low, high = change.spinodals
            end = f"{high:.5g}" if np.isfinite(high) else "∞"
            text += f"; both solutions are stable from {low:.5g} to {end}"
        items.append(html.Li(text))
    return html.Ul(items)

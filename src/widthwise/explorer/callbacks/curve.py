"""The learning curve once nothing moves: all digits, transitions in words, pins and files."""

from __future__ import annotations

from typing import Any

from dash import Input, Output, State, ctx, html, no_update

from ...plotting import activation_color
from ..compute import Cache, ask
from ..drawing import result_figure
from ..export import command_line, curve_csv, curve_json, describe, differences, python_code
from ..figures import branch_traces, change_words, pin_colors
from ..requests import CurveRequest
from ..standalone import frame_task, make_page, slider_values
from ..state import PROBLEM, bounded, problem_fields
from ..tasks import CurveResult, read_curve, read_problem
from .wiring import as_file, on_change

__all__ = ["register"]


def register(app: Any, explorer: Any) -> None:
    """Connect the curve with the problem."""
    cache = Cache(64)

    def solved(owner: tuple[Any, ...], wanted: CurveRequest, fields: Any = None) -> Any:
        what = (wanted.fields if fields is None else fields, *wanted.curve[1:])
        return ask(explorer.slow, cache, owner, read_curve, *what, blame="activation")

    @on_change(
        app,
        Output("exact", "data"),
        Output("transitions", "children"),
        Output("python", "children"),
        Output("command", "children"),
        Input("settled", "data"),
        State("alpha", "value"),
        State("tab", "data"),
    )
    def draw_exact(data: Any, alpha: Any, tab: Any) -> Any:
        wanted = CurveRequest(data)
        result = solved((str(tab), "exact"), wanted)
        if not isinstance(result, CurveResult):
            return [no_update] * 4
        try:
            at = bounded({"alpha": alpha}, "alpha")
        except ValueError:
            at = 2.0
        code = python_code(result.problem, wanted.reach, at, result.quantity, **wanted.axes)
        answer = {"serial": wanted.serial, "figure": result_figure(result, wanted.look)}
        return answer, _listing(result), code, command_line(result.problem, wanted.reach)

    @on_change(app, Output("pinned", "data"), Input("settled", "data"), State("tab", "data"))
    def draw_pins(data: Any, tab: Any) -> Any:
        wanted = CurveRequest(data)
        pinned: list[tuple[int, CurveResult]] = []
        for i, pin in enumerate(wanted.pins):
            result = solved((str(tab), "pin", i), wanted, problem_fields({**PROBLEM, **pin}))
            if result is None:
                return no_update  # newer pins are on their way
            if isinstance(result, CurveResult):
                pinned.append((i, result))
        own = read_problem(wanted.fields)[0]
        look: dict[str, Any] = {"width": 0.75, "has_unstable": False}
        traces: list[dict[str, Any]] = []
        legend: list[dict[str, Any]] = []
        for (i, result), color in zip(pinned, pin_colors(own), strict=False):
            name = describe(result.problem) if own is None else differences(result.problem, own)
            traces += branch_traces(result.branches, result.values, color, name=name, **look)
            legend.append({"pin": i, "name": name, "color": color})
        if pinned and own is not None:
            color = activation_color(own.activation.name)
            legend.append({"pin": None, "name": describe(own), "color": color})
        return {"traces": traces, "legend": legend}

    @on_change(
        app,
        Output("file", "data"),
        Input("save-csv", "n_clicks"),
        Input("save-json", "n_clicks"),
        State("settled", "data"),
        State("tab", "data"),
    )
    def save(_csv: Any, _json: Any, data: Any, tab: Any) -> Any:
        result = solved((str(tab), "file"), CurveRequest(data))
        if not isinstance(result, CurveResult):
            return no_update
        if ctx.triggered_id == "save-csv":
            return as_file(curve_csv(result), "widthwise.csv")
        return as_file(curve_json(result), "widthwise.json")

    @on_change(
        app,
        Output("file", "data", allow_duplicate=True),
        Output("html-error", "children"),
        Input("save-html", "n_clicks"),
        State("settled", "data"),
        State("over", "value"),
        State("tab", "data"),
        running=[
            (Output("save-html", "disabled"), True, False),
            (Output("html-progress", "children"), "computing …", ""),
        ],
    )
    def save_html(_: Any, data: Any, over: Any, tab: Any) -> Any:
        wanted, over = CurveRequest(data), "noise" if over == "noise" else "gamma"
        problem = read_problem(wanted.fields)[0]
        if problem is None:
            return no_update, "There is no curve to save: see the control that complains."
        if over not in wanted.fields:
            return no_update, "These labels have no noise to vary; let the slider change the width."
        here = float(wanted.fields[over])
        owner = (str(tab), "html")
        tasks = [
            explorer.background.submit((*owner, i), frame_task, wanted.fields, over, value, *wanted.curve[1:])
            for i, value in enumerate(slider_values(over, here))
        ]
        frames = []
        for task in tasks:
            try:
                found = task.result(len(tasks) * explorer.background.time_limit)
            except Exception:  # one value less, whatever happened to its worker
                continue
            if "lines" in found:
                frames.append(found)
        if len(frames) < 2:
            return no_update, "The curves could not be computed; try a simpler problem."
        text = make_page(problem, over, here, frames, wanted.reach, wanted.axes)
        return as_file(text, "widthwise.html"), ""


def _listing(result: CurveResult) -> Any:
    """The transitions in words."""
    if not result.changes:
        return html.P(result.note or "No transition in this range.", className="hint")
    words = change_words(result.changes, result.problem.readouts.is_discrete)
    return html.Ul([html.Li(text) for text in words])

"""The planner and the scaling law: asked when their view is open and nothing has moved for a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Input, Output, State, html, no_update

from ..compute import Cache, ask
from ..requests import as_state, read_numbers
from ..scaling import scaling_view
from ..state import problem_fields
from ..tasks import plan_view
from .wiring import on_change

__all__ = ["register"]

_SCALING = ("beta", "features", "samples")


def register(app: Any, explorer: Any) -> None:
    """Connect the planner and the view of scaling laws."""
    cache = Cache(64)

    @on_change(
        app,
        Output("plan-answer", "children"),
        Output("goal-error", "children"),
        Output("dimension-error", "children"),
        Input("ask-plan", "data"),
        State("tab", "data"),
    )
    def draw_plan(data: Any, tab: Any) -> Any:
        state = as_state(data)
        numbers, errors = read_numbers(state, ("goal", "dimension"))
        if len(numbers) < 2:
            return no_update, *errors.values()
        arguments = (problem_fields(state), numbers["goal"], round(numbers["dimension"]))
        result = ask(explorer.slow, cache, (str(tab), "plan"), plan_view, *arguments, blame="goal")
        if result is None:
            return no_update, "", ""
        if "optimum" not in result:
            return no_update, result.get("goal", ""), ""
        return _plan(result), "", ""

    @on_change(
        app,
        Output("scaling", "figure"),
        Output("scaling-words", "children"),
        *(Output(f"{name}-error", "children") for name in _SCALING),
        Input("ask-scaling", "data"),
        State("tab", "data"),
    )
    def draw_scaling(data: Any, tab: Any) -> Any:
        state = as_state(data)
        numbers, errors = read_numbers(state, _SCALING)
        if len(numbers) < len(_SCALING):
            return no_update, no_update, *errors.values()
        arguments = (problem_fields(state), numbers["beta"], round(numbers["features"]), numbers["samples"])
        result = ask(explorer.slow, cache, (str(tab), "scaling"), scaling_view, *arguments, blame="beta")
        if result is None:
            return (no_update,) * 5
        if "figure" not in result:
            return no_update, no_update, result.get("beta", ""), "", ""
        return result["figure"], result["words"], "", "", ""


def _plan(result: Mapping[str, Any]) -> Any:
    head = html.Tr([html.Th(word, scope="col") for word in ("learner", "α = n/d²", "samples n")])
    names = {"optimum": "best possible", "universal": "polynomial time (GAMP-RIE)"}
    rows = [
        html.Tr([html.Th(word, scope="row"), html.Td(_alpha(result[key])), html.Td(_count(result[key]))])
        for key, word in names.items()
    ]
    return [html.P(result["sentence"]), html.Table([html.Thead(head), html.Tbody(rows)], className="table")]


def _alpha(need: Mapping[str, Any]) -> str:
    if not need["is_reachable"]:
        return "out of reach"
    if need["alpha_linear"] is not None:
        return f"n = {need['alpha_linear']:.4g} d suffices"
    return f"{need['alpha']:.6g}" + (" (in a jump)" if need["is_jump"] else "")


def _count(need: Mapping[str, Any]) -> str:
    return f"{need['n']:,}".replace(",", "\u202f") if need["n"] is not None else "–"

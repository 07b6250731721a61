"""The planner: asked when its view is open and nothing has moved for a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Input, Output, State, html, no_update

from ..asking import ask
from ..compute import Cache
from ..planning import plan_view
from ..state import bounded, problem_fields, sentence
from ..wanted import as_state
from .wiring import on_change

__all__ = ["register"]


def register(app: Any, explorer: Any) -> None:
    """Connect the planner."""
    cache = Cache(64)

    @on_change(
        app,
        Output("plan-answer", "children"),
        Output("goal-error", "children"),
        Output("dimension-error", "children"),
        Input("ask-plan", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_plan(data: Any, tab: Any) -> Any:
        state = as_state(data)
        numbers, errors = {}, {"goal": "", "dimension": ""}
        for name in errors:
            try:
                numbers[name] = bounded(state, name)
            except ValueError as error:
                errors[name] = sentence(str(error))
        if len(numbers) < 2:
            return no_update, errors["goal"], errors["dimension"]
        arguments = (problem_fields(state), numbers["goal"], round(numbers["dimension"]))
        result = ask(explorer.slow, cache, (str(tab), "plan"), plan_view, *arguments, blame="goal")
        if result is None:
            return no_update, "", ""
        if "optimum" not in result:
            return no_update, result.get("goal", ""), ""
        return _plan(result), "", ""


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

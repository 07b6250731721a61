"""One α, and the planner: asked for when their view is open and nothing has moved for a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Input, Output, State, html, no_update

from ..compute import Cache
from ..planning import plan_view
from ..point import PointResult, landscape_figure, overlap_figure, point_view, spectrum_figure
from ..state import bounded, problem_fields
from .asking import as_state, ask

__all__ = ["register"]


def register(app: Any, explorer: Any) -> None:
    """Connect the views of one point and of plans."""
    cache = Cache(64)

    @app.callback(
        Output("overlaps", "figure"),
        Output("landscape", "figure"),
        Output("spectrum", "figure"),
        Output("point-words", "children"),
        Output("alpha-error", "children"),
        Input("ask-point", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_point(data: Any, tab: Any) -> Any:
        state = as_state(data)
        same = [no_update] * 4
        try:
            alpha = bounded(state, "alpha")
        except ValueError as error:
            return [*same, _sentence(str(error))]
        fields = problem_fields(state)
        result = ask(explorer.slow, cache, (str(tab), "point"), point_view, fields, alpha, blame="alpha")
        if not isinstance(result, PointResult):
            return [*same, "" if result is None else result.get("alpha", "")]
        figures = [make(result) for make in (overlap_figure, landscape_figure, spectrum_figure)]
        return [*figures, _words(result), ""]

    @app.callback(
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
                errors[name] = _sentence(str(error))
        if len(numbers) < 2:
            return no_update, errors["goal"], errors["dimension"]
        arguments = (problem_fields(state), numbers["goal"], round(numbers["dimension"]))
        result = ask(explorer.slow, cache, (str(tab), "plan"), plan_view, *arguments, blame="goal")
        if result is None:
            return no_update, "", ""
        if "optimum" not in result:
            return no_update, result.get("goal", ""), ""
        return _plan(result), "", ""


def _words(result: PointResult) -> str:
    n = len(result.solutions)
    stable = sum(s.is_stable for s in result.solutions)
    best = next((s for s in result.solutions if s.is_equilibrium), result.solutions[0])
    return (
        f"{n} solution{'s' if n > 1 else ''}, {stable} of them stable; the {best.branch} one wins with "
        f"excess error {best.excess_error:.4g} and matrix overlap {best.matrix_overlap_centred:.4g}."
    )


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


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:] + "."

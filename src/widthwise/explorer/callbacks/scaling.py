"""The scaling law: asked when its view is open and nothing has moved for a moment."""

from __future__ import annotations

from typing import Any

from dash import Input, Output, State, no_update

from ..asking import ask
from ..compute import Cache
from ..scaling import scaling_view
from ..state import bounded, problem_fields, sentence
from ..wanted import as_state
from .wiring import on_change

__all__ = ["register"]

_FIELDS = ("beta", "features", "samples")


def register(app: Any, explorer: Any) -> None:
    """Connect the view of scaling laws."""
    cache = Cache(64)

    @on_change(
        app,
        Output("scaling", "figure"),
        Output("scaling-words", "children"),
        *(Output(f"{name}-error", "children") for name in _FIELDS),
        Input("ask-scaling", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_scaling(data: Any, tab: Any) -> Any:
        state = as_state(data)
        numbers, errors = {}, dict.fromkeys(_FIELDS, "")
        for name in _FIELDS:
            try:
                numbers[name] = bounded(state, name)
            except ValueError as error:
                errors[name] = sentence(str(error))
        if len(numbers) < len(_FIELDS):
            return no_update, no_update, *errors.values()
        arguments = (problem_fields(state), numbers["beta"], round(numbers["features"]), numbers["samples"])
        result = ask(explorer.slow, cache, (str(tab), "scaling"), scaling_view, *arguments, blame="beta")
        if result is None:
            return (no_update,) * 5
        if "figure" not in result:
            return no_update, no_update, result.get("beta", ""), "", ""
        return result["figure"], result["words"], "", "", ""

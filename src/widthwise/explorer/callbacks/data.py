"""Measurements: a dropped table or a series of the store, as points on the curve with their deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dash import Input, Output, State, ctx, html, no_update

from ..asking import ask
from ..comparing import compare, distance, points_trace, store_points
from ..compute import Cache
from ..quantities import QUANTITIES
from ..state import problem_fields
from ..uploads import MAX_ROWS, Measured, decode, read_table
from ..wanted import as_state

__all__ = ["register"]

_SHOWN = 40


def register(app: Any, explorer: Any) -> None:
    """Connect uploads with the curve."""
    cache = Cache(16)

    @app.callback(
        Output("points", "data"),
        Output("upload-error", "children"),
        Input("upload", "contents"),
        Input("series", "value"),
        Input("no-data", "n_clicks"),
        State("upload", "filename"),
        State("state", "data"),
        prevent_initial_call=True,
    )
    def read(contents: Any, series: Any, _: Any, name: Any, data: Any) -> Any:
        try:
            if ctx.triggered_id == "upload" and contents:
                found, name = read_table(decode(str(contents))), str(name or "data")[:40]
            elif ctx.triggered_id == "series" and series not in (None, "none") and explorer.store is not None:
                quantity = str(as_state(data).get("quantity"))
                found, name = store_points(explorer.store, str(series), quantity), "result store"
            else:
                return None, ""
        except ValueError as error:
            return no_update, f"{str(error)[:1].upper()}{str(error)[1:]}."
        rows = [[p.alpha, p.value, p.std] for p in found]
        return {"rows": rows, "trace": points_trace(found, _plain(name))}, ""

    @app.callback(
        Output("deviations", "children"),
        Input("ask-data", "data"),
        Input("points", "data"),
        State("state", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def tell(_: Any, points: Any, data: Any, tab: Any) -> Any:
        rows = points.get("rows") if isinstance(points, dict) else None
        if not rows:
            return html.P("No data yet.", className="hint")
        state = as_state(data)
        found = _measured(rows)
        quantity = str(state.get("quantity"))
        quantity = quantity if quantity in QUANTITIES else "excess_error"
        arguments = (problem_fields(state), quantity, found)
        result = ask(explorer.slow, cache, (str(tab), "data"), compare, *arguments, blame="upload")
        if result is None:
            return no_update
        if isinstance(result, dict):
            return html.P(next(iter(result.values())), className="complaint")
        return _table(result, QUANTITIES[quantity].word)


def _measured(rows: Any) -> list[Measured]:
    """Points as the browser sent them back, checked again."""
    if not isinstance(rows, list) or len(rows) > MAX_ROWS:
        raise ValueError("too many points")
    found = [Measured(float(a), float(y), None if s is None else float(s)) for a, y, s in rows]
    if not all(p.alpha > 0 and math.isfinite(p.alpha) and math.isfinite(p.value) for p in found):
        raise ValueError("points must be finite numbers")
    return found


def _table(result: Sequence[tuple[Measured, float, float]], word: str) -> Any:
    names = ("α", f"measured {word}", "best possible", "deviation", "universal branch", "deviation from it")
    head = html.Tr([html.Th(name, scope="col") for name in names])
    rows = []
    for point, best, universal in result[:_SHOWN]:
        measured = f"{point.value:.5g}" + (f" ± {point.std:.2g}" if point.std else "")
        cells = [f"{point.alpha:.4g}", measured]
        for predicted in (best, universal):
            cells += [f"{predicted:.5g}" if math.isfinite(predicted) else "–", distance(point, predicted)]
        rows.append(html.Tr([html.Td(cell) for cell in cells]))
    with_std = [(p.value - best) / p.std for p, best, _ in result if p.std and math.isfinite(best)]
    words = f"{len(result)} points."
    if with_std:
        size = math.sqrt(sum(z * z for z in with_std) / len(with_std))
        words += (
            f" Root mean square of their distance from the best possible: {size:.2g} standard deviations."
        )
    more = f" The first {_SHOWN} are listed." if len(result) > _SHOWN else ""
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="table wide")
    return [html.P(words + more, className="hint"), html.Div(table, className="scroll", tabIndex="0")]


def _plain(name: str) -> str:
    """A file name without what Plotly would read as markup."""
    return "".join(letter for letter in name if letter.isalnum() or letter in " ._-()=,") or "data"

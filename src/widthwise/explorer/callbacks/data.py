"""Measurements: a dropped table or a series of the store, as points on the curve with their deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dash import Input, Output, State, ctx, html, no_update

from ...networks.comparison import LEVEL
from ...networks.measurements import Judged, Measured
from ..comparing import MAX_ROWS, compare, decode, points_trace, read_table, store_points
from ..compute import Cache, ask
from ..quantities import QUANTITIES
from ..requests import as_state
from ..state import problem_fields
from .wiring import on_change

__all__ = ["register"]

_SHOWN = 40


def register(app: Any, explorer: Any) -> None:
    """Connect uploads with the curve."""
    cache = Cache(16)

    @on_change(
        app,
        Output("points", "data"),
        Output("upload-error", "children"),
        Input("upload", "contents"),
        Input("series", "value"),
        Input("no-data", "n_clicks"),
        State("upload", "filename"),
        State("state", "data"),
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
        rows = [[p.alpha, p.value, p.error, p.n] for p in found]
        return {"rows": rows, "trace": points_trace(found, _plain(name))}, ""

    @on_change(
        app,
        Output("deviations", "children"),
        Input("ask-data", "data"),
        Input("points", "data"),
        State("state", "data"),
        State("tab", "data"),
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
    found = [
        Measured(float(a), float(y), None if e is None else float(e), None if n is None else int(n))
        for a, y, e, n in rows
    ]
    if not all(p.alpha > 0 and math.isfinite(p.alpha) and math.isfinite(p.value) for p in found):
        raise ValueError("points must be finite numbers")
    return found


def _table(result: Sequence[tuple[Judged, Judged]], word: str) -> Any:
    names = ["α", f"measured {word}"]
    for side in ("best possible", "universal branch"):
        names += [side, "difference", "verdict"]
    head = html.Tr([html.Th(name, scope="col") for name in names])
    rows = []
    for sides in result[:_SHOWN]:
        point = sides[0].measured
        runs = f" ({point.n} run{'s' if point.n != 1 else ''})" if point.n is not None else ""
        error = f" ± {point.error:.2g}" if point.error else ""
        cells = [f"{point.alpha:.4g}", f"{point.value:.5g}{error}{runs}"]
        for one in sides:
            cells += [_number(one.predicted, ".5g"), _difference(one.deviation), one.verdict]
        rows.append(html.Tr([html.Td(cell) for cell in cells]))
    count = f"{len(result)} point{'s' if len(result) != 1 else ''}."
    more = f" The first {_SHOWN} are listed." if len(result) > _SHOWN else ""
    words = (
        f"{count}{more} A point agrees where its confidence interval ({100 * (1 - LEVEL):g} %, by Student's "
        "t if the number of runs is given) holds the prediction and is narrow; undecided where it is wide. "
        "It is close where the difference is real but at most a tenth, and differs beyond that."
    )
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="table wide")
    return [html.P(words, className="hint"), html.Div(table, className="scroll", tabIndex="0")]


def _difference(deviation: float) -> str:
    """In per cent, or as a multiple where that is far off."""
    return _number(100 * deviation, "+.1f", " %") if not deviation > 2 else f"{1 + deviation:.3g} times"


def _number(value: float, form: str, unit: str = "") -> str:
    return f"{value:{form}}{unit}" if math.isfinite(value) else "–"


def _plain(name: str) -> str:
    """A file name without what Plotly would read as markup."""
    return "".join(letter for letter in name if letter.isalnum() or letter in " ._-()=,") or "data"

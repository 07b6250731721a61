"""What the page asks for while a hand moves, past Dash: the curve, views of the α pointed at.

The browser has one question of each kind under way (assets/asking.js), so nothing piles up here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .asking import ask
from .compute import Cache
from .drawing import curve_text, point_text
from .state import bounded, problem_fields, sentence
from .wanted import Wanted, as_state

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["register"]


def register(server: Flask, explorer: Any) -> None:
    """Give a Flask server the addresses ``live/curve`` and ``live/point``."""
    from flask import Response, request

    cache = Cache(128)

    def answer(found: Any, errors: dict[str, str]) -> Response:
        if found is None:
            return Response(status=204)  # a newer question took its place
        text = found if isinstance(found, str) else json.dumps({"errors": found})
        return Response(f'{{"own":{json.dumps(errors)},"found":{text}}}', mimetype="application/json")

    @server.post("/live/curve")
    def curve() -> Response:
        state = as_state(request.get_json())
        tab, wanted = str(state.get("tab")), Wanted(state)
        for what_was in ("exact", "point"):  # of the problem before
            explorer.slow.cancel((tab, what_was))
        found = ask(explorer.quick, cache, (tab, "curve"), curve_text, *wanted.curve, blame="activation")
        return answer(found, wanted.errors)

    @server.post("/live/point")
    def point() -> Response:
        state = as_state(request.get_json())
        try:
            alpha = bounded(state, "alpha")
        except ValueError as error:
            return answer("{}", {"alpha": sentence(str(error))})
        owner, what = (str(state.get("tab")), "point"), (problem_fields(state), alpha)
        return answer(ask(explorer.slow, cache, owner, point_text, *what, blame="alpha"), {})

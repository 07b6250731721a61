"""What the browser asks for, made safe; and the two questions that are answered past Dash.

While a hand moves, the page asks for the curve and for views of the α pointed at. It has one question of each
kind under way (assets/asking.js), so nothing piles up here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .compute import Cache, ask
from .drawing import curve_text, point_text
from .state import LIMITS, bounded, problem_fields, read_pins, sentence

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["CurveRequest", "answer_live", "as_state", "read_numbers"]


def as_state(data: Any) -> Mapping[str, Any]:
    """What the browser sent, if it is a record at all."""
    if not isinstance(data, Mapping):
        raise ValueError("the state of the page must be a record")
    return data


class CurveRequest:
    """A wish of the browser, made safe; ``errors`` are sentences for controls out of their range."""

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

    @property
    def axes(self) -> dict[str, bool]:
        """Which axes are logarithmic."""
        return {"is_log_x": self.is_log_x, "is_log_y": self.is_log_y}

    @property
    def curve(self) -> tuple[Mapping[str, Any], float, str, dict[str, bool]]:
        """What a task needs to compute the curve."""
        return self.fields, self.reach, self.quantity, self.axes

    @property
    def look(self) -> dict[str, Any]:
        """What a figure needs to draw it."""
        return {**self.axes, "reach": self.reach}


def read_numbers(state: Mapping[str, Any], names: Sequence[str]) -> tuple[dict[str, float], dict[str, str]]:
    """The numbers that lie within their limits, and a sentence (or none) about each."""
    numbers, errors = {}, dict.fromkeys(names, "")
    for name in names:
        try:
            numbers[name] = bounded(state, name)
        except ValueError as error:
            errors[name] = sentence(str(error))
    return numbers, errors


def answer_live(server: Flask, explorer: Any) -> None:
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
        tab, wanted = str(state.get("tab")), CurveRequest(state)
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

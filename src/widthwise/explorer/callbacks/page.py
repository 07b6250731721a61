"""Callbacks that run in the browser (assets/*.js, named in page.js): controls, state, address, theme."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Input, Output, State

from ..controls import NUMBERS
from ..layout import GROUPS
from ..state import DEFAULTS

__all__ = ["register"]


def register(app: Any, explorer: Any) -> None:
    """Connect controls with the state of the page, and that with the address."""

    def browser(name: str, *parts: Any, at_start: bool = False) -> None:
        function = ClientsideFunction("widthwise", name)
        app.clientside_callback(function, *parts, prevent_initial_call=not at_start)

    quiet = Output("quiet", "data", allow_duplicate=True)

    for name in NUMBERS:
        browser(
            "sync", Output(f"{name}-slider", "value"), Input(name, "value"), State(f"{name}-slider", "value")
        )
    browser(
        "gather",
        Output("state", "data"),
        [Input(name, "value") for name in DEFAULTS],
        State("known", "data"),
        at_start=True,
    )
    for name in ("exact", "pinned", "points"):
        browser("take", quiet, Input(name, "data"))
    browser("begin", Output("quiet", "data"), Input("tab", "data"), at_start=True)
    for name, options in GROUPS.items():
        browser(
            "press",
            Output(name, "value", allow_duplicate=True),
            *[Input(f"{name}-is-{key}", "n_clicks") for key in options],
        )
    browser(
        "pin",
        Output("pins", "value"),
        Input("pin", "n_clicks"),
        Input("unpin", "n_clicks"),
        State("state", "data"),
    )
    for kind in ("png", "svg"):
        browser("picture", quiet, Input(f"save-{kind}", "n_clicks"))
    browser("welcome", Output("welcome", "hidden", allow_duplicate=True), Input("understood", "n_clicks"))
    browser("help", quiet, *[Input(b, "n_clicks") for b in ("help", "help-close")])
    buttons = [f"lecture-{word}" for word in ("start", "back", "next", "play", "end")]
    browser("teach", quiet, *[Input(button, "n_clicks") for button in buttons])
    browser("theme", Output("theme", "title"), Input("theme", "n_clicks"), at_start=True)

"""Callbacks that run in the browser (assets/*.js, named in page.js): controls, state, address, theme."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Input, Output, State

from ..layout import GROUPS
from ..state import DEFAULTS

__all__ = ["register"]

_SLIDERS = ("gamma", "noise", "reach", "alpha", "goal", "dimension", "size", "beta", "features", "samples")


def register(app: Any, explorer: Any) -> None:
    """Connect controls with the state of the page, and that with the address."""

    def browser(name: str, *parts: Any, **options: Any) -> None:
        app.clientside_callback(ClientsideFunction("widthwise", name), *parts, **options)

    for name in _SLIDERS:
        browser(
            "sync",
            Output(f"{name}-slider", "value"),
            Input(name, "value"),
            State(f"{name}-slider", "value"),
            prevent_initial_call=True,
        )
    browser(
        "gather",
        Output("state", "data"),
        [Input(name, "value") for name in DEFAULTS],
        State("known", "data"),
    )
    for name in ("exact", "pinned", "points"):
        browser(
            "take",
            Output("quiet", "data", allow_duplicate=True),
            Input(name, "data"),
            prevent_initial_call=True,
        )
    browser("begin", Output("quiet", "data"), Input("tab", "data"))
    for name, options in GROUPS.items():
        browser(
            "press",
            Output(name, "value", allow_duplicate=True),
            *[Input(f"{name}-is-{key}", "n_clicks") for key in options],
            prevent_initial_call=True,
        )
    browser(
        "pin",
        Output("pins", "value"),
        Input("pin", "n_clicks"),
        Input("unpin", "n_clicks"),
        State("state", "data"),
        prevent_initial_call=True,
    )
    for kind in ("png", "svg"):
        browser(
            "picture",
            Output("quiet", "data", allow_duplicate=True),
            Input(f"save-{kind}", "n_clicks"),
            prevent_initial_call=True,
        )
    browser(
        "welcome",
        Output("welcome", "hidden", allow_duplicate=True),
        Input("understood", "n_clicks"),
        prevent_initial_call=True,
    )
    quiet = Output("quiet", "data", allow_duplicate=True)
    browser("help", quiet, *[Input(b, "n_clicks") for b in ("help", "help-close")], prevent_initial_call=True)
    buttons = [f"lecture-{word}" for word in ("start", "back", "next", "play", "end")]
    browser(
        "teach",
        quiet,
        *[Input(button, "n_clicks") for button in buttons],
        prevent_initial_call=True,
    )
    browser("theme", Output("theme", "title"), Input("theme", "n_clicks"))

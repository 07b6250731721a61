"""Dash's callbacks with types: the decorators leave the signature of a function as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dash import dcc

__all__ = ["as_file", "on_change"]

Function = TypeVar("Function", bound=Callable[..., Any])


def on_change(app: Any, *parts: Any, **options: Any) -> Callable[[Function], Function]:
    """Have a function called when one of its inputs changes (not at the start); the rest is Dash's own."""

    def connect(function: Function) -> Function:
        app.callback(*parts, prevent_initial_call=True, **options)(function)
        return function

    return connect


def as_file(text: str, name: str) -> Any:
    """A text that the browser saves under a name."""
    send: Any = dcc.send_string
    return send(text, name)

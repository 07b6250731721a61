"""Small parts of the page: labelled controls, symbols with their words, places for errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dash import dcc, html

from .state import LIMITS

__all__ = ["NUMBERS", "choice", "choices", "complaint", "graph", "named", "number", "symbol", "text"]


NUMBERS = {
    "gamma": ("Width", "γ", "γ = k/d: hidden units per input"),
    "noise": ("Noise", "Δ", "Δ: variance of the label noise"),
    "reach": ("Largest", "α", "α = n/d²: samples per squared input dimension"),
    "alpha": ("Samples", "α", "α = n/d²: samples per squared dimension; or click on the learning curve"),
    "goal": ("Target", "ε − Δ", "ε − Δ: excess error that is to be reached"),
    "dimension": ("Inputs", "d", "d: dimension of the inputs"),
    "beta": ("Exponent", "β", "β: the i-th feature has a readout proportional to i^(−β)"),
    "features": ("Features", "k", "k: hidden units of the teacher, each a feature; d = k/γ"),
    "samples": ("Samples per weight", "n/kd", "n/(kd): samples for each of the k d weights"),
    "size": ("Inputs", "d", f"d: dimension of the inputs, at most {LIMITS['size'][1]:g} for a live run"),
}
"""The word, the symbol and its meaning of each number of the page."""


def named(words: str) -> dict[str, Any]:
    """What a screen reader calls a part."""
    return {"aria-label": words}


def symbol(sign: Any, meaning: str) -> Any:
    """A symbol that says what it means to the mouse, to the keyboard and to a screen reader."""
    return html.Span(
        sign, className="symbol", tabIndex="0", role="note", **{**named(meaning), "data-tip": meaning}
    )


def complaint(name: str) -> Any:
    """Where the sentence about a control stands when something is wrong with it."""
    return html.Div(id=f"{name}-error", className="complaint", role="alert")


def graph(name: str, height: str = "") -> Any:
    """A figure that fills its place, whose tools save it as a file."""
    return html.Div(
        dcc.Graph(
            id=name,
            responsive=True,
            style={"height": "100%"},
            config={
                "displaylogo": False,
                "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
                "toImageButtonOptions": {"format": "png", "scale": 2, "filename": f"widthwise-{name}"},
            },
        ),
        className=f"graph {height}".strip(),
    )


def number(state: Mapping[str, Any], name: str, *, is_log: bool = True) -> Any:
    """A number with a slider; the two follow each other (``sync`` in controls.js)."""
    (word, sign, meaning), value, (low, high) = NUMBERS[name], state[name], LIMITS[name]
    ends = (math.log10(low), math.log10(high)) if is_log else (low, high)
    place = math.log10(value) if is_log and value > 0 else value
    return html.Div(
        [
            html.Div(
                [
                    html.Label([word, " "], htmlFor=name),
                    symbol(sign, meaning),
                    dcc.Input(
                        id=name, type="number", value=value, debounce=0.5, step="any", className="number"
                    ),
                ],
                className="row",
            ),
            html.Label(f"{word}, slider", htmlFor=f"{name}-slider", className="unseen"),
            dcc.Input(
                id=f"{name}-slider",
                type="range",
                min=ends[0],
                max=ends[1],
                step="any",
                value=min(max(place, ends[0]), ends[1]),
                className="slider",
            ),
            complaint(name),
        ],
        className="control",
    )


def choice(name: str, word: str, sign: Any, options: Mapping[str, str], value: Any, *more: Any) -> Any:
    """A list to choose from, with what belongs to the choice below it.

    The browser's own list, for keyboards, phones and screen readers; controls.js hands its value on.
    """
    value = value if value in options else next(iter(options))
    return html.Div(
        [
            html.Div([html.Label([word, " "], htmlFor=f"{name}-list"), sign], className="row"),
            html.Select(
                [html.Option(text, value=key, selected=key == value) for key, text in options.items()],
                id=f"{name}-list",
                className="choice",
            ),
            dcc.Input(id=name, type="hidden", value=value),
            *more,
            complaint(name),
        ],
        className="control",
    )


def choices(name: str, word: str, options: dict[str, str], value: Any, className: str = "pills") -> Any:
    """A few choices beside each other: buttons, of which one is pressed (``press`` in controls.js)."""
    value = value if value in options else next(iter(options))
    buttons = [
        html.Button(
            label,
            id=f"{name}-is-{key}",
            type="button",
            className="choice-button",
            **{"aria-pressed": "true" if key == value else "false"},  # type: ignore[arg-type]
        )
        for key, label in options.items()
    ]
    return html.Div(
        [*buttons, dcc.Input(id=name, type="hidden", value=value)],
        role="group",
        className=className,
        **named(word),
    )


def text(name: str, word: str, value: str, hint: str) -> Any:
    """A line of text, shown when it is chosen."""
    return html.Div(
        [
            html.Label(word, htmlFor=name, className="unseen"),
            dcc.Input(
                id=name,
                type="text",
                value=value,
                debounce=0.5,
                maxLength=200,
                placeholder=hint,
                spellCheck=False,
                className="text",
            ),
        ],
        id=f"{name}-place",
    )

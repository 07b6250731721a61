"""The views below the curve: one α, phase diagram, planner, data, live experiment, code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import dcc, html

from .controls import choice, choices, complaint, graph, named, number, symbol
from .experiment import LEARNERS
from .phases import AXES as DIAGRAM_AXES
from .security import MAX_UPLOAD

__all__ = ["DIAGRAM_AXES", "STARTS", "VIEWS", "views"]

STARTS = {"random": "start at random", "teacher": "start on the teacher"}

VIEWS = {
    "point": "At one α",
    "diagram": "Phase diagram",
    "plan": "Planner",
    "scaling": "Scaling law",
    "data": "Compare with data",
    "run": "Live experiment",
    "code": "Python",
}


def views(state: Mapping[str, Any], store_series: Mapping[str, str] | None) -> Any:
    """All views; the one that is chosen is shown."""
    parts = {
        "point": _point(state),
        "diagram": _diagram(state),
        "plan": _plan(state),
        "scaling": _scaling(state),
        "data": _data(store_series or {}),
        "run": _run(state),
        "code": _code(),
    }
    return html.Section(
        [
            choices("view", "View", VIEWS, state["view"], className="tabs"),
            *[
                html.Div(part, id=f"view-{name}", hidden=name != state["view"], className="view")
                for name, part in parts.items()
            ],
        ],
        className="card",
        **named("views"),
    )


def _point(state: Mapping[str, Any]) -> list[Any]:
    return [
        html.Div([number(state, "alpha"), html.P(id="point-words", className="hint")], className="toolbar"),
        html.Div(
            [
                _figure(
                    "overlaps",
                    "Overlaps",
                    "𝒬",
                    "𝒬_W(v): overlap of the units of readout v with the teacher's units",
                ),
                _figure(
                    "landscape",
                    "Why a branch wins",
                    "F",
                    "F(𝒬): free entropy, maximised over everything but the overall overlap; the top wins",
                ),
                _figure(
                    "spectrum",
                    "Spectrum",
                    "ξ",
                    "ξ(y): best estimate of an eigenvalue of S̄ from one of the noisy matrix √η S̄ + Z, "
                    "at η = q̂₂ + τ of the equilibrium",
                ),
            ],
            className="three",
        ),
    ]


def _buttons(name: str, word: str) -> list[Any]:
    """Start and stop of a job, how far it is, and the clock that asks (callbacks/jobs.py)."""
    return [
        html.Button(word, id=f"{name}-start", type="button"),
        html.Button("Stop", id=f"{name}-stop", type="button", className="plain", disabled=True),
        html.Span(id=f"{name}-progress", className="progress", role="status"),
        dcc.Interval(id=f"{name}-tick", interval=500, disabled=True),
    ]


def _figure(name: str, word: str, sign: str, meaning: str) -> Any:
    return html.Div([html.H3([word, " ", symbol(sign, meaning)]), graph(name)])


def _diagram(state: Mapping[str, Any]) -> list[Any]:
    return [
        html.Div(
            [
                choices("against", "Horizontal axis of the diagram", DIAGRAM_AXES, state["against"]),
                *_buttons("diagram", "Compute"),
            ],
            className="toolbar",
        ),
        complaint("diagram"),
        html.P(
            "Colour: smallest excess error. White lines: units begin to be learnt (dotted), the optimum "
            "jumps (solid). The cross is the problem of this page. It starts coarse and refines.",
            className="hint",
        ),
        graph("diagram", "tall"),
    ]


def _plan(state: Mapping[str, Any]) -> list[Any]:
    return [
        html.Div([number(state, "goal"), number(state, "dimension")], className="toolbar"),
        html.Div(id="plan-answer", className="answer", role="status"),
    ]


def _scaling(state: Mapping[str, Any]) -> list[Any]:
    return [
        html.Div(
            [number(state, "beta"), number(state, "features"), number(state, "samples")], className="toolbar"
        ),
        html.P(id="scaling-words", className="answer", role="status"),
        graph("scaling", "medium"),
        html.P(
            "Features are learnt one after the other, the largest first. Their number is the effective width "
            "(right axis). Activation, weights, noise and γ are those of this page, its readouts are not.",
            className="hint",
        ),
    ]


def _data(store_series: Mapping[str, str]) -> list[Any]:
    store = html.Div(
        choice("series", "Result store", "", {"none": "choose a series …", **store_series}, "none"),
        hidden=not store_series,
        className="narrow",
    )
    return [
        html.Div(
            [
                dcc.Upload(
                    html.Div(
                        [
                            "Drop a CSV of α, error and, if known, its standard error and the number of runs "
                            "here, or ",
                            html.U("choose a file"),
                        ]
                    ),
                    id="upload",
                    max_size=MAX_UPLOAD,
                    accept=".csv,.txt,.tsv,text/csv,text/plain",
                    className="drop",
                ),
                store,
                html.Button("Remove the data", id="no-data", type="button", className="plain"),
            ],
            className="toolbar",
        ),
        complaint("upload"),
        html.Div(id="deviations"),
    ]


def _run(state: Mapping[str, Any]) -> list[Any]:
    return [
        html.Div(
            [
                html.Div(choice("learner", "Learner", "", LEARNERS, state["learner"]), className="narrow"),
                number(state, "size", is_log=False),
                choices("start", "Start of the sampler", STARTS, state["start"]),
                *_buttons("run", "Run"),
            ],
            className="toolbar",
        ),
        complaint("run"),
        html.P(
            "One random network of this problem at the α of the first view, learnt on this machine. The "
            "theory is for d → ∞: at d = 40 the error of GAMP-RIE lies about a tenth above it (the "
            "difference falls as 1/d) and scatters by a few per cent from one network to the next; a sampler "
            "also needs time.",
            className="hint",
        ),
        graph("run", "medium"),
    ]


def _code() -> list[Any]:
    return [
        html.H3("Python"),
        html.Pre(id="python", tabIndex="0"),
        html.H3("Command line"),
        html.Pre(id="command", tabIndex="0"),
        html.P("The address of this page holds its whole state: bookmark or share it.", className="hint"),
    ]

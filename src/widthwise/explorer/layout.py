"""The page: problem on the left, learning curve on the right, one further view below it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from dash import dcc, html

from ..ingredients.activations import ACTIVATIONS
from .controls import choice, choices, graph, named, number, symbol, text
from .quantities import QUANTITIES
from .state import BLAMED, CURVE, DEFAULTS, LIMITS, N_ROWS
from .views import DIAGRAM_AXES, STARTS, VIEWS, views

__all__ = ["GROUPS", "page"]

AXES = {"log": "log", "linear": "linear"}
GROUPS = {"view": VIEWS, "against": DIAGRAM_AXES, "start": STARTS, "yaxis": AXES, "xaxis": AXES}
"""Groups of buttons, of which one is pressed."""


_ACTIVATIONS = {name: name for name in ACTIVATIONS if name not in ("linear", "identity", "he2", "he3", "he4")}
_ACTIVATIONS |= {
    "relu": "ReLU",
    "elu": "ELU",
    "gelu": "GELU",
    "quadratic": "quadratic x²",
    "sigma1": "σ₁ = He₂/√2",
    "sigma2": "σ₂ = He₃/√6",
    "sigma3": "σ₃ = He₂/√2 + He₃/6",
    "own": "own formula …",
}
_WEIGHTS = {
    "gaussian": "Gaussian",
    "rademacher": "binary ±1 (Rademacher)",
    "uniform": "uniform",
    "sparse-gaussian(0.2)": "sparse Gaussian, density 0.2",
    "own": "own values …",
}
_READOUTS = {
    "homogeneous": "homogeneous, all 1",
    "rademacher": "binary ±1 (Rademacher)",
    "four-point": "four values",
    "uniform": "uniform",
    "gaussian": "Gaussian",
    "own": "own table …",
}
_CHANNELS = {
    "gaussian": "output + Gaussian noise",
    "laplace": "output + Laplace noise",
    "probit": "sign of noisy output (probit)",
    "logistic": "logistic, steepness 1/Δ",
    "sign": "sign of the output",
    "own": "own channel …",
}
_HERMITE = "Hermite coefficients μ_l = E[σ(z) He_l(z)]: μ₁ is the linear part, μ₂ the quadratic one"
EXAMPLES = {
    "ReLU": "?",
    "two jumps": "?activation=own&weights=rademacher&readouts=four-point&alpha=3.6",
    "Gaussian readouts": "?readouts=gaussian&noise=0.01&reach=4&xaxis=log",
    "classification": "?activation=sigma3&readouts=rademacher&channel=probit&noise=0.05&quantity=zero-one",
}

_WELCOME = (
    "A wide two-layer network with random weights labels Gaussian inputs, and you try to learn it from "
    "n = αd² such examples. The solid line is the smallest error that any learner can reach; dashed and "
    "dotted lines are solutions at which learners can get stuck. Move a slider: left of the thin vertical "
    "lines only the combined quadratic effect of the hidden units is known, and from there on the units "
    "themselves are learnt."
)


def page(state: Mapping[str, Any], store_series: Mapping[str, str] | None = None) -> Any:
    """The whole page, with its controls set to ``state``."""
    tab = uuid.uuid4().hex
    return html.Div(
        [
            dcc.Store(id="tab", data=tab),
            dcc.Store(
                id="known",
                data={"all": dict(DEFAULTS), "curve": list(CURVE), "blamed": list(BLAMED), "tab": tab},
            ),
            dcc.Store(id="state"),
            dcc.Store(id="settled"),
            dcc.Store(id="exact"),
            dcc.Store(id="quiet"),
            dcc.Store(id="pinned"),
            dcc.Store(id="points"),
            dcc.Store(id="ask-plan"),
            dcc.Store(id="ask-data"),
            dcc.Download(id="file"),
            html.Header(
                [
                    html.H1("widthwise"),
                    html.P("how well can a wide two-layer network be learnt?", className="tagline"),
                    html.Nav(
                        [html.A(word, href=link) for word, link in EXAMPLES.items()], **named("examples")
                    ),
                    html.Div(
                        [
                            html.Button("Help", id="help", type="button", className="plain"),
                            html.Button("Light / dark", id="theme", type="button", className="plain"),
                        ],
                        className="corner",
                    ),
                ]
            ),
            html.Section(
                [
                    html.P(_WELCOME),
                    html.Button("Got it", id="understood", type="button"),
                ],
                id="welcome",
                className="welcome",
                hidden=True,
                **named("what this page shows"),
            ),
            html.Div(
                [_problem(state), html.Main([_curve(state), views(state, store_series)])], className="columns"
            ),
        ],
        id="page",
    )


def _problem(state: Mapping[str, Any]) -> Any:
    return html.Section(
        [
            html.H2("Problem"),
            choice(
                "activation",
                "Activation",
                symbol("σ", "σ: activation function of the hidden units"),
                _ACTIVATIONS,
                state["activation"],
                text("formula", "Formula of the activation in x", state["formula"], "such as tanh(2*x)"),
            ),
            html.Div(
                [
                    html.Img(id="graph", alt="graph of the activation", className="spark"),
                    html.Span(id="hermite", title=_HERMITE),
                ],
                id="facts",
                className="facts",
            ),
            number(
                "gamma",
                "Width",
                symbol("γ", "γ = k/d: hidden units per input"),
                state["gamma"],
                *LIMITS["gamma"],
            ),
            choice(
                "weights",
                "Weights",
                symbol(["P", html.Sub("W")], "P_W: law of the inner weights, of mean 0 and variance 1"),
                _WEIGHTS,
                state["weights"],
                text("law", "Law of the weights", state["law"], "values@probabilities"),
            ),
            choice(
                "readouts",
                "Readouts",
                symbol(["P", html.Sub("v")], "P_v: law of the readout weights v, rescaled to E[v²] = 1"),
                _READOUTS,
                state["readouts"],
                _table(state),
            ),
            choice(
                "channel",
                "Labels",
                symbol(["P", html.Sub("out")], "P_out: law of a label given the output of the network"),
                _CHANNELS,
                state["channel"],
                text("label", "Channel", state["label"], "such as student-t:0.1,5"),
            ),
            html.Div(
                number(
                    "noise",
                    "Noise",
                    symbol("Δ", "Δ: variance of the label noise"),
                    state["noise"],
                    *LIMITS["noise"],
                ),
                id="noise-place",
            ),
        ],
        className="card problem",
        **named("problem"),
    )


def _table(state: Mapping[str, Any]) -> Any:
    def cell(name: str, word: str) -> Any:
        return html.Td(
            [
                html.Label(word, htmlFor=name, className="unseen"),
                dcc.Input(id=name, type="number", value=state[name], debounce=0.5, step="any"),
            ]
        )

    head = html.Tr([html.Th("value v", scope="col"), html.Th("probability", scope="col")])
    rows = [
        html.Tr([cell(f"v{i}", f"value {i + 1}"), cell(f"p{i}", f"probability {i + 1}")])
        for i in range(N_ROWS)
    ]
    return html.Div(html.Table([html.Thead(head), html.Tbody(rows)], className="table"), id="table-place")


def _curve(state: Mapping[str, Any]) -> Any:
    words = {name: quantity.word for name, quantity in QUANTITIES.items()}
    return html.Section(
        [
            html.Div(
                [
                    html.H2("Learning curve"),
                    html.Span("", id="progress", className="progress", role="status"),
                ],
                className="row",
            ),
            graph("curve", "tall"),
            html.Div(
                [
                    choice("quantity", "Vertical axis", "", words, state["quantity"]),
                    choices("yaxis", "Vertical scale", AXES, state["yaxis"]),
                    number(
                        "reach",
                        "Largest",
                        symbol("α", "α = n/d²: samples per squared input dimension"),
                        state["reach"],
                        *LIMITS["reach"],
                    ),
                    choices("xaxis", "Horizontal scale", AXES, state["xaxis"]),
                ],
                className="toolbar",
            ),
            html.Div(id="transitions", className="transitions"),
            html.Div(
                [
                    html.Button("Pin this curve", id="pin", type="button", className="plain"),
                    html.Button("Clear pins", id="unpin", type="button", className="plain"),
                    html.Span("Download", className="label"),
                    *[
                        html.Button(name, id=f"save-{name.lower()}", type="button", className="plain")
                        for name in ("CSV", "JSON", "PNG", "SVG")
                    ],
                    dcc.Input(id="pins", type="hidden", value=state["pins"]),
                ],
                className="toolbar",
            ),
        ],
        className="card",
        **named("learning curve"),
    )

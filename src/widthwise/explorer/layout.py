"""The page: problem on the left, learning curve on the right, one further view below it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from dash import dcc, html

from .controls import choice, choices, complaint, graph, named, number, symbol, text
from .help_text import help_page
from .lecture import lecture_bar, steps_data
from .menus import ACTIVATIONS, CHANNELS, INPUTS, READOUTS, WEIGHTS
from .quantities import QUANTITIES
from .standalone import OVER
from .state import BLAMED, CURVE, DEFAULTS, N_ROWS
from .views import DIAGRAM_AXES, STARTS, VIEWS, views

__all__ = ["GROUPS", "page"]

AXES = {"log": "log", "linear": "linear"}
GROUPS = {"view": VIEWS, "against": DIAGRAM_AXES, "start": STARTS, "yaxis": AXES, "xaxis": AXES, "over": OVER}
"""Groups of buttons, of which one is pressed."""

_HERMITE = "Hermite coefficients μ_l = E[σ(z) He_l(z)]: μ₁ is the linear part, μ₂ the quadratic one"
EXAMPLES = {
    "ReLU": "?",
    "two jumps": "?activation=own&weights=rademacher&readouts=four-point&alpha=3.6",
    "Gaussian readouts": "?readouts=gaussian&noise=0.01&reach=4&xaxis=log",
    "classification": "?activation=sigma3&readouts=rademacher&channel=probit&noise=0.05&quantity=zero-one",
}

_WELCOME = (
    "A wide two-layer network with random weights labels Gaussian inputs, and you try to learn it from "
    "n = αd² such examples. The solid line is the smallest error that any learner can reach; dashed lines "
    "are solutions at which a learner can be caught, dotted ones are unstable. Move a slider: left of the "
    "thin vertical lines only the combined quadratic effect of the hidden units is known, and from there on "
    "the units themselves are learnt."
)


def page(
    state: Mapping[str, Any], store_series: Mapping[str, str] | None = None, notes: Sequence[str] = ()
) -> Any:
    """The whole page, with its controls set to ``state`` and ``notes`` about its address."""
    tab = uuid.uuid4().hex
    return html.Div(
        [
            dcc.Store(id="tab", data=tab),
            dcc.Store(
                id="known",
                data={
                    "all": dict(DEFAULTS),
                    "curve": list(CURVE),
                    "blamed": list(BLAMED),
                    "tab": tab,
                    "steps": steps_data(DEFAULTS),
                },
            ),
            dcc.Store(id="state"),
            dcc.Store(id="settled"),
            dcc.Store(id="exact"),
            dcc.Store(id="quiet"),
            dcc.Store(id="pinned"),
            dcc.Store(id="points"),
            dcc.Store(id="ask-plan"),
            dcc.Store(id="ask-data"),
            dcc.Store(id="ask-scaling"),
            dcc.Input(id="lecture", type="hidden", value=state["lecture"]),
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
                            html.Button("Lecture", id="lecture-start", type="button", className="plain"),
                            html.Button("Help", id="help", type="button", className="plain"),
                            html.Button("Light / dark", id="theme", type="button", className="plain"),
                        ],
                        className="corner",
                    ),
                ]
            ),
            html.Section(
                [html.P(_WELCOME), html.Button("Got it", id="understood", type="button")],
                id="welcome",
                className="welcome",
                hidden=True,
                **named("what this page shows"),
            ),
            html.Div(
                [html.P(note) for note in notes],
                id="notes",
                className="notes",
                hidden=not notes,
                role="alert",
            ),
            lecture_bar(),
            html.Div(
                [
                    html.Aside([_problem(state), _figure(state)], className="side", **named("controls")),
                    html.Main([_curve(), views(state, store_series)]),
                ],
                className="columns",
            ),
            help_page(),
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
                ACTIVATIONS,
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
            number(state, "gamma"),
            choice(
                "weights",
                "Weights",
                symbol(["P", html.Sub("W")], "P_W: law of the inner weights, of mean 0 and variance 1"),
                WEIGHTS,
                state["weights"],
                text("law", "Law of the weights", state["law"], "values@probabilities"),
            ),
            choice(
                "inputs",
                "Inputs",
                symbol("C", "C: covariance of the inputs, of trace d; other than white for odd activations"),
                INPUTS,
                state["inputs"],
                text(
                    "eigenvalues",
                    "Eigenvalues of the covariance",
                    state["eigenvalues"],
                    "values@probabilities",
                ),
            ),
            choice(
                "readouts",
                "Readouts",
                symbol(["P", html.Sub("v")], "P_v: law of the readout weights v, rescaled to E[v²] = 1"),
                READOUTS,
                state["readouts"],
                _table(state),
            ),
            choice(
                "channel",
                "Labels",
                symbol(["P", html.Sub("out")], "P_out: law of a label given the output of the network"),
                CHANNELS,
                state["channel"],
                text("label", "Channel", state["label"], "such as student-t:0.1,5"),
            ),
            html.Div(number(state, "noise"), id="noise-place"),
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


def _curve() -> Any:
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
            html.Ul(id="pin-names", className="pins", **named("pinned curves")),
            html.Div(id="transitions", className="transitions"),
        ],
        className="card curve",
        **named("learning curve"),
    )


_FILES = {
    "CSV": "all points of all branches",
    "JSON": "all points of all branches",
    "PNG": "a picture",
    "SVG": "a drawing",
    "HTML": "one page with the curves over a slider; it needs no server",
}


def _figure(state: Mapping[str, Any]) -> Any:
    """What the figure shows, and how to keep it."""
    words = {name: quantity.word for name, quantity in QUANTITIES.items()}
    return html.Section(
        [
            html.H2("Figure"),
            choice(
                "quantity",
                "Vertical axis",
                choices("yaxis", "Vertical scale", AXES, state["yaxis"]),
                words,
                state["quantity"],
            ),
            html.Div(
                [html.Span("Horizontal axis"), choices("xaxis", "Horizontal scale", AXES, state["xaxis"])],
                className="row spread",
            ),
            number(state, "reach"),
            html.Div(
                [
                    html.Button("Pin this curve", id="pin", type="button", className="plain"),
                    html.Button("Clear pins", id="unpin", type="button", className="plain"),
                    dcc.Input(id="pins", type="hidden", value=state["pins"]),
                ],
                className="buttons",
            ),
            html.Div(
                [
                    *[
                        html.Button(
                            name,
                            id=f"save-{name.lower()}",
                            type="button",
                            className="plain small",
                            title=f"download {meaning}",
                        )
                        for name, meaning in _FILES.items()
                    ]
                ],
                className="buttons",
            ),
            html.Div(
                [
                    html.Span("HTML over", className="label"),
                    choices("over", "Slider of the HTML file", OVER, state["over"]),
                ],
                className="buttons",
            ),
            html.Span(id="html-progress", className="progress", role="status"),
            complaint("html"),
        ],
        className="card figure",
        **named("figure"),
    )

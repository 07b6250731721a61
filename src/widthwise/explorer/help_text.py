"""What the button Help shows: how to read the page, its symbols, and what can be done with it."""

from __future__ import annotations

from typing import Any

from dash import html

from .controls import named

__all__ = ["help_page"]

_LINES = {
    "Solid": "the equilibrium: the smallest error that any learner can reach with this many samples.",
    "Dashed": "metastable solutions. They are stable but not the best; a learner can be caught there.",
    "Dotted": "unstable solutions. They connect the others; nothing stays there.",
    "Thin vertical lines": "transitions, with their α above them. An onset is continuous: overlaps grow from "
    "0. At a jump the best solution changes at one stroke; in the shaded range both are stable.",
    "Purple dotted line": "the α of the view “At one α”. Click on a curve to move it; drag to zoom, "
    "double-click to see all again.",
}
_SYMBOLS = {
    "α = n/d²": "samples per squared dimension of the inputs",
    "γ = k/d": "hidden units per input",
    "σ": "activation of the hidden units; own formulas are expressions in x, such as tanh(2*x)",
    "P_W": "law of the inner weights, of mean 0 and variance 1",
    "P_v": "law of the readouts v, the weights of the units in the output, with E[v²] = 1",
    "C": "covariance of the inputs, given by its eigenvalues, of mean 1; white (all 1) unless chosen",
    "Δ": "variance of the noise of the labels",
    "ε − Δ": "excess error: what the best predictor loses to not knowing the weights",
    "𝒬(v)": "overlap of the units of readout v with the teacher's: 0 not learnt, 1 known",
    "S": "the matrix Σᵢ vᵢ wᵢwᵢᵀ/√k, the joint quadratic effect of all units",
    "universal": "the solution in which only S is learnt, whatever the law of the weights",
    "specialised": "a solution in which single units are learnt",
}
_TASKS = {
    "Compare problems": "pin a curve, then change the problem; a name below the figure says what differs, "
    "and its cross removes the pin.",
    "See why": "“At one α” shows overlaps, the free entropy that decides which solution wins, and the "
    "spectrum behind the matrix S.",
    "Map phases": "“Phase diagram” varies width or noise.",
    "Plan": "“Planner” says how many samples a target needs.",
    "Bring data": "“Compare with data” draws a table of α, error, standard error (and the number of runs) "
    "and judges each point.",
    "Take away": "CSV, JSON, PNG, SVG; HTML is one file with a slider that needs no server; “Python” has the "
    "code. The address of the page holds all of it: bookmark or share it.",
    "Teach": "“Lecture” tells the story in six steps: → and ← change the step, the space bar lets α grow, "
    "Escape ends it.",
}


def help_page() -> Any:
    """A dialogue that the button opens (assets/page.js)."""
    return html.Dialog(
        [
            html.Div(
                [
                    html.H2("How to read this page"),
                    html.Button("Close", id="help-close", type="button", className="plain"),
                ],
                className="row spread",
            ),
            html.P(
                "A teacher, a wide two-layer network with random weights, labels random inputs. The page "
                "shows how well it can be learnt from n such examples, in the limit of many inputs d, many "
                "units k and many samples n at fixed γ = k/d and α = n/d²."
            ),
            html.H3("Lines"),
            _list(_LINES),
            html.H3("Symbols"),
            _list(_SYMBOLS),
            html.H3("What you can do"),
            _list(_TASKS),
        ],
        id="help-page",
        className="help",
        **named("help"),
    )


def _list(items: dict[str, str]) -> Any:
    parts: list[Any] = []
    for word, meaning in items.items():
        parts += [html.Dt(word), html.Dd(meaning)]
    return html.Dl(parts)

"""The lecture: the story of the paper in six steps, each a state of the page and a few sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dash import html

from .controls import named

__all__ = ["STEPS", "Step", "lecture_bar", "steps_data"]


@dataclass(frozen=True)
class Step:
    """What is shown (the fields that differ from the defaults) and what is said about it."""

    title: str
    words: str
    shown: Mapping[str, Any]


_TANH = {"activation": "own", "formula": "tanh(2*x)", "weights": "rademacher"}

STEPS = (
    Step(
        "Few data: only a sum over the units is learnt",
        "A network with k = γd ReLU units labels n = αd² random inputs. With few data (left of the dotted "
        "line) the best student learns what the units do together, a matrix, and nothing of any single unit: "
        "all overlaps are 0, whatever the law of the weights.",
        {"reach": 2.0, "alpha": 0.4},
    ),
    Step(
        "More data: the units themselves are learnt",
        "At α = 0.632 the overlap of each unit with its teacher begins to grow: the student specialises. "
        "Here it begins continuously; the solution without specialisation lives on, but it is unstable "
        "(dotted).",
        {"reach": 6.0, "alpha": 5.0},
    ),
    Step(
        "Binary weights: learning jumps",
        "With weights ±1 the error drops at one stroke, at α = 1.757, almost to zero. In the shaded range "
        "two solutions are stable: the one with the larger free entropy is the best (solid), the other "
        "metastable (dashed).",
        {"weights": "rademacher", "reach": 4.0, "alpha": 1.7},
    ),
    Step(
        "Strong units first",
        "Readouts of two sizes: units that contribute more to the output need less data. Those with |v| = "
        "1.34 are learnt at α = 0.564, those with |v| = 0.447 only at α = 3.45.",
        {**_TANH, "readouts": "four-point", "reach": 6.0, "alpha": 3.0},
    ),
    Step(
        "Gaussian readouts: unit after unit",
        "With readouts of all sizes there is no single transition: from α = 0 on, units are learnt one after "
        "the other, the strongest first. The profile of overlaps fills up from large |v| to small.",
        {"readouts": "gaussian", "noise": 0.01, "reach": 4.0, "xaxis": "log", "alpha": 0.5},
    ),
    Step(
        "What is possible, and what is found",
        "The solid line is the best that any learner can do, with any amount of time. The dashed solution "
        "stays stable for every α: a learner that starts without knowledge of the weights is expected "
        "to be caught there, and no fast algorithm is known that leaves it.",
        {**_TANH, "reach": 3.0, "alpha": 2.0},
    ),
)


def steps_data(defaults: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps as the browser takes them: every field of the page, and the words."""
    kept = ("lecture", "view", "pins")
    return [
        {
            "title": step.title,
            "words": step.words,
            "state": {**{k: v for k, v in defaults.items() if k not in kept}, **step.shown},
        }
        for step in STEPS
    ]


def lecture_bar() -> Any:
    """Title and words of the step that is shown, and the buttons; filled by assets/lecture.js."""
    buttons = {
        "lecture-back": ("◀", "previous step"),
        "lecture-next": ("▶", "next step"),
        "lecture-play": ("Play α", "let the number of samples grow"),
        "lecture-end": ("End", "leave the lecture"),
    }
    return html.Section(
        [
            html.Div([html.H2(id="lecture-title"), html.P(id="lecture-words")], role="status"),
            html.Div(
                [
                    html.Span(id="lecture-number", className="label"),
                    *[
                        html.Button(word, id=name, type="button", className="plain", title=meaning)
                        for name, (word, meaning) in buttons.items()
                    ],
                ],
                className="lecture-buttons",
            ),
        ],
        id="lecture-bar",
        className="lecture-bar",
        hidden=True,
        **named("lecture"),
    )

"""What the page draws is what ``solve`` answers, for every activation and law that its lists offer.

A line is drawn straight between points, so it is read off between them: within one per cent everywhere, and
the points themselves to nine digits.
"""

import itertools
import json
import math

import numpy as np
import pytest

import widthwise as ww
from widthwise.explorer.drawing import curve_text, learning_curve_figure
from widthwise.explorer.figures import change_words
from widthwise.explorer.menus import ACTIVATIONS, CHANNELS, INPUTS, READOUTS, WEIGHTS
from widthwise.explorer.state import DEFAULTS, from_query, problem_fields, problem_of, to_query
from widthwise.explorer.tasks import quietly

AXES = {"is_log_x": False, "is_log_y": True}
REACH = 4.0
# Where two lines cross at a jump each is right on its side; these lie on no transition of any case.
ALPHAS = np.array([0.083, 0.41, 1.13, 2.27, 3.71])


def cases():
    """Every entry of every list, and many pairs of them."""
    channels = itertools.cycle([name for name in CHANNELS if name != "sign"])
    laws = itertools.cycle(itertools.product(READOUTS, WEIGHTS))
    for i, sigma in enumerate(ACTIVATIONS):
        readouts, weights = next(laws)
        for _ in range(6):  # to a pair in which both differ
            next(laws)
        case = {
            "activation": sigma, "readouts": readouts, "weights": weights,
            "channel": "sign" if sigma == "erf" else next(channels),
            "gamma": (0.3, 0.7, 1.7)[i % 3], "noise": (0.2, 0.05)[i % 2],
        }  # fmt: skip
        is_refused = problem_of(problem_fields({**DEFAULTS, **case}))[0] is None
        # Labels that are signs need an output without a constant part.
        yield {**case, "channel": "gaussian"} if is_refused else case
    own = {"activation": "own", "formula": "tanh(2*x)", "gamma": 0.7, "noise": 0.05, "channel": "gaussian"}
    for readouts, inputs in zip(READOUTS, INPUTS, strict=False):
        yield {**own, "readouts": readouts, "weights": "gaussian", "inputs": inputs}


CASES = list(cases())


def test_every_entry_of_every_list_occurs():
    for name, offered in (
        ("activation", ACTIVATIONS), ("readouts", READOUTS), ("weights", WEIGHTS), ("channel", CHANNELS),
        ("inputs", INPUTS),
    ):  # fmt: skip
        assert {case.get(name, "isotropic") for case in CASES} == set(offered)


def read_off(figure, alpha):
    """The solid line at an α between its points, as the eye reads it on a logarithmic axis."""
    found = []
    for trace in figure["data"]:
        x, y = np.array(trace["x"]), np.array(trace["y"], dtype=float)
        if trace["name"] != "equilibrium" or x.size < 2 or not np.min(x) <= alpha <= np.max(x):
            continue
        for i in np.nonzero((x[:-1] - alpha) * (x[1:] - alpha) <= 0)[0]:
            share = (alpha - x[i]) / (x[i + 1] - x[i])
            found.append(y[i] ** (1 - share) * y[i + 1] ** share)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_the_solid_line_is_the_equilibrium(case):
    fields = problem_fields({**DEFAULTS, **case})
    found = json.loads(curve_text(fields, REACH, "excess_error", AXES))
    problem, errors = problem_of(fields)
    assert not errors and not found["errors"]
    exact = quietly(ww.learning_curve, problem, ALPHAS).excess_error
    for alpha, value in zip(ALPHAS, exact, strict=True):
        drawn = read_off(found["figure"], alpha)
        assert drawn and max(abs(y - value) for y in drawn) <= 0.01 * value, (alpha, value, drawn)
    solid = [t for t in found["figure"]["data"] if t["name"] == "equilibrium"]
    trace = max(solid, key=lambda t: len(t["x"]))
    alpha, value = trace["x"][len(trace["x"]) // 3], trace["y"][len(trace["x"]) // 3]
    assert quietly(ww.solve, problem, alpha).excess_error == pytest.approx(value, rel=1e-9)


@pytest.mark.slow
def test_the_smooth_curve_is_the_same_with_more_points():
    problem = ww.Problem()
    figure = learning_curve_figure(problem, REACH).to_dict()
    rough = json.loads(curve_text(problem_fields(DEFAULTS), REACH, "excess_error", AXES))["figure"]
    assert sum(len(t["x"]) for t in figure["data"]) > sum(len(t["x"]) for t in rough["data"])
    for alpha in (0.13, 0.91, 3.3):
        exact = ww.solve(problem, alpha).excess_error
        assert read_off(figure, alpha) == pytest.approx([exact], rel=1e-3)


def test_no_corner_of_the_smooth_curve_can_be_seen():
    # A crossover of the specialised branch near α = 4.3, which had corners.
    figure = learning_curve_figure(ww.Problem(), 6.0)
    every = np.concatenate([trace.y for trace in figure.data])
    height = np.ptp(np.log(every))
    for trace in figure.data:
        path = np.column_stack([800 * np.array(trace.x) / 6.0, 320 * np.log(trace.y) / height])
        step = np.diff(path, axis=0)
        length = np.hypot(*step.T)
        angle = np.degrees(np.abs(np.diff(np.arctan2(step[:, 1], step[:, 0]))))
        seen = np.minimum(length[1:], length[:-1]) > 3
        assert angle[seen].max() < 4


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("activation=tanh(2*x)", {"activation": "own", "formula": "tanh(2*x)"}),
        ("weights=-2,0.5@0.2,0.8", {"weights": "own", "law": "-2,0.5@0.2,0.8"}),
        ("channel=laplace:0.3", {"channel": "own", "label": "laplace:0.3"}),
        ("inputs=1.7,0.3", {"inputs": "own", "eigenvalues": "1.7,0.3"}),
    ],
)
def test_an_address_written_by_hand(query, words):
    state = from_query("?" + query)
    assert {name: state[name] for name in words} == words
    name, text = query.split("=", 1)
    state |= {"activation": "tanh"} if name == "inputs" else {}
    problem, _ = problem_of(problem_fields(state))
    assert problem == ww.Problem(**{"activation": problem.activation.spec, name: text})
    assert from_query(to_query(state)) == state


def test_transitions_are_told_in_words():
    """A size may be learnt, learnt better, lost in the jump of another one, and learnt again."""
    jumps = [(1.187, 0.0041, 0.097), (1.186, 0.0041, 0.085), (1.187, 0.0045, 0.014), (1.186, 0.0045, -0.083)]
    jumps += [(1.186, 0.0074, 0.78)]
    listed = [ww.Transition(v, at, "first-order", (0.9 * at, np.inf), jump, 0.0) for v, at, jump in jumps]
    said = [text.split(", ")[1].split("; ") for text in change_words(listed, is_discrete=True)]
    assert [who for who, _ in said] == [
        "units with |v| = 1.187 are learnt at one stroke",
        "units with |v| = 1.186 are learnt at one stroke",
        "units with |v| = 1.187 are learnt better at one stroke",
        "units with |v| = 1.186 are lost",
        "units with |v| = 1.186 are learnt at one stroke",
    ]
    assert {where for _, where in said} == {
        f"both solutions are stable from {0.9 * a:.5g} to ∞" for _, a, _ in jumps
    }
    smooth = [
        ww.Transition(math.inf, 0.0, "continuous"),
        ww.Transition(2.1, 1.7, "first-order", None, 0.4, 0.1),
    ]
    first, second = change_words(smooth, is_discrete=False)
    assert first.startswith("α = 0⁺: continuous transition, units begin to be learnt one after the other, ")
    assert first.endswith("those with the largest |v| first")
    assert second == "α = 1.7: first-order transition, many units are learnt at one stroke"

"""The state of the page: address, problem, and sentences about what is wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import widthwise as ww
from widthwise.explorer.controls import NUMBERS
from widthwise.explorer.state import (
    DEFAULTS,
    LIMITS,
    bounded,
    from_query,
    problem_fields,
    problem_of,
    read_pins,
    read_query,
    to_query,
)


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_of_the_page_is_refused_in_words_beyond_its_limits(name):
    low, high = LIMITS[name]
    assert bounded({name: high}, name) == high
    for value in (0.9 * low, 1.1 * high, "nan", None):
        with pytest.raises(ValueError, match=f"{name} must lie between"):
            bounded({name: value}, name)


def test_address_and_back():
    state = {
        **DEFAULTS,
        "gamma": 0.37,
        "activation": "own",
        "formula": "tanh(x)+x^2",
        "v1": -0.25,
        "view": "plan",
    }
    assert from_query(to_query(state)) == state
    assert to_query(DEFAULTS) == ""


def test_every_field_is_in_the_address():
    state = {
        name: f"other {name}" if isinstance(value, str) else 0.731 + i
        for i, (name, value) in enumerate(DEFAULTS.items())
    }
    state |= dict.fromkeys(("activation", "weights", "readouts", "channel", "inputs"), "own")
    state |= {"v1": None, "p1": None}  # a row that was cleared
    state["pins"] = '[{"gamma":0.3},{"activation":"own","formula":"x^2 + sin(x)"}]'
    assert all(state[name] != DEFAULTS[name] for name in DEFAULTS)
    assert from_query(to_query(state)) == state


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_any_address_gives_a_state(text):
    state = from_query(text)
    assert state.keys() == DEFAULTS.keys()
    problem_fields(state)


@pytest.mark.parametrize(
    "text", ["gamma=nan", "gamma=", "gamma=abc", "formula=" + "x" * 201, "nothing=1", "x" * 9000]
)
def test_what_cannot_be_read_is_the_default(text):
    assert from_query(text) == DEFAULTS


def test_what_cannot_be_read_is_said():
    state, notes = read_query("?gama=3&noise=x&activation=tanh(2*x)&readouts=1,3@0.5,0.5")
    assert len(notes) == 2 and "gama=3" in notes[0] and "no number" in notes[1]
    assert state["activation"] == "own" and state["formula"] == "tanh(2*x)" and state["readouts"] == "own"
    assert problem_of(state)[0].readouts == ww.readouts.Discrete([1, 3], [0.5, 0.5], normalise=True)
    assert "readouts in the address" in read_query("?readouts=nonsense")[1][0]
    assert "too few" in read_query("?readouts=1,2,3,4,5,6,7@" + ",".join(["0.125"] * 6) + ",0.25")[1][0]
    assert read_query("?readouts=gaussian&gamma=0.3")[1] == []


def test_names_say_what_differs():
    from widthwise.explorer.export import describe, differences

    base = ww.Problem(gamma=0.3)
    assert differences(base.replace(gamma=1.7), base) == "γ = 1.7"
    assert (
        differences(base.replace(readouts="four-point", channel=0.3), base) == "four-point readouts, Δ = 0.3"
    )
    assert differences(base, base) == "the same problem"
    assert describe(base, without="gamma") == "relu, gaussian weights, homogeneous readouts, Δ = 0.1"
    assert describe(base.replace(channel="probit:0.2", readouts="rademacher"), without="noise").endswith(
        "probit"
    )


def test_pins_are_limited_to_fields_of_a_problem():
    assert read_pins('[{"gamma":0.3},{"gamma":[1]},{"other":1},5]') == [{"gamma": 0.3}]
    assert len(read_pins("[" + ",".join(['{"gamma":1}'] * 50) + "]")) == 6
    assert read_pins("[" * 5000) == [] and read_pins("{}") == [] and read_pins("no") == []


def test_problem_of_the_controls():
    problem, errors = problem_of(
        {**DEFAULTS, "readouts": "four-point", "weights": "rademacher", "gamma": 0.3}
    )
    assert not errors
    assert problem == ww.Problem("relu", "rademacher", "four-point", 0.1, 0.3)


def test_table_is_normalised():
    problem, _ = problem_of(
        {**DEFAULTS, "readouts": "own", "v0": -2, "p0": 0.5, "v1": 2, "p1": 0.5, "v2": None, "p2": None}
    )
    assert problem.readouts == ww.readouts.resolve("rademacher")


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"gamma": 0}, "gamma", "between 0.02 and 20"),
        ({"gamma": None}, "gamma", "got nothing"),
        ({"noise": -1}, "noise", "between 0.0001"),
        ({"activation": "own", "formula": "1/x"}, "activation", "divides by zero"),
        ({"activation": "own", "formula": "import os"}, "activation", "nknown name"),
        ({"activation": "own", "formula": "x" * 300}, "activation", "at most 200"),
        ({"activation": "own", "formula": ""}, "activation", "nothing is written"),
        ({"readouts": "own", "p0": 0.9}, "readouts", "sum to 1"),
        ({"readouts": "own", "p0": None}, "readouts", "complete or clear"),
        ({"weights": "own", "law": "1@1"}, "weights", "mean"),
        ({"channel": "own", "label": "smoke:1"}, "channel", "nknown channel"),
        ({"channel": "sign"}, "channel", "mean of the output"),
        ({"inputs": "spiked(4.0, 0.1)"}, "inputs", "without quadratic part: 'relu' has"),
        ({"activation": "tanh", "inputs": "own", "eigenvalues": "2,-1"}, "inputs", "must be >= 0"),
        (
            {"activation": "tanh", "inputs": "own", "eigenvalues": " File:/etc/hosts"},
            "inputs",
            "data are for",
        ),
        ({"activation": "tanh", "inputs": "photographs:8"}, "inputs", "data are for"),
    ],
)
def test_wrong_controls_get_a_sentence(change, field, words):
    problem, errors = problem_of({**DEFAULTS, **change})
    assert problem is None
    assert words.lower() in errors[field].lower() and errors[field].endswith((".", "?"))
    assert "normalise=" not in errors[field] and "callable" not in errors[field]

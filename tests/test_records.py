"""Records as text: ingredients as the command line takes them, JSON without NaN."""

import json

import pytest

import widthwise as ww
from widthwise._records import as_csv, as_json, spec_text


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("four-point", "four-point"),
        (0.7, "0.7"),
        ({"kind": "gaussian", "noise": 0.1}, "0.1"),
        ({"values": [-1.0, 2.0], "probabilities": [0.5, 0.5]}, "-1.0,2.0@0.5,0.5"),
        ({"kind": "discrete", "atoms": [-1.0, 1.0], "probabilities": [0.5, 0.5]}, "-1.0,1.0@0.5,0.5"),
        ({"kind": "probit", "noise": 0.1}, "probit:0.1"),
        ({"kind": "sign", "shift": 0.3}, "sign:shift=0.3"),
        ({"kind": "sign"}, "sign"),
        (
            {"kind": "nonlinear", "function": "tanh(2*x)", "noise": 0.1, "flag": False},
            "nonlinear:tanh(2*x),0.1",
        ),
    ],
)
def test_ingredients_as_text(spec, text):
    assert spec_text(spec) == text


def test_asymmetric_laws_come_back_from_their_text():
    readouts = ww.readouts.Discrete([-0.3, 1.7, 0.1], [0.2, 0.5, 0.3], normalise=True)
    assert ww.readouts.resolve(spec_text(readouts.spec)) == readouts


def test_json_has_null_for_what_it_cannot_carry():
    text = as_json({"gamma": 0.5}, [{"a": float("nan"), "b": [float("inf"), 1.0], "c": True}])
    assert json.loads(text)["points"] == [{"a": None, "b": [None, 1.0], "c": True}]
    assert json.loads(as_json({}, []))["points"] == []


def test_csv_joins_arrays():
    text = as_csv({"gamma": 0.5}, [{"a": [1.0, 2.5], "b": [[0.0, 1.0], [2.0, 3.0]], "c": False}])
    assert text == f"gamma,version,a,b,c\n0.5,{ww.__version__},1.0;2.5,0.0:1.0;2.0:3.0,false\n"

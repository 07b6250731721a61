"""Remarks of the report hold at any scale: their numbers are computed from the tables, none is typed in."""

import ast
import inspect
import re

import pytest

from widthwise.paper import Settings, Tables
from widthwise.paper.compare import deviations
from widthwise.paper.registry import NAMES, find
from widthwise.paper.table import Table

TYPED = re.compile(r"\d\.\d|\d+ (iterations|sweeps|%)|[dα] = \d")


@pytest.mark.parametrize("name", NAMES)
def test_no_number_of_one_run_is_typed_in(name):
    function = find(name).remarks
    source = inspect.getsource(function)
    if "lambda" in source:  # the default: no remark
        return
    texts = [
        n.value
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    found = [text for text in texts if TYPED.search(text)]
    assert not found, found


def test_the_check_finds_them():
    for text in ("the error is 0.0150 for", "after 600 sweeps", "at d = 60", "about 7 % more"):
        assert TYPED.search(text)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("ansatz",)])
def test_remarks_can_be_made_of_nothing(name):
    assert all(isinstance(text, str) for text in find(name).remarks(Tables(Settings("smoke"))))


def test_deviations_are_those_of_the_rows():
    shares = [-0.9, -0.05, 0.0, 0.01, 0.02, 0.03, 0.03, 0.03, 0.04, 0.05, 2.0]
    rows = Table({"measured": 0.2 * (1 + s), "predicted": 0.2, "other": 0.4} for s in shares)
    assert deviations(rows) == "+3 % (most -5 to +5 %)"
    assert deviations(rows, "other") == "-48 % (most -52 to -48 %)"
    assert deviations(Table(rows[-2:-1])) == "+5 %" and deviations(Table()) == "–"

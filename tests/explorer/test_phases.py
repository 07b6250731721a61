"""The phase diagram of the page: lines that are joined as they run, columns that are the theory."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.explorer.compute import Workers
from widthwise.explorer.phase_lines import join_lines
from widthwise.explorer.phases import Diagram, diagram_column
from widthwise.explorer.state import DEFAULTS, problem_fields
from widthwise.theory.transitions import Transition

VALUES = np.geomspace(0.1, 2.0, 12)


def first(v, alpha):
    return Transition(v, alpha, "first-order")


def continuous(v, alpha):
    return Transition(v, alpha, "continuous")


def points(lines, readout):
    return [line.points for line in lines if line.readout == readout]


def test_lines_that_cross_stay_themselves():
    up, down = VALUES**1.5, 0.4 / VALUES**0.5  # they cross, so their order changes
    assert (up < down).any() and (up > down).any()
    columns = [
        (v, sorted([continuous(1.3, a), continuous(0.4, b)], key=lambda t: t.alpha))
        for v, a, b in zip(VALUES, up, down, strict=True)
    ]
    lines = join_lines(columns)
    assert points(lines, 1.3) == [list(zip(VALUES, up, strict=True))]
    assert points(lines, 0.4) == [list(zip(VALUES, down, strict=True))]


def test_a_line_that_begins_below_another_of_its_readout_does_not_take_its_points():
    old, new = 3.0 * VALUES, 0.3 * VALUES
    columns = [
        (v, [first(1.0, b)] * (i >= 5) + [first(1.0, a)])
        for i, (v, a, b) in enumerate(zip(VALUES, old, new, strict=True))
    ]
    found = sorted(points(join_lines(columns), 1.0), key=len)
    assert [len(p) for p in found] == [7, 12]
    assert [a for _, a in found[1]] == pytest.approx(old)


def test_a_change_of_kind_is_two_strokes_that_meet():
    columns = [(v, [(first if v < 0.5 else continuous)(1.0, 2 * v)]) for v in VALUES]
    one, other = join_lines(columns)
    assert (one.kind, other.kind) == ("first-order", "continuous")
    assert one.points[-1] == other.points[0]
    assert len(one.points) + len(other.points) == VALUES.size + 1


def test_onsets_at_zero_are_no_line():
    assert join_lines([(v, [continuous(float("inf"), 0.0)]) for v in VALUES]) == []


def test_a_diagram_that_is_stopped_keeps_what_it_has():
    workers = Workers(1, 60.0)
    try:
        diagram = Diagram.over(problem_fields(DEFAULTS), "gamma", 3.0, "tab", workers)
        assert not diagram.is_over and diagram.words.endswith("of 33 columns …")
        diagram.stop()
        assert diagram.is_over and diagram.words.startswith("Stopped after")
        assert workers.submit("other", abs, -1).result(60) == 1  # nothing of it is in the way
        assert len(diagram.columns) < 33 and diagram.failed == 0
    finally:
        workers.close()


def test_a_column_is_the_theory():
    alphas = np.array([0.1, 0.4, 2.0])
    column = diagram_column(problem_fields(DEFAULTS), "gamma", 0.37, alphas)
    problem = ww.Problem(gamma=0.37)
    exact = ww.learning_curve(problem, alphas)
    assert column.error == pytest.approx(exact.excess_error, rel=1e-9)
    onset = ww.transitions(problem, 2.0)[0].alpha
    assert [t.alpha for t in column.lines] == pytest.approx([onset])
    assert column.phase.tolist() == (alphas > onset).astype(float).tolist()

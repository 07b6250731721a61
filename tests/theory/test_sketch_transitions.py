"""Transitions of a sketch: the kinds and places of the exact ones, to three digits."""

import math

import pytest

import widthwise as ww
from widthwise.theory.sketch import sketch_branches
from widthwise.theory.sketch_transitions import sketch_transitions

THREE = ww.readouts.Discrete([-1.2, 0.4, 1.1], [0.3, 0.3, 0.4], normalise=True)
CASES = {
    "one onset": (ww.Problem("relu", channel=0.1, gamma=0.3), 5.0),
    "two jumps": (ww.Problem("tanh(2*x)", "rademacher", "four-point", channel=0.1, gamma=0.7), 5.0),
    "an onset, then a jump": (ww.Problem("sigma3", "rademacher", channel=0.1, gamma=0.4), 3.0),
    "one onset after the other": (ww.Problem("relu", readouts=THREE, channel=0.1, gamma=0.5), 3.0),
    "an onset of classes": (
        ww.Problem("sigma3", "uniform", "rademacher", channel="probit:0.1", gamma=0.3),
        3.0,
    ),
    "an onset of a profile": (ww.Problem("relu", readouts="uniform", channel=0.1, gamma=0.7), 3.0),
    "nothing in the range": (ww.Problem("relu", channel=0.1, gamma=0.5), 0.6),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_the_exact_ones(name):
    problem, reach = CASES[name]
    sketched = sketch_transitions(sketch_branches(problem, (reach / 250, reach)))
    exact = ww.transitions(problem, reach)
    found = [t for t in sketched if t.alpha <= reach]  # branches are followed a little further
    assert [t.kind for t in found] == [t.kind for t in exact]
    for own, true in zip(found, exact, strict=True):
        assert own.alpha == pytest.approx(true.alpha, rel=2e-3)
        assert own.readout == pytest.approx(true.readout, rel=2e-3)
        if true.spinodals:  # the next point of the sketch beside a fold
            assert own.spinodals[0] == pytest.approx(true.spinodals[0], rel=0.03)
            assert math.isinf(own.spinodals[1]) == math.isinf(true.spinodals[1])
            assert own.overlap_jump == pytest.approx(true.overlap_jump, abs=0.03)


def test_where_the_universal_branch_is_known_to_be_optimal_there_is_none():
    problem = ww.Problem("sigma1", channel=0.1, gamma=0.5)
    assert sketch_transitions(sketch_branches(problem, (0.02, 5.0))) == []

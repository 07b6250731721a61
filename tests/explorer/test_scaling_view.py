"""The view of scaling laws without a browser: numbers of the figure, and what is said of them."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.explorer.scaling import MOST_WITH_MATRIX, scaling_view
from widthwise.explorer.state import PROBLEM

ODD = {**PROBLEM, "activation": "own", "formula": "tanh(2*x)", "noise": 0.01}


def test_figure_and_words_are_those_of_the_law():
    view = scaling_view(ODD, 1.0, 100, 4.0)
    assert "n = 8e+04 samples of dimension d = 200: 31 of 100 features are learnt" in view["words"]
    error, one_draw, width, here = view["figure"]["data"]
    problem = ww.Problem("tanh(2*x)", readouts=ww.readouts.PowerLaw(1.0, 100), channel=0.01, gamma=0.5)
    law = ww.scaling_law(problem, error["x"])
    np.testing.assert_allclose(error["y"], law.excess_error)
    np.testing.assert_allclose(one_draw["y"], law.one_draw_error)
    assert width["y"] == [value or None for value in law.effective_width.tolist()]
    assert here["x"] == [80_000.0] and here["y"] == pytest.approx([0.00242195], abs=1e-8)


@pytest.mark.slow
def test_activations_with_a_quadratic_part_have_fewer_features():
    view = scaling_view(PROBLEM, 1.0, 100, 4.0)
    assert f"of {MOST_WITH_MATRIX} features" in view["words"] and "quadratic part" in view["words"]


def test_what_is_wrong_with_the_problem_is_said():
    view = scaling_view({**ODD, "formula": "tanh("}, 1.0, 100, 4.0)
    assert set(view) == {"beta"} and view["beta"]

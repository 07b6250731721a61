"""Notebook manners: every result has a small table, a curve a sketch, and nothing breaks out of the HTML."""

from xml.etree import ElementTree

import numpy as np
import pytest

import widthwise as ww
from widthwise.notebook import html, plot, sparkline

PROBLEM = ww.Problem("max(x, 0)", readouts="four-point", channel=0.2, gamma=0.7)


def parsed(text: str) -> ElementTree.Element:
    """The HTML as a tree: it is well-formed, entities and all."""
    return ElementTree.fromstring(f"<div>{text}</div>")


def cells(text: str) -> list[str]:
    return ["".join(cell.itertext()) for cell in parsed(text).iter("td")]


def test_problem_and_solution():
    assert cells(PROBLEM._repr_html_()) == [
        "max(x,0)",
        "gaussian",
        "four-point",
        "Gaussian, variance 0.2",
        "0.7",
    ]
    solution = ww.solve(PROBLEM, 1.3)
    assert f"{solution.excess_error:.5g}" in cells(solution._repr_html_())


def test_text_is_escaped():
    problem = ww.Problem(lambda x: np.tanh(x), readouts="rademacher")
    assert "<lambda>" not in problem._repr_html_()
    parsed(problem._repr_html_())


def test_curve_shows_a_few_rows_and_a_sketch():
    curve = ww.learning_curve(PROBLEM, np.linspace(0.3, 4.0, 30))
    tree = parsed(curve._repr_html_())
    assert len(list(tree.iter("tr"))) == 9  # a heading and eight of the thirty points
    (line,) = tree.iter("polyline")
    assert len(line.get("points").split()) == 30
    assert curve[:0]._repr_html_().startswith("<p>")


def test_sketch_has_gaps_and_ends_inside():
    y = np.array([1.0, 2.0, np.nan, 4.0, 3.0, 3.5])
    lines = list(parsed(sparkline(np.arange(6), y, width=100, height=40)).iter("polyline"))
    assert [len(line.get("points").split()) for line in lines] == [2, 3]
    points = np.array([pair.split(",") for line in lines for pair in line.get("points").split()], dtype=float)
    assert points.min() >= 0 and points[:, 0].max() <= 100 and points[:, 1].max() <= 40
    assert sparkline([1.0], [2.0]) == ""


def test_transitions_and_plans():
    assert "continuous" in cells(ww.transitions(PROBLEM, 3.0)._repr_html_())
    assert "no transition" in ww.transitions(PROBLEM, 0.01)._repr_html_()
    assert "alpha" in ww.samples_needed(PROBLEM, excess_error=0.05)._repr_html_()


def test_run_and_its_figure():
    run = ww.learners.gamp_rie(ww.sample_instance(PROBLEM, d=12, alpha=1.0, seed=0))
    assert run.status in cells(run._repr_html_())
    import matplotlib

    matplotlib.use("agg")
    assert len(run.plot().lines[0].get_xdata()) == run.trace.sizes["draw"]


def test_a_curve_draws_itself_on_the_axes_given():
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert ww.learning_curve(PROBLEM, [0.5, 1.0]).plot(ax) is ax
    plt.close("all")


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="there is no table for int"):
        html(3)
    with pytest.raises(TypeError, match="there is no figure for Problem"):
        plot(PROBLEM)

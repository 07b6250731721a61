"""Notebook manners: every result has a small table, a curve a sketch, and nothing breaks out of the HTML."""

from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import widthwise as ww
from widthwise._display import figure, table
from widthwise.plotting.notebook import sparkline
from widthwise.sweeps import Store, Sweep
from widthwise.theory.landscape import landscape

matplotlib.use("agg")

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
    assert len(run.plot().lines[0].get_xdata()) == run.trace.sizes["draw"]


def test_a_curve_draws_itself_on_the_axes_given():
    _, ax = plt.subplots()
    assert ww.learning_curve(PROBLEM, [0.5, 1.0]).plot(ax) is ax


def test_every_result_draws_its_own_numbers():
    solution = ww.solve(PROBLEM, 1.3)
    x, y = solution.plot().lines[0].get_data()
    assert np.array_equal(x, solution.readout_values) and np.array_equal(y, solution.weight_overlap)
    course = ww.theory.state_evolution(PROBLEM, 1.3)
    x, y = course.plot().lines[0].get_data()
    assert np.array_equal(x, np.arange(course.n_steps + 1)) and np.array_equal(y, course.excess_error)
    assert len(list(parsed(course._repr_html_()).iter("polyline"))) == 1
    few = ww.solve_linear(PROBLEM, [0.3, 1.0, 4.0])
    x, y = few.plot(quantity="linear_overlap").lines[0].get_data()
    assert np.array_equal(x, [0.3, 1.0, 4.0]) and np.array_equal(y, few.linear_overlap)
    assert f"{few.excess_error[1]:.5g}" in cells(few._repr_html_())
    parsed(ww.solve_linear(PROBLEM, 0.3)._repr_html_())
    scan = landscape(ww.Problem("tanh(2*x)", gamma=0.6), 1.3, n_points=21)
    assert np.array_equal(scan.plot().lines[0].get_ydata(), scan.free_entropy)
    parsed(scan._repr_html_())
    denoiser = ww.denoising.MatrixDenoiser("four-point", 0.7)
    line = denoiser.plot(snr=2.3).lines[0]
    i = len(line.get_xdata()) // 2
    assert line.get_ydata()[i] == pytest.approx(denoiser.density(line.get_xdata()[i], 2.3), rel=1e-9)
    parsed(denoiser._repr_html_())


@pytest.mark.slow
def test_transitions_draw_all_branches():
    found = ww.transitions(PROBLEM, 2.0)
    ax = found.plot()
    assert ax.get_xlim()[1] == 2.0 and len(ax.lines) >= 2


def test_a_diagram_draws_itself():
    data = ww.phase_diagram(PROBLEM, gamma=[0.5, 0.9], alpha=[0.4, 1.1], has_lines=False, n_workers=1)
    colours = data.plot("universal_error").collections[0].get_array()
    assert sorted(np.ravel(colours)) == pytest.approx(sorted(np.ravel(data["universal_error"])))


def test_a_store_shows_and_draws_its_means(tmp_path):
    store = Store(tmp_path)
    assert "0 results" in store._repr_html_()
    with pytest.raises(ValueError, match="is empty"):
        store.plot()
    with ThreadPoolExecutor(1) as threads:
        sweep = Sweep([PROBLEM], [8], [0.6, 1.2], 2, ["gamp_rie"])
        sweep.run(store, executor=threads, progress=False)
    means = store.summary()["excess_error"].tolist()
    assert f"{means[0]:.5g}" in cells(store._repr_html_())
    (bars,) = store.plot().containers
    assert list(bars[0].get_ydata()) == pytest.approx(means)


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="there is no table for int"):
        table(3)
    with pytest.raises(TypeError, match="there is no figure for Problem"):
        figure(PROBLEM)

"""Figures: what is on the axes, not the pixels."""

import matplotlib
import numpy as np
import pytest

import widthwise as ww
from widthwise import plotting
from widthwise.ingredients.activations import ACTIVATIONS
from widthwise.theory.strands import solutions_along, trace_strands

matplotlib.use("agg")

import matplotlib.pyplot as plt

# Two transitions of different kinds: a continuous onset at 0.638, then a jump near 1.6 between
# two specialised solutions.
BISTABLE = ww.Problem("sigma3", "rademacher", "homogeneous", 1.25, 0.5)
TWO_SIZES = ww.Problem("relu", "gaussian", "four-point", 0.2, 0.7)
ALPHAS = np.linspace(0.2, 2.5, 24)


@pytest.fixture(autouse=True)
def closed():
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before, "global settings were changed"


@pytest.fixture(scope="module")
def strands():
    return trace_strands(BISTABLE, ALPHAS)


def drawn(ax, kind):
    """Lines of a style with more than one point, without those of legends and transitions."""
    wanted = {"solid": "-", "broken": "--"}[kind]
    return [line for line in ax.lines if line.get_linestyle() == wanted and len(line.get_xdata()) > 2]


# --- strands -------------------------------------------------------------------------------------


def test_changes_of_the_equilibrium(strands):
    onset, jump = strands.changes
    # The spacing of 0.1 is refined three times by eight.
    assert onset.alpha == pytest.approx(0.6384, abs=0.1 / 8**3 + 1e-4)
    assert (onset.is_jump, jump.is_jump) == (False, True)


def test_a_jump_is_where_two_free_entropies_cross(strands):
    jump = strands.changes[1].alpha
    before, after = (ww.solutions(BISTABLE, jump + step)[:2] for step in (-2e-3, 2e-3))
    # The same two solutions, 0.46 and 0.94 in overlap, in the other order.
    assert [s.weight_overlap[0] < 0.7 for s in before] == [True, False]
    assert [s.weight_overlap[0] < 0.7 for s in after] == [False, True]


def test_strands_hold_every_solution(strands):
    for alpha in (0.2, 1.0, 1.6, 2.5):
        expected = ww.solutions(BISTABLE, alpha)
        found = [p for curve in strands.curves for p in curve if p.alpha == pytest.approx(alpha, abs=1e-12)]
        for solution in expected:
            assert any(abs(p.free_entropy - solution.free_entropy) < 1e-9 for p in found)


def test_strands_are_continuous(strands):
    for curve in strands.curves:
        assert np.all(np.diff(curve.alpha) >= 0) or curve.alpha[0] <= curve.alpha[-1]
        # The steepest is the onset, like a square root: 0.3 over the first step of 0.1
        assert np.max(np.abs(np.diff(curve.weight_overlap[:, 0]))) < 0.35


def test_universal_strand_is_the_universal_branch(strands):
    (universal,) = [curve for curve in strands.curves if curve.asked == "universal"]
    given = np.isin(universal.alpha, ALPHAS)
    expected = ww.learning_curve(BISTABLE, ALPHAS, "universal").excess_error
    np.testing.assert_allclose(universal.excess_error[given], expected, rtol=1e-9)


def test_solutions_along_agree_with_one_at_a_time():
    for column, alpha in zip(solutions_along(TWO_SIZES, [0.3, 2.0]), [0.3, 2.0], strict=True):
        assert [s.free_entropy for s in column] == pytest.approx(
            [s.free_entropy for s in ww.solutions(TWO_SIZES, alpha)], rel=1e-9
        )


def test_strands_refuse_bad_alpha():
    with pytest.raises(ValueError, match="alpha must be > 0"):
        trace_strands(TWO_SIZES, [1.0, -1.0])


def test_continuous_law_is_followed_through_steep_parts():
    problem = ww.Problem("relu", "gaussian", "uniform", 0.1, 0.5)
    curves, changes = trace_strands(problem, np.linspace(0.05, 3, 7))
    assert len(curves) == 2
    assert [change.is_jump for change in changes] == [False]


# --- errors --------------------------------------------------------------------------------------


def test_error_of_an_equilibrium_curve_is_one_solid_line():
    curve = ww.learning_curve(TWO_SIZES, [0.3, 1.0, 2.0])
    ax = plotting.plot_error(None, curve, label="ours")
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), curve.alpha)
    np.testing.assert_array_equal(line.get_ydata(), curve.excess_error)
    assert line.get_linestyle() == "-"
    assert line.get_label() == "ours"
    assert line.get_color() == plotting.activation_color("relu")
    assert "excess error" in ax.get_ylabel()
    assert "alpha" in ax.get_xlabel()


def test_the_axes_given_are_used_and_returned():
    _, ax = plt.subplots()
    curve = ww.learning_curve(TWO_SIZES, [0.3, 1.0])
    assert plotting.plot_error(ax, curve, quantity="bayes_error", is_log=True) is ax
    assert ax.get_yscale() == "log"
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), curve.bayes_error)
    assert curve.plot(ax) is ax
    assert len(ax.lines) == 2


def test_universal_branch_is_solid_then_dotted():
    curve = ww.learning_curve(TWO_SIZES, [0.2, 0.3, 0.4, 2.0, 3.0, 4.0], branch="universal")
    states = plotting._states(curve)
    n = int(np.sum(states == plotting.EQUILIBRIUM))
    assert 0 < n < 6
    solid, dotted = plotting.plot_error(None, curve).lines
    assert solid.get_linestyle() == "-"
    assert dotted.get_linestyle() == "--"  # Matplotlib's name for any pattern of dashes
    assert len(solid.get_xdata()) == n
    assert len(dotted.get_xdata()) == 6 - n + 1  # joined to the last solid point
    assert solid.get_linewidth() > dotted.get_linewidth()


def test_missing_points_leave_a_gap():
    curve = ww.learning_curve(TWO_SIZES, [0.1, 0.2, 2.0, 3.0], branch="specialised")
    (line,) = plotting.plot_error(None, curve, label="s").lines
    assert line.get_xdata().tolist() == [2.0, 3.0]


def test_a_lonely_point_is_a_marker():
    (line,) = plotting.plot_error(None, ww.learning_curve(TWO_SIZES, [2.0])).lines
    assert line.get_marker() == "."


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([0, 0, 0], [(0, 3, 0)]),
        ([0, 0, 1, 1], [(0, 2, 0), (1, 4, 1)]),
        ([2, 0, 0], [(0, 2, 2), (1, 3, 0)]),
        ([-1, 0, 0, -1, 1], [(1, 3, 0), (4, 5, 1)]),
        ([-1], []),
        ([2], [(0, 1, 2)]),
    ],
)
def test_stretches(states, expected):
    assert list(plotting._stretches(np.array(states))) == expected


# --- overlaps ------------------------------------------------------------------------------------


def test_overlaps_by_size_of_readout_and_of_the_matrix():
    curve = ww.learning_curve(TWO_SIZES, [1.0, 2.0, 3.0])
    ax = plotting.plot_overlaps(None, curve)
    large, small, matrix = ax.lines
    np.testing.assert_array_equal(large.get_ydata(), curve.weight_overlap[:, 0])
    np.testing.assert_array_equal(small.get_ydata(), curve.weight_overlap[:, 1])
    np.testing.assert_array_equal(matrix.get_ydata(), curve.matrix_overlap_centred)
    assert "1.34" in large.get_label()
    assert "0.447" in small.get_label()
    assert sum(matplotlib.colors.to_rgb(small.get_color())) > sum(matplotlib.colors.to_rgb(large.get_color()))


def test_readouts_that_are_shown():
    values = np.array([-2.0, -1.0, 0.0, 1.0, 3.0, 4.0])
    assert [values[i] for i in plotting.shown_readouts(values, True)] == [4.0, 3.0, -2.0]
    grid = np.linspace(-3, 3, 61)
    assert grid[plotting.shown_readouts(grid, False)].tolist() == pytest.approx([2.0, 1.0, 0.5])


# --- the figure ----------------------------------------------------------------------------------


def test_learning_curve_has_two_panels_and_marks_the_transitions(strands):
    figure = plotting.plot_learning_curve(BISTABLE, ALPHAS, strands=strands)
    top, bottom = figure.axes
    assert top.get_shared_x_axes().joined(top, bottom)
    assert top.get_xlim() == (0.2, 2.5)
    for ax in (top, bottom):
        marks = [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1]
        assert marks == pytest.approx([change.alpha for change in strands.changes])
    assert [text.get_text() for text in top.texts] == [f"{c.alpha:.3g}" for c in strands.changes]
    # On the top panel, the solid lines together are the equilibrium.
    solid = np.concatenate([np.column_stack(line.get_data()) for line in drawn(top, "solid")])
    for alpha, error in solid[:: max(1, len(solid) // 10)]:
        assert error == pytest.approx(ww.solve(BISTABLE, alpha).excess_error, rel=1e-6)
    assert drawn(top, "broken")
    names = [text.get_text() for text in top.get_legend().get_texts()]
    assert names == ["equilibrium", "metastable", "unstable", "transition"]
    for line in bottom.lines:
        assert np.all((np.asarray(line.get_ydata()) >= 0) & (np.asarray(line.get_ydata()) <= 1))


def test_learning_curve_with_a_logarithmic_axis():
    assert "0.2" in plotting.plot_learning_curve(TWO_SIZES, [1.0, 2.0]).axes[0].get_title()
    figure = plotting.plot_learning_curve(TWO_SIZES, [1.0, 2.0], is_log=True, title="mine")
    assert figure.axes[0].get_yscale() == "log"
    assert figure.axes[0].get_title() == "mine"


# --- spectra -------------------------------------------------------------------------------------


def test_spectrum_density_has_mass_one_and_shrinkage_is_drawn():
    denoiser = ww.denoising.MatrixDenoiser("four-point", 0.3)
    ax = plotting.plot_spectrum(None, denoiser, 40.0)
    y, density = (np.asarray(data) for data in ax.lines[0].get_data())
    pieces = np.split(np.arange(y.size), np.nonzero(np.isnan(y))[0])
    pieces = [piece[~np.isnan(y[piece])] for piece in pieces]
    assert len(pieces) == len(denoiser.support(40.0)) == 5
    mass = sum(np.trapezoid(density[piece], y[piece]) for piece in pieces)
    assert mass == pytest.approx(1.0, abs=2e-4)  # trapezoid on 400 points of each band
    twin = next(other for other in ax.figure.axes if other is not ax)
    estimate = np.asarray(twin.lines[0].get_ydata())
    inside = np.nonzero(density > 0)[0][::97]
    np.testing.assert_allclose(estimate[inside], denoiser.shrink(y[inside], 40.0))
    assert "0.01257" in ax.get_title()


def test_spectrum_of_gaussian_readouts_shows_a_finite_window():
    _, ax = plt.subplots()
    denoiser = ww.denoising.MatrixDenoiser("gaussian", 1.7)
    assert plotting.plot_spectrum(ax, denoiser, 2.0) is ax
    y = ax.lines[0].get_xdata()
    assert np.all(np.isfinite(y))
    assert denoiser.density(y[-1], 2.0) < 3e-4
    assert ax.get_title() == ""


# --- colours -------------------------------------------------------------------------------------


def test_an_activation_has_one_colour():
    for name in ACTIVATIONS:
        assert matplotlib.colors.is_color_like(plotting.activation_color(name))
        assert plotting.activation_color(name) == plotting.activation_color(name)
    main = ["relu", "tanh", "erf", "gelu", "elu", "sigma1", "sigma2", "sigma3"]
    assert len({plotting.activation_color(name) for name in main}) == len(main)
    # The text decides, not the order of calls or a seed of the process.
    assert plotting.activation_color("tanh(2*x)") == plotting._PALETTE[4]

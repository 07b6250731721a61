"""Figures: what is on the axes, not the pixels."""

import matplotlib
import numpy as np
import pytest

import widthwise as ww
from widthwise import plotting
from widthwise.ingredients.activations import ACTIVATIONS
from widthwise.theory.solver import all_solutions

matplotlib.use("agg")

import matplotlib.pyplot as plt

# Two transitions of different kinds: a continuous onset at 0.638, then a jump near 1.6 between
# two specialised solutions.
BISTABLE = ww.Problem("sigma3", "rademacher", "homogeneous", 1.25, 0.5)
TWO_SIZES = ww.Problem("relu", "gaussian", "four-point", 0.2, 0.7)
SPAN = (0.2, 2.5)


@pytest.fixture(autouse=True)
def settings_stay():
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before, "global settings were changed"


@pytest.fixture(scope="module")
def found():
    return ww.transitions(BISTABLE, SPAN[1])


@pytest.fixture(scope="module")
def branches(found):
    return ww.trace_branches(BISTABLE, SPAN, at=[t.alpha for t in found])


def drawn(ax, kind):
    """Lines of a style with more than one point, without those of legends and transitions."""
    wanted = {"solid": "-", "broken": "--"}[kind]
    return [line for line in ax.lines if line.get_linestyle() == wanted and len(line.get_xdata()) > 2]


# --- branches: what figures rely on --------------------------------------------------------------


@pytest.mark.slow
def test_the_equilibrium_changes_branch_exactly_at_the_transitions(branches, found):
    universal, specialised = branches
    onset, jump = (t.alpha for t in found)
    np.testing.assert_array_equal(universal.is_equilibrium, universal.alpha <= onset)
    overlap = specialised.weight_overlap[:, 0]
    # Both solutions at the Maxwell point count, as their free entropies are equal.
    at = np.nonzero((specialised.alpha == jump) & specialised.is_equilibrium)[0]
    assert at.size == 2
    assert overlap[at[1]] - overlap[at[0]] == pytest.approx(found[1].overlap_jump, abs=1e-6)
    np.testing.assert_array_equal(
        specialised.is_equilibrium, (np.arange(overlap.size) <= at[0]) | (np.arange(overlap.size) >= at[1])
    )


@pytest.mark.slow
def test_marks_agree_with_solve(branches):
    for branch in branches:
        for point in branch[3::9]:
            best = ww.solve(BISTABLE, point.alpha)
            assert point.is_equilibrium == (abs(best.free_entropy - point.free_entropy) < 1e-10)


def test_branches_hold_every_solution(branches, found):
    for alpha in (*SPAN, found[1].alpha):
        for solution in ww.solutions(BISTABLE, alpha):
            assert any(
                p.alpha == alpha and abs(p.free_entropy - solution.free_entropy) < 1e-9
                for branch in branches
                for p in branch
            )


def test_branches_are_continuous_and_meet_the_ends_of_the_range(branches, found):
    universal, specialised = branches
    assert (universal.alpha[0], universal.alpha[-1]) == SPAN
    assert specialised.alpha[-1] == SPAN[1]
    # It is born on the universal branch, at the exact onset.
    assert specialised.alpha[0] == found[0].alpha
    assert specialised.weight_overlap[0, 0] == 0
    assert specialised.excess_error[0] == universal.excess_error[universal.alpha == found[0].alpha]
    assert np.all(np.diff(universal.alpha) > 0)
    for branch in branches:
        assert np.max(np.abs(np.diff(branch.weight_overlap[:, 0]))) <= 0.03 + 1e-9  # the step of the tracer
        assert np.max(np.abs(np.diff(np.log(branch.alpha)))) <= 0.06 + 1e-9


def test_folds_lie_between_metastable_and_unstable_points(branches):
    states = plotting.states_of(branches[1])
    for fold in branches[1].folds:
        (i,) = np.nonzero(branches[1].alpha == fold)[0]
        assert states[i] == plotting.METASTABLE
        assert sorted(states[[i - 1, i + 1]]) == [plotting.METASTABLE, plotting.UNSTABLE]


@pytest.mark.slow
def test_a_further_class_branches_off_from_the_one_before():
    problem = ww.Problem("relu", "gaussian", "four-point", 0.1, 0.7)
    onset = ww.transitions(problem, 13.0)[1].alpha
    _, first, second = ww.trace_branches(problem, (10.0, 13.0))
    assert second.alpha[0] == onset
    np.testing.assert_array_equal(second[0].weight_overlap > 0, [True, False, False, True])
    assert second.excess_error[0] == pytest.approx(first.excess_error[first.alpha == onset], rel=1e-10)
    assert np.all(first.is_equilibrium == (first.alpha <= onset))
    assert np.all(second.is_equilibrium)


@pytest.mark.slow
def test_a_branch_that_leaves_for_infinite_alpha_is_cut_there():
    """sigma1: the branch of small overlaps never turns back; another one comes from infinity."""
    problem = ww.Problem("sigma1", "rademacher", "homogeneous", 1.25, 0.5)
    _, small, large = ww.trace_branches(problem, (0.3, 4.0))
    assert small.alpha[-1] == large.alpha[0] == large.alpha[-1] == 4.0
    assert (len(small.folds), len(large.folds)) == (0, 1)
    assert small.weight_overlap[-1, 0] < 0.4 and large.weight_overlap[0, 0] > 0.7


@pytest.mark.slow
def test_the_exact_answer_stays_the_equilibrium_of_a_quadratic_activation():
    universal, specialised = ww.trace_branches(ww.Problem("x**2", gamma=0.5), (0.1, 1.0))
    assert np.all(universal.is_equilibrium)
    assert not np.any(specialised.is_equilibrium[1:])  # (it begins on the universal branch)


def test_all_solutions_agree_with_one_at_a_time():
    alphas = np.array([0.3, 2.0])
    for column, alpha in zip(all_solutions(TWO_SIZES, alphas), alphas, strict=True):
        assert [s.free_entropy for s in column] == pytest.approx(
            [s.free_entropy for s in ww.solutions(TWO_SIZES, alpha)], rel=1e-9
        )


@pytest.mark.slow
def test_continuous_law_is_followed_through_steep_parts():
    problem = ww.Problem("relu", "gaussian", "uniform", 0.1, 0.5)
    universal, specialised = ww.trace_branches(problem, (0.05, 3.0), n_points=20)
    (only,) = ww.transitions(problem, 3.0)
    assert specialised.alpha[0] == only.alpha
    assert specialised.alpha[-1] == 3.0
    assert np.all(specialised.is_equilibrium)
    np.testing.assert_array_equal(universal.is_equilibrium, universal.alpha <= only.alpha)


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
    states = plotting.states_of(curve)
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
    assert list(plotting.stretches_of(np.array(states))) == expected


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


def test_learning_curve_has_two_panels_and_marks_the_transitions(found):
    figure = plotting.plot_learning_curve(BISTABLE, [1.0, *SPAN])
    top, bottom = figure.axes
    assert top.get_shared_x_axes().joined(top, bottom)
    assert top.get_xlim() == SPAN
    for ax in (top, bottom):
        marks = [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1]
        assert marks == pytest.approx([t.alpha for t in found])
    assert [text.get_text() for text in top.texts] == [f"{t.alpha:.3g}" for t in found]
    # On the top panel, the solid lines together are the equilibrium.
    solid = np.concatenate([np.column_stack(line.get_data()) for line in drawn(top, "solid")])
    for alpha, error in solid[:: max(1, len(solid) // 10)]:
        # Both sides of a jump are drawn, and at the jump itself rounding says which of them is solved for.
        places = [alpha * (1 - 1e-9), alpha * (1 + 1e-9)] if alpha in [t.alpha for t in found] else [alpha]
        solved = [ww.solve(BISTABLE, place).excess_error for place in places]
        assert any(error == pytest.approx(one, rel=1e-6) for one in solved)
    assert drawn(top, "broken")
    names = [text.get_text() for text in top.get_legend().get_texts()]
    assert names == ["equilibrium", "metastable", "unstable", "transition"]
    for line in bottom.lines:
        assert np.all((np.asarray(line.get_ydata()) >= 0) & (np.asarray(line.get_ydata()) <= 1))


def test_learning_curve_of_what_is_known_already(branches, found):
    figure = plotting.plot_learning_curve(BISTABLE, SPAN, found=found, branches=branches)
    longest = max(figure.axes[0].lines, key=lambda line: len(line.get_xdata()))
    assert set(longest.get_xdata()) <= set(branches[0].alpha) | set(branches[1].alpha)


def test_learning_curve_refuses_a_bad_range():
    for bad in ([1.0, -1.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match="0 < low < high"):
            plotting.plot_learning_curve(TWO_SIZES, bad)


@pytest.mark.slow
def test_learning_curve_with_a_logarithmic_axis():
    assert "0.2" in plotting.plot_learning_curve(TWO_SIZES, [1.0, 2.0]).axes[0].get_title()
    figure = plotting.plot_learning_curve(TWO_SIZES, [1.0, 2.0], is_log=True, title="mine")
    assert figure.axes[0].get_yscale() == "log"
    assert figure.axes[0].get_title() == "mine"


# --- bifurcation diagrams ------------------------------------------------------------------------


def test_bifurcation_diagram_goes_through_the_folds(branches, found):
    _, ax = plt.subplots()
    assert plotting.plot_bifurcation(ax, branches, found=found) is ax
    assert ax.get_xlim() == SPAN
    curve = branches[1]
    at = [int(np.nonzero(curve.alpha == fold)[0][0]) for fold in curve.folds]
    (dots,) = [line for line in ax.lines if line.get_marker() == "." and len(line.get_xdata())]
    np.testing.assert_array_equal(dots.get_xdata(), curve.alpha[at])
    np.testing.assert_array_equal(dots.get_ydata(), curve.weight_overlap[at, 0])
    # One thin line at the Maxwell point; the continuous onset can be seen without.
    (maxwell,) = [line for line in ax.lines if len(set(line.get_xdata())) == 1 and line.get_marker() != "."]
    assert maxwell.get_xdata()[0] == found[1].alpha
    # solid, dashed, dotted, dashed, solid along the S
    along = [line for line in ax.lines if len(line.get_xdata()) > 2 and np.max(line.get_ydata()) > 0]
    assert [line.get_linestyle() for line in along] == ["-", "--", "--", "--", "-"]
    patterns = [line._unscaled_dash_pattern[1] for line in along]
    assert patterns[1] == patterns[3] != patterns[2]
    ends = [(line.get_xdata()[0], line.get_xdata()[-1]) for line in along]
    assert [end for _, end in ends[:-1]] == [start for start, _ in ends[1:]], "lines touch"
    assert np.all(np.diff(along[2].get_xdata()) < 0)


@pytest.mark.slow
def test_bifurcation_diagram_of_a_problem_has_a_title_and_a_legend(found):
    ax = plotting.plot_bifurcation(None, BISTABLE, (1.3, 1.8), "excess_error", found=found)
    assert "sigma3" in ax.get_title()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["equilibrium", "metastable", "unstable", "fold", "Maxwell point"]
    assert "excess error" in ax.get_ylabel()
    solid = np.concatenate([np.column_stack(line.get_data()) for line in drawn(ax, "solid")])
    for alpha, error in solid[::9]:
        if alpha == found[1].alpha:
            continue  # both branches have the same free entropy there
        # Both sides of a jump are drawn, and at the jump itself rounding says which of them is solved for.
        places = [alpha * (1 - 1e-9), alpha * (1 + 1e-9)] if alpha in [t.alpha for t in found] else [alpha]
        solved = [ww.solve(BISTABLE, place).excess_error for place in places]
        assert any(error == pytest.approx(one, rel=1e-6) for one in solved)


def test_bifurcation_diagram_has_a_line_for_each_size_of_readout():
    branches = ww.trace_branches(TWO_SIZES, (0.3, 2.0), n_points=12)
    ax = plotting.plot_bifurcation(None, branches, found=[])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[:2] == ["$|v| = 1.34$", "$|v| = 0.447$"]


def test_bifurcation_diagram_refuses_what_it_cannot_draw(branches):
    with pytest.raises(ValueError, match="unknown quantity 'error'; choose from weight_overlap"):
        plotting.plot_bifurcation(None, branches, quantity="error")
    with pytest.raises(ValueError, match="alpha must be given as a range"):
        plotting.plot_bifurcation(None, BISTABLE)
    with pytest.raises(ValueError, match="0 < low < high"):
        plotting.plot_bifurcation(None, BISTABLE, (2.0, -1.0))
    with pytest.raises(ValueError, match="no branch"):
        plotting.plot_bifurcation(None, [])


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
    assert plotting.activation_color("tanh(3*x)") == plotting.style.PALETTE[5]


def test_an_error_measure_names_the_axis():
    problem = ww.Problem("relu", readouts="rademacher", channel="probit:0.1")
    curve = ww.learning_curve(problem, [1.0, 3.0], error="zero-one")
    ax = plotting.plot_error(None, curve)
    assert ax.get_ylabel() == "share of wrong labels"
    drawn = np.concatenate([line.get_ydata() for line in ax.get_lines()])
    assert set(curve.error) <= set(drawn)
    assert plotting.plot_error(None, curve, quantity="excess_error").get_ylabel().startswith("excess error")

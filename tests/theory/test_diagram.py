"""Phase diagrams: cuts are learning curves, lines are transitions, interrupts lose nothing."""

import json
import pickle
import warnings

import numpy as np
import pytest

import widthwise as ww
from widthwise.cli import main
from widthwise.plotting import DIAGRAM_QUANTITIES, plot_overlap_profile, plot_phase_diagrams
from widthwise.theory import diagram
from widthwise.theory.diagram import make_plan
from widthwise.theory.families.profile import overlap_profile
from widthwise.theory.onsets import onset_criterion

RELU = ww.Problem("relu", readouts="four-point", channel=0.1)
GAMMA, ALPHA = [0.4, 0.9], [0.2, 0.7, 2.0, 5.0]


@pytest.fixture(scope="module")
def data():
    return ww.phase_diagram(RELU, gamma=GAMMA, alpha=ALPHA, n_workers=1)


@pytest.mark.slow
def test_a_cut_is_the_learning_curve(data):
    for gamma in GAMMA:
        problem = RELU.replace(gamma=gamma)
        cut = data.sel(gamma=gamma)
        curve, universal = (ww.learning_curve(problem, ALPHA, b) for b in ("equilibrium", "universal"))
        assert cut.excess_error.values == pytest.approx(curve.excess_error, rel=1e-11)
        assert cut.universal_error.values == pytest.approx(universal.excess_error, rel=1e-11)
        assert cut.gap.values == pytest.approx(universal.excess_error - curve.excess_error, abs=1e-12)
        assert list(cut.branch.values) == list(curve.branch)
        assert list(cut.is_universal_stable.values) == list(universal.is_stable)
        large = np.argmax(curve[0].readout_values)
        assert cut.weight_overlap.isel(size=0).values == pytest.approx(curve.weight_overlap[:, large])
        n = [np.unique(np.abs(s.readout_values[s.weight_overlap > 0])).size for s in curve]
        assert list(cut.n_specialised.values) == n
    assert data.size.values == pytest.approx([3 / np.sqrt(5), 1 / np.sqrt(5)])
    assert np.all(data.status == "converged") and data.attrs["is_complete"] == 1
    assert np.all(data.gap >= -1e-12)


def test_lines_are_the_transitions(data):
    for gamma in GAMMA:
        exact = ww.transitions(RELU.replace(gamma=gamma), 1.5 * ALPHA[-1])
        at = data.transition_alpha.sel(gamma=gamma).values
        assert at[np.isfinite(at)] == pytest.approx([t.alpha for t in exact], rel=1e-6)
        # either side of a line the number of classes learnt differs by one
        for i, t in enumerate(exact):
            n = [
                np.sum(np.unique(np.abs(s.readout_values[s.weight_overlap > 0])) > 0)
                for s in (ww.solve(RELU.replace(gamma=gamma), t.alpha * (1 + e)) for e in (-1e-4, 1e-4))
            ]
            assert n == [i, i + 1]
    assert np.isnan(data.transition_alpha.sel(gamma=0.9).values[1])
    assert set(data.transition_kind.values.ravel()) == {"continuous", ""}


def test_workers_change_nothing(data):
    other = ww.phase_diagram(RELU, gamma=GAMMA, alpha=ALPHA, n_workers=2, has_lines=False)
    assert other.excess_error.values == pytest.approx(data.excess_error.values, rel=1e-12)
    assert "transition_alpha" not in other


@pytest.mark.slow
def test_noise_axis_with_a_jump():
    problem = ww.Problem("sigma3", "rademacher", "homogeneous", gamma=0.5)
    data = ww.phase_diagram(problem, noise=[0.8, 1.25], alpha=[1.0, 1.6], n_workers=1)
    kinds = data.transition_kind.sel(noise=1.25).values
    assert list(kinds) == ["continuous", "first-order"]
    onset, maxwell = data.transition_alpha.sel(noise=1.25).values
    low, high = (float(data[name].sel(noise=1.25)[1]) for name in ("spinodal_low", "spinodal_high"))
    assert onset < low < maxwell < high
    # At α = 1.6 three specialised solutions coexist, two of them stable (design §4, viii).
    point = data.sel(noise=1.25, alpha=1.6)
    assert (int(point.n_solutions), int(point.n_stable)) == (4, 2)
    assert not bool(point.is_universal_stable) and bool(point.has_stable_specialised)


@pytest.mark.slow
def test_at_fixed_alpha_lines_are_points_refined_between_neighbours():
    problem = ww.Problem("relu", channel=0.1)
    data = ww.phase_diagram(problem, gamma=[0.3, 0.6], noise=[0.02, 0.3, 1.5], alpha=1.0, n_workers=1)
    assert data.excess_error.dims == ("gamma", "noise") and data.attrs["alpha"] == 1.0
    assert data.line_phase.values.tolist() == [[1, 0]] * data.sizes["point"]
    assert data.sizes["point"] >= 1
    assert set(data.line_kind.values) == {"continuous"}
    for gamma, noise in zip(data.line_first.values, data.line_second.values, strict=True):
        assert ww.onset(problem.replace(gamma=gamma, channel=noise)) == pytest.approx(1.0, rel=1e-5)


@pytest.mark.slow
def test_a_jump_at_fixed_alpha_is_a_line_of_first_order():
    """The number of classes learnt does not change there: the line is found by the overlap."""
    problem = ww.Problem("sigma3", "rademacher", "homogeneous")
    data = ww.phase_diagram(
        problem, gamma=[0.45, 0.5], noise=[1.0, 1.4], alpha=1.6112232, n_workers=1, refine=1
    )
    assert data.line_kind.values.tolist() == ["first-order"] * data.sizes["point"]
    assert data.line_phase.values.tolist() == [[1, 1]] * data.sizes["point"]
    # the Maxwell point of noise 1.25 and gamma 0.5
    assert float(data.line_second[data.line_first == 0.5][0]) == pytest.approx(1.25, rel=1e-6)
    # of the points that refine the cell two lie just beside the line, on either side of the jump
    own = data.refined_gamma.values == 0.5
    close = own & (np.abs(data.refined_noise.values / 1.25 - 1) < 1e-4)
    below, above = data.refined_weight_overlap.values[close, 0]
    assert below - above == pytest.approx(0.4791, abs=1e-3)


def test_cells_at_lines_are_halved_towards_them(data):
    (line,) = data.transition_alpha.sel(gamma=0.9).values[:1]
    own = data.refined_gamma.values == 0.9
    alpha, n = data.refined_alpha.values[own], data.refined_n_specialised.values[own]
    assert np.all((n > 0) == (alpha > line))
    # the cell from 0.7 to 2 is cut twice in the logarithm, and at both sides of the line
    assert alpha.size == 4 and np.any(np.isclose(alpha, np.sqrt(0.7 * 2.0)))
    assert np.min(np.abs(alpha / line - 1)) < 1e-4
    curve = ww.learning_curve(RELU.replace(gamma=0.9), alpha)
    assert data.refined_excess_error.values[own] == pytest.approx(curve.excess_error, rel=1e-10)
    coarse = ww.phase_diagram(RELU, gamma=GAMMA, alpha=ALPHA, n_workers=1, refine=0)
    assert "refined_alpha" not in coarse


@pytest.mark.slow
def test_a_parameter_of_ones_own():
    def sparse(density):
        return ww.Problem("tanh(2*x)", ww.weights.SparseGaussian(density), gamma=0.5)

    data = ww.phase_diagram(
        ww.Problem("tanh(2*x)"),
        parameter=sparse,
        values=[0.3, 0.9],
        name="density",
        alpha=[0.5, 2.0],
        n_workers=2,
    )
    assert data.excess_error.dims == ("density", "alpha")
    expected = ww.solve(sparse(0.3), 2.0).excess_error
    assert float(data.excess_error.sel(density=0.3, alpha=2.0)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
def test_factorised_and_exact_answers():
    at = ww.theory.factorised_transition(RELU.replace(gamma=0.5))
    data = ww.phase_diagram(RELU, gamma=[0.5, 0.6], alpha=[1.0, 3.0], theory="factorised", n_workers=1)
    assert float(data.transition_alpha.sel(gamma=0.5)[0]) == pytest.approx(at, rel=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quadratic = ww.phase_diagram(ww.Problem("x**2"), gamma=[0.3, 0.5], alpha=[1.0, 4.0], n_workers=1)
    assert np.all(quadratic.branch == "universal") and np.all(quadratic.gap == 0)
    assert quadratic.sizes["line"] == 0


@pytest.fixture
def ctrl_c_in_the_second_row(monkeypatch):
    real, calls = diagram._solve_row, []

    def interrupted(plan, i):
        calls.append(i)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(plan, i)

    monkeypatch.setattr(diagram, "_solve_row", interrupted)


def test_an_interrupt_keeps_what_is_done(ctrl_c_in_the_second_row):
    data = ww.phase_diagram(RELU, gamma=[0.4, 0.6, 0.9], alpha=[0.5, 2.0], has_lines=False, n_workers=1)
    assert data.attrs["is_complete"] == 0
    assert np.all(np.isfinite(data.excess_error.sel(gamma=0.4)))
    assert np.all(np.isnan(data.excess_error.sel(gamma=0.9)))
    assert np.all(data.status.sel(gamma=0.9) == "not computed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": [1.0, 2.0]}, "two axes, here 1"),
        ({"alpha": 1.0, "gamma": [1.0, 2.0]}, "two axes, here 1"),
        ({"alpha": [1.0, 2.0], "gamma": [1.0, 2.0], "noise": [1.0, 2.0]}, "two axes, here 3"),
        ({"alpha": [0.0, 2.0], "gamma": [1.0, 2.0]}, "alpha must be > 0"),
        ({"alpha": -1.0, "gamma": [1.0, 2.0]}, "alpha must be > 0"),
        ({"alpha": [1.0, 2.0], "gamma": [1.0, np.nan]}, "gamma must be > 0 and finite"),
        ({"alpha": [1.0, 2.0], "gamma": [1.0]}, "gamma must be a list of two"),
        ({"alpha": [1.0, 1.0], "gamma": [1.0, 2.0]}, "same value twice"),
        ({"alpha": [1.0, 2.0], "values": [1.0, 2.0]}, "together with its values"),
        ({"alpha": [1.0, 2.0], "gamma": [1.0, 2.0], "theory": "best"}, "unknown theory"),
        ({"alpha": [1.0, 2.0], "gamma": [1.0, 2.0], "n_workers": 0}, "n_workers must be"),
        ({"alpha": [1.0, 2.0], "gamma": [1.0, 2.0], "refine": -1}, "refine must be a whole number >= 0"),
        ({"alpha": [], "gamma": [1.0, 2.0]}, "alpha must be a list of two"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        ww.phase_diagram(RELU, **options)


@pytest.mark.slow
def test_figures(data, tmp_path):
    import matplotlib

    matplotlib.use("agg")
    figure = plot_phase_diagrams(data, list(DIAGRAM_QUANTITIES))
    figure.savefig(tmp_path / "diagram.png", dpi=50)
    ax = figure.axes[0]
    assert ax.get_xlim() == pytest.approx(GAMMA) and ax.get_ylim() == pytest.approx((ALPHA[0], ALPHA[-1]))
    drawn = [line.get_ydata() for line in ax.lines]
    assert any(np.allclose(y, data.transition_alpha.values[:, 0]) for y in drawn)
    with pytest.raises(ValueError, match="unknown quantity 'error'"):
        plot_phase_diagrams(data, ["error"])


def test_profile_of_overlaps():
    problem = ww.Problem("relu", readouts="gaussian", gamma=0.7)
    curve = ww.learning_curve(problem, [0.5, 3.0])
    for s in curve:
        assert overlap_profile(s, s.readout_values) == pytest.approx(s.weight_overlap, abs=1e-9)
    ax = plot_overlap_profile(None, curve)
    assert len(ax.lines) == 2
    assert np.all(overlap_profile(ww.solve(problem, 1.0, "universal"), [0.0, 5.0]) == 0)
    discrete = ww.solve(RELU, 2.0)
    assert overlap_profile(discrete, discrete.readout_values) == pytest.approx(
        discrete.weight_overlap, abs=1e-9
    )


@pytest.mark.slow
def test_command_line(tmp_path, capsys):
    figure = tmp_path / "phases.png"
    options = ["diagram", "--readouts", "four-point", "--gamma", "0.4,0.9", "--workers", "1"]
    assert main([*options, "--alpha", "0.2,2", "--plot", str(figure)]) == 0
    out = capsys.readouterr().out
    assert "continuous" in out and figure.stat().st_size > 1000
    assert main([*options, "--alpha", "0.2,2", "--no-lines", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert "gamma" not in record["problem"] and len(record["points"]) == 4
    expected = ww.solve(RELU.replace(gamma=0.9), 2.0).excess_error
    assert record["points"][-1]["excess_error"] == pytest.approx(expected)
    for bad in (["--alpha", "2"], ["--alpha", "0.2,2", "--quantity", "errors"], ["--alpha", "0:2:5"]):
        assert main([*options, *bad]) == 2
        assert capsys.readouterr().err.startswith("error: ")


def test_ctrl_c_on_the_command_line_writes_what_is_done(ctrl_c_in_the_second_row, tmp_path, capsys):
    import xarray

    path = tmp_path / "cut.nc"
    options = ["diagram", "--gamma", "0.4,0.6,0.9", "--alpha", "0.5,2", "--no-lines", "--workers", "1"]
    assert main([*options, "--netcdf", str(path)]) == 130
    assert "2 of 6 points" in capsys.readouterr().err
    with xarray.open_dataset(path) as kept:
        assert kept.attrs["is_complete"] == 0 and int(kept.excess_error.notnull().sum()) == 2


def test_nothing_in_the_range_is_a_sentence_with_the_criterion(capsys):
    assert main(["diagram", "--gamma", "0.3,0.6", "--alpha", "0.001,0.002", "--workers", "1"]) == 0
    out = capsys.readouterr().out
    problem = ww.Problem("relu", gamma=0.3)
    assert f"is {onset_criterion(problem, 0.002):.4g} at most" in out and "reaches 1" in out
    # Branches in such a range: the universal one alone.
    (only,) = ww.trace_branches(problem, (0.001, 0.002))
    assert only.asked == "universal" and np.all(only.is_equilibrium)


def test_fresh_workers_get_a_plan_without_functions_of_the_caller():
    """With JAX loaded workers are not forked, and a local function cannot be sent to them."""

    def wider(gamma):
        return RELU.replace(gamma=gamma)

    plan = make_plan(RELU, ALPHA, None, None, wider, [0.5, 0.7], "width", "main")
    sent = plan.without_functions()
    assert sent is not None and sent.parameter is None and sent.rows == plan.rows
    own = RELU.replace(activation=lambda x: np.tanh(x) + 0.1 * x**2)
    plan = make_plan(own, ALPHA, [0.5, 0.7], None, None, None, "parameter", "main")
    assert plan.without_functions() is None


def test_an_error_measure_and_a_noise_axis_of_another_channel():
    problem = ww.Problem("relu", readouts="rademacher", channel="probit:0.1", gamma=0.3)
    options = {"n_workers": 1, "has_lines": False, "error": "zero-one"}
    data = ww.phase_diagram(problem, alpha=[0.5, 3.0], noise=[0.05, 0.2], **options)
    for noise in (0.05, 0.2):
        curve = ww.learning_curve(problem.replace(channel=f"probit:{noise}"), [0.5, 3.0], error="zero-one")
        np.testing.assert_allclose(data["zero_one_error"].sel(noise=noise), curve.error, rtol=1e-8)
    fixed = ww.phase_diagram(problem, alpha=3.0, gamma=[0.3, 1.7], noise=[0.05, 0.2], **options)
    exact = ww.solve(problem.replace(channel="probit:0.2", gamma=1.7), 3.0, error="zero-one").error
    assert float(fixed["zero_one_error"].sel(gamma=1.7, noise=0.2)) == pytest.approx(exact, rel=1e-8)
    with pytest.raises(ValueError, match="no noise that could be an axis"):
        ww.phase_diagram(problem.replace(channel="sign"), alpha=[0.5, 3.0], noise=[0.05, 0.2], n_workers=1)
    with pytest.raises(ValueError, match="needs single labels"):
        ww.phase_diagram(problem.replace(channel=0.1), alpha=[0.5, 3.0], gamma=[0.3, 1.7], error="zero-one")


def test_functions_of_the_caller_reach_the_workers():
    pytest.importorskip("cloudpickle")
    slope = 0.3
    problem = ww.Problem(lambda x: np.maximum(x, -slope * x), gamma=0.6)
    plan = make_plan(problem, [0.5, 2.0], [0.4, 0.9], None, None, None, "", "main")
    sent = pickle.loads(diagram._as_bytes(plan))
    assert sent.rows[1][0].gamma == 0.9
    assert np.array_equal(sent.rows[1][0].activation([-1.0, 2.0]), [0.3, 2.0])

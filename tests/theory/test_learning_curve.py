"""Learning curves and the manners of solutions."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import widthwise as ww
from widthwise.theory.solution import FIELDS

PROBLEM = ww.Problem("relu", readouts="four-point", channel=0.1, gamma=0.7)


def test_a_curve_is_its_points():
    alphas = np.array([0.3, 0.6, 2.0, 15.0])
    curve = ww.learning_curve(PROBLEM, alphas)
    for alpha, point in zip(alphas, curve, strict=True):
        alone = ww.solve(PROBLEM, alpha)
        assert point.excess_error == pytest.approx(alone.excess_error, rel=1e-11)
        assert point.branch == alone.branch
    assert list(curve.branch) == ["universal", "specialised", "specialised", "specialised"]
    assert np.all(np.diff(curve.excess_error) < 0)
    assert len(curve[1:3]) == 2 and curve[1:3][0] is curve[1]


def test_branches_and_their_absence():
    curve = ww.learning_curve(PROBLEM, [0.3, 2.0], branch="specialised")
    assert curve[0].status == "no such solution" and np.isnan(curve[0].excess_error)
    assert not curve[0].is_converged
    with pytest.raises(ww.NotConverged, match="no specialised solution at alpha=0.3") as caught:
        curve[0].require()
    assert caught.value.solution is curve[0]
    assert curve[1].require() is curve[1] and curve[1].is_equilibrium
    universal = ww.learning_curve(PROBLEM, [0.3, 2.0], branch="universal")
    assert list(universal.is_equilibrium) == [True, False]
    assert list(universal.is_stable) == [True, False]
    assert np.all(universal.weight_overlap == 0) and np.all(universal.tilt == 0)


def test_errors_are_tied_to_each_other():
    s = ww.solve(PROBLEM, 2.0)
    assert s.bayes_error == pytest.approx(0.1 + s.excess_error)
    assert s.gibbs_error - 0.1 == pytest.approx(2 * (s.bayes_error - 0.1))
    asymmetric = ww.solve(PROBLEM.replace(readouts="homogeneous"), 2.0)
    assert asymmetric.matrix_overlap - 0.7 == pytest.approx(asymmetric.matrix_overlap_centred)


def test_records_are_plain():
    record = ww.solve(PROBLEM, 2.0).to_dict()
    assert tuple(record) == FIELDS
    assert json.loads(json.dumps(record)) == record


def test_xarray_and_pandas():
    curve = ww.learning_curve(PROBLEM, [0.3, 2.0])
    data = curve.to_xarray()
    assert data.weight_overlap.dims == ("alpha", "readout")
    assert float(data.excess_error.sel(alpha=2.0)) == curve[1].excess_error
    tidy = {"readout_values": "readout", "readout_weights": "readout_weight"}
    assert list(curve.to_dataframe().columns) == [tidy.get(name, name) for name in FIELDS]


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf, "two", [[1.0]], []])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="alpha must be"):
        ww.learning_curve(PROBLEM, alpha)


def test_bad_branch():
    with pytest.raises(ValueError, match="unknown branch 'best'; choose from equilibrium"):
        ww.solve(PROBLEM, 1.0, branch="best")
    with pytest.raises(ValueError, match="use learning_curve"):
        ww.solve(PROBLEM, [1.0, 2.0])
    with pytest.raises(AttributeError, match="no 'accuracy'"):
        ww.learning_curve(PROBLEM, [1.0]).accuracy


@st.composite
def problems(draw):
    size = draw(st.integers(1, 4))
    values = [draw(st.floats(0.2, 2.0)) * draw(st.sampled_from([-1, 1])) for _ in range(size)]
    weights = np.array([draw(st.floats(0.2, 1.0)) for _ in range(size)])
    readouts = ww.readouts.Discrete(values, weights / weights.sum(), normalise=True)
    return ww.Problem(
        draw(st.sampled_from(["relu", "elu", "sigma3", "tanh(2*x)", "gelu", "sigmoid"])),
        draw(st.sampled_from(["gaussian", "rademacher", "sparse(0.3)"])),
        readouts,
        draw(st.floats(0.01, 2.0)),
        draw(st.floats(0.1, 3.0)),
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems())
def test_error_falls_with_data(problem):
    alphas = np.geomspace(0.05, 30, 40)
    curve = ww.learning_curve(problem, alphas)
    assert set(curve.status) == {"converged"}
    assert np.max(curve.residual) < 1e-10
    assert np.all(np.diff(curve.excess_error) < 1e-11)
    assert np.all(curve.is_stable)
    # α f is minus an information: its slope in α, ψ_out at the equilibrium, rises with α.
    assert np.all(np.diff(curve.mutual_information) > -1e-9)
    assert np.all(np.diff(curve.free_entropy) > -1e-11)


def test_extreme_parameters_are_answered_or_refused():
    for gamma in (1e-6, 1e6):
        assert ww.solve(PROBLEM.replace(gamma=gamma), 1.0).residual < 1e-10
    for gamma in (1e-300, 1e300):
        with pytest.raises(ValueError, match="between 1e-6 and 1e6"):
            PROBLEM.replace(gamma=gamma)
    for alpha in (1e-300, 1e300):
        with pytest.raises(ValueError, match=r"between 1e-14 and 1e\+12"):
            ww.solve(PROBLEM, alpha)
    large = ww.solve(PROBLEM, 1e8)
    # All units are learnt and Gaussian weights are known up to O(1/α): the error falls as 1/α.
    assert large.excess_error * 1e8 == pytest.approx(ww.solve(PROBLEM, 1e7).excess_error * 1e7, rel=1e-3)
    # With little noise the error is proportional to it.
    tiny, small = (ww.solve(PROBLEM.replace(channel=noise), 1.0).excess_error for noise in (1e-14, 1e-12))
    assert 100 * tiny == pytest.approx(small, rel=1e-3)


def test_binary_weights_with_little_noise_are_not_lost():
    """𝒬 is within 1e-250 of 1 there and τ above 1e250: logarithms, not numbers, must carry it."""
    for problem in (
        ww.Problem("tanh(2*x)", "rademacher", "rademacher", 1e-3),
        ww.Problem("relu", "rademacher", "four-point", 1e-3, 0.7),
    ):
        curve = ww.learning_curve(problem, np.linspace(1.5, 6.0, 10))
        assert set(curve.branch) == {"specialised"}
        assert np.all(curve.is_stable) and np.max(curve.residual) < 1e-10
        assert np.all(np.diff(curve.excess_error) <= 0)
        assert curve.mutual_information[-1] == pytest.approx(np.log(2), abs=1e-9)

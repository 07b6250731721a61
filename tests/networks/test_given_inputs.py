"""Instances on Gaussian inputs with a covariance and on data: draws, overlaps, errors, rows kept apart."""

import pickle

import numpy as np
import pytest

import widthwise as ww
from widthwise.learners import gamp_rie
from widthwise.networks import Observer, sample_instance
from widthwise.networks.observables import fresh_error

SPECTRUM = ww.inputs.Gaussian((4.2, 1.1, 0.3, 0.02), (0.1, 0.3, 0.4, 0.2), normalise=True)
PROBLEM = ww.Problem("tanh(2*x)", readouts="four-point", channel=0.1, gamma=0.3, inputs=SPECTRUM)
RNG = np.random.default_rng(8)
SKEWED = (RNG.exponential(size=(3000, 12)) - 1) @ RNG.standard_normal((12, 12))


def test_inputs_have_the_covariance():
    instance = sample_instance(PROBLEM, 20, 200.0, seed=4)
    x = instance.inputs
    c = x @ x.T / instance.n
    scatter = np.sqrt(np.outer(np.diag(c), np.diag(c)) / instance.n)
    expected = np.diag(SPECTRUM.layout(20))
    assert np.all(np.abs(c - expected) < 5 * np.sqrt(2) * scatter + 1e-7)
    assert np.array_equal(x, pickle.loads(pickle.dumps(instance)).inputs)
    assert np.array_equal(x, sample_instance(**instance.to_dict()).inputs)


def test_white_inputs_are_drawn_as_before():
    white = sample_instance(PROBLEM.replace(inputs="isotropic"), 20, 1.0, seed=4)
    expected = white.rng("inputs").standard_normal((20, 400), dtype=np.float32)
    assert np.array_equal(white.inputs, expected)
    assert white.held_out is None and white.seen(white.weights) is white.weights


def test_exact_error_is_that_of_fresh_inputs():
    """K with Ω = WCWᵀ/d against a million fresh inputs, for a student that is near and one that is far."""
    instance = sample_instance(PROBLEM, 40, 1.0, seed=1)
    observer = Observer(instance)
    x, _ = instance.test_set(400_000)
    other = instance.rng("test").standard_normal(instance.weights.shape)
    for share in (0.1, 1.0):
        student = np.sqrt(1 - share) * instance.weights + np.sqrt(share) * other
        squares = (instance.outputs(student, x) - instance.outputs(instance.weights, x)) ** 2
        error = squares.std() / np.sqrt(squares.size)
        assert abs(squares.mean() - observer(student)["gibbs_excess_error"]) < 4 * error
        labels = fresh_error(instance, student, n_test=100_000)
        assert labels == pytest.approx(0.1 + squares.mean(), rel=0.03)
    overlap = observer(student)["weight_overlap"]
    assert np.all(np.abs(overlap) < 6 * np.sqrt(SPECTRUM.mean_square / 40))
    assert observer(instance.weights)["weight_overlap"] == pytest.approx(1, abs=0.5)


def test_the_metric_of_overlaps_is_the_covariance():
    instance = sample_instance(PROBLEM, 30, 1.0, seed=2)
    w = np.random.default_rng(0).standard_normal(instance.weights.shape)
    expected = w @ np.diag(SPECTRUM.layout(30)) @ instance.weights.T / 30
    v = instance.readouts
    found = Observer(instance)(w)["overlap_power"]
    assert found[2] == pytest.approx(v @ expected**3 @ v / instance.k)


def test_rows_of_data_are_kept_apart():
    instance = sample_instance(PROBLEM, alpha=10.0, seed=3, inputs=SKEWED)
    assert instance.d == 12 and instance.n == 1440
    rows = ww.inputs.centred(SKEWED).astype(np.float32)
    trained = {row.tobytes() for row in instance.inputs.T.copy()}
    tested = {row.tobytes() for row in instance.test_set(5000)[0].T.copy()}
    every = {row.tobytes() for row in rows}
    assert len(trained) == 1440 and trained < every
    assert len(tested) == 1560 and not trained & tested
    again = sample_instance(PROBLEM, 12, 10.0, seed=3, inputs=SKEWED)
    assert np.array_equal(again.inputs, instance.inputs)
    assert not np.array_equal(
        sample_instance(PROBLEM, 12, 10.0, seed=4, inputs=SKEWED).inputs, instance.inputs
    )
    more = sample_instance(PROBLEM, 12, 12.0, seed=3, inputs=SKEWED)
    assert np.array_equal(more.inputs[:, :1440], instance.inputs) and np.array_equal(
        more.weights, again.weights
    )
    assert np.array_equal(pickle.loads(pickle.dumps(instance)).inputs, instance.inputs)
    with pytest.raises(ValueError, match="given inputs has no description"):
        instance.to_dict()


def test_errors_on_data_are_those_of_held_out_rows():
    instance = sample_instance(PROBLEM, alpha=5.0, seed=3, inputs=SKEWED)
    w = np.random.default_rng(0).standard_normal(instance.weights.shape)
    difference = instance.outputs(w, instance.held_out) - instance.outputs(
        instance.weights, instance.held_out
    )
    seen = Observer(instance)(w)
    assert seen["gibbs_excess_error"] == pytest.approx(np.mean(difference**2), rel=1e-10)
    c = ww.inputs.centred(SKEWED)
    c = c.T @ c / len(c)
    omega = w @ c @ instance.weights.T / 12
    assert seen["overlap_power"][0] == pytest.approx(
        instance.readouts @ omega @ instance.readouts / instance.k, rel=1e-9
    )
    assert Observer(instance)(instance.weights)["gibbs_excess_error"] == pytest.approx(0, abs=1e-12)


def test_any_activation_on_data():
    """A problem of white inputs keeps its theory; the data are only what it is run on."""
    relu = sample_instance(ww.Problem("relu", gamma=0.5), alpha=3.0, inputs=SKEWED)
    assert np.isfinite(relu.labels).all() and relu.problem.inputs.is_isotropic


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            {"alpha": 25.0},
            "n = 3600 samples and 100 to test on are more than the 3000 rows of the data; take",
        ),
        ({"d": 13, "alpha": 1.0}, "d = 13 is not the dimension of the data, which have 12 columns"),
        ({"alpha": 1.0, "inputs": SKEWED * np.nan}, "row 0 is not, one of 3000"),
        ({"alpha": 1.0, "inputs": "digit"}, "did you mean 'digits'"),
    ],
)
def test_what_is_refused(words, sentence):
    with pytest.raises(ValueError, match=".") as caught:
        sample_instance(PROBLEM, **({"inputs": SKEWED} | words))
    assert sentence in str(caught.value)


def test_spectral_methods_refuse_inputs_that_are_not_white():
    for instance in (
        sample_instance(PROBLEM, 10, 1.0),
        sample_instance(ww.Problem("relu"), alpha=3.0, inputs=SKEWED),
    ):
        with pytest.raises(ValueError, match="inputs must be isotropic for gamp_rie"):
            gamp_rie(instance)


def test_data_that_are_described_travel_with_the_problem():
    """A task, a sweep and a store carry a word; the instance draws rows of the data."""
    problem = PROBLEM.replace(inputs="digits", gamma=0.25)
    instance = sample_instance(problem.to_dict(), alpha=0.1)
    assert instance.d == 64 and instance.held_out.shape == (64, 1797 - instance.n)
    again = sample_instance(**instance.to_dict())
    assert np.array_equal(again.inputs, instance.inputs)
    assert len(pickle.dumps(instance)) < 5000

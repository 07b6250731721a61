"""Students of another width than the teacher: starts, observables, rows kept at their length, messages."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.learners import adam
from widthwise.learners.iterative import Options, _starting_point_of_width
from widthwise.networks.instance import Instance
from widthwise.networks.observables import FOUND, Observer, match_features, output_covariance

D, K = 24, 12


def problem_of(activation="tanh(2*x)"):
    return ww.Problem(activation, readouts=ww.readouts.PowerLaw(0.7, K), channel=0.05, gamma=0.5)


@pytest.fixture(scope="module")
def instance():
    return ww.sample_instance(problem_of(), D, 2.0, 3)


def test_a_teacher_with_every_unit_twice_has_no_error(instance):
    twice = np.repeat(instance.weights, 2, axis=0)
    readouts = np.repeat(instance.readouts, 2) / np.sqrt(2)  # 1/√(2k) for 1/√k
    seen = Observer(instance, width=2 * K)(twice, readouts)
    assert seen["excess_error"] == pytest.approx(0, abs=1e-12)
    assert seen["output_overlap"] == pytest.approx(Observer(instance).teacher_power, rel=1e-12)
    assert seen["matrix_overlap_centred"] == pytest.approx(1, abs=1e-12)
    assert seen["features_found"] == K
    np.testing.assert_allclose(instance.outputs(twice, readouts=readouts), instance.outputs(instance.weights))


@pytest.mark.parametrize("width", [5, 12, 17])
def test_a_start_on_the_teacher_has_its_largest_units(instance, width):
    start = _starting_point_of_width(instance, Options("teacher", 1, None, 1, 0, None, None, None), width)
    assert start.weights.shape == (1, width, D) and start.readouts.shape == (1, width)
    seen = Observer(instance, width=width)(start.weights[0], start.readouts[0])
    rest = (instance.weights[width:], instance.readouts[width:])
    missing = 0.0
    if width < K:
        share = (K - width) / K  # the rest of the units keep the 1/√k of the whole
        missing = share * output_covariance(instance.problem.activation, rest, rest)
    assert seen["gibbs_excess_error"] == pytest.approx(missing, rel=1e-9, abs=1e-12)
    assert seen["features_found"] == min(width, K)


@pytest.mark.parametrize(
    ("activation", "is_sign_free"), [("tanh(2*x)", True), ("x**2 + x**4", True), ("elu", False)]
)
def test_units_are_matched_whatever_their_order_and_sign(activation, is_sign_free):
    instance = ww.sample_instance(problem_of(activation), D, 1.0, 5)
    rng = np.random.default_rng(1)
    order, sign = rng.permutation(K), rng.choice([-1.0, 1.0], K)
    student = 1.7 * sign[:, None] * instance.weights[order]
    cosine = match_features(instance, student)
    flipped = np.zeros(K, dtype=bool)
    flipped[order] = sign < 0
    np.testing.assert_allclose(cosine[~flipped], 1, rtol=1e-12)
    assert np.all(cosine[flipped] == pytest.approx(1)) == is_sign_free
    narrow = match_features(instance, instance.weights[[2, 7]])
    np.testing.assert_allclose(narrow, np.isin(np.arange(K), [2, 7]), atol=1e-12)
    assert 0.5 < FOUND < 1


@pytest.mark.slow
def test_training_keeps_rows_at_their_length_and_goes_down(instance):
    options = {"width": 7, "iterations": 150, "normalise_rows": True, "progress": False, "seed": 2}
    run = adam(instance, **options)
    np.testing.assert_allclose(np.linalg.norm(run.weights[0], axis=1), np.sqrt(D), rtol=1e-5)
    errors = run.trace["excess_error"].values[0]
    assert errors[0] == pytest.approx(Observer(instance).teacher_power, rel=1e-6)  # readouts begin at 0
    assert errors[-1] < 0.5 * errors[0]
    # The exact error against fresh samples; labels have the noise besides.
    x, y = instance.test_set(20_000)
    miss = (y - instance.outputs(run.weights[0], x, run.readouts[0])) ** 2 - 0.05
    assert run.excess_error == pytest.approx(miss.mean(), abs=4 * miss.std() / np.sqrt(miss.size))
    again = adam(instance, **options)
    np.testing.assert_array_equal(run.weights, again.weights)


@pytest.mark.slow
def test_a_run_that_is_resumed_ends_as_one_that_was_not(instance, tmp_path):
    options = {"width": 5, "record_every": 10, "progress": False, "held_out": 0.2}
    whole = adam(instance, iterations=40, **options)
    adam(instance, iterations=20, checkpoint=tmp_path / "run.npz", **options)
    resumed = adam(instance, iterations=40, checkpoint=tmp_path / "run.npz", **options)
    np.testing.assert_array_equal(whole.trace["features_found"], resumed.trace["features_found"])
    np.testing.assert_array_equal(whole.weights, resumed.weights)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"width": 0}, ValueError, "width must be a whole number >= 1"),
        ({"width": 2.5}, ValueError, "got 2.5"),
        ({"width": 10**9}, MemoryError, "a student of width 1000000000 would need"),
        ({"width": 6, "learn_readouts": False}, ValueError, "learns its readouts"),
        ({"width": 6, "start": np.zeros((7, D))}, ValueError, "start must have the shape (6, 24)"),
    ],
)
def test_bad_input_is_one_sentence(instance, options, error, words):
    with pytest.raises(error) as raised:
        adam(instance, iterations=1, progress=False, **options)
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_instances_from_arrays_take_given_starts(instance):
    own = Instance.from_arrays(
        problem_of(), instance.inputs, instance.labels, weights=instance.weights, readouts=instance.readouts
    )
    start = np.random.default_rng(0).standard_normal((3, D))
    run = adam(own, width=3, start=start, iterations=2, progress=False)
    assert run.weights.shape == (1, 3, D) and np.isfinite(run.excess_error)

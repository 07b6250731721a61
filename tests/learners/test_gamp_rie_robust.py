"""GAMP-RIE ends well: it converges or stops at its best state, never worse than predicting the mean."""

import warnings

import numpy as np
import pytest

import widthwise as ww
from widthwise.learners.gamp_rie import _Teacher


def ended(problem, d, alpha, seed, **options):
    instance = ww.sample_instance(problem, d, alpha, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = ww.learners.gamp_rie(instance, **options)
    return run, _Teacher(instance).variance


@pytest.mark.parametrize(
    ("activation", "channel", "d", "alpha"),
    [
        ("relu", "sign", 20, 1.0),  # seeds 0, 1 and 5 once ended at errors of 2.7, 28 and 533
        ("relu", "sign", 10, 1.0),
        ("quadratic", "sign", 20, 1.0),
        ("relu", "probit:0.1", 10, 1.0),
        ("tanh", "sign", 20, 1.0),
    ],
)
def test_few_bits_at_small_d(activation, channel, d, alpha):
    problem = ww.Problem(activation, readouts="rademacher", channel=channel)
    runs = [ended(problem, d, alpha, seed) for seed in range(6)]
    errors = np.array([run.excess_error / variance for run, variance in runs])
    assert errors.max() < 1
    # The median is that of the theory up to what this d costs, and most runs settle.
    expected = ww.solve(problem, alpha, "universal").excess_error / np.mean([v for _, v in runs])
    assert np.median(errors) < 2.5 * expected
    assert sum(run.status == "converged" for run, _ in runs) >= 4


@pytest.mark.parametrize("damping", [0.4, 0.8])
@pytest.mark.parametrize("activation", ["elu", "sigma3"])
def test_damping_changes_the_way_and_not_the_end(activation, damping):
    problem = ww.Problem(activation)
    free, _ = ended(problem, 60, 2.0, 1)
    damped, _ = ended(problem, 60, 2.0, 1, damping=damping)
    assert free.status == damped.status == "converged"
    # Both stop when the fit moves by 1e-3 of its error.
    assert damped.excess_error == pytest.approx(free.excess_error, rel=5e-3)


def test_labels_that_say_little():
    # Far more noise than signal: predicting the mean of n labels errs by the variance plus noise/n.
    problem = ww.Problem("relu", readouts="rademacher", noise=3.0)
    for seed in range(4):
        run, variance = ended(problem, 15, 0.5, seed)
        assert run.excess_error < variance + 4 * 3.0 / run.instance.n

"""Channels from words, numbers and mappings; what is refused, and what the message says."""

import json
import math
import pickle

import numpy as np
import pytest

from widthwise import Problem
from widthwise.ingredients import channels
from widthwise.ingredients.channels import (
    Custom,
    Gaussian,
    Laplace,
    Logistic,
    Nonlinear,
    Poisson,
    Probit,
    Sign,
    StudentT,
    resolve,
)


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("0.1", Gaussian(0.1)),
        ("gaussian:0.1", Gaussian(0.1)),
        ("probit:0.1", Probit(0.1)),
        ("Probit: 0.1, shift=0.3", Probit(0.1, shift=0.3)),
        ("sign", Sign()),
        ("sign:shift=-0.2", Sign(shift=-0.2)),
        ("logistic", Logistic()),
        ("logistic:3", Logistic(3.0)),
        ("laplace:0.1", Laplace(0.1)),
        ("student_t:0.1,5", StudentT(0.1, 5.0)),
        ("poisson", Poisson()),
        ("poisson:2.5", Poisson(2.5)),
        ("nonlinear:max(x,0),0.2", Nonlinear("max(x,0)", 0.2)),
    ],
)
def test_texts_and_round_trips(text, channel):
    assert resolve(text) == channel and hash(resolve(text)) == hash(channel)
    assert resolve(json.loads(json.dumps(channel.spec))) == channel
    assert eval(repr(channel), {"channels": channels}) == channel
    assert pickle.loads(pickle.dumps(channel)) == channel
    problem = Problem("tanh", channel=text)
    assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("probt:0.1", "did you mean 'probit'"),
        ("probit", "lacks noise; write probit:NOISE"),
        ("student-t:0.1", "lacks dof"),
        ("probit:a", "noise must be a number; 'a' is not"),
        ("sign:0.1,0.2", "sign takes shift"),
        ("laplace:0.1,shift=1", "laplace takes noise"),
        ({"kind": "logit"}, "choose from"),
        ({"kind": "probit", "noise": 0.1, "slope": 2}, "probit takes noise, shift"),
        ("gaussian:-1", "must be > 0 and finite; got -1"),
        ("probit:0", "must be > 0 and finite; got 0"),
        ("laplace:nan", "must be > 0"),
        ("student-t:0.1,2", "dof must be > 2"),
        ("logistic:0", "steepness"),
        ("poisson:-2", "rate"),
        ("sign:shift=inf", "shift must be finite"),
        (True, "channel must be a name.*got True"),
        (None, "channel must be a name.*got None"),
    ],
)
def test_bad_specs(spec, words):
    with pytest.raises(ValueError, match=words):
        resolve(spec)


def test_custom_that_does_not_normalise():
    with pytest.raises(ValueError, match=r"does not normalise.*total probability 0\.9.*off by -0\.1"):
        Custom(lambda y, x: -np.logaddexp(0, -y * x) + math.log(0.9), labels=[-1, 1])
    with pytest.raises(ValueError, match="does not normalise.*2\\.50"):
        Custom(
            lambda y, x: Gaussian(1.0).log_likelihood(y, x) + math.log(2.5066), support=(-math.inf, math.inf)
        )
    with pytest.raises(ValueError, match="does not normalise"):
        Custom(lambda y, x: Gaussian(1.0).log_likelihood(y, x), support=(0, math.inf))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "either labels"),
        ({"labels": [0, 1], "support": (0, 1)}, "either labels"),
        ({"labels": [1, 1]}, "distinct"),
        ({"support": (1, 0)}, "low < high"),
        ({"support": (0, 1, 2)}, "support must be 2 numbers"),
        ({"labels": "ab"}, "labels must be a sequence of numbers"),
    ],
)
def test_bad_custom(options, words):
    with pytest.raises(ValueError, match=words):
        Custom(lambda y, x: 0.0 * y * x, **options)


def test_custom_needs_a_function():
    with pytest.raises(ValueError, match="callable"):
        Custom(3.0, labels=[0, 1])
    with pytest.raises(ValueError, match="no description"):
        Custom(lambda y, x: math.log(0.5) + 0 * y * x, labels=[0, 1]).spec


def test_labels_outside_the_support():
    with pytest.raises(ValueError, match=r"0\.5 is no label of channels\.Probit\(0\.1\).*-1 or 1"):
        Probit(0.1).check_labels([1, -1, 0.5])
    with pytest.raises(ValueError, match="whole numbers"):
        Poisson().check_labels([0, 2, -1])
    exponential = Custom(lambda y, x: x - np.exp(x) * y, support=(0, math.inf))
    with pytest.raises(ValueError, match="numbers from 0 to inf"):
        exponential.check_labels([0.1, -0.1])
    with pytest.raises(ValueError, match="nan is no label"):
        Gaussian(0.1).check_labels([0.1, math.nan])
    assert exponential.check_labels([0.1, 4]).tolist() == [0.1, 4.0]


def test_gaps_at_the_ends():
    with pytest.raises(ValueError, match="gap"):
        Sign().free_entropy_slope([0.1, -0.1], 1.0)
    for channel in (Sign(), Logistic(), Laplace(0.1), StudentT(0.1, 5.0)):
        slope = channel.free_entropy_slope([[0.0, 0.1], [math.nan, 1.0]], 1.0)
        assert slope.shape == (2, 2) and np.isnan(slope[1, 0]) and np.isfinite(np.delete(slope, 2)).all()
        # The largest gap, and one beyond it by rounding, belong to the uppermost panel.
        assert channel.bayes_error(1.0, 1.0) == pytest.approx(float(channel.bayes_error(1 - 1e-12, 1.0)))
        assert channel.bayes_error(1 + 1e-15, 1.0) == pytest.approx(float(channel.bayes_error(1.0, 1.0)))


def test_too_fine_a_scale_is_said():
    with pytest.raises(ValueError, match="too fine a scale"):
        Nonlinear("x**2", 1e-8).free_entropy_slope(0.1, 0.7)


# --- mean of the output ------------------------------------------------------------------------------


def test_mean_of_the_output_must_be_stated():
    with pytest.raises(ValueError, match=r"mean 0\.3989.*readouts 1.*shift="):
        Problem("relu", readouts="homogeneous", channel="sign")
    Problem("relu", readouts="homogeneous", channel=0.1)  # additive: it drops out
    Problem("relu", readouts="rademacher", channel="sign")  # centred readouts
    Problem("tanh", readouts="homogeneous", channel="sign")  # centred activation
    problem = Problem("relu", readouts="homogeneous", channel="sign:shift=0.2")
    readouts = np.ones(50)
    mean = problem.hermite[0] * readouts.sum() / math.sqrt(50)
    assert problem.offset(readouts) + mean == pytest.approx(0.2)
    assert Problem("relu", channel=0.1).offset(readouts) == 0


def test_shift_matters_and_is_symmetric():
    for make in (Sign, lambda shift: Probit(0.1, shift), lambda shift: Logistic(2.0, shift)):
        plain, left, right = (make(shift=s).free_entropy_slope(0.2, 0.7) for s in (0.0, -0.5, 0.5))
        assert left == pytest.approx(float(right), rel=1e-10) and left < plain


@pytest.mark.slow
@pytest.mark.parametrize(
    "channel", [Nonlinear("max(x, 0) + erf(x)", 0.2), Probit(0.1), Logistic(2.0), Poisson(1.5)], ids=repr
)
def test_likelihoods_in_jax_are_those_in_numpy(channel):
    """Learners differentiate ln P_out: in single precision the score is its slope to 1e-3."""
    jax = pytest.importorskip("jax")
    y, x = np.array([1.0, 1.0, 1.0]), np.array([-0.8, 0.3, 1.1])
    value = channel.log_likelihood(y, jax.numpy.asarray(x), jax.numpy)
    np.testing.assert_allclose(value, channel.log_likelihood(y, x), rtol=1e-5, atol=1e-6)
    score = jax.grad(lambda x: channel.log_likelihood(y, x, jax.numpy).sum())(jax.numpy.asarray(x))
    step = 1e-5
    slope = channel.log_likelihood(y, x + step) - channel.log_likelihood(y, x - step)
    np.testing.assert_allclose(score, slope / (2 * step), rtol=1e-3, atol=1e-4)


def test_gaps_that_are_all_unknown_give_unknown_values():
    for channel in (channels.Laplace(0.1), channels.Gaussian(0.1), channels.Probit(0.1)):
        assert np.isnan(channel.free_entropy_slope(np.full(3, np.nan), 1.0)).all()

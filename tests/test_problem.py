"""Problem: frozen, hashable, pasteable, through JSON and back; every bad input with its sentence."""

import copy
import dataclasses
import json
import math
import pickle
import re

import numpy as np
import pytest

from widthwise import Activation, Problem, channels, readouts, weights

SKEWED = readouts.Discrete([-1.2, 0.4, 1.1], [0.3, 0.3, 0.4], normalise=True)
PROBLEMS = [
    Problem(),
    Problem("tanh(2*x)", "rademacher", "four-point", 0.3, 1.7),
    Problem("sigma3", weights.Discrete.normalised([-1.0, 0.3, 2.0], [0.5, 0.3, 0.2]), SKEWED, 1e-4, 0.3),
    Problem("leaky-relu(0.1)", weights.SparseGaussian(0.2), "gaussian", channels.Gaussian(0.7), 2),
    Problem("he3(x) + 0.5*x", "uniform", "uniform", 1.25, 0.05),
]
each_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.activation.name)


@each_problem
def test_frozen_and_hashable(problem):
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.gamma = 3.0
    assert {problem: 1}[problem] == 1
    assert copy.deepcopy(problem) == problem


@each_problem
def test_through_json(problem):
    again = Problem.from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again == problem and hash(again) == hash(problem)
    assert again.to_dict() == problem.to_dict()


@each_problem
def test_repr_pastes_back(problem):
    names = {"Problem": Problem, "readouts": readouts, "weights": weights, "channels": channels}
    assert eval(repr(problem), names) == problem  # the text is our own


@each_problem
def test_pickle(problem):
    assert pickle.loads(pickle.dumps(problem)) == problem


def test_equal_problems_differ_in_nothing_else():
    assert Problem(channel=0.1) == Problem(channel=channels.Gaussian(0.1))
    assert Problem(gamma=1) == Problem(gamma=1.0) == Problem(gamma=np.float32(1))
    assert Problem(readouts="rademacher") == Problem(readouts="-1,1@0.5,0.5")
    assert len({Problem(), Problem(gamma=0.6), Problem(channel=0.2), Problem("tanh"), Problem()}) == 4


def test_replace():
    problem = Problem("tanh", gamma=1.7)
    other = problem.replace(channel=0.5, readouts="gaussian")
    assert (other.channel.noise, other.readouts.name, other.gamma) == (0.5, "gaussian", 1.7)
    assert other.activation == problem.activation and problem.channel.noise == 0.1
    assert problem.replace() == problem


def test_replace_refuses_what_is_no_part():
    with pytest.raises(ValueError, match=r"no \['gama'\]; did you mean 'gamma'\? its parts are"):
        Problem().replace(gama=2.0)


def test_callables_have_no_description():
    problem = Problem(np.tanh)
    assert problem.output_power == pytest.approx(Problem("tanh").output_power, abs=1e-10)
    with pytest.raises(ValueError, match="bare callable.*expression in x"):
        problem.to_dict()
    assert isinstance(problem.activation, Activation)
    assert Problem(np.tanh) == problem


@pytest.mark.parametrize("gamma", [0.3, 1.7])
def test_powers(gamma):
    problem = Problem("relu", readouts=SKEWED, gamma=gamma)
    mu0, mu1, mu2 = problem.hermite
    assert (mu0, mu1) == (pytest.approx(1 / math.sqrt(2 * math.pi)), pytest.approx(0.5))
    assert problem.matrix_power == pytest.approx(1 + gamma * SKEWED.mean**2)
    # r_K is the variance of σ(z) plus what the common mean of the readouts adds to S₂.
    variance = problem.activation.second_moment - mu0**2
    assert problem.output_power == pytest.approx(variance + 0.5 * mu2**2 * gamma * SKEWED.mean**2, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gamma": 0.0}, "gamma must be > 0 (hidden units per input, k/d); got 0"),
        ({"gamma": -0.5}, "got -0.5"),
        ({"gamma": math.nan}, "gamma must be > 0"),
        ({"gamma": math.inf}, "finite"),
        ({"gamma": "wide"}, "gamma must be a number > 0"),
        ({"gamma": [1, 2]}, "gamma must be a number > 0"),
        ({"channel": "gaussian:0"}, "must be > 0 and finite; got 0"),
        ({"channel": -1.0}, "got -1"),
        ({"channel": math.nan}, "must be > 0"),
        ({"channel": "loud"}, "unknown channel 'loud'"),
        ({"activation": "rellu"}, "relu"),
        ({"activation": "tanh(2*x"}, "tanh(2*x"),
        ({"activation": "1/x"}, "finite"),
        ({"activation": "log(x)"}, "finite"),
        ({"activation": "__import__('os')"}, "__import__"),
        ({"activation": "3"}, "constant"),
        ({"activation": 7}, "activation"),
        ({"weights": "gausian"}, "gaussian"),
        (
            {"weights": {"kind": "discrete", "atoms": [0.0, 1.0], "probabilities": [0.5, 0.5]}},
            "mean 0 and variance 1, got mean 0.5",
        ),
        ({"readouts": "rademaker"}, "did you mean 'rademacher'"),
        ({"readouts": "1,2@0.5,0.5"}, "second moment 1; got 2.5; multiply the values by 0.632455532"),
        ({"readouts": "1,1@0.5,0.4"}, "sum to 1"),
        ({"readouts": 3}, "readouts must be a name"),
    ],
)
def test_bad_inputs(changes, words):
    with pytest.raises(ValueError) as caught:
        Problem(**changes)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_from_dict_names_what_it_does_not_know():
    with pytest.raises(ValueError, match=r"no \['alpha'\]"):
        Problem.from_dict({"alpha": 2.0})
    assert Problem.from_dict({}) == Problem()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"activation": "1e70*tanh(x)"}, "from 1e-60 to 1e+60"),
        ({"activation": "1e-70*x**2"}, "measure outputs and labels in another unit"),
        ({"activation": "1e-30*tanh(x)+1"}, "is constant"),
        ({"activation": "3"}, "is constant"),
        ({"channel": 1e-40}, "noise must be from 1e-26 to 1e+60 times the variance"),
        ({"channel": channels.Laplace(1e70)}, "noise must be from 1e-26 to 1e+60 times the variance"),
        ({"channel": channels.Probit(1e-40, 0.0)}, "noise must be from 1e-26 to 1e+60 times the variance"),
        (
            {"activation": "1e-13*relu(x)", "channel": channels.Sign()},
            "the mean of the output must be stated",
        ),
    ],
)
def test_sizes_beyond_what_is_computed_are_refused(change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        Problem(**change)


@pytest.mark.parametrize("size", [1e-55, 1e-9, 1e9, 1e55])
def test_outputs_may_be_measured_in_any_unit(size):
    problem = Problem(f"{size!r}*tanh(x)", channel=channels.Laplace(1e-20 * size**2))
    assert problem.output_power == pytest.approx(size**2 * Problem("tanh").output_power, rel=1e-12)

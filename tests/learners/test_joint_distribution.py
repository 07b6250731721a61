"""Joint-distribution tests: what is true of a draw from the posterior whatever the posterior is.

A teacher is a draw from the prior and its labels a draw given the teacher, so (W⁰, y) is a draw from the
joint law. A sampler started on W⁰ leaves the joint law as it is: the average of any g(W, y) over instances
is the same before and after (Geweke's test with independent instances). And the rank of g(W⁰, y) among its
values on posterior draws is uniform (simulation-based calibration).
"""

import numpy as np
import pytest
from exact import z_score

import widthwise as ww
from widthwise.learners import hmc, metropolis
from widthwise.networks import sample_instance

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::widthwise.learners.NotAtEquilibrium")]


def cauchy(labels, outputs, xp=np):
    return -xp.log(np.pi * 0.3 * (1 + ((labels - xp.tanh(outputs)) / 0.3) ** 2))


def draw_cauchy(rng, outputs):
    return np.tanh(outputs) + 0.3 * rng.standard_cauchy(np.shape(outputs))


CHANNELS = {
    "gaussian": 0.4,
    "laplace": ww.channels.Laplace(0.4),
    "student": ww.channels.StudentT(0.4, 3.5),
    "probit": ww.channels.Probit(0.3, shift=0.4),
    "logistic": ww.channels.Logistic(2.0, shift=0.0),
    "poisson": ww.channels.Poisson(1.5, shift=0.2),
    "nonlinear": ww.channels.Nonlinear("tanh(x)", 0.1, shift=0.0),
    "custom": ww.channels.Custom(cauchy, support=(-np.inf, np.inf), shift=0.0, sampler=draw_cauchy),
}
# Both samplers are compiled once a channel: the two tests differ in the number of iterations only.
SAMPLERS = {
    "hmc": (hmc, "gaussian", {"n_warmup": 0, "step_size": 0.25, "n_leapfrog": 5}, 6, 240),
    "metropolis": (metropolis, "rademacher", {}, 2, 120),
}
N_INSTANCES = 100


def everywhere(test):
    """Run a test for every channel and sampler."""
    both = pytest.mark.parametrize("sampler", SAMPLERS)(test)
    return pytest.mark.parametrize("channel", CHANNELS)(both)


def statistics(instance, weights):
    """Log-likelihood, linear statistic and power of a network on the data of an instance."""
    outputs = instance.outputs(weights)
    likelihood = np.sum(instance.problem.channel.log_likelihood(instance.labels, outputs))
    return np.array(
        [likelihood, instance.labels @ outputs, np.sum(weights[0] * weights[-1]), np.sum(weights**4)]
    )


def instances(weights, channel, first_seed):
    problem = ww.Problem("relu", weights=weights, channel=channel, gamma=0.75)
    return [sample_instance(problem, d=4, alpha=0.8, seed=first_seed + i) for i in range(N_INSTANCES)]


def changes(learner, weights, channel, options, n_iterations, belief=None):
    """g(W after, y) - g(W⁰, y) for independent instances."""
    result = []
    for inst in instances(weights, channel, 0):
        data = inst if belief is None else _believed(inst, belief)
        run = learner(data, seed=inst.seed, iterations=n_iterations, record_every=n_iterations, **options)
        result.append(statistics(inst, run.weights[0].astype(float)) - statistics(inst, inst.weights))
    return np.array(result)


def _believed(inst, channel):
    problem = inst.problem.replace(channel=channel)
    return type(inst).from_arrays(
        problem, inst.inputs, inst.labels, weights=inst.weights, readouts=inst.readouts, seed=inst.seed
    )


@everywhere
def test_joint_law_is_left_as_it_is(sampler, channel):
    learner, weights, options, n_iterations, _ = SAMPLERS[sampler]
    moved = changes(learner, weights, CHANNELS[channel], options, n_iterations)
    assert np.mean(np.any(moved != 0, axis=1)) > 0.5, "the sampler hardly moves: the test would prove nothing"
    for name, column in zip(("likelihood", "linear", "pair", "fourth power"), moved.T, strict=True):
        if np.ptp(column) > 0:  # the fourth power of ±1 never changes
            assert abs(z_score(column)) < 4, f"{name} moved by {z_score(column):.1f} standard errors"


def test_prior_proposals_leave_the_joint_law():
    for column in changes(metropolis, "sparse-gaussian(0.6)", 0.4, {}, 4).T:
        assert abs(z_score(column)) < 4


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_biased_sampler_is_found_out(sampler):
    learner, weights, options, n_iterations, _ = SAMPLERS[sampler]
    moved = changes(learner, weights, 0.4, options, 5 * n_iterations, belief=0.15)
    assert max(abs(z_score(column)) for column in moved.T if np.ptp(column) > 0) > 5


N_DRAWS = 9


def ranks(learner, weights, channel, options, n_iterations, belief=None):
    """Rank of the likelihood of the teacher among those of posterior draws, from 0 to N_DRAWS."""
    found = []
    for inst in instances(weights, channel, 1000):
        data = inst if belief is None else _believed(inst, belief)
        run = learner(
            data,
            start="random",
            seed=inst.seed,
            iterations=n_iterations,
            record_every=n_iterations // 20,
            **options,
        )
        draws = run.draws[0, -N_DRAWS:].astype(float)
        assert len(draws) == N_DRAWS
        # A draw of ±1 weights can be the teacher itself: ties are broken at random.
        values = np.array([statistics(inst, w)[0] for w in draws]) - statistics(inst, inst.weights)[0]
        jitter = np.random.default_rng(inst.seed).uniform(-1e-6, 1e-6, values.size)
        found.append(np.sum(values + jitter < 0))
    return np.array(found)


def chi_square(found):
    counts = np.bincount(found, minlength=N_DRAWS + 1)
    expected = found.size / (N_DRAWS + 1)
    return float(np.sum((counts - expected) ** 2) / expected)


@everywhere
def test_ranks_are_uniform(sampler, channel):
    learner, weights, options, _, n_iterations = SAMPLERS[sampler]
    found = ranks(learner, weights, CHANNELS[channel], options, n_iterations)
    assert chi_square(found) < 27.9  # 0.1 % of a chi-square with nine degrees of freedom lies beyond


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_ranks_of_a_biased_sampler_are_not(sampler):
    learner, weights, options, _, n_iterations = SAMPLERS[sampler]
    assert chi_square(ranks(learner, weights, 0.4, options, n_iterations, belief=0.1)) > 40

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
from widthwise.experiments import sample_instance
from widthwise.learners import hmc, metropolis

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::widthwise.learners.NotAtEquilibrium")]

CHANNELS = {
    "gaussian": 0.4,
    "laplace": ww.channels.Laplace(0.4),
    "probit": ww.channels.Probit(0.3, shift=0.4),
    "logistic": ww.channels.Logistic(2.0, shift=0.0),
}
SAMPLERS = {
    "hmc": (
        hmc,
        "gaussian",
        {"iterations": 6, "n_warmup": 0, "step_size": 0.25, "n_leapfrog": 5, "record_every": 6},
    ),
    "metropolis": (metropolis, "rademacher", {"iterations": 2, "record_every": 2}),
    "metropolis-sparse": (metropolis, "sparse-gaussian(0.6)", {"iterations": 4, "record_every": 4}),
}
N_INSTANCES = 100


def statistics(instance, weights):
    """Log-likelihood, linear statistic and power of a network on the data of an instance."""
    outputs = instance.outputs(weights)
    likelihood = np.sum(instance.problem.channel.log_likelihood(instance.labels, outputs))
    return np.array(
        [likelihood, instance.labels @ outputs, np.sum(weights[0] * weights[-1]), np.sum(weights**4)]
    )


def changes(sampler, weights, channel, options, belief=None):
    """g(W after, y) - g(W⁰, y) for independent instances."""
    learner = sampler
    problem = ww.Problem("softplus", weights=weights, channel=channel, gamma=0.75)
    result = []
    for seed in range(N_INSTANCES):
        inst = sample_instance(problem, d=4, alpha=0.8, seed=seed)
        data = inst if belief is None else _believed(inst, belief)
        run = learner(data, start="teacher", seed=seed, progress=False, **options)
        result.append(statistics(inst, run.weights[0].astype(float)) - statistics(inst, inst.weights))
    return np.array(result)


def _believed(inst, channel):
    problem = inst.problem.replace(channel=channel)
    return type(inst).from_arrays(
        problem, inst.inputs, inst.labels, weights=inst.weights, readouts=inst.readouts, seed=inst.seed
    )


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("sampler", ["hmc", "metropolis"])
def test_joint_law_is_left_as_it_is(sampler, channel):
    learner, weights, options = SAMPLERS[sampler]
    moved = changes(learner, weights, CHANNELS[channel], options)
    assert np.mean(np.any(moved != 0, axis=1)) > 0.5, "the sampler hardly moves: the test would prove nothing"
    for name, column in zip(("likelihood", "linear", "pair", "fourth power"), moved.T, strict=True):
        if np.ptp(column) > 0:  # the fourth power of ±1 never changes
            assert abs(z_score(column)) < 4, f"{name} moved by {z_score(column):.1f} standard errors"


def test_prior_proposals_leave_the_joint_law():
    learner, weights, options = SAMPLERS["metropolis-sparse"]
    for column in changes(learner, weights, 0.4, options).T:
        assert abs(z_score(column)) < 4


@pytest.mark.parametrize("sampler", ["hmc", "metropolis"])
def test_biased_sampler_is_found_out(sampler):
    learner, weights, options = SAMPLERS[sampler]
    longer = options | {"iterations": 5 * options["iterations"]}
    moved = changes(learner, weights, 0.4, longer, belief=0.15)
    assert max(abs(z_score(column)) for column in moved.T if np.ptp(column) > 0) > 5


N_DRAWS = 9


def ranks(learner, weights, options, belief=None):
    """Rank of the likelihood of the teacher among those of posterior draws, from 0 to N_DRAWS."""
    problem = ww.Problem("softplus", weights=weights, channel=0.4, gamma=0.75)
    found = []
    for seed in range(N_INSTANCES):
        inst = sample_instance(problem, d=4, alpha=0.8, seed=1000 + seed)
        data = inst if belief is None else _believed(inst, belief)
        run = learner(data, start="random", seed=seed, progress=False, **options)
        draws = run.draws[0, -N_DRAWS:].astype(float)
        # The teacher's part in the likelihood is not a tie-breaker for ±1 weights, so ties are broken at
        # random.
        values = np.array([statistics(inst, w)[0] for w in draws]) - statistics(inst, inst.weights)[0]
        jitter = np.random.default_rng(seed).uniform(-1e-6, 1e-6, values.size)
        found.append(np.sum(values + jitter < 0))
    return np.array(found)


def chi_square(found):
    counts = np.bincount(found, minlength=N_DRAWS + 1)
    expected = found.size / (N_DRAWS + 1)
    return float(np.sum((counts - expected) ** 2) / expected)


CALIBRATION = {
    "hmc": (hmc, "gaussian", {"iterations": 400, "record_every": 20, "step_size": 0.1}),
    "metropolis": (metropolis, "rademacher", {"iterations": 200, "record_every": 10}),
}


@pytest.mark.parametrize("sampler", CALIBRATION)
def test_ranks_are_uniform(sampler):
    found = ranks(*CALIBRATION[sampler])
    assert chi_square(found) < 27.9  # 0.1 % of a chi-square with nine degrees of freedom lies beyond


def test_ranks_of_a_biased_sampler_are_not():
    assert chi_square(ranks(*CALIBRATION["metropolis"], belief=0.15)) > 40

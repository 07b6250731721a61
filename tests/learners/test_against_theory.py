"""Samplers at moderate size against the theory, whose size is infinite.

At d = 60 one instance at equilibrium differs from the limit by up to 12 % in the error and by 0.06 in the
overlap of matrices. Chains that start on the teacher may take long to get there: below a first-order
transition (tanh(2x), Δ = 0.1, γ = 0.5, α = 1, with a test of its own), and for ReLU with γ = 0.5 at α = 4,
where the error climbs from 0.015 to 0.018 over 6000 iterations (0.0199 in the limit).
"""

import numpy as np
import pytest

import widthwise as ww
from widthwise.learners import gamp_rie, hmc, metropolis
from widthwise.networks import Instance, sample_instance

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::widthwise.learners.NotAtEquilibrium")]

# Slow to forget: for tests of what a chain remembers.
PLAIN = {"kernel": "plain", "n_leapfrog": 10, "step_size": 0.01, "target_acceptance": 0.8}
FINITE_SIZE = 0.12  # of the error, relative; of the overlaps of matrices, absolute, half of it


def assert_close(run, theory):
    allowed = FINITE_SIZE * theory.excess_error + 4 * run.standard_error("excess_error")
    assert abs(run.excess_error - theory.excess_error) < allowed, (run.excess_error, theory.excess_error)
    # An odd activation does not see the matrix before it specialises: the overlap is 0 in the limit and,
    # measured, 0.19, 0.08 and 0.05 at d = 30, 60 and 100.
    allowed = 8 / run.instance.d if theory.matrix_overlap_centred == 0 else 0.5 * FINITE_SIZE
    assert abs(run.matrix_overlap_centred - theory.matrix_overlap_centred) < allowed


@pytest.mark.parametrize(
    ("activation", "gamma", "alphas"),
    [
        ("relu", 0.5, (0.5, 1.0, 2.0, 3.0)),
        ("relu", 0.8, (0.5, 1.0, 2.0, 3.0)),
        ("tanh(2*x)", 0.5, (0.5, 2.0, 3.0, 4.0)),
        ("tanh(2*x)", 0.8, (0.25, 0.5, 3.5, 4.0)),
    ],
)
def test_informed_hmc(activation, gamma, alphas):
    problem = ww.Problem(activation, channel=0.1, gamma=gamma)
    for alpha in alphas:
        theory = ww.solve(problem, alpha)
        run = hmc(sample_instance(problem, d=60, alpha=alpha, seed=1), iterations=75, record_every=3)
        assert_close(run, theory)
        if theory.weight_overlap[0] > 0.8 or theory.excess_error > 0.1:  # far from an onset on either side
            assert run.weight_overlap[0] == pytest.approx(theory.weight_overlap[0], abs=0.1)


def test_below_a_first_order_transition_the_teacher_is_forgotten_slowly():
    """At equilibrium nothing is specialised; a chain from the teacher is too good, and is found out.

    Its overlap goes down and its error up, towards those of a chain that never knew the teacher, which has
    the error of the theory.
    """
    problem = ww.Problem("tanh(2*x)", channel=0.1, gamma=0.5)
    theory = ww.solve(problem, 1.0)
    errors = []
    for seed in range(3):
        inst = sample_instance(problem, d=40, alpha=1.0, seed=seed)
        informed, uninformed = (
            hmc(inst, start=start, iterations=100, **PLAIN) for start in ("teacher", "random")
        )
        overlap = informed.trace["weight_overlap"].to_numpy()[0, :, 0]
        first, second, third = (part.mean() for part in np.array_split(overlap, 3))
        assert first > second > third
        assert informed.excess_error < uninformed.excess_error
        assert not informed.is_at_equilibrium
        errors.append(uninformed.excess_error)
    assert np.mean(errors) == pytest.approx(theory.excess_error, rel=FINITE_SIZE)


def test_equilibrium_is_told_from_what_is_not():
    """In units of single draws, half the Gibbs excess is from two replicas as far as a draw is typical.

    Its variance over instances is at most 1 at equilibrium: of 12 the mean square is below 2 (the
    probability of more is 0.02 for independent Gaussian numbers), and none is beyond 3. Chains that have
    just left a random start differ by more, by less than a quarter of the error in some.
    """
    problem = ww.Problem("relu", channel=0.1, gamma=0.5)
    distances, is_told = [], []
    for seed in range(12):
        inst = sample_instance(problem, d=16, alpha=1.0, seed=seed)
        settled = hmc(inst, iterations=1000, record_every=2, seed=seed)
        assert settled.is_at_equilibrium
        distances.append((settled.replicas["excess_error"] - settled.excess_error) / settled._scatter)
    assert 0.05 < np.mean(np.square(distances)) < 2
    for seed in range(4):
        inst = sample_instance(problem, d=40, alpha=1.0, seed=seed)
        is_told.append(not hmc(inst, start="random", iterations=60, seed=seed, **PLAIN).is_at_equilibrium)
    assert all(is_told)


def test_uninformed_hmc_stays_on_the_universal_branch():
    problem = ww.Problem("relu", channel=0.1, gamma=0.5)
    theory = ww.solve(problem, 3.0, branch="universal")
    run = hmc(
        sample_instance(problem, d=60, alpha=3.0, seed=1),
        start="random",
        iterations=300,
        record_every=10,
        n_leapfrog=10,
    )
    assert_close(run, theory)


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_metropolis_on_both_sides_of_the_transition(alpha):
    """σ₃, binary weights, Δ = 1.25: no unit is learnt at α = 0.5, all but everything at α = 3."""
    problem = ww.Problem("sigma3", weights="rademacher", channel=1.25, gamma=0.5)
    theory = ww.solve(problem, alpha)
    run = metropolis(sample_instance(problem, d=60, alpha=alpha, seed=1), iterations=300, record_every=10)
    if alpha < 1:
        assert_close(run, theory)
        assert abs(run.weight_overlap[0]) < 0.15
    else:
        # A handful of weights is wrong among 1800: the error counts them.
        assert run.excess_error < 5 * theory.excess_error and run.weight_overlap[0] > 0.99


@pytest.mark.parametrize("activation", ["relu", "tanh(2*x)"])
def test_nishimori(activation):
    """Two replicas overlap as much as a replica and the teacher, on average over instances."""
    problem = ww.Problem(activation, channel=0.3, gamma=0.6)
    differences = []
    for seed in range(12):
        inst = sample_instance(problem, d=12, alpha=1.5, seed=seed)
        replicas = hmc(inst, iterations=100, record_every=3, n_chains=2, seed=seed).replicas
        differences.append(replicas["teacher_overlap"] - replicas["replica_overlap"])
    differences = np.array(differences)
    assert abs(differences.mean()) < 4 * differences.std(ddof=1) / np.sqrt(differences.size)


# --- labels that are not additive, with a mean of the output -------------------------------------

NOISY_SIGN = ww.Problem("relu", readouts="homogeneous", channel="probit:0.1,shift=0.3", gamma=0.5)


def test_informed_hmc_on_noisy_signs():
    """Non-centred activation and readouts: the mean of the output is the one that the channel states."""
    run = hmc(sample_instance(NOISY_SIGN, d=60, alpha=1.0, seed=0), iterations=60, record_every=2)
    assert_close(run, ww.solve(NOISY_SIGN, 1.0))


def test_gamp_rie_on_noisy_signs():
    """Measured at d = 40 and 60: 16 and 13 % above the limit; with the mean of another sign, far off."""
    theory = ww.solve(NOISY_SIGN, 2.0, "universal").excess_error
    wrong = NOISY_SIGN.replace(channel="probit:0.1,shift=-0.3")
    errors, mistaken = [], []
    for seed in range(4):
        own = sample_instance(NOISY_SIGN, d=60, alpha=2.0, seed=seed)
        arrays = {"weights": own.weights, "readouts": own.readouts}
        other = Instance.from_arrays(wrong, own.inputs, own.labels, **arrays)
        errors.append(gamp_rie(own).excess_error)
        mistaken.append(gamp_rie(other).excess_error)
    allowed = FINITE_SIZE * theory + 4 * np.std(errors, ddof=1) / 2
    assert abs(np.mean(errors) - theory) < allowed < abs(np.mean(mistaken) - theory)


def test_learning_the_readouts_changes_little():
    """The paper claims the same error at leading order; measured, 7 ± 5 % at d = 12 and -1 ± 2 % at 24."""
    problem = ww.Problem("relu", readouts="gaussian", channel=0.3, gamma=0.5)
    errors = []
    for seed in range(6):
        inst = sample_instance(problem, d=24, alpha=2.0, seed=seed)
        options = {"iterations": 80, "record_every": 3, "seed": seed}
        errors.append([hmc(inst, learn_readouts=learn, **options).excess_error for learn in (False, True)])
    fixed, learnt = np.array(errors).T
    standard_error = (learnt - fixed).std(ddof=1) / np.sqrt(fixed.size)
    assert standard_error < 0.04 * fixed.mean()  # else the test would prove nothing
    assert abs((learnt - fixed).mean()) < 4 * standard_error

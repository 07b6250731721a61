"""The verdict on a run, and runs that go on until it is good."""

import warnings

import numpy as np
import pytest

import widthwise as ww
from widthwise.learners import NotAtEquilibrium, adam, hmc, metropolis
from widthwise.learners.equilibrium import LEAST_DRAWS, MOST_R_HAT, agreement
from widthwise.networks import sample_instance

pytestmark = pytest.mark.filterwarnings("ignore::widthwise.learners.NotAtEquilibrium")


def autoregressive(rng, memory, n_draws=200, n_chains=2):
    """Chains x' = memory x + √(1 - memory²) ξ from equilibrium, worth (1 - memory)/(1 + memory) of a draw."""
    x = np.empty((n_chains, n_draws))
    x[:, 0] = rng.standard_normal(n_chains)
    for t in range(1, n_draws):
        x[:, t] = memory * x[:, t - 1] + np.sqrt(1 - memory**2) * rng.standard_normal(n_chains)
    return x


def test_verdict_on_chains_whose_memory_is_known():
    rng = np.random.default_rng(3)
    good = autoregressive(rng, 0.5, n_draws=2000)
    found = agreement({"good": good})
    assert found and not found.objections and found.r_hat["good"] < 1.02
    assert found.effective_draws["good"] == pytest.approx(4000 / 3, rel=0.25)
    alone = agreement({"good": good[:1], "trend": good[:1] + np.linspace(0, 3, 2000)})
    assert alone.r_hat["good"] < 1.02 and len(alone.objections) == 1 and "trend" in alone.objections[0]
    # Means that are two standard deviations apart, a trend, too long a memory, a chain that never moves.
    bad = {
        "apart": good + np.array([[1.0], [-1.0]]),
        "trend": good + np.linspace(0, 3, 2000),
        "slow": autoregressive(rng, 0.99),
        "stuck": np.broadcast_to([[0.0], [1.0]], (2, 50)),
    }
    for name, values in bad.items():
        verdict = agreement({"good": good, name: values})
        assert not verdict and len(verdict.objections) == 1 and name in verdict.objections[0]
        assert verdict.r_hat[name] > MOST_R_HAT or verdict.effective_draws[name] < LEAST_DRAWS
    assert agreement({"known": np.ones((2, 50))})  # every weight is found
    unknown = np.full((2, 50), np.nan)
    assert agreement({"good": good, "unknown": unknown}) and not agreement({"unknown": unknown})
    assert "only 5 records" in agreement({"short": good[:, :5]}).objections[0]


def test_only_samplers_are_judged():
    inst = sample_instance(ww.Problem("relu", gamma=0.6), d=6, alpha=1.0)
    assert adam(inst, iterations=4, progress=False).is_at_equilibrium
    run = hmc(inst, iterations=4, progress=False)
    assert not run.is_at_equilibrium and "records" in repr(run.equilibrium)


@pytest.mark.slow
def test_two_starts_that_do_not_meet_are_told():
    """Nearly even σ and ±1 weights: single flips never take a chain from the teacher's signs to others."""
    problem = ww.Problem("x**2+0.1*x", weights="rademacher", channel=0.4, gamma=0.3)
    inst = sample_instance(problem, d=12, alpha=3.0, seed=1)
    options = {"start": "both", "n_chains": 4, "iterations": 200, "seed": 1}
    with pytest.warns(NotAtEquilibrium, match="disagree on weight_overlap"):
        run = metropolis(inst, **options)
    first = run.trace["weight_overlap"].to_numpy()[:, 0]
    assert (first[::2] == 1).all() and (first[1::2] < 1).all()
    with pytest.raises(ValueError, match="two chains or more"):
        metropolis(inst, **options | {"n_chains": 1})


EASY = sample_instance(ww.Problem("tanh(2*x)", channel=0.8, gamma=0.3), d=10, alpha=0.7, seed=5)
UNTIL = {"start": "both", "n_chains": 2, "until": "equilibrium", "iterations": 2000, "record_every": 2}


@pytest.mark.slow
def test_run_until_equilibrium(tmp_path):
    """It ends when its own verdict is good, no earlier look having been, and resumes bit for bit."""
    options = UNTIL | {"n_leapfrog": 2, "n_warmup": 40, "seed": 2, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotAtEquilibrium)
        whole = hmc(EASY, **options)
    n = int(whole.timings["iterations"])
    assert whole.status == "at equilibrium" and whole.is_at_equilibrium and 80 <= n + 2 < 2000
    assert whole.draws.shape[1] >= 4 and whole.settings["until"] == "equilibrium"
    file = tmp_path / "run.npz"
    part = hmc(EASY, **options | {"iterations": n // 4 * 2}, checkpoint=file)
    assert part.timings["iterations"] == n // 4 * 2
    resumed = hmc(EASY, **options, checkpoint=file)
    again = hmc(EASY, **options, checkpoint=file)  # nothing is left to do
    for run in (resumed, again):
        assert run.status == "at equilibrium" and run.timings["iterations"] == n
        assert np.array_equal(run.weights, whole.weights) and np.array_equal(run.draws, whole.draws)
        for name, values in whole.trace.data_vars.items():
            assert np.array_equal(run.trace[name], values, equal_nan=True)


@pytest.mark.slow
def test_budget_ends_a_run_that_does_not_equilibrate():
    run = hmc(EASY, **UNTIL | {"n_leapfrog": 1, "n_warmup": 0, "step_size": 1e-3, "iterations": 200})
    assert run.status == "done" and run.timings["iterations"] == 200 and not run.is_at_equilibrium
    with pytest.raises(ValueError, match="until must be None or 'equilibrium'"):
        hmc(EASY, until="tomorrow")


@pytest.mark.slow
def test_sweeps_know_the_verdict():
    from widthwise.sweeps.task import Task, run_task

    settings = UNTIL | {"n_leapfrog": 8, "n_warmup": 40}
    result = run_task(Task(EASY.problem, EASY.d, EASY.alpha, EASY.seed, "hmc", settings))
    assert result.run_status == "at equilibrium" and result.scalar("is_at_equilibrium") == 1
    assert result.scalar("r_hat") <= MOST_R_HAT and result.scalar("effective_draws") >= LEAST_DRAWS

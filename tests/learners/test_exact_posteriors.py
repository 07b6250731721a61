"""Samplers against posteriors known exactly: enumerated, on a grid, or Gaussian."""

import numpy as np
import pytest
from exact import chain_means, enumerated, on_a_grid, z_score

import widthwise as ww
from widthwise.learners import hmc, metropolis
from widthwise.learners.metropolis import side_field
from widthwise.networks import Observer, sample_instance
from widthwise.networks.instance import Instance

pytestmark = pytest.mark.filterwarnings("ignore::widthwise.learners.NotAtEquilibrium")

N_CHAINS = 16
N_SIGMA = 4.0


def error_and_overlap(instance):
    observer = Observer(instance)

    def statistic(w):
        seen = observer(w)
        return seen["gibbs_excess_error"], seen["overlap_power"][0]

    return statistic


def assert_agrees(run, exact, n_sigma=N_SIGMA):
    for name, order, value in (("gibbs_excess_error", None, exact[0]), ("overlap_power", 1, exact[1])):
        z = z_score(chain_means(run, name, order), value)
        assert abs(z) < n_sigma, f"{name}: {z:.1f} standard errors from {value:.4g}"


def with_noise(instance, noise):
    """The same data, sampled with another belief about the noise."""
    return Instance.from_arrays(
        instance.problem.replace(channel=noise),
        instance.inputs,
        instance.labels,
        weights=instance.weights,
        readouts=instance.readouts,
    )


BINARY = sample_instance(
    ww.Problem("relu", weights="rademacher", readouts="rademacher", channel=0.6, gamma=2 / 6),
    d=6,
    alpha=0.5,
    seed=3,
)


@pytest.mark.slow
@pytest.mark.parametrize("scan", ["random", "sequential"])
@pytest.mark.parametrize("temperatures", [(1.0,), (1.0, 2.0, 5.0)])
def test_metropolis_on_binary_weights(scan, temperatures):
    exact = enumerated(BINARY, (-1.0, 1.0), np.log([0.5, 0.5]), error_and_overlap(BINARY))
    run = metropolis(
        BINARY,
        start="random",
        scan=scan,
        temperatures=temperatures,
        iterations=240,
        n_chains=N_CHAINS,
        record_every=4,
    )
    assert_agrees(run, exact)
    assert float(run.trace["drift"].max()) < 1e-3


@pytest.mark.slow
def test_tempering_crosses_what_single_flips_cannot():
    """σ is almost even, so W_i and -W_i are both likely, and nothing likely lies between them."""
    problem = ww.Problem("x**2+0.1*x", weights="rademacher", channel=0.4, gamma=2 / 6)
    inst = sample_instance(problem, d=6, alpha=1.5, seed=1)
    (exact,) = enumerated(
        inst, (-1.0, 1.0), np.log([0.5, 0.5]), lambda w: [np.sum(w.sum(0) * inst.weights.sum(0)) / w.size]
    )
    options = {"iterations": 240, "n_chains": 10, "record_every": 4, "seed": 3}
    stuck = chain_means(metropolis(inst, **options), "overlap_power", 1)
    tempered = metropolis(inst, temperatures=(1.0, 3.0, 9.0, 27.0, 81.0), **options)
    assert np.ptp(stuck) == 0 and stuck[0] > exact + 0.2
    z = z_score(chain_means(tempered, "overlap_power", 1), exact)
    assert abs(z) < N_SIGMA, f"{z:.1f} standard errors from {exact:.4g}"


@pytest.mark.slow
def test_metropolis_with_a_wrong_belief_is_found_out():
    exact = enumerated(BINARY, (-1.0, 1.0), np.log([0.5, 0.5]), error_and_overlap(BINARY))
    run = metropolis(
        with_noise(BINARY, 0.4), start="random", iterations=240, n_chains=N_CHAINS, record_every=4
    )
    with pytest.raises(AssertionError, match="standard errors"):
        assert_agrees(run, exact)


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["tanh(2*x)", "elu"])
def test_metropolis_on_three_atoms(spec):
    atoms, p = (-1.5, 0.5, 1.5), (0.1, 0.6, 0.3)
    law = ww.weights.Discrete.normalised(atoms, p)
    problem = ww.Problem(spec, weights=law, channel=0.5, gamma=2 / 3)
    inst = sample_instance(problem, d=3, alpha=1.2, seed=1)
    exact = enumerated(inst, law.atoms, np.log(law.probabilities), error_and_overlap(inst))
    run = metropolis(inst, start="random", iterations=240, n_chains=N_CHAINS, record_every=4)
    assert_agrees(run, exact)


@pytest.mark.slow
@pytest.mark.parametrize("side_snr", [0.0, 0.7])
def test_metropolis_with_a_side_channel(side_snr):
    """Three atoms of different sizes: the quadratic part of the side channel's likelihood counts too."""
    law = ww.weights.Discrete.normalised((-1.5, 0.5, 1.5), (0.1, 0.6, 0.3))
    inst = sample_instance(ww.Problem("elu", weights=law, channel=0.9, gamma=2 / 3), d=3, alpha=0.8, seed=2)
    shown = side_field(inst, 0.7) / np.sqrt(0.7)  # √snr W⁰ + Z

    def tilted(w):
        return np.exp(-0.5 * np.sum((shown - np.sqrt(0.7) * w) ** 2)) * np.array(
            [1.0, np.sum(w * inst.weights)]
        )

    # averages over the posterior with side information, by weights on that without
    weight, value = enumerated(inst, law.atoms, np.log(law.probabilities), tilted)
    exact = value / weight / inst.d
    run = metropolis(
        inst, start="teacher", side_snr=side_snr, iterations=240, n_chains=N_CHAINS, record_every=4
    )
    z = z_score((run.settled["weight_overlap"].mean("readout") * inst.k).mean("draw"), exact)
    assert (abs(z) < N_SIGMA) == (side_snr > 0), f"{z:.1f} standard errors"


def test_a_side_channel_is_that_of_the_instance():
    law = ww.Problem("relu", weights="rademacher", readouts="rademacher", channel=0.6, gamma=0.4)
    one, same, other = (sample_instance(law, d=70, alpha=0.1, seed=seed) for seed in (3, 3, 4))
    field = side_field(one, 0.3)
    np.testing.assert_array_equal(field, side_field(same, 0.3))
    shown = field / np.sqrt(0.3) - np.sqrt(0.3) * one.weights
    again = side_field(other, 0.3) / np.sqrt(0.3) - np.sqrt(0.3) * other.weights
    n = shown.size
    assert abs(shown.mean()) < 4 / np.sqrt(n) and abs(shown.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs(np.mean(shown * one.weights)) < 4 / np.sqrt(n) and abs(np.mean(shown * again)) < 4 / np.sqrt(n)
    assert not side_field(one, 0.0).any()
    for bad in (-0.1, np.inf, np.nan):
        with pytest.raises(ValueError, match="side_snr must be a finite number >= 0"):
            metropolis(one, side_snr=bad)


@pytest.mark.parametrize(
    ("weights", "spec", "options"),
    [
        ("gaussian", "relu", {}),
        pytest.param("gaussian", "tanh(2*x)", {"kernel": "plain"}, marks=pytest.mark.slow),
        pytest.param("uniform", "he2(x)/sqrt(2)+he3(x)/6", {}, marks=pytest.mark.slow),
        pytest.param(
            ww.weights.GaussianMixture.normalised((-1.0, 1.0), (0.3, 0.3), (0.4, 0.6)),
            "softplus",
            {},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["relu", "plain", "uniform", "mixture"],
)
def test_hmc_on_a_plane(weights, spec, options):
    """kd = 2 weights: the posterior can be integrated on a grid."""
    inst = sample_instance(ww.Problem(spec, weights=weights, channel=0.4, gamma=0.5), d=2, alpha=2.0, seed=5)
    reach = np.sqrt(3) * (1 - 1e-9) if weights == "uniform" else 6.0
    exact = on_a_grid(inst, lambda w: (w[0] @ inst.weights[0] / 2, (w[0] @ inst.weights[0] / 2) ** 2), reach)
    run = hmc(
        inst, start="random", iterations=600, n_chains=N_CHAINS, record_every=6, n_leapfrog=10, **options
    )
    for order in (1, 2):
        z = z_score(chain_means(run, "overlap_power", order), exact[order - 1])
        assert abs(z) < N_SIGMA, f"Q_{order}: {z:.1f} standard errors"


def gaussian_posterior_error(inst):
    """Posterior mean of E(λ - λ⁰)² if σ is linear: λ = a·x/√d with a = Σ v_i W_i/√k, which is Gaussian."""
    x = inst.inputs.astype(float) / np.sqrt(inst.d)
    prior = np.mean(inst.readouts**2)  # variance of each entry of a
    noise = inst.problem.channel.noise
    covariance = np.linalg.inv(np.eye(inst.d) / prior + x @ x.T / noise)
    mean = covariance @ x @ inst.labels / noise
    teacher = inst.readouts @ inst.weights / np.sqrt(inst.k)
    metric = np.diag(inst.problem.inputs.layout(inst.d))
    return ((mean - teacher) @ metric @ (mean - teacher) + np.trace(metric @ covariance)) / inst.d


LINEAR = sample_instance(
    ww.Problem("linear", readouts="four-point", channel=0.5, gamma=0.6), d=7, alpha=0.6, seed=2
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "inputs"), [("float32", "isotropic"), ("float64", "isotropic"), ("float32", "power-law:1.2,7")]
)
def test_hmc_on_a_gaussian_posterior(dtype, inputs):
    problem = LINEAR.problem.replace(inputs=inputs)
    inst = sample_instance(problem, d=7, alpha=0.6, seed=2, dtype=dtype)
    run = hmc(inst, start="random", iterations=500, n_chains=N_CHAINS, record_every=5, n_leapfrog=10)
    z = z_score(chain_means(run, "gibbs_excess_error"), gaussian_posterior_error(inst))
    assert abs(z) < N_SIGMA, f"{z:.1f} standard errors"


@pytest.mark.slow
def test_hmc_with_a_wrong_belief_is_found_out():
    run = hmc(
        with_noise(LINEAR, 0.3),
        start="random",
        iterations=500,
        n_chains=N_CHAINS,
        record_every=5,
        n_leapfrog=10,
    )
    z = z_score(chain_means(run, "gibbs_excess_error"), gaussian_posterior_error(LINEAR))
    assert abs(z) > N_SIGMA

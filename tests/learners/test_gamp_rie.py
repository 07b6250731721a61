"""GAMP-RIE on instances: the universal branch, step by step, for any ingredients."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.learners.gamp_rie import gamp_rie, population_error
from widthwise.networks.instance import sample_instance
from widthwise.theory.state_evolution import state_evolution

ASYMMETRIC = ww.readouts.Discrete((-1.2, 0.4, 1.1), (0.3, 0.3, 0.4), normalise=True)


def errors_of(problem, d, alpha, seeds, **options):
    runs = [gamp_rie(sample_instance(problem, d, alpha, seed), **options) for seed in seeds]
    assert all(run.status == "converged" for run in runs)
    return np.array([run.excess_error for run in runs]), runs


def assert_near(samples, exact, finite_size, n_sigma=3.0):
    """Mean within n_sigma standard errors over instances, plus a relative finite-size term."""
    slack = n_sigma * samples.std(ddof=1) / np.sqrt(samples.size) + finite_size * exact
    assert abs(samples.mean() - exact) < slack, (
        f"mean {samples.mean():.5g}, predicted {exact:.5g}, slack {slack:.2g}"
    )


@pytest.mark.parametrize(
    ("activation", "channel"), [("relu", 0.1), ("gelu", 0.1), ("relu", ww.channels.Probit(0.1, shift=2.0))]
)
def test_the_population_error_is_the_error_on_fresh_data(activation, channel):
    problem = ww.Problem(activation, readouts=ASYMMETRIC, channel=channel, gamma=0.7)
    instance = sample_instance(problem, 12, 1.0, 0)
    rng = np.random.default_rng(0)
    q = rng.standard_normal((12, 12))
    c, b, q = 0.3, 0.2 * rng.standard_normal(12), 0.05 * (q + q.T)
    x = rng.standard_normal((12, 400_000))
    squares = (
        instance.outputs(instance.weights, x) - c - b @ x - np.sum(x * (q @ x), axis=0) + np.trace(q)
    ) ** 2
    error = squares.std() / np.sqrt(squares.size)
    assert abs(squares.mean() - population_error(instance, c, b, q)) < 4 * error


@pytest.mark.slow
def test_every_step_follows_state_evolution():
    """Each step is far from the next: an error of one step in counting would show."""
    problem, d, alpha = ww.Problem("relu", readouts=ASYMMETRIC, channel=0.1, gamma=0.6), 150, 1.5
    course = state_evolution(problem, alpha, d=d)
    _, runs = errors_of(problem, d, alpha, range(8))
    steps = np.array([run.trace["excess_error"].values[0, :6] for run in runs])
    for step in range(6):
        assert_near(steps[:, step], course.excess_error[step], finite_size=2 / d, n_sigma=2.0)
    assert course.excess_error[0] > 1.5 * course.excess_error[1] > 1.5 * course.excess_error[2]


@pytest.mark.parametrize(
    "problem",
    [
        ww.Problem("elu", "rademacher", "homogeneous", 0.05, 0.5),
        ww.Problem("sigma3", "gaussian", "gaussian", 0.3, 1.4),
        ww.Problem("he2", "gaussian", "rademacher", 0.5, 0.3),
        ww.Problem("-x**2/2+x", "uniform", "homogeneous", 0.2, 0.5),
    ],
    ids=["elu", "sigma3", "no-linear-part", "negative-curvature"],
)
def test_the_error_is_that_of_the_universal_branch(problem):
    d, alpha = 60, 1.2
    errors, _ = errors_of(problem, d, alpha, range(6))
    assert_near(errors, state_evolution(problem, alpha, d=d).excess_error[-1], finite_size=2 / d)


def test_a_wrong_noise_level_would_be_noticed():
    """The test above can fail: theory for twice the noise is outside its slack."""
    problem, d, alpha = ww.Problem("elu", "rademacher", "homogeneous", 0.05, 0.5), 60, 1.2
    errors, _ = errors_of(problem, d, alpha, range(6))
    with pytest.raises(AssertionError, match="predicted"):
        wrong = problem.replace(channel=0.1)
        assert_near(errors, state_evolution(wrong, alpha, d=d).excess_error[-1], finite_size=2 / d)


def test_an_odd_activation_leaves_the_linear_part():
    problem = ww.Problem("tanh(2*x)", readouts="gaussian", channel=0.1)
    errors, runs = errors_of(problem, 50, 1.0, range(4))
    assert_near(errors, state_evolution(problem, 1.0, d=50).excess_error[-1], finite_size=2 / 50)
    assert np.isnan(runs[0].matrix_overlap_centred)


def test_options_agree_at_the_fixed_point():
    instance = sample_instance(ww.Problem("relu", readouts=ASYMMETRIC), 60, 1.5, 0)
    plain = gamp_rie(instance)
    for options in ({"start": "spectral"}, {"start": "teacher"}, {"start": "random"}, {"damping": 0.3}):
        # rtol = 1e-3 of the root-mean-square error, twice: 1e-3 relative in the error is generous.
        assert gamp_rie(instance, **options).excess_error == pytest.approx(plain.excess_error, rel=3e-3), (
            options
        )
    # The measured and the known noise level differ by their fluctuation, √(2/n), which enters to second
    # order.
    assert gamp_rie(instance, is_noise_known=True).excess_error == pytest.approx(plain.excess_error, rel=1e-2)


def test_a_run_speaks_the_common_language():
    instance = sample_instance(ww.Problem("relu", channel=0.2), 40, 2.0, 1)
    run = gamp_rie(instance)
    assert not run.is_sampler and run.weights is None
    assert run.excess_error == run.gibbs_excess_error
    # 10 000 fresh labels: standard error √2 % of the error.
    assert run.test_error == pytest.approx(0.2 + run.excess_error, rel=4 * 0.0142)
    assert set(run.trace["matrix"].dims) == {"row", "column"}
    assert run.summary()["learner"] == "gamp_rie"
    teacher = (instance.weights.T * instance.readouts) @ instance.weights / np.sqrt(instance.k * instance.d)
    error = np.sum((run.trace["matrix"].values - teacher) ** 2) / instance.d
    assert run.matrix_overlap_centred == pytest.approx(1 - error, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "word"),
    [({"denoiser": "best"}, "denoiser"), ({"start": "hot"}, "start"), ({"damping": -0.1}, "damping")],
)
def test_bad_options(options, word):
    instance = sample_instance(ww.Problem("relu"), 10, 1.0, 0)
    with pytest.raises(ValueError, match=word):
        gamp_rie(instance, **options)


def test_known_noise_is_refused_for_other_channels():
    instance = sample_instance(ww.Problem("sigma3", channel=ww.channels.Probit(0.1)), 10, 1.0, 0)
    with pytest.raises(ValueError, match="is_noise_known"):
        gamp_rie(instance, is_noise_known=True)


@pytest.mark.parametrize(
    "channel", [ww.channels.Probit(0.1), ww.channels.Laplace(0.1)], ids=["probit", "laplace"]
)
def test_other_channels_follow_state_evolution_too(channel):
    problem, d, alpha = ww.Problem("sigma3", readouts="rademacher", channel=channel, gamma=0.5), 60, 2.0
    errors, runs = errors_of(problem, d, alpha, range(6))
    course = state_evolution(problem, alpha, d=d)
    assert_near(errors, course.excess_error[-1], finite_size=3 / d)
    second = np.array([run.trace["excess_error"].values[0, 1] for run in runs])
    assert_near(second, course.excess_error[1], finite_size=4 / d)


def test_a_channel_that_states_the_mean_of_its_output():
    """ReLU has μ₀ = 0.4: without the shift the intercept would be 2 where the channel says 0.4."""
    channel = ww.channels.Probit(0.1, shift=0.4)
    problem, d, alpha = ww.Problem("relu", readouts="homogeneous", channel=channel, gamma=0.5), 60, 2.0
    errors, runs = errors_of(problem, d, alpha, range(6))
    assert_near(errors, state_evolution(problem, alpha, d=d).excess_error[-1], finite_size=4 / d)
    intercepts = np.array([float(run.trace["intercept"].values[0, -1]) for run in runs])
    assert abs(intercepts.mean() - 0.4) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("activation", "weights", "readouts"),
    [
        ("relu", "gaussian", "homogeneous"),
        ("relu", "rademacher", "rademacher"),
        ("elu", "gaussian", "gaussian"),
        ("elu", "rademacher", "homogeneous"),
    ],
)
def test_the_universal_curve_at_d_150(activation, weights, readouts):
    """Two standard errors and 3/d beside the linear part's cost; the example has all twelve and larger d.

    For Gaussian weights the rest is 0 within 1/d; for binary ones it came out between 1/d and 3.7/d, ± 1/d.
    """
    problem = ww.Problem(activation, weights, readouts, 0.1, 0.5)
    errors, _ = errors_of(problem, 150, 1.0, range(8))
    exact = state_evolution(problem, 1.0, d=150).excess_error[-1]
    assert_near(errors, exact, finite_size=(1 if weights == "gaussian" else 3) / 150, n_sigma=2.0)


@pytest.mark.slow
def test_the_finite_size_term_shrinks():
    problem, alpha = ww.Problem("relu", readouts="rademacher", channel=0.1, gamma=0.5), 1.0
    limit = state_evolution(problem, alpha).excess_error[-1]
    terms = []
    for d, n_seeds in ((40, 16), (80, 8), (160, 4)):
        errors, _ = errors_of(problem, d, alpha, range(n_seeds))
        terms.append((d * (errors.mean() / limit - 1), d * errors.std(ddof=1) / limit / np.sqrt(n_seeds)))
    # d times the relative excess is one constant, that of the linear part and about 1 more: of order 1/d.
    linear = 160 * (state_evolution(problem, alpha, d=160).excess_error[-1] / limit - 1)
    for value, error in terms:
        assert abs(value - linear) < 2 + 3 * error, terms


@pytest.mark.slow
@pytest.mark.parametrize("readouts", ["homogeneous", "gaussian"])
def test_empirical_shrinkage_costs_less_than_three_per_cent_at_d_200(readouts):
    problem = ww.Problem("relu", readouts=readouts, channel=0.1, gamma=0.5)
    ratios = []
    for seed in range(3):
        instance = sample_instance(problem, 200, 1.0, seed)
        known, empirical = (gamp_rie(instance, denoiser=name).excess_error for name in ("known", "empirical"))
        ratios.append(empirical / known)
    assert np.mean(ratios) < 1.03


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("law", ["gaussian", "uniform", "four-point"])
def test_the_smallest_dimensions_have_an_answer(d, law):
    """One hidden unit included, for which a quantile of a symmetric law would be 0."""
    run = ww.learners.gamp_rie(ww.sample_instance(ww.Problem("relu", readouts=law, gamma=0.6), d, 1.7))
    assert np.isfinite(run.excess_error)

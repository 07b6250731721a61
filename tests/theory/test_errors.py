"""Error measures: against the replica series of Result 2, closed forms, and a Monte Carlo of (λ⁰, λ¹)."""

import itertools
import math

import numpy as np
import pytest

import widthwise as ww
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
)
from widthwise.theory.errors import KINDS, MEASURES, channel_error, error_at, gap_of_error

GAP, POWER = 0.17, 0.62


def replica_series(channel, coefficients, prediction, gap=GAP, power=POWER):
    """E Σ_i c_i(y) Π_{a≤i} f(λᵃ) over jointly Gaussian replicas of covariance q + (r - q)δ, as in Result 2.

    By tensor Gauss–Hermite in the Cholesky factor of the covariance: no common field is used.
    """
    x, w = np.polynomial.hermite_e.hermegauss(22)
    w = w / w.sum()
    total = 0.0
    for i, c in enumerate(coefficients):
        size = i + 1
        covariance = np.full((size, size), power - gap) + gap * np.eye(size)
        factor = np.linalg.cholesky(covariance)
        nodes = np.array(list(itertools.product(x, repeat=size))) @ factor.T + channel.centre
        weights = np.prod(np.array(list(itertools.product(w, repeat=size))), axis=1)
        y, p = channel.predictive(nodes[:, 0], 0.0, power)
        mean = np.sum(p * c(y), axis=1)
        total += weights @ (mean * np.prod(prediction(nodes[:, 1:]), axis=1))
    return float(total)


@pytest.mark.parametrize(
    "channel", [Gaussian(0.2), Probit(0.4, shift=0.2), Logistic(1.5), Poisson(0.8)], ids=repr
)
@pytest.mark.parametrize("degree", [2, 3])
def test_replica_series(channel, degree):
    # C(y, m) = (y - m)^degree expanded in powers of m; 22 Hermite nodes leave 1e-8 in these averages.
    def coefficient(i):
        return lambda y: math.comb(degree, i) * (-1) ** i * y ** (degree - i)

    series = replica_series(channel, [coefficient(i) for i in range(degree + 1)], np.sin)
    exact = channel_error(channel, GAP, POWER, lambda y, m: (y - m) ** degree, prediction=np.sin)
    assert exact == pytest.approx(series, rel=1e-6, abs=1e-8)


EVERY_SORT = [
    Gaussian(0.2),
    StudentT(0.2, 6.0),
    Probit(0.1),
    Sign(),
    Logistic(3.0, shift=0.3),
    Poisson(2.0),
    Nonlinear("tanh(2*x)", 0.1),
]


@pytest.mark.parametrize("channel", EVERY_SORT, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_square_cost_is_the_mean_square_error(channel, kind):
    cost = channel_error(channel, GAP, POWER, lambda y, m: (y - m) ** 2, kind)
    assert cost == pytest.approx(channel_error(channel, GAP, POWER, "mean-square", kind), rel=1e-8)


def test_closed_forms():
    # Gaussian noise: all four measures; sign: the angle between λ and its prediction.
    noise, total = 0.2, 0.2 + GAP
    gaussian = Gaussian(noise)
    assert channel_error(gaussian, GAP, POWER, "absolute") == pytest.approx(math.sqrt(2 * total / math.pi))
    double = channel_error(gaussian, GAP, POWER, "absolute", "gibbs")
    assert double == pytest.approx(math.sqrt(2 * (noise + 2 * GAP) / math.pi))
    entropy = 0.5 * math.log(2 * math.pi * math.e * total)
    assert channel_error(gaussian, GAP, POWER, "cross-entropy") == pytest.approx(entropy)
    q = POWER - GAP
    bayes, gibbs = (channel_error(Sign(), GAP, POWER, "zero-one", kind) for kind in KINDS)
    assert bayes == pytest.approx(math.acos(math.sqrt(q / POWER)) / math.pi, rel=1e-10)
    assert gibbs == pytest.approx(math.acos(q / POWER) / math.pi, rel=1e-10)
    noisy = channel_error(Probit(0.3), GAP, POWER, "zero-one")
    assert noisy == pytest.approx(math.acos(math.sqrt(q / (POWER + 0.3))) / math.pi, rel=1e-10)
    assert channel_error(Sign(), GAP, POWER, "absolute") == pytest.approx(2 * bayes)
    assert channel_error(Sign(), GAP, POWER, "cross-entropy", "gibbs") == math.inf


def test_sign_errors_near_perfect_learning():
    # arccos(√(1 - x)) = √x (1 + x/6 + ...): relative digits are kept at any gap.
    for gap in (1e-4, 1e-10, 1e-20):
        small = channel_error(Sign(), gap, POWER, "zero-one")
        x = gap / POWER
        assert small == pytest.approx(math.sqrt(x) * (1 + x / 6) / math.pi, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_absolute_error_of_an_outer_function(kind):
    # The identity as outer function is Gaussian noise; a custom channel has its panels elsewhere.  Medians
    # fall between the nodes, where polynomials of degree 15 are good to about 1e-8.
    exact = channel_error(Gaussian(0.2), GAP, POWER, "absolute", kind)
    assert channel_error(Nonlinear("x", 0.2), GAP, POWER, "absolute", kind) == pytest.approx(exact, rel=3e-8)
    custom = Custom(lambda y, x: Gaussian(0.2).log_likelihood(y, x), support=(-math.inf, math.inf))
    assert channel_error(custom, GAP, POWER, "absolute", kind) == pytest.approx(exact, rel=3e-8)


def monte_carlo(channel, measure, kind, rng, n=400_000):
    """Costs of n labels in the Gaussian-equivalent model."""
    q = POWER - GAP
    omega = channel.centre + math.sqrt(q) * rng.standard_normal(n)
    truth, draw = (omega + math.sqrt(GAP) * rng.standard_normal(n) for _ in range(2))
    y = channel.sample(rng, truth)
    if measure == "cross-entropy" and kind == "gibbs":
        return -channel.log_likelihood(y, draw)
    grid = np.linspace(
        omega.min() - 1.5, omega.max() + 1.5, 4001
    )  # laws at a node are used for its neighbours
    labels, p = channel.predictive(grid, GAP if kind == "bayes" else 0.0, POWER)
    at = np.searchsorted(grid, omega if kind == "bayes" else np.clip(draw, grid[0], grid[-1]))
    if measure == "zero-one":
        return (y != labels[np.argmax(p, axis=1)][at]).astype(float)
    if measure == "mean-square":
        return (y - np.sum(p * labels, axis=1)[at]) ** 2
    if measure == "absolute":
        median = labels[np.argmax(np.cumsum(p, axis=1) >= 0.5, axis=1)]
        return np.abs(y - median[at])
    return -np.log(p[at, np.searchsorted(labels, y)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("channel", [Probit(0.15, shift=-0.2), Logistic(2.5), Poisson(1.5)], ids=repr)
def test_monte_carlo(channel, measure, kind):
    costs = monte_carlo(channel, measure, kind, np.random.default_rng(11))
    exact = channel_error(channel, GAP, POWER, measure, kind)
    z = (costs.mean() - exact) / (costs.std(ddof=1) / math.sqrt(costs.size))
    assert abs(z) < 4, f"mean {costs.mean():.5g}, exact {exact:.5g}: {z:.1f} standard errors"
    if measure == "zero-one":  # the test can fail: another gap is told apart
        other = channel_error(channel, 0.8 * GAP, POWER, measure, kind)
        assert abs(other - exact) > 2 * costs.std() / math.sqrt(costs.size)


@pytest.mark.parametrize("channel", [Probit(0.1), Logistic(3.0), Poisson(2.0), Laplace(0.1)], ids=repr)
def test_order(channel):
    """Bayes is below Gibbs, and errors grow with the gap."""
    for measure in MEASURES:
        if measure == "zero-one" and not channel.is_discrete:
            continue
        bayes, gibbs = (
            [channel_error(channel, gap, POWER, measure, kind) for gap in (1e-6, 0.05, 0.3, POWER)]
            for kind in KINDS
        )
        assert np.all(np.diff(bayes) > 0) and np.all(np.array(bayes) <= np.array(gibbs) + 1e-12)
        assert gibbs[0] == pytest.approx(bayes[0], rel=1e-2)


def test_prediction_with_a_kink():
    # E|f(λ)| of the posterior mean of |λ|: split at the kink it is exact, here against a dense sum.
    channel = Gaussian(0.1)
    exact = channel_error(channel, GAP, POWER, lambda y, m: m + 0 * y, prediction=np.abs, kinks=[0.0])
    assert exact == pytest.approx(math.sqrt(2 * POWER / math.pi), rel=1e-10)


def test_solutions_and_curves():
    problem = ww.Problem("tanh(2*x)", readouts="rademacher", channel="probit:0.1")
    curve = ww.learning_curve(problem, [1.0, 6.0, 9.0])
    errors = ww.error(curve, "zero-one")
    assert errors.shape == (3,) and np.all(np.diff(errors) < 0)
    assert ww.error(curve[1], "zero-one") == pytest.approx(errors[1])
    np.testing.assert_allclose(ww.error(curve), curve.bayes_error)
    np.testing.assert_allclose(ww.error(curve, kind="gibbs"), curve.gibbs_error)
    missing = ww.learning_curve(problem, [0.5], branch="specialised")
    assert np.isnan(ww.error(missing, "zero-one")).all()


def test_a_problem_alone_has_no_error():
    with pytest.raises(TypeError, match="error takes a solution or a curve, as in .*; got Problem"):
        ww.error(ww.Problem(), "zero-one")


def test_messages():
    problem = ww.Problem("tanh", channel=0.1)
    solution = ww.solve(problem, 1.0)
    for arguments, words in [
        (("zero-on",), "did you mean 'zero-one'"),
        (("zero-one",), "needs single labels"),
        (("absolute", "mean"), "bayes, gibbs"),
    ]:
        with pytest.raises(ValueError, match=words):
            ww.error(solution, *arguments)
    with pytest.raises(ValueError, match="only with a cost"):
        ww.error(solution, "absolute", prediction=np.sin)


@pytest.mark.parametrize(("name", "kind"), [("zero-one", "bayes"), ("gibbs-cross-entropy", "gibbs")])
def test_curves_carry_the_error_asked_for(name, kind):
    problem = ww.Problem("relu", readouts="rademacher", channel="probit:0.1", gamma=1.7)
    curve = ww.learning_curve(problem, [0.7, 3.0], error=name)
    exact = ww.error(curve, name.removeprefix("gibbs-"), kind)
    np.testing.assert_array_equal(curve.error, exact)
    assert ww.solve(problem, 3.0, error=name).error == pytest.approx(exact[1], rel=1e-9)
    column = f"{name.replace('-', '_')}_error"
    np.testing.assert_array_equal(curve.to_xarray()[column], exact)
    assert [row[column] for row in curve.to_dicts()] == exact.tolist() and curve[1:].error_name == name
    plain = ww.learning_curve(problem, [0.7])
    assert plain.error_name == "" and column not in plain.to_dicts()[0] and np.isnan(plain.error).all()


def test_gap_of_an_error():
    problem = ww.Problem("relu", readouts="rademacher", channel="probit:0.1")
    gap = gap_of_error(problem, "zero-one", 0.2)
    assert float(error_at(problem, gap, "zero-one")) == pytest.approx(0.2, rel=1e-10)
    floor, ceiling = error_at(problem, [0.0, problem.output_power], "zero-one")
    assert gap_of_error(problem, "zero-one", floor) == 0
    assert gap_of_error(problem, "zero-one", ceiling) == math.inf
    assert ceiling == pytest.approx(0.5) and floor == pytest.approx(
        math.atan(math.sqrt(0.1 / problem.output_power)) / math.pi, rel=1e-9
    )


@pytest.mark.parametrize(
    ("channel", "name", "words"),
    [
        (0.1, "zero-one", "needs single labels"),
        ("sign", "gibbs-zero-on", "did you mean 'gibbs-zero-one'"),
        ("sign", "accuracy", "choose from mean-square, zero-one"),
    ],
)
def test_errors_that_do_not_fit(channel, name, words):
    problem = ww.Problem("tanh", channel=channel)
    with pytest.raises(ValueError, match=words):
        ww.learning_curve(problem, [1.0], error=name)

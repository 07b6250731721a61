"""The saddle point with channels other than Gaussian noise: limits, identities, transitions."""

import math

import numpy as np
import pytest

import widthwise as ww
from widthwise.ingredients.channels import Custom, Gaussian

CHANNELS = [
    "probit:0.1",
    "sign",
    "logistic:3",
    "laplace:0.1",
    "student-t:0.1,5",
    "poisson:3",
    "nonlinear:tanh(2*x),0.1",
]


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("activation", ["relu", "tanh(2*x)"])
def test_solutions_are_stationary(channel, activation):
    problem = ww.Problem(activation, readouts="rademacher", channel=channel, gamma=0.7)
    for solution in ww.solutions(problem, 5.0):
        gap = solution.excess_error
        slope = float(problem.channel.free_entropy_slope(gap, problem.output_power))
        _, _, mu2 = problem.hermite
        assert solution.matrix_overlap_hat == pytest.approx(2 * 5.0 * mu2**2 * slope, rel=1e-9, abs=1e-12)
        assert 0 < solution.mutual_information
        assert solution.bayes_error <= solution.gibbs_error


@pytest.mark.parametrize("channel", ["probit:0.1", "logistic:3", "laplace:0.1"])
def test_free_entropy_along_alpha(channel):
    """d(αf)/dα = ψ_out at a stationary point: all other terms of αf do not depend on α."""
    problem = ww.Problem("relu", readouts="rademacher", channel=channel, gamma=0.4)
    alpha, step = 6.0, 0.01
    curve = ww.learning_curve(problem, [alpha - step, alpha, alpha + step])
    assert len(set(curve.branch)) == 1
    slope = np.diff(curve.alpha[[0, 2]] * curve.free_entropy[[0, 2]])[0] / (2 * step)
    exact = problem.channel.free_entropy(curve.excess_error[1], problem.output_power)
    assert slope == pytest.approx(float(exact), rel=1e-6)


def test_information_of_binary_labels_is_bounded():
    """A binary label carries at most ln 2: I/(kd) <= (α/γ) ln 2; and Rademacher weights hold at most ln 2."""
    problem = ww.Problem("tanh(2*x)", weights="rademacher", readouts="rademacher", channel="probit:0.02")
    curve = ww.learning_curve(problem, [0.05, 0.3, 2.0, 20.0])
    assert np.all(curve.mutual_information < curve.alpha / problem.gamma * math.log(2))
    assert np.all(np.diff(curve.mutual_information) > 0)
    assert curve.mutual_information[-1] == pytest.approx(math.log(2), abs=1e-3)
    assert np.all(curve.mutual_information < math.log(2) + 1e-12)


def test_custom_gaussian_gives_the_gaussian_curve():
    custom = Custom(lambda y, x: Gaussian(0.2).log_likelihood(y, x), support=(-math.inf, math.inf), shift=0.0)
    alphas = [0.3, 1.0, 3.0]
    plain, general = (
        ww.learning_curve(ww.Problem("relu", readouts="rademacher", channel=c), alphas) for c in (0.2, custom)
    )
    np.testing.assert_allclose(general.excess_error, plain.excess_error, rtol=1e-9)
    np.testing.assert_allclose(general.mutual_information, plain.mutual_information, rtol=1e-8)


def test_noise_to_zero():
    """Probit tends to sign: the whole curve, with a deviation of first order in the noise."""
    alphas = [0.5, 2.0, 5.0]
    base = ww.Problem("relu", readouts="rademacher", channel="sign")
    exact = ww.error(ww.learning_curve(base, alphas), "zero-one")
    off = [
        np.abs(
            ww.error(ww.learning_curve(base.replace(channel=f"probit:{noise}"), alphas), "zero-one") - exact
        ).max()
        for noise in (1e-5, 1e-7)
    ]
    assert off[0] < 1e-3 and off[1] < 0.02 * off[0]


def test_large_noise_matches_gaussian_of_equal_fisher_information():
    """At noise Δ → ∞ a sign with noise teaches as much as Gaussian noise of variance πΔ/2, up to O(1/Δ)."""
    off = []
    for noise in (30.0, 300.0):
        alphas = noise * np.array([1.0, 4.0])
        base = ww.Problem("relu", readouts="rademacher", channel=f"probit:{noise}")
        matched = base.replace(channel=math.pi * noise / 2)
        gap, other = (ww.learning_curve(p, alphas).excess_error for p in (base, matched))
        off.append(np.abs(gap / other - 1).max())
    assert off[0] < 0.05 and off[1] < 0.12 * off[0]


@pytest.mark.slow
def test_transition_of_noisy_sign():
    """More noise, later transition; the error is constant before it for an odd activation."""
    onsets = []
    for channel in ("sign", "probit:0.05", "probit:0.1"):
        problem = ww.Problem("tanh(2*x)", readouts="rademacher", channel=channel)
        found = ww.transitions(problem, alpha_max=12.0)
        assert len(found) == 1
        onsets.append(found[0].alpha)
        before = ww.learning_curve(problem, [0.2 * onsets[-1], 0.9 * onsets[-1]])
        assert before.branch[1] == "universal"
        errors = ww.error(before, "zero-one")
        assert errors[0] == pytest.approx(errors[1], rel=1e-9)
    assert np.all(np.diff(onsets) > 0)


def test_shift_of_the_output():
    """Unbalanced classes carry less information: the gap grows with |mean output|."""
    gaps = [
        ww.solve(
            ww.Problem("relu", readouts="homogeneous", channel=f"probit:0.1,shift={shift}"), 3.0
        ).excess_error
        for shift in (0.0, 0.4, -0.4)
    ]
    assert gaps[1] == pytest.approx(gaps[2], rel=1e-8) and gaps[0] < gaps[1]


def test_perfect_learning_of_binary_weights():
    """Noiseless labels fix binary weights: the error jumps to 0 where information would pass ln 2."""
    problem = ww.Problem("tanh(2*x)", weights="rademacher", readouts="rademacher", channel="sign")
    curve = ww.learning_curve(problem, np.linspace(0.4, 3.0, 27))
    assert np.all(curve.mutual_information <= math.log(2) + 1e-12)
    is_perfect = curve.excess_error == 0
    assert not is_perfect[0] and is_perfect[-1] and np.all(np.diff(is_perfect.astype(int)) >= 0)
    # It costs at least ln 2 of information for each of the kd weights, at most ln 2 a label.
    assert curve.alpha[is_perfect][0] > problem.gamma
    assert ww.error(curve, "zero-one")[-1] == pytest.approx(0, abs=1e-100)
    # A little noise gives nearly the same.
    noisy = ww.learning_curve(problem.replace(channel="probit:1e-4"), curve.alpha[is_perfect][1:])
    assert np.all(noisy.excess_error < 1e-6)
    np.testing.assert_allclose(noisy.mutual_information, math.log(2), atol=1e-3)


def test_several_universal_solutions():
    """Labels that depend on |λ|: a state that has learnt nothing beside others, all of them stationary."""

    def in_band(y, x):
        p = 0.02 + 0.96 * (np.abs(x) > 0.67)
        return np.log(np.where(y > 0, p, 1 - p))

    channel = Custom(in_band, labels=[-1, 1], breaks=[-0.67, 0.67])
    problem = ww.Problem("he2(x)/sqrt(2)", readouts="rademacher", channel=channel)
    (only,) = ww.solutions(problem, 0.5)
    assert only.excess_error == pytest.approx(problem.output_power) and only.is_stable
    found = [s for s in ww.solutions(problem, 0.78) if s.branch == "universal"]
    assert (
        len(found) == 4
        and [s.is_stable for s in sorted(found, key=lambda s: s.excess_error)] == [True, False] * 2
    )
    for s in found:
        slope = float(channel.free_entropy_slope(s.excess_error, problem.output_power))
        assert s.matrix_overlap_hat == pytest.approx(
            2 * 0.78 * problem.hermite[2] ** 2 * slope, rel=1e-8, abs=1e-7
        )


def three_classes(y, x):
    return (y - 1) * x - np.log(np.exp(-x) + 1 + np.exp(2 * x))


EVERYWHERE = [
    ("probit:0.1", "relu", "rademacher", 0.3),
    ("sign", "tanh(2*x)", "rademacher", 1.7),
    ("sign", "relu", "gaussian", 0.3),
    ("logistic:3", "relu", "gaussian", 0.3),
    ("laplace:0.1", "tanh(2*x)", "rademacher", 1.7),
    ("student-t:0.1,5", "relu", "rademacher", 0.3),
    ("poisson:3", "relu", "gaussian", 0.3),
    ("nonlinear:tanh(2*x),0.1", "tanh(2*x)", "rademacher", 0.3),
    ("nonlinear:x**2,0.1", "relu", "gaussian", 0.3),
    (Custom(three_classes, labels=[0, 1, 3]), "relu", "gaussian", 0.3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("channel", "activation", "weights", "gamma"), EVERYWHERE, ids=str)
def test_transitions_branches_and_plans(channel, activation, weights, gamma):
    """Three routes to one point: the transition, the branches that meet there, the data a target needs."""
    problem = ww.Problem(activation, weights, "rademacher", channel, gamma)
    found = ww.transitions(problem, alpha_max=9.0)
    branches = ww.trace_branches(problem, (0.1, 9.0), n_points=30)
    at_equilibrium = np.sort(
        [s.alpha for b in branches for s in b if s.is_equilibrium and s.weight_overlap[0] > 0]
    )
    if not found:
        assert at_equilibrium.size == 0
        return
    first = found[0]
    assert (
        at_equilibrium[0] == pytest.approx(first.alpha, rel=0.25) and at_equilibrium[0] >= 0.999 * first.alpha
    )
    before, after = ww.learning_curve(problem, first.alpha * np.array([1 - 1e-4, 1 + 1e-4])).weight_overlap[
        :, 0
    ]
    assert before == 0 < after
    if first.kind == "first-order":
        assert after == pytest.approx(first.overlap_jump, rel=0.02)
        needed = ww.samples_needed(problem, overlap=0.5 * first.overlap_jump)
        assert needed.alpha == pytest.approx(first.alpha, rel=1e-6) and needed.optimum.is_jump
    else:
        assert ww.samples_needed(problem, overlap=1e-3).alpha == pytest.approx(first.alpha, rel=0.02)

"""Few data, n = α₁d: closed forms, the meeting with the main theory, and a regression."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.theory.linear_regime import solve_linear

ASYMMETRIC = ww.readouts.Discrete((-1.2, 0.4, 1.1), (0.3, 0.3, 0.4), normalise=True)
PROBLEM = ww.Problem("elu", readouts=ASYMMETRIC, channel=0.3, gamma=1.7)


def test_equations_of_the_paper():
    """q₁ = q̂₁/(1 + q̂₁), q̂₁ = α₁/(1 + Δ₁ - q₁), whose positive root is a quadratic's."""
    alpha = np.geomspace(1e-3, 1e6, 19)
    found = solve_linear(PROBLEM, alpha)
    mu0, mu1, _ = PROBLEM.hermite
    noise = (0.3 + PROBLEM.activation.second_moment - mu0**2 - mu1**2) / mu1**2
    half = 0.5 * (noise + alpha - 1)
    left = noise / (half + np.sqrt(half**2 + noise))  # 1 - q₁; both roots have opposite signs
    left = np.where(half > 0, left, np.sqrt(half**2 + noise) - half)
    assert found.linear_overlap_hat == pytest.approx(1 / left - 1, rel=1e-9)
    assert found.linear_overlap == pytest.approx(1 - left, rel=1e-9)
    assert found.excess_error == pytest.approx(mu1**2 * (left + noise) - 0.3, rel=1e-12)
    assert found.bayes_error == pytest.approx(0.3 + found.excess_error)
    assert np.all(np.diff(found.excess_error) < 0)


def test_it_begins_with_the_whole_variance_and_ends_where_the_main_theory_begins():
    mu0, _, _ = PROBLEM.hermite
    variance = PROBLEM.activation.second_moment - mu0**2
    assert solve_linear(PROBLEM, 1e-9).excess_error == pytest.approx(variance, rel=1e-8)
    for channel in (0.3, ww.channels.Probit(0.2, shift=0.0), ww.channels.Laplace(0.4)):
        problem = PROBLEM.replace(channel=channel)
        end, beginning = solve_linear(problem, 1e9), ww.solve(problem, 1e-9)
        assert end.linear_overlap == pytest.approx(1, abs=1e-7)
        assert end.excess_error == pytest.approx(beginning.excess_error, rel=1e-7)
        assert end.bayes_error == pytest.approx(beginning.bayes_error, rel=1e-7)


def test_without_a_linear_part_nothing_is_learnt():
    found = solve_linear(ww.Problem("x**2"), [0.5, 50.0])
    assert np.all(found.linear_overlap == 0) and np.all(np.isfinite(found.excess_error))


def test_ridge_regression_on_a_network_reaches_it():
    """The estimator of the paper on ReLU networks, d = 240, α₁ = 3, balanced readouts (no constant)."""
    rng = np.random.default_rng(5)
    d, k, alpha, noise = 240, 120, 3.0, 0.1
    n = round(alpha * d)
    problem = ww.Problem("relu", readouts="rademacher", channel=noise, gamma=k / d)
    mu0, mu1, _ = problem.hermite
    ridge = (noise + problem.activation.second_moment - mu0**2 - mu1**2) / mu1**2
    v = np.repeat([1.0, -1.0], k // 2)
    errors = []
    for _ in range(12):
        weights = rng.standard_normal((k, d))
        x = rng.standard_normal((d, n))
        y = v @ np.maximum(weights @ x / np.sqrt(d), 0) / np.sqrt(k) + np.sqrt(noise) * rng.standard_normal(n)
        estimate = np.linalg.solve(x @ x.T / d + ridge * np.eye(d), x @ y / (mu1 * np.sqrt(d)))
        errors.append(np.mean((estimate - weights.T @ v / np.sqrt(k)) ** 2))
    errors = np.array(errors)
    exact = 1 - solve_linear(problem, alpha).linear_overlap
    # 4 standard errors of 12 independent networks, and 1/d for the finite size
    assert abs(errors.mean() - exact) < 4 * errors.std(ddof=1) / np.sqrt(errors.size) + 1 / d


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="alpha_linear must be > 0"):
        solve_linear(PROBLEM, alpha)

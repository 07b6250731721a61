"""Optimal shrinkage: identities, behaviour outside the support, random matrices."""

import math

import numpy as np
import pytest

from denoising.laws import ASYMMETRIC, DISCRETE, WITH_ZERO
from widthwise.denoising import MatrixDenoiser, inversion
from widthwise.ingredients.readouts import resolve as law_of

EVERY = DISCRETE | {"uniform": "uniform"}
FEW = {name: law for name, law in EVERY.items() if name != "64 atoms"}


def denoised_error(law, gamma, snr, d, rng):
    """‖estimate - S̄‖²/d of one random matrix whose eigenvalues are shrunk."""
    k = round(gamma * d)
    w = rng.standard_normal((k, d))
    signal = (w.T * law_of(law).quantiles(k)) @ w / math.sqrt(k * d)
    noise = rng.standard_normal((d, d))
    noisy = math.sqrt(snr) * signal + (noise + noise.T) / math.sqrt(2 * d)
    eigenvalues, vectors = np.linalg.eigh(noisy)
    estimate = (vectors * MatrixDenoiser(law, k / d).shrink(eigenvalues, snr)) @ vectors.T
    return float(np.sum((estimate - signal) ** 2)) / d


def assert_agrees(samples, exact, bias=0.0, n_sigma=4.0):
    error = samples.std(ddof=1) / math.sqrt(samples.size)
    distance = max(abs(samples.mean() - exact) - bias, 0)
    assert distance < n_sigma * error, f"mean {samples.mean():.6g}, exact {exact:.6g}, error {error:.1g}"


@pytest.mark.parametrize("snr", [0.15, 4.0])
@pytest.mark.parametrize("law", FEW.values(), ids=FEW)
def test_mean_and_power_of_the_estimate(law, snr):
    # E ξ = s v̄ and E ξ² = 1 + γv̄² - mmse: the posterior mean keeps the mean and is orthogonal to its error.
    gamma, n = 0.3, 4000
    denoiser = MatrixDenoiser(law, gamma)
    theta = (np.arange(n) + 0.5) * math.pi / n
    totals = np.zeros(2)
    for low, high in denoiser.support(snr):
        y = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(theta)
        rho = denoiser.density(y, snr) * 0.5 * (high - low) * np.sin(theta) * math.pi / n
        xi = denoiser.shrink(y, snr)
        totals += rho @ xi, rho @ xi**2
    mean = law_of(law).mean
    assert totals[0] == pytest.approx(math.sqrt(gamma) * mean, abs=1e-8)
    assert totals[1] == pytest.approx(1 + gamma * mean**2 - denoiser.mmse(snr), abs=1e-8)


def test_a_gaussian_matrix_is_scaled():
    y = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(
        MatrixDenoiser("rademacher", 1e10).shrink(y, 3.0), y * math.sqrt(3.0) / 4, atol=1e-4
    )


def test_without_data_it_is_the_mean():
    denoiser = MatrixDenoiser(ASYMMETRIC, 0.3)
    np.testing.assert_allclose(denoiser.shrink([-1.0, 0.0, 2.5], 0.0), math.sqrt(0.3) * ASYMMETRIC.mean)


@pytest.mark.parametrize("snr", [0.4, 30.0])
@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_increasing_and_continuous(law, snr):
    denoiser = MatrixDenoiser(law, 0.3)
    bands = denoiser.support(snr)
    low, high = bands[0][0], bands[-1][1]
    y = np.linspace(low - 3, high + 3, 2001)
    xi = denoiser.shrink(y, snr)
    assert np.all(np.isfinite(xi)) and np.all(np.diff(xi) > 0)
    # Continuous at every edge, with a square root inside: 1e-9 outside or inside moves it by 1e-4 at most.
    for band in bands:
        for edge in band:
            around = denoiser.shrink([edge - 1e-9, edge, edge + 1e-9], snr)
            assert np.ptp(around) < 2e-4
    # Far away the noise is negligible beside the signal that must be there.
    far = np.array([-1e6, 1e6])
    np.testing.assert_allclose(denoiser.shrink(far, snr), far / math.sqrt(snr), rtol=1e-3)


def bracketed_only(monkeypatch):
    nothing = lambda poles, x, c0: (np.zeros(x.size, dtype=complex), np.zeros(x.size, dtype=bool))  # noqa: E731
    monkeypatch.setattr(inversion, "_complex_newton", nothing)
    monkeypatch.setattr(inversion, "_real_newton", nothing)


@pytest.mark.parametrize("snr", [1e-3, 0.4, 6.0, 1e3])
@pytest.mark.parametrize("law", (FEW | {"gaussian": "gaussian"}).values(), ids=[*FEW, "gaussian"])
def test_newton_and_the_bracketed_search_agree(law, snr, monkeypatch):
    """Inside bands, in gaps, beyond the ends and next to edges; to rounding, which edges amplify."""
    gamma = 0.3
    denoiser = MatrixDenoiser(law, gamma)
    reach = 3 + math.sqrt(snr) * (2 * math.sqrt(gamma) + 2 / math.sqrt(gamma) + 2)
    y = np.linspace(-reach, reach, 101)
    edges = np.array(denoiser.support(snr)).ravel()
    if np.isfinite(edges).all():
        near = [edges + sign * step for sign in (-1, 1) for step in (1e-4, 1e-2)]
        y = np.concatenate([y, *near])
    fast, density = denoiser.shrink(y, snr), denoiser.density(y, snr)
    bracketed_only(monkeypatch)
    np.testing.assert_allclose(fast, denoiser.shrink(y, snr), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(density, denoiser.density(y, snr), rtol=1e-8, atol=1e-10)


def test_the_search_is_hardly_ever_needed(monkeypatch):
    """For the eigenvalues of random matrices; should Newton's method fail more often, speed is lost."""
    asked = []
    search = inversion._bracketed
    monkeypatch.setattr(inversion, "_bracketed", lambda *a: asked.append(a[1].size) or search(*a))
    rng = np.random.default_rng(5)
    for law in ("homogeneous", "rademacher", "gaussian", ASYMMETRIC):
        for snr in (0.3, 3.0, 30.0):
            denoised_error(law, 0.5, snr, 100, rng)
    assert sum(asked) <= 6  # of 1200


def test_gaussian_readouts_in_the_tails():
    y = np.linspace(-40, 40, 801)
    xi = MatrixDenoiser("gaussian", 0.3).shrink(y, 2.0)
    assert np.all(np.isfinite(xi)) and np.all(np.diff(xi) > 0)
    np.testing.assert_allclose(xi, -xi[::-1], atol=1e-9)


@pytest.mark.parametrize(
    ("law", "gamma", "snr"), [(ASYMMETRIC, 0.3, 1.5), (WITH_ZERO, 1.7, 0.6), ("gaussian", 0.3, 8.0)]
)
def test_random_matrices(law, gamma, snr):
    # 12 replicas at d = 300. The finite-size bias is of order 1/d (edges and width): 1/d is allowed.
    d = 300
    rng = np.random.default_rng(29)
    errors = np.array([denoised_error(law, gamma, snr, d, rng) for _ in range(12)])
    assert_agrees(errors, MatrixDenoiser(law, round(gamma * d) / d).mmse(snr), bias=1 / d)


def test_that_test_can_fail():
    # The estimator of the wrong snr is worse by more than the errors admit.
    d, snr = 300, 1.5
    rng = np.random.default_rng(29)
    errors = np.array([denoised_error(ASYMMETRIC, 0.3, snr, d, rng) for _ in range(6)])
    with pytest.raises(AssertionError):
        assert_agrees(errors, MatrixDenoiser(ASYMMETRIC, 0.3).mmse(1.1 * snr), bias=1 / d)


@pytest.mark.slow
def test_a_large_random_matrix():
    # One matrix of 3000 x 3000. Linear statistics of eigenvalues fluctuate by O(1/d) only, the mean
    # is off by O(1/d) as well: 3/d, relative to a power of 1, holds both.
    d, gamma, snr = 3000, 0.3, 1.5
    error = denoised_error(ASYMMETRIC, gamma, snr, d, np.random.default_rng(31))
    assert error == pytest.approx(MatrixDenoiser(ASYMMETRIC, gamma).mmse(snr), abs=3 / d)

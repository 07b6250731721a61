"""Spectrum of Y: mass, moments, edges, polynomial roots, random matrices, bands that touch."""

import math

import numpy as np
import pytest

import oracles
from denoising.laws import ASYMMETRIC, DISCRETE, WITH_ZERO, touching_snr
from widthwise.denoising import MatrixDenoiser
from widthwise.ingredients.readouts import Discrete
from widthwise.ingredients.readouts import resolve as law_of

each_discrete = pytest.mark.parametrize("law", DISCRETE.values(), ids=DISCRETE)


def band_integrals(denoiser, snr, functions, n=600):
    """∫ρ f dy with y = m + h cos θ on each band: spectrally accurate for square-root ends."""
    theta = (np.arange(n) + 0.5) * math.pi / n
    totals = np.zeros(len(functions))
    for low, high in denoiser.support(snr):
        y = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(theta)
        rho = denoiser.density(y, snr) * 0.5 * (high - low) * np.sin(theta) * math.pi / n
        totals += [np.sum(rho * f(y)) for f in functions]
    return totals


MOMENTS = [np.ones_like, lambda y: y, lambda y: y * y]


@each_discrete
@pytest.mark.parametrize("gamma", [0.3, 1.7])
@pytest.mark.parametrize("snr", [0.07, 1.9, 60.0])
def test_mass_mean_and_variance(law, gamma, snr):
    # 600 nodes resolve every band of these spectra to 1e-9, save the crowded ones of 64 atoms.
    tolerance = 1e-6 if law is DISCRETE["64 atoms"] else 1e-8
    denoiser = MatrixDenoiser(law, gamma)
    mass, first, second = band_integrals(denoiser, snr, MOMENTS)
    mean = math.sqrt(gamma * snr) * law_of(law).mean
    assert mass == pytest.approx(1, abs=tolerance)
    assert first == pytest.approx(mean, abs=tolerance * (1 + abs(mean)))
    assert second - mean**2 == pytest.approx(snr + 1, rel=tolerance)


@pytest.mark.parametrize("gamma", [0.3, 1.7])
def test_uniform_moments(gamma):
    mass, first, second = band_integrals(MatrixDenoiser("uniform", gamma), 1.9, MOMENTS)
    np.testing.assert_allclose([mass, first, second], [1, 0, 2.9], atol=1e-9)


def test_gaussian_moments():
    # Unbounded: the trapezoid on a line where nothing is left beyond |y| = 30.
    y = np.linspace(-30, 30, 6001)
    rho = MatrixDenoiser("gaussian", 1.7).density(y, 1.9) * 0.01
    np.testing.assert_allclose([rho.sum(), rho @ y, rho @ y**2], [1, 0, 2.9], atol=1e-9)


@pytest.mark.parametrize("snr", [0.4, 30.0])
@pytest.mark.parametrize("law", [ASYMMETRIC, WITH_ZERO], ids=["asymmetric", "with-zero"])
def test_density_is_that_of_the_polynomial(law, snr):
    gamma = 0.3
    denoiser = MatrixDenoiser(law, gamma)
    for low, high in denoiser.support(snr):
        y = low + (high - low) * np.array([0.03, 0.2, 0.51, 0.77, 0.96])
        exact = [oracles.density(law.values, law.probabilities, gamma, snr, x) for x in y]
        np.testing.assert_allclose(denoiser.density(y, snr), exact, rtol=1e-8)


@each_discrete
def test_density_vanishes_as_a_root_at_every_edge(law):
    denoiser = MatrixDenoiser(law, 0.3)
    bands = denoiser.support(8.0)
    assert all(low < high for low, high in bands)
    assert all(a[1] < b[0] for a, b in zip(bands, bands[1:], strict=False))
    for low, high in bands:
        step = (high - low) * np.array([1e-10, 4e-10])
        for inside in (low + step, high - step):
            near, far = denoiser.density(inside, 8.0)
            assert far / near == pytest.approx(2.0, rel=1e-2)  # a square root; y itself is rounded
        outside = denoiser.density([low - 1e-8 * (high - low), high + 1e-8 * (high - low)], 8.0)
        np.testing.assert_array_equal(outside, 0.0)


def test_without_signal_it_is_the_semicircle():
    denoiser = MatrixDenoiser(ASYMMETRIC, 0.3)
    assert denoiser.support(0.0) == [(-2.0, 2.0)]
    x = np.array([-2.5, -1.3, 0.2, 1.999])
    semicircle = np.sqrt(np.maximum(4 - x**2, 0)) / (2 * math.pi)
    np.testing.assert_allclose(denoiser.density(x, 0.0), semicircle, atol=1e-15)
    np.testing.assert_allclose(denoiser.density(x, 1e-13), semicircle, atol=1e-6)


def test_very_wide_networks_give_a_semicircle():
    # γ -> ∞ makes S̄ - its mean a GOE matrix; the third moment leaves 1/√γ.
    denoiser, snr = MatrixDenoiser("rademacher", 1e10), 3.0
    x = np.linspace(-3.9, 3.9, 9)
    np.testing.assert_allclose(denoiser.density(x, snr), np.sqrt(16 - x**2) / (8 * math.pi), atol=1e-8)


@pytest.mark.parametrize("scalar", [0.3, np.float64(0.3)])
def test_scalars_give_scalars(scalar):
    denoiser = MatrixDenoiser("four-point", 0.7)
    for value in (denoiser.density(scalar, 1.0), denoiser.shrink(scalar, 1.0), denoiser.mmse(scalar)):
        assert isinstance(value, float)
    assert denoiser.density(np.zeros((2, 3)), 1.0).shape == (2, 3)


@pytest.mark.parametrize(
    ("law", "low", "high"),
    [("homogeneous", 0.1, 20.0), (ASYMMETRIC, 1.0, 40.0)],
    ids=["homogeneous", "asymmetric"],
)
def test_bands_touch_at_one_snr(law, low, high):
    denoiser = MatrixDenoiser(law, 0.3)
    snr = touching_snr(denoiser, low, high)
    wide = denoiser.support(snr * (1 + 1e-6))
    joined = denoiser.support(snr * (1 - 1e-6))
    assert len(wide) == len(joined) + 1
    gap = min(b[0] - a[1] for a, b in zip(wide, wide[1:], strict=False))
    assert 0 < gap < 1e-7  # opens as the 3/2 power of the excess
    # The outer ends move by 2e-6 of themselves, as √η does.
    assert joined[0][0] == pytest.approx(wide[0][0], rel=1e-5)
    assert joined[-1][1] == pytest.approx(wide[-1][1], rel=1e-5)


def random_spectrum(law, gamma, snr, d, rng):
    """S̄ and Y = √η S̄ + Z of size d."""
    k = round(gamma * d)
    w = rng.standard_normal((k, d))
    v = law_of(law).quantiles(k)
    signal = (w.T * v) @ w / math.sqrt(k * d)
    noise = rng.standard_normal((d, d))
    return signal, math.sqrt(snr) * signal + (noise + noise.T) / math.sqrt(2 * d)


def test_density_is_the_histogram_of_a_random_matrix():
    # Eigenvalues are rigid: a bin's count fluctuates by O(1), not by its root; 1/d corrections alike.
    rng = np.random.default_rng(11)
    d, gamma, snr = 800, 0.3, 30.0
    denoiser = MatrixDenoiser(ASYMMETRIC, gamma)
    _, observed = random_spectrum(ASYMMETRIC, gamma, snr, d, rng)
    eigenvalues = np.linalg.eigvalsh(observed)
    edges = np.linspace(eigenvalues[0] - 0.5, eigenvalues[-1] + 0.5, 16)
    fine = np.linspace(edges[0], edges[-1], 15 * 400 + 1)
    middles = 0.5 * (fine[1:] + fine[:-1])
    expected = (denoiser.density(middles, snr) * np.diff(fine)).reshape(15, 400).sum(axis=1) * d
    counts = np.histogram(eigenvalues, edges)[0]
    assert expected.sum() == pytest.approx(d, rel=1e-3)
    assert np.max(np.abs(counts - expected)) < 5.0
    # Every eigenvalue lies in a band, up to some d^(-2/3) of the width (40) at the ends.
    bands, margin = denoiser.support(snr), 3 * d ** (-2 / 3) * 40
    assert all(any(low - margin < x < high + margin for low, high in bands) for x in eigenvalues)
    # Those inside the widest gap would be a sign of trouble: there are none.
    low, high = bands[0][1], bands[1][0]
    assert not np.any((eigenvalues > low + 0.3) & (eigenvalues < high - 0.3))


def test_rare_atoms_make_a_band_of_their_own():
    rare = Discrete([-1.0, 1.0, 50.0], [0.5 - 5e-7, 0.5 - 5e-7, 1e-6], normalise=True)
    denoiser = MatrixDenoiser(rare, 1.7)
    low, high = denoiser.support(2.0)[-1]
    n = 400
    theta = (np.arange(n) + 0.5) * math.pi / n
    y = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(theta)
    mass = np.sum(denoiser.density(y, 2.0) * np.sin(theta)) * 0.5 * (high - low) * math.pi / n
    assert mass == pytest.approx(1.7e-6, rel=1e-6)  # γ times the probability


@pytest.mark.parametrize("gamma", [0.0, -0.5, math.nan, math.inf])
def test_refuses_a_width_that_is_none(gamma):
    with pytest.raises(ValueError, match="gamma must be > 0 and finite"):
        MatrixDenoiser("homogeneous", gamma)


@pytest.mark.parametrize("snr", [-1e-9, math.nan, math.inf])
@pytest.mark.parametrize("method", ["mmse", "mmse_slope", "recovered", "information", "evaluate", "support"])
def test_refuses_a_bad_snr(method, snr):
    with pytest.raises(ValueError, match="snr must be >= 0 and finite"):
        getattr(MatrixDenoiser("homogeneous", 0.3), method)(snr)


def test_repr_names_the_law():
    assert repr(MatrixDenoiser("four-point", 0.7)) == "MatrixDenoiser('four-point', gamma=0.7)"

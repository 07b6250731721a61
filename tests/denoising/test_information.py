"""Mutual information of matrix denoising: its definition, I-MMSE, limits."""

import numpy as np
import pytest
from scipy.integrate import fixed_quad

import oracles
from denoising.laws import ASYMMETRIC, CONTINUOUS, DISCRETE, touching_snr
from widthwise.denoising import MatrixDenoiser

EVERY = DISCRETE | CONTINUOUS


@pytest.mark.parametrize(
    ("law", "gamma", "snr"),
    [(ASYMMETRIC, 1.7, 0.19), (ASYMMETRIC, 0.3, 0.7), ("four-point", 1.7, 6.0), ("uniform", 1.7, 0.5)],
)
def test_definition(law, gamma, snr):
    # 1/8 + ½∬ρρ ln|x - y| over the one band there is, without the closed form of the potential.
    denoiser = MatrixDenoiser(law, gamma)
    ((low, high),) = denoiser.support(snr)
    exact = oracles.information_by_chebyshev(lambda y: denoiser.density(y, snr), low, high)
    assert denoiser.information(snr) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_i_mmse(law, gamma):
    # Eighth-order differences in ln η with step 0.003: rounding 1e-15/0.003.
    # Truncation shows beside touching bands, where derivatives of high order are large.
    denoiser, step = MatrixDenoiser(law, gamma), 0.003
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    for snr in (0.17, 0.9, 21.0, 3e3):
        iota = denoiser.information(snr * np.exp(step * np.arange(-4, 5)))
        slope = weights @ iota / step / snr
        assert 4 * slope * snr == pytest.approx(snr * denoiser.mmse(snr), abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.05, 0.3, 20.0])
@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_integral_of_the_mmse(law, gamma):
    # The whole range at once, by Gauss–Legendre in ln η: ι(b) - ι(a) = ¼∫mmse dη.
    denoiser = MatrixDenoiser(law, gamma)
    for low, high in ((1e-3, 1.0), (1.0, 1e3), (1e3, 1e6)):
        x, w = np.polynomial.legendre.leggauss(16)
        cuts = np.linspace(np.log(low), np.log(high), 9 if law is DISCRETE["64 atoms"] else 21)
        nodes = (0.5 * (cuts[1:] + cuts[:-1])[:, None] + 0.5 * np.diff(cuts)[:, None] * x).ravel()
        weights = (0.5 * np.diff(cuts)[:, None] * w).ravel()
        total = 0.25 * weights @ (denoiser.mmse(np.exp(nodes)) * np.exp(nodes))
        gained = denoiser.information(high) - denoiser.information(low)
        assert gained == pytest.approx(total, abs=2e-10)


@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_small_snr(law):
    denoiser = MatrixDenoiser(law, 0.3)
    assert denoiser.information(0.0) == 0.0
    snr = np.array([1e-12, 1e-6, 1e-4])
    # ι = η/4 - η²/8 + O(η³).
    np.testing.assert_allclose(denoiser.information(snr), snr / 4 * (1 - snr / 2), rtol=1e-7)
    tiny = np.array([1e-300, 1e-100, 1e-15])
    np.testing.assert_allclose(denoiser.information(tiny), tiny / 4, rtol=1e-14)


@pytest.mark.parametrize("offset", [-1e-2, -1e-4, -1e-7])
def test_just_before_a_band_splits(offset):
    denoiser = MatrixDenoiser(ASYMMETRIC, 0.3)
    log_snr = np.log(touching_snr(denoiser, 1.0, 40.0)) + np.array([1.5 * offset, 0.5 * offset])
    gained = np.diff(denoiser.information(np.exp(log_snr)))[0]

    def power(u):
        return 0.25 * np.exp(u) * denoiser.mmse(np.exp(u))

    total = fixed_quad(power, *log_snr, n=12)[0]
    assert gained == pytest.approx(total, abs=3e-15)


def test_wide_networks_are_gaussian():
    snr = np.array([0.1, 1.0, 30.0])
    information = MatrixDenoiser("rademacher", 1e9).information(snr)
    np.testing.assert_allclose(information, 0.25 * np.log1p(snr), rtol=1e-7)


@pytest.mark.slow
def test_from_the_plain_mmse():
    # Six nodes in η of scipy.quad over numpy.roots: nothing of the library but the ends of the bands.
    law, gamma = ASYMMETRIC, 1.7
    denoiser = MatrixDenoiser(law, gamma)

    def plain(snr):
        return oracles.mmse(law.values, law.probabilities, gamma, snr, denoiser.support(snr))

    total = 0.25 * fixed_quad(np.vectorize(plain), 0.5, 0.8, n=6)[0]
    assert denoiser.information(0.8) - denoiser.information(0.5) == pytest.approx(total, rel=1e-7)

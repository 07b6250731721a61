"""The matrix channel as piecewise polynomials in ln snr, against the spectral curve itself."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.theory.matrix_channel import SpectralMatrix, grouped

LAWS = [
    ("four-point", 0.3),
    ("homogeneous", 1.7),
    (ww.readouts.Discrete((3.0, -0.5), (0.03, 0.97), normalise=True), 0.03),  # a band splits off
    (ww.readouts.Discrete((-1.2, 0.4, 1.1), (0.3, 0.3, 0.4), normalise=True), 0.6),
    ("uniform", 0.3),
]


@pytest.fixture(scope="module", params=LAWS, ids=lambda law: f"{str(law[0])[:30]}-{law[1]}")
def both(request):
    readouts, gamma = ww.readouts.resolve(request.param[0]), request.param[1]
    return SpectralMatrix(readouts, gamma), ww.denoising.MatrixDenoiser(readouts, gamma)


def test_the_mmse_is_that_of_the_spectral_curve(both):
    matrix, denoiser = both
    u = np.sort(np.random.default_rng(1).uniform(np.log(1e-12), np.log(1e13), 80))
    mmse, recovered, slope = matrix.mmse(u)
    exact = denoiser.evaluate(np.exp(u))
    assert mmse == pytest.approx(exact[0], rel=2e-10)
    assert recovered == pytest.approx(exact[1], rel=2e-10)
    inside = u < np.log(1e9)  # where slopes of the curve are free of rounding
    assert slope[inside] == pytest.approx((exact[2] * np.exp(u))[inside], rel=1e-6)


@pytest.mark.parametrize(
    ("readouts", "gamma"),
    [
        (ww.readouts.Exponential(length=1.044, size=15), 0.306),
        (ww.readouts.Discrete((1.2, 1e-3, -1e-8), (0.6, 0.2, 0.2), normalise=True), 1.0),
        (ww.readouts.Discrete((1.2, 1e-3, -1e-8), (0.6, 0.2, 0.2), normalise=True), 0.7),
        (ww.readouts.Exponential(length=1.032, size=45), 0.0328),
        (ww.readouts.Discrete((1.2, -0.4, 1e-20), (0.6, 0.2, 0.2), normalise=True), 1.7),
    ],
)
def test_readouts_so_small_that_only_a_huge_snr_shows_them(readouts, gamma):
    """The mmse is c/snr from snr = 1/v² on only, v the smallest readout."""
    matrix, denoiser = SpectralMatrix(readouts, gamma), ww.denoising.MatrixDenoiser(readouts, gamma)
    smallest = min(abs(v) for v in readouts.values)
    u = np.linspace(np.log(1e9), np.log(1e12 / smallest**2), 80)
    assert matrix.mmse(u)[0] == pytest.approx(denoiser.mmse(np.exp(u)), rel=2e-10)
    grown = 4 * np.diff(matrix.information(u))
    power = np.exp(u) * denoiser.mmse(np.exp(u))  # 4 dι/d ln snr; it rises
    assert np.all(grown >= power[:-1] * np.diff(u) * (1 - 1e-9))
    assert np.all(grown <= power[1:] * np.diff(u) * (1 + 1e-9))
    rank = 1 - max(1 - gamma, 0.0) ** 2  # of all directions of matrices of rank γd
    assert power[-1] == pytest.approx(rank, rel=1e-7)  # it comes slowly at γ = 1


def test_inverse(both):
    matrix, _ = both
    u = np.linspace(np.log(1e-20), np.log(1e25), 60)
    odds, rate, _ = matrix.odds(u)
    assert np.all(rate > 0)
    assert matrix.log_snr_of(odds) == pytest.approx(u, abs=1e-8)


def test_information_is_the_integral_of_the_mmse(both):
    matrix, denoiser = both
    u = np.linspace(np.log(1e-3), np.log(1e8), 12)
    assert matrix.information(u) == pytest.approx(denoiser.information(np.exp(u)), rel=1e-9)
    drop = matrix.information_drop(u, u - 12.0)  # q̂₂ << τ: 4ι' = mmse
    mmse = denoiser.mmse(np.exp(u))
    assert drop == pytest.approx(-0.25 * np.exp(u - 12.0) * mmse, rel=1e-5)


@pytest.mark.parametrize("apart", [-18.0, -6.0, 0.0, 5.0])
def test_the_pull_and_its_slopes(both, apart):
    """γA = (mmse(τ) - mmse(τ + q̂₂))/(-mmse'(τ)); its slopes by central differences."""
    matrix, denoiser = both
    u = np.linspace(np.log(0.01), np.log(1e4), 9)
    pair = matrix.pair(u, u + apart)
    tau, hat = np.exp(u), np.exp(u + apart)
    if apart > -10:
        exact = (denoiser.mmse(tau) - denoiser.mmse(tau + hat)) / -denoiser.mmse_slope(tau)
        assert np.exp(pair.log_pull) == pytest.approx(exact, rel=1e-6)
    else:
        assert np.exp(pair.log_pull) == pytest.approx(hat, rel=1e-6)
    assert pair.mmse_after == pytest.approx(denoiser.mmse(tau + hat), rel=1e-9)
    step = 1e-4
    for slope, after, du, dh in (
        (pair.pull_by_tilt, pair.after_by_tilt, step, 0.0),
        (pair.pull_by_hat, pair.after_by_hat, 0.0, step),
    ):
        up, down = (matrix.pair(u + sign * du, u + apart + sign * dh) for sign in (1, -1))
        assert slope == pytest.approx((up.log_pull - down.log_pull) / (2 * step), abs=2e-5)
        assert after == pytest.approx((up.mmse_after - down.mmse_after) / (2 * step), abs=1e-7)


def test_bands_split_where_the_support_does():
    readouts = ww.readouts.Discrete((3.0, -0.5), (0.03, 0.97), normalise=True)
    denoiser = ww.denoising.MatrixDenoiser(readouts, 0.03)
    assert denoiser.splittings
    for snr in denoiser.splittings:
        before, after = (len(denoiser.support(snr * (1 + s))) for s in (-1e-10, 1e-10))
        assert after == before + 1


def test_one_huge_rare_readout():
    # 1 - mmse is 1 to nine digits from snr = 1e-9 on: what is left must not be a difference.
    readouts = ww.readouts.Discrete((-7500.0, 0.0), (1.8e-8, 1 - 1.8e-8), normalise=True)
    matrix = SpectralMatrix(readouts, 0.02)
    u = np.linspace(-18, 10, 15)
    # One unit for each eigenvalue: η mmse → γp(2 - γp).
    share = 0.02 * readouts.probabilities[0]
    assert np.exp(u + np.log(matrix.mmse(u)[0]))[-4:] == pytest.approx(share * (2 - share), rel=1e-6)
    assert np.all(np.diff(matrix.odds(u)[0]) > 0)


def test_pull_across_a_splitting():
    """A Gauss rule over the kink was off by 7e-8 where a band splits between τ and τ + q̂₂."""
    readouts = ww.readouts.Discrete((-1.1384, 0.656, 0.8604), (0.644, 0.3169, 0.0391), normalise=True)
    denoiser = ww.denoising.MatrixDenoiser(readouts, 0.6216)
    for splitting in denoiser.splittings:
        tilt, hat = splitting * np.exp(-0.05), splitting * (np.exp(0.05) - np.exp(-0.05))
        (before, after), _, (slope, _) = denoiser.evaluate([tilt, tilt + hat])
        pair = SpectralMatrix(readouts, 0.6216).pair(np.log([tilt]), np.log([hat]))
        assert np.exp(pair.log_pull[0]) == pytest.approx((before - after) / -slope, rel=1e-10)


def test_the_table_of_a_problem_is_made_once():
    """Both branches use one table: it was made twice, which took most of the time of a first solution."""
    from widthwise.theory.setting import setting_of

    setting = setting_of(ww.Problem("relu", "gaussian", "four-point", gamma=0.37))
    assert setting.matrix is setting.spectral


@pytest.mark.parametrize(
    "law",
    [
        ww.readouts.Exponential(40, 300),
        ww.readouts.PowerLaw(1.2, 200),
        ww.readouts.Features(np.random.default_rng(5).normal(size=250)),
        ww.readouts.Features(np.append(np.random.default_rng(6).standard_t(3, size=150), np.zeros(20))),
    ],
)
def test_groups_of_readouts_keep_moments_and_spectrum(law):
    few = grouped(law, 128)
    assert len(few.values) <= 128 < len(law.values)
    for order in (1, 2, 3):
        size = np.dot(law.probabilities, np.abs(law.values) ** order)
        assert abs(few.moment(order) - law.moment(order)) < 1e-12 * size
    assert np.sum(np.array(few.probabilities)[np.array(few.values) == 0]) == pytest.approx(
        np.sum(np.array(law.probabilities)[np.array(law.values) == 0]), abs=1e-15
    )
    snr = np.array([0.01, 0.3, 20.0, 3e3])
    for gamma, room in ((0.05, 5e-4), (0.7, 1e-5), (1.7, 1e-5)):
        exact, quick = (ww.denoising.MatrixDenoiser(one, gamma).log_odds(snr) for one in (law, few))
        assert np.max(np.abs(quick - exact)) < room


@pytest.mark.parametrize("gamma", [0.04586, 0.3, 1.7])
def test_weak_structure_from_many_sizes_is_resolved(gamma):
    """Next to splittings a table may look as if it ended in noise: at the smallest γ it was off by 4e-10."""
    law = ww.readouts.Linear(55.17, 58)
    log_snr = np.linspace(-6.0, 12.0, 400)
    mmse, recovered, _ = ww.denoising.MatrixDenoiser(law, gamma).evaluate(np.exp(log_snr))
    odds, _, _ = SpectralMatrix(law, gamma).odds(log_snr)
    # Ten times the last coefficients that are allowed.
    np.testing.assert_allclose(odds, np.log(recovered) - np.log(mmse), rtol=0, atol=3e-12)

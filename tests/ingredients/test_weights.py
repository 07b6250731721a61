"""Weight laws: identities of the scalar channel, 40-digit references, limits, sampling, specs, messages."""

import json
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widthwise.ingredients import weights
from widthwise.ingredients.mixture_integrals import MixtureIntegrals
from widthwise.ingredients.scalar_channel import MixtureChannel
from widthwise.ingredients.weights import (
    Discrete,
    Gaussian,
    GaussianMixture,
    Rademacher,
    SparseGaussian,
    Uniform,
    resolve,
)

SKEWED = Discrete.normalised([-1.0, 0.3, 2.0], [0.5, 0.3, 0.2])
CLOSE = Discrete.normalised([-2.0, 1.0, 1.01], [0.3, 0.3, 0.4])  # two atoms much closer than the third
MIXTURE = GaussianMixture.normalised([-0.8, 0.2, 1.2], [0.1, 0.3, 0.05], [0.4, 0.4, 0.2])
NESTED = GaussianMixture.normalised(
    [0.0, 0.0], [1.0, 2.0], [0.1, 0.9]
)  # one component always the more likely
LAWS = [Gaussian(), Rademacher(), Uniform(), SKEWED, CLOSE, SparseGaussian(0.2), MIXTURE, NESTED]
SNR = np.array([0.0, 1e-9, 3e-3, 0.04, 0.3, 0.9, 2.7, 7.0, 23.0, 31.0, 33.0, 110.0, 2e4, 1e8])

each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def assert_agrees(samples, exact, n_sigma=4.0):
    error = samples.std(ddof=1) / np.sqrt(samples.size)
    z = abs(samples.mean() - exact) / error
    assert z < n_sigma, f"mean {samples.mean():.4g}, exact {exact:.4g}: {z:.1f} standard errors"


# --- references -----------------------------------------------------------------------------------


def components(law):
    """(mean, variance, probability) of each Gaussian component, or None for the uniform law."""
    if isinstance(law, Uniform):
        return None
    if isinstance(law, Gaussian):
        return [(0.0, 1.0, 1.0)]
    if isinstance(law, Rademacher):
        return [(-1.0, 0.0, 0.5), (1.0, 0.0, 0.5)]
    if isinstance(law, SparseGaussian):
        return [(0.0, 0.0, 1 - law.density), (0.0, 1 / law.density, law.density)]
    variances = getattr(law, "variances", (0.0,) * len(law.probabilities))
    means = getattr(law, "atoms", None) or law.means
    return list(zip(means, variances, law.probabilities, strict=True))


def reference(law, snr, step):
    """psi, F, mmse and F' from the density p of y alone (Tweedie): sqrt(snr) <w> = y + p'/p, and so on.

    Trapezoid rule in y with 40 digits; it converges like exp(-2 pi distance/step), where the zeros of p are
    about pi/(sqrt(snr) gap) away from the real axis.
    """
    with mp.workdps(40):
        x = mp.mpf(snr)
        root, h = mp.sqrt(x), mp.mpf(step)
        parts = components(law)
        if parts is None:
            a = mp.sqrt(3 * x)
            low, high = -a - 14, a + 14
        else:
            # Doubles are normalised and centred to 1e-16 only, which at small snr would show.
            parts = [(mp.mpf(m), mp.mpf(v), mp.mpf(p)) for m, v, p in parts]
            total = mp.fsum(p for *_, p in parts)
            parts = [(m, v, p / total) for m, v, p in parts]
            mean = mp.fsum(m * p for m, _, p in parts)
            power = mp.fsum(((m - mean) ** 2 + v) * p for m, v, p in parts)
            parts = [(root * (m - mean) / mp.sqrt(power), 1 + x * v / power, p) for m, v, p in parts]
            low = min(c - 14 * mp.sqrt(v) for c, v, _ in parts)
            high = max(c + 14 * mp.sqrt(v) for c, v, _ in parts)
        sums = [mp.mpf(0)] * 4
        for k in range(math.ceil((high - low) / h)):
            y = low + k * h
            if parts is None:
                p = (mp.erf((y + a) / mp.sqrt(2)) - mp.erf((y - a) / mp.sqrt(2))) / (4 * a)
                p1 = (mp.npdf(y + a) - mp.npdf(y - a)) / (2 * a)
                p2 = ((y - a) * mp.npdf(y - a) - (y + a) * mp.npdf(y + a)) / (2 * a)
            else:
                p = p1 = p2 = mp.mpf(0)
                for c, v, weight in parts:
                    density = weight * mp.exp(-((y - c) ** 2) / (2 * v)) / mp.sqrt(2 * mp.pi * v)
                    score = -(y - c) / v
                    p, p1, p2 = p + density, p1 + density * score, p2 + density * (score**2 - 1 / v)
            if p < mp.mpf(10) ** -38:  # beyond 13 deviations, where the difference of erf has no digits left
                continue
            mean = (y + p1 / p) / root
            variance = (1 + p2 / p - (p1 / p) ** 2) / x
            log_ratio = mp.log(p) + y * y / 2 + mp.log(2 * mp.pi) / 2
            for i, term in enumerate([log_ratio, mean**2, variance, variance**2]):
                sums[i] += h * p * term
        return [float(total) for total in sums]


def rademacher_mmse(snr):
    """mmse = exp(-snr/2) E sech(sqrt(snr) z) and F' = exp(-snr/2) E sech^3(sqrt(snr) z), with 25 digits."""
    with mp.workdps(25):
        x, h = mp.mpf(snr), mp.mpf("0.16") / mp.sqrt(1 + snr)
        nodes = [k * h for k in range(-int(12 / h), int(12 / h) + 1)]
        averages = [
            mp.fsum(mp.npdf(y) * mp.sech(mp.sqrt(x) * y) ** power for y in nodes) * h for power in (1, 3)
        ]
        return [float(mp.exp(-x / 2) * average) for average in averages]


@pytest.mark.parametrize("snr", [0.03, 0.06, 0.07, 0.3, 0.8, 2.0, 7.0, 60.0, 1300.0])
def test_rademacher_against_its_own_formula(snr):
    """On both sides of 1/16 (series in snr or in its logarithm) and of mmse = 1/2, down to 1e-285."""
    values = Rademacher().channel(snr)
    mmse, slope = rademacher_mmse(snr)
    np.testing.assert_allclose(values.mmse, mmse, rtol=3e-12)
    np.testing.assert_allclose(values.overlap_slope, slope, rtol=3e-12)
    np.testing.assert_allclose(values.overlap, 1 - mmse, rtol=0, atol=1e-14)


CASES = [
    *[(Rademacher(), snr, 0.1) for snr in (0.3, 7.0)],
    (Rademacher(), 60.0, 0.03),
    *[(SKEWED, snr, 0.1) for snr in (0.01, 0.9, 4.0)],  # the series in snr ends at 0.019
    (SKEWED, 40.0, 0.04),
    (CLOSE, 3.0, 0.1),
    *[(Uniform(), snr, 0.1) for snr in (0.01, 0.3, 7.0, 31.0, 33.0)],  # switches at 0.021 and 32
    *[(SparseGaussian(0.2), snr, 0.1) for snr in (0.01, 0.3, 7.0, 60.0)],  # 0.0125
    *[(MIXTURE, snr, 0.1) for snr in (0.01, 1.3, 25.0)],
    *[(NESTED, snr, 0.1) for snr in (0.02, 3.0)],
]


@pytest.mark.slow
@pytest.mark.parametrize("law, snr, step", CASES, ids=lambda case: getattr(case, "name", str(case)))
def test_against_forty_digits(law, snr, step):
    values = law.channel(snr)
    psi, overlap, mmse, slope = reference(law, snr, step)
    np.testing.assert_allclose(values.free_entropy, psi, rtol=0, atol=1e-14 * max(1, snr))
    np.testing.assert_allclose(values.overlap, overlap, rtol=0, atol=1e-14)
    np.testing.assert_allclose(values.mmse, mmse, rtol=2e-13)
    np.testing.assert_allclose(values.overlap_slope, slope, rtol=4e-13)
    np.testing.assert_allclose(
        values.entropy_deficit, psi - snr * overlap / 2, rtol=0, atol=1e-14 * max(1, snr)
    )


def test_close_atoms_far_from_zero_keep_relative_accuracy():
    """Past snr ~ 100 only the close pair is confused: its mmse is that of a two-point law of the same gap."""
    gap = CLOSE.atoms[2] - CLOSE.atoms[1]
    pair = MixtureChannel(MixtureIntegrals([0.0, gap], [0.0, 0.0], [3 / 7, 4 / 7]))
    snr = np.array([3e5, 2e6, 3e7])
    log_mmse, log_slope = pair.integrals.high(snr)[:2]
    np.testing.assert_allclose(CLOSE.mmse(snr), 0.7 * np.exp(log_mmse), rtol=1e-11)
    np.testing.assert_allclose(CLOSE.overlap_slope(snr), 0.7 * np.exp(log_slope), rtol=1e-11)


# --- identities -----------------------------------------------------------------------------------


@each_law
def test_overlap_is_twice_the_slope_of_the_free_entropy(law):
    """Fourth-order central differences, step h = min(snr, 1)/100: the error is h^4/30 fifth derivatives."""
    snr = np.array([5e-3, 0.02, 0.3, 1.1, 4.0, 17.0, 40.0])
    h = 1e-2 * np.minimum(snr, 1)

    def slope_of(f):
        return (8 * (f(snr + h) - f(snr - h)) - (f(snr + 2 * h) - f(snr - 2 * h))) / (12 * h)

    np.testing.assert_allclose(2 * slope_of(law.free_entropy), law.overlap(snr), rtol=1e-7)
    # where F saturates its differences are those of the mmse, kept relative
    np.testing.assert_allclose(-slope_of(law.mmse), law.overlap_slope(snr), rtol=1e-7)
    # d(psi - snr F/2)/dsnr = -snr F'/2
    np.testing.assert_allclose(
        slope_of(law.entropy_deficit), -snr * law.overlap_slope(snr) / 2, rtol=1e-7, atol=1e-11
    )


@each_law
def test_overlap_rises_from_zero_to_one(law):
    snr = np.concatenate([[0.0], np.logspace(-9, 8, 700)])
    values = law.channel(snr)
    assert values.free_entropy[0] == 0 and values.overlap[0] == 0 and values.entropy_deficit[0] == 0
    np.testing.assert_allclose([values.mmse[0], values.overlap_slope[0]], 1, rtol=1e-13)
    np.testing.assert_allclose(values.overlap[1:5] / snr[1:5], 1, rtol=1e-6)
    np.testing.assert_allclose(values.overlap + values.mmse, 1, rtol=0, atol=1e-14)
    resolved = values.mmse > 1e-300
    assert np.all(np.diff(values.mmse[resolved]) < 0)
    assert np.all(np.diff(values.overlap) >= 0) and np.all(values.overlap[values.mmse > 1e-15] < 1)
    assert np.all(np.diff(values.entropy_deficit) <= 1e-13)
    assert np.all(values.overlap_slope >= values.mmse**2 * (1 - 1e-13))  # Jensen


@each_law
def test_everything_is_finite_and_keeps_its_shape(law):
    values = law.channel(SNR.reshape(2, 7))
    for name, value in values._asdict().items():
        assert value.shape == (2, 7) and np.isfinite(value).all(), name
        np.testing.assert_array_equal(getattr(law, name)(SNR).reshape(2, 7), value)
        assert np.ndim(getattr(law, name)(0.7)) == 0
        assert getattr(law, name)([]).shape == (0,)
    far = law.channel(1e60)
    assert np.isfinite(far).all() and far.overlap == 1


@each_law
def test_values_do_not_depend_on_what_was_asked_before(law):
    alone = [law.overlap(snr) for snr in SNR]
    np.testing.assert_array_equal(alone, law.overlap(SNR))


@settings(max_examples=15, deadline=None)
@given(
    atoms=st.lists(st.floats(-3, 3), min_size=2, max_size=5, unique_by=lambda a: round(a, 1)),
    logits=st.lists(st.floats(-8, 0), min_size=5, max_size=5),
    log_snr=st.floats(-6, 6),
)
def test_table_and_quadrature_agree_for_any_discrete_law(atoms, logits, log_snr):
    """The table against direct quadrature, and F from <w>^2 against 1 - E Var(w|y)."""
    law = Discrete.normalised(atoms, np.exp(logits[: len(atoms)]))
    snr = np.exp([log_snr])
    channel = MixtureChannel(MixtureIntegrals(law.atoms, np.zeros(len(law.atoms)), law.probabilities))
    log_mmse, log_slope, log_overlap, log_psi = channel.integrals.low(snr)[:, 0]
    overlap, information = snr[0] * np.exp(log_overlap), snr[0] / 2 - snr[0] ** 2 * np.exp(log_psi)
    values = channel(snr)
    np.testing.assert_allclose(overlap, -np.expm1(log_mmse), rtol=0, atol=1e-12)
    np.testing.assert_allclose(values.overlap, overlap, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        values.free_entropy, snr / 2 - information, rtol=0, atol=1e-12 * max(1, snr[0])
    )
    if log_mmse > -690:
        np.testing.assert_allclose(values.mmse, np.exp(log_mmse), rtol=1e-10)
        np.testing.assert_allclose(values.overlap_slope, np.exp(log_slope), rtol=1e-10)


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [Rademacher(), SKEWED, CLOSE], ids=lambda law: law.name)
def test_entropy_deficit_of_a_discrete_law_falls_to_minus_its_entropy(law):
    gap = np.diff(law.atoms if isinstance(law, Discrete) else (-1.0, 1.0)).min()
    snr = np.array([8.0, 30.0, 100.0]) / gap**2
    excess = law.entropy_deficit(snr) + law.entropy
    assert np.all(excess > 0) and np.all(np.diff(excess) < 0)
    # on each side of where the mmse underflows
    for far in (6399.0 / gap**2, 6401.0 / gap**2, 1e8 * max(1, gap**-2)):
        np.testing.assert_allclose(law.entropy_deficit(far), -law.entropy, rtol=4e-15)
        assert law.mmse(far) == 0 and law.overlap(far) == 1


@pytest.mark.parametrize("law", [SparseGaussian(1.0), GaussianMixture((0.0,), (1.0,), (1.0,))], ids=repr)
def test_gaussian_limits(law):
    for value, exact in zip(law.channel(SNR[SNR < 1e6]), Gaussian().channel(SNR[SNR < 1e6]), strict=True):
        np.testing.assert_allclose(value, exact, rtol=1e-12, atol=1e-13)


def test_gaussian_closed_forms():
    values = Gaussian().channel(0.7)
    exact = [(0.7 - math.log(1.7)) / 2, 0.7 / 1.7, 1 / 1.7, 1 / 1.7**2, (0.7 / 1.7 - math.log(1.7)) / 2]
    np.testing.assert_allclose(values, exact, rtol=1e-15)


def test_sparse_law_with_every_weight_kept_joins_the_gaussian():
    np.testing.assert_allclose(
        SparseGaussian(1 - 1e-9).overlap(SNR), Gaussian().overlap(SNR), rtol=0, atol=1e-7
    )


def test_two_atoms_are_rademacher():
    for value, exact in zip(
        Discrete((-1, 1), (0.5, 0.5)).channel(SNR), Rademacher().channel(SNR), strict=True
    ):
        np.testing.assert_array_equal(value, exact)


def test_gauss_hermite_atoms_act_as_a_gaussian_at_small_snr():
    """Seven nodes share 13 moments with the normal law, hence the first coefficients of F in snr."""
    node, weight = np.polynomial.hermite_e.hermegauss(7)
    law = Discrete.normalised(node, weight)
    snr = np.array([1e-3, 0.01, 0.1])
    assert np.all(np.abs(law.overlap(snr) - Gaussian().overlap(snr)) < snr**7 + 1e-16)
    assert abs(law.overlap(3.0) - Gaussian().overlap(3.0)) > 1e-5


def test_rounded_atoms_keep_the_identities():
    """Atoms given with ten digits are accepted, and F + mmse - 1 does not show it."""
    root = round(math.sqrt(2), 10)
    law = Discrete((-root, 0, root), (0.25, 0.5, 0.25))
    exact = Discrete.normalised((-1, 0, 1), (1, 2, 1))
    np.testing.assert_allclose(law.channel(2.3), exact.channel(2.3), rtol=1e-14)


# --- laws of every kind, and the ends of the range of snr ------------------------------------------


def random_law(seed):
    """Sparse, discrete (with rare, far and nearly equal atoms) or a mixture of very different widths."""
    rng = np.random.default_rng(seed)
    kind = seed % 3
    if kind == 0:
        return SparseGaussian(10 ** rng.uniform(-9, 0))
    n = int(rng.integers(2, 7))
    means, p = rng.standard_normal(n), rng.dirichlet(np.ones(n))
    p[0] *= 10 ** rng.uniform(-12, 0)
    if kind == 1:
        means[1] = means[0] * (1 + 10 ** rng.uniform(-15, -1))
        means[-1] *= 10 ** rng.uniform(0, 3)
        return Discrete.normalised(means, p)
    return GaussianMixture.normalised(means, 10 ** rng.uniform(-12, 3, n), p)


WIDE = np.concatenate([[0.0, 5e-324, 1e-310, 1e-300], np.logspace(-100, 30, 1301), [1e60]])


@pytest.mark.parametrize("seed", range(24))
def test_ranges_hold_for_any_law_and_any_snr(seed):
    values = random_law(seed).channel(WIDE)
    assert all(np.isfinite(value).all() for value in values)
    assert np.all((values.overlap >= 0) & (values.overlap <= 1))
    assert np.all((values.mmse >= 0) & (values.mmse <= 1)) and values.mmse[0] == 1
    np.testing.assert_allclose(values.overlap + values.mmse, 1, rtol=0, atol=3e-16)
    assert np.all(np.diff(values.overlap) >= -4e-16)
    # The table holds ln(mmse), down to -700, to 16 digits or so.
    assert np.all(np.diff(values.mmse) <= 5e-13 * values.mmse[:-1])
    assert np.all(values.free_entropy >= 0) and np.all(np.diff(values.free_entropy) >= 0)
    # Relative accuracy at the lower end: F = snr and psi = snr^2/4 there.
    tiny = (WIDE > 1e-150) & (WIDE < 1e-25)
    np.testing.assert_allclose(values.overlap[tiny], WIDE[tiny], rtol=1e-11)
    np.testing.assert_allclose(values.free_entropy[tiny], WIDE[tiny] ** 2 / 4, rtol=1e-11)
    np.testing.assert_allclose(values.entropy_deficit[tiny], -(WIDE[tiny] ** 2) / 4, rtol=1e-11)


@pytest.mark.parametrize("distance", [2.0**-50, 2.0**-30, 2.0**-10])
def test_nearly_equal_atoms_keep_the_digits_of_their_distance(distance):
    """Once the third atom is told apart, the pair has variance p q d^2/(p + q) until it is resolved."""
    p, q, rest = 1e-9, 0.45, 0.55 - 1e-9
    law = Discrete.normalised([-1.0, 1.0, 1.0 + distance], [rest, p, q])
    with mp.workdps(40):
        atoms, weights_ = [mp.mpf(a) for a in law.atoms], [mp.mpf(x) for x in law.probabilities]
        total = mp.fsum(weights_)
        mean = mp.fsum(a * w for a, w in zip(atoms, weights_, strict=True)) / total
        power = mp.fsum((a - mean) ** 2 * w for a, w in zip(atoms, weights_, strict=True)) / total
        gap2 = (atoms[2] - atoms[1]) ** 2 / power
        confused = float(weights_[1] * weights_[2] / (weights_[1] + weights_[2]) / total * gap2)
    # It is resolved by snr p q d^2/(p + q)^2 of itself, 1e-12 here.
    snr = np.array([500.0, 2e4, 2e6])
    snr = snr[snr * float(gap2) < 1e-3]
    np.testing.assert_allclose(law.mmse(snr), confused, rtol=2e-12)


def test_rare_and_large_atoms_at_small_snr():
    """F and psi have relative accuracy although the outlier makes the series in snr end at 1e-9."""
    law = Discrete.normalised([-1.0, 0.6, 1e4], [0.5, 0.5, 1e-9])
    for snr, step in ((1e-9, 0.1), (3e-7, 0.04), (1e-5, 0.02)):
        psi, overlap, mmse, slope = reference(law, snr, step)
        values = law.channel(snr)
        np.testing.assert_allclose(values.overlap, overlap, rtol=2e-14)
        np.testing.assert_allclose(values.free_entropy, psi, rtol=1e-13)
        np.testing.assert_allclose(values.overlap_slope, slope, rtol=1e-13)


@pytest.mark.parametrize("law", [MIXTURE, NESTED], ids=lambda law: law.name)
def test_mixtures_once_every_component_is_wider_than_the_noise(law):
    """mmse = (1 - J/snr)/snr, J the Fisher information of y/sqrt(snr), on both sides of the last switch."""
    means, variances, p = (np.array(a) for a in zip(*components(law), strict=True))
    node, weight = np.polynomial.legendre.leggauss(2000)
    w = 12 * node
    for snr in np.array([0.9, 1.1, 1e6, 1e30]) * 256 / variances.min():
        width = variances + 1 / snr
        part = p / np.sqrt(2 * np.pi * width) * np.exp(-((w[:, None] - means) ** 2) / (2 * width))
        score = (part * (means - w[:, None]) / width).sum(axis=1) / part.sum(axis=1)
        fisher = 12 * weight @ (part.sum(axis=1) * score**2)
        np.testing.assert_allclose(law.mmse(snr), (1 - fisher / snr) / snr, rtol=1e-13)


@pytest.mark.parametrize("snr", [1e-12, 1e-3, 0.999, 1.001, 40.0])
def test_gaussian_free_entropy_does_not_cancel(snr):
    with mp.workdps(30):
        psi = (mp.mpf(snr) - mp.log1p(mp.mpf(snr))) / 2
        deficit = psi - mp.mpf(snr) ** 2 / (1 + mp.mpf(snr)) / 2
    values = Gaussian().channel(snr)
    np.testing.assert_allclose(values.free_entropy, float(psi), rtol=1e-15)
    np.testing.assert_allclose(values.entropy_deficit, float(deficit), rtol=2e-15)


def test_two_atoms_that_nearly_agree_can_be_normalised():
    law = Discrete.normalised([0.3, 0.3 * (1 + 1e-13)], [0.2, 0.8])
    np.testing.assert_allclose(law.atoms, [-2.0, 0.5], rtol=1e-15)


# --- the laws themselves --------------------------------------------------------------------------


@each_law
def test_samples_have_the_moments(law):
    rng = np.random.default_rng(20250)
    draws = law.sample(rng, (400, 500))
    assert draws.shape == (400, 500) and draws.dtype == float
    assert_agrees(draws.ravel(), 0.0)
    if not isinstance(law, Rademacher):
        assert_agrees(draws.ravel() ** 2, 1.0)
    else:
        assert np.all(np.abs(draws) == 1)
    if isinstance(law, Discrete):
        for atom, probability in zip(law.atoms, law.probabilities, strict=True):
            assert_agrees((draws == atom).ravel().astype(float), probability)
    if isinstance(law, SparseGaussian):
        assert_agrees((draws != 0).ravel().astype(float), law.density)


@each_law
def test_monte_carlo_overlap(law):
    """E[w0 <w>], the posterior mean by brute force over atoms or 1000 empirical quantiles of the law."""
    rng = np.random.default_rng(7)
    snr = 1.7
    w0 = law.sample(rng, 4000)
    y = np.sqrt(snr) * w0 + rng.standard_normal(w0.size)
    prior = law.sample(rng, 40_000)
    if law.is_discrete:
        prior, counts = np.unique(prior, return_counts=True)
        log_weight = np.log(counts)
    else:
        prior = np.sort(prior)[20::40]
        log_weight = np.zeros(prior.size)
    field = log_weight + np.sqrt(snr) * np.outer(y, prior) - snr * prior**2 / 2
    posterior = np.exp(field - field.max(axis=1, keepdims=True))
    assert_agrees(w0 * (posterior @ prior) / posterior.sum(axis=1), law.overlap(snr))


@pytest.mark.parametrize(
    "law", [Gaussian(), Uniform(), MIXTURE, SparseGaussian(1.0)], ids=lambda law: law.name
)
def test_density_is_centred_with_unit_variance(law):
    edge = math.sqrt(3) if isinstance(law, Uniform) else 12.0
    node, weight = np.polynomial.legendre.leggauss(400)
    density = np.exp(law.log_density(edge * node)) * edge * weight
    np.testing.assert_allclose([density.sum(), density @ (edge * node) ** 2], 1, rtol=1e-12)
    assert abs(density @ (edge * node)) < 1e-12
    assert law.log_density(np.float32(0.3)).dtype == np.float32 or isinstance(law, Uniform)


def test_uniform_density_vanishes_outside():
    assert np.all(Uniform().log_density(np.array([-1.74, 1.74])) == -np.inf)


@pytest.mark.parametrize("law", [Rademacher(), SKEWED, SparseGaussian(0.3)], ids=lambda law: law.name)
def test_laws_with_atoms_have_no_density(law):
    with pytest.raises(ValueError, match="has atoms, hence no density"):
        law.log_density(0.0)


def test_kinds_of_law():
    assert Rademacher().entropy == pytest.approx(math.log(2), rel=1e-15)
    assert SKEWED.entropy == pytest.approx(-sum(p * math.log(p) for p in (0.5, 0.3, 0.2)), rel=1e-15)
    assert [law.is_discrete for law in LAWS] == [False, True, False, True, True, False, False, False]
    assert [law.is_symmetric for law in LAWS] == [True, True, True, False, False, True, False, True]
    assert Discrete.normalised([-2, 0, 2], [1, 3, 1]).is_symmetric
    assert GaussianMixture.normalised([1.0, -1.0], [0.2, 0.2], [0.5, 0.5]).is_symmetric
    assert not GaussianMixture.normalised([1.0, -1.0], [0.2, 0.3], [0.5, 0.5]).is_symmetric
    for law in (Gaussian(), Uniform(), SparseGaussian(0.2), MIXTURE):
        assert law.entropy is None


def test_discrete_is_kept_sorted_without_repeats():
    law = Discrete((1, -1, 1, 5), (0.25, 0.5, 0.25, 0.0))
    assert law == Discrete((-1.0, 1.0), (0.5, 0.5)) and hash(law) == hash(Discrete((-1.0, 1.0), (0.5, 0.5)))


# --- specs and messages ---------------------------------------------------------------------------


@each_law
def test_spec_and_repr_round_trip(law):
    assert resolve(json.loads(json.dumps(law.spec))) == law
    assert eval(repr(law), {"weights": weights}) == law
    assert resolve(law) is law
    assert {law: 1}[resolve(law.spec)] == 1


def test_written_forms():
    assert resolve("Gaussian") == Gaussian() and resolve(" uniform ") == Uniform()
    assert resolve("sparse(0.2)") == resolve("sparse_gaussian( 0.2 )") == SparseGaussian(0.2)
    assert resolve("-1,1@0.5,0.5") == Discrete((-1, 1), (0.5, 0.5))
    assert resolve("-1,0,1@1,6,1", normalise=True) == Discrete((-2, 0, 2), (0.125, 0.75, 0.125))
    spec = {"kind": "gaussian-mixture", "means": [0, 3], "variances": [1, 2], "probabilities": [1, 1]}
    assert resolve(spec, normalise=True) == GaussianMixture.normalised([0, 3], [1, 2], [0.5, 0.5])


NAN = float("nan")


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: resolve("1@1"), "variance 0; give two different values"),
        (lambda: resolve("-1,0,1@0.25,0.5,0.25"), r"variance 0\.5; subtract the mean and divide by 0\.7071"),
        (lambda: Discrete((0, 2), (0.5, 0.5)), r"mean 1 and variance 1; .*Discrete\.normalised"),
        (lambda: Discrete((-1, 1), (0.5, 0.4)), r"probabilities must sum to 1, got 0\.9"),
        (lambda: Discrete((-1, 0, 1), (0.6, -0.2, 0.6)), r"probabilities must be >= 0, got -0\.2"),
        (lambda: Discrete((-1, NAN), (0.5, 0.5)), "must be finite"),
        (lambda: Discrete((-1, 1), (NAN, 0.5)), "must be finite"),
        (lambda: Discrete((-1, 0, 1), (0.5, 0.5)), "two lists of one length, got 3 and 2"),
        (lambda: Discrete((), ()), "two lists of one length, got 0 and 0"),
        (lambda: Discrete.normalised((2, 2), (1, 1)), "variance 0 cannot be rescaled"),
        (lambda: Discrete.normalised((-1, 1), (0, 0)), "not all be 0"),
        (lambda: GaussianMixture((0,), (2,), (1,)), r"variance 2; .*GaussianMixture\.normalised"),
        (lambda: GaussianMixture((-1, 1), (0, 0), (0.5, 0.5)), "variances must be 2 numbers > 0"),
        (
            lambda: GaussianMixture.normalised((-1, 1), (1, 2, 3), (0.5, 0.5)),
            "variances must be 2 numbers > 0",
        ),
        (lambda: SparseGaussian(0), r"density must be in \(0, 1\].*got 0"),
        (lambda: SparseGaussian(1.2), r"density must be in \(0, 1\].*got 1\.2"),
        (lambda: SparseGaussian(NAN), r"density must be in \(0, 1\].*got nan"),
        (lambda: resolve("sparse(lots)"), "density must be a number; 'lots' is not"),
        (lambda: resolve("1,x@0.5,0.5"), "cannot read the numbers of weights"),
        (
            lambda: resolve("rademacer"),
            r"unknown weights 'rademacer'; did you mean 'rademacher'\? choose from gaussian",
        ),
        (lambda: resolve("cauchy"), "unknown weights 'cauchy'; choose from gaussian; rademacher; uniform"),
        (lambda: resolve({"kind": "stable"}), "unknown weights .*'stable'.*choose from gaussian"),
        (
            lambda: resolve({"kind": "discrete", "atoms": [1]}),
            "lacks probabilities; discrete takes atoms, probabilities",
        ),
        (lambda: Gaussian().overlap(-0.1), r"snr must be a number between 0 and 1e\+60, got -0\.1"),
        (lambda: SKEWED.mmse([1.0, NAN]), "snr must be .* got nan"),
        (lambda: Uniform().channel(np.inf), "snr must be .* got inf"),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_other_types_are_refused():
    with pytest.raises(ValueError, match="weights must be a name, a description or a law .*got 3"):
        resolve(3)

"""One set of identities for every output channel, and closed forms against the quadrature."""

import math

import numpy as np
import pytest

from widthwise.ingredients import channels
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
from widthwise.ingredients.channels.quadrature import quadrature

POWER = 0.7
GAPS = np.array([0.04, 0.21, 0.55])


def exponential(y, x):
    """A label of mean exp(-x): continuous, on a half-line, and not additive."""
    return x - np.exp(x) * y


def three_classes(y, x):
    """Labels 0, 1, 3 with ln P linear in x: neither symmetric nor equally spaced."""
    return (y - 1) * x - np.log(np.exp(-x) + 1 + np.exp(2 * x))


SMOOTH = [
    Gaussian(0.13),
    Probit(0.1),
    Probit(0.03, shift=-0.4),
    Logistic(),
    Logistic(3.0, shift=0.2),
    StudentT(0.1, 4.5),
    Poisson(1.7),
    Poisson(0.6, shift=0.5),
    Nonlinear("tanh(2*x)", 0.2),
    Custom(exponential, support=(0, math.inf)),
    Custom(three_classes, labels=[0, 1, 3]),
]
ROUGH = [Laplace(0.1), Sign(), Sign(shift=0.3), Nonlinear("sign(x)", 0.5)]
EVERY = SMOOTH + ROUGH


def brute_force(channel, gap, power=POWER):
    """ψ, ψ' and ψ'' by dense sums over y, ω and u that know ln P_out only."""
    u = np.linspace(-8.5, 8.5, 241)
    w = np.exp(-0.5 * u**2)
    w /= w.sum()
    y, y_weight = labels_of(channel, power)
    root = math.sqrt(gap)
    xi = np.linspace(-8.5, 8.5, 121)
    xi_weight = np.exp(-0.5 * xi**2)
    xi_weight /= xi_weight.sum()
    total = np.zeros(3)
    for omega, weight in zip(channel.centre + xi * math.sqrt(power - gap), xi_weight, strict=True):
        p = np.exp(channel.log_likelihood(y, (omega + root * u)[:, None]))
        z = np.maximum(w @ p, 1e-280)
        slope = (w * u) @ p / root / z
        bend = (w * (u**2 - 1)) @ p / gap / z - slope**2
        mass = weight * y_weight * z
        total += [mass @ np.log(z), 0.5 * mass @ slope**2, 0.5 * mass @ bend**2]
    return total


def labels_of(channel, power):
    if channel.labels is not None:
        return np.array(channel.labels), np.ones(len(channel.labels))
    if isinstance(channel, Poisson):
        y = np.arange(60.0)
        return y, np.ones(y.size)
    t = np.linspace(-9.5, 9.5, 801)
    if isinstance(channel, Custom):
        y = np.exp(4 * t)
        return y, 4 * y * (t[1] - t[0])
    return np.sinh(t), np.cosh(t) * (t[1] - t[0])


def slope_by_differences(function, gap, step=2e-3):
    """-df/dgap by five points: error step⁴ = 2e-11 of the fifth derivative."""
    f = [function(gap * (1 + k * step), POWER) for k in (-2, -1, 1, 2)]
    return -(f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step * gap)


@pytest.mark.parametrize("channel", EVERY, ids=repr)
def test_identities(channel):
    psi, slope = channel.free_entropy(GAPS, POWER), channel.free_entropy_slope(GAPS, POWER)
    assert np.all(np.diff(psi) < 0) and np.all(slope > 0)  # ψ_out increases with q
    np.testing.assert_allclose(slope_by_differences(channel.free_entropy, GAPS), slope, rtol=3e-9)
    curvature = channel.free_entropy_curvature(GAPS, POWER)
    np.testing.assert_allclose(slope_by_differences(channel.free_entropy_slope, GAPS), curvature, rtol=3e-8)
    assert np.all(psi < channel.free_entropy_known(POWER))
    bayes, gibbs = channel.bayes_error(GAPS, POWER), channel.gibbs_error(GAPS, POWER)
    floor = channel.irreducible_error(POWER)
    assert np.all(np.diff(bayes) > 0) and floor < bayes[0]
    np.testing.assert_allclose(gibbs - floor, 2 * (bayes - floor), rtol=1e-12)


@pytest.mark.parametrize("channel", SMOOTH, ids=repr)
def test_against_brute_force(channel):
    # ψ' is there ½E(∂ ln Z)², the form that holds by the Nishimori identity. Sums converge like
    # exp(-c/step); 3e-9 is what is left for Student's tail beyond sinh(9.5) = 6700.
    exact = brute_force(channel, 0.21)
    for value, function in zip(
        exact, ("free_entropy", "free_entropy_slope", "free_entropy_curvature"), strict=True
    ):
        assert getattr(channel, function)(0.21, POWER) == pytest.approx(value, rel=3e-9)


@pytest.mark.parametrize("channel", EVERY, ids=repr)
def test_small_gaps(channel):
    """No overflow however small the gap, and the limits are those of a known output."""
    gaps = np.array([1e-250, 1e-30, 1e-14, 1e-7])
    for function in (channel.free_entropy, channel.free_entropy_slope, channel.bayes_error):
        assert np.all(np.isfinite(function(gaps, POWER)))
    assert channel.free_entropy(1e-14, POWER) == pytest.approx(channel.free_entropy_known(POWER), abs=1e-6)
    assert channel.bayes_error(1e-14, POWER) == pytest.approx(channel.irreducible_error(POWER), abs=1e-6)
    assert channel.free_entropy_slope(POWER, POWER) == pytest.approx(
        float(channel.free_entropy_slope(POWER * (1 - 1e-9), POWER)), rel=1e-7
    )


@pytest.mark.parametrize("channel", EVERY, ids=repr)
def test_labels(channel):
    """The likelihood normalises, has the mean that ``mean`` says, and is what ``sample`` draws from."""
    outputs = np.array([-1.3, 0.2, 0.9])
    y, p = channel.predictive(outputs, 0.0, POWER)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-10)
    np.testing.assert_allclose(np.sum(p * y, axis=1), channel.mean(outputs), atol=1e-9)
    rng = np.random.default_rng(5)
    n = 20_000
    for output, mean, row, value in zip(
        outputs, channel.mean(outputs), p, y if y.ndim == 2 else [y] * 3, strict=True
    ):
        drawn = channel.check_labels(channel.sample(rng, np.full(n, output)))
        deviation = math.sqrt(max(float(row @ (value - mean) ** 2), 1e-12) / n)
        assert abs(drawn.mean() - mean) < 4.5 * deviation + 1e-12


@pytest.mark.parametrize(
    "channel", [Probit(0.1), Sign(), Laplace(0.2), Logistic(2.0), Gaussian(0.3)], ids=repr
)
def test_output_derivatives(channel):
    y = np.array([1.0, -1.0, 1.0])
    omega, variance = np.array([0.3, 0.5, -1.2]), 0.4

    def log_z(omega):
        u = np.linspace(-9, 9, 200_001)
        w = np.exp(-0.5 * u**2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
        p = [channel.log_likelihood(a, b + math.sqrt(variance) * u) for a, b in zip(y, omega, strict=True)]
        return np.log(np.exp(p) @ w)

    # At a jump the sum is off by its step, 1e-4, which the differences divide by theirs.
    step = 0.02
    slope, curvature = channel.output_derivatives(y, omega, variance)
    ahead, here, behind = (log_z(omega + s) for s in (step, 0.0, -step))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), atol=1e-2)
    np.testing.assert_allclose(
        curvature, -(ahead - 2 * here + behind) / step**2, atol=0.6 if channel.breaks else 0.05
    )


# --- closed forms and quadrature -----------------------------------------------------------------


def custom_student(y, x, noise=0.1, dof=4.5):
    return StudentT(noise, dof).log_likelihood(y, x)


PAIRS = [
    (Gaussian(0.1), Custom(lambda y, x: Gaussian(0.1).log_likelihood(y, x), support=(-math.inf, math.inf))),
    (Gaussian(0.2), Nonlinear("x", 0.2)),
    (StudentT(0.1, 4.5), Custom(custom_student, support=(-math.inf, math.inf))),
    (Probit(0.1), Custom(lambda y, x: Probit(0.1).log_likelihood(y, x), labels=[-1, 1])),
    (
        Probit(0.1, shift=0.3),
        Custom(lambda y, x: Probit(0.1).log_likelihood(y, x), labels=[-1, 1], shift=0.3),
    ),
    (Sign(), Custom(lambda y, x: np.where(y * x > 0, 0.0, -np.inf), labels=[-1, 1], breaks=[0])),
    (Logistic(2.0), Custom(lambda y, x: -np.logaddexp(0, -2 * y * x), labels=[-1, 1])),
]


@pytest.mark.parametrize(("closed", "general"), PAIRS, ids=lambda c: repr(c))
def test_closed_forms_agree_with_the_quadrature(closed, general):
    # Gaps on both sides of the switch between kernel and local averages.
    gaps = np.array([1e-9, 1e-5, 2e-3, 0.011, 0.09, 0.4, POWER])
    grid = quadrature(general, POWER)
    values = np.array([grid.evaluate(gap) for gap in gaps]).T
    for found, name in zip(
        values, ("free_entropy", "free_entropy_slope", "free_entropy_curvature"), strict=False
    ):
        rtol = 1e-7 if name == "free_entropy_curvature" else 1e-10
        np.testing.assert_allclose(found, getattr(closed, name)(gaps, POWER), rtol=rtol)
    np.testing.assert_allclose(values[3], closed.bayes_error(gaps, POWER), rtol=1e-9)
    assert general.free_entropy_known(POWER) == pytest.approx(closed.free_entropy_known(POWER), abs=1e-11)


def test_table_agrees_with_the_quadrature_it_was_made_from():
    channel = Logistic(2.5, shift=-0.1)
    grid = quadrature(channel, 1.3)
    gaps = np.array([3e-6, 4e-3, 0.3, 1.1])
    direct = np.array([grid.evaluate(gap) for gap in gaps]).T
    np.testing.assert_allclose(channel.free_entropy_slope(gaps, 1.3), direct[1], rtol=1e-11)
    np.testing.assert_allclose(channel.free_entropy(gaps, 1.3), direct[0], rtol=1e-11)


# --- limits ----------------------------------------------------------------------------------------


def test_noise_to_zero_is_continuous():
    exact = Sign().free_entropy_slope(GAPS, POWER)
    for noise in (1e-4, 1e-6):
        off = np.abs(Probit(noise).free_entropy_slope(GAPS, POWER) / exact - 1)
        assert np.all(off < 20 * noise), off  # first order in noise/gap
    np.testing.assert_allclose(Probit(1e-14).free_entropy_slope(GAPS, POWER), exact, rtol=1e-11)


@pytest.mark.parametrize(
    ("make", "information"),
    [
        (lambda n: Probit(n), 2 / math.pi),
        (lambda n: Laplace(n), 2.0),
        (lambda n: Logistic(1 / math.sqrt(n)), 0.25),
    ],
    ids=["probit", "laplace", "logistic"],
)
def test_large_noise_is_gaussian_of_the_same_fisher_information(make, information):
    """ψ' → ½ I/noise, the slope of Gaussian noise of variance noise/I, up to O(noise⁻½)."""
    off = []
    for noise in (1e4, 1e6):
        slope = make(noise).free_entropy_slope(0.3, POWER)
        off.append(abs(float(slope / Gaussian(noise / information).free_entropy_slope(0.3, POWER)) - 1))
    assert off[0] < 0.02 and off[1] < 0.11 * off[0]


def test_student_of_many_degrees_is_gaussian():
    np.testing.assert_allclose(
        StudentT(0.2, 4000.0).free_entropy_slope(GAPS, POWER),
        Gaussian(0.2).free_entropy_slope(GAPS, POWER),
        rtol=1e-5,
    )


def test_all_kinds_are_covered():
    assert {type(c).name for c in EVERY} == {*channels.CHANNELS, "custom"}

"""Channels over the whole range of their parameters: digits, deficits, convexity, infinite variance."""

import math
import warnings

import mpmath as mp
import numpy as np
import pytest

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
from widthwise.ingredients.channels.label_rules import counts_rule
from widthwise.ingredients.channels.logistic import _mixture
from widthwise.ingredients.channels.quadrature import quadrature


def cauchy(y, x, width=0.3):
    return -np.log(math.pi * width * (1 + ((y - x) / width) ** 2))


CAUCHY = Custom(cauchy, support=(-math.inf, math.inf))
# Noise from 1e-6 to 1e3 of the power, steep and flat rules, heavy tails, rare and frequent counts.
CASES = [
    (Gaussian(3e-6), 1.7),
    (Laplace(2e-6), 1.7),
    (Laplace(900.0), 1.7),
    (StudentT(1e-6, 2.3), 0.9),
    (StudentT(0.4, 16.2), 170.0),
    (StudentT(2.0, 900.0), 0.003),
    (Probit(2e-6, shift=0.4), 1.3),
    (Probit(50.0), 0.3),
    (Sign(shift=-0.7), 2.9),
    (Logistic(1e-3), 0.02),
    (Logistic(0.7, shift=-1.1), 3.0),
    (Logistic(400.0, shift=0.2), 1.9),
    (Poisson(2e-3), 70.0),
    (Poisson(1.3, shift=0.6), 1.9),
    (Nonlinear("tanh(2*x)", 0.003), 0.8),
    (Nonlinear("sign(x-0.2)+x", 0.3), 1.3),
    (Nonlinear("abs(x+0.1)", 0.2), 0.7),
    (CAUCHY, 1.1),
]
every_case = pytest.mark.parametrize(
    ("channel", "power"), CASES, ids=lambda value: repr(value) if not isinstance(value, float) else ""
)
EIGHTH = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


@every_case
def test_slopes_are_derivatives_from_tiny_to_full_gaps(channel, power):
    # In ln(gap) with step 0.01, of eighth order: what is left is the rounding of ψ over the step.
    gap = power * np.geomspace(3e-13, 0.9, 19)[:, None]
    step = 0.01
    points = gap * np.exp(step * np.arange(-4, 5))
    psi, slope = channel.free_entropy(points, power), channel.free_entropy_slope(points, power)
    difference = -(psi @ EIGHTH) / step
    allowed = 2e-12 * (1 + np.abs(psi[:, 4])) / step
    assert np.all(np.abs(difference - gap[:, 0] * slope[:, 4]) < allowed + 1e-9 * gap[:, 0] * slope[:, 4])
    curvature = channel.free_entropy_curvature(gap[:, 0], power)
    np.testing.assert_allclose(
        -(slope @ EIGHTH) / step + 1e-3 * slope[:, 4], gap[:, 0] * curvature + 1e-3 * slope[:, 4], rtol=1e-6
    )


@every_case
def test_convex_and_increasing_in_the_overlap(channel, power):
    gap = power * np.geomspace(1e-14, 1.0, 700)
    slope = channel.free_entropy_slope(gap, power)
    assert np.all(slope >= 0) and np.all(np.diff(slope) <= 1e-10 * slope[:-1])
    psi = channel.free_entropy(gap, power)
    known = channel.free_entropy_known(power)
    assert np.all(np.diff(psi) <= 2e-12 * (1 + abs(known))) and np.all(
        psi <= known + 2e-12 * (1 + abs(known))
    )


@every_case
def test_deficit_has_relative_accuracy(channel, power):
    gap = power * np.geomspace(1e-200, 1.0, 9)
    deficit = channel.free_entropy_deficit(gap, power)
    assert np.all(np.diff(deficit) > 0)
    plain = channel.free_entropy_known(power) - channel.free_entropy(gap, power)
    assert np.all(np.abs(deficit - plain) < 2e-12 * (1 + np.abs(channel.free_entropy_known(power))))
    # It is the integral of ψ'. On this short interval ψ' is known to the eighth order in ln(gap).
    step, short = 0.01, power * np.array([1e-150, 1e-40, 1e-9, 1e-3])[:, None]
    points = short * np.exp(step * np.arange(-4, 5))
    rate = channel.free_entropy_deficit(points, power) @ EIGHTH / step
    slope = channel.free_entropy_slope(short[:, 0], power)
    np.testing.assert_allclose(rate, short[:, 0] * slope, rtol=1e-8)
    assert channel.free_entropy_deficit(0.0, power) == 0
    assert channel.free_entropy_deficit(np.full((2, 3), 0.3 * power), power).shape == (2, 3)


@pytest.mark.parametrize(
    ("channel", "power"),
    [(Nonlinear("x**2", 1.276), 0.2548495), (Nonlinear("abs(x)", 0.7), 0.3), (Nonlinear("x**2", 0.05), 0.02)],
)
def test_deficit_where_nothing_is_known(channel, power):
    """Labels without the sign of λ: ψ' rises steeply from 0 as something becomes known (7e-10 was missed)."""
    gap = power * np.array([0.9, 0.99, 0.999, 1 - 1e-6, 1.0])
    plain = channel.free_entropy_known(power) - channel.free_entropy(gap, power)
    assert np.all(np.abs(channel.free_entropy_deficit(gap, power) - plain) < 5e-12)


def test_gaussian_deficit():
    gap = np.array([1e-300, 1e-20, 0.1, 3.0])
    np.testing.assert_allclose(
        Gaussian(0.2).free_entropy_deficit(gap, 3.0), 0.5 * np.log1p(gap / 0.2), rtol=1e-15
    )


# --- Student ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dof", "noise", "gap", "psi"),
    [
        (5.0, 0.1, 0.05, -0.4536001881397418),
        (16.2, 10.5, 4.0, -2.754949219037284),
        (3.0, 1.0, 1e-3, -1.225169807465826),
    ],
)
def test_student_against_nested_integrals(dof, noise, gap, psi):
    """∫ p ln p, p the convolution of density and Gaussian: both by tanh-sinh with sixteen digits (mpmath)."""
    assert StudentT(noise, dof).free_entropy(gap, 1e3) == pytest.approx(psi, abs=1e-13)


@pytest.mark.parametrize("dof", [2.01, 39.9, 40.1, 1e5])
def test_student_entropy_and_constant(dof):
    with mp.workdps(30):
        half = mp.mpf(dof) / 2
        log_beta = mp.log(mp.beta(half, mp.mpf(1) / 2))
        entropy = (half + 0.5) * (mp.digamma(half + 0.5) - mp.digamma(half)) + mp.log(dof) / 2 + log_beta
        scale = mp.sqrt((mp.mpf(dof) - 2) / dof)
        known = -entropy - mp.log(scale)
        at_zero = -log_beta - mp.log(dof) / 2 - mp.log(scale)
    channel = StudentT(1.0, dof)
    assert channel.free_entropy_known(1.0) == pytest.approx(float(known), abs=2e-14)
    assert channel.log_likelihood(0.0, 0.0) == pytest.approx(float(at_zero), abs=2e-14)


# --- logistic --------------------------------------------------------------------------------------


def test_logistic_rule_is_a_mixture_of_probits():
    from scipy.special import ndtr

    deviations, p = _mixture()
    x = np.array([0.0, 0.3, 1.0, 4.0, 13.0, 30.0, 44.0])
    np.testing.assert_allclose(ndtr(-x[:, None] / deviations) @ p, 1 / (1 + np.exp(x)), rtol=1e-13)


@pytest.mark.parametrize(
    "channel", [Logistic(1e-3), Logistic(2.5, shift=-0.4), Logistic(60.0, shift=0.3)], ids=repr
)
def test_logistic_against_the_general_quadrature(channel):
    power = 1.9
    grid = quadrature(channel, power)
    gap = power * np.array([1e-9, 3e-4, 0.02, 0.3, 0.9])
    direct = np.array([grid.evaluate(float(v)) for v in gap]).T
    for row, name, rtol in zip(
        direct,
        ("free_entropy", "free_entropy_slope", "free_entropy_curvature", "bayes_error"),
        (1e-11, 1e-10, 1e-6, 1e-10),
        strict=True,
    ):
        np.testing.assert_allclose(getattr(channel, name)(gap, power), row, rtol=rtol)
    labels, z = channel.predictive(np.array([-0.7, 0.1]), 0.21, power)
    np.testing.assert_allclose(z, grid.predictive(np.array([-0.7, 0.1]), 0.21), rtol=1e-11)


# --- counts and outer non-linearities --------------------------------------------------------------


def test_sums_over_counts_by_sixteen_in_a_panel():
    rule = counts_rule(60_000)
    labels, weights = rule.nodes(rule.values)
    assert labels.size < 6000
    for mean in (3.0, 1020.0, 1100.0, 48_000.0):
        with mp.workdps(20):
            moments = [1.0, mean, mean * (1 + mean)]
        log_p = labels * math.log(mean) - mean - np.array([math.lgamma(y + 1) for y in labels])
        p = weights * np.exp(log_p)
        # lgamma at 5e4 is 5e5, known to 1e-10.
        np.testing.assert_allclose([p @ labels**k for k in range(3)], moments, rtol=2e-10)


def test_poisson_of_many_counts_is_gaussian():
    """Counts of mean and variance rate·λ, far from the bend: λ with Gaussian noise of variance λ/rate."""
    channel, power, shift = Poisson(500.0, shift=40.0), 1.0, 40.0
    gap = 0.3
    noise = shift / 500.0
    expected = 0.5 / (noise + gap)
    # λ varies by ±1 and the noise by 1/40 with it; to first order the two signs cancel.
    assert channel.free_entropy_slope(gap, power) == pytest.approx(expected, rel=2e-3)


def test_steps_are_told_apart_on_a_scale_finer_than_the_noise():
    """y = sign(λ) + λ + noise: between the two bumps Z ln Z bends much faster than Z does."""
    channel, power = Nonlinear("sign(x)+x", 0.3), 1.3
    node, weight = np.polynomial.legendre.leggauss(20)

    def fine(edges):
        half, middle = 0.5 * np.diff(edges)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
        return (middle + half * node).ravel(), (half * weight).ravel()

    outputs, w = fine(np.unique(np.append(np.linspace(-11, 11, 120), 0.0)))
    labels, label_weights = fine(np.linspace(-14, 14, 300))
    kernel = w * np.exp(-(outputs**2) / (2 * power)) / math.sqrt(2 * math.pi * power)
    p = np.exp(channel.log_likelihood(labels, outputs[:, None]))
    z = np.maximum(kernel @ p, 1e-300)
    slope = (kernel * outputs / power) @ p / z
    np.testing.assert_allclose(
        channel.free_entropy(power, power), label_weights @ (z * np.log(z)), rtol=1e-12
    )
    np.testing.assert_allclose(
        channel.free_entropy_slope(power, power), 0.5 * label_weights @ (z * slope**2), rtol=1e-11
    )


def test_even_rules_teach_nothing_before_something_is_known():
    slope = Nonlinear("x**2", 0.4).free_entropy_slope(0.9 * (1 - np.array([0.0, 1e-15, 1e-6, 1e-2])), 0.9)
    assert slope[0] < 1e-12 and np.all(slope >= 0) and slope[3] > 1e-3


# --- labels without variance -----------------------------------------------------------------------


def test_cauchy_noise():
    """ψ' is that of a Voigt profile, the errors are infinite, and nothing warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        power = 1.1
        assert CAUCHY.irreducible_error(power) == math.inf
        assert np.all(CAUCHY.bayes_error([0.1, 1.0], power) == math.inf)
        assert np.all(CAUCHY.gibbs_error([0.1, 1.0], power) == math.inf)
        assert CAUCHY.free_entropy_known(power) == pytest.approx(-math.log(4 * math.pi * 0.3), abs=1e-12)
        # Fisher information of a Cauchy variable: 1/(2 width²).
        assert CAUCHY.free_entropy_slope(1e-12, power) == pytest.approx(0.25 / 0.3**2, rel=1e-9)
        from scipy.special import voigt_profile

        x = np.sinh(np.linspace(-32, 32, 40_001))
        dx = np.cosh(np.linspace(-32, 32, 40_001)) * 64 / 40_000
        p = np.maximum(voigt_profile(x, math.sqrt(0.2), 0.3), 1e-300)
        assert CAUCHY.free_entropy(0.2, power) == pytest.approx(dx @ (p * np.log(p)), abs=1e-10)


@pytest.mark.parametrize("power", [0.1311998726252211, 0.3, 1.7, 2.9])
def test_a_break_in_the_middle_is_one_edge(power):
    """One of the even edges was 1e-17 from it: 35 decades of gaps were looked at on panels as narrow."""
    channel = Nonlinear("sign(x)+0.3*x", 0.0079, shift=0.0)
    assert quadrature(channel, power).narrowest > 1e-3


def scarcely(labels, outputs, xp=np):
    """y = -1, 0, 1 with odds exp(0.07 y λ)."""
    a = 0.07 * outputs
    return labels * a - xp.logaddexp(xp.logaddexp(a, -a), 0.0)


@pytest.mark.parametrize(
    "channel",
    [
        Custom(scarcely, labels=(-1.0, 0.0, 1.0), shift=-2.1),
        Nonlinear("relu(x)", 0.017, shift=-0.97),
    ],
)
def test_labels_that_say_little_take_few_panels(channel):
    """Noise of ψ' and ψ'' was taken for structure: every panel was halved to the end."""
    power, n_evaluated = 0.0103, 0
    grid = quadrature(channel, power)
    evaluate = grid.evaluate

    def counted(gap):
        nonlocal n_evaluated
        n_evaluated += 1
        return evaluate(gap)

    grid.evaluate = counted
    gaps = power * np.geomspace(1e-12, 1, 40)
    slope = channel.free_entropy_slope(gaps, power)
    assert np.all(slope >= 0) and n_evaluated < 700
    assert np.allclose(slope, [evaluate(gap)[1] for gap in gaps], rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize(
    ("channel", "power"),
    [
        (Nonlinear("x**2", 0.03), 1.3),  # rare labels whose law is a sum of spikes
        (Nonlinear("x+0.2*x**3", 0.02, shift=0.4), 1.0),  # few labels are seen from one ω
        (CAUCHY, 1.1),
    ],
    ids=repr,
)
def test_fewer_labels_where_the_predictive_law_is_smooth(channel, power):
    grid = quadrature.__wrapped__(channel, power)
    assert min(fewer.labels.size for _, fewer in grid._fewer) < 0.5 * grid.labels.size
    gaps = power * np.array([0.97, 0.31, 0.1, 0.02, 0.004])
    some = np.array([grid.evaluate(gap) for gap in gaps])
    grid._fewer.clear()
    every = np.array([grid.evaluate(gap) for gap in gaps])
    np.testing.assert_allclose(some, every, rtol=1e-11)


def test_a_jump_far_out_in_the_tail_is_not_resolved_for_ever():
    """At tiny gaps a jump that no output reaches is all there is, known to a few digits: those are kept."""
    from widthwise.ingredients.channels.tables import GapTable

    n_evaluated = 0

    def exact(gap):
        jump = 1e-11 * np.sqrt(gap), 5e-12 * np.ones_like(gap)
        return np.array([1.4 - gap, 13.5 + jump[0] / gap, 366 + jump[1] / gap**1.5, 0.003 + gap])

    def blurred(gap):
        nonlocal n_evaluated
        n_evaluated += gap.size
        values = exact(gap)
        values[1] *= 1 + np.where(gap < 1e-24, 1e-3, 0.0) * np.sin(1e5 * np.log(gap))
        values[2] *= 1 + np.where(gap < 1e-24, 1e-3, np.where(gap < 1e-9, 1e-6, 0.0)) * np.sin(
            1e5 * np.log(gap)
        )
        return values

    table = GapTable(blurred, 0.04, (0, 1, 3, 0), is_largest=True)
    gap = np.logspace(-80, -2, 157)
    off = np.abs(table(gap) / exact(gap) - 1)
    assert np.all(off[:2, gap > 1e-18] < 1e-10) and np.all(off[2, gap > 1e-18] < 1e-5)
    assert np.all(off < 0.02)
    assert n_evaluated < 20000  # 73 000 without a last panel for what is known to a few digits


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_outputs_far_wider_than_the_channel(share, monkeypatch):
    """Around every output by itself, or on one grid of outputs for all: two routes to one average."""
    channel, power = Nonlinear("tanh(2*x)", 0.0007, shift=0.4), 900.0
    grid = quadrature(channel, power)
    gap = (share * grid.narrowest) ** 2
    assert grid._is_local(gap)
    around = grid.evaluate(gap)
    monkeypatch.setattr("widthwise.ingredients.channels.quadrature._WIDE", np.inf)
    assert not grid._is_local(gap)
    assert around == pytest.approx(grid.evaluate(gap), rel=1e-11)


@pytest.mark.parametrize("channel", [Sign(shift=0.3), Probit(0.2, shift=-0.7)])
def test_slopes_alone_are_those_of_all_four_functions(channel):
    gap = np.array([[1e-9, 0.3], [1.1, 1.7]])
    slope, curvature = channel.free_entropy_slopes(gap, 1.7)
    assert slope == pytest.approx(channel._values(1, gap, 1.7), rel=1e-14)
    assert channel.free_entropy_slope(gap, 1.7) == pytest.approx(slope, rel=1e-14)
    assert curvature == pytest.approx(channel.free_entropy_curvature(gap, 1.7), rel=1e-14)

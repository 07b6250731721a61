"""The verdict on measured against predicted errs as often as it says, whatever the number of instances."""

import math

import numpy as np
import pytest
from scipy import stats

import widthwise as ww
from widthwise.networks.comparison import (
    CLOSE,
    LEVEL,
    NARROW,
    Mean,
    interval,
    mean_of,
    pooled,
    scale_of,
    verdict,
)


def test_mean_and_standard_error():
    found = mean_of([0.1, math.nan, 0.2, 0.6])
    assert found.value == pytest.approx(0.3) and (found.n, found.degrees) == (3, 2)
    assert found.standard_error == pytest.approx(stats.sem([0.1, 0.2, 0.6]))
    assert found.deviation(0.1) == pytest.approx(stats.ttest_1samp([0.1, 0.2, 0.6], 0.1).statistic)
    one = mean_of([0.4, math.inf])
    assert one.value == 0.4 and math.isnan(one.standard_error) and one.n == 1
    assert mean_of([]).n == 0 and math.isnan(mean_of([]).value)


def test_published_deviations_divide_by_n():
    values = np.array([0.3, 0.7, 0.2, 0.9, 0.4])
    published = Mean.from_std(values.mean(), values.std(), values.size)
    ours = mean_of(values)
    assert published.standard_error == pytest.approx(ours.standard_error)
    assert published.degrees == ours.degrees


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_interval_is_that_of_student(n):
    values = np.random.default_rng(n).normal(1.3, 0.2, n)
    found = mean_of(values)
    low, high = stats.t.interval(1 - LEVEL, n - 1, found.value, stats.sem(values))
    assert interval(found) == pytest.approx((high - low) / 2, rel=1e-9)
    assert interval(Mean(1.0, 0.1, 1, math.inf)) == pytest.approx(0.1 * stats.norm.isf(LEVEL / 2))
    assert interval(mean_of([1.0])) == math.inf


def assert_rate(hits, n, expected):
    """The share of hits is the expected one, within 4 binomial standard errors."""
    error = math.sqrt(expected * (1 - expected) / n)
    z = (hits / n - expected) / error
    assert abs(z) < 4, (
        f"{hits} of {n}: {hits / n:.4f} where {expected:.4f} is right, {z:+.1f} standard errors"
    )


def false_alarms(means, predicted):
    """Of means whose truth is the prediction."""
    words = [verdict(mean, predicted) for mean in means]
    return sum(word in ("close", "differs") for word in words)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_false_alarms_of_single_points(n):
    values = np.random.default_rng(10 + n).normal(0.7, 0.3, (40_000, n))
    assert_rate(false_alarms(map(mean_of, values), 0.7), 40_000, LEVEL)


def test_three_standard_errors_would_have_missed_this():
    """The false alarms of "3 standard errors" at two instances: 20 %, not 0.27 %."""
    values = np.random.default_rng(3).normal(0.7, 0.3, (20_000, 2))
    alarms = sum(abs(mean_of(row).deviation(0.7)) > 3 for row in values)
    assert_rate(alarms, 20_000, 2 * stats.t.sf(3, 1))


@pytest.mark.parametrize(("n", "n_points"), [(2, 8), (4, 5)])
def test_false_alarms_of_points_that_share_their_scatter(n, n_points):
    rng = np.random.default_rng(n)
    truth = np.geomspace(0.9, 0.01, n_points)
    alarms, n_series = 0, 5000
    for _ in range(n_series):
        groups = truth[:, None] * (1 + 0.2 * rng.standard_normal((n_points, n)))
        found = pooled(list(groups), truth)
        alarms += sum(verdict(m, t) in ("close", "differs") for m, t in zip(found, truth, strict=True))
    # The points of a series have one scatter in common, so their alarms come together: instead of 1, the
    # variance of their number is at most n_points times that of independent ones.
    error = math.sqrt(LEVEL * (1 - LEVEL) * n_points / (n_series * n_points))
    assert abs(alarms / (n_series * n_points) - LEVEL) < 4 * error


def test_pooled_points_have_the_degrees_of_all_and_narrower_intervals():
    rng = np.random.default_rng(1)
    truth = np.array([1.0, 0.1, 0.01])
    groups = [t * (1 + 0.1 * rng.standard_normal(2)) for t in truth] + [np.array([0.001])]
    scales = [*truth, 0.001]
    found = pooled(groups, scales)
    assert [one.degrees for one in found] == [3, 3, 3, 3]
    relative = [one.standard_error * math.sqrt(one.n) / s for one, s in zip(found, scales, strict=True)]
    expected = math.sqrt(sum(np.var(g / s, ddof=1) for g, s in zip(groups[:3], truth, strict=True)) / 3)
    np.testing.assert_allclose(relative, expected)
    assert [one.value for one in found] == [pytest.approx(np.mean(g)) for g in groups]


def test_points_with_a_scatter_of_their_own_keep_it():
    rng = np.random.default_rng(2)
    calm, wild = 1 + 0.01 * rng.standard_normal(6), 1 + 0.5 * rng.standard_normal(6)
    found = pooled([calm, wild], 1.0)
    assert [one.standard_error for one in found] == [mean_of(g).standard_error for g in (calm, wild)]
    statistic, p = stats.bartlett(calm, wild)
    assert p < 0.01
    alike = [calm, 1 + 0.01 * rng.standard_normal(6)]
    assert stats.bartlett(*alike).pvalue > 0.01 and pooled(alike, 1.0)[0].degrees == 10


def test_verdicts():
    known = Mean(1.0, 0.01, 1, math.inf)
    assert verdict(known, 1.02) == "agrees"
    assert verdict(known, 1.05) == "close"
    assert verdict(known, 1.2) == "differs"
    assert verdict(known, 1.2, scale=3.0) == "close"
    assert verdict(known, math.nan) == "not predicted"
    assert verdict(Mean(math.nan, math.nan, 0, 0), 1.0) == "not measured"
    wide = Mean(1.0, 0.2, 1, math.inf)
    assert interval(wide) > NARROW and verdict(wide, 1.1) == "undecided"
    alone = mean_of([1.0])
    assert verdict(alone, 1 / (1 - 0.9 * CLOSE)) == "close" and verdict(alone, 2.0) == "undecided"


def test_two_instances_do_not_make_half_as_much_again_an_agreement():
    """+48 % at 2.9 of their standard errors was called an agreement."""
    values = np.array([1.48 - 0.1655, 1.48 + 0.1655])
    assert mean_of(values).deviation(1.0) == pytest.approx(2.9, abs=0.01)
    assert verdict(mean_of(values), 1.0) == "undecided"
    many = [values] + [1.0 + 0.12 * np.array([-1, 1])] * 9  # nine more points say how they scatter
    assert verdict(pooled(many, 1.0)[0], 1.0) == "differs"


def test_scales():
    problem = ww.Problem("relu", gamma=0.7)
    assert scale_of(problem, "weight_overlap", 0.2) == 1.0
    assert scale_of(problem, "excess_error", 0.2) == 0.2
    # With no data the excess error is half of μ₂² and all of the tail of the kernel.
    start = ww.solve(problem, 1e-6).excess_error
    assert scale_of(problem, "excess_error", 0.0) == pytest.approx(0.01 * start, rel=1e-3)

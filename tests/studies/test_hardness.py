"""Times to threshold: crossings, censored likelihoods, the published data."""

import math

import numpy as np
import pytest
from scipy import stats

import widthwise as ww
from widthwise.studies.hardness import (
    HardnessStudy,
    analyse,
    batch_sizes,
    crossing_time,
)
from widthwise.studies.published import (
    PRINTED_CHI_SQUARE,
    published_chi_square,
    published_crossings,
    read_published,
)
from widthwise.studies.survival import Times, bootstrap, chi_square, fit_times
from widthwise.sweeps.result import Result
from widthwise.sweeps.store import Store

A, B, SPREAD, LIMIT = 0.021, 2.9, 0.35, 600.0
SIZES = np.repeat(np.arange(60, 181, 20), 12)


def sample(rng, law="exponential", limit=LIMIT, noise="normal"):
    mean = A * SIZES + B if law == "exponential" else math.log(0.03) + 2.0 * np.log(SIZES)
    e = rng.standard_normal(SIZES.size) if noise == "normal" else np.log(rng.exponential(size=SIZES.size))
    times = np.exp(mean + SPREAD * e)
    return Times.of(SIZES, np.minimum(times, limit), times > limit)


def mean_and_distance(values, exact):
    values = np.array(values)
    return abs(values.mean() - exact) / (values.std(ddof=1) / math.sqrt(values.size))


@pytest.mark.parametrize(("noise", "distribution"), [("normal", "lognormal"), ("gumbel", "weibull")])
def test_censored_likelihood_is_unbiased_where_dropping_is_not(noise, distribution):
    rng = np.random.default_rng(1)
    kept, dropped = [], []
    for _ in range(40):
        times = sample(rng, noise=noise)
        assert 0.05 < times.is_censored.mean() < 0.5
        fit = fit_times(times, "exponential", distribution)
        kept.append((fit.a, fit.b, fit.spread))
        crossed = ~times.is_censored
        dropped.append(
            fit_times(Times.of(times.d[crossed], times.time[crossed]), "exponential", distribution).a
        )
    a, b, _ = zip(*kept, strict=True)
    assert mean_and_distance(a, A) < 4 and mean_and_distance(b, B) < 4
    assert mean_and_distance(dropped, A) > 8  # the same check fails when what never crossed is left out


def test_likelihood_is_the_one_of_scipy():
    times = sample(np.random.default_rng(2))
    fit = fit_times(times, "power")
    model = stats.lognorm(fit.spread, scale=fit(times.d))
    weibull_fit = fit_times(times, "power", "weibull")
    weibull = stats.weibull_min(1 / weibull_fit.spread, scale=weibull_fit(times.d))
    for found, law in ((fit, model), (weibull_fit, weibull)):
        each = np.where(times.is_censored, law.logsf(times.time), law.logpdf(times.time))
        assert found.log_likelihood == pytest.approx(each.sum(), rel=1e-12)
    assert fit.aic == pytest.approx(6 - 2 * fit.log_likelihood)


@pytest.mark.parametrize("law", ["exponential", "power"])
@pytest.mark.parametrize("distribution", ["lognormal", "weibull"])
def test_fit_is_a_maximum(law, distribution):
    times = sample(np.random.default_rng(3))
    fit = fit_times(times, law, distribution)

    def log_likelihood(a, b, s):
        scale = np.exp(a * times.d + b) if law == "exponential" else a * times.d**b
        model = (
            stats.lognorm(s, scale=scale)
            if distribution == "lognormal"
            else stats.weibull_min(1 / s, scale=scale)
        )
        return np.where(times.is_censored, model.logsf(times.time), model.logpdf(times.time)).sum()

    best = log_likelihood(fit.a, fit.b, fit.spread)
    for step in np.vstack([np.eye(3), -np.eye(3)]) * 1e-3:
        assert log_likelihood(*(np.array([fit.a, fit.b, fit.spread]) * (1 + step))) < best


def test_closed_form_meets_the_search():
    """Without censoring least squares is the answer; a run 'censored' at once says nothing."""
    times = sample(np.random.default_rng(4), limit=math.inf)
    closed = fit_times(times, "exponential")
    with_nothing = Times(
        np.append(times.d, 100.0), np.append(times.time, 1e-9), np.append(times.is_censored, True)
    )
    searched = fit_times(with_nothing, "exponential")
    assert searched.a == pytest.approx(closed.a, rel=1e-4)
    assert searched.log_likelihood == pytest.approx(closed.log_likelihood, abs=1e-6)


@pytest.mark.parametrize("law", ["exponential", "power"])
def test_the_law_that_made_the_times_is_preferred(law):
    rng = np.random.default_rng(5)
    times = sample(rng, law, limit=1e4 if law == "power" else LIMIT)
    exponential, power = (fit_times(times, name).log_likelihood for name in ("exponential", "power"))
    difference = exponential - power
    assert difference > 2 if law == "exponential" else difference < -2
    assert bootstrap(times, n_samples=40)[law]["preferred"] > 0.8


def test_bootstrap_interval_has_the_width_of_theory():
    """Uncensored: the slope has standard error s/√Σ(d - mean)², and 95 % is 3.92 of them."""
    times = sample(np.random.default_rng(6), limit=math.inf)
    interval = bootstrap(times, n_samples=300)["exponential"]
    expected = 3.92 * SPREAD / math.sqrt(np.sum((SIZES - SIZES.mean()) ** 2))
    # 84 instances and 300 samples know the width to about 15 %.
    assert interval["high"] - interval["low"] == pytest.approx(expected, rel=0.4)
    assert interval["low"] < fit_times(times, "exponential").a < interval["high"]


def test_bad_times_are_refused():
    with pytest.raises(ValueError, match="give a run that never crossed as censored"):
        Times.of([10, 20], [5.0, 0.0])
    with pytest.raises(ValueError, match="one length"):
        Times.of([10, 20], [5.0])
    with pytest.raises(ValueError, match="at two values of d"):
        fit_times(Times.of([10, 20], [5.0, 9.0], [False, True]), "power")
    with pytest.raises(ValueError, match="unknown law 'linear'"):
        fit_times(sample(np.random.default_rng(0)), "linear")


# --- crossings -----------------------------------------------------------------------------------


def test_crossing_time():
    iterations, values = np.arange(0, 60, 10), np.array([9.0, 1.0, 5.0, 2.0, 6.0, 7.0])
    assert crossing_time(iterations, values, 4.0, is_above=True) == 20
    assert crossing_time(iterations, values, 8.0, is_above=True) != 20  # the start does not count
    assert math.isnan(crossing_time(iterations, values, 8.0, is_above=True))
    # Means of three: 9, 5, 5, 2.67, 4.33, 5.
    assert crossing_time(iterations, values, 3.0, is_above=False, window=3) == 30
    assert crossing_time(iterations, values, 3.0, is_above=False) == 10


def test_batch_sizes_of_the_paper():
    assert batch_sizes(500) == [125, 62, 31, 15, 7, 3]  # p = 2, ..., 7 = floor(log2 500) - 1
    assert batch_sizes(512) == [128, 64, 32, 16, 8, 4, 2]


def test_thresholds_lie_between_the_branches():
    problem = ww.Problem("sigma3", channel=0.1, gamma=0.5)
    study = HardnessStudy(problem, "hmc", [20], [0], 1.0, 100)
    low = ww.solve(problem, 1.0, branch="universal").matrix_overlap_centred
    high = ww.solve(problem, 1.0).matrix_overlap_centred
    assert low < min(study.thresholds) < max(study.thresholds) < high
    assert low == pytest.approx(0.883, abs=5e-4)  # as published
    relu = ww.Problem("relu", channel=1e-4, gamma=0.5)
    loss = HardnessStudy(relu, "adam", [10], [0], 5.0, 100).thresholds
    np.testing.assert_allclose(loss, [0.0081, 0.0101, 0.0121], atol=2e-5)  # 0.008, 0.010, 0.012 in the paper
    with pytest.raises(ValueError, match="nothing to cross"):
        HardnessStudy(problem, "hmc", [20], [0], 0.05, 100)


def test_study_takes_the_fastest_batch_and_censors_the_rest(tmp_path):
    """Made-up runs: batch 4 crosses at 30 + seed, others at 50 or never."""
    study = HardnessStudy(ww.Problem("relu"), "adam", [6, 8], [0, 1], 1.0, 100, 10, [0.5])
    store = Store(tmp_path)
    store.prepare()
    tasks = study.tasks()
    assert {task.settings["batch_size"] for task in tasks if task.d == 8} == {16, 8, 4, 2}
    draws = np.arange(0, 101, 10)
    for task in tasks:
        at = {16: 1000, 9: 1000, 8: 1000, 4: 30 + 10 * task.seed, 2: 60}[task.settings["batch_size"]]
        if task.settings["batch_size"] == 2 and task.d == 8 and task.seed == 1:
            at = 1000
        loss = np.where(draws >= at, -10.0, 1.0)[None]
        trace = {"excess_error": (("chain", "draw"), loss), "draw": (("draw",), draws)}
        store.write(Result(task, "done", {"excess_error": ((), np.array(1.0))}, trace))
    found = study.crossings(store)
    assert [(c.d, c.seed, c.time, c.is_censored, c.batch_size) for c in found] == [
        (6, 0, 30, False, 4),
        (6, 1, 40, False, 4),
        (8, 0, 30, False, 4),
        (8, 1, 40, False, 4),
    ]


def test_window_of_adam_is_ten_updates(tmp_path):
    """A loss that dips for one record crosses only where ten updates are no more than that record."""
    losses = np.ones(41)
    losses[[20, 30]] = [-2.0, -20.0]  # the first dip is averaged away over ten records, the second is not
    for every, expected in ((1, 30), (10, 200)):
        study = HardnessStudy(ww.Problem("relu"), "adam", [6], [0], 1.0, 40 * every, every, [0.5])
        store = Store(tmp_path / str(every))
        store.prepare()
        trace = {
            "excess_error": (("chain", "draw"), losses[None]),
            "draw": (("draw",), every * np.arange(41)),
        }
        store.write(Result(study.tasks()[0], "done", {"excess_error": ((), np.array(1.0))}, trace))
        (found,) = study.crossings(store)
        assert found.time == expected


@pytest.mark.slow
def test_hmc_study_from_runs_to_table(tmp_path):
    problem = ww.Problem("sigma3", channel=0.1, gamma=0.5)
    study = HardnessStudy(problem, "hmc", [6, 8], range(2), 1.0, 120, 1, [0.6])
    from concurrent.futures import ThreadPoolExecutor

    from widthwise.sweeps import run_tasks

    with ThreadPoolExecutor(1) as threads:
        report = run_tasks(study.tasks(), tmp_path, executor=threads, progress=False)
    assert report.n_failed == 0
    crossings = study.crossings(Store(tmp_path))
    assert len(crossings) == 4 and all(0 < c.time <= 120 for c in crossings)
    rows = analyse(crossings, n_bootstrap=20)
    assert [row.law for row in rows] == ["exponential", "power"] and rows[0].n_runs == 4


def test_times_without_spread_are_refused():
    from widthwise.studies.hardness import Crossing

    with pytest.raises(ValueError, match="all runs passed the threshold 0.3 at one time, 5"):
        analyse([Crossing("homogeneous", 0.3, d, seed, 5.0, False) for d in (8, 12) for seed in (0, 1)])


@pytest.mark.parametrize("law", ["exponential", "power"])
@pytest.mark.parametrize("distribution", ["lognormal", "weibull"])
def test_a_law_that_goes_through_all_that_crossed(law, distribution):
    """Two times that crossed and one that did not: the likelihood would grow without end."""
    times = Times.of([16, 24, 24], [260.0, 420.0, 400.0], [False, False, True])
    fit = fit_times(times, law, distribution)
    assert fit.spread == pytest.approx(1e-3, rel=0.1) and math.isfinite(fit.log_likelihood)
    assert fit(np.array([16.0, 24.0])) == pytest.approx([260, 420], rel=0.02)


def test_chi_square_leaves_out_sizes_at_which_a_run_never_crossed():
    from widthwise.studies.hardness import Crossing

    rng = np.random.default_rng(5)
    times = {d: 30 * np.exp(0.03 * d + 0.2 * rng.normal(size=6)) for d in (20, 30, 45, 60)}

    def rows(is_cut):
        return analyse(
            [
                Crossing("homogeneous", 0.3, d, seed, min(t, is_cut(d)), t > is_cut(d))
                for d, own in times.items()
                for seed, t in enumerate(own)
            ],
            n_bootstrap=20,
        )

    whole, cut = rows(lambda d: np.inf), rows(lambda d: np.median(times[60]) if d == 60 else np.inf)
    without = [
        chi_square(*zip(*[(d, t.mean(), t.std()) for d, t in times.items() if d < 60], strict=True), law)[2]
        for law in ("exponential", "power")
    ]
    assert [row.chi_square for row in cut] == pytest.approx(without)
    assert [row.chi_square for row in whole] != pytest.approx(without)
    few = rows(lambda d: np.median(times[d]) if d > 30 else np.inf)
    assert all(math.isnan(row.chi_square) for row in few)


# --- the published data --------------------------------------------------------------------------


def test_published_chi_square_comes_out():
    found = published_chi_square()
    for readouts, laws in PRINTED_CHI_SQUARE.items():
        for law, printed in laws.items():
            values = [value for (name, _, kind), value in found.items() if (name, kind) == (readouts, law)]
            np.testing.assert_allclose(values, printed, atol=0.0051)
    # With all sizes they do not.
    every = published_chi_square(is_smallest_left_out=False)
    assert abs(next(iter(every.values())) - 2.22) > 0.2


def test_published_moments_without_those_that_never_crossed():
    """Homogeneous d = 240, third threshold: 2349 as published, 2610 over those that crossed."""
    (point,) = [p for p in read_published() if p.n_never and p.readouts == "homogeneous"]
    assert (point.d, round(point.mean), round(point.mean_crossed)) == (240, 2349, 2610)
    assert point.std_crossed < point.std


def test_stand_ins_have_the_published_moments_of_the_logarithm():
    crossings = [c for c in published_crossings() if not c.is_censored]
    for p in read_published()[::7]:
        logs = np.log(
            [c.time for c in crossings if (c.readouts, c.threshold, c.d) == (p.readouts, p.threshold, p.d)]
        )
        model = stats.lognorm(logs.std(), scale=math.exp(logs.mean()))
        assert model.mean() == pytest.approx(p.mean_crossed) and model.std() == pytest.approx(p.std_crossed)


def test_censoring_makes_the_published_times_steeper():
    """One run of 100 never crossed: leaving it out, or counting it as 0, flattens the growth."""
    threshold = max(p.threshold for p in read_published() if p.readouts == "homogeneous")
    chosen = [p for p in read_published() if (p.readouts, p.threshold) == ("homogeneous", threshold)]
    sizes = [p.d for p in chosen]
    as_zero = chi_square(sizes, [p.mean for p in chosen], [p.std for p in chosen], "exponential")[0]

    def slope(is_censoring_kept):
        kept = [
            c
            for c in published_crossings(is_censoring_kept=is_censoring_kept)
            if (c.readouts, c.threshold) == ("homogeneous", threshold)
        ]
        times = Times.of([c.d for c in kept], [c.time for c in kept], [c.is_censored for c in kept])
        return fit_times(times, "exponential").a

    assert as_zero < slope(False) < slope(True)

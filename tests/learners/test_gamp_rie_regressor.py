"""GampRieRegressor: scikit-learn's own checks, out-of-core inputs, noise and uncertainty, odd data."""

import warnings

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from widthwise.learners.regressor import GampRieRegressor  # noqa: E402


def sample(seed, n=3000, d=20, noise=0.3):
    """Correlated inputs far from 0 with a linear and a quadratic part."""
    rng = np.random.default_rng(seed)
    mix = np.linalg.cholesky(0.6 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d))))
    x = 10 + rng.standard_normal((n, d)) @ mix.T * np.linspace(0.1, 5, d)
    z = (x - 10) / np.linspace(0.1, 5, d)
    a = rng.standard_normal((d, 3)) / np.sqrt(d)
    signal = z @ rng.standard_normal(d) / np.sqrt(d) + (z @ a) ** 2 @ np.array([1.0, -1.0, 0.5])
    return x, signal + np.sqrt(noise) * rng.standard_normal(n), signal


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"denoiser": "known"}, {"solver": "lmmse"}], ids=str)
def test_scikit_learn_accepts_it(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(GampRieRegressor(**options), on_fail=None)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 40


@pytest.mark.parametrize(
    "options", [{}, {"denoiser": "known", "readouts": "gaussian"}, {"solver": "lmmse"}], ids=str
)
def test_it_learns_and_knows_how_well(options):
    ratios, noises, scores = [], [], []
    for seed in range(4):
        x, y, signal = sample(seed, n=4000)
        est = GampRieRegressor(**options).fit(x[:3000], y[:3000])
        error = (est.predict(x[3000:]) - signal[3000:]) ** 2
        ratios.append(error.mean() / np.mean(est.predict_std(x[3000:]) ** 2))
        noises.append(est.noise_)
        scores.append(est.score(x[3000:], y[3000:]))
        with_noise = est.predict_std(x[:5], with_noise=True) ** 2 - est.predict_std(x[:5]) ** 2
        np.testing.assert_allclose(with_noise, est.noise_, rtol=1e-9)
    assert np.mean(scores) > 0.8
    assert np.mean(noises) == pytest.approx(0.3, rel=0.1)
    # d = 20 is small, and no network of 10 units made these three directions; right within a factor of 2.5.
    assert 0.4 < np.mean(ratios) < 1.6


@pytest.mark.parametrize("inputs", ["gaussian", "student"])
@pytest.mark.parametrize("solver", ["auto", "lmmse"])
def test_intervals_cover_what_they_say(inputs, solver):
    """95 % intervals for the signal and for fresh targets, over four fits and 2000 fresh points of each."""
    signals, targets = [], []
    for seed in range(4):
        if inputs == "gaussian":
            x, y, signal = sample(seed, n=4000)
        else:
            rng = np.random.default_rng(seed)
            x = rng.standard_t(6, (4000, 15))
            a = rng.standard_normal((15, 8)) / 4
            signal = x @ rng.standard_normal(15) / 4 + (x @ a) ** 2 @ rng.choice([-0.5, 0.5], 8)
            y = signal + np.sqrt(0.3) * rng.standard_normal(4000)
        est = GampRieRegressor(solver=solver).fit(x[:2000], y[:2000])
        error = np.abs(est.predict(x[2000:]) - signal[2000:])
        signals.append(np.mean(error < 1.96 * est.predict_std(x[2000:])))
        error = np.abs(est.predict(x[2000:]) - y[2000:])
        targets.append(np.mean(error < 1.96 * est.predict_std(x[2000:], with_noise=True)))
    # Points of one fit share its errors: single fits came out between 0.94 and 0.985 for the signal.
    assert 0.93 < np.mean(signals) < 0.985
    assert 0.935 < np.mean(targets) < 0.965


def test_attributes_say_what_predict_does():
    x, y, _ = sample(1, n=800)
    est = GampRieRegressor().fit(x, y)
    z = x - est.mean_
    by_hand = est.intercept_ + z @ est.coef_ + np.einsum("ni,ij,nj->n", z, est.quadratic_, z)
    np.testing.assert_allclose(est.predict(x), by_hand, rtol=1e-9)
    np.testing.assert_allclose(est.quadratic_, est.quadratic_.T)
    assert est.n_iter_ == est.history_[-1]["step"] and est.status_ == "converged"


@pytest.mark.parametrize("solver", ["gamp", "lmmse"])
def test_it_does_not_depend_on_units(solver):
    """Any invertible affine map of the inputs and of the target is undone by the whitening."""
    x, y, _ = sample(2, n=1500, d=8)
    rng = np.random.default_rng(0)
    moved = x * rng.uniform(0.01, 100, 8) + rng.standard_normal(8)
    one = GampRieRegressor(solver=solver, max_iter=200).fit(x, y)
    two = GampRieRegressor(solver=solver, max_iter=200).fit(moved, 7 + 50 * y)
    np.testing.assert_allclose(two.predict(moved), 7 + 50 * one.predict(x), rtol=1e-6, atol=1e-6 * 50)


@pytest.mark.parametrize("kind", ["float32", "memmap", "dask", "fortran"])
def test_other_arrays_give_the_same(kind, tmp_path):
    x, y, _ = sample(3, n=2000)
    reference = GampRieRegressor().fit(x, y)
    if kind == "float32":
        given = x.astype(np.float32)
    elif kind == "memmap":
        given = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=x.shape)
        given[:] = x
    elif kind == "dask":
        given = pytest.importorskip("dask.array").from_array(x, chunks=(300, 7))
    else:
        given = np.asfortranarray(x)
    est = GampRieRegressor().fit(given, y)
    # Single precision inputs about 10 of spread 0.1 carry 1e-5 relative.
    rtol = 1e-3 if kind == "float32" else 1e-8
    np.testing.assert_allclose(est.predict(given), reference.predict(x), atol=rtol * y.std())
    np.testing.assert_allclose(est.predict_std(given), reference.predict_std(x), rtol=10 * rtol)


def test_a_memmap_is_never_in_memory_as_a_whole(tmp_path):
    import tracemalloc

    n, d = 60_000, 120
    rng = np.random.default_rng(0)
    x = np.memmap(tmp_path / "x", dtype=np.float32, mode="w+", shape=(n, d))
    x[:] = rng.standard_normal((n, d), dtype=np.float32)
    y = x[:, 0] * x[:, 1] + rng.standard_normal(n)
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two steps do not converge
        est = GampRieRegressor(max_iter=2).fit(x, y)
    est.predict(x), est.predict_std(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Vectors of n numbers (0.5 MB each) and matrices of d², beside 29 MB of inputs.
    assert peak < 0.5 * x.nbytes


def test_constant_and_repeated_columns_change_nothing():
    x, y, _ = sample(4, n=1500, d=8)
    padded = np.column_stack([x, np.full(len(x), 1e6 / 3), x[:, 0], 2 * x[:, 1] - 1])
    one, two = GampRieRegressor().fit(x, y), GampRieRegressor().fit(padded, y)
    assert two.coef_[8] == 0 and not two.quadratic_[8].any()
    # Repeated columns enter the shrunk covariance with a share d/n: not quite, but nearly nothing.
    assert np.mean((one.predict(x) - two.predict(padded)) ** 2) < 0.02 * one.noise_


def test_only_constant_columns_predict_the_mean():
    est = GampRieRegressor().fit(np.ones((20, 3)), np.arange(20.0))
    np.testing.assert_allclose(est.predict(np.ones((2, 3))), 9.5)
    assert np.all(np.isfinite(est.predict_std(np.ones((2, 3)))))


@pytest.mark.parametrize("solver", ["auto", "gamp", "lmmse"])
def test_constant_targets(solver):
    x, _, _ = sample(5, n=100, d=4)
    est = GampRieRegressor(solver=solver).fit(x, np.full(100, 3.0))
    np.testing.assert_allclose(est.predict(x), 3.0, atol=1e-6)


@pytest.mark.slow
def test_fewer_samples_than_coefficients_beat_the_mean():
    x, y, signal = sample(6, n=1800, d=60)  # 1891 coefficients, 1200 samples
    est = GampRieRegressor().fit(x[:1200], y[:1200])
    assert np.mean((est.predict(x[1200:]) - signal[1200:]) ** 2) < 0.6 * np.var(signal[1200:])


@pytest.mark.slow
def test_fewer_samples_than_features_is_survived():
    rng = np.random.default_rng(7)
    x = rng.standard_normal((60, 100))
    y = x[:, 0] + 0.1 * rng.standard_normal(60)
    est = GampRieRegressor().fit(x[:40], y[:40])
    assert np.mean((est.predict(x[40:]) - y[40:]) ** 2) < 1.5 * np.var(y)


def test_heavy_tails_go_to_the_exact_regression():
    rng = np.random.default_rng(8)
    x = rng.standard_t(3, (2000, 15))
    y = x[:, 0] * x[:, 1] + x[:, 2] ** 2 + rng.standard_normal(2000)
    est = GampRieRegressor().fit(x[:1500], y[:1500])
    assert est.solver_ == "lmmse"
    assert est.score(x[1500:], y[1500:]) > 0.5


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"noise": 0.0}, "noise"),
        ({"noise": -1.0}, "noise"),
        ({"denoiser": "magic"}, "denoiser"),
        ({"whiten": "some"}, "whiten"),
        ({"solver": "some"}, "solver"),
        ({"damping": 1.0}, "damping"),
        ({"denoiser": "known", "gamma": -1}, "gamma"),
        ({"denoiser": "known", "scale": 0.0}, "scale"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_at_fit(options, word):
    x, y, _ = sample(9, n=50, d=4)
    with pytest.raises(ValueError, match=word):
        GampRieRegressor(**options).fit(x, y)


def test_bad_data_is_refused_in_scikit_learns_words():
    x, y, _ = sample(10, n=50, d=4)
    with pytest.raises(ValueError, match="NaN"):
        GampRieRegressor().fit(np.where(x > 12, np.nan, x), y)
    with pytest.raises(ValueError, match="1 sample"):
        GampRieRegressor().fit(x[:1], y[:1])
    with pytest.raises(ValueError, match="inconsistent"):
        GampRieRegressor().fit(x, y[:-1])
    with pytest.raises(NotFittedError):
        GampRieRegressor().predict(x)
    est = GampRieRegressor().fit(x, y)
    with pytest.raises(ValueError, match="4 features"):
        est.predict(x[:, :3])
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="NaN"):
        GampRieRegressor().fit(array.from_array(np.where(x > 12, np.nan, x)), y)
    with pytest.raises(ValueError, match="4 features"):
        est.predict(array.from_array(x[:, :3]))


def test_a_given_noise_level_is_used():
    x, y, _ = sample(11, n=600, d=10)
    right, wrong = (GampRieRegressor(noise=noise).fit(x, y) for noise in (0.3, 30.0))
    assert right.noise_ == 0.3 and wrong.noise_ == 30.0
    # A hundred times the noise shrinks much of it away.
    assert np.sum(wrong.quadratic_**2) < 0.6 * np.sum(right.quadratic_**2)
    assert clone(wrong).noise == 30.0

"""GampRieRegressor on ordinary data against four usual regressors: test error, wins and losses alike.

Errors are mean-square errors on a quarter of the samples held out, divided by the variance of the target
there. The datasets come with scikit-learn or are made here; those "made from" a dataset have its inputs and
a target with known interactions. Hyperparameters of the others are chosen by cross-validation (gradient
boosting at its defaults).

    python examples/gamp_rie_datasets.py [--quick]
"""

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import widthwise as ww
from widthwise.learners.regressor import GampRieRegressor

N_SEEDS = 3
ALPHAS = np.logspace(-3, 4, 15)


def correlated(rng, n, d, freedom, n_units):
    """Inputs of AR(1) correlation 0.7, Gaussian or Student; n_units squares and noise 0.09 as target."""
    mix = np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d))))
    x = (rng.standard_normal((n, d)) if freedom is None else rng.standard_t(freedom, (n, d))) @ mix.T
    signal = ((x @ rng.standard_normal((d, n_units))) ** 2).sum(axis=1)
    signal = signal / signal.std() + 0.5 * x @ rng.standard_normal(d) / np.sqrt(d)
    return x, signal + 0.3 * rng.standard_normal(n)


def datasets(seed):
    rng = np.random.default_rng(seed)
    yield "diabetes", *load_diabetes(return_X_y=True)
    x = load_wine().data
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    signal = z[:, 0] * z[:, 6] + z[:, 9] * z[:, 12]
    yield "two interactions made from wine", x, signal / signal.std() + 0.3 * rng.standard_normal(len(x))
    x = load_digits().data
    z = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)
    signal = (z @ rng.standard_normal((64, 8))) ** 2 @ np.array([1.0, -1.0] * 4)
    yield "rank 8 made from digits", x, signal / signal.std() + 0.3 * rng.standard_normal(len(x))
    yield "friedman1 (not quadratic)", *make_friedman1(800, n_features=20, noise=1.0, random_state=seed)
    yield "gaussian inputs, d=30", *correlated(rng, 1500, 30, None, 15)
    yield "student-5 inputs, d=30", *correlated(rng, 1500, 30, 5, 15)
    yield "student-3 inputs, d=30", *correlated(rng, 1500, 30, 3, 15)
    yield "student-5 inputs, d=60, n<d^2/2", *correlated(rng, 1500, 60, 5, 30)


def estimators():
    yield "ridge", make_pipeline(StandardScaler(), RidgeCV(ALPHAS))
    quadratic = PolynomialFeatures(2, include_bias=False)
    yield "quadratic ridge", make_pipeline(StandardScaler(), quadratic, StandardScaler(), RidgeCV(ALPHAS))
    grid = {"alpha": [0.001, 0.03, 1.0, 30.0], "gamma": [0.001, 0.005, 0.02, 0.1]}
    yield (
        "kernel ridge (rbf)",
        make_pipeline(StandardScaler(), GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3)),
    )
    yield "gradient boosting", HistGradientBoostingRegressor(random_state=0)
    yield "gamp-rie", GampRieRegressor()


def main() -> None:
    is_quick = "--quick" in sys.argv[1:]
    errors: dict[tuple[str, str], list[float]] = {}
    seconds: dict[tuple[str, str], float] = {}
    solvers: dict[str, list[str]] = {}
    shapes = {}
    for seed in range(1 if is_quick else N_SEEDS):
        for name, x, y in datasets(seed):
            shapes[name] = x.shape
            train, test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=seed)
            for label, estimator in estimators():
                begin = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # convergence is in the table
                    estimator.fit(train, y_train)
                key = name, label
                seconds[key] = seconds.get(key, 0.0) + time.process_time() - begin
                error = np.mean((y_test - estimator.predict(test)) ** 2) / np.var(y_test)
                errors.setdefault(key, []).append(float(error))
                if label == "gamp-rie":
                    solvers.setdefault(name, []).append(f"{estimator.solver_}:{estimator.status_}")
    table = []
    for (name, label), values in errors.items():
        others = [np.mean(errors[name, other]) for _, other in errors if _ == name and other != label]
        spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        table.append(
            {
                "dataset": name,
                "n": shapes[name][0],
                "d": shapes[name][1],
                "estimator": label,
                "n_seeds": len(values),
                "error": f"{np.mean(values):.4f}",
                "standard_error": f"{spread:.4f}",
                "is_best": bool(np.mean(values) <= min(others)),
                "seconds": f"{seconds[name, label] / len(values):.2f}",
                "solver": " ".join(sorted(set(solvers[name]))) if label == "gamp-rie" else "",
                "version": ww.__version__,
            }
        )
        print(" ".join(f"{key}={value}" for key, value in table[-1].items()))
    if not is_quick:
        with open(Path(__file__).with_suffix(".csv"), "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    main()

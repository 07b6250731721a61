"""What the yardstick can fit: ready-made entries, objects with fit and predict, and import paths to them.

Every entry becomes a function that trains and gives a :class:`Fitted`: a function of inputs (d × m) that
predicts labels for continuous channels, and for binary ones a number whose sign is the label.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._bad_value import did_you_mean
from .._import_path import imported
from ..ingredients import channels
from ..networks.instance import Instance

__all__ = ["READY_MADE", "Fitted", "is_binary", "known_mean", "name_of", "prepare", "resolve"]

Predictor = Callable[[np.ndarray], np.ndarray]
Train = Callable[[], "Fitted"]


@dataclass(frozen=True)
class Fitted:
    """A learner after its fit."""

    predict: Predictor
    status: str = "done"


def is_binary(problem: Any) -> bool:
    """Whether labels are ±1, so that learners are classifiers and errors shares of wrong labels."""
    return isinstance(problem.channel, (channels.Sign, channels.Probit, channels.Logistic))


def known_mean(instance: Instance) -> float:
    """μ₀Σv/√k, the mean of the output, which the theory takes as known: labels are given without it."""
    if not instance.problem.channel.is_additive:
        return 0.0
    return instance.problem.hermite[0] * float(np.sum(instance.readouts)) / math.sqrt(instance.k)


def resolve(estimator: Any) -> Any:
    """A ready-made entry by name, what an import path ``package.module:name`` leads to, or the object."""
    if not isinstance(estimator, str):
        if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
            raise ValueError(
                f"an estimator must have fit and predict, and {estimator!r} has not; give an object in the "
                "manner of scikit-learn, an import path package.module:factory, or one of "
                f"{', '.join(READY_MADE)}"
            )
        return estimator
    if ":" not in estimator:
        if estimator not in READY_MADE:
            raise ValueError(
                f"unknown estimator {estimator!r}; {did_you_mean(estimator, READY_MADE, 1)}"
                f"choose from {', '.join(READY_MADE)}, or give an import path package.module:factory"
            )
        return estimator
    return imported(estimator, "estimator")


def name_of(estimator: Any) -> str:
    """What it is called in tables."""
    if isinstance(estimator, str):
        return estimator.rpartition(":")[2]
    return type(estimator).__name__


def prepare(
    estimator: Any, instance: Instance, seed: int = 0, options: Mapping[str, Any] | None = None
) -> Train:
    """A function that fits an entry to the data of an instance; made ready here, so that it can be timed.

    ``options`` are those of the factory or learner.
    """
    found, options = resolve(estimator), dict(options or {})
    if isinstance(found, str):
        return READY_MADE[found](instance, seed, options)
    if not isinstance(estimator, str):
        if options:
            raise ValueError("options are for names and import paths; set those of an object on the object")
        return _training(_copy(found), instance, seed)
    if not callable(found) or hasattr(found, "fit") and not inspect.isclass(found):
        return _training(_copy(found), instance, seed)
    return _training(found(**options), instance, seed)


def _training(model: Any, instance: Instance, seed: int) -> Train:
    """Training of an object with fit(X, y) and predict(X), X of one sample a row."""
    from sklearn.base import is_classifier

    _set_seed(model, seed)
    labels = instance.labels - known_mean(instance)
    binary = is_binary(instance.problem)
    if binary and is_classifier(model):
        labels = labels.astype(int)
    samples = np.ascontiguousarray(instance.inputs.T, dtype=float)

    def predict(x: np.ndarray) -> np.ndarray:
        return np.asarray(model.predict(np.ascontiguousarray(x.T, dtype=float)), dtype=float).reshape(-1)

    def train() -> Fitted:
        model.fit(samples, labels)
        return Fitted(predict)

    return train


def _copy(model: Any) -> Any:
    """Unfitted, so that no fit sees another's."""
    from sklearn.base import clone

    return clone(model) if hasattr(model, "get_params") else copy.deepcopy(model)


def _set_seed(model: Any, seed: int) -> None:
    """Give random_state to a model, and to the steps of a pipeline, where it is left open."""
    if not hasattr(model, "get_params"):
        return
    open_ones = {
        name: seed
        for name, value in model.get_params().items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    if open_ones:
        model.set_params(**open_ones)


# --- ready-made: regressors and classifiers of scikit-learn ----------------------------------------

_PENALTIES = np.logspace(-3, 5, 17)


def _ridge(instance: Instance, options: Mapping[str, Any]) -> Any:
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV

    kind = RidgeClassifierCV if is_binary(instance.problem) else RidgeCV
    return kind(**{"alphas": _PENALTIES, **options})


def _quadratic_ridge(instance: Instance, options: Mapping[str, Any]) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    return make_pipeline(PolynomialFeatures(2, include_bias=False), _ridge(instance, options))


def _kernel_ridge(instance: Instance, options: Mapping[str, Any]) -> Any:
    from .kernel_ridge import KernelRidgeLoo

    return KernelRidgeLoo(**options)


def _random_features(instance: Instance, options: Mapping[str, Any]) -> Any:
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.pipeline import make_pipeline

    given = {"gamma": 1 / (2 * instance.d), "n_components": 2000, **options}
    return make_pipeline(RBFSampler(**given), _ridge(instance, {}))


def _gradient_boosting(instance: Instance, options: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if is_binary(instance.problem) else HistGradientBoostingRegressor
    return kind(**options)


def _mlp(instance: Instance, options: Mapping[str, Any]) -> Any:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    kind = MLPClassifier if is_binary(instance.problem) else MLPRegressor
    # As wide as the teacher; held-out samples say when to stop.
    given = {"hidden_layer_sizes": (instance.k,), "early_stopping": True, "n_iter_no_change": 20}
    return kind(**{**given, "max_iter": 500, "learning_rate_init": 3e-3, **options})


# --- ready-made: learners of this package -----------------------------------------------------------


def _adam(instance: Instance, seed: int, options: Mapping[str, Any]) -> Fitted:
    from ..learners import adam

    # Held-out samples of its own say when to stop, as for the perceptron: the truth is nobody's to peek at.
    run = adam(instance, **{"seed": seed, "progress": False, "held_out": 0.1, **options})
    assert run.weights is not None
    weights, readouts = run.weights[0], None if run.readouts is None else run.readouts[0]
    return Fitted(_network_predictor(instance, [weights], readouts), run.status)


def _hmc(instance: Instance, seed: int, options: Mapping[str, Any]) -> Fitted:
    from ..learners import hmc

    run = hmc(instance, **{"seed": seed, "start": "random", "progress": False, **options})
    if run.draws is None:
        raise ValueError("hmc kept no draw; raise iterations")
    draws = run.draws.reshape(-1, *run.draws.shape[2:])
    return Fitted(_network_predictor(instance, list(draws)), run.status)


def _gamp_rie(instance: Instance, seed: int, options: Mapping[str, Any]) -> Fitted:
    from ..learners import gamp_rie

    run = gamp_rie(instance, **options)
    _, mu1, mu2 = instance.problem.hermite
    root = math.sqrt(instance.d)
    matrix = np.nan_to_num(run.trace["matrix"].to_numpy()) * mu2 / (2 * root)
    vector = np.nan_to_num(run.trace["vector"].to_numpy()) * mu1 / root
    constant = float(run.trace["intercept"].to_numpy()[0, -1]) - np.trace(matrix) - known_mean(instance)

    def predict(x: np.ndarray) -> np.ndarray:
        return np.asarray(constant + vector @ x + np.einsum("in,in->n", x, matrix @ x))

    return Fitted(predict, run.status)


def _network_predictor(instance: Instance, networks: list[np.ndarray], readouts: Any = None) -> Predictor:
    """Mean prediction of networks with the given inner weights."""
    channel = instance.problem.channel

    def predict(x: np.ndarray) -> np.ndarray:
        total = np.zeros(x.shape[1])
        for weights in networks:
            outputs = instance.outputs(weights, x, readouts)
            total += outputs if channel.is_additive else channel.mean(outputs)
        return total / len(networks) - known_mean(instance)

    return predict


def _from_scikit(make: Callable[[Instance, Mapping[str, Any]], Any]) -> Callable[..., Train]:
    return lambda instance, seed, options: _training(make(instance, options), instance, seed)


def _from_learner(train: Callable[[Instance, int, Mapping[str, Any]], Fitted]) -> Callable[..., Train]:
    return lambda instance, seed, options: lambda: train(instance, seed, options)


READY_MADE: Mapping[str, Callable[[Instance, int, Mapping[str, Any]], Train]] = {
    "ridge": _from_scikit(_ridge),
    "quadratic-ridge": _from_scikit(_quadratic_ridge),
    "kernel-ridge": _from_scikit(_kernel_ridge),
    "random-features": _from_scikit(_random_features),
    "gradient-boosting": _from_scikit(_gradient_boosting),
    "mlp": _from_scikit(_mlp),
    "adam": _from_learner(_adam),
    "gamp-rie": _from_learner(_gamp_rie),
    "hmc": _from_learner(_hmc),
}
"""Entries by name: a function of (instance, seed, options) each."""

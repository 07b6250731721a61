"""One fit of one estimator, measured: its error on fresh inputs, its time and its memory.

:func:`fit` is a learner in the sense of sweeps, named ``LEARNER`` there.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._interrupt import noticed
from ..networks.comparison import mean_of
from ..networks.instance import Instance
from .estimators import is_binary, known_mean, prepare

__all__ = ["LEARNER", "N_TEST", "fit", "measure_of", "fresh_errors"]

LEARNER = "widthwise.experiments.yardstick_fit:fit"
"""What :func:`fit` is called in stores: where it was when the first of them were written."""
N_TEST = 20_000  # squared errors of a Gaussian scatter by √(2/n) = 1 %


def measure_of(problem: Any) -> str:
    """Which error is compared: that on the noiseless output where there is one, wrong signs, or squares."""
    if problem.channel.is_additive:
        return "excess_error"
    return "zero-one" if is_binary(problem) else "mean-square"


def fit(
    instance: Instance,
    *,
    estimator: Any,
    options: Mapping[str, Any] | None = None,
    n_test: int = N_TEST,
    seed: int = 0,
) -> dict[str, float]:
    """Error of an estimator on fresh inputs, its standard error, and what the fit cost.

    ``peak_memory`` is in bytes, of what Python and NumPy allocate during the fit: not that of JAX.
    """
    train = prepare(estimator, instance, seed, options)
    instance.labels, instance.inputs  # drawn before the clock starts  # noqa: B018
    is_traced = tracemalloc.is_tracing()
    if not is_traced:
        tracemalloc.start(1)
    tracemalloc.reset_peak()
    before, start, cpu = tracemalloc.get_traced_memory()[0], time.perf_counter(), time.process_time()
    try:
        with noticed() as is_interrupted:
            fitted = train()
        if is_interrupted():  # scikit-learn and the learners keep what they have: a truncated fit is no fit
            raise KeyboardInterrupt
        cost = {
            "fit_seconds": time.perf_counter() - start,
            "fit_cpu_seconds": time.process_time() - cpu,
            "peak_memory": float(max(0, tracemalloc.get_traced_memory()[1] - before)),
        }
    finally:
        if not is_traced:
            tracemalloc.stop()
    errors = fresh_errors(instance, fitted.predict, n_test)
    name = measure_of(instance.problem).replace("-", "_")
    return {
        name: float(errors.mean()),
        "test_standard_error": mean_of(errors).standard_error,
        **cost,
    }


def fresh_errors(
    instance: Instance, predict: Callable[[np.ndarray], np.ndarray], n_test: int = N_TEST
) -> np.ndarray:
    """Error of each of ``n_test`` fresh inputs.

    The squared distance to the noiseless output for additive channels; the probability that a binary label
    is not the predicted sign, given the noiseless output; else the squared error on fresh labels.
    """
    x, y = instance.test_set(n_test)
    guess = predict(x)
    if guess.shape != y.shape:
        raise ValueError(f"predict must give one number a sample, {y.shape}; got {guess.shape}")
    problem = instance.problem
    if problem.channel.is_additive:
        return (guess - (instance.outputs(instance.weights, x) - known_mean(instance))) ** 2
    if not is_binary(problem):
        return np.asarray((guess - y) ** 2)
    outputs = instance.outputs(instance.weights, x)
    with np.errstate(divide="ignore"):
        is_plus = np.exp(problem.channel.log_likelihood(np.ones_like(outputs), outputs))
    return np.asarray(np.where(guess > 0, 1 - is_plus, is_plus))

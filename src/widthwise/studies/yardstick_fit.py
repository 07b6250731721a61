"""The fits of a yardstick: every estimator on every instance, here or through the store of a sweep.

One fit is measured by its error on fresh inputs, its time and its memory. :func:`fit` is a learner in the
sense of sweeps, named ``LEARNER`` there.
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._interrupt import noticed
from ..networks.comparison import mean_of
from ..networks.instance import Instance, sample_instance
from ..problem import Problem
from ..sweeps.sweep import LearnerSpec, Sweep
from .estimators import is_binary, known_mean, prepare

__all__ = ["CALIBRATOR", "LEARNER", "N_TEST", "Fits", "Plan", "fit", "fresh_errors", "measure_of"]

LEARNER = "widthwise.experiments.yardstick_fit:fit"
"""What :func:`fit` is called in stores: where it was when the first of them were written."""
N_TEST = 20_000  # squared errors of a Gaussian scatter by √(2/n) = 1 %

CALIBRATOR = "gamp-rie"
"""The entry that is known to follow its prediction, and so tells what the finite dimension costs."""

Fits = dict[tuple[str, float], list[Mapping[str, float] | str]]
"""By name and α: the numbers of each fit, or why it failed."""


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
    return {name: float(errors.mean()), "test_standard_error": mean_of(errors).standard_error, **cost}


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


@dataclass(frozen=True)
class Plan:
    """What is fitted to what."""

    problem: Problem
    d: int
    alphas: np.ndarray
    seeds: tuple[int, ...]
    entries: dict[str, Any]
    options: Mapping[str, Mapping[str, Any]]
    n_test: int

    def fit_here(self, progress: bool | Callable[[str], Any] | None) -> Fits:
        """One after the other in this process: each instance is drawn once, for all."""
        talk = progress if callable(progress) else _talk if progress else None
        fits: Fits = {(name, alpha): [] for name in self.entries for alpha in self.alphas.tolist()}
        for alpha in self.alphas.tolist():
            for seed in self.seeds:
                instance = sample_instance(self.problem, self.d, alpha, seed)
                for name, entry in self.entries.items():
                    outcome: Mapping[str, float] | str
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")  # an estimator's own doubts show in its error
                            outcome = fit(
                                instance,
                                estimator=entry,
                                options=self.options.get(name),
                                n_test=self.n_test,
                                seed=seed,
                            )
                    except ModuleNotFoundError:
                        raise  # would fail every time
                    except Exception as problem:
                        outcome = f"{type(problem).__name__}: {problem}"
                    fits[name, alpha].append(outcome)
                    if talk is not None:
                        talk(f"{name} alpha={alpha:g} seed={seed}")
        return fits

    def fit_in_store(self, store: Any, cluster: str | None, n_workers: int | None, progress: Any) -> Fits:
        """Through a sweep: only what the store has not, on processes or a cluster."""
        from ..sweeps.store import Store

        bare = [name for name, entry in self.entries.items() if not isinstance(entry, str)]
        if bare:
            raise ValueError(
                f"{bare[0]} is an object and a store keeps only what it can describe; give it as an import "
                "path package.module:factory, or leave out the store"
            )
        store = store if isinstance(store, Store) else Store(os.fspath(store))
        by_name: dict[str, Sweep] = {}
        for name, entry in self.entries.items():
            settings = {"estimator": entry, "n_test": self.n_test}
            if self.options.get(name):
                settings["options"] = dict(self.options[name])
            spec = LearnerSpec(LEARNER, settings)
            by_name[name] = Sweep([self.problem], [self.d], self.alphas.tolist(), self.seeds, [spec])
        from ..sweeps.driver import run_tasks

        tasks = [task for sweep in by_name.values() for task in sweep.tasks()]
        run_tasks(
            tasks,
            store,
            cluster=cluster,
            n_workers=n_workers,
            progress=False if progress is None else progress,
        )
        fits: Fits = {(name, alpha): [] for name in self.entries for alpha in self.alphas.tolist()}
        for name, sweep in by_name.items():
            for task in sweep.tasks():
                result = store.read(task)
                numbers = {key: float(value) for key, (_, value) in result.values.items()}
                fits[name, task.alpha].append(numbers if result.status == "done" else result.error)
        return fits


def _talk(line: str) -> None:
    print(line, file=sys.stderr)

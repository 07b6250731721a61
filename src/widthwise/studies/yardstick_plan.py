"""The fits of a yardstick: every estimator on every instance, here or through the store of a sweep."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..networks.instance import sample_instance
from ..problem import Problem
from ..sweeps.sweep import LearnerSpec, Sweep
from .yardstick_fit import LEARNER, fit

__all__ = ["CALIBRATOR", "Fits", "Plan"]

CALIBRATOR = "gamp-rie"
"""The entry that is known to follow its prediction, and so tells what the finite dimension costs."""

Fits = dict[tuple[str, float], list[Mapping[str, float] | str]]
"""By name and α: the numbers of each fit, or why it failed."""


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

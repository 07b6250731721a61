"""A figure's worth of runs, described: problems × d × alpha × seeds × learners."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._bad_value import plural
from ..problem import Problem
from .driver import Report, run_tasks
from .store import Store
from .task import Task, check_settings

__all__ = ["LearnerSpec", "Sweep"]


@dataclass(frozen=True)
class LearnerSpec:
    """A learner (a name, or ``package.module:function``) and its settings."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self.name, self.settings)


@dataclass(frozen=True)
class Sweep:
    """Every combination of problems, dimensions, amounts of data, seeds and learners.

    Parameters
    ----------
    problems : Problem or list of them
    d, alpha : number or list
    seeds : int or list
        A number stands for 0, 1, ... up to it.
    learners : list
        Names, ``LearnerSpec`` or pairs (name, settings).
    dtype, is_readout_drawn
        As for :func:`~widthwise.sample_instance`.
    """

    problems: Sequence[Problem]
    d: Sequence[int]
    alpha: Sequence[float]
    seeds: Sequence[int]
    learners: Sequence[LearnerSpec]
    dtype: str = "float32"
    is_readout_drawn: bool = False

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        problems = [self.problems] if isinstance(self.problems, Problem) else list(self.problems)
        for problem in problems:
            problem.to_dict()  # refuses what cannot be described
        set_field(self, "problems", tuple(problems))
        set_field(self, "d", _whole("d", self.d, 1))
        set_field(self, "alpha", _positive("alpha", self.alpha))
        set_field(self, "seeds", seed_list(self.seeds))
        set_field(self, "learners", tuple(map(_spec, _listed(self.learners))))
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', got {self.dtype!r}")
        for name in ("problems", "d", "alpha", "seeds", "learners"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty: there would be nothing to run")

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Sweep:
        """The sweep that a file describes; a ``SweepFileError`` says which line is wrong."""
        from .sweep_file import read_sweep

        return read_sweep(path)

    def __str__(self) -> str:
        what = repr(self.problems[0]) if len(self.problems) == 1 else f"{len(self.problems)} problems"
        who = ", ".join(dict.fromkeys(learner.name for learner in self.learners))
        alphas = ", ".join(f"{alpha:g}" for alpha in self.alpha)
        return (
            f"{who} on {what}, d = {', '.join(map(str, self.d))}, alpha = {alphas}, "
            f"{plural(len(self.seeds), 'instance')} of each"
        )

    def tasks(self) -> list[Task]:
        """Every task once; those of one shape follow each other, so that compiled code is used again."""
        tasks = [
            Task(problem, d, alpha, seed, learner.name, learner.settings, self.dtype, self.is_readout_drawn)
            for learner in self.learners
            for problem in self.problems
            for d in self.d
            for alpha in self.alpha
            for seed in self.seeds
        ]
        return list(dict.fromkeys(tasks))

    def run(
        self,
        store: Store | str | os.PathLike[str],
        *,
        executor: Executor | None = None,
        cluster: str | None = None,
        n_workers: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
        retry_failed: bool = False,
    ) -> Report:
        """Run what is missing in the store; see :func:`~widthwise.sweeps.run_tasks`."""
        return run_tasks(
            self.tasks(),
            store,
            executor=executor,
            cluster=cluster,
            n_workers=n_workers,
            progress=progress,
            retry_failed=retry_failed,
        )


def seed_list(seeds: Any) -> tuple[int, ...]:
    """Seeds of a list, or 0, 1, ... for a number of them."""
    if isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool):
        if seeds < 1:
            raise ValueError(f"seeds must be a number >= 1 of instances, or a list; got {seeds}")
        return tuple(range(int(seeds)))
    return _whole("seeds", seeds, 0)


def _spec(learner: Any) -> LearnerSpec:
    if isinstance(learner, LearnerSpec):
        return learner
    return LearnerSpec(learner) if isinstance(learner, str) else LearnerSpec(*learner)


def _listed(values: Any) -> Iterable[Any]:
    return [values] if isinstance(values, (str, LearnerSpec)) else list(values)


def _whole(name: str, values: Any, least: int) -> tuple[int, ...]:
    numbers = list(np.atleast_1d(values))
    for value in numbers:
        if isinstance(value, (bool, np.bool_, str)) or int(value) != value or value < least:
            raise ValueError(f"{name} must hold whole numbers >= {least}, got {value!r}")
    return tuple(int(value) for value in numbers)


def _positive(name: str, values: Any) -> tuple[float, ...]:
    numbers = list(np.atleast_1d(values))
    for value in numbers:
        is_number = not isinstance(value, (bool, np.bool_, str))
        if not (is_number and value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must hold numbers > 0 (samples per d²), got {value!r}")
    return tuple(float(value) for value in numbers)

"""A figure's worth of runs, described: problems × d × alpha × seeds × learners."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._bad_value import plural, shown
from ..networks.instance import check_counts
from ..problem import Problem
from .driver import Report, run_tasks
from .store import Store
from .task import check_settings
from .task_list import Tasks

__all__ = ["LearnerSpec", "Sweep"]

_MOST_TASKS = 10**12
_MOST_D = 10**9
_MOST_ALPHA = 1e300
_MOST_BYTES = 1e15


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
        set_field(self, "d", whole_numbers("d", self.d, 1, _MOST_D))
        set_field(self, "alpha", positive_numbers("alpha", self.alpha))
        set_field(self, "seeds", seed_list(self.seeds))
        set_field(self, "learners", tuple(map(_spec, _listed(self.learners))))
        check_dtype(self.dtype)
        set_field(self, "is_readout_drawn", check_truth("is_readout_drawn", self.is_readout_drawn))
        for name in ("problems", "d", "alpha", "seeds", "learners"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty: there would be nothing to run")
        check_sizes(self.d, self.alpha)
        for problem in problems:
            for d in self.d:
                check_counts(problem, d, min(self.alpha))
        axes = (self.problems, self.d, self.alpha, self.seeds, self.learners)
        if math.prod(map(len, axes)) > _MOST_TASKS:
            raise ValueError(
                f"this sweep has {math.prod(map(len, axes)):.2e} tasks, and may have {_MOST_TASKS:.0e}: take "
                "fewer seeds, alphas or problems"
            )

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

    def tasks(self) -> Tasks:
        """Every task once; those of one shape follow each other, so that compiled code is used again."""
        pairs = [(spec.name, spec.settings) for spec in self.learners]
        axes = (pairs, self.problems, self.d, self.alpha, self.seeds)
        return Tasks(*axes, self.dtype, self.is_readout_drawn)

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


def seed_list(seeds: Any) -> Sequence[int]:
    """Seeds of a list, or 0, 1, ... for a number of them."""
    if isinstance(seeds, range):
        return seeds
    if _is_number(seeds) and int(seeds) == seeds:
        if not 1 <= seeds <= _MOST_TASKS:
            raise ValueError(
                f"seeds must be a number >= 1 of instances (<= {_MOST_TASKS:.0e}), or a list; "
                f"got {shown(seeds)}"
            )
        return range(int(seeds))
    return whole_numbers("seeds", seeds, 0)


def _spec(learner: Any) -> LearnerSpec:
    if isinstance(learner, LearnerSpec):
        return learner
    return LearnerSpec(learner) if isinstance(learner, str) else LearnerSpec(*learner)


def _listed(values: Any) -> Iterable[Any]:
    return [values] if isinstance(values, (str, LearnerSpec)) else list(values)


def whole_numbers(name: str, values: Any, least: int, most: int = 2**63 - 1) -> tuple[int, ...]:
    """A list of whole numbers within limits, given as one or as a list."""
    numbers = _items(values)
    for value in numbers:
        is_whole = _is_number(value) and int(value) == value
        if not (is_whole and least <= value <= most):
            limit = f"<= {most}" if is_whole and value > most else f">= {least}"
            raise ValueError(f"{name} must hold whole numbers {limit}, got {_plain(value)}")
    return tuple(int(value) for value in numbers)


def positive_numbers(name: str, values: Any) -> tuple[float, ...]:
    """A list of finite numbers > 0, given as one or as a list."""
    numbers = _items(values)
    for value in numbers:
        if not (_is_number(value) and 0 < value < _MOST_ALPHA):
            limit = f" and < {_MOST_ALPHA:.0e}" if _is_number(value) and value > 0 else ""
            raise ValueError(f"{name} must hold numbers > 0{limit} (samples per d²), got {_plain(value)}")
    return tuple(float(value) for value in numbers)


def check_dtype(dtype: Any) -> str:
    """The precision of a sweep."""
    if not (isinstance(dtype, str) and dtype in ("float32", "float64")):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    return dtype


def check_truth(name: str, value: Any) -> bool:
    """A value that is true or false, and not a word for it."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be true or false, got {value!r}")
    return bool(value)


def check_sizes(d: Iterable[int], alpha: Iterable[float]) -> None:
    """Refuse inputs that no machine could hold: αd³ numbers."""
    size, amount = max(d), max(alpha)
    n_bytes = 4.0 * size * max(1.0, amount * float(size) ** 2)
    if n_bytes > _MOST_BYTES:
        raise ValueError(
            f"d = {size} at alpha = {amount:g} means inputs of {n_bytes / 2**40:.3g} TiB, more than any "
            "machine holds: lower d or alpha"
        )


def _items(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    return list(values) if isinstance(values, (list, tuple, range)) else [values]


def _is_number(value: Any) -> bool:
    """Whether it is a finite real number, whole ones of any size among them."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, (float, np.number)) and bool(np.isfinite(value)))


def _plain(value: Any) -> str:
    return shown(value.item() if isinstance(value, np.generic) else value)

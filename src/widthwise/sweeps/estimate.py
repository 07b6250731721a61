"""What a sweep will take: time from a measurement on the workers that will run it, memory from its shapes.

The unit is a pass: the two matrix products of a gradient and the activation, over all samples of a task. The
time of a pass is measured at the shape of each task, and how many passes a learner makes is known; where the
store has results of the same learner, their times correct the count.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._bad_value import plural
from ..networks.instance import free_memory
from .store_index import Entry
from .task import Task, find_learner

if TYPE_CHECKING:
    from .store import Store

__all__ = [
    "Estimate",
    "amount_of_work",
    "estimate",
    "forecast",
    "memory_needed",
    "missing",
    "pass_seconds",
    "passes",
]

_SAMPLES = 3000  # of a task, at most, in the measurement
_MANY = 20_000  # tasks that are all looked at
_SPREAD = 2000  # of more than that
_LONG = 1.0  # seconds, of tasks that take longer than it takes to begin
_BASE = 8e8  # bytes of a worker with JAX and a few compiled shapes, before any data (5.5e8 to 7.8e8 seen)


@dataclass(frozen=True)
class Estimate:
    """Seconds on one worker (NaN: unknown) and bytes, by task; of a part of them if there are very many."""

    seconds: Mapping[str, float]
    memory: Mapping[str, float]
    n_tasks: int
    """How many these stand for."""

    def total(self, n_workers: int) -> float:
        """Seconds for all tasks that something is known of."""
        known = [value for value in self.seconds.values() if math.isfinite(value)]
        return sum(known) / n_workers * self.n_tasks / len(self.seconds) if known else math.nan

    def sentence(self, n_workers: int) -> str:
        """Time and memory, in words."""
        if not self.seconds:
            return "nothing to run"
        unknown = sum(not math.isfinite(value) for value in self.seconds.values())
        unknown = round(unknown * self.n_tasks / len(self.seconds))
        total = self.total(n_workers)
        time_said = "time unknown until the first is done"
        if math.isfinite(total):
            time_said = f"about {duration(total)} by a measurement on this machine, compilation apart"
            if unknown:
                time_said += f" ({unknown} tasks of unknown length not counted)"
        processes = plural(n_workers, "process", "processes")
        said = f"{time_said}; up to {max(self.memory.values()) / 2**30:.1f} GiB in each of {processes}"
        free = free_memory()
        if free is None:
            return said
        said += f", {free / 2**30:.1f} GiB free"
        return said + (": too little" if max(self.memory.values()) > free else "")


def missing(tasks: Sequence[Task], entries: Mapping[str, Entry]) -> tuple[list[Task], int]:
    """Tasks without a result and their number; of very many, some that are spread over all."""
    if len(tasks) <= _MANY:
        found = [task for task in tasks if task.key not in entries]
        return found, len(found)
    spread = [tasks[i] for i in range(0, len(tasks), -(-len(tasks) // _SPREAD))]
    n_there = sum(entry.task in tasks for entry in entries.values())
    return [task for task in spread if task.key not in entries], len(tasks) - n_there


def estimate(
    tasks: Sequence[Task], executor: Executor, entries: Iterable[Entry], n_tasks: int | None = None
) -> Estimate:
    """Time and memory of tasks, from a measurement on the executor and the times of earlier results.

    ``n_tasks`` says how many these stand for, if for more than themselves.
    """
    measured: dict[Any, float] = {}
    for task in tasks:
        shape = _shape(task)
        if shape in measured or math.isnan(passes(task)) or memory_needed(task) > (free_memory() or math.inf):
            continue
        try:
            measured[shape] = executor.submit(pass_seconds, *shape).result(timeout=60)
        except (BrokenExecutor, CancelledError, TimeoutError):
            measured[shape] = math.nan
        if len(measured) >= 12:  # the rest by size, from these
            break
    rate = _mean([seconds / _size(shape) for shape, seconds in measured.items()])
    correction = _corrections(entries, rate)
    seconds = {}
    for task in tasks:
        shape = _shape(task)
        once = measured.get(shape, rate * _size(shape))
        factor, fixed = correction.get(task.learner, (1.0, math.nan))
        modelled = passes(task) * once * factor
        seconds[task.key] = fixed if math.isnan(modelled) else modelled
    memory = {task.key: memory_needed(task) for task in tasks}
    return Estimate(seconds, memory, len(seconds) if n_tasks is None else n_tasks)


def forecast(tasks: Sequence[Task], store: Store, n_workers: int | None = None) -> str:
    """How many tasks there are, how many have no result yet, and what these will take: nothing is run."""
    from .._threads import n_cores
    from .._workers import LocalProcesses

    entries = store.entries() if store.path.is_dir() else {}
    some, n_missing = missing(tasks, entries)
    with LocalProcesses(1) as executor:
        expected = estimate(some, executor, entries.values(), n_missing)
    return f"{plural(len(tasks), 'task')}, {n_missing} to run: {expected.sentence(n_workers or n_cores())}"


def passes(task: Task) -> float:
    """Passes over the data that a learner makes; NaN for one that is not known."""
    settings = _settings(task)
    chains = settings.get("n_chains", 1)
    k, d, n = _sizes(task)
    if task.learner == "hmc":
        return float(settings["iterations"] * settings["n_leapfrog"] * chains)
    if task.learner == "adam":
        batch = settings["batch_size"] or max(1, n // 5)
        return float(settings["iterations"] * batch / n * chains)
    if task.learner == "metropolis":  # a sweep over all weights costs as much as 4.5 gradients at d = 150
        return 4.5 * float(settings["iterations"] * chains * len(settings["temperatures"]))
    if task.learner == "gamp_rie":  # it stops by itself, after about 15 steps of two products with x xᵀ
        return 15.0 * d / k
    return math.nan


def amount_of_work(task: Task) -> float:
    """Passes times their size, about proportional to the time; inf for a learner that is not known."""
    found = passes(task) * _size(_shape(task))
    return math.inf if math.isnan(found) else found


def memory_needed(task: Task) -> float:
    """Bytes: two copies of the inputs, and three arrays of pre-activations."""
    k, d, n = _sizes(task)
    chains = task.settings.get("n_chains", 1) if isinstance(task.settings.get("n_chains", 1), int) else 1
    return _BASE + np.dtype(task.dtype).itemsize * n * (2.0 * d + 3.0 * k * chains)


def pass_seconds(problem: str, k: int, d: int, n: int, dtype: str) -> float:
    """Time of one pass, from a part of the samples; least of a few."""
    from .task import _problem_of

    activation = _problem_of(problem).activation
    part = min(n, _SAMPLES)
    x, w = np.ones((d, part), dtype), np.full((k, d), 0.01, dtype)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        h = activation(w @ x)
        h @ x.T
        times.append(time.perf_counter() - start)
    return min(times) * n / part


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _corrections(entries: Iterable[Entry], rate: float) -> dict[str, tuple[float, float]]:
    """By learner: measured time over modelled time, and mean time, of results in the store.

    Short ones mostly begin, and say nothing of the ratio.
    """
    ratios: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    for entry in list(entries)[-200:]:
        if entry.status == "done" and math.isfinite(entry.seconds):
            task = entry.task
            modelled = passes(task) * rate * _size(_shape(task))
            times.setdefault(task.learner, []).append(entry.seconds)
            if modelled > _LONG:
                ratios.setdefault(task.learner, []).append(entry.seconds / modelled)
    return {
        name: (float(np.median(ratios[name])) if name in ratios else 1.0, float(np.mean(times[name])))
        for name in times
    }


def _settings(task: Task) -> dict[str, Any]:
    try:
        parameters = inspect.signature(find_learner(task.learner)).parameters.values()
    except ValueError:
        return dict(task.settings)
    return {p.name: p.default for p in parameters} | dict(task.settings)


def _sizes(task: Task) -> tuple[int, int, int]:
    k, n = round(task.problem.gamma * task.d), round(task.alpha * task.d**2)
    return max(k, 1), task.d, max(n, 1)


def _shape(task: Task) -> tuple[str, int, int, int, str]:
    from .task import canonical

    return (canonical(task.description["problem"]), *_sizes(task), task.dtype)


def _size(shape: tuple[str, int, int, int, str]) -> float:
    return float(shape[1]) * shape[2] * shape[3]


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return float(np.mean(finite)) if finite else math.nan

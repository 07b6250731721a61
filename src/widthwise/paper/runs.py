"""Runs of an item: tasks for the sweep, and rows of a table from what the store holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..learners.equilibrium import agreement
from ..networks.comparison import mean_of
from ..problem import Problem
from ..sweeps.result import Result
from ..sweeps.task import Task
from .known import KEY_LENGTH
from .lines import parameters
from .scales import Settings
from .table import Table

__all__ = ["row_of", "tasks_over", "trace_rows"]


def tasks_over(
    problems: Mapping[str, Problem],
    settings: Settings,
    learners: Sequence[tuple[str, str]],
    *,
    alphas: Callable[[str], Sequence[float]] | None = None,
    is_made: Callable[[str, str, float], bool] = lambda series, learner, alpha: True,
    **options: Mapping[str, Any],
) -> list[tuple[str, Task]]:
    """Runs of learners (name and start) on all instances of the problems, at the size of the settings.

    ``alphas`` says which for each series, and ``is_made`` which (series, learner, α) there are; ``options``
    go to the learner of their name.
    """
    return [
        (series, _task(problem, settings, alpha, seed, learner, start, options.get(learner, {})))
        for series, problem in problems.items()
        for alpha in (settings.alphas if alphas is None else alphas(series))
        for seed in range(_most_seeds(settings))
        for learner, start in learners
        if seed in settings.seeds(learner, alpha)
        and settings.is_within(learner, start, alpha)
        and is_made(series, learner, alpha)
    ]


def _most_seeds(settings: Settings) -> int:
    return max(settings.n_seeds, *settings.n_seeds_of.values(), 0)


def _task(
    problem: Problem,
    settings: Settings,
    alpha: float,
    seed: int,
    learner: str,
    start: str,
    options: Mapping[str, Any],
) -> Task:
    how = {"start": start, "iterations": settings.iterations[learner], **options}
    return Task(problem, settings.size(learner), alpha, seed, learner, how)


def row_of(series: str, result: Result) -> dict[str, Any]:
    """One row of the table of runs: parameters, seed, status, version and what was measured."""
    task = result.task
    row: dict[str, Any] = {
        "series": series,
        **parameters(task.problem),
        **_place(task),
        "iterations": task.settings.get("iterations", ""),
        "status": result.status if result.status == "failed" else result.run_status,
        "key": task.key,
        "version": result.version,
        "seconds": result.timings.get("seconds", math.nan),
    }
    if result.status == "failed":
        return row | {"error": result.error.splitlines()[0]}
    # Adam answers for its own error; the paper draws half of it beside those of posterior draws.
    share = 0.5 if task.learner == "adam" else 1.0
    row["excess_error"] = share * result.scalar("excess_error")
    row["chain_error"] = share * _chain_error(result)
    row["effective_draws"] = _effective_draws(result)
    for name in ("replica_excess_error", "matrix_overlap_centred", "acceptance"):
        row[name] = result.scalar(name)
    for name in ("overlap_power", "weight_overlap"):
        if name in result.values and np.isfinite(result.values[name][1]).all():
            row[name] = result.values[name][1].tolist()
    if "overlap_power" in row:
        row["overlap_power_at_start"] = result.trace["overlap_power"][1][:, 0].mean(axis=0).tolist()
    if "weight_overlap" in row:
        row["readout_values"] = result.values["readout"][1].tolist()
        row["overlap_drift"] = _drift(result)
        if row["start"] == "teacher":  # |W⁰|²/d of the units of each readout, 1 ± √(2/d) for one unit
            row["teacher_norm"] = result.trace["weight_overlap"][1][:, 0].mean(axis=0).tolist()
    return row


def _place(task: Task) -> dict[str, Any]:
    start = task.settings.get("start", "")
    return {"learner": task.learner, "start": start, "d": task.d, "alpha": task.alpha, "seed": task.seed}


def trace_rows(series: str, result: Result, names: tuple[str, ...], n_rows: int = 101) -> Table:
    """Observables along the first chain of a run, at most ``n_rows`` of them."""
    if result.status == "failed" or not names:
        return Table()
    iterations = result.trace["draw"][1]
    pick = np.unique(np.linspace(0, iterations.size - 1, min(n_rows, iterations.size)).astype(int))
    task = result.task
    shared = {"series": series, **_place(task), "key": task.key[:KEY_LENGTH]}
    return Table(
        shared
        | {"iteration": int(iterations[i])}
        | {name: _plain(result.trace[name][1][0, i]) for name in names}
        for i in pick
    )


def _effective_draws(result: Result) -> float:
    """Independent draws that the second half of a sampler's run is worth, by its error; NaN for others."""
    if "excess_error" not in result.trace or result.task.learner not in ("hmc", "metropolis"):
        return math.nan
    values = result.trace["excess_error"][1]
    found = agreement({"excess_error": values[:, values.shape[1] // 2 :]})
    return round(found.effective_draws.get("excess_error", math.nan), 1)


def _drift(result: Result) -> float:
    """By how much the overlap of the units still moves: its mean in the last quarter less the one before."""
    values = result.trace["weight_overlap"][1] if "weight_overlap" in result.trace else np.empty((1, 0, 1))
    if result.task.learner not in ("hmc", "metropolis") or values.shape[1] < 8:
        return math.nan
    *_, before, last = np.array_split(values, 4, axis=1)
    return float(last.mean() - before.mean())


def _plain(value: np.ndarray) -> Any:
    return value.tolist() if np.ndim(value) else float(value)


def _chain_error(result: Result) -> float:
    """Standard error of the mean along a run: four blocks of its second half, all but independent."""
    if "excess_error" not in result.trace or result.task.learner not in ("hmc", "metropolis"):
        return math.nan
    values = result.trace["excess_error"][1]
    values = values[:, values.shape[1] // 2 :]
    if values.shape[1] < 8:
        return math.nan
    blocks = np.array([block.mean() for block in np.array_split(values.mean(axis=0), 4)])
    return mean_of(blocks).standard_error

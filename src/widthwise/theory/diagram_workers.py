"""Rows of a phase diagram in worker processes, with a progress bar."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager

from .diagram_plan import Plan
from .diagram_row import Row, solve_row

__all__ = ["count_workers", "progress_bar", "run"]

_SHARED: Plan | None = None  # of a worker process


def count_workers(n_workers: int | None, n_tasks: int) -> int:
    if n_workers is None:
        n_workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_workers != int(n_workers) or n_workers < 1:
        raise ValueError(f"n_workers must be a whole number >= 1, got {n_workers!r}")
    return min(int(n_workers), n_tasks)


def run(plan: Plan, n_workers: int) -> Generator[tuple[int, Row], None, None]:
    """The rows of a plan as they get done, with their numbers."""
    import multiprocessing

    # Forked workers inherit the plan, callables included; what is forked must not hold JAX's threads.
    # Fresh workers are sent it, which functions of the caller do not survive: then this process works.
    can_fork = "fork" in multiprocessing.get_all_start_methods() and "jax" not in sys.modules
    plan_sent = plan if can_fork else plan.without_functions()
    if n_workers == 1 or plan_sent is None:
        for i in range(len(plan.rows)):
            yield i, solve_row(plan, i)
        return
    context = multiprocessing.get_context("fork" if can_fork else "spawn")
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(n_workers, context, initializer=_begin, initargs=(plan_sent,))
    try:
        tasks: dict[Future, int] = {pool.submit(_task, i): i for i in _spread(len(plan.rows))}
        for done in as_completed(tasks):
            yield tasks[done], done.result()
    except BaseException:  # do not wait for columns that nobody will read
        for child in set(multiprocessing.active_children()) - set(others):
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _spread(n: int) -> list[int]:
    """Every fourth row first, so that what an interrupt leaves covers the whole range."""
    return [i for start in range(4) for i in range(start, n, 4)]


def _begin(plan: Plan) -> None:
    import signal

    global _SHARED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    _SHARED = plan


def _task(i: int) -> Row:
    assert _SHARED is not None
    return solve_row(_SHARED, i)


@contextmanager
def progress_bar(is_shown: bool, total: int) -> Iterator[Callable[[], None]]:
    if not is_shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("phase diagram"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)

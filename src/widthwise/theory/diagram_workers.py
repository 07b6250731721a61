"""Rows of a phase diagram in worker processes, with a progress bar."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, as_completed
from contextlib import contextmanager

from .._threads import n_cores
from .._workers import LocalProcesses
from .diagram_plan import Plan
from .diagram_row import Row, solve_row

__all__ = ["count_workers", "progress_bar", "run"]

_SHARED: Plan | None = None  # of a worker process


def count_workers(n_workers: int | None, n_tasks: int) -> int:
    if n_workers is None:
        n_workers = n_cores()
    if n_workers != int(n_workers) or n_workers < 1:
        raise ValueError(f"n_workers must be a whole number >= 1, got {n_workers!r}")
    return min(int(n_workers), n_tasks)


def run(plan: Plan, n_workers: int) -> Generator[tuple[int, Row], None, None]:
    """The rows of a plan as they get done, with their numbers."""
    content = _as_bytes(plan) if n_workers > 1 else None
    if content is None:
        for i in range(len(plan.rows)):
            yield i, solve_row(plan, i)
        return
    pool = LocalProcesses(n_workers, initializer=_begin, initargs=(content,))
    try:
        tasks: dict[Future[Row], int] = {pool.submit(_task, i): i for i in _spread(len(plan.rows))}
        for done in as_completed(tasks):
            yield tasks[done], done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _as_bytes(plan: Plan) -> bytes | None:
    """The plan as workers are sent it, functions of the caller by their code; None if these cannot be."""
    plain = plan.without_functions()
    if plain is not None:
        return pickle.dumps(plain)
    try:
        import cloudpickle
    except ModuleNotFoundError:  # it comes with the extra for simulations
        return None
    try:
        content: bytes = cloudpickle.dumps(plan)
    except Exception:  # a function that holds a lock, a file, ...
        return None
    return content


def _spread(n: int) -> list[int]:
    """Every fourth row first, so that what an interrupt leaves covers the whole range."""
    return [i for start in range(4) for i in range(start, n, 4)]


def _begin(content: bytes) -> None:
    global _SHARED
    _SHARED = pickle.loads(content)


def _task(i: int) -> Row:
    assert _SHARED is not None
    return solve_row(_SHARED, i)


@contextmanager
def progress_bar(is_shown: bool, total: int, what: str = "phase diagram") -> Iterator[Callable[[], None]]:
    if not is_shown or not sys.stderr.isatty():  # a bar in a file is an empty line
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)

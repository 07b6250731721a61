"""A progress bar on stderr (iterations, acceptance, error, time left), or a function told the same."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Progress", "progress_bar"]

Progress = bool | Callable[[int, dict[str, float]], None] | None
"""Whether to draw a bar (None: when there is a terminal), or a function of iterations and latest numbers."""


@contextlib.contextmanager
def progress_bar(learner: str, done: int, total: int, progress: Progress) -> Iterator[Any]:
    """A function of (iterations done, latest numbers) that draws them, or one that does nothing."""
    if progress is None:
        progress = sys.stderr.isatty()
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda done, latest: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("accepted {task.fields[acceptance]}  excess error {task.fields[excess_error]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(learner, total=total, completed=done, acceptance="–", excess_error="–")

        def show(done: int, latest: dict[str, float]) -> None:
            numbers: dict[str, Any] = {name: f"{value:.3g}" for name, value in latest.items()}
            bar.update(task, completed=done, **numbers)

        yield show

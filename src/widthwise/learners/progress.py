"""A progress bar on stderr: iterations, acceptance, current error, time left."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(learner: str, done: int, total: int, progress: bool | None) -> Iterator[Any]:
    """A function of (iterations done, latest numbers) that draws them, or one that does nothing."""
    if progress is None:
        progress = sys.stderr.isatty()
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

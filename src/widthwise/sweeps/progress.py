"""What a sweep says: what it will take, then a bar on a terminal or lines elsewhere.

Shown are the tasks done, running and failed, the last error measured beside the predicted one, and the time
left.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._bad_value import plural
from ..networks.comparison import predicted_branch, prediction
from .estimate import Estimate, duration
from .result import Result

if TYPE_CHECKING:
    from .driver import Report

__all__ = ["Clock", "reporter"]

_SLOPE_KNOWN = 0.5  # by how much the slope of measured over estimated time may be off 1

Tell = Callable[[Result, "Report", int], None]


@contextlib.contextmanager
def reporter(progress: Any, n_tasks: int, n_workers: int, guess: Estimate | None) -> Iterator[Tell]:
    """A function of (result, report, number running) that tells what happened."""
    if callable(progress):
        yield lambda result, report, n_running: progress(result, report)
        return
    if progress is False or guess is None:
        yield lambda result, report, n_running: None
        return
    talk = f"{plural(n_tasks, 'task')}, {guess.n_tasks} to run: {guess.sentence(n_workers)}"
    print(talk, file=sys.stderr, flush=True)
    clock = Clock(guess, n_workers)
    if sys.stderr.isatty():
        with _bar(clock) as tell:
            yield tell
    else:
        yield _lines(clock)


class Clock:
    """Counts what is done, and guesses the time left.

    What a task takes is a line over its estimated time: small tasks take longer than estimated by what every
    task needs to begin, and say little of the slope, which is 1 until larger ones have told.
    """

    def __init__(self, guess: Estimate, n_workers: int) -> None:
        self.n_workers = n_workers
        known = [value for value in guess.seconds.values() if math.isfinite(value) and value > 0]
        self.typical = sum(known) / len(known) if known else 1.0
        self.cost = {k: v if math.isfinite(v) and v > 0 else self.typical for k, v in guess.seconds.items()}
        self.total = guess.n_tasks
        self.left = sum(self.cost.values()) * self.total / max(len(self.cost), 1)
        self.n_seen = 0
        self.times: list[tuple[float, float]] = []
        """Estimated and measured seconds of what is done."""
        self.theory: dict[Any, float] = {}

    def note(self, result: Result) -> str:
        """What a result says, in words."""
        self.n_seen += 1
        cost = self.cost.get(result.task.key, self.typical)
        self.left = max(0.0, self.left - cost)
        if math.isfinite(seconds := result.timings.get("seconds", math.nan)):
            self.times.append((cost, seconds))
        if result.status == "failed":
            return f"{result.task}: {result.error}"
        measured = result.scalar("excess_error")
        if math.isnan(measured):
            return f"{result.task}: done"
        predicted = self._predicted(result)
        beside = "" if math.isnan(predicted) else f" (theory {predicted:.4g})"
        return f"{result.task}: excess error {measured:.4g}{beside}"

    def seconds_left(self) -> float:
        fixed, slope = _line(self.times)
        n_left = max(self.total - self.n_seen, 0)
        return (fixed * n_left + slope * self.left) / min(self.n_workers, max(n_left, 1))

    def _predicted(self, result: Result) -> float:
        task = result.task
        where = (task.problem, task.alpha, predicted_branch(task.learner))
        if where not in self.theory:
            try:
                self.theory[where] = float(prediction(*where, "excess_error")[0])
            except (ValueError, ArithmeticError, NotImplementedError):
                self.theory[where] = math.nan
        return self.theory[where]


def _line(times: list[tuple[float, float]]) -> tuple[float, float]:
    """Time that any task takes and slope over the estimated one; a slope far from 1 has to be seen."""
    if not times:
        return 0.0, 1.0
    estimated, measured = np.transpose(times)
    off = estimated - estimated.mean()
    prior = np.var(measured - estimated) / _SLOPE_KNOWN**2
    slope = 1.0
    if (weight := float(off @ off + prior)) > 0:
        slope = max(float(off @ measured + prior) / weight, 0.0)
    fixed = max(float(measured.mean() - slope * estimated.mean()), 0.0)
    if fixed == 0:
        slope = float(measured.sum() / estimated.sum())
    return fixed, slope


def _lines(clock: Clock) -> Tell:
    def tell(result: Result, report: Report, n_running: int) -> None:
        said = clock.note(result)
        counts = f"{clock.n_seen}/{clock.total}"
        if report.n_failed:
            counts += f" ({report.n_failed} failed)"
        left = duration(clock.seconds_left())
        print(f"{counts} {said}; about {left} left", file=sys.stderr, flush=True)

    return tell


@contextlib.contextmanager
def _bar(clock: Clock) -> Iterator[Tell]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.text import Text

    console = Console(stderr=True)
    counts = TextColumn("{task.fields[counts]}", markup=False)
    bar = Progress(BarColumn(bar_width=24), MofNCompleteColumn(), counts, console=console)
    shown = bar.add_task("sweep", total=clock.total, counts="starting")
    latest = Text("", overflow="ellipsis", no_wrap=True)
    with Live(Group(bar, latest), console=console, refresh_per_second=4):

        def tell(result: Result, report: Report, n_running: int) -> None:
            said = clock.note(result)
            if result.status == "failed":
                console.print(f"failed: {said}", markup=False, highlight=False, soft_wrap=True)
            else:
                latest.plain = said
            left = duration(clock.seconds_left())
            now = f"{n_running} running, {report.n_failed} failed, about {left} left"
            bar.update(shown, completed=clock.n_seen, counts=now)

        yield tell

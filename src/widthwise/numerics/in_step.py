"""Several computations in step: what all of them ask for at one time is answered in one batch.

Each is an ordinary function that calls :func:`ask` where many questions are cheaper than one, however deep in
its calls it is; there it waits until every other one asks too, or has ended::

    in_step([task, task, task], answer=lambda questions: [f(q) for q in questions])

They take turns and never run at the same time, so that nothing has to be locked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

__all__ = ["ask", "in_step", "is_in_step"]

T = TypeVar("T")


class _Task(greenlet):  # type: ignore[misc, unused-ignore]
    """A computation that can be left and gone on with."""


def is_in_step() -> bool:
    """Whether somebody answers what is asked here."""
    return isinstance(getcurrent(), _Task)


def ask(question: Any) -> Any:
    """The answer to a question, given together with those to others; only within :func:`in_step`."""
    task = getcurrent()
    if not isinstance(task, _Task):
        raise RuntimeError("ask() is for computations that in_step() runs")
    return task.parent.switch(question)


def in_step(tasks: Sequence[Callable[[], T]], answer: Callable[[Sequence[Any]], Sequence[Any]]) -> list[T]:
    """What each task returns. ``answer`` is given what those that go on ask for, at least one question.

    What one of them raises is raised here, and the others are given up.
    """
    results: dict[int, Any] = {}
    waiting: dict[int, tuple[_Task, Any]] = {}

    def go_on(number: int, task: _Task, *given: Any) -> None:
        said = task.switch(*given)
        if task.dead:
            results[number] = said
        else:
            waiting[number] = task, said

    started = [_Task(function) for function in tasks]
    try:
        for number, task in enumerate(started):
            task.gr_context = copy_context()  # of its own: how rounding is warned of is changed within
            go_on(number, task)
        while waiting:
            asked, waiting = waiting, {}
            answers = answer([question for _, question in asked.values()])
            for (number, (task, _)), given in zip(asked.items(), answers, strict=True):
                go_on(number, task, given)
    finally:
        for task in started:
            if task and not task.dead:
                task.throw()  # it ends there
    return [results[number] for number in range(len(tasks))]

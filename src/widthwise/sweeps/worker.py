"""What runs in another process: one task from its description to the bytes of its file."""

from __future__ import annotations

from dataclasses import replace

from .result import Result
from .result_file import encode
from .task import Task, run_task

__all__ = ["work"]


def work(description: str, checkpoint_dir: str | None) -> tuple[Result, bytes]:
    """Result of a task without its trace, and its file, which has it."""
    result = run_task(Task.from_description(description), checkpoint_dir)
    return replace(result, trace={}), encode(result)

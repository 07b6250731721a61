"""Sweeps: (problem × d × α × seed × learner) as tasks that run anywhere, and the store of their results."""

from .._workers import LocalProcesses
from .driver import Report, run_tasks
from .store import Store, StoreError, open_store
from .sweep import Sweep
from .task import Task, run_task

__all__ = [
    "LocalProcesses",
    "Report",
    "Store",
    "StoreError",
    "Sweep",
    "Task",
    "open_store",
    "run_task",
    "run_tasks",
]

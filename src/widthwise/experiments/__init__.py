"""Experiments on finite networks: instances, observables, and what is built on them."""

from importlib import import_module
from typing import Any

from .instance import Instance, sample_instance
from .observables import Observer

__all__ = [
    "Instance",
    "LocalProcesses",
    "Observer",
    "Store",
    "StoreError",
    "Sweep",
    "Task",
    "open_store",
    "run_task",
    "run_tasks",
    "sample_instance",
]

# These run learners, which run on instances: imported when asked for, or the two would need each other.
_LAZY = {
    "LocalProcesses": "executors",
    "Store": "store",
    "StoreError": "store",
    "Sweep": "sweep",
    "Task": "task",
    "open_store": "store",
    "run_task": "task",
    "run_tasks": "driver",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)

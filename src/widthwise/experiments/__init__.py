"""Names of experiments as they are documented: no code of its own.

What runs on data has three packages: :mod:`widthwise.networks` (instances and observables),
:mod:`widthwise.sweeps` (tasks, workers, stores) and :mod:`widthwise.studies` (yardstick, hardness). Their
public names can be had from here too, each imported when it is first asked for.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "Instance": "networks",
    "Observer": "networks",
    "sample_instance": "networks",
    "LocalProcesses": "sweeps",
    "Report": "sweeps",
    "Store": "sweeps",
    "StoreError": "sweeps",
    "Sweep": "sweeps",
    "Task": "sweeps",
    "open_store": "sweeps",
    "run_task": "sweeps",
    "run_tasks": "sweeps",
}
_MODULES = ("hardness", "kernel_ridge", "leaderboard", "sweep", "yardstick")

__all__ = [*_NAMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module(f"..{_NAMES[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

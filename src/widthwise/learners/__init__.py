"""Learners: ``learner(instance, start=..., ...) -> Run``, one signature and one result.

| learner | weights | what comes back |
|---|---|---|
| :func:`hmc` | continuous | draws from the posterior |
| :func:`metropolis` | discrete (any, slowly) | draws from the posterior |
| :func:`adam` | any | the best network passed through |
| :func:`gamp_rie` | any | the predictor that matches the universal branch |

Nothing heavy is imported before a learner runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .run import NotAtEquilibrium, Run

if TYPE_CHECKING:
    from .adam import adam
    from .hmc import hmc
    from .metropolis import metropolis

__all__ = ["LEARNERS", "NotAtEquilibrium", "Run", "adam", "hmc", "metropolis"]

_NAMES = ("hmc", "metropolis", "adam", "gamp_rie")


class _Learners(Mapping[str, Callable[..., Run]]):
    """Learners by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Callable[..., Run]:
        if name not in _NAMES:
            raise KeyError(f"unknown learner {name!r}; choose from {', '.join(_NAMES)}")
        return getattr(import_module(f".{name}", __name__), name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


LEARNERS: Mapping[str, Callable[..., Run]] = _Learners()
"""Learner by name."""


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    learner = LEARNERS[name]
    globals()[name] = learner  # the function, not the module of the same name
    return learner

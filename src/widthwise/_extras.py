"""Optional extras: which module belongs to which, and the sentence that says so when one is missing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__ = ["EXTRAS", "MissingExtra", "explained", "sentence"]

EXTRAS: Mapping[str, str] = {
    "jax": "simulate",
    "blackjax": "simulate",
    "optax": "simulate",
    "numba": "simulate",
    "sklearn": "simulate",
    "h5netcdf": "simulate",
    "h5py": "simulate",
    "arviz": "simulate",
    "distributed": "cluster",
    "dask": "cluster",
    "dash": "explorer",
    "plotly": "explorer",
}
"""Extra that brings each module."""

Function = TypeVar("Function", bound=Callable[..., object])


class MissingExtra(ModuleNotFoundError):
    """A module of an extra is not installed; the message says which extra to install."""


def sentence(error: ModuleNotFoundError, what: str) -> str | None:
    """What to tell the user, or None if the missing module is not one of an extra."""
    name = (error.name or "").partition(".")[0]
    if name not in EXTRAS:
        return None
    return f"{what} needs {name}, which is not installed; pip install 'widthwise[{EXTRAS[name]}]'"


def explained(function: Function) -> Function:
    """The function, with a missing extra explained."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except MissingExtra:
            raise
        except ModuleNotFoundError as error:
            text = sentence(error, function.__name__)
            if text is None:
                raise
            raise MissingExtra(text, name=error.name) from None

    return call  # type: ignore[return-value]

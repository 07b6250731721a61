"""Options that go together: a command takes a bundle of them as one argument."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

__all__ = ["Bundle", "named_options", "takes_bundles"]


@dataclass(frozen=True)
class Bundle:
    """A dataclass whose fields are options. Its checks are those that ``__post_init__`` makes."""


def takes_bundles(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of each :class:`Bundle` as options in place of the argument."""
    asked = inspect.signature(command, eval_str=True).parameters.values()
    bundles = {
        one.name: one.annotation
        for one in asked
        if isinstance(one.annotation, type) and issubclass(one.annotation, Bundle)
    }
    fields = {name: _options(bundle) for name, bundle in bundles.items()}

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        for name, bundle in bundles.items():
            given[name] = bundle(**{field.name: given.pop(field.name) for field in fields[name]})
        command(**given)

    named_options(with_options, [part for one in asked for part in fields.get(one.name, [one])])
    return with_options


def named_options(command: Callable[..., None], options: list[inspect.Parameter]) -> None:
    """Give the command these options, all by name: one without a default may follow others."""
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in options]
    command.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    command.__annotations__ = {}


def _options(bundle: type[Bundle]) -> list[inspect.Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    given = inspect.signature(bundle).parameters.values()
    return [one.replace(annotation=hints[one.name]) for one in given]

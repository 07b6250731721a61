r"""How laws and channels are written down: a table of constructors, and one reader for all of them.

A table has one entry for each name; what a constructor takes is read off its signature. With the entry
``"student-t": StudentT`` and ``StudentT(noise, dof)`` all of these mean the same::

    "student-t:0.1,5"    "student-t(0.1, dof=5)"    {"kind": "student-t", "noise": 0.1, "dof": 5}

and a law that is added to its table can be given in Python, on the command line, in a sweep file and on the
page, with messages for what is misspelt or missing.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from .._bad_value import BadValue, did_you_mean

__all__ = ["Described", "Entry", "Table", "is_scipy_law"]

Law = TypeVar("Law")

_CALL = re.compile(r"([a-z][a-z\d-]*)\s*(?:\((.*)\)|:(.*))?", re.DOTALL)
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.+)", re.DOTALL)


class Described:
    """An ingredient that its word and parameters describe, ``power-law(1.2, 144)``.

    The word is the name of the class and the parameters are the fields of a dataclass; a law that is given by
    tables of values says its own.
    """

    _module: ClassVar[str]
    """Where users find the class, ``weights`` or ``inputs``."""

    def __repr__(self) -> str:
        return f"{self._module}.{type(self).__name__}({', '.join(map(repr, self._parameters))})"

    @property
    def spec(self) -> str | dict[str, Any]:
        """A JSON value that ``resolve`` turns back into an equal law."""
        return self._written("{!r}")

    @property
    def name(self) -> str:
        """Short label for legends and tables."""
        return self._written("{:g}")

    @property
    def _parameters(self) -> list[Any]:
        return [getattr(self, one.name) for one in fields(self)] if is_dataclass(self) else []

    def _written(self, form: str) -> str:
        word = re.sub("(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()
        numbers = ", ".join(form.format(value) for value in self._parameters)
        return f"{word}({numbers})" if numbers else word


@dataclass(frozen=True)
class Entry(Generic[Law]):
    """One name of a table."""

    make: Callable[..., Law]
    aliases: tuple[str, ...] = ()
    normalised: Callable[..., Law] | None = None
    """Makes the law from values that need rescaling; None where there is nothing to rescale."""
    is_written: bool = True
    """Whether it can be written as one word or call; otherwise it is given as a mapping."""

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What the constructor takes, by name."""
        found = inspect.signature(self.make).parameters
        return {name: one for name, one in found.items() if name != "normalise"}

    @property
    def required(self) -> list[str]:
        return [name for name, one in self.parameters.items() if one.default is one.empty]

    def form(self, name: str) -> str:
        """How it is written, ``student-t:NOISE,DOF``."""
        return f"{name}:{','.join(self.required).upper()}" if self.required else name


@dataclass
class Table(Generic[Law]):
    """All laws of one kind."""

    field: str
    """The part of a problem that they are for."""
    base: Any
    """The class that all are of."""
    entries: Mapping[str, Entry[Law]]
    from_values: Callable[..., Law] | None = None
    """Makes a law from a list of values and, if given, their probabilities."""
    from_scipy: Callable[[Any], Law] | None = None
    """Makes a law from a frozen distribution of scipy.stats."""
    from_number: Callable[[float], Law] | None = None
    unnamed_kind: str = ""
    """What a mapping without a kind is."""
    other_forms: tuple[str, ...] = ()
    """Written forms beside those of the entries, for messages; each must be readable."""

    def __post_init__(self) -> None:
        self._known = {alias: name for name, one in self.entries.items() for alias in (name, *one.aliases)}

    @property
    def forms(self) -> str:
        """Every written form, for messages."""
        written = [one.form(name) for name, one in self.entries.items() if one.is_written]
        return "; ".join([*written, *self.other_forms])

    def read(self, given: Any, *, normalise: bool = False) -> Law:
        """The law that is meant; ``normalise`` rescales values to the moments that are required."""
        if isinstance(given, self.base):
            return given  # type: ignore[no-any-return]
        if isinstance(given, Mapping):
            fields = dict(given)
            return self._make(fields.pop("kind", self.unnamed_kind), (), fields, given, normalise)
        if isinstance(given, str):
            return self._from_text(given.strip(), normalise)
        if self.from_number is not None and _is_number(given):
            return self.from_number(given)
        if self.from_scipy is not None and is_scipy_law(given):
            return self.from_scipy(given)
        if self.from_values is not None and isinstance(given, (list, tuple, np.ndarray)):
            return self.from_values(_array(self.field, given), None, normalise)
        raise BadValue(
            self.field, f"{{field}} must be a name, a description or a law ({self.forms})", repr_of(given)
        )

    def _from_text(self, text: str, normalise: bool) -> Law:
        number = _number(text)
        if self.from_number is not None and number is not None:
            return self.from_number(number)
        if self.from_values is not None and ("@" in text or "," in text and not _CALL.match(text.lower())):
            values, at, shares = text.partition("@")
            columns = [_numbers(self.field, part, text) for part in ([values, shares] if at else [values])]
            return self.from_values(columns[0], columns[1] if at else None, normalise)
        name = text.replace("_", "-")
        match = _CALL.fullmatch(name.lower()) or _CALL.fullmatch(name.lower().replace(" ", "-"))
        if match is None or match[1] not in self._known:
            raise self._unknown(text, match[1] if match else text)
        start = match.start(2) if match[2] is not None else match.start(3)
        rest = text[start : start + len(match[2] or match[3] or "")] if start >= 0 else ""
        positional: list[str] = []
        named: dict[str, Any] = {}
        for part in _split(rest):
            pair = _NAMED.fullmatch(part)
            if pair:
                named[pair[1].lower()] = pair[2]
            else:
                positional.append(part)
        return self._make(match[1], tuple(positional), named, text, normalise)

    def _unknown(self, given: Any, name: Any) -> BadValue:
        hint = did_you_mean(name, self._known)
        return BadValue(self.field, f"unknown {self.field} {given!r}; {hint}choose from {self.forms}")

    def _make(
        self, name: str, values: tuple[Any, ...], named: dict[str, Any], given: Any, normalise: bool
    ) -> Law:
        if name not in self._known:
            raise self._unknown(given, name)
        name = self._known[name]
        entry = self.entries[name]
        known = list(entry.parameters)
        got = [*known[: len(values)], *named]
        if len(values) > len(known) or set(named) - set(known) or len(set(got)) < len(got):
            raise BadValue(
                self.field,
                f"{self.field} {given!r}: {name} takes {', '.join(known) or 'no numbers'}",
                Plain(", ".join([*map(str, values), *named]) or "nothing"),
            )
        missing = [one for one in entry.required if one not in got]
        if missing:
            raise BadValue(
                self.field,
                f"{self.field} {given!r} lacks {' and '.join(missing)}",
                remedy=f"write {entry.form(name)}"
                if entry.is_written
                else f"{name} takes {', '.join(known)}",
            )
        arguments = dict(zip(known, values, strict=False)) | named
        read = {key: self._argument(entry.parameters[key], value, given) for key, value in arguments.items()}
        return (entry.normalised if normalise and entry.normalised else entry.make)(**read)

    def _argument(self, parameter: inspect.Parameter, value: Any, given: Any) -> Any:
        """A value as its constructor takes it: numbers are written as texts on a command line."""
        if isinstance(value, (list, tuple)) and "float" in str(parameter.annotation):
            return tuple(_array(self.field, value, f"{{field}}: {parameter.name}").tolist())
        if not isinstance(value, str) or "float" not in str(parameter.annotation):
            return value
        if value.startswith("["):
            return tuple(_numbers(self.field, value.strip("[]"), str(given)))
        number = _number(value)
        if number is None:
            raise BadValue(
                self.field, f"{self.field} {given!r}: {parameter.name} must be a number; {value!r} is not"
            )
        return number


class Plain(str):
    """A text that is shown without quotation marks."""

    def __repr__(self) -> str:
        return str(self)


def repr_of(value: Any) -> Plain:
    """A value as it is shown in a message, cut if it is long."""
    text = repr(value)
    return Plain(text if len(text) <= 80 else f"{text[:77]}...")


def is_scipy_law(thing: Any) -> bool:
    """Whether it is a frozen distribution of scipy.stats."""
    return all(hasattr(thing, name) for name in ("ppf", "cdf", "mean", "var", "dist"))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _numbers(field: str, text: str, whole: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadValue(
            field,
            f"cannot read the numbers of {field} {whole!r}",
            remedy="write them with commas, as in 1,-1",
        ) from None


def _array(field: str, values: Any, what: str = "{field} given as a list") -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise BadValue(field, f"{what} must be numbers", repr_of(values)) from None
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise BadValue(field, f"{what} must be finite numbers, at least one", repr_of(values))
    return array


def _split(text: str) -> list[str]:
    """Parts between commas that are not inside brackets."""
    if not text.strip():
        return []
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]

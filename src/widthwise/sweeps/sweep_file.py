r"""Sweeps as TOML files, with the line of what is wrong in them.

::

    d = [60, 100]
    alpha = "0.5:4:8"              # first, last, count; or a list. With one d also n, the number of samples
    seeds = 4                      # 0 to 3; or a list

    [[problem]]
    activation = "relu"
    readouts = ["homogeneous", "gaussian"]   # a list: one problem for each
    noise = 0.1                    # or snr, or a channel
    gamma = 0.5                    # or k, the number of hidden units, where there is one d

    [[learner]]
    name = "hmc"
    start = "teacher"              # everything but the name is a setting of the learner
    iterations = 500
"""

from __future__ import annotations

import itertools
import math
import os
import re
import tomllib
from typing import Any

import numpy as np

from .._bad_value import BadValue, did_you_mean, shown
from .._sizes import alpha_from
from ..problem import WORDS, Problem
from .sweep import LearnerSpec, Sweep, check_dtype, check_truth, positive_numbers, seed_list, whole_numbers

__all__ = ["SweepFileError", "read_sweep"]

_TOP = ("d", "alpha", "n", "seeds", "dtype", "is_readout_drawn", "problem", "learner")
_MOST_PROBLEMS = 10_000
_MOST_ALPHAS = 100_000
_MOST_CHARACTERS = 20_000_000
_RANGE = re.compile(r"^\s*([^:]+):([^:]+):([^:]+)\s*$")


class SweepFileError(ValueError):
    """What is wrong in a sweep file, and on which line."""


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """The sweep of a TOML file."""
    try:
        with open(path, encoding="utf-8-sig") as file:  # with or without the mark that some editors write
            text = file.read(_MOST_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise SweepFileError(f"{os.fspath(path)!r} is no text: {error}; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SweepFileError(f"{os.fspath(path)!r} cannot be read: {reason}") from None
    if len(text) > _MOST_CHARACTERS:
        message = f"{os.fspath(path)!r} has more than {_MOST_CHARACTERS} characters; shorten its lists"
        raise SweepFileError(message)
    return _File(os.fspath(path), text).sweep()


class _File:
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.lines = text.splitlines()
        self.d: tuple[int, ...] = ()
        try:
            self.content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\(at line (\d+), column \d+\)", str(error))
            line = int(found[1]) if found else len(self.lines)
            message = re.sub(r" \(at .*\)$", "", str(error))
            raise SweepFileError(f"{name}, line {line}: {message[:1].lower()}{message[1:]}") from None
        except (ValueError, RecursionError) as error:  # what the language allows and Python does not read
            is_deep = isinstance(error, RecursionError)
            message = "lists or tables within too many others" if is_deep else "a number of too many digits"
            sizes = [line.count("[") if is_deep else len(line) for line in self.lines]
            line = sizes.index(max(sizes)) + 1
            raise SweepFileError(f"{name}, line {line}: {message}; shorten it") from None

    def sweep(self) -> Sweep:
        self._check_names(self.content, _TOP, "a sweep", None, 0)
        if "n" in self.content and "alpha" in self.content:
            raise self._error("give alpha or n, not both: alpha is n/d²", None, 0, "n")
        amount = "n" if "n" in self.content else "alpha"
        for name in ("d", amount, "seeds", "problem", "learner"):
            if name not in self.content:
                table = name in ("problem", "learner")
                raise SweepFileError(
                    f"{self.name}: there is no {f'[[{name}]]' if table else name!r}; a sweep needs d, "
                    "alpha or n, seeds, a [[problem]] and a [[learner]]"
                )
        self.d = self._checked("d", lambda value: whole_numbers("d", value, 1))
        numbers = {
            "d": self.d,
            "alpha": self._checked(amount, self._alphas if amount == "n" else _alphas),
            "seeds": self._checked("seeds", seed_list),
        }
        for key, values in numbers.items():
            if not values:
                raise self._error(f"{key} must not be an empty list", None, 0, key)
        dtype = self._checked("dtype", check_dtype, "float32")
        is_drawn = self._checked(
            "is_readout_drawn", lambda value: check_truth("is_readout_drawn", value), False
        )
        problems, learners = self._tables("problem", self._problems), self._tables("learner", self._learner)
        try:
            return Sweep(problems, **numbers, learners=learners, dtype=dtype, is_readout_drawn=is_drawn)
        except (ValueError, TypeError) as error:
            raise self._error(str(error), None, 0, "d") from None

    def _alphas(self, n: Any) -> tuple[float, ...]:
        """α = n/d² of numbers of samples."""
        values = whole_numbers("n", _numbers("n", n), 1)
        return tuple(alpha_from(None, values, self._one_d("n", "alpha is n/d²")).tolist())

    def _one_d(self, key: str, rule: str) -> int:
        if len(self.d) != 1:
            raise ValueError(f"{key} needs one value of d ({rule}); got {len(self.d)}")
        return self.d[0]

    def _checked(self, key: str, read: Any, otherwise: Any = None) -> Any:
        try:
            return read(self.content.get(key, otherwise))
        except (ValueError, TypeError) as error:
            raise self._error(str(error), None, 0, key) from None

    def _tables(self, kind: str, read: Any) -> list[Any]:
        tables = self.content[kind]
        if isinstance(tables, dict):
            tables = [tables]
        if not (isinstance(tables, list) and tables and all(isinstance(t, dict) for t in tables)):
            raise self._error(f"{kind} must be tables, each headed [[{kind}]]", None, 0, kind)
        return [item for i, table in enumerate(tables) for item in read(table, i)]

    def _problems(self, table: dict[str, Any], position: int) -> list[Problem]:
        self._check_names(table, WORDS, "a problem", "problem", position)
        try:
            normalise = check_truth("normalise", table.get("normalise", False))
        except ValueError as error:
            raise self._error(str(error), "problem", position, "normalise") from None
        if "k" in table and "d" not in table:
            try:
                table = {**table, "d": self._one_d("k", "gamma is k/d")}
            except ValueError as error:
                raise self._error(str(error), "problem", position, "k") from None
        choices: list[list[tuple[str, Any]]] = []
        for key, given in table.items():
            if key == "normalise":
                continue
            values = given if isinstance(given, list) else [given]
            if not values:
                raise self._error(f"{key} must not be an empty list", "problem", position, key)
            choices.append([(key, value) for value in values])
            if math.prod(map(len, choices)) > _MOST_PROBLEMS:
                message = f"a [[problem]] may stand for at most {_MOST_PROBLEMS} problems: shorten its lists"
                raise self._error(message, "problem", position, key)
        problems = []
        for choice in itertools.product(*choices):
            try:
                problems.append(Problem(**dict(choice), normalise=normalise))
            except BadValue as error:
                blamed = error.field if error.field in table else None
                raise self._error(error.words("file"), "problem", position, blamed) from None
        return problems

    def _learner(self, table: dict[str, Any], position: int) -> list[LearnerSpec]:
        settings = dict(table)
        name = settings.pop("name", None)
        if not isinstance(name, str):
            raise self._error('a learner needs a name, e.g. name = "hmc"', "learner", position, "name")
        try:
            return [LearnerSpec(name, settings)]
        except ValueError as error:
            wrong = next((key for key in settings if f"setting {key!r}" in str(error)), "name")
            raise self._error(str(error), "learner", position, wrong) from None

    def _check_names(
        self, table: dict[str, Any], known: tuple[str, ...], what: str, kind: str | None, position: int
    ) -> None:
        for key in table:
            if key not in known:
                hint = did_you_mean(key, known, 1)
                raise self._error(
                    f"{what} has no {key!r}; {hint}it takes {', '.join(known)}", kind, position, key
                )

    def _error(self, message: str, kind: str | None, position: int, key: str | None) -> SweepFileError:
        return SweepFileError(f"{self.name}, line {self._line(kind, position, key)}: {message}")

    def _line(self, kind: str | None, position: int, key: str | None) -> int:
        """Number of the line where a key of the position-th table of a kind is set."""
        current, seen, header = None, -1, 1
        for number, line in enumerate(self.lines, 1):
            found = re.match(r"\s*\[+\s*([\w-]+)", line)
            if found:
                current = found[1]
                seen += current == kind
                if current == kind and seen == position:
                    header = number
                if current == kind == key or (kind is None and current == key):
                    return number
            elif current == kind and (kind is None or seen == position):
                if key is not None and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
                    return number
        return header


def _alphas(value: Any) -> tuple[float, ...]:
    return positive_numbers("alpha", _numbers("alpha", value))


def _numbers(name: str, value: Any) -> Any:
    """A number, a list, or the range of "first:last:count"."""
    if not isinstance(value, str):
        return value
    found = _RANGE.match(value)
    try:
        if found is None:
            raise ValueError
        first, last, count = float(found[1]), float(found[2]), int(found[3])
    except ValueError:
        message = f'{name} takes numbers, or a range as "first:last:count"; got {shown(value)}'
        raise ValueError(message) from None
    if not 2 <= count <= _MOST_ALPHAS:
        raise ValueError(f"a range needs a count >= 2 and <= {_MOST_ALPHAS}; got {shown(value)}")
    if not (math.isfinite(first) and math.isfinite(last)):
        return [first, last]  # refused where they are used
    # Rounded so that 0.1:0.3:3 has the 0.2 that a list would have, and the same hash.
    return [float(f"{v:.12g}") for v in np.linspace(first, last, count)]

"""What is wrong with a value that somebody gave: the field, the rule, the value and the way out.

The parts are kept apart, because the same mistake is shown in four places: an exception in Python, a line of
the command line, a line of a sweep file, a sentence beside a control of the page. Each place words it with
:meth:`BadValue.words`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["BadValue", "Remedy", "did_you_mean", "plural", "shown"]


@dataclass(frozen=True)
class Remedy:
    """A way out that is worded differently in each place; empty where there is none."""

    python: str
    command: str = ""
    """On the command line."""
    file: str = ""
    """In a sweep file."""
    page: str = ""
    """Beside a control of the explorer."""


class BadValue(ValueError):
    """A value that cannot be used.

    Parameters
    ----------
    field : str
        What the value was given for, such as "gamma".
    rule : str
        What it must be; ``{field}`` stands for the name of the field, which is written differently on the
        command line.
    value
        What was given; left out of the sentence if it is None.
    remedy : str or Remedy
        What to do instead.
    """

    def __init__(self, field: str, rule: str, value: Any = None, remedy: str | Remedy = "") -> None:
        self.field, self.rule, self.value, self.remedy = field, rule, value, remedy
        super().__init__(field, rule, value, remedy)  # the arguments, so that it can be pickled

    def __str__(self) -> str:
        return self.words()

    def words(self, place: str = "python", name: str | None = None) -> str:
        """The sentence for a place ("python", "command", "file" or "page"), with its name of the field."""
        text = self.rule.replace("{field}", self.field if name is None else name)
        if self.value is not None:
            is_float = isinstance(self.value, float)
            text += f"; got {self.value:.10g}" if is_float else f"; got {shown(self.value, 500)}"
        remedy = self.remedy if isinstance(self.remedy, str) else getattr(self.remedy, place)
        text += f"; {remedy}" if remedy else ""
        is_named = self.rule.startswith("{field}") or name is None or name == self.field
        return text if is_named else f"{name}: {text}"

    @classmethod
    def about(cls, field: str, error: Exception) -> BadValue:
        """Any error that a value caused, as one that knows the field."""
        if isinstance(error, cls):
            return error if error.field == field else cls(field, error.rule, error.value, error.remedy)
        text = str(error)
        return cls(field, text.replace(field, "{field}", 1) if text.startswith(f"{field} ") else text)


def shown(value: Any, most: int = 60) -> str:
    """A value as it is written, shortened where that is long."""
    if isinstance(value, int) and value.bit_length() > 200:  # Python itself refuses to write the longest
        return f"a whole number of about {round(value.bit_length() * math.log10(2))} digits"
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def did_you_mean(word: object, known: Iterable[str], n: int = 2) -> str:
    """``did you mean 'relu'? `` for a misspelt word, empty if nothing is near; never the word itself."""
    text = str(word).lower().replace("_", "-").replace(" ", "-")
    near = [one for one in difflib.get_close_matches(text, list(known), n=n + 1) if one != word][:n]
    return f"did you mean {' or '.join(map(repr, near))}? " if near else ""


def plural(n: int, noun: str, several: str | None = None) -> str:
    """``1 point``, ``2 points``."""
    return f"{n} {noun if n == 1 else several or noun + 's'}"

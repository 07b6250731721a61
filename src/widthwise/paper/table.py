"""Rows of plain values with names: what items compute, write as CSV, read back and draw.

Every figure is a function of its tables alone, so that it can be drawn again from the files.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Row", "Table"]

Row = Mapping[str, Any]

_TEXTS = ("case", "error", "key", "printed", "reason", "version")
"""Columns that stay as written, also where they look like numbers."""


class Table(list[Row]):
    """A list of rows; rows may lack columns."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        super().__init__(rows)

    @property
    def columns(self) -> list[str]:
        """Names in the order in which they appear."""
        return list(dict.fromkeys(name for row in self for name in row))

    def where(self, **values: Any) -> Table:
        """Rows with these values; a tuple stands for any of its entries."""
        wanted = {k: v if isinstance(v, tuple) else (v,) for k, v in values.items()}
        return Table(row for row in self if all(row.get(k) in v for k, v in wanted.items()))

    def column(self, name: str) -> np.ndarray:
        """One column as an array of numbers, NaN where a row lacks it."""
        values = [row.get(name) for row in self]
        return np.array([math.nan if v is None or v == "" else v for v in values], dtype=float)

    def distinct(self, name: str) -> list[Any]:
        """The values of a column, each once, in order of appearance."""
        return list(dict.fromkeys(row[name] for row in self if name in row))

    def groups(self, *names: str) -> Iterator[tuple[tuple[Any, ...], Table]]:
        """Rows that agree in the given columns, in order of appearance."""
        found: dict[tuple[Any, ...], Table] = {}
        for row in self:
            found.setdefault(tuple(row.get(name) for name in names), Table()).append(row)
        yield from found.items()

    def to_csv(self) -> str:
        """Text with a header; lists are joined by ``;``, numbers have eight digits."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        names = self.columns
        writer.writerow(names)
        writer.writerows([_cell(row.get(name, "")) for name in names] for row in self)
        return stream.getvalue()

    @classmethod
    def from_csv(cls, text: str) -> Table:
        """What :meth:`to_csv` wrote; empty cells are left out."""
        reader = csv.DictReader(io.StringIO(text))
        return cls({k: v if k in _TEXTS else _value(v) for k, v in row.items() if v != ""} for row in reader)

    def write(self, path: Path) -> None:
        path.write_text(self.to_csv(), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Table:
        """The table of a file, empty if there is none."""
        return cls.from_csv(path.read_text(encoding="utf-8")) if path.exists() else cls()


def _cell(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.8g}"
    if isinstance(value, (list, tuple, np.ndarray)):
        # one number is a list too: the trailing separator says so
        return ";".join(map(_cell, value)) + (";" if len(value) == 1 else "")
    return str(value)


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if ";" in text:
        parts = [_value(part) for part in text.rstrip(";").split(";")]
        return parts if all(isinstance(part, (int, float)) for part in parts) else text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text

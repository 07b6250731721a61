"""What commands print: tables for people, JSON and CSV for programs, talk on stderr.

A record is a dictionary of plain values, as ``Solution.to_dict`` makes it. Files carry the
parameters and the version, so that a figure can be made again from the file alone.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._version import __version__

__all__ = ["ReaderLeft", "as_csv", "as_json", "flush", "number", "print_table", "spec_text", "talk", "write"]

Record = Mapping[str, Any]

_HEADINGS = {"mutual_information": "mutual\ninform-\nation"}  # so that a table fits in 80 columns


class ReaderLeft(Exception):
    """Nobody reads stdout any more (``widthwise ... | head``): a reason to stop, not an error."""


def talk(message: str) -> None:
    """One line on stderr."""
    print(message, file=sys.stderr)


def write(text: str) -> None:
    """Data, to stdout."""
    _guarded(lambda: print(text, end="" if text.endswith("\n") else "\n"))


def flush() -> None:
    """Send what is left in the buffer, while a reader that went away can still be dealt with."""
    _guarded(sys.stdout.flush)


def as_json(
    description: Record, records: Iterable[Record], *, key: str = "problem", name: str = "points"
) -> str:
    """``{"version": ..., "problem": {...}, "points": [...]}``, a line for each point; NaN becomes null."""
    lines = ",\n".join("    " + json.dumps(_plain(record)) for record in records)
    points = f"[\n{lines}\n  ]" if lines else "[]"
    head = f'  "version": {json.dumps(__version__)},\n  {json.dumps(key)}: {json.dumps(_plain(description))}'
    return f"{{\n{head},\n  {json.dumps(name)}: {points}\n}}\n"


def as_csv(description: Record, records: Sequence[Record], names: Sequence[str] | None = None) -> str:
    """One row for each record, with the parameters and the version in each; arrays joined by ``;``.

    ``names`` are the columns, for a file that has them also where there is no record.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    shared = {name: spec_text(spec) for name, spec in description.items()} | {"version": __version__}
    if names is None:
        names = list(records[0]) if records else []
    writer.writerow([*shared, *names])
    for record in records:
        writer.writerow([*shared.values(), *(_cell(record[name]) for name in names)])
    return stream.getvalue()


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> None:
    """A Rich table on stdout. Columns named in ``snake_case`` are folded into several lines."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    rows = list(rows)
    is_terminal = sys.stdout.isatty()
    # A file or a pipe has no width of its own; 80 columns would break numbers in two.
    console = Console(highlight=False, markup=False, width=None if is_terminal else 200)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(columns):
        is_text = any(row[i][:1].isalpha() for row in rows)
        head = _HEADINGS.get(name, name.replace("_", "\n"))
        table.add_column(head, justify="left" if is_text else "right", vertical="bottom")
    for row in rows:
        table.add_row(*row)
    # (a measurement is never wider than the console it is made on)
    if Console(width=1000).measure(table).maximum > console.width:
        table.padding = (0, 0, 0, 0)
    if title:
        _guarded(lambda: console.print(title, soft_wrap=True))
    _guarded(lambda: console.print(table))


def number(value: float, digits: int = 5) -> str:
    """A number for a table, a dash for NaN."""
    if math.isnan(value):
        return "–"
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e5:
        return f"{value:.{digits - 1}e}"
    # Shares stay aligned: 0.99998 and 1.00000 stand in one column.
    return f"{value:#.{digits}g}" if size >= 10 else f"{value:.{digits}f}"


def spec_text(spec: Any) -> str:
    """An ingredient as the command line takes it: a word, a number, values@probabilities, name:numbers."""
    if not isinstance(spec, Mapping):
        return _cell(spec)
    if set(spec) == {"kind", "noise"} and spec["kind"] == "gaussian":
        return _cell(spec["noise"])
    for values in ("values", "atoms"):
        if set(spec) - {"kind"} == {values, "probabilities"}:
            lists = (",".join(map(_cell, spec[name])) for name in (values, "probabilities"))
            return "@".join(lists)
    parts = {key: value for key, value in spec.items() if key != "kind" and value is not False}
    if "kind" in spec and not any(isinstance(value, (list, tuple, Mapping)) for value in parts.values()):
        words = [_cell(value) if key != "shift" else f"shift={_cell(value)}" for key, value in parts.items()]
        return ":".join([spec["kind"], *([",".join(words)] if words else [])])
    return json.dumps(_plain(spec))


def _plain(value: Any) -> Any:
    """The value with null for numbers that JSON cannot carry."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        is_nested = any(isinstance(item, (list, tuple)) for item in value)
        return ";".join(":".join(map(_cell, item)) if is_nested else _cell(item) for item in value)
    return str(value)


def _guarded(action: Any) -> None:
    try:
        action()
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it ends, and would complain: give it a sink.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ReaderLeft from None

"""What commands print: data and tables on stdout, talk on stderr."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["ReaderLeft", "flush", "number", "print_table", "talk", "write"]

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


def _guarded(action: Any) -> None:
    try:
        action()
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it ends, and would complain: give it a sink.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ReaderLeft from None

"""Tables of measurements, read as data and nothing else: numbers in rows, within limits."""

from __future__ import annotations

import base64
import binascii
import csv
import math
from dataclasses import dataclass

from .security import MAX_UPLOAD

__all__ = ["MAX_ROWS", "Measured", "decode", "read_table"]

MAX_ROWS = 500
"""More points than a figure can show."""

_ALPHA = ("alpha", "α", "n/d^2", "n/d²")
_STD = ("std", "se", "sem", "standard_error", "sigma", "err", "deviation")


@dataclass(frozen=True)
class Measured:
    """One measurement; ``std`` is None where it was not given."""

    alpha: float
    value: float
    std: float | None = None


def decode(contents: str) -> str:
    """The text of an upload, which arrives as ``data:...;base64,...``."""
    _, found, data = contents.partition(";base64,")
    if not found or len(data) > MAX_UPLOAD * 4 // 3 + 4:
        raise ValueError(f"the file is too large or is no text; at most {MAX_UPLOAD // 1000} kB are read")
    try:
        raw = base64.b64decode(data, validate=True)
        return raw.decode("utf-8-sig")
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("the file is no text in UTF-8; save the table as CSV") from None


def read_table(text: str) -> list[Measured]:
    """Rows of α, error and, if there is a third column, its standard deviation; a first row may name them."""
    if "\0" in text:
        raise ValueError("the file is no text; save the table as CSV")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise ValueError("the table is empty; give rows of alpha, error and optionally std")
    mark = next((m for m in (";", "\t", ",") if m in lines[0]), None)
    if mark is None:
        rows = [line.split() for line in lines]
    else:
        try:
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
        except csv.Error as error:
            raise ValueError(f"the table cannot be read: {error}") from None
    columns = _columns(rows[0])
    body = rows[1:] if columns is not None else rows
    at_alpha, at_value, at_std = columns or (0, 1, 2)
    if not body:
        raise ValueError("the table has names but no rows")
    if len(body) > MAX_ROWS:
        raise ValueError(f"the table has {len(body)} rows; at most {MAX_ROWS} are drawn")
    found = []
    for i, row in enumerate(body, start=len(rows) - len(body) + 1):
        alpha, value = _cell(row, at_alpha, i, "alpha"), _cell(row, at_value, i, "the error")
        std = (
            _cell(row, at_std, i, "std") if at_std is not None and at_std < len(row) and row[at_std] else None
        )
        if alpha <= 0:
            raise ValueError(f"row {i}: alpha must be > 0 (samples per squared dimension), got {alpha:g}")
        if std is not None and std < 0:
            raise ValueError(f"row {i}: std must be >= 0, got {std:g}")
        found.append(Measured(alpha, value, std))
    return found


def _columns(head: list[str]) -> tuple[int, int, int | None] | None:
    """Places of α, error and std by the names in the first row; None if that row holds numbers."""
    if all(_is_number(cell) for cell in head if cell):
        return None
    names = [cell.lower() for cell in head]
    alpha = next((i for i, name in enumerate(names) if name in _ALPHA), None)
    if alpha is None:
        raise ValueError(f"no column is called alpha; there are {', '.join(head)[:80]}")
    std = next((i for i, name in enumerate(names) if name in _STD or name.endswith("_std")), None)
    value = next((i for i, name in enumerate(names) if "error" in name and i not in (alpha, std)), None)
    if value is None:
        value = next((i for i in range(len(names)) if i not in (alpha, std)), None)
    if value is None:
        raise ValueError("there is no column of errors beside alpha")
    return alpha, value, std


def _cell(row: list[str], at: int, line: int, what: str) -> float:
    if at >= len(row) or not _is_number(row[at]):
        got = repr(row[at][:20]) if at < len(row) else "nothing"
        raise ValueError(f"row {line}: {what} must be a finite number, got {got}")
    return float(row[at])


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False

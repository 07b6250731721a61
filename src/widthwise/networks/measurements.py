"""Somebody's own measurements: read from a table, and judged against the theory.

A table has a row for each α: the quantity, its standard error and the number of runs behind it, of which the
last two may be missing. It is text, separated by commas, semicolons, tabs or spaces; with semicolons or tabs
a comma may be the decimal point.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..problem import Problem
from .comparison import Mean, interval, scale_of, verdict

__all__ = ["Judged", "Measured", "judge", "read_measurements"]

_ALPHA = ("alpha", "α", "n/d^2", "n/d²")
_ERROR = ("se", "sem", "standard_error", "err", "sigma")
_SCATTER = ("std", "sd", "deviation", "standard_deviation")
_COUNT = ("n_runs", "runs", "n_seeds", "seeds", "repeats", "count")


@dataclass(frozen=True)
class Measured:
    """One measurement, the standard error of its value and the number of runs, if they are known."""

    alpha: float
    value: float
    error: float | None = None
    n: int | None = None

    @property
    def mean(self) -> Mean:
        """For a comparison: the standard error is taken as exact where the number of runs is not known."""
        error = math.nan if self.error is None else self.error
        return Mean(self.value, error, self.n or 1, math.inf if self.n is None else self.n - 1)


@dataclass(frozen=True)
class Judged:
    """A measurement beside a prediction."""

    measured: Measured
    predicted: float
    interval: float
    """How far the confidence interval reaches to each side; infinite where nothing is known."""
    verdict: str
    """See :mod:`~widthwise.networks.comparison`."""

    @property
    def deviation(self) -> float:
        """measured/predicted - 1; NaN where that has no meaning."""
        is_there = math.isfinite(self.predicted) and self.predicted != 0
        return self.measured.value / self.predicted - 1 if is_there else math.nan


def judge(
    problem: Problem, quantity: str, points: Sequence[Measured], predicted: Sequence[float] | np.ndarray
) -> list[Judged]:
    """Each point against its prediction, by Student's t where the number of runs is known."""
    found = []
    for point, value in zip(points, predicted, strict=True):
        scale = scale_of(problem, quantity, float(value)) if math.isfinite(value) else None
        mean = point.mean
        found.append(Judged(point, float(value), interval(mean), verdict(mean, float(value), scale)))
    return found


def read_measurements(text: str, most: int | None = None) -> list[Measured]:
    """Rows of α, value, error and number of runs; a first row may name the columns, in any order.

    A column called ``std`` is the scatter of single runs and is divided by √n where the number of runs is
    given; without that it is taken for the error of the value. At most ``most`` rows are taken.
    """
    if "\0" in text:
        raise ValueError("the file is no text; save the table as CSV")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise ValueError("the table is empty; give rows of alpha, error and optionally its standard error")
    rows = _cells(lines)
    columns = _columns(rows[0])
    body = rows[1:] if columns is not None else rows
    at = columns or {"alpha": 0, "value": 1, "error": 2, "n": 3}
    if not body:
        raise ValueError("the table has names but no rows")
    if most is not None and len(body) > most:
        raise ValueError(f"the table has {len(body)} rows; at most {most} are drawn")
    return [_row(row, at, i) for i, row in enumerate(body, start=len(rows) - len(body) + 1)]


def _cells(lines: list[str]) -> list[list[str]]:
    mark = next((m for m in (";", "\t", ",") if m in lines[0]), None)
    if mark is None:
        return [line.split() for line in lines]
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
    except csv.Error as error:
        raise ValueError(f"the table cannot be read: {error}") from None
    if mark == ",":
        return rows
    return [
        [cell.replace(",", ".") if _is_number(cell.replace(",", ".")) else cell for cell in row]
        for row in rows
    ]


def _row(row: list[str], at: dict[str, int], line: int) -> Measured:
    def cell(name: str, what: str) -> float | None:
        place = at.get(name)
        return (
            _cell(row, place, line, what) if place is not None and place < len(row) and row[place] else None
        )

    alpha, value = _cell(row, at["alpha"], line, "alpha"), _cell(row, at["value"], line, "the error")
    error, n = cell("error", "its standard error"), cell("n", "the number of runs")
    if alpha <= 0:
        raise ValueError(f"row {line}: alpha must be > 0 (samples per squared dimension), got {alpha:g}")
    if error is not None and error < 0:
        raise ValueError(f"row {line}: a standard error must be >= 0, got {error:g}")
    if n is not None and (n < 1 or n != int(n)):
        raise ValueError(f"row {line}: the number of runs must be a whole number >= 1, got {n:g}")
    if error is not None and n is not None and "is_scatter" in at:
        error /= math.sqrt(n)
    return Measured(alpha, value, error, None if n is None else int(n))


def _columns(head: list[str]) -> dict[str, int] | None:
    """Places of α, value, error and number of runs by the names in the first row; None if there are none."""
    if all(_is_number(cell) for cell in head if cell):
        return None
    names = [cell.lower() for cell in head]

    def find(known: Sequence[str], endings: tuple[str, ...] = ()) -> int | None:
        return next((i for i, n in enumerate(names) if n in known or (endings and n.endswith(endings))), None)

    alpha = find(_ALPHA)
    if alpha is None:
        raise ValueError(f"no column is called alpha; there are {', '.join(head)[:80]}")
    error, scatter, count = find(_ERROR, ("_standard_error", "_se")), find(_SCATTER, ("_std",)), find(_COUNT)
    taken = (alpha, error, scatter, count)
    value = next((i for i, name in enumerate(names) if "error" in name and i not in taken), None)
    if value is None:
        value = next((i for i in range(len(names)) if i not in taken), None)
    if value is None:
        raise ValueError("there is no column of errors beside alpha")
    found = {"alpha": alpha, "value": value}
    if error is not None:
        found["error"] = error
    elif scatter is not None:
        found |= {"error": scatter, "is_scatter": 1}
    if count is not None:
        found["n"] = count
    return found


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

"""Somebody's own measurements: read from a table, and judged against the theory.

A table has a row for each α: the quantity, its standard error and the number of runs behind it, of which the
last two may be missing. It is text, separated by commas, semicolons, tabs or spaces; with semicolons or tabs
a comma may be the decimal point. Columns ``n`` and ``d`` may stand for α = n/d². Several rows of one α
without standard errors are single runs: their mean and its standard error are compared.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._bad_value import did_you_mean, plural
from .._display import Plotted, comparison
from .._records import as_csv
from .._sizes import alpha_from
from ..problem import Problem
from ..theory import LearningCurve, learning_curve
from ..theory.solution import FIELDS
from .comparison import Mean, counted, interval, mean_of, scale_of, verdict

__all__ = ["ComparedCurve", "Judged", "Measured", "judge", "measurements_of", "read_measurements"]

_SAMPLES, _DIMENSION = ("n", "n_samples", "samples"), ("d", "dimension", "n_features")
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


@dataclass(frozen=True)
class ComparedCurve(Plotted):
    """Measurements beside a learning curve; ``print`` it for a table."""

    curve: LearningCurve
    """The theory at the α of the measurements."""
    quantity: str
    points: tuple[Judged, ...]

    def to_dicts(self) -> list[dict[str, Any]]:
        """A row for each measurement."""
        return [
            {
                "alpha": one.measured.alpha,
                "measured": one.measured.value,
                "standard_error": math.nan if one.measured.error is None else one.measured.error,
                "runs": one.measured.n,
                "predicted": one.predicted,
                "deviation": one.deviation,
                "interval": one.interval,
                "verdict": one.verdict,
            }
            for one in self.points
        ]

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.to_dicts())

    def to_csv(self) -> str:
        """The rows as CSV, each with the parameters of the problem."""
        return as_csv(self.curve.problem.to_dict(), self.to_dicts())

    def __repr__(self) -> str:
        counts = counted(one.verdict for one in self.points)
        return f"<ComparedCurve {self.quantity}, {plural(len(self.points), 'measurement')}: {counts}>"

    def __str__(self) -> str:
        lines = [f"{self.quantity.replace('_', ' ')} of {self.curve.problem!r}, {self.curve.asked}"]
        lines.append(f"{'alpha':>10} {'measured':>12} {'predicted':>12} {'difference':>11}  verdict")
        for one in self.points:
            share = "–" if math.isnan(one.deviation) else f"{100 * one.deviation:+.1f} %"
            lines.append(
                f"{one.measured.alpha:>10.6g} {one.measured.value:>12.6g} {one.predicted:>12.6g} "
                f"{share:>11}  {one.verdict}"
            )
        return "\n".join(lines)


@comparison.register
def _compared(curve: LearningCurve, data: Any, quantity: str | None = None) -> ComparedCurve:
    name = quantity or ("error" if curve.error_name else "excess_error")
    known = [field for field in (*FIELDS, "error") if np.ndim(getattr(curve[0], field)) == 0]
    if name not in known:
        raise ValueError(
            f"unknown quantity {name!r}; {did_you_mean(name, known)}choose from {', '.join(known[5:])}"
        )
    points = measurements_of(data)
    alphas, back = np.unique([point.alpha for point in points], return_inverse=True)
    theory = learning_curve(
        curve.problem, alphas, curve.asked, theory=curve.theory, error=curve.error_name or None
    )
    values = np.array([getattr(p, name) if p.is_converged else math.nan for p in theory])
    return ComparedCurve(theory, name, tuple(judge(curve.problem, name, points, values[back])))


def measurements_of(data: Any) -> list[Measured]:
    """Measurements from a CSV file, its text, a DataFrame, a mapping of columns, or pairs of α and value."""
    if isinstance(data, os.PathLike) or (isinstance(data, str) and "\n" not in data):
        try:
            text = Path(data).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
            raise ValueError(f"{os.fspath(data)!r} cannot be read: {reason}") from None
    elif isinstance(data, str):
        text = data
    elif isinstance(data, Mapping) or hasattr(data, "columns"):
        names = [str(name) for name in (data if isinstance(data, Mapping) else data.columns)]
        columns = [np.atleast_1d(np.asarray(data[name], dtype=float)) for name in names]
        text = "\n".join(
            [";".join(names), *(";".join(map(_text, row)) for row in zip(*columns, strict=True))]
        )
    else:
        table = np.asarray(data, dtype=float)
        if table.ndim != 2 or not 2 <= table.shape[1] <= 4:
            raise ValueError(
                "measurements are rows of alpha, value and optionally its standard error and the number of "
                f"runs; got shape {table.shape}"
            )
        text = "\n".join(";".join(map(_text, row)) for row in table)
    return _gathered(read_measurements(text))


def _text(value: float) -> str:
    return "" if math.isnan(value) else repr(float(value))


def _gathered(points: list[Measured]) -> list[Measured]:
    """Single runs of one α as their mean, in the order of the first of each."""
    by_alpha: dict[float, list[Measured]] = {}
    for point in points:
        by_alpha.setdefault(point.alpha, []).append(point)
    found = []
    for alpha, here in by_alpha.items():
        if len(here) == 1 or any(point.error is not None for point in here):
            found += here
        else:
            mean = mean_of([point.value for point in here])
            found.append(Measured(alpha, mean.value, mean.standard_error, mean.n))
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
        raise ValueError(f"the table has {plural(len(body), 'row')}; at most {most} are drawn")
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

    if "alpha" in at:
        alpha = _cell(row, at["alpha"], line, "alpha")
    else:
        sizes = (_cell(row, at[name], line, word) for name, word in (("n_samples", "n"), ("size", "d")))
        try:
            alpha = float(alpha_from(None, *sizes))
        except ValueError as reason:
            raise ValueError(f"row {line}: {reason}") from None
    value = _cell(row, at["value"], line, "the error")
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

    alpha, n_samples, size = find(_ALPHA), find(_SAMPLES), find(_DIMENSION)
    has_sizes = alpha is None and n_samples is not None and size is not None
    if alpha is None and not has_sizes:
        raise ValueError(f"no column is called alpha, and no two n and d; there are {', '.join(head)[:80]}")
    error, scatter, count = find(_ERROR, ("_standard_error", "_se")), find(_SCATTER, ("_std",)), find(_COUNT)
    taken = (alpha, error, scatter, count, n_samples, size)
    value = next((i for i, name in enumerate(names) if "error" in name and i not in taken), None)
    if value is None:
        value = next((i for i in range(len(names)) if i not in taken), None)
    if value is None:
        raise ValueError("there is no column of errors beside alpha")
    found = {"value": value}
    if alpha is not None:
        found["alpha"] = alpha
    elif n_samples is not None and size is not None:
        found |= {"n_samples": n_samples, "size": size}
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

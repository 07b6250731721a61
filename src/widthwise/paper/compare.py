"""Measured against predicted, and printed in the paper against ours, with a verdict on each.

Of measurements there are means over instances with their standard errors. Only GAMP-RIE has a prediction at
finite d, from which its deviations are then taken. ``replica_excess_error`` is the formula of two replicas,
which holds out of equilibrium too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._version import __version__
from ..networks.comparison import Mean, interval, mean_of, pooled, scale_of, verdict
from ..problem import Problem
from ..theory.families.profile import overlap_profile
from ..theory.solution import Solution
from ..theory.state_evolution import state_evolution
from .causes import with_causes
from .item import Item, Tables
from .lines import predictions
from .table import Table

__all__ = ["compare", "deviations", "judged", "means", "printed_row", "unit_of"]

_BLOCKS = 4  # of a run, from which the error of a single instance comes


@dataclass(frozen=True)
class _Point:
    """A mean and what it is the mean of (nothing, for those that others published)."""

    row: dict[str, Any]
    values: np.ndarray
    mean: Mean


def compare(item: Item, tables: Tables) -> Table:
    """One row for each mean over instances, ours and the authors'."""
    scale = tables.settings.scale
    points = [p for quantity in item.quantities for p in _points(tables.measured, quantity, scale)]
    for row in tables.published:
        mean = Mean(row["measured"], row["standard_error"], row["n_instances"], row["n_instances"] - 1)
        points.append(_Point(dict(row), np.array([]), mean))
    groups: dict[tuple[Any, ...], list[_Point]] = {}
    for point in points:
        key = tuple(point.row.get(name) for name in ("series", "learner", "start", "source", "quantity", "d"))
        groups.setdefault(key, []).append(point)
    rows = Table()
    for (series, learner, start, *_), group in groups.items():
        if series not in item.problems:
            continue
        line = item.line_of(series, learner, start)
        solutions = predictions(item.problems[series], [point.row["alpha"] for point in group], line)
        rows += _compared(item.problems[series], group, line, solutions)
    return with_causes(rows, tables.measured, item.problems)


def means(measured: Table, quantity: str) -> Table:
    """Means over the instances that were done, with the standard error of each.

    It comes from the scatter over instances; of a single one, from the fluctuations along its run.
    """
    return Table(point.row for point in _points(measured, quantity))


def deviations(rows: Table, prediction: str = "predicted") -> str:
    """How far measurements lie from their predictions, as "+2 % (most −1 to +7 %)"; a dash if there are none.

    Most are four in five of them, around the median.
    """
    share = (rows.column("measured") - rows.column(prediction)) / np.abs(rows.column(prediction))
    share = share[np.isfinite(share)]
    if share.size == 0:
        return "–"
    low, middle, high = (f"{100 * value:+.0f}" for value in np.quantile(share, [0.1, 0.5, 0.9]))
    return f"{middle} %" if low == high else f"{middle} % (most {low} to {high} %)"


def judged(mean: Mean, predicted: float, scale: float) -> dict[str, Any]:
    """The columns that a comparison has beyond mean and prediction."""
    difference = mean.value - predicted
    return {
        "difference": difference,
        "deviation_in_standard_errors": mean.deviation(predicted),
        "relative_deviation": difference / scale if scale else math.nan,
        "interval": interval(mean),
        "verdict": verdict(mean, predicted, scale),
    }


def _points(measured: Table, quantity: str, scale: str | None = None) -> Iterator[_Point]:
    """Means over instances; those of another scale than the one given stand in."""
    done = Table(row for row in measured if row.get("status") != "failed")
    for key, group in done.groups("series", "learner", "start", "d", "alpha"):
        for values, readout in _entries(group, quantity):
            mean = mean_of(values)
            if mean.n == 0:
                continue
            if mean.n == 1 and "excess_error" in quantity:
                mean = Mean(mean.value, group[0].get("chain_error", math.nan), 1, _BLOCKS - 1)
            row: dict[str, Any] = dict(zip(("series", "learner", "start", "d", "alpha"), key, strict=True))
            row |= {"source": "ours", "quantity": quantity}
            row |= {"stands_in": True} if scale and group[0].get("scale", scale) != scale else {}
            row |= {} if readout is None else {"readout": readout}
            row |= {"measured": mean.value, "standard_error": mean.standard_error, "n_instances": mean.n}
            yield _Point(row, values, mean)


def _compared(
    problem: Problem, group: list[_Point], line: str, solutions: dict[float, Solution]
) -> Iterator[dict[str, Any]]:
    """The points of one learner at one d beside their predictions; they share their scatter if they can."""
    rows, best = [], []
    for point in group:
        predicted = _predicted(problem, point.row, solutions[point.row["alpha"]])
        row = point.row | {"line": line, "predicted": predicted}
        if row["learner"] == "gamp_rie" and row["quantity"] == "excess_error":
            # the course of GAMP-RIE is known at finite d, up to smaller terms
            predicted = float(state_evolution(problem, row["alpha"], d=row["d"]).excess_error[-1])
            row["predicted_at_d"] = predicted
        rows.append(row)
        best.append(predicted)
    scales = [scale_of(problem, row["quantity"], value) for row, value in zip(rows, best, strict=True)]
    shared = pooled([point.values for point in group], scales)
    for point, row, one, predicted, scale in zip(group, rows, shared, best, scales, strict=True):
        mean = one if one.degrees > 0 else point.mean
        row |= judged(mean, predicted, scale)
        row["deviation_in_standard_errors"] = point.mean.deviation(predicted)
        if row["quantity"] not in ("weight_overlap", "matrix_overlap_centred"):
            row["relative_deviation"] = row["difference"] / abs(predicted) if predicted else math.nan
        if row["learner"] == "adam":  # no theory tells where it stops: it is drawn beside the others
            row["verdict"] = "not predicted"
        yield row


def _entries(group: Table, quantity: str) -> Iterator[tuple[np.ndarray, float | None]]:
    """Values over instances: one set for a scalar, one for each readout for an overlap.

    Overlaps are divided by what the teacher has with itself, which is 1 for large d.
    """
    if quantity != "weight_overlap":
        yield group.column(quantity), None
        return
    arrays = [
        np.atleast_1d(row["weight_overlap"]) / np.atleast_1d(row.get("teacher_norm", 1.0))
        for row in group
        if "weight_overlap" in row
    ]
    if not arrays:
        return
    readouts = np.atleast_1d(group[0]["readout_values"])
    for i, readout in enumerate(readouts):
        yield np.array([a[i] for a in arrays], dtype=float), float(readout)


def _predicted(problem: Problem, row: Any, solution: Solution) -> float:
    if row["quantity"] != "weight_overlap":
        return float(getattr(solution, row["quantity"].removeprefix("replica_")))
    law: Any = problem.readouts
    if law.is_discrete:
        readout = row.get("readout", solution.readout_values[-1])
        return float(solution.weight_overlap[np.argmin(np.abs(solution.readout_values - readout))])
    return float(overlap_profile(solution, [row["readout"]])[0])


def unit_of(printed: str) -> float:
    """One unit of the last digit of a number as printed, e.g. 0.001 of "0.883" and 1e-8 of "1.115e-5"."""
    mantissa, _, exponent = printed.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - digits)


def printed_row(
    place: str, quantity: str, case: str, printed: str, ours: float, reason: str = ""
) -> dict[str, Any]:
    """One line of the comparison; ``reason`` is kept only where the numbers differ."""
    unit = unit_of(printed)
    difference = abs(ours - float(printed))
    # half a unit is rounding; a little more, printed values that were themselves cut or rounded twice
    verdict = "agrees" if difference <= 0.501 * unit else "last digit" if difference <= unit else "differs"
    return {
        "place": place,
        "quantity": quantity,
        "case": case,
        "printed": printed,
        "ours": ours,
        "verdict": verdict,
        "reason": "" if verdict == "agrees" else reason,
        "version": __version__,
    }

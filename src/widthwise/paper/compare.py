"""Measured against predicted: means over instances, standard errors, and deviations in units of them.

The prediction is for d → ∞. Its corrections are of relative order 1/d, so that a small d differs by several
standard errors when these are small: the verdict names both measures, significance and size. Only GAMP-RIE
has a prediction at finite d, from which its deviations are then taken. ``replica_excess_error`` is the
formula of two replicas, which holds out of equilibrium too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..problem import Problem
from ..theory.overlap_profile import overlap_profile
from ..theory.solution import Solution
from ..theory.state_evolution import state_evolution
from .item import Item, Tables
from .lines import predictions
from .table import Table

__all__ = ["CLOSE", "SIGNIFICANT", "compare", "means", "verdict"]

SIGNIFICANT = 3.0
"""Deviations up to this many standard errors are called agreement."""
CLOSE = 0.1
"""Larger ones are called close up to this fraction of the prediction (or this much of an overlap)."""

FLOOR = 0.01
"""Errors below this fraction of the error without data are compared as if they were that large."""

_LEARNT = ("weight_overlap", "matrix_overlap_centred")


def compare(item: Item, tables: Tables) -> Table:
    """One row for each mean over instances, ours and the authors'."""
    rows = Table()
    for quantity in item.quantities:
        rows += means(tables.measured, quantity)
    rows += tables.published
    judged = Table()
    for (series, learner, start), group in rows.groups("series", "learner", "start"):
        if series not in item.problems:
            continue
        problem, line = item.problems[series], item.line_of(series, learner, start)
        found = predictions(problem, [row["alpha"] for row in group], line)
        judged += [_judged(problem, row, line, found[row["alpha"]]) for row in group]
    return judged


def means(measured: Table, quantity: str) -> Table:
    """Means over the instances that were done, with the standard error of each.

    It comes from the scatter over instances; of a single one, from the fluctuations along its run.
    """
    rows = Table()
    done = Table(row for row in measured if row.get("status") != "failed")
    for key, group in done.groups("series", "learner", "start", "d", "alpha"):
        for value, readout in _entries(group, quantity):
            value = value[np.isfinite(value)]
            if value.size == 0:
                continue
            if value.size > 1:
                error = float(value.std(ddof=1) / math.sqrt(value.size))
            else:
                error = group[0].get("chain_error", math.nan) if "excess_error" in quantity else math.nan
            row: dict[str, Any] = dict(zip(("series", "learner", "start", "d", "alpha"), key, strict=True))
            row |= {"source": "ours", "quantity": quantity}
            row |= {} if readout is None else {"readout": readout}
            rows.append(
                row | {"measured": float(value.mean()), "standard_error": error, "n_instances": value.size}
            )
    return rows


def verdict(deviation: float, difference: float, scale: float) -> str:
    """Agreement in words, of a deviation in standard errors and of a difference against its scale."""
    if math.isfinite(deviation) and abs(deviation) <= SIGNIFICANT:
        return "agrees"
    return "close" if abs(difference) <= CLOSE * scale else "differs"


def _entries(group: Table, quantity: str):
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


def _judged(problem: Problem, row: Any, line: str, solution: Solution) -> dict[str, Any]:
    predicted = best = _predicted(problem, row, solution)
    judged: dict[str, Any] = dict(row) | {"line": line, "predicted": predicted}
    if row["learner"] == "gamp_rie" and row["quantity"] == "excess_error":
        # the course of GAMP-RIE is known at finite d, up to smaller terms
        best = float(state_evolution(problem, row["alpha"], d=row["d"]).excess_error[-1])
        judged["predicted_at_d"] = best
    difference = row["measured"] - best
    error = row["standard_error"]
    deviation = difference / error if error > 0 else math.nan
    is_overlap = row["quantity"] in _LEARNT
    size = 1.0 if is_overlap else abs(best)
    # Where all but nothing is left of the error, a fraction of it says nothing.
    floor = 0.0 if is_overlap else FLOOR * _error_without_data(problem)
    return judged | {
        "difference": difference,
        "deviation_in_standard_errors": deviation,
        "relative_deviation": difference / size if size else math.nan,
        # no theory tells where Adam stops: it is drawn beside the others, not judged
        "verdict": "not predicted"
        if row["learner"] == "adam"
        else verdict(deviation, difference, max(size, floor)),
    }


def _error_without_data(problem: Problem) -> float:
    """Excess error as α → 0: ½μ₂² + g(1)."""
    return 0.5 * problem.hermite[2] ** 2 + float(problem.activation.tail_kernel(1.0))


def _predicted(problem: Problem, row: Any, solution: Solution) -> float:
    if row["quantity"] != "weight_overlap":
        return float(getattr(solution, row["quantity"].removeprefix("replica_")))
    law: Any = problem.readouts
    if law.is_discrete:
        readout = row.get("readout", solution.readout_values[-1])
        return float(solution.weight_overlap[np.argmin(np.abs(solution.readout_values - readout))])
    return float(overlap_profile(solution, [row["readout"]])[0])

"""Why a measurement of a chain does not meet the theory: what the tables themselves can tell.

Three things can be the reason, and each leaves a trace of its own.

=============== ==============================================================================================
cause           what speaks for it
=============== ==============================================================================================
memory          the student is nearer to its start than predicted, and the chain is seen to be out of
                equilibrium: chains from another start disagree with it beyond their errors, or half the error
                of a draw with the formula of two replicas, or the run is worth fewer than ten draws, or its
                overlap still moves away from the start by 0.01 in a quarter of the run
linear part     the error is too large by about (Δ + excess)/(αd), what learning the linear part costs at
                finite d; half of the difference or more is explained
not told apart  neither: another effect of finite size, or the theory itself
=============== ==============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..problem import Problem
from .table import Row, Table

__all__ = ["CAUSES", "with_causes"]

CAUSES = ("memory", "linear part", "not told apart")
_CHAINS = ("hmc", "metropolis")
_ERRORS = ("excess_error", "replica_excess_error")
_FEW = 10.0  # independent draws: fewer say nothing about equilibrium
_MOVING = 0.01  # of an overlap, in a quarter of a run
_APART = 3.0  # standard errors between two measurements of one thing


def with_causes(comparison: Table, measured: Table, problems: Mapping[str, Problem]) -> Table:
    """The rows, those of our chains that are close or differ with a ``cause``."""
    return Table(
        dict(row) | {"cause": _cause(row, comparison, measured, problems[row["series"]])}
        if _is_asked(row)
        else row
        for row in comparison
    )


def _is_asked(row: Row) -> bool:
    is_chain = row.get("source") == "ours" and row.get("learner") in _CHAINS
    return is_chain and row.get("verdict") in ("close", "differs")


def _cause(row: Row, comparison: Table, measured: Table, problem: Problem) -> str:
    difference = float(row["difference"])
    if row["quantity"] in _ERRORS and difference > 0:
        noise = float(getattr(problem.channel, "noise", math.nan))
        cost = (noise + float(row["predicted"])) / (row["alpha"] * row["d"])
        if abs(difference - cost) <= 0.5 * difference:
            return "linear part"
    # a lower error or a larger overlap is nearer to the teacher
    is_nearer = (difference < 0) == (row["quantity"] in _ERRORS)
    if is_nearer == (row["start"] == "teacher") and _is_out_of_equilibrium(row, comparison, measured):
        return "memory"
    return "not told apart"


def _is_out_of_equilibrium(row: Row, comparison: Table, measured: Table) -> bool:
    place = {name: row[name] for name in ("series", "learner", "d", "alpha")}
    here = comparison.where(source="ours", **place)
    errors = here.where(quantity="excess_error")
    starts = [errors.where(start=start) for start in ("teacher", "random")]
    if all(starts) and _disagree(starts[0][0], starts[1][0]):
        return True
    own, replica = (here.where(start=row["start"], quantity=name) for name in _ERRORS)
    if own and replica and _disagree(own[0], replica[0]):
        return True
    runs = measured.where(start=row["start"], **place)
    away = -1.0 if row["start"] == "teacher" else 1.0
    return bool(_median(runs, "effective_draws") < _FEW or away * _median(runs, "overlap_drift") > _MOVING)


def _median(runs: Table, name: str) -> float:
    """Of what is known; NaN, which is neither small nor large, if nothing is."""
    values = runs.column(name)
    values = values[np.isfinite(values)]
    return float(np.median(values)) if values.size else math.nan


def _disagree(one: Row, other: Row) -> bool:
    """Whether two means differ by more than their errors (which have to be known)."""
    error = math.hypot(_number(one, "standard_error"), _number(other, "standard_error"))
    return bool(abs(one["measured"] - other["measured"]) > _APART * error)  # False where error is NaN


def _number(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name, math.nan)
    return float(value) if value != "" else math.nan

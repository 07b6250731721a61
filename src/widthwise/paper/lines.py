"""Theory lines as rows of a table: a curve on one branch, or every branch through its folds.

A row has the ``series`` (which problem), the ``line`` (which theory and branch) and the fields of a
solution, so that a figure and a table of predictions read the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._version import __version__
from ..plotting.style import STATE_NAMES, state_of
from ..problem import Problem
from ..theory import learning_curve, solutions, trace_branches, transitions
from ..theory.solution import Solution
from .table import Table

__all__ = [
    "INFORMED",
    "LINES",
    "branch_rows",
    "curve_rows",
    "curves",
    "grid",
    "parameters",
    "predictions",
    "stretches",
]

LINES = {
    "equilibrium": ("equilibrium", "main"),
    "universal": ("universal", "main"),
    "specialised": ("specialised", "main"),
    "factorised": ("specialised", "factorised"),
}
"""Branch and theory of each line that can be asked for along α."""

INFORMED = "informed"
"""The stable solution with the largest overlap: where chains that start on the teacher stay."""

_FIELDS = (
    "alpha",
    "branch",
    "is_equilibrium",
    "is_stable",
    "status",
    "residual",
    "excess_error",
    "matrix_overlap_centred",
    "matrix_overlap_hat",
    "tilt",
    "free_entropy",
    "mutual_information",
)


def parameters(problem: Problem) -> dict[str, Any]:
    """The problem in the columns of a table."""
    channel: Any = problem.channel
    return {
        "activation": problem.activation.name,
        "weights": problem.weights.name,
        "readouts": problem.readouts.name,
        "channel": channel.noise if channel.name == "gaussian" else channel.name,
        "gamma": problem.gamma,
    }


def grid(
    problem: Problem,
    low: float,
    high: float,
    n_points: int,
    spaced: Callable[[float, float, int], np.ndarray] = np.linspace,
) -> np.ndarray:
    """Values of α for a curve, with both sides of each jump and each onset itself."""
    alphas = spaced(low, high, n_points)
    sides = []
    for change in transitions(problem, high):
        offsets = (-1e-7, 1e-7) if change.kind == "first-order" else (0.0, 1e-3)
        sides += [change.alpha * (1 + offset) for offset in offsets]
    return np.unique([a for a in (*alphas, *sides) if low <= a <= high])


def curves(
    problems: Mapping[str, Problem], alpha: tuple[float, float], n_points: int, lines: Iterable[str]
) -> Table:
    """Rows of several lines of each problem between two values of α, on its own grid."""
    rows = Table()
    for series, problem in problems.items():
        alphas = grid(problem, *alpha, n_points)
        for line in lines:
            rows += curve_rows(series, problem, alphas, line)
    return rows


def curve_rows(series: str, problem: Problem, alphas: Sequence[float] | np.ndarray, line: str) -> Table:
    """Rows of one line, NaN where its branch does not exist."""
    branch, theory = LINES[line]
    curve = learning_curve(problem, np.asarray(alphas, dtype=float), branch, theory=theory)
    return Table(_row(series, line, point) for point in curve)


def branch_rows(series: str, problem: Problem, low: float, high: float, n_points: int = 80) -> Table:
    """Every branch between two values of α, with its ``state``: equilibrium, metastable or unstable."""
    changes = [t.alpha for t in transitions(problem, high)]
    rows = Table()
    for number, branch in enumerate(trace_branches(problem, (low, high), n_points, at=changes)):
        for point in branch:
            state = STATE_NAMES[state_of(point)]
            rows.append(_row(series, f"branch {number}", point) | {"state": state})
    return rows


def stretches(branch: Table) -> Table:
    """The rows with the number of their stretch of one state; rivals begin and end on the equilibrium."""
    rows, number = Table(), 0
    for before, row, after in zip([{}, *branch[:-1]], branch, [*branch[1:], {}], strict=True):
        state = row["state"]
        number += state != before.get("state")
        if state == "equilibrium":
            for side, step in ((before, -1), (after, 1)):
                if side.get("state") == "metastable":
                    rows.append(dict(row) | {"stretch": f"metastable {number + step}"})
        rows.append(dict(row) | {"stretch": f"{state} {number}"})
    return rows


def predictions(problem: Problem, alphas: Sequence[float], line: str) -> dict[float, Solution]:
    """The solutions that measurements at these α are compared with."""
    distinct = sorted(set(alphas))
    if line == INFORMED:
        return {alpha: _informed(problem, alpha) for alpha in distinct}
    branch, theory = LINES[line]
    return dict(zip(distinct, learning_curve(problem, distinct, branch, theory=theory), strict=True))


def _informed(problem: Problem, alpha: float) -> Solution:
    stable = [s for s in solutions(problem, alpha) if s.is_stable]
    return max(stable, key=lambda s: float(s.readout_weights @ s.weight_overlap))


def _row(series: str, line: str, point: Solution) -> dict[str, Any]:
    record: dict[str, Any] = {"series": series, "line": line, **parameters(point.problem)}
    record |= {name: getattr(point, name) for name in _FIELDS}
    law: Any = point.problem.readouts
    if law.is_discrete:
        record["readout_values"] = point.readout_values.tolist()
        record["weight_overlap"] = point.weight_overlap.tolist()
    return record | {"version": __version__}

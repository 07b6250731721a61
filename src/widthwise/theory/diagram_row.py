"""One row of a phase diagram: the solutions at its points, the lines that cross it, points beside them.

With α as an axis a row is one problem at all α, a single batch of the solver, and the lines are its
:func:`transitions`. At fixed α it is one problem for each value of the second axis, and the lines are
:mod:`diagram_crossings`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._arrays import Array
from ..problem import Problem
from .diagram_crossings import Crossing, find_crossings
from .diagram_lines import BEYOND, halvings, lines_of
from .diagram_plan import Plan
from .setting import readout_classes
from .solution import Solution
from .solver import all_solutions
from .transitions import Transition

__all__ = ["COUNTS", "FLAGS", "NUMBERS", "Row", "Table", "phase_names", "sizes_of", "solve_row"]

NUMBERS = (
    "excess_error",
    "universal_error",
    "gap",
    "matrix_overlap_centred",
    "free_entropy",
    "mutual_information",
)
COUNTS = ("n_specialised", "n_solutions", "n_stable")
FLAGS = ("is_universal_stable", "has_specialised", "has_stable_specialised")
_CONTINUOUS_SIZES = np.array([2.0, 1.0, 0.5])


@dataclass
class Table:
    """What is said of some points, one after the other."""

    fields: dict[str, np.ndarray]
    overlap: np.ndarray
    branch: list[str]
    status: list[str]

    @classmethod
    def of(cls, problem: Problem, ranked: list[list[Solution]]) -> Table:
        """The equilibrium and its rivals, from all solutions at each point."""
        sizes, n = sizes_of(problem), len(ranked)
        fields = {name: np.full(n, np.nan) for name in (*NUMBERS, *COUNTS, *FLAGS)}
        overlap = np.full((n, sizes.size), np.nan)
        branch, status = [""] * n, ["did not converge"] * n
        for i, found in enumerate(ranked):
            best = next((s for s in found if s.is_equilibrium), None)
            universal = next((s for s in found if s.branch == "universal"), None)
            if best is None or universal is None:
                continue
            special = [s for s in found if s.branch == "specialised"]
            overlap[i] = _overlaps(best, sizes)
            branch[i], status[i] = best.branch, best.status
            row = {
                "excess_error": best.excess_error,
                "universal_error": universal.excess_error,
                "gap": universal.excess_error - best.excess_error,
                "matrix_overlap_centred": best.matrix_overlap_centred,
                "free_entropy": best.free_entropy,
                "mutual_information": best.mutual_information,
                "n_specialised": _n_specialised(best, sizes),
                "n_solutions": len(found),
                "n_stable": sum(s.is_stable for s in found),
                "is_universal_stable": universal.is_stable,
                "has_specialised": bool(special),
                "has_stable_specialised": any(s.is_stable for s in special),
            }
            for name, value in row.items():
                fields[name][i] = value
        return cls(fields, overlap, branch, status)


@dataclass
class Row:
    """A finished row; ``refined`` are points beside lines: values of the second axis, and a table of them."""

    tables: list[Table]
    lines: list[Transition] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    refined: list[tuple[np.ndarray, Table]] = field(default_factory=list)


def solve_row(plan: Plan, i: int) -> Row:
    """Everything of one row of the plan."""
    return _over_alpha(plan, i) if plan.has_alpha_axis else _at_fixed_alpha(plan, i)


def _over_alpha(plan: Plan, i: int) -> Row:
    (problem,) = plan.rows[i]
    ranked = all_solutions(problem, plan.alpha, plan.theory)
    row = Row([Table.of(problem, ranked)])
    if not plan.has_lines:
        return row
    solved = dict(zip(plan.alpha.tolist(), ranked, strict=True))
    row.lines = lines_of(problem, BEYOND * plan.alpha[-1], plan.theory, solved)
    more = halvings(plan.alpha, [t.alpha for t in row.lines], plan.refine, is_log=True)
    if more.size:
        row.refined.append((more, Table.of(problem, all_solutions(problem, more, plan.theory))))
    return row


def _at_fixed_alpha(plan: Plan, i: int) -> Row:
    (first, xs), (second, ys) = plan.axes.items()
    row = Row([Table.of(p, all_solutions(p, plan.alpha, plan.theory)) for p in plan.rows[i]])
    if not plan.has_lines:
        return row

    def make(y: float) -> Problem:
        return plan.make({first: float(xs[i]), second: y})

    suspects = [j for j in range(ys.size - 1) if _may_cross(row.tables[j], row.tables[j + 1])]
    row.crossings = find_crossings(make, ys, suspects, float(plan.alpha[0]), plan.theory)
    for y in halvings(ys, [c.second for c in row.crossings], plan.refine):
        problem = make(float(y))
        table = Table.of(problem, all_solutions(problem, plan.alpha, plan.theory))
        row.refined.append((np.array([y]), table))
    return row


def _may_cross(one: Table, other: Table) -> bool:
    """Whether a line may pass between two points: phases differ, or overlaps do much."""
    a, b = (t.fields["n_specialised"][0] for t in (one, other))
    if np.isnan(a) or np.isnan(b):
        return False
    if a != b or one.overlap.shape != other.overlap.shape:
        return True
    n_stable = max(t.fields["n_stable"][0] for t in (one, other))
    return bool(np.max(np.abs(one.overlap - other.overlap)) > (0.02 if n_stable > 1 else 0.1))


def sizes_of(problem: Problem) -> np.ndarray:
    """|readouts| at which overlaps are reported, largest first."""
    classes = readout_classes(problem)
    return _CONTINUOUS_SIZES if classes is None else classes.sizes


def phase_names(problem: Problem) -> list[str]:
    """What is learnt in the phases, by ``n_specialised``: units of the largest |readouts| first."""
    classes = readout_classes(problem)
    if classes is None:
        return ["universal", "specialised"]
    sizes = classes.sizes[classes.sizes > 0]
    if sizes.size == 1:
        return ["universal", "specialised"]
    return ["universal", *(f"|v| ≥ {size:.3g} learnt" for size in sizes[:-1]), "all units learnt"]


def _overlaps(solution: Solution, sizes: Array) -> Array:
    v = np.abs(solution.readout_values)
    if solution.problem.readouts.is_discrete:
        overlaps: Array = solution.weight_overlap[np.argmin(np.abs(v[:, None] - sizes), axis=0)]
    else:
        order = np.argsort(v)
        overlaps = np.interp(sizes, v[order], solution.weight_overlap[order])
    return overlaps


def _n_specialised(solution: Solution, sizes: np.ndarray) -> int:
    if solution.problem.readouts.is_discrete:
        return int(np.sum(_overlaps(solution, sizes) > 0))
    return int(solution.branch == "specialised")

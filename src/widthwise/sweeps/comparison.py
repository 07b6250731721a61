"""Measured against predicted: means over seeds, their standard errors, and the distance in units of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from ..theory import learning_curve
from .store_index import Entry
from .store_tables import learner_labels, mean_and_error, problem_labels
from .task import canonical

__all__ = ["Comparison", "compare", "predicted_branch", "prediction"]

QUANTITIES = ("excess_error", "matrix_overlap_centred")


@dataclass(frozen=True)
class Comparison:
    """One quantity of one learner at one point."""

    problem: str
    learner: str
    d: int
    alpha: float
    quantity: str
    n_seeds: int
    n_failed: int
    measured: float
    standard_error: float
    branch: str
    predicted: float

    @property
    def distance(self) -> float:
        """(measured - predicted) in standard errors; NaN with fewer than two seeds."""
        return (self.measured - self.predicted) / self.standard_error if self.standard_error else math.nan

    def to_dict(self) -> dict[str, Any]:
        """The row of a table."""
        return asdict(self) | {"distance": self.distance}


def predicted_branch(learner: str) -> str:
    """The branch of the theory that a learner is expected on, if nothing holds it up."""
    return "universal" if learner == "gamp_rie" else "equilibrium"


def prediction(problem: Problem, alphas: ArrayLike, branch: str, quantity: str) -> np.ndarray:
    """The quantity along a branch; NaN where there is none."""
    curve = learning_curve(problem, np.asarray(alphas, dtype=float), branch)
    return np.array([getattr(point, quantity) if point.is_converged else math.nan for point in curve])


def compare(
    entries: Sequence[Entry], *, branch: str | None = None, quantities: Sequence[str] = QUANTITIES
) -> list[Comparison]:
    """Every (problem, learner, d, alpha) of the entries against the theory.

    ``branch`` is that of :func:`predicted_branch` unless given.
    """
    descriptions = [entry.parts for entry in entries]
    learners, problems = learner_labels(descriptions), problem_labels(descriptions)
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry, parts in zip(entries, descriptions, strict=True):
        kind = canonical([parts[key] for key in ("learner", "settings", "dtype", "is_readout_drawn")])
        where = (problems[canonical(parts["problem"])], learners[kind], parts["d"], parts["alpha"])
        groups.setdefault(where, []).append(entry)
    wanted: dict[tuple[str, str], set[float]] = {}
    for where, group in groups.items():
        side = branch or predicted_branch(group[0].parts["learner"])
        wanted.setdefault((canonical(group[0].parts["problem"]), side), set()).add(where[3])
    known: dict[tuple[str, str, float, str], float] = {}
    by_text = {canonical(parts["problem"]): parts["problem"] for parts in descriptions}
    for (text, side), alphas in wanted.items():
        for quantity in quantities:
            values = prediction(Problem.from_dict(by_text[text]), sorted(alphas), side, quantity)
            known |= {
                (text, side, a, quantity): float(v) for a, v in zip(sorted(alphas), values, strict=True)
            }
    rows = []
    for where in sorted(groups):
        group = groups[where]
        done = [entry for entry in group if entry.status == "done"]
        side = branch or predicted_branch(group[0].parts["learner"])
        for quantity in quantities:
            mean, error = mean_and_error([entry.values.get(quantity, math.nan) for entry in done])
            expected = known[canonical(group[0].parts["problem"]), side, where[3], quantity]
            rows.append(
                Comparison(*where, quantity, len(done), len(group) - len(done), mean, error, side, expected)
            )
    return rows

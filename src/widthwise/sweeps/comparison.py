"""Results of a store against the theory: a row for each quantity of each learner at each point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..networks.comparison import interval, mean_of, pooled, predicted_branch, prediction, scale_of, verdict
from ..problem import Problem
from .store_index import Entry
from .store_tables import places

__all__ = ["Comparison", "compare"]

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
    interval: float
    """How far the confidence interval reaches to each side, from the scatter of all α that share it."""
    verdict: str
    """See :mod:`~widthwise.networks.comparison`."""

    @property
    def distance(self) -> float:
        """(measured - predicted) in standard errors; NaN with fewer than two seeds."""
        return (self.measured - self.predicted) / self.standard_error if self.standard_error else math.nan

    def to_dict(self) -> dict[str, Any]:
        """The row of a table."""
        return asdict(self) | {"distance": self.distance}


def compare(
    entries: Sequence[Entry], *, branch: str | None = None, quantities: Sequence[str] = QUANTITIES
) -> list[Comparison]:
    """Every (problem, learner, d, alpha) of the entries against the theory.

    ``branch`` is that of :func:`predicted_branch` unless given.
    """
    groups: dict[tuple[str, str, int, float], list[Entry]] = {}
    for entry, row in zip(entries, places(entries), strict=True):
        groups.setdefault((row["problem"], row["learner"], row["d"], row["alpha"]), []).append(entry)
    rows = []
    known: dict[tuple[Problem, tuple[float, ...], str, str], np.ndarray] = {}
    series: dict[
        tuple[str, str, int], list[tuple[str, str, int, float]]
    ] = {}  # the α of each problem, learner and d
    for where in sorted(groups):
        series.setdefault(where[:3], []).append(where)
    for points in series.values():
        first = groups[points[0]][0].parts
        side = branch or predicted_branch(first["learner"])
        problem = Problem.from_dict(first["problem"])
        done = {where: [e for e in groups[where] if e.status == "done"] for where in points}
        for quantity in quantities:
            measurements = [[e.values.get(quantity, math.nan) for e in done[where]] for where in points]
            asked = (problem, tuple(where[3] for where in points), side, quantity)
            if asked not in known:  # several learners and d share it
                known[asked] = prediction(*asked)
            expected = [float(value) for value in known[asked]]
            scales = [scale_of(problem, quantity, value) for value in expected]
            means = [mean_of(values) for values in measurements]
            for where, own, shared, predicted, scale in zip(
                points, means, pooled(measurements, scales), expected, scales, strict=True
            ):
                n_failed = len(groups[where]) - len(done[where])
                measured = (len(done[where]), n_failed, own.value, own.standard_error)
                judged = (interval(shared), verdict(shared, predicted, scale))
                rows.append(Comparison(*where, quantity, *measured, side, predicted, *judged))
    return rows

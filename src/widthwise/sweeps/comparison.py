"""Results of a store against the theory: a row for each quantity of each learner at each point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..networks.comparison import interval, mean_of, pooled, predicted_branch, prediction, scale_of, verdict
from ..problem import Problem
from .store_index import Entry
from .store_tables import learner_labels, problem_labels
from .task import canonical

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
    series: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}  # the α of each problem, learner and d
    for where in sorted(groups):
        series.setdefault(where[:3], []).append(where)
    for places in series.values():
        first = groups[places[0]][0].parts
        text, side = canonical(first["problem"]), branch or predicted_branch(first["learner"])
        problem = Problem.from_dict(first["problem"])
        done = {where: [e for e in groups[where] if e.status == "done"] for where in places}
        for quantity in quantities:
            measurements = [[e.values.get(quantity, math.nan) for e in done[where]] for where in places]
            expected = [known[text, side, where[3], quantity] for where in places]
            scales = [scale_of(problem, quantity, value) for value in expected]
            for where, own, shared, predicted, scale in zip(
                places,
                map(mean_of, measurements),
                pooled(measurements, scales),
                expected,
                scales,
                strict=True,
            ):
                n_failed = len(groups[where]) - len(done[where])
                measured = (len(done[where]), n_failed, own.value, own.standard_error)
                judged = (interval(shared), verdict(shared, predicted, scale))
                rows.append(Comparison(*where, quantity, *measured, side, predicted, *judged))
    return rows

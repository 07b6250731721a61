"""The planner: how many samples a target needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..theory.planner import samples_needed
from .tasks import quietly, read_problem

__all__ = ["plan_view"]


def plan_view(fields: Mapping[str, Any], goal: float, d: int) -> dict[str, Any]:
    """The needs of the optimum and of a polynomial-time learner, and a sentence that says them."""
    problem, errors = read_problem(fields)
    if problem is None:
        return {"goal": next(iter(errors.values()))}
    found = quietly(samples_needed, problem, excess_error=goal, d=d)
    return {
        "sentence": str(found),
        "optimum": found.optimum.to_dict(),
        "universal": found.universal.to_dict(),
    }

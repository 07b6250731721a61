"""What worker processes do for the page: read the controls, ask the theory, return plain results."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ..plotting.resolution import smooth_branches
from ..problem import Problem
from ..theory.branches import trace_branches
from ..theory.planner import samples_needed
from ..theory.solution import LearningCurve
from ..theory.transitions import Transition, transitions
from .quantities import allowed, values_of
from .state import problem_of

__all__ = ["SPAN", "CurveResult", "compute_curve", "plan_view", "quietly", "read_curve", "read_problem"]

_N_QUICK = 40

SPAN = 250.0
"""Curves are drawn from the largest α divided by this."""


@dataclass
class CurveResult:
    """Branches of a problem, the quantity shown along each, and the transitions."""

    problem: Problem
    branches: list[LearningCurve]
    values: list[np.ndarray]
    quantity: str
    changes: list[Transition] = field(default_factory=list)
    note: str = ""
    errors: dict[str, str] = field(default_factory=dict)


def compute_curve(
    problem: Problem,
    reach: float,
    quantity: str,
    *,
    is_log_x: bool = False,
    is_log_y: bool = True,
    is_smooth: bool = True,
) -> CurveResult:
    """All branches of a problem up to an α, with transitions, resolved as finely as these axes show.

    ``is_smooth=False`` leaves out points between which the lines would bend; no number is another.
    """
    quantity, why = _usable(quantity, problem)
    changes = quietly(transitions, problem, reach)
    span = (reach / SPAN, reach)
    at = [t.alpha for t in changes if span[0] < t.alpha < reach]
    axes = {"is_log_x": is_log_x, "is_log_y": is_log_y}
    if is_smooth:
        branches = quietly(smooth_branches, problem, span, lambda c: values_of(c, quantity), at=at, **axes)
    else:
        branches = quietly(trace_branches, problem, span, _N_QUICK, at=at)
    values = [values_of(branch, quantity) for branch in branches]
    notes = (p.note for branch in branches for p in branch if p.note)
    note = next(notes, "") or str(getattr(changes, "reason", ""))
    return CurveResult(problem, list(branches), values, quantity, list(changes), note=note, errors=why)


@lru_cache(maxsize=64)
def _read(fields: str) -> tuple[Problem | None, dict[str, str]]:
    return problem_of(json.loads(fields))


def read_problem(fields: Mapping[str, Any]) -> tuple[Problem | None, dict[str, str]]:
    """The problem of the controls, or a sentence for each control that is wrong."""
    return _read(json.dumps(fields, sort_keys=True))


def read_curve(
    fields: Mapping[str, Any], reach: float, quantity: str, axes: Mapping[str, bool], is_smooth: bool = True
) -> CurveResult | dict[str, str]:
    """The curve of the controls, or what is wrong with them."""
    problem, errors = read_problem(fields)
    if problem is None:
        return errors
    return compute_curve(problem, reach, quantity, **axes, is_smooth=is_smooth)


def _usable(quantity: str, problem: Problem) -> tuple[str, dict[str, str]]:
    why = allowed(quantity, problem.channel)
    return ("excess_error", {"quantity": why}) if why else (quantity, {})


def quietly(function: Any, *arguments: Any, **options: Any) -> Any:
    """A call whose warnings nobody would see."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


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

"""What worker processes do for the page: read the controls, ask the theory, return plain results."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ..problem import Problem
from ..theory.branches import trace_branches
from ..theory.solution import LearningCurve
from ..theory.transitions import Transition, transitions
from .quantities import allowed, values_of
from .state import problem_of

__all__ = ["CurveResult", "exact_curve", "quietly", "read_problem", "sketch_curve"]

SPAN = 250.0
"""Curves are drawn from the largest α divided by this."""
_N_POINTS, _N_SKETCH = 80, 32


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


@lru_cache(maxsize=64)
def _read(fields: str) -> tuple[Problem | None, dict[str, str]]:
    return problem_of(json.loads(fields))


def read_problem(fields: Mapping[str, Any]) -> tuple[Problem | None, dict[str, str]]:
    """The problem of the controls, or a sentence for each control that is wrong."""
    return _read(json.dumps(fields, sort_keys=True))


def sketch_curve(fields: Mapping[str, Any], reach: float, quantity: str) -> CurveResult | dict[str, str]:
    """The same as :func:`exact_curve` with fewer points, for while a hand moves."""
    return _curve(fields, reach, quantity, _N_SKETCH)


def exact_curve(fields: Mapping[str, Any], reach: float, quantity: str) -> CurveResult | dict[str, str]:
    """All branches with transitions, or what is wrong with the controls."""
    return _curve(fields, reach, quantity, _N_POINTS)


def _curve(
    fields: Mapping[str, Any], reach: float, quantity: str, n_points: int
) -> CurveResult | dict[str, str]:
    problem, errors = read_problem(fields)
    if problem is None:
        return errors
    quantity, why = _usable(quantity, problem)
    changes = quietly(transitions, problem, reach)
    at = [t.alpha for t in changes if reach / SPAN < t.alpha < reach]
    branches = list(quietly(trace_branches, problem, (reach / SPAN, reach), n_points, at=at))
    values = [values_of(branch, quantity) for branch in branches]
    note = next((p.note for branch in branches for p in branch if p.note), "") or str(
        getattr(changes, "reason", "")
    )
    return CurveResult(problem, branches, values, quantity, list(changes), note=note, errors=why)


def _usable(quantity: str, problem: Problem) -> tuple[str, dict[str, str]]:
    why = allowed(quantity, problem.channel)
    return ("excess_error", {"quantity": why}) if why else (quantity, {})


def quietly(function: Any, *arguments: Any, **options: Any) -> Any:
    """A call whose warnings nobody would see."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)

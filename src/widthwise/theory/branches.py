r"""Branches of solutions, drawn through folds and branch points.

Each family (:mod:`exact`) is a graph over its own parameter, with α as a dependent variable,
so that α may turn back; a branch is born where its overlap leaves 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..problem import Problem
from .assemble import ACCEPTED
from .exact import ExactFamily
from .saddle import ClassSolutions
from .solution import LearningCurve, Solution
from .solver import exact_families, learning_curve

__all__ = ["Branch", "trace_branches"]


class Branch(LearningCurve):
    """Solutions in order along one curve; α may turn back at ``folds`` (values of α)."""

    def __init__(
        self, problem: Problem, name: str, points: Sequence[Solution], folds: Sequence[float]
    ) -> None:
        super().__init__(problem, name, points)
        self.folds = tuple(folds)


def trace_branches(problem: Problem, alpha: tuple[float, float], n_points: int = 80) -> list[Branch]:
    """Every branch of solutions between two values of α, as curves through folds.

    Parameters
    ----------
    alpha : (low, high)
        Range of α; parts of a branch outside are left out.
    n_points : int
        Points of the universal branch; the others are resolved as finely as they turn.

    Returns
    -------
    list of Branch
        The universal branch first, then one for each stretch of a family inside the range,
        ordered from its birth; ``folds`` are the α at which it turns back.
    """
    low, high = (float(x) for x in alpha)
    if not (0 < low < high and np.isfinite(high)):
        raise ValueError(f"alpha must be a range (low, high) with 0 < low < high, got ({low:g}, {high:g})")
    universal = learning_curve(problem, np.geomspace(low, high, n_points), branch="universal")
    branches = [Branch(problem, "universal", list(universal), ())]
    for family in exact_families(problem):
        branches += _stretches(problem, family, low, high)
    return branches


def _stretches(problem: Problem, family: ExactFamily, low: float, high: float) -> list[Branch]:
    """The parts of a family inside the range, refined where they turn, with their folds."""
    curve = _Points.of(family, family.grid)
    curve = curve.take(curve.states.residual <= ACCEPTED)
    inside = (curve.log_alpha > np.log(low) - 1.0) & (curve.log_alpha < np.log(high) + 1.0)
    if not inside.any():
        return []
    inside[:-1] |= inside[1:]
    inside[1:] |= inside[:-1]
    curve = curve.take(inside)
    for _ in range(2):
        gap = np.abs(np.diff(curve.log_alpha)) > 0.1
        middle = 0.5 * (curve.u[1:] + curve.u[:-1])[gap]
        if middle.size:
            curve = curve.merge(_Points.of(family, middle))
    fold_at = family.folds(curve.u, curve.slope)
    if fold_at.size:
        curve = curve.merge(_Points.of(family, fold_at))
    u, states, log_alpha = curve.u, curve.states, curve.log_alpha
    is_fold = np.isin(u, fold_at)
    inside = (log_alpha >= np.log(low)) & (log_alpha <= np.log(high))
    runs = np.split(np.arange(u.size), np.nonzero(np.diff(inside.astype(int)))[0] + 1)
    branches = []
    for run in runs:
        if not inside[run[0]] or run.size < 2:
            continue
        part = ClassSolutions(*(getattr(states, name)[run] for name in vars(states)))
        points = family.assemble(part, log_alpha[run])
        folds = [float(np.exp(log_alpha[i])) for i in run if is_fold[i]]
        name = f"specialised {family.n_learnt}" if family.n_learnt else "specialised"
        branches.append(Branch(problem, name, points, folds))
    return branches


@dataclass
class _Points:
    """Exact points of a family, in order of the parameter."""

    u: np.ndarray
    states: ClassSolutions
    log_alpha: np.ndarray
    slope: np.ndarray

    @classmethod
    def of(cls, family: ExactFamily, u: np.ndarray) -> _Points:
        return cls(u, *family.solve(u))

    def take(self, keep: np.ndarray) -> _Points:
        states = ClassSolutions(*(getattr(self.states, name)[keep] for name in vars(self.states)))
        return _Points(self.u[keep], states, self.log_alpha[keep], self.slope[keep])

    def merge(self, other: _Points) -> _Points:
        """Both, in order; points of the other that did not converge are left out."""
        other = other.take(other.states.residual <= ACCEPTED)
        states = ClassSolutions(
            *(np.concatenate([getattr(x.states, name) for x in (self, other)]) for name in vars(self.states))
        )
        joined = _Points(
            np.concatenate([self.u, other.u]),
            states,
            np.concatenate([self.log_alpha, other.log_alpha]),
            np.concatenate([self.slope, other.slope]),
        )
        return joined.take(np.argsort(joined.u, kind="stable"))

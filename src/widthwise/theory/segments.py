"""Branch segments: the pieces of a family between folds, on each of which there is one solution at an α.

A transition of the equilibrium leads from one segment to another: at a Maxwell point, where their free
entropies are equal, or where one leaves the other continuously.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..problem import Problem
from .families.base import Family
from .families.perfect import perfect_solutions
from .families.threshold import ThresholdFamily
from .setting import setting_of
from .solution import Solution

__all__ = ["Segment", "segment_of"]


@dataclass(frozen=True)
class Segment:
    """Part of a family: ``n_folds`` of its folds come before. No family: perfect learning."""

    problem: Problem
    theory: str
    family: Family | None
    n_folds: int = 0

    def at(self, alpha: float, near: Solution | None = None) -> Solution | None:
        """The solution of this segment at α, if there is one.

        Families of many classes are not traced: there the solution that ``near`` leads to.
        """
        if self.family is None:
            return perfect_solutions(setting_of(self.problem, self.theory), np.array([alpha]))[0]
        if isinstance(self.family, ThresholdFamily) and near is not None:
            point = self.family.at_alpha(np.log([alpha]), np.array([near.parameter]), near.state[None])
            return self.family.solutions(point, np.array([alpha]))[0] if point.is_good[0] else None
        _, points, _ = self.family.crossings(np.array([alpha]))
        for i in range(len(points)):
            if self._count(points.u[i]) == self.n_folds:
                return self.family.solutions(points[np.array([i])], np.array([alpha]))[0]
        return None

    def _count(self, u: float) -> int:
        assert self.family is not None
        return int(np.sum(self.family.folds.u < u))

    @property
    def begin(self) -> float:
        """Smallest α of the segment: a fold, or where the family begins."""
        return min(self._ends)

    @property
    def end(self) -> float:
        """Largest α of the segment: a fold, or infinity."""
        return max(self._ends)

    @property
    def _ends(self) -> tuple[float, float]:
        if self.family is None or isinstance(self.family, ThresholdFamily):
            return 0.0, math.inf
        nodes, _ = self.family.curve
        if not len(nodes):
            return 0.0, math.inf
        folds = np.exp(self.family.folds.log_alpha)
        first, last = np.exp(nodes.log_alpha[[0, -1]])
        edges = [float(first), *folds.tolist(), math.inf if self.n_folds == folds.size and last > first else float(last)]
        return edges[self.n_folds], edges[self.n_folds + 1]


def segment_of(solution: Solution, theory: str = "main") -> Segment:
    """The segment that a solution lies on."""
    family = solution.family
    if family is None or isinstance(family, ThresholdFamily):
        return Segment(solution.problem, theory, family)
    return Segment(solution.problem, theory, family, int(np.sum(family.folds.u < solution.parameter)))

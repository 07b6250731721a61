"""Branch segments: the pieces of a family between folds, on each of which there is one solution at an α.

A transition of the equilibrium leads from one segment to another: at a Maxwell point, where their free
entropies are equal, or where one leaves the other continuously.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..problem import Problem
from .families import specialised_families
from .families.base import Family
from .families.classes import ClassFamily, ThresholdFamily
from .families.universal import perfect_solutions
from .setting import setting_of
from .solution import Solution
from .units import Root

__all__ = ["Segment", "segment_of"]


@dataclass(frozen=True)
class Segment:
    """Part of a family, numbered from its beginning. No family: perfect learning."""

    problem: Problem
    theory: str
    family: Family | None
    number: int = 0

    def at(self, alpha: float, near: Solution | None = None) -> Solution | None:
        """The solution of this segment at α, if there is one.

        Families of many classes are not traced: there the one that ``near`` leads to without a fold between.
        """
        if self.family is None:
            return perfect_solutions(setting_of(self.problem, self.theory), np.array([alpha]))[0]
        if near is not None and not self.is_traced:
            return _followed(alpha, near)
        points = self.family.crossings(np.array([alpha])).points
        for i in range(len(points)):
            if _number(self.family, points.u[i]) == self.number:
                return self.family.solutions(points[np.array([i])], np.array([alpha]))[0]
        return None

    @property
    def is_traced(self) -> bool:
        """Whether the whole segment is known; else it is only followed."""
        return self.family is None or _is_traced(self.family)

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
        if self.family is None or not self.is_traced:
            return 0.0, math.inf
        nodes, _ = self.family.curve
        own = nodes.log_alpha[_numbers(self.family) == self.number]
        # A fold belongs to both of its segments.
        folds = self.family.folds
        cuts = _cuts(self.family)
        beside = [c for c in (cuts[self.number - 1 : self.number] if self.number else []) if c in folds.u]
        beside += [c for c in cuts[self.number : self.number + 1] if c in folds.u]
        own = np.concatenate([own, *(folds.log_alpha[folds.u == c] for c in beside)])
        if not own.size:
            return 0.0, math.inf
        # An end at large α that is no fold is no end: the curve goes on to infinite α.
        top = max((float(folds.log_alpha[folds.u == c][0]) for c in beside), default=-math.inf)
        high = math.exp(top) if own.max() <= top + 1e-9 else math.inf
        return float(np.exp(own.min())), high


def _followed(alpha: float, near: Solution) -> Solution | None:
    """The solution at α that ``near`` leads to, if nothing folds or jumps between.

    As α grows the lower roots of classes end, as it falls the upper ones: where a class has only one root, it
    is said to be the lowest or the highest accordingly.
    """
    family = near.family
    assert isinstance(family, Family)
    start = family.at(np.array([near.parameter]), near.state[None])
    if not start.is_good[0]:
        return None
    if isinstance(family, ThresholdFamily):
        family = family.with_roots_from(start, Root.LOWEST if alpha > near.alpha else Root.HIGHEST)
    point = family.along(start, math.log(alpha))
    return family.solutions(point, np.array([alpha]))[0] if point is not None else None


def _is_traced(family: Family) -> bool:
    """Whether the whole curve of a family is known; most of those of many classes are only followed."""
    if isinstance(family, ClassFamily):
        return family in specialised_families(family.setting.problem, family.setting.theory)
    return not isinstance(family, ThresholdFamily)


def _cuts(family: Family) -> np.ndarray:
    """Where segments end: folds, and gaps of the curve (such as where α becomes infinite)."""
    nodes, is_joined = family.curve
    gaps = np.nonzero(~is_joined[:-1])[0]
    return np.sort(np.concatenate([family.folds.u, 0.5 * (nodes.u[gaps] + nodes.u[gaps + 1])]))


def _numbers(family: Family) -> np.ndarray:
    return np.searchsorted(_cuts(family), family.curve[0].u)


def _number(family: Family, u: float) -> int:
    return int(np.searchsorted(_cuts(family), u))


def segment_of(solution: Solution, theory: str = "main") -> Segment:
    """The segment that a solution lies on."""
    family = solution.family
    assert family is None or isinstance(family, Family)
    if family is None or not _is_traced(family):
        return Segment(solution.problem, theory, family)
    return Segment(solution.problem, theory, family, _number(family, solution.parameter))

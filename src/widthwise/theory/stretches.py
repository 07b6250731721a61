"""Stretches: the pieces of families between their births and folds, along which a solution changes smoothly.

A stretch is named (m, i): m classes learnt, i folds of that family before it; (0, 0) is the universal
branch. A law that is treated as one profile has one family, m = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..problem import Problem
from .exact import ExactFamily
from .made_once import FEW_CLASSES, exact_families, readout_classes, setting_of
from .onsets import first_unit, onset
from .solution import Solution
from .solver import ALPHA_RANGE

__all__ = ["Stretches", "births", "has_few_classes", "learnt_classes", "stretches_of"]

_BIRTH = math.log(1e-9)  # a class with this signal-to-noise ratio has only just begun to be learnt


def has_few_classes(problem: Problem) -> bool:
    """Whether every class of readouts has a family of its own."""
    classes = readout_classes(problem)
    return classes is not None and classes[0].size <= FEW_CLASSES


def learnt_classes(solution: Solution) -> int:
    """Number of distinct |readouts| whose units are learnt."""
    learnt = solution.readout_values[solution.weight_overlap > 0]
    return int(np.unique(np.round(learnt**2, 10)).size)


@dataclass(frozen=True)
class Stretches:
    """Folds and births of the families of a problem."""

    families: tuple[ExactFamily, ...]
    fold_parameter: tuple[np.ndarray, ...]
    fold_alpha: tuple[np.ndarray, ...]
    fold_bend: tuple[np.ndarray, ...]
    """d² ln α/d ln(parameter)²: negative where α has a maximum."""
    birth: tuple[float, ...]

    def name_of(self, solution: Solution) -> tuple[int, int]:
        """The stretch that a solution lies on."""
        if solution.branch == "universal":
            return 0, 0
        if not self.families[0].n_learnt:
            m, parameter = 1, solution.tilt
        else:
            m = learnt_classes(solution)
            value2 = self.families[m - 1].values2[m - 1]
            own = np.isclose(solution.readout_values**2, value2, rtol=1e-9)
            parameter = float(solution.weight_overlap_hat[own][0])
        folds = self.fold_parameter[m - 1]
        # Weights that are known exactly lie on no curve: a stretch of their own.
        return m, int(np.sum(folds < parameter)) + int(math.isinf(parameter))

    def begin(self, name: tuple[int, int]) -> float:
        """Smallest α of a stretch: the fold before it, or its birth."""
        m, piece = name
        if piece > self.fold_alpha[m - 1].size:
            return 0.0
        return float(self.fold_alpha[m - 1][piece - 1]) if piece else self.birth[m - 1]

    def end(self, name: tuple[int, int]) -> float:
        """α up to which a stretch is stable: its fold, or where a further class sets in."""
        m, piece = name
        # Ahead of a minimum of α the stretch went on to infinite α, and came back from there.
        if m and piece < self.fold_alpha[m - 1].size and self.fold_bend[m - 1][piece] < 0:
            return float(self.fold_alpha[m - 1][piece])
        return self.birth[m] if m < len(self.birth) else math.inf

    def marks(self, alpha_max: float) -> list[float]:
        """All births and folds up to alpha_max.

        Without noise a family of discrete weights ends at α = 0, by way of values that mean nothing.
        """
        every = [*self.birth, *(float(a) for folds in self.fold_alpha for a in folds)]
        return [a for a in every if ALPHA_RANGE[0] <= a <= alpha_max]


@lru_cache(maxsize=64)
def stretches_of(problem: Problem) -> Stretches:
    """The stretches of a problem, found once."""
    families = tuple(exact_families(problem))
    folds = [family.turning_points for family in families]
    return Stretches(
        families,
        tuple(np.exp(at) for at, _, _ in folds),
        tuple(np.exp(log_alpha) for _, log_alpha, _ in folds),
        tuple(bend for _, _, bend in folds),
        births(problem) if families else (),
    )


@lru_cache(maxsize=64)
def births(problem: Problem) -> tuple[float, ...]:
    """α at which each family leaves the one before it continuously; inf or 0 where none does at finite α."""
    if not has_few_classes(problem):
        largest = problem.readouts.largest
        return (onset(problem) if math.isinf(largest) else first_unit(problem, largest),)
    found = []
    for family in exact_families(problem):
        if family.n_learnt == 1:
            found.append(onset(problem))
        elif setting_of(problem).mu2_squared == 0:
            found.append(math.inf)  # x = 0 is stable for every class: none is born continuously
        else:
            states, log_alpha, _ = family.solve(np.array([_BIRTH]))
            found.append(float(np.exp(log_alpha[0])) if states.residual[0] < 1e-8 else math.inf)
    return tuple(found)

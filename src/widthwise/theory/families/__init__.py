"""Families of solutions: curves of saddle points over a parameter along which α is explicit.

Here is which of them a problem has; each is made once and keeps its traced curve.

======================================  ====================================================================
``base``                                what all have in common: tracing a curve, folds, crossings with α
``universal``                           nothing is known of single units, or everything
``classes``                             discrete readouts, class by class
``profile``, ``continuous_profile``     readouts with a density: one profile 𝒬_W(v)
``many``, ``threshold_table``           many classes: their number is chosen by the potential
``followed``                            one solution of a discrete law, followed in α to its end
``exchange``                            classes with three roots or more: solutions next to known ones
``features``                            many classes without a quadratic part: each a scalar problem
======================================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from ...numerics.in_step import in_step
from ...problem import Problem
from ..setting import Setting, setting_of
from ..solution import Solution
from ..units import Root
from .base import Crossings, Family
from .classes import ClassFamily, ThresholdFamily, answers
from .profile import ProfileFamily
from .universal import UniversalFamily

__all__ = [
    "FEW_CLASSES",
    "crossings",
    "has_few_classes",
    "specialised_families",
    "universal_family",
    "universal_solutions",
]

FEW_CLASSES = 16
"""Up to this many distinct |readouts| every ordered choice of roots is traced; beyond, see :mod:`many`."""


def has_few_classes(setting: Setting) -> bool:
    """Whether every class of readouts has a family of its own."""
    return setting.classes is not None and len(setting.classes) <= FEW_CLASSES


@lru_cache(maxsize=128)
def universal_family(problem: Problem) -> UniversalFamily:
    """The family in which nothing is learnt of single units."""
    return UniversalFamily(setting_of(problem))


def universal_solutions(problem: Problem, alpha: np.ndarray) -> list[Solution]:
    """The universal solution that grows from no data, at each α."""
    family = universal_family(problem)
    if family.learns_nothing:
        return family.nothing(alpha)
    crossed = family.crossings(alpha)
    found: list[Solution | None] = [None] * alpha.size
    solutions = family.solutions(crossed.points, alpha[crossed.index])
    early, points = family.before_the_curve(alpha)
    solutions += family.solutions(points, alpha[early])
    for i, solution in zip([*crossed.index, *early], solutions, strict=True):
        before = found[i]
        if before is None or solution.matrix_overlap_hat < before.matrix_overlap_hat:
            found[i] = solution
    return [
        s or Solution.missing(problem, float(a), "universal", "did not converge")
        for s, a in zip(found, alpha, strict=True)
    ]


def crossings(families: Sequence[Family], alpha: np.ndarray) -> list[Crossings]:
    """All points of each family at the given α."""
    return in_step([partial(family.crossings, alpha) for family in families], answers)


def specialised_families(problem: Problem, theory: str = "main") -> tuple[Family, ...]:
    """The families in which units are learnt; for laws of many classes, where the first are."""
    return _specialised(problem, theory)


@lru_cache(maxsize=64)
def _specialised(problem: Problem, theory: str) -> tuple[Family, ...]:
    setting = setting_of(problem, theory)
    if setting.is_linear:
        return ()
    if setting.classes is None:
        return (ProfileFamily(setting),)
    if not has_few_classes(setting):
        return (ClassFamily(setting, 0, Root.HIGHEST, Root.ZERO),)
    n = len(setting.classes)
    tasks: list[Callable[[], tuple[list[Family], list[Family]]]] = [
        partial(_with_moving, setting, moving) for moving in range(n)
    ]
    if setting.units.can_be_known:
        for n_known in range(1, n):
            tasks.append(partial(_with_known, setting, n_known))
            tasks += [partial(_with_known, setting, n_known, moving) for moving in range(n_known, n)]
    parts = in_step(tasks, answers)
    # Those in which smaller classes are awake come last: where they meet others, a solution is of these.
    found = [family for kind in (0, 1) for part in parts[:n] for family in part[kind]]
    return (*found, *(family for part in parts[n:] for family in part[0]))


def _with_moving(setting: Setting, moving: int) -> tuple[list[Family], list[Family]]:
    """The families in which one class moves and no weights are known: smaller classes are at 0, or awake."""
    assert setting.classes is not None
    found: list[Family] = []
    awake: list[Family] = []
    highest = ClassFamily(setting, moving, Root.HIGHEST, Root.ZERO)
    above = ClassFamily(setting, moving, Root.ABOVE, Root.ZERO)
    both = [highest, above] if _differ(highest, above) else [highest]
    for first in [sheet for family in both for sheet in family.sheets()]:
        assert isinstance(first, ClassFamily)
        found.append(first)
        if moving + 1 < len(setting.classes) and _wakes_the_next(first):
            lowest = ClassFamily(setting, moving, first.larger, Root.LOWEST, asleep=first)
            below = ClassFamily(setting, moving, first.larger, Root.BELOW)
            _share(lowest, awake[:])
            is_other = _differ(lowest, below)
            awake += lowest.sheets()
            if is_other:
                _share(below, awake[:])
                awake += below.sheets()
    return _traced(found), _traced(awake)


def _with_known(
    setting: Setting, n_known: int, moving: int | None = None
) -> tuple[list[Family], list[Family]]:
    """The families in which the weights of some classes are known, and one class moves or none."""
    if moving is None:
        return _traced([ThresholdFamily(setting, (n_known, n_known))]), []
    highest = ClassFamily(setting, moving, Root.HIGHEST, Root.LOWEST, n_known)
    above = ClassFamily(setting, moving, Root.ABOVE, Root.LOWEST, n_known)
    is_other = moving > n_known and _differ(highest, above)
    _share(above, [highest])
    both = [highest, above] if is_other else [highest]
    return _traced([sheet for family in both for sheet in family.sheets(may_bend=False)]), []


def _traced(families: list[Family]) -> list[Family]:
    """Families, each with its curve."""
    for family in families:
        family.curve  # noqa: B018
    return families


def _share(family: ClassFamily, others: Sequence[Family]) -> None:
    """Leave to others what they have of a family, where branches are followed and need no whole curves."""
    if family.setting.units.can_be_known:
        family.shared = tuple(others)


def _differ(one: ClassFamily, other: ClassFamily) -> bool:
    """Whether the other classes have another choice of roots anywhere along the curve of the first family."""
    if one.setting.units.n_sections < 3 or len(one.values2) < 2:
        return False
    nodes, _ = one.curve
    if not len(nodes):
        return True
    pull, coupling = one.couplings(nodes.z)
    mine, theirs = (family.snr(nodes.u, pull, coupling, is_rough=True) for family in (one, other))
    return not np.array_equal(mine, theirs, equal_nan=True)


def _wakes_the_next(family: ClassFamily) -> bool:
    """Whether somewhere along the curve the next class cannot stay at 0."""
    nodes, _ = family.curve
    return bool(family.is_awake(nodes).any())

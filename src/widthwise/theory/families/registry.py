"""Which families a problem has; each is made once and keeps its traced curve."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...problem import Problem
from ..setting import Setting, setting_of
from ..units import Root
from .base import Family
from .classes import ClassFamily
from .profile import ProfileFamily
from .threshold import ThresholdFamily
from .universal import UniversalFamily

__all__ = ["FEW_CLASSES", "has_few_classes", "specialised_families", "universal_family"]

FEW_CLASSES = 16
"""Up to this many distinct |readouts| every ordered choice of roots is traced; beyond, see :mod:`many`."""


def has_few_classes(setting: Setting) -> bool:
    """Whether every class of readouts has a family of its own."""
    return setting.classes is not None and len(setting.classes) <= FEW_CLASSES


@lru_cache(maxsize=128)
def universal_family(problem: Problem) -> UniversalFamily:
    """The family in which nothing is learnt of single units."""
    return UniversalFamily(setting_of(problem))


def specialised_families(problem: Problem, theory: str = "main") -> tuple[Family, ...]:
    """The families in which units are learnt; none for laws of many classes."""
    return _specialised(problem, theory)


@lru_cache(maxsize=64)
def _specialised(problem: Problem, theory: str) -> tuple[Family, ...]:
    setting = setting_of(problem, theory)
    if setting.is_linear:
        return ()
    if setting.classes is None:
        return (ProfileFamily(setting),)
    if not has_few_classes(setting):
        return ()
    found: list[Family] = []
    n = len(setting.classes)
    larger = [Root.HIGHEST]
    smaller = [Root.LOWEST]
    if setting.units.n_sections > 2 and n > 1:
        larger, smaller = [Root.HIGHEST, Root.ABOVE], [Root.LOWEST, Root.BELOW]
    for moving in range(n):
        for above in larger if moving else larger[:1]:
            first = ClassFamily(setting, moving, above, Root.ZERO)
            found.append(first)
            if moving + 1 < n and _wakes_the_next(first):
                found += [ClassFamily(setting, moving, above, below) for below in smaller]
    if setting.units.can_be_known:
        for n_known in range(1, n):
            found.append(ThresholdFamily(setting, n_known, Root.KNOWN))
            found.append(ClassFamily(setting, n_known, Root.HIGHEST, Root.LOWEST, n_known))
    return tuple(found)


def _wakes_the_next(family: ClassFamily) -> bool:
    """Whether somewhere along the curve the next class cannot stay at 0."""
    nodes, _ = family.curve
    if not len(nodes) or family.setting.mu2_squared == 0:
        return False
    pair = family.setting.matrix.pair(nodes.z[:, 0], family.setting.log_hat_scale + nodes.z[:, 1])
    pull = np.exp(pair.log_pull) / family.setting.gamma
    return bool(np.any(family.values2[family.moving + 1] * pull > 1))

"""What is made once for a problem and kept: its tables, its families of solutions, its readout classes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..ingredients.readouts import Discrete
from ..problem import Problem
from .averaged import trace_averaged
from .exact import ExactFamily
from .families import Family, trace_family
from .profiles import ContinuousProfile, DiscreteProfile
from .saddle import Setting

__all__ = ["FEW_CLASSES", "exact_families", "family_of", "profile_of", "readout_classes", "setting_of"]

FEW_CLASSES = 16
"""Up to this many distinct |readouts| every family (the m largest learnt) is traced.

Beyond, the profile is treated as a whole, each unit at its equilibrium root, as for continuous laws:
right but where a class of finite weight jumps, which such a curve leaves out.
"""


def exact_families(problem: Problem, theory: str = "main") -> tuple[ExactFamily, ...]:
    """The families of specialised solutions of a problem, to be solved exactly anywhere."""
    return _exact_families(problem, theory)  # a cache takes f(p) and f(p, "main") for two calls


@lru_cache(maxsize=64)
def _exact_families(problem: Problem, theory: str) -> tuple[ExactFamily, ...]:
    setting = setting_of(problem, theory)
    if setting.kernel_total == 0 and setting.mu2_squared == 0:
        return ()
    classes = readout_classes(problem)
    if classes is not None and classes[0].size <= FEW_CLASSES:
        return tuple(
            ExactFamily(setting, family_of(problem, m, theory), m, *classes)
            for m in range(1, classes[0].size + 1)
        )
    return (ExactFamily(setting, family_of(problem, 0, theory), profile=profile_of(problem)),)


def readout_classes(problem: Problem) -> tuple[np.ndarray, np.ndarray] | None:
    """Distinct v² > 0, largest first, and E[v²; class] of each; None for continuous laws."""
    law = problem.readouts
    if not isinstance(law, Discrete):
        return None
    v, p = np.abs(np.asarray(law.values)), np.asarray(law.probabilities)
    order = np.argsort(-v)
    values2: list[float] = []
    powers: list[float] = []
    for value, weight in zip(v[order] ** 2, p[order], strict=True):
        if value == 0:
            continue
        if values2 and abs(values2[-1] - value) <= 1e-12 * value:
            powers[-1] += weight * value
        else:
            values2.append(float(value))
            powers.append(float(weight * value))
    return np.array(values2), np.array(powers)


def setting_of(problem: Problem, theory: str = "main") -> Setting:
    """The numbers of a problem, and its matrix table; made once."""
    return _setting(problem, theory)


@lru_cache(maxsize=128)
def _setting(problem: Problem, theory: str) -> Setting:
    return Setting.of(problem, theory)


@lru_cache(maxsize=256)
def family_of(problem: Problem, n_learnt: int, theory: str) -> Family:
    """An approximate family (0: of whole profiles), traced once."""
    setting = setting_of(problem, theory)
    if n_learnt == 0:
        return trace_averaged(setting, profile_of(problem))
    classes = readout_classes(problem)
    assert classes is not None
    return trace_family(setting, *classes, n_learnt)


@lru_cache(maxsize=32)
def profile_of(problem: Problem) -> ContinuousProfile | DiscreteProfile:
    """Averages over the readouts of a problem taken as a whole."""
    classes = readout_classes(problem)
    if classes is None:
        return ContinuousProfile(problem.activation, problem.weights, problem.readouts)
    return DiscreteProfile(problem.activation, problem.weights, problem.readouts, *classes)

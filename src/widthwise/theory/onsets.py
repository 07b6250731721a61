r"""Continuous onsets: where units leave overlap 0, by exact criteria and without a scan.

The universal solution loses stability exactly when

.. math:: \max v^2\,(q_2 - \gamma\bar v^2)/\gamma = 1.

The other classes of a discrete law leave 0 where v²A = 1 on the branch that they are born from.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields
from functools import lru_cache, partial

import numpy as np

from .._arrays import Array
from ..numerics.in_step import in_step
from ..numerics.roots import decreasing_root
from ..problem import Problem
from .families import specialised_families, universal_solutions
from .families.classes import ClassFamily, ThresholdFamily, answers
from .families.equations import Points
from .families.profile import profile_of
from .setting import setting_of
from .units import Root

__all__ = [
    "NEAR_BIRTH",
    "Birth",
    "births",
    "first_unit",
    "log_pulls",
    "onset",
    "onset_criterion",
    "where_pulled",
]

NEAR_BIRTH = 1e-7
"""How close v²A is to 1, and x of the class to 0, where a class leaves 0."""

_N_STEPS = 16  # of regula falsi


def onset_criterion(problem: Problem, alpha: float) -> float:
    """max v² (q₂ - γv̄²)/γ on the universal branch: units begin to be learnt where it is 1."""
    (universal,) = universal_solutions(problem, np.array([float(alpha)]))
    if not universal.is_converged:
        return math.nan  # parameters so extreme that nothing converges
    centred = universal.matrix_overlap_centred
    return problem.readouts.largest**2 * centred / problem.gamma if centred > 0 else 0.0


def onset(problem: Problem, largest: float | None = None) -> float:
    """α at which the universal solution loses stability (inf: never; 0: at once).

    ``largest`` replaces max |v|, e.g. to cut an unbounded law at so many standard deviations.
    """
    setting = setting_of(problem)
    value = problem.readouts.largest if largest is None else float(largest)
    if not value > 0:
        raise ValueError(f"the largest readout must be > 0, got {value:g}")
    needed = problem.gamma / value**2  # of 1 - mmse(q̂₂)
    if setting.mu2_squared == 0 or needed >= 1:
        return math.inf
    if needed == 0:
        return 0.0
    return setting.universal_alpha(1 - needed, math.log(needed) - math.log1p(-needed))


@lru_cache(maxsize=64)
def first_unit(problem: Problem, value: float) -> float:
    """α at which a vanishing fraction of units, those with |readout| = value, is learnt first.

    The others are still at τ = 0, so that A and B are known functions of one another; the
    units leave 0 continuously (the criterion of :func:`onset`) or jump, whichever is first.
    """
    setting = setting_of(problem)
    profile = profile_of(setting)

    def couplings(log_coupling: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_hat = setting.log_hat_scale + log_coupling
        recovered = setting.spectral.mmse(log_hat)[1] if setting.mu2_squared > 0 else np.zeros(log_hat.size)
        return np.maximum(recovered / setting.gamma, 1e-280), np.exp(log_coupling)

    def surplus(log_coupling: Array) -> Array:
        return np.log(profile.first_level(*couplings(log_coupling))) - 2 * math.log(value)

    log_coupling = decreasing_root(surplus, np.array([-60.0]), np.array([60.0]), atol=1e-14)
    if not abs(surplus(log_coupling)[0]) < 1e-8:
        return math.inf
    pull, _ = couplings(log_coupling)
    gap = setting.output_gap(1 - setting.gamma * pull, np.array([setting.kernel_total]))
    return float(np.exp(setting.log_alpha(log_coupling, gap)[0]))


@dataclass(frozen=True)
class Birth:
    """Where a class of readouts leaves 0 continuously."""

    alpha: float
    readout: float
    number: int
    """Of the class; 0 has the largest |readout|."""
    free_entropy: float = math.inf
    """Of the branch there; infinite if that is not known."""


@lru_cache(maxsize=64)
def births(problem: Problem, theory: str = "main") -> tuple[Birth, ...]:
    """Every α at which v²A = 1 for a class that is not learnt, on any branch."""
    setting = setting_of(problem, theory)
    if setting.classes is None or setting.mu2_squared == 0:
        return ()
    values2 = setting.classes.values2
    found = []
    if theory == "main" and math.isfinite(first := onset(problem)):
        found.append(Birth(first, float(np.sqrt(values2[0])), 0))
    tasks = []
    for family in specialised_families(problem, theory):
        if not isinstance(family, ClassFamily) or family.moving + 1 == values2.size:
            continue
        if len(family.curve[0]) < 2:
            continue
        last = family.moving + 1 if family.smaller is Root.ZERO else values2.size - 1
        tasks.append(partial(_births_along, family, list(range(family.moving + 1, last + 1))))
    for k, alpha, free_entropy in itertools.chain(*in_step(tasks, answers)):
        found.append(Birth(alpha, float(np.sqrt(values2[k])), k, free_entropy))
    unique: list[Birth] = []
    for birth in sorted(found, key=lambda b: (b.number, -b.free_entropy, b.alpha)):  # keep the highest
        if not any(b.number == birth.number and abs(b.alpha / birth.alpha - 1) < 1e-9 for b in unique):
            unique.append(birth)
    unique.sort(key=lambda b: (b.number, b.alpha))
    return tuple(unique)


def _births_along(family: ClassFamily, numbers: list[int]) -> list[tuple[int, float, float]]:
    """Number, α and free entropy of each class that leaves 0 along a family: where ln v²A changes its sign.

    Where such a class jumps, A passes 1/v² in a step: there the class is held at 0.
    """
    nodes, is_joined = family.curve
    log_v2 = np.log(family.values2)
    values = log_pulls(family, nodes)[:, None] + log_v2[numbers]
    left, column = np.nonzero((values[:-1] * values[1:] < 0) & is_joined[:-1, None])
    if not left.size:
        return []
    number = np.array(numbers)[column]
    low, high, at_low, at_high = nodes[left], nodes[left + 1], values[left, column], values[left + 1, column]

    def births_at(family: ClassFamily, rows: np.ndarray) -> tuple[Points, np.ndarray]:
        """Where v²A = 1 in the brackets of given numbers, and whether the class is at 0 there."""
        goal, own = log_v2[number[rows]], np.arange(rows.size)
        found = where_pulled(family, goal, low[rows], high[rows], at_low[rows], at_high[rows])
        with np.errstate(all="ignore"):  # of points that do not exist
            snr = family.snr(found.u, *family.couplings(found.z))[own, number[rows]]
            is_there = np.abs(log_pulls(family, found) + goal) < NEAR_BIRTH
        return found, found.is_good & is_there & (snr < NEAR_BIRTH)

    def listed(
        family: ClassFamily, rows: np.ndarray, found: Points, is_birth: np.ndarray
    ) -> list[tuple[int, float, float]]:
        there = family.solutions(found[is_birth]) if is_birth.any() else []
        which = number[rows[is_birth]].tolist()
        return [(k, s.alpha, s.free_entropy) for k, s in zip(which, there, strict=True)]

    every = np.arange(number.size)
    found, is_birth = births_at(family, every)
    result = listed(family, every, found, is_birth)
    for k in np.unique(number[~is_birth]).tolist():
        rows = np.nonzero(~is_birth & (number == k))[0]
        held = family.held_at_0(k)
        result += listed(held, rows, *births_at(held, rows))
    return result


def log_pulls(family: ClassFamily | ThresholdFamily, points: Points) -> np.ndarray:
    """ln A of points of a family."""
    setting = family.setting
    pair = setting.matrix.pair(family.log_tilt(points), setting.log_hat_scale + family.log_coupling(points))
    return np.asarray(pair.log_pull - math.log(setting.gamma))


def where_pulled(
    family: ClassFamily | ThresholdFamily,
    log_v2: Array,
    low: Points,
    high: Points,
    at_low: Array,
    at_high: Array,
) -> Points:
    """Where ln v²A = 0 between neighbours with values of opposite signs, by regula falsi (Illinois)."""
    low_u, high_u, low_z, high_z = low.u.copy(), high.u.copy(), low.z.copy(), high.z.copy()
    at_low, at_high = at_low.copy(), at_high.copy()
    side = np.zeros(low_u.size)
    found = low[np.arange(low_u.size)]
    active = np.arange(low_u.size)
    for _ in range(_N_STEPS):
        share = np.clip(at_low / (at_low - at_high), 0.0, 1.0)[active]
        u = low_u[active] + share * (high_u - low_u)[active]
        point = family.at(u, low_z[active] + share[:, None] * (high_z - low_z)[active])
        for f in fields(Points):
            getattr(found, f.name)[active] = getattr(point, f.name)
        value = log_pulls(family, point) + log_v2[active]
        is_low = value * at_low[active] > 0
        for rows, new, ends_u, ends_z, at_end, at_other, mark in (
            (active[is_low], is_low, low_u, low_z, at_low, at_high, 1),
            (active[~is_low], ~is_low, high_u, high_z, at_high, at_low, -1),
        ):
            at_other[rows] *= np.where(side[rows] == mark, 0.5, 1.0)
            ends_u[rows], ends_z[rows], at_end[rows] = u[new], point.z[new], value[new]
            side[rows] = mark
        is_close = np.abs(high_u - low_u)[active] <= 1e-15 * np.abs(u)
        active = active[(np.abs(value) > 1e-14) & ~is_close & point.is_good]
        if not active.size:
            break
    return found

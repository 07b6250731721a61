r"""Continuous onsets: where the first units leave overlap 0, by exact criteria and without a scan.

The universal solution loses stability exactly when

.. math:: \max v^2\,(q_2 - \gamma\bar v^2)/\gamma = 1.

For laws of many or continuous values the units of one size set in where the curve of equilibrium
profiles reaches their level.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .._arrays import Array
from ..numerics.roots import bracketed_root, decreasing_root
from ..problem import Problem
from .families import specialised_families, universal_solutions
from .families.continuous_profile import ContinuousProfile
from .families.profile import ProfileFamily
from .setting import setting_of

__all__ = ["first_unit", "onset", "onset_criterion", "profile_onset"]


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
    log_hat = setting.spectral.log_snr_of(np.array([math.log(needed) - math.log1p(-needed)]))
    gap = setting.output_gap(np.array([1 - needed]), np.array([setting.kernel_total]))
    return float(np.exp(setting.log_alpha(log_hat - setting.log_hat_scale, gap)[0]))


@lru_cache(maxsize=64)
def first_unit(problem: Problem, value: float) -> float:
    """α at which a vanishing fraction of units, those with |readout| = value, is learnt first.

    The others are still at τ = 0, so that A and B are known functions of one another; the
    units leave 0 continuously (the criterion of :func:`onset`) or jump, whichever is first.
    """
    setting = setting_of(problem)
    profile = _profile(problem)

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


@lru_cache(maxsize=64)
def _profile(problem: Problem) -> ContinuousProfile:
    """Units of any readout, for a law of which only a vanishing fraction is learnt."""
    setting = setting_of(problem)
    return ContinuousProfile(setting.units, problem.readouts, setting.kernel_total)  # type: ignore[arg-type]


def profile_onset(problem: Problem, value: float) -> float:
    """α at which units with |readout| = value leave 0 along the curve of equilibrium profiles."""
    if value >= problem.readouts.largest or math.isinf(problem.readouts.largest):
        return first_unit(problem, value)
    (family,) = specialised_families(problem)
    assert isinstance(family, ProfileFamily)

    def level(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln v² from which units are learnt, at tilts e^u, and ln α."""
        points = family.at(u)
        _, pull, _ = family.state(points.u, points.z)
        start = family.profile.first_level(pull, np.exp(points.z[:, 0]))
        return np.where(points.is_good, np.log(start), np.nan), points.log_alpha

    goal = 2 * math.log(value)
    u = family.grid
    values, _ = level(u)
    good = np.isfinite(values)
    u, values = u[good], values[good]
    below = np.nonzero((values[:-1] > goal) & (values[1:] <= goal))[0]
    if below.size == 0:
        return math.inf
    a, b = float(u[below[0]]), float(u[below[0] + 1])
    at, _ = bracketed_root(lambda x: float(level(np.array([x]))[0][0]) - goal, a, b, xtol=1e-13, ftol=1e-12)
    return float(np.exp(level(np.array([at]))[1][0]))

r"""Maxwell points: the α at which two stretches have equal free entropies.

Both are followed by Newton's method from one α to the next.  A solution is stationary, so only the
explicit dependence on α counts: d(αf)/dα = ψ_out, and the crossing is found by Newton's method too,
within a bracket.
"""

from __future__ import annotations

import math

import numpy as np

from ..problem import Problem
from .assemble import assemble_averaged, assemble_classes, assemble_universal
from .averaged import solve_averaged
from .made_once import profile_of, setting_of
from .perfect import perfect_solutions
from .saddle import ClassSolutions, solve_classes, solve_universal
from .solution import Solution
from .solver import all_solutions
from .stretches import stretches_of

__all__ = ["follow", "maxwell_point"]

_N_STEPS = 80
_RTOL = 1e-12

Name = tuple[int, int]
Pair = tuple[Solution | None, Solution | None]


def maxwell_point(
    problem: Problem, old: Name, new: Name, low: list[Solution], high: list[Solution]
) -> tuple[float, Solution, Solution] | None:
    """α where the stretch ``new`` overtakes ``old``, and the two solutions there.

    ``low`` and ``high`` are all solutions at the ends of a bracket, where each of them is on top.
    """
    known = stretches_of(problem)

    def named(found: list[Solution]) -> Pair:
        by_name = {known.name_of(s): s for s in reversed(found)}
        return by_name.get(old), by_name.get(new)

    def both_at(alpha: float, guess: Pair) -> Pair:
        followed = [None if s is None else follow(problem, s, alpha) for s in guess]
        for s, name in zip(followed, (old, new), strict=True):
            if s is None or known.name_of(s) != name:
                return named(all_solutions(problem, np.array([alpha]))[0])
        return followed[0], followed[1]

    a, b = low[0].alpha, high[0].alpha
    guess = _nearest(named(low), named(high))
    best = None
    c = 0.5 * (a + b)
    for _ in range(_N_STEPS):
        before, after = both_at(c, guess)
        if before is None and after is None:
            return None
        step = math.nan
        if before is not None and after is not None:
            best = c, before, after
            guess = before, after
            gain = c * (after.free_entropy - before.free_entropy)
            step = -gain / _data_gain(problem, before, after)
            is_new = gain > 0
        else:
            is_new = before is None
        a, b = (a, c) if is_new else (c, b)
        if abs(step) <= _RTOL * c or b - a <= _RTOL * c:
            break
        c = c + step if a < c + step < b else 0.5 * (a + b)
    return best


def follow(problem: Problem, solution: Solution, alpha: float) -> Solution | None:
    """The solution at another α to which this one leads, or None where it leads to none."""
    setting, at = setting_of(problem), np.array([alpha])
    if math.isinf(solution.tilt):
        return perfect_solutions(problem, at)[0]
    slope = problem.channel.free_entropy_slope(np.array([solution.excess_error]), setting.power)
    log_coupling = np.log(2 * solution.alpha / setting.gamma * slope)
    if solution.branch == "universal":
        found = assemble_universal(setting, at, *solve_universal(setting, at, log_coupling))
        return found[0] if found[0].is_converged else None
    family = stretches_of(problem).families[0]
    start = ClassSolutions(np.log([solution.tilt]), log_coupling, np.empty((1, 0)), np.empty(1))
    if not family.n_learnt:
        profile = profile_of(problem)
        found = assemble_averaged(setting, profile, at, solve_averaged(setting, profile, at, start))
        return found[0] if found[0].is_converged else None
    values2, powers = family.values2, family.powers
    rows = [np.argmin(np.abs(solution.readout_values**2 - v2)) for v2 in values2]
    snr = solution.weight_overlap_hat[rows]
    m = int(np.sum(snr > 0))
    start.log_snr = np.log(snr[:m])[None]
    states = solve_classes(setting, at, values2[:m], powers[:m], float(powers[m:].sum()), start)
    found = assemble_classes(setting, at, states, values2, powers)
    return found[0] if found[0].is_converged else None


def _nearest(low: Pair, high: Pair) -> Pair:
    """One guess for each stretch, from whichever end has it."""
    return low[0] or high[0], high[1] or low[1]


def _data_gain(problem: Problem, before: Solution, after: Solution) -> float:
    """ψ_out of the new solution less that of the old."""
    channel, power = problem.channel, problem.output_power
    gaps = np.array([before.excess_error, after.excess_error])
    one, other = channel.free_entropy(gaps, power)
    return float(other - one)

"""Solve a problem: one solution, all solutions, or a learning curve.

The families of solutions (:mod:`families`) are traced once for a problem; they do not depend on α.  Every
crossing with the asked α is a solution, and solutions are ranked by free entropy.  ``theory="factorised"``
replaces the spectrum in the specialised solutions by independent Gaussian entries.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from .._sizes import alpha_from
from .._threads import one_thread
from ..ingredients.weights import Gaussian
from ..problem import Problem
from .errors import check_error, with_error
from .families import (
    crossings,
    has_few_classes,
    specialised_families,
    universal_family,
    universal_solutions,
)
from .families.base import Family
from .families.classes import ClassFamily, ThresholdFamily
from .families.exchange import SeenRoots, can_be_exchanged, class_snr, exchanged
from .families.features import has_many_features, solve_features
from .families.followed import Branch, follow, relaxed, solution_near
from .families.many import solve_many
from .families.universal import can_be_perfect, perfect_solutions
from .setting import THEORIES, Setting, setting_of
from .solution import CONVERGED, UNRESOLVED, LearningCurve, Solution, equilibrium_of

__all__ = [
    "ALPHA_RANGE",
    "BRANCHES",
    "THEORIES",
    "InexactPotentialWarning",
    "all_solutions",
    "as_alpha",
    "exact_reason",
    "learning_curve",
    "same_solution",
    "solutions",
    "solve",
]

BRANCHES = ("equilibrium", "universal", "specialised")

ALPHA_RANGE = (1e-14, 1e12)
"""Where solutions are computed reliably."""

_LONGER = 1e-4  # by how much of α a branch goes beyond the end of a curve
_NEAR_STEP = 0.1  # in ln α: of the end of a curve from which a branch may go on
_N_RELAXED = 4  # of the highest solutions, if they are unstable, that are followed down to a stable one

BEYOND = "alpha is beyond what is computed"


class InexactPotentialWarning(UserWarning):
    """The RS potential prefers a solution that is known not to be the equilibrium."""


def solve(
    problem: Problem,
    alpha: float | None = None,
    branch: str = "equilibrium",
    *,
    n: float | None = None,
    d: float | None = None,
    theory: str = "main",
    error: str | None = None,
) -> Solution:
    """The equilibrium (the maximiser of the RS potential) at α, or the best solution of a branch.

    For a quadratic activation with Gaussian weights the equilibrium is the universal solution,
    which is exact; where the potential prefers another one an :class:`InexactPotentialWarning`
    is given, and the reason is in the solution's ``note``.

    Parameters
    ----------
    problem : Problem
    alpha : float
        Samples per squared dimension n/d², > 0.
    n, d : float
        Number of samples and dimension of the inputs, in place of ``alpha`` = n/d².
    branch : {"equilibrium", "universal", "specialised"}
        "universal" has every overlap 0; "specialised" is the one of highest free entropy
        among those that have not (preferring stable ones).
    theory : {"main", "factorised"}
        "factorised" is the simpler ansatz of the paper's appendix: the same universal branch,
        specialised solutions that ignore the spectrum, and the larger of the two free entropies.
    error : str, optional
        An error measure to be evaluated too, as ``error`` of the solution: "zero-one" (share of wrong
        labels), "cross-entropy", "absolute", "mean-square", or one of these after "gibbs-", for one draw
        from the posterior in place of the optimal prediction.

    Returns
    -------
    Solution
        Where the branch has no solution the status says so and the numbers are NaN;
        ``solution.require()`` raises ``NotConverged``.
    """
    return _curve(problem, as_alpha(alpha_from(alpha, n, d), scalar=True), branch, theory, error)[0]


def solutions(
    problem: Problem,
    alpha: float | None = None,
    *,
    n: float | None = None,
    d: float | None = None,
    theory: str = "main",
) -> list[Solution]:
    """Every solution found at α (or n/d²), highest free entropy first, stable or not."""
    return all_solutions(problem, as_alpha(alpha_from(alpha, n, d), scalar=True), theory)[0]


def learning_curve(
    problem: Problem,
    alphas: ArrayLike | None = None,
    branch: str = "equilibrium",
    *,
    n: ArrayLike | None = None,
    d: float | None = None,
    theory: str = "main",
    error: str | None = None,
) -> LearningCurve:
    """Solutions along α (or along n, at d) on one branch; see :func:`solve`. The whole curve is one batch."""
    return _curve(problem, as_alpha(alpha_from(alphas, n, d)), branch, theory, error)


def _curve(problem: Problem, alpha: np.ndarray, branch: str, theory: str, error: str | None) -> LearningCurve:
    if branch not in BRANCHES:
        raise ValueError(f"unknown branch {branch!r}; choose from {', '.join(BRANCHES)}")
    if error is not None:
        check_error(problem, error)
    ranked = all_solutions(problem, alpha, theory)
    reason = exact_reason(problem)
    if reason and branch == "equilibrium" and any(at and not at[0].is_equilibrium for at in ranked):
        warnings.warn(reason, InexactPotentialWarning, stacklevel=3)
    points = [_pick(problem, a, at, branch) for a, at in zip(alpha, ranked, strict=True)]
    curve = LearningCurve(problem, branch, points, theory)
    return curve if error is None else with_error(curve, error)


def exact_reason(problem: Problem) -> str:
    """Why the universal solution is the exact answer whatever the potential prefers; empty if it is not.

    Labels of a quadratic network depend on WᵀDᵥW alone, and Gaussian weights are invariant under
    rotations of the units of equal readout: a symmetry with an entropy of order d², which
    forbids that single units are learnt (App. of arXiv:2505.24849 and references there).
    """
    is_quadratic = problem.hermite[2] != 0 and float(problem.activation.tail_kernel(1.0)) == 0
    if not (is_quadratic and isinstance(problem.weights, Gaussian)):
        return ""
    return (
        "the universal solution is exact for a quadratic activation with Gaussian weights and is given as "
        "the equilibrium, although the RS potential prefers a specialised one; solutions() shows both"
    )


def _pick(problem: Problem, alpha: float, ranked: list[Solution], branch: str) -> Solution:
    if not ranked or (ranked[0].status != CONVERGED and branch != "universal"):
        status = ranked[0].status if ranked else BEYOND
        return Solution.missing(problem, alpha, branch, status)
    if branch == "equilibrium":
        return equilibrium_of(ranked) or Solution.missing(problem, alpha, branch, UNRESOLVED)
    matching = [s for s in ranked if s.branch == branch]
    stable = [s for s in matching if s.is_stable]
    if stable or matching:
        return (stable or matching)[0]
    return Solution.missing(problem, alpha, branch, "no such solution")


@one_thread()
def all_solutions(problem: Problem, alpha: np.ndarray, theory: str = "main") -> list[list[Solution]]:
    """All distinct solutions at each α, ranked, with one marked as equilibrium.

    That is the first, but for problems whose exact answer is known to be the universal one. An α beyond what
    is computed has none; where one of the solutions could not be resolved, the list begins with a missing
    solution whose status says so.
    """
    setting = setting_of(problem, theory)
    if setting.classes is None and setting.units.can_be_known:
        raise ValueError(
            f"an activation that jumps ({problem.activation.name!r}) with discrete weights is not computed "
            f"for readouts with a density ({problem.readouts.name!r}); give the readouts as a discrete law, "
            "of any number of values"
        )
    is_many = setting.classes is not None and not has_few_classes(setting)
    at: list[list[Solution]] = [[] for _ in alpha]
    lost: list[
        tuple[int, float]
    ] = []  # index of α, and a free entropy next to a solution that was not resolved
    for i, solution in enumerate(universal_solutions(problem, alpha)):
        # f_uni of the factorised theory has no overlaps of units in which it could be unstable.
        at[i].append(solution if theory == "main" else replace(solution, is_stable=solution.is_converged))
    families: tuple[Family, ...] = ()
    if not setting.is_linear:
        families = (universal_family(problem), *specialised_families(problem, theory))
    for family, found in zip(families, crossings(families, alpha), strict=True):
        # The curve of a continuous law ends at no α: where it is interrupted, a solution is lost.
        lost += [(int(i), np.inf) for i in family.interrupted(alpha)]
        beside = family.solutions(found.lost_ends) if len(found.lost_ends) else []
        if not len(found.points) and not beside:
            continue
        lost += [(int(i), s.free_entropy) for i, s in zip(found.lost, beside, strict=True)]
        for i, solution in zip(found.index, family.solutions(found.points, alpha[found.index]), strict=True):
            if not any(same_solution(solution, other) for other in at[i]):
                at[i].append(solution)
    for branch in _branches_beyond(problem, theory) if not is_many else ():
        for i, a in enumerate(alpha.tolist()):
            found_there = branch.at(a)
            if found_there is not None and not any(same_solution(found_there, other) for other in at[i]):
                at[i].append(found_there)
    for i, solution in _beyond_steps(setting, families, alpha):
        if not any(same_solution(solution, other) for other in at[i]):
            at[i].append(solution)
    if is_many:
        find = solve_features if has_many_features(setting) else solve_many
        for i, solution in find(setting, alpha):
            if not solution.is_converged:
                lost.append((i, np.inf))
            elif not any(same_solution(solution, other) for other in at[i]):
                at[i].append(solution)
        for here in at:
            here += _relaxed(here)
    if can_be_exchanged(setting) and not (is_many and has_many_features(setting)):
        for i, solution in exchanged(setting, alpha, at, partial(solution_near, setting)):
            if not any(same_solution(solution, other) for other in at[i]):
                at[i].append(solution)
    for i, solution in enumerate(perfect_solutions(setting, alpha)):
        at[i].append(solution)
    reach = _reach(problem, theory)
    ranked = []
    unseen, reason = _unseen(problem, theory), exact_reason(problem)
    for i, (a, here) in enumerate(zip(alpha, at, strict=True)):
        if a < unseen:  # what is learnt of single units is below rounding
            here[0] = replace(here[0], is_stable=here[0].is_converged)
        there = [f for j, f in lost if j == i]
        ranked.append([] if a > reach else _ranked(problem, float(a), here, there, reason))
    return ranked


def _relaxed(found: list[Solution]) -> list[Solution]:
    """Stable solutions that the highest unstable ones lead to: further small classes learnt."""
    new: list[Solution] = []
    for solution in _rank([s for s in found if s.is_converged])[:_N_RELAXED]:
        if solution.is_stable or not isinstance(solution.family, ClassFamily | ThresholdFamily):
            continue
        there = relaxed(solution)
        if there is not None and not any(same_solution(there, other) for other in [*found, *new]):
            new.append(there)
    return new


def _beyond_steps(
    setting: Setting, families: Sequence[Family], alpha: np.ndarray
) -> Iterator[tuple[int, Solution]]:
    """Stable solutions a little beyond the ends of curves at which the root of another class ends.

    The branch goes on: that class is the one that moves from there, up to the fold of α itself.
    """
    log_alpha = np.log(alpha)
    followed = [SeenRoots() for _ in alpha]  # many curves end in one place
    for family in families:
        if not family.before_steps.size:
            continue
        ends, way = family.step_ends
        ahead = way * (log_alpha[:, None] - ends.log_alpha)
        who, which = np.nonzero((ahead > 0) & (ahead < _NEAR_STEP))
        begin, place = np.unique(which, return_inverse=True)
        known = family.solutions(ends[begin]) if begin.size else []
        for i, k in zip(who.tolist(), place.tolist(), strict=True):
            snr = class_snr(setting, known[k])
            if not known[k].is_stable or snr in followed[i]:
                continue
            followed[i].add(snr)
            there = follow(known[k], float(alpha[i]))
            if there is not None:
                yield i, there


@lru_cache(maxsize=64)
def _branches_beyond(problem: Problem, theory: str) -> tuple[Branch, ...]:
    """What goes on where one of several curves over the same parameter ends within the range."""
    seen: list[Branch] = []
    found: list[Branch] = []
    for family in specialised_families(problem, theory):
        if not family.is_sheet:
            continue
        nodes, is_joined = family.curve
        for i in np.nonzero(~is_joined & ~np.isin(nodes.u, family.before_steps))[0]:
            (end,) = family.solutions(nodes[np.array([i])])
            is_within = nodes.u[i] < family.grid[-1] and ALPHA_RANGE[0] < end.alpha < ALPHA_RANGE[1]
            if not end.is_stable or not is_within:
                continue
            branch = next((b for b in seen if _is_on(end, b)), None)
            if branch is None:
                branch = Branch(end)
                seen.append(branch)
            if branch.end > end.alpha * (1 + _LONGER) and branch not in found:
                found.append(branch)
    return tuple(found)


def _is_on(solution: Solution, branch: Branch) -> bool:
    """Whether a branch has this solution."""
    there = branch.at(solution.alpha)
    return there is not None and same_solution(there, solution)


def _ranked(
    problem: Problem, alpha: float, found: list[Solution], lost: list[float], reason: str
) -> list[Solution]:
    """Highest free entropy first, the equilibrium marked; ``lost`` are free entropies of what is missing.

    ``reason`` is :func:`exact_reason` of the problem.
    """
    good = _rank([s for s in found if s.status == CONVERGED])
    if not good:
        return []
    if not _is_within_entropy(problem, good[0]):
        return []  # all units are known to more digits than can be told, and that solution has none left
    # A maximum of the potential is stable: where the first is not, the one above it is missing.
    top = good[0].free_entropy
    is_missing = not good[0].is_stable or (good[0].family is None and not found[0].is_converged)
    is_missing |= any(not f < top - 1e-6 * (1 + abs(top)) for f in lost)
    note = reason if is_missing or good[0].branch == "specialised" else ""
    best = next((i for i, s in enumerate(good) if s.branch == "universal"), 0) if note else 0
    if is_missing and not note:
        return [Solution.missing(problem, alpha, "equilibrium", UNRESOLVED), *good]
    good[best] = replace(good[best], is_equilibrium=True, note=note)
    return good


def _is_within_entropy(problem: Problem, best: Solution) -> bool:
    """Whether the labels tell no more of the weights than there is to know, I <= H(P_W)."""
    entropy = problem.weights.entropy
    rounding = 1e-11 * best.alpha / problem.gamma * (1 + abs(best.free_entropy))
    return entropy is None or best.mutual_information <= entropy * (1 + 1e-6) + rounding


def _unseen(problem: Problem, theory: str) -> float:
    """α up to which a continuous law has units that are learnt, but too few to be seen."""
    setting = setting_of(problem, theory)
    if setting.classes is not None or setting.is_linear:
        return 0.0
    nodes, _ = specialised_families(problem, theory)[0].curve
    return float(np.exp(nodes.log_alpha[0])) if len(nodes) else np.inf


def _reach(problem: Problem, theory: str) -> float:
    """Largest α at which the solution with all units learnt is still within the tables."""
    setting = setting_of(problem, theory)
    if setting.kernel_total == 0 or can_be_perfect(setting) or setting.is_linear:
        return np.inf  # nothing is learnt of single units, or they may be known beyond any table
    if setting.classes is not None and not has_few_classes(setting):
        return np.inf  # solved at given α, without a table in it
    traced = [f for f in specialised_families(problem, theory) if len(f.curve[0])]
    most = max((f.n_learnt for f in traced), default=0)
    top = max((f.curve[0].log_alpha[-1] for f in traced if f.n_learnt == most), default=np.inf)
    return float(np.exp(top)) if top < np.log(ALPHA_RANGE[1]) else np.inf


def _rank(found: list[Solution]) -> list[Solution]:
    """Highest free entropy first. Where a branch is born two are equal to rounding: the stable one."""
    ranked = sorted(found, key=lambda s: -s.free_entropy)
    for i, s in enumerate(ranked):
        if ranked[0].free_entropy - s.free_entropy > 1e-13 * (1 + abs(s.free_entropy)):
            break
        if s.is_stable:
            return [s, *ranked[:i], *ranked[i + 1 :]]
    return ranked


def same_solution(one: Solution, other: Solution) -> bool:
    """Whether two solutions at one α are the same.

    Next to a fold of units that are all but known, overlaps differ by less than rounding: there x tells the
    stable solution from the unstable one.
    """
    if one.branch != other.branch or abs(one.matrix_overlap - other.matrix_overlap) >= 1e-9:
        return False
    tilts, overlaps = (one.tilt, other.tilt), (one.weight_overlap, other.weight_overlap)
    if all(0 < tilt < np.inf for tilt in tilts) and abs(np.log(tilts[0] / tilts[1])) >= 1e-6:
        return False
    if np.max(np.abs(overlaps[0] - overlaps[1])) >= 1e-9:
        return False
    if one.is_stable == other.is_stable:
        return True
    snr = np.stack([one.weight_overlap_hat, other.weight_overlap_hat])
    snr = snr[:, np.all((snr > 0) & np.isfinite(snr), axis=0)]
    return bool(np.all(np.abs(np.diff(np.log(snr), axis=0)) < 1e-6))


def as_alpha(alpha: ArrayLike, *, scalar: bool = False) -> np.ndarray:
    try:
        values = np.asarray(alpha, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"alpha must be a number > 0 (samples per squared dimension), got {alpha!r}"
        ) from None
    if scalar and values.ndim:
        raise ValueError(f"alpha must be one number here, got {values.size}; use learning_curve for many")
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"alpha must be a number or a list of numbers, got shape {values.shape}")
    values = np.atleast_1d(values)
    bad = ~((values > 0) & np.isfinite(values))
    if np.any(bad):
        raise ValueError(
            f"alpha must be > 0 and finite (samples per squared dimension, n/d^2); got {values[bad][0]:g}"
        )
    low, high = ALPHA_RANGE
    extreme = (values < low) | (values > high)
    if np.any(extreme):
        raise ValueError(
            f"alpha must lie between {low:g} and {high:g} to be computed reliably; got {values[extreme][0]:g}"
        )
    return values

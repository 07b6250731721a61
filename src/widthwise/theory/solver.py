"""Solve a problem: one solution, all solutions, or a learning curve.

The families of solutions are traced once for a problem (they do not depend on α), every
crossing with the asked α is polished by Newton's method on the exact equations, and what is
left are distinct solutions, ranked by free entropy.  ``theory="factorised"`` replaces the
spectrum in the specialised solutions by independent Gaussian entries (:mod:`factorised`).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..ingredients.weights import Gaussian
from ..problem import Problem
from .assemble import ACCEPTED, assemble_averaged, assemble_classes, assemble_universal
from .averaged import solve_averaged
from .errors import check_error, with_error
from .made_once import FEW_CLASSES, exact_families, family_of, profile_of, readout_classes, setting_of
from .perfect import can_be_perfect, perfect_solutions
from .saddle import ClassSolutions, solve_classes, solve_universal
from .solution import CONVERGED, LearningCurve, Solution
from .universal import universal_guesses

__all__ = [
    "ALPHA_RANGE",
    "BRANCHES",
    "all_solutions",
    "THEORIES",
    "InexactPotentialWarning",
    "exact_reason",
    "learning_curve",
    "solutions",
    "solve",
    "universal_solutions",
]

BRANCHES = ("equilibrium", "universal", "specialised")
THEORIES = ("main", "factorised")

ALPHA_RANGE = (1e-14, 1e12)
"""Where solutions are computed reliably."""
_BESIDE = 2.5e-2  # how far from a flat stretch, in ln α, the exact curve is asked
_NOTHING = np.log(1e-11)  # a signal-to-noise ratio that is 0


class InexactPotentialWarning(UserWarning):
    """The RS potential prefers a solution that is known not to be the equilibrium."""


def solve(
    problem: Problem,
    alpha: float,
    branch: str = "equilibrium",
    *,
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
    return _curve(problem, _as_alpha(alpha, scalar=True), branch, theory, error)[0]


def solutions(problem: Problem, alpha: float, *, theory: str = "main") -> list[Solution]:
    """Every solution found at α, highest free entropy first, stable or not."""
    return all_solutions(problem, _as_alpha(alpha, scalar=True), theory)[0]


def learning_curve(
    problem: Problem,
    alphas: ArrayLike,
    branch: str = "equilibrium",
    *,
    theory: str = "main",
    error: str | None = None,
) -> LearningCurve:
    """Solutions along α on one branch; see :func:`solve`. The whole curve is one batch."""
    return _curve(problem, _as_alpha(alphas), branch, theory, error)


def _curve(problem: Problem, alpha: np.ndarray, branch: str, theory: str, error: str | None) -> LearningCurve:
    if branch not in BRANCHES:
        raise ValueError(f"unknown branch {branch!r}; choose from {', '.join(BRANCHES)}")
    if error is not None:
        check_error(problem, error)
    ranked = all_solutions(problem, alpha, theory)
    if branch == "equilibrium" and any(at and not at[0].is_equilibrium for at in ranked):
        warnings.warn(exact_reason(problem), InexactPotentialWarning, stacklevel=3)
    points = [_pick(problem, a, at, branch) for a, at in zip(alpha, ranked, strict=True)]
    curve = LearningCurve(problem, branch, points)
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
    if branch == "equilibrium":
        equilibrium = next((s for s in ranked if s.is_equilibrium), None)
        return equilibrium or Solution.missing(problem, alpha, branch, "alpha is beyond what is computed")
    if not ranked:
        return Solution.missing(problem, alpha, branch, "alpha is beyond what is computed")
    matching = [s for s in ranked if s.branch == branch]
    stable = [s for s in matching if s.is_stable]
    if stable or matching:
        return (stable or matching)[0]
    return Solution.missing(problem, alpha, branch, "no such solution")


def all_solutions(problem: Problem, alpha: np.ndarray, theory: str = "main") -> list[list[Solution]]:
    """All distinct converged solutions at each α, ranked, with one marked as equilibrium.

    That is the first, but for problems whose exact answer is known to be the universal one.
    """
    if theory not in THEORIES:
        raise ValueError(f"unknown theory {theory!r}; choose from {', '.join(THEORIES)}")
    at: list[list[Solution]] = [[] for _ in alpha]
    for solution, i in zip(universal_solutions(problem, alpha), range(alpha.size), strict=True):
        # f_uni of the factorised theory has no overlaps of units in which it could be unstable.
        at[i].append(solution if theory == "main" else replace(solution, is_stable=solution.is_converged))
    for index, found in (_more_universal(problem, alpha), *_specialised(problem, alpha, theory)):
        for i, solution in zip(index, found, strict=True):
            if solution.status == CONVERGED and not any(_same(solution, other) for other in at[i]):
                at[i].append(solution)
    for i, solution in enumerate(perfect_solutions(problem, alpha)):
        at[i].append(solution)
    ranked: list[list[Solution]] = []
    reach = _reach(problem, theory)
    for a, here in zip(alpha, at, strict=True):
        if a > reach:  # the specialised solutions are out of the tables: the rest would mislead
            ranked.append([])
            continue
        good = _rank([s for s in here if s.status == CONVERGED])
        if good:
            best, note = 0, ""
            if good[0].branch == "specialised" and (note := exact_reason(problem)):
                best = next((i for i, s in enumerate(good) if s.branch == "universal"), 0)
            good[best] = replace(good[best], is_equilibrium=True, note=note)
        ranked.append(good)
    return ranked


def _reach(problem: Problem, theory: str) -> float:
    """Largest α at which the solution with all units learnt is still within the tables."""
    setting = setting_of(problem, theory)
    if setting.kernel_total == 0 or can_be_perfect(problem):
        return np.inf  # nothing is learnt of single units, or they may be known beyond any table
    classes = readout_classes(problem)
    few = classes is not None and classes[0].size <= FEW_CLASSES
    family = family_of(problem, classes[0].size if classes is not None and few else 0, theory)
    return float(np.exp(family.log_alpha[-1])) if family.log_alpha.size else np.inf


def _rank(found: list[Solution]) -> list[Solution]:
    """Highest free entropy first. Where a branch is born two are equal to rounding: the stable one."""
    ranked = sorted(found, key=lambda s: -s.free_entropy)
    for i, s in enumerate(ranked):
        if ranked[0].free_entropy - s.free_entropy > 1e-13 * (1 + abs(s.free_entropy)):
            break
        if s.is_stable:
            return [s, *ranked[:i], *ranked[i + 1 :]]
    return ranked


def universal_solutions(problem: Problem, alpha: np.ndarray) -> list[Solution]:
    """The universal solution that grows from no data, at each α."""
    setting = setting_of(problem)
    log_coupling, residual = solve_universal(setting, alpha)
    return assemble_universal(setting, alpha, log_coupling, residual)


def _more_universal(problem: Problem, alpha: np.ndarray) -> tuple[np.ndarray, list[Solution]]:
    """Universal solutions where the universal curve folds, with their indices into alpha."""
    setting = setting_of(problem)
    index, start = universal_guesses(setting, alpha)
    if index.size == 0:
        return index, []
    log_coupling, residual = solve_universal(setting, alpha[index], start)
    return index, assemble_universal(setting, alpha[index], log_coupling, residual)


def _specialised(problem: Problem, alpha: np.ndarray, theory: str):
    """Batches (indices into alpha, solutions), one for each family."""
    setting = setting_of(problem, theory)
    if setting.kernel_total == 0 and setting.mu2_squared == 0:
        return  # a linear activation: everything is learnt from n = Θ(d) samples
    classes = readout_classes(problem)
    if classes is not None and classes[0].size <= FEW_CLASSES:
        values2, powers = classes
        for m in range(1, values2.size + 1):
            index, found = _of_family(problem, m, theory, alpha)
            if index.size == 0:
                continue
            keep = _distinct(index, found)
            if keep.size == 0:
                continue
            yield (
                index[keep],
                assemble_classes(setting, alpha[index][keep], _rows(found, keep), values2, powers),
            )
        return
    profile = profile_of(problem)
    index, guesses = family_of(problem, 0, theory).guesses(alpha)
    if index.size:
        found = solve_averaged(setting, profile, alpha[index], guesses)
        keep = _distinct(index, found)
        if keep.size == 0:
            return
        yield index[keep], assemble_averaged(setting, profile, alpha[index][keep], _rows(found, keep))


def _of_family(problem: Problem, m: int, theory: str, alpha: np.ndarray) -> tuple[np.ndarray, ClassSolutions]:
    """Solutions with m classes learnt, with their indices into alpha.

    From approximate guesses, and from exact ones where the family folds or nearly does: nothing else leads
    to all of them there.
    """
    rough = family_of(problem, m, theory)
    values2, powers = readout_classes(problem)  # type: ignore[misc]
    learnt = (values2[:m], powers[:m], float(powers[m:].sum()))
    setting = setting_of(problem, theory)
    index, guesses = rough.guesses(alpha)
    found = solve_classes(setting, alpha[index], *learnt, guesses) if index.size else guesses
    low, high = rough.flat_stretches
    log_alpha = np.log(alpha)[:, None]
    near = np.nonzero(np.any((log_alpha > low - _BESIDE) & (log_alpha < high + _BESIDE), axis=1))[0]
    if near.size == 0:
        return index, found
    more, guesses = exact_families(problem, theory)[m - 1].guesses_where_flat(alpha[near])
    if more.size == 0:
        return index, found
    extra = solve_classes(setting, alpha[near[more]], *learnt, guesses, is_exact=True)
    both = [np.concatenate([getattr(f, name) for f in (found, extra)]) for name in vars(found)]
    return np.concatenate([index, near[more]]), ClassSolutions(*both)


def _rows(found: Any, keep: np.ndarray) -> Any:
    return type(found)(*(getattr(found, name)[keep] for name in vars(found)))


def _distinct(index: np.ndarray, found: Any) -> np.ndarray:
    """Rows that converged, without repetitions of one solution."""
    keep: list[int] = []
    state = np.column_stack([found.log_tilt, found.log_coupling, found.log_snr])
    for i in np.argsort(found.residual, kind="stable"):
        if not found.residual[i] <= ACCEPTED:
            continue
        if np.any(found.log_snr[i] < _NOTHING):  # a guess that ran away to the family's end
            continue
        if any(index[j] == index[i] and np.max(np.abs(state[j] - state[i])) < 1e-4 for j in keep):
            continue
        keep.append(int(i))
    return np.array(sorted(keep), dtype=int)


def _same(one: Solution, other: Solution) -> bool:
    return one.branch == other.branch and bool(
        np.max(np.abs(one.weight_overlap - other.weight_overlap)) < 1e-9
        and abs(one.matrix_overlap - other.matrix_overlap) < 1e-9
        and abs(np.log(one.tilt / other.tilt) if one.tilt > 0 and other.tilt > 0 else 0.0) < 1e-6
    )


def _as_alpha(alpha: ArrayLike, *, scalar: bool = False) -> np.ndarray:
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

r"""Learning transitions: where hidden units begin to be learnt, and where branches change places.

Continuous onsets come from exact criteria (:mod:`onsets`); a further class of readouts sets in where
its own family is born.  First-order transitions are crossings of free entropies (:mod:`maxwell`)
between stretches of families, whose ends are folds: the spinodals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .._shown import Plotted
from ..problem import Problem
from .made_once import FEW_CLASSES, readout_classes
from .maxwell import maxwell_point
from .onsets import first_unit, onset, onset_criterion, profile_onset
from .perfect import can_be_perfect
from .solution import Solution
from .solver import ALPHA_RANGE, _as_alpha, all_solutions, exact_reason
from .stretches import has_few_classes, stretches_of

__all__ = ["Transition", "TransitionList", "onset", "onset_criterion", "transitions"]

# The equilibrium is compared at this many values of α. Either side of every birth and fold is looked at
# besides, so that only a branch that wins and loses again between two neighbours could be missed.
_N_GRID = 40
# How far beside a birth the equilibrium is looked at: closer than this the newly born solution and
# the one it leaves have equal free entropies and stabilities that rounding decides.
_SIDE = 2e-5


@dataclass(frozen=True)
class Transition:
    """One transition of the equilibrium as α grows."""

    readout: float
    """|v| of the units that begin to be learnt (or whose overlap jumps most)."""
    alpha: float
    kind: str
    """"continuous" or "first-order"."""
    spinodals: tuple[float, float] | None = None
    """First-order: α from which the new branch exists, and up to which the old one is stable."""
    overlap_jump: float = 0.0
    error_jump: float = 0.0

    def __str__(self) -> str:
        where = "0+" if self.alpha == 0 else f"{self.alpha:.8g}"
        text = f"|v| = {self.readout:.4g}: {self.kind} at alpha = {where}"
        if self.spinodals:
            low, high = self.spinodals
            text += f" (spinodals {low:.6g} to {high:.6g}; overlap +{self.overlap_jump:.4g})"
        return text


class TransitionList(Plotted, list[Transition]):
    """Transitions in order of α, with what the onset criterion says at the end of the range.

    ``note`` says what the list leaves out, if anything.
    """

    def __init__(
        self,
        items: list[Transition],
        problem: Problem,
        alpha_max: float,
        criterion: float,
        reason: str = "",
        note: str = "",
    ) -> None:
        super().__init__(items)
        self.problem = problem
        self.alpha_max, self.criterion, self.reason, self.note = alpha_max, criterion, reason, note

    def __str__(self) -> str:
        if self:
            return "\n".join([*map(str, self), *([f"note: {self.note}"] if self.note else [])])
        if self.reason:
            return f"no transition up to alpha = {self.alpha_max:g}: {self.reason}"
        return (
            f"no transition up to alpha = {self.alpha_max:g}: max v^2 (q_2 - gamma vbar^2)/gamma is "
            f"{self.criterion:.4g} there, and the first unit is learnt when it reaches 1"
        )


def transitions(
    problem: Problem,
    alpha_max: float = 10.0,
    *,
    truncate: float | None = None,
    n_grid: int = _N_GRID,
    solved: Mapping[float, list[Solution]] | None = None,
) -> TransitionList:
    """All transitions of the equilibrium for 0 < α <= alpha_max, in order.

    Up to 16 distinct |readouts| are followed one by one. A law of more values, like a continuous one, is one
    profile 𝒬_W(v), each unit at its own equilibrium: of a continuous law the first onset is listed, of a
    discrete one that of every class, and jumps of the whole profile for both.

    Parameters
    ----------
    alpha_max : float
    truncate : float, optional
        For readouts of unbounded support, whose onset is at α = 0⁺: treat the support as
        cut at this many standard deviations and report that onset instead.
    n_grid : int
        Values of α at which the equilibrium is compared, besides both sides of every birth and fold.
    solved : mapping, optional
        All solutions at values of α where they are known already (those of a diagram's column).
    """
    alpha_max = float(alpha_max)
    if not (alpha_max > 0 and math.isfinite(alpha_max)):
        raise ValueError(f"alpha_max must be > 0 and finite, got {alpha_max:g}")
    _as_alpha(alpha_max)
    criterion = onset_criterion(problem, alpha_max)
    reason = exact_reason(problem)
    note = ""
    if reason:
        found = []  # whatever the potential prefers, the equilibrium stays universal
    else:
        found = _jumps_and_births(problem, alpha_max, n_grid, solved or {})
        if not has_few_classes(problem):
            found = sorted([*_profile_onsets(problem, alpha_max, truncate), *found], key=lambda t: t.alpha)
            note = _profile_note(problem)
    reached = [t for t in found if t.alpha <= alpha_max]
    return TransitionList(reached, problem, alpha_max, criterion, reason, note)


def _jumps_and_births(
    problem: Problem, alpha_max: float, n_grid: int, solved: Mapping[float, list[Solution]]
) -> list[Transition]:
    """Changes of the stretch that is on top."""
    known = stretches_of(problem)
    marks = known.marks(alpha_max)
    if can_be_perfect(problem):  # from any α on, though not before the labels hold enough information
        entropy = problem.weights.entropy or 0.0
        marks = [*marks, min(alpha_max, 0.01 * problem.gamma * entropy)]
    # A profile without folds is one curve from its onset on: nothing can change places.
    elif not marks or (not has_few_classes(problem) and not known.fold_alpha[0].size):
        return []
    ranked_at = _ranked(problem, marks, alpha_max, n_grid, solved)
    found: list[Transition] = []
    for low, high in zip(ranked_at[:-1], ranked_at[1:], strict=True):
        found += _between(problem, low, high)
    return found


def _between(problem: Problem, low: list[Solution], high: list[Solution]) -> list[Transition]:
    """Changes of the top between two values of α, given all solutions there."""
    known, is_profile = stretches_of(problem), not has_few_classes(problem)
    old, new = known.name_of(low[0]), known.name_of(high[0])
    if old == new:
        return []
    jump = np.max(np.abs(high[0].weight_overlap - low[0].weight_overlap))
    is_birth = new[0] == old[0] + 1 and low[0].alpha <= known.birth[new[0] - 1] <= high[0].alpha
    if is_birth and is_profile:
        return []  # listed with the onsets of the profile
    if is_birth and jump < 0.05:
        size = float(np.sqrt(known.families[0].values2[new[0] - 1]))
        return [Transition(size, known.birth[new[0] - 1], "continuous")]
    crossing = maxwell_point(problem, old, new, low, high) if jump > 1e-6 else None
    if crossing is None:
        return []
    # A third stretch may lie above both where they cross: then there are two transitions, not this one.
    middle = all_solutions(problem, np.array([crossing[0]]))[0]
    if middle and known.name_of(middle[0]) not in (old, new):
        return _between(problem, low, middle) + _between(problem, middle, high)
    return _first_order(problem, (known.begin(new), known.end(old)), *crossing)


def _ranked(
    problem: Problem,
    marks: list[float],
    alpha_max: float,
    n_grid: int,
    solved: Mapping[float, list[Solution]],
) -> list[list[Solution]]:
    """All solutions at enough values of α, in order, using those that are known."""
    have = np.array(sorted(a for a in solved if a <= alpha_max))
    grid = np.geomspace(max(0.5 * min(marks), ALPHA_RANGE[0]), alpha_max, n_grid)
    if have.size:
        step = math.log(grid[1] / grid[0])
        apart = np.abs(np.log(grid[:, None] / have)).min(axis=1)
        grid = grid[(apart > 0.75 * step) | (grid == alpha_max)]
    sides = [m * (1 + e) for m in marks for e in (-_SIDE, _SIDE) if m * (1 + e) <= alpha_max]
    wanted = np.setdiff1d(np.concatenate([grid, sides]), have)
    table = dict(zip(wanted.tolist(), all_solutions(problem, wanted), strict=True))
    table |= {a: solved[a] for a in have.tolist()}
    return [table[a] for a in sorted(table) if table[a]]


def _first_order(
    problem: Problem, spinodals: tuple[float, float], alpha: float, before: Solution, after: Solution
) -> list[Transition]:
    """A jump at a Maxwell point, once for each class that is learnt there."""
    error = before.excess_error - after.excess_error
    gains = after.weight_overlap - before.weight_overlap
    newly = (after.weight_overlap > 0) & (before.weight_overlap == 0)
    if not newly.any() or not has_few_classes(problem):
        newly = gains == gains.max()
    items = []
    for v in np.unique(np.round(np.abs(after.readout_values[newly]), 12))[::-1]:
        own = np.isclose(np.abs(after.readout_values), v)
        jump = float(gains[own].max())
        items.append(Transition(float(v), float(alpha), "first-order", spinodals, jump, float(error)))
    return items


def _profile_onsets(problem: Problem, alpha_max: float, truncate: float | None) -> list[Transition]:
    """Onsets along the curve of equilibrium profiles."""
    classes, largest = readout_classes(problem), problem.readouts.largest
    if classes is None:
        if math.isinf(largest) and truncate is None:
            return [Transition(math.inf, 0.0, "continuous")]
        value = float(truncate) if math.isinf(largest) and truncate is not None else largest
        return [Transition(value, first_unit(problem, value), "continuous")]
    found = []
    for value2 in classes[0]:
        value = float(np.sqrt(value2))
        alpha = profile_onset(problem, value)
        if alpha > alpha_max:
            break
        found.append(Transition(value, alpha, "continuous"))
    return found


def _profile_note(problem: Problem) -> str:
    classes = readout_classes(problem)
    if classes is None:
        return "units of smaller |v| follow one after the other, without a transition of their own"
    return (
        f"{classes[0].size} distinct |readouts| are more than {FEW_CLASSES} and are treated as one profile; "
        "a class that jumps is given the alpha at which one unit of it would"
    )

r"""Learning transitions: where hidden units begin to be learnt, and where branches change places.

Continuous onsets come from exact criteria: a class of readouts leaves 0 where v²A = 1 on the branch that it
is born from (for the first one, on the universal branch: :mod:`onsets`).  First-order transitions are Maxwell
points, where two branch segments have equal free entropies; their ends are folds, the spinodals.  A solution
is stationary, so that only the explicit dependence on α counts: d(αf)/dα = ψ_out, by which Newton's method
finds the crossing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from .._arrays import Array
from .._display import Plotted
from ..problem import Problem
from .families import has_few_classes, specialised_families, universal_family
from .families.base import Points
from .families.classes import ClassFamily, ThresholdFamily
from .families.features import feature_problem, has_many_features
from .families.universal import can_be_perfect
from .onsets import first_unit, onset, onset_criterion
from .segments import Segment, segment_of
from .setting import readout_classes, setting_of
from .solution import Solution
from .solver import ALPHA_RANGE, all_solutions, as_alpha, exact_reason, same_solution
from .units import Root

__all__ = ["Birth", "Transition", "TransitionList", "births", "onset", "onset_criterion", "transitions"]

# The equilibrium is compared at this many values of α. Either side of every birth and fold is looked at
# besides, so that only a branch that wins and loses again between two neighbours could be missed.
_N_GRID = 40
# How far beside a birth the equilibrium is looked at: closer than this the newly born solution and
# the one it leaves have equal free entropies and stabilities that rounding decides.
_SIDE = 2e-5
# A class that is learnt this far before it cannot stay at 0 is learnt in a jump.
_AHEAD = 1e-7
_NEAR_BIRTH = 1e-7  # how close v²A is to 1, and x of the class to 0, where it leaves 0
_N_STEPS = 16
_RTOL = 1e-12


@dataclass(frozen=True)
class Transition:
    """One transition of the equilibrium as α grows."""

    readout: float
    """|v| of the units that begin to be learnt (or whose overlap jumps most)."""
    alpha: float
    kind: str
    """"continuous" or "first-order"."""
    spinodals: tuple[float, float] | None = None
    """First-order: α from which the new branch exists, and up to which the old one is stable.

    None for laws of many sizes, of which metastable branches are not traced."""
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

    Every class of a discrete law is followed. A continuous law is one profile 𝒬_W(v), each unit at its own
    equilibrium: the first onset is listed, and jumps of the whole profile.

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
    as_alpha(alpha_max)
    criterion = onset_criterion(problem, alpha_max)
    reason = exact_reason(problem)
    note = ""
    if reason:
        found = []  # whatever the potential prefers, the equilibrium stays universal
    elif has_many_features(setting_of(problem)):
        found = _of_features(problem, alpha_max)
    else:
        found = _jumps_and_births(problem, alpha_max, n_grid, solved or {})
        if setting_of(problem).classes is None:
            found = sorted([*_first_onset(problem, truncate), *found], key=lambda t: t.alpha)
            note = "units of smaller |v| follow one after the other, without a transition of their own"
    reached = [t for t in found if t.alpha <= alpha_max]
    return TransitionList(reached, problem, alpha_max, criterion, reason, note)


def _of_features(problem: Problem, alpha_max: float) -> list[Transition]:
    """The jump of each feature of a law of many, without a quadratic part."""
    from .feature_transitions import MOST_LISTED, feature_jumps

    features = feature_problem(problem, "main")
    n_learnt = features.equilibrium(alpha_max).n
    if n_learnt > MOST_LISTED:
        raise ValueError(
            f"transitions are listed for up to {MOST_LISTED} features, and {n_learnt} sizes are learnt up to "
            f"alpha = {alpha_max:g}; lower alpha_max, or ask scaling_law for the effective width"
        )
    found = []
    for jump in feature_jumps(features, alpha_max):
        sizes = np.exp(0.5 * features.sums.log_v2[jump.before.n : jump.after.n])
        overlap = problem.seen_weights.overlap(features.snr(jump.after)[jump.before.n : jump.after.n])
        error = jump.before.gap - jump.after.gap
        found += [
            Transition(float(v), jump.alpha, "first-order", None, float(q), error)
            for v, q in zip(sizes, overlap, strict=True)
        ]
    return found


@dataclass(frozen=True)
class Birth:
    """Where a class of readouts leaves 0 continuously."""

    alpha: float
    readout: float
    number: int
    """Of the class; 0 has the largest |readout|."""


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
    for family in specialised_families(problem, theory):
        if not isinstance(family, ClassFamily) or family.moving + 1 == values2.size:
            continue
        if len(family.curve[0]) < 2:
            continue
        last = family.moving + 1 if family.smaller is Root.ZERO else values2.size - 1
        found += [
            Birth(alpha, float(np.sqrt(values2[k])), k)
            for k, alpha in _births_along(family, list(range(family.moving + 1, last + 1)))
        ]
    unique: list[Birth] = []
    for birth in sorted(found, key=lambda b: (b.number, b.alpha)):
        if not any(b.number == birth.number and abs(b.alpha / birth.alpha - 1) < 1e-9 for b in unique):
            unique.append(birth)
    return tuple(unique)


def _births_along(family: ClassFamily, numbers: list[int]) -> list[tuple[int, float]]:
    """Number and α of each class that leaves 0 along a family: where ln v²A changes its sign.

    Where such a class jumps, A passes 1/v² in a step: there the class is held at 0.
    """
    nodes, is_joined = family.curve
    log_v2 = np.log(family.values2)
    values = _log_pulls(family, nodes)[:, None] + log_v2[numbers]
    left, column = np.nonzero((values[:-1] * values[1:] < 0) & is_joined[:-1, None])
    if not left.size:
        return []
    number = np.array(numbers)[column]
    low, high, at_low, at_high = nodes[left], nodes[left + 1], values[left, column], values[left + 1, column]

    def births_at(family: ClassFamily, rows: np.ndarray) -> tuple[Points, np.ndarray]:
        """Where v²A = 1 in the brackets of given numbers, and whether the class is at 0 there."""
        goal, own = log_v2[number[rows]], np.arange(rows.size)
        found = _where_pulled(family, goal, low[rows], high[rows], at_low[rows], at_high[rows])
        with np.errstate(all="ignore"):  # of points that do not exist
            snr = family.snr(found.u, *family.couplings(found.z))[own, number[rows]]
            is_there = np.abs(_log_pulls(family, found) + goal) < _NEAR_BIRTH
        return found, found.is_good & is_there & (snr < _NEAR_BIRTH)

    found, is_birth = births_at(family, np.arange(number.size))
    for k in np.unique(number[~is_birth]).tolist():
        rows = np.nonzero(~is_birth & (number == k))[0]
        again, is_birth[rows] = births_at(family.held_at_0(k), rows)
        found.log_alpha[rows] = again.log_alpha
    log_alpha = found.log_alpha
    return list(zip(number[is_birth].tolist(), np.exp(log_alpha[is_birth]).tolist(), strict=True))


def _log_pulls(family: ClassFamily | ThresholdFamily, points: Points) -> np.ndarray:
    """ln A of points of a family."""
    setting = family.setting
    pair = setting.matrix.pair(family.log_tilt(points), setting.log_hat_scale + family.log_coupling(points))
    return np.asarray(pair.log_pull - math.log(setting.gamma))


def _where_pulled(
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
        value = _log_pulls(family, point) + log_v2[active]
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


def _marks(problem: Problem, alpha_max: float) -> list[float]:
    """All births and folds up to alpha_max."""
    families = (universal_family(problem), *specialised_families(problem))
    every = [b.alpha for b in births(problem)]
    for family in families:
        every += np.exp(family.folds.log_alpha).tolist()
        nodes, is_joined = family.curve
        # Where a family begins or ends within the range.
        ends = np.nonzero(~is_joined[:-1])[0] if len(nodes) else np.empty(0, dtype=int)
        every += np.exp(nodes.log_alpha[ends]).tolist()
    return sorted(a for a in every if ALPHA_RANGE[0] <= a <= alpha_max)


def _jumps_and_births(
    problem: Problem, alpha_max: float, n_grid: int, solved: Mapping[float, list[Solution]]
) -> list[Transition]:
    """Changes of the segment that is on top."""
    setting = setting_of(problem)
    if setting.is_linear:
        return []
    marks = _marks(problem, alpha_max)
    if can_be_perfect(setting):  # from any α on, though not before the labels hold enough information
        entropy = problem.weights.entropy or 0.0
        marks.append(min(alpha_max, 0.01 * problem.gamma * entropy))
    elif not has_few_classes(setting):
        if setting.classes is None and not any(f.folds.u.size for f in specialised_families(problem)):
            return []  # a profile without folds is one curve from its onset on: nothing can change places
        marks.append(0.01 * alpha_max)
    if not marks:
        return []
    ranked_at = _ranked(problem, marks, alpha_max, n_grid, solved)
    found: list[Transition] = []
    for low, high in zip(ranked_at[:-1], ranked_at[1:], strict=True):
        found += _between(problem, low, high)
    return found


def _between(problem: Problem, low: Solution, high: Solution, depth: int = 0) -> list[Transition]:
    """Changes of the equilibrium between two values of α, given it at both."""
    old, new = segment_of(low), segment_of(high)
    jump = float(np.max(np.abs(high.weight_overlap - low.weight_overlap)))
    newly = set(_learnt(high)) - set(_learnt(low))
    born = [b for b in births(problem) if low.alpha <= b.alpha <= high.alpha and b.number in newly]
    if (
        born
        and jump < 0.05
        and len(newly) <= len({b.number for b in born})
        and _is_continuous(new, high, born)
    ):
        return [Transition(b.readout, b.alpha, "continuous") for b in sorted(born, key=lambda b: b.alpha)]
    followed = high if old == new and old.is_traced else old.at(high.alpha, low)
    if followed is not None and same_solution(followed, high):
        return _born_along(old, low, followed)
    crossing = _maxwell_point(old, new, low, high)
    if crossing is None:
        return _halved(problem, low, high, depth) if depth < 12 else []
    alpha, before, after = crossing
    if np.max(np.abs(after.weight_overlap - before.weight_overlap)) < 1e-6:
        return []
    # A third segment may lie above both where they cross: then there are two transitions, not this one.
    middle = next((s for s in all_solutions(problem, np.array([alpha]))[0] if s.is_equilibrium), None)
    if (
        middle is not None
        and depth < 60
        and segment_of(middle) not in (old, new)
        and middle.free_entropy > before.free_entropy + 1e-11 * (1 + abs(before.free_entropy))
    ):
        return _between(problem, low, middle, depth + 1) + _between(problem, middle, high, depth + 1)
    spinodals = None
    if has_few_classes(setting_of(problem)) or readout_classes(problem) is None:
        spinodals = new.begin, min(old.end, _unstable_from(old, before))
    jumps = _first_order(problem, spinodals, *crossing)
    return [*_born_along(old, low, before), *jumps, *_born_along(new, after, high)]


def _is_continuous(segment: Segment, behind: Solution, born: list[Birth]) -> bool:
    """Whether classes are learnt only behind their births: else the segment reaches back to a fold."""
    for b in born:
        before = segment.at(b.alpha * (1 - _AHEAD), behind)
        if before is not None and b.number in _learnt(before):
            return False
    return True


def _born_along(segment: Segment, low: Solution, high: Solution) -> list[Transition]:
    """The classes that leave 0 along a segment: where v²A passes 1 between two of its solutions."""
    classes, family = readout_classes(low.problem), segment.family
    newly = np.array(sorted(set(_learnt(high)) - set(_learnt(low))), dtype=int)
    if classes is None or not newly.size or not isinstance(family, ClassFamily | ThresholdFamily):
        return []
    ends = family.at(np.array([low.parameter, high.parameter]), np.stack([low.state, high.state]))
    goal = np.log(classes.values2[newly])
    at_low, at_high = _log_pulls(family, ends)[:, None] + goal
    one, other = (ends[np.full(newly.size, i)] for i in (0, 1))
    found = _where_pulled(family, goal, one, other, at_low, at_high)
    is_birth = found.is_good & (at_low < 0) & (at_high > 0)
    is_birth &= np.abs(_log_pulls(family, found) + goal) < _NEAR_BIRTH
    places = zip(classes.sizes[newly[is_birth]], np.exp(found.log_alpha[is_birth]), strict=True)
    return [Transition(float(v), float(alpha), "continuous") for v, alpha in places]


def _halved(problem: Problem, low: Solution, high: Solution, depth: int) -> list[Transition]:
    alpha = math.sqrt(low.alpha * high.alpha)
    if high.alpha / low.alpha - 1 < 1e-9:
        return []
    middle = next((s for s in all_solutions(problem, np.array([alpha]))[0] if s.is_equilibrium), None)
    if middle is None:
        return []
    return _between(problem, low, middle, depth + 1) + _between(problem, middle, high, depth + 1)


def _learnt(solution: Solution) -> list[int]:
    """Numbers of the classes that are learnt (0: a continuous law of which units are)."""
    classes = readout_classes(solution.problem)
    if classes is None:
        return [0] if solution.branch == "specialised" else []
    v2 = solution.readout_values[solution.weight_overlap > 0] ** 2
    return sorted({int(np.argmin(np.abs(classes.values2 - value))) for value in v2})


def _unstable_from(segment: Segment, before: Solution) -> float:
    """α from which a segment is unstable because a class that it leaves at 0 cannot stay there."""
    learnt = _learnt(before)
    later = [
        b.alpha
        for b in births(before.problem)
        if b.alpha >= before.alpha * (1 - 1e-9) and b.number not in learnt
    ]
    for alpha in sorted(later):
        there = segment.at(alpha * (1 + _SIDE), before)
        if there is not None and not there.is_stable:
            return alpha
    return math.inf


def _maxwell_point(
    old: Segment, new: Segment, low: Solution, high: Solution
) -> tuple[float, Solution, Solution] | None:
    """α where the segment ``new`` overtakes ``old``, and the two solutions there."""
    problem = low.problem
    channel, power = problem.channel, problem.output_power
    a, b = low.alpha, high.alpha
    before, after = low, high
    best = None
    c = 0.5 * (a + b)
    for _ in range(_N_STEPS):
        one, other = old.at(c, before), new.at(c, after)
        if one is None and other is None:
            return best
        step = math.nan
        if one is not None and other is not None:
            best, before, after = (c, one, other), one, other
            gain = c * (other.free_entropy - one.free_entropy)
            gaps = channel.free_entropy(np.array([one.excess_error, other.excess_error]), power)
            rate = float(gaps[1] - gaps[0])
            step = -gain / rate if rate != 0 else math.nan
            is_new = gain > 0
        else:
            is_new = one is None
        a, b = (a, c) if is_new else (c, b)
        if abs(step) <= _RTOL * c or b - a <= _RTOL * c:
            break
        c = c + step if a < c + step < b else 0.5 * (a + b)
    return best


def _ranked(
    problem: Problem,
    marks: list[float],
    alpha_max: float,
    n_grid: int,
    solved: Mapping[float, list[Solution]],
) -> list[Solution]:
    """The equilibrium at enough values of α, in order, using what is known."""
    have = np.array(sorted(a for a in solved if a <= alpha_max))
    grid = np.geomspace(max(0.5 * min(marks), ALPHA_RANGE[0]), alpha_max, n_grid)
    if have.size:
        step = math.log(grid[1] / grid[0])
        apart = np.abs(np.log(grid[:, None] / have)).min(axis=1)
        grid = grid[(apart > 0.75 * step) | (grid == alpha_max)]
    sides = [m * (1 + e) for m in marks for e in (-_SIDE, _SIDE) if m * (1 + e) <= alpha_max]
    asked = np.setdiff1d(np.concatenate([grid, sides]), have)
    table = dict(zip(asked.tolist(), all_solutions(problem, asked), strict=True))
    table |= {a: solved[a] for a in have.tolist()}
    tops = (next((s for s in table[a] if s.is_equilibrium), None) for a in sorted(table))
    return [s for s in tops if s is not None]


def _first_order(
    problem: Problem,
    spinodals: tuple[float, float] | None,
    alpha: float,
    before: Solution,
    after: Solution,
) -> list[Transition]:
    """A jump at a Maxwell point, once for each class that is learnt there."""
    error = before.excess_error - after.excess_error
    gains = after.weight_overlap - before.weight_overlap
    newly = (after.weight_overlap > 0) & (before.weight_overlap == 0)
    if not newly.any() or not has_few_classes(setting_of(problem)):
        newly = gains == gains.max()
    items = []
    for v in np.unique(np.round(np.abs(after.readout_values[newly]), 12))[::-1]:
        own = np.isclose(np.abs(after.readout_values), v)
        jump = float(gains[own].max())
        items.append(Transition(float(v), float(alpha), "first-order", spinodals, jump, float(error)))
    return items


def _first_onset(problem: Problem, truncate: float | None) -> list[Transition]:
    """Where the first units of a continuous law are learnt."""
    largest = problem.readouts.largest
    if math.isinf(largest) and truncate is None:
        return [Transition(math.inf, 0.0, "continuous")]
    value = float(truncate) if math.isinf(largest) and truncate is not None else largest
    return [Transition(value, first_unit(problem, value), "continuous")]

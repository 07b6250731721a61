r"""Learning transitions: where hidden units begin to be learnt, and where branches change places.

Continuous onsets come from exact criteria: a class of readouts leaves 0 where v²A = 1 on the branch that it
is born from (:mod:`onsets`).  First-order transitions are Maxwell points, where two branch segments have
equal free entropies (:mod:`maxwell`); their ends are folds, the spinodals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .._arrays import Array
from .._threads import one_thread
from ..problem import Problem
from .families import has_few_classes, specialised_families, universal_family
from .families.classes import ClassFamily, ThresholdFamily
from .families.features import FeatureProblem, feature_problem, has_many_features
from .families.followed import birth_along, follow
from .families.universal import can_be_perfect
from .maxwell import MOST_LISTED, Segment, feature_jumps, maxwell_point, segment_of
from .onsets import NEAR_BIRTH, Birth, births, first_unit, log_pulls, onset_criterion, where_pulled
from .setting import ReadoutClasses, readout_classes, setting_of
from .solution import Solution, Transition, TransitionList, equilibrium_of
from .solver import ALPHA_RANGE, all_solutions, as_alpha, exact_reason, learning_curve, same_solution

__all__ = ["Transition", "TransitionList", "factorised_transition", "transitions"]

# The equilibrium is compared at this many values of α. Either side of every birth and fold that is not below
# it is looked at besides, so that only a branch that wins and loses again between two neighbours could be
# missed.
_N_GRID = 40
# How far beside a birth the equilibrium is looked at: closer than this the newly born solution and
# the one it leaves have equal free entropies and stabilities that rounding decides.
_SIDE = 2e-5
# A class that is learnt this far before it cannot stay at 0 is learnt in a jump.
_AHEAD = 1e-7
_BELOW = 1e-6  # of αf: surely below the equilibrium
# How often an interval is parted where its ends are not seen to meet, and where a third solution is above
# them, and its least width.
_DEEPEST, _DEEPEST_CROSSING, _NARROWEST = 12, 60, 1e-9
_N_SCAN = 60  # values of α at which the two branches of the factorised theory are compared


@one_thread()
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
            onsets = _first_onset(problem, truncate)
            found = sorted([*onsets, *found], key=lambda t: t.alpha)
            if onsets:
                note = "units of smaller |v| follow one after the other, without a transition of their own"
    reached = [t for t in found if t.alpha <= alpha_max]
    return TransitionList(reached, problem, alpha_max, criterion, reason, note)


def factorised_transition(problem: Problem, alpha_max: float = 100.0, *, rtol: float = 1e-10) -> float:
    r"""ᾱ_sp = sup{α : f_uni > f_sp} (eq. alpha_c_meta), where the factorised theory jumps.

    The ansatz of the paper's appendix has independent Gaussian entries in place of a Wishart matrix.  Its
    potential for the specialised phase (eq. freeEntSpecialisation-Bayes-Opt)

    .. math:: f_\mathrm{sp} = \psi_\mathrm{out} + \tfrac{1}{4\alpha}(r_2 - q_2)\hat q_2
        + \tfrac\gamma\alpha E[\psi_W(\hat Q) - \tfrac12 Q\hat Q]
        - \tfrac{1}{4\alpha}\ln[1 + \hat q_2(1 - m)], \qquad m = E v^2 Q^2,

    is the potential of the main theory for a matrix whose entries are Gaussian, mmse(η) = 1/(1 + η) and
    ι(η) = ¼ ln(1 + η): moment matching gives 1 + τ = 1/(1 - m), hence
    ι(τ) - ι(τ + q̂₂) = -¼ ln[1 + q̂₂(1 - m)].  So one solver serves both, and the pull on a unit is
    γA = q̂₂/(1 + q̂₂(1 - m)).

    The universal branch keeps the spectrum, and of the two free entropies the larger one wins (eq. f_meta).
    Entries that are Gaussian carry the most information, so f_sp at 𝒬 ≡ 0 never beats f_uni: the transition
    is a jump.

    Parameters
    ----------
    alpha_max : float
        The largest α looked at. Infinity comes back when the universal branch is still selected
        there: for the quadratic activation with Gaussian weights that holds at every α.
    """
    top = float(as_alpha(alpha_max, scalar=True)[0])

    def lead(alpha: Array) -> Array:
        """f_sp - f_uni; NaN where nothing specialised exists."""
        special, universal = (
            learning_curve(problem, alpha, branch, theory="factorised").free_entropy
            for branch in ("specialised", "universal")
        )
        difference: Array = special - universal
        return difference

    grid = top * np.geomspace(1e-4, 1.0, _N_SCAN)
    is_ahead = lead(grid) > 0  # False where NaN
    if not is_ahead[-1]:
        return float("inf")
    behind = np.nonzero(~is_ahead)[0]
    if behind.size == 0:
        return 0.0
    low, high = grid[behind[-1]], grid[behind[-1] + 1]
    while high - low > rtol * high:
        inside = np.linspace(low, high, 12)[1:-1]  # a batch costs little more than a point
        is_ahead = np.append(lead(inside) > 0, True)
        first = int(np.argmax(is_ahead))
        low, high = (inside[first - 1] if first else low), (inside[first] if first < inside.size else high)
    return float(0.5 * (low + high))


def _of_features(problem: Problem, alpha_max: float) -> list[Transition]:
    """The jump of each feature of a law of many, without a quadratic part."""
    features = feature_problem(problem, "main")
    last = features.last_unknown(alpha_max)  # beyond, every weight is known exactly
    n_learnt = len(features.sums) if last < alpha_max else features.equilibrium(last).n
    if n_learnt > MOST_LISTED:
        raise ValueError(
            f"transitions are listed for up to {MOST_LISTED} features, and {n_learnt} sizes are learnt up to "
            f"alpha = {alpha_max:g}; lower alpha_max, or ask scaling_law for the effective width"
        )
    found = []
    for jump in feature_jumps(features, last):
        sizes = np.exp(0.5 * features.sums.log_v2[jump.before.n : jump.after.n])
        overlap = problem.seen_weights.overlap(features.snr(jump.after)[jump.before.n : jump.after.n])
        error = jump.before.gap - jump.after.gap
        found += [
            Transition(float(v), jump.alpha, "first-order", None, float(q), error)
            for v, q in zip(sizes, overlap, strict=True)
        ]
    return found + (_all_known(problem, features, last) if last < alpha_max else [])


def _all_known(problem: Problem, features: FeatureProblem, alpha: float) -> list[Transition]:
    """The jump behind α to weights that are all known, for the features that gain most."""
    before = features.equilibrium(alpha)
    gains = problem.seen_weights.mmse(features.snr(before))
    sizes = np.exp(0.5 * features.sums.log_v2[gains == gains.max()])
    jump = float(gains.max())
    return [Transition(float(v), alpha, "first-order", None, jump, before.gap) for v in sizes]


@dataclass(frozen=True)
class _Mark:
    """An α at which the equilibrium may change, if what happens there has so high a free entropy."""

    alpha: float
    free_entropy: float = math.inf


def _marks(problem: Problem, alpha_max: float) -> list[_Mark]:
    """All births and folds up to alpha_max, and where curves begin or end."""
    every = [_Mark(b.alpha, b.free_entropy) for b in births(problem)]
    for family in (universal_family(problem), *specialised_families(problem)):
        nodes, is_joined = family.curve
        is_end = ~is_joined & ~np.isin(nodes.u, family.before_steps)
        is_mark = (nodes.slope == 0) | np.append(is_end[:-1], False) if len(nodes) else is_joined
        is_mark &= (nodes.log_alpha >= math.log(ALPHA_RANGE[0])) & (nodes.log_alpha <= math.log(alpha_max))
        there = family.solutions(nodes[is_mark]) if is_mark.any() else []
        every += [_Mark(s.alpha, s.free_entropy) for s in there]
    within = [mark for mark in every if ALPHA_RANGE[0] <= mark.alpha <= alpha_max]
    return sorted(within, key=lambda mark: mark.alpha)


def _jumps_and_births(
    problem: Problem, alpha_max: float, n_grid: int, solved: Mapping[float, list[Solution]]
) -> list[Transition]:
    """Changes of the segment that is on top."""
    setting = setting_of(problem)
    if setting.is_linear:
        return []
    marks = _marks(problem, alpha_max)
    if can_be_perfect(setting):
        marks.append(_Mark(min(alpha_max, _enough_for_one(problem))))
    elif not has_few_classes(setting):
        if setting.classes is None and not any(f.folds.u.size for f in specialised_families(problem)):
            return []  # a profile without folds is one curve from its onset on: nothing can change places
        marks.append(_Mark(0.01 * alpha_max))
    if not marks:
        return []
    return _changes(problem, _ranked(problem, marks, alpha_max, n_grid, solved))


def _enough_for_one(problem: Problem) -> float:
    """α before which labels hold less information than the weights of the largest readout have entropy."""
    setting, classes = setting_of(problem), readout_classes(problem)
    share = 1.0 if classes is None else float(classes.masses[0])  # of a density all units are known, or none
    gap = setting.output_gap(np.ones(1), np.array([setting.kernel_total]))  # nothing is known
    deficit = float(problem.channel.free_entropy_deficit(gap, setting.power)[0])
    entropy = float(problem.weights.entropy or 0.0) * share
    return problem.gamma * entropy / deficit if deficit > 0 else math.inf


@dataclass(frozen=True)
class _Interval:
    """Two values of α with the equilibrium at both, and how often a larger one was parted."""

    low: Solution
    high: Solution
    depth: int = 0

    def parted(self, middle: Solution) -> list[_Interval]:
        return [_Interval(*ends, self.depth + 1) for ends in ((self.low, middle), (middle, self.high))]


_Crossing = tuple[float, Solution, Solution]
"""α at which two segments have the same free entropy, and their solutions there."""


def _changes(problem: Problem, ranked_at: list[Solution]) -> list[Transition]:
    """Changes of the equilibrium, given it at values of α in order.

    Where an interval is not understood yet, its middle is looked at: all middles in one batch, again and
    again.
    """
    found: list[Transition] = []
    left = [_Interval(*ends) for ends in zip(ranked_at[:-1], ranked_at[1:], strict=True)]
    while left:
        asked: list[tuple[float, _Interval, _Crossing | None]] = []
        for interval in left:
            answer = _between(problem, interval)
            if isinstance(answer, list):
                found += answer
            elif answer is not None:
                asked.append((answer[0], interval, answer))
            elif interval.depth < _DEEPEST and interval.high.alpha / interval.low.alpha - 1 > _NARROWEST:
                asked.append((math.sqrt(interval.low.alpha * interval.high.alpha), interval, None))
        left = []
        ranked = all_solutions(problem, np.array([alpha for alpha, *_ in asked])) if asked else []
        for (_, interval, crossing), at in zip(asked, ranked, strict=True):
            middle = equilibrium_of(at)
            if crossing is not None and not _is_above(middle, crossing, interval.depth):
                found += _jump(problem, interval, crossing)
            elif middle is not None:
                left += interval.parted(middle)
    return sorted(found, key=lambda t: t.alpha)


def _between(problem: Problem, interval: _Interval) -> list[Transition] | _Crossing | None:
    """Changes of the equilibrium within an interval; a crossing of two segments, above which another may lie;
    or None where the middle has to be looked at."""
    low, high = interval.low, interval.high
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
        if len(born) == len(newly):
            return [Transition(b.readout, b.alpha, "continuous") for b in sorted(born, key=lambda b: b.alpha)]
        # Branches that differ by little have a birth each: what counts is that of the equilibrium.
        classes = readout_classes(problem)
        along = _born_between(classes, sorted(newly), low, high) if classes is not None else []
        if len(along) == len(newly):
            return along
    followed = high if old == new and old.is_traced else old.at(high.alpha, low)
    if followed is not None and same_solution(followed, high):
        return _born_along(old, low, followed)
    crossing = maxwell_point(old, new, low, high)
    if crossing is not None:
        _, before, after = crossing
        if np.max(np.abs(after.weight_overlap - before.weight_overlap)) < 1e-6:
            return []
    return crossing


def _is_above(middle: Solution | None, crossing: _Crossing, depth: int) -> bool:
    """Whether a third solution lies above both where they cross: then there are two transitions or more."""
    _, before, after = crossing
    return (
        middle is not None
        and depth < _DEEPEST_CROSSING
        and not (same_solution(middle, before) or same_solution(middle, after))
        and middle.free_entropy > before.free_entropy + 1e-11 * (1 + abs(before.free_entropy))
    )


def _jump(problem: Problem, interval: _Interval, crossing: _Crossing) -> list[Transition]:
    """A transition where two segments cross, and what is born along both."""
    low, high = interval.low, interval.high
    old, new = segment_of(low), segment_of(high)
    _, before, after = crossing
    spinodals = None
    if has_few_classes(setting_of(problem)) or readout_classes(problem) is None:
        end = old.end(before)
        spinodals = new.begin(after), min(end, _unstable_from(old, before)) if old.is_traced else end
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
    if not segment.is_traced:
        return _born_between(classes, newly.tolist(), low, high)
    ends = family.at(np.array([low.parameter, high.parameter]), np.stack([low.state, high.state]))
    goal = np.log(classes.values2[newly])
    at_low, at_high = log_pulls(family, ends)[:, None] + goal
    one, other = (ends[np.full(newly.size, i)] for i in (0, 1))
    found = where_pulled(family, goal, one, other, at_low, at_high)
    is_birth = found.is_good & (at_low < 0) & (at_high > 0)
    is_birth &= np.abs(log_pulls(family, found) + goal) < NEAR_BIRTH
    places = zip(classes.sizes[newly[is_birth]], np.exp(found.log_alpha[is_birth]), strict=True)
    return [Transition(float(v), float(alpha), "continuous") for v, alpha in places]


def _born_between(
    classes: ReadoutClasses, newly: list[int], low: Solution, high: Solution
) -> list[Transition]:
    """Where classes leave 0, the largest first, on the way from one solution to another that it leads to."""
    found, near = [], low
    for number in newly:
        alpha = birth_along(near, number)
        if low.alpha <= alpha <= high.alpha:
            found.append(Transition(float(classes.sizes[number]), alpha, "continuous"))
            near = follow(near, min(alpha * (1 + _AHEAD), high.alpha)) or near
    return found


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


def _ranked(
    problem: Problem,
    marks: list[_Mark],
    alpha_max: float,
    n_grid: int,
    solved: Mapping[float, list[Solution]],
) -> list[Solution]:
    """The equilibrium at enough values of α, in order, using what is known: on a grid, and on both sides of
    what happens next to it."""
    have = np.array(sorted(a for a in solved if a <= alpha_max))
    first = min(mark.alpha for mark in marks)
    grid = np.geomspace(max(0.5 * first, ALPHA_RANGE[0]), alpha_max, n_grid)
    if have.size:
        step = math.log(grid[1] / grid[0])
        apart = np.abs(np.log(grid[:, None] / have)).min(axis=1)
        grid = grid[(apart > 0.75 * step) | (grid == alpha_max)]
    table = {a: equilibrium_of(solved[a]) for a in have.tolist()}

    def solve(asked: Array) -> None:
        new = np.setdiff1d(asked, list(table))
        if new.size:
            tops = (equilibrium_of(ranked) for ranked in all_solutions(problem, new))
            table.update(zip(new.tolist(), tops, strict=True))

    solve(grid)
    places = _near_the_top(problem, marks, [s for s in table.values() if s is not None])
    sides = np.outer(places, [1 - _SIDE, 1 + _SIDE]).ravel()
    solve(sides[sides <= alpha_max])
    return [s for _, s in sorted(table.items()) if s is not None]


def _near_the_top(problem: Problem, marks: list[_Mark], tops: list[Solution]) -> Array:
    """α of the marks at which the equilibrium may change.

    αf of the equilibrium is convex, with slope ψ_out: what lies below one of its tangents is not on top.
    """
    places: Array
    places, heights = np.array([(mark.alpha, mark.alpha * mark.free_entropy) for mark in marks]).T
    if not tops:
        return places
    alpha, f, gap = np.array([(s.alpha, s.free_entropy, s.excess_error) for s in tops]).T
    slope = problem.channel.free_entropy(gap, problem.output_power)
    least = np.max(alpha * f + slope * (places[:, None] - alpha), axis=1)
    near: Array = places[heights >= least - _BELOW * (1 + np.abs(least))]
    return near


def _first_order(
    problem: Problem,
    spinodals: tuple[float, float] | None,
    alpha: float,
    before: Solution,
    after: Solution,
) -> list[Transition]:
    """A jump at a Maxwell point, once for each class that is learnt or lost there."""
    error = before.excess_error - after.excess_error
    gains = after.weight_overlap - before.weight_overlap
    newly = (after.weight_overlap > 0) & (before.weight_overlap == 0)
    if not newly.any() or not has_few_classes(setting_of(problem)):
        newly = gains == gains.max()
    if has_few_classes(setting_of(problem)):
        newly |= (after.weight_overlap == 0) & (before.weight_overlap > 0)
    size = np.abs(after.readout_values)
    classes = readout_classes(problem)
    if classes is None:  # a jump of the whole profile
        groups = [newly & (size == np.max(size[newly]))]
    else:
        number = np.argmin(np.abs(size[:, None] - classes.sizes), axis=1)
        groups = [number == k for k in np.unique(number[newly])]
    return [
        Transition(
            float(np.max(size[own])),
            float(alpha),
            "first-order",
            spinodals,
            float(gains[own][np.argmax(np.abs(gains[own]))]),
            float(error),
        )
        for own in groups
    ]


def _first_onset(problem: Problem, truncate: float | None) -> list[Transition]:
    """Where the first units of a continuous law are learnt."""
    if universal_family(problem).learns_nothing:
        return []  # labels that depend on |λ| alone say nothing at first: units are learnt in a jump
    largest = problem.readouts.largest
    if math.isinf(largest) and truncate is None:
        return [Transition(math.inf, 0.0, "continuous")]
    value = float(truncate) if math.isinf(largest) and truncate is not None else largest
    return [Transition(value, first_unit(problem, value), "continuous")]

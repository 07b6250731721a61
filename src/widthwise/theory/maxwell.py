r"""First-order transitions: Maxwell points, where two branch segments have equal free entropies.

A segment is a piece of a family between folds, on which there is one solution at each α.  A solution is
stationary, so that only the explicit dependence on α counts: d(αf)/dα = ψ_out, by which Newton's method finds
the crossing of two of them.

For laws of many features with μ₂ = 0 there is a potential f_n for each number n of learnt features, with
d(αf_n)/dα = ψ_out(ε_n), and ε_n falls with n: two of these curves cross once, and the equilibrium follows
their upper envelope.  Neighbours that cross in the wrong order are learnt in one jump, as the envelope of
straight lines is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..problem import Problem
from .families import specialised_families
from .families.base import Family
from .families.classes import ClassFamily, ThresholdFamily
from .families.features import FeaturePoint, FeatureProblem
from .families.universal import perfect_solutions
from .setting import setting_of
from .solution import Solution
from .units import Root

__all__ = [
    "MOST_LISTED",
    "FeatureJump",
    "Segment",
    "feature_jumps",
    "last_jump",
    "maxwell_point",
    "segment_of",
]

MOST_LISTED = 2000
"""Features up to which every transition is computed."""

_N_STEPS, _RTOL = 16, 1e-12
_MOST_ALPHA = 1e12  # beyond which nothing is computed
_N_FEATURE_STEPS, _FEATURE_RTOL = 60, 1e-13
_SIDE = 1e-6  # in ln α, beside a jump; potentials of many features are not told apart much closer


@dataclass(frozen=True)
class Segment:
    """Part of a family, numbered from its beginning. No family: perfect learning."""

    problem: Problem
    theory: str
    family: Family | None
    number: int = 0

    def at(self, alpha: float, near: Solution | None = None) -> Solution | None:
        """The solution of this segment at α, if there is one.

        Families of many classes are not traced: there the one that ``near`` leads to without a fold between.
        """
        if self.family is None:
            return perfect_solutions(setting_of(self.problem, self.theory), np.array([alpha]))[0]
        if near is not None and not self.is_traced:
            return _followed(alpha, near)
        points = self.family.crossings(np.array([alpha])).points
        for i in range(len(points)):
            if _number(self.family, points.u[i]) == self.number:
                return self.family.solutions(points[np.array([i])], np.array([alpha]))[0]
        return None

    @property
    def is_traced(self) -> bool:
        """Whether the whole segment is known; else it is only followed."""
        return self.family is None or _is_traced(self.family)

    @property
    def begin(self) -> float:
        """Smallest α of the segment: a fold, or where the family begins."""
        return min(self._ends)

    @property
    def end(self) -> float:
        """Largest α of the segment: a fold, or infinity."""
        return max(self._ends)

    @property
    def _ends(self) -> tuple[float, float]:
        if self.family is None or not self.is_traced:
            return 0.0, math.inf
        nodes, _ = self.family.curve
        own = nodes.log_alpha[_numbers(self.family) == self.number]
        # A fold belongs to both of its segments.
        folds = self.family.folds
        cuts = _cuts(self.family)
        beside = [c for c in (cuts[self.number - 1 : self.number] if self.number else []) if c in folds.u]
        beside += [c for c in cuts[self.number : self.number + 1] if c in folds.u]
        own = np.concatenate([own, *(folds.log_alpha[folds.u == c] for c in beside)])
        if not own.size:
            return 0.0, math.inf
        # An end at large α that is no fold is no end: the curve goes on to infinite α.
        top = max((float(folds.log_alpha[folds.u == c][0]) for c in beside), default=-math.inf)
        high = math.exp(top) if own.max() <= top + 1e-9 else math.inf
        return float(np.exp(own.min())), high


def _followed(alpha: float, near: Solution) -> Solution | None:
    """The solution at α that ``near`` leads to, if nothing folds or jumps between.

    As α grows the lower roots of classes end, as it falls the upper ones: where a class has only one root, it
    is said to be the lowest or the highest accordingly.
    """
    family = near.family
    assert isinstance(family, Family)
    start = family.at(np.array([near.parameter]), near.state[None])
    if not start.is_good[0]:
        return None
    if isinstance(family, ThresholdFamily):
        family = family.with_roots_from(start, Root.LOWEST if alpha > near.alpha else Root.HIGHEST)
    point = family.along(start, math.log(alpha))
    return family.solutions(point, np.array([alpha]))[0] if point is not None else None


def _is_traced(family: Family) -> bool:
    """Whether the whole curve of a family is known; most of those of many classes are only followed."""
    if isinstance(family, ClassFamily):
        return family in specialised_families(family.setting.problem, family.setting.theory)
    return not isinstance(family, ThresholdFamily)


def _cuts(family: Family) -> np.ndarray:
    """Where segments end: folds, and gaps of the curve (such as where α becomes infinite)."""
    nodes, is_joined = family.curve
    gaps = np.nonzero(~is_joined[:-1])[0]
    return np.sort(np.concatenate([family.folds.u, 0.5 * (nodes.u[gaps] + nodes.u[gaps + 1])]))


def _numbers(family: Family) -> np.ndarray:
    return np.searchsorted(_cuts(family), family.curve[0].u)


def _number(family: Family, u: float) -> int:
    return int(np.searchsorted(_cuts(family), u))


def segment_of(solution: Solution, theory: str = "main") -> Segment:
    """The segment that a solution lies on."""
    family = solution.family
    assert family is None or isinstance(family, Family)
    if family is None or not _is_traced(family):
        return Segment(solution.problem, theory, family)
    return Segment(solution.problem, theory, family, _number(family, solution.parameter))


def maxwell_point(
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


@dataclass(frozen=True)
class FeatureJump:
    """The equilibrium passes from ``before`` to ``after`` at α."""

    alpha: float
    before: FeaturePoint
    after: FeaturePoint


def feature_jumps(features: FeatureProblem, alpha_max: float) -> list[FeatureJump]:
    """All jumps up to alpha_max, in order."""
    last = features.equilibrium(alpha_max).n
    envelope: list[tuple[int, FeatureJump | None]] = [(0, None)]  # a number, and the jump to it
    for n in range(1, last + 1):
        while True:
            jump = _crossing(features, envelope[-1][0], n)
            earlier = envelope[-1][1]
            if jump is None or (earlier is not None and jump.alpha <= earlier.alpha):
                if len(envelope) == 1:
                    break
                envelope.pop()
                continue
            envelope.append((n, jump))
            break
    return [jump for _, jump in envelope if jump is not None and jump.alpha <= alpha_max]


def last_jump(features: FeatureProblem) -> float:
    """α from which all features are learnt."""
    many = len(features.sums)
    jump = _crossing(features, many - 1, many)
    if jump is None:  # they may be known all at once
        last = features.last_unknown(_MOST_ALPHA)
        return last if last < _MOST_ALPHA else math.inf

    def n_at(alpha: float) -> int:
        return many if features.is_known(alpha) else features.equilibrium(alpha).n

    low, high = jump.alpha * (1 - _SIDE), jump.alpha * (1 + _SIDE)
    below = n_at(low)
    if below < many and n_at(high) == many:
        return jump.alpha
    # The last ones are learnt with others, at a smaller α.
    while below == many:
        low, high = 0.8 * low, low
        below = n_at(low)
    while n_at(high) < many:
        low, high = high, 1.25 * high
    while high / low > 1 + _SIDE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if n_at(middle) == many else (middle, high)
    jump = _crossing(features, n_at(low), many)
    return high if jump is None else jump.alpha


def _crossing(features: FeatureProblem, few: int, many: int) -> FeatureJump | None:
    """Where ``many`` learnt features become better than ``few``."""
    log_v2, root = features.sums.log_v2, features.root
    guess = root.log_jump - float(log_v2[many - 1])
    gap = features.sum(many, guess).gap
    alpha = float(np.exp(features.setting.log_alpha(np.array([guess]), np.array([gap]))[0]))
    low, high = 0.0, np.inf
    best: FeatureJump | None = None
    start = guess
    for _ in range(_N_FEATURE_STEPS):
        before = features.at(few, alpha, start) if few else features.nothing(alpha)
        after = features.at(many, alpha, guess)
        if after is None or after.slope <= 0:  # not yet
            low = alpha
        elif before is None or before.slope <= 0:
            high = alpha
        else:
            best = FeatureJump(alpha, before, after)
            gain = after.potential - before.potential
            rate = features.deficit(before.gap) - features.deficit(after.gap)
            low, high = (alpha, high) if gain < 0 else (low, alpha)
            step = -gain / rate
            if abs(step) <= _FEATURE_RTOL * alpha:
                return best
            guess, start = after.log_coupling, before.log_coupling if few else start
            if low < alpha + step < high and abs(step) < 0.5 * alpha:
                alpha += step
                continue
        if high - low <= _FEATURE_RTOL * low:
            return best
        alpha = 0.5 * (low + high) if np.isfinite(high) else 1.02 * low
        if low == 0.0:
            alpha = 0.98 * high
    return best

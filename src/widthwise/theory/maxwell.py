r"""First-order transitions: Maxwell points, where two branch segments have equal free entropies.

A segment is a piece of a family between folds, on which there is one solution at each α.  A solution is
stationary, so that only the explicit dependence on α counts: d(αf)/dα = ψ_out, by which Newton's method finds
the crossing of two of them.

For laws of many features with μ₂ = 0 there is a potential f_n for each number n of learnt features, with
d(αf_n)/dα = ψ_out(ε_n), and ε_n falls with n: two of these curves cross once, and the equilibrium follows
their upper envelope.  It is found from both ends: where the curves of two values of α cross, either the
equilibrium jumps from one to the other, or a third one is higher and parts them.
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
from .families.followed import follow, followed_end
from .families.universal import UniversalFamily, perfect_solutions
from .setting import setting_of
from .solution import Solution

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

_NOTHING = -1  # number of the segment that is no part of a curve, where labels say nothing at any α
_N_STEPS, _RTOL = 16, 1e-12
_LEAST_ALPHA, _MOST_ALPHA = 1e-14, 1e12  # beyond which nothing is computed
_N_FEATURE_STEPS, _FEATURE_RTOL = 60, 1e-13
_INSIDE = 1e-6  # how far beside a fold a branch is looked at, in α
_LARGE_ALPHA = 1e10  # beyond which curves are not traced to their ends
_APART = 0.8  # steps of α in the search for the last jump
_DEEPEST = 60  # halvings of an interval in which branches end before they cross


@dataclass(frozen=True)
class Segment:
    """Part of a family, numbered from its beginning. No family: perfect learning."""

    problem: Problem
    theory: str
    family: Family | None
    number: int = 0

    def at(self, alpha: float, near: Solution | None = None) -> Solution | None:
        """The solution of this segment at α, if there is one.

        Where the family is not traced, the one that ``near`` leads to.
        """
        if self.family is None:
            return perfect_solutions(setting_of(self.problem, self.theory), np.array([alpha]))[0]
        if self.number == _NOTHING:
            assert isinstance(self.family, UniversalFamily)
            return self.family.nothing(np.array([alpha]))[0]
        if near is not None and not self.is_traced:
            return follow(near, alpha)
        cuts = np.concatenate([[-np.inf], _cuts(self.family), [np.inf]])
        points = self.family.crossings(np.array([alpha]), tuple(cuts[self.number : self.number + 2])).points
        for i in range(len(points)):
            if _number(self.family, points.u[i]) == self.number:  # it may have been polished across a fold
                return self.family.solutions(points[np.array([i])], np.array([alpha]))[0]
        return None

    @property
    def is_traced(self) -> bool:
        """Whether the whole segment is known; else it is only followed."""
        return self.family is None or _is_traced(self.family)

    def begin(self, near: Solution) -> float:
        """Smallest α of the stable part: a fold, or where the family begins; ``near`` is a solution on it."""
        low, _ = self._ends
        if not self._can_be_followed:
            return low
        if self._has_fold(low):
            inside = self.at(low * (1 + _INSIDE), near)
            return low if inside is not None and inside.is_stable else followed_end(near, -1)
        followed = followed_end(near, -1)
        return min(low, followed) if self.is_traced else followed  # it may go on in another family

    def end(self, near: Solution) -> float:
        """Largest α of the segment: a fold, or infinity."""
        _, high = self._ends
        if self._has_fold(high):
            return high
        # A curve that ends at large α goes on to infinite α, and at any other may go on in another family.
        is_endless = not self._can_be_followed or (self.is_traced and high > _LARGE_ALPHA)
        return math.inf if is_endless else followed_end(near, 1)

    @property
    def _can_be_followed(self) -> bool:
        return isinstance(self.family, ClassFamily | ThresholdFamily)

    def _has_fold(self, alpha: float) -> bool:
        """Whether the segment ends in a fold at this α."""
        return any(math.isclose(fold, alpha, rel_tol=1e-9) for fold in self._folds)

    @property
    def _folds(self) -> list[float]:
        """α of the folds at its ends; one belongs to both of its segments."""
        if self.family is None or not self.is_traced or self.number == _NOTHING:
            return []
        folds, cuts = self.family.folds, _cuts(self.family)
        beside = cuts[max(self.number - 1, 0) : self.number + 1]
        return [float(alpha) for alpha in np.exp(folds.log_alpha[np.isin(folds.u, beside)])]

    @property
    def _ends(self) -> tuple[float, float]:
        """Smallest and largest α on the curve of the family."""
        if self.family is None or not self.is_traced or self.number == _NOTHING:
            return 0.0, math.inf
        nodes, _ = self.family.curve
        own = np.exp(nodes.log_alpha[_numbers(self.family) == self.number])
        own = np.concatenate([own, self._folds])
        return (float(own.min()), float(own.max())) if own.size else (0.0, math.inf)


def _is_traced(family: Family) -> bool:
    """Whether the whole curve of a family is known; most of those of many classes are only followed.

    So are those whose units may be known exactly: there smaller classes jump along the curve of a larger one.
    """
    if family.setting.units.can_be_known and not isinstance(family, UniversalFamily):
        return False
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
    if math.isinf(solution.parameter):  # B = 0: labels that depend on |λ| alone have told nothing
        return Segment(solution.problem, theory, family, _NOTHING)
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
            return None
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
    return _jumps_between(features, features.nothing(_LEAST_ALPHA), features.equilibrium(alpha_max))


def last_jump(features: FeatureProblem) -> float:
    """α from which all features are learnt."""
    many = len(features.sums)

    def is_all(alpha: float) -> bool:
        return features.is_known(alpha) or features.equilibrium(alpha).n == many

    if not is_all(_MOST_ALPHA):
        return math.inf
    low = high = min(max(features.last_alone, _LEAST_ALPHA), _MOST_ALPHA)
    while is_all(low):
        low, high = _APART * low, low
    while not is_all(high):
        low, high = high, high / _APART
    top = features.last_unknown(high)
    if top < high:
        return top
    ends = features.equilibrium(low), features.equilibrium(high)
    return _jumps_between(features, *ends, only_last=True)[-1].alpha


def _jumps_between(
    features: FeatureProblem,
    low: FeaturePoint,
    high: FeaturePoint,
    depth: int = 0,
    *,
    only_last: bool = False,
) -> list[FeatureJump]:
    """Jumps of the equilibrium between two values of α, given it at both; or the last of them.

    αf of both falls at a known rate: their tangents cross in between, and the equilibrium there is one of
    them or a third one, which parts them.
    """
    if low.n == high.n or depth > _DEEPEST:
        return []
    if high.n > low.n + 1:
        middle = features.equilibrium(_tangents_cross(features, low, high))
        if middle.n not in (low.n, high.n):
            return _parted(features, low, middle, high, depth, only_last)
        low, high = (middle, high) if middle.n == low.n else (low, middle)
    jump = _crossing(features, low, high)
    if jump is None:  # one of them ends before
        middle = features.equilibrium(math.sqrt(low.alpha * high.alpha))
        return _parted(features, low, middle, high, depth, only_last)
    if high.n > low.n + 1:
        middle = features.equilibrium(jump.alpha)
        is_higher = middle.potential > jump.before.potential + _FEATURE_RTOL * abs(jump.before.potential)
        if is_higher and middle.n not in (low.n, high.n):
            return _parted(features, low, middle, high, depth, only_last)
    return [jump]


def _parted(
    features: FeatureProblem,
    low: FeaturePoint,
    middle: FeaturePoint,
    high: FeaturePoint,
    depth: int,
    only_last: bool,
) -> list[FeatureJump]:
    found = _jumps_between(features, middle, high, depth + 1, only_last=only_last)
    if found and only_last:
        return found
    return _jumps_between(features, low, middle, depth + 1, only_last=only_last) + found


def _tangents_cross(features: FeatureProblem, low: FeaturePoint, high: FeaturePoint) -> float:
    """α between two points at which their αf would be equal if they fell at constant rates."""
    rates = features.deficit(low.gap), features.deficit(high.gap)
    heights = low.potential + rates[0] * low.alpha, high.potential + rates[1] * high.alpha
    alpha = (heights[0] - heights[1]) / (rates[0] - rates[1]) if rates[0] > rates[1] else math.nan
    return alpha if low.alpha < alpha < high.alpha else math.sqrt(low.alpha * high.alpha)


def _crossing(features: FeatureProblem, low: FeaturePoint, high: FeaturePoint) -> FeatureJump | None:
    """Where the branch of the second point becomes better than that of the first, or None if one ends."""

    def follow(point: FeaturePoint, alpha: float) -> FeaturePoint | None:
        if point.n == 0:
            return features.nothing(alpha)
        ahead = math.log(alpha / point.alpha) / point.slope
        found = features.at(point.n, alpha, point.log_coupling + ahead)
        return found if found is not None and found.slope > 0 else None

    least, most = low.alpha, high.alpha
    before, after = low, high
    alpha = _tangents_cross(features, low, high)
    for _ in range(_N_FEATURE_STEPS):
        one, other = follow(before, alpha), follow(after, alpha)
        if one is None and other is None:
            return None
        step = math.nan
        if one is not None and other is not None:
            before, after = one, other
            gain = other.potential - one.potential
            rate = features.deficit(one.gap) - features.deficit(other.gap)
            step = -gain / rate if rate > 0 else math.nan
        is_new = one is None or (other is not None and gain > 0)
        least, most = (least, alpha) if is_new else (alpha, most)
        is_closed = most - least <= _FEATURE_RTOL * most  # before rounding lets a step be as short
        if abs(step) <= (100 if is_closed else 1) * _FEATURE_RTOL * alpha:
            return FeatureJump(alpha, before, after)
        if is_closed:
            break
        alpha = alpha + step if least < alpha + step < most else 0.5 * (least + most)
    return None

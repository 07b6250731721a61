"""A list of transitions against ``solve`` and ``solutions`` on both sides of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import widthwise as ww
from invariants import null_error, rising
from widthwise.theory.families.features import has_many_features
from widthwise.theory.setting import setting_of

__all__ = ["transitions_hold"]

# Where the equilibrium is looked at beside a transition, relatively; the middle two are the closest.
_BESIDE = np.array([-1e-2, -1e-3, -1e-4, -1e-5, -1e-6, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2])

# Beside a spinodal, relatively: a branch may fold twice within 1e-5 and go on, and closer than the last of
# these two solutions that meet may be lost in rounding.
_BESIDE_SPINODAL = (1e-5, 1e-7)

_N_LOOKED_AT = 6  # transitions of one list; 64 readouts may have as many
_N_TRACED = 6  # distinct |v| up to which branches are followed to their ends


def transitions_hold(
    problem: ww.Problem, listed: Sequence[ww.Transition], alpha_max: float, along: Sequence[ww.Solution]
) -> list[str]:
    """What the list says is seen 1e-6 before and behind each transition, and nothing else along a curve."""
    found = _unlisted(problem, listed, alpha_max, along) + _unlisted_jumps(problem, listed, alpha_max, along)
    places = [t.alpha for t in listed]
    if places != sorted(places):
        found.append(f"transitions not in order: {places}")
    chosen = np.unique(np.linspace(0, len(listed) - 1, _N_LOOKED_AT).round().astype(int)) if listed else []
    for t in (listed[i] for i in chosen):
        if t.alpha <= 1e-12 or t.alpha * (1 + 1e-5) >= alpha_max or not math.isfinite(t.readout):
            continue
        near = ww.learning_curve(problem, t.alpha * (1 + _BESIDE))
        low, high = near[_BESIDE.size // 2 - 1], near[_BESIDE.size // 2]
        if not (low.is_converged and high.is_converged):
            continue  # so close to where two solutions meet it may give up, if it says so
        found += [f"{t}: {text}" for text in rising(near)]
        v = np.abs(np.asarray(low.readout_values))
        own = np.isclose(v, t.readout, rtol=1e-9, atol=0)
        if not _is_followed(problem):
            continue
        if not own.any():
            found.append(f"{t}: there is no such readout among {v}")
            continue
        before, behind = float(low.weight_overlap[own].max()), float(high.weight_overlap[own].max())
        if t.kind == "continuous":
            # Over 2e-6 of α a continuous overlap moves by the root of it at most, with room.
            if before != 0 or not 0 < behind < 0.05:
                found.append(f"{t}: overlap {before!r} before and {behind!r} behind")
        else:
            if t.spinodals is not None and 0 < t.spinodals[1] - t.spinodals[0] < 1e-4 * t.spinodals[0]:
                # Next to its end a branch is steep: 1e-6 of α is much there.
                side = max(1e-3 * (t.spinodals[1] / t.spinodals[0] - 1), 1e-12, _blur(problem, t, high))
                low, high = (ww.solve(problem, t.alpha * (1 + e)) for e in (-side, side))
                before, behind = (float(s.weight_overlap[own].max()) for s in (low, high))
            jump, drop = behind - before, low.excess_error - high.excess_error
            if abs(jump - t.overlap_jump) > 1e-2 * abs(t.overlap_jump) + 1e-3:
                found.append(f"{t}: overlap {before!r} before and {behind!r} behind, jump {t.overlap_jump!r}")
            if abs(drop - t.error_jump) > 1e-2 * abs(t.error_jump) + 1e-4 * null_error(problem):
                found.append(f"{t}: error drops by {drop!r}, listed {t.error_jump!r}")
            found += _spinodals_hold(problem, t, alpha_max)
    return found


def _blur(problem, t, behind) -> float:
    """By how much rounding of two free entropies moves the α, relatively, at which they are equal."""
    errors = behind.excess_error + np.array([0.0, t.error_jump])
    labels = problem.channel.free_entropy(np.minimum(errors, problem.output_power), problem.output_power)
    rounding = 1e-14 * (
        1 + abs(behind.free_entropy) + 1 / t.alpha
    )  # terms over α are right before the division
    return float(rounding / max(abs(labels[1] - labels[0]), 1e-300))


_LITTLE = 1e-3  # overlap next to where it vanishes continuously, at a relative distance of 1e-7 in α
_N_HALVINGS = 22


def _overlap_before_loss(problem, v, low, high) -> float:
    """The overlap of units of readout ±v just below the α at which they are lost again, before ``high``."""

    def overlap(s: ww.Solution) -> float:
        return float(np.max(s.weight_overlap[np.isclose(np.abs(s.readout_values), v, rtol=1e-9)]))

    between = [s for s in ww.learning_curve(problem, np.geomspace(low, high, 8)[1:-1]) if overlap(s) > 0]
    if not between:
        return 0.0
    last = between[-1]
    for _ in range(_N_HALVINGS):
        middle = ww.solve(problem, math.sqrt(last.alpha * high))
        if overlap(middle) > 0:
            last = middle
        else:
            high = middle.alpha
    return overlap(last)


def _unlisted(problem, listed, alpha_max, along) -> list[str]:
    """Units are learnt behind the transition of their readout, and not before."""
    if has_many_features(setting_of(problem)):
        return _miscounted(listed, alpha_max, along)
    if not _is_followed(problem):
        return []
    found = []
    for s in along:
        if s.alpha > alpha_max or s.status != "converged":
            continue
        sizes = np.abs(np.asarray(s.readout_values))
        for v in np.unique(sizes).tolist():
            own = [t for t in listed if math.isclose(t.readout, v, rel_tol=1e-9)]
            places = [t.alpha for t in own]
            is_lost = next((t.overlap_jump < 0 for t in reversed(own) if t.alpha < s.alpha), False)
            is_learnt = bool(np.max(s.weight_overlap[sizes == v]) > 0)
            if any(abs(s.alpha / place - 1) < 1e-6 for place in places if place > 0):
                continue
            if is_learnt and (is_lost or not any(place < s.alpha for place in places)):
                found.append(f"|v| = {v!r} is learnt at alpha={s.alpha!r}, its transitions are at {places}")
            elif not (is_learnt or is_lost) and any(place < s.alpha for place in places):
                # What was learnt may be lost again, without a jump, as larger readouts are learnt.
                since = max(place for place in places if place < s.alpha)
                if _overlap_before_loss(problem, v, since, s.alpha) < _LITTLE:
                    continue
                found.append(
                    f"|v| = {v!r} is not learnt at alpha={s.alpha!r}, its transitions are at {places}"
                )
    return found[:3]  # one unlisted transition shows at every point behind it


def _miscounted(listed, alpha_max, along) -> list[str]:
    """Of many features, as many sizes are learnt at α as have a transition before."""
    found = []
    for s in along:
        if s.alpha > alpha_max or s.status != "converged":
            continue
        sizes = np.abs(np.asarray(s.readout_values))
        n_learnt = np.unique(sizes[s.weight_overlap > 0]).size
        # One that is learnt may jump once more, to weights that are known.
        before, near = (
            len({t.readout for t in listed if t.alpha < s.alpha * (1 + side)}) for side in (-1e-9, 1e-9)
        )
        if not before <= n_learnt <= near:
            found.append(f"{n_learnt} sizes are learnt at alpha={s.alpha!r}, {before} are listed before")
    return found[:3]


def _unlisted_jumps(problem, listed, alpha_max, along) -> list[str]:
    """A large change between two points that no transition explains is followed until it is a jump or not."""
    points = [s for s in along if s.status == "converged" and s.alpha <= alpha_max]
    for low, high in zip(points[:-1], points[1:], strict=True):
        if _change(low, high) < 0.3 or any(low.alpha <= t.alpha <= high.alpha for t in listed):
            continue
        while high.alpha / low.alpha > 1 + 1e-6 and _change(low, high) > 0.1:
            inner = [low, *ww.learning_curve(problem, np.geomspace(low.alpha, high.alpha, 8)[1:-1]), high]
            low, high = max(zip(inner[:-1], inner[1:], strict=True), key=lambda pair: _change(*pair))
        if _change(low, high) > 0.1:  # over 1e-6 of α
            return [f"a jump by {_change(low, high):.3g} at alpha={high.alpha!r} is not listed"]
    return []


def _change(one: ww.Solution, other: ww.Solution) -> float:
    """Of the overlaps; where a front runs through a law of many readouts, of the error."""
    if _is_followed(one.problem):
        return float(np.max(np.abs(np.asarray(one.weight_overlap) - np.asarray(other.weight_overlap))))
    null = null_error(one.problem)
    return abs(one.excess_error - other.excess_error) / null if null > 0 else 0.0


def _is_followed(problem: ww.Problem) -> bool:
    """Whether each |v| has its own transition in the list: up to 16 are."""
    return problem.readouts.is_discrete and np.unique(np.abs(problem.readouts.told_apart)).size <= 16


def _spinodals_hold(problem: ww.Problem, t: ww.Transition, alpha_max: float) -> list[str]:
    """The new branch is born at one spinodal, the old one ends at the other."""
    if t.spinodals is None:
        is_traced = np.unique(np.abs(problem.readouts.told_apart)).size <= _N_TRACED
        return [f"{t}: first-order without spinodals"] if is_traced else []
    begin, end = t.spinodals
    if not begin <= t.alpha * (1 + 1e-9) or not t.alpha * (1 - 1e-9) <= end:
        return [f"{t}: spinodals {t.spinodals} on one side"]
    found = []
    for place, side, words in ((begin, 1, "begins"), (end, -1, "ends")):
        if not (1e-10 < place < alpha_max and math.isfinite(place)) or abs(place / t.alpha - 1) < 1e-4:
            continue
        for distance in _BESIDE_SPINODAL:
            inside, outside = (
                _stable_kinds(problem, place * (1 + sign * side * distance)) for sign in (1, -1)
            )
            if inside != outside:
                break
        else:
            found.append(
                f"{t}: a branch {words} at the spinodal {place!r}, but the stable ones have {inside} "
                f"readouts learnt on both sides"
            )
    return found


def _stable_kinds(problem: ww.Problem, alpha: float) -> list[int]:
    """How many readouts each stable solution has learnt: a branch that folds is gone, one that passes its
    stability on has one more."""
    return sorted(_n_learnt(s) for s in ww.solutions(problem, alpha) if s.is_stable)


def _n_learnt(s: ww.Solution) -> int:
    return int(np.count_nonzero(s.weight_overlap))

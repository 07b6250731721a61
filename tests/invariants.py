r"""What must hold of any answer to any problem, checked through the public names alone.

Every function returns a list of violations, sentences with the numbers in them; an empty list is good.

- one solution: :func:`honest`, :func:`bounded`, and its equations in :mod:`stationarity`;
- all solutions at one α: :func:`ranked`, :func:`counted`;
- the equilibrium along α: :func:`rising`. α f(α) is a maximum of functions that are linear in α, hence
  convex, and its slope is ψ_out at the equilibrium. So errors do not rise, and every secant of the
  mutual information lies between its slopes at both ends, jumps or not, however far apart they are;
- two routes to one number: :func:`alike`.

The list of transitions is held to the same in :mod:`transition_checks`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import widthwise as ww

__all__ = [
    "RESIDUAL",
    "UNDERFLOW",
    "alike",
    "bounded",
    "can_be_perfect",
    "channel_rounding",
    "counted",
    "free_entropy_rounding",
    "honest",
    "information_slope",
    "is_perfect",
    "may_lack_tilt",
    "null_error",
    "ranked",
    "rising",
]

RESIDUAL = 1e-10
"""What a converged solution promises of its equations, relatively (docs/how-far-to-trust-it.md)."""

# Two routes to one stationary point of residual 1e-10.
_SAME = 1e-8
# Tables of a channel are right to 1e-10 (same page), with room.
_CHANNEL = 1e-9

UNDERFLOW = 1e-250
"""What is left of discrete weights that are almost known falls below the smallest double."""

_NUMBERS = (
    "residual", "excess_error", "bayes_error", "gibbs_error", "matrix_overlap", "matrix_overlap_hat",
    "matrix_overlap_centred", "tilt", "free_entropy", "mutual_information",
)  # fmt: skip
_ARRAYS = ("weight_overlap", "weight_overlap_hat")


# ---------------------------------------------------------------------- one solution


def honest(s: ww.Solution) -> list[str]:
    """Converged, with finite numbers and a small residual; or a reason, and no number at all."""
    numbers = {name: np.asarray(getattr(s, name), dtype=float) for name in (*_NUMBERS, *_ARRAYS)}
    if s.status != "converged":
        left = [name for name, value in numbers.items() if not np.all(np.isnan(value))]
        if left or not s.status:
            return [f"status {s.status!r} at alpha={s.alpha!r}, yet {left} are numbers"]
        return []
    may_be_infinite = ("tilt", "matrix_overlap_hat", "weight_overlap_hat") if is_perfect(s) else ()
    if can_be_perfect(s.problem) and np.all(np.isfinite(s.weight_overlap_hat[s.weight_overlap < 1])):
        may_be_infinite += ("weight_overlap_hat",)
    if s.problem.weights.is_discrete and s.excess_error < UNDERFLOW:
        may_be_infinite += ("tilt",)
    if math.isinf(s.problem.channel.irreducible_error(s.problem.output_power)):
        may_be_infinite += ("bayes_error", "gibbs_error")  # labels without a variance
    if may_lack_tilt(s.problem):
        numbers.pop("tilt")
    bad = [
        name
        for name, value in numbers.items()
        if np.any(np.isnan(value)) or (np.any(np.isinf(value)) and name not in may_be_infinite)
    ]
    found = [f"converged at alpha={s.alpha!r} with {name} = {numbers[name]}" for name in bad]
    if not s.residual <= RESIDUAL:
        found.append(f"converged at alpha={s.alpha!r} with residual {s.residual:.2e}")
    # With a density, units between the reported readouts or beyond them may be learnt.
    is_universal = bool(np.all(s.weight_overlap == 0))
    if s.problem.readouts.is_discrete and is_universal != (s.branch == "universal"):
        found.append(f"branch {s.branch!r} at alpha={s.alpha!r} with overlaps {s.weight_overlap}")
    return found


def bounded(s: ww.Solution) -> list[str]:
    """Errors, overlaps and information within their ranges."""
    if s.status != "converged":
        return []
    problem, found = s.problem, []

    def within(name: str, value: float, low: float, high: float, room: float) -> None:
        if not low - room <= value <= high + room:
            found.append(f"{name} = {value!r} outside [{low!r}, {high!r}] at alpha={s.alpha!r}")

    null, power = null_error(problem), problem.output_power
    within("excess_error", s.excess_error, 0.0, null, 1e-12 * null)
    within("matrix_overlap_centred", s.matrix_overlap_centred, 0.0, 1.0, 1e-12)
    overlap = np.asarray(s.weight_overlap)
    within("smallest weight_overlap", float(overlap.min()), 0.0, 1.0, 0.0)
    within("largest weight_overlap", float(overlap.max()), 0.0, 1.0, 1e-15)
    room = s.alpha / problem.gamma * free_entropy_rounding(s)
    most = _most_information(problem) if s.is_equilibrium else math.inf  # others fall short in free entropy
    within("mutual_information", s.mutual_information, 0.0, most, room)
    least = problem.channel.irreducible_error(power)
    if math.isinf(least):
        return found
    size = least + s.bayes_error
    within("bayes_error", s.bayes_error, least, _bayes_error(problem, null), _CHANNEL * size)
    if abs(s.gibbs_error - 2 * s.bayes_error + least) > _CHANNEL * size:
        found.append(
            f"gibbs_error {s.gibbs_error!r} is not 2 bayes_error - irreducible = "
            f"{2 * s.bayes_error - least!r} at alpha={s.alpha!r}"
        )
    return found


# ---------------------------------------------------------------------- all solutions at one α


def ranked(found: Sequence[ww.Solution]) -> list[str]:
    """Highest free entropy first, no two alike, one equilibrium: the first, and stable."""
    if not found:
        return ["no solution at all, and no reason"]
    alpha, violations = found[0].alpha, []
    if any(s.status != "converged" for s in found):  # said: which one is best is then not known
        return [f"an equilibrium at alpha={alpha!r} beside what gave up" for s in found if s.is_equilibrium]
    if not any(s.branch == "universal" for s in found):
        violations.append(f"no universal solution at alpha={alpha!r}: overlaps 0 always solve the equations")
    equilibria = [i for i, s in enumerate(found) if s.is_equilibrium]
    if len(equilibria) != 1:
        return [*violations, f"{len(equilibria)} equilibria at alpha={alpha!r}"]
    best = found[equilibria[0]]
    entropies = np.array([s.free_entropy for s in found])
    room = free_entropy_rounding(best)
    if np.any(np.diff(entropies) > room):
        violations.append(f"free entropies not in order at alpha={alpha!r}: {entropies.tolist()}")
    if not best.note:
        if best.free_entropy < entropies.max() - room:
            violations.append(
                f"equilibrium at alpha={alpha!r} has free entropy {best.free_entropy!r}, "
                f"another {entropies.max()!r}"
            )
        rivals = [s for s in found if s.is_stable and best.free_entropy - s.free_entropy <= room]
        if not best.is_stable and not rivals:
            violations.append(
                f"the equilibrium is not stable at alpha={alpha!r}: error {best.excess_error!r}, "
                f"overlaps {best.weight_overlap}"
            )
    for i, one in enumerate(found):
        for other in found[:i]:
            is_known = [np.isinf(s.weight_overlap_hat) for s in (one, other)]
            if np.any(is_known[0] != is_known[1]):  # weights known exactly, and all but exactly
                continue
            if one.branch == other.branch and _distance(one, other) < 1e-7 and _has_same_snr(one, other):
                violations.append(f"one solution twice at alpha={alpha!r}: error {one.excess_error!r}")
    return violations


def counted(found: Sequence[ww.Solution]) -> list[str]:
    r"""An even number of solutions with units learnt where overlaps 0 are stable, else an odd one.

    For one |v| and one universal solution. The equations are a fixed point x = T(x) of a map that takes
    a box into itself; mirrored to negative overlaps, the signs of det(1 - DT) over all fixed points add up
    to 1 (Lefschetz), and each solution with units learnt counts twice.
    """
    if not found or not found[0].problem.readouts.is_discrete:
        return []
    if any(s.status != "converged" for s in found):
        return []
    sizes = np.unique(np.round(np.abs(found[0].problem.readouts.values), 9))
    universal = [s for s in found if s.branch == "universal"]
    if sizes.size > 1 or len(universal) != 1 or _is_marginal(found):
        return []
    n_learnt = len(found) - 1
    if n_learnt % 2 == universal[0].is_stable and not _hides_a_barrier(found):
        is_it = "" if universal[0].is_stable else "un"
        return [
            f"{n_learnt} solutions with units learnt at alpha={found[0].alpha!r}, where overlaps 0 are "
            f"{is_it}stable: errors {[s.excess_error for s in found]}"
        ]
    return []


# Gaps that a channel takes for each other (docs/how-it-is-computed.md): a solution there cannot be listed.
_LEAST_GAP = 1e-190


def _hides_a_barrier(found: Sequence[ww.Solution]) -> bool:
    r"""Whether the barrier before known weights is at a gap too small for the channel.

    α = γB/(2ψ_out') falls with the gap there. mmse is convex, so that A <= μ₂²B and
    x <= v²(μ₂² + g'(1))B; and x is at least that at which units alone leave so small a gap.
    """
    problem = found[0].problem
    pull = problem.hermite[2] ** 2 + float(problem.activation.tail_kernel_slope(1.0))
    if not any(is_perfect(s) for s in found) or math.isinf(pull):
        return False
    x = np.geomspace(1e-3, 1e18, 400)
    least = x[problem.weights.mmse(x) * pull >= _LEAST_GAP][-1]
    slope = float(problem.channel.free_entropy_slope(_LEAST_GAP, problem.output_power))
    v2 = float(np.max(np.abs(problem.readouts.values))) ** 2
    return bool(problem.gamma * least > 2 * found[0].alpha * v2 * pull * slope)


def _is_marginal(found: Sequence[ww.Solution]) -> bool:
    """Whether two solutions are about to meet: there one of them may be lost in rounding."""
    return any(_distance(one, other) < 1e-4 for i, one in enumerate(found) for other in found[:i])


# ---------------------------------------------------------------------- along α


def rising(curve: Sequence[ww.Solution]) -> list[str]:
    """Errors fall, information rises, and its secants lie between its slopes; for an equilibrium along α."""
    points = sorted((s for s in curve if s.status == "converged"), key=lambda s: s.alpha)
    points = [s for i, s in enumerate(points) if i == 0 or s.alpha > points[i - 1].alpha]
    found = []
    for one, two in zip(points[:-1], points[1:], strict=True):
        where = f"between alpha={one.alpha!r} and {two.alpha!r}"
        if two.excess_error > one.excess_error * (1 + _SAME) + 1e-300:
            found.append(f"excess_error rises from {one.excess_error!r} to {two.excess_error!r} {where}")
        room = sum(s.alpha / s.problem.gamma * free_entropy_rounding(s) for s in (one, two))
        gained = two.mutual_information - one.mutual_information
        if gained < -room:
            found.append(f"mutual_information falls by {-gained:.3e} {where}")
        step = two.alpha - one.alpha
        first, last = information_slope(one), information_slope(two)
        room += step / one.problem.gamma * channel_rounding(one.problem)
        room += _CHANNEL * step * max(first, last, 0.0)
        if not last * step - room <= gained <= first * step + room:
            found.append(
                f"mutual_information grows by {gained!r} {where}; "
                f"its slope allows {last * step!r} to {first * step!r}"
            )
    return found


def information_slope(s: ww.Solution) -> float:
    """dI/dα = (ψ_out with λ known - ψ_out at the solution)/γ, along any branch."""
    channel, power = s.problem.channel, s.problem.output_power
    known, here = channel.free_entropy_known(power), channel.free_entropy(s.excess_error, power)
    return float(known - here) / s.problem.gamma


# ---------------------------------------------------------------------- two routes to one number


def alike(
    one: ww.Solution,
    other: ww.Solution,
    *,
    rtol: float = _SAME,
    atol: float = 0.0,
    scale: float = 1.0,
    entropy_shift: float = 0.0,
    label: str = "",
) -> list[str]:
    """The same equilibrium twice; ``other`` may be of a problem with the output scaled.

    ``atol`` is a share of the error without data.
    Where two solutions have the same free entropy either may be given: free entropies are compared, then
    errors only if the other problem lacks a rival.
    """
    if one.status != other.status:
        return [f"{label}: status {one.status!r} and {other.status!r} at alpha={one.alpha!r}"]
    if one.status != "converged":
        return []
    found = []
    # f is flat at a solution, but for the entropy of what was added, (γ/α) p ln p.
    room = free_entropy_rounding(one) + free_entropy_rounding(other) + rtol**1.5
    room += atol * one.problem.gamma / one.alpha
    if abs(one.free_entropy - other.free_entropy - entropy_shift) > room:
        found.append(
            f"{label}: free_entropy {one.free_entropy!r} and {other.free_entropy + entropy_shift!r} "
            f"at alpha={one.alpha!r}"
        )
    expected = other.excess_error * scale
    allowed = rtol * max(one.excess_error, expected) + atol * null_error(one.problem)
    if abs(one.excess_error - expected) > allowed and not _has_rival(one, room):
        found.append(f"{label}: excess_error {one.excess_error!r} and {expected!r} at alpha={one.alpha!r}")
    return found


def _has_rival(s: ww.Solution, room: float) -> bool:
    there = ww.solutions(s.problem, s.alpha)
    rivals = [r for r in there if abs(r.free_entropy - s.free_entropy) <= 10 * room]
    return any(_distance(one, other) > 1e-6 for i, one in enumerate(rivals) for other in rivals[:i])


def _has_same_snr(one: ww.Solution, other: ww.Solution) -> bool:
    """Whether x agrees too, which still differs where units are all but known, or hardly learnt."""
    snr = np.stack([one.weight_overlap_hat, other.weight_overlap_hat])
    if np.any((snr[0] > 0) != (snr[1] > 0)):
        return False
    snr = snr[:, np.all((snr > 0) & np.isfinite(snr), axis=0)]
    return bool(np.all(np.abs(np.diff(np.log(snr), axis=0)) < 1e-4))


# ---------------------------------------------------------------------- numbers they share


def null_error(problem: ww.Problem) -> float:
    """Excess error with nothing known beyond the linear part, μ₂²/2 + g(1)."""
    return 0.5 * problem.hermite[2] ** 2 + float(problem.activation.tail_kernel(1.0))


def can_be_perfect(problem: ww.Problem) -> bool:
    """Whether units may be known exactly at finite α.

    Discrete weights, with a likelihood or an activation that jumps: then ψ_out or g falls like a
    root where an overlap leaves 1, which no gain of entropy makes up for.
    """
    channel = problem.channel
    # A likelihood that jumps counts as without noise, however often the label is wrong.
    is_sharp = channel.is_noiseless or (bool(channel.breaks) and getattr(channel, "has_jumps", False))
    has_end = is_sharp or math.isinf(float(problem.activation.tail_kernel_slope(1.0)))
    return problem.weights.is_discrete and has_end


def may_lack_tilt(problem: ww.Problem) -> bool:
    """Many sizes of readouts and no quadratic part: nothing depends on the tilt, and it is not computed."""
    law = problem.readouts
    return law.is_discrete and np.unique(np.abs(law.values)).size > 64 and abs(problem.hermite[2]) < 1e-8


def is_perfect(s: ww.Solution) -> bool:
    """Whether all is known."""
    return bool(np.isinf(s.tilt)) and s.excess_error == 0


def free_entropy_rounding(s: ww.Solution) -> float:
    """1e-11, as promised, in units of f; its terms divided by α are right to 1e-14 before the division."""
    return 1e-11 * (1 + abs(s.free_entropy)) + 1e-14 / s.alpha


def channel_rounding(problem: ww.Problem) -> float:
    """Of a difference of two ψ_out: tables are right to 1e-10, a closed form to rounding."""
    known = abs(float(problem.channel.free_entropy_known(problem.output_power)))
    return (1e-14 if isinstance(problem.channel, ww.channels.Gaussian) else 2e-10) * (1 + known)


def _most_information(problem: ww.Problem) -> float:
    """Entropy of the weights that reach the output: of a discrete law; infinite otherwise."""
    if problem.weights.entropy is None:
        return math.inf
    share = 1.0
    if problem.readouts.is_discrete:
        v, p = np.asarray(problem.readouts.values), np.asarray(problem.readouts.probabilities)
        share = float(p[v != 0].sum())
    return problem.weights.entropy * share


def _bayes_error(problem: ww.Problem, gap: float) -> float:
    return float(problem.channel.bayes_error(gap, problem.output_power))


def _distance(one: ww.Solution, other: ww.Solution) -> float:
    """How far two solutions are apart in their overlaps, and in the matrix relative to what is left."""
    apart = float(np.max(np.abs(np.asarray(one.weight_overlap) - np.asarray(other.weight_overlap))))
    error = max(one.excess_error, other.excess_error)
    relative = abs(one.excess_error - other.excess_error) / error if error > 0 else 0.0
    return max(apart, relative)

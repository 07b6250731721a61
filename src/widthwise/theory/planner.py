"""How much data a target needs: for the optimum, and for a learner that stays on the universal branch.

GAMP-RIE reaches the universal branch in polynomial time; no such learner is known to go beyond it.
There the error is explicit: the target fixes mmse(q̂₂), which fixes q̂₂, and α follows.  The
equilibrium error falls with α, with a jump at each first-order transition, so the smallest α
that meets the target is bracketed and the bracket narrowed.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._bad_value import plural
from .._display import Shown
from ..ingredients.features import Features
from ..problem import Problem
from .errors import check_error, error_at, gap_of_error
from .linear_regime import solve_linear
from .scaling import effective_width
from .setting import THEORIES, Setting, setting_of
from .solver import ALPHA_RANGE, InexactPotentialWarning, learning_curve

__all__ = ["Need", "SamplesNeeded", "samples_needed"]

# Where the optimum is looked for: n between a few times d and 1e8 d² for any d that fits a computer.
_ALPHAS = np.geomspace(1e-8, 1e8, 17)
_RTOL = 1e-9
# Where a bracket of unit length is looked at: thirds of it for jumps, and close to the secant's root.
_THIRDS = np.array([1 / 3, 2 / 3])
_AROUND = np.array([-0.02, 0.0, 0.02])

_WORDS = {
    "excess_error": "excess error",
    "overlap": "overlap",
    "matrix_overlap": "centred matrix overlap",
}


@dataclass(frozen=True)
class Need:
    """What one kind of learner needs to reach the target."""

    alpha: float
    """Smallest α = n/d²; 0 when fewer than Θ(d²) samples do, infinity when none suffice."""
    n: int | None
    """Samples at the dimension asked for; None without one, or out of reach."""
    is_reachable: bool
    limit: float
    """The quantity as α → ∞."""
    is_jump: bool = False
    """Whether the target is passed in a first-order transition."""
    alpha_linear: float | None = None
    """α₁ = n/d where Θ(d) samples suffice (0: none are needed)."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "n": self.n,
            "is_reachable": self.is_reachable,
            "limit": self.limit,
            "is_jump": self.is_jump,
            "alpha_linear": self.alpha_linear,
        }


@dataclass(frozen=True, repr=False)
class SamplesNeeded(Shown):
    """The data that a target needs; ``print`` it for a sentence."""

    problem: Problem
    quantity: str
    target: float
    d: int | None
    optimum: Need
    universal: Need
    """A polynomial-time learner, which reaches the universal branch (GAMP-RIE does)."""
    readout: float | None = None

    @property
    def alpha(self) -> float:
        """α of the optimum."""
        return self.optimum.alpha

    @property
    def n(self) -> int | None:
        """Samples for the optimum, if a dimension was given."""
        return self.optimum.n

    @cached_property
    def effective_width(self) -> float | None:
        """Hidden units that the optimum has learnt where it meets the target, of γd.

        A student of this width is as good as a wider one. None without a dimension, or out of reach.
        """
        need = self.optimum
        if self.d is None or not need.is_reachable or need.alpha_linear is not None:
            return None
        alpha = min(need.alpha * (1 + 2 * _RTOL), ALPHA_RANGE[1])  # beyond a jump
        return float(effective_width(self.problem, np.array([alpha]), self.d)[0])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "quantity": self.quantity,
            "target": self.target,
            "readout": self.readout,
            "d": self.d,
            "effective_width": self.effective_width,
            "optimum": self.optimum.to_dict(),
            "universal": self.universal.to_dict(),
        }

    def __repr__(self) -> str:
        needs = [f"alpha {need.alpha:.6g}" for need in (self.optimum, self.universal)]
        return (
            f"<SamplesNeeded {self.quantity} {self.target:g}: {needs[0]} (optimum), {needs[1]} (universal)>"
        )

    def __str__(self) -> str:
        word = _WORDS.get(self.quantity, f"{self.quantity} error")
        if self.readout is not None:
            word += f" of the units with |readout| {self.readout:.4g}"
        is_error = self.quantity not in ("overlap", "matrix_overlap")
        goal = f"{word} {'<=' if is_error else '>='} {self.target:.6g}"
        if not self.optimum.is_reachable:
            return (
                f"No number of samples gives {goal}: "
                f"the optimum only tends to {self.optimum.limit:.6g} as alpha grows."
            )
        text = f"{goal[0].upper()}{goal[1:]} needs {self._amount(self.optimum)} at the optimum"
        text += ", where it is passed in a jump" if self.optimum.is_jump else ""
        if self.effective_width and isinstance(self.problem.readouts, Features):
            units = plural(round(self.effective_width), "unit")
            text += f" (a student of {units}: no others are learnt by then)"
        if not self.universal.is_reachable:
            way = "stays at" if self.universal.limit == 0 else "rises no further than"
            way = f"its {'error falls no further than' if is_error else f'overlap {way}'}"
            return (
                f"{text}; a polynomial-time learner that stays on the universal branch never gets there: "
                f"{way} {self.universal.limit:.6g}, however many samples it has."
            )
        if self.universal.alpha == self.optimum.alpha:
            return f"{text}, and a polynomial-time learner (the universal branch) needs no more."
        text += f"; a polynomial-time learner (the universal branch) needs {self._amount(self.universal)}"
        if self.optimum.alpha > 0:
            ratio = f"{self.universal.alpha / self.optimum.alpha:.3g}"
            text += f", {ratio} times as many" if ratio != "1" else ", hardly more"
        return text + "."

    def _amount(self, need: Need) -> str:
        if need.alpha_linear is not None:
            if need.alpha_linear == 0:
                return "no samples"
            amount = f"n = {need.alpha_linear:.6g} d samples, fewer than order d^2,"
            return amount if need.n is None else f"{amount} that is {need.n} at d = {self.d},"
        amount = f"alpha = {need.alpha:.6g}"
        return amount if need.n is None else f"{amount} (n = {need.n} samples at d = {self.d})"


def samples_needed(
    problem: Problem,
    *,
    excess_error: float | None = None,
    overlap: float | None = None,
    matrix_overlap: float | None = None,
    error: str | None = None,
    target: float | None = None,
    readout: float | None = None,
    d: int | None = None,
    theory: str = "main",
) -> SamplesNeeded:
    """Smallest α (and n, given d) at which a target is met, at the optimum and on the universal branch.

    Parameters
    ----------
    excess_error : float, optional
        Largest ε_opt - Δ allowed, > 0. Give this or one of the next three.
    overlap : float, optional
        Smallest overlap of the neurons with the teacher's, in (0, 1): E[v² 𝒬_W(v)], or 𝒬_W(v) of the units
        with |v| = ``readout``. It is 0 on the universal branch.
    matrix_overlap : float, optional
        Smallest centred matrix overlap q₂ - γv̄², in (0, 1).
    error, target : str and float, optional
        An error measure of the optimal prediction, such as "zero-one", and the largest value allowed.
    readout : float, optional
        A |v| of a discrete readout law; only with ``overlap``.
    d : int, optional
        Dimension of the inputs: n = ⌈αd²⌉ and the effective width are given too. A law of k features
        fixes it.

    Returns
    -------
    SamplesNeeded
        A target that no α meets is a statement (``is_reachable`` False and ``limit``), not an error.
        Targets that n = Θ(d) samples meet have alpha 0 and ``alpha_linear``.
    """
    given = {"excess_error": excess_error, "overlap": overlap, "matrix_overlap": matrix_overlap}
    if error is not None or target is not None:
        if error is None or target is None or {*given.values(), readout} != {None}:
            raise ValueError(
                "error and target go together, in place of other targets: error='zero-one', target=0.1"
            )
        return _error_target(problem, error, float(target), d, theory)
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        raise ValueError(
            f"give one target, excess_error, overlap or matrix_overlap; got {', '.join(asked) or 'none'}"
        )
    if theory not in THEORIES:
        raise ValueError(f"unknown theory {theory!r}; choose from {', '.join(THEORIES)}")
    quantity = asked[0]
    target = float(given[quantity])  # type: ignore[arg-type]
    if not (target >= 0 and math.isfinite(target)):
        raise ValueError(f"{quantity} must be >= 0 and finite, got {target:g}")
    if quantity != "excess_error" and not 0 < target < 1:
        raise ValueError(
            f"{quantity} must be > 0 and < 1, which needs infinitely many samples; got {target:g}"
        )
    if d is not None and not (d == int(d) and d >= 1):
        raise ValueError(f"d must be a whole number >= 1 (dimension of the inputs), got {d!r}")
    if d is None and isinstance(problem.readouts, Features):  # k = γd fixes it
        size = problem.readouts.size / problem.gamma
        d = round(size) if abs(size - round(size)) < 1e-9 * size else None
    if readout is not None:
        readout = _readout(problem, quantity, readout)
    universal, optimum = _universal(problem, quantity, target), None
    if quantity == "excess_error":
        optimum = _few_data(problem, target)
        if optimum is not None:  # both learn the linear part alike; what more data would give differs
            universal = replace(optimum, limit=universal.limit)
    optimum = optimum or _optimum(problem, quantity, target, readout, theory)
    if abs(optimum.alpha - universal.alpha) <= 2 * _RTOL * optimum.alpha < math.inf:
        # met before anything specialises, and known in closed form
        optimum = replace(universal, limit=optimum.limit)
    return SamplesNeeded(
        problem,
        quantity,
        target,
        None if d is None else int(d),
        _with_n(optimum, d),
        _with_n(universal, d),
        readout,
    )


def _error_target(problem: Problem, name: str, target: float, d: int | None, theory: str) -> SamplesNeeded:
    """An error of the optimal prediction falls with the gap r - q alone: a target is one of the gap."""
    _, kind = check_error(problem, name)
    if kind == "gibbs":
        raise ValueError(
            f"error must be one of the optimal prediction for a target; leave gibbs- out of {name!r}"
        )
    if not math.isfinite(target):
        raise ValueError(f"target must be finite, got {target:g}")
    floor = float(error_at(problem, 0.0, name))
    gap = min(gap_of_error(problem, name, target), problem.output_power)
    answer = samples_needed(problem, excess_error=gap, d=d, theory=theory)
    needs = [
        replace(n, limit=float(error_at(problem, n.limit, name))) for n in (answer.optimum, answer.universal)
    ]
    if target < floor:
        needs = [replace(n, alpha=math.inf, n=None, is_reachable=False, is_jump=False) for n in needs]
    return replace(answer, quantity=name, target=target, optimum=needs[0], universal=needs[1])


def _with_n(need: Need, d: int | None) -> Need:
    if d is None or not need.is_reachable:
        return need
    exact = need.alpha * d**2 if need.alpha_linear is None else need.alpha_linear * d
    # A whole number that rounding has lifted by 1e-9 of itself is that number.
    n = math.ceil(exact * (1 - 2 * _RTOL))
    return Need(need.alpha, n, True, need.limit, need.is_jump, need.alpha_linear)


def _readout(problem: Problem, quantity: str, readout: float) -> float:
    if quantity != "overlap":
        raise ValueError("readout belongs to overlap: errors and matrix overlaps have no readout")
    law: Any = problem.readouts
    if not law.is_discrete:
        raise ValueError("readout needs a discrete readout law; leave it out for the mean over all units")
    sizes = np.unique(np.abs(np.asarray(law.told_apart)))
    near = float(sizes[np.argmin(np.abs(sizes - abs(readout)))])
    # Values such as 3/√5 are typed with a few digits.
    if abs(near - abs(readout)) > 5e-3 * near or near == 0:
        known = ", ".join(f"{size:.4g}" for size in sizes if size > 0)
        raise ValueError(f"no units have |readout| {abs(readout):g}; choose from {known}")
    return near


def _few_data(problem: Problem, target: float) -> Need | None:
    """The answer when the linear part of the network suffices: n = Θ(d)."""
    setting = setting_of(problem)
    _, mu1, _ = problem.hermite
    rest = 0.5 * setting.mu2_squared + setting.kernel_total
    if target <= rest and not rest == 0 < target:
        return None
    if target >= rest + mu1**2:
        return Need(0.0, None, True, 0.0, alpha_linear=0.0)
    low, high = -40.0, 40.0
    while high - low > 1e-12:  # in ln α₁, the error falls
        middle = 0.5 * (low + high)
        if float(solve_linear(problem, math.exp(middle)).excess_error) > target:
            low = middle
        else:
            high = middle
    return Need(0.0, None, True, 0.0, alpha_linear=math.exp(high))


def _universal(problem: Problem, quantity: str, target: float) -> Need:
    """Explicit: the target fixes the mmse, that fixes q̂₂, and α follows."""
    setting: Setting = setting_of(problem)
    total, half = setting.kernel_total, 0.5 * setting.mu2_squared
    if quantity == "overlap":
        return Need(math.inf, None, False, 0.0)
    if quantity == "excess_error":
        limit, left = total, (target - total) / half if half else 0.0
    else:
        limit, left = (1.0, 1 - target) if half else (0.0, 0.0)
    if not left > 0:
        return Need(math.inf, None, False, limit)
    if left >= 1:
        return Need(0.0, None, True, limit)
    alpha = setting.universal_alpha(left, math.log1p(-left) - math.log(left))
    return Need(alpha, None, True, limit)


def _optimum(problem: Problem, quantity: str, target: float, readout: float | None, theory: str) -> Need:
    """Smallest α at which the equilibrium meets the target."""
    limit = 0.0 if quantity == "excess_error" else 1.0
    sign = -1.0 if quantity == "excess_error" else 1.0

    def surplus(alpha: np.ndarray) -> np.ndarray:
        """How far the target is exceeded; it rises with α."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InexactPotentialWarning)
            curve = learning_curve(problem, alpha, theory=theory)
        if quantity == "excess_error":
            values = curve.excess_error
        elif quantity == "matrix_overlap":
            values = curve.matrix_overlap_centred
        elif readout is not None:
            own = np.argmin(np.abs(np.abs(curve[0].readout_values) - readout))
            values = curve.weight_overlap[:, own]
        else:
            point = curve[0]
            values = curve.weight_overlap @ (point.readout_weights * point.readout_values**2)
        return sign * (values - target)

    values = surplus(_ALPHAS)
    met = np.nonzero(values >= 0)[0]
    if met.size == 0:
        # Either the target needs α → ∞, or an overlap that the equilibrium does not develop at all.
        last = values[np.isfinite(values)][-1:]
        reached = target + sign * float(last[0]) if last.size else math.nan
        return Need(math.inf, None, False, limit if abs(reached - limit) < 1e-3 else reached)
    if met[0] == 0:
        return Need(0.0, None, True, limit)
    low, high = np.log(_ALPHAS[met[0] - 1]), np.log(_ALPHAS[met[0]])
    below, above = values[met[0] - 1], values[met[0]]
    while high - low > _RTOL:
        secant = -below / (above - below)
        share = np.unique(np.clip(np.concatenate([_THIRDS, secant + _AROUND]), 1e-3, 1 - 1e-3))
        inside = low + share * (high - low)
        values = surplus(np.exp(inside))
        first = int(np.argmax(np.append(values >= 0, True)))
        if first > 0:
            low, below = inside[first - 1], values[first - 1]
        if first < inside.size:
            high, above = inside[first], values[first]
    is_jump = bool(above - below > 1e-5 * max(target, 1e-12))
    return Need(float(np.exp(high)), None, True, limit, is_jump)

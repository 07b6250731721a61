r"""Learning transitions: where hidden units begin to be learnt, and where branches change places.

The universal solution loses stability exactly when

.. math:: \max v^2\,(q_2 - \gamma\bar v^2)/\gamma = 1,

which fixes the first continuous onset without any scan; a further class of readouts sets in
where its own family is born.  First-order transitions are crossings of free entropies
(Maxwell points) between stretches of families, whose ends are folds (spinodals).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..denoising import MatrixDenoiser
from ..problem import Problem
from .exact import ExactFamily
from .roots import decreasing_root
from .solution import Solution
from .solver import (
    FEW_CLASSES,
    all_solutions,
    exact_families,
    exact_reason,
    profile_of,
    readout_classes,
    setting_of,
    solutions,
)

__all__ = [
    "Transition",
    "TransitionList",
    "births",
    "learnt_classes",
    "onset",
    "onset_criterion",
    "transitions",
]

_BIRTH = math.log(1e-9)  # a class with this signal-to-noise ratio has only just begun to be learnt
_N_GRID = 120
_N_STEPS = 80
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


class TransitionList(list[Transition]):
    """Transitions in order of α, with what the onset criterion says at the end of the range."""

    def __init__(self, items: list[Transition], alpha_max: float, criterion: float, reason: str = "") -> None:
        super().__init__(items)
        self.alpha_max, self.criterion, self.reason = alpha_max, criterion, reason

    def __str__(self) -> str:
        if self:
            return "\n".join(map(str, self))
        if self.reason:
            return f"no transition up to alpha = {self.alpha_max:g}: {self.reason}"
        return (
            f"no transition up to alpha = {self.alpha_max:g}: max v^2 (q_2 - gamma vbar^2)/gamma is "
            f"{self.criterion:.4g} there, and the first unit is learnt when it reaches 1"
        )


def onset_criterion(problem: Problem, alpha: float) -> float:
    """max v² (q₂ - γv̄²)/γ on the universal branch: units begin to be learnt where it is 1."""
    universal = next((s for s in solutions(problem, alpha) if s.branch == "universal"), None)
    if universal is None:
        return math.nan  # parameters so extreme that nothing converges
    centred = universal.matrix_overlap_centred
    return problem.readouts.largest**2 * centred / problem.gamma if centred > 0 else 0.0


def onset(problem: Problem, largest: float | None = None) -> float:
    """α at which the universal solution loses stability (inf: never; 0: at once).

    ``largest`` replaces max |v|, e.g. to cut an unbounded law at so many standard deviations.
    """
    setting = setting_of(problem)
    value = problem.readouts.largest if largest is None else float(largest)
    if not value > 0:
        raise ValueError(f"the largest readout must be > 0, got {value:g}")
    needed = problem.gamma / value**2  # of 1 - mmse(q̂₂)
    if setting.mu2_squared == 0 or needed >= 1:
        return math.inf
    if needed == 0:
        return 0.0
    hat = float(MatrixDenoiser(problem.readouts, problem.gamma).snr_of(1 - needed, needed))
    coupling = np.array([hat / (setting.gamma * setting.mu2_squared)])
    gap = setting.output_gap(np.array([1 - needed]), np.array([setting.kernel_total]))
    return float(setting.alpha_of(coupling, gap)[0])


def transitions(
    problem: Problem, alpha_max: float = 10.0, *, truncate: float | None = None, n_grid: int = _N_GRID
) -> TransitionList:
    """All transitions of the equilibrium for 0 < α <= alpha_max, in order.

    Parameters
    ----------
    alpha_max : float
    truncate : float, optional
        For readouts of unbounded support, whose onset is at α = 0⁺: treat the support as
        cut at this many standard deviations and report that onset instead.
    n_grid : int
        Values of α at which the equilibrium is compared, besides both sides of every birth and fold.
    """
    alpha_max = float(alpha_max)
    if not (alpha_max > 0 and math.isfinite(alpha_max)):
        raise ValueError(f"alpha_max must be > 0 and finite, got {alpha_max:g}")
    criterion = onset_criterion(problem, alpha_max)  # first: it refuses what cannot be computed
    classes = readout_classes(problem)
    reason = exact_reason(problem)
    if reason:
        found = []  # whatever the potential prefers, the equilibrium stays universal
    elif classes is None or classes[0].size > FEW_CLASSES:
        found = _profile_transitions(problem, alpha_max, truncate, classes)
    else:
        found = _class_transitions(problem, alpha_max, n_grid)
    return TransitionList([t for t in found if t.alpha <= alpha_max], alpha_max, criterion, reason)


@dataclass(frozen=True)
class _Map:
    """Folds and births of the families of a problem."""

    families: tuple[ExactFamily, ...]
    fold_snr: tuple[np.ndarray, ...]
    fold_alpha: tuple[np.ndarray, ...]
    fold_bend: tuple[np.ndarray, ...]
    """d² ln α/d ln(parameter)²: negative where α has a maximum."""
    birth: tuple[float, ...]


@lru_cache(maxsize=64)
def _map(problem: Problem) -> _Map:
    families = tuple(exact_families(problem))
    fold_snr, fold_alpha, fold_bend, birth = [], [], [], []
    for family in families:
        at, log_alpha, bend = family.turning_points
        fold_bend.append(bend)
        fold_snr.append(np.exp(at))
        fold_alpha.append(np.exp(log_alpha))
        if family.n_learnt == 1:
            birth.append(onset(problem))
        elif setting_of(problem).mu2_squared == 0:
            birth.append(math.inf)  # x = 0 is stable for every class: none is born continuously
        else:
            states, log_alpha, _ = family.solve(np.array([_BIRTH]))
            birth.append(float(np.exp(log_alpha[0])) if states.residual[0] < 1e-8 else math.inf)
    return _Map(families, tuple(fold_snr), tuple(fold_alpha), tuple(fold_bend), tuple(birth))


def births(problem: Problem) -> tuple[float, ...]:
    """α at which each family leaves the one before it continuously; inf or 0 where none does at finite α."""
    classes = readout_classes(problem)
    if classes is not None and classes[0].size <= FEW_CLASSES:
        return _map(problem).birth
    if classes is not None or math.isinf(problem.readouts.largest):
        return (onset(problem),)
    return (_first_unit(problem, problem.readouts.largest),)


def learnt_classes(solution: Solution) -> int:
    """Number of distinct |readouts| whose units are learnt."""
    learnt = solution.readout_values[solution.weight_overlap > 0]
    return int(np.unique(np.round(learnt**2, 10)).size)


def _signature(problem: Problem, solution: Solution) -> tuple[int, int]:
    """Number of classes learnt, and how many folds of that family lie before this solution."""
    if solution.branch == "universal":
        return 0, 0
    classes = readout_classes(problem)
    assert classes is not None
    m = learnt_classes(solution)
    own = np.isclose(solution.readout_values**2, classes[0][m - 1], rtol=1e-9)
    snr = float(solution.weight_overlap_hat[own][0])
    return m, int(np.sum(_map(problem).fold_snr[m - 1] < snr))


def _ranked(problem: Problem, alpha: float) -> list[tuple[tuple[int, int], Solution]]:
    return [(_signature(problem, s), s) for s in all_solutions(problem, np.array([alpha]))[0]]


def _class_transitions(problem: Problem, alpha_max: float, n_grid: int) -> list[Transition]:
    known = _map(problem)
    if not known.families:
        return []
    marks = [a for a in known.birth if a <= alpha_max]
    marks += [float(a) for folds in known.fold_alpha for a in folds if a <= alpha_max]
    if not marks:
        return []
    low = 0.5 * min(marks)
    grid = np.geomspace(low, alpha_max, n_grid)
    # Either side of every birth and fold is looked at, so that each interval holds one event.
    sides = [m * (1 + e) for m in marks for e in (-_SIDE, _SIDE) if m * (1 + e) <= alpha_max]
    grid = np.unique(np.concatenate([grid, sides]))
    ranked_at = all_solutions(problem, grid)
    is_solved = np.array([bool(ranked) for ranked in ranked_at])
    grid = grid[is_solved]
    tops = [(_signature(problem, ranked[0]), ranked[0]) for ranked in ranked_at if ranked]
    found: list[Transition] = []
    for (a, (old, before)), (b, (new, after)) in zip(
        zip(grid[:-1], tops[:-1], strict=True), zip(grid[1:], tops[1:], strict=True), strict=True
    ):
        if old == new:
            continue
        is_birth = new[0] == old[0] + 1 and a <= known.birth[new[0] - 1] <= b
        jump = np.max(np.abs(after.weight_overlap - before.weight_overlap))
        if is_birth and jump < 0.05:
            classes = readout_classes(problem)
            assert classes is not None
            found.append(
                Transition(float(np.sqrt(classes[0][new[0] - 1])), known.birth[new[0] - 1], "continuous")
            )
        elif jump > 1e-6:
            found += _first_order(problem, float(a), float(b), old, new)
    return found


def _first_order(
    problem: Problem, a: float, b: float, old: tuple[int, int], new: tuple[int, int]
) -> list[Transition]:
    """The Maxwell point between two stretches, equal free entropies, by bracketed secants."""
    gain_a = gain_b = math.nan
    before = after = None
    side = 0
    for _ in range(_N_STEPS):
        if math.isfinite(gain_a) and math.isfinite(gain_b):
            c = b - gain_b * (b - a) / (gain_b - gain_a)
            c = c if a < c < b else 0.5 * (a + b)
        else:
            c = 0.5 * (a + b)
        ranked = dict(reversed(_ranked(problem, c)))
        one, other = ranked.get(old), ranked.get(new)
        if one is not None and other is not None:
            gain = other.free_entropy - one.free_entropy
            before, after = one, other
        else:
            gain = math.nan
        is_new = gain > 0 if math.isfinite(gain) else one is None
        if is_new:
            gain_a = 0.5 * gain_a if side == 1 else gain_a
            b, gain_b, side = c, gain, 1
        else:
            gain_b = 0.5 * gain_b if side == -1 else gain_b
            a, gain_a, side = c, gain, -1
        if b - a < 1e-11 * b or abs(gain) < 1e-14:
            break
    if before is None or after is None:
        return []
    alpha = c if abs(gain) < 1e-13 else 0.5 * (a + b)
    spinodals = (_begin(problem, new), _end(problem, old))
    error = before.excess_error - after.excess_error
    gains = after.weight_overlap - before.weight_overlap
    newly = (after.weight_overlap > 0) & (before.weight_overlap == 0)
    if not newly.any():
        newly = gains == gains.max()
    items = []
    for v in np.unique(np.round(np.abs(after.readout_values[newly]), 12))[::-1]:
        own = np.isclose(np.abs(after.readout_values), v)
        items.append(
            Transition(
                float(v), float(alpha), "first-order", spinodals, float(gains[own].max()), float(error)
            )
        )
    return items


def _begin(problem: Problem, signature: tuple[int, int]) -> float:
    """Smallest α of a stretch: the fold before it, or its birth."""
    m, piece = signature
    known = _map(problem)
    return float(known.fold_alpha[m - 1][piece - 1]) if piece else known.birth[m - 1]


def _end(problem: Problem, signature: tuple[int, int]) -> float:
    """α up to which a stretch is stable: its fold, or where a further class sets in."""
    m, piece = signature
    known = _map(problem)
    # Ahead of a minimum of α the stretch went on to infinite α, and came back from there.
    if m and piece < known.fold_alpha[m - 1].size and known.fold_bend[m - 1][piece] < 0:
        return float(known.fold_alpha[m - 1][piece])
    return known.birth[m] if m < len(known.birth) else math.inf


def _profile_transitions(
    problem: Problem, alpha_max: float, truncate: float | None, classes: tuple[np.ndarray, np.ndarray] | None
) -> list[Transition]:
    """Onsets along the curve of equilibrium profiles."""
    largest = problem.readouts.largest
    if classes is None:
        if math.isinf(largest):
            if truncate is None:
                return [Transition(math.inf, 0.0, "continuous")]
            return [Transition(float(truncate), _profile_onset(problem, float(truncate)), "continuous")]
        return [Transition(largest, _profile_onset(problem, largest), "continuous")]
    found = []
    for value2 in classes[0]:
        value = float(np.sqrt(value2))
        alpha = _profile_onset(problem, value)
        if alpha > alpha_max:
            break
        found.append(
            Transition(value, alpha, "continuous" if setting_of(problem).mu2_squared else "first-order")
        )
    return found


@lru_cache(maxsize=64)
def _first_unit(problem: Problem, value: float) -> float:
    """α at which a vanishing fraction of units, those with |readout| = value, is learnt first.

    The others are still at τ = 0, so that A and B are known functions of one another; the
    units leave 0 continuously (the criterion of :func:`onset`) or jump, whichever is first.
    """
    setting, profile = setting_of(problem), profile_of(problem)

    def couplings(log_coupling: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        coupling = np.exp(log_coupling)
        recovered = setting.table.exact(setting.gamma * setting.mu2_squared * coupling)[1]
        return np.maximum(recovered / setting.gamma, 1e-280), coupling

    def surplus(log_coupling: np.ndarray) -> np.ndarray:
        pull, coupling = couplings(log_coupling)
        levels = profile.level_table(pull, coupling)
        _, _, jump = profile.jump(levels, pull, coupling)
        start = np.where(jump > 0, np.minimum(jump, levels[:, 0]), levels[:, 0])
        return np.log(start) - 2 * math.log(value)

    log_coupling = decreasing_root(surplus, np.array([-40.0]), np.array([40.0]), atol=1e-14)
    if abs(surplus(log_coupling)[0]) > 1e-8:
        return math.inf
    pull, coupling = couplings(log_coupling)
    gap = setting.output_gap(1 - setting.gamma * pull, np.array([setting.kernel_total]))
    return float(setting.alpha_of(coupling, gap)[0])


def _profile_onset(problem: Problem, value: float) -> float:
    """α at which units with |readout| = value leave 0 along the curve of equilibrium profiles."""
    if value >= problem.readouts.largest or math.isinf(problem.readouts.largest):
        return _first_unit(problem, value)
    (family,) = exact_families(problem)
    profile = profile_of(problem)

    def level(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln v² from which units are learnt, at tilts e^u, and ln α."""
        states, log_alpha, _ = family.solve(u)
        setting = family.setting
        coupling = np.exp(states.log_coupling)
        pair = setting.table.pair(np.exp(states.log_tilt), setting.gamma * setting.mu2_squared * coupling)
        pull = np.maximum(pair.pull / setting.gamma, 1e-280)
        levels = profile.level_table(pull, coupling)
        _, _, jump = profile.jump(levels, pull, coupling)
        start = np.where(jump > 0, np.minimum(jump, levels[:, 0]), levels[:, 0])
        good = states.residual < 1e-8
        return np.where(good, np.log(start), np.nan), log_alpha

    goal = 2 * math.log(value)
    u = family.grid
    values, _ = level(u)
    good = np.isfinite(values)
    u, values = u[good], values[good]
    below = np.nonzero((values[:-1] > goal) & (values[1:] <= goal))[0]
    if below.size == 0:
        return math.inf
    a, b = u[below[0]], u[below[0] + 1]
    for _ in range(_N_STEPS):
        c = 0.5 * (a + b)
        here, log_alpha = level(np.array([c]))
        a, b = (c, b) if here[0] > goal else (a, c)
        if b - a < 1e-12 * abs(b):
            break
    return float(np.exp(log_alpha[0]))

r"""One solution of a discrete law, followed in α to where its branch ends.

Everything that is unknown moves at once: ln τ, ln B, and x of each class that is learnt in part, with the
equations of :mod:`classes` and ln α(τ, B, x) = ln α as the last one.  They are regular up to a fold of α
itself, whatever the roots of single classes do on the way: a class needs no name for the root that it is at,
and may be held where its own φ falls by what it does to all the others.

Steps in ln α follow the tangent, and are halved until the solution found is the one expected and stable.  A
class at 0 that becomes unstable there begins to be learnt, if it can without a jump, and one whose x vanishes
is put to 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..._arrays import Array, Bools, Integers
from ...ingredients.scalar_channel import SNR_MAX
from ...numerics.roots import newton_rows
from ..setting import Setting, class_averages
from ..solution import Solution
from ..stationary import is_maximum_over_classes
from ..units import Root
from .classes import ClassFamily, ThresholdFamily
from .equations import ACCEPTED, Points

__all__ = ["Branch", "birth_along", "follow", "followed_end", "relaxed", "solution_near"]

_LONGEST = 0.5  # step in ln α
# Steps that are too long where a branch ends: if it is asked whether it goes on, and where it ends.
_SHORTEST, _SHORTEST_AT_END = 1e-6, 1e-10
_MOST_MOVED = 0.5  # of any unknown in a step
_OFF = 0.05  # of an unknown from where its slopes at both ends of a step put it
_LITTLE = 0.05  # overlap of a class that has just begun to be learnt
_JUST_BORN = 1e-5  # x at which it is asked which way α goes behind x = 0
_SMALL = 0.05  # x below which x itself is followed, not its logarithm
_LEAST = 1e-14  # of x, where a guess is negative
_RTOL, _MAX_STEPS = 1e-13, 25
_N_STEPS = 4000
_FAR = (math.log(1e-14), math.log(1e12))  # ln α beyond which nothing is computed


class _Held(ThresholdFamily):
    """A single point: x of every class is given."""

    def __init__(self, setting: Setting, snr: Array) -> None:
        super().__init__(setting, (0, 0))
        self._snr = snr
        self.n_learnt = int(np.count_nonzero(snr))

    def __repr__(self) -> str:
        return f"_Held({np.count_nonzero(self._snr)} of {self._snr.size} classes learnt)"

    def snr(self, pull: np.ndarray, coupling: np.ndarray, *, is_rough: bool = False) -> np.ndarray:
        return np.tile(self._snr, (pull.size, 1))


@dataclass(frozen=True)
class _Place:
    """A solution on the way."""

    log_alpha: float
    unknowns: Array
    """ln τ, ln B, and coordinates of the classes that move."""
    snr: Array
    """x of every class: 0, infinite (known), or what the unknowns say."""
    residual: float = math.inf
    tangent: Array | None = None
    """Derivatives of the unknowns in ln α."""

    @property
    def moves(self) -> Bools:
        """Which classes are learnt in part."""
        return (self.snr > 0) & np.isfinite(self.snr)

    def put(self, numbers: Integers, snr: Array) -> _Place:
        """The same with other x of some classes, 0 for one that is not learnt."""
        new = self.snr.copy()
        new[numbers] = snr
        moves = (new > 0) & np.isfinite(new)
        return replace(self, snr=new, unknowns=np.concatenate([self.unknowns[:2], _coordinates(new[moves])]))


def _coordinates(snr: Array) -> Array:
    """ln x, continued by its tangent below a small x."""
    return np.where(snr < _SMALL, math.log(_SMALL) - 1 + snr / _SMALL, np.log(np.maximum(snr, _SMALL)))


def _snr(coordinates: Array) -> Array:
    """The inverse; may be negative."""
    from_first = coordinates - math.log(_SMALL)
    return np.where(from_first < 0, _SMALL * (1 + from_first), _SMALL * np.exp(np.maximum(from_first, 0.0)))


def solution_near(
    setting: Setting, alpha: float, snr: Array, log_tilt: float, log_coupling: float
) -> Solution | None:
    """The solution at α near given x of all classes, ln τ and ln B, if Newton's method finds one."""
    place = _Place(math.log(alpha), np.array([log_tilt, log_coupling]), snr).put(np.arange(snr.size), snr)
    path = _Path(setting, place)
    found = path.solved(place)
    return None if found is None else path.solution(found, alpha)


def follow(solution: Solution, alpha: float) -> Solution | None:
    """The solution at α that this one leads to, if its branch goes so far and stays stable on the way."""
    path = _Path.of(solution)
    place = path.walked(math.log(alpha))
    return path.solution(place, alpha) if place.log_alpha == math.log(alpha) else None


def relaxed(solution: Solution) -> Solution | None:
    """The stable solution at the same α in which what cannot stay at 0 is learnt, if there is one."""
    path = _Path.of(solution)
    place, n_moving = path.solved(path.start), -1
    while place is not None and int(place.moves.sum()) > n_moving:
        n_moving = int(place.moves.sum())
        place = path.solved(place)
    return path.solution(place, solution.alpha) if place is not None and path._is_stable(place) else None


def followed_end(solution: Solution, way: int) -> float:
    """α up to which (``way`` = 1) or down to which (-1) a solution can be followed and stays stable."""
    end = _FAR[way > 0]
    if solution.family is not None:  # what is known exactly is known at any α
        place = _Path.of(solution).walked(end, _SHORTEST_AT_END)
        if place.log_alpha != end:
            return math.exp(place.log_alpha)
    return math.inf if way > 0 else 0.0


class Branch:
    """Everything that a stable solution leads to, up and down to where it ends.

    For what a traced curve misses: next to where two classes of nearly one size part it may have a bend so
    sharp that it cannot be followed over its own parameter.
    """

    def __init__(self, solution: Solution) -> None:
        self._path = _Path.of(solution)
        self._places = [self._path.start]
        for end in _FAR:
            self._path.walked(end, _SHORTEST_AT_END, self._places)
        reached = [place.log_alpha for place in self._places]
        self.begin, self.end = math.exp(min(reached)), math.exp(max(reached))

    def at(self, alpha: float) -> Solution | None:
        """The solution at α, if the branch has one."""
        if not self.begin <= alpha <= self.end:
            return None
        target = math.log(alpha)
        near = min(self._places, key=lambda place: abs(place.log_alpha - target))
        place = replace(self._path, start=near).walked(target)
        return self._path.solution(place, alpha) if place.log_alpha == target else None


def birth_along(solution: Solution, number: int) -> float:
    """α at which class ``number`` leaves 0 on the branch of a solution that is near; NaN if there is none.

    That is where v²A = 1 for it, which takes the place of the equation for α.
    """
    path = _Path.of(solution)
    place = path.newton(path.start.put(np.array([number]), np.zeros(1)), birth=number)
    return math.nan if place is None else math.exp(place.log_alpha)


@dataclass(frozen=True)
class _Path:
    """The way of a solution as α changes."""

    setting: Setting
    start: _Place

    @classmethod
    def of(cls, solution: Solution) -> _Path:
        family = solution.family
        assert isinstance(family, ClassFamily | ThresholdFamily)
        u, z = np.array([solution.parameter]), solution.state[None]
        nothing = np.zeros(1)
        point = Points(u, z, nothing, nothing, np.zeros_like(z), nothing)
        snr = family.state(u, z).snr[0]
        unknowns = np.concatenate([family.log_tilt(point), family.log_coupling(point)])
        place = _Place(math.log(solution.alpha), unknowns, snr, solution.residual)
        return cls(family.setting, place.put(np.arange(snr.size), snr))

    def solution(self, place: _Place, alpha: float) -> Solution:
        """A place with everything that is reported of it."""
        nothing = np.zeros(1)
        tilt, coupling = place.unknowns[:1, None], place.unknowns[1:2]
        points = Points(
            coupling, tilt, np.array([place.log_alpha]), np.array([place.residual]), nothing[:, None], nothing
        )
        return _Held(self.setting, place.snr).solutions(points, np.array([alpha]))[0]

    def walked(
        self, target: float, shortest: float = _SHORTEST, passed: list[_Place] | None = None
    ) -> _Place:
        """The place at ln α = target, or the last one on the way there; ``passed`` takes those on the way."""
        here, step = self.solved(self.start), _LONGEST
        if here is None:
            return self.start
        for _ in range(_N_STEPS):
            rest = target - here.log_alpha
            if rest == 0 or step < shortest:
                break
            assert here.tangent is not None
            step = min(step, _LONGEST, _MOST_MOVED / max(float(np.max(np.abs(here.tangent))), 1e-300))
            is_last = abs(rest) <= step
            new = self._step(here, target if is_last else here.log_alpha + math.copysign(step, rest))
            if new is None:
                step = 0.5 * min(step, abs(rest))
            else:
                here, step = new, 2 * step
                if passed is not None:
                    passed.append(here)
        return here

    def _step(self, here: _Place, log_alpha: float) -> _Place | None:
        """The next place, if it is the one expected."""
        assert here.tangent is not None
        by = log_alpha - here.log_alpha
        expected = here.unknowns + by * here.tangent
        ahead = replace(here, log_alpha=log_alpha, unknowns=expected)
        new = self.solved(ahead)
        if new is None or not self._is_near(here, new, by) or not self._is_stable(new):
            return self._without_vanishing(here, ahead)
        return new

    def _is_near(self, here: _Place, new: _Place, by: float) -> bool:
        """Whether a new place is where the tangents at both ends put it."""
        assert here.tangent is not None and new.tangent is not None
        if not np.array_equal(new.moves, here.moves):  # classes have begun to be learnt
            born = np.nonzero(new.moves & ~here.moves)[0]
            overlap = self.setting.units(new.snr[born]).overlap
            shared = np.concatenate([[True, True], here.moves[new.moves]])
            moved = np.abs(new.unknowns[shared] - here.unknowns)
            is_near = np.all(overlap < _LITTLE) and np.all(moved < _MOST_MOVED)
            return bool(is_near) and all(self._leaves_without_jump(here, k) for k in born.tolist())
        middle = here.unknowns + 0.5 * by * (here.tangent + new.tangent)
        return bool(np.max(np.abs(new.unknowns - middle)) < _OFF)

    def _without_vanishing(self, here: _Place, ahead: _Place) -> _Place | None:
        """The next place with classes at 0 whose x would be negative, if that is stable."""
        moving = np.nonzero(here.moves)[0]
        little = moving[_snr(ahead.unknowns[2:]) <= 0]
        if not little.size:
            return None
        rest = ahead.put(little, np.zeros(little.size))
        if not rest.snr.any():  # nothing is learnt any more: another branch
            return None
        new = self.solved(rest)
        if new is None or np.max(np.abs(new.unknowns[:2] - here.unknowns[:2])) > _MOST_MOVED:
            return None
        if new.moves[little].any() or not self._is_stable(new):
            return None
        return new if all(self._leaves_without_jump(new, k) for k in little.tolist()) else None

    def _leaves_without_jump(self, place: _Place, number: int) -> bool:
        """Whether a class at 0 is learnt little by little where it cannot stay there: dx/dα > 0 at x = 0.

        Else its x turns back in α, and the way ends.
        """
        birth = self.newton(place.put(np.array([number]), np.zeros(1)), birth=number)
        if birth is None:
            return True  # not seen
        little = birth.put(np.array([number]), np.array([_JUST_BORN]))
        with np.errstate(all="ignore"):
            _, by, _ = self._equations(little, little.unknowns[None])
            towards = np.zeros(by.shape[0])
            towards[-1] = 1.0
            try:
                tangent = np.linalg.solve(by, towards)
            except np.linalg.LinAlgError:
                return False
        return bool(tangent[2 + np.count_nonzero(little.moves[:number])] > 0)

    def solved(self, place: _Place) -> _Place | None:
        """The solution at the α of a place, from its unknowns; classes that cannot stay at 0 leave it."""
        new = self.newton(place)
        if new is None:
            return None
        units, values2 = self.setting.units, self._values2
        pull, coupling = self._couplings(new.unknowns)
        leaving = np.nonzero((new.snr == 0) & (values2 * pull * units.slope_at_zero > 1))[0]
        if not leaving.size:
            return new
        snr = units.roots(values2[leaving], pull, coupling, Root.LOWEST)[0]
        return self.newton(new.put(leaving, snr)) if np.all(snr > 0) else None

    def newton(self, place: _Place, birth: int | None = None) -> _Place | None:
        """The solution at the α of a place, or where class ``birth`` leaves 0, from its unknowns."""
        least, jacobian = math.inf, np.empty((0, 0))

        def equations(rows: Array, y: Array) -> tuple[Array, Array]:
            nonlocal least, jacobian
            errors, by, _ = self._equations(place, y, birth)
            if (size := float(np.max(np.abs(errors)))) < least:
                least, jacobian = size, by
            return errors[None], by[None]

        with np.errstate(all="ignore"):
            y, residual = newton_rows(equations, place.unknowns[None], rtol=_RTOL, max_steps=_MAX_STEPS)
            if not residual[0] <= ACCEPTED:
                return None
            last = np.zeros(y.shape[1])
            last[-1] = 1.0
            try:
                tangent = np.asarray(np.linalg.solve(jacobian, last), dtype=float)
            except np.linalg.LinAlgError:  # a fold
                return None
        snr = place.snr.copy()
        snr[place.moves] = _snr(y[0, 2:])
        is_finite = np.all(np.isfinite(tangent)) and np.all(np.isfinite(y))
        if not is_finite or not np.all((snr[place.moves] > 0) & (snr[place.moves] < SNR_MAX)):
            return None
        log_alpha = place.log_alpha if birth is None else self._equations(place, y)[2]
        return _Place(log_alpha, y[0], snr, float(residual[0]), tangent)

    @property
    def _values2(self) -> Array:
        assert self.setting.classes is not None
        return self.setting.classes.values2

    def _couplings(self, unknowns: Array) -> tuple[Array, Array]:
        """A and B."""
        pair = self.setting.matrix.pair(unknowns[:1], self.setting.log_hat_scale + unknowns[1:2])
        return np.exp(pair.log_pull) / self.setting.gamma, np.exp(unknowns[1:2])

    def _equations(self, place: _Place, y: Array, birth: int | None = None) -> tuple[Array, Array, float]:
        """Errors of the equations at unknowns y (one row), their derivatives, and ln α.

        The last equation is that for ln α, or ln v²A = 0 for class ``birth``.
        """
        setting, moves = self.setting, place.moves
        assert setting.classes is not None
        values2, powers = setting.classes.values2, setting.classes.powers
        pair = setting.matrix.pair(y[:, 0], setting.log_hat_scale + y[:, 1])
        pull, coupling = np.exp(pair.log_pull) / setting.gamma, np.exp(y[:, 1])
        snr = place.snr[None].copy()
        snr[:, moves] = np.maximum(_snr(y[:, 2:]), _LEAST)
        values = setting.units.at_roots(snr)
        averages = class_averages(values, values2, powers, pull, coupling, np.ones_like(moves))
        own, x = values.chosen((0, moves)), snr[0, moves]
        force = pull * own.overlap + coupling * own.kernel_slope
        force_slope = pull * own.overlap_slope + coupling * own.kernel_curvature
        gap = setting.output_gap(pair.mmse_after, averages.kernel_gap)
        log_alpha, by_gap = setting.log_alpha_and_slope(y[:, 1], gap)
        errors = np.concatenate(
            [
                averages.odds - pair.odds,
                np.log(x / (values2[moves] * force)),
                log_alpha - place.log_alpha,
            ]
        )
        half = 0.5 * setting.mu2_squared
        pulled, driven = pull * own.overlap / force, coupling * own.kernel_slope / force
        rate = np.maximum(x, _SMALL)  # dx by the coordinate
        by = np.zeros((errors.size, errors.size))
        by[0, 0] = -pair.rate[0]
        by[0, 2:] = 2 * powers[moves] * own.overlap * own.overlap_slope * rate * averages.odds_per_learnt
        by[1:-1, 0] = -pulled * pair.pull_by_tilt
        by[1:-1, 1] = -pulled * pair.pull_by_hat - driven
        by[1:-1, 2:] = np.diag(rate / x - rate * force_slope / force)
        by[-1, 0] = (by_gap * half * pair.after_by_tilt)[0]
        by[-1, 1] = (1 + by_gap * half * pair.after_by_hat)[0]
        by[-1, 2:] = -by_gap * powers[moves] * own.kernel_slope * own.overlap_slope * rate
        if birth is not None:
            errors[-1] = pair.log_pull[0] + np.log(
                values2[birth] * setting.units.slope_at_zero / setting.gamma
            )
            by[-1] = 0.0
            by[-1, :2] = pair.pull_by_tilt[0], pair.pull_by_hat[0]
        return errors, by, float(log_alpha[0])

    def _is_stable(self, place: _Place) -> bool:
        state = _Held(self.setting, place.snr).state(place.unknowns[1:2], place.unknowns[:1, None])
        return bool(
            is_maximum_over_classes(
                self.setting,
                np.exp([place.log_alpha]),
                place.unknowns[:1],
                place.unknowns[1:2],
                state.pair,
                state.averages,
                state.snr,
                state.pull,
            )[0]
        )

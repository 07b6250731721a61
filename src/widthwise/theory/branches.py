r"""Branches of solutions as exact curves, through folds and branch points.

Each family of :mod:`families` is a graph over a parameter that never turns back (the
signal-to-noise ratio x of its last class, or the tilt τ for a whole profile), with α as a
dependent variable.  Solving for α at given parameter goes through folds as through any
other point; folds are the zeros of d ln α/d ln(parameter), from the implicit function
theorem, and a branch is born where its overlap leaves 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..problem import Problem
from . import averaged, families, saddle
from .assemble import ACCEPTED, assemble_averaged, assemble_classes
from .roots import newton_rows
from .saddle import MAX_STEPS, RTOL, ClassSolutions, Setting
from .solution import LearningCurve, Solution
from .solver import FEW_CLASSES, family_of, learning_curve, profile_of, readout_classes, setting_of
from .units import GRID

__all__ = ["Branch", "ExactFamily", "exact_families", "trace_branches"]

_N_FOLD_STEPS = 60


class Branch(LearningCurve):
    """Solutions in order along one curve; α may turn back at ``folds`` (values of α)."""

    def __init__(self, problem: Problem, name: str, points: Sequence[Solution], folds: Sequence[float]) -> None:
        super().__init__(problem, name, points)
        self.folds = tuple(folds)


@dataclass
class ExactFamily:
    """One family, solved exactly at any values of its parameter."""

    setting: Setting
    n_learnt: int
    """Classes learnt, from the largest |readout| down; 0 when the profile is taken as a whole."""

    def solve(self, log_parameter: np.ndarray) -> tuple[ClassSolutions, np.ndarray, np.ndarray]:
        """States, ln α and d ln α/d ln(parameter); residuals tell which of them exist."""
        log_parameter = np.asarray(log_parameter, dtype=float)
        if self.n_learnt:
            return self._solve_classes(log_parameter)
        return self._solve_profile(log_parameter)

    def assemble(self, states: ClassSolutions, log_alpha: np.ndarray) -> list[Solution]:
        if self.n_learnt:
            values2, powers = self._classes
            return assemble_classes(self.setting, np.exp(log_alpha), states, values2, powers)
        return assemble_averaged(self.setting, self._profile, np.exp(log_alpha), states)

    @property
    def grid(self) -> np.ndarray:
        """Values of ln(parameter) that resolve the family (from overlaps of 1e-5 up)."""
        return np.log(GRID[37::2]) if self.n_learnt else self._rough.log_tilt

    def folds(self, log_parameter: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """ln(parameter) at which α turns back, found between neighbours whose slopes differ in sign."""
        left = np.nonzero(slope[:-1] * slope[1:] < 0)[0]
        found = []
        for i in left:
            a, b, fa, fb = log_parameter[i], log_parameter[i + 1], slope[i], slope[i + 1]
            side = 0
            for _ in range(_N_FOLD_STEPS):
                c = b - fb * (b - a) / (fb - fa)
                _, _, values = self.solve(np.array([c]))
                fc = float(values[0])
                if not np.isfinite(fc):
                    break
                if fc * fb > 0:
                    b, fb, fa, side = c, fc, (0.5 * fa if side == 1 else fa), 1
                else:
                    a, fa, fb, side = c, fc, (0.5 * fb if side == -1 else fb), -1
                if abs(fc) < 1e-9 or abs(b - a) < 1e-10:
                    found.append(c)
                    break
        return np.array(found)

    @property
    def _classes(self) -> tuple[np.ndarray, np.ndarray]:
        classes = readout_classes(self.setting.problem)
        if classes is None:
            raise TypeError("a continuous readout law has no classes")
        return classes

    @property
    def _profile(self):
        return profile_of(self.setting.problem)

    @property
    def _rough(self) -> families.Family:
        return family_of(self.setting.problem, self.n_learnt)

    def _solve_classes(self, log_x: np.ndarray) -> tuple[ClassSolutions, np.ndarray, np.ndarray]:
        m = self.n_learnt
        values2, powers = self._classes
        rest = float(powers[m:].sum())
        rough = families.family_at(self.setting, values2, powers, m, np.exp(log_x))

        def equations(rows: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            full = np.column_stack([z[:, :-1], log_x[rows]])
            errors, jacobian = saddle.class_equations(
                self.setting, np.exp(z[:, -1]), values2[:m], powers[:m], rest, full
            )
            jacobian[:, :, -1] = 0.0  # the parameter is given; α is unknown in its place
            jacobian[:, 1, -1] = 1.0
            return errors, jacobian

        start = np.column_stack([rough.log_tilt, rough.log_coupling, rough.log_snr[:, :-1], rough.log_alpha])
        z, residual = newton_rows(equations, start, rtol=RTOL, max_steps=MAX_STEPS)
        full = np.column_stack([z[:, :-1], log_x])
        _, jacobian = saddle.class_equations(
            self.setting, np.exp(z[:, -1]), values2[:m], powers[:m], rest, full
        )
        slope = _alpha_slope(jacobian)
        bad = ~(residual <= ACCEPTED)
        slope[bad] = np.nan
        return ClassSolutions(z[:, 0], z[:, 1], full[:, 2:], residual), z[:, -1], slope

    def _solve_profile(self, log_tilt: np.ndarray) -> tuple[ClassSolutions, np.ndarray, np.ndarray]:
        rough = self._rough

        def equations(rows: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            errors, jacobian = averaged.profile_equations(
                self.setting, self._profile, np.exp(z[:, 1]), np.column_stack([log_tilt[rows], z[:, 0]])
            )
            swapped = np.zeros_like(jacobian)
            swapped[:, :, 0] = jacobian[:, :, 1]
            swapped[:, 1, 1] = 1.0
            return errors, swapped

        start = np.column_stack(
            [np.interp(log_tilt, rough.log_tilt, y) for y in (rough.log_coupling, rough.log_alpha)]
        )
        z, residual = newton_rows(equations, start, rtol=RTOL, max_steps=MAX_STEPS)
        _, jacobian = averaged.profile_equations(
            self.setting, self._profile, np.exp(z[:, 1]), np.column_stack([log_tilt, z[:, 0]])
        )
        slope = _alpha_slope(jacobian[:, :, ::-1])
        slope[~(residual <= ACCEPTED)] = np.nan
        states = ClassSolutions(log_tilt, z[:, 0], np.empty((log_tilt.size, 0)), residual)
        return states, z[:, 1], slope


def exact_families(problem: Problem) -> list[ExactFamily]:
    """The families of specialised solutions of a problem."""
    setting = setting_of(problem)
    if setting.kernel_total == 0 and setting.mu2_squared == 0:
        return []
    classes = readout_classes(problem)
    if classes is not None and classes[0].size <= FEW_CLASSES:
        return [ExactFamily(setting, m) for m in range(1, classes[0].size + 1)]
    return [ExactFamily(setting, 0)]


def trace_branches(problem: Problem, alpha: tuple[float, float], n_points: int = 80) -> list[Branch]:
    """Every branch of solutions between two values of α, as curves through folds.

    Parameters
    ----------
    alpha : (low, high)
        Range of α; parts of a branch outside are left out.
    n_points : int
        Points of the universal branch; the others are resolved as finely as they turn.

    Returns
    -------
    list of Branch
        The universal branch first, then one for each stretch of a family inside the range,
        ordered from its birth; ``folds`` are the α at which it turns back.
    """
    low, high = (float(x) for x in alpha)
    if not (0 < low < high and np.isfinite(high)):
        raise ValueError(f"alpha must be a range (low, high) with 0 < low < high, got ({low:g}, {high:g})")
    universal = learning_curve(problem, np.geomspace(low, high, n_points), branch="universal")
    branches = [Branch(problem, "universal", list(universal), ())]
    for family in exact_families(problem):
        branches += _stretches(problem, family, low, high)
    return branches


def _stretches(problem: Problem, family: ExactFamily, low: float, high: float) -> list[Branch]:
    """The parts of a family inside the range, refined where they turn, with their folds."""
    curve = _Points.of(family, family.grid)
    curve = curve.take(curve.states.residual <= ACCEPTED)
    inside = (curve.log_alpha > np.log(low) - 1.0) & (curve.log_alpha < np.log(high) + 1.0)
    if not inside.any():
        return []
    inside[:-1] |= inside[1:]
    inside[1:] |= inside[:-1]
    curve = curve.take(inside)
    for _ in range(2):
        gap = np.abs(np.diff(curve.log_alpha)) > 0.1
        middle = 0.5 * (curve.u[1:] + curve.u[:-1])[gap]
        if middle.size:
            curve = curve.merge(_Points.of(family, middle))
    fold_at = family.folds(curve.u, curve.slope)
    if fold_at.size:
        curve = curve.merge(_Points.of(family, fold_at))
    u, states, log_alpha = curve.u, curve.states, curve.log_alpha
    is_fold = np.isin(u, fold_at)
    inside = (log_alpha >= np.log(low)) & (log_alpha <= np.log(high))
    runs = np.split(np.arange(u.size), np.nonzero(np.diff(inside.astype(int)))[0] + 1)
    branches = []
    for run in runs:
        if not inside[run[0]] or run.size < 2:
            continue
        part = ClassSolutions(*(getattr(states, name)[run] for name in vars(states)))
        points = family.assemble(part, log_alpha[run])
        folds = [float(np.exp(log_alpha[i])) for i in run if is_fold[i]]
        name = f"specialised {family.n_learnt}" if family.n_learnt else "specialised"
        branches.append(Branch(problem, name, points, folds))
    return branches


@dataclass
class _Points:
    """Exact points of a family, in order of the parameter."""

    u: np.ndarray
    states: ClassSolutions
    log_alpha: np.ndarray
    slope: np.ndarray

    @classmethod
    def of(cls, family: ExactFamily, u: np.ndarray) -> _Points:
        return cls(u, *family.solve(u))

    def take(self, keep: np.ndarray) -> _Points:
        states = ClassSolutions(*(getattr(self.states, name)[keep] for name in vars(self.states)))
        return _Points(self.u[keep], states, self.log_alpha[keep], self.slope[keep])

    def merge(self, other: _Points) -> _Points:
        """Both, in order; points of the other that did not converge are left out."""
        other = other.take(other.states.residual <= ACCEPTED)
        states = ClassSolutions(
            *(np.concatenate([getattr(x.states, name) for x in (self, other)]) for name in vars(self.states))
        )
        joined = _Points(
            np.concatenate([self.u, other.u]),
            states,
            np.concatenate([self.log_alpha, other.log_alpha]),
            np.concatenate([self.slope, other.slope]),
        )
        return joined.take(np.argsort(joined.u, kind="stable"))


def _alpha_slope(jacobian: np.ndarray) -> np.ndarray:
    """d ln α/d ln(parameter), the parameter being the last unknown."""
    matrix = jacobian.copy()
    right = -jacobian[:, :, -1]
    matrix[:, :, -1] = 0.0
    matrix[:, 1, -1] = 1.0
    slope = np.full(jacobian.shape[0], np.nan)
    good = np.all(np.isfinite(matrix), axis=(1, 2)) & np.all(np.isfinite(right), axis=1)
    if good.any():
        try:
            slope[good] = np.linalg.solve(matrix[good], right[good][..., None])[:, -1, 0]
        except np.linalg.LinAlgError:
            pass
    return slope

r"""Families of solutions as exact curves over a parameter that never turns back.

The parameter is the signal-to-noise ratio x of the family's last class, or the tilt τ for a
whole profile; α is a dependent variable.  Solving for α at given parameter goes through
folds as through any other point; folds are the zeros of d ln α/d ln(parameter), from the
implicit function theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from . import averaged, families, saddle
from .assemble import ACCEPTED, assemble_averaged, assemble_classes
from .averaged import Profile
from .families import FLAT, Family
from .roots import newton_rows
from .saddle import MAX_STEPS, RTOL, ClassSolutions, Setting
from .solution import Solution
from .units import GRID

__all__ = ["ExactFamily"]

_N_FOLD_STEPS = 60
_FOLD_SLOPE = 1e-7
_N_CROSSING_STEPS = 12


@dataclass
class ExactFamily:
    """One family, solved exactly at any values of its parameter."""

    setting: Setting
    rough: Family
    n_learnt: int = 0
    """Classes learnt, from the largest |readout| down; 0 when the profile is taken as a whole."""
    values2: np.ndarray = field(default_factory=lambda: np.empty(0))
    powers: np.ndarray = field(default_factory=lambda: np.empty(0))
    profile: Profile | None = None

    def solve(
        self, log_parameter: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[ClassSolutions, np.ndarray, np.ndarray]:
        """States, ln α and d ln α/d ln(parameter); residuals tell which of them exist.

        ``start`` are the unknowns to begin with, as :meth:`unknowns` gives them.
        """
        log_parameter = np.asarray(log_parameter, dtype=float)
        if log_parameter.size == 0:
            return self._nothing, log_parameter, log_parameter
        if self.n_learnt:
            return self._solve_classes(log_parameter, start)
        return self._solve_profile(log_parameter, start)

    def unknowns(self, states: ClassSolutions, log_alpha: np.ndarray) -> np.ndarray:
        """What is solved for at a given parameter, one row for each point."""
        if self.n_learnt:
            return np.column_stack([states.log_tilt, states.log_coupling, states.log_snr[:, :-1], log_alpha])
        return np.column_stack([states.log_coupling, log_alpha])

    def assemble(self, states: ClassSolutions, log_alpha: np.ndarray) -> list[Solution]:
        if self.n_learnt:
            return assemble_classes(self.setting, np.exp(log_alpha), states, self.values2, self.powers)
        return assemble_averaged(self.setting, self.profile, np.exp(log_alpha), states)

    @property
    def grid(self) -> np.ndarray:
        """Values of ln(parameter) that resolve the family (from overlaps of 1e-5 up)."""
        return np.log(GRID[37::2]) if self.n_learnt else self.rough.log_tilt

    @cached_property
    def on_grid(self) -> tuple[ClassSolutions, np.ndarray, np.ndarray]:
        """What :meth:`solve` gives on the grid."""
        return self.solve(self.grid)

    @cached_property
    def turning_points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln(parameter), ln α and d² ln α/d ln(parameter)² at the folds."""
        u = self.grid[self._may_turn]
        states, log_alpha, slope = self.solve(u)
        good = np.isfinite(slope)
        u, slope = u[good], slope[good]
        z = self.unknowns(states, log_alpha)[good]
        left = np.nonzero(slope[:-1] * slope[1:] < 0)[0]
        found = [self._fold(u[i : i + 2], slope[i : i + 2], z[i : i + 2]) for i in left]
        rows = np.array([fold for fold in found if fold is not None]).reshape(-1, 3)
        return rows[:, 0], rows[:, 1], rows[:, 2]

    @property
    def _may_turn(self) -> np.ndarray:
        """Where on the grid α may turn back, to go by the approximate curve: nowhere else is it solved."""
        along = self.rough.log_snr[:, -1] if self.n_learnt else self.rough.log_tilt
        apart = np.append(True, np.diff(along) > 1e-6)  # refined grids repeat points to rounding
        along, log_alpha = along[apart], self.rough.log_alpha[apart]
        u, is_flat = self.grid, np.zeros(self.grid.size, dtype=bool)
        if along.size < 3:
            return is_flat
        slope = np.interp(u, along, np.gradient(log_alpha, along))
        is_flat |= ~(np.abs(slope) > FLAT)
        turns = np.nonzero(slope[:-1] * slope[1:] < 0)[0]
        is_flat[turns] = is_flat[turns + 1] = True
        is_flat[1:-1] |= is_flat[:-2] | is_flat[2:]
        # Next to its birth a family is a power series in x, of which every second point says enough.
        is_new = u < np.log(1e-2) if self.n_learnt else np.zeros(u.size, dtype=bool)
        return is_flat & (~is_new | (np.arange(u.size) % 2 == 0)) & (u >= along[0]) & (u <= along[-1])

    def _fold(self, u: np.ndarray, slope: np.ndarray, z: np.ndarray) -> tuple[float, float, float] | None:
        """The zero of d ln α/du between two values of u, by the Illinois variant of regula falsi."""
        (a, b), (fa, fb), (za, zb) = u, slope, z
        side = 0
        for _ in range(_N_FOLD_STEPS):
            c = b - fb * (b - a) / (fb - fa)
            share = (c - a) / (b - a)
            states, log_alpha, values = self.solve(np.array([c]), (za + share * (zb - za))[None])
            fc, zc = float(values[0]), self.unknowns(states, log_alpha)[0]
            if not np.isfinite(fc):
                return None
            # The slopes have six digits, and α is quadratic here: nothing is gained beyond this.
            if abs(fc) < _FOLD_SLOPE or abs(b - a) < 1e-8:
                bend = (fb - fc) / (b - c) if abs(b - c) > abs(a - c) else (fa - fc) / (a - c)
                return float(c), float(log_alpha[0]), float(bend)
            if fc * fb > 0:
                b, fb, zb, fa, side = c, fc, zc, (0.5 * fa if side == 1 else fa), 1
            else:
                a, fa, za, fb, side = c, fc, zc, (0.5 * fb if side == -1 else fb), -1
        return None

    @cached_property
    def _flat_curve(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """ln(parameter), ln α, its slope and unknowns at the folds and where α hardly moves."""
        at, log_fold, _ = self.turning_points
        between = [np.linspace(a, b, 6)[1:-1] for a, b in zip(at[:-1], at[1:], strict=True) if b - a < 1.0]
        u = np.sort(np.concatenate([self.grid[self._may_turn], at, *between]))
        states, log_alpha, slope = self.solve(u)
        good = np.isfinite(slope)
        return u[good], log_alpha[good], slope[good], self.unknowns(states, log_alpha)[good]

    def guesses_where_flat(self, alpha: np.ndarray) -> tuple[np.ndarray, ClassSolutions]:
        """First guesses at α where the curve α(parameter) folds or is nearly flat.

        Between neighbouring nodes of the exact curve, folds among them, α is monotone: it is crossed where
        the sign of ln α(u) - ln α changes, and a few steps of bisection lead to it.
        """
        u, log_alpha, slope, z = self._flat_curve
        target = np.log(alpha)
        index, left = [], []
        for i in np.nonzero(
            (target > log_alpha.min(initial=np.inf)) & (target < log_alpha.max(initial=-np.inf))
        )[0]:
            ahead = log_alpha - target[i]
            near = (np.diff(u) < 0.5) & (np.minimum(np.abs(slope[:-1]), np.abs(slope[1:])) < FLAT)
            crossed = np.nonzero((ahead[:-1] * ahead[1:] <= 0) & near)[0]
            index += [i] * crossed.size
            left += list(crossed)
        if not index:
            return np.empty(0, dtype=int), self._nothing
        at, row = np.array(left), np.array(index)
        return row, self._crossing(target[row], u[[at, at + 1]], log_alpha[[at, at + 1]], z[[at, at + 1]])

    def _crossing(
        self, target: np.ndarray, u: np.ndarray, log_alpha: np.ndarray, z: np.ndarray
    ) -> ClassSolutions:
        """States within brackets of u (2 × rows) at which ln α is the target, up to a few steps."""
        u, z, ahead = u.copy(), z.copy(), log_alpha - target
        rows = np.arange(target.size)
        for _ in range(_N_CROSSING_STEPS):
            middle = u.mean(axis=0)
            states, value, slope = self.solve(middle, z.mean(axis=0))
            side = np.where((value - target) * ahead[0] > 0, 0, 1)
            u[side, rows], z[side, rows], ahead[side, rows] = (
                middle,
                self.unknowns(states, value),
                value - target,
            )
        return states

    @property
    def _nothing(self) -> ClassSolutions:
        empty = np.empty(0)
        return ClassSolutions(empty, empty, np.empty((0, self.n_learnt)), empty)

    def _solve_classes(
        self, log_x: np.ndarray, start: np.ndarray | None
    ) -> tuple[ClassSolutions, np.ndarray, np.ndarray]:
        m = self.n_learnt
        values2, powers = self.values2, self.powers
        rest = float(powers[m:].sum())
        if start is None:
            rough = families.family_at(self.setting, values2, powers, m, np.exp(log_x))
            start = np.column_stack(
                [rough.log_tilt, rough.log_coupling, rough.log_snr[:, :-1], rough.log_alpha]
            )

        def equations(rows: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            full = np.column_stack([z[:, :-1], log_x[rows]])
            errors, jacobian = saddle.class_equations(
                self.setting, np.exp(z[:, -1]), values2[:m], powers[:m], rest, full
            )
            jacobian[:, :, -1] = 0.0  # the parameter is given; α is unknown in its place
            jacobian[:, 1, -1] = 1.0
            return errors, jacobian

        z, residual = newton_rows(equations, start, rtol=RTOL, max_steps=MAX_STEPS)
        full = np.column_stack([z[:, :-1], log_x])
        _, jacobian = saddle.class_equations(
            self.setting, np.exp(z[:, -1]), values2[:m], powers[:m], rest, full, is_exact=True
        )
        slope = _alpha_slope(jacobian)
        bad = ~(residual <= ACCEPTED)
        slope[bad] = np.nan
        return ClassSolutions(z[:, 0], z[:, 1], full[:, 2:], residual), z[:, -1], slope

    def _solve_profile(
        self, log_tilt: np.ndarray, start: np.ndarray | None
    ) -> tuple[ClassSolutions, np.ndarray, np.ndarray]:
        rough, profile = self.rough, self.profile
        assert profile is not None

        def equations(rows: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            errors, jacobian = averaged.profile_equations(
                self.setting, profile, np.exp(z[:, 1]), np.column_stack([log_tilt[rows], z[:, 0]])
            )
            swapped = np.zeros_like(jacobian)
            swapped[:, :, 0] = jacobian[:, :, 1]
            swapped[:, 1, 1] = 1.0
            return errors, swapped

        if start is None:
            start = np.column_stack(
                [np.interp(log_tilt, rough.log_tilt, y) for y in (rough.log_coupling, rough.log_alpha)]
            )
        z, residual = newton_rows(equations, start, rtol=RTOL, max_steps=MAX_STEPS)
        _, jacobian = averaged.profile_equations(
            self.setting, profile, np.exp(z[:, 1]), np.column_stack([log_tilt, z[:, 0]]), is_exact=True
        )
        slope = _alpha_slope(jacobian[:, :, ::-1])
        slope[~(residual <= ACCEPTED)] = np.nan
        states = ClassSolutions(log_tilt, z[:, 0], np.empty((log_tilt.size, 0)), residual)
        return states, z[:, 1], slope


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

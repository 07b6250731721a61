"""The equations of families at given u, with ln α as a dependent variable, and their solutions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from ..._arrays import Array, Bools, Integers
from ...numerics.roots import newton_rows

__all__ = ["ACCEPTED", "Equations", "Points", "Rows", "System"]

ACCEPTED = 1e-10
"""Residual (relative error of every saddle-point equation) up to which a solution is reported."""

_RTOL, _MAX_STEPS = 1e-13, 40


@dataclass
class Rows:
    """Arrays of one length, a row for each point."""

    def __getitem__(self, rows: Bools | Integers | slice) -> Self:
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def put(self, rows: Integers, new: Self) -> None:
        """Replace some rows."""
        for f in fields(self):
            getattr(self, f.name)[rows] = getattr(new, f.name)


@dataclass
class System(Rows):
    """Equations of a family at given u, ln α, and their derivatives in the unknowns z and in u."""

    errors: Array
    by_z: Array
    by_u: Array
    log_alpha: Array
    alpha_by_z: Array
    alpha_by_u: Array


@dataclass
class Points(Rows):
    """Solutions along a family, one a row."""

    u: Array
    z: Array
    log_alpha: Array
    residual: Array
    z_slope: Array
    """dz/du along the curve."""
    slope: Array
    """d ln α/du."""

    def __len__(self) -> int:
        return self.u.size

    @property
    def is_good(self) -> Bools:
        return (self.residual <= ACCEPTED) & np.isfinite(self.log_alpha) & np.isfinite(self.slope)


class Equations(ABC):
    """A few equations for as many unknowns z at each u, and ln α as a function of both."""

    @abstractmethod
    def guess(self, u: np.ndarray) -> np.ndarray:
        """First guesses of the unknowns z, one row for each u."""

    @abstractmethod
    def system(self, u: np.ndarray, z: np.ndarray) -> System:
        """The equations at u and z."""

    def only(self, rows: np.ndarray) -> Equations:
        """Those of some rows, where they differ from row to row."""
        return self

    def with_root(self, u: Array, z: Array) -> Array:
        """Guesses changed such that every unit has its root, if that can be seen to."""
        return z

    def solved(self, u: np.ndarray, start: np.ndarray | None = None) -> Points:
        """The solutions at given u; their residuals tell which of them exist."""
        u = np.asarray(u, dtype=float)
        z = self.guess(u) if start is None else start

        best = _Best()

        def equations(rows: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            s = best.seen(self.only(rows).system(u[rows], z))
            return s.errors, s.by_z

        with np.errstate(all="ignore"):  # guesses may run away: their residual says so
            z, residual = newton_rows(equations, z, rtol=_RTOL, max_steps=_MAX_STEPS, on_better=best.keep)
            return _points(u, z, residual, best.system)

    def solved_at_alpha(self, log_alpha: np.ndarray, u: np.ndarray, z: np.ndarray) -> Points:
        """The solutions at given α that Newton's method reaches from (u, z)."""

        best = _Best()

        def equations(rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            s = best.seen(self.only(rows).system(y[:, -1], y[:, :-1]))
            errors = np.column_stack([s.errors, s.log_alpha - log_alpha[rows]])
            upper = np.concatenate([s.by_z, s.by_u[..., None]], axis=2)
            lower = np.column_stack([s.alpha_by_z, s.alpha_by_u])[:, None, :]
            return errors, np.concatenate([upper, lower], axis=1)

        points = _points_reached(equations, best, u, z)
        points.log_alpha = np.where(points.is_good, log_alpha, points.log_alpha)
        return points

    def solved_at_unknown(self, which: Integers, value: Array, u: Array, z: Array) -> Points:
        """The solutions at a given value of one of the unknowns that Newton's method reaches from (u, z)."""
        best = _Best()

        def equations(rows: Integers, y: Array) -> tuple[Array, Array]:
            s = best.seen(self.only(rows).system(y[:, -1], y[:, :-1]))
            every, fixed = np.arange(rows.size), which[rows]
            by = np.zeros((rows.size, y.shape[1], y.shape[1]))
            by[:, :-1, :-1], by[:, :-1, -1], by[every, -1, fixed] = s.by_z, s.by_u, 1.0
            return np.column_stack([s.errors, y[every, fixed] - value[rows]]), by

        return _points_reached(equations, best, u, z)


class _Best:
    """The equations at the best point that each row has been at, as Newton's method goes on."""

    system: System

    def __init__(self) -> None:
        self._is_first = True

    def seen(self, system: System) -> System:
        """Note the equations at the newest points: of all rows the first time, then of some."""
        self._newest = system
        if self._is_first:
            self.system, self._is_first = system[np.arange(len(system.log_alpha))], False
        return system

    def keep(self, rows: Integers, which: Bools) -> None:
        """Of the newest points those that are better than any before."""
        self.system.put(rows, self._newest[which])


def _points_reached(
    equations: Callable[[Integers, Array], tuple[Array, Array]], best: _Best, u: Array, z: Array
) -> Points:
    """Where Newton's method in (z, u) ends, given errors and derivatives of all equations."""
    with np.errstate(all="ignore"):
        y, residual = newton_rows(
            equations, np.column_stack([z, u]), rtol=_RTOL, max_steps=_MAX_STEPS, on_better=best.keep
        )
        return _points(y[:, -1], y[:, :-1], residual, best.system)


def _points(u: Array, z: Array, residual: Array, s: System) -> Points:
    """Points with their slopes along the curve, given the equations there."""
    n, m = z.shape
    good: Bools = np.all(np.isfinite(s.by_z), axis=(1, 2)) & np.all(np.isfinite(s.by_u), axis=1)
    determinant = np.linalg.det(np.where(good[:, None, None], s.by_z, np.eye(m)))
    good &= determinant != 0
    z_slope = np.zeros((n, m))
    if m and good.any():
        z_slope[good] = np.linalg.solve(s.by_z[good], -s.by_u[good][..., None])[..., 0]
    slope = s.alpha_by_u + np.sum(s.alpha_by_z * z_slope, axis=1)
    slope[~good] = np.nan
    return Points(u, z, s.log_alpha, residual, z_slope, slope)

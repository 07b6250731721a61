"""Roots of many small systems at once: bracketed scalars, and Newton's method row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["bracketed_root", "decreasing_root", "guarded_step", "newton_rows"]

_N_HALVINGS = 6
_N_STEPS = 40
_PATIENCE = 6
_LONGEST_STEP = 2.0  # unknowns are logarithms
_LONGEST_SHARE = 0.9  # of a bracket that one step may cross
_LARGEST = 690.0  # of numbers that neither overflow nor underflow, products with α included


def decreasing_root(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, atol: float = 1e-6
) -> np.ndarray:
    """Where a decreasing function changes sign in [low, high], element by element.

    A few halvings, then the Illinois variant of regula falsi. Without a change of sign a place
    next to the nearer end comes back, within 1/64 of the interval.
    """
    low, high = low.copy(), high.copy()
    at_low, at_high = np.full(low.shape, np.nan), np.full(low.shape, np.nan)
    for _ in range(_N_HALVINGS):
        middle = 0.5 * (low + high)
        value = function(middle)
        above = value > 0
        low, at_low = np.where(above, middle, low), np.where(above, value, at_low)
        high, at_high = np.where(above, high, middle), np.where(above, at_high, value)
    if np.isnan(at_low).any():  # a root may lie next to an end
        at_low = np.where(np.isnan(at_low), function(low), at_low)
    if np.isnan(at_high).any():
        at_high = np.where(np.isnan(at_high), function(high), at_high)
    root: np.ndarray = 0.5 * (low + high)
    last = np.zeros(low.shape, dtype=int)
    for _ in range(_N_STEPS):
        with np.errstate(invalid="ignore", divide="ignore"):
            new = high - at_high * (high - low) / (at_high - at_low)
        new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        value = function(new)
        above = value > 0
        # Illinois: halve the weight of an end that stays twice in a row.
        at_high = np.where(above & (last == 1), 0.5 * at_high, at_high)
        at_low = np.where(~above & (last == -1), 0.5 * at_low, at_low)
        last = np.where(above, 1, -1)
        low, at_low = np.where(above, new, low), np.where(above, value, at_low)
        high, at_high = np.where(above, high, new), np.where(above, at_high, value)
        done = np.all(np.abs(new - root) <= atol * (1 + np.abs(new)))
        root = new
        if done:
            break
    return root


def bracketed_root(
    function: Callable[[float], float], low: float, high: float, *, xtol: float, ftol: float
) -> tuple[float, tuple[float, float]]:
    """Where a scalar function changes sign, and the last bracket, by the Illinois variant of regula falsi.

    Infinite values are allowed, and lead to halving. ``xtol`` is relative.
    """
    at_low, at_high = function(low), function(high)
    side, new = 0, 0.5 * (low + high)
    for _ in range(2 * _N_STEPS):
        new = 0.5 * (low + high)
        if np.isfinite(at_low) and np.isfinite(at_high) and at_low != at_high:
            new = high - at_high * (high - low) / (at_high - at_low)
        value = function(new)
        if (value <= 0) == (at_high <= 0):
            high, at_high, at_low, side = new, value, (0.5 * at_low if side == 1 else at_low), 1
        else:
            low, at_low, at_high, side = new, value, (0.5 * at_high if side == -1 else at_high), -1
        if abs(value) <= ftol or abs(high - low) <= xtol * max(abs(low), abs(high)):
            break
    return new, (low, high)


def guarded_step(x: np.ndarray, step: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """x + step, or the middle of the bracket where that leaves it or crosses nearly all of it.

    Where the slope changes between them, Newton's method may go to and fro between the ends for ever.
    """
    new = x + step
    is_good = (new >= low) & (new <= high) & (np.abs(step) <= _LONGEST_SHARE * (high - low))
    found: np.ndarray = np.where(is_good, new, 0.5 * (low + high))
    return found


def newton_rows(
    equations: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    *,
    rtol: float,
    max_steps: int,
    on_better: Callable[[np.ndarray, np.ndarray], None] = lambda rows, which: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method on independent systems, one a row; the best point and residual of each.

    ``equations(rows, z)`` gives errors and Jacobians for some of the rows, and ``on_better(rows, which)`` is
    told which of these, the numbers ``rows``, have come to a point better than any before. A row is left
    when it has converged, when it is at its rounding level, or when its residual has not
    halved in six steps (first guesses that belong to no solution end like this).
    """
    z, best = start.copy(), start.copy()
    residual = np.full(start.shape[0], np.inf)
    before = np.full((_PATIENCE, start.shape[0]), np.inf)
    active = np.arange(start.shape[0])
    for step in range(max_steps):
        errors, jacobian = equations(active, z[active])
        size = np.max(np.abs(errors), axis=1, initial=0.0)
        size = np.where(np.isfinite(size), size, np.inf)
        is_better = size < residual[active]
        best[active[is_better]] = z[active[is_better]]
        on_better(active[is_better], is_better)
        is_rounding = ~is_better & (residual[active] < 100 * rtol)
        residual[active] = np.minimum(residual[active], size)
        is_stalled = residual[active] > 0.5 * before[step % _PATIENCE, active]
        before[step % _PATIENCE] = residual
        go_on = np.isfinite(size) & (size > rtol) & ~is_rounding & ~is_stalled
        active, errors, jacobian = active[go_on], errors[go_on], jacobian[go_on]
        if active.size == 0:
            break
        move = _solve_each(jacobian, -errors)
        # (A tilt may be e^600, and then a guess of it is off by more than a unit guess can be.)
        longest = np.max(np.abs(move) / (_LONGEST_STEP + 0.25 * np.abs(z[active])), axis=1, keepdims=True)
        z[active] += move / np.maximum(longest, 1.0)
        active = active[np.all(np.abs(z[active]) < _LARGEST, axis=1)]  # the others have run away
    return best, residual


def _solve_each(matrices: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(matrices, rhs[..., None])[..., 0]
    except np.linalg.LinAlgError:  # a singular row (a fold): least squares there
        is_singular = np.linalg.det(matrices) == 0
        found = np.empty_like(rhs)
        found[~is_singular] = np.linalg.solve(matrices[~is_singular], rhs[~is_singular][..., None])[..., 0]
        for i in np.nonzero(is_singular)[0]:
            found[i] = np.linalg.lstsq(matrices[i], rhs[i], rcond=None)[0]
        return found

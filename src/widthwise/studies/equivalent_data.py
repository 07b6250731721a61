"""Equivalent data: the α at which the optimum has a given error.

The error of the optimum falls with α and may jump. All targets are bracketed on one coarse curve and the
brackets narrowed together, a few batches of the solver in all.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from ..theory.errors import channel_error, error
from ..theory.linear_regime import solve_linear
from ..theory.solver import InexactPotentialWarning, learning_curve

__all__ = ["Equivalent", "equivalent_data", "theory_errors"]

_ALPHAS = np.geomspace(1e-4, 1e4, 49)
_N_ROUNDS, _N_INSIDE = 3, 7
_SLACK = 1e-3  # the linear part is known up to a term of order 1/d: nobody hits its error exactly


@dataclass(frozen=True)
class Equivalent:
    """α of the optimum for an error; 0 and infinity come with the reason."""

    alpha: float
    note: str = ""


def equivalent_data(problem: Problem, errors: ArrayLike, measure: str = "excess_error") -> list[Equivalent]:
    """Smallest α at which the optimum is as good as each of the errors, right to about 1e-4.

    Parameters
    ----------
    problem : Problem
    errors : array
        In the given measure.
    measure : "excess_error", "zero-one" or "mean-square"
    """
    values = np.atleast_1d(np.asarray(errors, dtype=float))
    gaps = values if measure == "excess_error" else _gaps(problem, values, measure)
    curve = theory_errors(problem, _ALPHAS)
    nothing, linear = solve_linear(problem, np.array([1e-9, 1e12])).excess_error
    answers: list[Equivalent | None] = [None] * values.size
    open_ones: list[int] = []
    for i, gap in enumerate(gaps):
        if not math.isfinite(values[i]):
            answers[i] = Equivalent(math.nan, "no error to compare")
        elif gap >= nothing * (1 - 1e-9):
            answers[i] = Equivalent(0.0, "no better than without data")
        elif gap >= min(linear, curve[0]) * (1 - _SLACK):
            answers[i] = Equivalent(0.0, "no better than the linear part")
        elif gap <= curve[-1]:
            answers[i] = Equivalent(math.inf, "below the optimum for any data")
        else:
            open_ones.append(i)
    for i, alpha in zip(open_ones, _narrowed(problem, gaps[open_ones], curve), strict=True):
        answers[i] = Equivalent(float(alpha))
    return [answer for answer in answers if answer is not None]


def theory_errors(
    problem: Problem, alphas: ArrayLike, branch: str = "equilibrium", measure: str = "excess_error"
) -> np.ndarray:
    """Error of a branch of the theory in the given measure, at each α."""
    grid = np.atleast_1d(np.asarray(alphas, dtype=float))
    order = np.argsort(grid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactPotentialWarning)  # the exact answer is meant
        curve = learning_curve(problem, grid[order], branch)
    values = np.empty(grid.size)
    values[order] = curve.excess_error if measure == "excess_error" else error(curve, measure)
    return values


def _narrowed(problem: Problem, gaps: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """α of each gap, all of which the curve passes."""
    if gaps.size == 0:
        return np.empty(0)
    at = np.array([int(np.argmax(curve <= gap)) for gap in gaps])
    low, high = np.log(_ALPHAS[at - 1]), np.log(_ALPHAS[at])
    above, below = curve[at - 1], curve[at]
    share = np.arange(1, _N_INSIDE + 1) / (_N_INSIDE + 1)
    for _ in range(_N_ROUNDS):
        inside = low[:, None] + share * (high - low)[:, None]
        errors = theory_errors(problem, np.exp(inside).ravel()).reshape(inside.shape)
        x = np.hstack([low[:, None], inside, high[:, None]])
        y = np.hstack([above[:, None], errors, below[:, None]])
        first = np.argmax(y[:, 1:] <= gaps[:, None], axis=1) + 1
        rows = np.arange(gaps.size)
        low, high, above, below = x[rows, first - 1], x[rows, first], y[rows, first - 1], y[rows, first]
    # A jump that is left inside the bracket is passed at its right end.
    is_jump = above - below > 0.02 * above
    part = np.where(is_jump, 1.0, (above - gaps) / np.maximum(above - below, 1e-300))
    return np.asarray(np.exp(low + np.clip(part, 0, 1) * (high - low)))


def _gaps(problem: Problem, values: np.ndarray, measure: str) -> np.ndarray:
    """Posterior variance of the output at which the best predictor errs as much."""
    power = problem.output_power
    from scipy.interpolate import PchipInterpolator

    # The error grows like a power of the gap near 0 and bends near 1: close points at both ends.
    gaps = power * np.unique(np.concatenate([np.geomspace(1e-9, 0.1, 30), np.linspace(0.1, 1, 25)]))
    table = np.array([channel_error(problem.channel, gap, power, measure) for gap in gaps])
    keep = np.append(True, np.diff(np.maximum.accumulate(table)) > 1e-13)
    inverse = PchipInterpolator(table[keep], np.log(gaps[keep]))
    found = np.exp(inverse(np.clip(values, table[0], table[-1])))
    return np.where(values <= table[0], 0.0, found)

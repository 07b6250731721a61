r"""Families of solutions as curves, from which every solution at a given α can be read off.

Order the distinct |readouts| from the largest down.  In the m-th family the first m classes
are learnt and the others are not.  It is a curve, parametrised by the signal-to-noise ratio
x of its m-th class: given x and the share of B in the force on that class, A and B are
explicit, the classes above follow (largest root), moment matching gives τ, and the defining
equation of A fixes the share: one monotone scalar equation.  Then

.. math:: \alpha = \gamma B / (2\psi_\mathrm{out}'(q_K))

is *explicit*: folds are extrema of α along the curve, and the solutions at a given α are its
crossings.  The mmse is interpolated here; what is found is a first guess for Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .roots import decreasing_root
from .saddle import ClassSolutions, Setting
from .units import GRID, evaluate_units, unit_table

__all__ = ["FLAT", "Family", "family_at", "trace_family"]

# Below this d ln α/d ln x a family may fold: the approximate slopes are right to a few per cent.
FLAT = 0.1
# Below this Newton's method at fixed α fails from approximate guesses; next to its birth, where every family
# is flat, it does not.
_ALMOST_FOLDED = 0.04
_GROWN = np.log(0.2)

_CURVE_GRID = GRID[1::3]
_LOOK_UP = slice(1, None, 2)
_N_REFINE = 24


@dataclass
class Family:
    """A curve of approximate solutions, ordered along x of its last class."""

    log_tilt: np.ndarray
    log_coupling: np.ndarray
    log_snr: np.ndarray
    log_alpha: np.ndarray

    @cached_property
    def flat_stretches(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest ln α of the steps that turn back or hardly move, well after the birth."""
        log_x, log_alpha = self.log_snr[:, -1], self.log_alpha
        rise = np.diff(log_alpha)
        is_flat = (np.abs(rise) < _ALMOST_FOLDED * np.diff(log_x)) & (log_x[1:] > _GROWN)
        turns = np.nonzero(rise[:-1] * rise[1:] < 0)[0]
        is_flat[turns] = is_flat[turns + 1] = True
        low, high = np.sort([log_alpha[:-1], log_alpha[1:]], axis=0)
        return low[is_flat], high[is_flat]

    def guesses(self, alpha: np.ndarray) -> tuple[np.ndarray, ClassSolutions]:
        """First guesses of all solutions at each α: where the curve crosses or nearly touches it.

        Returns the index into ``alpha`` of each guess and the guesses.
        """
        distance = self.log_alpha[None, :] - np.log(alpha)[:, None]
        who, left = np.nonzero(distance[:, 1:] * distance[:, :-1] <= 0)
        share = distance[who, left] / (distance[who, left] - distance[who, left + 1] + 1e-300)
        # Near folds and onsets the interpolated curve may just miss: take close approaches too.
        near = np.abs(distance)
        close = np.zeros_like(near, dtype=bool)
        close[:, 1:-1] = (near[:, 1:-1] <= near[:, :-2]) & (near[:, 1:-1] <= near[:, 2:])
        close[:, 0] = near[:, 0] <= near[:, 1]
        # Where the family is born (x -> 0 at finite α) the curve is flat: start from every decade.
        if self.log_snr.shape[1]:
            small = self.log_snr[:, -1] < np.log(1e-2)
            decade = np.zeros(small.size, dtype=bool)
            decade[np.unique(np.round(self.log_snr[:, -1] / np.log(10)), return_index=True)[1]] = True
            close |= (small & decade)[None, :]
        who2, at = np.nonzero(close & (near < 2e-2))
        index = np.concatenate([who, who2])
        tilt, coupling, snr = (
            np.concatenate([y[left] + (share * (y[left + 1] - y[left]).T).T, y[at]])
            for y in (self.log_tilt, self.log_coupling, self.log_snr)
        )
        return index, ClassSolutions(tilt, coupling, snr, np.full(index.size, np.inf))


def trace_family(setting: Setting, values2: np.ndarray, weights: np.ndarray, n_learnt: int) -> Family:
    """The family in which the first ``n_learnt`` classes (v² decreasing) are learnt."""
    x = _CURVE_GRID
    family = family_at(setting, values2, weights, n_learnt, x)
    turns = np.nonzero(np.diff(np.sign(np.diff(family.log_alpha))))[0] + 1
    if turns.size:
        fine = np.concatenate(
            [np.exp(np.linspace(np.log(x[k - 1]), np.log(x[k + 1]), _N_REFINE)) for k in turns[:12]]
        )
        x = np.unique(np.concatenate([x, fine]))
        family = family_at(setting, values2, weights, n_learnt, x)
    return family


def family_at(
    setting: Setting, values2: np.ndarray, weights: np.ndarray, n_learnt: int, x: np.ndarray
) -> Family:
    """The family at given x of its last class."""
    problem, gamma, mu2 = setting.problem, setting.gamma, setting.mu2_squared
    own = evaluate_units(problem.activation, problem.weights, x)
    force = x / values2[n_learnt - 1]
    total = weights.sum()
    unlearnt = total - weights[:n_learnt].sum()

    def state(logit: np.ndarray) -> tuple[np.ndarray, ...]:
        """Everything at a given share of B in the force, given by its logit."""
        if setting.kernel_total > 0:
            log_share, log_rest = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
            log_coupling = np.log(force / own.kernel_slope) + log_share
            pull = np.exp(np.log(force / own.overlap) + log_rest)
        else:  # a quadratic activation: B drives q̂₂ alone
            log_coupling, pull = logit, force / own.overlap
        coupling = np.exp(log_coupling)
        log_snr = np.empty((x.size, n_learnt))
        log_snr[:, -1] = np.log(x)
        for i in range(n_learnt - 1):
            log_snr[:, i] = _largest_root(setting, values2[i], pull, coupling)
        above = evaluate_units(problem.activation, problem.weights, np.exp(log_snr[:, :-1]))
        overlap = np.column_stack([above.overlap, own.overlap])
        gap = np.column_stack([above.gap, own.gap])
        kernel_gap = np.column_stack([above.kernel_gap, own.kernel_gap])
        learnt = overlap**2 @ weights[:n_learnt]
        left = (gap * (1 + overlap)) @ weights[:n_learnt] + unlearnt
        log_tilt = setting.table.log_snr_of(np.log(learnt) - np.log(np.maximum(left, 1e-290)))
        rest = kernel_gap @ weights[:n_learnt] + unlearnt * setting.kernel_total
        return log_tilt, log_coupling, log_snr, pull, rest

    def excess_pull(logit: np.ndarray) -> np.ndarray:
        """ln of the pull A assumed over the one that τ and q̂₂ give; decreasing in the share."""
        log_tilt, log_coupling, _, pull, _ = state(logit)
        given, _ = setting.table.guess(log_tilt, np.log(gamma * mu2) + log_coupling)
        return np.log(gamma * pull) - np.log(np.maximum(given, 1e-300))

    if mu2 == 0:
        logit = np.full(x.size, 800.0)  # the whole force is B's
    else:
        logit = decreasing_root(excess_pull, np.full(x.size, -60.0), np.full(x.size, 60.0))
    log_tilt, log_coupling, log_snr, _, rest = state(logit)
    log_hat = np.log(max(gamma * mu2, 1e-300)) + log_coupling
    _, after = setting.table.guess(log_tilt, log_hat)
    alpha = setting.alpha_of(np.exp(log_coupling), setting.output_gap(after, rest))
    return Family(log_tilt, log_coupling, log_snr, np.log(alpha))


def _largest_root(setting: Setting, value2: float, pull: np.ndarray, coupling: np.ndarray) -> np.ndarray:
    """ln of the largest x = v²(A F + B g'), by interpolation on the grid."""
    table = unit_table(setting.problem.activation, setting.problem.weights)
    log_x = np.log(GRID[_LOOK_UP])
    force = pull[:, None] * table.overlap[_LOOK_UP] + coupling[:, None] * table.kernel_slope[_LOOK_UP]
    surplus = np.log(value2 * force) - log_x
    last = surplus.shape[1] - 1 - np.argmax(surplus[:, ::-1] > 0, axis=1)
    last = np.minimum(last, surplus.shape[1] - 2)
    rows = np.arange(pull.size)
    here, there = surplus[rows, last], surplus[rows, last + 1]
    return log_x[last] + (log_x[last + 1] - log_x[last]) * here / (here - there)

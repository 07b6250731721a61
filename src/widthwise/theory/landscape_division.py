r"""Dividing an overall overlap among several classes of readouts, for the landscape of the free entropy.

At given strength β of the data the best division solves

.. math:: \max \sum_c \Big[\tfrac{\gamma w_c}{\alpha v_c^2}\, s(\mathcal Q_c)
          - \beta w_c\,(g(1) - g(\mathcal Q_c))\Big],\qquad \sum_c w_c \mathcal Q_c^2 = \mathcal Q^2,

a sum over classes under one constraint: dynamic programming finds it on a grid, whatever hills and valleys
the single terms have.  The grid only decides which divisions are tried: each belongs exactly to the overlap
that it adds up to.
"""

from __future__ import annotations

import numpy as np

__all__ = ["best_divisions"]

_N_CELLS = 400


def best_divisions(gains: np.ndarray, squares: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Which overlap each class takes, for each strength and each cell of 𝒬².

    Parameters
    ----------
    gains : array (strengths, classes, choices)
        The term of a class for every overlap that it may take.
    squares : array (choices,)
        Those overlaps, squared, from 0 to 1.
    powers : array (classes,)
        w_c, of sum 1.

    Returns
    -------
    array of int (divisions, classes)
        Indices of choices, one row for each strength and cell that can be reached.
    """
    n_strengths, n_classes, _ = gains.shape
    cells = np.arange(_N_CELLS + 1)
    value = np.full((n_strengths, cells.size), -np.inf)
    value[:, 0] = 0.0
    picks, befores = [], []
    for c in range(n_classes):
        shift = np.rint(_N_CELLS * powers[c] * squares).astype(int)
        before = cells[:, None] - shift
        reached = np.where(before >= 0, value[:, np.maximum(before, 0)], -np.inf)
        total = reached + gains[:, None, c, :]
        pick = np.argmax(total, axis=-1)
        value = np.take_along_axis(total, pick[..., None], axis=-1)[..., 0]
        picks.append(pick)
        befores.append(np.take_along_axis(np.broadcast_to(before, total.shape), pick[..., None], -1)[..., 0])
    strength, cell = np.nonzero(np.isfinite(value))
    division = np.empty((strength.size, n_classes), dtype=int)
    for c in reversed(range(n_classes)):
        division[:, c] = picks[c][strength, cell]
        cell = befores[c][strength, cell]
    return np.unique(division, axis=0)

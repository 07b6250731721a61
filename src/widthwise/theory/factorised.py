r"""The factorised ansatz of the paper's appendix: independent Gaussian entries in place of a Wishart matrix.

Its potential for the specialised phase (eq. freeEntSpecialisation-Bayes-Opt)

.. math:: f_\mathrm{sp} = \psi_\mathrm{out} + \tfrac{1}{4\alpha}(r_2 - q_2)\hat q_2
    + \tfrac\gamma\alpha E[\psi_W(\hat Q) - \tfrac12 Q\hat Q]
    - \tfrac{1}{4\alpha}\ln[1 + \hat q_2(1 - m)], \qquad m = E v^2 Q^2,

is the potential of the main theory for a matrix whose entries are Gaussian, mmse(η) = 1/(1 + η)
and ι(η) = ¼ ln(1 + η): moment matching gives 1 + τ = 1/(1 - m), hence
ι(τ) - ι(τ + q̂₂) = -¼ ln[1 + q̂₂(1 - m)].  So the same solver serves both, with :class:`GaussianMatrix` in
place of the spectrum; the pull on a unit is γA = q̂₂/(1 + q̂₂(1 - m)).

The universal branch keeps the spectrum, and of the two free entropies the larger one wins.
Entries that are Gaussian carry the most information, so f_sp at 𝒬 ≡ 0 never beats f_uni: the
transition of this theory is a jump, at the crossing :func:`factorised_transition`.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from ..problem import Problem
from .solver import as_alpha, learning_curve

__all__ = ["factorised_transition"]

_N_SCAN = 60


def factorised_transition(problem: Problem, alpha_max: float = 100.0, *, rtol: float = 1e-10) -> float:
    r"""ᾱ_sp = sup{α : f_uni > f_sp} (eq. alpha_c_meta), where the factorised theory jumps.

    Parameters
    ----------
    alpha_max : float
        The largest α looked at. Infinity comes back when the universal branch is still selected
        there: for the quadratic activation with Gaussian weights that holds at every α.
    """
    top = float(as_alpha(alpha_max, scalar=True)[0])

    def lead(alpha: Array) -> Array:
        """f_sp - f_uni; NaN where nothing specialised exists."""
        special, universal = (
            learning_curve(problem, alpha, branch, theory="factorised").free_entropy
            for branch in ("specialised", "universal")
        )
        difference: Array = special - universal
        return difference

    grid = top * np.geomspace(1e-4, 1.0, _N_SCAN)
    is_ahead = lead(grid) > 0  # False where NaN
    if not is_ahead[-1]:
        return float("inf")
    behind = np.nonzero(~is_ahead)[0]
    if behind.size == 0:
        return 0.0
    low, high = grid[behind[-1]], grid[behind[-1] + 1]
    while high - low > rtol * high:
        inside = np.linspace(low, high, 12)[1:-1]  # a batch costs little more than a point
        is_ahead = np.append(lead(inside) > 0, True)
        first = int(np.argmax(is_ahead))
        low, high = (inside[first - 1] if first else low), (inside[first] if first < inside.size else high)
    return float(0.5 * (low + high))

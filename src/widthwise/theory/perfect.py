r"""Perfect learning: discrete weights and noiseless labels.

Without noise ψ_out falls like the root of the gap when the gap opens, which beats the entropy gained by
blurring discrete weights. All weights known, gap 0, is then a maximum of the RS potential at the end of
its range, for any α, though no stationary point: no equation has it as its solution. There

.. math:: f = \psi_\mathrm{out}(r; r) - \frac{\gamma}{\alpha} H(P_W)\, P(v \ne 0),

and the mutual information is the entropy of the weights that can be learnt.
"""

from __future__ import annotations

import numpy as np

from ..problem import Problem
from .solution import CONVERGED, Solution, readout_grid

__all__ = ["can_be_perfect", "perfect_solutions"]


def can_be_perfect(problem: Problem) -> bool:
    """Whether the equilibrium may have no error at all at finite α."""
    return problem.channel.is_noiseless and problem.weights.entropy is not None


def perfect_solutions(problem: Problem, alpha: np.ndarray) -> list[Solution]:
    """The solution in which every weight of a readout other than 0 is known, at each α."""
    if not can_be_perfect(problem):
        return []
    v, p = readout_grid(problem)
    entropy = problem.weights.entropy
    assert entropy is not None
    is_seen = v != 0
    information = float(entropy) * float(p[is_seen].sum())
    known = problem.channel.free_entropy_known(problem.output_power)
    error = problem.channel.irreducible_error(problem.output_power)
    return [
        Solution(
            problem=problem,
            alpha=float(a),
            branch="specialised",
            is_equilibrium=False,
            is_stable=True,
            status=CONVERGED,
            residual=0.0,
            excess_error=0.0,
            bayes_error=error,
            gibbs_error=error,
            matrix_overlap=problem.matrix_power,
            matrix_overlap_hat=np.inf,
            matrix_overlap_centred=1.0,
            tilt=np.inf,
            free_entropy=known - problem.gamma / float(a) * information,
            mutual_information=information,
            readout_values=v,
            readout_weights=p,
            weight_overlap=np.where(is_seen, 1.0, 0.0),
            weight_overlap_hat=np.where(is_seen, np.inf, 0.0),
        )
        for a in alpha
    ]

r"""Perfect learning: every weight known exactly, for discrete weights.

It is a maximum of the RS potential at the end of its range, for any α, though no stationary point, in two
cases.  Without noise ψ_out falls like the root of the gap when the gap opens, which beats the entropy gained
by blurring discrete weights.  With an activation that jumps, g(1) - g(𝒬) opens like √(1 - 𝒬), which does so
with noise too.  There

.. math:: f = \psi_\mathrm{out}(r; r) - \frac{\gamma}{\alpha} H(P_W)\, P(v \ne 0),

and the mutual information is the entropy of the weights that can be learnt.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...ingredients.channels import Additive, Channel
from ..setting import Setting
from ..solution import CONVERGED, Solution, readout_grid

__all__ = ["can_be_perfect", "perfect_solutions"]


def can_be_perfect(setting: Setting) -> bool:
    """Whether the equilibrium may have no error at all at finite α."""
    if setting.problem.weights.entropy is None or setting.is_linear:
        return False
    return setting.units.can_be_known or _is_sharp(setting.problem.channel, setting.power)


@lru_cache(maxsize=128)
def _is_sharp(channel: Channel, power: float) -> bool:
    """Whether ψ_out' diverges as the gap closes, as it does where P_out jumps, with or without noise."""
    if channel.is_noiseless:
        return True
    if isinstance(channel, Additive):
        return False  # a smooth density
    near, far = channel.free_entropy_slope(np.array([1e-12, 1e-10]) * power, power)
    return bool(near > 5 * far)  # 10 for a jump


def perfect_solutions(setting: Setting, alpha: np.ndarray) -> list[Solution]:
    """The solution in which every weight of a readout other than 0 is known, at each α."""
    if not can_be_perfect(setting):
        return []
    problem = setting.problem
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

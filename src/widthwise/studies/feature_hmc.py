"""HMC on networks with features of different size, started where the theory says that the posterior is.

Each feature is learnt with a jump, so that a chain that starts on the whole teacher keeps for long some that
it should forget, and one that starts at random finds none.  The one between starts on the teacher's weights
of the features that the theory predicts to be learnt, and on draws from the prior for the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..learners import hmc
from ..learners.run import Run
from ..networks.instance import Instance
from ..theory.solver import solve

__all__ = ["hmc_on_learnt", "predicted_start"]


def predicted_start(instance: Instance, seed: int = 0) -> np.ndarray:
    """Weights k × d: the teacher's where the theory learns the unit, a draw from the prior elsewhere."""
    solution = solve(instance.problem, instance.alpha).require()
    order = np.argsort(np.abs(solution.readout_values), kind="stable")
    sizes, learnt = np.abs(solution.readout_values)[order], solution.weight_overlap[order] > 0
    least = sizes[learnt].min() if learnt.any() else np.inf
    is_learnt = np.abs(instance.readouts) >= least * (1 - 1e-9)
    weights = instance.problem.weights.sample(
        np.random.default_rng([instance.seed, seed]), instance.weights.shape
    )
    weights[is_learnt] = instance.weights[is_learnt]
    return weights


def hmc_on_learnt(instance: Instance, *, seed: int = 0, **settings: Any) -> Run:
    """:func:`~widthwise.learners.hmc` from :func:`predicted_start`; settings are those of ``hmc``."""
    return hmc(instance, start=predicted_start(instance, seed), seed=seed, **settings)

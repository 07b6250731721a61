r"""Coordinates in which the posterior of the weights is about as wide in every direction.

At weights drawn from the prior, the curvature of the log posterior has the mean

.. math:: 1 + \frac{nJ}{kd}\, \big[\mu_1^2\, v v^\top + (E\sigma'^2 - \mu_1^2)\, \mathrm{diag}(v^2)\big]
          \otimes C, \qquad C = \frac1n \sum_\mu x_\mu x_\mu^\top,

with J the Fisher information of a label on its output. The second term is a product of a matrix of units and
one of inputs, so that two small rotations bring it to diagonal form. The direction v of all units together,
the linear part of the network, is about k times stiffer than the others, and a step short enough for it is
wasted on them. Nothing here depends on where a chain starts or has been.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..networks.instance import Instance

__all__ = ["Whitening"]

# Of the power of the output: how well it is taken to be known where the Fisher information is asked for; that
# of labels almost without noise would diverge.
_GAP = 0.01


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Whitening:
    """The linear map u = left (scale ∘ z) rightᵀ from new coordinates z, and the same for readouts."""

    left: jax.Array
    scale: jax.Array
    right: jax.Array
    speed: jax.Array
    """Root-mean-square velocity of the pre-activations of each unit, for standard Gaussian dz/dt."""
    readouts: jax.Array | None = None
    """Square root of the covariance of learnt readouts; None where they are the teacher's."""

    @classmethod
    def of(cls, instance: Instance, *, learn_readouts: bool = False) -> Whitening:
        """Coordinates for the posterior of an instance."""
        problem, k, d = instance.problem, instance.k, instance.d
        inputs = np.asarray(instance.inputs)
        spread, right = np.linalg.eigh((inputs @ inputs.T).astype(float) / instance.n)
        mu0, mu1, mu2 = problem.hermite
        bend = mu2**2 + float(problem.activation.tail_kernel_slope(1.0))  # Eσ'² - μ₁²
        # The teacher's readouts say nothing of units whose own are learnt: these are all alike, E v² = 1.
        v = instance.readouts
        units = (
            np.eye(k) * (mu1**2 + bend) if learn_readouts else mu1**2 * np.outer(v, v) + np.diag(bend * v**2)
        )
        information = instance.n * _fisher_information(instance) / k
        stiffness, left = np.linalg.eigh(information / d * units)
        scale = 1 / np.sqrt(1 + np.outer(np.maximum(stiffness, 0), np.maximum(spread, 0)))
        speed = np.sqrt((left**2) @ (scale**2) @ np.maximum(spread, 0) / d)
        root = None
        if learn_readouts:
            power = problem.activation.second_moment - mu0**2
            stiffness, axes = np.linalg.eigh(np.full((k, k), mu0**2) + np.diag(np.full(k, power)))
            root = (axes / np.sqrt(1 + information * np.maximum(stiffness, 0))) @ axes.T
        arrays = (left, scale, right, speed, root)
        return cls(*(None if a is None else jnp.asarray(a, dtype=instance.dtype) for a in arrays))  # type: ignore[arg-type]

    def position(self, z: Any) -> Any:
        """The position (see :class:`~widthwise.learners.jax_model.Model`) at coordinates z."""
        weights = z if self.readouts is None else z[0]
        u = self.left @ (self.scale * weights) @ self.right.T
        return u if self.readouts is None else (u, self.readouts @ z[1])

    def coordinates(self, position: Any) -> Any:
        """The coordinates z of a position."""
        u = position if self.readouts is None else position[0]
        z = (self.left.T @ u @ self.right) / self.scale
        return z if self.readouts is None else (z, jnp.linalg.solve(self.readouts, position[1]))


def _fisher_information(instance: Instance) -> float:
    """J = 2 ∂ψ_out/∂q of a label on an output that is almost known."""
    power = instance.problem.output_power
    return 2 * float(instance.problem.channel.free_entropy_slope(_GAP * power, power))

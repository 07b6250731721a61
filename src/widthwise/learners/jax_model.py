r"""The network and its log posterior in JAX.

.. math:: \ln P(W \mid D) = \sum_\mu \ln P_\mathrm{out}(y_\mu \mid \lambda_\mu(W))
          + \sum_{ij} \ln P_W(W_{ij}) + c

with inputs laid out d × n: pre-activations are one product W X and the gradient one more, everything between
being elementwise and fused. Data are arguments, never constants of the compiled function: X is held once.

Constants c are chosen so that each sum is near 0 at the start: in single precision a sum of n = 10⁵ terms of
size 1 would only be known to 0.01, which is what an acceptance probability is decided on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf

from ..experiments.instance import Instance, require_memory
from ..ingredients import readouts as readout_laws
from ..ingredients import weights as weight_laws
from ..ingredients.activations import Activation
from ..ingredients.array_functions import evaluate_in
from ..problem import Problem

__all__ = ["Data", "Model", "jax_activation", "precision"]

_SQRT3 = math.sqrt(3.0)


def precision(instance: Instance) -> Any:
    """Context in which JAX computes in the precision of the instance."""
    return jax.enable_x64(instance.dtype == "float64")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Data:
    """What the posterior depends on, as one argument of the compiled functions."""

    inputs: jax.Array
    labels: jax.Array
    readouts: jax.Array
    shift: jax.Array
    """Added to the outputs: see ``Instance.output_shift``."""
    offsets: jax.Array
    """Log-likelihood a sample and log-prior a weight at the start, taken off."""

    @classmethod
    def of(cls, instance: Instance, weights: np.ndarray, n_repeated: int = 0) -> Data:
        """Data of an instance; ``weights`` is the start, for the offsets.

        The first ``n_repeated`` samples are appended, so that samples laid out in a circle have windows.
        """
        size = np.dtype(instance.dtype).itemsize
        # Inputs once more in the arrays of JAX, and pre-activations with what the gradient keeps of them.
        n_bytes = size * instance.n * (instance.d + 3 * instance.k * len(weights))
        require_memory(n_bytes, f"sampling at d = {instance.d} with n = {instance.n}")
        labels = instance.labels
        likelihood = instance.problem.channel.log_likelihood(labels, instance.outputs(weights[0]))
        prior = (
            0.0 if instance.problem.weights.is_discrete else _log_prior(instance.problem.weights, weights[0])
        )
        offsets = np.array([np.mean(likelihood), prior])
        inputs = instance.inputs
        if n_repeated:
            inputs = np.concatenate([inputs, inputs[:, :n_repeated]], axis=1)
            labels = np.concatenate([labels, labels[:n_repeated]])
        arrays = (inputs, labels, instance.readouts, instance.output_shift, offsets)
        return cls(*(jnp.asarray(a, dtype=instance.dtype) for a in arrays))


class Model:
    """Functions of a position u, the unconstrained coordinates of the weights (and readouts, if learnt).

    A position is an array k × d, or a pair of that and k readouts. Coordinates are the weights themselves,
    except for uniform laws: w = √3 erf(u/√2) with u standard Gaussian, which has no walls to run into.
    """

    def __init__(self, problem: Problem, k: int, d: int, *, learn_readouts: bool = False) -> None:
        self.k, self.d = k, d
        self.channel, self.law = problem.channel, problem.weights
        self.learn_readouts = learn_readouts
        self.activation = jax_activation(problem.activation)
        self._is_uniform = isinstance(self.law, weight_laws.Uniform)
        self._is_uniform_readout = isinstance(problem.readouts, readout_laws.Uniform)

    def outputs(self, weights: jax.Array, readouts: jax.Array, inputs: jax.Array) -> jax.Array:
        """vᵀσ(Wx/√d)/√k for each column x of the inputs."""
        hidden = self.activation((weights / math.sqrt(self.d)) @ inputs)
        return (readouts / math.sqrt(self.k)) @ hidden

    def log_posterior(self, position: Any, data: Data) -> jax.Array:
        """ln P(position | data), up to a constant."""
        weights, readouts = self.to_weights(position, data)
        outputs = self.outputs(weights, readouts, data.inputs) + data.shift
        terms = self.channel.log_likelihood(data.labels, outputs, jnp) - data.offsets[0]
        u = position[0] if self.learn_readouts else position
        prior = -0.5 * (u * u - 1) if self._is_uniform else self.law.log_density(u, jnp) - data.offsets[1]
        total = jnp.sum(terms) + jnp.sum(prior)
        # Gaussian readouts and the coordinates of uniform ones are both standard Gaussian.
        return total - 0.5 * jnp.sum(position[1] ** 2) if self.learn_readouts else total

    def to_weights(self, position: Any, data: Data) -> tuple[jax.Array, jax.Array]:
        """Weights and readouts at a position."""
        u, readouts = position if self.learn_readouts else (position, data.readouts)
        weights = _SQRT3 * erf(u / math.sqrt(2)) if self._is_uniform else u
        if self.learn_readouts and self._is_uniform_readout:
            readouts = _SQRT3 * erf(readouts / math.sqrt(2))
        return weights, readouts

    def to_position(self, weights: np.ndarray, readouts: np.ndarray) -> Any:
        """The position of given weights and readouts."""
        u = _from_uniform(weights) if self._is_uniform else weights
        if not self.learn_readouts:
            return u
        return u, _from_uniform(readouts) if self._is_uniform_readout else readouts


def jax_activation(activation: Activation) -> Callable[[jax.Array], jax.Array]:
    """σ as a function of JAX arrays: the formula evaluated in JAX, or the callable itself if it can."""
    tree = getattr(activation._function, "tree", None)
    if tree is not None:
        return lambda x: evaluate_in(jnp, tree, x)
    function: Any = activation._source
    try:
        with jax.enable_x64(False):
            jax.eval_shape(jax.grad(lambda x: jnp.sum(function(x))), jax.ShapeDtypeStruct((2,), jnp.float32))
    except Exception as error:  # whatever a function of NumPy raises when it meets a traced array
        raise ValueError(
            f"activation {activation.name!r} cannot be differentiated by JAX ({type(error).__name__}); "
            "write it with jax.numpy, or as a formula in x such as 'tanh(2*x)'"
        ) from error
    return function


def _log_prior(law: weight_laws.WeightLaw, weights: np.ndarray) -> float:
    return float(np.mean(law.log_density(weights)))


def _from_uniform(values: np.ndarray) -> np.ndarray:
    from scipy.special import erfinv

    return math.sqrt(2) * erfinv(np.clip(values / _SQRT3, -1 + 1e-7, 1 - 1e-7))

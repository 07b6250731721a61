r"""The network and its log posterior in JAX.

.. math:: \ln P(W \mid D) = \sum_\mu \ln P_\mathrm{out}(y_\mu \mid \lambda_\mu(W))
          + \sum_{ij} \ln P_W(W_{ij}) + c

A sum over samples runs block by block, value and gradient together: what lies between the two matrix
products of a block never leaves the cache (at d = 150, n = 22 500 the gradient takes 0.95 of the time of the
two products of whole arrays, against 1.15 in one block), and no array of k × n numbers is ever held. Data
are arguments, never constants of the compiled function.

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

from .._threads import keep_jax_to_one_core
from ..ingredients import readouts as readout_laws
from ..ingredients import weights as weight_laws
from ..ingredients.activations import Activation
from ..ingredients.array_functions import evaluate_in
from ..ingredients.channels import Channel
from ..networks.instance import Instance, require_memory
from ..problem import Problem

__all__ = ["BLOCK", "Data", "JaxChain", "Model", "jax_activation", "jax_log_likelihood", "precision"]

_SQRT3 = math.sqrt(3.0)
BLOCK = 500  # samples; from 250 to 2500 the time is the same within 5 %

Network = tuple[jax.Array, ...]

keep_jax_to_one_core()


def precision(instance: Instance) -> Any:
    """Context in which JAX computes in the precision of the instance."""
    return jax.enable_x64(instance.dtype == "float64")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Data:
    """What the posterior depends on, as one argument of the compiled functions."""

    inputs: jax.Array
    """Block × d × samples of a block."""
    labels: jax.Array
    counts: jax.Array
    """1 for a sample, 0 for what fills up the last block; like ``labels``, block × samples of a block."""
    readouts: jax.Array
    shift: jax.Array
    """Added to the outputs: see ``Instance.output_shift``."""
    offsets: jax.Array
    """Log-likelihood a sample and log-prior a weight at the start, taken off."""
    rounding: jax.Array | None = None
    """Half-width, for each unit, over which kinks of the activation are rounded; None for the activation."""

    @classmethod
    def of(
        cls,
        instance: Instance,
        weights: np.ndarray,
        block: int | None = None,
        readouts: np.ndarray | None = None,
    ) -> Data:
        """Data of an instance in blocks of (about 500 unless told) samples.

        ``weights`` and ``readouts`` (the teacher's unless given) are the start.
        """
        n, d, dtype = instance.n, instance.d, np.dtype(instance.dtype)
        n_blocks = max(1, round(n / BLOCK)) if block is None else math.ceil(n / block)
        block = math.ceil(n / n_blocks) if block is None else block
        require_memory(dtype.itemsize * n_blocks * block * d, f"sampling at d = {d} with n = {n}")
        likelihood = instance.problem.channel.log_likelihood(
            instance.labels, instance.outputs(weights[0], readouts=None if readouts is None else readouts[0])
        )
        law = instance.problem.weights
        prior = 0.0 if law.is_discrete else float(np.mean(law.log_density(weights[0])))

        inputs = _aligned((n_blocks, d, block), dtype)
        labels, counts = np.empty((n_blocks, block), dtype), np.zeros((n_blocks, block), dtype)
        for i in range(n_blocks):
            samples = slice(i * block, min((i + 1) * block, n))
            size = samples.stop - samples.start
            inputs[i, :, :size], inputs[i, :, size:] = instance.inputs[:, samples], 0
            labels[i, :size], labels[i, size:] = instance.labels[samples], instance.labels[0]
            counts[i, :size] = 1
        rest = (instance.readouts, instance.output_shift, (np.mean(likelihood), prior))
        # device_put takes an aligned array over without a copy: with the instance's, X is held twice.
        return cls(
            jax.device_put(inputs),
            jnp.asarray(labels),
            jnp.asarray(counts),
            *(jnp.asarray(array, dtype=dtype) for array in rest),
        )


class Model:
    """Functions of a position u, the unconstrained coordinates of the weights (and readouts, if learnt).

    A position is an array k × d, or a pair of that and k readouts. Coordinates are the weights themselves,
    except for uniform laws: w = √3 erf(u/√2) with u standard Gaussian, which has no walls to run into.
    """

    def __init__(self, problem: Problem, k: int, d: int, *, learn_readouts: bool = False) -> None:
        self.k, self.d = k, d
        self.law, self._log_likelihood_of = problem.weights, jax_log_likelihood(problem.channel)
        self.learn_readouts = learn_readouts
        self.activation = jax_activation(problem.activation)
        self._kinks = _kinks(problem.activation)
        self._is_uniform = isinstance(self.law, weight_laws.Uniform)
        self._is_uniform_readout = isinstance(problem.readouts, readout_laws.Uniform)
        # Differentiating the sum over blocks would keep every block's pre-activations.
        self._log_likelihood = jax.custom_vjp(
            lambda network, data: self.likelihood_and_gradient(network, data)[0]
        )
        self._log_likelihood.defvjp(
            self.likelihood_and_gradient,
            lambda gradient, scale: (jax.tree.map(lambda g: scale * g, gradient), None),
        )

    def outputs(
        self, weights: jax.Array, readouts: jax.Array, inputs: jax.Array, rounding: jax.Array | None = None
    ) -> jax.Array:
        """vᵀσ(Wx/√d)/√k for each column x of the inputs."""
        fields = (weights / math.sqrt(self.d)) @ inputs
        hidden = self.activation(fields)
        if rounding is not None:
            # A change of slope by s at c becomes a parabola from c - r to c + r.
            for place, change in self._kinks:
                inside = jnp.maximum(rounding[:, None] - jnp.abs(fields - place), 0)
                hidden += (0.25 * change / rounding)[:, None] * inside**2
        return (readouts / math.sqrt(self.k)) @ hidden

    def log_posterior(self, position: Any, data: Data) -> jax.Array:
        """ln P(position | data), up to a constant."""
        u = position[0] if self.learn_readouts else position
        prior = -0.5 * (u * u - 1) if self._is_uniform else self.law.log_density(u, jnp) - data.offsets[1]
        total = self._log_likelihood(self.network(position), data) + jnp.sum(prior)
        # Gaussian readouts and the coordinates of uniform ones are both standard Gaussian.
        return total - 0.5 * jnp.sum(position[1] ** 2) if self.learn_readouts else total

    def likelihood_and_gradient(
        self, network: Network, data: Data, blocks: jax.Array | None = None
    ) -> tuple[jax.Array, Network]:
        """Log-likelihood of all samples (or some blocks of them), less the constant, and its gradient."""

        def of_block(network: Network, block: jax.Array) -> jax.Array:
            readouts = network[1] if self.learn_readouts else data.readouts
            outputs = self.outputs(network[0], readouts, data.inputs[block], data.rounding) + data.shift
            terms = self._log_likelihood_of(data.labels[block], outputs) - data.offsets[0]
            return jnp.sum(data.counts[block] * terms)

        def add(total: Any, block: jax.Array) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, jax.value_and_grad(of_block)(network, block)), None

        blocks = jnp.arange(len(data.labels)) if blocks is None else blocks
        if len(blocks) == 1:
            return jax.value_and_grad(of_block)(network, blocks[0])
        zero = (jnp.zeros((), network[0].dtype), jax.tree.map(jnp.zeros_like, network))
        return jax.lax.scan(add, zero, blocks)[0]

    def network(self, position: Any) -> Network:
        """What is learnt, at a position: the weights, and the readouts if they are learnt too."""
        u = position[0] if self.learn_readouts else position
        weights = _SQRT3 * erf(u / math.sqrt(2)) if self._is_uniform else u
        if not self.learn_readouts:
            return (weights,)
        readouts = position[1]
        return weights, _SQRT3 * erf(readouts / math.sqrt(2)) if self._is_uniform_readout else readouts

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
    function: Callable[[jax.Array], jax.Array] = activation._source  # type: ignore[assignment]
    _check_derivative(
        function,
        f"activation {activation.name!r}",
        "write it as a formula in x such as 'tanh(2*x)', or with operators that NumPy and JAX share",
    )
    return function


def _kinks(activation: Activation) -> list[tuple[float, float]]:
    """Where the slope of the activation changes, and by how much; cusps of infinite slope are left out."""
    found = []
    for place in activation.kinks:
        near, far = (
            float(np.diff(activation.derivative(place + step * np.array([-1, 1])))[0])
            for step in (1e-9, 1e-6)
        )
        if abs(near) > 1e-6 and abs(near - far) < 1e-3 * (1 + abs(far)):
            found.append((place, near))
    return found


def jax_log_likelihood(channel: Channel) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """ln P_out(y | λ) as a function of JAX arrays."""

    def log_likelihood(labels: jax.Array, outputs: jax.Array) -> jax.Array:
        found: jax.Array = channel.log_likelihood(labels, outputs, jnp)
        return found

    _check_derivative(
        lambda x: log_likelihood(jnp.ones_like(x), x),
        f"channel {channel.name!r}",
        "write its function with the module it is handed as the argument xp",
    )
    return log_likelihood


def _check_derivative(function: Callable[[Any], Any], what: str, remedy: str) -> None:
    try:
        with jax.enable_x64(False):
            shape: Any = jax.ShapeDtypeStruct
            jax.eval_shape(jax.grad(lambda x: jnp.sum(function(x))), shape((2,), jnp.float32))
    except Exception as error:  # whatever a function of NumPy raises when it meets a traced array
        raise ValueError(
            f"{what} cannot be differentiated by JAX ({type(error).__name__}); {remedy}"
        ) from error


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array that begins at a multiple of 64 bytes."""
    size = math.prod(shape)
    room = np.empty(size + 64 // dtype.itemsize, dtype)
    first = -room.ctypes.data % 64 // dtype.itemsize
    return room[first : first + size].reshape(shape)


def _from_uniform(values: np.ndarray) -> np.ndarray:
    from scipy.special import erfinv

    return np.asarray(math.sqrt(2) * erfinv(np.clip(values / _SQRT3, -1 + 1e-7, 1 - 1e-7)))


class JaxChain:
    """A chain whose whole state is ``_carry``; see :class:`~widthwise.learners.loop.Chain`."""

    _carry: Any

    def network(self) -> tuple[Any, ...]:
        """Current weights, and readouts if they are learnt; chains first."""
        raise NotImplementedError

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.network()[0])

    @property
    def readouts(self) -> np.ndarray | None:
        learnt = self.network()[1:]
        return np.asarray(learnt[0]) if learnt else None

    def save(self) -> dict[str, np.ndarray]:
        return {f"state:{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self._carry))}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        leaves, structure = jax.tree.flatten(self._carry)
        saved_leaves = [jnp.asarray(saved[f"state:{i}"]) for i in range(len(leaves))]
        self._carry = jax.tree.unflatten(structure, saved_leaves)

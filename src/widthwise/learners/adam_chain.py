"""Networks in training with Adam.

A batch is a few blocks of consecutive samples, drawn without replacement for every update: samples are
independent, so blocks are as random as single samples, and nothing is gathered.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..networks.instance import Instance
from .iterative import Start
from .jax_model import BLOCK, Data, JaxChain, Model

__all__ = ["AdamChain"]


class AdamChain(JaxChain):
    """The state is (weights and readouts, moments of Adam, key)."""

    def __init__(
        self,
        instance: Instance,
        start: Start,
        settings: dict[str, Any],
        patience: int | None,
        n_held: int = 0,
    ) -> None:
        self.settings, self.patience = settings, patience
        instance, self._held_out = _parted(instance, n_held)
        width = start.weights.shape[1]
        model = Model(instance.problem, width, instance.d, learn_readouts=settings["learn_readouts"])
        optimiser = optax.adam(_rate(settings))
        n_drawn = max(1, round(settings["batch_size"] / BLOCK))
        block = math.ceil(settings["batch_size"] / n_drawn)
        own_readouts = start.readouts if settings["learn_readouts"] else None
        self._data = Data.of(instance, start.weights, block, own_readouts)
        is_normalised = settings.get("normalise_rows", False)
        n_blocks = len(self._data.labels)

        def update(network: Any, moments: Any, key: Any, data: Data) -> Any:
            if n_drawn == 1:  # sorting thousands of small blocks would take longer than the gradient
                blocks = jax.random.randint(key, (1,), 0, n_blocks)
            else:
                blocks = jax.random.permutation(key, n_blocks)[:n_drawn]
            n_samples = jnp.sum(data.counts[blocks])
            value, gradient = model.likelihood_and_gradient(network, data, blocks)
            loss, descent = jax.tree.map(lambda x: -x / n_samples, (value, gradient))
            change, moments = optimiser.update(descent, moments, network)
            network = optax.apply_updates(network, change)
            if is_normalised:
                norms = jnp.linalg.norm(network[0], axis=1, keepdims=True)
                network = (network[0] * (math.sqrt(instance.d) / norms), *network[1:])
            return network, moments, loss - data.offsets[0]

        def iteration(_: Any, carried: Any, data: Data) -> Any:
            (networks, moments, key), total = carried
            key, now = jax.random.split(key)
            keys = jax.random.split(now, len(start.weights))
            networks, moments, loss = jax.vmap(update, in_axes=(0, 0, 0, None))(networks, moments, keys, data)
            return (networks, moments, key), total + loss

        def many(carry: Any, data: Data, n_iterations: int) -> Any:
            zero = jnp.zeros(len(start.weights), instance.dtype)
            carry, total = jax.lax.fori_loop(0, n_iterations, partial(iteration, data=data), (carry, zero))
            return carry, total / n_iterations

        self._block = jax.jit(many)
        learnt = (start.weights, start.readouts)[: 1 + settings["learn_readouts"]]
        networks = tuple(jnp.asarray(part, dtype=instance.dtype) for part in learnt)
        moments = jax.vmap(optimiser.init)(networks)
        self._carry = (networks, moments, jax.random.PRNGKey(start.seed))

    def network(self) -> tuple[Any, ...]:
        network: tuple[Any, ...] = self._carry[0]
        return network

    def advance(self, n_iterations: int) -> dict[str, np.ndarray]:
        self._carry, loss = self._block(self._carry, self._data, n_iterations)
        judged = {} if self._held_out is None else {"held_out_loss": self._held_out_loss(self._held_out)}
        return {"training_loss": np.asarray(loss, dtype=float), **judged}

    def _held_out_loss(self, samples: Instance) -> np.ndarray:
        """-ln P_out a sample, of each chain."""
        readouts = [None] * len(self.weights) if self.readouts is None else self.readouts
        outputs = [samples.outputs(w, readouts=v) for w, v in zip(self.weights, readouts, strict=True)]
        channel = samples.problem.channel
        return np.array([-np.mean(channel.log_likelihood(samples.labels, one)) for one in outputs])


def _parted(instance: Instance, n_held: int) -> tuple[Instance, Instance | None]:
    """The samples to train on, and the last ``n_held``: samples are independent, so any will do."""
    if not n_held:
        return instance, None

    def part(samples: slice) -> Instance:
        return Instance.from_arrays(
            instance.problem,
            instance.inputs[:, samples],
            instance.labels[samples],
            weights=instance.weights,
            readouts=instance.readouts,
            seed=instance.seed,
            dtype=instance.dtype,
        )

    return part(slice(0, instance.n - n_held)), part(slice(instance.n - n_held, None))


def _rate(settings: dict[str, Any]) -> Any:
    rate = settings["learning_rate"]
    if settings["schedule"] == "cosine":
        return optax.cosine_decay_schedule(rate, settings["iterations"])
    if settings["schedule"] == "exponential":
        return optax.exponential_decay(rate, settings["iterations"], 0.01)
    return rate

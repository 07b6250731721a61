"""Adam on the negative log-likelihood, with Optax: what a practitioner would do.

The network kept is the best one that was observed, by its exact population error (early stopping at the
best test loss, as in the paper). Its ``excess_error`` is its own, E(λ - λ⁰)²; the paper plots half of it.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from ..experiments.instance import Instance
from .loop import checked_counts, run_chain, starting_weights
from .progress import Progress
from .run import Run

__all__ = ["adam"]

_SCHEDULES = ("constant", "cosine", "exponential")


def adam(
    instance: Instance,
    *,
    start: str | np.ndarray = "random",
    iterations: int = 2000,
    record_every: int | None = None,
    batch_size: int | None = None,
    learning_rate: float = 0.05,
    schedule: str = "constant",
    patience: int | None = None,
    learn_readouts: bool = False,
    n_chains: int = 1,
    seed: int = 0,
    progress: Progress = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
) -> Run:
    """The best network that Adam passes through.

    Parameters
    ----------
    instance : Instance
    start : "random", "teacher" or array
    iterations, record_every : int
        Gradient updates, and how often the network is observed (a hundredth of the run unless given).
    batch_size : int
        Samples an update, at most n; n/5 unless given, as in the paper. n itself is full-batch descent.
    learning_rate, schedule
        Rate to begin with; ``"constant"``, ``"cosine"`` (to 0 at the end) or ``"exponential"`` (to a
        hundredth).
    patience : int
        Stop after so many observations without a better network.
    learn_readouts : bool
        Train the readouts too, from a draw of P_v unless started on the teacher.
    n_chains : int
        Networks trained side by side, from different starts on different batches.
    progress, checkpoint, max_seconds
        As for :func:`~widthwise.learners.hmc`.
    """
    record_every = checked_counts(iterations, record_every, n_chains, seed)
    batch_size = max(1, instance.n // 5) if batch_size is None else int(batch_size)
    if not 1 <= batch_size <= instance.n:
        raise ValueError(f"batch_size must be between 1 and n = {instance.n}, got {batch_size}")
    if not learning_rate > 0:
        raise ValueError(f"learning_rate must be > 0, got {learning_rate!r}")
    if schedule not in _SCHEDULES:
        raise ValueError(f"unknown schedule {schedule!r}; choose from {', '.join(_SCHEDULES)}")
    rng = np.random.default_rng([seed, instance.seed])
    weights, is_matched = starting_weights(instance, start, n_chains, rng)
    readouts = np.broadcast_to(instance.readouts, (n_chains, instance.k))
    if learn_readouts and is_matched:
        readouts = instance.problem.readouts.sample(rng, n_chains * instance.k).reshape(n_chains, -1)
    settings = {
        "start": start,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "schedule": schedule,
        "learn_readouts": learn_readouts,
        "n_chains": n_chains,
        "seed": seed,
        # A schedule is laid out over the whole run.
        **({} if schedule == "constant" else {"iterations": iterations}),
    }
    from .jax_model import precision

    with precision(instance):
        return run_chain(
            _Adam(instance, weights, readouts, settings),
            learner="adam",
            instance=instance,
            iterations=iterations,
            record_every=record_every,
            is_matched=is_matched,
            settings=settings,
            progress=progress,
            checkpoint=checkpoint,
            max_seconds=max_seconds,
            is_sampler=False,
            patience=patience,
        )


class _Adam:
    """Networks in training; the state is (weights and readouts, moments of Adam, key)."""

    def __init__(
        self, instance: Instance, weights: np.ndarray, readouts: np.ndarray, settings: dict[str, Any]
    ) -> None:
        import jax
        import jax.numpy as jnp
        import optax

        from .jax_model import Data, Model

        model, dtype, n, size = (
            Model(instance.problem, instance.k, instance.d),
            instance.dtype,
            instance.n,
            settings["batch_size"],
        )
        self._learns_readouts = settings["learn_readouts"]
        optimiser = optax.adam(_rate(settings))
        # A batch is a window on the samples laid out in a circle: contiguous, so that nothing is gathered.
        data = Data.of(instance, weights, n_repeated=size if size < n else 0)
        self._data = (data.inputs, data.labels, data.readouts, data.shift)

        def loss(parameters, x, y, fixed_readouts, shift):
            v = parameters[1] if self._learns_readouts else fixed_readouts
            return -jnp.mean(model.channel.log_likelihood(y, model.outputs(parameters[0], v, x) + shift, jnp))

        def update(parameters, moments, key, data):
            x, y, v, shift = data
            if size < n:
                first = jax.random.randint(key, (), 0, n)
                x = jax.lax.dynamic_slice_in_dim(x, first, size, axis=1)
                y = jax.lax.dynamic_slice_in_dim(y, first, size)
            value, gradient = jax.value_and_grad(loss)(parameters, x, y, v, shift)
            change, moments = optimiser.update(gradient, moments, parameters)
            return optax.apply_updates(parameters, change), moments, value

        def iteration(carry, _, data):
            parameters, moments, key = carry
            key, now = jax.random.split(key)
            keys = jax.random.split(now, len(weights))
            parameters, moments, value = jax.vmap(update, in_axes=(0, 0, 0, None))(
                parameters, moments, keys, data
            )
            return (parameters, moments, key), value

        def block(carry, data, n_iterations):
            carry, values = jax.lax.scan(partial(iteration, data=data), carry, None, n_iterations)
            return carry, values.mean(axis=0)

        self._block = jax.jit(block, static_argnames="n_iterations")
        parameters: tuple[Any, ...] = (jnp.asarray(weights, dtype=dtype),)
        if self._learns_readouts:
            parameters += (jnp.asarray(readouts, dtype=dtype),)
        moments = jax.vmap(optimiser.init)(parameters)
        self._carry: tuple[Any, ...] = (parameters, moments, jax.random.PRNGKey(settings["seed"]))

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self._carry[0][0])

    @property
    def readouts(self) -> np.ndarray | None:
        return np.asarray(self._carry[0][1]) if self._learns_readouts else None

    def advance(self, n_iterations: int) -> dict[str, np.ndarray]:
        self._carry, value = self._block(self._carry, self._data, n_iterations=n_iterations)
        return {"training_loss": np.asarray(value, dtype=float)}

    def save(self) -> dict[str, np.ndarray]:
        import jax

        return {f"state:{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self._carry))}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        import jax
        import jax.numpy as jnp

        leaves, structure = jax.tree.flatten(self._carry)
        saved_leaves = [jnp.asarray(saved[f"state:{i}"]) for i in range(len(leaves))]
        self._carry = jax.tree.unflatten(structure, saved_leaves)


def _rate(settings: dict[str, Any]) -> Any:
    import optax

    rate = settings["learning_rate"]
    if settings["schedule"] == "cosine":
        return optax.cosine_decay_schedule(rate, settings["iterations"])
    if settings["schedule"] == "exponential":
        return optax.exponential_decay(rate, settings["iterations"], 0.01)
    return rate

"""Hamiltonian Monte Carlo for continuous weights, with BlackJAX.

Each iteration follows a fixed number of leapfrog steps (or NUTS), from fresh momenta of unit mass. The step size is
adapted by dual averaging during the warm-up and frozen after it. Chains of one instance run as one batch.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from ..experiments.instance import Instance
from .loop import checked_counts, run_chain, starting_weights
from .run import Run

__all__ = ["hmc"]


def hmc(
    instance: Instance,
    *,
    start: str | np.ndarray = "teacher",
    iterations: int = 1000,
    record_every: int | None = None,
    n_leapfrog: int = 10,
    step_size: float = 0.01,
    target_acceptance: float = 0.8,
    n_warmup: int | None = None,
    is_nuts: bool = False,
    learn_readouts: bool = False,
    n_chains: int = 1,
    seed: int = 0,
    discard: float = 0.5,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
) -> Run:
    """Draws from the posterior of the weights of an instance.

    Parameters
    ----------
    instance : Instance
        With continuous weights; discrete ones are for :func:`~widthwise.learners.metropolis`.
    start : "teacher", "random" or array
        On the teacher (informed), on a draw from the prior, or on weights of shape (k, d) or (n_chains, k, d).
    iterations, record_every : int
        Length of the run, and how often it is observed (a hundredth of the run unless given).
    n_leapfrog, step_size, target_acceptance
        Leapfrog steps an iteration; step size to begin with; acceptance that its adaptation aims at.
    n_warmup : int
        Iterations during which the step size adapts (a quarter of the run unless given).
    is_nuts : bool
        Let the no-U-turn rule choose the number of leapfrog steps (a power of two, up to 2¹⁰).
    learn_readouts : bool
        Sample the readouts too, under P_v (continuous laws only).
    discard : float
        Fraction of the run that averages leave out.
    progress, checkpoint, max_seconds
        Progress bar (by default, when there is a terminal); file to save to and to resume from; time limit.

    Returns
    -------
    Run
        A warning ``NotAtEquilibrium`` is given when two replicas contradict the teacher overlap.
    """
    _check_problem(instance, learn_readouts)
    record_every = checked_counts(iterations, record_every, n_chains, seed)
    n_warmup = iterations // 4 if n_warmup is None else n_warmup
    rng = np.random.default_rng([seed, instance.seed])
    weights, is_matched = starting_weights(instance, start, n_chains, rng)
    readouts = np.broadcast_to(instance.readouts, (n_chains, instance.k))
    if learn_readouts and is_matched:
        readouts = instance.problem.readouts.sample(rng, n_chains * instance.k).reshape(n_chains, -1)
    settings = {
        "start": start,
        "n_leapfrog": n_leapfrog,
        "step_size": step_size,
        "target_acceptance": target_acceptance,
        "n_warmup": n_warmup,
        "is_nuts": is_nuts,
        "learn_readouts": learn_readouts,
        "n_chains": n_chains,
        "seed": seed,
    }
    from .jax_model import precision

    with precision(instance):
        chain = _Hmc(instance, weights, readouts, settings)
        run = run_chain(
            chain,
            learner="hmc",
            instance=instance,
            iterations=iterations,
            record_every=record_every,
            is_matched=is_matched,
            settings=settings,
            progress=progress,
            checkpoint=checkpoint,
            max_seconds=max_seconds,
            discard=discard,
        )
    if isinstance(start, str) and start == "teacher" and not learn_readouts:
        run.warn_if_not_at_equilibrium()
    return run


class _Hmc:
    """Chains of HMC in step; the state is (positions with their gradients, step-size adaptations, key)."""

    def __init__(
        self, instance: Instance, weights: np.ndarray, readouts: np.ndarray, settings: dict[str, Any]
    ) -> None:
        import jax
        import jax.numpy as jnp
        from blackjax.adaptation.step_size import dual_averaging_adaptation
        from blackjax.mcmc import hmc as fixed_length
        from blackjax.mcmc import nuts

        from .jax_model import Data, Model

        model = Model(instance, learn_readouts=settings["learn_readouts"])
        n_chains, dtype = len(weights), instance.dtype
        adapt_init, adapt_update, adapt_final = dual_averaging_adaptation(settings["target_acceptance"])
        kernel = nuts.build_kernel() if settings["is_nuts"] else fixed_length.build_kernel()
        length = {} if settings["is_nuts"] else {"num_integration_steps": settings["n_leapfrog"]}
        n_unknowns = instance.k * (instance.d + int(settings["learn_readouts"]))
        unit_mass = jnp.ones(n_unknowns, dtype=dtype)

        def one_step(key, state, step_size, data):
            return kernel(
                key, state, partial(model.log_posterior, data=data), step_size, inverse_mass_matrix=unit_mass, **length
            )

        def iteration(carry, _, data):
            states, adaptations, key, time = carry
            key, now = jax.random.split(key)
            is_warm = time >= settings["n_warmup"]
            frozen, moving = jax.vmap(adapt_final)(adaptations), jnp.exp(adaptations.log_step_size)
            steps = jnp.where(is_warm, frozen, moving).astype(dtype)
            keys = jax.random.split(now, n_chains)
            states, info = jax.vmap(one_step, in_axes=(0, 0, 0, None))(keys, states, steps, data)
            updated = jax.vmap(adapt_update)(adaptations, info.acceptance_rate)
            adaptations = jax.tree.map(lambda new, old: jnp.where(is_warm, old, new), updated, adaptations)
            return (states, adaptations, key, time + 1), (info.acceptance_rate, steps)

        def block(carry, data, n_iterations):
            carry, (acceptance, steps) = jax.lax.scan(partial(iteration, data=data), carry, None, n_iterations)
            return carry, acceptance.mean(axis=0), steps[-1]

        self._block = jax.jit(block, static_argnames="n_iterations")
        self._model, self._data = model, Data.of(instance, weights)
        position = model.to_position(weights, readouts)
        position = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=dtype), position)
        start = jax.jit(
            jax.vmap(lambda u, data: fixed_length.init(u, partial(model.log_posterior, data=data)), in_axes=(0, None))
        )
        states = start(position, self._data)
        first_step = jnp.full(n_chains, settings["step_size"], dtype=dtype)
        adaptations = jax.vmap(adapt_init)(first_step)
        self._carry = (states, adaptations, jax.random.PRNGKey(settings["seed"]), jnp.asarray(0))
        # Types as they come out of an iteration: a scan takes back only what it gives.
        shapes = jax.eval_shape(partial(self._block, n_iterations=1), self._carry, self._data)[0]
        self._carry = jax.tree.map(lambda value, like: jnp.asarray(value, like.dtype), self._carry, shapes)

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self._model.to_weights(self._carry[0].position, self._data)[0])

    @property
    def readouts(self) -> np.ndarray | None:
        if not self._model.learn_readouts:
            return None
        return np.asarray(self._model.to_weights(self._carry[0].position, self._data)[1])

    def advance(self, n_iterations: int) -> dict[str, np.ndarray]:
        carry, acceptance, step_size = self._block(self._carry, self._data, n_iterations=n_iterations)
        statistics = {
            "acceptance": np.asarray(acceptance, dtype=float),
            "step_size": np.asarray(step_size, dtype=float),
            "energy": -np.asarray(carry[0].logdensity, dtype=float),
        }
        self._carry = carry
        return statistics

    def save(self) -> dict[str, np.ndarray]:
        import jax

        return {f"state:{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self._carry))}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        import jax
        import jax.numpy as jnp

        structure = jax.tree.structure(self._carry)
        leaves = [jnp.asarray(saved[f"state:{i}"]) for i in range(structure.num_leaves)]
        self._carry = jax.tree.unflatten(structure, leaves)


def _check_problem(instance: Instance, learn_readouts: bool) -> None:
    problem = instance.problem
    if problem.weights.is_discrete:
        raise ValueError(
            f"hmc needs weights with a density, and {problem.weights.name} weights are discrete; use metropolis"
        )
    try:
        problem.weights.log_density(np.zeros(1))
    except ValueError:
        raise ValueError(
            f"hmc needs weights with a density, and {problem.weights.name} weights have an atom; use metropolis"
        ) from None
    if problem.activation._jumps():
        raise ValueError(f"hmc needs a continuous activation, and {problem.activation.name!r} jumps; use metropolis")
    if learn_readouts and problem.readouts.is_discrete:
        raise ValueError(
            f"hmc learns readouts with a density, and {problem.readouts.name} readouts are discrete; "
            "leave learn_readouts=False"
        )

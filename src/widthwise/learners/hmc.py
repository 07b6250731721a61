"""Hamiltonian Monte Carlo for continuous weights, with BlackJAX.

Each iteration follows a fixed number of leapfrog steps (or NUTS), from fresh momenta of unit mass. The step
size is adapted by dual averaging during the warm-up and frozen after it. Chains of one instance run as one
batch.
"""

from __future__ import annotations

import os
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..experiments.instance import Instance
from ..problem import Problem
from .loop import checked_counts, run_chain, starting_weights
from .progress import Progress
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
    progress: Progress = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
) -> Run:
    """Draws from the posterior of the weights of an instance.

    Parameters
    ----------
    instance : Instance
        With continuous weights; discrete ones are for :func:`~widthwise.learners.metropolis`.
    start : "teacher", "random" or array
        On the teacher (informed), on a draw from the prior, or on weights of shape (k, d) or (n_chains, k,
        d).
    iterations, record_every : int
        Length of the run, and how often it is observed (a hundredth of the run unless given).
    n_leapfrog, step_size, target_acceptance
        Leapfrog steps an iteration; step size to begin with; acceptance that its adaptation aims at.
    n_warmup : int
        Iterations during which the step size adapts (a quarter of the run unless given; give it if a
        checkpoint is to be continued beyond the length first asked for).
    is_nuts : bool
        Let the no-U-turn rule choose the number of leapfrog steps (a power of two, up to 2¹⁰).
    learn_readouts : bool
        Sample the readouts too, under P_v (continuous laws only).
    discard : float
        Fraction of the run that averages leave out.
    progress, checkpoint, max_seconds
        Progress bar (by default, when there is a terminal) or a function of (iterations, numbers); file to
        save to and to resume from; time limit.

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
    """Chains of HMC in step; the state is (positions and gradients, step-size adaptations, key, time)."""

    def __init__(
        self, instance: Instance, weights: np.ndarray, readouts: np.ndarray, settings: dict[str, Any]
    ) -> None:
        import jax
        import jax.numpy as jnp

        from .jax_model import Data

        how = {
            name: settings[name] for name in ("n_leapfrog", "target_acceptance", "is_nuts", "learn_readouts")
        }
        shape = (len(weights), instance.k, instance.d)
        self._model, start, self._block = _compiled(instance.problem, shape, instance.dtype, **how)
        self._data = Data.of(instance, weights)
        position = self._model.to_position(weights, readouts)
        position = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=instance.dtype), position)
        self._carry = start(
            position,
            self._data,
            settings["step_size"],
            settings["n_warmup"],
            jax.random.PRNGKey(settings["seed"]),
        )

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

        leaves, structure = jax.tree.flatten(self._carry)
        saved_leaves = [jnp.asarray(saved[f"state:{i}"]) for i in range(len(leaves))]
        self._carry = jax.tree.unflatten(structure, saved_leaves)


@lru_cache(maxsize=16)
def _compiled(
    problem: Problem,
    shape: tuple[int, int, int],
    dtype: str,
    *,
    n_leapfrog: int,
    target_acceptance: float,
    is_nuts: bool,
    learn_readouts: bool,
) -> tuple[Any, Any, Any]:
    """Model, function that makes the state, function that advances it; compiled once for all instances."""
    import jax
    import jax.numpy as jnp
    from blackjax.adaptation.step_size import dual_averaging_adaptation
    from blackjax.mcmc import hmc as fixed_length
    from blackjax.mcmc import nuts

    from .jax_model import Model

    n_chains, k, d = shape
    model = Model(problem, k, d, learn_readouts=learn_readouts)
    adapt_init, adapt_update, adapt_final = dual_averaging_adaptation(target_acceptance)
    kernel = nuts.build_kernel() if is_nuts else fixed_length.build_kernel()
    length = {} if is_nuts else {"num_integration_steps": n_leapfrog}
    n_unknowns = k * (d + int(learn_readouts))

    def one_step(key, state, step_size, data):
        density = partial(model.log_posterior, data=data)
        return kernel(
            key, state, density, step_size, inverse_mass_matrix=jnp.ones(n_unknowns, dtype), **length
        )

    def iteration(carry, _, data):
        states, adaptations, key, n_left = carry
        key, now = jax.random.split(key)
        is_warm = n_left <= 0
        frozen, moving = jax.vmap(adapt_final)(adaptations), jnp.exp(adaptations.log_step_size)
        steps = jnp.where(is_warm, frozen, moving).astype(dtype)
        keys = jax.random.split(now, n_chains)
        states, info = jax.vmap(one_step, in_axes=(0, 0, 0, None))(keys, states, steps, data)
        updated = jax.vmap(adapt_update)(adaptations, info.acceptance_rate)
        adaptations = jax.tree.map(
            lambda new, old: jnp.where(is_warm, old, new).astype(old.dtype), updated, adaptations
        )
        return (states, adaptations, key, n_left - 1), (info.acceptance_rate, steps)

    def block(carry, data, n_iterations):
        carry, (acceptance, steps) = jax.lax.scan(partial(iteration, data=data), carry, None, n_iterations)
        return carry, acceptance.mean(axis=0), steps[-1]

    def start(position, data, step_size, n_warmup, key):
        states = jax.vmap(lambda u: fixed_length.init(u, partial(model.log_posterior, data=data)))(position)
        adaptations = jax.vmap(adapt_init)(jnp.full(n_chains, step_size, dtype))
        # The average that is frozen after the warm-up begins at the step size given, for runs without a
        # warm-up.
        adaptations = adaptations._replace(log_step_size_avg=adaptations.log_step_size)
        adaptations = jax.tree.map(jnp.asarray, adaptations)
        return states, adaptations, key, jnp.asarray(n_warmup)

    return model, jax.jit(start), jax.jit(block, static_argnames="n_iterations")


def _check_problem(instance: Instance, learn_readouts: bool) -> None:
    problem = instance.problem
    if problem.weights.is_discrete:
        raise ValueError(
            f"hmc needs weights with a density, and {problem.weights.name} weights are discrete; "
            "use metropolis"
        )
    try:
        problem.weights.log_density(np.zeros(1))
    except ValueError:
        raise ValueError(
            f"hmc needs weights with a density, and {problem.weights.name} weights have an atom; "
            "use metropolis"
        ) from None
    if problem.activation._jumps():
        raise ValueError(
            f"hmc needs a continuous activation, and {problem.activation.name!r} jumps; use metropolis"
        )
    if learn_readouts and problem.readouts.is_discrete:
        raise ValueError(
            f"hmc learns readouts with a density, and {problem.readouts.name} readouts are discrete; "
            "leave learn_readouts=False"
        )

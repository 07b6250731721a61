"""Chains of HMC in step, compiled once for all instances of a problem and size."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from blackjax.adaptation.step_size import dual_averaging_adaptation
from blackjax.mcmc import hmc as fixed_length
from blackjax.mcmc import nuts

from ..networks.instance import Instance
from ..problem import Problem
from .iterative import Start
from .jax_chain import JaxChain
from .jax_model import Data, Model

__all__ = ["HmcChain"]


class HmcChain(JaxChain):
    """The state is (positions and gradients, step-size adaptations, key, iterations of warm-up left)."""

    patience: int | None = None

    def __init__(self, instance: Instance, start: Start, settings: dict[str, Any]) -> None:
        self.settings = settings
        how = {
            name: settings[name] for name in ("n_leapfrog", "target_acceptance", "is_nuts", "learn_readouts")
        }
        self._model, begin, self._block = _compiled(
            instance.problem, start.weights.shape, instance.dtype, **how
        )
        self._data = Data.of(instance, start.weights)
        position = self._model.to_position(start.weights, start.readouts)
        position = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=instance.dtype), position)
        key = jax.random.PRNGKey(start.seed)
        self._carry = begin(position, self._data, settings["step_size"], settings["n_warmup"], key)

    def network(self) -> tuple[Any, ...]:
        network: tuple[Any, ...] = self._model.network(self._carry[0].position)
        return network

    def advance(self, n_iterations: int) -> dict[str, np.ndarray]:
        carry, acceptance, step_size = self._block(self._carry, self._data, n_iterations)
        statistics = {
            "acceptance": np.asarray(acceptance, dtype=float),
            "step_size": np.asarray(step_size, dtype=float),
            "energy": -np.asarray(carry[0].logdensity, dtype=float),
        }
        self._carry = carry
        return statistics


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
    n_chains, k, d = shape
    model = Model(problem, k, d, learn_readouts=learn_readouts)
    adapt_init, adapt_update, adapt_final = dual_averaging_adaptation(target_acceptance)
    kernel = nuts.build_kernel() if is_nuts else fixed_length.build_kernel()
    length = {} if is_nuts else {"num_integration_steps": n_leapfrog}
    n_unknowns = k * (d + int(learn_readouts))

    def one_step(key: Any, state: Any, step_size: Any, data: Data) -> Any:
        density = partial(model.log_posterior, data=data)
        return kernel(
            key, state, density, step_size, inverse_mass_matrix=jnp.ones(n_unknowns, dtype), **length
        )

    def iteration(_: Any, carried: Any, data: Data) -> Any:
        (states, adaptations, key, n_left), accepted, _ = carried
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
        return (states, adaptations, key, n_left - 1), accepted + info.acceptance_rate, steps

    def block(carry: Any, data: Data, n_iterations: int) -> Any:
        zero = jnp.zeros(n_chains, dtype)
        step = partial(iteration, data=data)
        carry, accepted, steps = jax.lax.fori_loop(0, n_iterations, step, (carry, zero, zero))
        return carry, accepted / n_iterations, steps

    def start(position: Any, data: Data, step_size: float, n_warmup: int, key: Any) -> Any:
        states = jax.vmap(lambda u: fixed_length.init(u, partial(model.log_posterior, data=data)))(position)
        adaptations = jax.vmap(adapt_init)(jnp.full(n_chains, step_size, dtype))
        # The average that is frozen after the warm-up begins at the step size given, for runs without a
        # warm-up.
        adaptations = adaptations._replace(log_step_size_avg=adaptations.log_step_size)
        adaptations = jax.tree.map(jnp.asarray, adaptations)
        return states, adaptations, key, jnp.asarray(n_warmup)

    return model, jax.jit(start), jax.jit(block)

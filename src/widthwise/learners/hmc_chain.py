"""Chains of HMC in step, compiled once for all instances of a problem and size.

An iteration draws momenta, makes steps of drift, kick and drift, and accepts the end with the probability
that its energy asks for. It leaves the posterior as it is for any kick that depends on the position only,
which leaves two freedoms: coordinates (:mod:`~widthwise.learners.whitening`), and kicks from an activation
whose kinks are rounded over the distance of a step. Without rounding, each sample that crosses a kink adds an
error of its own, and these errors grow with the length of a trajectory; with it, they are those of its ends.

The kernel of the paper makes steps of kick, drift and kick. That matters far from the posterior: the energy
that steps of size ε conserve differs from the true one by ε²|∇U|²/12 in the order above, and by half of that
with the other sign in this one. Where the gradient of U is large and falls along the way, as from random
weights, the former is refused unless steps are tiny, and the latter accepted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from blackjax.adaptation.step_size import dual_averaging_adaptation

from ..networks.instance import Instance
from ..problem import Problem
from .iterative import Start
from .jax_model import Data, JaxChain, Model
from .whitening import Whitening

__all__ = ["HmcChain"]

# Half-width over which kinks are rounded, in distances that pre-activations move in a step.
_ROUNDING = 1.0
# Far from equilibrium, energy leaves a chain only when momenta are drawn: the first half of the warm-up makes
# trajectories of at most so many steps on average, and the step size is looked for afresh after it.
_SHORT = 10
_WORTH_HALVING = 40  # iterations of warm-up: half of fewer would not find a step size


class HmcChain(JaxChain):
    """The state is (coordinates and log densities, step-size adaptations, key, warm-up left)."""

    patience: int | None = None

    def __init__(self, instance: Instance, start: Start, settings: dict[str, Any]) -> None:
        self.settings = settings
        names = ("kernel", "n_leapfrog", "target_acceptance", "learn_readouts")
        how = {name: settings[name] for name in names}
        self._model, begin, self._block, self._position = _compiled(
            instance.problem, start.weights.shape, instance.dtype, **how
        )
        whitening = None
        if settings["kernel"] == "whitened":
            whitening = Whitening.of(instance, learn_readouts=settings["learn_readouts"])
        n_warmup = settings["n_warmup"]
        n_late = n_warmup // 2 if whitening is not None and n_warmup >= _WORTH_HALVING else n_warmup
        self._data = (Data.of(instance, start.weights), whitening, jnp.asarray(n_late))
        position = self._model.to_position(start.weights, start.readouts)
        position = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=instance.dtype), position)
        key = jax.random.PRNGKey(start.seed)
        self._carry = begin(position, self._data, settings["step_size"], n_warmup, key)

    def network(self) -> tuple[Any, ...]:
        network: tuple[Any, ...] = self._model.network(self._position(self._carry[0][0], self._data))
        return network

    def advance(self, n_iterations: int) -> dict[str, np.ndarray]:
        carry, acceptance, step_size = self._block(self._carry, self._data, n_iterations)
        statistics = {
            "acceptance": np.asarray(acceptance, dtype=float),
            "step_size": np.asarray(step_size, dtype=float),
            "energy": -np.asarray(carry[0][1], dtype=float),
        }
        self._carry = carry
        return statistics


@lru_cache(maxsize=16)
def _compiled(
    problem: Problem,
    shape: tuple[int, int, int],
    dtype: str,
    *,
    kernel: str,
    n_leapfrog: int,
    target_acceptance: float,
    learn_readouts: bool,
) -> tuple[Any, Any, Any, Any]:
    """Model and functions that make the state, advance it and give its positions."""
    n_chains, k, d = shape
    model = Model(problem, k, d, learn_readouts=learn_readouts)
    adapt_init, adapt_update, adapt_final = dual_averaging_adaptation(target_acceptance)

    def position_of(z: Any, whitening: Whitening | None) -> Any:
        return z if whitening is None else whitening.position(z)

    def log_density(z: Any, data: Data, whitening: Whitening | None) -> Any:
        return model.log_posterior(position_of(z, whitening), data)

    def iteration_of_one(key: Any, state: Any, step_size: Any, n_steps: Any, given: Any) -> Any:
        z, before = state
        data, whitening, _ = given
        for_momenta, for_coin = jax.random.split(key)
        momenta = _standard_gaussian(for_momenta, z)
        rounded = replace(
            data, rounding=None if whitening is None else _ROUNDING * step_size * whitening.speed
        )
        kick = jax.grad(partial(log_density, data=rounded, whitening=whitening))

        def leap(_: Any, moving: Any) -> Any:
            z, momenta = moving
            z = _moved(z, 0.5 * step_size, momenta)
            momenta = _moved(momenta, step_size, kick(z))
            return _moved(z, 0.5 * step_size, momenta), momenta

        def leap_of_the_paper(_: Any, moving: Any) -> Any:
            z, momenta, force = moving
            z = _moved(z, step_size, _moved(momenta, 0.5 * step_size, force))
            new = kick(z)
            both = jax.tree.map(jnp.add, force, new)
            return z, _moved(momenta, 0.5 * step_size, both), new

        if kernel == "plain":
            end, last, _ = jax.lax.fori_loop(0, n_steps, leap_of_the_paper, (z, momenta, kick(z)))
        else:
            end, last = jax.lax.fori_loop(0, n_steps, leap, (z, momenta))
        after = log_density(end, data, whitening)
        gain = after - before - _kinetic(last) + _kinetic(momenta)
        rate = jnp.where(jnp.isnan(gain), 0, jnp.exp(jnp.minimum(gain, 0)))
        is_accepted = jax.random.uniform(for_coin, dtype=dtype) < rate
        return jax.tree.map(lambda new, old: jnp.where(is_accepted, new, old), (end, after), state), rate

    def adaptation(step_sizes: Any) -> Any:
        """Looking for step sizes begins; what is frozen, if it ends at once, is the step sizes given."""
        begun = jax.vmap(adapt_init)(step_sizes)
        begun = begun._replace(log_step_size_avg=begun.log_step_size)
        return jax.tree.map(jnp.asarray, begun)

    def iteration(_: Any, carried: Any, given: Any) -> Any:
        (states, adaptations, key, n_left), accepted, _ = carried
        n_late = given[2]
        key, now, for_length = jax.random.split(key, 3)
        is_warm = n_left <= 0
        afresh = adaptation(jnp.exp(adaptations.log_step_size))
        adaptations = jax.tree.map(
            lambda new, old: jnp.where(n_left == n_late, new, old), afresh, adaptations
        )
        frozen, moving = jax.vmap(adapt_final)(adaptations), jnp.exp(adaptations.log_step_size)
        steps = jnp.where(is_warm, frozen, moving).astype(dtype)
        keys = jax.random.split(now, n_chains)
        # Chains in step take equally many steps: in one batch they would all wait for the longest.
        n_steps: Any = n_leapfrog
        if kernel == "whitened":
            n_mean = jnp.where(n_left > n_late, min(n_leapfrog, _SHORT), n_leapfrog)
            n_steps = jax.random.randint(for_length, (), 1, 2 * n_mean)
        one = jax.vmap(iteration_of_one, in_axes=(0, 0, 0, None, None))
        states, rates = one(keys, states, steps, n_steps, given)
        updated = jax.vmap(adapt_update)(adaptations, rates)
        adaptations = jax.tree.map(
            lambda new, old: jnp.where(is_warm, old, new).astype(old.dtype), updated, adaptations
        )
        return (states, adaptations, key, n_left - 1), accepted + rates, steps

    def block(carry: Any, given: Any, n_iterations: int) -> Any:
        zero = jnp.zeros(n_chains, dtype)
        step = partial(iteration, given=given)
        carry, accepted, steps = jax.lax.fori_loop(0, n_iterations, step, (carry, zero, zero))
        return carry, accepted / n_iterations, steps

    def start(position: Any, given: Any, step_size: float, n_warmup: int, key: Any) -> Any:
        data, whitening, _ = given
        z = position if whitening is None else jax.vmap(whitening.coordinates)(position)
        states = z, jax.vmap(partial(log_density, data=data, whitening=whitening))(z)
        adaptations = adaptation(jnp.full(n_chains, step_size, dtype))
        return states, adaptations, key, jnp.asarray(n_warmup)

    def positions(z: Any, given: Any) -> Any:
        return jax.vmap(lambda one: position_of(one, given[1]))(z)

    return model, jax.jit(start), jax.jit(block), jax.jit(positions)


def _standard_gaussian(key: Any, like: Any) -> Any:
    leaves, structure = jax.tree.flatten(like)
    keys = jax.random.split(key, len(leaves))
    drawn = [jax.random.normal(one, leaf.shape, leaf.dtype) for one, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, drawn)


def _moved(tree: Any, step: Any, velocity: Any) -> Any:
    return jax.tree.map(lambda x, v: x + step * v, tree, velocity)


def _kinetic(momenta: Any) -> Any:
    return 0.5 * sum(jnp.sum(p * p) for p in jax.tree.leaves(momenta))

"""Learners against the work they cannot avoid: ratios of CPU time on one core, both sides taking turns.

- gradient of the log posterior over its two matrix products (both in JAX, and the products in NumPy);
- an HMC iteration over its gradients, and over NumPyro's HMC on the same model if NumPyro is installed;
- a single-flip Metropolis step against the same step in plain NumPy (double precision, as one would write
  it);
- two Metropolis chains on two cores against one (elapsed time);
- an Adam update over the two matrix products of its batch.
"""

import math
import os
import subprocess
import sys
import time

import numpy as np

import widthwise as ww
from widthwise.learners.iterative import Start
from widthwise.networks import sample_instance

D, ALPHA = 150, 1.0
PLAIN = {
    "relu": lambda x: np.maximum(x, 0.0),
    "sigma3": lambda x: (x * x - 1) / math.sqrt(2) + (x * x * x - 3 * x) / 6,
    "tanh(2*x)": lambda x: np.tanh(2 * x),
}


def seconds(*functions, n_repeats: int = 9, clock=time.process_time) -> list[float]:
    """Least time of a call of each, in turns, after one to warm up."""
    times = [[] for _ in functions]
    for function in functions:
        function()
    for _ in range(n_repeats):
        for function, taken in zip(functions, times, strict=True):
            start = clock()
            function()
            taken.append(clock() - start)
    return [min(taken) for taken in times]


def report(what: str, time_taken: float, reference: float, than: str) -> None:
    print(f"{what:44s} {1e3 * time_taken:9.3f} ms  {time_taken / reference:6.2f} x {than}", flush=True)


def on_the_teacher(inst, n_chains: int = 1) -> Start:
    chains = (np.repeat(array[None], n_chains, axis=0) for array in (inst.weights, inst.readouts))
    return Start(*chains, is_matched=False, seed=0, iterations=1)


def gradients(name: str, n_leapfrog: int = 10) -> None:
    import jax
    import jax.numpy as jnp

    from widthwise.learners.hmc_chain import HmcChain
    from widthwise.learners.jax_model import Data, Model

    inst = sample_instance(ww.Problem(name), D, ALPHA)
    data = Data.of(inst, inst.weights[None])
    x, w = jnp.asarray(inst.inputs), jnp.asarray(inst.weights, dtype=jnp.float32)
    gradient = jax.jit(jax.value_and_grad(Model(inst.problem, inst.k, inst.d).log_posterior))
    products = jax.jit(lambda w, x: (w @ x) @ x.T)
    plain = np.asarray(w)
    settings = {
        "kernel": "plain",
        "n_leapfrog": n_leapfrog,
        "target_acceptance": 0.8,
        "learn_readouts": False,
    }
    chain = HmcChain(inst, on_the_teacher(inst), settings | {"step_size": 0.01, "n_warmup": 0})
    rivals = [
        lambda: jax.block_until_ready(gradient(w, data)),
        lambda: jax.block_until_ready(products(w, x)),
        lambda: (plain @ inst.inputs) @ inst.inputs.T,
        lambda: chain.advance(1),
    ]
    theirs = numpyro_iteration(inst, n_leapfrog) if name == "relu" else None
    taken, in_jax, in_numpy, iteration, *other = seconds(*rivals, *([theirs] if theirs else []))
    report(f"gradient, {name}", taken, in_jax, "its two products in JAX")
    report(f"gradient, {name}", taken, in_numpy, "its two products in NumPy")
    report("HMC iteration, ten leapfrog steps", iteration, n_leapfrog * taken, "its gradients")
    if other:
        report("HMC iteration", iteration, other[0], "NumPyro's")


def numpyro_iteration(inst, n_leapfrog: int):
    """An iteration of NumPyro's HMC with as many leapfrog steps; None if NumPyro is not installed."""
    try:
        import numpyro
        import numpyro.distributions as dist
    except ImportError:
        return None
    import jax
    import jax.numpy as jnp
    from numpyro.infer import HMC

    x, y = jnp.asarray(inst.inputs), jnp.asarray(inst.labels, dtype=jnp.float32)
    v = jnp.asarray(inst.readouts / math.sqrt(inst.k), dtype=jnp.float32)

    def model(x, y):
        shape = (inst.k, inst.d)
        w = numpyro.sample("w", dist.Normal(0, 1).expand(shape).to_event(2))
        outputs = v @ jnp.maximum((w / math.sqrt(inst.d)) @ x, 0.0)
        numpyro.sample("y", dist.Normal(outputs, math.sqrt(inst.problem.channel.noise)), obs=y)

    step = 0.01
    kernel = HMC(
        model,
        step_size=step,
        trajectory_length=step * n_leapfrog,
        adapt_step_size=False,
        adapt_mass_matrix=False,
    )
    start = {"w": jnp.asarray(inst.weights, dtype=jnp.float32)}
    state = kernel.init(jax.random.PRNGKey(0), 0, start, (x, y), {})
    one = jax.jit(lambda s, x, y: kernel.sample(s, (x, y), {}))
    return lambda: jax.block_until_ready(one(state, x, y).z["w"])


def metropolis_step(name: str, cores: set[int]) -> None:
    from widthwise.learners.metropolis import MetropolisChain

    inst = sample_instance(ww.Problem(name, weights="rademacher", channel=1.25), D, ALPHA)
    chain = MetropolisChain(inst, on_the_teacher(inst, 2), {"temperatures": [1.0], "scan": "random"})
    one = chain.replicas[0]
    n_steps = inst.k * inst.d
    plain = plain_steps(inst, PLAIN[name])
    taken, reference = seconds(lambda: one.sweeps(1, 1.0), lambda: plain(500), n_repeats=5)
    taken, reference = taken / n_steps, reference / 500
    report(f"Metropolis step, {name}", taken, reference, f"plain NumPy (1/{reference / taken:.0f})")
    if name == "relu":
        os.sched_setaffinity(0, cores)  # inherited by the threads of the pool, which start now
        jobs = [lambda r=r: r.sweeps(1, 1.0) for r in chain.replicas]
        both, alone = seconds(
            lambda: [job.result() for job in [chain.pool.submit(job) for job in jobs]],
            lambda: chain.pool.submit(jobs[0]).result(),
            clock=time.perf_counter,
        )
        report("two chains on two cores (elapsed)", both / n_steps, alone / n_steps, "one chain")
        os.sched_setaffinity(0, {min(cores)})


def plain_steps(inst, activation):
    """A function that makes so many steps of the same algorithm with NumPy arrays."""
    rng = np.random.default_rng(0)
    w, x = inst.weights.copy(), inst.inputs.astype(float)
    hidden, residual = w @ x / math.sqrt(inst.d), inst.outputs(w) - inst.labels
    v, precision = inst.readouts / math.sqrt(inst.k), 1 / (2 * inst.problem.channel.noise)

    def steps(n_steps: int) -> None:
        nonlocal residual
        for _ in range(n_steps):
            i, j = rng.integers(inst.k), rng.integers(inst.d)
            moved = hidden[i] - 2 * w[i, j] / math.sqrt(inst.d) * x[j]
            after = residual + v[i] * (activation(moved) - activation(hidden[i]))
            if math.log(rng.random()) < precision * (residual @ residual - after @ after):
                hidden[i], residual = moved, after
                w[i, j] = -w[i, j]

    return steps


def adam_update() -> None:
    import jax
    import jax.numpy as jnp

    from widthwise.learners.adam_chain import AdamChain

    inst = sample_instance(ww.Problem("relu"), D, ALPHA)
    size = inst.n // 5
    settings = {"batch_size": size, "learning_rate": 0.05, "schedule": "constant", "learn_readouts": False}
    chain = AdamChain(inst, on_the_teacher(inst), settings, None)
    batch, w = jnp.asarray(inst.inputs[:, :size]), jnp.asarray(inst.weights, dtype=jnp.float32)
    products = jax.jit(lambda w, x: (w @ x) @ x.T)
    taken, reference = seconds(
        lambda: chain.advance(10),
        lambda: [jax.block_until_ready(products(w, batch)) for _ in range(10)],
    )
    report("Adam update, batch of n/5", taken / 10, reference / 10, "its products")


def main() -> None:
    """Start this file again on one core: JAX counts the cores before any function here could choose one."""
    cores = os.sched_getaffinity(0)
    subprocess.run(
        [sys.executable, __file__, *map(str, cores)],
        preexec_fn=lambda: os.sched_setaffinity(0, {min(cores)}),
        check=True,
    )


def measure(cores: set[int]) -> None:
    for name in ("relu", "tanh(2*x)"):
        gradients(name)
    adam_update()
    for name in PLAIN:
        metropolis_step(name, cores)


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(set(map(int, sys.argv[1:])))
    else:
        main()

"""Learners against the work they cannot avoid: ratios, everything timed in one run.

- gradient of the log posterior over its two matrix products (both in JAX, and the products in NumPy);
- an HMC iteration over its gradients, and over NumPyro's HMC on the same model if NumPyro is installed;
- a single-flip Metropolis step against the same step in plain NumPy (double precision, as one would write
  it);
- two Metropolis chains on two cores against one;
- an Adam update over the two matrix products of its batch.
"""

import math
import time

import numpy as np

import widthwise as ww
from widthwise.experiments import sample_instance

D, ALPHA = 150, 1.0
PLAIN = {
    "relu": lambda x: np.maximum(x, 0.0),
    "sigma3": lambda x: (x * x - 1) / math.sqrt(2) + (x * x * x - 3 * x) / 6,
    "tanh(2*x)": lambda x: np.tanh(2 * x),
}


def seconds(function, n_repeats: int = 11) -> float:
    """Least time of a call, after one to warm up: what other work on the machine disturbs least."""
    function()
    times = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def report(what: str, time_taken: float, reference: float, than: str) -> None:
    print(f"{what:44s} {1e3 * time_taken:9.3f} ms  {time_taken / reference:6.2f} x {than}", flush=True)


def gradients(name: str) -> None:
    import jax
    import jax.numpy as jnp

    from widthwise.learners.jax_model import Data, Model

    inst = sample_instance(ww.Problem(name), D, ALPHA)
    data = Data.of(inst, inst.weights[None])
    w = jnp.asarray(inst.weights, dtype=jnp.float32)
    gradient = jax.jit(jax.value_and_grad(Model(inst.problem, inst.k, inst.d).log_posterior))
    products = jax.jit(lambda w, x: (w @ x) @ x.T)
    plain = np.asarray(w)
    in_jax = seconds(lambda: jax.block_until_ready(products(w, data.inputs)))
    in_numpy = seconds(lambda: (plain @ inst.inputs) @ inst.inputs.T)
    taken = seconds(lambda: jax.block_until_ready(gradient(w, data)))
    report(f"gradient, {name}", taken, in_jax, "its two products in JAX")
    report(f"gradient, {name}", taken, in_numpy, "its two products in NumPy")
    hmc_iteration(inst, taken)


def hmc_iteration(inst, gradient: float, n_leapfrog: int = 10) -> None:
    from widthwise.learners.hmc import _Hmc

    settings = {"n_leapfrog": n_leapfrog, "target_acceptance": 0.8, "is_nuts": False, "learn_readouts": False}
    settings |= {"step_size": 0.01, "n_warmup": 0, "seed": 0}
    chain = _Hmc(inst, inst.weights[None], inst.readouts[None], settings)
    taken = seconds(lambda: chain.advance(3), 7) / 3
    report("HMC iteration, ten leapfrog steps", taken, n_leapfrog * gradient, "its gradients")
    theirs = numpyro_iteration(inst, n_leapfrog)
    if theirs is not None:
        report("HMC iteration", taken, theirs, "NumPyro's")


def numpyro_iteration(inst, n_leapfrog: int) -> float | None:
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
    many = jax.jit(lambda s, x, y: jax.lax.fori_loop(0, 3, lambda _, t: kernel.sample(t, (x, y), {}), s))
    return seconds(lambda: jax.block_until_ready(many(state, x, y).z["w"]), 7) / 3


def metropolis_step(name: str) -> None:
    from widthwise.learners.metropolis import _Metropolis

    inst = sample_instance(ww.Problem(name, weights="rademacher", channel=1.25), D, ALPHA)
    settings = {"temperatures": [1.0], "seed": 0, "scan": "random"}
    chain = _Metropolis(inst, np.repeat(inst.weights[None], 2, axis=0), settings)
    one = chain.replicas[0]
    n_steps = inst.k * inst.d
    taken = seconds(lambda: one.sweeps(1, 1.0), 5) / n_steps
    plain = plain_steps(inst, PLAIN[name], 3000)
    report(f"Metropolis step, {name}", taken, plain, f"plain NumPy (1/{plain / taken:.0f})")
    if name == "relu":
        both = seconds(
            lambda: [job.result() for job in [chain.pool.submit(r.sweeps, 1, 1.0) for r in chain.replicas]], 5
        )
        report("two chains on two cores", both / n_steps, taken, "one chain")


def plain_steps(inst, activation, n_steps: int) -> float:
    """Seconds a step of the same algorithm with NumPy arrays."""
    rng = np.random.default_rng(0)
    w, x = inst.weights.copy(), inst.inputs.astype(float)
    hidden, residual = w @ x / math.sqrt(inst.d), inst.outputs(w) - inst.labels
    v, precision = inst.readouts / math.sqrt(inst.k), 1 / (2 * inst.problem.channel.noise)
    start = time.perf_counter()
    for _ in range(n_steps):
        i, j = rng.integers(inst.k), rng.integers(inst.d)
        moved = hidden[i] - 2 * w[i, j] / math.sqrt(inst.d) * x[j]
        after = residual + v[i] * (activation(moved) - activation(hidden[i]))
        if math.log(rng.random()) < precision * (residual @ residual - after @ after):
            hidden[i], residual = moved, after
            w[i, j] = -w[i, j]
    return (time.perf_counter() - start) / n_steps


def adam_update() -> None:
    import jax
    import jax.numpy as jnp

    from widthwise.learners.adam import _Adam

    inst = sample_instance(ww.Problem("relu"), D, ALPHA)
    size = inst.n // 5
    settings = {
        "batch_size": size,
        "learning_rate": 0.05,
        "schedule": "constant",
        "learn_readouts": False,
        "seed": 0,
    }
    chain = _Adam(inst, inst.weights[None], inst.readouts[None], settings)
    taken = seconds(lambda: chain.advance(10), 7) / 10
    batch, w = jnp.asarray(inst.inputs[:, :size]), jnp.asarray(inst.weights, dtype=jnp.float32)
    products = jax.jit(lambda w, x: (w @ x) @ x.T)
    report(
        "Adam update, batch of n/5",
        taken,
        seconds(lambda: jax.block_until_ready(products(w, batch))),
        "its products",
    )


def main() -> None:
    for name in ("relu", "tanh(2*x)"):
        gradients(name)
    adam_update()
    for name in PLAIN:
        metropolis_step(name)


if __name__ == "__main__":
    main()

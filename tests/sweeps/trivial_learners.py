"""Learners that cost nothing, fail in every way, or wait: named in tasks as ``trivial_learners:walk``."""

import contextlib
import errno
import os
import time
from pathlib import Path

import numpy as np


def walk(instance, *, steps=5, pause=0.0, seed=0, checkpoint=None, log="", hold=""):
    """A random walk that saves itself after every step.

    It writes each step into ``log``; all instances but those of seed 0 wait after their first step until the
    file ``hold`` is there.
    """
    rng = np.random.default_rng([seed, instance.d, round(1000 * instance.alpha)])
    increments = rng.standard_normal(steps)
    position, done = 1.0, 0
    if checkpoint is not None and Path(checkpoint).exists():
        with np.load(checkpoint) as saved:
            position, done = float(saved["position"]), int(saved["done"])
    for i in range(done, steps):
        time.sleep(pause)
        position = 0.9 * position + increments[i]
        if log:
            with open(log, "a") as file:
                file.write(f"{instance.seed} {i}\n")
        if checkpoint is not None:
            beside = Path(f"{checkpoint}.{os.getpid()}.tmp")
            with open(beside, "wb") as file:
                np.savez(file, position=position, done=i + 1)
            os.replace(beside, checkpoint)
        while hold and instance.seed > 0 and not Path(hold).exists():
            time.sleep(0.01)
    return {"excess_error": position**2, "increments": increments}


def raises(instance):
    raise RuntimeError("no such luck")


def raises_once(instance, *, flag):
    if Path(flag).exists():
        return {"excess_error": 1.0}
    Path(flag).touch()
    raise RuntimeError("only the first time")


def finds_disk_full(instance, *, checkpoint=None):
    raise OSError(errno.ENOSPC, "No space left on device", str(checkpoint))


def not_a_number(instance):
    return {"excess_error": float("nan"), "other": 1.0}


def dies(instance, *, log=""):
    if log:
        with open(log, "a") as file:
            file.write("x")
    os.kill(os.getpid(), 9)


def crashes(instance):
    os.abort()


def says_text(instance):
    return {"excess_error": "small"}


def prints(instance):
    print("this is not an answer", flush=True)
    return {"excess_error": 0.25}


def threads(instance):
    """Threads that a worker may use, those that JAX computes with (if the system tells), and its process."""
    import jax.numpy as jnp

    jnp.ones(3).sum().block_until_ready()
    names = []
    for path in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # a thread that has ended since
            names.append(path.read_text())
    return {
        "excess_error": float(os.environ["OMP_NUM_THREADS"]),
        "jax_threads": float(sum("XLAEigen" in name for name in names)),
        "pid": float(os.getpid()),
    }


def saving_hmc(instance, *, iterations, record_every, n_warmup, seed=0, checkpoint=None, progress=None):
    """HMC that writes its checkpoint at every record."""
    from widthwise.learners import checkpoint as module
    from widthwise.learners import hmc

    module._CHECKPOINT_SECONDS = 0.0
    return hmc(
        instance,
        iterations=iterations,
        record_every=record_every,
        n_warmup=n_warmup,
        seed=seed,
        checkpoint=checkpoint,
        progress=progress,
    )

"""Threads are limited where they cost, for as long as they cost, and only there."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg.blas  # noqa: F401  # loads the BLAS of SciPy
import threadpoolctl

import widthwise as ww
from patience import PATIENCE
from widthwise._threads import SMALL, n_cores, one_thread, one_thread_below


def threads_of_blas():
    libraries = threadpoolctl.threadpool_info()
    return {library["num_threads"] for library in libraries if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    """As on a machine with two cores, whatever the environment of the tests says."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if threads_of_blas() != {2}:
            pytest.skip("this BLAS takes no second thread")
        yield


def test_one_thread_for_small_matrices_and_as_before_afterwards():
    with one_thread_below(SMALL - 1):
        assert threads_of_blas() == {1}
    assert threads_of_blas() == {2}
    with one_thread_below(SMALL):
        assert threads_of_blas() == {2}
    with pytest.raises(ZeroDivisionError), one_thread_below(10):
        1 / 0
    assert threads_of_blas() == {2}


def test_who_leaves_first_leaves_the_limit_to_the_others():
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads_of_blas() == {1}
    second.__exit__(None, None, None)
    assert threads_of_blas() == {2}


@pytest.mark.parametrize("ask", [lambda p: ww.solve(p, 1.0), lambda p: ww.transitions(p, 1.0)])
def test_the_theory_runs_on_one_thread(ask):
    seen = set()

    def watched(labels, outputs, xp=np):
        seen.update(threads_of_blas())
        return -0.5 * (labels - outputs) ** 2 - 0.5 * np.log(2 * np.pi)

    channel = ww.channels.Custom(watched, support=(-np.inf, np.inf))
    problem = ww.Problem("tanh(2*x)", channel=channel, gamma=0.7)
    seen.clear()  # a channel is tried once when it is made
    ask(problem)
    assert seen == {1} and threads_of_blas() == {2}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gamp_rie", "hmc", "metropolis", "adam"])
def test_learners_run_on_one_thread(name):
    weights = "rademacher" if name == "metropolis" else "gaussian"
    instance = ww.sample_instance(ww.Problem("relu", weights=weights, gamma=0.6), 10, 1.0)
    seen = set()
    watch = {"iterations": 4, "progress": lambda n, latest: seen.update(threads_of_blas())}
    ww.learners.LEARNERS[name](instance, **watch)
    assert seen == {1} and threads_of_blas() == {2}


def test_the_regressor_fits_on_one_thread(monkeypatch):
    from widthwise.learners import regressor

    seen = set()
    iterate = regressor.iterate

    def watched(*arguments, **options):
        seen.update(threads_of_blas())
        return iterate(*arguments, **options)

    monkeypatch.setattr(regressor, "iterate", watched)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 5))
    ww.GampRieRegressor().fit(x, x[:, 0] + 0.1 * rng.standard_normal(300)).predict(x)
    assert seen == {1} and threads_of_blas() == {2}


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs threads to count")
@pytest.mark.skipif(os.environ.get("NPROC") != "1", reason="JAX was told otherwise")
def test_jax_in_the_tests_keeps_to_one_core():
    """``pytest -n`` has a process a core, and each of them runs HMC."""
    import jax.numpy as jnp

    jnp.ones(3).sum().block_until_ready()
    names = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it has ended since
            names.append(Path(f"/proc/self/task/{thread}/comm").read_text())
    assert sum("XLAEigen" in name for name in names) == 1


COUNT = """
import contextlib, os
def ours():  # JAX itself sets other names when it is first imported
    return {name: os.environ.get(name) for name in ("NPROC", "XLA_FLAGS", "OMP_NUM_THREADS")}
before = ours()
import widthwise.learners.jax_model
import jax
assert ours() == before
jax.devices()
names = []
for thread in os.listdir("/proc/self/task"):
    with contextlib.suppress(OSError):  # it has ended since
        names.append(open(f"/proc/self/task/{thread}/comm").read())
print(sum("tf_XLA" in name for name in names))
"""


@pytest.mark.waits
@pytest.mark.skipif(not os.path.isdir("/proc/self/task") or n_cores() < 2, reason="needs threads to count")
def test_jax_starts_one_thread_on_two_cores_unless_told_otherwise():
    """And leaves nothing in the environment for other programs to find."""

    def n_threads(**environment):
        clean = {k: v for k, v in os.environ.items() if k not in ("NPROC", "XLA_FLAGS")}
        code = "import os; os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])" + COUNT
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=clean | environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert n_threads() < n_threads(NPROC="2")

"""Threads of the libraries: how many there may be, and where they cost more than they give.

A learner makes many products of small matrices. The threads of a BLAS wait for the next product by spinning,
and NumPy and SciPy bring a BLAS each: at d = 150 GAMP-RIE takes 1.7 s on two idle cores with the threads that
users have by default, 0.5 s with one, and with other work on the machine tens of seconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["SMALL", "THREAD_VARIABLES", "keep_jax_to_one_core", "n_cores", "one_thread_below"]

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NPROC",  # cores that JAX believes to have: it splits its products among them, at a loss if they are busy
)
"""Variables of the environment that libraries read once, when they are loaded."""

SMALL = 1000
"""Dimension below which linear algebra keeps to one thread. On two busy cores two threads take five times the
processor time of one at d = 800 as well; above, products are long enough for many cores to pay."""


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread_below(d: int) -> Iterator[None]:
    """Within, BLAS runs on one thread if matrices are d × d with d < ``SMALL``; afterwards as before."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:  # it comes with the extra for simulations
        yield
        return
    if d >= SMALL:
        yield
        return
    import scipy.linalg.blas  # noqa: F401  # loaded now, or its threads would not be among those limited

    with threadpool_limits(1, user_api="blas"):
        yield


def keep_jax_to_one_core() -> None:
    """Have JAX start with one thread where there are two cores or fewer, unless NPROC or XLA_FLAGS are set.

    There a second one doubles the processor time of HMC and saves none (d = 150). JAX counts the cores when
    it is first used: nothing changes if it has been.
    """
    if n_cores() > 2 or "NPROC" in os.environ or "XLA_FLAGS" in os.environ:
        return
    import jax

    os.environ["NPROC"] = "1"
    try:
        jax.local_devices()
    finally:
        del os.environ["NPROC"]

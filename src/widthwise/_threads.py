"""Threads of the libraries: how many there may be, and where they cost more than they give.

A learner makes many products of small matrices. The threads of a BLAS wait for the next product by spinning,
and NumPy and SciPy bring a BLAS each: at d = 150 GAMP-RIE takes 1.7 s on two idle cores with the threads that
users have by default, 0.5 s with one, and with other work on the machine tens of seconds. A channel that is
tabulated by quadrature takes eight times the processor time on a busy machine.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["SMALL", "THREAD_VARIABLES", "keep_jax_to_one_core", "n_cores", "one_thread", "one_thread_below"]

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


class _Limit:
    """One thread for as long as anybody in this process asks for it; those who ask first and last set it."""

    def __init__(self) -> None:
        self._lock, self._n_inside = threading.Lock(), 0
        self._held: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._held = _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._held.restore_original_limits()


_LIMIT = _Limit()


@lru_cache(maxsize=2)
def _libraries(is_scipy_there: bool) -> ThreadpoolController:
    """The libraries that are loaded; SciPy has a BLAS of its own."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within (or, as a decorator, in the whole function) BLAS runs on one thread; afterwards as before."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


@contextmanager
def one_thread_below(d: int) -> Iterator[None]:
    """:func:`one_thread` if matrices are d × d with d < ``SMALL``, for the BLAS of SciPy too."""
    if d >= SMALL:
        yield
        return
    import scipy.linalg.blas  # noqa: F401  # loaded now, or its threads would not be among those limited

    with one_thread():
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

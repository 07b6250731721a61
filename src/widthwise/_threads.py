"""Threads of the libraries: how many there may be."""

from __future__ import annotations

import os

__all__ = ["THREAD_VARIABLES", "n_cores"]

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


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""How long tests wait for what must happen: long, and longer where the machine is slow or busy.

A test that passes does not wait. ``WIDTHWISE_PATIENCE=5`` has all of them wait five times as long.
"""

import os
import time
from pathlib import Path

__all__ = ["PATIENCE", "is_alive", "until"]


def _slowness() -> float:
    """Time of a fixed piece of work over what it takes on an idle machine, at least 1."""
    start = time.perf_counter()
    sum(i * i for i in range(500_000))
    return min(max(1.0, (time.perf_counter() - start) / 0.05), 10.0)


PATIENCE = 120.0 * _slowness() * float(os.environ.get("WIDTHWISE_PATIENCE", "1"))
"""Seconds for what takes a few at most on an idle machine."""


def until(condition, what="it did not happen"):
    """Wait for a condition, and return what it says."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
    return found


def is_alive(pid):
    """Whether a process is there, and not only waits to be buried."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not Path("/proc/self/stat").exists()

"""A Dask cluster as an executor that outlives its workers and its scheduler.

Dask itself runs a task again when a worker dies. When the scheduler goes, its tasks go with it: they are
reported as lost, and handed out again once a scheduler answers at the same address.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any
from urllib.parse import urlsplit

__all__ = ["ClusterLost", "DaskCluster"]

_PATIENCE = 600.0  # seconds to wait for a scheduler that went away
_FIRST_ANSWER = 20.0  # seconds to wait for one in the beginning
_ALLOWED_DEATHS = 5  # workers that may die with a task before Dask gives it up


class ClusterLost(BrokenExecutor):
    """A task went with the scheduler, or with too many workers."""


class DaskCluster(Executor):
    """Tasks on the workers of the Dask scheduler at an address, ``tcp://host:port``."""

    def __init__(self, address: str, *, patience: float = _PATIENCE) -> None:
        self.address = address
        self.patience = patience
        self._client: Any = None
        self._connect(_FIRST_ANSWER)

    @property
    def n_workers(self) -> int:
        """Threads of all workers that are there now."""
        try:
            return sum(self._client.nthreads().values()) or 1
        except Exception:  # the scheduler is away: whatever it was, one task will find out
            return 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function on some worker."""
        future: Future[Any] = Future()
        if self._client.status != "running":
            self._reconnect()
        try:
            # pure=False: every call is a call, also of a task that was lost before.
            remote = self._client.submit(fn, *args, pure=False, retries=_ALLOWED_DEATHS, **kwargs)
        except Exception as error:
            future.set_exception(ClusterLost(f"the scheduler at {self.address} does not answer: {error}"))
            return future
        future.set_running_or_notify_cancel()
        remote.add_done_callback(lambda done: _pass_on(done, future))
        future.remote = remote  # type: ignore[attr-defined]  # kept: Dask forgets what nobody holds
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; it goes on without us."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)

    def _reconnect(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)
        self._connect(self.patience)

    def _connect(self, patience: float) -> None:
        import distributed

        # What becomes of a scheduler that goes away is said here, in a sentence; Dask would show tracebacks.
        for part in ("client", "batched", "core"):
            logging.getLogger(f"distributed.{part}").setLevel(logging.CRITICAL)
        connect: Any = distributed.Client
        end = time.monotonic() + patience
        while True:
            try:
                _knock(self.address, min(10.0, patience))
                self._client = connect(self.address, timeout=min(10.0, patience), set_as_default=False)
                return
            except (OSError, TimeoutError) as error:
                if time.monotonic() > end:
                    raise ConnectionError(
                        f"no Dask scheduler answers at {self.address} ({type(error).__name__}); start one "
                        "with 'dask scheduler', and workers with 'dask worker'"
                    ) from None
                time.sleep(1.0)
            except ValueError as error:
                raise ConnectionError(f"{self.address!r} is not an address of a scheduler: {error}") from None


def _knock(address: str, seconds: float) -> None:
    """Raise OSError where nobody listens: a client of Dask itself would take long to be interrupted there."""
    try:
        parts = urlsplit(address)
        place = (parts.hostname, parts.port) if parts.scheme in ("tcp", "tls") else (None, None)
    except ValueError:  # no address: for Dask to say
        return
    if None not in place:
        with socket.create_connection(place, timeout=seconds):
            pass


def _pass_on(done: Any, future: Future[Any]) -> None:
    """The outcome of a Dask future; what Dask itself lost is lost, not wrong."""
    from distributed import KilledWorker

    if future.done():
        return
    try:
        future.set_result(done.result(timeout=60))
    except KilledWorker as error:
        future.set_exception(ClusterLost(f"the workers that ran it died: {error}"))
    except BaseException as error:
        lost = done.status in ("cancelled", "lost", "pending") or isinstance(error, (OSError, TimeoutError))
        future.set_exception(ClusterLost("the scheduler went away") if lost else error)

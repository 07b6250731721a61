"""Local processes as a ``concurrent.futures.Executor``.

Unlike a ``ProcessPoolExecutor``, a worker that dies takes only its own task with it, and is
replaced; workers die with the driver; their threads are limited before any library starts them; and scripts
need no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

from .._worker_process import receive, send

__all__ = ["LocalProcesses", "WorkerDied", "cache_folder"]

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NPROC",  # cores that JAX believes to have: it splits its products among them, at a loss if they are busy
)


class WorkerDied(BrokenExecutor):
    """The process ended in the middle of a task: killed, or out of memory."""


class LocalProcesses(Executor):
    """Processes on this machine, one task at a time in each.

    Parameters
    ----------
    n_workers : int
        Processes; one for each core that this process may use, unless given.
    n_threads : int
        Threads of linear algebra and compiled code in each.
    """

    def __init__(self, n_workers: int | None = None, n_threads: int = 1) -> None:
        if n_workers is None:
            n_workers = n_cores()
        if n_workers < 1:
            raise ValueError(f"n_workers must be >= 1, got {n_workers}")
        self.n_workers = n_workers
        self._environment = _environment(n_threads)
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._is_closed = False
        self._threads: list[threading.Thread] = []

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that run."""
        return [process.pid for process in list(self._processes.values()) if process.poll() is None]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function that can be imported; see ``concurrent.futures``."""
        if self._is_closed:
            raise RuntimeError("these processes were shut down")
        future: Future[Any] = Future()
        self._jobs.put((future, (fn, args, kwargs)))
        if len(self._threads) < self.n_workers:
            thread = threading.Thread(target=self._serve, args=(len(self._threads),), daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def interrupt(self) -> None:
        """Ctrl-C for the tasks that run: they write their checkpoints and end."""
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after their tasks, or at once with ``wait=False``."""
        self._is_closed = True
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while True:
                    job = self._jobs.get_nowait()
                    if job is not None:
                        job[0].cancel()
        for _ in self._threads:
            self._jobs.put(None)
        if not wait:
            for process in list(self._processes.values()):
                process.kill()
        for thread in self._threads:
            thread.join()

    def _serve(self, position: int) -> None:
        while (job := self._jobs.get()) is not None:
            future, call = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                process = self._process(position)
                send(process.stdin, call)  # type: ignore[arg-type]
                is_good, answer = receive(process.stdout)  # type: ignore[arg-type]
            except (EOFError, BrokenPipeError):
                code = self._processes.pop(position).wait()
                future.set_exception(WorkerDied(_cause(code)))
            except Exception as error:  # a call or an answer that cannot be pickled
                future.set_exception(error)
            else:
                future.set_result(answer) if is_good else future.set_exception(answer)
        if position in self._processes:
            process = self._processes.pop(position)
            process.stdin.close()  # type: ignore[union-attr]
            process.wait()

    def _process(self, position: int) -> subprocess.Popen[bytes]:
        process = self._processes.get(position)
        if process is None or process.poll() is not None:
            process = subprocess.Popen(
                [sys.executable, "-m", "widthwise._worker_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,  # Ctrl-C on the terminal is for the driver, which passes it on once
            )
            self._processes[position] = process
            send(process.stdin, [path or os.getcwd() for path in sys.path])  # type: ignore[arg-type]
        return process


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_folder() -> Path:
    """Where code compiled by JAX is kept from one process to the next."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "widthwise"


def _environment(n_threads: int) -> dict[str, str]:
    environment = dict(os.environ)
    environment |= dict.fromkeys(_THREADS, str(n_threads))
    # Code compiled for one shape is loaded, not compiled again, by the next process that needs it.
    environment.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder() / "jax"))
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    # The workers have to find this package even if only sys.path says where it is.
    here = str(Path(__file__).resolve().parents[2])
    environment["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    return environment


def _cause(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            more = ", perhaps for want of memory" if name == "SIGKILL" else ""
            return f"the worker process was ended by {name}{more}"
    return f"the worker process ended with code {code}"

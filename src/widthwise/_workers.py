"""Worker processes on this machine, as a ``concurrent.futures.Executor``: the one pool of the package.

Unlike in a ``ProcessPoolExecutor``, a worker that dies takes only its own call with it, and is replaced; a
call can be ended, by hand or by its time limit; workers die with this process, however it ends; their threads
are limited before any library starts them; and scripts need no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import IO, Any, NamedTuple

from ._threads import THREAD_VARIABLES, n_cores
from ._worker_process import receive, report, send

__all__ = ["LocalProcesses", "TookTooLong", "WorkerDied", "report"]


class WorkerDied(BrokenExecutor):
    """The process ended in the middle of a call: killed, or out of memory."""


class TookTooLong(TimeoutError):
    """The call was ended because its time was up."""


class _Job(NamedTuple):
    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
    on_report: Callable[[Any], object]


class LocalProcesses(Executor):
    """Processes on this machine, one call at a time in each.

    Parameters
    ----------
    n_workers : int
        Processes; one for each core that this process may use, unless given.
    n_threads : int
        Threads of linear algebra and compiled code in each.
    time_limit : float
        Seconds after which a call is ended and raises :class:`TookTooLong`; none unless given. The start of
        a process does not count.
    initializer, initargs
        Called in each worker before its first call. With one, workers are started, and replaced, at once.
    """

    def __init__(
        self,
        n_workers: int | None = None,
        n_threads: int = 1,
        *,
        time_limit: float | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        if n_workers is None:
            n_workers = n_cores()
        if n_workers < 1:
            raise ValueError(f"n_workers must be >= 1, got {n_workers}")
        self.n_workers = n_workers
        self.time_limit = time_limit
        self._first = (initializer, initargs)
        self._environment = _environment(n_threads)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._workers: dict[int, _Worker] = {}
        self._running: dict[Future[Any], _Worker] = {}
        self._ends: dict[Future[Any], BaseException] = {}
        self._is_closed = False
        self._threads: list[threading.Thread] = []
        if initializer is not None:
            for _ in range(n_workers):
                self._add_thread()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that run."""
        return [worker.process.pid for worker in list(self._workers.values()) if worker.is_alive]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function that can be imported; see ``concurrent.futures``."""
        return self.submit_reporting(lambda value: None, fn, *args, **kwargs)

    def submit_reporting(
        self, on_report: Callable[[Any], object], fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """The same; ``on_report`` is given, in another thread, what the function says by :func:`report`."""
        if self._is_closed:
            raise RuntimeError("these processes were shut down")
        future: Future[Any] = Future()
        self._jobs.put(_Job(future, (fn, args, kwargs), on_report))
        if len(self._threads) < self.n_workers:
            self._add_thread()
        return future

    def end(self, future: Future[Any]) -> None:
        """End a call that runs, with its process, or that waits; its future raises ``CancelledError``."""
        if not future.cancel():
            self._end(future, CancelledError())

    def interrupt(self) -> None:
        """Ctrl-C for the calls that run: they write their checkpoints and end."""
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after their calls, or at once with ``wait=False``."""
        self._is_closed = True
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while True:
                    job = self._jobs.get_nowait()
                    if job is not None:
                        job.future.cancel()
        for _ in self._threads:
            self._jobs.put(None)
        if not wait:
            for worker in list(self._workers.values()):
                worker.process.kill()
        for thread in self._threads:
            thread.join()

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._serve, args=(len(self._threads),), daemon=True)
        self._threads.append(thread)
        thread.start()

    # --- in the thread of a worker ------------------------------------------------------------------
    # The thread outlives its worker: Linux ends a worker with the *thread* that started it.

    def _serve(self, position: int) -> None:
        if self._first[0] is not None:
            with contextlib.suppress(OSError, EOFError):  # tried again, and told about, with the first call
                self._worker(position)
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                self._answer(position, job)
        if position in self._workers:
            self._workers.pop(position).close()

    def _answer(self, position: int, job: _Job) -> None:
        future = job.future
        try:
            worker = self._worker(position)
            with self._limited(future, worker):
                send(worker.stdin, job.call)
                while (answer := receive(worker.stdout))[0] == "report":
                    try:
                        job.on_report(answer[1])
                    except Exception as error:
                        self._end(future, error)
        except (EOFError, BrokenPipeError):
            code = self._workers.pop(position).process.wait()
            future.set_exception(self._ends.pop(future, None) or WorkerDied(_cause(code)))
            if self._first[0] is not None and not self._is_closed:
                with contextlib.suppress(OSError, EOFError):
                    self._worker(position)
        except Exception as error:  # a call or an answer that cannot be pickled
            future.set_exception(error)
        else:
            kind, value = answer
            future.set_result(value) if kind == "done" else future.set_exception(value)

    @contextlib.contextmanager
    def _limited(self, future: Future[Any], worker: _Worker) -> Iterator[None]:
        """Within, the call can be ended from outside, and is when its time is up."""
        timer = None
        with self._lock:
            self._running[future] = worker
        if self.time_limit is not None:
            error = TookTooLong(f"more than {self.time_limit:g} seconds")
            timer = threading.Timer(self.time_limit, self._end, (future, error))
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            with self._lock:
                del self._running[future]
            if future in self._ends:  # perhaps just as the answer came: the process is gone all the same
                raise EOFError

    def _end(self, future: Future[Any], error: BaseException) -> None:
        with self._lock:
            if future in self._running:
                self._ends.setdefault(future, error)
                self._running[future].process.kill()

    def _worker(self, position: int) -> _Worker:
        worker = self._workers.get(position)
        if worker is None or not worker.is_alive:
            worker = self._workers[position] = _Worker(self._environment)
            paths = [path or os.getcwd() for path in sys.path]
            send(worker.stdin, (os.getpid(), paths))
            send(worker.stdin, self._first)
            receive(worker.stdout)
        return worker


class _Worker:
    """A process, and the two ends of its pipes."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from widthwise._worker_process import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C on the terminal is for this process, which passes it on once
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.stdin.close()
        self.process.wait()


def _environment(n_threads: int) -> dict[str, str]:
    environment = dict(os.environ)
    environment |= dict.fromkeys(THREAD_VARIABLES, str(n_threads))
    # Code compiled for one shape is loaded, not compiled again, by the next process that needs it.
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    environment.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(base) / "widthwise" / "jax"))
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    # The workers have to find this package even if only sys.path says where it is.
    here = str(Path(__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    return environment


def _cause(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            more = ", perhaps for want of memory" if name == "SIGKILL" else ""
            return f"the worker process was ended by {name}{more}"
    return f"the worker process ended with code {code}"

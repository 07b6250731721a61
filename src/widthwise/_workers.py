"""Worker processes on this machine, as a ``concurrent.futures.Executor``: the one pool of the package.

Unlike in a ``ProcessPoolExecutor``, a worker that dies takes only its own call with it, and is replaced; a
call can be ended, by hand or by its time limit; workers die with this process, however it ends; those who
share the workers get their turns; the threads of a worker are limited before any library starts them; and
scripts need no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import IO, Any, NamedTuple

from ._threads import THREAD_VARIABLES, n_cores
from ._worker_process import receive, report, send

__all__ = ["LocalProcesses", "TookTooLong", "WorkerDied", "report"]

_IDLE = 30.0  # seconds after which a worker beyond the usual number ends
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP")
"""Signals that a process brings upon itself; the others are sent."""


class WorkerDied(BrokenExecutor):
    """The process ended in the middle of a call.

    ``cause`` is ``"memory"`` if the system ended it because memory ran out, ``"crash"`` if it ended by
    itself, and ``"killed"`` if a signal from outside ended it, which says nothing about the call.
    """

    def __init__(self, message: str, cause: str = "killed") -> None:
        super().__init__(message)
        self.cause = cause


class TookTooLong(TimeoutError):
    """The call was ended because its time was up."""


class _Job(NamedTuple):
    group: Hashable
    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
    on_report: Callable[[Any], object]


class _Running(NamedTuple):
    worker: _Worker
    group: Hashable
    begun: float


class LocalProcesses(Executor):
    """Processes on this machine, one call at a time in each.

    Parameters
    ----------
    n_workers : int
        Processes; one for each core that this process may use, unless given.
    n_threads : int
        Threads of linear algebra and compiled code in each.
    n_most : int
        Processes for calls of several groups (see :meth:`submit_for`): beyond ``n_workers``, one is started
        for a group that waits while others have all workers, and ends when it has been idle for a while.
    time_limit : float
        Seconds after which a call is ended and raises :class:`TookTooLong`; none unless given. The start of
        a process does not count. The worker keeps to it by itself, where the system has alarms.
    share : float
        Seconds after which a call is ended like that if a group that has no call running waits for a worker.
    initializer, initargs
        Called in each worker before its first call. With one, workers are started, and replaced, at once.
    """

    def __init__(
        self,
        n_workers: int | None = None,
        n_threads: int = 1,
        *,
        n_most: int | None = None,
        time_limit: float | None = None,
        share: float | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        if n_workers is None:
            n_workers = n_cores()
        if n_workers < 1:
            raise ValueError(f"n_workers must be >= 1, got {n_workers}")
        self.n_workers = n_workers
        self.n_most = max(n_workers, n_most or 0)
        self.time_limit = time_limit
        self.share = share
        self._first = (initializer, initargs)
        self._environment = _environment(n_threads)
        self._change = threading.Condition()  # of everything below
        self._queue = _Queue()
        self._workers: dict[int, _Worker] = {}
        self._running: dict[Future[Any], _Running] = {}
        self._ends: dict[Future[Any], BaseException] = {}
        self._is_closed = self._is_killed = False
        self._threads: dict[int, threading.Thread] = {}
        self._n_idle = 0
        self._is_room_made = False  # and nobody has taken it yet
        if initializer is not None:
            with self._change:
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
        return self._submit(None, on_report, fn, args, kwargs)

    def submit_for(
        self, group: Hashable, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """The same for one of several groups: the next call is of the group with the fewest running."""
        return self._submit(group, lambda value: None, fn, args, kwargs)

    def _submit(self, group: Hashable, on_report: Any, fn: Any, args: Any, kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._change:
            if self._is_closed:
                raise RuntimeError("these processes were shut down")
            self._queue.put(_Job(group, future, (fn, args, kwargs), on_report))
            self._change.notify()
            n = len(self._threads)
            if n < self.n_workers and self._n_idle < len(self._queue):
                self._add_thread()
            elif n < self.n_most and self._n_idle < self._queue.n_starving:
                self._add_thread()
            else:
                self._make_room()
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
        with self._change:
            self._is_closed, self._is_killed = True, not wait
            waiting = self._queue.clear() if cancel_futures else []
            threads = list(self._threads.values())
            self._change.notify_all()
        for job in waiting:
            job.future.cancel()
        if not wait:
            for worker in list(self._workers.values()):
                worker.process.kill()
        for thread in threads:
            thread.join()

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def _add_thread(self) -> None:
        position = next(i for i in range(self.n_most) if i not in self._threads)
        thread = threading.Thread(target=self._serve, args=(position,), daemon=True)
        self._threads[position] = thread
        self._n_idle += 1
        thread.start()

    def _make_room(self) -> None:
        """End the call that has run longest, if a group waits for a worker and the call had its share."""
        if self.share is None or self._queue.n_starving <= self._n_idle:
            return
        now = time.monotonic()
        old = [future for future, run in self._running.items() if now - run.begun >= self.share]
        if old and len(self._threads) >= self.n_most and not self._is_room_made:
            self._is_room_made = True
            future = min(old, key=lambda future: self._running[future].begun)
            self._queue.put_last(self._running[future].group)
            self._end(future, TookTooLong(f"more than {self.share:g} seconds, and others wait"))

    # --- in the thread of a worker ------------------------------------------------------------------
    # The thread outlives its worker: Linux ends a worker with the *thread* that started it.

    def _serve(self, position: int) -> None:
        if self._first[0] is not None:
            with contextlib.suppress(OSError, EOFError):  # tried again, and told about, with the first call
                self._worker(position)
        while (job := self._take(position)) is not None:
            try:
                if job.future.set_running_or_notify_cancel():
                    self._answer(position, job)
            finally:
                with self._change:
                    self._queue.done(job)
                    self._n_idle += 1
        if position in self._workers:
            self._workers.pop(position).close()

    def _take(self, position: int) -> _Job | None:
        """The next call; None when there will be none, or when this worker is beyond those needed."""
        with self._change:
            end = time.monotonic() + _IDLE
            while not self._queue and not self._is_closed:
                left = end - time.monotonic() if position >= self.n_workers else None
                if left is not None and left <= 0:
                    break
                self._change.wait(left)
            job = self._queue.take()
            self._n_idle -= 1
            self._is_room_made = False
            if job is None:
                del self._threads[position]
            return job

    def _answer(self, position: int, job: _Job) -> None:
        future = job.future
        n_starved = _n_starved_of_memory()
        try:
            worker = self._worker(position)
            with self._limited(job, worker):
                send(worker.stdin, (*job.call, self.time_limit))
                while (answer := receive(worker.stdout))[0] == "report":
                    try:
                        job.on_report(answer[1])
                    except Exception as error:
                        self._end(future, error)
        except (EOFError, BrokenPipeError):
            code = self._workers.pop(position).close()
            with self._change:
                wanted = self._ends.pop(future, None)
            future.set_exception(wanted or self._cause(code, _n_starved_of_memory() > n_starved))
            if self._first[0] is not None and not self._is_closed:
                with contextlib.suppress(OSError, EOFError):
                    self._worker(position)
        except Exception as error:  # a call or an answer that cannot be pickled
            future.set_exception(error)
        else:
            kind, value = answer
            future.set_result(value) if kind == "done" else future.set_exception(value)

    @contextlib.contextmanager
    def _limited(self, job: _Job, worker: _Worker) -> Iterator[None]:
        """Within, the call can be ended from outside, and is when its time is up."""
        future = job.future
        timers = []
        with self._change:
            self._running[future] = _Running(worker, job.group, time.monotonic())
            if self._is_killed:
                worker.process.kill()
        if self.time_limit is not None:
            error = TookTooLong(f"more than {self.time_limit:g} seconds")
            timers.append(threading.Timer(self.time_limit, self._end, (future, error)))
        if self.share is not None:
            timers.append(threading.Timer(self.share, self._look_who_waits))
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()
            with self._change:
                del self._running[future]
                is_ended = future in self._ends
            if is_ended:  # perhaps just as the answer came: the process is gone all the same
                raise EOFError

    def _look_who_waits(self) -> None:
        with self._change:
            self._make_room()

    def _end(self, future: Future[Any], error: BaseException) -> None:
        with self._change:
            if future in self._running:
                self._ends.setdefault(future, error)
                self._running[future].worker.process.kill()

    def _worker(self, position: int) -> _Worker:
        worker = self._workers.get(position)
        if worker is None or not worker.is_alive:
            if worker is not None:
                worker.close()
            worker = self._workers[position] = _Worker(self._environment)
            paths = [path or os.getcwd() for path in sys.path]
            send(worker.stdin, (os.getpid(), paths))
            send(worker.stdin, self._first)
            receive(worker.stdout)
        return worker

    def _cause(self, code: int, is_memory_short: bool) -> BaseException:
        """What a process died of, by its exit code."""
        try:
            name = signal.Signals(-code).name
        except ValueError:
            return WorkerDied(f"the worker process ended with code {code}", "crash")
        if name == "SIGALRM" and self.time_limit is not None:
            return TookTooLong(f"more than {self.time_limit:g} seconds")
        if name == "SIGKILL" and is_memory_short:
            said = "the worker process was ended by SIGKILL when the memory of this machine ran out"
            return WorkerDied(said, "memory")
        return WorkerDied(
            f"the worker process was ended by {name}", "crash" if name in _CRASHES else "killed"
        )


class _Queue:
    """Calls that wait. Next comes the group with the fewest running, of these the one served longest ago."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, deque[_Job]] = OrderedDict()
        self._running: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    @property
    def n_starving(self) -> int:
        """Number of groups that wait and have no call running."""
        return sum(
            not self._running[group] and not all(job.future.cancelled() for job in jobs)
            for group, jobs in self._waiting.items()
        )

    def put(self, job: _Job) -> None:
        self._waiting.setdefault(job.group, deque()).append(job)

    def put_last(self, group: Hashable) -> None:
        """Let the other groups come first."""
        if group in self._waiting:
            self._waiting.move_to_end(group)

    def take(self) -> _Job | None:
        if not self._waiting:
            return None
        group = min(self._waiting, key=lambda group: self._running[group])  # the first of several
        jobs = self._waiting.pop(group)
        job = jobs.popleft()
        if jobs:
            self._waiting[group] = jobs  # at the end: the others come first
        self._running[group] += 1
        return job

    def done(self, job: _Job) -> None:
        self._running[job.group] -= 1
        if not self._running[job.group]:
            del self._running[job.group]

    def clear(self) -> list[_Job]:
        jobs = [job for jobs in self._waiting.values() for job in jobs]
        self._waiting.clear()
        return jobs


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

    def close(self) -> int:
        """Let it come to its end; its exit code."""
        with contextlib.suppress(OSError):
            self.stdin.close()
        code = self.process.wait()
        self.stdout.close()
        return code


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


def _n_starved_of_memory() -> int:
    """How many processes the system has ended for want of memory."""
    total = 0
    for path in ("/proc/vmstat", "/sys/fs/cgroup/memory.events"):
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as lines:
            total += sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return total

"""Worker processes for the page: what is superseded is dropped, what takes too long is ended.

A task has an owner, such as (tab, view).  A new task of an owner replaces the one before: if that was still
waiting it is dropped, and if it was running its process is ended and a fresh one takes its place.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any

__all__ = ["Cache", "Dropped", "Task", "TookTooLong", "Workers", "process_context"]

_PRELOADED = ["widthwise.explorer.drawing", "widthwise.explorer.phases", "widthwise.explorer.planning"]


class Dropped(Exception):
    """The task was replaced by a newer one of its owner, or cancelled."""


class TookTooLong(Exception):
    """The task was ended because its time was up."""


class Task:
    """A call that a worker makes; ``result`` waits for it."""

    def __init__(self, owner: Hashable, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.owner, self.function, self.arguments = owner, function, arguments
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def result(self, timeout: float | None = None) -> Any:
        """What the call returned, or the exception that it or its end raised."""
        if not self._done.wait(timeout):
            raise TookTooLong("the answer is not there yet")
        if self._error is not None:
            raise self._error
        return self._value

    def finish(self, value: Any = None, error: BaseException | None = None) -> None:
        if not self._done.is_set():
            self._value, self._error = value, error
            self._done.set()


class Workers:
    """A few processes that make calls for the page.

    Parameters
    ----------
    size : int
        Number of processes.
    time_limit : float
        Seconds after which a call is ended.
    keep_running : bool
        Let a call that is superseded run to its end (for short ones, which are not worth a new process).
    """

    def __init__(self, size: int, time_limit: float, *, keep_running: bool = False) -> None:
        self.time_limit, self.keep_running = time_limit, keep_running
        self._waiting: deque[Task] = deque()
        self._running: dict[Hashable, tuple[Task, _Hand]] = {}
        self._change = threading.Condition()
        self._is_closed = False
        self._hands = [_Hand(self) for _ in range(size)]
        for hand in self._hands:
            hand.start()

    def submit(self, owner: Hashable, function: Callable[..., Any], *arguments: Any) -> Task:
        """Queue a call; whatever its owner asked for before is dropped."""
        task = Task(owner, function, arguments)
        with self._change:
            self._drop(owner)
            self._waiting.append(task)
            self._change.notify()
        return task

    def cancel(self, owner: Hashable) -> None:
        """Drop what an owner asked for."""
        with self._change:
            self._drop(owner, is_forced=True)

    def close(self) -> None:
        """End all processes."""
        with self._change:
            self._is_closed = True
            for task in self._waiting:
                task.finish(error=Dropped())
            self._waiting.clear()
            self._change.notify_all()
        for hand in self._hands:
            hand.end()

    def _drop(self, owner: Hashable, *, is_forced: bool = False) -> None:
        for task in [task for task in self._waiting if task.owner == owner]:
            self._waiting.remove(task)
            task.finish(error=Dropped())
        if owner in self._running:
            task, hand = self._running[owner]
            task.finish(error=Dropped())
            if is_forced or not self.keep_running:
                hand.end()

    def _take(self, hand: _Hand) -> Task | None:
        with self._change:
            while not self._waiting and not self._is_closed:
                self._change.wait()
            if self._is_closed:
                return None
            task = self._waiting.popleft()
            self._running[task.owner] = (task, hand)
            return task

    def _put_back(self, task: Task) -> None:
        with self._change:
            if self._running.get(task.owner, (None,))[0] is task:
                del self._running[task.owner]


class _Hand(threading.Thread):
    """One process and the thread that talks to it."""

    def __init__(self, workers: Workers) -> None:
        super().__init__(daemon=True)
        self._workers = workers
        self._process: Any = None
        self._pipe: Any = None
        self._is_ended = True  # a process that was told to end lives on for a moment
        self._is_ready = False

    def run(self) -> None:
        with contextlib.suppress(OSError):  # tried again, and told about, with the first task
            self._begin()
        while (task := self._workers._take(self)) is not None:
            try:
                self._make(task)
            finally:
                self._workers._put_back(task)

    def _make(self, task: Task) -> None:
        try:
            if self._is_ended or not self._process.is_alive():
                self._begin()
            if not self._is_ready:  # starting a process does not count against the time of a call
                self._pipe.recv()
                self._is_ready = True
            self._pipe.send((task.function, task.arguments))
            if not self._pipe.poll(self._workers.time_limit):
                task.finish(error=TookTooLong(f"more than {self._workers.time_limit:g} seconds"))
                self.end()
                return
            is_good, value = self._pipe.recv()
        except (EOFError, OSError):  # the process was ended, by cancelling or by the system
            task.finish(error=Dropped())
            return
        except Exception as error:  # a process that cannot be started, or an answer that cannot be read
            task.finish(error=RuntimeError(f"no worker could answer ({error})"))
            self.end()
            return
        if is_good:
            task.finish(value)
        else:
            task.finish(error=value)

    def _begin(self) -> None:
        self.end()
        context = process_context()
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        self._is_ended = self._is_ready = False
        theirs.close()

    def end(self) -> None:
        """End the process; the next task gets a new one."""
        self._is_ended = True
        if self._process is not None and self._process.is_alive():
            self._process.terminate()


def process_context() -> Any:
    """Processes that start from a clean one which has the theory loaded, where the system can do that."""
    # Each worker computes on one core: threads of the linear algebra would fight over them.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _serve(pipe: Any) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers
    with contextlib.suppress(OSError):
        pipe.send("ready")
    while True:
        try:
            function, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (True, function(*arguments))
        except Exception as error:  # whatever it is, it is the caller's to report
            answer = (False, _portable(error))
        try:
            pipe.send(answer)
        except OSError:
            return


def _portable(error: Exception) -> Exception:
    """The error if it is one of ours to show, else one that any process can read."""
    if type(error) in (ValueError, RuntimeError, MemoryError, ZeroDivisionError, OverflowError):
        return type(error)(str(error))
    return RuntimeError(f"{type(error).__name__}: {error}")


class Cache:
    """The results used last, for several threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._items: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """The result, or None."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > self.size:
                self._items.popitem(last=False)

"""The loop that runs tasks on an executor and keeps their results.

Only tasks without a result are run. A result is written the moment it arrives; a driver, worker or cluster
that dies costs the tasks it was running, and these continue from their checkpoints.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from .._bad_value import plural
from .._extras import explained
from .._threads import n_cores
from .._workers import LocalProcesses, WorkerDied
from ..networks.instance import free_memory
from .estimate import estimate, memory_needed, missing
from .result import Result, failure
from .store import Store
from .store_index import Entry
from .task import Interrupted, Task
from .task_list import Tasks
from .worker import work

__all__ = ["Report", "run_tasks"]

_MAX_DEATHS = 4  # workers that a task may lose in one run before it is given up
_MAX_MEMORY_DEATHS = 2  # of these for want of memory: the second time it was alone
_POLL = 0.5  # seconds between looks at the tasks of another driver
_WIND_UP = 25.0  # seconds for running tasks to write their checkpoints after Ctrl-C


@dataclass
class Report:
    """What came of a sweep."""

    n_tasks: int
    n_kept: int = 0
    """Finished before, or by another driver."""
    n_done: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """Error by task, of those that failed now or before."""
    seconds: float = 0.0

    @property
    def n_left(self) -> int:
        """Tasks that were not begun, the time being up."""
        return self.n_tasks - self.n_kept - self.n_done - self.n_failed

    @property
    def n_failed(self) -> int:
        """Tasks without a good result."""
        return len(self.failures)

    def __str__(self) -> str:
        verb = "was" if self.n_kept == 1 else "were"
        text = f"{plural(self.n_done, 'task')} run, {self.n_kept} {verb} finished before"
        text += f", {self.n_failed} failed" if self.failures else ""
        return text + (f", {self.n_left} left" if self.n_left else "")


@explained
def run_tasks(
    tasks: Iterable[Task],
    store: Store | str | os.PathLike[str],
    *,
    executor: Executor | None = None,
    cluster: str | None = None,
    n_workers: int | None = None,
    progress: bool | Callable[[Result, Report], Any] | None = None,
    retry_failed: bool = False,
    max_seconds: float | None = None,
) -> Report:
    """Run the tasks that have no result in the store, and keep their results.

    Parameters
    ----------
    tasks : list of Task
    store : Store or folder
        Made if it is not there. Several drivers may work on one store at once, and share the tasks.
    executor : Executor
        Any of ``concurrent.futures``; unless given, local processes.
    cluster : str
        Address of a Dask scheduler, ``tcp://host:port``, to use instead.
    n_workers : int
        Number of local processes; one for each core unless given.
    progress : bool or function
        Whether to talk on stderr (yes unless given), or a function of (Result, Report) to call after each.
    retry_failed : bool
        Run tasks again that failed before.
    max_seconds : float
        No task is begun later than this; those under way are finished. The others are run by the next call.
    """
    if executor is not None and cluster is not None:
        raise ValueError("give executor or cluster, not both")
    store = store if isinstance(store, Store) else Store(store)
    store.prepare()
    own: Executor | None = None
    if executor is None:
        if cluster is not None:
            from .cluster import DaskCluster

            own = DaskCluster(cluster)
        else:
            own = LocalProcesses(n_workers)
    if not isinstance(tasks, Tasks):  # those of a sweep are different, and made one at a time
        tasks = list(dict.fromkeys(tasks))
    driver = _Driver(tasks, store, executor or own, retry_failed, max_seconds)  # type: ignore[arg-type]
    try:
        return driver.run(progress)
    finally:
        if own is not None:
            own.shutdown(wait=False, cancel_futures=True)


def _done(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    return {key: entry for key, entry in entries.items() if entry.status == "done"}


class _Driver:
    def __init__(
        self,
        tasks: Sequence[Task],
        store: Store,
        executor: Executor,
        retry_failed: bool,
        max_seconds: float | None = None,
    ) -> None:
        self.tasks = tasks
        self.deadline = math.inf if max_seconds is None else time.perf_counter() + max_seconds
        self.source = iter(tasks)
        self.store = store
        self.retry_failed = retry_failed
        self.executor = executor
        self.report = Report(len(tasks))
        self.pending: deque[Task] = deque()  # those looked at: the others are made when it is their turn
        self.elsewhere: list[Task] = []
        self.running: dict[Future[Any], Task] = {}
        self.arrived: dict[Future[Any], Task] = {}
        self.deaths: Counter[tuple[str, str]] = Counter()
        store.discard_old_checkpoints()
        self.entries = store.entries()
        self.newer, self.damaged = store.newer, store.damaged
        self.room = 0.9 * (free_memory() or math.inf)
        self.before: dict[str, int | None] = {}

    def _next(self) -> Task | None:
        """The next task to hand out, left where it is; those that have a result are counted on the way."""
        is_late = time.perf_counter() >= self.deadline
        while is_late or not self.pending:
            task = next(self.source, None)
            if task is None:
                return None
            entry = self.entries.get(task.key)
            if entry is not None and entry.status == "done":
                self.report.n_kept += 1
            elif entry is not None and not self.retry_failed:
                self.report.failures[str(task)] = entry.error
            elif task.key in self.newer:
                said = f"its result is kept but cannot be read: {self.newer[task.key]}"
                self.report.failures[str(task)] = said
            elif not is_late:
                # What was there when the entries were read: another driver may have written since.
                was_there = entry is not None or f"{task.key}.nc" in self.damaged
                self.before[task.key] = self.store.modified(task.key) if was_there else None
                self.pending.append(task)
        return self.pending[0]

    @property
    def n_slots(self) -> int:
        """Tasks to hand out at once: enough to keep all workers busy, few enough to share with others."""
        return self.n_workers if isinstance(self.executor, LocalProcesses) else 2 * self.n_workers

    @property
    def n_workers(self) -> int:
        """Workers of the executor, if it says; else as many as there are cores."""
        return int(getattr(self.executor, "n_workers", 0) or n_cores())

    def _has_room_for(self, task: Task) -> bool:
        """Whether a task fits into the memory of this machine beside those that run."""
        if not (self.running and isinstance(self.executor, LocalProcesses)):
            return True
        if any(self.deaths[t.key, "memory"] for t in (task, *self.running.values())):
            return False
        return sum(map(memory_needed, [task, *self.running.values()])) <= self.room

    def run(self, progress: bool | Callable[..., Any] | None) -> Report:
        from .progress import reporter

        start = time.perf_counter()
        guess = None
        if progress is not False and not callable(progress):
            kept = self.entries if not self.retry_failed else _done(self.entries)
            some, n_missing = missing(self.tasks, kept)
            guess = estimate(some, self.executor, self.entries.values(), n_missing)
        with reporter(progress, self.report.n_tasks, self.n_workers, guess) as told:
            try:
                while self.running or self.arrived or self.elsewhere or self._next() is not None:
                    self._fill()
                    for result in self._collect():
                        told(result, self.report, len(self.running))
            except KeyboardInterrupt:
                for result in self._wind_up():
                    told(result, self.report, len(self.running))
                n = self.report.n_kept + self.report.n_done
                raise KeyboardInterrupt(f"{n} result{' is' if n == 1 else 's are'} kept") from None
            finally:
                self.store.close()
                self.report.seconds = time.perf_counter() - start
        return self.report

    def _fill(self) -> None:
        """Hand out tasks, except those that another driver has or has finished."""
        n_slots = self.n_slots  # asked once: a cluster has to be asked over the network
        while len(self.running) < n_slots and (task := self._next()) is not None:
            if not self._has_room_for(task):
                return
            self.pending.popleft()
            if not self.store.claim(task.key):
                self.elsewhere.append(task)
            elif self.store.modified(task.key) != self.before[task.key]:
                self.store.release(task.key)
                self._note_finished_elsewhere(task)
            else:
                future = self.executor.submit(work, task.text, str(self.store.checkpoints))
                self.running[future] = task

    def _collect(self) -> list[Result]:
        """Wait for something to happen; the results that came."""
        if not self.running:
            self._look_elsewhere()
            return []
        done, _ = wait(self.running, timeout=_POLL, return_when=FIRST_COMPLETED)
        self.arrived |= {future: self.running.pop(future) for future in done}
        self._fill()  # workers first: they compute while the results are being written
        return self._keep_arrived()

    def _keep_arrived(self) -> list[Result]:
        """Write the results that came; one leaves the list only when it is written."""
        results = []
        for future, task in list(self.arrived.items()):
            results.append(self._finish(task, future))
            del self.arrived[future]
        return [result for result in results if result is not None]

    def _finish(self, task: Task, future: Future[Any]) -> Result | None:
        result: Result
        image: bytes | None
        try:
            with self.store.explained():  # the worker may have found its disk full
                result, image = future.result()
        except (BrokenExecutor, CancelledError) as error:
            return self._lost(task, error)
        except Interrupted:
            raise KeyboardInterrupt from None
        return self._keep(result, image)

    def _keep(self, result: Result, image: bytes | None = None) -> Result:
        self.store.write(result, image)
        self.store.release(result.task.key)
        self.before.pop(result.task.key, None)
        if result.status == "done":
            self.report.n_done += 1
        else:
            self.report.failures[str(result.task)] = result.error
        return result

    def _lost(self, task: Task, error: BaseException) -> Result | None:
        """A task whose worker died: tried again, then given up for this run.

        What the task did itself (a crash, all the memory there is) is recorded as its failure. A kill from
        outside, or a lost cluster, says nothing about it: the store stays without a result.
        """
        cause = error.cause if isinstance(error, WorkerDied) else "killed"
        self.deaths[task.key, cause] += 1
        deaths = self.deaths[task.key, cause]
        if deaths < (_MAX_MEMORY_DEATHS if cause == "memory" else _MAX_DEATHS):
            self.store.release(task.key)
            self.pending.appendleft(task)
            return None
        result = failure(task, error)
        if cause != "killed":
            return self._keep(result)
        self.store.release(task.key)
        result.error += f" ({deaths} times); nothing is recorded, the same command tries it again"
        self.report.failures[str(task)] = result.error
        return result

    def _look_elsewhere(self) -> None:
        """Tasks of another driver: finished by now, or free again because it ended."""
        if time.perf_counter() >= self.deadline:
            self.elsewhere.clear()
        if not self.elsewhere:
            return
        time.sleep(_POLL)
        waiting, self.elsewhere = self.elsewhere, []
        for task in waiting:
            if self.store.modified(task.key) != self.before[task.key]:
                self._note_finished_elsewhere(task)
            else:
                self.pending.append(task)

    def _note_finished_elsewhere(self, task: Task) -> None:
        entry = self.store.entry(task.key)
        if task.key in self.store.newer:
            self.report.failures[str(task)] = f"its result cannot be read: {self.store.newer[task.key]}"
        elif entry is None:  # damaged already: ours to do again
            self.before[task.key] = self.store.modified(task.key)
            self.pending.append(task)
        elif entry.status == "done":
            self.report.n_kept += 1
        else:
            self.report.failures[str(task)] = entry.error

    def _wind_up(self) -> list[Result]:
        """After Ctrl-C: let running tasks write their checkpoints, and keep what is finished."""
        self.pending.clear()
        self.source = iter(())
        for future in self.running:
            future.cancel()
        if isinstance(self.executor, LocalProcesses):
            # Again and again: a worker that is just about to begin its call does not hear it.
            end, left = time.monotonic() + _WIND_UP, set(self.running)
            while left and time.monotonic() < end:
                self.executor.interrupt()
                left = wait(left, timeout=_POLL).not_done
        else:  # processes that are not our own are not told of it, and would be waited for to no end
            wait(self.running, timeout=1.0)
        candidates = self.arrived | self.running
        self.arrived = {
            future: task
            for future, task in candidates.items()
            if future.done() and not future.cancelled() and future.exception() is None
        }
        return self._keep_arrived()

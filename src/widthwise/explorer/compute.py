"""Calls that worker processes make for the page: what is superseded is dropped, what takes too long is ended.

A call has an owner, such as (tab, view).  A new call of an owner replaces the one before: if that was still
waiting it is dropped, and if it was running its process is ended and a fresh one takes its place.  Tabs get
their turns: one with nothing running comes before one that has, in a process of its own if need be.
"""

from __future__ import annotations

import importlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from typing import Any

from .._workers import LocalProcesses

__all__ = ["Cache", "Dropped", "Workers", "ask"]

_PRELOADED = ("drawing", "phases", "scaling")


class Dropped(Exception):
    """The call was replaced by a newer one of its owner, or cancelled."""


class Workers:
    """A few processes that make calls for the page.

    Parameters
    ----------
    size : int
        Number of processes.
    time_limit : float
        Seconds after which a call is ended.
    n_most : int
        Processes when several tabs ask at once.
    share : float
        Seconds after which a call is ended if another tab waits and there are ``n_most`` processes already.
    keep_running : bool
        Let a call that is superseded run to its end (for short ones, which are not worth a new process).
    """

    def __init__(
        self,
        size: int,
        time_limit: float,
        *,
        n_most: int | None = None,
        share: float | None = None,
        keep_running: bool = False,
    ) -> None:
        self.time_limit, self.keep_running = time_limit, keep_running
        self.processes = LocalProcesses(
            size, n_most=n_most, time_limit=time_limit, share=share, initializer=_load
        )
        self._lock = threading.RLock()
        self._latest: dict[Hashable, tuple[Future[Any], Future[Any]]] = {}

    def submit(self, owner: Hashable, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Queue a call; whatever its owner asked for before raises :class:`Dropped`."""
        answer: Future[Any] = Future()
        tab = owner[0] if isinstance(owner, tuple) else owner
        with self._lock:
            self._drop(owner)
            call = self.processes.submit_for(tab, function, *arguments)
            self._latest[owner] = answer, call
        call.add_done_callback(lambda done: self._finish(owner, answer, done))
        return answer

    def cancel(self, owner: Hashable) -> None:
        """Drop what an owner asked for."""
        with self._lock:
            self._drop(owner, is_forced=True)

    def close(self) -> None:
        """End all processes."""
        self.processes.shutdown(wait=False, cancel_futures=True)

    def _drop(self, owner: Hashable, *, is_forced: bool = False) -> None:
        answer, call = self._latest.pop(owner, (None, None))
        if answer is None or call is None:
            return
        if not answer.done():
            answer.set_exception(Dropped())
        if is_forced or not self.keep_running:
            self.processes.end(call)
        else:
            call.cancel()

    def _finish(self, owner: Hashable, answer: Future[Any], done: Future[Any]) -> None:
        with self._lock:
            if self._latest.get(owner, (None,))[0] is answer:
                del self._latest[owner]
            if answer.done():
                return
            error = CancelledError() if done.cancelled() else done.exception()
            if isinstance(error, CancelledError):
                answer.set_exception(Dropped())
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(done.result())


def _load() -> None:
    """Have the theory loaded before the first call."""
    for name in _PRELOADED:
        importlib.import_module(f"{__package__}.{name}")


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


def ask(
    workers: Workers, cache: Cache, owner: Any, function: Callable[..., Any], *arguments: Any, blame: str
) -> Any:
    """A result, a sentence for the control ``blame``, or None if a newer wish took its place."""
    key = (function.__name__, json.dumps(arguments, sort_keys=True, default=repr))
    found = cache.get(key)
    if found is not None:
        return found
    answer = workers.submit(owner, function, *arguments)
    try:
        found = answer.result(2 * workers.time_limit)
    except Dropped:
        return None
    except TimeoutError as error:
        if not answer.done():  # it still waits for its turn, and nobody for it
            workers.cancel(owner)
            return {blame: "Too many ask at once; try again in a moment."}
        if "others wait" in str(error):
            return {blame: "This takes too long to compute while others wait; try again later."}
        return {blame: "This takes too long to compute; try a simpler problem."}
    except Exception as error:  # whatever it is, it is for the user to read
        return {blame: f"This could not be computed: {str(error) or type(error).__name__}"}
    cache.put(key, found)
    return found

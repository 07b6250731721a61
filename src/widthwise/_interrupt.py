"""Ctrl-C: the command line ends within a second or two with exit code 130, whatever it is doing.

While modules are still being imported it ends at once. Later a ``KeyboardInterrupt`` is raised, so that what
is whole can be kept, and a clock is started: what does not end by itself within the time allowed (a library
that computes without looking up, or that takes the interrupt for its own) is ended. A second Ctrl-C ends at
once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._starting import EXIT_CODE, quit_at_once

__all__ = ["EXIT_CODE", "allow", "as_command", "noticed"]

_SECONDS = 2.0
_allowed = [_SECONDS]
_clocks: list[threading.Timer] = []


@contextmanager
def as_command() -> Iterator[None]:
    """Handle Ctrl-C as the command line does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _raise)
    _allowed[:] = [_SECONDS]
    try:
        yield
    finally:
        for clock in _clocks:
            clock.cancel()
        _clocks.clear()
        signal.signal(signal.SIGINT, before)
        # A Ctrl-C that comes while a text is executed, as where a dataclass is made, is noted by Python as
        # one that nobody handled, and ``python -m`` would end by that signal in place of its exit code; to
        # execute another text makes it forget.
        exec("")


def allow(seconds: float) -> None:
    """Let the command take so long after Ctrl-C, to write checkpoints."""
    _allowed[:] = [seconds]


@contextmanager
def noticed() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C came meanwhile, also where other code took it for its own and carried on."""
    came: list[bool] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before: Any = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        came.append(True)
        signal.signal(signal.SIGINT, before)
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(came)
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)


def _raise(number: int, frame: Any) -> None:
    signal.signal(signal.SIGINT, quit_at_once)
    clock = threading.Timer(_allowed[0], quit_at_once, (number, None))
    clock.daemon = True
    clock.start()
    _clocks.append(clock)
    raise KeyboardInterrupt

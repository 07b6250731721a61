"""The other side of :mod:`widthwise._workers`: a process that makes the calls it is sent.

Calls come on standard input and answers go to standard output, each a pickle behind its length. The process
ends when the one that started it does, however that ends: Linux is asked for a signal, and elsewhere threads
notice that the input has ended, or that there is another parent should somebody else hold the pipe. A call
that has a time limit is also ended by an alarm of the system, which no compiled code can hold up.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import queue
import signal
import struct
import sys
import threading
import time
from typing import IO, Any

__all__ = ["main", "receive", "report", "send"]

_PR_SET_PDEATHSIG = 1
_LOOK = 1.0  # seconds between looks at the parent

_outbox: IO[bytes] | None = None


def send(stream: IO[bytes], value: Any) -> None:
    """Write a value behind its length."""
    content = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(content)) + content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next value; EOFError when there is none."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    (length,) = struct.unpack("<Q", head)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return pickle.loads(content)


def report(value: Any) -> None:
    """Tell the process that waits for the answer something before it is there; nothing outside a worker."""
    if _outbox is not None:
        send(_outbox, ("report", value))


def main() -> None:
    """Serve until the input ends."""
    global _outbox
    inbox, _outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a call prints is not an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent, sys.path[:] = receive(inbox)
    _end_with(parent)
    initializer, arguments = receive(inbox)  # apart: what it names can be imported only now
    if initializer is not None:
        initializer(*arguments)
    calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(inbox, calls), daemon=True).start()
    send(_outbox, ("ready", None))
    while True:
        answer = _answer(calls.get())
        try:
            send(_outbox, answer)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            said = f"{type(answer[1]).__name__} cannot be sent from a worker: {error}"
            send(_outbox, ("failed", TypeError(said)))


def _read(inbox: IO[bytes], calls: queue.SimpleQueue[Any]) -> None:
    """Pass calls on as they come; when there will be none, end the process, also in the middle of one."""
    while True:
        try:
            calls.put(receive(inbox))
        except (EOFError, OSError):
            os._exit(1)
        except Exception as error:  # a function that cannot be imported here
            calls.put(error)


def _answer(call: Any) -> tuple[str, Any]:
    if isinstance(call, Exception):
        return "failed", call
    function, args, kwargs, time_limit = call
    signal.signal(signal.SIGINT, _interrupt_once)
    _set_alarm(time_limit)
    try:
        return "done", function(*args, **kwargs)
    except BaseException as error:
        return "failed", error
    finally:
        _set_alarm(None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _set_alarm(seconds: float | None) -> None:
    """End this process after a while; None takes it back."""
    if hasattr(signal, "setitimer"):
        if seconds is not None:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds or 0.0)


def _interrupt_once(number: int, frame: Any) -> None:
    """Ctrl-C for the call; a second one must not disturb the writing of its checkpoint."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_with(parent: int) -> None:
    """End this process when its parent ends."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if sys.platform != "win32":
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)

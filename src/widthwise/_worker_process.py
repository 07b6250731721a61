"""A process that does what it is told: ``python -m widthwise._worker_process``.

Jobs come on standard input and answers go to standard output, each a pickle behind its length; see
:class:`~widthwise.sweeps.executors.LocalProcesses`. It ends when its input does, so that no worker
outlives a driver that was killed.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
import threading
from typing import Any, BinaryIO

__all__ = ["main", "receive", "send"]


def send(stream: BinaryIO, value: Any) -> None:
    """Write a value behind its length."""
    content = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(content)) + content)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next value; EOFError when there is none."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    (length,) = struct.unpack("<Q", head)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return pickle.loads(content)


def main() -> None:
    """Serve until the input ends."""
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a learner prints is not an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(inbox.fileno(),), daemon=True).start()
    sys.path[:] = receive(inbox)
    while True:
        try:
            job = receive(inbox)
        except EOFError:
            return
        except Exception as error:  # a function that cannot be imported here
            send(outbox, (False, error))
            continue
        send(outbox, _answer(*job))


def _answer(function: Any, args: Any, kwargs: Any) -> tuple[bool, Any]:
    signal.signal(signal.SIGINT, _interrupt_once)
    try:
        return True, function(*args, **kwargs)
    except BaseException as error:
        return False, error
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _interrupt_once(number: int, frame: Any) -> None:
    """Ctrl-C for the task; a second one must not disturb the writing of its checkpoint."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_with(handle: int) -> None:
    """End the process when the other side of a pipe is closed, also in the middle of a task."""
    if not hasattr(select, "poll"):
        return
    watch = select.poll()
    watch.register(handle, select.POLLHUP)
    while True:
        for _, event in watch.poll():
            if event & select.POLLHUP:
                os._exit(1)


if __name__ == "__main__":
    main()

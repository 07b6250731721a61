"""What the workers of tests are asked to do; they import it by its name, and little else."""

import ctypes
import os
import signal
import threading
import time
from pathlib import Path

from widthwise._threads import THREAD_VARIABLES
from widthwise._worker_process import report


def doze(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def count(n: int) -> str:
    for i in range(n):
        report(i)
    return "counted"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crash() -> None:
    os.abort()


def leave() -> None:
    os._exit(3)


def hold_the_interpreter(seconds: float) -> None:
    """Compiled code that lets no other thread of Python run."""
    ctypes.PyDLL(None).usleep(int(1e6 * seconds))


def wait_for(path: str) -> int:
    """Until a file is there; says that it waits by one beside it."""
    Path(f"{path}.{os.getpid()}").touch()
    while not Path(path).exists():
        time.sleep(0.01)
    return os.getpid()


def interrupted(folder: str) -> str:
    try:
        Path(folder, str(os.getpid())).touch()
        time.sleep(600)
    except KeyboardInterrupt:
        return "in order"
    return "too late"


def environment() -> dict[str, str]:
    return {name: os.environ[name] for name in THREAD_VARIABLES}


MEMORY = []


def remember(value: int) -> None:
    MEMORY.append(value)


def remembered() -> list[int]:
    return MEMORY


def unsendable() -> object:
    return threading.Lock()


class TwoPartError(Exception):
    """Cannot be made again from its text, so no other process can read it."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def fail_with_two_parts() -> None:
    raise TwoPartError("a", "b")

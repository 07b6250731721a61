"""The pool of worker processes: a call can fail, die, be ended or interrupted, at no cost to the others."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from widthwise._threads import THREAD_VARIABLES
from widthwise._worker_process import receive, send
from widthwise._workers import LocalProcesses, TookTooLong, WorkerDied, _environment, _Worker, report

HERE = Path(__file__).parent
PATIENCE = 60.0  # seconds for what takes a fraction of one on an idle machine


# What workers do: they import this module by its name.


def doze(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def count(n: int) -> str:
    for i in range(n):
        report(i)
    return "counted"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted(folder: str) -> str:
    try:
        Path(folder, str(os.getpid())).touch()
        time.sleep(PATIENCE)
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


def until(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(scope="module")
def pool():
    with LocalProcesses(1) as processes:
        yield processes


def test_results_errors_and_the_same_process_for_all(pool):
    first, second = pool.submit(doze, 0.0), pool.submit(doze, 0.0)
    assert first.result(PATIENCE) == second.result(PATIENCE) != os.getpid()
    with pytest.raises(TypeError, match="argument"):
        pool.submit(doze).result(PATIENCE)
    assert pool.submit(doze, 0.0).result(PATIENCE) == first.result()


def test_what_cannot_be_sent_is_an_error_and_the_worker_stays(pool):
    pid = pool.submit(doze, 0.0).result(PATIENCE)
    with pytest.raises(TypeError, match="lock cannot be sent"):
        pool.submit(unsendable).result(PATIENCE)
    with pytest.raises(TypeError):
        pool.submit(fail_with_two_parts).result(PATIENCE)
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        pool.submit(lambda: 0).result(PATIENCE)
    assert pool.submit(doze, 0.0).result(PATIENCE) == pid


def test_a_worker_that_dies_takes_its_own_call_only(pool):
    dead, alive = pool.submit(die), pool.submit(doze, 0.0)
    with pytest.raises(WorkerDied, match="SIGKILL"):
        dead.result(PATIENCE)
    assert alive.result(PATIENCE) in pool.pids


def test_reports_come_in_order_before_the_answer(pool):
    said = []
    assert pool.submit_reporting(said.append, count, 50).result(PATIENCE) == "counted"
    assert said == list(range(50))
    assert report("to nobody") is None


def test_an_error_of_the_listener_ends_the_call(pool):
    def refuse(value):
        raise ValueError(f"no {value}")

    with pytest.raises(ValueError, match="no 0"):
        pool.submit_reporting(refuse, count, 3).result(PATIENCE)
    assert pool.submit_reporting(lambda value: None, count, 3).result(PATIENCE) == "counted"


def test_calls_are_ended_whether_they_run_or_wait(pool):
    running, waiting, after = pool.submit(doze, PATIENCE), pool.submit(doze, PATIENCE), pool.submit(doze, 0.0)
    until(running.running)
    until(lambda: pool._running)  # the call is under way
    pool.end(waiting)
    pool.end(running)
    for future in (running, waiting):
        with pytest.raises(CancelledError):
            future.result(PATIENCE)
    assert after.result(PATIENCE) in pool.pids
    pool.end(after)  # over already: nothing to end
    assert pool.submit(doze, 0.0).result(PATIENCE) == after.result()


def test_ctrl_c_is_for_the_call_that_runs(pool, tmp_path):
    future = pool.submit(interrupted, str(tmp_path))
    until(lambda: list(tmp_path.iterdir()))
    pool.interrupt()
    assert future.result(PATIENCE) == "in order"
    pid = int(next(tmp_path.iterdir()).name)
    pool.interrupt()  # nothing runs: nothing happens
    assert pool.submit(doze, 0.0).result(PATIENCE) == pid


def test_a_call_that_takes_too_long_is_ended():
    with LocalProcesses(1, time_limit=0.4) as processes:
        slow, quick = processes.submit(doze, PATIENCE), processes.submit(doze, 0.0)
        with pytest.raises(TookTooLong, match="more than 0.4 seconds"):
            slow.result(PATIENCE)
        assert quick.result(PATIENCE) in processes.pids


def test_threads_are_limited_and_workers_are_initialized_without_being_asked():
    with LocalProcesses(1, n_threads=3, initializer=remember, initargs=(7,)) as processes:
        until(lambda: processes.pids)
        assert processes.submit(remembered).result(PATIENCE) == [7]
        assert set(processes.submit(environment).result(PATIENCE).values()) == {"3"}
        with pytest.raises(WorkerDied):
            processes.submit(die).result(PATIENCE)
        until(lambda: processes.pids)
        assert processes.submit(remembered).result(PATIENCE) == [7]


def test_processes_that_are_shut_down_take_nothing_and_leave_nothing():
    processes = LocalProcesses(2)
    pid = processes.submit(doze, 0.0).result(PATIENCE)
    running = processes.submit(doze, PATIENCE)
    until(lambda: processes._running)
    processes.shutdown(wait=False, cancel_futures=True)
    until(lambda: not is_alive(pid))
    assert isinstance(running.exception(PATIENCE), WorkerDied)
    with pytest.raises(RuntimeError, match="shut down"):
        processes.submit(doze, 0.0)
    with pytest.raises(ValueError, match="n_workers must be >= 1"):
        LocalProcesses(0)


PARENT = """
import os, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from test_workers import LocalProcesses, doze
processes = LocalProcesses(1)
pid = processes.submit(doze, 0.0).result()
if sys.argv[2] == "busy":
    processes.submit(doze, 600.0)
if sys.argv[3] == "held":  # a child of ours keeps the pipe open after we are gone
    if os.fork() == 0:
        time.sleep(600)
print(pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")
@pytest.mark.parametrize("is_held", ["held", "free"])
@pytest.mark.parametrize("is_busy", ["busy", "idle"])
def test_workers_end_with_their_parent_however_it_ends(is_busy, is_held):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(HERE), is_busy, is_held],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
        until(lambda: not is_alive(pid))
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        parent.stdout.close()


def test_a_worker_ends_when_its_input_does_also_in_the_middle_of_a_call():
    worker = _Worker(_environment(1))
    send(worker.stdin, (os.getpid(), sys.path))
    send(worker.stdin, (None, ()))
    assert receive(worker.stdout) == ("ready", None)
    send(worker.stdin, (doze, (PATIENCE,), {}))
    worker.stdin.close()
    until(lambda: not worker.is_alive)


WATCHER = """
import os, subprocess, sys, time
code = "import os; from widthwise._worker_process import _watch; parent = os.getppid(); "
code += "print(os.getpid(), flush=True); _watch(parent)"
subprocess.Popen([sys.executable, "-c", code])
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there a process keeps the number of its parent")
def test_a_worker_notices_that_it_has_another_parent():
    parent = subprocess.Popen([sys.executable, "-c", WATCHER], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    assert is_alive(pid)
    parent.kill()
    parent.wait()
    until(lambda: not is_alive(pid))
    parent.stdout.close()

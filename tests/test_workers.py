"""The pool of worker processes: a call can fail, die, be ended or interrupted, at no cost to the others."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from patience import PATIENCE, is_alive, until
from widthwise._worker_process import receive, send
from widthwise._workers import LocalProcesses, TookTooLong, WorkerDied, _environment, _Worker, report
from worker_calls import (
    count,
    crash,
    die,
    doze,
    environment,
    fail_with_two_parts,
    hold_the_interpreter,
    interrupted,
    leave,
    remember,
    remembered,
    unsendable,
    wait_for,
)

HERE = Path(__file__).parent
pytestmark = pytest.mark.waits
LIMIT = PATIENCE / 120  # seconds for what is to be ended; plenty for what is not


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
    with pytest.raises((AttributeError, TypeError), match="pickle|local object"):  # Python 3.13
        pool.submit(lambda: 0).result(PATIENCE)
    assert pool.submit(doze, 0.0).result(PATIENCE) == pid


def test_a_worker_that_dies_takes_its_own_call_only(pool):
    dead, alive = pool.submit(die), pool.submit(doze, 0.0)
    with pytest.raises(WorkerDied, match="SIGKILL"):
        dead.result(PATIENCE)
    assert alive.result(PATIENCE) in pool.pids


def test_it_is_told_what_a_worker_died_of(pool, monkeypatch):
    for call, cause in ((die, "killed"), (crash, "crash"), (leave, "crash")):
        assert pool.submit(call).exception(PATIENCE).cause == cause
    counts = iter([5, 6])
    monkeypatch.setattr("widthwise._workers._n_starved_of_memory", lambda: next(counts))
    starved = pool.submit(die).exception(PATIENCE)
    assert starved.cause == "memory" and "memory of this machine ran out" in str(starved)


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
    with LocalProcesses(1, time_limit=LIMIT) as processes:
        slow, quick = processes.submit(doze, PATIENCE), processes.submit(doze, 0.0)
        with pytest.raises(TookTooLong, match="more than .* seconds"):
            slow.result(PATIENCE)
        assert quick.result(PATIENCE) in processes.pids


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs alarms")
@pytest.mark.parametrize("call", [doze, hold_the_interpreter])
def test_a_worker_keeps_to_its_time_by_itself(call, monkeypatch):
    monkeypatch.setattr("widthwise._workers.threading.Timer", lambda *_: threading.Thread(target=int))
    monkeypatch.setattr(threading.Thread, "cancel", lambda self: None, raising=False)
    with LocalProcesses(1, time_limit=LIMIT) as processes:
        with pytest.raises(TookTooLong, match="more than .* seconds"):
            processes.submit(call, PATIENCE).result(PATIENCE)
        assert processes.submit(doze, 0.0).result(PATIENCE) in processes.pids


def test_groups_take_turns(tmp_path):
    gate, order = tmp_path / "gate", []
    with LocalProcesses(1) as processes:
        first = processes.submit_for("a", wait_for, str(gate))
        until(first.running)
        calls = [processes.submit_for(group, doze, 0.0) for group in "aaabbc"]
        for call, name in zip(calls, ("a2", "a3", "a4", "b1", "b2", "c1"), strict=True):
            call.add_done_callback(lambda _, name=name: order.append(name))
        gate.touch()
        for call in calls:
            call.result(PATIENCE)
    assert order == ["a2", "b1", "c1", "a3", "b2", "a4"]


def test_a_group_that_waits_gets_a_process_of_its_own_and_then_its_share(tmp_path, monkeypatch):
    """Three long calls, two usual processes and three at most: a fourth group is answered all the same."""
    monkeypatch.setattr("widthwise._workers._IDLE", 0.2)
    gate = str(tmp_path / "gate")
    with LocalProcesses(2, n_most=3, share=LIMIT / 4) as processes:
        long = []
        for group in "abc":  # c gets the third
            long.append(processes.submit_for(group, wait_for, gate))
            until(lambda: processes._running.get(long[-1]))
        assert processes.submit_for("d", doze, 0.0).result(PATIENCE) in processes.pids
        ended = [call for call in long if call.done()]
        assert ended == long[:1] and "others wait" in str(ended[0].exception())
        Path(gate).touch()
        assert all(call.result(PATIENCE) for call in long if call not in ended)
        until(lambda: len(processes.pids) == 2)


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
from widthwise._workers import LocalProcesses
from worker_calls import doze
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
    send(worker.stdin, (doze, (PATIENCE,), {}, None))
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

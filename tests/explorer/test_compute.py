"""Workers of the page: newer wishes replace older ones, what hangs is ended."""

import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("dash")

from patience import PATIENCE, is_alive, until
from widthwise._workers import TookTooLong, WorkerDied
from widthwise.explorer.compute import Cache, Dropped, Workers, ask
from worker_calls import leave

pytestmark = pytest.mark.waits


@pytest.fixture
def workers():
    pool = Workers(1, 10 * PATIENCE)
    yield pool
    pool.close()


def test_results_and_errors_come_back(workers):
    assert workers.submit("a", divmod, 7, 2).result(PATIENCE) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        workers.submit("a", divmod, 7, 0).result(PATIENCE)


def test_a_newer_wish_replaces_an_older_one(workers):
    running = workers.submit("tab", time.sleep, 3600)
    until(lambda: workers.processes._running)
    waiting = workers.submit("tab", time.sleep, 3601)
    last = workers.submit("tab", abs, -5)
    for old in (running, waiting):
        with pytest.raises(Dropped):
            old.result(PATIENCE)
    assert last.result(PATIENCE) == 5  # in a fresh process, long before the others would have ended


def test_other_owners_are_left_alone(workers):
    first = workers.submit("one", time.sleep, 0.5)
    second = workers.submit("two", abs, -2)
    assert first.result(PATIENCE) is None and second.result(PATIENCE) == 2


def test_what_takes_too_long_is_ended():
    pool = Workers(1, 0.5)
    try:
        with pytest.raises(TookTooLong):
            pool.submit("a", time.sleep, 60).result(PATIENCE)
        assert pool.submit("a", abs, -3).result(PATIENCE) == 3
    finally:
        pool.close()


def test_four_tabs_with_long_calls_do_not_delay_a_fifth():
    pool = Workers(2, 10 * PATIENCE, n_most=6, share=5 * PATIENCE)
    try:
        long = [pool.submit((f"tab {i}", "sketch"), time.sleep, 3600) for i in range(4)]
        assert pool.submit(("tab 4", "sketch"), abs, -4).result(PATIENCE) == 4
        assert not any(call.done() for call in long)
    finally:
        pool.close()
    for call in long:
        assert isinstance(call.exception(PATIENCE), (WorkerDied, Dropped))


def test_what_goes_wrong_is_said_in_words(workers):
    cache = Cache(1)
    assert ask(workers, cache, "tab", abs, -6, blame="gamma") == 6
    assert "not be computed: bad operand" in ask(workers, cache, "tab", abs, [], blame="gamma")["gamma"]
    died = ask(workers, cache, "tab", leave, blame="gamma")
    assert died == {"gamma": "This could not be computed: the worker process ended with code 3"}
    workers.time_limit = 0.01  # of the wait, while somebody else has the worker
    workers.submit("other", time.sleep, 3600)
    until(lambda: workers.processes._running)
    assert "Too many ask at once" in ask(workers, cache, "tab", abs, -7, blame="gamma")["gamma"]


SERVER = """
import os, sys, time
from widthwise.explorer.server import Running
with Running() as running:
    explorer = running.explorer
    for workers in (explorer.quick, explorer.slow, explorer.background):
        workers.submit("tab", time.sleep, 3600)
    explorer.experiments.submit(time.sleep, 3600)
    pools = [w.processes for w in (explorer.quick, explorer.slow, explorer.background)]
    pools.append(explorer.experiments)
    while sum(len(pool._running) for pool in pools) < 4:
        time.sleep(0.05)
    print(*[pid for pool in pools for pid in pool.pids], flush=True)
    running.wait()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_busy_server_leaves_nobody_behind(name):
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        pids = list(map(int, server.stdout.readline().split()))
        assert len(pids) >= 4 and all(map(is_alive, pids))
        server.send_signal(getattr(signal, name))
        server.wait(PATIENCE)
        until(lambda: not any(map(is_alive, pids)), "a worker outlived the server")
    finally:
        server.kill()
        server.communicate()


def test_cache_keeps_what_was_used_last():
    cache = Cache(2)
    for key in "ab":
        cache.put(key, key.upper())
    cache.get("a")
    cache.put("c", "C")
    assert [cache.get(key) for key in "abc"] == ["A", None, "C"]

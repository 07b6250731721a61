"""A real Dask cluster on loopback: a worker killed, the scheduler restarted, results as on this machine."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import widthwise as ww
from patience import PATIENCE, until
from widthwise.sweeps import Sweep, open_store
from widthwise.sweeps.cluster import DaskCluster
from widthwise.sweeps.result_file import digest

pytest.importorskip("distributed")
pytestmark = pytest.mark.waits

HERE = os.path.dirname(__file__)
SWEEP = Sweep(
    ww.Problem("relu", gamma=0.6),
    10,
    [0.5, 1.5],
    20,
    [("trivial_learners:walk", {"steps": 8, "pause": 0.03})],
)


class Cluster:
    """A scheduler on a free port and workers, as processes that are ended in the end."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes = []

    def start(self, command, *options):
        path = os.pathsep.join([HERE, *sys.path])
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", command, *options],
            env={**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__WORKER__DAEMON": "True"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def scheduler(self):
        return self.start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")

    def worker(self):
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", str(PATIENCE))
        return self.start("worker", self.address, *options)

    def stop(self):
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


@pytest.fixture
def cluster():
    made = Cluster()
    try:
        yield made
    finally:
        made.stop()


def digests(folder):
    store = open_store(folder)
    return {key: digest(store.read(key)) for key in store.entries()}


@pytest.mark.slow
def test_cluster_that_loses_a_worker_and_its_scheduler(tmp_path, cluster):
    with ThreadPoolExecutor(4) as threads:
        SWEEP.run(tmp_path / "local", executor=threads, progress=False)
    scheduler, workers = cluster.scheduler(), [cluster.worker(), cluster.worker()]
    results = tmp_path / "cluster" / "results"
    reports = []
    driver = threading.Thread(
        target=lambda: reports.append(
            SWEEP.run(tmp_path / "cluster", cluster=cluster.address, progress=False)
        )
    )
    driver.start()

    def n_results():
        return len(list(results.glob("*.nc")))

    until(lambda: n_results() >= 3)
    workers[0].send_signal(signal.SIGKILL)
    n_then = n_results()
    until(lambda: n_results() >= n_then + 3)
    scheduler.send_signal(signal.SIGKILL)
    scheduler.wait()
    workers[1].kill()
    n_then = n_results()
    assert n_then < 40, "the sweep was over before the scheduler went"
    cluster.scheduler()
    cluster.worker()
    cluster.worker()
    driver.join(timeout=3 * PATIENCE)
    assert not driver.is_alive() and reports[0].n_failed == 0
    assert reports[0].n_done == 40
    assert digests(tmp_path / "cluster") == digests(tmp_path / "local")


def test_no_scheduler_is_a_sentence(monkeypatch):
    monkeypatch.setattr("widthwise.sweeps.cluster._FIRST_ANSWER", 0.5)
    with pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        DaskCluster("tcp://127.0.0.1:9")
    with pytest.raises(ConnectionError, match="not an address"):
        DaskCluster("nonsense://:::x")

"""A real Dask cluster on loopback: a worker killed, the scheduler restarted, results as on this machine."""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
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


SIMULATE = "import sys; from widthwise.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.slow
@pytest.mark.parametrize("is_over", [False, True], ids=["at once", "while it waits for another scheduler"])
def test_ctrl_c_with_a_cluster_that_is_gone_is_prompt(tmp_path, cluster, is_over):
    file, store = tmp_path / "sweep.toml", tmp_path / "store"
    file.write_text(
        'd = 10\nalpha = 0.5\nseeds = 9\n[[problem]]\nactivation = "relu"\ngamma = 0.6\n'
        f'[[learner]]\nname = "trivial_learners:walk"\nhold = "{tmp_path / "never"}"\n'
    )
    scheduler, worker = cluster.scheduler(), cluster.worker()
    driver = subprocess.Popen(
        [sys.executable, "-c", SIMULATE]
        + ["simulate", str(file), "--store", str(store), "--cluster", cluster.address],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([HERE, *sys.path])},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        until(lambda: list(store.glob("results/*.nc")) and len(list(store.glob("checkpoints/*.npz"))) == 1)
        for process in (worker, scheduler):
            process.kill()
            process.wait()
        if is_over:
            time.sleep(12.0)  # longer than a client of Dask tries to connect
        start = time.monotonic()
        driver.send_signal(signal.SIGINT)
        said = driver.communicate(timeout=PATIENCE)[1]
        seconds = time.monotonic() - start
    finally:
        driver.kill()
        driver.wait()
    assert driver.returncode == 130 and "1 result is kept" in said and "Traceback" not in said
    assert seconds < PATIENCE / 10, f"{seconds:.1f} s"
    assert len(open_store(store)) == 1


def test_no_scheduler_is_a_sentence(monkeypatch):
    monkeypatch.setattr("widthwise.sweeps.cluster._FIRST_ANSWER", 0.5)
    with pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        DaskCluster("tcp://127.0.0.1:9")
    # Whatever Dask would tell of a connection that breaks while something is written, with its traceback.
    for part in ("client", "batched", "core"):
        assert not logging.getLogger(f"distributed.{part}").isEnabledFor(logging.ERROR)
    with pytest.raises(ConnectionError, match="not an address"):
        DaskCluster("nonsense://:::x")

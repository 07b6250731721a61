"""Kill parts of running sweeps again and again, and compare what is left with a sweep that nobody disturbed.

``python tools/kill_sweeps.py -n 200 --seed 7`` kills drivers, local workers, Dask workers and schedulers, at
moments drawn over the whole life of a task: while a process starts, between its checkpoints, and while
results are written. After every kill the store may hold only whole results, equal bit for bit to those of the
undisturbed sweep; a driver may leave no worker behind; in the end nothing may be missing. Prints what was
killed and when; the exit code is 1 if anything was lost, changed or left behind.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1] / "tests"
for folder in (HERE, HERE / "sweeps"):
    sys.path.insert(0, str(folder))
import widthwise as ww  # noqa: E402
from patience import PATIENCE, is_alive, until  # noqa: E402
from widthwise.sweeps import Sweep, open_store  # noqa: E402
from widthwise.sweeps.result_file import digest  # noqa: E402
from widthwise.sweeps.store import Store  # noqa: E402

STEPS = 8
SWEEP = Sweep(
    ww.Problem("relu", gamma=0.6),
    10,
    [0.5, 1.5],
    12,
    [("trivial_learners:walk", {"steps": STEPS, "pause": 0.02})],
)
DRIVER = """
import sys
sys.path[:0] = sys.argv[3:]
from kill_sweeps import SWEEP
where = {"n_workers": 2} if sys.argv[2] == "here" else {"cluster": sys.argv[2]}
SWEEP.run(sys.argv[1], progress=False, **where)
"""


class Fault(Exception):
    """What must not happen."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=200, help="number of kills")
    parser.add_argument("--seed", type=int, default=None, help="of the moments; fresh unless given")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop killing after that time")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    rng = np.random.default_rng(seed)
    print(f"{options.n} kills, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="widthwise-kills-") as scratch, ThreadPoolExecutor(4) as threads:
        SWEEP.run(Path(scratch, "undisturbed"), executor=threads, progress=False)
        expected = digests(open_store(Path(scratch, "undisturbed")))
        counts: Counter[tuple[str, str]] = Counter()
        n_stores, start = 0, time.monotonic()
        try:
            end = start + 60 * options.minutes
            while sum(counts.values()) < options.n and time.monotonic() < end:
                n_stores += 1
                kind = Here if n_stores % 3 else OnDask
                with kind(Path(scratch, f"store{n_stores}"), rng) as round_:
                    counts += round_.run(expected, options.n - sum(counts.values()), end)
                print(f"{sum(counts.values())} kills, {n_stores} sweeps", flush=True)
        except (Fault, AssertionError) as fault:
            print(f"FAULT in store {n_stores} after {sum(counts.values())} kills in others: {fault}")
            return 1
    for (what, when), n in sorted(counts.items()):
        print(f"{n:5d}  {what}, {when}")
    print(
        f"{sum(counts.values())} kills, {n_stores} sweeps of {len(expected)} tasks finished, "
        f"all results equal bit for bit, nobody left behind ({time.monotonic() - start:.0f} s)"
    )
    return 0


class Here:
    """A sweep on local processes: its workers and its driver are killed."""

    address = "here"

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        self.store, self.rng = Store(folder), rng
        self.driver: subprocess.Popen[str] | None = None
        self.last_killed = "nobody"

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        if self.driver is not None:
            self.driver.kill()
            self.driver.wait()

    def run(self, expected: dict[str, str], n_kills: int, end: float) -> Counter[tuple[str, str]]:
        """Kill until the sweep is finished or enough is killed; then let it finish, and compare."""
        counts: Counter[tuple[str, str]] = Counter()
        while len(self.store) < len(expected) and sum(counts.values()) < n_kills and time.monotonic() < end:
            self._kill_one(counts, expected)
        self._end_driver()
        until(lambda: self._finishes(expected), "the sweep does not come to its end")
        report = SWEEP.run(self.store, progress=False)  # finds nothing to do, and tidies up
        if report.n_kept != len(expected):
            raise Fault(f"a finished sweep was not: {report}")
        if digests(self.store) != expected or self.store.verify():
            raise Fault("the finished sweep differs from the undisturbed one")
        if list(self.store.checkpoints.glob("*.npz")):
            raise Fault("checkpoints of finished tasks are left")
        return counts

    def targets(self) -> list[tuple[str, int]]:
        """What can be killed now."""
        assert self.driver is not None
        return [("local worker", pid) for pid in children(self.driver.pid)]

    def repair(self) -> None:
        """Start again what was killed, as a user would."""

    def _kill_one(self, counts: Counter[tuple[str, str]], expected: dict[str, str]) -> None:
        self.repair()
        if self.driver is None or self.driver.poll() is not None:
            self._start_driver()
        assert self.driver is not None
        driver = self.driver
        seen: set[tuple[str, int]] = set()
        patience = int(self.rng.integers(0, STEPS + 2))  # checkpoints and results to wait for
        calm = time.monotonic() + 0.3 * float(self.rng.random())  # or a moment, before there are any

        def is_time() -> bool:
            self.repair()  # workers may end some time after their scheduler
            seen.update(events(self.store))
            is_calm = time.monotonic() > calm
            return driver.poll() is not None or (is_calm and len(seen) >= len(before) + patience)

        before = events(self.store)
        seen |= before
        until(is_time, f"nothing happens after the kill of a {self.last_killed} ({type(self).__name__})")
        if driver.poll() is not None:
            if len(digests(self.store)) < len(expected) and driver.returncode == 0:
                return  # a task that was killed too often in one run is left for the next
            if driver.returncode != 0:
                raise Fault(f"the driver ended with code {driver.returncode}")
            return
        targets = [*self.targets(), ("driver", driver.pid)]
        weights = np.array([1.0] * (len(targets) - 1) + [0.3])
        what, pid = targets[int(self.rng.choice(len(targets), p=weights / weights.sum()))]
        n_results = len(list(self.store.results.glob("*.nc")))
        is_under_way = bool(list(self.store.checkpoints.glob("*.npz")))
        when = "before any result" if not n_results else f"after {n_results * 4 // len(expected)}/4 of them"
        when += ", between checkpoints" if is_under_way else ", with none under way"
        if what == "driver":
            self._end_driver()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.last_killed = what
        counts[what, when] += 1
        found = digests(self.store)
        if not found.items() <= expected.items():
            raise Fault(f"after a kill of a {what} the store holds something else")

    def _start_driver(self) -> None:
        paths = [str(HERE.parent / "tools"), str(HERE / "sweeps"), str(HERE)]
        self.driver = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(self.store.path), self.address, *paths], text=True
        )

    def _end_driver(self) -> None:
        if self.driver is None or self.driver.poll() is not None:
            return
        orphans = children(self.driver.pid)
        self.driver.kill()
        self.driver.wait()
        until(lambda: not any(map(is_alive, orphans)), "a worker outlived its driver")

    def _finishes(self, expected: dict[str, str]) -> bool:
        self.repair()
        if self.driver is None or self.driver.poll() is not None:
            if len(self.store) == len(expected):
                return True
            self._start_driver()
        assert self.driver is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.driver.wait(1.0)
        return False


class OnDask(Here):
    """A sweep on a Dask cluster of this machine: its scheduler and workers are killed too."""

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        super().__init__(folder, rng)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            process.kill()
            process.wait()

    def targets(self) -> list[tuple[str, int]]:
        found = [("Dask worker", worker.pid) for worker in self.workers if worker.poll() is None]
        if self.scheduler is not None and self.scheduler.poll() is None and self.rng.random() < 0.3:
            found.append(("Dask scheduler", self.scheduler.pid))
        return found

    def repair(self) -> None:
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.scheduler = self._dask(
                "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
            )
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", str(PATIENCE))
            self.workers.append(self._dask("worker", self.address, *options))

    def _dask(self, *command: str) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join([str(HERE / "sweeps"), str(HERE), *sys.path])
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            env={**os.environ, "PYTHONPATH": paths},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def digests(store: Store) -> dict[str, str]:
    """Digest of every result, recomputed from its numbers."""
    return {key: digest(store.read(key)) for key in store.entries()}


def events(store: Store) -> set[tuple[str, int]]:
    """Checkpoints and results that were ever written, as far as they can be seen."""
    found = set()
    for folder in (store.checkpoints, store.results):
        for path in folder.glob("*.n*"):
            with contextlib.suppress(FileNotFoundError):
                found.add((path.name, path.stat().st_mtime_ns))
    return found


def children(pid: int) -> list[int]:
    """Process ids of the children of a process; none if it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
    return found


if __name__ == "__main__":
    raise SystemExit(main())

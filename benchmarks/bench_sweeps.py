"""Sweeps against the work they cannot avoid.

- processor time of a task in a sweep (worker and driver) beyond that of its learner called in a plain loop,
  for a learner that does nothing and for one that returns a run with its trace;
- a sweep of equal tasks on two workers of one thread against one such worker;
- opening a store of 10 000 results, and the memory it takes, against reading the files one by one.
"""

import os
import resource
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

import widthwise as ww
from widthwise.sweeps import LocalProcesses, Task, open_store, run_task, run_tasks
from widthwise.sweeps.result_file import decode, encode
from widthwise.sweeps.store import Store
from widthwise.sweeps.worker import work

PROBLEM = ww.Problem("relu", gamma=0.6)
N_RESULTS = int(os.environ.get("WIDTHWISE_BENCH_RESULTS", "10000"))


def nothing(instance):
    """A learner that costs nothing."""
    return {"excess_error": 1.0}


def recorded(instance):
    """A run of a hundred records that costs nothing to make."""
    import xarray

    rng = np.random.default_rng(instance.seed)
    names = (
        "excess_error",
        "gibbs_excess_error",
        "matrix_overlap_centred",
        "acceptance",
        "energy",
        "step_size",
    )
    values = {name: (("chain", "draw"), rng.random((1, 101))) for name in names}
    values["weight_overlap"] = (("chain", "draw", "readout"), rng.random((1, 101, 4)))
    values["overlap_power"] = (("chain", "draw", "order"), rng.random((1, 101, 6)))
    coords = {"chain": [0], "draw": np.arange(101), "readout": [-1.3, -0.4, 0.4, 1.3], "order": np.arange(6)}
    return ww.learners.Run("recorded", instance, xarray.Dataset(values, coords=coords), "done")


def burn(instance, *, products=300):
    """A second or so of matrix products."""
    a = np.ones((400, 400), np.float32)
    for _ in range(products):
        a = a @ a * 0.0025
    return {"excess_error": float(a[0, 0])}


def tasks_of(name, n_tasks, **settings):
    return [
        Task(PROBLEM, 12, 1.0, seed, f"{Path(__file__).stem}:{name}", settings) for seed in range(n_tasks)
    ]


def cpu_seconds(function, items) -> float:
    """Processor time of a call, over many: what other work on the machine disturbs least."""
    function(items[0])
    start = time.process_time()
    for item in items:
        function(item)
    return (time.process_time() - start) / len(items)


def overhead(name: str, n_tasks: int = 60) -> None:
    tasks = tasks_of(name, n_tasks)
    plain = cpu_seconds(lambda task: globals()[name](task.instance), tasks)
    worker = cpu_seconds(lambda task: work(task.text, None), tasks)
    with tempfile.TemporaryDirectory() as folder, LocalProcesses(1) as processes:
        run_tasks(tasks_of(name, n_tasks + 5)[n_tasks:], folder, executor=processes, progress=False)
        before, start = time.process_time(), time.perf_counter()
        run_tasks(tasks, folder, executor=processes, progress=False)
        driver, taken = (time.process_time() - before) / n_tasks, (time.perf_counter() - start) / n_tasks
    each = 1e3 * (worker - plain + driver)
    print(
        f"overhead of a task, {name:9s} {each:6.2f} ms of processor (target 20); {1e3 * taken:.1f} ms passed"
    )


def two_workers(n_tasks: int = 12) -> None:
    times, used = {}, {}
    for n_workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder, LocalProcesses(n_workers) as processes:
            warm = tasks_of("burn", 2 * n_workers, products=1)
            run_tasks(warm, folder, executor=processes, progress=False)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            start = time.perf_counter()
            run_tasks(tasks_of("burn", n_tasks), folder, executor=processes, progress=False)
            times[n_workers] = time.perf_counter() - start
            used[n_workers] = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    load = os.getloadavg()[0]
    print(
        f"two workers over one: {times[1] / times[2]:.2f} x (target 1.8) with a load of {load:.1f} on "
        f"{os.cpu_count()} cores; the driver used {100 * used[2] / times[2]:.1f} % of a core"
    )


def fill(store: Store, n_results: int) -> None:
    """Results that differ in their description only: the bytes of one, with another in its place."""

    def task(i):
        return Task(
            PROBLEM, 10 + i // 1000, 0.5 + i // 100 % 10, 100 + i % 100, tasks_of("recorded", 1)[0].learner
        )

    result = run_task(task(0))
    image, first = encode(result), result.task
    for i in range(n_results):
        result.task = task(i)
        changed = image.replace(first.text.encode(), result.task.text.encode())
        store.write(result, changed.replace(first.key.encode(), result.task.key.encode()))


def opening(n_results: int = N_RESULTS) -> None:
    real, os.fsync = os.fsync, lambda handle: None  # ten thousand of them are not what is measured
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(folder)
            store.prepare()
            fill(store, n_results)
            files = sorted(store.results.glob("*.nc"))
            size = sum(path.stat().st_size for path in files) / 2**20
            before, start = time.process_time(), time.perf_counter()
            table = open_store(folder).dataset()
            taken, used = time.perf_counter() - start, time.process_time() - before
            assert table["excess_error"].size == n_results
            start = time.perf_counter()
            for path in files[:100]:
                decode(path)
            plain = (time.perf_counter() - start) * n_results / 100
            said = f"{taken:.2f} s (target 3), {used:.2f} s of processor"
            print(f"opening {n_results} results ({size:.0f} MB): {said}")
            print(f"... against file by file: {plain / taken:.0f} x faster")
            tracemalloc.start()
            open_store(folder).dataset(["excess_error"])
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            print(f"memory to read one quantity of all: {peak:.0f} MB at most, of {size:.0f} MB on disk")
    finally:
        os.fsync = real


def main() -> None:
    overhead("nothing")
    overhead("recorded")
    two_workers()
    opening()


if __name__ == "__main__":
    main()

"""What a sweep survives: killed drivers and workers, full disks, Ctrl-C, two drivers at once."""

import contextlib
import errno
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

import widthwise as ww
from patience import PATIENCE, is_alive, until
from widthwise.sweeps import LocalProcesses, StoreError, Sweep, Task, open_store, run_tasks
from widthwise.sweeps.result_file import digest
from widthwise.sweeps.store import Store

pytestmark = pytest.mark.waits
PROBLEM = ww.Problem("relu", gamma=0.6)
WALK = "trivial_learners:walk"
HERE = os.path.dirname(__file__)

DRIVER = """
import sys
sys.path.insert(0, sys.argv[1])
from widthwise.sweeps import Sweep
Sweep.from_toml(sys.argv[2]).run(sys.argv[3], n_workers=2)
print("finished", flush=True)
"""


def sweep_file(folder, *, seeds=8, steps=6, pause=0.03):
    path = folder / "sweep.toml"
    path.write_text(
        f'd = 10\nalpha = [0.5, 1.5]\nseeds = {seeds}\n[[problem]]\nactivation = "relu"\ngamma = 0.6\n'
        f'[[learner]]\nname = "{WALK}"\nsteps = {steps}\npause = {pause}\n'
    )
    return path


def driver(path, store, **options):
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, HERE, str(path), str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def children(pid):
    """Process ids of the children of a process; none if it is gone."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
    return found


def _modified(path):
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return None


def digests(store):
    return {key: digest(store.read(key)) for key in store.entries()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The sweep run in one go, and its file."""
    folder = tmp_path_factory.mktemp("undisturbed")
    sweep = Sweep.from_toml(sweep_file(folder))
    with ThreadPoolExecutor(4) as threads:
        sweep.run(folder / "store", executor=threads, progress=False)
    return sweep, digests(open_store(folder / "store"))


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc to find the workers")
def test_killed_at_random_again_and_again(tmp_path, undisturbed):
    """Whatever is killed, the store holds results as they must be, and nothing else."""
    sweep, expected = undisturbed
    path, rng, store = sweep_file(tmp_path), np.random.default_rng(5), Store(tmp_path / "store")
    n_driver = n_worker = 0
    while n_driver < 6 and len(store) < len(expected):
        process = driver(path, store.path)
        seen, orphans, n_kills = set(), [], 0
        # Steps are counted, not seconds: the next kill comes when some more checkpoints or results are there.
        while process.poll() is None and n_kills < 4:
            wanted = len(seen) + int(rng.integers(0, 12))

            def is_time(process=process, seen=seen, wanted=wanted):
                folders = (store.checkpoints, store.results)
                seen |= {(p.name, _modified(p)) for folder in folders for p in folder.glob("*")}
                return (len(seen) >= wanted and children(process.pid)) or process.poll() is not None

            found = until(is_time)
            if found is True:  # it has ended by itself
                break
            orphans = found
            if n_kills < 3:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(rng.choice(orphans)), signal.SIGKILL)
                    n_worker += 1
            n_kills += 1
        if process.poll() is None:
            orphans = children(process.pid)
            process.kill()
            n_driver += 1
        process.communicate()
        until(lambda orphans=orphans: not any(map(is_alive, orphans)), "a worker outlived its driver")
        assert digests(store).items() <= expected.items()
    report = sweep.run(store, progress=False)
    assert report.n_failed == 0 and n_worker >= 6
    assert digests(store) == expected and store.verify() == {}
    assert not list(store.checkpoints.glob("*.npz"))


@pytest.mark.slow
def test_killed_chain_goes_on_from_its_checkpoint_to_the_same_end(tmp_path):
    """HMC with a checkpoint after every record, its worker killed in the middle."""
    settings = {"iterations": 2400, "record_every": 30, "n_warmup": 100}
    task = Task(PROBLEM, 14, 1.0, 3, "trivial_learners:saving_hmc", settings)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with LocalProcesses(1) as processes:
        run_tasks([task], whole, executor=processes, progress=False)
        checkpoint = broken / "checkpoints" / f"{task.key}.npz"
        n_killed = 0

        def kill_once_saved():
            nonlocal n_killed
            while n_killed < 1:
                time.sleep(0.002)
                if checkpoint.exists():
                    os.kill(processes.pids[0], signal.SIGKILL)
                    n_killed += 1

        killer = threading.Thread(target=kill_once_saved, daemon=True)
        killer.start()
        report = run_tasks([task], broken, executor=processes, progress=False)
    assert report.n_done == 1 and n_killed == 1
    assert digests(open_store(whole)) == digests(open_store(broken))


@pytest.mark.slow
def test_killed_task_is_tried_again_then_left_without_a_record(tmp_path, monkeypatch):
    """A kill says nothing about a task: nothing is stored, and the same command tries it again."""
    monkeypatch.setattr("widthwise.sweeps.driver._MAX_DEATHS", 2)
    killed = Task(PROBLEM, 10, 1.0, 0, "trivial_learners:dies", {"log": str(tmp_path / "log")})
    tasks = [killed, *[Task(PROBLEM, 10, 1.0, s, WALK) for s in range(4)]]
    report = run_tasks(tasks, tmp_path / "store", n_workers=2, progress=False)
    assert report.n_done == 4 and list(report.failures) == [str(killed)]
    assert "by SIGKILL (2 times); nothing is recorded" in report.failures[str(killed)]
    assert killed not in open_store(tmp_path / "store")
    again = run_tasks(tasks, tmp_path / "store", n_workers=1, progress=False)
    assert (again.n_kept, again.n_done, again.n_failed) == (4, 0, 1)
    assert len((tmp_path / "log").read_text()) == 4


@pytest.mark.slow
def test_task_that_crashes_or_takes_all_memory_is_recorded_as_failed(tmp_path, monkeypatch):
    monkeypatch.setattr("widthwise.sweeps.driver._MAX_DEATHS", 1)
    crashing = Task(PROBLEM, 10, 1.0, 0, "trivial_learners:crashes")
    report = run_tasks([crashing], tmp_path, n_workers=1, progress=False)
    assert "SIGABRT" in report.failures[str(crashing)]
    assert open_store(tmp_path).read(crashing).status == "failed"
    # The system's count of those it ended for want of memory goes up whenever it is asked.
    count = itertools.count()
    monkeypatch.setattr("widthwise._workers._n_starved_of_memory", lambda: next(count))
    hungry = Task(PROBLEM, 10, 1.0, 0, "trivial_learners:dies", {"log": str(tmp_path / "log")})
    others = [Task(PROBLEM, 10, 1.0, s, WALK, {"log": str(tmp_path / "log")}) for s in range(3)]
    report = run_tasks([hungry, *others], tmp_path, n_workers=2, progress=False)
    assert report.n_done == 3 and "memory of this machine ran out" in report.failures[str(hungry)]
    assert open_store(tmp_path).read(hungry).status == "failed"
    assert (tmp_path / "log").read_text().count("x") == 2  # once beside others, once alone


def test_failed_task_is_retried_only_on_request(tmp_path):
    flag = tmp_path / "flag"
    task = Task(PROBLEM, 10, 1.0, 0, "trivial_learners:raises_once", {"flag": str(flag)})
    with ThreadPoolExecutor(1) as threads:
        first = run_tasks([task], tmp_path / "store", executor=threads, progress=False)
        assert first.failures == {str(task): "RuntimeError: only the first time"}
        again = run_tasks([task], tmp_path / "store", executor=threads, progress=False)
        assert again.n_done == 0 and again.failures == first.failures
        store = open_store(tmp_path / "store")
        assert "raises_once" in store.read(task).details
        assert store.summary()["n_failed"].iloc[0] == 1
        last = run_tasks([task], tmp_path / "store", executor=threads, progress=False, retry_failed=True)
    assert last.n_done == 1 and not last.failures
    assert store.read(task).status == "done"


@pytest.mark.slow
def test_two_drivers_share_one_store(tmp_path, undisturbed):
    _, expected = undisturbed
    log = tmp_path / "log"
    path = sweep_file(tmp_path, steps=2, pause=0.05)
    path.write_text(path.read_text() + f'log = "{log}"\n')
    drivers = [driver(path, tmp_path / "store") for _ in range(2)]
    ends = [process.communicate(timeout=PATIENCE) for process in drivers]
    assert all("finished" in out for out, _ in ends), ends
    assert len(open_store(tmp_path / "store")) == len(expected)
    # Nothing is done twice: two steps for each of 8 seeds and 2 alphas.
    assert len(log.read_text().splitlines()) == 2 * 16


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_disk_that_refuses_stops_with_a_sentence(tmp_path, monkeypatch, number):
    tasks = [Task(PROBLEM, 10, 1.0, s, WALK) for s in range(4)]
    real, n_synced = os.fsync, 0

    def refuse_the_third(handle):
        nonlocal n_synced
        n_synced += 1
        if n_synced > 4:  # a file and its folder for each of two results
            raise OSError(number, os.strerror(number))
        real(handle)

    monkeypatch.setattr(os, "fsync", refuse_the_third)
    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(StoreError, match="cannot be written: .*the same command goes on"):
            run_tasks(tasks, tmp_path, executor=threads, progress=False)
        monkeypatch.undo()
        assert len(open_store(tmp_path)) == 2 and not list((tmp_path / "results").glob("*.part"))
        report = run_tasks(tasks, tmp_path, executor=threads, progress=False)
    assert (report.n_kept, report.n_done) == (2, 2)


def test_checkpoint_that_does_not_fit_is_no_fault_of_the_task(tmp_path):
    task = Task(PROBLEM, 10, 1.0, 0, "trivial_learners:finds_disk_full")
    with ThreadPoolExecutor(1) as threads, pytest.raises(StoreError, match="its disk is full"):
        run_tasks([task], tmp_path, executor=threads, progress=False)
    assert len(open_store(tmp_path)) == 0


@contextlib.contextmanager
def small_disk(folder, size="200k"):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("may not mount a small disk here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to mount a small disk")
def test_full_and_read_only_disk(tmp_path):
    tasks = [Task(PROBLEM, 10, 1.0, s, WALK) for s in range(40)]
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk), ThreadPoolExecutor(1) as threads:
        with pytest.raises(StoreError, match="its disk is full"):
            run_tasks(tasks, disk, executor=threads, progress=False)
        n_kept = len(open_store(disk))
        assert 0 < n_kept < 40 and open_store(disk).verify() == {}
        subprocess.run(["mount", "-o", "remount,size=2m", str(disk)], check=True)
        report = run_tasks(tasks[:-1], disk, executor=threads, progress=False)
        assert report.n_kept == n_kept and report.n_done == 39 - n_kept
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(StoreError, match="its disk is read-only"):
            run_tasks(tasks, disk, executor=threads, progress=False)
        assert len(open_store(disk).dataset()["seed"]) == 39  # reading needs no writing


def test_ctrl_c_keeps_what_is_done(tmp_path):
    path, hold = sweep_file(tmp_path, seeds=6, steps=4, pause=0.0), tmp_path / "hold"
    path.write_text(path.read_text() + f'hold = "{hold}"\n')
    process = driver(path, tmp_path / "store")
    store = Store(tmp_path / "store")
    held = {task.key for task in Sweep.from_toml(path).tasks() if task.seed > 0}

    def is_under_way():
        # Checkpoints of tasks that wait, not of those whose result was just written.
        n_saved = len(held & {file.stem for file in store.checkpoints.glob("*.npz")})
        return n_saved == 2 and len(list((tmp_path / "store" / "results").glob("*.nc"))) >= 1

    until(lambda: is_under_way() or process.poll() is not None)  # both workers wait in the middle of a task
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    store = open_store(tmp_path / "store")
    assert 1 <= len(store) < 12 and store.verify() == {}
    assert len(list(store.checkpoints.glob("*.npz"))) == 2, "running tasks left no checkpoint"
    hold.touch()
    report = Sweep.from_toml(path).run(store, progress=False)
    assert report.n_kept + report.n_done == 12 and report.n_kept >= 1


def archive(**arrays):
    image = io.BytesIO()
    np.savez(image, **arrays)
    return image.getvalue()


@pytest.mark.parametrize("learner", [WALK, "hmc"])
@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04 torn", b"", b"text", archive(other=np.ones(3)), archive(fingerprint=np.array("another"))],
    ids=["torn", "empty", "text", "without fingerprint", "of another run"],
)
def test_checkpoint_of_anything_is_set_aside_and_the_task_started_again(tmp_path, learner, content):
    settings = {"iterations": 3} if learner == "hmc" else {}
    task = Task(PROBLEM, 6, 1.0, 0, learner, settings)
    store = Store(tmp_path)
    store.prepare()
    checkpoint = store.checkpoints / f"{task.key}.npz"
    checkpoint.write_bytes(content)
    with ThreadPoolExecutor(1) as threads:
        assert run_tasks([task], store, executor=threads, progress=False).n_done == 1
    assert checkpoint.with_name(f"{checkpoint.name}.damaged").read_bytes() == content
    assert not checkpoint.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("learner", [WALK, "hmc"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "endless"])
def test_checkpoint_that_is_no_file_is_set_aside_too(tmp_path, learner, kind):
    task = Task(PROBLEM, 6, 1.0, 0, learner, {"iterations": 3} if learner == "hmc" else {})
    store = Store(tmp_path)
    store.prepare()
    checkpoint = store.checkpoints / f"{task.key}.npz"
    before = checkpoint.with_name(f"{checkpoint.name}.damaged")
    before.write_text("of an earlier time")
    if kind == "pipe":
        os.mkfifo(checkpoint)
    elif kind == "folder":
        checkpoint.mkdir()
    else:
        checkpoint.symlink_to({"link": "nowhere", "endless": "/dev/zero"}[kind])
    with ThreadPoolExecutor(1) as threads:
        assert run_tasks([task], store, executor=threads, progress=False).n_done == 1
    assert os.path.lexists(checkpoint.with_name(f"{checkpoint.name}.damaged1")) and not checkpoint.exists()
    assert before.read_text() == "of an earlier time"


def test_ctrl_c_is_repeated_for_a_worker_that_was_just_about_to_begin(tmp_path, monkeypatch):
    """The first one is lost, as where a call has been sent and has not begun."""
    calls, interrupt = [], LocalProcesses.interrupt

    def lost_at_first(processes):
        calls.append(len(calls))
        if len(calls) > 1:
            interrupt(processes)

    def press(result, report):
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalProcesses, "interrupt", lost_at_first)
    sweep = Sweep(PROBLEM, 10, 1.0, 3, [(WALK, {"steps": 2, "hold": str(tmp_path / "never")})])
    monkeypatch.setenv("PYTHONPATH", HERE)
    with LocalProcesses(1) as processes, pytest.raises(KeyboardInterrupt, match="1 result is kept"):
        run_tasks(sweep.tasks(), tmp_path / "store", executor=processes, progress=press)
    assert len(calls) >= 2 and len(open_store(tmp_path / "store")) == 1


def test_ctrl_c_does_not_wait_for_workers_that_will_never_answer(tmp_path, monkeypatch):
    """As a cluster whose workers are gone: futures that run for ever."""

    class Gone(Executor):
        n_workers = 2

        def submit(self, fn, /, *args, **kwargs):
            future = Future()
            future.set_running_or_notify_cancel()
            return future

    waits = []

    def waited(futures, timeout=None, return_when=None):
        waits.append(timeout)
        if return_when is not None:
            raise KeyboardInterrupt
        return set(), set(futures)

    monkeypatch.setattr("widthwise.sweeps.driver.wait", waited)
    with pytest.raises(KeyboardInterrupt, match="0 results are kept"):
        run_tasks([Task(PROBLEM, 10, 1.0, 0, WALK)], tmp_path, executor=Gone(), progress=False)
    assert waits[-1] <= 2.0


def test_a_checkpoint_that_a_killed_driver_left_behind_is_removed(tmp_path):
    """Killed after the result was written and before its checkpoint was removed."""
    tasks = [Task(PROBLEM, 10, 1.0, s, WALK) for s in range(2)]
    with ThreadPoolExecutor(1) as threads:
        run_tasks(tasks[:1], tmp_path, executor=threads, progress=False)
        left = tmp_path / "checkpoints" / f"{tasks[0].key}.npz"
        left.write_bytes(archive(position=1.0, done=3))
        assert run_tasks(tasks[:1], tmp_path, executor=threads, progress=False).n_kept == 1
    assert not left.exists()

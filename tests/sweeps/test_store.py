"""The store: tables, care, damage, versions, locks."""

import json
import math
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import widthwise as ww
from widthwise.sweeps import StoreError, Sweep, Task, open_store, run_task
from widthwise.sweeps.result_file import FORMAT, decode, encode
from widthwise.sweeps.store import Store
from widthwise.sweeps.store_index import _mark

DATA = Path(__file__).parents[1] / "data"
PROBLEMS = [ww.Problem("relu", gamma=0.6), ww.Problem("relu", gamma=0.6, readouts="four-point")]
WALK, PRINTS = "trivial_learners:walk", "trivial_learners:prints"


def filled(folder, tasks):
    store = Store(folder)
    store.prepare()
    for task in tasks:
        store.write(run_task(task))
    return store


def rerun(sweep, folder):
    with ThreadPoolExecutor(1) as threads:
        return sweep.run(folder, executor=threads, progress=False)


def tasks_of(**change):
    options = {"problems": PROBLEMS[:1], "d": [10, 12], "alpha": [0.5, 1.5], "seeds": 3, "learners": [WALK]}
    return Sweep(**{**options, **change}).tasks()


def test_dataset_has_the_axes_and_nan_for_what_is_missing(tmp_path):
    tasks = tasks_of(learners=[(WALK, {"steps": 2}), (WALK, {"steps": 3}), PRINTS], seeds=[0, 4])
    store = filled(tmp_path, tasks[:-1])
    table = store.dataset()
    assert table["excess_error"].dims == ("learner", "d", "alpha", "seed")
    labels = [PRINTS, f"{WALK}(steps=2)", f"{WALK}(steps=3)"]
    assert list(table["learner"].values) == labels
    assert list(table["seed"].values) == [0, 4] and list(table["alpha"].values) == [0.5, 1.5]
    place = {"learner": labels[1], "d": 12, "alpha": 0.5, "seed": 4}
    expected = run_task(next(t for t in tasks if (t.d, t.alpha, t.seed) == (12, 0.5, 4)))
    assert float(table["excess_error"].sel(place)) == expected.scalar("excess_error")
    last = {"learner": PRINTS, "d": 12, "alpha": 1.5, "seed": 4}
    assert math.isnan(table["excess_error"].sel(last)) and table["status"].sel(last) == "missing"
    assert int(np.isnan(table["excess_error"]).sum()) == 1
    assert list(store.dataset(["excess_error"]).data_vars) == ["excess_error", "status"]
    with pytest.raises(KeyError, match="no result has 'exces_error'"):
        store.dataset(["exces_error"])


def test_several_problems_are_an_axis(tmp_path):
    store = filled(tmp_path, tasks_of(problems=PROBLEMS, learners=["gamp_rie"], d=10, alpha=[1.0], seeds=1))
    table = store.dataset()
    assert list(table["problem"].values) == ["readouts=four-point", "readouts=homogeneous"]
    assert table["weight_overlap"].sizes["readout"] == 4
    # One readout value there, four here: the shorter is padded.
    np.testing.assert_array_equal(
        np.isfinite(table["readout_values"].values.reshape(2, 4)).sum(axis=1), [4, 1]
    )


def test_summary_is_the_mean_with_its_standard_error(tmp_path):
    tasks = tasks_of(seeds=5)
    store = filled(tmp_path, tasks)
    row = store.summary().query("d == 12 and alpha == 1.5").iloc[0]
    values = [run_task(t).scalar("excess_error") for t in tasks if (t.d, t.alpha) == (12, 1.5)]
    assert row["n_seeds"] == 5 and row["excess_error"] == pytest.approx(np.mean(values), rel=1e-14)
    assert row["excess_error_standard_error"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))
    frame = store.to_dataframe()
    assert len(frame) == 20 and set(frame["activation"]) == {"relu"} and set(frame["gamma"]) == {"0.6"}


def test_index_is_only_a_shortcut(tmp_path):
    tasks = tasks_of()
    filled(tmp_path, tasks)
    before = open_store(tmp_path).to_dataframe()
    index = tmp_path / "index.jsonl"
    lines = index.read_text().splitlines()
    index.write_text("\n".join([*lines[: len(lines) // 2], '{"key": "torn', "", "not json"]))
    assert open_store(tmp_path).to_dataframe().equals(before)
    index.unlink()
    assert open_store(tmp_path).to_dataframe().equals(before)
    # The line of a file that was replaced does not count.
    other = run_task(tasks[0])
    other.values["excess_error"] = ((), np.array(7.0))
    (tmp_path / "results" / f"{tasks[0].key}.nc").write_bytes(encode(other))
    assert open_store(tmp_path).entries()[tasks[0].key].values["excess_error"] == 7.0


def test_what_another_process_adds_is_seen(tmp_path):
    tasks = tasks_of()
    reader = filled(tmp_path, tasks[:2])
    assert len(reader) == 2
    filled(tmp_path, tasks[2:3])
    assert len(reader) == 3 and tasks[2] in reader and tasks[3] not in reader


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "foreign", "renamed"])
def test_damage_is_found_and_repaired(tmp_path, damage):
    tasks = tasks_of(d=10, alpha=1.5)
    sweep = Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK])
    store = filled(tmp_path, tasks)
    path = tmp_path / "results" / f"{tasks[1].key}.nc"
    image = path.read_bytes()
    times = os.stat(path)
    at = image.index(np.float64(run_task(tasks[1]).scalar("excess_error")).tobytes())
    if damage == "flipped":
        path.write_bytes(image[:at] + bytes([image[at] ^ 1]) + image[at + 1 :])
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # nothing to see from outside
    else:
        shutil.copy(tmp_path / "results" / f"{tasks[0].key}.nc", path)
        content = {"truncated": image[:700], "empty": b"", "foreign": b"x" * 3000}
        if damage in content:
            path.write_bytes(content[damage])
    wrong = store.verify()
    assert list(wrong) == [path.name] and wrong[path.name]
    report = rerun(sweep, tmp_path)
    assert (report.n_done, report.n_kept) == (1, 2)
    assert store.verify() == {}
    assert store.read(tasks[1]).scalar("excess_error") == run_task(tasks[1]).scalar("excess_error")


def test_truncated_file_is_run_again_without_verify(tmp_path):
    tasks = tasks_of(d=10, alpha=1.5)
    store = filled(tmp_path, tasks)
    path = tmp_path / "results" / f"{tasks[1].key}.nc"
    path.write_bytes(path.read_bytes()[:700])
    assert list(open_store(tmp_path).damaged) == [path.name]
    with pytest.raises(StoreError, match="damaged.*run its sweep again"):
        store.read(tasks[1])
    report = rerun(Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK]), tmp_path)
    assert report.n_done == 1 and store.verify() == {}


def test_a_file_cut_off_anywhere_is_damage(tmp_path):
    """Also right behind its signature, and one byte before its end."""
    tasks = tasks_of(d=10, alpha=1.5)
    filled(tmp_path, tasks)
    path = tmp_path / "results" / f"{tasks[1].key}.nc"
    image = path.read_bytes()
    for size in sorted({1, 7, 8, 9, 96, 512, len(image) - 1, *range(11, len(image), len(image) // 20)}):
        path.write_bytes(image[:size])
        store = open_store(tmp_path)
        assert list(store.damaged) == [path.name] and len(store) == 2, size


@pytest.mark.parametrize("moment", [0, 2**62], ids=["1970", "2116"])
def test_clocks_that_are_wrong_do_not_matter(tmp_path, moment):
    tasks = tasks_of(d=10, alpha=1.5)
    filled(tmp_path, tasks[:2])
    for path in (tmp_path / "results").iterdir():
        os.utime(path, ns=(moment, moment))
    report = rerun(Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK]), tmp_path)
    assert (report.n_kept, report.n_done) == (2, 1) and open_store(tmp_path).verify() == {}


def test_prune_removes_only_what_is_left_over(tmp_path):
    tasks = tasks_of(d=10)
    store = filled(tmp_path, [*tasks, Task(PROBLEMS[0], 10, 1.0, 0, "trivial_learners:raises")])
    (tmp_path / "results" / "x.nc.123.part").touch()
    (tmp_path / "results" / "x.nc.damaged").touch()
    (tmp_path / "checkpoints" / f"{tasks[0].key}.npz").touch()
    unfinished = tmp_path / "checkpoints" / f"{'0' * 32}.npz"
    unfinished.touch()
    assert len(store.prune()) == 3 and unfinished.exists() and len(store) == 7
    assert len(store.prune(failed=True)) == 1 and len(store) == 6
    assert len(store.prune(keep=tasks[:2])) == 5 and len(store) == 2 and not unfinished.exists()
    assert len((tmp_path / "index.jsonl").read_text().splitlines()) == 2


@pytest.mark.waits
def test_claims_are_for_one_process_and_end_with_it(tmp_path):
    import subprocess
    import sys

    store = filled(tmp_path, [])
    keys = [task.key for task in tasks_of()][:2]
    code = (
        "import sys; from widthwise.sweeps.store import Store; s = Store(sys.argv[1]); "
        "print(*[s.claim(k) for k in sys.argv[2:]], flush=True); sys.stdin.read()"
    )
    assert store.claim(keys[0])
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), *keys], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout.readline().split() == [b"False", b"True"]
    assert not store.claim(keys[1])
    other.kill()
    other.wait()
    assert store.claim(keys[1])


def test_old_file_opens(tmp_path):
    """A file of format 1, made once and never again."""
    (tmp_path / "results").mkdir()
    key = decode(DATA / "result_format_1.nc").task.key
    shutil.copy(DATA / "result_format_1.nc", tmp_path / "results" / f"{key}.nc")
    store = open_store(tmp_path)
    (entry,) = store.entries().values()
    assert entry.status == "done" and entry.task.learner == "gamp_rie" and entry.task.d == 12
    assert entry.values["excess_error"] == pytest.approx(0.04521635201411793, rel=1e-12)
    assert store.verify() == {} and store.trace(entry.key).sizes["draw"] > 3


def test_file_of_a_later_version_is_refused_and_never_touched(tmp_path):
    import h5py

    tasks = tasks_of(d=10, alpha=1.5)
    store = filled(tmp_path, tasks)
    path = tmp_path / "results" / f"{tasks[0].key}.nc"
    with h5py.File(path, "a") as file:
        file.attrs["format"] = FORMAT + 1
    image = path.read_bytes()
    assert f"reads formats up to {FORMAT}" in next(iter(open_store(tmp_path).damaged.values()))
    with pytest.raises(StoreError, match="install a newer one"):
        store.read(tasks[0])
    with pytest.raises(StoreError, match="kept as it is: written in format"):
        store.write(run_task(tasks[0]))
    assert list(store.verify()) == [path.name]
    report = rerun(Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK]), tmp_path)
    assert (report.n_kept, report.n_done, report.n_failed) == (2, 0, 1)
    assert "install a newer one" in report.failures[str(tasks[0])]
    assert path.read_bytes() == image and not list(path.parent.glob("*.part"))


def test_a_result_under_another_name_is_not_finished(tmp_path):
    tasks = tasks_of(d=10, alpha=1.5)
    store = filled(tmp_path, tasks[:2])
    first, third = (tmp_path / "results" / f"{task.key}.nc" for task in (tasks[0], tasks[2]))
    shutil.copy(first, third)
    assert tasks[2] not in open_store(tmp_path)
    assert tasks[0].key in open_store(tmp_path).damaged[third.name]
    report = rerun(Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK]), tmp_path)
    assert (report.n_kept, report.n_done) == (2, 1) and store.verify() == {}
    assert third.with_name(third.name + ".damaged").read_bytes() == first.read_bytes()  # kept


def test_an_edited_index_is_not_believed(tmp_path):
    tasks = tasks_of(d=10, alpha=1.5)
    filled(tmp_path, tasks)
    truth = open_store(tmp_path).to_dataframe()
    index = tmp_path / "index.jsonl"
    lines = index.read_text().split("\n")
    number = next(i for i, line in enumerate(lines) if tasks[1].key in line)
    value = open_store(tmp_path).entries()[tasks[1].key].values["excess_error"]
    lines[number] = lines[number].replace(f'"excess_error":{value!r}', '"excess_error":123.0')
    assert "123.0" in lines[number]
    index.write_text("\n".join(lines))
    assert open_store(tmp_path).to_dataframe().equals(truth)
    # One that is signed as if it had been written is shown, but found.
    text = lines[number].split(" ", 1)[1]
    lines[number] = f"{_mark(text)} {text}"
    index.write_text("\n".join(lines))
    store = open_store(tmp_path)
    assert store.entries()[tasks[1].key].values["excess_error"] == 123.0
    wrong = store.verify()
    assert list(wrong) == ["index.jsonl"] and tasks[1].key in wrong["index.jsonl"]
    assert store.verify() == {} and open_store(tmp_path).to_dataframe().equals(truth)


def test_what_a_learner_has_just_written_is_whole(tmp_path):
    """Also in the index, which lists values in the order of the learner and not of the file."""
    filled(tmp_path, tasks_of(d=10, alpha=1.5, learners=["gamp_rie"]))
    assert open_store(tmp_path).verify() == {}


@pytest.mark.parametrize("line", ["null", "[]", "7", '{"key": 3}', "{" * 5000, '"', "\x00\xff", "NaN"])
def test_an_index_of_anything_is_made_again(tmp_path, line):
    tasks = tasks_of(d=10, alpha=1.5)
    filled(tmp_path, tasks)
    (tmp_path / "index.jsonl").write_text(f"{line}\n{_mark(line)} {line}\n")
    assert len(open_store(tmp_path)) == 3 and open_store(tmp_path).verify() == {}


@pytest.mark.parametrize(
    "change",
    [
        {"key": ["x"]},
        {"key": None},
        {"description": "{}"},
        {"description": 3},
        {"status": "perhaps"},
        {"error": []},
        {"seconds": "long"},
        {"values": [1]},
        {"dims": "none"},
    ],
    ids=str,
)
def test_lines_that_are_signed_but_of_other_types_are_no_lines(tmp_path, change):
    tasks = tasks_of(d=10, alpha=1.5)
    filled(tmp_path, tasks)
    truth, index = open_store(tmp_path).to_dataframe(), tmp_path / "index.jsonl"
    texts = [line.split(" ", 1)[1] for line in index.read_text().splitlines() if line]
    changed = [json.dumps(json.loads(text) | change) for text in texts]
    index.write_text("".join(f"{_mark(text)} {text}\n" for text in changed))
    assert open_store(tmp_path).to_dataframe().equals(truth) and open_store(tmp_path).verify() == {}


def _make(kind, path):
    """Something that is no file."""
    {
        "link": lambda: path.symlink_to("nowhere"),
        "loop": lambda: path.symlink_to(path.name),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "endless": lambda: path.symlink_to("/dev/zero"),
    }[kind]()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("kind", ["loop", "pipe", "folder", "endless"])
def test_what_is_no_index_is_named_kept_and_replaced(tmp_path, kind):
    tasks = tasks_of(d=10, alpha=1.5)
    store = filled(tmp_path, tasks[:2])
    index, aside = tmp_path / "index.jsonl", tmp_path / "index.jsonl.damaged"
    index.unlink()
    _make(kind, index)
    assert len(open_store(tmp_path)) == 2 and not aside.exists()
    assert list(store.verify(set_aside=False)) == ["index.jsonl"]
    report = rerun(Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK]), tmp_path)
    assert (report.n_kept, report.n_done) == (2, 1) and index.is_file()
    assert os.path.lexists(aside) and open_store(tmp_path).verify() == {}
    assert open_store(tmp_path).prune() == [aside.name] and len(open_store(tmp_path)) == 3


def test_prune_keeps_what_is_in_folders(tmp_path):
    store = filled(tmp_path, tasks_of(d=10, alpha=1.5))
    empty, full = (tmp_path / "results" / f"{name}.nc.damaged" for name in ("empty", "full"))
    empty.mkdir()
    full.mkdir()
    (full / "precious").touch()
    assert store.prune() == [str(empty.relative_to(tmp_path))] and (full / "precious").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "loop", "endless"])
def test_what_is_no_file_is_named_and_kept(tmp_path, kind):
    tasks = tasks_of(d=10, alpha=1.5)
    store = filled(tmp_path, tasks[:2])
    path = tmp_path / "results" / f"{tasks[2].key}.nc"
    _make(kind, path)
    assert list(open_store(tmp_path).damaged) == [path.name]
    assert list(store.verify(set_aside=False)) == [path.name]
    with pytest.raises(StoreError, match="is damaged"):
        store.read(tasks[2])
    report = rerun(Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK]), tmp_path)
    assert (report.n_kept, report.n_done) == (2, 1) and store.verify() == {}
    assert os.path.lexists(path.with_name(path.name + ".damaged"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", "one"),
        ("format", [1, 1]),
        ("description", "not json"),
        ("description", "[]"),
        ("description", 3.0),
        ("status", "perhaps"),
        ("status", 1),
        ("error", [1.0, 2.0]),
        ("error", "edited"),
        ("timings", "[]"),
        ("timings", '{"seconds": "long"}'),
        ("warnings", "{}"),
        ("version", 0.1),
        ("digest", 5),
    ],
)
def test_attributes_of_any_kind_are_damage_and_no_traceback(tmp_path, name, value):
    import h5py

    tasks = tasks_of(d=10, alpha=1.5)
    store = filled(tmp_path, tasks)
    path = tmp_path / "results" / f"{tasks[0].key}.nc"
    with h5py.File(path, "a") as file:
        file.attrs[name] = value
    assert list(open_store(tmp_path).damaged) == [path.name]
    assert len(open_store(tmp_path).to_dataframe()) == 2
    assert list(store.verify()) == [path.name] and not path.exists()


def test_numbers_that_were_never_written_are_damage(tmp_path):
    import h5py

    tasks = tasks_of(d=10, alpha=1.5)
    store = filled(tmp_path, tasks)
    paths = [tmp_path / "results" / f"{task.key}.nc" for task in tasks]
    with h5py.File(paths[0], "a") as file:
        file.create_dataset("endless", shape=(10**12,), dtype="f8", chunks=(1000,))
    with h5py.File(paths[1], "a") as file:
        file["elsewhere"] = h5py.ExternalLink(str(paths[2]), "excess_error")
    wrong = store.verify()
    assert "never written" in wrong[paths[0].name] and "not in this file" in wrong[paths[1].name]
    assert len(wrong) == 2


def test_place_that_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        open_store(tmp_path / "absent")
    (tmp_path / "file.txt").touch()
    with pytest.raises(StoreError, match="is not a store"):
        open_store(tmp_path)
    with pytest.raises(KeyError, match="0 results have a key"):
        Store(tmp_path).read("abc")
    with pytest.raises(StoreError, match="there is no store 'xxx"):
        open_store("x" * 300)
    with pytest.raises(StoreError, match="NUL"):
        Store("a\0b")


@pytest.mark.parametrize("place", ["", "results", "checkpoints"])
def test_files_in_the_place_of_folders_are_a_sentence(tmp_path, place):
    (tmp_path / "store").mkdir()
    path = tmp_path / "store" / place if place else tmp_path / "file"
    path.write_text("precious")
    with pytest.raises(StoreError, match="no folder stands in the place of one; move it away"):
        rerun(Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK]), path if not place else path.parent)
    assert path.read_text() == "precious"


def test_a_store_that_may_not_be_read_is_a_sentence(tmp_path, monkeypatch):
    filled(tmp_path, [])
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "results")
    with pytest.raises(StoreError, match="may not be read"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match="may not be read"):
        rerun(Sweep(PROBLEMS[:1], 10, 1.5, 3, [WALK]), tmp_path)


def test_numbers_that_json_has_no_word_for_survive_the_index(tmp_path):
    (task,) = tasks_of(d=10, alpha=1.5, seeds=1)
    result = run_task(task)
    result.values["infinite"] = ((), np.array(np.inf))
    result.values["tiny"] = ((), np.array(5e-324))
    store = Store(tmp_path)
    store.prepare()
    store.write(result)
    values = open_store(tmp_path).entries()[task.key].values
    assert values["infinite"] == np.inf and values["tiny"] == 5e-324
    assert json.loads(open_store(tmp_path).entries()[task.key].description) == task.description

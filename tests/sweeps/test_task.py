"""A task is its description: identity, hash, refusals, what a run leaves in a result."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import widthwise as ww
from widthwise.sweeps.result_file import DamagedFile, decode, digest, encode
from widthwise.sweeps.task import Task, find_learner, run_task

PROBLEM = ww.Problem("tanh(2*x)", readouts="four-point", channel=0.3, gamma=0.7)


def test_same_description_same_task():
    one = Task(PROBLEM, 12, 1.5, 3, "hmc", {"iterations": 20, "start": "random"})
    other = Task(
        ww.Problem("tanh(2*x)", readouts="four-point", channel=ww.channels.Gaussian(0.3), gamma=0.7),
        np.int64(12),
        np.float64(1.5),
        3,
        "hmc",
        {"start": "random", "iterations": np.int32(20)},
    )
    assert one == other and hash(one) == hash(other) and one.key == other.key
    assert pickle.loads(pickle.dumps(one)) == one == Task.from_description(one.description)
    assert len(one.key) == 32 and one.instance.d == 12


@pytest.mark.parametrize(
    "change",
    [
        {"d": 13},
        {"alpha": 1.6},
        {"seed": 4},
        {"learner": "adam"},
        {"settings": {"iterations": 21}},
        {"dtype": "float64"},
        {"is_readout_drawn": True},
        {"problem": PROBLEM.replace(gamma=0.8)},
    ],
    ids=str,
)
def test_changed_description_is_another_task(change):
    base = {"problem": PROBLEM, "d": 12, "alpha": 1.5, "seed": 3, "learner": "hmc", "settings": {}}
    assert Task(**base).key != Task(**{**base, **change}).key


def test_key_is_the_same_in_another_process():
    task = Task(PROBLEM, 12, 1.5, 3, "gamp_rie", {"damping": 0.1})
    code = (
        "import sys; from widthwise.sweeps.task import Task; "
        "print(Task.from_description(sys.stdin.read()).key)"
    )
    out = subprocess.run([sys.executable, "-c", code], input=task.text, capture_output=True, text=True)
    assert out.stdout.strip() == task.key, out.stderr


def test_what_cannot_be_described_is_refused():
    with pytest.raises(ValueError, match="bare callable.*give it as an expression"):
        _ = Task(ww.Problem(np.tanh), 10, 1.0, 0, "hmc").text
    with pytest.raises(ValueError, match="setting 'start' of hmc must be a finite number.*ndarray"):
        Task(PROBLEM, 10, 1.0, 0, "hmc", {"start": np.zeros((3, 10))})


@pytest.mark.parametrize("name", ["hcm", "no_such_module:f", "trivial_learners:absent"])
def test_unknown_learner(name):
    with pytest.raises(ValueError, match="unknown learner|cannot be imported"):
        find_learner(name)


def test_result_of_a_run_has_its_averages_and_its_course():
    task = Task(ww.Problem("relu", gamma=0.6), 12, 1.5, 1, "gamp_rie")
    result = run_task(task)
    run = ww.learners.gamp_rie(task.instance)
    assert result.status == "done" and result.run_status == run.status
    assert result.scalar("excess_error") == run.excess_error
    assert result.scalar("test_error") == run.test_error
    np.testing.assert_array_equal(result.trace["excess_error"][1], run.trace["excess_error"])
    assert "matrix" not in result.values and "matrix" not in result.trace


def test_seed_of_a_learner_is_that_of_the_task():
    values = [
        run_task(Task(PROBLEM, 10, 1.0, s, "trivial_learners:walk")).scalar("excess_error") for s in (1, 2)
    ]
    assert values[0] != values[1]
    fixed = run_task(Task(PROBLEM, 10, 1.0, 2, "trivial_learners:walk", {"seed": 1}))
    assert fixed.scalar("excess_error") == values[0]


@pytest.mark.parametrize(
    ("learner", "error"),
    [
        ("raises", "RuntimeError: no such luck"),
        ("not_a_number", "returned an excess error of nan"),
        ("says_text", "must return numbers, but 'excess_error'"),
    ],
)
def test_failure_is_a_result(learner, error):
    result = run_task(Task(PROBLEM, 10, 1.0, 0, f"trivial_learners:{learner}"))
    assert result.status == "failed" and error in result.error
    assert decode(encode(result)).error == result.error


def test_instance_that_cannot_be_made_is_a_failure():
    result = run_task(Task(PROBLEM, 200_000, 100.0, 0, "gamp_rie"))
    assert result.status == "failed" and "GiB are free" in result.error


def test_file_keeps_every_bit(tmp_path):
    task = Task(ww.Problem("relu", readouts="four-point", gamma=0.6), 12, 1.5, 1, "gamp_rie")
    result = run_task(task)
    path = tmp_path / "one.nc"
    path.write_bytes(encode(result))
    back = decode(path)
    assert back.task == task and digest(back) == digest(result) and back.timings == result.timings
    for name, (dims, array) in result.trace.items():
        assert back.trace[name][0] == dims
        np.testing.assert_array_equal(back.trace[name][1], array)


def test_file_is_netcdf_that_xarray_opens(tmp_path):
    import xarray

    result = run_task(Task(ww.Problem("relu", readouts="four-point", gamma=0.6), 12, 1.5, 1, "gamp_rie"))
    (tmp_path / "one.nc").write_bytes(encode(result))
    with xarray.open_dataset(tmp_path / "one.nc", engine="h5netcdf") as values:
        assert float(values["excess_error"]) == result.scalar("excess_error")
        assert values["weight_overlap"].dims == ("readout",) and values.sizes["readout"] == 4
        assert json.loads(values.attrs["description"]) == result.task.description
        assert values.attrs["seed"] == 1 and values.attrs["status"] == "done"
    with xarray.open_dataset(tmp_path / "one.nc", engine="h5netcdf", group="trace") as trace:
        assert trace["excess_error"].dims == ("chain", "draw")


def test_damaged_bytes_are_noticed():
    image = encode(run_task(Task(PROBLEM, 10, 1.0, 0, "trivial_learners:walk")))
    for broken in (image[:200], b"not netCDF at all", image[: len(image) // 2]):
        with pytest.raises(DamagedFile):
            decode(broken)

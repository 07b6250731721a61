"""``widthwise simulate``, ``store`` and ``hardness``: what they print, write, refuse and return."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import widthwise as ww
from patience import PATIENCE, until
from widthwise.cli import main
from widthwise.sweeps import Sweep, open_store

HERE = Path(__file__).parent
LEARNERS = HERE.parent / "sweeps"

SWEEP = """\
d = 10
alpha = [0.5, 1.5]
seeds = 3
[[problem]]
activation = "relu"
gamma = 0.6
[[learner]]
name = "trivial_learners:walk"
pause = {pause}
"""


@pytest.fixture(autouse=True)
def learners_can_be_found(monkeypatch):
    monkeypatch.syspath_prepend(str(LEARNERS))


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.format(pause=0.0))
    return path


@pytest.fixture
def filled(tmp_path, sweep):
    with ThreadPoolExecutor(1) as threads:
        Sweep.from_toml(sweep).run(tmp_path / "runs", executor=threads, progress=False)
    return tmp_path / "runs"


@pytest.mark.slow
def test_measured_beside_predicted(tmp_path, capsys):
    figure = tmp_path / "curve.png"
    command = ["simulate", "--learner", "gamp_rie", "--gamma", "0.6", "--d", "12", "--alpha", "1"]
    command += ["--seeds", "3", "--workers", "1", "--json", "--plot", str(figure)]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "3 tasks, 3 to run: about" in captured.err and "GiB in each of 1 process" in captured.err
    points = json.loads(captured.out)["points"]
    assert [(p["alpha"], p["quantity"]) for p in points][:2] == [
        (1.0, "excess_error"),
        (1.0, "matrix_overlap_centred"),
    ]
    problem = ww.Problem("relu", gamma=0.6)
    runs = [
        ww.learners.gamp_rie(ww.sample_instance(problem, 12, 1.0, seed)).excess_error for seed in range(3)
    ]
    first = points[0]
    assert first["measured"] == pytest.approx(np.mean(runs), rel=1e-12)
    assert first["standard_error"] == pytest.approx(np.std(runs, ddof=1) / np.sqrt(3))
    assert first["branch"] == "universal"
    assert first["predicted"] == pytest.approx(ww.solve(problem, 1.0, branch="universal").excess_error)
    distance = (first["measured"] - first["predicted"]) / first["standard_error"]
    assert first["distance"] == pytest.approx(distance)
    assert figure.stat().st_size > 5000


def test_sweep_file_and_table(tmp_path, sweep, capsys):
    command = ["simulate", str(sweep), "--store", str(tmp_path / "runs"), "--workers", "1"]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "6/6" in captured.err and "6 tasks run, 0 were finished before" in captured.err
    assert "trivial_learners:walk" in captured.out and "predicted: the equilibrium branch" in captured.out
    assert main([*command, "--csv"]) == 0
    captured = capsys.readouterr()
    assert "0 tasks run, 6 were finished before" in captured.err
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    assert {row["alpha"] for row in rows} == {"0.5", "1.5"} and rows[0]["activation"] == "relu"


def test_dry_run_says_what_would_be_run_and_runs_nothing(tmp_path, sweep, capsys):
    command = ["simulate", str(sweep), "--store", str(tmp_path / "runs"), "--workers", "3"]
    assert main([*command, "--dry-run"]) == 0
    captured = capsys.readouterr()
    what, cost = captured.err.splitlines()
    assert captured.out == "" and not (tmp_path / "runs").exists()
    assert what.startswith("trivial_learners:walk on Problem(") and "alpha = 0.5, 1.5, 3 instances" in what
    assert cost.startswith("6 tasks, 6 to run: time unknown") and "each of 3 processes" in cost
    assert main(["hardness", "--activation", "sigma3", "--d", "6,7,8", "--seeds", "2", "--dry-run"]) == 0
    what, cost = capsys.readouterr().err.splitlines()
    assert "when does the overlap cross" in what and cost.startswith("6 tasks, 6 to run: about")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--learner", "hcm"], "--learner: unknown learner 'hcm'"),
        (
            ["--learner", "gamp_rie", "--iterations", "5", "--set", "dampin=1"],
            "gamp_rie has no setting 'dampin'",
        ),
        (["--set", "damping"], "--set takes NAME=VALUE"),
        (["--d", "10.5"], "--d must be whole numbers"),
        (["--seeds", "0"], "--seeds must be >= 1"),
        (["--workers", "0"], "--workers must be >= 1"),
        (["--workers", "2", "--cluster", "tcp://x:1"], "give --workers or --cluster, not both"),
        (["absent.toml"], "there is no file 'absent.toml'"),
        (["absent.toml", "--d", "10"], "--d cannot be given with a sweep file"),
        (["--branch", "best"], "--branch: unknown branch 'best'"),
        (["--json", "--csv"], "not both"),
        (["--plot", "x.txt"], "--plot must end in"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_a_sentence(capsys, options, message):
    assert main(["simulate", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("error: ") and message in captured.err
    assert len(captured.err.splitlines()) == 1


def test_error_in_a_sweep_file_names_its_line(tmp_path, sweep, capsys):
    sweep.write_text(sweep.read_text().replace("seeds = 3", "seeds = -3"))
    assert main(["simulate", str(sweep)]) == 2
    assert "sweep.toml, line 3: seeds must be" in capsys.readouterr().err


def test_failed_task_is_told_and_is_exit_code_1(tmp_path, sweep, capsys):
    sweep.write_text(sweep.read_text().replace(":walk", ":raises").replace("pause = 0.0\n", ""))
    command = ["simulate", str(sweep), "--store", str(tmp_path / "runs"), "--workers", "1"]
    assert main(command) == 1
    assert "RuntimeError: no such luck" in capsys.readouterr().err
    assert main(command) == 1  # still failed, not run again
    assert "0 tasks run" in capsys.readouterr().err
    assert main(["store", "ls", str(tmp_path / "runs")]) == 0
    assert "failed: " in capsys.readouterr().err


@pytest.mark.waits
def test_no_cluster_is_a_sentence(sweep, capsys, monkeypatch):
    monkeypatch.setattr("widthwise.sweeps.cluster._FIRST_ANSWER", 0.3)
    assert main(["simulate", str(sweep), "--cluster", "tcp://127.0.0.1:9"]) == 1
    assert "error: --cluster: no Dask scheduler answers" in capsys.readouterr().err


@pytest.mark.waits
def test_ctrl_c_is_exit_code_130(tmp_path, sweep):
    """The first instance is finished, the second waits in the middle for a file that never comes."""
    sweep.write_text(SWEEP.format(pause=0.0) + f'hold = "{tmp_path / "never"}"\n')
    runs = tmp_path / "runs"
    process = subprocess.Popen(
        [sys.executable, "-m", "widthwise", "simulate", str(sweep), "--store", str(runs), "--workers", "1"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(LEARNERS), *sys.path])},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: list(runs.glob("results/*.nc")) or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert said.splitlines()[-1] == "interrupted" and "Traceback" not in said
    assert "1 result is kept" in said and len(open_store(runs)) == 1


def test_store_commands(tmp_path, filled, capsys):
    assert main(["store", "ls", str(filled)]) == 0
    assert "6 results" in capsys.readouterr().out
    key = next(iter(open_store(filled).entries()))
    assert main(["store", "show", str(filled), key[:10]]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["result"]["task"]["learner"] == "trivial_learners:walk"
    assert main(["store", "export", str(filled), "--csv", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 6 and {row["gamma"] for row in rows} == {"0.6"}
    table = tmp_path / "runs.parquet"
    assert main(["store", "export", str(filled), "--parquet", str(table)]) == 0
    import pandas

    assert len(pandas.read_parquet(table)) == 6
    assert main(["store", "verify", str(filled)]) == 0
    (filled / "results" / f"{key}.nc").write_bytes(b"spoilt")
    capsys.readouterr()
    assert main(["store", "verify", str(filled)]) == 1
    captured = capsys.readouterr()
    assert (
        captured.out.startswith(f"{key}.nc: not a readable")
        and "5 results are whole, 1 damaged" in captured.err
    )
    assert main(["store", "prune", str(filled)]) == 0
    captured = capsys.readouterr()
    assert f"{key}.nc.damaged" in captured.out and "1 file removed" in captured.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["ls", "nowhere"], "there is no store 'nowhere'"),
        (["export", "."], "say where to"),
        (["show", "RUNS", "zzz"], "0 results have a key that begins with 'zzz'"),
        (["export", "RUNS", "--csv", "no/such/folder.csv"], "there is no folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_store_refuses(filled, capsys, options, message):
    assert main(["store", *(str(filled) if word == "RUNS" else word for word in options)]) == 2
    assert message in capsys.readouterr().err


def test_hardness_of_the_published_times(tmp_path, capsys):
    figure = tmp_path / "times.png"
    assert main(["hardness", "--published", "--bootstrap", "10", "--json", "--plot", str(figure)]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert len(points) == 18 and figure.stat().st_size > 20_000
    by_law = {(p["readouts"], p["law"]): p["aic"] for p in points}
    assert by_law["homogeneous", "exponential"] < by_law["homogeneous", "power"] - 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--activation", "relu"], "too close to that of the universal branch"),
        (["--d", "10,20"], "--d must hold at least three values"),
        (["--learner", "gamp_rie"], "--learner: unknown learner 'gamp_rie'"),
        (["--seeds", "1"], "--seeds must be >= 2"),
        (["--record-every", "0"], "--record-every must lie between"),
        (["--activation", "sigma3", "--alpha", "0.05"], "nothing to cross"),
        (["--bootstrap", "2"], "--bootstrap must be >= 10"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_hardness_refuses(capsys, options, message):
    assert main(["hardness", *options]) == 2
    assert message in capsys.readouterr().err

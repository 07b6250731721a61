"""The study of student widths: what it gathers, and that it goes on where it stopped."""

import json

import numpy as np
import pytest

import widthwise as ww
from widthwise.cli.app import run
from widthwise.studies.feature_hmc import predicted_start
from widthwise.studies.width import WidthStudy
from widthwise.sweeps.store import Store

PROBLEM = ww.Problem("tanh(2*x)", readouts=ww.readouts.PowerLaw(1.0, 10), channel=0.05, gamma=0.5)


@pytest.mark.slow
def test_study_gathers_means_over_instances(tmp_path, capsys):
    words = ["study", "width", "--readouts", "power-law:1,10", "--noise", "0.05", "--alpha", "6", "-d", "20"]
    words += [
        "--widths",
        "2,6",
        "--seeds",
        "2",
        "--iterations",
        "60",
        "--workers",
        "1",
        "--store",
        str(tmp_path),
    ]
    assert run([*words, "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    study, store = WidthStudy(PROBLEM, 20, [6.0], [2, 6], 2, {"iterations": 60}), Store(tmp_path)
    table = study.table(store)
    assert [(row.n, row.width, row.n_instances) for row in table.rows] == [(2400.0, 2, 2), (2400.0, 6, 2)]
    assert [point["excess_error"] for point in points] == [row.excess_error for row in table.rows]
    results = [store.read(task) for task in study.tasks() if task.settings["width"] == 6]
    errors = np.array([result.scalar("excess_error") for result in results])
    row = table.rows[-1]
    assert row.excess_error == pytest.approx(errors.mean())
    assert row.standard_error == pytest.approx(errors.std(ddof=1) / np.sqrt(2))
    last = [result.trace["excess_error"][1][0, -1] for result in results]
    assert row.last_error == pytest.approx(np.mean(last))
    law = ww.scaling_law(PROBLEM, [2400.0])
    assert row.optimal_error == law.excess_error[0] and row.effective_width == law.effective_width[0]
    losses = {row.width: row.held_out_loss for row in table.rows}
    assert table.best_width(2400.0) == min(losses, key=losses.get)
    assert table.plot().get_yscale() == "log" and "<table" in table._repr_html_()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--widths", "0"], "--widths must be > 0"),
        (["--widths", "2.5"], "--widths must be whole numbers"),
        (["-d", "20,30"], "one dimension"),
        (["--seeds", "0"], "--seeds must be >= 1"),
    ],
)
def test_bad_input_is_one_sentence(words, said, capsys):
    assert run(["study", "width", "--readouts", "power-law:1,10", "-d", "20", *words]) == 2
    assert said in capsys.readouterr().err


def test_predicted_start_keeps_the_features_that_are_learnt():
    problem = ww.Problem("tanh(2*x)", readouts=ww.readouts.PowerLaw(1.0, 30), channel=0.01, gamma=0.5)
    instance = ww.sample_instance(problem, 60, 2.0, 4)
    start = predicted_start(instance)
    same = np.all(start == instance.weights, axis=1)
    assert same.tolist() == [True] * 16 + [False] * 14
    assert ww.scaling_law(problem, [7200]).effective_width[0] == 16
    assert np.var(start[16:]) == pytest.approx(1, abs=5 * np.sqrt(2 / (14 * 60)))


def test_planner_says_how_wide_a_student():
    problem = ww.Problem("tanh(2*x)", readouts=ww.readouts.PowerLaw(1.0, 100), channel=0.01, gamma=0.5)
    need = ww.samples_needed(problem, excess_error=0.0024219478)
    assert need.d == 200 and need.n == pytest.approx(80_000, abs=2)
    assert need.effective_width == 31 and need.to_dict()["effective_width"] == 31
    assert "a student of 31 units" in str(need)
    assert ww.samples_needed(problem, excess_error=10.0).effective_width is None

"""Rows of runs: what tasks of the sweep give, in the columns of a table."""

import math

import numpy as np
import pytest

import widthwise as ww
from widthwise.paper.runs import row_of, trace_rows
from widthwise.paper.table import Table
from widthwise.sweeps import Task, run_task


def row(learner, problem, **settings):
    task = Task(problem, 16, 1.5, 3, learner, settings)
    result = run_task(task)
    return task, result, row_of("case", result)


def test_row_of_gamp_rie():
    problem = ww.Problem("relu", "gaussian", "four-point", 0.2, 0.7)
    task, _, found = row("gamp_rie", problem, start="prior", iterations=30)
    assert found["status"] == "converged" and found["key"] == task.key and found["seed"] == 3
    assert found["gamma"] == 0.7 and found["channel"] == 0.2 and found["version"] == ww.__version__
    assert 0 < found["excess_error"] < 1 and math.isnan(found["chain_error"])


def test_row_and_trace_of_metropolis():
    problem = ww.Problem("sigma3", "rademacher", channel=1.25)
    _, result, found = row("metropolis", problem, start="teacher", iterations=40, record_every=1)
    assert found["chain_error"] > 0 and len(found["weight_overlap"]) == 1
    assert found["overlap_power_at_start"][0] == pytest.approx(result.trace["overlap_power"][1][0, 0, 0])
    rows = trace_rows("case", result, ("excess_error",), n_rows=11)
    assert [r["iteration"] for r in rows] == list(range(0, 41, 4))
    np.testing.assert_allclose(rows.column("excess_error")[0], 0.0, atol=1e-9)
    assert trace_rows("case", result, ()) == []
    back = Table.from_csv(Table([found]).to_csv())[0]
    assert back["weight_overlap"] == pytest.approx(found["weight_overlap"])


@pytest.mark.slow
def test_adam_shows_half_its_error():
    problem = ww.Problem("relu", channel=0.1)
    _, result, found = row("adam", problem, start="random", iterations=20)
    assert found["excess_error"] == pytest.approx(0.5 * result.scalar("excess_error"))


def test_failed_run_keeps_its_row():
    problem = ww.Problem("relu", channel=0.1)  # Metropolis refuses the wrong start
    _, result, found = row("metropolis", problem, start="nowhere", iterations=2)
    assert found["status"] == "failed" and "start" in found["error"] and "excess_error" not in found
    assert trace_rows("case", result, ("excess_error",)) == []

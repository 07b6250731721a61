"""Runs that a table has are not made again, wherever and whenever they were made."""

import json

import pytest

import widthwise.sweeps
from widthwise.cli import main
from widthwise.paper import find, load, reproduce
from widthwise.paper.item import Tables
from widthwise.paper.known import KEY_LENGTH, KnownRuns, put_aside, read_known
from widthwise.paper.reproduce import tasks_of, unknown_tasks
from widthwise.paper.runs import row_of, trace_rows
from widthwise.paper.scales import settings_of
from widthwise.paper.table import Table
from widthwise.sweeps import Task, run_task

ITEM = find("classification")
PROBLEM = next(iter(find("gamp-rie").problems.values()))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    out = tmp_path_factory.mktemp("first")
    reproduce(ITEM, "smoke", out, out / "store")
    return out


@pytest.fixture
def asked(monkeypatch):
    """The tasks that are handed to the sweep, which runs none of them."""
    tasks = []
    run = widthwise.sweeps.run_tasks

    def noted(given, store, **options):
        tasks.extend(given)
        return run(given, store, **options | {"max_seconds": 0})

    monkeypatch.setattr(widthwise.sweeps, "run_tasks", noted)
    return tasks


@pytest.mark.slow
def test_tables_of_another_folder_stand_for_its_runs(first, tmp_path, asked):
    outcome = reproduce(ITEM, "smoke", tmp_path, tmp_path / "store", known=[first])
    assert asked == [] and outcome.n_left == 0 and outcome.n_runs == 1
    before = load(ITEM, first).tables
    assert outcome.tables.measured.to_csv() == before.measured.to_csv()
    assert outcome.tables.comparison.to_csv() == before.comparison.to_csv()
    # and now they are in the table of this folder
    assert reproduce(ITEM, "smoke", tmp_path, tmp_path / "another").n_runs == 1 and asked == []


def test_without_tables_everything_is_asked_for_and_may_be_left(tmp_path, asked):
    outcome = reproduce(ITEM, "smoke", tmp_path, tmp_path / "store")
    assert len(asked) == 1 and outcome.n_runs == 0 and outcome.n_left == 1
    assert "0 runs, 1 left" in str(outcome)
    assert json.loads((tmp_path / ITEM.name / "item.json").read_text())["n_left"] == 1


@pytest.mark.slow
def test_runs_of_other_settings_are_put_aside_and_found_again(first, tmp_path, asked):
    folder = tmp_path / ITEM.name
    folder.mkdir()
    row = Table.read(first / ITEM.name / "measured.csv")[0]
    Table([dict(row) | {"key": "0" * 32, "d": 77}]).write(folder / "measured.csv")
    reproduce(ITEM, "smoke", tmp_path, tmp_path / "store")
    assert len(asked) == 1 and not (folder / "measured.csv").exists()
    assert [row["d"] for row in Table.read(folder / "kept.csv")] == [77]
    Table([row]).write(folder / "kept.csv")
    asked.clear()
    assert reproduce(ITEM, "smoke", tmp_path, tmp_path / "store").n_runs == 1 and asked == []
    assert not (folder / "kept.csv").exists()


def test_the_cheapest_run_comes_first():
    item = find("hardness-hmc")
    tasks = [task for _, task in tasks_of(item, "smoke")]
    found = [task.d for task in unknown_tasks(item, tasks, KnownRuns())]
    assert found == sorted(found) and len(set(found)) == 2 and len(found) == len(tasks)


@pytest.mark.parametrize("name", ["hardness-adam", "hardness-hmc"])
def test_figures_that_fit_times_are_drawn_without_a_single_run(name):
    item = find(name)
    settings = settings_of(name, "smoke")
    tables = Tables(settings, theory=item.theory(settings))
    tables.comparison = item.compare(tables)
    assert item.draw(tables).axes and isinstance(item.remarks(tables), list)


def test_failed_runs_and_runs_without_their_trace_are_not_known(tmp_path):
    task = Task(PROBLEM, 12, 1.0, 0, "gamp_rie")
    good = row_of("case", run_task(task))
    bad = good | {"key": "f" * 32, "status": "failed"}
    Table([good, bad]).write(tmp_path / "measured.csv")
    known = read_known([tmp_path])
    assert set(known.rows) == {task.key} and known.has(task.key, with_trace=False)
    assert not known.has(task.key, with_trace=True)
    trace_rows("case", run_task(task), ("excess_error",)).write(tmp_path / "traces.csv")
    known = read_known([tmp_path])
    assert known.has(task.key, with_trace=True)
    put_aside(tmp_path, known, set())
    (tmp_path / "measured.csv").unlink()
    (tmp_path / "traces.csv").unlink()
    again = read_known([tmp_path])
    short = task.key[:KEY_LENGTH]
    assert Table(again.rows.values()).to_csv() == Table(known.rows.values()).to_csv()
    assert again.traces[short].to_csv() == known.traces[short].to_csv()


def test_the_command_refuses_a_folder_that_is_not_there(capsys, tmp_path):
    for arguments, words in (
        (["--known", str(tmp_path / "nowhere")], "--known: there is no folder"),
        (["--max-hours", "-1"], "--max-hours must be >= 0"),
    ):
        assert main(["reproduce", "hermite", "--out", str(tmp_path), *arguments]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_counts_what_the_tables_have(first, capsys, tmp_path):
    arguments = ["--out", str(tmp_path), "--known", str(first)]
    assert main(["reproduce", ITEM.name, "--dry-run", *arguments]) == 0
    assert "1 run, 0 to do" in capsys.readouterr().err

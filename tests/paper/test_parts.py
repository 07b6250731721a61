"""A scale that is made in parts: points that are not finished yet are shown with runs of a smaller one."""

import dataclasses
import importlib

import numpy as np
import pytest

from widthwise.paper import find, load, reproduce
from widthwise.paper.known import KnownRuns, point_of, read_known, unfinished
from widthwise.paper.marks import MARKERS, SMALL, figure, legend, points, resized, small_handle, small_print
from widthwise.paper.report import write_report
from widthwise.paper.reproduce import tasks_of
from widthwise.paper.runs import row_of
from widthwise.paper.scales import Settings
from widthwise.paper.table import Table
from widthwise.sweeps import Store, Task, run_task

module = importlib.import_module("widthwise.paper.reproduce")  # its name is also that of a function
ITEM = find("limits")
SMALL_D, LARGE_D = 10, 14


def settings_for_tests(name, scale):
    """Three scales of a very small item: what the tests of the suite run, and a laptop and a workstation."""
    sizes = {"smoke": 8, "laptop": SMALL_D, "workstation": LARGE_D, "paper": 18}
    seeds = {"smoke": 1, "laptop": 2, "workstation": 3, "paper": 3}
    return Settings(
        scale,
        d=sizes[scale],
        n_seeds=seeds[scale],
        alphas=(0.7, 1.3),
        iterations={"gamp_rie": 20},
        n_points=6,
    )


@pytest.fixture
def item(monkeypatch):
    """GAMP-RIE on one problem, at the sizes above."""
    monkeypatch.setattr(module, "settings_of", settings_for_tests)
    series = next(iter(ITEM.problems))
    problem = find("gamp-rie").problems["elu"]

    def tasks(settings):
        return [
            (series, Task(problem, settings.d, alpha, seed, "gamp_rie", {"iterations": 20, "start": "prior"}))
            for alpha in settings.alphas
            for seed in range(settings.n_seeds)
        ]

    return dataclasses.replace(
        ITEM,
        problems={series: problem},
        tasks=tasks,
        theory=lambda settings: Table(),
        draw=None,
        remarks=lambda t: [],
    )


def run_some(item, scale, store, chosen):
    """Finish the runs of a scale that are chosen by (α, seed)."""
    kept = Store(store)
    kept.prepare()
    for _, task in tasks_of(item, scale):
        if (task.alpha, task.seed) in chosen:
            kept.write(run_task(task))


def shown(outcome):
    return sorted((row["alpha"], row["d"], row["seed"]) for row in outcome.tables.measured)


def test_points_are_replaced_one_by_one_and_nothing_is_lost(item, tmp_path):
    out, store = tmp_path / "out", tmp_path / "store"
    reproduce(item, "laptop", out, store, n_workers=1)
    # one instance of α = 0.7: not enough for an error bar; two of α = 1.3 are
    run_some(item, "workstation", store, {(0.7, 1), (1.3, 0), (1.3, 2)})
    outcome = reproduce(item, "workstation", out, store, max_seconds=0)
    assert shown(outcome) == [(0.7, SMALL_D, 0), (0.7, SMALL_D, 1), (1.3, LARGE_D, 0), (1.3, LARGE_D, 2)]
    assert outcome.n_stand_ins == 2 and outcome.n_left == 3 and "2 shown of a smaller scale" in str(outcome)
    rows = outcome.tables.comparison
    assert {(row["alpha"], row["d"], row.get("stands_in", False)) for row in rows} == {
        (0.7, SMALL_D, True),
        (1.3, LARGE_D, False),
    }
    # the table alone knows every run, also the one that is not shown, and those of the laptop
    known = read_known([out / item.name])
    assert len(known.rows) == 4 + 3
    run_some(item, "workstation", store, {(0.7, 0)})
    again = reproduce(item, "workstation", out, store, max_seconds=0)
    assert {row["d"] for row in again.tables.measured} == {LARGE_D} and again.n_stand_ins == 0
    # back at the smaller scale, from the tables: a store that knows nothing is enough
    back = reproduce(item, "laptop", out, tmp_path / "empty", max_seconds=0)
    assert back.n_runs == 4 and back.n_left == 0 and {row["d"] for row in back.tables.measured} == {SMALL_D}
    assert len(read_known([out / item.name]).rows) == 4 + 4


def test_a_report_of_a_part_says_what_is_missing(item, tmp_path, monkeypatch):
    out, store = tmp_path / "out", tmp_path / "store"
    reproduce(item, "laptop", out, store, n_workers=1)
    run_some(item, "workstation", store, {(1.3, 0), (1.3, 2)})
    reproduce(item, "workstation", out, store, max_seconds=0)
    monkeypatch.setattr("widthwise.paper.report.find", lambda name: item if name == item.name else find(name))
    text = write_report(out)[0].read_text(encoding="utf-8")
    assert "| workstation, 4 runs left; 2 of smaller scales shown | 4 (" in text
    assert f"gamp_rie at d = {LARGE_D}, 2 instances, α = 1.3, 20 iterations;" in text
    assert f"gamp_rie at d = {SMALL_D}, 2 instances, α = 0.7, 20 iterations, of scale laptop;" in text
    assert "4 runs still to be made" in text
    assert f"Small marks are at d = {SMALL_D}, of a smaller scale: at these points fewer than two" in text
    # all of it: nothing of this is said any more
    run_some(item, "workstation", store, {(a, s) for a in (0.7, 1.3) for s in range(3)})
    reproduce(item, "workstation", out, store, max_seconds=0)
    text = write_report(out)[0].read_text(encoding="utf-8")
    assert "| workstation | 6 (" in text and "Small marks" not in text and "still to be made" not in text
    outcome = load(item, out)
    assert outcome.n_left == 0
    # the smaller d is put aside, and the same points are held against each other
    means = []
    for d, table in ((SMALL_D, outcome.tables.beside), (LARGE_D, outcome.tables.comparison)):
        chosen = table.where(quantity="excess_error", source="ours")
        assert {row["d"] for row in chosen} == {d} and len(chosen) == 2
        means.append(np.mean(chosen.column("measured") / chosen.column("predicted_at_d") - 1))
    told = f"{means[0]:+.1%} at d = {SMALL_D}, {means[1]:+.1%} at d = {LARGE_D}"
    assert f"(m − p)/p at the same points: excess_error of gamp_rie from prior (2 points): {told}" in text


def test_the_scale_of_the_tests_stands_in_for_nothing(item, tmp_path):
    store = tmp_path / "store"
    run_some(item, "smoke", store, {(0.7, 0), (1.3, 0)})
    assert reproduce(item, "laptop", tmp_path, store, max_seconds=0).n_runs == 0
    assert reproduce(item, "paper", tmp_path, store, max_seconds=0).n_runs == 0


def test_the_largest_of_the_smaller_scales_stands_in(item, tmp_path):
    store = tmp_path / "store"
    run_some(item, "laptop", store, {(0.7, 0), (1.3, 0), (1.3, 1)})
    run_some(item, "workstation", store, {(0.7, 0), (0.7, 1)})
    outcome = reproduce(item, "paper", tmp_path, store, max_seconds=0)
    assert {(row["alpha"], row["d"]) for row in outcome.tables.measured} == {(0.7, LARGE_D), (1.3, SMALL_D)}


def test_a_failed_run_is_shown_and_counts_as_none(item, tmp_path):
    store = tmp_path / "store"
    kept = Store(store)
    kept.prepare()
    for _, task in tasks_of(item, "workstation"):
        if task.alpha == 0.7:
            good = run_task(task)
            kept.write(dataclasses.replace(good, status="failed", error="no\nreason") if task.seed else good)
    run_some(item, "laptop", store, {(0.7, 0), (0.7, 1)})
    outcome = reproduce(item, "workstation", tmp_path, store, max_seconds=0)
    assert outcome.n_failed == 2
    done = [row for row in outcome.tables.measured if row["status"] != "failed"]
    assert {row["d"] for row in done} == {SMALL_D}


def test_runs_of_other_items_are_found_under_the_name_that_they_have_here(tmp_path):
    """The four-point case of one figure is that of another."""
    here, there = find("ansatz"), find("gaussian-weights")
    (series, task) = next(one for one in tasks_of(here, "workstation") if one[0] == "four-point")
    other = next(s for s, t in tasks_of(there, "workstation") if t.key == task.key)
    small = dataclasses.replace(task, d=9, settings=dict(task.settings) | {"iterations": 8})
    row = row_of(other, run_task(small)) | {"key": task.key}
    (tmp_path / there.name).mkdir()
    Table([row]).write(tmp_path / there.name / "kept.csv")
    known = module.known_runs(here, tmp_path)
    assert known.has(task.key, with_trace=False) and not known.has(task.key, with_trace=True)
    assert known.row(task.key, series)["series"] == series == "four-point" and other == "relu/four-point"
    assert not known.rows  # nothing of this is put aside here
    assert not module.known_runs(find("hardness-hmc"), tmp_path).elsewhere


def test_points_that_want_one_instance_are_finished_with_it():
    problem = find("gamp-rie").problems["elu"]
    wanted = [("s", Task(problem, 12, a, seed, "hmc", {"start": "teacher"})) for a, n in ((1.0, 1), (2.0, 4))
              for seed in range(n)]  # fmt: skip
    keys = [task.key for _, task in wanted]
    low, high = point_of(*wanted[0]), point_of(*wanted[1])
    assert unfinished(wanted, set()) == {low, high}
    assert unfinished(wanted, {keys[0], keys[1]}) == {high}
    assert unfinished(wanted, {keys[0], keys[1], keys[4]}) == set()
    assert not KnownRuns().has(keys[0], with_trace=False)


def test_points_that_stand_in_are_drawn_small_and_explained():
    row = {"learner": "gamp_rie", "start": "prior", "measured": 0.4, "standard_error": 0.1, "d": 37}
    rows = Table([row | {"alpha": 1.0}, row | {"alpha": 2.0, "stands_in": True}])
    made, axes = figure()
    points(axes[0, 0], rows, "black")
    sizes = {float(line.get_xdata()[0]): line.get_markersize() for line in axes[0, 0].lines
             if line.get_marker() == "^"}  # fmt: skip
    assert (
        sizes[2.0] == pytest.approx(SMALL * sizes[1.0]) and sizes[1.0] == MARKERS["gamp_rie", "prior"]["ms"]
    )
    assert small_print(rows) == "small: d = 37" and small_print(rows.where(alpha=1.0)) == ""
    assert resized({"marker": "o", "ms": 4.0}, None) == {"marker": "o", "ms": 4.0}
    for table in (rows, rows.where(alpha=1.0)):
        _, axes = figure()
        small_handle(axes[0, 0], table)
        labels = axes[0, 0].get_legend_handles_labels()[1]
        assert labels == (["small: d = 37"] if len(table) == 2 else [])
    for table, is_there in ((rows, True), (rows.where(alpha=1.0), False), (None, False)):
        made, _ = figure()
        legend(made, {}, [("gamp_rie", "prior")], ncols=3, comparison=table)
        names = [text.get_text() for text in made.legends[0].get_texts()]
        assert ("small: d = 37" in names) == is_there

"""Compute an item and write its files: theory, runs, comparison, figure.

::

    <out>/<item>/<item>.png, .pdf     the figure
    <out>/<item>/theory.csv           every point of every line
    <out>/<item>/measured.csv         one row a run, with its parameters, seed, status and version
    <out>/<item>/traces.csv           observables along the runs, for items that show dynamics
    <out>/<item>/kept.csv             runs of other settings that were here before (and kept_traces.csv)
    <out>/<item>/comparison.csv       measured against predicted, ours and the authors'
    <out>/<item>/beside.csv           the same of the runs in kept.csv
    <out>/<item>/item.json            scale, settings, times

Runs go through a store, so that what is interrupted goes on where it stopped. A run is known by its full
description (problem, d, α, seed, learner, iterations): another scale never takes over its numbers. Runs that
``measured.csv`` or ``kept.csv`` has, here or in other folders of results, are not made again: tables from
several days and machines add up, without their stores. A point that has no two instances yet is shown with
those of the next smaller scale that tables or store have; column ``scale`` says which.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._bad_value import plural
from .._version import __version__
from ..networks.comparison import counted
from . import marks, published
from .compare import compare
from .item import Item, Tables
from .known import KEY_LENGTH, KnownRuns, point_of, put_aside, read_known, unfinished
from .registry import NAMES
from .scales import SCALES, Settings, settings_of
from .table import Table

if TYPE_CHECKING:
    from ..sweeps.task import Task

__all__ = ["Outcome", "folders_of", "load", "reproduce", "tasks_of", "unknown_tasks"]

_TABLES = ("theory", "measured", "traces", "comparison", "beside")


@dataclass
class Outcome:
    """What came of an item."""

    item: Item
    tables: Tables
    folder: Path
    n_runs: int = 0
    """Runs that are shown."""
    n_failed: int = 0
    n_left: int = 0
    """Runs that are still to be made."""
    seconds: dict[str, float] = field(default_factory=dict)
    version: str = __version__

    @property
    def n_stand_ins(self) -> int:
        """Runs of smaller scales that are shown where those asked for are still to be made."""
        scale = self.tables.settings.scale
        return sum(row.get("scale", scale) != scale for row in self.tables.measured)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many measurements agree, are close, or differ."""
        found = [row["verdict"] for row in self.tables.comparison if "verdict" in row]
        return {name: found.count(name) for name in dict.fromkeys(found)}

    def __str__(self) -> str:
        found = [row["verdict"] for row in self.tables.comparison if "verdict" in row]
        counts = counted(found) or "nothing to compare"
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        left = f", {self.n_left} left" if self.n_left else ""
        if self.n_stand_ins:
            left += f", {self.n_stand_ins} shown of a smaller scale"
        return f"{self.item.name}: {plural(self.n_runs, 'run')}{failed}{left}; {counts}"


def tasks_of(item: Item, scale: str) -> Sequence[tuple[str, Task]]:
    """The runs of an item at a scale, each with its series."""
    return item.tasks(settings_of(item.name, scale)) if item.tasks else ()


def unknown_tasks(item: Item, tasks: Sequence[Task], known: KnownRuns) -> list[Task]:
    """Those that no table has, the cheapest first."""
    from ..sweeps.estimate import amount_of_work

    found = [task for task in tasks if not known.has(task.key, with_trace=bool(item.traced(task)))]
    return sorted(found, key=amount_of_work)


def folders_of(
    item: Item, out: str | os.PathLike[str], known: Sequence[str | os.PathLike[str]]
) -> list[Path]:
    """Where tables of an item may be; those of ``out`` count most."""
    return [Path(folder) / item.name for folder in (*known, out)]


def known_runs(
    item: Item, out: str | os.PathLike[str], known: Sequence[str | os.PathLike[str]] = ()
) -> KnownRuns:
    """What tables have of an item, and of others where they ask for the same runs."""
    found = read_known(folders_of(item, out, known))
    if item.has_common_rows:
        folders = [Path(folder) / name for folder in (*known, out) for name in NAMES if name != item.name]
        found.elsewhere = read_known(folders).rows
    return found


def reproduce(
    item: Item,
    scale: str,
    out: str | os.PathLike[str],
    store: str | os.PathLike[str],
    *,
    cluster: str | None = None,
    n_workers: int | None = None,
    progress: Any = False,
    retry_failed: bool = False,
    known: Sequence[str | os.PathLike[str]] = (),
    max_seconds: float | None = None,
) -> Outcome:
    """Compute an item at a scale, write its files below ``out`` and return it.

    Parameters
    ----------
    scale : "smoke", "laptop", "workstation" or "paper"
    store : folder
        Where the results of runs are kept; what is there already is not run again.
    cluster, n_workers, progress, retry_failed, max_seconds
        As for :func:`~widthwise.sweeps.run_tasks`; the cheapest runs come first.
    known : list of folders
        Further results, each a folder like ``out``, whose runs are taken over instead of made again.
    """
    settings = settings_of(item.name, scale)
    folder = Path(out) / item.name
    folder.mkdir(parents=True, exist_ok=True)
    tables = Tables(settings, published=published.measurements(item.name))
    start = time.perf_counter()
    tables.theory = item.theory(settings)
    outcome = Outcome(item, tables, folder, seconds={"theory": time.perf_counter() - start})
    if item.tasks is not None:
        from ..sweeps import run_tasks

        wanted = item.tasks(settings)
        finished = known_runs(item, out, known)
        start = time.perf_counter()
        report = run_tasks(
            unknown_tasks(item, [task for _, task in wanted], finished),
            store,
            cluster=cluster,
            n_workers=n_workers,
            progress=progress,
            retry_failed=retry_failed,
            max_seconds=max_seconds,
        )
        outcome.seconds["this call"] = time.perf_counter() - start
        _gather(item, scale, tables, finished, store)
        # As it will be read again: the comparison is the same whether runs are new or known.
        tables.measured = Table.from_csv(tables.measured.to_csv())
        shown = {str(row["key"]) for row in tables.measured}
        put_aside(folder, finished, shown)
        if item.compare is None:
            hidden = Table(row for key, row in finished.rows.items() if key not in shown)
            hidden = Table.from_csv(hidden.to_csv()) if hidden else hidden
            tables.beside = compare(item, Tables(settings, measured=hidden))
        outcome.n_runs = len(tables.measured)
        outcome.n_left = report.n_left
        outcome.n_failed = sum(row["status"] == "failed" for row in tables.measured)
        outcome.seconds["runs"] = float(np.nansum(tables.measured.column("seconds")))
    tables.comparison = item.compare(tables) if item.compare else compare(item, tables)
    _write(outcome)
    return outcome


def _gather(
    item: Item, scale: str, tables: Tables, finished: KnownRuns, store: str | os.PathLike[str]
) -> None:
    """Fill the tables of runs with what there is of a scale, and of smaller ones where it has too little.

    What the store has of a point that is not shown yet becomes known, so that it is put aside.
    """
    from ..sweeps import Store
    from .runs import row_of, trace_rows

    kept = Store(store)
    entries = kept.entries()

    def is_known(task: Task) -> bool:
        return finished.has(task.key, with_trace=bool(item.traced(task)))

    def is_done(task: Task) -> bool:
        return is_known(task) or (task.key in entries and entries[task.key].status == "done")

    wanted = tasks_of(item, scale)
    shown = _shown(item, scale, is_done)
    chosen = {task.key for _, task, _ in shown}
    # failed runs are shown as such
    shown += [(series, task, scale) for series, task in wanted if task.key in entries and not is_done(task)]
    for series, task in wanted:
        if task.key not in chosen and is_done(task) and not is_known(task):
            result = kept.read(task)
            finished.rows[task.key] = row_of(series, result) | item.observe(result)
            finished.traces[task.key[:KEY_LENGTH]] = trace_rows(series, result, item.traced(task))
    for series, task, size in shown:
        names = item.traced(task)
        if is_known(task):
            tables.measured.append(dict(finished.row(task.key, series)) | {"scale": size})
            tables.traces += finished.traces.get(task.key[:KEY_LENGTH], Table()) if names else ()
        else:
            result = kept.read(task)
            tables.measured.append(row_of(series, result) | item.observe(result) | {"scale": size})
            tables.traces += trace_rows(series, result, names)


def _shown(item: Item, scale: str, is_done: Callable[[Task], bool]) -> list[tuple[str, Task, str]]:
    """Finished runs, each with the scale it is of: where points of this scale have too few instances, those
    of the next smaller one (never of the tests' own)."""
    wanted = tasks_of(item, scale)
    done = [(series, task) for series, task in wanted if is_done(task)]
    missing = unfinished(wanted, {task.key for _, task in done})
    stand_ins: list[tuple[str, Task, str]] = []
    for size in reversed(SCALES[1 : max(1, SCALES.index(scale))]):
        found = [
            (series, task, size)
            for series, task in tasks_of(item, size)
            if point_of(series, task) in missing and is_done(task)
        ]
        stand_ins += found
        missing -= {point_of(series, task) for series, task, _ in found}
    replaced = {point_of(series, task) for series, task, _ in stand_ins}
    return [(s, task, scale) for s, task in done if point_of(s, task) not in replaced] + stand_ins


def load(item: Item, out: str | os.PathLike[str]) -> Outcome | None:
    """What :func:`reproduce` wrote; None if there is nothing."""
    folder = Path(out) / item.name
    if not (folder / "item.json").exists():
        return None
    facts = json.loads((folder / "item.json").read_text(encoding="utf-8"))
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts["settings"].items()}
    tables = Tables(Settings(**given), published=published.measurements(item.name))
    for name in _TABLES:
        setattr(tables, name, Table.read(folder / f"{name}.csv"))
    n_left = facts.get("n_left", 0)
    counts = (facts["n_runs"], facts["n_failed"], n_left)
    return Outcome(item, tables, folder, *counts, facts["seconds"], facts["version"])


def _write(outcome: Outcome) -> None:
    folder, tables = outcome.folder, outcome.tables
    for name in _TABLES:
        table: Table = getattr(tables, name)
        if table:
            table.write(folder / f"{name}.csv")
        else:
            (folder / f"{name}.csv").unlink(missing_ok=True)
    if outcome.item.table is not None:
        header, rows = outcome.item.table(tables)
        Table(dict(zip(header, row, strict=True)) for row in rows).write(folder / "table.csv")
    facts = {
        "item": outcome.item.name,
        "settings": asdict(tables.settings),
        "n_runs": outcome.n_runs,
        "n_failed": outcome.n_failed,
        "n_left": outcome.n_left,
        "seconds": {name: round(value, 1) for name, value in outcome.seconds.items()},
        "version": outcome.version,
    }
    (folder / "item.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    draw(outcome)


def draw(outcome: Outcome) -> list[Path]:
    """The figure of an item, from its tables; nothing if it has none."""
    if outcome.item.draw is None:
        return []
    return marks.save(outcome.item.draw(outcome.tables), outcome.folder / outcome.item.name)


def announce(
    items: Sequence[Item],
    scale: str,
    store: str | os.PathLike[str],
    n_workers: int | None = None,
    folders: Sequence[str | os.PathLike[str]] = (),
) -> str:
    """One line to print before anything is run; the time comes from a measurement on this machine.

    ``folders`` of results have runs that need not be made again.
    """
    from ..sweeps import LocalProcesses, Store
    from ..sweeps.estimate import estimate

    tasks = list(dict.fromkeys(task for item in items for _, task in tasks_of(item, scale)))
    entries = Store(store).entries() if os.path.isdir(store) else {}
    needed = [
        task
        for item in items
        for task in unknown_tasks(
            item,
            [task for _, task in tasks_of(item, scale)],
            known_runs(item, folders[-1], folders[:-1]) if folders else KnownRuns(),
        )
    ]
    missing = [task for task in dict.fromkeys(needed) if task.key not in entries]
    text = f"{plural(len(items), 'item')} at scale {scale}: {plural(len(tasks), 'run')}, {len(missing)} to do"
    if not missing:
        return text
    # Tasks of few kinds are measured: a mixture of them, not the first ones only.
    spread = sorted(missing, key=lambda task: task.key)
    with LocalProcesses(1) as executor:
        expected = estimate(spread, executor, entries.values())
    workers = n_workers or LocalProcesses().n_workers
    return f"{text}; {expected.sentence(workers)}"

"""Compute an item and write its files: theory, runs, comparison, figure.

::

    <out>/<item>/<item>.png, .pdf     the figure
    <out>/<item>/theory.csv           every point of every line
    <out>/<item>/measured.csv         one row a run, with its parameters, seed, status and version
    <out>/<item>/traces.csv           observables along the runs, for items that show dynamics
    <out>/<item>/comparison.csv       measured against predicted, ours and the authors'
    <out>/<item>/item.json            scale, settings, times

Runs go through a store, so that what is interrupted goes on where it stopped. A run is known by its full
description (problem, d, α, seed, learner, iterations): another scale never takes over its numbers.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._bad_value import plural
from .._version import __version__
from ..networks.comparison import counted
from . import marks, published
from .compare import compare
from .item import Item, Tables
from .scales import Settings, settings_of
from .table import Table

if TYPE_CHECKING:
    from ..sweeps.task import Task

__all__ = ["Outcome", "load", "reproduce", "tasks_of"]

_TABLES = ("theory", "measured", "traces", "comparison")


@dataclass
class Outcome:
    """What came of an item."""

    item: Item
    tables: Tables
    folder: Path
    n_runs: int = 0
    n_failed: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    version: str = __version__

    @property
    def verdicts(self) -> dict[str, int]:
        """How many measurements agree, are close, or differ."""
        found = [row["verdict"] for row in self.tables.comparison if "verdict" in row]
        return {name: found.count(name) for name in dict.fromkeys(found)}

    def __str__(self) -> str:
        found = [row["verdict"] for row in self.tables.comparison if "verdict" in row]
        counts = counted(found) or "nothing to compare"
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"{self.item.name}: {plural(self.n_runs, 'run')}{failed}; {counts}"


def tasks_of(item: Item, scale: str) -> Sequence[tuple[str, Task]]:
    """The runs of an item at a scale, each with its series."""
    return item.tasks(settings_of(item.name, scale)) if item.tasks else ()


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
) -> Outcome:
    """Compute an item at a scale, write its files below ``out`` and return it.

    Parameters
    ----------
    scale : "smoke", "laptop" or "paper"
    store : folder
        Where the results of runs are kept; what is there already is not run again.
    cluster, n_workers, progress, retry_failed
        As for :func:`~widthwise.sweeps.run_tasks`.
    """
    settings = settings_of(item.name, scale)
    folder = Path(out) / item.name
    folder.mkdir(parents=True, exist_ok=True)
    tables = Tables(settings, published=published.measurements(item.name))
    start = time.perf_counter()
    tables.theory = item.theory(settings)
    outcome = Outcome(item, tables, folder, seconds={"theory": time.perf_counter() - start})
    if item.tasks is not None:
        from ..sweeps import Store, run_tasks
        from .runs import row_of, trace_rows

        wanted = item.tasks(settings)
        start = time.perf_counter()
        run_tasks(
            [task for _, task in wanted],
            store,
            cluster=cluster,
            n_workers=n_workers,
            progress=progress,
            retry_failed=retry_failed,
        )
        outcome.seconds["this call"] = time.perf_counter() - start
        kept = Store(store)
        results = [(series, kept.read(task)) for series, task in wanted]
        tables.measured = Table(row_of(series, result) | item.observe(result) for series, result in results)
        tables.traces = Table(
            row for series, result in results for row in trace_rows(series, result, item.traced(result.task))
        )
        outcome.n_runs = len(results)
        outcome.n_failed = sum(result.status == "failed" for _, result in results)
        outcome.seconds["runs"] = float(sum(result.timings.get("seconds", 0.0) for _, result in results))
    tables.comparison = item.compare(tables) if item.compare else compare(item, tables)
    _write(outcome)
    return outcome


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
    return Outcome(
        item, tables, folder, facts["n_runs"], facts["n_failed"], facts["seconds"], facts["version"]
    )


def _write(outcome: Outcome) -> None:
    folder, tables = outcome.folder, outcome.tables
    for name in _TABLES:
        table: Table = getattr(tables, name)
        if table:
            table.write(folder / f"{name}.csv")
    facts = {
        "item": outcome.item.name,
        "settings": asdict(tables.settings),
        "n_runs": outcome.n_runs,
        "n_failed": outcome.n_failed,
        "seconds": {name: round(value, 1) for name, value in outcome.seconds.items()},
        "version": outcome.version,
    }
    (folder / "item.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    draw(outcome)


def draw(outcome: Outcome) -> list[Path]:
    """The figure of an item, from its tables."""
    return marks.save(outcome.item.draw(outcome.tables), outcome.folder / outcome.item.name)

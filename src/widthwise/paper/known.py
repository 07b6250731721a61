"""Runs that tables have already: rows of earlier calls, other days and other machines.

``measured.csv`` of an item has one row for each run, with its key (a digest of the description: problem, d,
α, seed, learner, iterations) and where it came from (version, seconds, effective draws). A run whose key is
there is not made again. Rows of other settings than those asked for, say of another scale, are put aside
in ``kept.csv``, and are found there when their settings are asked for again; ``traces.csv`` and
``kept_traces.csv`` have the same for observables along runs. Items that ask for the same runs find them in
each other's tables.

A point of a large scale may not be finished yet (:func:`unfinished`): until it is, the runs of a smaller
scale stand in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .table import Row, Table

if TYPE_CHECKING:
    from ..sweeps.task import Task

__all__ = ["KEY_LENGTH", "KnownRuns", "point_of", "put_aside", "read_known", "unfinished"]

KEY_LENGTH = 12
"""Characters of a key that the rows of a trace carry."""

_ENOUGH = 2
"""Instances from which on a point is shown: it has an error bar."""

_FILES = (("kept.csv", "kept_traces.csv"), ("measured.csv", "traces.csv"))


@dataclass
class KnownRuns:
    """Rows by key, and traces by the beginning of it; failed runs are not known."""

    rows: dict[str, Row] = field(default_factory=dict)
    traces: dict[str, Table] = field(default_factory=dict)
    elsewhere: dict[str, Row] = field(default_factory=dict)
    """Rows of other items, without their traces."""

    def has(self, key: str, *, with_trace: bool) -> bool:
        """Whether a run need not be made again."""
        if with_trace:
            return key in self.rows and key[:KEY_LENGTH] in self.traces
        return key in self.rows or key in self.elsewhere

    def row(self, key: str, series: str) -> Row:
        """The row of a run, under the name that a series has here."""
        return self.rows[key] if key in self.rows else dict(self.elsewhere[key]) | {"series": series}


def point_of(series: str, task: Task) -> tuple[Any, ...]:
    """What the instances of a point share, at any scale."""
    return series, task.learner, task.settings.get("start", ""), task.alpha


def unfinished(wanted: Sequence[tuple[str, Task]], done: set[str]) -> set[tuple[Any, ...]]:
    """Points of which fewer than two instances are done (or fewer than all, of a single one)."""
    instances: dict[tuple[Any, ...], list[bool]] = {}
    for series, task in wanted:
        instances.setdefault(point_of(series, task), []).append(task.key in done)
    return {point for point, made in instances.items() if sum(made) < min(_ENOUGH, len(made))}


def read_known(folders: Sequence[Path]) -> KnownRuns:
    """What the tables in these folders of an item have; of two rows of one run the later one counts."""
    found = KnownRuns()
    for folder in folders:
        for runs, traces in _FILES:
            for row in Table.read(folder / runs):
                if row.get("key") and row.get("status") != "failed":
                    found.rows[row["key"]] = row
            for (key,), trace in Table.read(folder / traces).groups("key"):
                if key:
                    found.traces[key] = trace
    return found


def put_aside(folder: Path, known: KnownRuns, shown: set[str]) -> None:
    """Write what is known and not shown to the files beside, so that nothing is lost."""
    hidden = [key for key in known.rows if key not in shown]
    runs, traces = (folder / name for name in _FILES[0])
    parts = {
        runs: Table(known.rows[key] for key in hidden),
        traces: Table(row for key in hidden for row in known.traces.get(key[:KEY_LENGTH], ())),
    }
    for path, table in parts.items():
        if table:
            table.write(path)
        else:
            path.unlink(missing_ok=True)

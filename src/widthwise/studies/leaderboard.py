"""A leaderboard file: rows of yardsticks, appended to over time and compared across versions.

A row carries its problem and the version that made it. ``.csv`` is appended to in place; ``.json`` is a list,
written anew beside the file and renamed.
"""

from __future__ import annotations

import csv
import json
import math
import os
from pathlib import Path
from typing import Any

from .yardstick import COLUMNS, Yardstick

__all__ = ["HEAD", "append", "changes", "ranking", "read"]

HEAD = ("problem", "measure", "version")
_NUMBERS = tuple(name for name in COLUMNS if name not in ("estimator", "note"))


def append(path: str | os.PathLike[str], results: Yardstick) -> int:
    """Add the rows of a yardstick to the file (made if it is not there); their number."""
    path = _checked(path)
    shared = {
        "problem": json.dumps(results.problem.to_dict(), sort_keys=True),
        "measure": results.measure,
        "version": results.version,
    }
    rows = [shared | dict(row) for row in results.rows]
    if path.suffix == ".json":
        everything = (
            [_plain(row) for row in (*read(path), *rows)] if path.exists() else list(map(_plain, rows))
        )
        beside = path.with_suffix(".json.tmp")
        beside.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
        beside.replace(path)
        return len(rows)
    is_new = not path.exists() or path.stat().st_size == 0
    if not is_new:
        read(path)  # refuses a file of another kind before anything is added to it
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, (*HEAD, *COLUMNS), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Every row of the file, oldest first."""
    path = _checked(path)
    rows: list[dict[str, Any]]
    if path.suffix == ".json":
        rows = json.loads(path.read_text(encoding="utf-8"))
    else:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    for row in rows:
        missing = [name for name in (*HEAD, *COLUMNS) if name not in row]
        if missing:
            raise ValueError(f"{path} is no leaderboard: a row has no {missing[0]!r}")
        for name in _NUMBERS:
            row[name] = math.nan if row[name] in (None, "") else float(row[name])
    return rows


def ranking(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The latest row of each estimator on each problem, d and α; best first within each."""
    latest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in read(path):
        latest[(*_place(row), row["estimator"])] = row
    return sorted(latest.values(), key=lambda row: (*_place(row), math.isnan(row["error"]), row["error"]))


def changes(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Latest against the one before, from another version, for each estimator on each problem, d and α.

    ``change`` is the difference of the errors and ``change_in_standard_errors`` in units of theirs.
    """
    history: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in read(path):
        history.setdefault((*_place(row), row["estimator"]), []).append(row)
    found = []
    for rows in history.values():
        new = rows[-1]
        old = next((row for row in reversed(rows) if row["version"] != new["version"]), None)
        if old is None:
            continue
        change = new["error"] - old["error"]
        scatter = math.hypot(new["standard_error"], old["standard_error"])
        found.append(
            {name: new[name] for name in ("problem", "measure", "estimator", "d", "alpha", "version")}
            | {"version_before": old["version"], "error": new["error"], "error_before": old["error"]}
            | {"change": change, "change_in_standard_errors": change / scatter if scatter > 0 else math.nan}
        )
    return found


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["problem"], row["measure"], row["d"], row["alpha"]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with null for what JSON cannot carry; infinity as text."""
    return {
        name: (None if math.isnan(value) else str(value) if math.isinf(value) else value)
        if isinstance(value, float)
        else value
        for name, value in row.items()
    }


def _checked(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    if path.suffix not in (".csv", ".json"):
        raise ValueError(f"a leaderboard is a .csv or .json file; got {path.name!r}")
    return path

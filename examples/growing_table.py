"""A table that grows: the .csv beside a script, with one row for each key, written anew when one is added.

Studies that take hours use it to go on where an earlier call stopped.
"""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class GrowingTable(dict[tuple[Any, ...], dict[str, str]]):
    """Rows by key; ``key`` names the columns that tell rows apart, with the types of their values."""

    def __init__(self, script: str, **key: Callable[[str], Any]) -> None:
        super().__init__()
        self.path = Path(script).with_suffix(".csv")
        self._key = key
        if self.path.exists():
            with self.path.open(newline="", encoding="utf-8") as file:
                self.update((self.key_of(row), row) for row in csv.DictReader(file))

    def key_of(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(kind(row[name]) for name, kind in self._key.items())

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Take up rows, in place of those with the same key, and write the file, sorted by key."""
        self.update((self.key_of(row), {name: str(value) for name, value in row.items()}) for row in rows)
        ordered = [self[key] for key in sorted(self)]
        with self.path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(ordered[0]))
            writer.writeheader()
            writer.writerows(ordered)

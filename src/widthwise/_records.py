"""Records as JSON and CSV for programs.

A record is a dictionary of plain values, as ``Solution.to_dict`` makes it. Texts carry the parameters and the
version, so that a figure can be made again from the file alone.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._version import __version__

__all__ = ["Record", "as_csv", "as_json", "spec_text"]

Record = Mapping[str, Any]


def as_json(
    description: Record, records: Iterable[Record], *, key: str = "problem", name: str = "points"
) -> str:
    """``{"version": ..., "problem": {...}, "points": [...]}``, a line for each point; NaN becomes null."""
    lines = ",\n".join("    " + json.dumps(_plain(record)) for record in records)
    points = f"[\n{lines}\n  ]" if lines else "[]"
    head = f'  "version": {json.dumps(__version__)},\n  {json.dumps(key)}: {json.dumps(_plain(description))}'
    return f"{{\n{head},\n  {json.dumps(name)}: {points}\n}}\n"


def as_csv(description: Record, records: Sequence[Record], names: Sequence[str] | None = None) -> str:
    """One row for each record, with the parameters and the version in each; arrays joined by ``;``.

    ``names`` are the columns, for a file that has them also where there is no record.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    shared = {name: spec_text(spec) for name, spec in description.items()} | {"version": __version__}
    if names is None:
        names = list(records[0]) if records else []
    writer.writerow([*shared, *names])
    for record in records:
        writer.writerow([*shared.values(), *(_cell(record[name]) for name in names)])
    return stream.getvalue()


def spec_text(spec: Any) -> str:
    """An ingredient as the command line takes it: a word, a number, values@probabilities, name:numbers."""
    if not isinstance(spec, Mapping):
        return _cell(spec)
    if set(spec) == {"kind", "noise"} and spec["kind"] == "gaussian":
        return _cell(spec["noise"])
    for values in ("values", "atoms", "eigenvalues"):
        if set(spec) - {"kind"} == {values, "probabilities"}:
            lists = (",".join(map(_cell, spec[name])) for name in (values, "probabilities"))
            return "@".join(lists)
    if set(spec) == {"kind", "values"}:
        return f"{spec['kind']}:[{','.join(map(_cell, spec['values']))}]"
    parts = {key: value for key, value in spec.items() if key != "kind" and value is not False}
    if "kind" in spec and not any(isinstance(value, (list, tuple, Mapping)) for value in parts.values()):
        words = [_cell(value) if key != "shift" else f"shift={_cell(value)}" for key, value in parts.items()]
        return ":".join([spec["kind"], *([",".join(words)] if words else [])])
    return json.dumps(_plain(spec))


def _plain(value: Any) -> Any:
    """The value with null for numbers that JSON cannot carry."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        is_nested = any(isinstance(item, (list, tuple)) for item in value)
        return ";".join(":".join(map(_cell, item)) if is_nested else _cell(item) for item in value)
    return str(value)

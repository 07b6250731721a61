"""Entries of a store as tables: an xarray Dataset, a row for each result, means over seeds.

Learners and problems are named by what tells them apart: ``hmc`` where it occurs with one set of settings,
``hmc(start=random)`` and ``hmc(start=teacher)`` where there are two.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..networks.comparison import mean_of
from .store_index import Entry
from .task import canonical

if TYPE_CHECKING:
    import pandas
    import xarray

__all__ = ["dataframe", "dataset", "learner_labels", "places", "problem_labels", "summary"]

_DIMENSIONS = ("problem", "learner", "d", "alpha", "seed")


def dataset(entries: Sequence[Entry], names: Iterable[str] | None = None) -> xarray.Dataset:
    """Results over (problem,) learner, d, alpha and seed; NaN where there is none."""
    import xarray

    rows = places(entries)
    axes = {dim: sorted({row[dim] for row in rows}) for dim in _DIMENSIONS}
    position = {dim: {value: i for i, value in enumerate(values)} for dim, values in axes.items()}
    shape = tuple(len(values) for values in axes.values())
    index = np.array([[position[dim][row[dim]] for dim in _DIMENSIONS] for row in rows], dtype=int)
    done = [i for i, entry in enumerate(entries) if entry.status == "done"]
    known = dict.fromkeys(name for i in done for name in entries[i].values)
    wanted = list(known) if names is None else list(names)
    missing = [name for name in wanted if name not in known]
    if missing and done:
        raise KeyError(f"no result has {missing[0]!r}; there are {', '.join(known)}")
    variables: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for name in known if done else ():
        if name not in wanted:
            continue
        dims, values = _gathered([entries[i] for i in done], name)
        full = np.full(shape + values.shape[1:], np.nan)
        full[tuple(index[done].T)] = values
        if dims != (name,):
            variables[name] = ((*_DIMENSIONS, *dims), full)
        elif (values == values[0]).all():
            shared[name] = values[0]
        else:  # readouts of each d and problem, say: what is a coordinate there is a quantity here
            variables[f"{name}_values"] = ((*_DIMENSIONS, *dims), full)
    status = np.full(shape, "missing", dtype="<U8")
    if rows:
        status[tuple(index.T)] = [entry.status for entry in entries]
    variables["status"] = (_DIMENSIONS, status)
    table = xarray.Dataset(variables, coords=axes | shared)
    if len(axes["problem"]) == 1:
        table = table.isel(problem=0, drop=True)
        table.attrs["problem"] = json.dumps(entries[0].parts["problem"])
    return table


def dataframe(entries: Sequence[Entry]) -> pandas.DataFrame:
    """A row for each result."""
    import pandas

    table = []
    for entry, row in zip(entries, places(entries), strict=True):
        parts = entry.parts
        table.append(
            {name: _text(spec) for name, spec in parts["problem"].items()}
            | {name: row[name] for name in _DIMENSIONS}
            | {"settings": json.dumps(parts["settings"], sort_keys=True)}
            | {"status": entry.status, "run_status": entry.run_status, "error": entry.error}
            | {"seconds": entry.seconds, "version": entry.version, "key": entry.key}
            | entry.values
        )
    return pandas.DataFrame(table)


def summary(entries: Sequence[Entry]) -> pandas.DataFrame:
    """Means and standard errors over seeds, a row for each (problem, learner, d, alpha)."""
    import pandas

    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry, row in zip(entries, places(entries), strict=True):
        groups.setdefault(tuple(row[dim] for dim in _DIMENSIONS[:-1]), []).append(entry)
    names = dict.fromkeys(n for e in entries for n, v in e.values.items() if isinstance(v, (int, float)))
    table = []
    for where in sorted(groups):
        done = [entry for entry in groups[where] if entry.status == "done"]
        line = dict(zip(_DIMENSIONS, where, strict=False))
        line |= {"n_seeds": len(done), "n_failed": len(groups[where]) - len(done)}
        for name in names:
            values = [entry.values.get(name, math.nan) for entry in done]
            mean = mean_of(values)
            line[name], line[f"{name}_standard_error"] = mean.value, mean.standard_error
        table.append(line)
    return pandas.DataFrame(table)


def learner_labels(descriptions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A short name for each learner with its settings, by their JSON."""
    kinds: dict[str, dict[str, dict[str, Any]]] = {}
    for parts in descriptions:
        options = {key: parts[key] for key in ("dtype", "is_readout_drawn")} | parts["settings"]
        kinds.setdefault(parts["learner"], {})[_learner_text(parts)] = options
    return {
        text: name + (f"({label})" if label else "")
        for name, variants in kinds.items()
        for text, label in _told_apart(variants).items()
    }


def problem_labels(descriptions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A short name for each problem, by its JSON."""
    variants = {canonical(parts["problem"]): parts["problem"] for parts in descriptions}
    return {text: label or "problem" for text, label in _told_apart(variants).items()}


def places(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Problem, learner, d, alpha and seed of each entry, problems and learners by their labels."""
    descriptions = [entry.parts for entry in entries]
    learners, problems = learner_labels(descriptions), problem_labels(descriptions)
    return [
        {
            "problem": problems[canonical(parts["problem"])],
            "learner": learners[_learner_text(parts)],
            "d": parts["d"],
            "alpha": parts["alpha"],
            "seed": parts["seed"],
        }
        for parts in descriptions
    ]


def _learner_text(parts: Mapping[str, Any]) -> str:
    return canonical([parts[key] for key in ("learner", "settings", "dtype", "is_readout_drawn")])


def _told_apart(variants: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What differs between variants, as name=value with commas."""
    names = dict.fromkeys(name for options in variants.values() for name in options)
    differing = [n for n in names if len({canonical(options.get(n)) for options in variants.values()}) > 1]
    return {
        text: ", ".join(f"{n}={_text(options[n])}" for n in differing if n in options)
        or ("default" if differing else "")
        for text, options in variants.items()
    }


def _gathered(entries: Sequence[Entry], name: str) -> tuple[tuple[str, ...], np.ndarray]:
    """A quantity of all entries, arrays padded with NaN to the longest."""
    dims = next(tuple(e.dims.get(name, ())) for e in entries if name in e.values)
    arrays = [np.asarray(e.values[name], dtype=float) if name in e.values else None for e in entries]
    sizes = [a.shape for a in arrays if a is not None]
    full = np.full((len(entries), *np.max(np.array(sizes, dtype=int), axis=0)), np.nan)
    for i, array in enumerate(arrays):
        if array is not None:
            place: Any = (i, *(slice(n) for n in array.shape))
            full[place] = array
    return dims, full


def _text(spec: Any) -> str:
    if isinstance(spec, Mapping) and set(spec) == {"kind", "noise"} and spec["kind"] == "gaussian":
        return f"{spec['noise']:g}"
    if isinstance(spec, float):
        return f"{spec:g}"
    return spec if isinstance(spec, str) else canonical(spec)

"""The rows of a phase diagram as one xarray Dataset."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .diagram_lines import keyed
from .diagram_plan import Plan
from .diagram_row import COUNTS, FLAGS, NUMBERS, Row, phase_names, sizes_of
from .errors import error_at
from .solution import error_column, problem_text
from .transitions import Transition

__all__ = ["add_error", "dataset"]

_NOT_DONE = "not computed"
_LINE_FIELDS = ("transition_alpha", "spinodal_low", "spinodal_high", "overlap_jump", "error_jump")

_ATTRS = {
    "excess_error": "equilibrium excess error",
    "universal_error": "excess error of the universal branch, reached in polynomial time",
    "gap": "universal_error - excess_error: the statistical-to-computational gap",
    "matrix_overlap_centred": "q_2 - gamma vbar^2",
    "free_entropy": "RS free entropy of the equilibrium",
    "mutual_information": "nats per weight",
    "n_specialised": "distinct |readouts| whose units are learnt (continuous laws: 1 if any are)",
    "n_solutions": "solutions of the saddle-point equations found",
    "n_stable": "of these, local maxima of the potential",
    "is_universal_stable": "whether the universal solution is a local maximum",
    "has_specialised": "whether a specialised solution exists",
    "has_stable_specialised": "whether one that is a local maximum exists",
}


def dataset(plan: Plan, rows: dict[int, Row], is_complete: bool) -> Any:
    """What is known of a diagram; rows that are missing are NaN."""
    import xarray

    names = list(plan.axes)
    shape = tuple(axis.size for axis in plan.axes.values())
    sizes = sizes_of(plan.rows[0][0])
    every = [sizes_of(p) for row in plan.rows for p in row]
    is_one_law = all(other.shape == sizes.shape and np.allclose(other, sizes) for other in every)
    n_sizes = max(other.size for other in every)
    numbers = {name: np.full(shape, np.nan) for name in (*NUMBERS, *COUNTS, *FLAGS)}
    overlap = np.full((*shape, n_sizes), np.nan)
    branch = np.full(shape, "", dtype="<U11")
    status = np.full(shape, _NOT_DONE, dtype="<U24")
    for i, row in rows.items():
        for j, table in enumerate(row.tables):
            at: Any = i if plan.has_alpha_axis else (i, j)
            pick: Any = slice(None) if plan.has_alpha_axis else 0
            for name, grid in numbers.items():
                grid[at] = table.fields[name][pick]
            overlap[(*np.atleast_1d(at), ..., slice(0, table.overlap.shape[1]))] = table.overlap[pick]
            branch[at] = np.array(table.branch)[pick]
            status[at] = np.array(table.status)[pick]
    data: dict[str, Any] = {
        name: (names, grid, {"long_name": _ATTRS[name]}) for name, grid in numbers.items()
    }
    data["weight_overlap"] = (
        [*names, "size"],
        overlap,
        {"long_name": "overlap of the units with |readout| = size"},
    )
    data["branch"], data["status"] = (names, branch), (names, status)
    coords: dict[str, Any] = {name: axis for name, axis in plan.axes.items()}
    # A law that changes along an axis has no common sizes: then they are numbered, largest first.
    coords["size"] = sizes if is_one_law else np.arange(1, n_sizes + 1)
    if plan.has_lines:
        data |= _curves(plan, rows, coords) if plan.has_alpha_axis else _line_points(plan, rows)
        if plan.refine:
            data |= _refined(plan, rows, n_sizes)
    attrs = {
        "problem": problem_text(plan.problem),
        "theory": plan.theory,
        "varied": ", ".join(names),
        "is_complete": int(is_complete),
        "n_failed": int(np.sum(status == "did not converge")),
    }
    if not plan.has_alpha_axis:
        attrs["alpha"] = float(plan.alpha[0])
    if plan.snr is not None:
        attrs["snr"] = plan.snr
    if is_one_law:
        attrs["phases"] = "; ".join(phase_names(plan.rows[0][0]))
    return xarray.Dataset(data, coords, attrs)


def _curves(plan: Plan, rows: dict[int, Row], coords: dict[str, Any]) -> dict[str, Any]:
    """Transitions as curves over the other axis: one for each class of readouts and each time it changes."""
    (axis, _) = plan.axes
    every: list[dict[tuple[int, int], Transition]] = [
        keyed(plan.rows[i][0], rows[i].lines) if i in rows else {} for i in range(len(plan.rows))
    ]
    keys = sorted({key for here in every for key in here})
    shape = (len(every), len(keys))
    numbers = {name: np.full(shape, np.nan) for name in _LINE_FIELDS}
    kinds = np.full(shape, "", dtype="<U11")
    readout = np.full(shape, np.nan)
    for i, here in enumerate(every):
        for j, key in enumerate(keys):
            if key not in here:
                continue
            t = here[key]
            low, high = t.spinodals or (math.nan, math.nan)
            for name, value in zip(
                _LINE_FIELDS, (t.alpha, low, high, t.overlap_jump, t.error_jump), strict=True
            ):
                numbers[name][i, j] = value
            kinds[i, j], readout[i, j] = t.kind, t.readout
    coords["line"] = np.arange(1, len(keys) + 1)
    data: dict[str, Any] = {name: ((axis, "line"), grid) for name, grid in numbers.items()}
    data["transition_kind"] = ((axis, "line"), kinds)
    data["transition_readout"] = ((axis, "line"), readout)
    return data


def _line_points(plan: Plan, rows: dict[int, Row]) -> dict[str, Any]:
    """At fixed α: points on the lines."""
    (first, xs), (second, _) = plan.axes.items()
    points = [(float(xs[i]), c) for i in sorted(rows) for c in rows[i].crossings]
    return {
        "line_first": ("point", np.array([x for x, _ in points]), {"long_name": first}),
        "line_second": ("point", np.array([c.second for _, c in points]), {"long_name": second}),
        "line_kind": ("point", np.array([c.kind for _, c in points], dtype="<U11")),
        "line_readout": ("point", np.array([c.readout for _, c in points])),
        "line_phase": (
            ("point", "side"),
            np.array([c.phases for _, c in points], dtype=int).reshape(-1, 2),
            {"long_name": f"classes learnt below and above the line along {second}"},
        ),
    }


def _refined(plan: Plan, rows: dict[int, Row], n_sizes: int) -> dict[str, Any]:
    """The points beside lines, one after the other."""
    (first, xs), (second, _) = plan.axes.items()
    parts = [(float(xs[i]), y, table) for i in sorted(rows) for y, table in rows[i].refined]

    def joined(values: list[np.ndarray], dtype: Any = float) -> np.ndarray:
        return np.concatenate([np.empty(0, dtype), *values])

    data: dict[str, Any] = {
        f"refined_{first}": ("refined", joined([np.full(y.size, x) for x, y, _ in parts])),
        f"refined_{second}": ("refined", joined([y for _, y, _ in parts])),
        "refined_branch": ("refined", joined([np.array(t.branch, dtype="<U11") for *_, t in parts], "<U11")),
    }
    for name in (*NUMBERS, *COUNTS, *FLAGS):
        values = joined([t.fields[name] for *_, t in parts])
        data[f"refined_{name}"] = ("refined", values, {"long_name": f"{_ATTRS[name]}, beside lines"})
    overlap = np.full((data["refined_branch"][1].size, n_sizes), np.nan)
    at = 0
    for *_, table in parts:
        n, m = table.overlap.shape
        overlap[at : at + n, :m] = table.overlap
        at += n
    data["refined_weight_overlap"] = (("refined", "size"), overlap)
    return data


def add_error(plan: Plan, data: Any, name: str) -> Any:
    """The dataset with an error measure of the equilibrium, on the grid and beside lines."""
    column, label = error_column(name), f"{name} error of the optimum"
    first, second = data["excess_error"].dims

    def values(x: np.ndarray, y: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        places = ({first: float(a), second: float(b)} for a, b in zip(x, y, strict=True))
        keys = [tuple((axis, v) for axis, v in place.items() if axis != "alpha") for place in places]
        problems = {key: plan.make(dict(key)) for key in set(keys)}
        return np.array(
            [float(error_at(problems[key], gap, name)) for key, gap in zip(keys, gaps, strict=True)]
        )

    x, y = (grid.ravel() for grid in np.meshgrid(data[first], data[second], indexing="ij"))
    gaps = data["excess_error"].values
    data[column] = ((first, second), values(x, y, gaps.ravel()).reshape(gaps.shape), {"long_name": label})
    if "refined_excess_error" in data:
        x, y = (data[f"refined_{axis}"].values for axis in (first, second))
        beside = values(x, y, data["refined_excess_error"].values)
        data[f"refined_{column}"] = ("refined", beside, {"long_name": f"{label}, beside lines"})
    return data

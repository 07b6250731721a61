"""What a phase diagram is made of: a plan, the equilibrium at each point, the lines, and all as a Dataset."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._display import Shown, draw
from ..ingredients.channels import Channel
from ..problem import Problem
from .errors import error_at
from .setting import readout_classes
from .solution import Solution, Transition, equilibrium_of, error_column, problem_from, problem_text

__all__ = [
    "Crossing",
    "PhaseDiagram",
    "Plan",
    "Row",
    "Table",
    "add_error",
    "dataset",
    "keyed",
    "phase_names",
    "with_noise",
]

_CONTINUOUS_SIZES = np.array([2.0, 1.0, 0.5])  # |readouts| at which overlaps of a continuous law are given

_NOT_DONE = "not computed"
_LINE_FIELDS = ("transition_alpha", "spinodal_low", "spinodal_high", "overlap_jump", "error_jump")

_FIELDS = {
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


@dataclass
class Plan:
    """Rows of problems (one task each) and the values of α that all share."""

    problem: Problem
    axes: dict[str, np.ndarray]
    rows: list[list[Problem]]
    alpha: np.ndarray
    theory: str
    parameter: Callable[[float], Problem] | None
    name: str
    has_lines: bool = True
    refine: int = 0
    snr: float | None = None
    """Held fixed: the noise then follows the variance of the output."""

    @property
    def has_alpha_axis(self) -> bool:
        return "alpha" in self.axes

    def make(self, at: dict[str, float]) -> Problem:
        """The problem at a point of the axes other than α."""
        made = self.problem if self.parameter is None else self.parameter(at[self.name])
        changes: dict[str, Any] = {} if self.snr is None else {"snr": self.snr}
        if "snr" in at:
            changes["snr"] = at["snr"]
        if "gamma" in at:
            changes["gamma"] = at["gamma"]
        if "noise" in at:
            changes["channel"] = with_noise(made.channel, at["noise"])
        return made.replace(**changes) if changes else made

    def without_functions(self) -> Plan | None:
        """The plan without functions of the caller, or None where they are needed."""
        needs_parameter = self.parameter is not None and self.has_lines and not self.has_alpha_axis
        if needs_parameter or any(p.activation.spec is None for row in self.rows for p in row):
            return None
        return replace(self, parameter=None)


def with_noise(channel: Channel, noise: float) -> Channel:
    """The channel with another variance of its noise."""
    if "noise" not in {part.name for part in fields(channel)}:  # type: ignore[arg-type]
        raise ValueError(
            f"{channel!r} has no noise that could be an axis; use parameter= and values= instead"
        )
    return replace(channel, noise=noise)  # type: ignore[type-var]


class PhaseDiagram(Shown):
    """The equilibrium over two parameters, with the lines between phases: what :func:`phase_diagram` returns.

    The numbers are the variables of an xarray Dataset, ``data``: ``diagram["excess_error"]``,
    ``diagram.sizes``, ``diagram.sel(...)`` and all else of a Dataset can be asked of the diagram itself.
    """

    def __init__(self, data: Any, problem: Problem | None = None) -> None:
        self.data = data
        self.problem = problem_from(data.attrs, problem)
        """What is not varied."""

    @property
    def axes(self) -> tuple[str, str]:
        """Names of the two parameters."""
        first, second = self.data["excess_error"].dims
        return str(first), str(second)

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        return name in self.data

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "data":
            raise AttributeError(name)
        return getattr(self.data, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *map(str, self.data)})

    def __repr__(self) -> str:
        first, second = self.axes
        spans = [
            f"{name} {float(x[0]):.4g} to {float(x[-1]):.4g}" for name in self.axes for x in [self.data[name]]
        ]
        error = self.data["excess_error"]
        size = " × ".join(str(self.data.sizes[name]) for name in self.axes)
        return (
            f"<PhaseDiagram {', '.join(spans)}, {size} points, "
            f"excess_error {float(error.min()):.4g} to {float(error.max()):.4g}>"
        )

    def to_xarray(self) -> Any:
        """The Dataset, which plain xarray reads too."""
        return self.data

    @classmethod
    def from_xarray(cls, data: Any, problem: Problem | None = None) -> PhaseDiagram:
        """The diagram of a Dataset that :meth:`to_xarray` made."""
        return cls(data, problem)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a netCDF file, with its problem; :meth:`load` reads it."""
        self.data.to_netcdf(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], problem: Problem | None = None) -> PhaseDiagram:
        """The diagram of a file that :meth:`save` or ``widthwise diagram --netcdf`` wrote."""
        import xarray

        with xarray.open_dataset(path) as data:
            return cls(data.load(), problem)

    def plot(self, quantity: str = "excess_error", ax: Any = None, **options: Any) -> Any:
        """Colours for a quantity, lines for transitions; see ``plotting.plot_phase_diagram``."""
        return draw(self, ax, quantity=quantity, **options)


@dataclass
class Table:
    """What is said of some points, one after the other."""

    fields: dict[str, np.ndarray]
    overlap: np.ndarray
    branch: list[str]
    status: list[str]

    @classmethod
    def of(cls, problem: Problem, ranked: list[list[Solution]]) -> Table:
        """The equilibrium and its rivals, from all solutions at each point."""
        sizes, n = sizes_of(problem), len(ranked)
        fields = {name: np.full(n, np.nan) for name in _FIELDS}
        overlap = np.full((n, sizes.size), np.nan)
        branch, status = [""] * n, ["did not converge"] * n
        for i, found in enumerate(ranked):
            best = equilibrium_of(found)
            universal = next((s for s in found if s.branch == "universal"), None)
            if best is None or universal is None:
                continue
            special = [s for s in found if s.branch == "specialised"]
            overlap[i] = _overlaps(best, sizes)
            branch[i], status[i] = best.branch, best.status
            row = {
                "excess_error": best.excess_error,
                "universal_error": universal.excess_error,
                "gap": universal.excess_error - best.excess_error,
                "matrix_overlap_centred": best.matrix_overlap_centred,
                "free_entropy": best.free_entropy,
                "mutual_information": best.mutual_information,
                "n_specialised": _n_specialised(best, sizes),
                "n_solutions": len(found),
                "n_stable": sum(s.is_stable for s in found),
                "is_universal_stable": universal.is_stable,
                "has_specialised": bool(special),
                "has_stable_specialised": any(s.is_stable for s in special),
            }
            for name, value in row.items():
                fields[name][i] = value
        return cls(fields, overlap, branch, status)


@dataclass(frozen=True)
class Crossing:
    """One point of a line."""

    second: float
    """Where on the second axis."""
    kind: str
    readout: float
    phases: tuple[int, int]
    """Classes learnt below and above it on the second axis."""


@dataclass
class Row:
    """A finished row; ``refined`` are points beside lines: values of the second axis, and a table of them."""

    tables: list[Table]
    lines: list[Transition] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    refined: list[tuple[np.ndarray, Table]] = field(default_factory=list)


def sizes_of(problem: Problem) -> np.ndarray:
    """|readouts| at which overlaps are reported, largest first."""
    classes = readout_classes(problem)
    return _CONTINUOUS_SIZES if classes is None else classes.sizes


def phase_names(problem: Problem) -> list[str]:
    """What is learnt in the phases, by ``n_specialised``: units of the largest |readouts| first."""
    classes = readout_classes(problem)
    if classes is None:
        return ["universal", "specialised"]
    sizes = classes.sizes[classes.sizes > 0]
    if sizes.size == 1:
        return ["universal", "specialised"]
    return ["universal", *(f"|v| ≥ {size:.3g} learnt" for size in sizes[:-1]), "all units learnt"]


def _overlaps(solution: Solution, sizes: Array) -> Array:
    v = np.abs(solution.readout_values)
    if solution.problem.readouts.is_discrete:
        overlaps: Array = solution.weight_overlap[np.argmin(np.abs(v[:, None] - sizes), axis=0)]
    else:
        order = np.argsort(v)
        overlaps = np.interp(sizes, v[order], solution.weight_overlap[order])
    return overlaps


def _n_specialised(solution: Solution, sizes: np.ndarray) -> int:
    if solution.problem.readouts.is_discrete:
        return int(np.sum(_overlaps(solution, sizes) > 0))
    return int(solution.branch == "specialised")


def keyed(problem: Problem, found: Iterable[Transition]) -> dict[tuple[int, int], Transition]:
    """Transitions by the number of their class of readouts and how often it has changed before."""
    classes = readout_classes(problem)
    sizes = None if classes is None else classes.sizes
    here: dict[tuple[int, int], Transition] = {}
    for t in found:
        number = 0 if sizes is None else int(np.argmin(np.abs(sizes - t.readout)))
        here[number, sum(key[0] == number for key in here)] = t
    return here


def dataset(plan: Plan, rows: dict[int, Row], is_complete: bool) -> Any:
    """What is known of a diagram; rows that are missing are NaN."""
    import xarray

    names = list(plan.axes)
    shape = tuple(axis.size for axis in plan.axes.values())
    sizes = sizes_of(plan.rows[0][0])
    every = [sizes_of(p) for row in plan.rows for p in row]
    is_one_law = all(other.shape == sizes.shape and np.allclose(other, sizes) for other in every)
    n_sizes = max(other.size for other in every)
    numbers = {name: np.full(shape, np.nan) for name in _FIELDS}
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
        name: (names, grid, {"long_name": _FIELDS[name]}) for name, grid in numbers.items()
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
    for name in _FIELDS:
        values = joined([t.fields[name] for *_, t in parts])
        data[f"refined_{name}"] = ("refined", values, {"long_name": f"{_FIELDS[name]}, beside lines"})
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

"""What the theory answers: one solution of the saddle-point equations, curves of them, and transitions."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from .._bad_value import plural
from .._display import Interactive, Plotted, compare_with
from .._version import __version__
from ..problem import Problem

__all__ = [
    "CONVERGED",
    "UNRESOLVED",
    "FIELDS",
    "LearningCurve",
    "NotConverged",
    "Solution",
    "Transition",
    "TransitionList",
    "equilibrium_of",
    "error_column",
]

CONVERGED = "converged"
UNRESOLVED = "a solution could not be resolved"

FIELDS = (
    "alpha",
    "branch",
    "is_equilibrium",
    "is_stable",
    "status",
    "residual",
    "excess_error",
    "bayes_error",
    "gibbs_error",
    "matrix_overlap",
    "matrix_overlap_hat",
    "matrix_overlap_centred",
    "tilt",
    "free_entropy",
    "mutual_information",
    "readout_values",
    "readout_weights",
    "weight_overlap",
    "weight_overlap_hat",
)
"""Fields of a solution, in the order of tables and files (docs/symbols.md)."""

_ARRAYS = FIELDS[-4:]


class NotConverged(RuntimeError):
    """Raised by :meth:`Solution.require`; carries the solution."""

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Plotted):
    """One solution of the saddle-point equations; the fields are those of ``docs/symbols.md``."""

    problem: Problem = field(repr=False)
    alpha: float
    branch: str
    is_equilibrium: bool
    is_stable: bool
    status: str
    residual: float
    excess_error: float
    """ε_opt - Δ = r_K - q_K (eq. Gaussian_output_channel_generror); the posterior variance of λ otherwise."""
    bayes_error: float
    """ε_opt (eq. gen_error_def)."""
    gibbs_error: float
    """ε_Gibbs (eq. Gibbs_error); for Gaussian noise ε_Gibbs - Δ = 2(ε_opt - Δ), eq. Gibbs_v_Bayes_error."""
    matrix_overlap: float
    matrix_overlap_hat: float
    matrix_overlap_centred: float
    tilt: float
    free_entropy: float
    mutual_information: float
    """I/(kd) = (α/γ)(ψ_out(r_K; r_K) - f) (eqs. MI_generic_channel and MI_gaussian_channel)."""
    readout_values: np.ndarray = field(repr=False)
    readout_weights: np.ndarray = field(repr=False)
    weight_overlap: np.ndarray
    weight_overlap_hat: np.ndarray = field(repr=False)
    note: str = field(default="", repr=False)
    """Why this is the equilibrium where the potential prefers another solution."""
    error_name: str = field(default="", repr=False)
    """The error measure asked for, such as "zero-one"; empty if none was."""
    error: float = field(default=float("nan"), repr=False)
    """Its value."""
    family: object = field(default=None, repr=False)
    """The curve of solutions, a ``Family``, that this one lies on; None for perfect and missing ones."""
    parameter: float = field(default=float("nan"), repr=False)
    """Where on the family's curve."""
    state: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    """The family's unknowns."""

    def __repr__(self) -> str:
        where = f"alpha={self.alpha:.6g}, {self.branch}"
        if not self.is_converged:
            return f"<Solution {where}: {self.status}>"
        rank = "equilibrium" if self.is_equilibrium else "metastable" if self.is_stable else "unstable"
        overlap = self.weight_overlap
        span = f"{overlap.min():.4g}" + (f" to {overlap.max():.4g}" if np.ptp(overlap) > 0 else "")
        return (
            f"<Solution {where}, {rank}: excess_error={self.excess_error:.6g}, "
            f"matrix_overlap_centred={self.matrix_overlap_centred:.4g}, weight_overlap={span}>"
        )

    @property
    def is_converged(self) -> bool:
        return self.status == CONVERGED

    @property
    def n_learnt(self) -> int:
        """Number of distinct |readouts| whose units are learnt."""
        learnt = self.readout_values[self.weight_overlap > 0]
        return int(np.unique(np.round(learnt**2, 10)).size)

    def require(self) -> Solution:
        """This solution, or :class:`NotConverged` with the reason."""
        if not self.is_converged:
            raise NotConverged(
                f"no {self.branch} solution at alpha={self.alpha:g}: {self.status} "
                f"(residual {self.residual:.1e}); try branch='equilibrium' or a neighbouring alpha",
                self,
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain numbers, strings and lists."""
        record: dict[str, Any] = {}
        for name in FIELDS:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value = value.tolist()
            elif isinstance(value, np.generic):
                value = value.item()
            record[name] = value
            if name == "gibbs_error" and self.error_name:
                record[error_column(self.error_name)] = float(self.error)
        return record

    @classmethod
    def missing(cls, problem: Problem, alpha: float, branch: str, status: str) -> Solution:
        """A point that has no answer: NaN in every number, with the reason as its status."""
        nan = float("nan")
        v, p = readout_grid(problem)
        blank = np.full(v.shape, nan)
        return cls(
            problem, float(alpha), branch, False, False, status, nan, nan, nan, nan, nan, nan, nan, nan,
            nan, nan, v, p, blank, blank,
        )  # fmt: skip


def error_column(name: str) -> str:
    """The field of tables and files that holds an error measure: ``zero_one_error`` for zero-one."""
    return f"{name.replace('-', '_')}_error"


class LearningCurve(Interactive, Sequence[Solution]):
    """Solutions along alpha; every field of a solution is also an array over the curve.

    So is ``error``, the measure that was asked for (``error_name``), NaN if none was.
    """

    def __init__(
        self, problem: Problem, branch: str, points: Sequence[Solution], theory: str = "main"
    ) -> None:
        self.problem, self.asked, self.theory = problem, branch, theory
        self._points = tuple(points)

    def __len__(self) -> int:
        return len(self._points)

    @overload
    def __getitem__(self, index: int) -> Solution: ...

    @overload
    def __getitem__(self, index: slice) -> LearningCurve: ...

    def __getitem__(self, index: int | slice) -> Solution | LearningCurve:
        if isinstance(index, slice):
            return LearningCurve(self.problem, self.asked, self._points[index], self.theory)
        return self._points[index]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self._points)

    def __repr__(self) -> str:
        if not self._points:
            return f"<LearningCurve {self.asked}, no points>"
        first, last = self._points[0], self._points[-1]
        return (
            f"<LearningCurve {self.asked}, {plural(len(self), 'point')}, alpha {first.alpha:g} to "
            f"{last.alpha:g}, excess_error {first.excess_error:.4g} to {last.excess_error:.4g}>"
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *FIELDS, "error"})

    @property
    def error_name(self) -> str:
        """The error measure that was asked for; empty if none was."""
        return self._points[0].error_name if self._points else ""

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_") or name not in (*FIELDS, "error"):
            raise AttributeError(f"a learning curve has no {name!r}; its fields are {', '.join(FIELDS)}")
        return np.array([getattr(point, name) for point in self._points])

    def to_dicts(self) -> list[dict[str, Any]]:
        return [point.to_dict() for point in self._points]

    def to_xarray(self) -> Any:
        """An xarray Dataset over alpha (and readout for the overlaps)."""
        import xarray

        data: dict[str, Any] = {}
        for name in FIELDS:
            if name in ("alpha", "readout_values", "readout_weights"):
                continue
            data[name] = (("alpha", "readout") if name in _ARRAYS else "alpha", getattr(self, name))
        if self.error_name:
            data[error_column(self.error_name)] = ("alpha", self.error)
        v, p = readout_grid(self.problem)
        coords = {"alpha": self.alpha, "readout": v, "readout_weights": ("readout", p)}
        attrs = {"asked": self.asked, "theory": self.theory, "problem": problem_text(self.problem)}
        attrs |= {"error_name": self.error_name, "version": __version__}
        return xarray.Dataset(data, coords, attrs=attrs)

    @classmethod
    def from_xarray(cls, data: Any, problem: Problem | None = None) -> LearningCurve:
        """The curve of a dataset that :meth:`to_xarray` made.

        ``problem`` is needed where the activation is a bare callable, which no file can hold.
        """
        problem = problem_from(data.attrs, problem)
        name = str(data.attrs.get("error_name", ""))
        v, p = data["readout"].to_numpy(), data["readout_weights"].to_numpy()
        points = []
        for i, alpha in enumerate(data["alpha"].to_numpy()):
            at: dict[str, Any] = {"alpha": float(alpha), "readout_values": v, "readout_weights": p}
            for field_name in FIELDS:
                if field_name not in at:
                    value = data[field_name].to_numpy()[i]
                    at[field_name] = value if field_name in _ARRAYS else _plain(field_name, value)
            if name:
                at |= {"error_name": name, "error": float(data[error_column(name)].to_numpy()[i])}
            points.append(Solution(problem=problem, **at))
        return cls(problem, str(data.attrs["asked"]), points, str(data.attrs.get("theory", "main")))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the curve to a netCDF file, with its problem; :meth:`load` reads it."""
        self.to_xarray().to_netcdf(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], problem: Problem | None = None) -> LearningCurve:
        """The curve of a file that :meth:`save` wrote, or of what ``widthwise predict --json`` printed."""
        if os.fspath(path).endswith(".json"):
            return cls._from_json(path)
        import xarray

        with xarray.open_dataset(path) as data:
            return cls.from_xarray(data.load(), problem)

    @classmethod
    def _from_json(cls, path: str | os.PathLike[str]) -> LearningCurve:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        problem = Problem.from_dict(content["problem"])
        points = []
        for record in content["points"]:
            missing = [name for name in FIELDS if name not in record]
            if missing:
                raise ValueError(f"{os.fspath(path)!r} lacks {missing[0]}: print it without --quantity")
            at = {name: _number_or_text(record[name]) for name in FIELDS}
            points.append(Solution(problem=problem, **at))
        return cls(problem, points[0].branch if points else "equilibrium", points)

    def to_dataframe(self) -> Any:
        """A tidy pandas DataFrame: one row for each point and readout value, every number in a column.

        ``readout`` and ``readout_weight`` say which units a row is about; what does not depend on them is
        repeated.
        """
        import pandas

        columns: dict[str, Any] = {}
        n_values = [point.readout_values.size for point in self._points]
        for name in self.to_dicts()[0] if self._points else FIELDS:
            title = {"readout_values": "readout", "readout_weights": "readout_weight"}.get(name, name)
            if name in _ARRAYS:
                columns[title] = np.concatenate([np.empty(0), *(getattr(p, name) for p in self._points)])
            else:
                values = [point.to_dict()[name] for point in self._points]
                columns[title] = np.repeat(np.array(values), n_values)
        return pandas.DataFrame(columns)

    def compare(self, data: Any, quantity: str | None = None) -> Any:
        """Measurements beside the curve, with one verdict each; see :mod:`widthwise.networks.measurements`.

        Parameters
        ----------
        data
            A CSV file or its text, a DataFrame or a mapping of columns (``alpha``, or ``n`` and ``d``; the
            quantity; its standard error; the number of runs), or pairs of alpha and value.
        quantity : str, optional
            What was measured: a field of a solution, ``excess_error`` (or the error asked for) unless given.
        """
        return compare_with(self, data, quantity)


@dataclass(frozen=True)
class Transition:
    """One transition of the equilibrium as α grows."""

    readout: float
    """|v| of the units that begin to be learnt, or are lost in a jump (or whose overlap jumps most)."""
    alpha: float
    kind: str
    """"continuous" or "first-order"."""
    spinodals: tuple[float, float] | None = None
    """First-order: α from which the new branch exists, and up to which the old one is stable.

    None for laws of many sizes, of which metastable branches are not traced."""
    overlap_jump: float = 0.0
    """By how much their overlap rises; negative where they are lost as others are learnt."""
    error_jump: float = 0.0

    def __str__(self) -> str:
        where = "0+" if self.alpha == 0 else f"{self.alpha:.8g}"
        text = f"|v| = {self.readout:.4g}: {self.kind} at alpha = {where}"
        if self.spinodals:
            low, high = self.spinodals
            text += f" (spinodals {low:.6g} to {high:.6g}; overlap {self.overlap_jump:+.4g})"
        elif self.kind == "first-order":
            text += f" (overlap {self.overlap_jump:+.4g})"
        return text


class TransitionList(Plotted, list[Transition]):
    """Transitions in order of α, with what the onset criterion says at the end of the range.

    ``note`` says what the list leaves out, if anything.
    """

    def __init__(
        self,
        items: list[Transition],
        problem: Problem,
        alpha_max: float,
        criterion: float,
        reason: str = "",
        note: str = "",
    ) -> None:
        super().__init__(items)
        self.problem = problem
        self.alpha_max, self.criterion, self.reason, self.note = alpha_max, criterion, reason, note

    def __str__(self) -> str:
        if self:
            return "\n".join([*map(str, self), *([f"note: {self.note}"] if self.note else [])])
        if self.reason:
            return f"no transition up to alpha = {self.alpha_max:g}: {self.reason}"
        return (
            f"no transition up to alpha = {self.alpha_max:g}: max v^2 (q_2 - gamma vbar^2)/gamma is "
            f"{self.criterion:.4g} there, and the first unit is learnt when it reaches 1"
        )


def equilibrium_of(found: Sequence[Solution]) -> Solution | None:
    """The one of some solutions at one α that is the equilibrium; None where it could not be resolved."""
    return next((s for s in found if s.is_equilibrium), None)


def problem_text(problem: Problem) -> str:
    """The problem as JSON; its repr where it has no description in words and numbers."""
    try:
        return json.dumps(problem.to_dict())
    except ValueError:
        return repr(problem)


def problem_from(attributes: Any, problem: Problem | None) -> Problem:
    """The problem of a file, or the one given where the file cannot hold it."""
    if problem is not None:
        return problem
    try:
        return Problem.from_dict(json.loads(attributes["problem"]))
    except (KeyError, ValueError):
        raise ValueError("the file does not hold its problem; give problem=") from None


def _plain(name: str, value: Any) -> Any:
    if name in ("branch", "status"):
        return str(value)
    return bool(value) if name.startswith("is_") else float(value)


def _number_or_text(value: Any) -> Any:
    """A value of JSON, where null stands for what is no number."""
    if isinstance(value, list):
        return np.array([math.nan if one is None else one for one in value], dtype=float)
    return math.nan if value is None else value


def readout_grid(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Readout values at which overlaps are reported, and their weights (summing to 1)."""
    law: Any = problem.readouts
    if law.is_discrete:
        return np.asarray(law.told_apart), np.asarray(law.probabilities)
    # Gauss–Legendre over the part of the support that holds all but 1e-9 of the mass.
    reach = min(law.largest, 6.0)
    x, w = np.polynomial.legendre.leggauss(64)
    v = reach * x
    p = w * law.density(v)
    return v, p / p.sum()

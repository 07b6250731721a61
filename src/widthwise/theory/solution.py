"""What the theory answers: one solution of the saddle-point equations, and curves of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._display import Interactive, Plotted
from ..problem import Problem

if TYPE_CHECKING:
    from .families.base import Family

__all__ = ["CONVERGED", "FIELDS", "LearningCurve", "NotConverged", "Solution", "error_column"]

CONVERGED = "converged"

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


@dataclass(frozen=True, eq=False)
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
    bayes_error: float
    gibbs_error: float
    matrix_overlap: float
    matrix_overlap_hat: float
    matrix_overlap_centred: float
    tilt: float
    free_entropy: float
    mutual_information: float
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
    family: Family | None = field(default=None, repr=False)
    """The curve of solutions that this one lies on; None for perfect learning and missing points."""
    parameter: float = field(default=float("nan"), repr=False)
    """Where on the family's curve."""
    state: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    """The family's unknowns."""

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

    def __init__(self, problem: Problem, branch: str, points: Sequence[Solution]) -> None:
        self.problem, self.asked = problem, branch
        self._points = tuple(points)

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return LearningCurve(self.problem, self.asked, self._points[index])
        return self._points[index]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self._points)

    def __repr__(self) -> str:
        span = f"alpha {self._points[0].alpha:g} to {self._points[-1].alpha:g}" if self._points else "empty"
        return f"<LearningCurve {self.asked}, {len(self)} points, {span}>"

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
        return xarray.Dataset(data, coords, attrs={"asked": self.asked, "problem": repr(self.problem)})

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, one row a point (overlap arrays as lists)."""
        import pandas

        return pandas.DataFrame(self.to_dicts())


def readout_grid(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Readout values at which overlaps are reported, and their weights (summing to 1)."""
    law: Any = problem.readouts
    if law.is_discrete:
        return np.asarray(law.values), np.asarray(law.probabilities)
    # Gauss–Legendre over the part of the support that holds all but 1e-9 of the mass.
    reach = min(law.largest, 6.0)
    x, w = np.polynomial.legendre.leggauss(64)
    v = reach * x
    p = w * law.density(v)
    return v, p / p.sum()

"""The table of a yardstick: errors that were measured, those of the theory, and the distance in data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._display import Plotted
from .._version import __version__
from ..networks.comparison import Mean, mean_of
from ..problem import Problem
from .equivalent_data import equivalent_data, theory_errors
from .yardstick_fit import CALIBRATOR, Fits, Plan, measure_of

__all__ = ["COLUMNS", "Yardstick", "compared"]

COLUMNS = (
    "estimator",
    "alpha",
    "d",
    "n",
    "n_seeds",
    "error",
    "standard_error",
    "optimal_error",
    "universal_error",
    "gap",
    "equivalent_alpha",
    "equivalent_share",
    "finite_size",
    "finite_size_standard_error",
    "fit_seconds",
    "peak_memory",
    "n_failed",
    "note",
)
"""Columns of the table; docs/yardstick.md says what each is."""


@dataclass(frozen=True, eq=False)
class Yardstick(Plotted):
    """Estimators against the optimum: a row for each estimator and α, with the words of ``COLUMNS``."""

    problem: Problem
    d: int
    measure: str
    """"excess_error", "zero-one" or "mean-square"."""
    rows: Sequence[Mapping[str, Any]] = field(repr=False)
    version: str = __version__

    @property
    def estimators(self) -> list[str]:
        """Names, in the order given."""
        return list(dict.fromkeys(row["estimator"] for row in self.rows))

    def of(self, estimator: str) -> list[Mapping[str, Any]]:
        """The rows of one estimator, by α."""
        rows = [row for row in self.rows if row["estimator"] == estimator]
        if not rows:
            raise KeyError(f"no estimator {estimator!r}; there are {', '.join(self.estimators)}")
        return rows

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as plain dictionaries."""
        return [dict(row) for row in self.rows]

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, a row for each estimator and α."""
        import pandas

        return pandas.DataFrame(self.to_dicts(), columns=list(COLUMNS))

    def to_xarray(self) -> Any:
        """An xarray Dataset over estimator and α."""
        table = self.to_dataframe().set_index(["estimator", "alpha"]).to_xarray()
        return table.assign_attrs(problem=repr(self.problem), measure=self.measure, version=self.version)

    @property
    def assumption(self) -> str:
        """What the limit takes for granted about the inputs; empty unless they are data."""
        return self.problem.inputs.assumption

    def __str__(self) -> str:
        notes = [f"note: {self.assumption}"] if self.assumption else []
        return "\n".join([*(_sentence(row) for row in self.rows), *notes])


def compared(plan: Plan, names: Iterable[str], fits: Fits) -> list[dict[str, Any]]:
    """The rows of the table: what was measured, with the theory beside it."""
    measure = measure_of(plan.problem)
    optimum, universal = (
        theory_errors(plan.problem, plan.alphas, branch, measure).tolist()
        for branch in ("equilibrium", "universal")
    )
    measured = {key: _mean(outcomes, measure) for key, outcomes in fits.items()}
    rows: list[dict[str, Any]] = []
    for name in names:
        for i, alpha in enumerate(plan.alphas.tolist()):
            mean = measured[name, alpha]
            good = [one for one in fits[name, alpha] if not isinstance(one, str)]
            bad = [one for one in fits[name, alpha] if isinstance(one, str)]
            dear = measured.get((CALIBRATOR, alpha), mean_of([]))
            rows.append(
                {
                    "estimator": name,
                    "alpha": alpha,
                    "d": plan.d,
                    "n": round(alpha * plan.d**2),
                    "n_seeds": len(good),
                    "error": mean.value,
                    "standard_error": mean.standard_error,
                    "optimal_error": optimum[i],
                    "universal_error": universal[i],
                    "gap": mean.value - optimum[i],
                    "finite_size": dear.value / universal[i] - 1,
                    "finite_size_standard_error": dear.standard_error / universal[i],
                    "fit_seconds": _median(good, "fit_seconds"),
                    "peak_memory": _median(good, "peak_memory"),
                    "n_failed": len(bad),
                    "note": bad[0] if bad else "",
                }
            )
    same = equivalent_data(plan.problem, [row["error"] for row in rows], measure)
    for row, equivalent in zip(rows, same, strict=True):
        row["equivalent_alpha"] = equivalent.alpha
        row["equivalent_share"] = equivalent.alpha / row["alpha"]
        row["note"] = row["note"] or equivalent.note
    return [{name: row[name] for name in COLUMNS} for row in rows]


def _mean(outcomes: Sequence[Mapping[str, float] | str], measure: str) -> Mean:
    """Mean error over the instances on which the fit succeeded."""
    return mean_of([one[measure.replace("-", "_")] for one in outcomes if not isinstance(one, str)])


def _median(outcomes: Sequence[Mapping[str, float]], name: str) -> float:
    return float(np.median([one[name] for one in outcomes])) if outcomes else float("nan")


def _sentence(row: Mapping[str, Any]) -> str:
    if not np.isfinite(row["error"]):
        return f"{row['estimator']} at alpha = {row['alpha']:g}: no fit succeeded ({row['note']})"
    text = (
        f"{row['estimator']} at alpha = {row['alpha']:g}: error {row['error']:.4g} ± "
        f"{row['standard_error']:.1g}, optimum {row['optimal_error']:.4g}"
    )
    if row["equivalent_alpha"] == 0 or not np.isfinite(row["equivalent_alpha"]):
        return f"{text}; {row['note']}"
    return f"{text}, which would need {row['equivalent_share']:.2g} times the data for that error"

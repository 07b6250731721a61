"""How wide a student should be: error against its width at several amounts of data, beside the theory.

Students are trained with Adam from random weights, their readouts learnt, the weights of each unit kept at
length √d. Reported are the error of the last network, as in arXiv:2605.10395, and of the one that held-out
samples choose along the run; the best width is chosen by the held-out loss, never by the exact error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._display import Plotted
from ..networks.comparison import mean_of
from ..networks.observables import FOUND
from ..problem import Problem
from ..sweeps.sweep import LearnerSpec, Sweep
from ..theory.scaling import ScalingLaw, scaling_law

if TYPE_CHECKING:
    from ..sweeps.store import Store
    from ..sweeps.task import Task

__all__ = ["SETTINGS", "WidthRow", "WidthStudy", "WidthTable"]

SETTINGS: dict[str, Any] = {
    "iterations": 8000,
    "learning_rate": 0.1,
    "schedule": "cosine",
    "normalise_rows": True,
    "held_out": 0.1,
}
"""Of Adam, unless told otherwise, with at most 500 samples a batch.

Small batches and a falling rate find more features: 24 of 30 at d = 60, n = 28800 and width 30, against 20
with a fifth of the samples in a batch and a constant rate."""

_BATCH = 500


@dataclass(frozen=True)
class WidthRow:
    """Students of one width at one amount of data: means over instances, with their standard errors."""

    n: float
    width: int
    n_instances: int
    excess_error: float
    """Of the network that held-out samples choose."""
    standard_error: float
    last_error: float
    """Of the last network."""
    last_standard_error: float
    held_out_loss: float
    features_found: float
    """Units of the teacher with a cosine above 0.7 with their match in the student."""
    optimal_error: float
    one_draw_error: float
    effective_width: float

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class WidthTable(Plotted):
    """What a study found."""

    problem: Problem = field(repr=False)
    d: int
    rows: Sequence[WidthRow] = field(repr=False)
    law: ScalingLaw = field(repr=False)
    """The theory at the same n."""
    threshold: float = FOUND

    def best_width(self, n: float) -> int:
        """The width of least held-out loss, in the mean over instances."""
        return min((row for row in self.rows if row.n == n), key=lambda row: row.held_out_loss).width

    def to_dicts(self) -> list[dict[str, Any]]:
        return [row.to_dict() | {"is_best": row.width == self.best_width(row.n)} for row in self.rows]

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, one row for each n and width."""
        import pandas

        return pandas.DataFrame(self.to_dicts())


@dataclass(frozen=True)
class WidthStudy:
    """Adam students of several widths on instances of one problem.

    Parameters
    ----------
    problem : Problem
    d : int
    alpha : list
        Samples per d².
    widths : list
        Hidden units of the students.
    seeds : int or list
        Instances at each point.
    settings : dict
        Of Adam, on top of ``SETTINGS``.
    """

    problem: Problem
    d: int
    alpha: Sequence[float]
    widths: Sequence[int]
    seeds: Any = 4
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.widths:
            raise ValueError("widths must not be empty: there would be nothing to compare")
        for width in self.widths:
            if width != int(width) or width < 1:
                raise ValueError(f"widths must be whole numbers >= 1 (units of the student), got {width!r}")

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.widths))
        return f"students of width {sizes}: {self.sweep}"

    @property
    def sweep(self) -> Sweep:
        specs = [self._spec(width) for width in self.widths]
        return Sweep([self.problem], [self.d], self.alpha, self.seeds, specs)

    def _spec(self, width: int) -> LearnerSpec:
        fewest = int(0.25 * min(self.alpha) * self.d**2)
        usual = SETTINGS | {"batch_size": max(1, min(_BATCH, fewest))}
        return LearnerSpec("adam", usual | dict(self.settings) | {"width": int(width)})

    def tasks(self) -> list[Task]:
        return list(self.sweep.tasks())

    def run(self, store: Store | str, **options: Any) -> WidthTable:
        """Run what is missing in the store, and gather the table."""
        from ..sweeps.store import Store as _Store

        kept = store if isinstance(store, _Store) else _Store(store)
        self.sweep.run(kept, **options)
        return self.table(kept)

    def table(self, store: Store) -> WidthTable:
        """What the store has of the study; points without a result are left out."""
        groups: dict[tuple[float, int], list[tuple[float, ...]]] = {}
        for task in self.tasks():
            if task not in store:
                continue
            result = store.read(task)
            if result.status != "done":
                continue
            last = float(np.mean(result.trace["excess_error"][1][:, -1]))
            names = ("excess_error", "held_out_loss", "features_found")
            numbers = tuple(result.scalar(name) for name in names)
            groups.setdefault((task.alpha, int(task.settings["width"])), []).append((*numbers, last))
        amounts = sorted({alpha for alpha, _ in groups})
        law = scaling_law(self.problem, np.array(amounts or [1.0]) * self.d**2, self.d)
        rows = []
        for (alpha, width), found in sorted(groups.items()):
            error, loss, features, last = np.array(found).T
            i = amounts.index(alpha)
            rows.append(
                WidthRow(
                    float(law.n[i]),
                    width,
                    len(found),
                    float(error.mean()),
                    mean_of(error).standard_error,
                    float(last.mean()),
                    mean_of(last).standard_error,
                    float(loss.mean()),
                    float(features.mean()),
                    float(law.excess_error[i]),
                    float(law.one_draw_error[i]),
                    float(law.effective_width[i]),
                )
            )
        return WidthTable(self.problem, self.d, tuple(rows), law)

"""Does the theory hold on real inputs? HMC and Adam on data, and on Gaussian inputs of the same covariance.

Labels are a teacher's on both. Beside the errors stand two theories, of white inputs and of the covariance of
the data. Runs on Gaussian inputs tell what a finite dimension costs; what differs between them and the runs
on data is owed to what the data are beyond their covariance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._bad_value import BadValue
from .._display import Plotted
from ..ingredients.inputs import Gaussian
from ..networks.comparison import mean_of
from ..networks.instance import sample_instance
from ..problem import Problem
from ..sweeps.store import Store
from ..sweeps.sweep import LearnerSpec, Sweep
from ..sweeps.task import Task
from ..theory import learning_curve

__all__ = ["InputRow", "InputStudy", "InputTable"]

_LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "hmc": {"start": "teacher", "iterations": 400},
    "adam": {"start": "random", "iterations": 4000, "held_out": 0.1},
}


@dataclass(frozen=True)
class InputRow:
    """One learner on one kind of inputs at one α."""

    inputs: str
    """"data" or "gaussian"."""
    learner: str
    alpha: float
    excess_error: float
    standard_error: float
    n_seeds: int
    white_theory: float
    """Optimum for white inputs."""
    covariance_theory: float
    """Optimum for Gaussian inputs with the covariance of the data."""


@dataclass(frozen=True, eq=False)
class InputTable(Plotted):
    """The rows of a study of inputs."""

    problem: Problem
    d: int
    rows: Sequence[InputRow] = field(repr=False)

    def of(self, inputs: str, learner: str) -> list[InputRow]:
        """The rows of one learner on one kind of inputs, by α."""
        return [row for row in self.rows if (row.inputs, row.learner) == (inputs, learner)]

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as plain dictionaries."""
        return [dict(vars(row)) for row in self.rows]


class InputStudy:
    """Teachers on data and on Gaussian inputs of the same covariance.

    Parameters
    ----------
    problem : Problem
        With data as inputs, such as ``inputs="photographs:6"``.
    alphas : numbers
    seeds : int or list
        Instances at each α.
    learners : dict
        Settings by the name of the learner; by default HMC from the teacher and Adam from random weights.
    """

    def __init__(
        self,
        problem: Problem,
        alphas: Sequence[float],
        seeds: int | Sequence[int] = 3,
        learners: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if not problem.inputs.is_data:
            raise BadValue(
                "inputs",
                "{field} of this study must be data",
                problem.inputs.name,
                "choose digits, photographs:6, mnist or file:PATH",
            )
        assert problem.inputs.rows is not None
        self.problem, self.d = problem, problem.inputs.rows.shape[1]
        for alpha in alphas:
            sample_instance(problem, self.d, alpha)  # refuses more samples than there are rows
        twin = problem.replace(inputs=Gaussian(problem.inputs.eigenvalues, problem.inputs.probabilities))
        self._problems = {"data": problem, "gaussian": twin}
        self._learners = {**_LEARNERS} if learners is None else dict(learners)
        self._sweeps = {
            (kind, learner): Sweep([one], [self.d], alphas, seeds, [LearnerSpec(learner, settings)])  # type: ignore[arg-type]
            for kind, one in self._problems.items()
            for learner, settings in self._learners.items()
        }

    def __str__(self) -> str:
        first = next(iter(self._sweeps.values()))
        who = ", ".join(self._learners)
        return f"{who} on {self.problem.inputs.name} and on Gaussian inputs of their covariance; {first}"

    def tasks(self) -> list[Task]:
        """Every run."""
        return [task for sweep in self._sweeps.values() for task in sweep.tasks()]

    def table(self, store: Store) -> InputTable:
        """Means over the instances that a store has, beside both theories."""
        alphas = sorted(next(iter(self._sweeps.values())).alpha)
        white, coloured = (
            dict(zip(alphas, learning_curve(one, alphas).excess_error.tolist(), strict=True))
            for one in (self.problem.replace(inputs="isotropic"), self._problems["gaussian"])
        )
        rows = []
        for (kind, learner), sweep in self._sweeps.items():
            found: dict[float, list[float]] = {alpha: [] for alpha in alphas}
            for task in sweep.tasks():
                if task in store and (result := store.read(task)).status == "done":
                    found[task.alpha].append(result.scalar("excess_error"))
            for alpha, errors in found.items():
                mean = mean_of(errors)
                if mean.n:
                    rows.append(
                        InputRow(
                            kind,
                            learner,
                            alpha,
                            mean.value,
                            mean.standard_error,
                            mean.n,
                            white[alpha],
                            coloured[alpha],
                        )
                    )
        return InputTable(self.problem, self.d, rows)

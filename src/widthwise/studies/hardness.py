"""How long learners take to leave the universal branch, as a function of d.

Time to threshold: HMC iterations until the centred matrix overlap exceeds q₂*, or gradient updates of Adam
until the moving average of its test loss falls below ε*, with the batch size ⌊n/2^p⌋ that is best at each d
(appendix "Algorithmic complexity of finding the specialisation solution" of arXiv:2505.24849). Runs that
never cross are censored at the time they ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from .._bad_value import plural
from ..problem import Problem
from ..sweeps.store import Store
from ..sweeps.task import Task
from ..theory import solve
from .survival import LAWS, TimeFit, Times, bootstrap, chi_square, fit_times

__all__ = [
    "Crossing",
    "HardnessRow",
    "HardnessStudy",
    "analyse",
    "batch_sizes",
    "crossing_time",
    "with_best_batch",
]

_SETTINGS = {
    # As in the paper: 10 leapfrog steps in the weights themselves, a step size that adapts from 0.01.
    "hmc": {"start": "random", "kernel": "plain", "n_leapfrog": 10, "step_size": 0.01},
    "adam": {"start": "random", "learning_rate": 0.05},
}
_WINDOW = {"hmc": 1, "adam": 10}  # iterations of the moving average
# Where the thresholds of the paper lie between the universal and the specialised overlap (HMC, homogeneous
# readouts), and as shares of the universal error (Adam).
_BETWEEN = (0.35, 0.4, 0.45)
_LEAST_RISE = 0.02  # of the overlap: thresholds closer than this to both branches say nothing
_SHARES = (0.657, 0.822, 0.986)


def batch_sizes(n: int) -> list[int]:
    """⌊n/2^p⌋ for p = 2, ..., ⌊log₂ n⌋ - 1."""
    return [n >> p for p in range(2, int(math.log2(n)))]


def crossing_time(
    iterations: np.ndarray, values: np.ndarray, threshold: float, *, is_above: bool, window: int = 1
) -> float:
    """First iteration at which the mean of the last ``window`` values is beyond the threshold; NaN if never.

    The start (iteration 0) does not count: a run that begins beyond has crossed at the first record.
    """
    values = np.asarray(values, dtype=float)
    total = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, values.size + 1)
    starts = np.maximum(ends - window, 0)
    mean = (total[ends] - total[starts]) / (ends - starts)
    beyond = (mean > threshold if is_above else mean < threshold) & (np.asarray(iterations) > 0)
    return float(np.asarray(iterations)[np.argmax(beyond)]) if beyond.any() else math.nan


@dataclass(frozen=True)
class Crossing:
    """When one run crossed one threshold."""

    readouts: str
    threshold: float
    d: int
    seed: int
    time: float
    """Iterations until it crossed, or until it ended."""
    is_censored: bool
    batch_size: int | None = None


@dataclass(frozen=True)
class HardnessStudy:
    """Runs of one learner on one problem at several d, and the thresholds they are to cross.

    Parameters
    ----------
    problem : Problem
    learner : "hmc" or "adam"
    d, seeds : lists
    alpha : float
    iterations, record_every : int
        Length of a run, and how often it is looked at (times are known to that many iterations).
    thresholds : list
        Of the centred matrix overlap (HMC) or the test loss with its noise (Adam); unless given, those of the
        paper carried over by the theory: see :meth:`default_thresholds`.
    """

    problem: Problem
    learner: str
    d: Sequence[int]
    seeds: Sequence[int]
    alpha: float
    iterations: int
    record_every: int = 1
    thresholds: Sequence[float] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.learner not in _SETTINGS:
            raise ValueError(f"learner must be 'hmc' or 'adam' for a study of hardness, got {self.learner!r}")
        if not self.thresholds:
            object.__setattr__(self, "thresholds", self.default_thresholds())

    def default_thresholds(self) -> tuple[float, ...]:
        """Between the universal branch and the optimum, where the paper's are."""
        universal = solve(self.problem, self.alpha, branch="universal")
        best = solve(self.problem, self.alpha)
        if best.branch == "universal" or not universal.is_converged:
            raise ValueError(
                f"at alpha = {self.alpha:g} the optimum is the universal branch: there is nothing to cross; "
                "raise alpha, or give thresholds"
            )
        if self.learner == "hmc":
            low, high = universal.matrix_overlap_centred, best.matrix_overlap_centred
            if high - low < _LEAST_RISE:
                raise ValueError(
                    f"at alpha = {self.alpha:g} the overlap of the optimum, {high:.4g}, is too close to that "
                    f"of the universal branch, {low:.4g}, to see a run cross over; raise alpha, choose "
                    "another problem (sigma3 has a wide gap), or give thresholds"
                )
            return tuple(low + share * (high - low) for share in _BETWEEN)
        noise = _noise(self.problem, self.alpha)
        return tuple(noise + share * universal.excess_error for share in _SHARES)

    def __str__(self) -> str:
        goal = "overlap" if self.learner == "hmc" else "test loss"
        return (
            f"{self.learner} on {self.problem!r}, alpha = {self.alpha:g}, d = {', '.join(map(str, self.d))}, "
            f"{plural(len(self.seeds), 'instance')} of each, "
            f"{plural(self.iterations, 'iteration')}; when does the {goal} cross "
            f"{', '.join(f'{level:.4g}' for level in self.thresholds)}?"
        )

    def tasks(self) -> list[Task]:
        """The runs; for Adam, one for each batch size."""
        tasks = []
        for d in self.d:
            n = round(self.alpha * d**2)
            for batch in batch_sizes(n) if self.learner == "adam" else [None]:
                settings = {**_SETTINGS[self.learner], "iterations": self.iterations}
                settings |= {"record_every": self.record_every}
                if self.learner == "hmc":
                    settings["n_warmup"] = self.iterations  # the step size adapts all along
                settings |= self.settings
                settings |= {} if batch is None else {"batch_size": batch}
                tasks += [Task(self.problem, d, self.alpha, s, self.learner, settings) for s in self.seeds]
        return tasks

    def crossings(self, store: Store, readouts: str = "") -> list[Crossing]:
        """When the runs in a store crossed; at each d those with the batch size that is fastest there."""
        label = readouts or str(self.problem.readouts.name)
        found = []
        entries = store.entries()
        for task in self.tasks():
            if task.key in entries and entries[task.key].status == "done":
                trace = store.read(task).trace
                found += [self._crossing(trace, task, level, label) for level in self.thresholds]
        return with_best_batch(found)

    def _crossing(self, trace: dict[str, Any], task: Task, threshold: float, label: str) -> Crossing:
        name = "matrix_overlap_centred" if self.learner == "hmc" else "excess_error"
        values = trace[name][1].mean(axis=0)
        if self.learner == "adam":
            values = values + _noise(self.problem, self.alpha)
        iterations = trace["draw"][1]
        window = max(1, round(_WINDOW[self.learner] / self.record_every))
        time = crossing_time(iterations, values, threshold, is_above=self.learner == "hmc", window=window)
        is_censored = math.isnan(time)
        end = float(iterations[-1]) if is_censored else time
        return Crossing(
            label, threshold, task.d, task.seed, end, is_censored, task.settings.get("batch_size")
        )


@lru_cache(maxsize=32)
def _noise(problem: Problem, alpha: float) -> float:
    """The part of the test loss that no learner can avoid."""
    universal = solve(problem, alpha, branch="universal")
    return universal.bayes_error - universal.excess_error


def with_best_batch(crossings: Iterable[Crossing]) -> list[Crossing]:
    """At each (threshold, d) the batch size of least mean time; what did not cross counts with its length."""
    groups: dict[Any, dict[Any, list[Crossing]]] = {}
    for one in crossings:
        where = groups.setdefault((one.threshold, one.d), {})
        where.setdefault(one.batch_size, []).append(one)
    best = []
    for by_batch in groups.values():
        best += min(by_batch.values(), key=lambda group: float(np.mean([one.time for one in group])))
    return best


@dataclass(frozen=True)
class HardnessRow:
    """Both laws at one threshold of one readout law."""

    readouts: str
    threshold: float
    law: str
    n_runs: int
    n_censored: int
    chi_square: float
    """As the paper's, over the d at which every run crossed; NaN if these are fewer than three."""
    a: float
    b: float
    low: float
    high: float
    """Interval of 95 % for the exponent: a of exp(ad + b), b of a d^b."""
    log_likelihood: float
    aic: float
    preferred: float
    """Share of bootstrap samples in which this law is the likelier."""

    def to_dict(self) -> dict[str, Any]:
        """The row of a table."""
        return asdict(self)


def analyse(crossings: Sequence[Crossing], *, n_bootstrap: int = 400, seed: int = 0) -> list[HardnessRow]:
    """Fits of both laws for every readout law and threshold."""
    rows = []
    for readouts, threshold in dict.fromkeys((one.readouts, one.threshold) for one in crossings):
        chosen = [one for one in crossings if (one.readouts, one.threshold) == (readouts, threshold)]
        times = Times.of(*zip(*[(one.d, one.time, one.is_censored) for one in chosen], strict=True))
        if np.ptp(times.time) == 0:
            raise ValueError(
                f"all runs passed the threshold {threshold:g} at one time, {times.time[0]:g}: no law can "
                "be fitted; look at them more often, or move the threshold"
            )
        intervals = bootstrap(times, n_samples=n_bootstrap, seed=seed)
        for law in LAWS:
            fit = fit_times(times, law)
            rows.append(_row(readouts, threshold, times, fit, intervals[law]))
    return rows


def _row(
    readouts: str, threshold: float, times: Times, fit: TimeFit, interval: dict[str, float]
) -> HardnessRow:
    return HardnessRow(
        readouts,
        threshold,
        fit.law,
        times.d.size,
        int(times.is_censored.sum()),
        _chi_square(times, fit.law),
        fit.a,
        fit.b,
        interval["low"],
        interval["high"],
        fit.log_likelihood,
        fit.aic,
        interval["preferred"],
    )


def _chi_square(times: Times, law: str) -> float:
    """The paper's statistic, without the d at which some run never crossed: the mean of the others is low."""
    whole = [d for d in np.unique(times.d) if not times.is_censored[times.d == d].any()]
    groups = [times.time[times.d == d] for d in whole]
    if len(groups) < 3 or any(group.size < 2 or np.ptp(group) == 0 for group in groups):
        return math.nan
    mean, std = [group.mean() for group in groups], [group.std() for group in groups]
    return chi_square(whole, mean, std, law)[2]

"""The yardstick: how far any estimator is from the optimum, on data of a problem.

All estimators see the same teachers, inputs and labels. Beside the error of each stand the Bayes-optimal one,
that of the universal branch (polynomial time), the gap, and the data that the optimum would need for the same
error. The theory is for d → ∞: GAMP-RIE, run on the same data, says how much d costs (``finite_size``).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._extras import explained
from .._shown import Plotted
from .._version import __version__
from ..problem import Problem
from .equivalent_data import equivalent_data, theory_errors
from .estimators import READY_MADE, name_of, resolve
from .instance import sample_instance
from .sweep import LearnerSpec, Sweep, seed_list
from .yardstick_fit import LEARNER, N_TEST, fit, measure_of

__all__ = ["COLUMNS", "Yardstick", "yardstick"]

CALIBRATOR = "gamp-rie"

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

    def __str__(self) -> str:
        return "\n".join(_sentence(row) for row in self.rows)


@explained
def yardstick(
    estimators: Any,
    problem: Problem,
    d: int,
    alphas: ArrayLike,
    seeds: int | Sequence[int] = 3,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    n_test: int = N_TEST,
    store: Any = None,
    cluster: str | None = None,
    n_workers: int | None = None,
    is_calibrated: bool = True,
    progress: bool | Callable[[str], Any] | None = None,
) -> Yardstick:
    """Train estimators on teacher–student data and say how far each is from the optimum.

    Parameters
    ----------
    estimators : str, object or list
        Ready-made entries (ridge, quadratic-ridge, kernel-ridge, random-features, gradient-boosting, mlp,
        adam, gamp-rie, hmc), objects with ``fit`` and ``predict``, or paths ``package.module:factory``.
    problem : Problem
    d : int
        Dimension of the inputs.
    alphas : number or list
        Samples per d².
    seeds : int or list
        Instances for each α (a number stands for 0, 1, ... up to it); all estimators see the same.
    options : dict
        Arguments of factories and learners, by the name of the entry, e.g. ``{"hmc": {"iterations": 500}}``.
    n_test : int
        Fresh inputs on which errors are measured, for each fit.
    store : Store or folder
        Keep every fit, and fit nothing twice; for names and import paths. See ``Sweep.run``.
    cluster, n_workers
        Where to run, with a store: a Dask scheduler's address, or so many local processes.
    is_calibrated : bool
        Run GAMP-RIE too, to see what the finite dimension costs.
    progress : bool or function
        Whether to talk on stderr; or a function of a line.

    Returns
    -------
    Yardstick
        A fit that fails is counted in ``n_failed`` and named in ``note``, and the others go on.
    """
    entries = _listed(estimators)
    for entry in entries:
        resolve(entry)
    names = _names(entries)
    options = dict(options or {})
    unknown = [name for name in options if name not in names]
    if unknown:
        raise ValueError(f"options are given for {unknown[0]!r}, which is not among {', '.join(names)}")
    grid = np.atleast_1d(np.asarray(alphas, dtype=float))
    chosen = seed_list(seeds)
    if is_calibrated and CALIBRATOR not in names:
        runs = {**dict(zip(names, entries, strict=True)), CALIBRATOR: CALIBRATOR}
    else:
        runs = dict(zip(names, entries, strict=True))
    plan = _Plan(problem, int(d), grid, chosen, runs, options, int(n_test))
    if store is None:
        fits = plan.fit_here(progress)
    else:
        fits = plan.fit_in_store(store, cluster, n_workers, progress)
    return Yardstick(problem, int(d), measure_of(problem), plan.rows(names, fits))


Fits = dict[tuple[str, float], list[Mapping[str, float] | str]]


@dataclass(frozen=True)
class _Plan:
    problem: Problem
    d: int
    alphas: np.ndarray
    seeds: tuple[int, ...]
    entries: dict[str, Any]
    options: Mapping[str, Mapping[str, Any]]
    n_test: int

    def fit_here(self, progress: bool | Callable[[str], Any] | None) -> Fits:
        """One after the other in this process: each instance is drawn once, for all."""
        talk = progress if callable(progress) else _talk if progress else None
        fits: Fits = {(name, alpha): [] for name in self.entries for alpha in self.alphas.tolist()}
        for alpha in self.alphas.tolist():
            for seed in self.seeds:
                instance = sample_instance(self.problem, self.d, alpha, seed)
                for name, entry in self.entries.items():
                    outcome: Mapping[str, float] | str
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")  # an estimator's own doubts show in its error
                            outcome = fit(
                                instance,
                                estimator=entry,
                                options=self.options.get(name),
                                n_test=self.n_test,
                                seed=seed,
                            )
                    except ModuleNotFoundError:
                        raise  # would fail every time
                    except Exception as problem:
                        outcome = f"{type(problem).__name__}: {problem}"
                    fits[name, alpha].append(outcome)
                    if talk is not None:
                        talk(f"{name} alpha={alpha:g} seed={seed}")
        return fits

    def fit_in_store(self, store: Any, cluster: str | None, n_workers: int | None, progress: Any) -> Fits:
        """Through a sweep: only what the store has not, on processes or a cluster."""
        from .store import Store

        bare = [name for name, entry in self.entries.items() if not isinstance(entry, str)]
        if bare:
            raise ValueError(
                f"{bare[0]} is an object and a store keeps only what it can describe; give it as an import "
                "path package.module:factory, or leave out the store"
            )
        store = store if isinstance(store, Store) else Store(os.fspath(store))
        by_name: dict[str, Sweep] = {}
        for name, entry in self.entries.items():
            settings = {"estimator": entry, "n_test": self.n_test}
            if self.options.get(name):
                settings["options"] = dict(self.options[name])
            spec = LearnerSpec(LEARNER, settings)
            by_name[name] = Sweep([self.problem], [self.d], self.alphas.tolist(), self.seeds, [spec])
        from .driver import run_tasks

        tasks = [task for sweep in by_name.values() for task in sweep.tasks()]
        run_tasks(
            tasks,
            store,
            cluster=cluster,
            n_workers=n_workers,
            progress=False if progress is None else progress,
        )
        fits: Fits = {(name, alpha): [] for name in self.entries for alpha in self.alphas.tolist()}
        for name, sweep in by_name.items():
            for task in sweep.tasks():
                result = store.read(task)
                numbers = {key: float(value) for key, (_, value) in result.values.items()}
                fits[name, task.alpha].append(numbers if result.status == "done" else result.error)
        return fits

    def rows(self, names: Iterable[str], fits: Fits) -> list[dict[str, Any]]:
        measure = measure_of(self.problem)
        optimum, universal = (
            theory_errors(self.problem, self.alphas, branch, measure).tolist()
            for branch in ("equilibrium", "universal")
        )
        measured = {key: _mean(outcomes, measure) for key, outcomes in fits.items()}
        rows: list[dict[str, Any]] = []
        for name in names:
            for i, alpha in enumerate(self.alphas.tolist()):
                value, scatter = measured[name, alpha]
                good = [one for one in fits[name, alpha] if not isinstance(one, str)]
                bad = [one for one in fits[name, alpha] if isinstance(one, str)]
                dear, dear_scatter = measured.get((CALIBRATOR, alpha), (np.nan, np.nan))
                rows.append(
                    {
                        "estimator": name,
                        "alpha": alpha,
                        "d": self.d,
                        "n": round(alpha * self.d**2),
                        "n_seeds": len(good),
                        "error": value,
                        "standard_error": scatter,
                        "optimal_error": optimum[i],
                        "universal_error": universal[i],
                        "gap": value - optimum[i],
                        "finite_size": dear / universal[i] - 1,
                        "finite_size_standard_error": dear_scatter / universal[i],
                        "fit_seconds": _median(good, "fit_seconds"),
                        "peak_memory": _median(good, "peak_memory"),
                        "n_failed": len(bad),
                        "note": bad[0] if bad else "",
                    }
                )
        same = equivalent_data(self.problem, [row["error"] for row in rows], measure)
        for row, equivalent in zip(rows, same, strict=True):
            row["equivalent_alpha"] = equivalent.alpha
            row["equivalent_share"] = equivalent.alpha / row["alpha"]
            row["note"] = row["note"] or equivalent.note
        return [{name: row[name] for name in COLUMNS} for row in rows]


def _mean(outcomes: Sequence[Mapping[str, float] | str], measure: str) -> tuple[float, float]:
    """Mean error over instances, and its standard error (NaN for one instance)."""
    name = measure.replace("-", "_")
    values = np.array([one[name] for one in outcomes if not isinstance(one, str)])
    if values.size == 0:
        return float("nan"), float("nan")
    scatter = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return float(values.mean()), float(scatter)


def _median(outcomes: Sequence[Mapping[str, float]], name: str) -> float:
    return float(np.median([one[name] for one in outcomes])) if outcomes else float("nan")


def _listed(estimators: Any) -> list[Any]:
    entries = list(estimators) if isinstance(estimators, (list, tuple)) else [estimators]
    if not entries:
        raise ValueError(f"there is no estimator; give one, or choose from {', '.join(READY_MADE)}")
    return entries


def _names(entries: Sequence[Any]) -> list[str]:
    """One name for each: that of its class, numbered where two share it."""
    bare = [name_of(entry) for entry in entries]
    seen: dict[str, int] = {}
    names = []
    for name in bare:
        seen[name] = seen.get(name, 0) + 1
        names.append(f"{name}-{seen[name]}" if bare.count(name) > 1 else name)
    return names


def _talk(line: str) -> None:
    import sys

    print(line, file=sys.stderr)


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

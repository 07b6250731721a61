"""The yardstick: how far any estimator is from the optimum, on data of a problem.

All estimators see the same teachers, inputs and labels. Beside the error of each stand the Bayes-optimal one,
that of the universal branch (polynomial time), the gap, and the data that the optimum would need for the same
error. The theory is for d → ∞: GAMP-RIE, run on the same data, says how much d costs (``finite_size``).
On data the limit is that of Gaussian inputs with their covariance, which ``assumption`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._extras import explained
from ..problem import Problem
from ..sweeps.sweep import seed_list
from .estimators import READY_MADE, name_of, resolve
from .yardstick_fit import CALIBRATOR, N_TEST, Plan, measure_of
from .yardstick_table import COLUMNS, Yardstick, compared

__all__ = ["COLUMNS", "Yardstick", "yardstick"]


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
        Run GAMP-RIE too, to see what the finite dimension costs; for white inputs only.
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
    chosen = tuple(seed_list(seeds))
    if is_calibrated and problem.inputs.is_isotropic and CALIBRATOR not in names:
        runs = {**dict(zip(names, entries, strict=True)), CALIBRATOR: CALIBRATOR}
    else:
        runs = dict(zip(names, entries, strict=True))
    plan = Plan(problem, int(d), grid, chosen, runs, options, int(n_test))
    if store is None:
        fits = plan.fit_here(progress)
    else:
        fits = plan.fit_in_store(store, cluster, n_workers, progress)
    return Yardstick(problem, int(d), measure_of(problem), compared(plan, names, fits))


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

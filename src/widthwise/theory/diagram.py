"""Phase diagrams: the equilibrium and its rivals over two parameters, and the lines between phases.

A column (all α of one problem) is one batch of the solver and one task for a worker process.  Lines
are not read off the grid: where α is an axis they are :func:`transitions` of each problem, elsewhere
a change of phase between neighbours is bracketed and narrowed.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from .factorised import factorised_transition
from .solution import Solution
from .solver import THEORIES, all_solutions, exact_reason, readout_classes
from .transitions import Transition, transitions

__all__ = ["phase_diagram"]

LINE_RTOL = 1e-7
"""Relative accuracy to which changes of phase are located between problems."""

# Either side of every birth and fold is looked at besides, so that Maxwell points are not missed; 120
# values, the default of ``transitions``, make a diagram take half as long again.
_N_GRID = 20
_BEYOND = 1.5  # lines are followed up to this many times the largest α: so they leave the frame

_CONTINUOUS_SIZES = np.array([2.0, 1.0, 0.5])
_NOT_DONE = "not computed"
_NUMBERS = (
    "excess_error",
    "universal_error",
    "gap",
    "matrix_overlap_centred",
    "free_entropy",
    "mutual_information",
)
_COUNTS = ("n_specialised", "n_solutions", "n_stable")
_FLAGS = ("is_universal_stable", "has_specialised", "has_stable_specialised")
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


def phase_diagram(
    problem: Problem,
    *,
    alpha: ArrayLike,
    gamma: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    parameter: Callable[[float], Problem] | None = None,
    values: ArrayLike | None = None,
    name: str = "parameter",
    theory: str = "main",
    has_lines: bool = True,
    n_workers: int | None = None,
    show_progress: bool = False,
) -> Any:
    """The equilibrium over two of α, γ, noise and a parameter of your own, as an xarray Dataset.

    Parameters
    ----------
    problem : Problem
        What is not varied.
    alpha : array, or a number
        Samples per squared dimension. As a number it is held fixed, and two others are varied.
    gamma, noise : array, optional
        Hidden units per input k/d; variance of Gaussian label noise.
    parameter : callable, optional
        Gives the problem at each of ``values``, for anything else, e.g.
        ``lambda p: problem.replace(weights=ww.weights.SparseGaussian(p))``, with ``name`` as its
        axis. With ``gamma`` or ``noise`` too, these replace those of the problem it returns.
    has_lines : bool
        Whether to locate the transitions (the larger part of the work).
    n_workers : int, optional
        Worker processes; by default one for each core. 1 works in this process.
    show_progress : bool
        A progress bar on stderr.

    Returns
    -------
    xarray.Dataset
        Over the two axes: ``excess_error``, ``universal_error``, their difference ``gap``, ``branch``,
        ``weight_overlap`` (with a dimension ``size`` of |readouts|), ``n_specialised``, which branches
        exist and are stable, ``status``. With α as an axis also the lines, over the other axis and
        ``line``: ``transition_alpha`` with ``transition_kind``, spinodals and jumps, NaN where a line
        does not exist up to 1.5 times the largest α. At fixed α: ``line_first`` and ``line_second``, points
        on the lines with ``line_phase``, the number of classes learnt on either side.

    Ctrl-C keeps what is done: the rest is NaN with status "not computed", and the attribute
    ``is_complete`` is 0.
    """
    plan = _plan(problem, alpha, gamma, noise, parameter, values, name, theory)
    n_workers = _workers(n_workers, len(plan.rows))
    results: dict[int, list[_Column]] = {}
    lines: dict[int, list[tuple[float, int, int]]] = {}
    is_complete = True
    with _bar(show_progress, len(plan.rows)) as advance:
        try:
            with closing(_run(plan, has_lines, n_workers)) as done:
                for i, row, crossings in done:
                    results[i], lines[i] = row, crossings
                    advance()
        except KeyboardInterrupt:
            is_complete = False
    return _dataset(plan, results, lines, has_lines, is_complete)


# --- what is to be done --------------------------------------------------------------------------


@dataclass
class _Plan:
    """Rows of problems (one task each) and the values of α that all share."""

    problem: Problem
    axes: dict[str, np.ndarray]
    rows: list[list[Problem]]
    alpha: np.ndarray
    theory: str
    parameter: Callable[[float], Problem] | None
    name: str

    @property
    def has_alpha_axis(self) -> bool:
        return "alpha" in self.axes

    def make(self, at: dict[str, float]) -> Problem:
        """The problem at a point of the axes other than α."""
        made = self.problem if self.parameter is None else self.parameter(at[self.name])
        changes: dict[str, float] = {}
        if "gamma" in at:
            changes["gamma"] = at["gamma"]
        if "noise" in at:
            changes["channel"] = at["noise"]
        return made.replace(**changes) if changes else made


def _plan(
    problem: Problem,
    alpha: ArrayLike,
    gamma: ArrayLike | None,
    noise: ArrayLike | None,
    parameter: Callable[[float], Problem] | None,
    values: ArrayLike | None,
    name: str,
    theory: str,
) -> _Plan:
    if theory not in THEORIES:
        raise ValueError(f"unknown theory {theory!r}; choose from {', '.join(THEORIES)}")
    if (parameter is None) != (values is None):
        raise ValueError("give parameter, a callable from a value to a Problem, together with its values")
    if name in ("alpha", "gamma", "noise", "size", "line"):
        raise ValueError(f"the axis of a parameter cannot be called {name!r}; choose another name")
    axes: dict[str, np.ndarray] = {}
    if gamma is not None:
        axes["gamma"] = _axis("gamma", gamma)
    if noise is not None:
        axes["noise"] = _axis("noise", noise)
    if parameter is not None and values is not None:
        axes[name] = _axis(name, values, is_positive=False)
    alphas = np.asarray(alpha, dtype=float)
    if alphas.ndim:
        axes["alpha"] = _axis("alpha", alphas)
    elif not (alphas > 0 and np.isfinite(alphas)):
        raise ValueError(
            f"alpha must be > 0 and finite (samples per squared dimension, n/d^2); got {float(alphas):g}"
        )
    if len(axes) != 2:
        raise ValueError(
            f"a diagram has two axes, here {len(axes)}"
            f"{' (' + ', '.join(axes) + ')' if axes else ''}: "
            "give arrays for two of alpha, gamma, noise and parameter"
        )

    plan = _Plan(problem, axes, [], np.atleast_1d(alphas), theory, parameter, name)
    others = [key for key in axes if key != "alpha"]
    if len(others) == 1:
        plan.rows = [[plan.make({others[0]: float(x)})] for x in axes[others[0]]]
    else:
        first, second = others
        plan.rows = [
            [plan.make({first: float(x), second: float(y)}) for y in axes[second]] for x in axes[first]
        ]
    return plan


def _axis(name: str, values: ArrayLike, *, is_positive: bool = True) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"{name} must be a list of two values or more for an axis, got shape {array.shape}")
    bad = ~np.isfinite(array) | ((array <= 0) if is_positive else False)
    if bad.any():
        raise ValueError(f"{name} must be {'> 0 and ' if is_positive else ''}finite; got {array[bad][0]:g}")
    if np.unique(array).size < array.size:
        raise ValueError(f"{name} has the same value twice")
    return np.sort(array)


def _workers(n_workers: int | None, n_tasks: int) -> int:
    if n_workers is None:
        n_workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_workers != int(n_workers) or n_workers < 1:
        raise ValueError(f"n_workers must be a whole number >= 1, got {n_workers!r}")
    return min(int(n_workers), n_tasks)


# --- doing it ------------------------------------------------------------------------------------


@dataclass
class _Column:
    """One problem at all α."""

    fields: dict[str, np.ndarray]
    overlap: np.ndarray
    branch: list[str]
    status: list[str]
    lines: list[Transition]


_SHARED: tuple[_Plan, bool] | None = None  # of a worker process


def _run(
    plan: _Plan, has_lines: bool, n_workers: int
) -> Generator[tuple[int, list[_Column], list[tuple[float, int, int]]], None, None]:
    import multiprocessing

    # Forked workers inherit the plan, callables included; what is forked must not hold JAX's threads.
    # Fresh workers are sent it, which functions of the caller do not survive: then this process works.
    can_fork = "fork" in multiprocessing.get_all_start_methods() and "jax" not in sys.modules
    plan_sent = plan if can_fork else _without_functions(plan, has_lines)
    if n_workers == 1 or plan_sent is None:
        for i in range(len(plan.rows)):
            yield i, *_row(plan, has_lines, i)
        return
    context = multiprocessing.get_context("fork" if can_fork else "spawn")
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(n_workers, context, initializer=_begin, initargs=(plan_sent, has_lines))
    try:
        tasks: dict[Future, int] = {pool.submit(_task, i): i for i in _spread(len(plan.rows))}
        for done in as_completed(tasks):
            yield tasks[done], *done.result()
    except BaseException:  # do not wait for columns that nobody will read
        for child in set(multiprocessing.active_children()) - set(others):
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _without_functions(plan: _Plan, has_lines: bool) -> _Plan | None:
    """The plan without functions of the caller, or None where they are needed."""
    needs_parameter = plan.parameter is not None and has_lines and not plan.has_alpha_axis
    if needs_parameter or any(p.activation.spec is None for row in plan.rows for p in row):
        return None
    return replace(plan, parameter=None)


def _spread(n: int) -> list[int]:
    """Every fourth row first, so that what an interrupt leaves covers the whole range."""
    return [i for start in range(4) for i in range(start, n, 4)]


def _begin(plan: _Plan, has_lines: bool) -> None:
    import signal

    global _SHARED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    _SHARED = (plan, has_lines)


def _task(i: int) -> tuple[list[_Column], list[tuple[float, int, int]]]:
    assert _SHARED is not None
    return _row(*_SHARED, i)


def _row(plan: _Plan, has_lines: bool, i: int) -> tuple[list[_Column], list[tuple[float, int, int]]]:
    has_alpha = plan.has_alpha_axis
    columns = [_column(p, plan.alpha, plan.theory, has_lines and has_alpha) for p in plan.rows[i]]
    crossings = _crossings(plan, i, columns) if has_lines and not has_alpha else []
    return columns, crossings


def _column(problem: Problem, alpha: np.ndarray, theory: str, has_lines: bool) -> _Column:
    sizes = _sizes(problem)
    n = alpha.size
    fields = {name: np.full(n, np.nan) for name in (*_NUMBERS, *_COUNTS, *_FLAGS)}
    overlap = np.full((n, sizes.size), np.nan)
    branch, status = [""] * n, ["did not converge"] * n
    for i, found in enumerate(all_solutions(problem, alpha, theory)):
        best = next((s for s in found if s.is_equilibrium), None)
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
    return _Column(
        fields,
        overlap,
        branch,
        status,
        _lines(problem, _BEYOND * float(alpha.max()), theory) if has_lines else [],
    )


def _lines(problem: Problem, alpha_max: float, theory: str) -> list[Transition]:
    if theory == "factorised":
        at = factorised_transition(problem, alpha_max)
        return [Transition(problem.readouts.largest, at, "first-order")] if math.isfinite(at) else []
    # Where the exact answer is the universal branch the potential's own transitions mean nothing.
    return [] if exact_reason(problem) else list(transitions(problem, alpha_max, n_grid=_N_GRID))


def _crossings(plan: _Plan, i: int, columns: list[_Column]) -> list[tuple[float, int, int]]:
    """At fixed α: where along the second axis the number of classes learnt changes."""
    (first, xs), (second, ys) = plan.axes.items()

    def phase_at(y: float) -> int:
        made = plan.make({first: float(xs[i]), second: y})
        column = _column(made, plan.alpha, plan.theory, False)
        return int(np.nan_to_num(column.fields["n_specialised"][0], nan=-1))

    phases = [int(np.nan_to_num(c.fields["n_specialised"][0], nan=-1)) for c in columns]
    found = []
    for j in range(ys.size - 1):
        low, high, at_low, at_high = ys[j], ys[j + 1], phases[j], phases[j + 1]
        if at_low == at_high or min(at_low, at_high) < 0:
            continue
        while high - low > LINE_RTOL * max(abs(low), abs(high)):
            middle = 0.5 * (low + high)
            if phase_at(middle) == at_low:
                low = middle
            else:
                high = middle
        found.append((0.5 * (low + high), at_low, at_high))
    return found


def _sizes(problem: Problem) -> np.ndarray:
    """|readouts| at which overlaps are reported, largest first."""
    classes = readout_classes(problem)
    return _CONTINUOUS_SIZES if classes is None else np.sqrt(classes[0])


def _overlaps(solution: Solution, sizes: np.ndarray) -> np.ndarray:
    v = np.abs(solution.readout_values)
    if solution.problem.readouts.is_discrete:
        return solution.weight_overlap[np.argmin(np.abs(v[:, None] - sizes), axis=0)]
    order = np.argsort(v)
    return np.interp(sizes, v[order], solution.weight_overlap[order])


def _n_specialised(solution: Solution, sizes: np.ndarray) -> int:
    if solution.problem.readouts.is_discrete:
        return int(np.sum(_overlaps(solution, sizes) > 0))
    return int(solution.branch == "specialised")


# --- the dataset ---------------------------------------------------------------------------------


def _dataset(
    plan: _Plan,
    results: dict[int, list[_Column]],
    crossings: dict[int, list[tuple[float, int, int]]],
    has_lines: bool,
    is_complete: bool,
) -> Any:
    import xarray

    names = list(plan.axes)
    shape = tuple(axis.size for axis in plan.axes.values())
    sizes = _sizes(plan.rows[0][0])
    is_one_law = all(
        _sizes(p).shape == sizes.shape and np.allclose(_sizes(p), sizes) for r in plan.rows for p in r
    )
    n_sizes = max(_sizes(p).size for r in plan.rows for p in r)
    numbers = {name: np.full(shape, np.nan) for name in (*_NUMBERS, *_COUNTS, *_FLAGS)}
    overlap = np.full((*shape, n_sizes), np.nan)
    branch = np.full(shape, "", dtype="<U11")
    status = np.full(shape, _NOT_DONE, dtype="<U24")
    for i, columns in results.items():
        for j, column in enumerate(columns):
            at: Any = i if plan.has_alpha_axis else (i, j)
            pick: Any = slice(None) if plan.has_alpha_axis else 0
            for name, grid in numbers.items():
                grid[at] = column.fields[name][pick]
            overlap[(*np.atleast_1d(at), ..., slice(0, column.overlap.shape[1]))] = column.overlap[pick]
            branch[at] = np.array(column.branch)[pick]
            status[at] = np.array(column.status)[pick]
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
    if has_lines and plan.has_alpha_axis:
        data |= _line_data(plan, results, names[0], coords)
    elif has_lines:
        points = [
            (float(plan.axes[names[0]][i]), *point) for i in sorted(crossings) for point in crossings[i]
        ]
        data["line_first"] = ("point", np.array([p[0] for p in points]), {"long_name": names[0]})
        data["line_second"] = ("point", np.array([p[1] for p in points]), {"long_name": names[1]})
        data["line_phase"] = (("point", "side"), np.array([p[2:] for p in points], dtype=int).reshape(-1, 2))
    attrs = {
        "problem": repr(plan.problem),
        "theory": plan.theory,
        "varied": ", ".join(names),
        "is_complete": int(is_complete),
        "n_failed": int(np.sum(status == "did not converge")),
    }
    if not plan.has_alpha_axis:
        attrs["alpha"] = float(plan.alpha[0])
    return xarray.Dataset(data, coords, attrs)


def _line_data(
    plan: _Plan, results: dict[int, list[_Column]], axis: str, coords: dict[str, Any]
) -> dict[str, Any]:
    """Transitions as curves over the other axis: one for each class of readouts and each time it changes."""
    keyed: list[dict[tuple[int, int], Transition]] = []
    for i in range(len(plan.rows)):
        here: dict[tuple[int, int], Transition] = {}
        for t in results[i][0].lines if i in results else []:
            sizes = _sizes(plan.rows[i][0])
            is_class = plan.rows[i][0].readouts.is_discrete
            number = int(np.argmin(np.abs(sizes - t.readout))) if is_class else 0
            occurrence = sum(key[0] == number for key in here)
            here[number, occurrence] = t
        keyed.append(here)
    keys = sorted({key for here in keyed for key in here})
    shape = (len(keyed), len(keys))
    numbers = {name: np.full(shape, np.nan) for name in _LINE_FIELDS}
    kinds = np.full(shape, "", dtype="<U11")
    readout = np.full(shape, np.nan)
    for i, here in enumerate(keyed):
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


@contextmanager
def _bar(is_shown: bool, total: int) -> Iterator[Callable[[], None]]:
    if not is_shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("phase diagram"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)

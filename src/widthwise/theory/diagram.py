"""Phase diagrams: the equilibrium and its rivals over two parameters, and the lines between phases.

A row is one task for a worker process: all α of one problem, a single batch of the solver, or at fixed α one
problem for each value of the second axis.  Lines are not read off the grid: where α is an axis they are
:func:`transitions` of each problem, elsewhere the values of the second axis at which a transition passes the
given α; cells that hold a line are resolved further.
"""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from contextlib import closing, contextmanager

import numpy as np
from numpy.typing import ArrayLike

from .._sizes import positive
from .._threads import n_cores
from .._workers import LocalProcesses
from ..numerics.roots import bracketed_root
from ..problem import Problem
from .diagram_data import Crossing, PhaseDiagram, Plan, Row, Table, add_error, dataset, keyed
from .errors import check_error
from .setting import THEORIES
from .solution import Solution, Transition
from .solver import all_solutions, exact_reason
from .transitions import factorised_transition, transitions

__all__ = ["BEYOND", "PhaseDiagram", "make_plan", "phase_diagram", "progress_bar"]

BEYOND = 1.5
"""Lines are followed up to this many times the largest α: so they leave the frame."""

_SIDE = 2e-5  # relative distance of the points that are taken either side of a line
_N_GRID = 20  # values of α at which branches are compared, where the diagram itself has none close by
_RTOL = 1e-8  # of the place of a line on the second axis, at fixed α
# At fixed α transitions are looked for up to this many times α: one that moves past it is seen coming.
_FAR_BEYOND = 30.0

_SHARED: Plan | None = None  # of a worker process

_Lines = dict[tuple[int, int], Transition]


def phase_diagram(
    problem: Problem,
    *,
    alpha: ArrayLike,
    gamma: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    snr: ArrayLike | None = None,
    parameter: Callable[[float], Problem] | None = None,
    values: ArrayLike | None = None,
    name: str = "parameter",
    theory: str = "main",
    has_lines: bool = True,
    refine: int = 2,
    n_workers: int | None = None,
    show_progress: bool = False,
    error: str | None = None,
) -> PhaseDiagram:
    """The equilibrium over two of α, γ, noise and a parameter of your own.

    Parameters
    ----------
    problem : Problem
        What is not varied.
    alpha : array, or a number
        Samples per squared dimension. As a number it is held fixed, and two others are varied.
    gamma, noise : array, optional
        Hidden units per input k/d; variance of the label noise (of the channel's own kind).
    snr : array, or a number, optional
        Variance of the network's output over that of Gaussian label noise, in place of ``noise``. As a
        number it is held fixed: the noise follows the variance of the output, which may depend on γ.
    parameter : callable, optional
        Gives the problem at each of ``values``, for anything else, e.g.
        ``lambda p: problem.replace(weights=ww.weights.SparseGaussian(p))``, with ``name`` as its
        axis. With ``gamma`` or ``noise`` too, these replace those of the problem it returns.
    has_lines : bool
        Whether to locate the transitions (the larger part of the work).
    refine : int
        How many times a cell of the grid that a line crosses is halved towards the line.
    n_workers : int, optional
        Worker processes; by default one for each core. 1 works in this process.
    show_progress : bool
        A progress bar on stderr.
    error : str, optional
        An error measure to be added, e.g. "zero-one" as ``zero_one_error``; see :func:`solve`.

    Returns
    -------
    PhaseDiagram
        Drawn by ``plot()``, or ``plot("gap")`` and so on for another quantity; kept by ``save`` and ``load``.
        Over the two axes: ``excess_error``, ``universal_error``, their difference ``gap``, ``branch``,
        ``weight_overlap`` (with a dimension ``size`` of |readouts|), ``n_specialised``, which branches
        exist and are stable, ``status``. With α as an axis also the lines, over the other axis and
        ``line``: ``transition_alpha`` with ``transition_kind``, spinodals and jumps, NaN where a line
        does not exist up to 1.5 times the largest α. At fixed α: ``line_first`` and ``line_second``, points
        on the lines with ``line_kind``, ``line_readout`` and ``line_phase``, the number of classes learnt on
        either side. The points that refine the grid are one list, along the dimension ``refined``: their
        place on the two axes, e.g. ``refined_gamma`` and ``refined_alpha``, and all of the above, e.g.
        ``refined_excess_error``; the last two of each crossing are the two sides of the line itself.

    Ctrl-C keeps what is done: the rest is NaN with status "not computed", and the attribute
    ``is_complete`` is 0.
    """
    plan = make_plan(problem, alpha, gamma, noise, parameter, values, name, theory, has_lines, refine, snr)
    if error is not None:
        check_error(plan.rows[0][0], error)
    n_workers = _count_workers(n_workers, len(plan.rows))
    rows: dict[int, Row] = {}
    is_complete = True
    with progress_bar(show_progress, len(plan.rows)) as advance:
        try:
            with closing(_run(plan, n_workers)) as done:
                for i, row in done:
                    rows[i] = row
                    advance()
        except KeyboardInterrupt:
            is_complete = False
    data = dataset(plan, rows, is_complete)
    return PhaseDiagram(data if error is None else add_error(plan, data, error), plan.problem)


def make_plan(
    problem: Problem,
    alpha: ArrayLike,
    gamma: ArrayLike | None,
    noise: ArrayLike | None,
    parameter: Callable[[float], Problem] | None,
    values: ArrayLike | None,
    name: str,
    theory: str,
    has_lines: bool = True,
    refine: int = 0,
    snr: ArrayLike | None = None,
) -> Plan:
    """The axes of a diagram and the problem at each point of them, from the arguments of a user."""
    if theory not in THEORIES:
        raise ValueError(f"unknown theory {theory!r}; choose from {', '.join(THEORIES)}")
    if (parameter is None) != (values is None):
        raise ValueError("give parameter, a callable from a value to a Problem, together with its values")
    if name in ("alpha", "gamma", "noise", "snr", "size", "line"):
        raise ValueError(f"the axis of a parameter cannot be called {name!r}; choose another name")
    if refine != int(refine) or refine < 0:
        raise ValueError(f"refine must be a whole number >= 0 (halvings of cells at lines), got {refine!r}")
    axes: dict[str, np.ndarray] = {}
    if gamma is not None:
        axes["gamma"] = _axis("gamma", gamma)
    if noise is not None:
        axes["noise"] = _axis("noise", noise)
    fixed_snr = None
    if snr is not None:
        if noise is not None:
            raise ValueError(
                "snr and noise cannot both be given: noise is the variance of the output over snr"
            )
        if np.ndim(snr):
            axes["snr"] = _axis("snr", snr)
        else:
            fixed_snr = positive("snr", snr)
            problem = problem.replace(snr=fixed_snr)
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
            "give arrays for two of alpha, gamma, noise, snr and parameter"
        )

    plan = Plan(
        problem, axes, [], np.atleast_1d(alphas), theory, parameter, name, has_lines, refine, fixed_snr
    )
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


def _count_workers(n_workers: int | None, n_tasks: int) -> int:
    if n_workers is None:
        n_workers = n_cores()
    if n_workers != int(n_workers) or n_workers < 1:
        raise ValueError(f"n_workers must be a whole number >= 1, got {n_workers!r}")
    return min(int(n_workers), n_tasks)


def _run(plan: Plan, n_workers: int) -> Generator[tuple[int, Row], None, None]:
    """The rows of a plan as they get done, with their numbers."""
    content = _as_bytes(plan) if n_workers > 1 else None
    if content is None:
        for i in range(len(plan.rows)):
            yield i, _solve_row(plan, i)
        return
    pool = LocalProcesses(n_workers, initializer=_begin, initargs=(content,))
    try:
        tasks: dict[Future[Row], int] = {pool.submit(_task, i): i for i in _spread(len(plan.rows))}
        for done in as_completed(tasks):
            yield tasks[done], done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _as_bytes(plan: Plan) -> bytes | None:
    """The plan as workers are sent it, functions of the caller by their code; None if these cannot be."""
    plain = plan.without_functions()
    if plain is not None:
        return pickle.dumps(plain)
    try:
        import cloudpickle
    except ModuleNotFoundError:  # it comes with the extra for simulations
        return None
    try:
        content: bytes = cloudpickle.dumps(plan)
    except Exception:  # a function that holds a lock, a file, ...
        return None
    return content


def _spread(n: int) -> list[int]:
    """Every fourth row first, so that what an interrupt leaves covers the whole range."""
    return [i for start in range(4) for i in range(start, n, 4)]


def _begin(content: bytes) -> None:
    global _SHARED
    _SHARED = pickle.loads(content)


def _task(i: int) -> Row:
    assert _SHARED is not None
    return _solve_row(_SHARED, i)


@contextmanager
def progress_bar(is_shown: bool, total: int, what: str = "phase diagram") -> Iterator[Callable[[], None]]:
    if not is_shown or not sys.stderr.isatty():  # a bar in a file is an empty line
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


def _solve_row(plan: Plan, i: int) -> Row:
    """Everything of one row of the plan."""
    return _over_alpha(plan, i) if plan.has_alpha_axis else _at_fixed_alpha(plan, i)


def _over_alpha(plan: Plan, i: int) -> Row:
    (problem,) = plan.rows[i]
    ranked = all_solutions(problem, plan.alpha, plan.theory)
    row = Row([Table.of(problem, ranked)])
    if not plan.has_lines:
        return row
    solved = dict(zip(plan.alpha.tolist(), ranked, strict=True))
    row.lines = _lines_of(problem, BEYOND * plan.alpha[-1], plan.theory, solved)
    more = _halvings(plan.alpha, [t.alpha for t in row.lines], plan.refine, is_log=True)
    if more.size:
        row.refined.append((more, Table.of(problem, all_solutions(problem, more, plan.theory))))
    return row


def _at_fixed_alpha(plan: Plan, i: int) -> Row:
    (first, xs), (second, ys) = plan.axes.items()
    row = Row([Table.of(p, all_solutions(p, plan.alpha, plan.theory)) for p in plan.rows[i]])
    if not plan.has_lines:
        return row

    def make(y: float) -> Problem:
        return plan.make({first: float(xs[i]), second: y})

    suspects = [j for j in range(ys.size - 1) if _may_cross(row.tables[j], row.tables[j + 1])]
    row.crossings = _find_crossings(make, ys, suspects, float(plan.alpha[0]), plan.theory)
    for y in _halvings(ys, [c.second for c in row.crossings], plan.refine):
        problem = make(float(y))
        table = Table.of(problem, all_solutions(problem, plan.alpha, plan.theory))
        row.refined.append((np.array([y]), table))
    return row


def _may_cross(one: Table, other: Table) -> bool:
    """Whether a line may pass between two points: phases differ, or overlaps do much."""
    a, b = (t.fields["n_specialised"][0] for t in (one, other))
    if np.isnan(a) or np.isnan(b):
        return False
    if a != b or one.overlap.shape != other.overlap.shape:
        return True
    n_stable = max(t.fields["n_stable"][0] for t in (one, other))
    return bool(np.max(np.abs(one.overlap - other.overlap)) > (0.02 if n_stable > 1 else 0.1))


def _lines_of(
    problem: Problem, alpha_max: float, theory: str, solved: Mapping[float, list[Solution]] | None = None
) -> list[Transition]:
    """All transitions up to alpha_max; ``solved`` are all solutions at some values of α."""
    if theory == "factorised":
        at = factorised_transition(problem, alpha_max)
        return [Transition(problem.readouts.largest, at, "first-order")] if math.isfinite(at) else []
    # Where the exact answer is the universal branch the potential's own transitions mean nothing.
    if exact_reason(problem):
        return []
    return list(transitions(problem, alpha_max, n_grid=_N_GRID, solved=solved))


def _halvings(grid: np.ndarray, at: Sequence[float], n: int, *, is_log: bool = False) -> np.ndarray:
    """Points that halve the cells holding lines n times towards these, and the two sides of each line."""
    more: set[float] = set()
    for line in at if n else ():
        j = int(np.searchsorted(grid, line)) - 1
        if not (0 <= j < grid.size - 1 and grid[j] < line < grid[j + 1]):
            continue
        low, high = float(grid[j]), float(grid[j + 1])
        for _ in range(n):
            middle = math.sqrt(low * high) if is_log else 0.5 * (low + high)
            more.add(middle)
            low, high = (middle, high) if middle < line else (low, middle)
        away = _SIDE * abs(line)
        more |= {y for y in (line - away, line + away) if grid[j] < y < grid[j + 1]}
    return np.array(sorted(more))


def _find_crossings(
    make: Callable[[float], Problem], ys: np.ndarray, cells: Sequence[int], alpha: float, theory: str
) -> list[Crossing]:
    """The lines that pass through the given cells of the second axis."""
    known: dict[float, _Lines] = {}

    def lines_at(y: float) -> _Lines:
        if y not in known:
            problem = make(y)
            known[y] = keyed(problem, _lines_of(problem, _FAR_BEYOND * alpha, theory))
        return known[y]

    found = []
    for j in cells:
        low, high = float(ys[j]), float(ys[j + 1])
        for key in sorted(set(lines_at(low)) | set(lines_at(high))):
            if (_distance(lines_at(low), key, alpha) <= 0) != (_distance(lines_at(high), key, alpha) <= 0):
                found.append(_crossing(lines_at, key, alpha, low, high))
    return sorted(found, key=lambda c: c.second)


def _distance(lines: _Lines, key: tuple[int, int], alpha: float) -> float:
    """ln of the transition's α over the given one; infinite where there is none."""
    if key not in lines:
        return math.inf
    at = lines[key].alpha
    return math.log(at / alpha) if at > 0 else -math.inf


def _crossing(
    lines_at: Callable[[float], _Lines], key: tuple[int, int], alpha: float, a: float, b: float
) -> Crossing:
    c, (a, b) = bracketed_root(lambda y: _distance(lines_at(y), key, alpha), a, b, xtol=_RTOL, ftol=_RTOL)
    passed = next(lines_at(y)[key] for y in (c, a, b) if key in lines_at(y))
    return Crossing(c, passed.kind, passed.readout, (_phase(lines_at(a), alpha), _phase(lines_at(b), alpha)))


def _phase(lines: _Lines, alpha: float) -> int:
    """Classes that are learnt at this α."""
    return len({number for (number, _), t in lines.items() if t.alpha <= alpha})

"""``widthwise predict``: a learning curve as a table, JSON, CSV or figure."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .._bad_value import plural
from ..problem import Problem
from .output import BadInput, Output, end_without, number, print_table, talk, write
from .problem_options import AlphaOption, choose, complain, read_alphas, takes_problem

if TYPE_CHECKING:
    from ..theory import Solution

__all__ = ["ErrorOption", "TheoryOption", "app", "check_error_option", "phase"]

# What every row says besides the quantities asked for: where it is and how far to trust it.
ALWAYS = ("alpha", "branch", "is_equilibrium", "is_stable", "status")

ARRAYS = ("readout_values", "readout_weights", "weight_overlap", "weight_overlap_hat")

IN_TABLE = ("excess_error", "bayes_error", "matrix_overlap_centred", "weight_overlap", "mutual_information")

ErrorOption = Annotated[
    str | None,
    typer.Option(
        "--error",
        metavar="NAME",
        help="An error measure besides: zero-one (share of wrong labels), cross-entropy (nats), absolute or "
        "mean-square, of the optimal prediction; after gibbs-, of one draw from the posterior.",
        show_default=False,
    ),
]

TheoryOption = Annotated[
    str,
    typer.Option("--theory", metavar="NAME", help="main, or factorised: the simpler ansatz of the appendix."),
]

app = typer.Typer(add_completion=False)


@app.command()
@takes_problem
def predict(
    problem: Problem,
    alpha: AlphaOption = "0.5:8:16",
    branch: Annotated[
        str,
        typer.Option(
            "--branch",
            metavar="NAME",
            help="equilibrium (highest free entropy), universal (no neuron is learnt individually), "
            "specialised (some are), or all solutions found.",
        ),
    ] = "equilibrium",
    theory: TheoryOption = "main",
    error: ErrorOption = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE.csv",
            help="Measurements of your own to put beside the theory: columns alpha (or n and d), the "
            "error (or the one --quantity), optionally its standard error and the number of runs; commas, "
            "semicolons (also with decimal commas) or tabs between them.",
            show_default=False,
        ),
    ] = None,
    quantity: Annotated[
        str | None,
        typer.Option(
            "--quantity",
            metavar="NAMES",
            help="Fields to print, with commas, e.g. excess_error,weight_overlap; see docs/symbols.md.",
            show_default="all in JSON and CSV, the main ones in the table",
        ),
    ] = None,
    *,
    out: Output,
) -> None:
    """Errors, overlaps and phases along a learning curve.

    Solves the replica-symmetric theory of arXiv:2505.24849 for n = alpha d² samples and k = gamma d hidden
    units. Exit code 1 says that some point has no solution or did not converge; its numbers are then empty.

    Example: widthwise predict --readouts four-point --gamma 0.7 --noise 0.1 --alpha 0.5:8:16

    Example: widthwise predict --activation "tanh(2*x)" --weights rademacher --branch all --alpha 2 --json

    Example: widthwise predict --activation sigma3 --alpha 0.1:4:40 --plot curve.pdf

    Example: widthwise predict --readouts rademacher --channel probit:0.1 --error zero-one

    Example: widthwise predict --n 1e5 --d 200 --k 100 --snr 10

    Example: widthwise predict --readouts gaussian --data my.csv --plot
    """
    from ..theory.solution import FIELDS, error_column
    from ..theory.solver import BRANCHES, THEORIES

    branch = choose("--branch", branch, [*BRANCHES, "all"], "branch")
    theory = choose("--theory", theory, THEORIES, "theory")
    quantities = _quantities(quantity, FIELDS)
    check_error_option(problem, error)
    if data is not None:
        _compare(problem, data, branch, theory, error, quantities, out)
        return
    alphas = read_alphas(alpha)
    if out.plot is not None and np.ptp(alphas) == 0:
        raise BadInput("--plot needs at least two values of --alpha, e.g. 0.5:8:16")

    start = time.perf_counter()
    try:
        points = _solve(problem, alphas, branch, error, theory)
    except ArithmeticError as reason:  # parameters of 1e300 overflow before any status can be given
        talk(f"error: the equations cannot be evaluated for these parameters: {reason}")
        raise typer.Exit(1) from None
    except ValueError as reason:  # an alpha beyond what can be computed
        complain("--alpha", reason)
    talk(f"{plural(len(points), 'point')} in {time.perf_counter() - start:.2f} s")

    fields = [*ALWAYS, *([n for n in FIELDS if n not in ALWAYS] if quantities is None else quantities)]
    if error is not None:
        fields.append(error_column(error))
    records = [{name: values[name] for name in fields} for values in (p.to_dict() for p in points)]
    shown = list(IN_TABLE) if quantities is None else quantities
    out.print(problem.to_dict(), records, lambda: _print_points(problem, points, shown, error))
    out.draw(lambda: _figure(problem, alphas, error, theory))
    missing = [p for p in points if not p.is_converged]
    end_without(len(missing), len(points), ", ".join(sorted({f"{p.branch}: {p.status}" for p in missing})))


def check_error_option(problem: Problem, error: str | None) -> None:
    """Refuse an error measure that is unknown or does not fit the labels."""
    from ..theory.errors import check_error

    try:
        if error is not None:
            check_error(problem, error)
    except ValueError as reason:
        complain("--error", reason)


def phase(point: Solution) -> str:
    """equilibrium, metastable (a local maximum of the potential), unstable; or the status that failed."""
    if not point.is_converged:
        return point.status
    from ..plotting.style import STATE_NAMES, state_of

    return STATE_NAMES[state_of(point)]


def _compare(
    problem: Problem,
    data: str,
    branch: str,
    theory: str,
    error: str | None,
    quantities: list[str] | None,
    out: Output,
) -> None:
    """Measurements beside the curve, one verdict each."""
    from ..theory.solver import BRANCHES, learning_curve

    branch = choose("--branch", branch, BRANCHES, "branch")
    if quantities is not None and len(quantities) != 1:
        raise BadInput(f"--quantity must be one with --data, what was measured; got {len(quantities)}")
    try:
        curve = learning_curve(problem, [1.0], branch, theory=theory, error=error)
        found = curve.compare(Path(data), None if quantities is None else quantities[0])
    except ValueError as reason:
        raise BadInput(f"--data: {reason}") from None
    if out.csv:
        write(found.to_csv())
    else:
        out.print(problem.to_dict(), found.to_dicts(), lambda: _print_compared(problem, found, branch))
    out.draw(lambda: found.plot().figure)


def _print_compared(problem: Problem, found: Any, branch: str) -> None:
    table = []
    for row in found.to_dicts():
        share = "–" if math.isnan(row["deviation"]) else f"{100 * row['deviation']:+.1f} %"
        numbers = [number(row[name]) for name in ("measured", "standard_error", "predicted")]
        table.append([f"{row['alpha']:.6g}", *numbers, share, row["verdict"]])
    columns = ["alpha", "measured", "standard_error", "predicted", "difference", "verdict"]
    title = f"{problem!r}\n{found.quantity.replace('_', ' ')}; predicted: the {branch} branch"
    print_table(columns, table, title=title)


def _solve(
    problem: Problem, alphas: np.ndarray, branch: str, error: str | None, theory: str
) -> list[Solution]:
    from ..theory.errors import with_error
    from ..theory.solution import LearningCurve, Solution
    from ..theory.solver import all_solutions, as_alpha, learning_curve

    if branch != "all":
        return list(learning_curve(problem, alphas, branch, theory=theory, error=error))
    points: list[Solution] = []
    for value, found in zip(alphas, all_solutions(problem, as_alpha(alphas), theory), strict=True):
        points += found or [Solution.missing(problem, float(value), "equilibrium", "did not converge")]
    return points if error is None else list(with_error(LearningCurve(problem, branch, points), error))


def _quantities(text: str | None, fields: tuple[str, ...]) -> list[str] | None:
    if text is None:
        return None
    names = [choose("--quantity", name.strip(), fields, "quantity") for name in text.split(",")]
    return [name for name in dict.fromkeys(names) if name not in ALWAYS]


def _print_points(problem: Problem, points: list[Solution], quantities: list[str], error: str | None) -> None:
    from ..plotting import shown_readouts

    shown = shown_readouts(points[0].readout_values, problem.readouts.is_discrete)
    columns = ["alpha", "branch", "phase"]
    for name in quantities:
        if name in ARRAYS:
            columns += [f"{name}_|v| =_{abs(points[0].readout_values[i]):.4g}" for i in shown]
        else:
            columns.append(name)
    if error is not None:
        columns.append(f"{error}_error")
    has_failed = any(not point.is_converged for point in points)
    rows = []
    for point in points:
        row = [f"{point.alpha:.6g}", point.branch, phase(point) if point.is_converged else "–"]
        for name in quantities:
            value = getattr(point, name)
            if name in ARRAYS:
                row += [number(float(value[i])) for i in shown]
            else:
                row.append(value if isinstance(value, str) else number(float(value)))
        if error is not None:
            row.append(number(point.error))
        rows.append([*row, point.status] if has_failed else row)
    print_table([*columns, "status"] if has_failed else columns, rows, title=repr(problem))


def _figure(problem: Problem, alphas: np.ndarray, error: str | None, theory: str) -> Any:
    if theory != "main":
        from ..theory.solver import learning_curve

        return learning_curve(problem, alphas, theory=theory, error=error).plot().figure
    from ..plotting import plot_learning_curve

    return plot_learning_curve(problem, alphas, error=error)

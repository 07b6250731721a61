"""``widthwise study``: questions that many runs answer together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..problem import Problem
from .output import BadInput, Output, number, print_table, talk
from .problem_options import AlphaOption, read_alphas, read_numbers, takes_problem
from .sweep_options import SeedsOption, Where, check_seeds, read_dimensions

if TYPE_CHECKING:
    from ..studies.input_study import InputTable
    from ..studies.width import WidthTable

__all__ = ["app"]

app = typer.Typer(
    name="study",
    add_completion=False,
    no_args_is_help=True,
    help="Questions that many runs answer together.\n\nExample: widthwise study inputs --alpha 0.5,1",
)


@app.callback()
def study() -> None:
    """Questions that many runs answer together."""


@app.command("inputs")
@partial(takes_problem, activation="tanh(2*x)", readouts="gaussian", inputs="photographs:6")
def inputs(
    problem: Problem,
    alpha: AlphaOption = "0.5,1,2",
    seeds: SeedsOption = 3,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", help="Iterations of HMC, and a tenth of Adam's.")
    ] = 400,
    *,
    where: Where,
    out: Output,
) -> None:
    """Does the theory hold on data? Learners on data, and on Gaussian inputs of the same covariance.

    A teacher labels both. white_theory is the optimum for white inputs, covariance_theory that for Gaussian
    inputs with the covariance of the data. What runs on Gaussian inputs differ from it is owed to the finite
    dimension; what runs on data differ from those, to what the data are beyond their covariance.

    Example: widthwise study inputs --inputs digits --alpha 0.1,0.2,0.35 --store runs --plot digits.png
    """
    from ..studies.input_study import InputStudy

    check_seeds(seeds)
    if iterations < 10:
        raise BadInput(f"--iterations must be >= 10 (of HMC); got {iterations}")
    learners = {
        "hmc": {"start": "teacher", "iterations": iterations},
        "adam": {"start": "random", "iterations": 10 * iterations, "held_out": 0.1},
    }
    amounts = read_alphas(alpha).tolist()
    _answer(lambda: InputStudy(problem, amounts, seeds, learners), where, out, _print_inputs)


@app.command("width")
@partial(takes_problem, activation="tanh(2*x)")  # features are told apart best without a quadratic part
def width(
    problem: Problem,
    alpha: AlphaOption = "1,2,4",
    d: Annotated[str, typer.Option("--d", "-d", metavar="D", help="Dimension of the inputs.")] = "60",
    widths: Annotated[
        str,
        typer.Option("--widths", metavar="VALUES", help="Hidden units of the students: a list or a range."),
    ] = "4,7,10,14,19,25,32,45",
    seeds: SeedsOption = 4,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", help="Updates of Adam, each on at most 500 samples.")
    ] = 8000,
    *,
    where: Where,
    out: Output,
) -> None:
    """Error of trained students against their width, beside the effective width of the theory.

    Students learn weights and readouts with Adam from random weights, kept at length sqrt(d). excess_error is
    that of the network chosen by a tenth of the samples, last_error of the last one; features_found counts
    the teacher's units with a cosine above 0.7 with their match. The best width is that of least held-out
    loss.

    Example: widthwise study width --readouts power-law:1,30 --noise 0.01 --store runs --plot widths.png
    """
    from ..studies.width import WidthStudy

    check_seeds(seeds)
    sizes = read_dimensions(d)
    if len(sizes) != 1:
        raise BadInput(f"--d must be one dimension; got {d!r}")
    units = read_numbers("--widths", widths, "hidden units of the students")
    if any(unit != int(unit) for unit in units):
        raise BadInput(f"--widths must be whole numbers (hidden units of the students); got {widths!r}")
    amounts, whole = read_alphas(alpha).tolist(), [int(unit) for unit in units]
    settings = {"iterations": iterations}
    _answer(lambda: WidthStudy(problem, sizes[0], amounts, whole, seeds, settings), where, out, _print_widths)


def _answer(make: Callable[[], Any], where: Where, out: Output, print_rows: Callable[[Any], None]) -> None:
    """Run what a study has not, and show its table."""
    try:
        study = make()
        tasks = study.tasks()
    except ValueError as error:
        raise BadInput(str(error)) from None
    with where.opened() as kept:
        report = where.run(str(study), tasks, kept)
        table = study.table(kept)
    out.print(table.problem.to_dict() | {"d": table.d}, table.to_dicts(), lambda: print_rows(table))
    if table.rows:
        out.draw(lambda: table.plot().figure)
    if report.n_failed:
        raise typer.Exit(1)


def _print_inputs(table: InputTable) -> None:
    columns = ["inputs", "learner", "alpha", "excess_error", "standard_error", "n_seeds"]
    columns += ["white_theory", "covariance_theory"]
    rows = [
        [value if isinstance(value, str) else number(value) for value in row.values()]
        for row in table.to_dicts()
    ]
    print_table(columns, rows, title=f"{table.problem!r}, d = {table.d}")
    talk(f"note: {table.problem.inputs.assumption}")


def _print_widths(table: WidthTable) -> None:
    columns = ["n", "width", "excess_error", "standard_error", "last_error", "features_found"]
    columns += ["optimal_error", "effective_width", "note"]
    rows = []
    for row in table.rows:
        numbers = [number(getattr(row, name)) for name in columns[2:7]]
        note = "best by held-out loss" if row.width == table.best_width(row.n) else ""
        cells = [f"{row.n:.6g}", str(row.width), *numbers, f"{row.effective_width:g}"]
        rows.append([*cells, note])
    print_table(columns, rows, title=f"{table.problem!r}, d = {table.d}")

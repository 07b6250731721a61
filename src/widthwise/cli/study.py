"""``widthwise study``: questions that many runs answer together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from .._records import as_csv, as_json
from ..problem import Problem
from .input_study import inputs
from .output import number, print_table, write
from .predict import CsvOption, JsonOption, PlotOption, check_figure, check_format, save_figure, use_no_screen
from .problem_options import AlphaOption, BadInput, read_alphas, read_numbers, takes_problem
from .sweep_options import (
    ClusterOption,
    DryRunOption,
    RetryOption,
    SeedsOption,
    StoreOption,
    Where,
    WorkersOption,
    check_seeds,
    read_dimensions,
)

if TYPE_CHECKING:
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


app.command("inputs")(inputs)


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
        int,
        typer.Option("--iterations", metavar="N", help="Updates of Adam, each on at most 500 samples."),
    ] = 8000,
    store: StoreOption = None,
    cluster: ClusterOption = None,
    workers: WorkersOption = None,
    retry_failed: RetryOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    csv: CsvOption = False,
    plot: PlotOption = None,
) -> None:
    """Error of trained students against their width, beside the effective width of the theory.

    Students learn weights and readouts with Adam from random weights, kept at length sqrt(d). excess_error is
    that of the network chosen by a tenth of the samples, last_error of the last one; features_found counts
    the teacher's units with a cosine above 0.7 with their match. The best width is that of least held-out
    loss.

    Example: widthwise study width --readouts power-law:1,30 --noise 0.01 --store runs --plot widths.png
    """
    from ..studies.width import WidthStudy

    check_format(json, csv)
    check_seeds(seeds)
    if plot is not None:
        check_figure(plot)
    sizes = read_dimensions(d)
    if len(sizes) != 1:
        raise BadInput(f"--d must be one dimension; got {d!r}")
    units = read_numbers("--widths", widths, "hidden units of the students")
    if any(unit != int(unit) for unit in units):
        raise BadInput(f"--widths must be whole numbers (hidden units of the students); got {widths!r}")
    where = Where(store, cluster, workers, retry_failed, dry_run)
    settings = {"iterations": iterations}
    try:
        asked = WidthStudy(
            problem, sizes[0], read_alphas(alpha).tolist(), [int(unit) for unit in units], seeds, settings
        )
        tasks = asked.tasks()
    except ValueError as error:
        raise BadInput(str(error)) from None
    with where.store() as kept:
        report = where.run(str(asked), tasks, kept)
        table = asked.table(kept)
    if json:
        write(as_json(problem.to_dict() | {"d": table.d}, table.to_dicts()))
    elif csv:
        write(as_csv(problem.to_dict() | {"d": table.d}, table.to_dicts()))
    else:
        _print(table)
    if plot is not None and table.rows:
        use_no_screen()
        save_figure(table.plot().figure, plot)
    if report.n_failed:
        raise typer.Exit(1)


def _print(table: WidthTable) -> None:
    columns = [
        "n",
        "width",
        "excess_error",
        "standard_error",
        "last_error",
        "features_found",
        "optimal_error",
    ]
    columns += ["effective_width", "note"]
    rows = []
    for row in table.rows:
        numbers = [
            row.excess_error,
            row.standard_error,
            row.last_error,
            row.features_found,
            row.optimal_error,
        ]
        note = "best by held-out loss" if row.width == table.best_width(row.n) else ""
        cells = [f"{row.n:.6g}", str(row.width), *(number(x) for x in numbers), f"{row.effective_width:g}"]
        rows.append([*cells, note])
    print_table(columns, rows, title=f"{table.problem!r}, d = {table.d}")

"""``widthwise study inputs``: learners on data, and on Gaussian inputs of the same covariance."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from .._records import as_csv, as_json
from ..problem import Problem
from .output import number, print_table, talk, write
from .predict import CsvOption, JsonOption, PlotOption, check_figure, check_format, save_figure, use_no_screen
from .problem_options import AlphaOption, BadInput, read_alphas, takes_problem
from .sweep_options import (
    ClusterOption,
    DryRunOption,
    RetryOption,
    SeedsOption,
    StoreOption,
    Where,
    WorkersOption,
    check_seeds,
)

__all__ = ["inputs"]


@partial(takes_problem, activation="tanh(2*x)", readouts="gaussian", inputs="photographs:6")
def inputs(
    problem: Problem,
    alpha: AlphaOption = "0.5,1,2",
    seeds: SeedsOption = 3,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", help="Iterations of HMC, and a tenth of Adam's.")
    ] = 400,
    store: StoreOption = None,
    cluster: ClusterOption = None,
    workers: WorkersOption = None,
    retry_failed: RetryOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    csv: CsvOption = False,
    plot: PlotOption = None,
) -> None:
    """Does the theory hold on data? Learners on data, and on Gaussian inputs of the same covariance.

    A teacher labels both. white_theory is the optimum for white inputs, covariance_theory that for Gaussian
    inputs with the covariance of the data. What runs on Gaussian inputs differ from it is owed to the finite
    dimension; what runs on data differ from those, to what the data are beyond their covariance.

    Example: widthwise study inputs --inputs digits --alpha 0.1,0.2,0.35 --store runs --plot digits.png
    """
    from ..studies.input_study import InputStudy

    check_format(json, csv)
    check_seeds(seeds)
    if plot is not None:
        check_figure(plot)
    if iterations < 10:
        raise BadInput(f"--iterations must be >= 10 (of HMC); got {iterations}")
    where = Where(store, cluster, workers, retry_failed, dry_run)
    learners = {
        "hmc": {"start": "teacher", "iterations": iterations},
        "adam": {"start": "random", "iterations": 10 * iterations, "held_out": 0.1},
    }
    try:
        asked = InputStudy(problem, read_alphas(alpha).tolist(), seeds, learners)
        tasks = asked.tasks()
    except ValueError as error:
        raise BadInput(str(error)) from None
    with where.store() as kept:
        report = where.run(str(asked), tasks, kept)
        table = asked.table(kept)
    if json or csv:
        shared = problem.to_dict() | {"d": table.d}
        write(as_json(shared, table.to_dicts()) if json else as_csv(shared, table.to_dicts()))
    else:
        columns = ["inputs", "learner", "alpha", "excess_error", "standard_error", "n_seeds"]
        columns += ["white_theory", "covariance_theory"]
        rows = [
            [value if isinstance(value, str) else number(value) for value in row.values()]
            for row in table.to_dicts()
        ]
        print_table(columns, rows, title=f"{problem!r}, d = {table.d}")
        talk(f"note: {problem.inputs.assumption}")
    if plot is not None and table.rows:
        use_no_screen()
        save_figure(table.plot().figure, plot)
    if report.n_failed:
        raise typer.Exit(1)

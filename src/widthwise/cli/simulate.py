"""``widthwise simulate``: run learners and put what they measure beside the theory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..problem import Problem
from .output import as_csv, as_json, number, print_table, talk, write
from .predict import CsvOption, JsonOption, PlotOption, check_figure, check_format, save_figure, use_no_screen
from .problem_options import AlphaOption, BadInput, choose, read_alphas, read_numbers, takes_problem

if TYPE_CHECKING:
    from ..experiments.comparison import Comparison
    from ..experiments.sweep import Sweep

__all__ = ["ClusterOption", "RetryOption", "WorkersOption", "app", "explained", "read_dimensions"]

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on the Dask cluster of this scheduler, e.g. tcp://host:8786, instead of this machine.",
        rich_help_panel="Where",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="Processes on this machine, >= 1.",
        show_default="one for each core",
        rich_help_panel="Where",
    ),
]
RetryOption = Annotated[
    bool,
    typer.Option("--retry-failed", help="Run tasks again that failed before.", rich_help_panel="Where"),
]

app = typer.Typer(add_completion=False)


@app.command()
@takes_problem
def simulate(
    problem: Problem,
    ctx: typer.Context,
    sweep: Annotated[
        str | None,
        typer.Argument(
            metavar="[SWEEP.toml]", help="A sweep; or describe one problem and learner by options."
        ),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            "--learner",
            metavar="NAME",
            help="hmc, metropolis, adam, gamp_rie, or a function of an instance as package.module:function.",
        ),
    ] = "hmc",
    start: Annotated[
        str | None,
        typer.Option(
            "--start", metavar="WHERE", help="teacher or random.", show_default="that of the learner"
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations", metavar="N", help="Length of a run.", show_default="that of the learner"
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another setting of the learner; may be given repeatedly."
        ),
    ] = None,
    d: Annotated[
        str,
        typer.Option("--d", "-d", metavar="VALUES", help="Dimension d of the inputs, a number or a list."),
    ] = "60",
    alpha: AlphaOption = "0.5:4:4",
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="Instances at each point, >= 1.")] = 4,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="Folder that keeps the results; what it has is not run again.",
            show_default="none: nothing is kept",
            rich_help_panel="Where",
        ),
    ] = None,
    cluster: ClusterOption = None,
    workers: WorkersOption = None,
    retry_failed: RetryOption = False,
    branch: Annotated[
        str | None,
        typer.Option(
            "--branch",
            metavar="NAME",
            help="Branch of the theory to compare with: equilibrium, universal or specialised.",
            show_default="universal for gamp_rie, else equilibrium",
        ),
    ] = None,
    json: JsonOption = False,
    csv: CsvOption = False,
    plot: PlotOption = None,
) -> None:
    """Run learners over alpha and seeds, and put what they measure beside the theory.

    Prints means over instances with their standard errors, the prediction, and the distance between the two
    in units of the former. A sweep that is interrupted or killed goes on where it was when the same command
    is given again with the same --store. Exit code 1 says that some task failed, 130 that Ctrl-C came.

    Example: widthwise simulate --learner gamp_rie --d 60 --alpha 0.5:4:4 --seeds 4 --plot curve.png

    Example: widthwise simulate --readouts gaussian --learner hmc --start random --d 60 --store runs

    Example: widthwise simulate sweep.toml --store runs --cluster tcp://localhost:8786
    """
    from ..theory.solver import BRANCHES

    check_format(json, csv)
    if plot is not None:
        check_figure(plot)
    if branch is not None:
        branch = choose("--branch", branch, BRANCHES, "branch")
    if workers is not None and workers < 1:
        raise BadInput(f"--workers must be >= 1 (processes), got {workers}")
    if workers is not None and cluster is not None:
        raise BadInput("give --workers or --cluster, not both: a cluster has workers of its own")
    if sweep is not None:
        plan = _from_file(ctx, sweep)
    else:
        settings = {"start": start, "iterations": iterations}
        given = {name: value for name, value in settings.items() if value is not None}
        plan = _from_options(problem, learner, given | _settings(setting), d, alpha, seeds)
    with tempfile.TemporaryDirectory(prefix="widthwise-") as scratch:
        rows, n_failed = explained(
            lambda: _run(plan, store or scratch, cluster, workers, retry_failed, branch)
        )
        if json or csv:
            records = [row.to_dict() for row in rows]
            shared = plan.problems[0].to_dict() if len(plan.problems) == 1 else {}
            write(as_json(shared, records) if json else as_csv(shared, records))
        else:
            print_comparison(plan, rows)
        if plot is not None:
            use_no_screen()
            from ..plotting.experiments import plot_comparison

            save_figure(plot_comparison(plan.problems, rows), plot)
    if n_failed:
        raise typer.Exit(1)


def explained(action: Any) -> Any:
    """Run something on a store; what stops it is a sentence."""
    from ..experiments.store import StoreError

    try:
        return action()
    except StoreError as error:
        talk(f"error: {error}")
        raise typer.Exit(1) from None
    except ConnectionError as error:
        talk(f"error: --cluster: {error}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt as error:
        if str(error):
            talk(f"{error}; running tasks have left their checkpoints: the same command goes on from there")
        raise


def _run(
    plan: Sweep,
    folder: str,
    cluster: str | None,
    workers: int | None,
    retry_failed: bool,
    branch: str | None,
) -> tuple[list[Comparison], int]:
    from ..experiments.comparison import compare
    from ..experiments.store import Store

    store = Store(folder)
    report = plan.run(store, cluster=cluster, n_workers=workers, retry_failed=retry_failed)
    talk(f"{report} ({report.seconds:.1f} s)")
    for task, error in list(report.failures.items())[:10]:
        talk(f"failed: {task}: {error}")
    if report.n_failed > 10:
        talk(f"... and {report.n_failed - 10} more; see 'widthwise store ls'")
    entries = store.entries()
    chosen = [entries[task.key] for task in plan.tasks() if task.key in entries]
    return compare(chosen, branch=branch), report.n_failed


def _from_file(ctx: typer.Context, name: str) -> Sweep:
    from ..experiments.sweep_file import SweepFileError, read_sweep

    own = ("sweep", "store", "cluster", "workers", "retry_failed", "branch", "json", "csv", "plot")
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if parameter.name not in own and source is not None and source.name == "COMMANDLINE":
            raise BadInput(f"{parameter.opts[0]} cannot be given with a sweep file: write it in {name!r}")
    if not Path(name).exists():
        raise BadInput(f"there is no file {name!r}; give a sweep in TOML, or the problem by options")
    try:
        return read_sweep(name)
    except SweepFileError as error:
        raise BadInput(str(error)) from None


def _from_options(
    problem: Problem, learner: str, settings: dict[str, Any], d: str, alpha: str, seeds: int
) -> Sweep:
    from ..experiments.sweep import LearnerSpec, Sweep

    if seeds < 1:
        raise BadInput(f"--seeds must be >= 1 (instances at each point), got {seeds}")
    sizes = read_dimensions(d)
    alphas = [float(f"{a:.12g}") for a in read_alphas(alpha)]
    try:
        return Sweep([problem], sizes, alphas, range(seeds), [LearnerSpec(learner, settings)])
    except ValueError as error:
        raise BadInput(f"--learner: {error}") from None


def read_dimensions(text: str) -> list[int]:
    """The values of ``--d``."""
    sizes = read_numbers("--d", text, "dimension of the inputs")
    if any(size != int(size) for size in sizes):
        raise BadInput(f"--d must be whole numbers (dimension of the inputs); got {text!r}")
    return [int(size) for size in sizes]


def _settings(pairs: list[str] | None) -> dict[str, Any]:
    import tomllib

    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, sign, text = pair.partition("=")
        if not (sign and name.strip().isidentifier()):
            raise BadInput(f"--set takes NAME=VALUE, e.g. n_chains=2; got {pair!r}")
        try:
            settings[name.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            settings[name.strip()] = text
    return settings


def print_comparison(plan: Sweep, rows: list[Comparison]) -> None:
    """A table of measured against predicted."""
    several = len(plan.problems) > 1
    branches = sorted({row.branch for row in rows})
    columns = [
        *(["problem"] if several else []),
        *("learner", "d", "alpha", "quantity", "seeds", "measured", "standard_error"),
        *(["branch"] if len(branches) > 1 else []),
        *("predicted", "distance_in errors"),
    ]
    table = []
    for row in rows:
        quantity = row.quantity.removesuffix("_centred").replace("_", " ")
        line = [row.learner, str(row.d), f"{row.alpha:.6g}", quantity, str(row.n_seeds)]
        line += [number(row.measured), number(row.standard_error)]
        line += [*([row.branch] if len(branches) > 1 else []), number(row.predicted)]
        line.append("–" if row.distance != row.distance else f"{row.distance:+.1f}")
        table.append([*([row.problem] if several else []), *line])
    title = "several problems" if several else repr(plan.problems[0])
    if len(branches) == 1:
        title += f"; predicted: the {branches[0]} branch"
    print_table(columns, table, title=title)

"""``widthwise simulate``: run learners and put what they measure beside the theory."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..problem import Problem
from .output import BadInput, Output, number, print_table
from .problem_options import AlphaOption, choose, read_alphas, takes_problem
from .sweep_options import SeedsOption, Where, check_seeds, read_dimensions

if TYPE_CHECKING:
    from ..sweeps.comparison import Comparison
    from ..sweeps.store import Store
    from ..sweeps.sweep import Sweep

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
@takes_problem
def simulate(
    problem: Problem,
    ctx: typer.Context,
    sweep: Annotated[
        str | None,
        typer.Argument(metavar="SWEEP.toml", help="A sweep; or describe one problem and learner by options."),
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
    seeds: SeedsOption = 4,
    branch: Annotated[
        str | None,
        typer.Option(
            "--branch",
            metavar="NAME",
            help="Branch of the theory to compare with: equilibrium, universal or specialised.",
            show_default="universal for gamp_rie, else equilibrium",
        ),
    ] = None,
    *,
    where: Where,
    out: Output,
) -> None:
    """Run learners over alpha and seeds, and put what they measure beside the theory.

    Prints means over instances with their standard errors, the prediction, the distance between the two in
    units of the former, and a verdict at the 1 % level (undecided: more seeds would tell). A sweep that is
    interrupted or killed goes on where it was when the same command is given again with the same --store.
    Exit code 1 says that some task failed, 130 that Ctrl-C came.

    Example: widthwise simulate --learner gamp_rie --d 60 --alpha 0.5:4:4 --seeds 4 --plot curve.png

    Example: widthwise simulate --readouts gaussian --learner hmc --start random --d 60 --store runs

    Example: widthwise simulate sweep.toml --store runs --cluster tcp://localhost:8786
    """
    from ..theory.solver import BRANCHES

    if branch is not None:
        branch = choose("--branch", branch, BRANCHES, "branch")
    check_seeds(seeds)
    if sweep is not None:
        plan = _from_file(ctx, sweep)
    else:
        settings = {"start": start, "iterations": iterations}
        given = {name: value for name, value in settings.items() if value is not None}
        plan = _from_options(problem, learner, given | _settings(setting), d, alpha, seeds)
    with where.opened() as kept:
        report = where.run(str(plan), plan.tasks(), kept)
        rows = _compared(plan, kept, branch)
        shared = plan.problems[0].to_dict() if len(plan.problems) == 1 else {}
        out.print(shared, [row.to_dict() for row in rows], lambda: print_comparison(plan, rows))

        def figure() -> Any:
            from ..plotting.experiments import plot_comparison

            return plot_comparison(plan.problems, rows)

        out.draw(figure)
    if report.n_failed:
        raise typer.Exit(1)


def _compared(plan: Sweep, store: Store, branch: str | None) -> list[Comparison]:
    from ..sweeps.comparison import compare

    entries = store.entries()
    return compare([entries[task.key] for task in plan.tasks() if task.key in entries], branch=branch)


def _from_file(ctx: typer.Context, name: str) -> Sweep:
    from ..sweeps.sweep_file import SweepFileError, read_sweep

    own = {"sweep", "branch", *(field.name for bundle in (Where, Output) for field in fields(bundle))}
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
    from ..sweeps.sweep import LearnerSpec, Sweep

    sizes = read_dimensions(d)
    alphas = [float(f"{a:.12g}") for a in read_alphas(alpha)]
    try:
        return Sweep([problem], sizes, alphas, range(seeds), [LearnerSpec(learner, settings)])
    except ValueError as error:
        raise BadInput(f"--learner: {error}") from None


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
        *("predicted", "distance_in errors", "verdict"),
    ]
    table = []
    for row in rows:
        quantity = row.quantity.removesuffix("_centred").replace("_", " ")
        line = [row.learner, str(row.d), f"{row.alpha:.6g}", quantity, str(row.n_seeds)]
        line += [number(row.measured), number(row.standard_error)]
        line += [*([row.branch] if len(branches) > 1 else []), number(row.predicted)]
        line += ["–" if row.distance != row.distance else f"{row.distance:+.1f}", row.verdict]
        table.append([*([row.problem] if several else []), *line])
    title = "several problems" if several else repr(plan.problems[0])
    if len(branches) == 1:
        title += f"; predicted: the {branches[0]} branch"
    print_table(columns, table, title=title)

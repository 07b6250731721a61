"""``widthwise yardstick``: how far estimators are from the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._bad_value import plural
from ..problem import Problem
from .output import BadInput, Output, number, print_table, talk
from .problem_options import AlphaOption, read_alphas, takes_problem
from .sweep_options import Place, SeedsOption, check_seeds, explained

if TYPE_CHECKING:
    from ..studies.yardstick import Yardstick

__all__ = ["app"]

app = typer.Typer(add_completion=False)


def _names_like(incomplete: str) -> list[str]:
    from ..studies.estimators import READY_MADE

    return [name for name in READY_MADE if name.startswith(incomplete)]


@app.command()
@takes_problem
def yardstick(
    problem: Problem,
    estimator: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ESTIMATOR",
            help="ridge, quadratic-ridge, kernel-ridge, random-features, gradient-boosting, mlp, adam, "
            "gamp-rie, hmc, or an import path package.module:factory to anything with fit and predict.",
            show_default="ridge mlp gamp-rie",
            autocompletion=_names_like,
        ),
    ] = None,
    d: Annotated[
        int | None,
        typer.Option(
            "--d",
            "-d",
            metavar="D",
            help="Dimension d of the inputs, >= 1.",
            show_default="40, or that of the data",
        ),
    ] = None,
    alpha: AlphaOption = "0.5,1,2,4",
    seeds: SeedsOption = 3,
    test: Annotated[
        int, typer.Option("--test", metavar="N", help="Fresh inputs on which errors are measured.")
    ] = 20_000,
    leaderboard: Annotated[
        str | None,
        typer.Option(
            "--leaderboard",
            metavar="FILE",
            help="Append the rows to this .csv or .json file, and tell what changed since another version.",
            rich_help_panel="Output",
        ),
    ] = None,
    *,
    place: Place,
    out: Output,
) -> None:
    """How far estimators are from the Bayes optimum, on data of a teacher network.

    All see the same data. Beside each error stand the optimal one, that of polynomial time (universal branch)
    and the equivalent data: the share of the samples with which the optimum would err as much. "finite size"
    is what this d costs GAMP-RIE against its prediction. Exit code 1 says that some fit failed.

    Example: widthwise yardstick mlp kernel-ridge --d 40 --alpha 0.5,1,2 --plot yardstick.png

    Example: widthwise yardstick sklearn.svm:SVR --noise 0.1 --leaderboard scores.csv

    Example: widthwise yardstick mlp gamp-rie --readouts rademacher --channel probit:0.1 --store fits
    """
    check_seeds(seeds)
    d = d if d is not None else 40 if problem.inputs.rows is None else problem.inputs.rows.shape[1]
    if d < 1:
        raise BadInput(f"--d must be >= 1 (dimension of the inputs), got {d}")
    if test < 100:
        raise BadInput(f"--test must be >= 100 (fresh inputs), got {test}")
    if place.store is None and (place.cluster is not None or place.workers is not None):
        raise BadInput("--cluster and --workers need --store: processes hand their results over through it")
    if leaderboard is not None and not leaderboard.endswith((".csv", ".json")):
        raise BadInput(f"--leaderboard takes a .csv or .json file; got {leaderboard!r}")
    from ..studies.yardstick import yardstick as measure

    alphas = [float(f"{a:.12g}") for a in read_alphas(alpha)]
    names = estimator or ["ridge", "mlp", *(["gamp-rie"] if problem.inputs.is_isotropic else [])]
    try:
        results = explained(
            lambda: measure(
                names,
                problem,
                d,
                alphas,
                seeds,
                n_test=test,
                store=place.store,
                cluster=place.cluster,
                n_workers=place.workers,
                progress=place.store is not None or _talk_of_fit,
            )
        )
    except (ValueError, MemoryError) as error:
        raise BadInput(str(error)) from None
    out.print(problem.to_dict() | {"measure": results.measure}, results.rows, lambda: _print(results))
    out.draw(lambda: results.plot().figure)
    if leaderboard is not None:
        _enter(results, leaderboard)
    if any(row["n_failed"] for row in results.rows):
        raise typer.Exit(1)


def _talk_of_fit(line: str) -> None:
    talk(f"fitted: {line}")


def _print(results: Yardstick) -> None:
    columns = ["estimator", "alpha", "error", "standard_error", "optimal_error", "universal_error", "gap"]
    columns += ["equivalent_data", "finite_size", "fit_seconds", "memory_MB", "note"]
    rows = []
    for row in results.rows:
        numbers = [number(row[name]) for name in columns[2:7]]
        share = row["equivalent_share"]
        rows.append(
            [
                row["estimator"],
                f"{row['alpha']:g}",
                *numbers,
                "–" if share != share else f"{100 * share:.3g} %",
                _percent(row["finite_size"], row["finite_size_standard_error"]),
                number(row["fit_seconds"], 3),
                number(row["peak_memory"] / 1e6, 3),
                row["note"],
            ]
        )
    measure = results.measure.replace("_", " ")
    print_table(columns, rows, title=f"{results.problem!r}, d = {results.d}: {measure}")
    if results.assumption:
        talk(f"note: {results.assumption}")


def _percent(value: float, scatter: float) -> str:
    if value != value:
        return "–"
    return f"{100 * value:+.1f} %" + (f" ± {100 * scatter:.1f}" if scatter == scatter else "")


def _enter(results: Yardstick, path: str) -> None:
    from ..studies.leaderboard import append, changes

    try:
        n = append(path, results)
        before: list[dict[str, Any]] = changes(path)
    except (OSError, ValueError) as error:
        raise BadInput(f"--leaderboard: {error}") from None
    talk(f"{plural(n, 'row')} appended to {path}")
    for row in before:
        talk(
            f"{row['estimator']} d={row['d']:g} alpha={row['alpha']:g}: {row['error_before']:.4g} in version "
            f"{row['version_before']}, {row['error']:.4g} now, {row['change_in_standard_errors']:+.1f} "
            "standard errors away"
        )

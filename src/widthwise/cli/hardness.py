"""``widthwise hardness``: how the time to leave the universal branch grows with d."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..problem import Problem
from .output import BadInput, Output, number, print_table, talk
from .problem_options import choose, read_numbers, read_positive, takes_problem
from .sweep_options import SeedsOption, Where, check_seeds, read_dimensions

if TYPE_CHECKING:
    from ..studies.hardness import HardnessRow, HardnessStudy

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
@partial(takes_problem, activation="sigma3")  # with ReLU the branches are too close to tell apart
def hardness(
    problem: Problem,
    learner: Annotated[
        str,
        typer.Option(
            "--learner",
            metavar="NAME",
            help="hmc (iterations until the overlap q2 exceeds a threshold) or adam (gradient updates until "
            "the test loss falls below one, at the best batch size).",
        ),
    ] = "hmc",
    alpha: Annotated[
        str, typer.Option("--alpha", metavar="RATIO", help="Samples per squared dimension alpha = n/d², > 0.")
    ] = "1",
    d: Annotated[
        str, typer.Option("--d", "-d", metavar="VALUES", help="Dimensions d: a list or first:last:count.")
    ] = "20,30,40,50",
    seeds: SeedsOption = 10,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", help="Length of a run: what takes longer is censored.")
    ] = 2000,
    record_every: Annotated[
        int, typer.Option("--record-every", metavar="N", help="Iterations between two looks at a run.")
    ] = 1,
    thresholds: Annotated[
        str | None,
        typer.Option(
            "--thresholds",
            metavar="VALUES",
            help="Of the centred overlap q2 (hmc) or of the test loss (adam).",
            show_default="where the paper's are, between the branches of the theory",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published", help="Analyse the times that the paper's authors published; run nothing."
        ),
    ] = False,
    n_bootstrap: Annotated[
        int,
        typer.Option("--bootstrap", metavar="N", help="Samples for the intervals of the exponents, >= 10."),
    ] = 400,
    *,
    where: Where,
    out: Output,
) -> None:
    """How the time that a learner needs to leave the universal branch grows with d.

    Fits exp(a d + b) and a d^b to the times at which runs cross each threshold. Runs that never cross are
    censored, not dropped. Prints the paper's chi-square, the maximum of the censored likelihood, intervals of
    95 % for the exponents from instances drawn again, and which law is the likelier.

    Example: widthwise hardness --activation sigma3 --d 20,30,40,50 --seeds 10 --store runs --plot times.png

    Example: widthwise hardness --learner adam --noise 1e-4 --alpha 5 --d 10,14,18 --store runs

    Example: widthwise hardness --published --plot published.png
    """
    if n_bootstrap < 10:
        raise BadInput(f"--bootstrap must be >= 10 (samples), got {n_bootstrap}")
    n_failed = 0
    if published:
        from ..studies.published import published_crossings

        crossings = published_crossings()
        talk("HMC times published beside arXiv:2505.24849; stand-ins with the published means and deviations")
    else:
        check_seeds(seeds, least=2)
        learner = choose("--learner", learner, ("hmc", "adam"), "learner")
        study = _study(problem, learner, alpha, d, seeds, iterations, record_every, thresholds)
        with where.opened() as kept:
            report = where.run(str(study), study.tasks(), kept)
            crossings, n_failed = study.crossings(kept), report.n_failed
    from ..studies.hardness import analyse

    try:
        rows = analyse(crossings, n_bootstrap=n_bootstrap)
    except ValueError as error:
        talk(f"error: {error}")
        raise typer.Exit(1) from None
    records = [row.to_dict() for row in rows]
    out.print({} if published else problem.to_dict(), records, lambda: _print(rows))

    def figure() -> Any:
        from ..plotting.experiments import plot_hardness

        return plot_hardness(crossings, rows)

    out.draw(figure)
    if n_failed:
        raise typer.Exit(1)


def _study(
    problem: Problem,
    learner: str,
    alpha: str,
    d: str,
    seeds: int,
    iterations: int,
    record_every: int,
    thresholds: str | None,
) -> HardnessStudy:
    from ..studies.hardness import HardnessStudy

    sizes = read_dimensions(d)
    if len(set(sizes)) < 3:
        raise BadInput(f"--d must hold at least three values, to tell two laws apart; got {d!r}")
    if not 1 <= record_every <= iterations:
        raise BadInput(f"--record-every must lie between 1 and --iterations; got {record_every}")
    levels = () if thresholds is None else tuple(read_numbers("--thresholds", thresholds, "overlap or loss"))
    amount = read_positive("--alpha", alpha, "samples per squared dimension, n/d²")
    try:
        return HardnessStudy(
            problem, learner, sizes, range(seeds), amount, iterations, record_every, tuple(map(float, levels))
        )
    except ValueError as error:
        raise BadInput(f"--alpha: {error}") from None


def _print(rows: list[HardnessRow]) -> None:
    columns = ["readouts", "threshold", "law", "runs", "never_crossed", "chi_square"]
    columns += ["exponent", "95 %_interval", "log_likelihood", "AIC", "likelier in_samples"]
    table = []
    for row in rows:
        exponent = row.a if row.law == "exponential" else row.b
        law = "exp(a d + b)" if row.law == "exponential" else "a d^b"
        line = [row.readouts, f"{row.threshold:.5g}", law, str(row.n_runs), str(row.n_censored)]
        line += [f"{row.chi_square:.2f}" if row.chi_square == row.chi_square else "–", number(exponent)]
        line += [f"{number(row.low)} to {number(row.high)}", f"{row.log_likelihood:.2f}", f"{row.aic:.2f}"]
        table.append([*line, f"{100 * row.preferred:.0f} %"])
    print_table(columns, table)

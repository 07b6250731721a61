"""``widthwise plan``: how much data a target needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..problem import Problem
from .output import BadInput, Format, number, print_table
from .predict import ErrorOption, TheoryOption, check_error_option
from .problem_options import DimensionOption, choose, read_positive, takes_problem

if TYPE_CHECKING:
    from ..theory.planner import Need, SamplesNeeded

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
@takes_problem
def plan(
    problem: Problem,
    excess_error: Annotated[
        str | None,
        typer.Option("--excess-error", metavar="ERROR", help="Target: largest excess error allowed, > 0."),
    ] = None,
    overlap: Annotated[
        str | None,
        typer.Option(
            "--overlap",
            metavar="SHARE",
            help="Target: smallest overlap of the neurons with the teacher's, between 0 and 1 "
            "(mean over units weighted by v², or see --readout).",
        ),
    ] = None,
    matrix_overlap: Annotated[
        str | None,
        typer.Option(
            "--matrix-overlap",
            metavar="SHARE",
            help="Target: smallest centred matrix overlap q2 - gamma vbar², between 0 and 1.",
        ),
    ] = None,
    error: ErrorOption = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="VALUE", help="With --error: the largest value of it allowed."),
    ] = None,
    readout: Annotated[
        str | None,
        typer.Option("--readout", metavar="SIZE", help="With --overlap: that of the units with this |v|."),
    ] = None,
    d: DimensionOption = None,
    theory: TheoryOption = "main",
    *,
    out: Format,
) -> None:
    """How many samples a target needs, at the optimum and for a polynomial-time learner.

    The latter reaches the universal branch, as GAMP-RIE does, and may never meet the target. Exit code 1
    says that no number of samples meets it even at the optimum.

    Example: widthwise plan --readouts four-point --excess-error 0.01 -d 200

    Example: widthwise plan --weights rademacher --overlap 0.9 --json

    Example: widthwise plan --readouts rademacher --channel probit:0.02 --error zero-one --target 0.1
    """
    from ..theory.planner import samples_needed
    from ..theory.solver import THEORIES

    theory = choose("--theory", theory, THEORIES, "theory")
    check_error_option(problem, error)
    if (error is None) != (target is None):
        raise BadInput("give --error and --target together, e.g. --error zero-one --target 0.1")
    given = {"excess-error": excess_error, "overlap": overlap, "matrix-overlap": matrix_overlap}
    given["target"] = target
    asked = [name for name, text in given.items() if text is not None]
    if len(asked) != 1:
        raise BadInput(
            "give one target: --excess-error, --overlap, --matrix-overlap or --error with --target"
            + (f"; got --{' and --'.join(asked)}" if asked else ", e.g. --excess-error 0.01")
        )
    goal = {name.replace("-", "_"): _target(f"--{name}", text) for name, text in given.items() if text}
    try:
        answer = samples_needed(
            problem,
            readout=None if readout is None else read_positive("--readout", readout, "|v|"),
            d=None if d is None else _whole(d),
            theory=theory,
            error=error,
            **goal,
        )
    except ValueError as error:
        raise BadInput(f"--{str(error).replace('excess_error', 'excess-error')}") from None
    records = [_record(answer, who) for who in ("optimum", "universal")]
    out.print(problem.to_dict(), records, lambda: _print(answer))
    if not answer.optimum.is_reachable:
        raise typer.Exit(1)


def _print(answer: SamplesNeeded) -> None:
    print_table(
        ["learner", "alpha", *(["n"] if answer.d is not None else []), "limit for_alpha to ∞", "note"],
        [
            _row(answer, "optimum", answer.optimum),
            _row(answer, "polynomial time (universal branch)", answer.universal),
        ],
        title=f"{answer}\n",
    )


def _target(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value >= 0 and math.isfinite(value)):
        raise BadInput(f"{option} must be a number >= 0; got {text!r}")
    return value


def _whole(text: str) -> int:
    value = read_positive("--d", text, "dimension of the inputs")
    if value != int(value):
        raise BadInput(f"--d must be a whole number (dimension of the inputs); got {text!r}")
    return int(value)


def _record(answer: SamplesNeeded, who: str) -> dict[str, Any]:
    shared = {"quantity": answer.quantity, "target": answer.target, "readout": answer.readout, "d": answer.d}
    return {"learner": who, **shared, **getattr(answer, who).to_dict()}


def _row(answer: SamplesNeeded, name: str, need: Need) -> list[str]:
    note = ""
    if not need.is_reachable:
        note = "out of reach"
    elif need.alpha_linear is not None:
        note = f"n = {need.alpha_linear:.6g} d" if need.alpha_linear else "no data needed"
    elif need.is_jump:
        note = "passed in a jump"
    amount = ["–" if need.n is None else str(need.n)] if answer.d is not None else []
    alpha = number(need.alpha, 6) if math.isfinite(need.alpha) else "∞"
    return [name, alpha, *amount, number(need.limit), note]

"""``widthwise transitions``: where hidden units begin to be learnt, and where the equilibrium jumps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._records import as_csv, as_json
from ..problem import Problem
from .output import BadInput, Output, number, print_table, talk, write
from .problem_options import DimensionOption, complain, read_positive, takes_problem

if TYPE_CHECKING:
    from ..theory.transitions import Transition, TransitionList

__all__ = ["FIELDS", "app"]

FIELDS = ("readout", "alpha", "kind", "spinodals", "overlap_jump", "error_jump")
"""What is said of each transition, in the order of files."""

app = typer.Typer(add_completion=False)


@app.command()
@takes_problem
def transitions(
    problem: Problem,
    alpha_max: Annotated[
        str,
        typer.Option(
            "--alpha-max",
            metavar="ALPHA",
            help="Samples per squared dimension n/d² up to which to look, > 0.",
        ),
    ] = "10",
    truncate: Annotated[
        str | None,
        typer.Option(
            "--truncate",
            metavar="SIGMAS",
            help="For readouts of unbounded support, some of which are learnt from alpha = 0+ on: cut the "
            "support at so many standard deviations, > 0, and report that onset.",
        ),
    ] = None,
    d: DimensionOption = None,
    *,
    out: Output,
) -> None:
    """Where hidden units begin to be learnt, and where the equilibrium jumps between branches.

    For each transition: |v| of the units that are learnt there, alpha, whether it is continuous or of first
    order, and for the latter the spinodals (alpha from which the new branch exists, and up to which the
    old one is stable) and the jumps of overlap and excess error. What is infinite is null in JSON. The
    figure shows all branches through their folds.

    Example: widthwise transitions --readouts four-point --gamma 0.7

    Example: widthwise transitions --activation sigma3 --weights rademacher --noise 1.25 --plot branches.png
    """
    from ..theory.transitions import transitions as find

    largest = read_positive("--alpha-max", alpha_max, "samples per squared dimension, n/d²")
    size = None if d is None else read_positive("--d", d, "dimension of the inputs")
    cut = None if truncate is None else read_positive("--truncate", truncate, "standard deviations")
    if cut is not None and math.isfinite(problem.readouts.largest):
        raise BadInput(
            f"--truncate is for readouts of unbounded support; {problem.readouts.name} ones end at "
            f"|v| = {problem.readouts.largest:.4g}"
        )
    try:
        found = find(problem, largest, truncate=cut)
    except ArithmeticError as error:  # parameters of 1e300 overflow before anything can be said
        talk(f"error: the equations cannot be evaluated for these parameters: {error}")
        raise typer.Exit(1) from None
    except ValueError as error:  # an alpha beyond what can be computed
        complain("--alpha-max", error)
    records = [_record(transition) for transition in found]
    if out.json:
        write(as_json(problem.to_dict(), records, name="transitions"))
    elif out.csv:
        write(as_csv(problem.to_dict(), records, names=FIELDS))
    elif found:
        _print_transitions(problem, found, size)
    if not found:
        talk(str(found))
    elif found.note:
        talk(f"note: {found.note}")
    out.draw(lambda: _figure(problem, found))


def _record(transition: Transition) -> dict[str, Any]:
    record = {name: getattr(transition, name) for name in FIELDS}
    return record | {"spinodals": list(transition.spinodals or ())}


def _print_transitions(problem: Problem, found: TransitionList, d: float | None) -> None:
    columns = ["|v|", "alpha", *([] if d is None else ["n"]), "kind", "spinodals_from", "to"]
    columns += ["overlap_jump", "excess_error_jump"]
    rows = []
    for t in found:
        ends = [_alpha(x) for x in t.spinodals] if t.spinodals else ["–"] * 2
        is_jump = t.kind == "first-order"
        jumps = [*ends, *([number(t.overlap_jump), number(t.error_jump)] if is_jump else ["–"] * 2)]
        amount = [] if d is None else [str(math.ceil(t.alpha * d**2))]
        rows.append([f"{t.readout:.4g}".replace("inf", "∞"), _alpha(t.alpha), *amount, t.kind, *jumps])
    print_table(columns, rows, title=repr(problem))


def _alpha(value: float) -> str:
    if value == 0:
        return "0+"
    return number(value, 8) if math.isfinite(value) else "∞"


def _figure(problem: Problem, found: TransitionList) -> Any:
    """All branches, over the range in which something happens."""
    from ..plotting import plot_bifurcation

    events = [x for t in found for x in (t.alpha, *(t.spinodals or ())) if 0 < x <= found.alpha_max]
    high = min(found.alpha_max, 1.6 * max(events, default=found.alpha_max))
    low = min([0.01 * high, *(0.5 * x for x in events)])
    return plot_bifurcation(None, problem, (low, high), found=found).figure

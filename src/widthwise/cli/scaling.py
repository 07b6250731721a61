"""``widthwise scaling``: the optimal error and the effective width against the number of samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from .._bad_value import BadValue
from ..problem import Problem
from .output import BadInput, Output, end_without, number, print_table, talk, write
from .problem_options import read_numbers, read_positive, takes_problem, worded

if TYPE_CHECKING:
    from ..theory.scaling import ScalingLaw

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
@takes_problem
def scaling(
    problem: Problem,
    samples: Annotated[
        str | None,
        typer.Option(
            "--n",
            "-n",
            metavar="VALUES",
            help="Numbers n of samples, > 0: one (80000), a list (1e4,1e5) or a range with even ratios "
            "(1e4:1e7:13 is first, last, count).",
            show_default="three decades about the n at which all features are learnt",
        ),
    ] = None,
    d: Annotated[
        str | None,
        typer.Option(
            "-d",
            "--d",
            metavar="DIMENSION",
            help="Dimension of the inputs, > 0.",
            show_default="k/gamma, for k features",
        ),
    ] = None,
    *,
    out: Output,
) -> None:
    """How the best possible error falls with the number of samples, and how many features are learnt.

    Features are learnt one after the other, the largest readouts first; effective_width counts those that
    are. one_draw_error is that of a network made of the learnt features in one draw from the posterior, and
    local_exponent the slope of the error over the octave about n, both logarithmic.

    Example: widthwise scaling --activation "tanh(2*x)" --readouts power-law:1,100 --noise 0.01 -n 80000

    Example: widthwise scaling --activation "tanh(2*x)" --readouts power-law:1,1e5 --noise 0.01 --plot law.png
    """
    from ..theory.scaling import scaling_law

    size = None if d is None else read_positive("--d", d, "dimension of the inputs")
    try:
        asked = _samples(samples) if samples is not None else _about_the_crossover(problem, size)
        if out.plot is not None and asked.size < 2:
            raise BadInput("--plot needs at least two values of --n, e.g. 1e4:1e7:13")
        law = scaling_law(problem, asked, size)
    except BadValue as error:
        raise worded(error) from None
    if out.json or out.csv:
        write(law.to_json() if out.json else law.to_csv())
    else:
        _print(law)
    out.draw(lambda: law.plot()[0].figure)
    missing = [status for status in law.status if status != "converged"]
    end_without(len(missing), len(law), ", ".join(sorted(set(missing))))


def _samples(text: str) -> np.ndarray:
    """As for ``--alpha``, but ranges have even ratios."""
    if ":" not in text:
        return read_numbers("--n", text, "samples")
    ends = read_numbers("--n", text, "samples")
    return np.geomspace(ends[0], ends[-1], ends.size)


def _about_the_crossover(problem: Problem, d: float | None) -> np.ndarray:
    from ..theory.scaling import crossover

    top = crossover(problem, d)
    if not (math.isfinite(top) and top > 0):
        raise BadInput("--n must be given: not all units are ever learnt, so that no range suggests itself")
    return np.geomspace(1e-2 * top, 10 * top, 13)


def _print(law: ScalingLaw) -> None:
    columns = ["n", "excess_error", "effective_width", "one_draw_error", "local_exponent"]
    rows = [
        [f"{n:.6g}", f"{error:.4e}", f"{width:g}", f"{draw:.4e}", number(slope, 4)]
        for n, error, width, draw, slope in zip(
            law.n, law.excess_error, law.effective_width, law.one_draw_error, law.local_exponent, strict=True
        )
    ]
    print_table(columns, rows, title=f"{law.problem!r}, d = {law.d:g}")
    first, second = law.predicted_exponents
    while_found = f"{first:.4g} while features are found, " if math.isfinite(first) else ""
    where = f"n = {law.crossover:.4g}" if math.isfinite(law.crossover) else "no n"
    talk(f"predicted exponents: {while_found}{second:g} when all are, from {where} on")

"""``widthwise diagram``: a phase diagram over alpha and the width, or alpha and the noise."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .._bad_value import plural
from .._interrupt import allow
from .._sizes import MEANINGS, alpha_from, conversions, gamma_from
from .bundles import takes_bundles
from .output import BadInput, Output, end_without, number, print_table, talk, write
from .predict import ErrorOption, TheoryOption, check_error_option
from .problem_options import (
    ActivationOption,
    ChannelOption,
    HiddenOption,
    InputsOption,
    NormaliseOption,
    ReadoutsOption,
    SamplesOption,
    SizeOption,
    WeightsOption,
    choose,
    read_alphas,
    read_numbers,
    read_positive,
    read_problem,
)
from .sweep_options import Place, WorkersOption

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["app"]

IN_FILES = ("excess_error", "universal_error", "gap", "matrix_overlap_centred", "n_specialised", "n_stable")

_ALPHA, _GAMMA = "0.1:8:40", "0.5"

app = typer.Typer(add_completion=False)


@app.command()
@takes_bundles
def diagram(
    activation: ActivationOption = "relu",
    weights: WeightsOption = "gaussian",
    readouts: ReadoutsOption = "homogeneous",
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            metavar="VALUES",
            help="Variance Delta of the Gaussian noise of the labels, > 0: one value, or an axis such as "
            "0.01:2:40 (first, last, count).",
            show_default="0.1",
            rich_help_panel="Problem",
        ),
    ] = None,
    snr: Annotated[
        str | None,
        typer.Option(
            "--snr",
            metavar="VALUES",
            help="Variance of the network's output over that of Gaussian label noise, > 0, in place of "
            "--noise: one value, or an axis such as 1:100:40.",
            show_default=False,
            rich_help_panel="Problem",
        ),
    ] = None,
    channel: ChannelOption = None,
    gamma: Annotated[
        str | None,
        typer.Option(
            "--gamma",
            metavar="VALUES",
            help="Hidden units per input gamma = k/d, > 0: one value, or an axis such as 0.1:2:40.",
            show_default=_GAMMA,
            rich_help_panel="Problem",
        ),
    ] = None,
    inputs: InputsOption = "isotropic",
    normalise: NormaliseOption = False,
    alpha: Annotated[
        str | None,
        typer.Option(
            "--alpha",
            metavar="VALUES",
            help="Samples per squared dimension alpha = n/d², > 0: one value, or an axis such as 0.1:8:40.",
            show_default=_ALPHA,
        ),
    ] = None,
    n: SamplesOption = None,
    k: HiddenOption = None,
    d: SizeOption = None,
    quantity: Annotated[
        str,
        typer.Option(
            "--quantity",
            metavar="NAME",
            help="What colours the figure: excess_error, universal_error, gap (how far the optimum lies "
            "below the universal branch), matrix_overlap_centred, mutual_information, n_specialised, "
            "n_stable.",
        ),
    ] = "excess_error",
    error: ErrorOption = None,
    theory: TheoryOption = "main",
    lines: Annotated[
        bool, typer.Option("--lines/--no-lines", help="Locate the transitions (the larger part of the work).")
    ] = True,
    refine: Annotated[
        int,
        typer.Option(
            "--refine",
            metavar="N",
            help="How many times cells that a line crosses are halved towards it, in dataset and figure.",
        ),
    ] = 2,
    workers: WorkersOption = None,
    netcdf: Annotated[
        str | None,
        typer.Option("--netcdf", metavar="FILE", help="Write the whole dataset.", rich_help_panel="Output"),
    ] = None,
    *,
    out: Output,
) -> None:
    """Phases over two of alpha, gamma and noise (or snr), with the lines between them.

    Give two of the three a list or a range; the third stays fixed. Without --json or --csv the transitions
    along alpha are printed. Ctrl-C keeps what is done; exit code 1 says that some point has no numbers.

    Example: widthwise diagram --readouts four-point --gamma 0.1:1.5:40 --alpha 0.05:8:40 --plot phases.pdf

    Example: widthwise diagram --weights rademacher --activation sigma3 --noise 0.1:2:40 --alpha 0.1:4:9 --csv

    Example: widthwise diagram --snr 1:100:20 --k 60 --d 200 --n 4000:200000:20 --plot phases.pdf
    """
    from ..plotting import DIAGRAM_QUANTITIES
    from ..theory.diagram import phase_diagram
    from ..theory.solution import error_column
    from ..theory.solver import THEORIES

    quantity = choose("--quantity", quantity, DIAGRAM_QUANTITIES, "quantity")
    theory = choose("--theory", theory, THEORIES, "theory")
    Place(workers=workers)
    if refine < 0:
        raise BadInput(f"--refine must be >= 0; got {refine}")
    if netcdf is not None and not Path(netcdf).parent.is_dir():
        raise BadInput(f"--netcdf: there is no folder {str(Path(netcdf).parent)!r}; create it first")
    axes = _axes(alpha, n, gamma, k, d, noise, snr)
    if "noise" in axes and channel is not None:
        raise BadInput("give --noise or --channel, not both: --noise is the variance of the Gaussian channel")
    problem = read_problem(
        activation=activation,
        weights=weights,
        readouts=readouts,
        noise=float(axes["noise"][0]) if "noise" in axes else None,
        snr=float(axes["snr"][0]) if "snr" in axes else None,
        channel=channel,
        gamma=float(axes["gamma"][0]),
        inputs=inputs,
        normalise=normalise,
    )
    check_error_option(problem, error)
    if error is not None and quantity == "excess_error":
        quantity = error_column(error)
    varied: dict[str, Any] = {name: values for name, values in axes.items() if values.size > 1}
    if len(varied) != 2:
        raise BadInput(
            f"a diagram has two axes, here {len(varied)}: give a range to two of --alpha, --gamma and "
            "--noise, e.g. --gamma 0.1:1.5:40 --alpha 0.1:8:40"
        )
    _say_conversions(problem, axes, n, k)
    varied.setdefault("alpha", float(axes["alpha"][0]))
    if "snr" in axes:
        varied.setdefault("snr", float(axes["snr"][0]))
    start = time.perf_counter()
    allow(5.0)  # after Ctrl-C what is done is written
    try:
        data = phase_diagram(
            problem,
            **varied,
            theory=theory,
            error=error,
            has_lines=lines,
            refine=refine,
            n_workers=workers,
            show_progress=True,
        )
    except ValueError as error:
        raise BadInput(f"--{error}") from None
    n_points = data["excess_error"].size
    n_missing = int(np.isnan(data["excess_error"]).sum())
    talk(f"{n_points - n_missing} of {plural(n_points, 'point')} in {time.perf_counter() - start:.1f} s")
    if netcdf is not None:
        try:
            data.save(netcdf)
        except (OSError, ImportError, ValueError) as error:
            raise BadInput(f"--netcdf: {netcdf!r} cannot be written: {error}") from None
        talk(f"dataset written to {netcdf}")
    out.print(
        _description(problem, data), _records(data), lambda: _print_lines(problem, data) if lines else None
    )
    if n_missing < n_points:
        from ..plotting import plot_phase_diagram

        out.draw(lambda: plot_phase_diagram(data, quantity).figure)
    if not data.attrs["is_complete"]:
        raise KeyboardInterrupt
    end_without(n_missing, n_points)


def _axes(
    alpha: str | None,
    n: str | None,
    gamma: str | None,
    k: str | None,
    d: str | None,
    noise: str | None,
    snr: str | None,
) -> dict[str, np.ndarray]:
    """Values of alpha, gamma, and noise or snr, one or several each; sizes become ratios."""
    if (n is None and k is None) != (d is None):
        raise BadInput("--d goes with --n or --k, and they with it: alpha = n/d², gamma = k/d")
    for given, size, rule in (
        ("alpha", n, "give --alpha, or --n and --d, not both: alpha is n/d²"),
        ("gamma", k, "give --gamma, or --k and --d, not both: gamma is k/d"),
        ("noise", snr, "give --noise or --snr, not both: the noise is the variance of the output over snr"),
    ):
        if size is not None and {"alpha": alpha, "gamma": gamma, "noise": noise}[given] is not None:
            raise BadInput(rule)
    dimension = None if d is None else read_positive("--d", d, MEANINGS["d"])
    axes = {}
    if n is not None:
        axes["alpha"] = alpha_from(None, read_numbers("--n", n, MEANINGS["n"]), dimension)
    else:
        axes["alpha"] = read_alphas(alpha or _ALPHA)
    if k is not None:
        axes["gamma"] = np.array(
            [gamma_from(one, dimension) for one in read_numbers("--k", k, MEANINGS["k"])]
        )
    else:
        axes["gamma"] = read_numbers("--gamma", gamma or _GAMMA, MEANINGS["gamma"])
    for name, text in (("noise", noise), ("snr", snr)):
        if text is not None:
            axes[name] = read_numbers(f"--{name}", text, MEANINGS[name])
    return axes


def _say_conversions(problem: Problem, axes: dict[str, np.ndarray], n: str | None, k: str | None) -> None:
    """What single sizes were converted to."""
    made: dict[str, tuple[float, str]] = {}
    if n is not None and axes["alpha"].size == 1:
        made["alpha"] = (float(axes["alpha"][0]), "n/d²")
    if k is not None and axes["gamma"].size == 1:
        made["gamma"] = (problem.gamma, "k/d")
    if "snr" in axes and axes["snr"].size == axes["gamma"].size == 1:
        made["noise"] = (problem.output_power / float(axes["snr"][0]), "variance of the output/snr")
    if made:
        talk(conversions(**made))


def _description(problem: Problem, data: Any) -> dict[str, Any]:
    """The problem without what is varied."""
    varied = {"noise": "channel", "snr": "channel"}
    dims = {varied.get(name, name) for name in data["excess_error"].dims}
    fixed = {name: data.attrs[name] for name in ("alpha", "snr") if name in data.attrs}
    if "snr" in fixed:
        dims.add("channel")  # the noise may follow the width
    return {name: value for name, value in problem.to_dict().items() if name not in dims} | fixed


def _records(data: Any) -> list[dict[str, Any]]:
    first, second = data["excess_error"].dims
    # An error measure that was asked for comes on top.
    measures = [
        n for n in data if n.endswith("_error") and n not in IN_FILES and not n.startswith("refined_")
    ]
    records = []
    for i, x in enumerate(data[first].values.tolist()):
        for j, y in enumerate(data[second].values.tolist()):
            record: dict[str, Any] = {first: x, second: y}
            record |= {name: float(data[name].values[i, j]) for name in (*IN_FILES, *measures)}
            record["weight_overlap"] = data["weight_overlap"].values[i, j].tolist()
            record |= {name: str(data[name].values[i, j]) for name in ("branch", "status")}
            records.append(record)
    return records


def _print_lines(problem: Problem, data: Any) -> None:
    first, second = data["excess_error"].dims
    if "transition_alpha" not in data:
        rows = [
            [number(x), number(y, 7), str(kind), number(size), f"{low} | {high}"]
            for x, y, kind, size, (low, high) in zip(
                *(data[f"line_{name}"].values for name in ("first", "second", "kind", "readout", "phase")),
                strict=True,
            )
        ]
        columns = [first, second, "kind", "|readout|", "classes_learnt"]
    else:
        rows = []
        for i, x in enumerate(data[first].values):
            for j in range(data.sizes["line"]):
                at = data["transition_alpha"].values[i, j]
                if not np.isnan(at):
                    low, high = data["spinodal_low"].values[i, j], data["spinodal_high"].values[i, j]
                    size = data["transition_readout"].values[i, j]
                    kind = str(data["transition_kind"].values[i, j])
                    rows.append([number(x), number(size), number(at, 7), kind, number(low), number(high)])
        columns = [first, "|readout|", "alpha", "kind", "spinodal_from", "spinodal_to"]
    if rows:
        print_table(columns, rows, title=repr(problem) + f", {first} varied")
    else:
        write(_why_no_lines(problem, data))


def _why_no_lines(problem: Problem, data: Any) -> str:
    """What the onset criterion says where it is largest."""
    from ..theory.solver import exact_reason

    reason = exact_reason(problem)
    if reason:
        return f"no transition in this range: {reason}"
    gamma = data["gamma"] if "gamma" in data.coords else problem.gamma
    criterion = float((problem.readouts.largest**2 * data["matrix_overlap_centred"] / gamma).max())
    return (
        f"no transition in this range: max v^2 (q_2 - gamma vbar^2)/gamma is {criterion:.4g} at most, "
        "and the first unit is learnt when it reaches 1"
    )

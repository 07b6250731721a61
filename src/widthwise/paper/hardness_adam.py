"""Time that Adam needs to beat the universal branch: by dimension, threshold and readout law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..networks.comparison import mean_of
from ..problem import Problem
from . import marks
from .hardness_runs import (
    branch_rows,
    chosen_tasks,
    crossings_of,
    draw_times,
    draw_trajectories,
    fit_rows,
    fit_table,
    likelier,
    times_of,
)
from .item import Item, Tables
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..sweeps.task import Task

__all__ = ["ITEM"]

NAMES = {
    "homogeneous": "homogeneous",
    "rademacher": "Rademacher",
    "uniform": "uniform",
    "gaussian": "Gaussian",
}
PROBLEMS = {law: Problem("relu", "gaussian", law, channel=1e-4, gamma=0.5) for law in NAMES}
ALPHA = 5.0
THRESHOLDS = (0.008, 0.010, 0.012)
LEVELS = dict.fromkeys(NAMES, THRESHOLDS)
SHOWN = {law: name for law, name in NAMES.items() if law != "uniform"}

PRINTED = {
    "homogeneous": {"exponential": (5.57, 9.00, 21.1), "power": (32.3, 26.5, 61.1)},
    "rademacher": {"exponential": (4.51, 6.84, 12.7), "power": (12.0, 17.4, 16.0)},
    "uniform": {"exponential": (5.08, 1.44, 4.21), "power": (8.26, 8.57, 3.82)},
    "gaussian": {"exponential": (2.66, 0.76, 3.02), "power": (0.55, 2.31, 1.36)},
}
"""χ² of the paper's Table 2, in the order of the thresholds."""


def traced(task: Task) -> tuple[str, ...]:
    """Trajectories are those of the batch size n/4, as in the paper."""
    is_largest = task.settings["batch_size"] == round(task.alpha * task.d**2) >> 2
    is_shown = task.problem.readouts.name != "uniform"
    return ("excess_error",) if is_largest and is_shown else ()


def compared(tables: Tables) -> Table:
    """Both laws for every threshold, ours beside the χ² that the paper prints (at other d)."""
    rows = fit_rows(crossings_of(tables.measured, LEVELS))
    judged = Table()
    for row in rows:
        printed = PRINTED[row["readouts"]][row["law"]][THRESHOLDS.index(row["threshold"])]
        judged.append({"series": row["readouts"]} | dict(row) | {"printed_chi_square": printed})
    return judged


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(4, 3, width=marks.PAGE, height=8.2)
        crossings = crossings_of(tables.measured, LEVELS)
        draw_times(axes[:3, :2], crossings, tables.comparison, SHOWN)
        for ax, (law, name) in zip(axes[:3, 2], SHOWN.items(), strict=True):
            draw_trajectories(ax, tables.traces.where(series=law), "excess_error", is_log=True)
            universal = tables.theory.where(series=law, line="universal").column("excess_error")[0]
            ax.axhline(universal, color="black", lw=0.9, ls=(0, (4, 1.6)))
            ax.axhline(2 * universal, color="black", lw=0.9, ls=(0, (1, 1.2)))
            ax.set(yscale="log", xlabel="gradient updates", title=f"{name}: batches of $n/4$")
            ax.set_ylabel("test error")
            corner = {"loc": "upper right", "borderaxespad": 0.0, "fontsize": 6, "labelspacing": 0.3}
            if ax.get_legend_handles_labels()[0]:
                ax.legend(
                    frameon=False, handlelength=0.6, handletextpad=0.4, ncols=3, columnspacing=0.8, **corner
                )
        for ax, law in zip(axes[3, :2], ("homogeneous", "gaussian"), strict=True):
            _draw_linear(ax, [c for c in crossings if c.readouts == law and c.threshold == THRESHOLDS[0]])
            ax.set_title(rf"{NAMES[law]}, $\varepsilon^* = {THRESHOLDS[0]}$")
        uniform = {"uniform": NAMES["uniform"]}
        draw_times(axes[3:, 2:], crossings, tables.comparison, uniform)
    return figure


def _draw_linear(ax: Any, crossings: Sequence[Any]) -> None:
    import numpy as np

    from ..studies.survival import Times, fit_times

    sizes = sorted({one.d for one in crossings})
    if not sizes:
        return
    for d in sizes:
        own = [one for one in crossings if one.d == d]
        mean = mean_of([one.time for one in own])
        face = "white" if any(one.is_censored for one in own) else "0.2"
        error = np.nan_to_num(mean.standard_error)
        ax.errorbar(d, mean.value, error, color="0.2", mfc=face, marker="o", ms=4, elinewidth=0.8)
    x = np.linspace(sizes[0], sizes[-1], 100)
    for law, color in (("exponential", "#D55E00"), ("power", "#0072B2")):
        try:
            columns = zip(*[(c.d, c.time, c.is_censored) for c in crossings], strict=True)
            ax.plot(x, fit_times(Times.of(*columns), law)(x), color=color, lw=1.2, label=law)
        except ValueError:
            continue
    ax.set_ylim(bottom=0)
    ax.set(xlabel="$d$", ylabel="time $t^*(d)$")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)


def remarks(tables: Tables) -> list[str]:
    sizes = sorted({row["d"] for row in tables.measured})
    ours = f", d = {sizes[0]} to {sizes[-1]}," if sizes else ""
    return [
        "Dashed in the trajectories: error of the universal branch; dotted: twice that, where the plateaux "
        "are.",
        "Times are gradient updates until the moving average of ten of them is below the threshold, with "
        "the batch size that is fastest at each d; runs that never crossed count with their length in the "
        "points (open markers) and as censored in the fits; χ² leaves out the d at which some never crossed.",
        f"Where our dimensions{ours} are not the paper's, the χ² are not comparable. "
        + likelier(tables.comparison)
        + " Fits are in the file of the table.",
    ]


ITEM = Item(
    name="hardness-adam",
    place="Figures 8 to 10, Table 2",
    title="Hardness with Adam",
    caption="Gradient updates that Adam needs to bring the test error of a ReLU network below ε*, against "
    "d, for three readout laws (γ = 0.5, Δ = 10⁻⁴, α = 5): semilog with exponential fits (left), log-log "
    "with power-law fits (centre; shaded: 95 % interval of the exponent); trajectories of the test error "
    "(right; shaded: one standard deviation of its logarithm over instances); the lowest threshold in "
    "linear scale with both fits, and uniform readouts (bottom).",
    problems=PROBLEMS,
    theory=lambda settings: branch_rows(PROBLEMS, ALPHA, ("equilibrium", "universal")),
    tasks=lambda settings: chosen_tasks(PROBLEMS, "adam", ALPHA, LEVELS, settings),
    draw=draw,
    compare=compared,
    traced=traced,
    has_common_rows=False,
    observe=lambda result: times_of(result, THRESHOLDS, is_above=False),
    table=lambda tables: fit_table(tables.comparison, NAMES, "ε*"),
    remarks=remarks,
)

"""Time that HMC needs to leave the universal branch: by dimension, threshold and readout law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..problem import Problem
from . import marks
from .compare import compare, deviations, printed_row
from .hardness_runs import (
    COLORS,
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

__all__ = ["ITEM"]

NAMES = {"homogeneous": "homogeneous", "rademacher": "Rademacher", "gaussian": "Gaussian"}
PROBLEMS = {law: Problem("sigma3", "gaussian", law, channel=0.1, gamma=0.5) for law in NAMES}
ALPHA = 1.0
TRACED = 6  # instances whose trajectories are kept
THRESHOLDS = {
    "homogeneous": (0.903, 0.906, 0.909),
    "rademacher": (0.897, 0.904, 0.911),
    "gaussian": (0.940, 0.945, 0.950),
}


def published_chi_squares() -> Table:
    """The paper's Table 3 from the authors' published times, by the same formula."""
    from ..studies.published import PRINTED_CHI_SQUARE, published_chi_square

    found = published_chi_square()
    rows = Table()
    for law in NAMES:
        levels = sorted({threshold for readouts, threshold, _ in found if readouts == law})
        for kind in ("exponential", "power"):
            for i, level in enumerate(levels):
                printed = f"{PRINTED_CHI_SQUARE[law][kind][i]:.2f}"
                name = f"χ² of the {kind} law, q₂* = {THRESHOLDS[law][i]}"
                row = printed_row("Table 3", name, law, printed, found[law, level, kind])
                rows.append({"series": law, "source": "authors"} | row)
    return rows


def compared(tables: Tables) -> Table:
    """χ² of the paper from its published times, fits of our times, and where runs end."""
    rows = published_chi_squares()
    rows += [
        {"series": row["readouts"]} | dict(row) for row in fit_rows(crossings_of(tables.measured, THRESHOLDS))
    ]
    ends = Table(
        dict(row) | {"matrix_overlap_centred": row["final_overlap"]}
        for row in tables.measured
        if "final_overlap" in row
    )
    rows += compare(ITEM, Tables(tables.settings, measured=ends, published=tables.published))
    return rows


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(3, 3, width=marks.PAGE, height=6.4)
        crossings = crossings_of(tables.measured, THRESHOLDS)
        draw_times(axes[:, :2], crossings, tables.comparison, NAMES)
        for row, law in zip(axes, NAMES, strict=True):
            _draw_published(row[0], law)
            _draw_published(row[1], law)
            _draw_runs(row[2], tables, law)
            for ax in row[:2]:
                ax.set_xticks([50, 100, 200], ["50", "100", "200"])
    return figure


def _draw_published(ax: Any, law: str) -> None:
    """The authors' means, without instances that never crossed, where our axis ends or a little beyond."""
    from ..studies.published import read_published

    points = [p for p in read_published() if p.readouts == law]
    for level, color in zip(sorted({p.threshold for p in points}), COLORS, strict=True):
        mine = [p for p in points if p.threshold == level]
        pale = marks.shades(color, 3)[1]
        error = [p.std_crossed / p.n_crossed**0.5 for p in mine]
        x, y = [p.d for p in mine], [p.mean_crossed for p in mine]
        shape = {"marker": "o", "ms": 2.6, "mfc": "white", "mew": 0.7, "ls": "none", "elinewidth": 0.6}
        ax.errorbar(x, y, error, color=pale, zorder=1, **shape)


def _draw_runs(ax: Any, tables: Tables, law: str) -> None:
    draw_trajectories(ax, tables.traces.where(series=law), "matrix_overlap_centred")
    theory = tables.theory.where(series=law)
    lines = {
        line: theory.where(line=line).column("matrix_overlap_centred")[0]
        for line in ("universal", "specialised")
    }
    ax.axhline(lines["universal"], color="black", lw=0.9, ls=(0, (4, 1.6)))
    ax.axhline(lines["specialised"], color="#D55E00", lw=0.9, ls=(0, (4, 1.6)))
    ax.set_ylim(lines["universal"] - 0.08, lines["specialised"] + 0.02)
    ax.set(xlabel="HMC iteration", title=f"{NAMES[law]}: runs")
    ax.set_ylabel(marks.LABELS["matrix_overlap_centred"])
    if tables.traces:
        ax.legend(frameon=False, loc="lower right", handlelength=1.2, ncols=2, columnspacing=1.0)


def remarks(tables: Tables) -> list[str]:
    printed = Table(row for row in tables.comparison if "printed" in row)
    n = sum(row["verdict"] == "agrees" for row in printed)
    ends = tables.comparison.where(quantity="matrix_overlap_centred")
    return [
        "Pale: the authors' times, without instances that never crossed. From these times as published, "
        f"{n} of the {len(printed)} χ² values of the paper's Table 3 come out to the last digit.",
        "Dashed in the trajectories: universal (black) and specialised (red) overlap of the theory.",
        f"Our runs end {deviations(ends.where(source='ours'))} from the specialised overlap, the authors' "
        f"{deviations(ends.where(source='authors'))}.",
        "The steps of our chains adapt by dual averaging, the authors' in another way, so that times differ "
        "by a factor.",
        likelier(tables.comparison) + " Fits are in the file of the table.",
    ]


ITEM = Item(
    name="hardness-hmc",
    place="Figures 11 and 12, Table 3",
    title="Hardness with HMC",
    caption="HMC iterations from random weights until the overlap q₂ with the teacher exceeds q₂*, against "
    "d, for σ₃ (γ = 0.5, Δ = 0.1, α = 1) and three readout laws: semilog with exponential fits (left), "
    "log-log with power-law fits (centre; shaded: 95 % interval of the exponent, by bootstrap), and the "
    "overlap along the first six runs (right; shaded: one standard deviation). Pale: the authors'.",
    problems=PROBLEMS,
    theory=lambda settings: branch_rows(PROBLEMS, ALPHA, ("specialised", "universal")),
    tasks=lambda settings: chosen_tasks(PROBLEMS, "hmc", ALPHA, THRESHOLDS, settings),
    draw=draw,
    compare=compared,
    line_of=lambda series, learner, start: "specialised",
    quantities=("matrix_overlap_centred",),
    traced=lambda task: ("matrix_overlap_centred",) if task.seed < TRACED else (),
    has_common_rows=False,
    observe=lambda result: times_of(
        result, THRESHOLDS[str(result.task.problem.readouts.name)], is_above=True
    ),
    table=lambda tables: fit_table(tables.comparison, NAMES, "q₂*"),
    remarks=remarks,
)

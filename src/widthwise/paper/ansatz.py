"""The factorised ansatz against the main theory: errors, free entropies and overlaps, and HMC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..problem import Problem
from ..theory import factorised_transition, transitions
from . import marks
from .compare import deviations
from .item import Item, Tables
from .lines import curves
from .runs import tasks_over
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

FOUR, TWO = "four-point", "rademacher"
PROBLEMS = {law: Problem("relu", "gaussian", law, channel=0.1, gamma=0.5) for law in (FOUR, TWO)}
ALPHA = (0.1, 7.0)
NAMES = {"equilibrium": "main theory", "factorised": "factorised ansatz", "universal": "universal branch"}
COLORS = {"equilibrium": "#0072B2", "factorised": "#D55E00", "universal": "#009E73"}
SOLID: dict[str, Any] = {"ls": "-", "lw": 1.4}


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(2, 3, width=marks.PAGE, height=4.3)
        _draw_errors(axes[0, 0], tables, FOUR, "four-point readouts")
        _draw_errors(axes[0, 1], tables, TWO, "Rademacher readouts")
        _draw_free_entropies(axes[0, 2], tables)
        for ax, line in zip(axes[1], ("equilibrium", "factorised"), strict=False):
            _draw_overlaps(ax, tables, line)
        _draw_overlaps(axes[1, 2], tables, "both", TWO)
        marks.small_handle(axes[0, 0], tables.comparison)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        more, names = axes[1, 0].get_legend_handles_labels()
        figure.legend(
            handles + more,
            labels + names,
            loc="outside lower center",
            ncols=4,
            frameon=False,
            handlelength=1.8,
            columnspacing=1.2,
        )
    return figure


def _draw_errors(ax: Any, tables: Tables, series: str, title: str) -> None:
    for line, name in NAMES.items():
        rows = tables.theory.where(series=series, line=line)
        marks.curve(ax, rows, line, COLORS[line], label=name, **SOLID)
    ours = tables.comparison.where(series=series, source="ours", quantity="excess_error")
    marks.points(ax, ours, "0.2")
    ax.plot([], [], color="0.2", ls="none", label="HMC from the teacher", **marks.MARKERS["hmc", "teacher"])
    ax.set(xlim=(0, ALPHA[1]), ylim=(0, 0.09), xlabel=marks.LABELS["alpha"], title=title)
    ax.set_ylabel(marks.LABELS["excess_error"])


def _draw_free_entropies(ax: Any, tables: Tables) -> None:
    """Free entropies above that of the universal branch, where the curves can be told apart."""
    base = tables.theory.where(series=FOUR, line="universal")
    ax.axhline(0, color=COLORS["universal"], lw=1.4)
    for line in ("equilibrium", "factorised"):
        rows = tables.theory.where(series=FOUR, line=line)
        gain = rows.column("free_entropy") - base.column("free_entropy")
        ax.plot(rows.column("alpha"), 1e3 * gain, color=COLORS[line], lw=1.4)
    crossing = factorised_transition(PROBLEMS[FOUR], 20.0)
    ax.axvline(crossing, color="0.55", lw=0.6)
    ax.annotate(
        rf"$\bar\alpha_\mathrm{{sp}} = {crossing:.2f}$",
        (crossing, 0.05),
        (3, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        fontsize=7,
    )
    ax.set(xlim=(0, ALPHA[1]), ylim=(-10, 14), xlabel=marks.LABELS["alpha"])
    ax.set_ylabel(r"$10^3\,(f - f_\mathrm{uni})$")
    ax.set_title("four-point: free entropy")


def _draw_overlaps(ax: Any, tables: Tables, line: str, series: str = FOUR) -> None:
    values = np.array(PROBLEMS[series].readouts.values)  # type: ignore[attr-defined]
    sizes = sorted({abs(v) for v in values}, reverse=True)
    tones = {sizes[0]: "#0B3C5D", sizes[-1]: "#3D8FC7"} if series == FOUR else {sizes[0]: "#0B3C5D"}
    measured = tables.comparison.where(series=series, source="ours")
    for which, ls in (("equilibrium", "-"), ("factorised", (0, (4, 1.4)))):
        if line not in (which, "both"):
            continue
        rows = tables.theory.where(series=series, line=which)
        overlap = np.array([np.atleast_1d(row["weight_overlap"]) for row in rows])
        for size, color in tones.items():
            column = int(np.argmax(np.isclose(values, size)))
            name = rf"$\mathcal{{Q}}_W$, $|v| = {size:.3g}$"
            style_of = {"color": color, "lw": 1.4, "ls": ls if line == "both" else "-"}
            ax.plot(rows.column("alpha"), overlap[:, column], label=name, **style_of)
        ax.plot(
            rows.column("alpha"),
            rows.column("matrix_overlap_centred"),
            color="#E69F00",
            lw=1.4,
            ls=ls if line == "both" else "-",
            label=r"$q_2 - \gamma\bar v^2$",
        )
    for size, color in tones.items():
        near = Table(
            row
            for row in measured.where(quantity="weight_overlap")
            if np.isclose(abs(row["readout"]), size, rtol=1e-6)
        )
        marks.points(ax, near, color)
    marks.points(ax, measured.where(quantity="matrix_overlap_centred"), "#E69F00")
    titles = {
        "equilibrium": "four-point: main theory",
        "factorised": "four-point: factorised",
        "both": "Rademacher: both theories",
    }
    ax.set(xlim=(0, ALPHA[1]), ylim=(-0.03, 1.03), xlabel=marks.LABELS["alpha"], title=titles[line])
    ax.set_ylabel("overlap")


def remarks(tables: Tables) -> list[str]:
    lines = []
    for law, problem in PROBLEMS.items():
        onset = transitions(problem, ALPHA[1])[0].alpha
        lines.append(
            f"{law} readouts: the main theory leaves the universal branch at α = {onset:.3f}, the "
            f"factorised one is selected from {factorised_transition(problem, 50.0):.3f} on."
        )
    errors = tables.comparison.where(source="ours", quantity="excess_error")
    return [*lines, f"Errors of our runs lie {deviations(errors)} from the main theory."]


ITEM = Item(
    name="ansatz",
    place="Figures 5 and 6",
    title="The factorised ansatz against the main theory",
    caption="ReLU with Gaussian weights, γ = 0.5, Δ = 0.1. Top: excess error of the main theory, of the "
    "factorised ansatz and of the universal branch, with HMC started on the teacher, for four-point and "
    "Rademacher readouts; free entropies of four-point readouts, relative to that of the universal branch, "
    "with the point from which the ansatz selects its specialised solution. Bottom: overlaps of both "
    "theories (for Rademacher readouts, dashed: factorised), with the same runs.",
    problems=PROBLEMS,
    theory=lambda settings: curves(PROBLEMS, ALPHA, settings.n_points, NAMES),
    tasks=lambda settings: tasks_over(PROBLEMS, settings, [("hmc", "teacher")]),
    draw=draw,
    quantities=("excess_error", "weight_overlap", "matrix_overlap_centred"),
    remarks=remarks,
)

"""Errors with binary weights and polynomial activations, with the metastable parts of each branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..problem import Problem
from . import marks
from .compare import deviations
from .item import Item, Tables
from .lines import INFORMED, branch_rows, curve_rows, grid, stretches
from .runs import tasks_over
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

NAMES = {
    "sigma1": r"$\sigma_1 = \mathrm{He}_2/\sqrt{2}$",
    "sigma2": r"$\sigma_2 = \mathrm{He}_3/\sqrt{6}$",
    "sigma3": r"$\sigma_3 = \mathrm{He}_2/\sqrt{2} + \mathrm{He}_3/6$",
}
PROBLEMS = {name: Problem(name, "rademacher", "homogeneous", channel=1.25, gamma=0.5) for name in NAMES}
ALPHA = (0.05, 4.0)
LEARNERS = (("metropolis", "teacher"), ("gamp_rie", "prior"))
LARGE = 0.6  # overlaps beyond it belong to the branch on which the units are learnt


def theory(settings: Settings) -> Table:
    rows = Table()
    for series, problem in PROBLEMS.items():
        rows += curve_rows(series, problem, grid(problem, *ALPHA, settings.n_points), "equilibrium")
        rows += branch_rows(series, problem, *ALPHA, settings.n_points)
    return rows


def is_made(series: str, learner: str, alpha: float) -> bool:
    """σ₂ is odd: nothing for GAMP-RIE to find."""
    return learner != "gamp_rie" or series != "sigma2"


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(1, 3, width=marks.PAGE, height=2.7, sharey=True)
        for ax, (series, name) in zip(axes[0], NAMES.items(), strict=True):
            color = marks.activation_color(series)
            for (line,), rows in tables.theory.where(series=series).groups("line"):
                if line == "equilibrium":
                    marks.curve(ax, rows, line, color)
                else:
                    _draw_rivals(ax, rows, color)
            errors = {"series": series, "quantity": "excess_error"}
            marks.authors(ax, tables.published.where(**errors), color)
            marks.points(ax, tables.comparison.where(source="ours", **errors), color)
            ax.set_title(name)
            ax.set_xlabel(marks.LABELS["alpha"])
            ax.set_xlim(0, ALPHA[1] + 0.08)
        axes[0, 0].set_ylim(0, 1.13)
        axes[0, 0].set_ylabel(marks.LABELS["excess_error"])
        lines = {"equilibrium": "optimal", "universal": "universal", "specialised": "specialised, metastable"}
        marks.legend(figure, {}, LEARNERS, ncols=4, comparison=tables.comparison, lines=lines)
    return figure


def _draw_rivals(ax: Any, branch: Table, color: Any) -> None:
    """What is not the equilibrium: the universal branch dashed, metastable specialised parts dotted."""
    for (line, state), rows in stretches(branch).groups("branch", "stretch"):
        if state.startswith("equilibrium") or (line == "specialised" and state.startswith("unstable")):
            continue
        marks.curve(ax, rows, line, color)


def remarks(tables: Tables) -> list[str]:
    errors = tables.comparison.where(quantity="excess_error", learner="metropolis")
    return [
        "Chains start on the teacher and are compared with the stable solution of largest overlap "
        "(`informed`). Below the transition it is metastable (dotted), and what they measure is not the "
        "equilibrium.",
        f"Errors of our chains lie {deviations(errors.where(source='ours'))} from it, the authors' "
        f"{deviations(errors.where(source='authors'))}.",
        *_memories(tables),
        "Part of the authors' points for σ₃ come from q₂ through the formula of the universal branch, part "
        "from both overlaps.",
    ]


def _memories(tables: Tables) -> list[str]:
    """Chains that still know their start where no solution of a large overlap exists."""
    said = []
    for series, sign in (("sigma1", "σ₁"), ("sigma2", "σ₂"), ("sigma3", "σ₃")):
        learnt = [
            row["alpha"]
            for row in tables.theory.where(series=series, branch="specialised")
            if np.max(row["weight_overlap"]) > LARGE
        ]
        if not learnt:
            continue
        first = min(learnt)
        overlaps = tables.comparison.where(series=series, quantity="weight_overlap", start="teacher")
        late = sorted(
            (row["alpha"], row["measured"], row["source"])
            for row in overlaps
            if row["alpha"] < first and row["measured"] > LARGE
        )
        names = {"ours": "ours", "authors": "the authors'"}
        points = ", ".join(f"{q:.2f} at α = {alpha:g} ({names[who]})" for alpha, q, who in late)
        if points:
            said.append(
                f"{sign} has no solution with a large overlap below its spinodal, α = {first:.3f}. Overlaps "
                f"measured below it are memory of the teacher: {points}."
            )
    return said


ITEM = Item(
    name="binary-weights",
    place="Figure 2",
    title="Errors with binary weights",
    caption="Bayes-optimal excess error for three polynomial activations with binary weights and "
    "homogeneous readouts, γ = 0.5, Δ = 1.25. Solid: equilibrium; dashed: universal branch; dotted: "
    "specialised branch where it is metastable. Dots: half the error of Metropolis draws started on the "
    "teacher; triangles: GAMP-RIE. Pale: the authors' measurements "
    "at d = 150.",
    problems=PROBLEMS,
    theory=theory,
    tasks=lambda settings: tasks_over(PROBLEMS, settings, LEARNERS, is_made=is_made),
    draw=draw,
    line_of=lambda series, learner, start: INFORMED if start == "teacher" else "universal",
    quantities=("excess_error", "weight_overlap", "matrix_overlap_centred"),
    remarks=remarks,
)

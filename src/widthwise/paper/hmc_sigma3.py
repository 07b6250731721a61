"""HMC on σ₃ with Gaussian and uniform weights: measurements the authors published without a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..problem import Problem
from . import marks
from .item import Item, Tables
from .lines import curves
from .runs import tasks_over

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

CASES = {
    "gaussian/homogeneous": "Gaussian weights,\nhomogeneous readouts",
    "gaussian/rademacher": "Gaussian weights,\nRademacher readouts",
    "uniform/homogeneous": "uniform weights,\nhomogeneous readouts",
}
PROBLEMS = {
    case: Problem("sigma3", case.split("/")[0], case.split("/")[1], channel=1.25, gamma=0.5) for case in CASES
}
ALPHA = (0.2, 8.0)
LEARNERS = (("hmc", "teacher"), ("hmc", "random"))


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(1, 3, width=marks.PAGE, height=2.8, sharey=True)
        color = marks.activation_color("sigma3")
        for ax, (series, name) in zip(axes[0], CASES.items(), strict=True):
            for line in ("equilibrium", "universal"):
                marks.curve(ax, tables.theory.where(series=series, line=line), line, color)
            marks.authors(ax, tables.published.where(series=series))
            ours = tables.comparison.where(series=series, source="ours", quantity="excess_error")
            marks.points(ax, ours, "#004D38")
            ax.set_title(name)
            ax.set_xlabel(marks.LABELS["alpha"])
            ax.set_xlim(0, ALPHA[1] + 0.15)
            ax.set_xticks([0, 2, 4, 6, 8])
        axes[0, 0].set_ylabel(marks.LABELS["excess_error"])
        axes[0, 0].set_ylim(0, 0.95)
        marks.legend(figure, {}, LEARNERS, ncols=5, comparison=tables.comparison)
    return figure


def remarks(tables: Tables) -> list[str]:
    return [
        "Of the authors' eight instances with uniform weights only the last four are used, as in their own "
        "statistics: the mean of the other four equals that of Gaussian weights."
    ]


ITEM = Item(
    name="hmc-sigma3",
    place="beyond the paper",
    title="HMC on σ₃: Gaussian and uniform weights",
    caption="Excess error of σ₃ = He₂/√2 + He₃/6, γ = 0.5, Δ = 1.25. Solid: equilibrium; dashed: universal "
    "branch. Circles and crosses: HMC from the teacher and from random weights; pale: the authors' at d = "
    "150, which they published beside their code without a figure. Bars are standard errors.",
    problems=PROBLEMS,
    theory=lambda settings: curves(PROBLEMS, ALPHA, settings.n_points, ("equilibrium", "universal")),
    tasks=lambda settings: tasks_over(PROBLEMS, settings, LEARNERS),
    draw=draw,
    # chains find the specialised branch from either start
    line_of=lambda series, learner, start: "equilibrium",
    remarks=remarks,
)

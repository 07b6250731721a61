"""GAMP-RIE on ReLU and ELU networks with binary weights, and Metropolis chains that do not equilibrate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..problem import Problem
from . import marks
from .compare import deviations
from .item import Item, Tables
from .lines import curves
from .runs import tasks_over

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

NAMES = {"relu": "ReLU", "elu": "ELU"}
PROBLEMS = {name: Problem(name, "rademacher", "homogeneous", channel=0.1, gamma=0.5) for name in NAMES}
ALPHA = (0.05, 4.0)
LEARNERS = (("gamp_rie", "prior"), ("metropolis", "random"))
INSET = 2.0  # chains from random weights are shown up to here


def is_made(series: str, learner: str, alpha: float) -> bool:
    return learner == "gamp_rie" or alpha <= INSET


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(1, 2, width=marks.PAGE, height=2.7)
        for ax, learner, high in zip(axes[0], ("gamp_rie", "metropolis"), (ALPHA[1], INSET), strict=True):
            for series in NAMES:
                color = marks.activation_color(series)
                for line in ("equilibrium", "universal"):
                    marks.curve(ax, tables.theory.where(series=series, line=line), line, color)
                quantity = "excess_error" if learner == "gamp_rie" else "replica_excess_error"
                shown = {"series": series, "learner": learner}
                marks.authors(ax, tables.published.where(**shown), color)
                marks.points(ax, tables.comparison.where(source="ours", quantity=quantity, **shown), color)
            ax.set_xlabel(marks.LABELS["alpha"])
            ax.set_ylabel(marks.LABELS["excess_error"])
            ax.set_xlim(0, 1.02 * high)
            ax.set_ylim(0, 0.105)
        axes[0, 0].set_title("GAMP-RIE")
        axes[0, 1].set_title("chains out of equilibrium, two replicas")
        colors = {name: marks.activation_color(key) for key, name in NAMES.items()}
        marks.legend(figure, colors, LEARNERS, ncols=4, comparison=tables.comparison)
    return figure


def remarks(tables: Tables) -> list[str]:
    errors = tables.comparison.where(quantity="excess_error", learner="gamp_rie")
    ours, theirs = errors.where(source="ours"), errors.where(source="authors")
    return [
        f"GAMP-RIE differs from the universal branch by terms of order 1/d: {deviations(ours)} in our runs, "
        f"{deviations(theirs)} in the authors'. The prediction at finite d has the cost of the linear part, "
        f"the largest such correction: from it, ours lie {deviations(ours, 'predicted_at_d')} and the "
        f"authors' {deviations(theirs, 'predicted_at_d')}. Their algorithm learns the linear part from a "
        "first regression only.",
        "Metropolis from random weights does not equilibrate. It is compared with the universal branch only "
        "to say by how much it is worse.",
    ]


ITEM = Item(
    name="gamp-rie",
    place="Figure 7",
    title="GAMP-RIE with ReLU and ELU, binary weights",
    caption="Excess error for binary weights and homogeneous readouts, γ = 0.5, Δ = 0.1. Left: GAMP-RIE "
    "(triangles) follows the universal branch (dashed); solid is the equilibrium. Right: Metropolis chains "
    "from random weights, by the formula of two replicas, which needs no equilibrium (squares). "
    "Pale: the authors' measurements at d = 150.",
    problems=PROBLEMS,
    theory=lambda settings: curves(PROBLEMS, ALPHA, settings.n_points, ("equilibrium", "universal")),
    tasks=lambda settings: tasks_over(
        PROBLEMS, settings, LEARNERS, is_made=is_made, metropolis={"n_chains": 2}
    ),
    draw=draw,
    quantities=("excess_error", "replica_excess_error"),
    remarks=remarks,
)

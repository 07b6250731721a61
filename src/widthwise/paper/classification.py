"""Classification: share of wrong labels for signs with and without noise, and GAMP-RIE on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..problem import Problem
from ..theory import error, learning_curve
from . import marks
from .item import Item, Tables
from .lines import grid, parameters
from .runs import tasks_over
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

ACTIVATIONS = {"relu": "ReLU", "tanh(2*x)": "tanh(2x)"}
CHANNELS = {"sign": "no noise", "probit:0.02": "noise 0.02", "probit:0.1": "noise 0.1"}
PROBLEMS = {
    f"{activation}/{channel}": Problem(activation, "gaussian", "rademacher", channel=channel, gamma=0.5)
    for activation in ACTIVATIONS
    for channel in CHANNELS
}
RUN = "relu/probit:0.1"
ALPHA = (0.1, 10.0)


def theory(settings: Settings) -> Table:
    rows = Table()
    for series, problem in PROBLEMS.items():
        alphas = grid(problem, *ALPHA, settings.n_points)
        for line in ("equilibrium", "universal"):
            solved = learning_curve(problem, alphas, line)
            wrong = error(solved, "zero-one")
            for point, share in zip(solved, wrong, strict=True):
                row = {"series": series, "line": line, **parameters(problem), "alpha": point.alpha}
                row |= {"branch": point.branch, "status": point.status, "zero_one_error": float(share)}
                rows.append(row | {"excess_error": point.excess_error})
    return rows


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(1, 3, width=marks.PAGE, height=2.7)
        for ax, (activation, title) in zip(axes[0, :2], ACTIVATIONS.items(), strict=True):
            tones = marks.shades(marks.activation_color(activation), 3)[::-1]
            for (channel, name), color in zip(CHANNELS.items(), tones, strict=True):
                rows = tables.theory.where(series=f"{activation}/{channel}")
                for line in ("equilibrium", "universal"):
                    label = name if line == "equilibrium" else None
                    marks.curve(ax, rows.where(line=line), line, color, "zero_one_error", label=label)
            ax.set_title(f"{title}, wrong labels")
            ax.set_ylim(0, None)
            ax.legend(frameon=False, loc="lower left")
        axes[0, 0].set_ylabel("share of wrong labels")
        ax = axes[0, 2]
        for line in ("equilibrium", "universal"):
            rows = tables.theory.where(series=RUN, line=line)
            marks.curve(ax, rows, line, marks.activation_color("relu"))
        marks.points(ax, tables.comparison.where(series=RUN, source="ours"), "0.2")
        ax.plot([], [], color="0.2", ls="none", label="GAMP-RIE", **marks.MARKERS["gamp_rie", "prior"])
        marks.small_handle(ax, tables.comparison)
        ax.legend(frameon=False, loc="upper right")
        ax.set_title("ReLU, noise 0.1: error on λ")
        ax.set_ylabel("posterior variance of λ")
        ax.set_ylim(0, None)
        for ax in axes[0]:
            ax.set_xlabel(marks.LABELS["alpha"])
            ax.set_xlim(0, 1.03 * ALPHA[1])
            ax.set_xticks(np.arange(0, 11, 2))
    return figure


def remarks(tables: Tables) -> list[str]:
    return ["The optimum without noise goes to 0, slowly."]


ITEM = Item(
    name="classification",
    place="beyond the paper",
    title="Classification",
    caption="Labels sign(λ + noise) of networks with Gaussian weights and Rademacher readouts, γ = 0.5. "
    "Left and centre: share of wrong labels of the best predictor for three noise levels; right: posterior "
    "variance of the output λ, and the error of GAMP-RIE on it. Solid: equilibrium; dashed: universal "
    "branch.",
    problems=PROBLEMS,
    theory=theory,
    tasks=lambda settings: tasks_over({RUN: PROBLEMS[RUN]}, settings, [("gamp_rie", "prior")]),
    draw=draw,
    remarks=remarks,
)

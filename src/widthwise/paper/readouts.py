"""Which neurons are learnt: overlaps against the readout, and against α for four readout values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..problem import Problem
from ..theory import learning_curve
from ..theory.families.profile import overlap_profile
from . import marks
from .item import Item, Tables
from .lines import INFORMED, branch_rows, curve_rows, grid, parameters, stretches
from .runs import tasks_over
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

PROFILE, STEPS = "relu/gaussian", "tanh(2*x)/four-point"
PROBLEMS = {
    PROFILE: Problem("relu", "gaussian", "gaussian", channel=0.1, gamma=0.5),
    STEPS: Problem("tanh(2*x)", "gaussian", "four-point", channel=0.1, gamma=0.5),
}
ALPHA = (0.05, 7.0)
REACH = 2.5  # of the readouts shown
COLORS = ("#0072B2", "#009E73", "#E69F00", "#D55E00")


def theory(settings: Settings) -> Table:
    rows = Table()
    v = np.linspace(0.0, REACH, 126)
    alphas = settings["profile_alphas"]
    for solution in learning_curve(PROBLEMS[PROFILE], alphas):
        overlap = overlap_profile(solution, v)
        shared = {"series": PROFILE, "line": "profile", **parameters(PROBLEMS[PROFILE])}
        shared |= {"alpha": solution.alpha, "status": solution.status}
        rows += [shared | {"readout": x, "weight_overlap": q} for x, q in zip(v, overlap, strict=True)]
    problem = PROBLEMS[STEPS]
    rows += curve_rows(STEPS, problem, grid(problem, *ALPHA, settings.n_points), "equilibrium")
    rows += branch_rows(STEPS, problem, *ALPHA, settings.n_points // 2)
    return rows


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(2, 1, width=marks.COLUMN, height=4.5)
        _draw_profile(axes[0, 0], tables)
        _draw_steps(axes[1, 0], tables)
        for ax in axes.flat:
            ax.set_ylim(-0.06, 1.03)
            ax.set_ylabel(marks.LABELS["weight_overlap"])
    return figure


def _draw_profile(ax: Any, tables: Tables) -> None:
    theory = tables.theory.where(series=PROFILE)
    measured = tables.comparison.where(series=PROFILE, quantity="weight_overlap")
    for alpha, color in zip(sorted(set(theory.column("alpha"))), COLORS, strict=False):
        line = theory.where(alpha=alpha)
        x, y = line.column("readout"), line.column("weight_overlap")
        label = rf"$\alpha = {alpha:g}$"
        ax.plot(np.append(-x[::-1], x), np.append(y[::-1], y), color=color, lw=1.5, label=label)
        _draw_points(ax, measured.where(alpha=alpha), "readout", color, "white")
    ax.set_xlabel(r"readout $v$")
    ax.set_xlim(-REACH, REACH)
    ax.set_title(r"ReLU, Gaussian readouts: $\mathcal{Q}_W(v)$", pad=17)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.97), "ncols": 4}
    ax.legend(frameon=False, handlelength=1.2, columnspacing=1.0, **above)


def _draw_steps(ax: Any, tables: Tables) -> None:
    theory = tables.theory.where(series=STEPS, line="equilibrium")
    branches = Table(row for row in tables.theory.where(series=STEPS) if "state" in row)
    measured = tables.comparison.where(series=STEPS, quantity="weight_overlap")
    base = marks.activation_color("tanh(2*x)")
    names = (r"$|v| = 3/\sqrt{5}$", r"$|v| = 1/\sqrt{5}$")
    overlaps = np.array([row["weight_overlap"] for row in theory])
    for index, color, name in zip((3, 2), (base, "#7A3B00"), names, strict=True):
        ax.plot(theory.column("alpha"), overlaps[:, index], color=color, lw=1.5, label=name)
        for _, branch in branches.groups("line"):
            for (state,), part in stretches(branch).groups("stretch"):
                if state.startswith("metastable") and part[0]["branch"] == "specialised":
                    rival = [row["weight_overlap"][index] for row in part]
                    ax.plot(part.column("alpha"), rival, color=color, **marks.LINE_STYLES["specialised"])
        value = PROBLEMS[STEPS].readouts.values[index]  # type: ignore[attr-defined]
        near = Table(row for row in measured if abs(abs(row["readout"]) - value) < 1e-6)
        for sign, face in ((1, color), (-1, "white")):
            _draw_points(ax, Table(row for row in near if row["readout"] * sign > 0), "alpha", color, face)
    marks.small_handle(ax, tables.comparison)
    ax.set_xlabel(marks.LABELS["alpha"])
    ax.set_xlim(0, ALPHA[1])
    ax.set_title("tanh(2x), four-point readouts")
    ax.legend(frameon=False, loc="center", bbox_to_anchor=(0.54, 0.3), handlelength=1.4)


def _draw_points(ax: Any, rows: Table, x: str, color: Any, face: Any) -> None:
    """Overlaps with their standard errors; small if they stand in for runs that are still to be made."""
    for (stands_in,), points in rows.groups("stands_in"):
        error = np.nan_to_num(points.column("standard_error"))
        shape = marks.resized({"marker": "o", "ms": 3.6}, stands_in)
        shape |= {"color": color, "ls": "none", "mfc": face, "zorder": 4, "elinewidth": 0.8}
        ax.errorbar(points.column(x), points.column("measured"), error, **shape)


def remarks(tables: Tables) -> list[str]:
    return [
        "The paper does not say which four α its upper panel shows; ours are those of the settings.",
        "Units are put into ten bins of equal numbers by their readout (the paper has 50 bins of equal "
        "width); readouts are the quantiles of P_v, the same in every instance.",
        "Overlaps are divided by the teacher's own |W⁰|²/d, which is 1 for large d.",
        "For tanh(2x) chains from the teacher are compared with the stable solution of largest overlap.",
        "Chains forget slowly what is not learnt, and onsets are rounded at finite d.",
    ]


ITEM = Item(
    name="readouts",
    place="Figure 3",
    title="Which neurons are learnt",
    caption="Top: overlap 𝒬_W(v) of the neurons with the teacher's against their readout, for ReLU with "
    "Gaussian weights and readouts, γ = 0.5, Δ = 0.1. Bottom: the two overlaps of four-point readouts "
    "against α for tanh(2x) (filled and open points: positive and negative readouts). Lines: theory "
    "(dotted: metastable); points: HMC started on the teacher, with standard errors over instances.",
    problems=PROBLEMS,
    theory=theory,
    tasks=lambda settings: tasks_over(
        PROBLEMS,
        settings,
        [("hmc", "teacher")],
        alphas=lambda series: settings["profile_alphas"] if series == PROFILE else settings.alphas,
    ),
    draw=draw,
    # chains from the teacher stay where they can, also below the transitions of tanh
    line_of=lambda series, learner, start: INFORMED if series == STEPS else "equilibrium",
    quantities=("weight_overlap", "excess_error"),
    remarks=remarks,
)

"""Overlaps Q₁ … Q₅ along HMC runs that start on the teacher, against their equilibrium values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..networks.comparison import Mean, mean_of
from ..problem import Problem
from ..theory import solve
from ..theory.families.profile import overlap_profile
from . import marks
from .compare import judged
from .item import Item, Tables
from .lines import parameters
from .published import dynamics
from .runs import tasks_over
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

CASES = {"relu/homogeneous": 1.0, "relu/gaussian": 3.0}
PROBLEMS = {case: Problem("relu", "gaussian", case.split("/")[1], channel=0.1, gamma=0.5) for case in CASES}
THEIRS = Problem("x+he2(x)/sqrt(2)+he3(x)/6", "gaussian", "rademacher", channel=1.25, gamma=0.5)
"""The case of the runs that the authors published, which is not that of their figure."""
THEIR_D = 200
ORDERS = (1, 2, 3, 4, 5)
COLORS = ("#6E6E6E", "#E69F00", "#0072B2", "#009E73", "#CC79A7")


def order_parameters(problem: Problem, alpha: float) -> dict[int, float]:
    """Q_ℓ relative to its value for the teacher alone: 1, q₂/r₂, and E[v²𝒬(v)^ℓ] beyond."""
    solution = solve(problem, alpha)
    law: Any = problem.readouts
    v, p = solution.readout_values, solution.readout_weights
    overlap = solution.weight_overlap
    if not law.is_discrete:
        v = np.linspace(-6, 6, 2001)  # finer than the grid of the solution: the overlap has a kink
        p = law.density(v)
        p = p / p.sum()
        overlap = overlap_profile(solution, v)
    values = {order: float(p @ (v**2 * overlap**order)) for order in ORDERS}
    return values | {1: 1.0, 2: solution.matrix_overlap / problem.matrix_power}


def theory(settings: Settings) -> Table:
    rows = Table()
    for series, problem, alpha in _cases():
        solution = solve(problem, alpha)
        shared = {"series": series, **parameters(problem), "alpha": alpha, "status": solution.status}
        rows += [
            shared | {"line": "equilibrium", "quantity": f"Q{order}", "predicted": value}
            for order, value in order_parameters(problem, alpha).items()
        ]
        rows.append(shared | {"quantity": "excess_error", "predicted": solution.excess_error})
    return rows


def _cases() -> list[tuple[str, Problem, float]]:
    ours = [(series, PROBLEMS[series], alpha) for series, alpha in CASES.items()]
    return ours + [("authors", THEIRS, entry["alpha"]) for entry in dynamics()]


def compared(tables: Tables) -> Table:
    """Means over the second half of each run, and over the last thousand iterations of the authors'."""
    rows = Table()
    for (series, d, alpha), group in tables.measured.groups("series", "d", "alpha"):
        for order in ORDERS:
            values = np.array(
                [
                    row["overlap_power"][order - 1] / row["overlap_power_at_start"][order - 1]
                    for row in group
                    if "overlap_power" in row
                ]
            )
            rows.append(_row("ours", series, d, alpha, order, mean_of(values)))
    for entry in dynamics():
        for order in ORDERS:
            mean, std = (entry[name][f"q{order}"] for name in ("last1000_mean", "last1000_std"))
            # successive iterations are not independent: no standard error can be given
            rows.append(
                _row("authors", "authors", THEIR_D, entry["alpha"], order, Mean(mean, np.nan, 1, 0))
                | {"deviation_along_run": std}
            )
    found = Table()
    for row in rows:
        predicted = tables.theory.where(
            series=row["series"], alpha=row["alpha"], quantity=row["quantity"]
        ).column("predicted")[0]
        n = row["n_instances"]
        mean = Mean(row["measured"], row["standard_error"], n, n - 1)
        found.append(dict(row) | {"predicted": predicted} | judged(mean, predicted, 1.0))
    return found


def _row(source: str, series: str, d: int, alpha: float, order: int, mean: Mean) -> dict[str, Any]:
    return {
        "series": series,
        "learner": "hmc",
        "start": "teacher",
        "d": d,
        "alpha": alpha,
        "source": source,
        "quantity": f"Q{order}",
        "measured": mean.value,
        "standard_error": mean.standard_error,
        "n_instances": mean.n,
        "line": "equilibrium",
    }


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(1, 2, width=marks.PAGE, height=2.9, sharey=True)
        names = {"relu/homogeneous": "homogeneous", "relu/gaussian": "Gaussian"}
        for ax, (series, alpha) in zip(axes[0], CASES.items(), strict=True):
            _draw_case(ax, tables, series)
            ax.set_title(rf"ReLU, {names[series]} readouts, $\alpha = {alpha:g}$")
            ax.set_xlabel("HMC iteration")
            ax.set_ylim(-0.04, 1.62)
            ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
        axes[0, 0].set_ylabel(r"$Q_\ell$ with the teacher / its own")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, handlelength=1.8)
    return figure


def _draw_case(ax: Any, tables: Tables, series: str) -> None:
    theory = tables.theory.where(series=series)
    runs = tables.traces.where(series=series)
    inset = ax.inset_axes((0.6, 0.73, 0.38, 0.22))
    for number, (_, run) in enumerate(runs.groups("seed")):
        iteration = run.column("iteration")
        powers = np.array([row["overlap_power"] for row in run])
        powers = powers / powers[0]  # which is the teacher's own
        for order, color in zip(ORDERS, COLORS, strict=True):
            label = rf"$Q_{order}$" if number == 0 else None
            ax.plot(iteration, powers[:, order - 1], color=color, lw=1.0, alpha=0.85, label=label)
        inset.plot(iteration, run.column("excess_error"), color="0.35", lw=0.8, alpha=0.8)
    for order, color in zip(ORDERS, COLORS, strict=True):
        value = theory.where(quantity=f"Q{order}").column("predicted")[0]
        ax.axhline(value, color=color, lw=1.2, ls=(0, (4, 2)), zorder=3)
    ax.plot([], [], color="0.3", lw=1.2, ls=(0, (4, 2)), label="theory")
    error = theory.where(quantity="excess_error").column("predicted")[0]
    inset.axhline(error, color="black", lw=1.0, ls=(0, (4, 2)))
    inset.set_ylim(0, 1.5 * error)
    inset.set_title(marks.LABELS["excess_error"], fontsize=7, pad=2)
    inset.tick_params(labelsize=6, length=2)
    marks.tidy(inset)


def remarks(tables: Tables) -> list[str]:
    alphas = " and ".join(f"{entry['alpha']:g}" for entry in dynamics())
    return [
        "Q_ℓ is divided by its value for the teacher alone, as in the authors' files: Q₁ of a teacher of "
        "dimension d is itself 1 ± √(2/d). Q₂ of homogeneous readouts includes the part that is known from "
        "the mean.",
        "Q₃ and Q₄ do not vanish at finite d where the theory has 0: k² off-diagonal overlaps of size 1/√d "
        "add up to 3γ/d in Q₄, and the known mean of S gives Q₃ a part of that order.",
        f"The runs that the authors published (d = {THEIR_D}, α = {alphas}, {THEIRS!r}) are another case "
        "than the printed figure; they are compared with the theory of their own case.",
    ]


ITEM = Item(
    name="overlaps",
    place="Figure 4",
    title="Overlaps along HMC runs",
    caption="Overlaps Q₁ … Q₅ of student and teacher, relative to the teacher's own, along HMC runs started "
    "on it, for ReLU with Gaussian weights, γ = 0.5, Δ = 0.1: homogeneous readouts at α = 1 (left) and "
    "Gaussian ones at α = 3 (right). Dashed: theory. Insets: half the error of the current draw, and the "
    "predicted excess error.",
    problems=PROBLEMS,
    theory=theory,
    tasks=lambda settings: tasks_over(
        PROBLEMS, settings, [("hmc", "teacher")], alphas=lambda series: (CASES[series],)
    ),
    draw=draw,
    compare=compared,
    traced=lambda task: ("excess_error", "overlap_power"),
    remarks=remarks,
)

"""Limits and exact facts that the paper states: bounds, few and many data, exact and universal cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problem import Problem
from ..theory import error, learning_curve, solve, solve_linear
from ..theory.errors import error_at
from . import marks
from .compare import deviations
from .item import Item, Tables
from .lines import curve_rows, grid, parameters
from .runs import tasks_over
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

ACTIVATIONS = {"relu": "ReLU", "tanh(2*x)": "tanh(2x)", "sigma3": "σ₃"}
NOISE, GAMMA = 0.1, 0.5
QUADRATIC = "quadratic"
WEIGHTS = {"gaussian": "Gaussian", "uniform": "uniform", "rademacher": "binary", "sparse(0.3)": "sparse"}
ERRORS = {"logistic": "zero-one", "laplace:0.3": "absolute", "poisson": "mean-square"}
"""Channels other than additive Gaussian noise and signs, and an error that suits each."""


def _problem(activation: str, weights: str, channel: Any = NOISE, gamma: float = GAMMA) -> Problem:
    return Problem(activation, weights, "homogeneous", channel=channel, gamma=gamma)


BINARY = {f"information/{a}": _problem(a, "rademacher") for a in ACTIVATIONS}
MANY = {f"many/{a}": _problem(a, "gaussian") for a in ACTIVATIONS}
FEW = {f"few/{a}": _problem(a, "gaussian") for a in ("relu", "tanh(2*x)")}
EXACT = {QUADRATIC: _problem("he2(x)/sqrt(2)", "gaussian", gamma=0.3)}
UNIVERSAL = {f"weights/{w}": _problem("relu", w) for w in WEIGHTS}
# Labels that are no sums of output and noise depend on the mean of the output: 0 for centred readouts.
LABELS = {f"labels/{c}": Problem("relu", "gaussian", "rademacher", c, GAMMA) for c in ERRORS}
PROBLEMS = BINARY | MANY | FEW | EXACT | UNIVERSAL | LABELS
MEASURED = EXACT | UNIVERSAL


def theory(settings: Settings) -> Table:
    n, rows = settings.n_points, Table()
    for series, problem in BINARY.items():
        rows += curve_rows(series, problem, grid(problem, 0.05, 30, n, np.geomspace), "equilibrium")
    for series, problem in MANY.items():
        rows += curve_rows(series, problem, grid(problem, 0.5, 1e5, n, np.geomspace), "equilibrium")
    for series, problem in FEW.items():
        rows += _few(series, problem, np.geomspace(0.03, 1e4, n))
    for series, problem in MEASURED.items():
        rows += curve_rows(series, problem, np.linspace(0.05, 4, n), "universal")
    rows += curve_rows(QUADRATIC, EXACT[QUADRATIC], np.linspace(0.05, 4, n), "specialised")
    for series, problem in LABELS.items():
        rows += _relative(series, problem, np.linspace(0.1, 10, n))
    return rows


def _few(series: str, problem: Problem, samples: np.ndarray) -> Table:
    """The error at n = α₁d samples, and the one of n ∝ d² samples as α → 0."""
    shared = {"series": series, **parameters(problem)}
    found = solve_linear(problem, samples)
    limit = solve(problem, 1e-12).excess_error
    return Table(
        shared | {"line": "few data", "alpha_linear": float(a), "excess_error": float(e), "limit": limit}
        for a, e in zip(samples, found.excess_error, strict=True)
    )


def _relative(series: str, problem: Problem, alphas: np.ndarray) -> Table:
    """Errors of the best predictor and of one draw, over those of the best constant prediction."""
    measure = ERRORS[series.partition("/")[2]]
    curve = learning_curve(problem, alphas)
    null = float(error_at(problem, problem.output_power, measure))
    best, draw = (error(curve, measure, kind) for kind in ("bayes", "gibbs"))
    shared = {"series": series, "line": "equilibrium", **parameters(problem), "measure": measure}
    return Table(
        shared | {"alpha": s.alpha, "status": s.status, "best": float(b) / null, "draw": float(g) / null}
        for s, b, g in zip(curve, best, draw, strict=True)
    )


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(2, 3, width=marks.PAGE, height=4.6)
        _draw_information(axes[0, 0], tables)
        _draw_many(axes[0, 1], tables)
        _draw_few(axes[0, 2], tables)
        _draw_quadratic(axes[1, 0], tables)
        _draw_weights(axes[1, 1], tables)
        _draw_labels(axes[1, 2], tables)
    return figure


def _draw_information(ax: Any, tables: Tables) -> None:
    ax.axhline(math.log(2), color=marks.GREY, lw=0.8)
    ax.annotate("ln 2", (1, math.log(2)), (-2, 2), ("axes fraction", "data"), "offset points", ha="right")
    for activation, name in ACTIVATIONS.items():
        rows = tables.theory.where(series=f"information/{activation}")
        style = {"color": marks.activation_color(activation), "label": name, "lw": 1.5}
        ax.plot(rows.column("alpha"), rows.column("mutual_information"), **style)
    ax.set(xscale="log", xlabel=marks.LABELS["alpha"], ylim=(0, 0.79))
    ax.set(ylabel="information, nats per weight", title="binary weights")
    ax.legend(frameon=False, loc="lower right")


def _draw_many(ax: Any, tables: Tables) -> None:
    ax.axhline(1, color=marks.GREY, lw=0.8)
    for activation, name in ACTIVATIONS.items():
        rows = tables.theory.where(series=f"many/{activation}")
        scaled = rows.column("excess_error") * rows.column("alpha") / (GAMMA * NOISE)
        ax.plot(rows.column("alpha"), scaled, color=marks.activation_color(activation), label=name, lw=1.5)
    ax.set(xscale="log", ylim=(0, None), xlabel=marks.LABELS["alpha"], title="many data")
    ax.set_ylabel(r"$(\varepsilon_\mathrm{opt} - \Delta)\,\alpha/(\gamma\Delta)$")


def _draw_few(ax: Any, tables: Tables) -> None:
    for series in FEW:
        rows, color = tables.theory.where(series=series), marks.activation_color(series.partition("/")[2])
        ax.plot(rows.column("alpha_linear"), rows.column("excess_error"), color=color, lw=1.5)
        ax.axhline(rows.column("limit")[0], color=color, lw=0.9, ls=(0, (4, 1.6)))
    ax.set(xscale="log", xlabel=r"$\alpha_1 = n/d$", ylim=(0, None), title="few data")
    ax.set_ylabel(marks.LABELS["excess_error"])


def _draw_quadratic(ax: Any, tables: Tables) -> None:
    rows = tables.theory.where(series=QUADRATIC)
    marks.curve(ax, rows.where(line="universal"), "equilibrium", "#0072B2", label="exact: universal")
    marks.curve(ax, rows.where(line="specialised"), "specialised", "#D55E00", label="preferred by f")
    marks.points(ax, tables.comparison.where(series=QUADRATIC, source="ours"), "0.2")
    ax.plot([], [], color="0.2", ls="none", label="GAMP-RIE", **marks.MARKERS["gamp_rie", "prior"])
    marks.small_handle(ax, tables.comparison)
    ax.set(xlim=(0, 4.1), yscale="log", xlabel=marks.LABELS["alpha"], title="quadratic activation")
    ax.set_ylabel(marks.LABELS["excess_error"])
    ax.legend(frameon=False)


def _draw_weights(ax: Any, tables: Tables) -> None:
    rows = tables.theory.where(series="weights/gaussian", line="universal")
    marks.curve(ax, rows, "universal", marks.activation_color("relu"), label="universal branch")
    tones = ("#0B3C5D", "#3D8FC7", "#D55E00", "#009E73")
    for number, ((weights, name), color) in enumerate(zip(WEIGHTS.items(), tones, strict=True)):
        found = tables.comparison.where(series=f"weights/{weights}", source="ours")
        marks.points(ax, found, color, offset=0.05 * (number - 1.5))
        ax.plot([], [], color=color, ls="none", label=name, **marks.MARKERS["gamp_rie", "prior"])
    ax.set(xlim=(0, 4.1), ylim=(0, None), xlabel=marks.LABELS["alpha"], title="any weights, GAMP-RIE")
    ax.set_ylabel(marks.LABELS["excess_error"])
    ax.legend(frameon=False)


def _draw_labels(ax: Any, tables: Tables) -> None:
    for series, color in zip(LABELS, ("#0072B2", "#D55E00", "#009E73"), strict=True):
        rows = tables.theory.where(series=series)
        name = f"{PROBLEMS[series].channel.name}, {ERRORS[series.partition('/')[2]]}"
        marks.curve(ax, rows, "equilibrium", color, "best", label=name)
        marks.curve(ax, rows, "universal", color, "draw")
    ax.axhline(1, color=marks.GREY, lw=0.8)
    ax.set(xlim=(0, 10), ylim=(0.4, 1.02), xlabel=marks.LABELS["alpha"], title="other labels and errors")
    ax.set_ylabel("error / that of a constant")
    ax.legend(frameon=False, loc="lower left")


def remarks(tables: Tables) -> list[str]:
    told = [
        "A quadratic activation with Gaussian weights: the potential prefers a specialised solution, but the "
        "labels are the same for all rotations of the units, so that the universal one is exact.",
    ]
    binary, many, few = ([tables.theory.where(series=s) for s in part] for part in (BINARY, MANY, FEW))
    if all(len(rows) for rows in (*binary, *many, *few)):
        last = max(rows.column("mutual_information")[-1] for rows in binary)
        ends = [rows[-1]["excess_error"] * rows[-1]["alpha"] / (GAMMA * NOISE) for rows in many]
        apart = max(abs(rows.column("excess_error")[-1] / rows.column("limit")[0] - 1) for rows in few)
        told += [
            f"Binary weights hold ln 2 = {math.log(2):.6f} nats each; the figure goes up to {last:.6f}.",
            "With many data the excess error is γΔ/α = kdΔ/n, Δ/n for each weight: at the largest α of the "
            f"figure it is {min(ends):.4f} to {max(ends):.4f} of that.",
            "As n/d grows the error at n ∝ d samples, where only the linear part is learnt (the regime of "
            "Cui, Krzakala and Zdeborová), meets that at n ∝ d² samples as α → 0: at the right end they "
            f"differ by {apart:.1g} of their size.",
        ]
    at_d = Table(row for row in tables.comparison if row["series"] in MEASURED)
    if at_d:
        told.append(
            f"GAMP-RIE lies {deviations(at_d, 'predicted_at_d')} from its prediction at this d, with any law "
            "of the weights: the universal branch does not know it."
        )
    return told


ITEM = Item(
    name="limits",
    place="all of the paper",
    title="Limits, bounds and exact cases",
    caption="Top: information on binary weights, at most ln 2; excess error over its limit γΔ/α; error at "
    "n = α₁d samples, which reaches that of n ∝ d² samples as α → 0 (dashed). Bottom: quadratic activation "
    "with Gaussian weights and γ = 0.3, whose universal solution is exact; GAMP-RIE with ReLU and four laws "
    "of the weights (points set apart), beside the universal branch; ReLU with labels other than Gaussian "
    "ones and Rademacher readouts, the best predictor (solid) and one posterior draw (dashed). Homogeneous "
    "readouts, γ = 0.5 and Δ = 0.1 where nothing else is said.",
    problems=PROBLEMS,
    theory=theory,
    tasks=lambda settings: tasks_over(MEASURED, settings, [("gamp_rie", "prior")]),
    draw=draw,
    remarks=remarks,
)

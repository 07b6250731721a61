"""Figures of experiments: measured markers with standard errors on predicted lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..networks.comparison import prediction
from ..networks.measurements import ComparedCurve
from ..problem import Problem
from ..studies.hardness import Crossing, HardnessRow
from ..studies.survival import law_value
from ..sweeps.comparison import Comparison
from ..theory.solver import learning_curve
from .curves import plot_error
from .style import COLUMN, PALETTE, activation_color, applied, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_compared", "plot_comparison", "plot_hardness", "plot_quantity"]

_LABELS = {"excess_error": "excess error", "matrix_overlap_centred": "matrix overlap (centred)"}
_ALPHA = "α = n/d²"
_MARKERS = "osD^vP*X"
_LINES: dict[str, Any] = {"equilibrium": "-", "universal": "--", "specialised": "-."}


def plot_comparison(problems: Sequence[Problem], rows: Sequence[Comparison]) -> Figure:
    """Both quantities against alpha: lines are theory, markers the learners at each d."""
    import matplotlib.pyplot as plt

    quantities = list(dict.fromkeys(row.quantity for row in rows))
    with applied():
        size = (COLUMN, 2.1 * len(quantities) + 0.4)
        figure, axes = plt.subplots(len(quantities), 1, figsize=size, sharex=True, squeeze=False)
        for ax, quantity in zip(axes[:, 0], quantities, strict=True):
            plot_quantity(ax, problems, rows, quantity)
            ax.set_xlabel("")
        axes[-1, 0].set_xlabel(_ALPHA)
        axes[0, 0].legend(frameon=False)
        figure.tight_layout()
    return figure


def plot_quantity(
    ax: Axes | None, problems: Sequence[Problem], rows: Sequence[Comparison], quantity: str = "excess_error"
) -> Axes:
    """One quantity against alpha: lines are theory, markers the learners at each d."""
    ax = new_axes(ax)
    labels = sorted({row.problem for row in rows})
    alphas = sorted({row.alpha for row in rows})
    fine = np.unique(np.concatenate([np.linspace(alphas[0], alphas[-1], 60), alphas]))
    chosen = [row for row in rows if row.quantity == quantity]
    for i, label in enumerate(labels):
        problem = problems[0] if len(problems) == 1 else _named(problems, label)
        mine = [row for row in chosen if row.problem == label]
        _draw(ax, mine, problem, fine, label if len(labels) > 1 else "", i)
    ax.set_xlabel(_ALPHA)
    ax.set_ylabel(_LABELS.get(quantity, quantity))
    sizes = [row.measured for row in chosen]
    if quantity == "excess_error" and min(sizes) > 0 and max(sizes) > 5 * min(sizes):
        ax.set_yscale("log")
    return ax


def plot_hardness(crossings: Sequence[Crossing], rows: Sequence[HardnessRow]) -> Figure:
    """Times against d, semilog with exponential fits on the left and log-log with power laws on the right.

    Markers are medians with the range of the middle half of the runs; those that never crossed count as later
    than all others, and a triangle says that the median is only a bound.
    """
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row.readouts for row in rows))
    with applied():
        size = (2 * COLUMN, 2.3 * len(names) + 0.3)
        figure, axes = plt.subplots(len(names), 2, figsize=size, squeeze=False, sharey="row")
        for pair, name in zip(axes, names, strict=True):
            for ax, law in zip(pair, ("exponential", "power"), strict=True):
                mine = [row for row in rows if (row.readouts, row.law) == (name, law)]
                for i, row in enumerate(mine):
                    runs = [c for c in crossings if (c.readouts, c.threshold) == (name, row.threshold)]
                    _draw_times(ax, runs, row, PALETTE[i % len(PALETTE)])
                _set_scales(ax, law, sorted({c.d for c in crossings if c.readouts == name}))
                formula = "exp(ad + b)" if law == "exponential" else "a dᵇ"
                ax.set_title(f"{name} readouts, {formula}", fontsize=8)
            pair[0].set_ylabel("time to threshold")
            low, high = pair[0].get_ylim()
            pair[0].set_ylim(low, high * (high / low) ** 0.22)  # room for the legend
            pair[0].legend(title="threshold", loc="upper left", ncols=3, columnspacing=1.0)
        for ax in axes[-1]:
            ax.set_xlabel("d")
        figure.tight_layout()
    return figure


def _set_scales(ax: Any, law: str, sizes: Sequence[int]) -> None:
    ax.set_yscale("log")
    if law == "power":
        ax.set_xscale("log")
        ax.set_xticks(sizes[:: -(-len(sizes) // 5)], minor=False)
        ax.set_xticks([], minor=True)
        ax.xaxis.set_major_formatter("{x:.0f}")


def _draw_times(ax: Any, runs: Sequence[Crossing], row: HardnessRow, color: str) -> None:
    sizes = sorted({run.d for run in runs})
    for d in sizes:
        times = np.sort([np.inf if run.is_censored else run.time for run in runs if run.d == d])
        end = max((run.time for run in runs if run.d == d and run.is_censored), default=np.inf)
        quartiles = [float(times[int(q * (times.size - 1) + 0.5)]) for q in (0.25, 0.5, 0.75)]
        low, middle, high = (min(value, end) for value in quartiles)
        ax.plot([d, d], [low, high], color=color, linewidth=0.8)
        marker = "^" if np.isinf(quartiles[1]) else "o"
        ax.plot([d], [middle], marker=marker, markersize=4, color=color, markerfacecolor="white")
    fine = np.linspace(sizes[0], sizes[-1], 100)
    line = law_value(row.law, row.a, row.b, fine)
    ax.plot(fine, line, color=color, linewidth=1.1, label=f"{row.threshold:.4g}")


def _draw(
    ax: Any, rows: Sequence[Comparison], problem: Problem, fine: np.ndarray, label: str, at: int
) -> None:
    for branch in sorted({row.branch for row in rows}):
        name = f"theory, {branch}" + (f", {label}" if label else "")
        line = prediction(problem, fine, branch, rows[0].quantity)
        style = {"linestyle": _LINES[branch], "color": PALETTE[at % len(PALETTE)], "linewidth": 1.2}
        ax.plot(fine, line, label=name, **style)
    groups = sorted({(row.learner, row.d) for row in rows})
    for j, (learner, d) in enumerate(groups):
        mine = [row for row in rows if (row.learner, row.d) == (learner, d)]
        ax.errorbar(
            [row.alpha for row in mine],
            [row.measured for row in mine],
            yerr=np.nan_to_num([row.standard_error for row in mine]),
            linestyle="none",
            marker=_MARKERS[j % len(_MARKERS)],
            markersize=4,
            capsize=2,
            elinewidth=0.8,
            color=PALETTE[(at + j * (len(groups) > 1)) % len(PALETTE)],
            markerfacecolor="white",
            label=f"{learner}, d = {d}" + (f", {label}" if label else ""),
        )


def _named(problems: Sequence[Problem], label: str) -> Problem:
    from ..sweeps.store_tables import problem_labels
    from ..sweeps.task import canonical

    names = problem_labels([{"problem": problem.to_dict()} for problem in problems])
    return next(p for p in problems if names[canonical(p.to_dict())] == label)


def plot_compared(ax: Axes | None, found: ComparedCurve, *, label: str = "measured", **options: Any) -> Axes:
    """The theory as a line, measurements as markers with intervals that miss the truth in 1 % of cases.

    Where nothing is known of the scatter there is no bar. Options are those of ``plot_error``.
    """
    curve = found.curve
    alphas = [one.measured.alpha for one in found.points]
    low, high = min(alphas), max(alphas)
    fine = np.unique(np.concatenate([np.linspace(0.8 * low, 1.1 * high, 80), alphas]))
    line = learning_curve(
        curve.problem, fine, curve.asked, theory=curve.theory, error=curve.error_name or None
    )
    color = options.pop("color", activation_color(curve.problem.activation.name))
    ax = plot_error(ax, line, "theory", quantity=found.quantity, color=color, **options)
    bars = [one.interval if math.isfinite(one.interval) else 0.0 for one in found.points]
    values = [one.measured.value for one in found.points]
    ax.errorbar(alphas, values, bars, fmt="o", color="#C2185B", capsize=3, markersize=4, label=label)
    ax.legend(frameon=False)
    return ax

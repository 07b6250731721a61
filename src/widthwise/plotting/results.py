"""Figures of single results: the overlaps of a solution, the steps of GAMP-RIE, few data, a landscape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..theory import Solution
from ..theory.landscape import Landscape
from ..theory.linear_regime import LinearRegime
from ..theory.overlap_profile import overlap_profile
from ..theory.state_evolution import StateEvolution
from .style import LABELS, PALETTE, TITLE, applied, label_of, new_axes, tidy, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_landscape", "plot_linear_regime", "plot_solution", "plot_state_evolution"]


def plot_solution(ax: Axes | None, solution: Solution, **style: Any) -> Axes:
    """Overlap of the units with the teacher's against their readout: dots for atoms, a line for a density."""

    law = solution.problem.readouts
    style = {"color": PALETTE[0], "marker": "o" if law.is_discrete else "", **style}
    if law.is_discrete:
        v, overlap = solution.readout_values, solution.weight_overlap
    else:
        reach = min(law.largest, 4.0)
        v = np.linspace(-reach, reach, 801)
        overlap = overlap_profile(solution, v)
    with applied():
        ax = new_axes(ax)
        ax.plot(v, overlap, ls="none" if law.is_discrete else "-", **style)
        ax.set_xlabel("readout $v$")
        ax.set_ylabel(label_of("weight_overlap"))
        ax.set_ylim(-0.03, 1.03)
        ax.set_title(
            f"{title_of(solution.problem)}\n" rf"$\alpha = {solution.alpha:.4g}$, {solution.branch} branch",
            fontsize=TITLE,
        )
        tidy(ax)
    return ax


def plot_state_evolution(
    ax: Axes | None, course: StateEvolution, quantity: str = "excess_error", **style: Any
) -> Axes:
    """A quantity of GAMP-RIE against the step."""
    return _line(
        ax,
        np.arange(course.excess_error.size),
        getattr(course, quantity),
        ("step of GAMP-RIE", label_of(quantity)),
        {"marker": "o", "markersize": 3, **style},
    )


def plot_linear_regime(
    ax: Axes | None, points: LinearRegime, quantity: str = "excess_error", **style: Any
) -> Axes:
    """A quantity against α₁ = n/d."""
    alphas = np.atleast_1d(points.alpha_linear)
    values = np.atleast_1d(getattr(points, quantity))
    shown = {"marker": "o" if alphas.size == 1 else "", **style}
    return _line(ax, alphas, values, (r"samples per dimension $\alpha_1 = n/d$", label_of(quantity)), shown)


def plot_landscape(ax: Axes | None, scan: Landscape, **style: Any) -> Axes:
    """The free entropy against the overall overlap: its maxima are solutions."""
    names = (r"overall overlap $\mathcal{Q}$", LABELS["free_entropy"])
    return _line(ax, scan.overlap, scan.free_entropy, names, style)


def _line(ax: Axes | None, x: Any, y: Any, names: tuple[str, str], style: dict[str, Any]) -> Axes:

    with applied():
        ax = new_axes(ax)
        ax.plot(x, y, **{"color": PALETTE[0], "linewidth": 1.4, **style})
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[1])
        tidy(ax)
    return ax

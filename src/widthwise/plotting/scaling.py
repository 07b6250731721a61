"""The figure of a scaling law: error and effective width against the number of samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..studies.width import WidthTable
from ..theory.scaling import ScalingLaw
from .style import PALETTE, TITLE, applied, new_axes, tidy, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_scaling", "plot_widths"]


def plot_scaling(axes: Any, law: ScalingLaw, *, title: bool = True, **style: Any) -> tuple[Axes, Axes]:
    """Error above, effective width below, on logarithmic scales, with the predicted slopes drawn.

    ``axes`` is a pair of axes, or None for new ones; a single one gets the error alone. Returns the pair.
    """
    from matplotlib import pyplot

    with applied():
        if axes is None:
            _, axes = pyplot.subplots(
                2, 1, figsize=(3.9, 4.2), sharex=True, height_ratios=(3, 2), layout="constrained"
            )
        upper, lower = axes if np.size(axes) == 2 else (axes, None)
        drawn = {"color": PALETTE[0], "linewidth": 1.4, "marker": "" if len(law) > 1 else "o", **style}
        upper.plot(law.n, law.excess_error, label="optimum", **drawn)
        upper.plot(law.n, law.one_draw_error, label="one draw", **{**drawn, "ls": "--", "color": PALETTE[1]})
        _slopes(upper, law)
        upper.set_xscale("log")
        upper.set_yscale("log")
        upper.set_ylabel(r"excess error $\varepsilon$")
        upper.legend(frameon=False)
        if title:
            upper.set_title(f"{title_of(law.problem)}\n$d = {law.d:g}$", fontsize=TITLE)
        tidy(upper)
        if lower is None:
            upper.set_xlabel("samples $n$")
            return upper, upper
        lower.plot(law.n, np.where(law.effective_width > 0, law.effective_width, np.nan), **drawn)
        lower.axhline(law.k, color="0.6", linewidth=0.8)
        lower.set_yscale("log")
        lower.set_xlabel("samples $n$")
        lower.set_ylabel(r"effective width $k_c$")
        tidy(lower)
    return upper, lower


def _slopes(ax: Axes, law: ScalingLaw) -> None:
    """The predicted powers, each over the part of the range where it holds, below the curve."""
    good = np.isfinite(law.excess_error) & (law.excess_error > 0)
    if good.sum() < 2:
        return
    n, error = law.n[good], law.excess_error[good]
    first, second = law.predicted_exponents
    for exponent, inside, text in (
        (first, n <= law.crossover, "while features are found"),
        (second, n >= law.crossover, "all learnt"),
    ):
        if not math.isfinite(exponent) or inside.sum() < 2:
            continue
        own, middle = n[inside], int(inside.sum()) // 2
        line = 0.6 * error[inside][middle] * (own / own[middle]) ** exponent
        ax.plot(own, line, color="0.5", linewidth=0.9, ls=":", label=f"$n^{{{exponent:.3g}}}$, {text}")


def plot_widths(ax: Axes | None, table: WidthTable, *, is_last: bool = False) -> Axes:
    """Error of students against their width, one colour for each n; dashes at the effective width.

    ``is_last`` shows the last networks instead of those that held-out samples chose. Short lines on the left
    are the optimum, dots filled where the held-out loss is least.
    """
    with applied():
        ax = new_axes(ax)
        for i, n in enumerate(sorted({row.n for row in table.rows})):
            own = [row for row in table.rows if row.n == n]
            color = PALETTE[i % len(PALETTE)]
            widths = [row.width for row in own]
            errors = [row.last_error if is_last else row.excess_error for row in own]
            bars = [row.last_standard_error if is_last else row.standard_error for row in own]
            label = f"$n = {n:.4g}$, $k_c = {own[0].effective_width:g}$"
            ax.errorbar(widths, errors, bars, color=color, marker="o", ms=3, mfc="white", lw=1.2, label=label)
            best = widths.index(table.best_width(n))
            ax.plot(widths[best], errors[best], "o", ms=4.5, color=color, zorder=5)
            ax.axvline(own[0].effective_width, color=color, lw=0.9, ls="--")
            ax.plot(
                [0, 0.06], [own[0].optimal_error] * 2, color=color, lw=2, transform=ax.get_yaxis_transform()
            )
        ax.set_yscale("log")
        ax.set_xlabel("width of the student")
        ax.set_ylabel(r"excess error $\varepsilon$")
        ax.legend(frameon=False)
        tidy(ax)
    return ax

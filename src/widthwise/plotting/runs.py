"""Figures of one run of a learner, and of estimators beside the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..learners.run import Run
from ..studies.equivalent_data import theory_errors
from ..studies.yardstick import Yardstick
from .style import COLUMN, PALETTE, TITLE, applied, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_run", "plot_yardstick"]

_MEASURES = {
    "excess_error": "excess error",
    "zero-one": "share of wrong labels",
    "mean-square": "mean-square error",
}
_MARKERS = "osD^vP*X"
_LINES: dict[str, Any] = {"equilibrium": "-", "universal": "--"}


def plot_run(ax: Axes | None, run: Run, name: str = "excess_error", *, label: str | None = None) -> Axes:
    """An observable along a run, a line for each chain, and its settled mean."""

    with applied():
        ax = new_axes(ax)
        values = run.trace[name]
        for i, chain in enumerate(values.transpose("chain", "draw").to_numpy()):
            text = (label or f"{run.learner}, d = {run.instance.d}") if i == 0 else None
            ax.plot(values["draw"], chain, color=PALETTE[i % len(PALETTE)], linewidth=1.0, label=text)
        ax.axhline(run.mean(name), color="0.4", linewidth=0.8, linestyle=":", label="mean once settled")
        ax.set_xlabel("iteration")
        ax.set_ylabel(name.replace("_", " "))
        ax.legend(frameon=False)
        tidy(ax)
    return ax


def plot_yardstick(ax: Axes | None, results: Yardstick, *, is_log: bool = True) -> Axes:
    """Error of each estimator against alpha (markers), optimum (solid) and universal branch (dashed).

    Grey crosses are GAMP-RIE on the same data: what the universal branch becomes at this d.
    """
    from matplotlib.ticker import NullLocator

    alphas = sorted({row["alpha"] for row in results.rows})
    fine = np.geomspace(alphas[0] / 1.1, alphas[-1] * 1.1, 60)
    with applied():
        ax = new_axes(ax, (1.25 * COLUMN, COLUMN))
        for branch, name in (("universal", "polynomial time (universal)"), ("equilibrium", "optimum")):
            line = theory_errors(results.problem, fine, branch, results.measure)
            ax.plot(fine, line, color="0.15", linestyle=_LINES[branch], linewidth=1.3, label=name)
        for j, estimator in enumerate(results.estimators):
            rows = [row for row in results.of(estimator) if np.isfinite(row["error"])]
            ax.errorbar(
                [row["alpha"] for row in rows],
                [row["error"] for row in rows],
                yerr=np.nan_to_num([row["standard_error"] for row in rows]),
                marker=_MARKERS[j % len(_MARKERS)],
                markersize=4.5,
                linewidth=0.7,
                capsize=2,
                color=PALETTE[j % len(PALETTE)],
                label=estimator,
            )
        _draw_expected(ax, results)
        ax.set_xscale("log")
        ax.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
        ax.xaxis.set_minor_locator(NullLocator())
        if is_log and results.measure == "excess_error":
            ax.set_yscale("log")
        ax.set_xlabel(r"samples per squared dimension $\alpha = n/d^2$")
        ax.set_ylabel(_MEASURES[results.measure])
        ax.set_title(f"d = {results.d}", fontsize=TITLE)
        # Below the axes: curves of all estimators fill them.
        below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}
        ax.legend(frameon=False, fontsize=6.5, **below)
        tidy(ax)
    return ax


def _draw_expected(ax: Any, results: Yardstick) -> None:
    rows = [row for row in results.of(results.estimators[0]) if np.isfinite(row["finite_size"])]
    if rows and "gamp-rie" not in results.estimators:
        ax.plot(
            [row["alpha"] for row in rows],
            [row["universal_error"] * (1 + row["finite_size"]) for row in rows],
            linestyle="none",
            marker="x",
            markersize=4,
            color="0.55",
            label=f"universal at d = {results.d}",
        )

"""Phases over width and data: what is learnt, and what the universal branch leaves on the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting.phases import phase_places
from ..problem import Problem
from ..theory import onset
from ..theory import phase_diagram as compute
from ..theory.diagram_data import phase_names
from . import marks
from .item import Item, Tables
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

PROBLEMS = {"relu/four-point": Problem("relu", "gaussian", "four-point", channel=0.1)}
GAMMA, ALPHA = (0.1, 2.0), (0.05, 20.0)
COLUMNS = ("excess_error", "universal_error", "gap", "n_specialised", "n_stable")


def theory(settings: Settings) -> Table:
    (series, problem), n = next(iter(PROBLEMS.items())), settings.n_points
    gammas = np.linspace(*GAMMA, n)
    data = compute(problem, gamma=gammas, alpha=np.geomspace(*ALPHA, n), n_workers=2 if n > 20 else 1)
    rows = Table()
    for i, gamma in enumerate(data["gamma"].values):
        for j, alpha in enumerate(data["alpha"].values):
            values = {name: float(data[name].values[i, j]) for name in COLUMNS}
            shared = {"series": series, "line": "map", "gamma": float(gamma), "alpha": float(alpha)}
            rows.append(shared | values | {"status": str(data["status"].values[i, j])})
        for j in range(data.sizes["line"]):
            at = float(data["transition_alpha"].values[i, j])
            if np.isfinite(at):
                kind = str(data["transition_kind"].values[i, j])
                size = round(float(data["transition_readout"].values[i, j]), 9)
                shared = {"series": series, "line": "transition", "gamma": float(gamma), "alpha": at}
                rows.append(shared | {"kind": kind, "readout": size})
    rows += [
        {"series": series, "line": "onset", "gamma": float(g), "alpha": onset(problem.replace(gamma=g))}
        for g in gammas
    ]
    return rows


def compared(tables: Tables) -> Table:
    """The first line of the diagram against the criterion of the onset, where it is continuous.

    Two computations of one theory: a check of the code, and no verdict on the theory.
    """
    rows = Table()
    lines = tables.theory.where(line="transition")
    largest = max(lines.column("readout"))
    for row in tables.theory.where(line="onset"):
        for found in lines.where(gamma=row["gamma"], readout=largest, kind="continuous")[:1]:
            difference = found["alpha"] - row["alpha"]
            relative = difference / row["alpha"]
            rows.append(
                {"series": row["series"], "gamma": row["gamma"], "quantity": "alpha of the first transition"}
                | {"by_diagram": found["alpha"], "by_criterion": row["alpha"], "difference": difference}
                | {"relative_deviation": relative, "check": "same" if abs(relative) < 1e-6 else "differs"}
            )
    return rows


def draw(tables: Tables) -> Figure:
    from matplotlib.colors import LogNorm

    with marks.applied():
        figure, axes = marks.figure(1, 2, width=marks.PAGE, height=2.9, sharey=True)
        cells = tables.theory.where(line="map")
        gamma, alpha = (np.unique(cells.column(name)) for name in ("gamma", "alpha"))
        phases = cells.column("n_specialised").reshape(gamma.size, alpha.size)
        names = phase_names(next(iter(PROBLEMS.values())))
        labels = {
            "excess_error": (r"excess error $\varepsilon_\mathrm{opt} - \Delta$", "viridis_r"),
            "gap": ("universal error $-$ optimum", "magma_r"),
        }
        for ax, (name, (label, cmap)) in zip(axes[0], labels.items(), strict=True):
            values = cells.column(name).reshape(gamma.size, alpha.size)
            norm = LogNorm() if name == "excess_error" else None
            look = {"cmap": cmap, "norm": norm, "shading": "gouraud", "rasterized": True}
            mesh = ax.pcolormesh(gamma, alpha, values.T, **look)
            figure.colorbar(mesh, ax=ax, label=label, pad=0.02)
            ax.spines[:].set_visible(True)
            _draw_lines(ax, tables.theory.where(line="transition"))
            for phase, x, y in phase_places(phases, gamma, alpha, names):
                box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
                ax.annotate(phase, (x, y), ha="center", va="center", fontsize=7, bbox=box)
            ax.set_yscale("log")
            ax.set_ylim(*ALPHA)
            ax.set_xlim(*GAMMA)
            ax.set_xlabel(r"hidden units per input $\gamma = k/d$")
        axes[0, 0].set_ylabel(marks.LABELS["alpha"])
    return figure


def _draw_lines(ax: Any, transitions: Table) -> None:
    styles = {"continuous": "-", "first-order": (0, (4, 1.6))}
    step = np.diff(np.unique(transitions.column("gamma"))).min()
    for (_, kind), rows in transitions.groups("readout", "kind"):
        order = np.argsort(rows.column("gamma"))
        x, y = rows.column("gamma")[order], rows.column("alpha")[order]
        gaps = np.nonzero(np.diff(x) > 1.5 * step)[0] + 1  # a line ends where the kind changes
        x, y = np.insert(x, gaps, np.nan), np.insert(y, gaps, np.nan)
        for color, width in (("white", 2.6), ("black", 1.2)):
            ax.plot(x, y, color=color, lw=width, ls=styles[kind] if color == "black" else "-")


def remarks(tables: Tables) -> list[str]:
    same = sum(row["check"] == "same" for row in tables.comparison)
    return [
        f"No measurement: at {same} of {len(tables.comparison)} widths the first line of the diagram is the "
        "criterion of the onset to 1e-6, which compares the theory with itself and is not counted above."
    ]


ITEM = Item(
    name="phase-diagram",
    place="beyond the paper",
    title="Phases over width and data",
    caption="ReLU with Gaussian weights and four-point readouts, Δ = 0.1. Left: excess error of the "
    "optimum; right: how far it lies below the universal branch, which GAMP-RIE reaches. Lines: "
    "where the neurons of each |v| begin to be learnt (solid: continuous; dashed: first-order).",
    problems=PROBLEMS,
    theory=theory,
    draw=draw,
    compare=compared,
    remarks=remarks,
)

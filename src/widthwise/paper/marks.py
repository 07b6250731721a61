"""What the figures of the paper share: lines for theory, markers for measurements, in the package's style."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting.style import COLUMN, GREY, PAGE, activation_color, applied, shades, tidy
from .table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLUMN",
    "GREY",
    "LABELS",
    "PAGE",
    "activation_color",
    "applied",
    "authors",
    "curve",
    "figure",
    "legend",
    "points",
    "resized",
    "save",
    "shades",
    "small_handle",
    "small_print",
    "tidy",
]

LABELS = {
    "alpha": r"$\alpha = n/d^2$",
    "excess_error": r"$\varepsilon_\mathrm{opt} - \Delta$",
    "weight_overlap": r"$\mathcal{Q}_W$",
    "matrix_overlap_centred": r"$q_2 - \gamma\bar v^2$",
    "free_entropy": r"free entropy $f$",
}

LINE_STYLES: dict[str, dict[str, Any]] = {
    "equilibrium": {"ls": "-", "lw": 1.5},
    "universal": {"ls": (0, (4, 1.6)), "lw": 1.1},
    "specialised": {"ls": (0, (1, 1.2)), "lw": 1.3},
    "factorised": {"ls": (0, (6, 1.4, 1.2, 1.4)), "lw": 1.2},
}

MARKERS: dict[tuple[str, str], dict[str, Any]] = {
    ("hmc", "teacher"): {"marker": "o", "ms": 4.6, "mfc": "none"},
    ("hmc", "random"): {"marker": "x", "ms": 4.4},
    ("adam", "random"): {"marker": "+", "ms": 5.2},
    ("gamp_rie", "prior"): {"marker": "^", "ms": 4.2, "mfc": "none"},
    ("metropolis", "teacher"): {"marker": "o", "ms": 3.4},
    ("metropolis", "random"): {"marker": "s", "ms": 3.4, "mfc": "none"},
}
NAMES = {
    ("hmc", "teacher"): "HMC from the teacher",
    ("hmc", "random"): "HMC from random weights",
    ("adam", "random"): "Adam, half its error",
    ("gamp_rie", "prior"): "GAMP-RIE",
    ("metropolis", "teacher"): "Metropolis from the teacher",
    ("metropolis", "random"): "Metropolis from random weights",
}


def figure(
    n_rows: int = 1, n_columns: int = 1, width: float = COLUMN, height: float = 2.6, **options: Any
) -> tuple[Figure, Any]:
    """A figure and its axes (an array), laid out without overlaps and independent of pyplot."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    axes = made.subplots(n_rows, n_columns, squeeze=False, **options)
    for ax in axes.flat:
        tidy(ax)
    return made, axes


def curve(ax: Axes, rows: Table, line: str, color: Any, y: str = "excess_error", **options: Any) -> None:
    """One theory line against α."""
    ax.plot(
        rows.column("alpha"), rows.column(y), **({"color": color, "zorder": 2} | LINE_STYLES[line] | options)
    )


def points(ax: Axes, rows: Table, color: Any, *, y: str = "measured", offset: float = 0.0) -> None:
    """Means over instances with standard errors, marked by learner and start; small if they stand in."""
    for (learner, start, stands_in), group in rows.groups("learner", "start", "stands_in"):
        ax.errorbar(
            group.column("alpha") + offset,
            group.column(y),
            np.nan_to_num(group.column("standard_error")),
            color=color,
            ls="none",
            elinewidth=0.8,
            capsize=1.5,
            capthick=0.6,
            zorder=4,
            **resized(MARKERS[learner, start], stands_in),
        )


def resized(marker: dict[str, Any], stands_in: bool | None) -> dict[str, Any]:
    """A marker, small for a point of a smaller scale than the figure's."""
    return marker | {"ms": SMALL * marker["ms"], "mew": 0.8} if stands_in else marker


def small_handle(ax: Axes, comparison: Table) -> None:
    """An entry of the legend of these axes that says what small marks are, if there are any."""
    note = small_print(comparison)
    if note:
        ax.plot([], [], color="0.25", ls="none", marker="o", ms=2.6, mfc="white", label=note)


def small_print(comparison: Table) -> str:
    """What small marks are, in a legend; empty if there are none."""
    sizes = sorted({int(row["d"]) for row in comparison if row.get("stands_in")})
    return "small: d = " + ", ".join(map(str, sizes)) if sizes else ""


def authors(ax: Axes, rows: Table, color: Any = GREY) -> None:
    """The authors' measurements: the same markers, small and pale."""
    for (learner, start), group in rows.groups("learner", "start"):
        marker = MARKERS[learner, start] | {"ms": 0.72 * MARKERS[learner, start]["ms"], "mew": 0.6}
        ax.errorbar(
            group.column("alpha"),
            group.column("measured"),
            np.nan_to_num(group.column("standard_error")),
            color=shades(color, 3)[1],
            ls="none",
            elinewidth=0.6,
            zorder=3,
            **marker,
        )


SMALL = 0.6  # of the size of a marker

BRANCHES = {"equilibrium": "optimal", "universal": "universal branch"}
"""Lines as legends call them."""


def legend(
    figure: Any,
    colors: dict[str, Any],
    measured: Sequence[tuple[str, str]],
    *,
    ncols: int,
    lines: dict[str, str] = BRANCHES,
    comparison: Table | None = None,
) -> None:
    """Colours, line styles and markers of a figure, each said once below it."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, lw=2.2, label=name) for name, color in colors.items()]
    for line, name in lines.items():
        handles.append(Line2D([], [], color="0.25", label=name, **LINE_STYLES[line]))
    for key in measured:
        handles.append(Line2D([], [], color="0.25", ls="none", label=NAMES[key], **MARKERS[key]))
    note = small_print(comparison or Table())
    if note:
        handles.append(Line2D([], [], color="0.25", ls="none", marker="o", ms=2.8, mfc="none", label=note))
    pale: dict[str, Any] = {"color": "0.6", "marker": "o", "ms": 3, "mew": 0.6, "mfc": "none"}
    handles.append(Line2D([], [], ls="none", label="authors (pale)", **pale))
    sizes: dict[str, Any] = {"handlelength": 2.0, "labelspacing": 0.3, "columnspacing": 1.2}
    figure.legend(handles=handles, frameon=False, loc="outside lower center", ncols=ncols, **sizes)


def save(made: Figure, stem: Path) -> list[Path]:
    """``stem.png`` for pages, as fine as 200 kB allow, and ``stem.pdf`` for print."""
    png, pdf = stem.with_suffix(".png"), stem.with_suffix(".pdf")
    for dpi in (200, 160, 130, 110):
        made.savefig(png, dpi=dpi)
        if png.stat().st_size <= 200_000:
            break
    made.savefig(pdf, metadata={"CreationDate": None})
    return [png, pdf]

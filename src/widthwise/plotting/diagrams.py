"""Figures of phase diagrams: a map of one quantity, with the exact lines between phases on top."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

from ..theory.families.profile import overlap_profile
from .phases import fine_map, phase_places
from .style import COLUMN, applied

__all__ = ["DIAGRAM_QUANTITIES", "plot_overlap_profile", "plot_phase_diagram", "plot_phase_diagrams"]

DIAGRAM_QUANTITIES = {
    "excess_error": (r"excess error $\varepsilon_\mathrm{opt} - \Delta$", "viridis_r"),
    "universal_error": ("excess error of the universal branch", "viridis_r"),
    "gap": ("error of the universal branch $-$ optimum", "magma_r"),
    "matrix_overlap_centred": (r"centred matrix overlap $q_2 - \gamma\bar v^2$", "cividis"),
    "mutual_information": (r"mutual information $I/(kd)$ (nats)", "cividis"),
    "n_specialised": ("readout classes learnt", "Blues"),
    "n_stable": ("stable solutions", "Purples"),
}
"""What a diagram can be coloured by: label and colour map."""

_AXES = {
    "alpha": r"samples per squared dimension $\alpha = n/d^2$",
    "gamma": r"hidden units per input $\gamma = k/d$",
    "noise": r"noise variance $\Delta$",
    "snr": r"variance of the output over that of the noise $r_K/\Delta$",
}
_HALO = 2.4
_TRANSITION: dict[str, Any] = {"color": "black", "linewidth": 1.3}
_SPINODAL: dict[str, Any] = {"color": "black", "linewidth": 0.8, "linestyle": (0, (1, 1.4))}
_FIRST_ORDER = (0, (5, 1.6))


def plot_phase_diagram(
    data: Any,
    quantity: str = "excess_error",
    ax: Axes | None = None,
    *,
    is_log: bool | None = None,
    is_labelled: bool = True,
) -> Axes:
    """A diagram of :func:`widthwise.phase_diagram`: colours for one quantity, lines for transitions.

    Continuous transitions are solid, first-order ones dashed with their spinodals dotted. ``is_log``
    is the scale of the colours (by default logarithmic for errors that span a decade). Axes whose values
    are evenly spaced in the logarithm are drawn logarithmic.
    """
    from matplotlib import pyplot

    if quantity not in DIAGRAM_QUANTITIES and not (quantity.endswith("_error") and quantity in data):
        raise ValueError(f"unknown quantity {quantity!r}; choose from {', '.join(DIAGRAM_QUANTITIES)}")
    first, second = data[quantity].dims
    with applied():
        if ax is None:
            ax = pyplot.subplots(figsize=(1.25 * COLUMN, COLUMN), layout="constrained")[1]
        scales = _map(ax, data, quantity, first, second, is_log)
        for axis, name, scale in ((ax.xaxis, first, scales[0]), (ax.yaxis, second, scales[1])):
            axis.set_label_text(_AXES.get(name, name.replace("_", " ")))
            if scale == "log":
                (ax.set_xscale if axis is ax.xaxis else ax.set_yscale)("log")
        ax.spines[:].set_visible(True)
        ax.set_xlim(data[first].values[[0, -1]])
        ax.set_ylim(data[second].values[[0, -1]])
        if "transition_alpha" in data:
            _lines(ax, data, first, is_labelled)
        elif "line_first" in data:
            _points(ax, data)
        if is_labelled and "n_specialised" in data:
            _name_phases(ax, data, first, second)
        ax.tick_params(width=0.6, length=3)
    return ax


def plot_phase_diagrams(data: Any, quantities: Sequence[str], **options: Any) -> Figure:
    """Several quantities of one diagram side by side; options as for :func:`plot_phase_diagram`."""
    from matplotlib import pyplot

    with applied():
        n = len(quantities)
        figure, axes = pyplot.subplots(
            1, n, figsize=(1.1 * n * COLUMN, 0.92 * COLUMN), layout="constrained", squeeze=False
        )
        for ax, quantity in zip(axes[0], quantities, strict=True):
            plot_phase_diagram(data, quantity, ax, **options)
    return figure


def plot_overlap_profile(
    ax: Axes | None, curve: Any, readouts: ArrayLike | None = None, *, cmap: str = "viridis_r"
) -> Axes:
    """𝒬_W(v) against |v|, one line for each α of a learning curve."""
    from matplotlib import colormaps, pyplot

    with applied():
        if ax is None:
            ax = pyplot.subplots(figsize=(COLUMN, 0.8 * COLUMN), layout="constrained")[1]
        colors = colormaps[cmap](np.linspace(0.12, 1, len(curve)))
        reach = min(curve.problem.readouts.largest, 4.0)
        v = np.linspace(0, reach, 801) if readouts is None else np.asarray(readouts, dtype=float)
        for point, color in zip(curve, colors, strict=True):
            ax.plot(v, overlap_profile(point, v), color=color, lw=1.4, label=f"{point.alpha:.3g}")
        ax.set_xlabel(r"size of the readout $|v|$")
        ax.set_ylabel(r"overlap $\mathcal{Q}_W(v)$ with the teacher")
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlim(v[0], v[-1])
        ax.legend(title=r"$\alpha = n/d^2$", frameon=False, labelspacing=0.25, handlelength=1.4)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(width=0.6, length=3)
    return ax


# --- parts ---------------------------------------------------------------------------------------


def _map(ax: Axes, data: Any, quantity: str, first: str, second: str, is_log: bool | None) -> tuple[str, str]:
    from matplotlib.colors import BoundaryNorm, LogNorm, Normalize

    label, cmap = DIAGRAM_QUANTITIES.get(quantity, (data[quantity].attrs.get("long_name"), "viridis_r"))
    z = data[quantity].values
    good = z[np.isfinite(z)]
    if good.size == 0:
        raise ValueError("nothing has been computed: every point of the diagram is NaN")
    ticks = None
    if quantity.startswith("n_"):
        low, top = int(good.min()), int(good.max())
        low = min(low, top - 1)
        norm: Normalize = BoundaryNorm(np.arange(low - 0.5, top + 1.5), 256)
        ticks = list(range(low, top + 1))
    else:
        positive = good[good > 0]
        if is_log is None:
            is_log = quantity != "gap" and positive.size == good.size and positive.max() > 10 * positive.min()
        if is_log and positive.size:
            norm = LogNorm(max(positive.min(), 1e-6 * positive.max()), positive.max())
        else:
            norm = Normalize(min(0.0, good.min()), good.max())
    x, y = data[first].values, data[second].values
    scales = (_scale(x), _scale(y))
    if "transition_alpha" in data and not quantity.startswith("n_"):
        is_log_z = isinstance(norm, LogNorm)
        fine = fine_map(
            x,
            y,
            np.log(np.maximum(z, 1e-300)) if is_log_z else z,
            data["transition_alpha"].transpose("line", first).values,
            is_log=(scales[0] == "log", scales[1] == "log"),
        )
        x, y, z = fine[0], fine[1], np.exp(fine[2]) if is_log_z else fine[2]
    image = ax.pcolormesh(
        _edges(x, scales[0]), _edges(y, scales[1]), z.T, norm=norm, cmap=cmap, rasterized=True
    )
    if f"refined_{quantity}" in data and quantity.startswith("n_"):
        _refined_cells(ax, data, quantity, scales, norm=norm, cmap=cmap)
    is_cut = norm.vmin is not None and good.min() < norm.vmin
    bar = ax.figure.colorbar(
        image, ax=ax, ticks=ticks, pad=0.02, aspect=28, extend="min" if is_cut else "neither"
    )
    bar.set_label(label)
    bar.outline.set_linewidth(0.6)
    bar.ax.tick_params(width=0.6, length=2.5)
    return scales


def _refined_cells(ax: Axes, data: Any, quantity: str, scales: tuple[str, str], **style: Any) -> None:
    """The columns that lines cross, once more with the points that refine them: edges lie on the lines."""
    first, second = data[quantity].dims
    sides = _edges(data[first].values, scales[0])
    at, y_more = data[f"refined_{first}"].values, data[f"refined_{second}"].values
    for i, x in enumerate(data[first].values):
        own = at == x
        if not own.any():
            continue
        y = np.concatenate([data[second].values, y_more[own]])
        z = np.concatenate([data[quantity].values[i], data[f"refined_{quantity}"].values[own]])
        order = np.argsort(y)
        edges = _edges(y[order], scales[1])
        ax.pcolormesh(sides[i : i + 2], edges, z[order][:, None], rasterized=True, **style)


def _lines(ax: Axes, data: Any, first: str, is_labelled: bool) -> None:
    x = data[first].values
    has_kind: set[str] = set()
    has_sizes = data.sizes.get("size", 1) > 1
    for line in data["line"].values:
        part = data.sel(line=line)
        alpha, kind = part["transition_alpha"].values, part["transition_kind"].values
        for name, style in (("continuous", "-"), ("first-order", _FIRST_ORDER)):
            # A segment between different kinds is drawn as first-order: so lines leave no gap.
            own = kind == name
            if name == "first-order":
                own = own | _beside(own, kind == "continuous")
            if not np.any((kind == name) & np.isfinite(alpha)):
                continue
            has_kind.add(name)
            _stroke(ax, x, np.where(own, alpha, np.nan), linestyle=style, **_TRANSITION)
        for name in ("spinodal_low", "spinodal_high"):
            values = part[name].values
            if np.isfinite(values).any():
                has_kind.add("spinodal")
                ax.plot(x, np.where(np.isfinite(values), values, np.nan), **_SPINODAL)
        if is_labelled and has_sizes:
            _name_line(ax, x, alpha, part["transition_readout"].values)
    _legend(ax, has_kind)


def _name_phases(ax: Axes, data: Any, first: str, second: str) -> None:
    """What is learnt in each phase, where there is most room."""
    names = str(data.attrs.get("phases", "")).split("; ")
    grid = data["n_specialised"].transpose(first, second).values
    lines = data["transition_alpha"].transpose("line", first).values if "transition_alpha" in data else ()
    for name, x, y in phase_places(grid, data[first].values, data[second].values, names, lines):
        ax.annotate(
            name,
            (x, y),
            ha="center",
            va="center",
            fontsize=7,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.75, "linewidth": 0},
        )


def _legend(ax: Axes, kinds: set[str]) -> None:
    from matplotlib.lines import Line2D

    handles = []
    if "continuous" in kinds:
        handles.append(Line2D([], [], label="continuous", **_TRANSITION))
    if "first-order" in kinds:
        handles.append(Line2D([], [], label="first-order", linestyle=_FIRST_ORDER, **_TRANSITION))
    if "spinodal" in kinds:
        handles.append(Line2D([], [], label="spinodals", **_SPINODAL))
    if handles:
        # Below the map, of which it would hide a part, and names are on it already.
        below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": len(handles)}
        ax.legend(handles=handles, frameon=False, handlelength=2.2, columnspacing=1.4, **below)


def _stroke(ax: Axes, x: np.ndarray, y: np.ndarray, **style: Any) -> None:
    """A line that is seen on light and dark ground."""
    ax.plot(x, y, color="white", linewidth=style["linewidth"] + _HALO, alpha=0.75, solid_capstyle="round")
    ax.plot(x, y, **style)


def _beside(own: np.ndarray, others: np.ndarray) -> np.ndarray:
    near = np.zeros_like(own)
    near[1:] |= own[:-1]
    near[:-1] |= own[1:]
    return np.asarray(near & others)


def _name_line(ax: Axes, x: np.ndarray, alpha: np.ndarray, readout: np.ndarray) -> None:
    """|v| beside the line, not quite halfway along what can be seen of it."""
    low, high = ax.get_ylim()
    seen = np.nonzero(np.isfinite(alpha) & (alpha > low) & (alpha < high))[0]
    if seen.size < max(3, 0.2 * x.size):  # too short for a label
        return
    i = int(seen[min(int(0.42 * seen.size), seen.size - 2)])
    if not math.isfinite(readout[i]):
        return
    here, there = ax.transData.transform(
        np.column_stack([x[[i, i + 1]], alpha[[i, i + 1]]])
        if np.isfinite(alpha[i + 1])
        else np.column_stack([x[[i - 1, i]], alpha[[i - 1, i]]])
    )
    angle = math.degrees(math.atan2(*(there - here)[::-1]))
    ax.annotate(
        rf"$|v| = {readout[i]:.3g}$",
        (x[i], alpha[i]),
        (-4 * math.sin(math.radians(angle)), 4 * math.cos(math.radians(angle))),
        textcoords="offset points",
        rotation=angle,
        rotation_mode="anchor",
        ha="center",
        va="bottom",
        fontsize=7,
        bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "alpha": 0.75, "linewidth": 0},
    )


def _points(ax: Axes, data: Any) -> None:
    """Lines at fixed α: joined by their kind and the pair of phases that they part."""
    x, y, sides = data["line_first"].values, data["line_second"].values, data["line_phase"].values
    kinds = data["line_kind"].values
    for *pair, kind in sorted({(*map(int, s), str(k)) for s, k in zip(sides, kinds, strict=True)}):
        own = np.all(sides == pair, axis=1) & (kinds == kind)
        order = np.argsort(x[own], kind="stable")
        style = _FIRST_ORDER if kind == "first-order" else "-"
        _stroke(ax, x[own][order], y[own][order], linestyle=style, **_TRANSITION)
    _legend(ax, set(kinds.tolist()))


def _scale(values: np.ndarray) -> str:
    """Logarithmic when the values are (nearly) evenly spaced in the logarithm and span a factor of 5."""
    if values[0] <= 0 or values[-1] < 5 * values[0] or values.size < 3:
        return "linear"
    steps, log_steps = np.diff(values), np.diff(np.log(values))
    return "log" if np.std(log_steps) / np.mean(log_steps) < np.std(steps) / np.mean(steps) else "linear"


def _edges(values: np.ndarray, scale: str) -> np.ndarray:
    x = np.log(values) if scale == "log" else values
    middle = 0.5 * (x[1:] + x[:-1])
    edges = np.concatenate([[2 * x[0] - middle[0]], middle, [2 * x[-1] - middle[-1]]])
    return np.exp(edges) if scale == "log" else edges

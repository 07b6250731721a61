"""The one style of all figures: widths, fonts, colours, lines, labels and small habits.

Every figure of the package is drawn with ``SETTINGS``, for as long as it is drawn: global settings of
Matplotlib are left alone, unless you ask for :func:`use`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problem import Problem
from ..theory.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ARRAYS",
    "CHANGE",
    "COLUMN",
    "EQUILIBRIUM",
    "FOLD",
    "GREY",
    "LABELS",
    "LINES",
    "METASTABLE",
    "NEUTRAL",
    "PAGE",
    "PALETTE",
    "QUANTITIES",
    "SETTINGS",
    "STATE_NAMES",
    "TITLE",
    "UNSTABLE",
    "activation_color",
    "applied",
    "label_changes",
    "label_of",
    "legend_of_states",
    "measure_label",
    "new_axes",
    "shades",
    "shown_readouts",
    "state_of",
    "states_of",
    "stretches_of",
    "tidy",
    "title_of",
    "use",
]

EQUILIBRIUM, METASTABLE, UNSTABLE = 0, 1, 2
STATE_NAMES = ("equilibrium", "metastable", "unstable")
LINES: tuple[dict[str, Any], ...] = (
    {"linestyle": "-", "linewidth": 1.6},
    {"linestyle": (0, (4, 1.6)), "linewidth": 1.1},
    {"linestyle": (0, (1, 1.4)), "linewidth": 1.1},
)

# Okabe and Ito's palette, which the colour-blind tell apart (its yellow is too light for a line).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6A51A3", "#8C510A")
_COLORS = {
    "relu": "#0072B2",
    "tanh": "#D55E00",
    "tanh(2*x)": "#D55E00",
    "sigma3": "#009E73",
    "sigma1": "#CC79A7",
    "sigma2": "#E69F00",
    "elu": "#AA3377",
    "erf": "#6A51A3",
    "gelu": "#8C510A",
}
NEUTRAL = "#444444"
CHANGE: dict[str, Any] = {"color": "0.55", "linewidth": 0.6, "zorder": 0}
FOLD: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 4.5, "zorder": 4}
GREY = "#6E6E6E"
COLUMN, PAGE = 3.4, 6.9
"""Inches: one column, and both, of a two-column page."""
TITLE = 7.5
"""Size of titles, which are longer than labels."""
SETTINGS: Any = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": f"cycler(color={list(PALETTE)!r})",
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "legend.handlelength": 2.0,
    "legend.labelspacing": 0.3,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "lines.markeredgewidth": 0.9,
    "figure.figsize": (COLUMN, 0.75 * COLUMN),
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200.0,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}
"""Settings of Matplotlib for all figures."""


@contextmanager
def applied() -> Iterator[None]:
    """The settings of the package for as long as the block lasts."""
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        yield


def use() -> None:
    """Give your own figures the style of the package from now on (``matplotlib.rcParams``)."""
    from matplotlib import rcParams

    rcParams.update(SETTINGS)


_CONTINUOUS_READOUTS = (2.0, 1.0, 0.5)


def activation_color(name: str) -> str:
    """The colour of an activation, the same in every figure (a formula gets one by its text)."""
    if name in _COLORS:
        return _COLORS[name]
    return PALETTE[hashlib.sha256(name.encode()).digest()[0] % len(PALETTE)]


LABELS = {
    "alpha": r"samples per squared dimension $\alpha = n/d^2$",
    "weight_overlap": r"overlap $\mathcal{Q}_W$ of the hidden units",
    "weight_overlap_hat": r"conjugate overlap $\hat{\mathcal{Q}}_W$ of the hidden units",
    "excess_error": r"excess error $\varepsilon_\mathrm{opt} - \Delta$",
    "bayes_error": r"Bayes error $\varepsilon_\mathrm{opt}$",
    "gibbs_error": r"Gibbs error $\varepsilon_\mathrm{Gibbs}$",
    "matrix_overlap": r"matrix overlap $q_2$",
    "matrix_overlap_centred": r"centred matrix overlap $q_2 - \gamma\bar v^2$",
    "matrix_overlap_hat": r"conjugate matrix overlap $\hat q_2$",
    "tilt": r"tilt $\tau$",
    "free_entropy": r"free entropy $f_\mathrm{RS}$",
    "mutual_information": r"mutual information $I/(kd)$ (nats)",
}
_MEASURES = {
    "zero-one": "share of wrong labels",
    "cross-entropy": "cross-entropy (nats)",
    "absolute": "mean absolute error",
    "mean-square": "mean-square error",
}
QUANTITIES = [name for name in LABELS if name != "alpha"]
ARRAYS = ("weight_overlap", "weight_overlap_hat")


def new_axes(ax: Axes | None, size: tuple[float, float] = (COLUMN, 0.8 * COLUMN)) -> Axes:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def label_of(quantity: str) -> str:
    return LABELS.get(quantity, quantity.replace("_", " "))


def measure_label(name: str) -> str:
    label = _MEASURES[name.removeprefix("gibbs-")]
    return f"{label}, one draw" if name.startswith("gibbs-") else label


def state_of(point: Solution) -> int:
    """Equilibrium, metastable or unstable, as an index of ``STATE_NAMES``; -1 where there is no solution."""
    if not point.is_converged:
        return -1
    return EQUILIBRIUM if point.is_equilibrium else METASTABLE if point.is_stable else UNSTABLE


def states_of(curve: Sequence[Solution]) -> np.ndarray:
    """State of each point, -1 where there is none."""
    return np.array([state_of(point) for point in curve])


def stretches_of(states: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """(first, one past the last, state) of the lines to draw through points of given states."""
    both = np.minimum(states[:-1], states[1:]) >= 0
    segment = np.where(both, np.maximum(states[:-1], states[1:]), -1)
    i = 0
    while i < segment.size:
        j = i
        while j < segment.size and segment[j] == segment[i]:
            j += 1
        if segment[i] >= 0:
            yield i, j + 1, int(segment[i])
        i = j
    for i in np.nonzero(states >= 0)[0].tolist():  # points without a neighbour
        if not (i > 0 and segment[i - 1] >= 0) and not (i < segment.size and segment[i] >= 0):
            yield i, i + 1, int(states[i])


def shown_readouts(values: np.ndarray, is_discrete: bool, n_readouts: int = 3) -> list[int]:
    """Indices of a few readout values, largest |v| first: overlaps depend on |v| only.

    The largest ones of a discrete law; those nearest to 2, 1 and 0.5 of a continuous one.
    """
    if not is_discrete:
        goals = _CONTINUOUS_READOUTS[:n_readouts]
        return list(dict.fromkeys(int(np.argmin(np.abs(values - goal))) for goal in goals))
    size = np.abs(values)
    found: list[int] = []
    for i in np.argsort(-size, kind="stable"):
        if size[i] > 0 and (not found or size[found[-1]] - size[i] > 1e-12 * size[i]):
            found.append(int(i))
    return found[:n_readouts]


def shades(base: Any, n: int) -> list[Any]:
    """The colour itself and lighter ones, up to two thirds of the way to white."""
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(base))
    return [tuple(rgb + (1 - rgb) * 0.62 * i / max(n - 1, 1)) for i in range(n)]


def legend_of_states(
    ax: Axes, states: set[int], has_changes: bool, change: str = "transition", has_folds: bool = False
) -> None:
    from matplotlib.lines import Line2D

    handles = list(ax.get_legend_handles_labels()[0])
    handles += [Line2D([], [], color=NEUTRAL, label=STATE_NAMES[s], **LINES[s]) for s in sorted(states)]
    if has_folds:
        handles.append(Line2D([], [], color=NEUTRAL, label="fold", **FOLD))
    if has_changes:
        handles.append(Line2D([], [], label=change, **CHANGE))
    if len(handles) > 1:
        ax.legend(handles=handles, frameon=False, loc="best", handlelength=2.2, labelspacing=0.3)


def label_changes(ax: Axes, alphas: Sequence[float], low: float, high: float) -> None:
    """The value of each change above the axes; of two that are close, one to the left, one to the right."""
    for i, alpha in enumerate(alphas):
        room = 0.14 * (high - low)
        is_close_left = i > 0 and alpha - alphas[i - 1] < room
        is_close_right = i + 1 < len(alphas) and alphas[i + 1] - alpha < room
        place = {(True, False): "left", (False, True): "right"}.get((is_close_left, is_close_right), "center")
        ax.annotate(
            f"{alpha:.3g}",
            (alpha, 1.0),
            (0, 2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha=place,
            va="bottom",
            fontsize=6.5,
            color="0.35",
        )


def tidy(ax: Axes) -> None:
    """Two spines, short ticks: also for axes that were made with other settings."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(width=0.6, length=3)


def title_of(problem: Problem) -> str:
    channel: Any = problem.channel
    labels = rf"$\Delta = {channel.noise:g}$" if channel.name == "gaussian" else f"{channel.name} labels"
    laws = f"{problem.weights.name} weights, {problem.readouts.name} readouts"
    if not problem.inputs.is_isotropic:
        laws += f", {problem.inputs.name} inputs"
    return f"{problem.activation.name}, {laws}\n" + rf"$\gamma = {problem.gamma:g}$, {labels}"

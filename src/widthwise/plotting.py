"""Figures: errors and overlaps along learning curves, branches through their folds, spectra.

Every function draws on the axes it is given (``ax=None`` makes new ones) and returns them. Lines are
theory: solid at equilibrium, dashed where metastable, dotted where unstable. Global settings of
Matplotlib are left alone, and it is imported only when something is drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .denoising import MatrixDenoiser
from .problem import Problem
from .theory.branches import Branch, trace_branches
from .theory.errors import with_error
from .theory.solution import LearningCurve, Solution
from .theory.transitions import Transition, transitions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "EQUILIBRIUM",
    "METASTABLE",
    "UNSTABLE",
    "activation_color",
    "eigenvalue_grid",
    "plot_bifurcation",
    "plot_error",
    "plot_learning_curve",
    "plot_overlaps",
    "plot_spectrum",
    "shown_readouts",
    "states_of",
    "stretches_of",
]

EQUILIBRIUM, METASTABLE, UNSTABLE = 0, 1, 2
_STATE_NAMES = ("equilibrium", "metastable", "unstable")
_LINES: tuple[dict[str, Any], ...] = (
    {"linestyle": "-", "linewidth": 1.6},
    {"linestyle": (0, (4, 1.6)), "linewidth": 1.1},
    {"linestyle": (0, (1, 1.4)), "linewidth": 1.1},
)

# Okabe and Ito's palette, which the colour-blind tell apart (its yellow is too light for a line).
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6A51A3", "#8C510A")
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
_NEUTRAL = "#444444"
_CHANGE: dict[str, Any] = {"color": "0.55", "linewidth": 0.6, "zorder": 0}
_FOLD: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 4.5, "zorder": 4}
_COLUMN = 3.4  # inches, one column of a two-column page
_FONT: Any = {"font.size": 8.0, "axes.linewidth": 0.6, "legend.fontsize": 7.0}

CONTINUOUS_READOUTS = (2.0, 1.0, 0.5)


def activation_color(name: str) -> str:
    """The colour of an activation, the same in every figure (a formula gets one by its text)."""
    if name in _COLORS:
        return _COLORS[name]
    return _PALETTE[hashlib.sha256(name.encode()).digest()[0] % len(_PALETTE)]


def plot_error(
    ax: Axes | None,
    curve: LearningCurve,
    label: str | None = None,
    *,
    quantity: str | None = None,
    color: Any = None,
    is_log: bool = False,
) -> Axes:
    """Error against alpha: the measure that the curve carries, else the excess error.

    ``quantity`` may be any scalar field of a solution; NaN leaves a gap.
    """
    if quantity is None:
        quantity = "error" if curve.error_name else "excess_error"
    ax = _axes(ax)
    color = activation_color(curve.problem.activation.name) if color is None else color
    _draw(ax, curve, getattr(curve, quantity), color, label)
    ax.set_xlabel(_LABELS["alpha"])
    is_measure = quantity == "error" and curve.error_name
    ax.set_ylabel(_measure_label(curve.error_name) if is_measure else _label(quantity))
    if is_log:
        ax.set_yscale("log")
    return ax


def plot_overlaps(
    ax: Axes | None,
    curve: LearningCurve,
    *,
    color: Any = None,
    is_labelled: bool = True,
    is_zero_drawn: bool = True,
) -> Axes:
    """Overlap of the neurons for a few |readouts|, darkest for the largest, and of the matrix (grey).

    ``is_zero_drawn=False`` leaves out the overlaps that are 0 all along.
    """
    ax = _axes(ax)
    base = activation_color(curve.problem.activation.name) if color is None else color
    values = curve[0].readout_values
    shown = shown_readouts(values, curve.problem.readouts.is_discrete)
    overlap = curve.weight_overlap
    for i, shade in zip(shown, _shades(base, len(shown)), strict=True):
        if not is_zero_drawn and not np.any(overlap[:, i] > 0):
            continue
        label = rf"$\mathcal{{Q}}_W(v)$, $|v| = {abs(values[i]):.3g}$" if is_labelled else None
        _draw(ax, curve, overlap[:, i], shade, label)
    label = r"$q_2 - \gamma\bar v^2$" if is_labelled else None
    if is_zero_drawn or np.any(curve.matrix_overlap_centred > 1e-9):
        _draw(ax, curve, curve.matrix_overlap_centred, _NEUTRAL, label)
    ax.set_xlabel(_LABELS["alpha"])
    ax.set_ylabel("overlap with the teacher")
    ax.set_ylim(-0.03, 1.03)
    return ax


def plot_learning_curve(
    problem: Problem,
    alphas: ArrayLike,
    *,
    found: Sequence[Transition] | None = None,
    branches: Sequence[Branch] | None = None,
    is_log: bool = False,
    title: str | None = None,
    error: str | None = None,
) -> Figure:
    """Two panels over alpha: the excess error on every branch (or another ``error``), the overlaps below.

    The figure reaches from the smallest to the largest of the ``alphas``; branches are resolved as
    finely as they turn, whatever lies between. A thin vertical line marks each transition. ``found``
    and ``branches`` may be what ``transitions`` and ``trace_branches`` gave for the same problem.
    """
    import matplotlib.pyplot as plt
    from matplotlib import rc_context

    low, high = float(np.min(alphas)), float(np.max(alphas))
    changes = _changes(transitions(problem, high) if found is None else found, low, high)
    if branches is None:
        branches = trace_branches(problem, (low, high), at=changes)
    with rc_context(_FONT):
        figure, (top, bottom) = plt.subplots(
            2, 1, sharex=True, figsize=(_COLUMN, 1.25 * _COLUMN), layout="constrained", height_ratios=[1.2, 1]
        )
        for curve in branches:
            plot_error(top, curve if error is None else with_error(curve, error), is_log=is_log)
        for i, (state, part) in enumerate(_stable_parts(branches)):
            # beside the equilibrium, lines on the axis would tell nothing
            plot_overlaps(bottom, part, is_labelled=i == 0, is_zero_drawn=state == EQUILIBRIUM)
        top.set_xlabel("")
        top.set_title(_title(problem) if title is None else title, fontsize=7.5, pad=12 if changes else 6)
        top.set_xlim(low, high)
        if not is_log and error is None:
            top.set_ylim(bottom=0)
        for change in changes:
            for ax in (top, bottom):
                ax.axvline(change, **_CHANGE)
        _label_changes(top, changes, low, high)
        _legend_of_states(top, {int(s) for c in branches for s in states_of(c) if s >= 0}, bool(changes))
        bottom.legend(frameon=False, loc="best", handlelength=1.6, labelspacing=0.3)
        for ax in (top, bottom):
            _tidy(ax)
    return figure


def plot_bifurcation(
    ax: Axes | None,
    problem: Problem | Sequence[Branch],
    alpha: tuple[float, float] | None = None,
    quantity: str = "weight_overlap",
    *,
    found: Sequence[Transition] | None = None,
    label: str | None = None,
    color: Any = None,
) -> Axes:
    """A quantity on every branch of solutions against alpha, through the folds.

    Small dots mark the folds, where branches begin or end; a thin vertical line marks each Maxwell point, at
    which the equilibrium jumps from one branch to another.

    Parameters
    ----------
    problem : Problem, or what ``trace_branches`` gave
    alpha : (low, high)
        The range; with branches, that of the axis, and it may be left out.
    quantity : str
        Any number that solutions have; overlaps are drawn for a few |readouts|, darkest for the largest.
    found : list of Transition, optional
        What ``transitions`` gave for the same problem, so that it is not computed again.
    """
    from matplotlib import rc_context

    if quantity not in _QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}; choose from {', '.join(_QUANTITIES)}")
    if isinstance(problem, Problem):
        if alpha is None:
            raise ValueError("alpha must be given as a range (low, high) when a problem is drawn")
        low, high = (float(x) for x in alpha)
        if found is None and high > 0 and np.isfinite(high):  # a bad range is for trace_branches to refuse
            found = transitions(problem, high)
        branches: Sequence[Branch] = trace_branches(problem, (low, high), at=_changes(found or [], low, high))
    else:
        branches = problem
        if not branches:
            raise ValueError("there is no branch to draw; trace_branches gives at least the universal one")
        ends = [branch.alpha[[0, -1]] for branch in branches]
        low, high = (np.min(ends), np.max(ends)) if alpha is None else (float(x) for x in alpha)
        found = transitions(branches[0].problem, high) if found is None else found
    first_order = _changes([t for t in found or [] if t.kind == "first-order"], low, high)
    with rc_context(_FONT):
        is_new = ax is None
        ax = _axes(ax)
        for branch in branches:
            for y, shade, name in _lines_of(branch, quantity, color):
                # only the universal branch, which is always there, speaks in the legend
                text = (label or name) if branch is branches[0] else None
                _draw(ax, branch, y, shade, text)
                at_fold = np.isin(branch.alpha, branch.folds) & ((y > 0) | (quantity not in _ARRAYS))
                ax.plot(branch.alpha[at_fold], y[at_fold], color=shade, **_FOLD)
        for change in first_order:
            ax.axvline(change, **_CHANGE)
        ax.set_xlim(low, high)
        if quantity == "weight_overlap":
            ax.set_ylim(-0.03, 1.03)
        ax.set_xlabel(_LABELS["alpha"])
        ax.set_ylabel(_label(quantity))
        _tidy(ax)
        if is_new:
            ax.set_title(_title(branches[0].problem), fontsize=7.5)
            states = {int(s) for branch in branches for s in states_of(branch) if s >= 0}
            has_folds = any(branch.folds for branch in branches)
            _legend_of_states(ax, states, bool(first_order), "Maxwell point", has_folds)
    return ax


def plot_spectrum(ax: Axes | None, denoiser: MatrixDenoiser, snr: float, *, color: Any = None) -> Axes:
    """Spectral density of the noisy matrix Y and, on the right axis, the shrinkage ξ of its eigenvalues."""
    from matplotlib import rc_context

    with rc_context(_FONT):
        is_new = ax is None
        ax = _axes(ax, (_COLUMN, 0.72 * _COLUMN))
        color = _PALETTE[0] if color is None else color
        y = eigenvalue_grid(denoiser, snr)
        density = np.where(np.isfinite(y), denoiser.density(np.nan_to_num(y), snr), np.nan)
        ax.fill_between(y, density, color=color, alpha=0.25, linewidth=0)
        ax.plot(y, density, color=color, linewidth=1.4, label="density of eigenvalues")
        ax.set_xlabel(r"eigenvalue $y$ of $Y = \sqrt{\eta}\,\bar S + Z$")
        ax.set_ylabel(r"spectral density $\rho(y)$", color=color)
        ax.set_ylim(bottom=0)
        twin = ax.twinx()
        twin.plot(
            y,
            np.where(density > 0, denoiser.shrink(np.nan_to_num(y), snr), np.nan),
            color=_PALETTE[1],
            lw=1.2,
        )
        twin.set_ylabel(r"best estimate $\xi(y)$", color=_PALETTE[1])
        twin.spines["top"].set_visible(False)
        ax.spines["top"].set_visible(False)
        if is_new:
            law = denoiser.readouts.name
            ax.set_title(
                rf"{law} readouts, $\gamma = {denoiser.gamma:g}$, $\eta = {snr:g}$, "
                rf"$\mathrm{{mmse}} = {denoiser.mmse(snr):.4g}$",
                fontsize=7.5,
            )
    return ax


def shown_readouts(values: np.ndarray, is_discrete: bool, n_readouts: int = 3) -> list[int]:
    """Indices of a few readout values, largest |v| first: overlaps depend on |v| only.

    The largest ones of a discrete law; those nearest to 2, 1 and 0.5 of a continuous one.
    """
    if not is_discrete:
        goals = CONTINUOUS_READOUTS[:n_readouts]
        return list(dict.fromkeys(int(np.argmin(np.abs(values - goal))) for goal in goals))
    size = np.abs(values)
    found: list[int] = []
    for i in np.argsort(-size, kind="stable"):
        if size[i] > 0 and (not found or size[found[-1]] - size[i] > 1e-12 * size[i]):
            found.append(int(i))
    return found[:n_readouts]


# --- drawing -------------------------------------------------------------------------------------

_LABELS = {
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
_QUANTITIES = [name for name in _LABELS if name != "alpha"]
_ARRAYS = ("weight_overlap", "weight_overlap_hat")


def _axes(ax: Axes | None, size: tuple[float, float] = (_COLUMN, 0.8 * _COLUMN)) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _label(quantity: str) -> str:
    return _LABELS.get(quantity, quantity.replace("_", " "))


def _measure_label(name: str) -> str:
    label = _MEASURES[name.removeprefix("gibbs-")]
    return f"{label}, one draw" if name.startswith("gibbs-") else label


def _changes(found: Sequence[Transition], low: float, high: float) -> list[float]:
    """Distinct values of alpha of the transitions inside a range."""
    return sorted({t.alpha for t in found if low <= t.alpha <= high})


def _lines_of(branch: Branch, quantity: str, color: Any) -> Iterator[tuple[np.ndarray, Any, str | None]]:
    """Values, colour and label of each line that shows a quantity."""
    base = activation_color(branch.problem.activation.name) if color is None else color
    y = getattr(branch, quantity)
    if quantity not in _ARRAYS:
        yield y, base, None
        return
    values = branch[0].readout_values
    shown = shown_readouts(values, branch.problem.readouts.is_discrete)
    for i, shade in zip(shown, _shades(base, len(shown)), strict=True):
        yield y[:, i], shade, rf"$|v| = {abs(values[i]):.3g}$" if len(shown) > 1 else None


def states_of(curve: Sequence[Solution]) -> np.ndarray:
    """State of each point, -1 where there is none."""
    return np.array(
        [
            -1
            if not p.is_converged
            else EQUILIBRIUM
            if p.is_equilibrium
            else METASTABLE
            if p.is_stable
            else UNSTABLE
            for p in curve
        ]
    )


def _draw(ax: Axes, curve: LearningCurve, y: np.ndarray, color: Any, label: str | None) -> None:
    """One line for each stretch of one state; a segment is drawn as the weaker of its two ends."""
    alpha = curve.alpha
    for start, stop, state in stretches_of(states_of(curve)):
        x = slice(start, stop)
        marker = "." if stop - start == 1 else None
        ax.plot(
            alpha[x], y[x], color=color, label=label, marker=marker, zorder=2.5 - 0.1 * state, **_LINES[state]
        )
        label = None


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


def _stable_parts(curves: Sequence[LearningCurve]) -> list[tuple[int, LearningCurve]]:
    """The stretches that are at equilibrium or metastable; the longest at equilibrium first."""
    parts = [
        (state, curve[start:stop])
        for curve in curves
        for start, stop, state in stretches_of(states_of(curve))
        if state != UNSTABLE
    ]
    return sorted(parts, key=lambda item: (item[0], -len(item[1])))


def _shades(base: Any, n: int) -> list[Any]:
    """The colour itself and lighter ones, up to two thirds of the way to white."""
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(base))
    return [tuple(rgb + (1 - rgb) * 0.62 * i / max(n - 1, 1)) for i in range(n)]


def _legend_of_states(
    ax: Axes, states: set[int], has_changes: bool, change: str = "transition", has_folds: bool = False
) -> None:
    from matplotlib.lines import Line2D

    handles = list(ax.get_legend_handles_labels()[0])
    handles += [Line2D([], [], color=_NEUTRAL, label=_STATE_NAMES[s], **_LINES[s]) for s in sorted(states)]
    if has_folds:
        handles.append(Line2D([], [], color=_NEUTRAL, label="fold", **_FOLD))
    if has_changes:
        handles.append(Line2D([], [], label=change, **_CHANGE))
    if len(handles) > 1:
        ax.legend(handles=handles, frameon=False, loc="best", handlelength=2.2, labelspacing=0.3)


def _label_changes(ax: Axes, alphas: Sequence[float], low: float, high: float) -> None:
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


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(width=0.6, length=3)


def _title(problem: Problem) -> str:
    channel: Any = problem.channel
    labels = rf"$\Delta = {channel.noise:g}$" if channel.name == "gaussian" else f"{channel.name} labels"
    laws = f"{problem.weights.name} weights, {problem.readouts.name} readouts"
    return f"{problem.activation.name}, {laws}\n" + rf"$\gamma = {problem.gamma:g}$, {labels}"


def eigenvalue_grid(denoiser: MatrixDenoiser, snr: float) -> np.ndarray:
    """Points in each band, denser at its ends where the density has a square root; NaN between bands."""
    bands = denoiser.support(snr)
    if not np.isfinite(bands[0][0]):  # Gaussian readouts: the part where the density can be seen
        reach = 2.0
        while denoiser.density(reach, snr) > 2e-4 and reach < 1e6:
            reach *= 1.15
        bands = [(-reach, reach)]
    unit = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 400))
    pieces = [np.append(low + (high - low) * unit, np.nan) for low, high in bands]
    return np.concatenate(pieces)[:-1]

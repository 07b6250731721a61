"""Errors and overlaps along learning curves, and branches through their folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from ..theory.branches import Branch, trace_branches
from ..theory.errors import with_error
from ..theory.solution import LearningCurve
from ..theory.transitions import Transition, transitions
from .resolution import smooth_branches
from .style import (
    ARRAYS,
    CHANGE,
    COLUMN,
    EQUILIBRIUM,
    FOLD,
    LABELS,
    LINES,
    NEUTRAL,
    QUANTITIES,
    TITLE,
    UNSTABLE,
    activation_color,
    applied,
    label_changes,
    label_of,
    legend_of_states,
    measure_label,
    new_axes,
    shades,
    shown_readouts,
    states_of,
    stretches_of,
    tidy,
    title_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_bifurcation", "plot_error", "plot_learning_curve", "plot_overlaps"]


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
    ax = new_axes(ax)
    color = activation_color(curve.problem.activation.name) if color is None else color
    _draw(ax, curve, getattr(curve, quantity), color, label)
    ax.set_xlabel(LABELS["alpha"])
    is_measure = quantity == "error" and curve.error_name
    ax.set_ylabel(measure_label(curve.error_name) if is_measure else label_of(quantity))
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
    ax = new_axes(ax)
    base = activation_color(curve.problem.activation.name) if color is None else color
    values = curve[0].readout_values
    shown = shown_readouts(values, curve.problem.readouts.is_discrete)
    overlap = curve.weight_overlap
    for i, shade in zip(shown, shades(base, len(shown)), strict=True):
        if not is_zero_drawn and not np.any(overlap[:, i] > 0):
            continue
        label = rf"$\mathcal{{Q}}_W(v)$, $|v| = {abs(values[i]):.3g}$" if is_labelled else None
        _draw(ax, curve, overlap[:, i], shade, label)
    label = r"$q_2 - \gamma\bar v^2$" if is_labelled else None
    if is_zero_drawn or np.any(curve.matrix_overlap_centred > 1e-9):
        _draw(ax, curve, curve.matrix_overlap_centred, NEUTRAL, label)
    ax.set_xlabel(LABELS["alpha"])
    ax.set_ylabel("overlap with the teacher")
    ax.set_ylim(-0.03, 1.03)
    return ax


def plot_learning_curve(
    problem: Problem,
    alphas: ArrayLike,
    *,
    found: Sequence[Transition] | None = None,
    branches: Sequence[Branch] | None = None,
    is_log: bool | None = None,
    title: str | None = None,
    error: str | None = None,
) -> Figure:
    """Two panels over alpha: the excess error on every branch (or another ``error``), the overlaps below.

    The figure reaches from the smallest to the largest of the ``alphas``; branches are resolved as
    finely as they turn, whatever lies between. A thin vertical line marks each transition. ``found``
    and ``branches`` may be what ``transitions`` and ``trace_branches`` gave for the same problem. The error
    has a logarithmic axis (``is_log``) unless another ``error`` is asked for.
    """
    import matplotlib.pyplot as plt

    is_log = error is None if is_log is None else is_log
    low, high = float(np.min(alphas)), float(np.max(alphas))
    changes = _changes(transitions(problem, high) if found is None else found, low, high)
    if branches is None:
        axes = {"is_log_x": False, "is_log_y": is_log}
        branches = smooth_branches(problem, (low, high), lambda c: c.excess_error, at=changes, **axes)
    with applied():
        figure, (top, bottom) = plt.subplots(
            2, 1, sharex=True, figsize=(COLUMN, 1.25 * COLUMN), layout="constrained", height_ratios=[1.2, 1]
        )
        for curve in branches:
            plot_error(top, curve if error is None else with_error(curve, error), is_log=is_log)
        for i, (state, part) in enumerate(_stable_parts(branches)):
            # beside the equilibrium, lines on the axis would tell nothing
            plot_overlaps(bottom, part, is_labelled=i == 0, is_zero_drawn=state == EQUILIBRIUM)
        top.set_xlabel("")
        top.set_title(title_of(problem) if title is None else title, fontsize=TITLE, pad=12 if changes else 6)
        top.set_xlim(low, high)
        if not is_log and error is None:
            top.set_ylim(bottom=0)
        for change in changes:
            for ax in (top, bottom):
                ax.axvline(change, **CHANGE)
        label_changes(top, changes, low, high)
        legend_of_states(top, {int(s) for c in branches for s in states_of(c) if s >= 0}, bool(changes))
        bottom.legend(frameon=False, loc="best", handlelength=1.6, labelspacing=0.3)
        for ax in (top, bottom):
            tidy(ax)
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

    if quantity not in QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}; choose from {', '.join(QUANTITIES)}")
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
    with applied():
        is_new = ax is None
        ax = new_axes(ax)
        for branch in branches:
            for y, shade, name in _lines_of(branch, quantity, color):
                # only the universal branch, which is always there, speaks in the legend
                text = (label or name) if branch is branches[0] else None
                _draw(ax, branch, y, shade, text)
                at_fold = np.isin(branch.alpha, branch.folds) & ((y > 0) | (quantity not in ARRAYS))
                ax.plot(branch.alpha[at_fold], y[at_fold], color=shade, **FOLD)
        for change in first_order:
            ax.axvline(change, **CHANGE)
        ax.set_xlim(low, high)
        if quantity == "weight_overlap":
            ax.set_ylim(-0.03, 1.03)
        ax.set_xlabel(LABELS["alpha"])
        ax.set_ylabel(label_of(quantity))
        tidy(ax)
        if is_new:
            ax.set_title(title_of(branches[0].problem), fontsize=TITLE)
            states = {int(s) for branch in branches for s in states_of(branch) if s >= 0}
            has_folds = any(branch.folds for branch in branches)
            legend_of_states(ax, states, bool(first_order), "Maxwell point", has_folds)
    return ax


def _changes(found: Sequence[Transition], low: float, high: float) -> list[float]:
    """Distinct values of alpha of the transitions inside a range."""
    return sorted({t.alpha for t in found if low <= t.alpha <= high})


def _lines_of(branch: Branch, quantity: str, color: Any) -> Iterator[tuple[np.ndarray, Any, str | None]]:
    """Values, colour and label of each line that shows a quantity."""
    base = activation_color(branch.problem.activation.name) if color is None else color
    y = getattr(branch, quantity)
    if quantity not in ARRAYS:
        yield y, base, None
        return
    values = branch[0].readout_values
    shown = shown_readouts(values, branch.problem.readouts.is_discrete)
    for i, shade in zip(shown, shades(base, len(shown)), strict=True):
        yield y[:, i], shade, rf"$|v| = {abs(values[i]):.3g}$" if len(shown) > 1 else None


def _draw(ax: Axes, curve: LearningCurve, y: np.ndarray, color: Any, label: str | None) -> None:
    """One line for each stretch of one state; a segment is drawn as the weaker of its two ends."""
    alpha = curve.alpha
    for start, stop, state in stretches_of(states_of(curve)):
        x = slice(start, stop)
        marker = "." if stop - start == 1 else None
        ax.plot(
            alpha[x], y[x], color=color, label=label, marker=marker, zorder=2.5 - 0.1 * state, **LINES[state]
        )
        label = None


def _stable_parts(curves: Sequence[LearningCurve]) -> list[tuple[int, LearningCurve]]:
    """The stretches that are at equilibrium or metastable; the longest at equilibrium first."""
    parts = [
        (state, curve[start:stop])
        for curve in curves
        for start, stop, state in stretches_of(states_of(curve))
        if state != UNSTABLE
    ]
    return sorted(parts, key=lambda item: (item[0], -len(item[1])))

"""Plotly figures of learning curves, for the page and for notebooks.

Lines are theory: solid at equilibrium, dashed where metastable, dotted where unstable; markers are data.
Colours are those of :mod:`widthwise.plotting`, and backgrounds are left to whatever the figure stands on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._display import interactive_figure
from ..plotting import activation_color, shown_readouts, states_of, stretches_of
from ..plotting.style import PALETTE, STATE_NAMES
from ..problem import Problem
from ..theory.solution import LearningCurve, Solution
from ..theory.transitions import Transition
from .quantities import QUANTITIES, values_of

__all__ = [
    "branch_traces",
    "change_words",
    "curve_figure",
    "finish",
    "hover_text",
    "interactive",
    "log_ticks",
    "look",
    "pin_colors",
]

DASHES = ("solid", "dash", "dot")
_WIDTHS = (2.8, 2.0, 2.0)
_OPACITY = (1.0, 0.9, 0.8)
INK = "#333940"
GRID = "rgba(128,128,128,0.22)"

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif"

ALPHA_LABEL = "samples per squared dimension α = n/d²"


@interactive_figure.register
def interactive(curve: LearningCurve, quantity: str = "excess_error", *, is_log: bool = True) -> Any:
    """A learning curve as a Plotly figure; every field of a point shows where the mouse is.

    ``quantity`` is a field of a solution or another measure: see ``QUANTITIES``.
    """
    import plotly.graph_objects as go

    if quantity not in QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}; choose from {', '.join(QUANTITIES)}")
    return go.Figure(curve_figure([curve], [values_of(curve, quantity)], quantity, is_log_y=is_log))


def curve_figure(
    branches: Sequence[LearningCurve],
    values: Sequence[np.ndarray],
    quantity: str,
    changes: Sequence[Transition] = (),
    *,
    is_log_x: bool = False,
    is_log_y: bool = True,
    reach: float | None = None,
    color: str | None = None,
) -> dict[str, Any]:
    """All branches of one problem with its transitions, as Plotly's plain record.

    Plotly's own classes check every entry, which takes longer than the theory does.
    """
    color = color or (activation_color(branches[0].problem.activation.name) if branches else INK)
    layout = look(x=ALPHA_LABEL, y=QUANTITIES[quantity].label, is_log_x=is_log_x, is_log_y=is_log_y)
    if reach is not None:
        low = float(np.log10(reach / 250))
        layout["xaxis"]["range"] = [low, float(np.log10(reach))] if is_log_x else [0, reach]
    if is_log_y:
        layout["yaxis"] |= log_ticks(values)
    layout["shapes"], layout["annotations"] = _change_marks(changes, reach, is_log_x)
    return {"data": branch_traces(branches, values, color), "layout": layout}


def log_ticks(values: Sequence[np.ndarray]) -> dict[str, Any]:
    """Ticks of a logarithmic axis: 1, 2 and 5 of each decade, or decades alone where there are many.

    assets/point.js chooses again by the same rule when somebody zooms.
    """
    every = np.concatenate([np.empty(0), *values])
    every = every[np.isfinite(every) & (every > 0)]
    decades = float(np.log10(every.max() / every.min())) if every.size else 0.0
    return {"dtick": "D2"} if 0.8 <= decades < 2.2 else {"dtick": 1} if 2.2 <= decades < 7 else {}


def pin_colors(problem: Problem | None) -> list[str]:
    """Colours for pinned curves: those of the palette that the curve itself does not have."""
    own = activation_color(problem.activation.name) if problem is not None else ""
    return [color for color in PALETTE if color != own]


def branch_traces(
    branches: Sequence[LearningCurve],
    values: Sequence[np.ndarray],
    color: str,
    *,
    name: str = "",
    width: float = 1.0,
    has_unstable: bool = True,
) -> list[dict[str, Any]]:
    """One line for each stretch of one state; the legend names each state once.

    Curves with a name of their own are pins: they are named beside the figure, and in files of it.
    """
    named: set[int] = set()
    traces = []
    for branch, y in zip(branches, values, strict=True):
        texts = [hover_text(point) for point in branch]
        alpha = branch.alpha
        for start, stop, state in stretches_of(states_of(branch)):
            if state == 2 and not has_unstable:
                continue
            traces.append(
                {
                    "type": "scatter",
                    "x": alpha[start:stop].tolist(),
                    "y": y[start:stop].tolist(),
                    "mode": "lines" if stop - start > 1 else "markers",
                    "line": {
                        "color": color,
                        "dash": DASHES[state],
                        "width": width * _WIDTHS[state],
                        "simplify": False,  # Plotly would leave out points, and corners would be seen
                    },
                    "opacity": _OPACITY[state],
                    "name": name or STATE_NAMES[state],
                    "legendgroup": f"{name}{state}",
                    "legendrank": 1000 + state,
                    "showlegend": state not in named and not name,
                    "meta": {"pin": bool(name) and state == 0 and state not in named},
                    "text": texts[start:stop],
                    "hovertemplate": "%{text}<extra>" + (name or STATE_NAMES[state]) + "</extra>",
                }
            )
            named.add(state)
    return traces


def change_words(changes: Sequence[Transition], is_discrete: bool) -> list[str]:
    """Transitions in words, in order of α."""
    found: list[str] = []
    learnt: set[float] = set()
    for change in changes:
        where = "0⁺" if change.alpha == 0 else f"{change.alpha:.6g}"
        who = _who_changes(change, is_discrete, change.readout in learnt)
        text = f"α = {where}: {change.kind} transition, {who}"
        if change.spinodals:
            low, high = change.spinodals
            end = f"{high:.5g}" if np.isfinite(high) else "∞"
            text += f"; both solutions are stable from {low:.5g} to {end}"
        found.append(text)
        (learnt.discard if change.overlap_jump < 0 else learnt.add)(change.readout)
    return found


def _who_changes(change: Transition, is_discrete: bool, is_learnt: bool) -> str:
    """Which units change, and how; some of them may be learnt already."""
    value, is_jump = f"|v| = {change.readout:.4g}", change.kind == "first-order"
    at_once = "are learnt better at one stroke" if is_learnt else "are learnt at one stroke"
    if is_discrete:
        does = "begin to be learnt" if not is_jump else "are lost" if change.overlap_jump < 0 else at_once
        return f"units with {value} {does}"
    if is_jump:
        return f"many units {at_once}"
    if np.isinf(change.readout):  # of a law without a largest |v|
        return "units begin to be learnt one after the other, those with the largest |v| first"
    return f"units begin to be learnt one after the other, from the largest {value} down"


def _change_marks(
    changes: Sequence[Transition], reach: float | None, is_log_x: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A thin line for each transition with its value and kind above it, and where two phases are stable."""
    at: dict[float, list[Transition]] = {}
    for change in changes:
        if change.alpha > 0 and (reach is None or change.alpha <= reach):
            at.setdefault(change.alpha, []).append(change)
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    places = [float(np.log10(alpha)) if is_log_x else alpha for alpha in at]
    room = 0.06 * (float(np.log10(250)) if is_log_x else reach or max(places, default=1.0))
    for i, (alpha, here) in enumerate(at.items()):
        first = here[0]
        is_jump = first.kind == "first-order"
        across = {"yref": "paper", "y0": 0, "y1": 1}
        line = {"color": "#8a8f98", "width": 1.2, "dash": "solid" if is_jump else "dot"}
        shapes.append({"type": "line", "x0": alpha, "x1": alpha, **across, "line": line})
        if is_jump and first.spinodals:
            low, high = first.spinodals
            high = min(high, reach) if reach is not None else high if np.isfinite(high) else alpha
            shade = {"fillcolor": "#8a8f98", "opacity": 0.09, "line": {"width": 0}, "layer": "below"}
            shapes.append({"type": "rect", "x0": low, "x1": high, **across, **shade})
        has_left = i > 0 and places[i] - places[i - 1] < room
        has_right = i + 1 < len(places) and places[i + 1] - places[i] < room
        notes.append(
            {
                "x": places[i],
                "y": 1.0,
                "yref": "paper",
                "xanchor": "left" if has_left else "right" if has_right else "center",
                "yanchor": "bottom",
                "showarrow": False,
                "text": f"{alpha:.4g}<br>{'jump' if is_jump else 'onset'}",
                "hovertext": "<br>".join(str(t) for t in here),
                "font": {"size": 12, "color": INK},
            }
        )
    return shapes, notes


def hover_text(point: Solution) -> str:
    """All order parameters of a point."""
    lines = [
        f"<b>α = {point.alpha:.5g}</b>  {point.branch}",
        f"excess error ε − Δ = {point.excess_error:.5g}",
        f"Bayes error ε = {point.bayes_error:.5g}",
        f"matrix overlap q₂ − γv̄² = {point.matrix_overlap_centred:.4g}",
        f"conjugate q̂₂ = {point.matrix_overlap_hat:.4g}"
        + ("" if math.isnan(point.tilt) else f",  tilt τ = {point.tilt:.4g}"),
    ]
    shown = shown_readouts(point.readout_values, point.problem.readouts.is_discrete)
    lines += [
        f"overlap 𝒬(|v| = {abs(point.readout_values[i]):.3g}) = {point.weight_overlap[i]:.4g}" for i in shown
    ]
    lines += [
        f"free entropy f = {point.free_entropy:.5g}",
        f"information I/(kd) = {point.mutual_information:.4g}",
    ]
    return "<br>".join(lines)


def finish(figure: Any, **how: Any) -> Any:
    """Give a figure the common look."""
    return figure.update_layout(look(**how))


def look(
    *, x: str, y: str, is_log_x: bool = False, is_log_y: bool = False, is_small: bool = False
) -> dict[str, Any]:
    """The common look: transparent, quiet grid, legend below (above a small figure)."""

    def axis(title: str, is_log: bool, n_ticks: int) -> dict[str, Any]:
        font = {"size": 13 if is_small else 15}
        return {
            "type": "log" if is_log else "linear",
            "title": {"text": title, "standoff": 6 if is_small else 10, "font": font},
            "gridcolor": GRID,
            "zeroline": False,
            "showline": True,
            "linecolor": "#8a8f98",
            "ticks": "outside",
            "tickcolor": "#8a8f98",
            "exponentformat": "power",
            "ticklabeloverflow": "allow",  # looking at every label takes a fifth of the time to draw
            "automargin": True,  # room for long labels, so that no title lies on them
        } | (
            {
                "nticks": n_ticks,
                "tickformat": "~g",
                "minor": {"ticks": "outside", "ticklen": 3, "tickcolor": "#8a8f98"},
            }
            if is_log
            else {"nticks": 6}
            if is_small
            else {}
        )

    legend = {"orientation": "h", "yref": "container", "x": 0, "font": {"size": 11 if is_small else 13}}
    legend |= {"y": 1.0, "yanchor": "top"} if is_small else {"y": 0.0, "yanchor": "bottom"}
    return {
        "template": {"data": {}, "layout": {}},
        "xaxis": axis(x, is_log_x, 6),
        "yaxis": axis(y, is_log_y, 4),
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12 if is_small else 14, "color": INK},
        "margin": {"l": 58, "r": 12, "t": 40, "b": 44} if is_small else {"l": 70, "r": 16, "t": 44, "b": 84},
        "legend": legend,
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#8a8f98", "activecolor": "#0072B2"},
        "hoverlabel": {"align": "left", "font": {"size": 12}},
        "hovermode": "closest",
        "uirevision": "page",
    }

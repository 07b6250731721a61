"""One α: all solutions there, the overlaps of the units, the landscape of the free entropy, the spectrum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..denoising import MatrixDenoiser
from ..plotting import activation_color, eigenvalue_grid
from ..plotting.style import STATE_NAMES, state_of
from ..problem import Problem
from ..theory.families.profile import overlap_profile
from ..theory.landscape import Landscape, landscape
from ..theory.solution import Solution
from ..theory.solver import solutions
from .figures import DASHES, look
from .tasks import quietly, read_problem

__all__ = ["PointResult", "point_figures", "point_view", "point_words"]


# Equilibrium, metastable, unstable.
_MARKS: tuple[dict[str, Any], ...] = (
    {"symbol": "circle", "size": 12},
    {"symbol": "circle-open", "size": 11, "line": {"width": 2}},
    {"symbol": "x-thin-open", "size": 9, "line": {"width": 2}},
)

_GAP = 0.05
"""Neighbouring overlaps of a landscape that lie further apart have a jump of some units between them."""


@dataclass
class PointResult:
    """Everything that the page shows about one α."""

    problem: Problem
    alpha: float
    solutions: list[Solution]
    profile: tuple[np.ndarray, list[np.ndarray]] | None
    """|v| and 𝒬_W(|v|) of each solution, for continuous readouts."""
    landscape: Landscape
    snr: float
    eigenvalues: np.ndarray
    density: np.ndarray
    shrinkage: np.ndarray


def point_view(fields: Mapping[str, Any], alpha: float) -> PointResult | dict[str, str]:
    """All about one α, or what is wrong with the controls."""
    problem, errors = read_problem(fields)
    if problem is None:
        return errors
    found = quietly(solutions, problem, alpha)
    if not found:
        return {"alpha": "No solution could be computed at this α; try a smaller one."}
    best = next((s for s in found if s.is_equilibrium), found[0])
    denoiser = MatrixDenoiser(problem.readouts, problem.gamma)
    tilt = best.tilt
    if math.isnan(tilt):  # of many features it is not computed
        tilt = float(denoiser.inverse_mmse(max(1 - best.matrix_overlap_centred, 1e-8)))
    snr = min(best.matrix_overlap_hat + tilt, 1e8)
    y = eigenvalue_grid(denoiser, snr)
    is_there = np.isfinite(y)
    density, shrunk = np.full(y.shape, np.nan), np.full(y.shape, np.nan)
    density[is_there] = denoiser.density(y[is_there], snr)
    shrunk[is_there] = denoiser.shrink(y[is_there], snr)
    profile = None
    if not problem.readouts.is_discrete:
        size = np.linspace(0, min(problem.readouts.largest, 3.5), 120)
        profile = (size, [overlap_profile(s, size) for s in found])
    hills = quietly(landscape, problem, alpha)
    return PointResult(problem, alpha, found, profile, hills, snr, y, density, shrunk)


def point_words(result: PointResult) -> str:
    """How many solutions there are, and which one wins."""
    n = len(result.solutions)
    stable = sum(s.is_stable for s in result.solutions)
    best = next((s for s in result.solutions if s.is_equilibrium), result.solutions[0])
    gaps = np.isnan(_interrupted(result.landscape)[0]).any()
    why = " Where F(𝒬) is interrupted units jump: no best profile has that overall overlap." if gaps else ""
    return (
        f"α = {result.alpha:.4g}: {n} solution{'s' if n > 1 else ''}, {stable} of them stable; the "
        f"{best.branch} one wins with excess error {best.excess_error:.4g} and matrix overlap "
        f"{best.matrix_overlap_centred:.4g}.{why}"
    )


def point_figures(result: PointResult) -> dict[str, dict[str, Any]]:
    """The three figures by the names of their places on the page, as Plotly's plain records."""
    color = activation_color(result.problem.activation.name)
    return {
        "overlaps": _overlaps(result, color),
        "landscape": _landscape(result, color),
        "spectrum": _spectrum(result, color),
    }


def _overlaps(result: PointResult, color: str) -> dict[str, Any]:
    """𝒬_W(v) of every solution: markers for a few readouts, lines for continuous ones."""
    traces: list[dict[str, Any]] = []
    named: set[int] = set()
    for s in sorted(result.solutions, key=state_of):
        state = state_of(s)
        name, is_first = f"{STATE_NAMES[state]}, {s.branch}", state not in named
        named.add(state)
        legend = {"name": STATE_NAMES[state], "legendgroup": STATE_NAMES[state], "showlegend": is_first}
        if result.profile is not None:
            at = next(j for j, other in enumerate(result.solutions) if other is s)
            line = {"color": color, "dash": DASHES[state], "width": 2.6 - 0.5 * state}
            traces.append(_line(result.profile[0], result.profile[1][at], line, **legend))
            continue
        size, first = np.unique(np.round(np.abs(s.readout_values), 10), return_index=True)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [f"{v:.3g}" for v in size],
                "y": s.weight_overlap[first],
                "marker": {"color": color, **_MARKS[state]},
                "hovertemplate": "|v| = %{x}<br>𝒬 = %{y:.5f}<extra>" + name + "</extra>",
                **legend,
            }
        )
        if state == 0:  # a bar to the equilibrium, exactly above its tick
            bar = {"type": "bar", "x": traces[-1]["x"], "y": traces[-1]["y"], "width": 0.36, "opacity": 0.3}
            traces.append({**bar, "marker": {"color": color}, "showlegend": False, "hoverinfo": "skip"})
    layout = look(x="size of the readout |v|", y="overlap 𝒬(v)", is_small=True)
    layout["yaxis"]["range"] = [-0.02, 1.06]
    if result.profile is None:
        layout["xaxis"] |= {"type": "category", "nticks": 0}
    return {"data": traces, "layout": layout}


def _landscape(result: PointResult, color: str) -> dict[str, Any]:
    """F(𝒬) with the solutions on it: the highest point wins."""
    x, y = _interrupted(result.landscape)
    hover = "𝒬 = %{x:.4f}<br>F = %{y:.6f}<extra></extra>"
    line = {"color": "#8a8f98", "width": 2}
    traces = [_line(x, y, line, showlegend=False, hovertemplate=hover)]
    for state, mark in enumerate(_MARKS):
        own = [s for s in result.solutions if state_of(s) == state]
        if own:
            traces.append(
                {
                    "type": "scatter",
                    "x": [_overall(s) for s in own],
                    "y": [s.free_entropy for s in own],
                    "mode": "markers",
                    "marker": {"color": color, **mark},
                    "name": STATE_NAMES[state],
                    "hovertemplate": "𝒬 = %{x:.4f}<br>f = %{y:.6f}<extra>" + STATE_NAMES[state] + "</extra>",
                }
            )
    layout = look(x="overall overlap 𝒬 = √E[v²𝒬(v)²]", y="free entropy F(𝒬)", is_small=True)
    layout["yaxis"]["range"] = _visible(result)
    return {"data": traces, "layout": layout}


def _spectrum(result: PointResult, color: str) -> dict[str, Any]:
    """Density of the eigenvalues of the noisy matrix, and the shrinkage that denoises them."""
    y, density = result.eigenvalues, result.density
    fill = "tozeroy" if np.isfinite(y).all() else "none"
    shrunk = np.where(density > 0, result.shrinkage, np.nan)
    dashed = {"color": "#8a8f98", "width": 2, "dash": "dash"}
    layout = look(x=f"eigenvalue y at η = {result.snr:.4g}", y="density ρ(y)", is_small=True)
    layout["yaxis"]["rangemode"] = "tozero"
    layout["yaxis2"] = {
        "overlaying": "y",
        "side": "right",
        "title": {"text": "estimate ξ(y)", "standoff": 8, "font": {"size": 13}},
        "tickmode": "auto",  # not those of the axis on the left, whose places are no round numbers here
        "nticks": 5,
        "showgrid": False,
        "zeroline": False,
        "ticks": "outside",
    }
    layout["margin"] = {**layout["margin"], "r": 64}
    return {
        "data": [
            _line(y, density, {"color": color, "width": 2.2}, name="density ρ(y)", fill=fill),
            _line(y, shrunk, dashed, name="best estimate ξ(y)", yaxis="y2"),
        ],
        "layout": layout,
    }


def _line(x: np.ndarray, y: np.ndarray, line: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, **more}


def _interrupted(hills: Landscape) -> tuple[np.ndarray, np.ndarray]:
    """𝒬 and F, with a gap wherever the profiles behind them jump."""
    x, y = hills.overlap, hills.free_entropy
    if hills.profile is None:
        gaps = np.nonzero(np.diff(x) > _GAP)[0] + 1
        x, y = np.insert(x, gaps, np.nan), np.insert(y, gaps, np.nan)
    return x, y


def _visible(result: PointResult) -> list[float]:
    """A range that shows all solutions and the valleys between them, not the fall towards 𝒬 = 1."""
    known = [s.free_entropy for s in result.solutions]
    low, high = min(known), max(known)
    if high - low < 1e-9:
        half = result.landscape.free_entropy[result.landscape.overlap < 0.6]
        low = min(low, float(half.min()))
    spread = max(high - low, 1e-6)
    return [low - 0.5 * spread, high + 0.15 * spread]


def _overall(solution: Solution) -> float:
    """√E[v²𝒬_W²]."""
    return float(np.sqrt(solution.readout_weights @ (solution.readout_values * solution.weight_overlap) ** 2))

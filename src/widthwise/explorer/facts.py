"""Small pieces of the page made from results: the activation at a glance, transitions in words."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from dash import html

from ..problem import Problem
from .tasks import CurveResult

__all__ = ["facts", "listing"]

_SUBSCRIPTS = "₀₁₂₃₄"


def facts(problem: Problem) -> list[Any]:
    """Graph and Hermite coefficients of the activation."""
    mu = problem.activation.hermite
    words = "  ".join(f"μ{_SUBSCRIPTS[i]}\u00a0=\u00a0{mu[i]:.3g}" for i in range(5) if abs(mu[i]) > 1e-12)
    tip = "Hermite coefficients μ_l = E[σ(z) He_l(z)]: μ₁ is the linear part, μ₂ the quadratic one"
    return [
        html.Img(
            src=_graph(problem), alt=f"graph of the activation {problem.activation.name}", className="spark"
        ),
        html.Span(words, title=tip),
    ]


def listing(result: CurveResult) -> Any:
    """The transitions in words."""
    if not result.changes:
        return html.P(result.note or "No transition in this range.", className="hint")
    items = []
    for change in result.changes:
        who = "all units" if not np.isfinite(change.readout) else f"units with |v| = {change.readout:.4g}"
        where = "0⁺" if change.alpha == 0 else f"{change.alpha:.6g}"
        text = f"α = {where}: {change.kind} transition, {who} begin to be learnt"
        if change.spinodals:
            low, high = change.spinodals
            end = f"{high:.5g}" if np.isfinite(high) else "∞"
            text += f"; both solutions are stable from {low:.5g} to {end}"
        items.append(html.Li(text))
    return html.Ul(items)


def _graph(problem: Problem) -> str:
    """The activation on [-3, 3] as a picture of a few hundred bytes."""
    x = np.linspace(-3, 3, 61)
    y = np.nan_to_num(problem.activation(x), posinf=1e3, neginf=-1e3)
    reach = max(1e-9, float(np.max(np.abs(y))))
    points = " ".join(
        f"{4 + 92 * (a + 3) / 6:.1f},{24 - 20 * b / reach:.1f}" for a, b in zip(x, y, strict=True)
    )
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 48">'
        '<path d="M4 24H96M50 3V45" stroke="#8a8f98" stroke-width="0.7"/>'
        f'<polyline points="{points}" fill="none" stroke="#0a85d1" stroke-width="2.4"/></svg>'
    )
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()

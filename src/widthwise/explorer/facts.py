"""The activation at a glance: its graph (a picture of a few hundred bytes) and Hermite coefficients."""

from __future__ import annotations

import base64

import numpy as np

from ..problem import Problem

__all__ = ["facts"]

_SUBSCRIPTS = "₀₁₂₃₄"


def facts(problem: Problem) -> dict[str, str]:
    """Graph (an address for an image), its description, and the Hermite coefficients in words."""
    mu = problem.activation.hermite
    words = "  ".join(f"μ{_SUBSCRIPTS[i]}\u00a0=\u00a0{mu[i]:.3g}" for i in range(5) if abs(mu[i]) > 1e-12)
    return {
        "graph": _graph(problem),
        "alt": f"graph of the activation {problem.activation.name}",
        "words": words,
    }


def _graph(problem: Problem) -> str:
    """The activation on [-3, 3]."""
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

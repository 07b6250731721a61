"""Measurements on the curve that predicts them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..networks.measurements import ComparedCurve
from ..theory.solver import learning_curve
from .curves import plot_error
from .style import activation_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_compared"]


def plot_compared(ax: Axes | None, found: ComparedCurve, *, label: str = "measured", **options: Any) -> Axes:
    """The theory as a line, measurements as markers with intervals that miss the truth in 1 % of cases.

    Where nothing is known of the scatter there is no bar. Options are those of ``plot_error``.
    """
    curve = found.curve
    alphas = [one.measured.alpha for one in found.points]
    low, high = min(alphas), max(alphas)
    fine = np.unique(np.concatenate([np.linspace(0.8 * low, 1.1 * high, 80), alphas]))
    line = learning_curve(
        curve.problem, fine, curve.asked, theory=curve.theory, error=curve.error_name or None
    )
    color = options.pop("color", activation_color(curve.problem.activation.name))
    ax = plot_error(ax, line, "theory", quantity=found.quantity, color=color, **options)
    bars = [one.interval if math.isfinite(one.interval) else 0.0 for one in found.points]
    values = [one.measured.value for one in found.points]
    ax.errorbar(alphas, values, bars, fmt="o", color="#C2185B", capsize=3, markersize=4, label=label)
    ax.legend(frameon=False)
    return ax

"""Figures of learners on data beside the theories of white inputs and of their covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..ingredients.inputs import Gaussian
from ..problem import Problem
from ..studies.input_study import InputTable
from ..studies.published import published_mnist
from ..theory import learning_curve
from .style import COLUMN, GREY, PALETTE, TITLE, applied, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_inputs", "plot_published_mnist"]

_DRAWN: dict[tuple[str, str], dict[str, Any]] = {
    ("data", "hmc"): {"marker": "o", "color": PALETTE[1], "label": "HMC on the data"},
    ("gaussian", "hmc"): {"marker": "s", "color": PALETTE[0], "label": "HMC, Gaussian inputs"},
    ("data", "adam"): {"marker": "^", "color": PALETTE[1], "label": "Adam on the data"},
    ("gaussian", "adam"): {"marker": "v", "color": PALETTE[0], "label": "Adam, Gaussian inputs"},
}


def plot_inputs(ax: Axes | None, table: InputTable) -> Axes:
    """Errors of learners on data (orange) and on Gaussian inputs of their covariance (blue).

    Lines are the optimum for white inputs (dashed) and for the covariance (solid).
    """
    alphas = sorted({row.alpha for row in table.rows})
    with applied():
        ax = new_axes(ax, (COLUMN, COLUMN))
        _draw_theories(ax, table.problem, np.geomspace(alphas[0] / 1.3, alphas[-1] * 1.3, 60))
        for (inputs, learner), style in _DRAWN.items():
            rows = table.of(inputs, learner)
            if rows:
                ax.errorbar(
                    [row.alpha for row in rows],
                    [row.excess_error for row in rows],
                    yerr=np.nan_to_num([row.standard_error for row in rows]),
                    **{"markersize": 4, "linestyle": "none", "capsize": 2, **style},
                )
        _finish(ax, f"{table.problem.inputs.name}, d = {table.d}", alphas)
    return ax


def plot_published_mnist(ax: Axes | None = None) -> Axes:
    """HMC of the authors of arXiv:2510.24616 on images of MNIST, beside both theories."""
    found = published_mnist()
    law = Gaussian(tuple(found["eigenvalues"].tolist()), normalise=True)
    problem = Problem("tanh(2*x)", readouts="gaussian", channel=0.1, gamma=0.5, inputs=law)
    with applied():
        ax = new_axes(ax, (COLUMN, COLUMN))
        _draw_theories(ax, problem, np.geomspace(0.035, 3.2, 60))
        style = _DRAWN["data", "hmc"] | {"label": "HMC on the images, published"}
        ax.errorbar(
            found["alpha"],
            found["excess_error"],
            yerr=found["standard_error"],
            **{"markersize": 4, "linestyle": "none", "capsize": 2, **style},
        )
        _finish(ax, "MNIST, d = 144", [0.05, 0.2, 0.5, 1.0, 2.0])
    return ax


def _draw_theories(ax: Any, problem: Problem, alphas: np.ndarray) -> None:
    law = problem.inputs
    coloured = problem.replace(inputs=Gaussian(law.eigenvalues, law.probabilities))
    for one, style, label in (
        (problem.replace(inputs="isotropic"), "--", "theory, white inputs"),
        (coloured, "-", "theory, their covariance"),
    ):
        curve = learning_curve(one, alphas)
        ax.plot(alphas, curve.excess_error, color=GREY, linestyle=style, linewidth=1.4, label=label)


def _finish(ax: Any, title: str, ticks: list[float]) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator

    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(r"$\alpha = n/d^2$")
    ax.set_ylabel("excess error")
    ax.set_title(title, fontsize=TITLE)
    ax.legend(frameon=False, fontsize=6.5)
    tidy(ax)

"""Errors with Gaussian weights: ReLU and tanh(2x), three readout laws, four learners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..problem import Problem
from . import marks
from .compare import deviations
from .item import Item, Tables
from .lines import curves
from .runs import tasks_over

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

ACTIVATIONS = {"relu": "ReLU", "tanh(2*x)": "tanh(2x)"}
READOUTS = {"homogeneous": "homogeneous", "four-point": "four-point", "gaussian": "Gaussian"}
PROBLEMS = {
    f"{activation}/{law}": Problem(activation, "gaussian", law, channel=0.1, gamma=0.5)
    for activation in ACTIVATIONS
    for law in READOUTS
}
ALPHA = (0.05, 8.0)
LEARNERS = (("hmc", "teacher"), ("hmc", "random"), ("adam", "random"), ("gamp_rie", "prior"))


def is_made(series: str, learner: str, alpha: float) -> bool:
    """Without a quadratic part GAMP-RIE is a linear regression."""
    return learner != "gamp_rie" or series.startswith("relu")


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(1, 3, width=marks.PAGE, height=2.75, sharey=True)
        for ax, (law, name) in zip(axes[0], READOUTS.items(), strict=True):
            for activation in ACTIVATIONS:
                series = f"{activation}/{law}"
                color = marks.activation_color(activation)
                for line in ("equilibrium", "universal"):
                    marks.curve(ax, tables.theory.where(series=series, line=line), line, color)
                ours = tables.comparison.where(series=series, source="ours", quantity="excess_error")
                marks.points(ax, ours, color)
                marks.authors(ax, tables.published.where(series=series), color)
            ax.set_title(f"{name} readouts")
            ax.set_xlabel(marks.LABELS["alpha"])
            ax.set_xlim(0, ALPHA[1] + 0.1)
            ax.set_xticks([0, 2, 4, 6, 8])
        axes[0, 0].set_ylabel(marks.LABELS["excess_error"])
        axes[0, 0].set_ylim(0, 0.115)
        colors = {name: marks.activation_color(key) for key, name in ACTIVATIONS.items()}
        marks.legend(figure, colors, LEARNERS, ncols=5, comparison=tables.comparison)
    return figure


def line_of(series: str, learner: str, start: str) -> str:
    """Chains from random weights stay on the universal branch in one case; elsewhere they leave it."""
    if learner == "hmc" and (start == "teacher" or series != "relu/homogeneous"):
        return "equilibrium"
    return "universal"


def remarks(tables: Tables) -> list[str]:
    errors = tables.comparison.where(source="ours", quantity="excess_error")
    hmc, gamp_rie = errors.where(learner="hmc"), errors.where(learner="gamp_rie")
    adam = errors.where(learner="adam")
    theirs = tables.comparison.where(source="authors", learner="gamp_rie")
    sizes = ", ".join(str(d) for d in sorted({row["d"] for row in adam}))
    return [
        f"Errors of chains from the teacher lie {deviations(hmc.where(start='teacher'))} from the theory, of "
        f"those from random weights {deviations(hmc.where(start='random'))}: before they have forgotten "
        "their start, half the error of a draw is too low for the former and too high for the latter.",
        f"GAMP-RIE lies {deviations(gamp_rie)} from the universal line, and "
        f"{deviations(gamp_rie, 'predicted_at_d')} from the prediction that has the cost of the linear part.",
        "Chains from random weights are compared with the universal branch for ReLU with homogeneous "
        "readouts, where the paper finds them stuck, and with the equilibrium elsewhere.",
        "Adam is not a sampler, and half its error is drawn as in the paper, for comparison only. At d = "
        f"{sizes or '–'} it lies {deviations(adam.where(series='relu/homogeneous'))} from the universal line "
        "for ReLU with homogeneous readouts. That contradicts nothing: the network is the best one passed "
        "through, chosen by its exact error, and no draw from the posterior.",
        f"The authors' GAMP-RIE (pale triangles, medians over instances) lies {deviations(theirs)} from the "
        f"universal line, and {deviations(theirs, 'predicted_at_d')} from the prediction at its d.",
    ]


ITEM = Item(
    name="gaussian-weights",
    place="Figure 1",
    title="Errors with Gaussian weights",
    caption="Bayes-optimal excess error for ReLU and tanh(2x) neurons with Gaussian weights, γ = 0.5, Δ = "
    "0.1 and three laws of the readouts. Solid: equilibrium; dashed: universal branch, where no neuron is "
    "learnt. Circles: HMC started on the teacher; crosses: HMC from random weights; plus signs: half the "
    "error of Adam, stopped at its best; triangles: GAMP-RIE. "
    "Pale: the authors' HMC at d = 150 and GAMP-RIE at d = 200.",
    problems=PROBLEMS,
    theory=lambda settings: curves(PROBLEMS, ALPHA, settings.n_points, ("equilibrium", "universal")),
    tasks=lambda settings: tasks_over(PROBLEMS, settings, LEARNERS, is_made=is_made),
    draw=draw,
    line_of=line_of,
    quantities=("excess_error", "replica_excess_error"),
    remarks=remarks,
)

"""Figures: errors and overlaps along learning curves, branches, spectra, phase diagrams, experiments.

Every function that takes axes draws on the ones it is given (``ax=None`` makes new ones) and returns them.
Lines are theory: solid at equilibrium, dashed where metastable, dotted where unstable. Global settings of
Matplotlib are left alone, and it is imported only when something is drawn. Figures of experiments need the
extras for simulation; they are in ``plotting.experiments`` and ``plotting.runs``.
"""

from . import style
from .curves import plot_bifurcation, plot_error, plot_learning_curve, plot_overlaps
from .diagrams import DIAGRAM_QUANTITIES, plot_overlap_profile, plot_phase_diagram, plot_phase_diagrams
from .results import (
    eigenvalue_grid,
    plot_landscape,
    plot_linear_regime,
    plot_solution,
    plot_spectrum,
    plot_state_evolution,
)
from .style import (
    EQUILIBRIUM,
    METASTABLE,
    UNSTABLE,
    activation_color,
    shown_readouts,
    states_of,
    stretches_of,
)

__all__ = [
    "DIAGRAM_QUANTITIES",
    "EQUILIBRIUM",
    "METASTABLE",
    "UNSTABLE",
    "activation_color",
    "eigenvalue_grid",
    "plot_bifurcation",
    "plot_error",
    "plot_landscape",
    "plot_learning_curve",
    "plot_linear_regime",
    "plot_overlap_profile",
    "plot_overlaps",
    "plot_phase_diagram",
    "plot_phase_diagrams",
    "plot_solution",
    "plot_spectrum",
    "plot_state_evolution",
    "shown_readouts",
    "states_of",
    "stretches_of",
    "style",
]

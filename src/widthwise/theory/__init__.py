"""The theory: saddle point, branches, learning curves, transitions.

In the order in which one reads them; after the first, a module imports only from those above or beside it:

==================================  =========================================================================
``potential``                       f_RS and its saddle-point equations as printed; nothing else needs it
``units``, ``matrix_channel``       a hidden unit and the matrix S as denoising problems, tabulated
``solution``                        what is answered: solutions, curves, transitions
``setting``, ``stationary``         the numbers of a problem; from stationary points to solutions
``families``                        curves of solutions along which α is explicit
``solver``, ``errors``              all solutions at given α, the equilibrium, and its errors for any cost
``onsets``, ``maxwell``             where units leave overlap 0; where two branches have equal free entropies
``transitions``, ``branches``       transitions of the equilibrium; branches drawn through their folds
``landscape``                       the free entropy over one overlap
``linear_regime``, ``small_noise``  the limits n = Θ(d) and Δ/α → 0
``scaling``, ``planner``            laws of many features; how much data a target needs
``diagram``, ``diagram_data``       the equilibrium over two parameters
``state_evolution``                 the course of GAMP-RIE
==================================  =========================================================================
"""

from .branches import Branch, trace_branches
from .diagram import PhaseDiagram, phase_diagram
from .errors import error
from .linear_regime import LinearRegime, solve_linear
from .onsets import onset
from .planner import SamplesNeeded, samples_needed
from .scaling import ScalingLaw, scaling_law
from .small_noise import SmallNoiseLimit, small_noise_limit
from .solution import LearningCurve, NotConverged, Solution
from .solver import learning_curve, solutions, solve
from .state_evolution import StateEvolution, state_evolution
from .transitions import Transition, factorised_transition, transitions

__all__ = [
    "Branch",
    "LearningCurve",
    "LinearRegime",
    "NotConverged",
    "PhaseDiagram",
    "SamplesNeeded",
    "ScalingLaw",
    "SmallNoiseLimit",
    "Solution",
    "StateEvolution",
    "Transition",
    "error",
    "factorised_transition",
    "learning_curve",
    "onset",
    "phase_diagram",
    "samples_needed",
    "scaling_law",
    "small_noise_limit",
    "solutions",
    "solve",
    "solve_linear",
    "state_evolution",
    "trace_branches",
    "transitions",
]

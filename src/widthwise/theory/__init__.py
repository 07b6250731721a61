"""The theory: saddle point, branches, learning curves, transitions."""

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

"""The theory: saddle point, branches, learning curves, transitions."""

from .branches import Branch, trace_branches
from .errors import error
from .diagram import phase_diagram
from .factorised import factorised_transition
from .linear_regime import LinearRegime, solve_linear
from .planner import SamplesNeeded, samples_needed
from .solution import LearningCurve, NotConverged, Solution
from .solver import learning_curve, solutions, solve
from .transitions import Transition, onset, transitions

__all__ = [
    "Branch",
    "LearningCurve",
    "LinearRegime",
    "NotConverged",
    "SamplesNeeded",
    "Solution",
    "Transition",
    "error",
    "factorised_transition",
    "learning_curve",
    "onset",
    "phase_diagram",
    "samples_needed",
    "solutions",
    "solve",
    "solve_linear",
    "trace_branches",
    "transitions",
]

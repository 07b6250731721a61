"""The theory: saddle point, branches, learning curves, transitions."""

from .branches import Branch, trace_branches
from .solution import LearningCurve, NotConverged, Solution
from .solver import learning_curve, solutions, solve
from .transitions import Transition, onset, transitions

__all__ = [
    "Branch",
    "LearningCurve",
    "NotConverged",
    "Solution",
    "Transition",
    "learning_curve",
    "onset",
    "solutions",
    "solve",
    "trace_branches",
    "transitions",
]

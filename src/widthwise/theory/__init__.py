"""The theory: saddle point, branches, learning curves."""

from .solution import LearningCurve, NotConverged, Solution
from .solver import learning_curve, solutions, solve

__all__ = ["LearningCurve", "NotConverged", "Solution", "learning_curve", "solutions", "solve"]

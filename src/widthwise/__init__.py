"""How well a wide two-layer neural network can be learnt, and how far a learner is from that limit."""

from . import denoising
from ._version import __version__
from .ingredients import channels, readouts, weights
from .ingredients.activations import Activation
from .problem import Problem
from .theory import LearningCurve, NotConverged, Solution, learning_curve, solutions, solve

__all__ = [
    "Activation",
    "LearningCurve",
    "NotConverged",
    "Problem",
    "Solution",
    "__version__",
    "channels",
    "denoising",
    "learning_curve",
    "readouts",
    "solutions",
    "solve",
    "weights",
]

"""How well a wide two-layer neural network can be learnt, and how far a learner is from that limit."""

from . import denoising
from ._version import __version__
from .ingredients import channels, readouts, weights
from .ingredients.activations import Activation
from .problem import Problem

__all__ = ["Activation", "Problem", "__version__", "channels", "denoising", "readouts", "weights"]

"""The spectral curve of a readout law, discrete or continuous."""

from __future__ import annotations

from ..ingredients.readouts import Discrete, Readouts, _Continuous
from .continuous_poles import ContinuousPoles
from .discrete_poles import DiscretePoles
from .spectral_curve import Poles

__all__ = ["make_poles"]


def make_poles(readouts: Readouts, gamma: float) -> Poles:
    """The poles of a readout law at width γ."""
    if isinstance(readouts, Discrete):
        return DiscretePoles(readouts, gamma)
    if isinstance(readouts, _Continuous):
        return ContinuousPoles(readouts, gamma)
    raise TypeError(f"no spectral curve for readouts of type {type(readouts).__name__}")

"""Changes of a problem that change no prediction, or change it in a known way.

Each takes what was drawn and a generator, and gives a :class:`Variant`, or None where it does not apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import widthwise as ww
from random_problems import Drawn

__all__ = ["INVARIANCES", "Variant"]

# Rounding of the ingredients, 1e-15, moves a solution by its root where two solutions are about to meet.
_ROUNDING = 1e-7
# So does a change of 1e-12.
_TINY, _AFTER_TINY = 1e-12, 1e-5


@dataclass(frozen=True)
class Variant:
    """Another problem, and what its equilibrium is to the first one's."""

    problem: ww.Problem
    scale: float = 1.0
    """excess_error of the first over that of the variant."""
    entropy_shift: float = 0.0
    """free_entropy of the first minus that of the variant."""
    rtol: float = _ROUNDING
    atol: float = 0.0
    """As a share of the error without data: what a unit or weight more or less is worth."""


def negative_activation(drawn: Drawn, rng: np.random.Generator) -> Variant:
    """σ → -σ: only squares of its coefficients enter, at a given mean of the output."""
    return Variant(drawn.problem.replace(activation=f"-({drawn.formula})"))


def negative_readouts(drawn: Drawn, rng: np.random.Generator) -> Variant | None:
    """v → -v: the matrix changes its sign."""
    law = drawn.problem.readouts
    if not law.is_discrete:
        return None
    mirrored = ww.readouts.Discrete([-v for v in law.values], law.probabilities)
    return Variant(drawn.problem.replace(readouts=mirrored))


def split_readout(drawn: Drawn, rng: np.random.Generator) -> Variant | None:
    """One readout listed twice, with its probability shared."""
    law = drawn.problem.readouts
    if not law.is_discrete:
        return None
    values, p = _split(np.array(law.values), np.array(law.probabilities), rng)
    return Variant(drawn.problem.replace(readouts=ww.readouts.Discrete(values, p)))


def split_weight(drawn: Drawn, rng: np.random.Generator) -> Variant | None:
    """One component of the law of the weights listed twice."""
    law = drawn.problem.weights
    if isinstance(law, ww.weights.Discrete):
        atoms, p = _split(np.array(law.atoms), np.array(law.probabilities), rng)
        return Variant(drawn.problem.replace(weights=ww.weights.Discrete(atoms, p)))
    if isinstance(law, ww.weights.GaussianMixture):
        both, p = _split(np.array([law.means, law.variances]).T, np.array(law.probabilities), rng)
        return Variant(drawn.problem.replace(weights=ww.weights.GaussianMixture(*both.T, p)))
    return None


def scaled_output(drawn: Drawn, rng: np.random.Generator) -> Variant | None:
    """σ → cσ with the noise in proportion: the same problem in other units."""
    factor = float(np.exp(rng.uniform(-3, 3)) if rng.random() < 0.5 else 10 ** rng.uniform(-10, 10))
    channels, channel = ww.channels, drawn.problem.channel
    shift = None if channel.shift is None else factor * channel.shift
    entropy_shift = 0.0
    if isinstance(channel, channels.StudentT):
        scaled: ww.channels.Channel = channels.StudentT(factor**2 * channel.noise, channel.dof)
    elif isinstance(channel, channels.Additive):
        scaled = type(channel)(factor**2 * channel.noise)
    elif isinstance(channel, channels.Probit):
        scaled = channels.Probit(factor**2 * channel.noise, shift)
    elif isinstance(channel, channels.Sign):
        scaled = channels.Sign(shift)
    elif isinstance(channel, channels.Logistic):
        scaled = channels.Logistic(channel.steepness / factor, shift)
    else:
        return None
    if channel.is_additive:
        entropy_shift = math.log(factor)  # labels are factor times as wide
    problem = drawn.problem.replace(activation=f"{factor!r}*({drawn.formula})", channel=scaled)
    return Variant(problem, factor**-2, entropy_shift)


def rare_readout(drawn: Drawn, rng: np.random.Generator) -> Variant | None:
    """A readout that one unit in 1e12 has."""
    law = drawn.problem.readouts
    if not law.is_discrete:
        return None
    extra = float(rng.uniform(0.1, 1.9) * law.largest * rng.choice([-1, 1]))
    values, p = np.append(law.values, extra), np.append(law.probabilities, _TINY)
    mixed = ww.readouts.Discrete(values, p / p.sum(), normalise=True)
    if not drawn.problem.channel.is_additive and drawn.problem.channel.shift is None and mixed.mean != 0:
        return None  # the mean of the output would have to be stated
    return Variant(drawn.problem.replace(readouts=mixed), rtol=_AFTER_TINY, atol=1e3 * _TINY)


def rare_weight(drawn: Drawn, rng: np.random.Generator) -> Variant | None:
    """A value that one weight in 1e12 has."""
    law = drawn.problem.weights
    extra = float(rng.normal())
    if isinstance(law, ww.weights.Discrete):
        mixed = ww.weights.Discrete.normalised([*law.atoms, extra], [*law.probabilities, _TINY])
    elif isinstance(law, ww.weights.Rademacher):
        mixed = ww.weights.Discrete.normalised([-1.0, 1.0, extra], [0.5, 0.5, _TINY])
    else:
        return None
    return Variant(drawn.problem.replace(weights=mixed), rtol=_AFTER_TINY, atol=1e3 * _TINY)


INVARIANCES: tuple[Callable[[Drawn, np.random.Generator], Variant | None], ...] = (
    negative_activation,
    negative_readouts,
    split_readout,
    split_weight,
    scaled_output,
    rare_readout,
    rare_weight,
)


def _split(values: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    i, share = int(rng.integers(p.size)), float(rng.uniform(0.2, 0.8))
    shared = np.append(p, share * p[i])
    shared[i] -= share * p[i]
    return np.concatenate([values, values[i : i + 1]]), shared

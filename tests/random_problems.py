"""Random valid problems, over the whole space that a user could fill; all from one generator.

``random_problem(rng)`` draws a :class:`Drawn`: the problem, the kinds of its ingredients (for counts), the
formula of its activation, and a text that makes it again. Half of the mass is where things happen (γ from
0.02 to 50, ordinary noise), the rest goes out to the ends of what the package accepts. Problems that
``Problem`` refuses are avoided by construction: laws are normalised, and where the mean of the output
matters it is stated.

``random_alphas(rng, problem, n)`` are values of α, most of them within two decades of γ: α/γ labels for
each weight, which is the scale on which units are learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import widthwise as ww
from random_ingredients import (
    log_uniform,
    random_activation,
    random_channel,
    random_readouts,
    random_weights,
    rounded,
    wide,
)

__all__ = [
    "ALPHAS",
    "PREAMBLE",
    "Drawn",
    "pasteable",
    "random_alphas",
    "random_problem",
]

ALPHAS = (1e-4, 1e4)
"""Where α is drawn."""

PREAMBLE = "import widthwise as ww\nfrom widthwise import Problem, channels, inputs, readouts, weights"
"""Lines before a pasted problem."""


@dataclass(frozen=True)
class Drawn:
    """A problem with what it is made of."""

    problem: ww.Problem
    kinds: dict[str, str]
    """weights, readouts, channel, activation: the word under which each is counted."""
    formula: str
    """The activation as a formula in x."""

    @property
    def text(self) -> str:
        """Lines that make the problem again."""
        return f"{PREAMBLE}\n{_needed(self.problem)}problem = {pasteable(self.problem)}"


def random_problem(rng: np.random.Generator) -> Drawn:
    """One problem, valid by construction."""
    activation_kind, formula = random_activation(rng)
    weights_kind, weights = random_weights(rng)
    readouts_kind, readouts = random_readouts(rng)
    channel_kind, make_channel = random_channel(rng)
    gamma = wide(rng, (0.02, 50.0), (1e-3, 1e3), (1e-4, 1e4))
    # The mean of the output is a parameter of its own; often it is stated also where it need not be.
    shift = rounded(rng.normal()) if rng.random() < 0.7 else 0.0
    problem = _assembled(formula, weights, readouts, make_channel, gamma, shift, rng.random() < 0.3)
    problem = _coloured(rng.spawn(1)[0], problem)
    ordered = _ordered(rng.spawn(1)[0], problem)
    if ordered is not problem:
        problem, readouts_kind = ordered, "hierarchy"
    kinds = {
        "activation": activation_kind,
        "weights": weights_kind,
        "readouts": readouts_kind,
        "channel": channel_kind,
    }
    return Drawn(problem, kinds, formula)


def _coloured(rng: np.random.Generator, problem: ww.Problem) -> ww.Problem:
    """Half of the problems for which a covariance of the inputs is allowed get one."""
    if problem.weights != ww.weights.Gaussian() or rng.random() < 0.5:
        return problem
    law = random_inputs(rng)
    try:
        return problem.replace(inputs=law)
    except ValueError:  # an activation with a quadratic part
        return problem


def _ordered(rng: np.random.Generator, problem: ww.Problem) -> ww.Problem:
    """One problem in twelve gets features in order of their size."""
    if rng.random() > 1 / 12:
        return problem
    # Without a quadratic part hundreds of features cost no more than a few.
    most = 65 if abs(problem.hermite[2]) > 1e-8 else 400
    size, exponent = int(log_uniform(rng, 3, most)), rounded(log_uniform(rng, 0.1, 2))
    law = (
        lambda: ww.readouts.PowerLaw(exponent, size),
        lambda: ww.readouts.Exponential(rounded(log_uniform(rng, max(1, size / 60), 100)), size),
        lambda: ww.readouts.Linear(rounded(log_uniform(rng, 1.1, 100)), size),
        lambda: ww.readouts.Features(tuple(rng.normal(size=size).tolist())),
    )[rng.integers(4)]()
    try:
        return problem.replace(readouts=law)
    except ValueError:  # the mean of the output has to be stated, and is not
        return problem


def random_inputs(rng: np.random.Generator) -> ww.inputs.InputLaw:
    """Two eigenvalues far apart, a power law, or eigenvalues over seven decades."""
    kind = rng.integers(3)
    if kind == 0:
        share = rng.uniform(0.02, 0.98)
        ends = (rounded(10 ** rng.uniform(0, 3)), 1.0)
        return ww.inputs.Gaussian(ends, (share, 1 - share), normalise=True)
    if kind == 1:
        return ww.inputs.PowerLaw(rounded(rng.uniform(0.1, 3)), int(rng.integers(3, 200)))
    return ww.inputs.Gaussian(10 ** rng.uniform(-6, 1, 20), normalise=True)


def random_alphas(rng: np.random.Generator, problem: ww.Problem, n: int) -> np.ndarray:
    """``n`` values of α in order: three quarters within two decades of γ, the rest over ``ALPHAS``."""
    low, high = ALPHAS
    near = problem.gamma * 10 ** rng.uniform(-2, 2, n)
    far = log_uniform(rng, low, high, n)
    return np.sort(np.clip(np.where(rng.random(n) < 0.75, near, far), low, high))


def pasteable(problem: ww.Problem) -> str:
    """``repr(problem)``, with the parameters of the channels of this module written out."""
    channel = problem.channel
    if not isinstance(channel, ww.channels.Custom):
        return repr(problem)
    function: Any = channel.function
    where = f"labels={channel.labels}" if channel.labels is not None else "support=(-inf, inf)"
    shift = "" if channel.shift is None else f", shift={channel.shift!r}"
    made = f"channels.Custom({function!r}, {where}, breaks={channel.breaks}{shift})"
    return repr(problem).replace(repr(channel), made)


def _needed(problem: ww.Problem) -> str:
    if not isinstance(problem.channel, ww.channels.Custom):
        return ""
    return (
        "from math import inf\nfrom random_ingredients import cauchy, fuzzy_sign, three_labels  # in tests/\n"
    )


def _assembled(formula, weights, readouts, make_channel, gamma, shift, is_stated) -> ww.Problem:
    activation = ww.Problem(formula).activation
    # The rule of Problem, with room: rounding may leave a mean of 1e-12 on either side.
    is_needed = abs(activation.hermite[0] * readouts.mean) > 1e-14
    shift = shift if is_needed or is_stated else None
    power = ww.Problem(activation, weights, readouts, 1.0, gamma).output_power
    return ww.Problem(activation, weights, readouts, make_channel(shift, power), gamma)

"""Hamiltonian Monte Carlo for continuous weights.

Each iteration follows a random number of leapfrog steps from fresh momenta, in coordinates where the
posterior is about as wide in every direction. The step size is adapted by dual averaging (BlackJAX's) during
the warm-up and frozen after it.

Chains of one instance run as one batch. Instances do not: eight of them in one batch take 0.34 of the time of
one after the other at d = 10, where an iteration is 80 microseconds anyway, and 1.2 of it at d = 30, where
their data no longer share the cache; from there on other processes serve better.
"""

from __future__ import annotations

import os

import numpy as np

from .._extras import explained
from ..networks.instance import Instance
from .iterative import Options, Start, learn
from .loop import Chain
from .progress import Progress
from .run import Run

__all__ = ["hmc"]

_KERNELS = ("whitened", "plain")
_MOST_WARMUP = 200  # a step size is found in fewer; what the chain has to forget is for ``discard``


@explained
def hmc(
    instance: Instance,
    *,
    start: str | np.ndarray = "teacher",
    iterations: int = 400,
    record_every: int | None = None,
    n_chains: int = 1,
    seed: int = 0,
    discard: float = 0.5,
    progress: Progress = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
    kernel: str = "whitened",
    n_leapfrog: int = 40,
    step_size: float = 0.1,
    target_acceptance: float = 0.7,
    n_warmup: int | None = None,
    learn_readouts: bool = False,
    until: str | None = None,
) -> Run:
    """Draws from the posterior of the weights of an instance.

    Parameters
    ----------
    instance : Instance
        With continuous weights; discrete ones are for :func:`~widthwise.learners.metropolis`.
    start : "teacher", "random", "both" or array
        On the teacher (informed), on a draw from the prior, chains on one and the other in turn, or on
        weights of shape (k, d) or (n_chains, k, d).
    iterations, record_every : int
        Length of the run, and how often it is observed (a hundredth of the run unless given).
    n_chains, seed : int
        Independent chains on the same instance, and the seed of all their randomness.
    discard : float
        Fraction of the run that averages leave out.
    progress : bool or callable
        Whether to draw a progress bar (by default, when there is a terminal), or a function of (iterations,
        numbers).
    checkpoint : path
        File to save to and to resume from.
    max_seconds : float
        Time limit.
    kernel : "whitened" or "plain"
        In coordinates where the posterior is about as wide in every direction, with a number of steps drawn
        anew for each iteration and kinks of the activation rounded along the way (never in what is accepted);
        or in the weights themselves with a fixed number of steps, as in the paper. Both are exact.
    n_leapfrog, step_size, target_acceptance
        Leapfrog steps an iteration (mean of 1 ... 2 n_leapfrog - 1 for ``"whitened"``); step size to begin
        with; acceptance that its adaptation aims at.
    n_warmup : int
        Iterations during which the step size adapts (what is discarded, at least a quarter of the run and at
        most 200 iterations, unless given; give it if a checkpoint is to be continued beyond the length first
        asked for).
    learn_readouts : bool
        Sample the readouts too, under P_v (continuous laws only).
    until : "equilibrium"
        Stop when ``Run.equilibrium`` has nothing to object, after ``iterations`` at the latest (by default,
        all iterations are made). Surest with ``start="both"`` and two chains or more.

    Returns
    -------
    Run
        Warns ``NotAtEquilibrium`` when something speaks against equilibrium: see ``Run.equilibrium``.
    """
    _check_problem(instance, learn_readouts)
    if kernel not in _KERNELS:
        raise ValueError(f"unknown kernel {kernel!r}; choose from {', '.join(_KERNELS)}")
    for name, value in (("n_leapfrog", n_leapfrog), ("step_size", step_size)):
        if not value > 0:
            raise ValueError(f"{name} must be > 0, got {value!r}")
    if not 0 < target_acceptance < 1:
        raise ValueError(f"target_acceptance must be between 0 and 1, got {target_acceptance!r}")
    options = Options(
        start, iterations, record_every, n_chains, seed, progress, checkpoint, max_seconds, discard, until
    )
    settings = {
        "kernel": kernel,
        "n_leapfrog": n_leapfrog,
        "step_size": step_size,
        "target_acceptance": target_acceptance,
        "n_warmup": _warmup(iterations, discard) if n_warmup is None else n_warmup,
        "learn_readouts": learn_readouts,
    }

    def build(begin: Start) -> Chain:
        from .hmc_chain import HmcChain

        return HmcChain(instance, begin, settings)

    return learn("hmc", instance, options, build, uses_jax=True, learn_readouts=learn_readouts)


def _warmup(iterations: int, discard: float) -> int:
    return min(_MOST_WARMUP, max(iterations // 4, int(discard * iterations)))


def _check_problem(instance: Instance, learn_readouts: bool) -> None:
    problem = instance.problem
    if problem.weights.is_discrete:
        raise ValueError(
            f"hmc needs weights with a density, and {problem.weights.name} weights are discrete; "
            "use metropolis"
        )
    try:
        problem.weights.log_density(np.zeros(1))
    except ValueError:
        raise ValueError(
            f"hmc needs weights with a density, and {problem.weights.name} weights have an atom; "
            "use metropolis"
        ) from None
    if problem.activation._jumps():
        raise ValueError(
            f"hmc needs a continuous activation, and {problem.activation.name!r} jumps; use metropolis"
        )
    if learn_readouts and problem.readouts.is_discrete:
        raise ValueError(
            f"hmc learns readouts with a density, and {problem.readouts.name} readouts are discrete; "
            "leave learn_readouts=False"
        )

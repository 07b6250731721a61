"""What the iterative learners share: their common options, where they start, and how a run is made of them.

A learner checks its own options and hands over a function that makes its
:class:`~widthwise.learners.loop.Chain`; :func:`learn` does the rest.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from .._threads import one_thread_below
from ..ingredients.channels import Channel
from ..networks.instance import Instance
from .loop import Chain, run_chain
from .progress import Progress
from .run import Run

__all__ = ["Options", "Start", "learn"]


@dataclass(frozen=True)
class Options:
    """What every iterative learner takes."""

    start: str | np.ndarray
    iterations: int
    record_every: int | None
    n_chains: int
    seed: int
    progress: Progress
    checkpoint: str | os.PathLike[str] | None
    max_seconds: float | None
    discard: float = 0.5
    until: str | None = None
    """``"equilibrium"``: stop there, and use up the iterations only if it is not reached."""

    def __post_init__(self) -> None:
        for name, least in (("iterations", 1), ("n_chains", 1), ("seed", 0), ("record_every", 1)):
            value = getattr(self, name)
            if name == "record_every" and value is None:
                continue
            if not (isinstance(value, (int, np.integer)) and value >= least):
                raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
        if not 0 <= self.discard < 1:
            raise ValueError(f"discard must be in [0, 1) (a fraction of the run), got {self.discard!r}")
        if self.until not in (None, "equilibrium"):
            raise ValueError(f"until must be None or 'equilibrium', got {self.until!r}")
        if self.max_seconds is not None and not self.max_seconds >= 0:
            raise ValueError(f"max_seconds must be >= 0, got {self.max_seconds!r}")


@dataclass(frozen=True)
class Start:
    """Where a learner begins."""

    weights: np.ndarray
    """Chain × k × d."""
    readouts: np.ndarray
    """Chain × k: the teacher's, or a draw of P_v if they are learnt from a start that is not the teacher."""
    is_matched: bool
    """Whether units have to be matched with the teacher's."""
    seed: int
    iterations: int


def learn(
    learner: str,
    instance: Instance,
    options: Options,
    build: Callable[[Start], Chain],
    *,
    is_sampler: bool = True,
    uses_jax: bool = False,
    learn_readouts: bool = False,
    width: int | None = None,
) -> Run:
    """Run the chain that ``build`` makes from its start; ``width`` is that of a student of its own width."""
    _check_channel(learner, instance.problem.channel)
    with one_thread_below(instance.d), _precision(instance) if uses_jax else nullcontext():
        if width is None:
            start = _starting_point(instance, options, learn_readouts)
        else:
            start = _starting_point_of_width(instance, options, width)
        run = run_chain(
            build(start),
            learner=learner,
            instance=instance,
            iterations=options.iterations,
            record_every=options.record_every
            or max(1, options.iterations // (400 if options.until else 100)),
            until=options.until,
            is_matched=start.is_matched,
            width=width,
            settings={"start": options.start, "n_chains": options.n_chains, "seed": options.seed},
            progress=options.progress,
            checkpoint=options.checkpoint,
            max_seconds=options.max_seconds,
            discard=options.discard,
            is_sampler=is_sampler,
        )
    run.warn_if_not_at_equilibrium()
    return run


def _check_channel(learner: str, channel: Channel) -> None:
    if channel.is_noiseless:
        raise ValueError(
            f"{learner} follows the likelihood of the labels, and labels of the {channel.name!r} channel are "
            "certain; use channels.Probit or a Gaussian channel with a small noise"
        )


def _precision(instance: Instance) -> AbstractContextManager[None]:
    from .jax_model import precision

    context: AbstractContextManager[None] = precision(instance)
    return context


def _starting_point(instance: Instance, options: Options, learn_readouts: bool) -> Start:
    rng = np.random.default_rng([options.seed, instance.seed])
    weights, is_matched = _starting_weights(instance, options.start, options.n_chains, rng)
    shape = (options.n_chains, instance.k)
    readouts = np.broadcast_to(instance.readouts, shape)
    if learn_readouts and is_matched:
        readouts = instance.problem.readouts.sample(rng, math.prod(shape)).reshape(shape)
        if isinstance(options.start, str) and options.start == "both":
            readouts[::2] = instance.readouts
    return Start(weights, readouts, is_matched, options.seed, options.iterations)


def _starting_point_of_width(instance: Instance, options: Options, width: int) -> Start:
    """For a student of any width: readouts begin at 0, or on the teacher's largest units.

    A readout of the teacher is carried over with the factor √(width/k): outputs have 1/√width for 1/√k.
    """
    rng = np.random.default_rng([options.seed, instance.seed])
    shape = (options.n_chains, width, instance.d)
    readouts = np.zeros(shape[:2])
    if isinstance(options.start, str) and options.start == "teacher":
        weights = instance.problem.weights.sample(rng, shape)
        largest = np.argsort(-np.abs(instance.readouts), kind="stable")[:width]
        weights[:, : largest.size] = instance.weights[largest]
        readouts[:, : largest.size] = math.sqrt(width / instance.k) * instance.readouts[largest]
    else:
        weights, _ = _starting_weights(instance, options.start, options.n_chains, rng, width)
    return Start(weights, readouts, True, options.seed, options.iterations)


def _starting_weights(
    instance: Instance,
    start: str | np.ndarray,
    n_chains: int,
    rng: np.random.Generator,
    width: int | None = None,
) -> tuple[np.ndarray, bool]:
    """Weights of each chain at the start, and whether their units have to be matched with the teacher's."""
    shape = (n_chains, width or instance.k, instance.d)
    if isinstance(start, str):
        if start == "teacher":
            return np.broadcast_to(instance.weights, shape).copy(), False
        if start not in ("random", "both") or (start == "both" and width is not None):
            raise ValueError(
                f"start must be 'teacher', 'random', 'both' or an array of weights, got {start!r}"
            )
        weights = instance.problem.weights.sample(rng, shape)
        if start == "both":
            if n_chains < 2:
                raise ValueError(f"start='both' is for two chains or more, got n_chains = {n_chains}")
            weights[::2] = instance.weights
        return weights, True
    given = np.asarray(start, dtype=float)
    if given.shape not in (shape, shape[1:]):
        raise ValueError(
            f"start must have the shape {shape[1:]} (k, d) or {shape} with chains, got {given.shape}"
        )
    if not np.isfinite(given).all():
        raise ValueError("start must hold finite weights")
    return np.broadcast_to(given, shape).copy(), True

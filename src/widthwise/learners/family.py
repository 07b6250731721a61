"""One signature for the iterative learners: the options they share, and the decorator that adds them.

A learner is written as a function that checks its own options and returns a
:class:`~widthwise.learners.loop.Chain`; decorated, it is ``learner(instance, start=..., ...) -> Run``.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any

import numpy as np

from .._extras import explained
from ..ingredients.channels import Channel
from ..networks.instance import Instance
from .loop import Chain, run_chain
from .progress import Progress
from .run import Run

__all__ = ["Start", "iterative_learner"]

_SHARED = """\
start : "teacher", "random" or array
    On the teacher (informed), on a draw from the prior, or on weights of shape (k, d) or (n_chains, k, d).
iterations, record_every : int
    Length of the run, and how often it is observed (a hundredth of the run unless given).
n_chains, seed : int
    Independent chains on the same instance, and the seed of all their randomness.
discard : float
    Fraction of the run that averages leave out (samplers only).
progress : bool or callable
    Whether to draw a progress bar (by default, when there is a terminal), or a function of (iterations,
    numbers).
checkpoint : path
    File to save to and to resume from.
max_seconds : float
    Time limit.

Returns
-------
Run
    A sampler warns ``NotAtEquilibrium`` when two replicas contradict the overlap with the teacher."""


@dataclass(frozen=True)
class _Options:
    """What every iterative learner takes, in the order of its signature."""

    start: str | np.ndarray
    iterations: int
    record_every: int | None = None
    n_chains: int = 1
    seed: int = 0
    discard: float = 0.5
    progress: Progress = None
    checkpoint: str | os.PathLike[str] | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("iterations", 1), ("n_chains", 1), ("seed", 0), ("record_every", 1)):
            value = getattr(self, name)
            if name == "record_every" and value is None:
                continue
            if not (isinstance(value, (int, np.integer)) and value >= least):
                raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
        if not 0 <= self.discard < 1:
            raise ValueError(f"discard must be in [0, 1) (a fraction of the run), got {self.discard!r}")
        if self.max_seconds is not None and not self.max_seconds >= 0:
            raise ValueError(f"max_seconds must be >= 0, got {self.max_seconds!r}")


@dataclass(frozen=True)
class Start:
    """Where a learner begins: what its function is given beside the instance."""

    weights: np.ndarray
    """Chain × k × d."""
    readouts: np.ndarray
    """Chain × k: the teacher's, or a draw of P_v if they are learnt from a start that is not the teacher."""
    is_matched: bool
    """Whether units have to be matched with the teacher's."""
    seed: int
    iterations: int


def iterative_learner(
    *, start: str, iterations: int, is_sampler: bool = True, uses_jax: bool = False
) -> Callable[[Callable[..., Chain]], Callable[..., Run]]:
    """Decorate ``build(instance, start, **own_options) -> Chain`` into a learner with these defaults."""
    defaults: dict[str, Any] = {field.name: field.default for field in fields(_Options)}
    defaults |= {"start": start, "iterations": iterations}
    if not is_sampler:
        del defaults["discard"]

    def decorate(build: Callable[..., Chain]) -> Callable[..., Run]:
        @wraps(build)
        def learner(instance: Instance, **given: Any) -> Run:
            _check_channel(build.__name__, instance.problem.channel)
            options = _Options(**{name: given.pop(name, default) for name, default in defaults.items()})
            with _precision(instance) if uses_jax else nullcontext():
                begin = _starting_point(instance, options, bool(given.get("learn_readouts")))
                run = run_chain(
                    build(instance, begin, **given),
                    learner=build.__name__,
                    instance=instance,
                    iterations=options.iterations,
                    record_every=options.record_every or max(1, options.iterations // 100),
                    is_matched=begin.is_matched,
                    settings={"start": options.start, "n_chains": options.n_chains, "seed": options.seed},
                    progress=options.progress,
                    checkpoint=options.checkpoint,
                    max_seconds=options.max_seconds,
                    discard=options.discard,
                    is_sampler=is_sampler,
                )
            run.warn_if_not_at_equilibrium()
            return run

        parameters = list(inspect.signature(build).parameters.values())
        own = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        shared = [inspect.Parameter(n, own[0].kind, default=default) for n, default in defaults.items()]
        learner.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameters[0], *shared, *own], return_annotation=Run
        )
        learner.__doc__ = f"{inspect.cleandoc(build.__doc__ or '')}\n{_SHARED}"
        return explained(learner)

    return decorate


def _check_channel(learner: str, channel: Channel) -> None:
    if channel.is_noiseless:
        raise ValueError(
            f"{learner} follows the likelihood of the labels, and labels of the {channel.name!r} channel are "
            "certain; use channels.Probit or a Gaussian channel with a small noise"
        )


def _precision(instance: Instance) -> AbstractContextManager[Any]:
    from .jax_model import precision

    return precision(instance)


def _starting_point(instance: Instance, options: _Options, learn_readouts: bool) -> Start:
    rng = np.random.default_rng([options.seed, instance.seed])
    weights, is_matched = _starting_weights(instance, options.start, options.n_chains, rng)
    shape = (options.n_chains, instance.k)
    readouts = np.broadcast_to(instance.readouts, shape)
    if learn_readouts and is_matched:
        readouts = instance.problem.readouts.sample(rng, math.prod(shape)).reshape(shape)
    return Start(weights, readouts, is_matched, options.seed, options.iterations)


def _starting_weights(
    instance: Instance, start: str | np.ndarray, n_chains: int, rng: np.random.Generator
) -> tuple[np.ndarray, bool]:
    """Weights of each chain at the start, and whether their units have to be matched with the teacher's."""
    shape = (n_chains, instance.k, instance.d)
    if isinstance(start, str):
        if start == "teacher":
            return np.broadcast_to(instance.weights, shape).copy(), False
        if start == "random":
            return instance.problem.weights.sample(rng, shape), True
        raise ValueError(f"start must be 'teacher', 'random' or an array of weights, got {start!r}")
    given = np.asarray(start, dtype=float)
    if given.shape not in (shape, shape[1:]):
        raise ValueError(
            f"start must have the shape {shape[1:]} (k, d) or {shape} with chains, got {given.shape}"
        )
    if not np.isfinite(given).all():
        raise ValueError("start must hold finite weights")
    return np.broadcast_to(given, shape).copy(), True

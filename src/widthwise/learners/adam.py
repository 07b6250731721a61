"""Adam on the negative log-likelihood, with Optax: what a practitioner would do.

The network kept is the best one that was observed, by its exact population error (early stopping at the
best test loss, as in the paper) or, with ``held_out``, by samples that it does not train on. Its
``excess_error`` is its own, E(λ - λ⁰)²; the paper plots half of it.
"""

from __future__ import annotations

import math
import os

import numpy as np

from .._extras import explained
from ..networks.instance import Instance, require_memory
from .iterative import Options, Start, learn
from .loop import Chain
from .progress import Progress
from .run import Run

__all__ = ["adam"]

_SCHEDULES = ("constant", "cosine", "exponential")


@explained
def adam(
    instance: Instance,
    *,
    start: str | np.ndarray = "random",
    iterations: int = 2000,
    record_every: int | None = None,
    n_chains: int = 1,
    seed: int = 0,
    progress: Progress = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
    batch_size: int | None = None,
    learning_rate: float = 0.05,
    schedule: str = "constant",
    patience: int | None = None,
    learn_readouts: bool | None = None,
    held_out: float = 0.0,
    width: int | None = None,
    normalise_rows: bool = False,
) -> Run:
    """The best network that Adam passes through; an iteration is an update on one batch.

    Parameters
    ----------
    instance : Instance
        Of any problem: only the likelihood is used, the weights move freely.
    start : "teacher", "random" or array
        On the teacher (informed), on a draw from the prior, or on weights of shape (k, d) or (n_chains, k,
        d).
    iterations, record_every : int
        Length of the run, and how often it is observed (a hundredth of the run unless given).
    n_chains, seed : int
        Independent chains on the same instance, and the seed of all their randomness.
    progress : bool or callable
        Whether to draw a progress bar (by default, when there is a terminal), or a function of (iterations,
        numbers).
    checkpoint : path
        File to save to and to resume from.
    max_seconds : float
        Time limit.
    batch_size : int
        Samples an update, at most n; n/5 unless given, as in the paper. n itself is full-batch descent.
    learning_rate, schedule
        Rate to begin with; ``"constant"``, ``"cosine"`` (to 0 at the end) or ``"exponential"`` (to a
        hundredth).
    patience : int
        Stop after so many observations without a better network.
    learn_readouts : bool
        Train the readouts too, from a draw of P_v unless started on the teacher. A student of another width
        always does.
    held_out : float
        Share of the samples on which it does not train: the network kept is the likeliest for these. With 0
        it is the one of lowest exact error, which a practitioner would not know.
    width : int
        Hidden units of the student, k unless given: any number, with readouts that begin at 0 (on the
        teacher: its largest units with theirs). Overlaps are then those of matched units, and
        ``features_found`` counts the teacher's with a cosine above 0.7.
    normalise_rows : bool
        Keep the weights of each unit at length √d, after every update.

    Returns
    -------
    Run
    """
    if not 0 <= held_out < 1:
        raise ValueError(f"held_out must be in [0, 1) (a share of the samples), got {held_out!r}")
    n_held = math.ceil(held_out * instance.n)
    n_trained = instance.n - n_held
    if n_trained < 1:
        raise ValueError(f"held_out = {held_out:g} of n = {instance.n} samples leaves none to train on")
    batch_size = max(1, n_trained // 5) if batch_size is None else int(batch_size)
    if not 1 <= batch_size <= n_trained:
        raise ValueError(f"batch_size must be between 1 and n = {n_trained}, got {batch_size}")
    if not learning_rate > 0:
        raise ValueError(f"learning_rate must be > 0, got {learning_rate!r}")
    if schedule not in _SCHEDULES:
        raise ValueError(f"unknown schedule {schedule!r}; choose from {', '.join(_SCHEDULES)}")
    learn_readouts = width is not None if learn_readouts is None else learn_readouts
    if width is not None:
        _check_width(instance, width, n_chains, learn_readouts)
    if patience is not None and not patience >= 1:
        raise ValueError(f"patience must be >= 1 (observations), got {patience!r}")
    options = Options(start, iterations, record_every, n_chains, seed, progress, checkpoint, max_seconds)
    settings = {
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "schedule": schedule,
        "learn_readouts": learn_readouts,
        # A schedule is laid out over the whole run.
        **({} if schedule == "constant" else {"iterations": iterations}),
        **({"held_out": held_out} if held_out else {}),
        **({"width": width} if width is not None else {}),
        **({"normalise_rows": True} if normalise_rows else {}),
    }

    def build(begin: Start) -> Chain:
        from .adam_chain import AdamChain

        return AdamChain(instance, begin, settings, patience, n_held)

    return learn(
        "adam",
        instance,
        options,
        build,
        is_sampler=False,
        uses_jax=True,
        learn_readouts=learn_readouts,
        width=width,
    )


def _check_width(instance: Instance, width: int, n_chains: int, learn_readouts: bool) -> None:
    if not (isinstance(width, (int, np.integer)) and not isinstance(width, bool) and width >= 1):
        raise ValueError(f"width must be a whole number >= 1 (hidden units of the student), got {width!r}")
    if not learn_readouts:
        raise ValueError("a student of a width of its own learns its readouts; leave learn_readouts out")
    # Weights, their gradient and the two moments of Adam, and what lies between the layers for a block.
    numbers = n_chains * width * (5 * instance.d + 2000)
    require_memory(numbers * np.dtype(instance.dtype).itemsize, f"a student of width {width}")

r"""Single-flip Metropolis for discrete weights, with Numba; parallel tempering on request.

A step proposes another value for one weight W_ij. It moves one row of pre-activations along one row of the
inputs,

.. math:: h_{i\mu} \to h_{i\mu} + \delta X_{j\mu}/\sqrt d, \qquad
          \lambda_\mu \to \lambda_\mu + v_i\,[\sigma(h') - \sigma(h)]/\sqrt k,

and is decided by the change of the log-likelihood, summed in single precision by blocks. Steps come unit by
unit, with the outputs held without the unit at work: a trial is one pass over the samples with one σ each, a
move a shorter one. An iteration is a sweep of kd steps. Pre-activations and outputs are recomputed from the
weights every few sweeps; what the running log-likelihood had then drifted from its value in double precision
is recorded as ``drift``.

Laws without atoms only, such as sparse Gaussian ones, propose a fresh draw from the prior.

A side channel shows every weight of the teacher through √snr W⁰ + Z, so weakly that it says nothing by
itself: it tells units apart that may otherwise change places, and its strength is meant to go to 0.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import explained
from ..ingredients.weights import Discrete, Rademacher
from ..networks.instance import Instance, require_memory
from .iterative import Options, Start, learn
from .progress import Progress
from .run import Run

if TYPE_CHECKING:
    from .numba_functions import LabelKernel

__all__ = ["metropolis"]

_REFRESH = 20  # sweeps between two computations from scratch, which cost about a quarter of a sweep each

_AT_A_TIME = 4_000_000_000  # samples visited between two looks at the keyboard: about a second
_WORTH_A_THREAD = 500_000  # samples visited in a sweep, 100 microseconds
_CACHE = 1_500_000  # bytes of rows at work together: about a core's own cache
_MIN_WIDTH = 4  # rows of a strip of inputs; with fewer, changing the unit costs more than reading the inputs


@explained
def metropolis(
    instance: Instance,
    *,
    start: str | np.ndarray = "teacher",
    iterations: int = 200,
    record_every: int | None = None,
    n_chains: int = 1,
    seed: int = 0,
    discard: float = 0.5,
    progress: Progress = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
    scan: str = "random",
    temperatures: tuple[float, ...] = (1.0,),
    side_snr: float = 0.0,
    until: str | None = None,
) -> Run:
    """Draws from the posterior of discrete weights; an iteration is a sweep of kd single-flip steps.

    Chains share the cores.

    Parameters
    ----------
    instance : Instance
        With discrete weights (any atoms); others are possible but slow: see :func:`~widthwise.learners.hmc`.
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
    scan : "random" or "sequential"
        Weights drawn with repetition (units in random order), or one after the other.
    temperatures : increasing, beginning with 1
        More than one asks for parallel tempering: the likelihood to the power 1/temperature, neighbours
        exchanged after each sweep. Only the draws at temperature 1 are observed.
    side_snr : float
        Strength of a side channel √side_snr W⁰ + Z, Z standard normal and a function of the instance, that
        the posterior knows beside the labels (at every temperature). 0 is none.
    until : "equilibrium"
        Stop when ``Run.equilibrium`` has nothing to object, after ``iterations`` at the latest (by default,
        all iterations are made). Surest with ``start="both"`` and two chains or more.

    Returns
    -------
    Run
        Warns ``NotAtEquilibrium`` when something speaks against equilibrium: see ``Run.equilibrium``.
    """
    if scan not in ("random", "sequential"):
        raise ValueError(f"scan must be 'random' or 'sequential', got {scan!r}")
    ladder = np.asarray(temperatures, dtype=float)
    if ladder.ndim != 1 or ladder.size == 0 or ladder[0] != 1 or not np.all(np.diff(ladder) > 0):
        raise ValueError(f"temperatures must increase from 1, got {tuple(temperatures)!r}")
    if not 0 <= side_snr < math.inf:
        raise ValueError(f"side_snr must be a finite number >= 0, got {side_snr!r}")
    options = Options(
        start, iterations, record_every, n_chains, seed, progress, checkpoint, max_seconds, discard, until
    )
    settings = {"scan": scan, "temperatures": ladder.tolist(), "side_snr": float(side_snr)}
    return learn("metropolis", instance, options, lambda begin: MetropolisChain(instance, begin, settings))


class MetropolisChain:
    """All replicas: for each chain one at each temperature, at first in that order."""

    readouts: np.ndarray | None = None
    patience: int | None = None

    def __init__(self, instance: Instance, start: Start, settings: dict[str, Any]) -> None:
        from .metropolis_kernel import build_sweep
        from .numba_functions import label_kernel, numba_activation

        self.instance, self.settings, weights = instance, settings, start.weights
        self.betas = 1 / np.asarray(settings["temperatures"])
        self.n_chains, n_temperatures = len(weights), self.betas.size
        n_replicas, size = self.n_chains * n_temperatures, np.dtype(instance.dtype).itemsize
        n_rows = instance.d + (instance.k + 2) * n_replicas
        require_memory(size * n_rows * instance.n, f"the pre-activations of {n_replicas} replicas")
        labels, outputs = instance.labels, instance.outputs(weights[0])
        kernel = label_kernel(instance.problem.channel, labels, outputs, instance.dtype)
        activation = numba_activation(instance.problem.activation, instance.dtype)
        sweep = build_sweep(activation, kernel.term, kernel.factor)
        inputs = aligned_rows(instance.d, instance.n, instance.dtype)
        inputs[:, : instance.n] = instance.inputs
        seeds = np.random.SeedSequence([start.seed, instance.seed, 1]).spawn(n_replicas + 1)
        side = side_field(instance, settings["side_snr"]), settings["side_snr"]
        self.replicas = [
            _Replica(instance, inputs, w, kernel, sweep, np.random.default_rng(seed), settings["scan"], side)
            for w, seed in zip(np.repeat(weights, n_temperatures, axis=0), seeds[1:], strict=True)
        ]
        self.rng = np.random.default_rng(seeds[0])
        # Replica at each temperature, for each chain: exchanges permute this, and move no weights.
        self.order = np.arange(n_replicas).reshape(self.n_chains, n_temperatures)
        self.pool = ThreadPoolExecutor(min(len(self.replicas), os.cpu_count() or 1))

    @property
    def weights(self) -> np.ndarray:
        return np.array([self.replicas[i].weights for i in self.order[:, 0]])

    def advance(self, n_iterations: int) -> dict[str, np.ndarray]:
        n_steps = self.instance.k * self.instance.d
        accepted, drift = np.zeros(self.n_chains), np.zeros(self.n_chains)
        is_tempered = self.betas.size > 1
        most = 1 if is_tempered else max(1, _AT_A_TIME // (n_steps * self.instance.n))
        n_done = 0
        while n_done < n_iterations:
            n_sweeps = min(most, _REFRESH - n_done % _REFRESH, n_iterations - n_done)
            beta = np.empty(len(self.replicas))
            beta[self.order] = self.betas
            counts = self._each(lambda i: self.replicas[i].sweeps(n_sweeps, beta[i]))  # noqa: B023
            accepted += counts[self.order[:, 0]]
            n_done += n_sweeps
            if is_tempered:
                self._exchange()
            if n_done % _REFRESH == 0 or n_done == n_iterations:
                drifts = self._each(lambda i: self.replicas[i].refresh())
                drift = np.maximum(drift, drifts[self.order[:, 0]])
        energy = -np.array([self.replicas[i].log_likelihood for i in self.order[:, 0]])
        return {"acceptance": accepted / (n_steps * n_iterations), "energy": energy, "drift": drift}

    def _each(self, task: Callable[[int], float]) -> np.ndarray:
        """The results of a task for every replica, on all cores if a sweep is worth the hand-over."""
        indices = range(len(self.replicas))
        if self.instance.k * self.instance.d * self.instance.n < _WORTH_A_THREAD:
            return np.array([task(i) for i in indices])
        jobs = [self.pool.submit(task, i) for i in indices]
        try:
            return np.array([job.result() for job in jobs])
        finally:
            wait(jobs)  # after an interrupt too: no thread stays at work on the weights

    def _exchange(self) -> None:
        """Offer an exchange to every pair of neighbouring temperatures, hottest first."""
        for chain in self.order:
            for hot in range(self.betas.size - 1, 0, -1):
                cold = hot - 1
                gain = self.replicas[chain[hot]].log_likelihood - self.replicas[chain[cold]].log_likelihood
                if math.log(self.rng.random()) < (self.betas[cold] - self.betas[hot]) * gain:
                    chain[[cold, hot]] = chain[[hot, cold]]

    def save(self) -> dict[str, np.ndarray]:
        states = [self.rng.bit_generator.state] + [r.rng.bit_generator.state for r in self.replicas]
        return {
            "weights": np.array([r.weights for r in self.replicas]),
            "order": self.order.copy(),
            "rng": np.array(json.dumps(states)),
        }

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        states = json.loads(str(saved["rng"]))
        self.order = saved["order"].copy()
        self.rng.bit_generator.state = states[0]
        for replica, w, state in zip(self.replicas, saved["weights"], states[1:], strict=True):
            replica.rng.bit_generator.state = state
            replica.weights[:] = w
            replica.refresh()


class _Replica:
    """One set of weights with its pre-activations and outputs, kept up to date step by step."""

    def __init__(
        self,
        instance: Instance,
        inputs: np.ndarray,
        weights: np.ndarray,
        kernel: LabelKernel,
        sweep: Callable[..., Any],
        rng: np.random.Generator,
        scan: str,
        side: tuple[np.ndarray, float],
    ) -> None:
        self.instance, self.inputs, self.side = instance, inputs, side
        self.kernel, self.sweep, self.rng, self.scan = kernel, sweep, rng, scan
        self.atoms, self.log_prior = _atoms(instance.problem.weights)
        self.weights = np.ascontiguousarray(weights)
        real = np.dtype(instance.dtype).type
        self.steps = (instance.readouts / math.sqrt(instance.k)).astype(real)
        self.scale = real(1 / math.sqrt(instance.d))
        self.hidden = aligned_rows(instance.k, instance.n, real)
        self.outputs = aligned_rows(1, instance.n, real)[0, : instance.n]
        self.index = np.zeros((1, 1), dtype=np.int64)
        self.log_likelihood = math.nan
        self.refresh()

    def refresh(self) -> float:
        """Compute everything from the weights; return how far the running log-likelihood had drifted."""
        instance = self.instance
        if self.atoms.size:
            self.index = _nearest_atom(self.atoms, self.weights)
        weights = self.weights.astype(self.hidden.dtype) * self.scale
        np.matmul(weights, instance.inputs, out=self.hidden[:, : instance.n])
        outputs = instance.outputs(self.weights)
        exact = float(np.sum(instance.problem.channel.log_likelihood(instance.labels, outputs)))
        self.outputs[:] = outputs - self.kernel.shift
        drift = abs(self.log_likelihood - exact) if math.isfinite(self.log_likelihood) else 0.0
        self.log_likelihood = exact
        return drift

    def sweeps(self, n_sweeps: int, beta: float) -> int:
        """Sweep at an inverse temperature; return the number of accepted steps."""
        k, d = self.weights.shape
        n_accepted = 0
        for _ in range(n_sweeps):
            sites = self._sites()
            thresholds = np.log(self.rng.random(k * d))
            if self.atoms.size:
                shifts = self.rng.integers(1, self.atoms.size, k * d)
                targets = np.empty(0)
            else:
                shifts = np.empty(0, dtype=np.int64)
                targets = self.instance.problem.weights.sample(self.rng, k * d)
            accepted, gain = self.sweep(
                self.weights,
                self.index,
                self.hidden,
                self.outputs,
                self.inputs,
                self.kernel.codes,
                self.kernel.parameters,
                self.kernel.table,
                self.steps,
                self.scale,
                sites,
                shifts,
                targets,
                self.atoms,
                self.log_prior,
                *self.side,
                thresholds,
                beta,
            )
            n_accepted += accepted
            self.log_likelihood += gain
        return n_accepted

    def _sites(self) -> np.ndarray:
        """The order of a sweep: all weights once, or as many drawn with repetition.

        Either way strip by strip of inputs, whose rows stay in the cache while unit after unit is tried
        along them. The order does not depend on the state, so every step keeps the posterior.
        """
        k, d = self.weights.shape
        i, j = np.divmod(np.arange(k * d), d)
        units, columns = np.arange(k), np.arange(d)
        if self.scan == "random":
            i, j = self.rng.integers(0, k, k * d), self.rng.integers(0, d, k * d)
            units, columns = self.rng.permutation(k), self.rng.permutation(d)
        width = _CACHE // (self.hidden.itemsize * self.instance.n) - 2  # beside a unit's row and the outputs
        strip = j // (width if width >= _MIN_WIDTH else d)
        order = (strip * k + i).astype(np.min_scalar_type(k * d))  # short keys are sorted in linear time
        return np.asarray((units[i] * d + columns[j])[np.argsort(order, kind="stable")])


def side_field(instance: Instance, side_snr: float) -> np.ndarray:
    """√snr times what the side channel shows: the factor of W in the logarithm of its likelihood."""
    rng = np.random.default_rng([instance.seed, *b"side"])
    noise = rng.standard_normal(instance.weights.shape)
    field: np.ndarray = math.sqrt(side_snr) * (math.sqrt(side_snr) * instance.weights + noise)
    return field


def aligned_rows(n_rows: int, n: int, dtype: Any) -> np.ndarray:
    """Rows of at least n zeros, each beginning at a multiple of 64 bytes (a step is 3 % quicker)."""
    per_line = 64 // np.dtype(dtype).itemsize
    width = per_line * math.ceil(n / per_line)
    room = np.zeros(n_rows * width + per_line, dtype)
    first = -room.ctypes.data % 64 // room.itemsize
    return room[first : first + n_rows * width].reshape(n_rows, width)


def _atoms(law: Any) -> tuple[np.ndarray, np.ndarray]:
    """Atoms of a discrete law with the logarithms of their probabilities; empty for the others."""
    if isinstance(law, Rademacher):
        return np.array([-1.0, 1.0]), np.log([0.5, 0.5])
    if isinstance(law, Discrete):
        return np.array(law.atoms), np.log(law.probabilities)
    return np.empty(0), np.empty(0)


def _nearest_atom(atoms: np.ndarray, weights: np.ndarray) -> np.ndarray:
    index: np.ndarray = np.argmin(np.abs(weights[..., None] - atoms), axis=-1)
    if not np.allclose(atoms[index], weights, rtol=0, atol=1e-6):
        raise ValueError(f"start must be made of atoms of the law of the weights, {atoms.tolist()}")
    return index

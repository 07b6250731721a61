r"""One draw of a problem at finite size: a teacher, its inputs and its labels.

.. math:: \lambda = \frac{1}{\sqrt k} v^\top \sigma(W x / \sqrt d), \qquad
          y \sim P_\mathrm{out}(\cdot \mid \lambda),

with k = round(γd) hidden units and n = round(αd²) samples. An instance is its description: the arrays are
drawn from one seed when first asked for, so that pickling one costs a few hundred bytes and another
process or machine draws the same numbers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._sizes import alpha_from
from ..ingredients.activations import Activation
from ..ingredients.inputs import Data, InputLaw, require_isotropic, resolve
from ..problem import Problem

__all__ = ["Instance", "check_counts", "free_memory", "outputs", "require_memory", "sample_instance"]

# One independent stream for each role: asking for more of one never changes another.
_STREAMS = ("weights", "readouts", "inputs", "labels", "test")
_LEAST_HELD_OUT, _MOST_HELD_OUT = 100, 10_000  # rows of data to test on
_CHUNK = 4_000_000  # pre-activations at a time in float64: 32 MB


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A teacher and its data; made by :func:`sample_instance` or :meth:`from_arrays`.

    ``weights`` (k × d) and ``readouts`` (k) are the teacher's, ``inputs`` is d × n (one sample a column:
    pre-activations are then one product with rows of contiguous samples) and ``labels`` has length n.
    """

    problem: Problem
    d: int
    alpha: float
    seed: int
    dtype: str = "float32"
    is_readout_drawn: bool = False
    _given: dict[str, np.ndarray] = field(default_factory=dict)
    _input_law: InputLaw | None = None

    def __repr__(self) -> str:
        return f"Instance({self.problem!r}, d={self.d}, alpha={self.alpha:g}, seed={self.seed})"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.problem, self.d, self.alpha, self.seed, self.dtype, self.is_readout_drawn, self._given)
        return Instance, (*fields, self._input_law)

    @classmethod
    def from_arrays(
        cls,
        problem: Problem,
        inputs: ArrayLike,
        labels: ArrayLike,
        *,
        weights: ArrayLike,
        readouts: ArrayLike,
        seed: int = 0,
        dtype: str = "float32",
    ) -> Instance:
        """An instance with finite arrays of one's own; ``inputs`` is d × n. It carries them when pickled."""
        _check_dtype(dtype)
        given = {
            "inputs": np.ascontiguousarray(_finite("inputs", inputs, dtype)),
            "labels": problem.channel.check_labels(labels),
            "weights": _finite("weights", weights),
            "readouts": _finite("readouts", readouts),
        }
        if given["inputs"].ndim != 2 or 0 in given["inputs"].shape or given["readouts"].ndim != 1:
            raise ValueError(
                "inputs must be a d × n array with d, n >= 1 (a sample in each column) and readouts a list; "
                f"got arrays of shape {given['inputs'].shape} and {given['readouts'].shape}"
            )
        d, n = given["inputs"].shape
        k = given["readouts"].size
        if given["labels"].shape != (n,) or given["weights"].shape != (k, d):
            raise ValueError(
                f"inputs of shape {(d, n)} and {k} readouts need labels of shape {(n,)} and weights of shape "
                f"{(k, d)}; got {given['labels'].shape} and {given['weights'].shape}"
            )
        return cls(problem, d, n / d**2, seed, dtype, False, given)

    def with_data(self, *, labels: ArrayLike, weights: ArrayLike) -> Instance:
        """The same inputs and readouts with another teacher and other labels."""
        made = Instance.from_arrays(
            self.problem,
            self.inputs,
            labels,
            weights=weights,
            readouts=self.readouts,
            seed=self.seed,
            dtype=self.dtype,
        )
        return replace(made, _input_law=self._input_law)

    @property
    def input_law(self) -> InputLaw:
        """Where the inputs come from: the problem, unless others were given."""
        return self.problem.inputs if self._input_law is None else self._input_law

    def require_white(self, what: str) -> None:
        """Refuse inputs that are not white, in the name of a method that is made for those."""
        require_isotropic(self.input_law, what)

    @property
    def k(self) -> int:
        """Number of hidden units."""
        return int(self._given["readouts"].size) if self._given else _n_units(self.problem, self.d)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self._given["labels"].size) if self._given else _n_samples(self.alpha, self.d)

    @cached_property
    def weights(self) -> np.ndarray:
        """Inner weights W⁰ of the teacher, k × d, float64."""
        if self._given:
            return self._given["weights"]
        return self.problem.weights.sample(self.rng("weights"), (self.k, self.d))

    @cached_property
    def readouts(self) -> np.ndarray:
        """Readouts v of the teacher: quantiles of P_v, or draws from it."""
        if self._given:
            return self._given["readouts"]
        if self.is_readout_drawn:
            return self.problem.readouts.sample(self.rng("readouts"), self.k)
        return self.problem.readouts.quantiles(self.k)

    @cached_property
    def inputs(self) -> np.ndarray:
        """Inputs X, d × n, in the precision of the instance."""
        if self._given:
            return self._given["inputs"]
        require_memory(self.d * self.n * np.dtype(self.dtype).itemsize, "the inputs")
        if self.input_law.rows is not None:
            return np.ascontiguousarray(self.input_law.rows[self._order[: self.n]].T, dtype=self.dtype)
        # Drawn in single precision whatever the dtype, so that precision never changes the data.
        x = self.input_law.sample(self.rng("inputs"), self.d, self.n)
        return x.astype(self.dtype, copy=False)

    @cached_property
    def _order(self) -> np.ndarray:
        """Order of the rows of data: the first are trained on, the last are tested on."""
        assert self.input_law.rows is not None
        return np.asarray(self.rng("inputs").permutation(len(self.input_law.rows)))

    @cached_property
    def held_out(self) -> np.ndarray | None:
        """Rows of data that are not trained on, d × at most 10,000; None for Gaussian inputs."""
        rows = self.input_law.rows
        if rows is None:
            return None
        kept = self._order[self.n :][-_MOST_HELD_OUT:]
        return np.ascontiguousarray(rows[kept].T, dtype=self.dtype)

    @cached_property
    def _root(self) -> np.ndarray | None:
        return self.input_law.root(self.d)

    def seen(self, weights: np.ndarray) -> np.ndarray:
        """WR with RRᵀ = C: products of its rows are the overlaps WCWᵀ that the inputs show."""
        w = np.asarray(weights, dtype=float)
        if self._root is None:
            return w
        return np.asarray(w * self._root if self._root.ndim == 1 else w @ self._root)

    @cached_property
    def labels(self) -> np.ndarray:
        """Labels y, float64."""
        if self._given:
            return self._given["labels"]
        return self.problem.channel.sample(self.rng("labels"), self.outputs(self.weights))

    def outputs(
        self, weights: np.ndarray, inputs: np.ndarray | None = None, readouts: np.ndarray | None = None
    ) -> np.ndarray:
        """λ of a network with the given inner weights, on the training inputs unless others are given."""
        x = self.inputs if inputs is None else inputs
        v = self.readouts if readouts is None else readouts
        return outputs(self.problem.activation, weights, v, x) + self.output_shift

    @cached_property
    def output_shift(self) -> float:
        """What is added to vᵀσ/√k so that λ has the mean that the channel states (0 if it states none).

        Additive channels do not care: the mean μ₀Σv/√k, known and of order √k, is left in λ and y alike.
        """
        channel = self.problem.channel
        if channel.is_additive or channel.shift is None:
            return 0.0
        return channel.centre - self.problem.hermite[0] * float(np.sum(self.readouts)) / math.sqrt(self.k)

    def test_set(self, n_test: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
        """Fresh inputs (d × n_test) and their labels, the same at every call; of data, what is held out."""
        inputs_rng, labels_rng = self.rng("test").spawn(2)
        if self.held_out is not None:
            x = self.held_out[:, -n_test:]
        else:
            x = self.input_law.sample(inputs_rng, self.d, n_test).astype(self.dtype, copy=False)
        return x, self.problem.channel.sample(labels_rng, self.outputs(self.weights, x))

    def rng(self, role: str) -> np.random.Generator:
        """The stream of random numbers for one role."""
        key = (_STREAMS.index(role),)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def to_dict(self) -> dict[str, Any]:
        """A description that JSON can carry; ``sample_instance(**description)`` reads it back."""
        if self._given:
            raise ValueError("an instance made from arrays has no description; keep the arrays instead")
        if self._input_law is not None:
            raise ValueError(
                "an instance on given inputs has no description; state them in the problem, or keep the table"
            )
        return {
            "problem": self.problem.to_dict(),
            "d": self.d,
            "alpha": self.alpha,
            "seed": self.seed,
            "dtype": self.dtype,
            "is_readout_drawn": self.is_readout_drawn,
        }


def sample_instance(
    problem: Problem | dict[str, Any],
    d: int | None = None,
    alpha: float | None = None,
    seed: int = 0,
    *,
    n: float | None = None,
    dtype: str = "float32",
    is_readout_drawn: bool = False,
    inputs: Any = None,
) -> Instance:
    """A teacher with k = round(γd) units and n = round(αd²) samples, all from one seed.

    Parameters
    ----------
    problem : Problem
    d : int
        Dimension of the inputs, large enough that k >= 1; not needed for data, which have their own.
    alpha : float
        Samples per d², > 0.
    n : float
        Number of samples in place of ``alpha`` = n/d².
    seed : int
        >= 0. Instances that differ in α only share their teacher.
    dtype : "float32" or "float64"
        Precision of the inputs, and of the learners that run on them.
    is_readout_drawn : bool
        Draw the readouts from P_v instead of laying out its quantiles.
    inputs : table, law or word
        Other inputs than the problem's: a table of data (one row a sample; centred and scaled to trace d), of
        which n rows are trained on and others are tested on, or a law of the inputs.
    """
    if isinstance(problem, dict):
        problem = Problem.from_dict(problem)
    given = None if inputs is None else _law_of(inputs)
    rows = (problem.inputs if given is None else given).rows
    if d is None and rows is not None:
        d = rows.shape[1]
    if not (isinstance(d, (int, np.integer)) and d >= 1):
        raise ValueError(f"d must be a whole number >= 1 (dimension of the inputs), got {d!r}")
    if n is not None or alpha is None:
        alpha = float(alpha_from(alpha, n, d))
    if not (alpha > 0 and math.isfinite(alpha)):
        raise ValueError(f"alpha must be > 0 and finite (samples per d^2), got {alpha!r}")
    if not (isinstance(seed, (int, np.integer)) and seed >= 0):
        raise ValueError(f"seed must be a whole number >= 0, got {seed!r}")
    _check_dtype(dtype)
    check_counts(problem, d, alpha)
    if rows is not None:
        _require_rows(rows, d, _n_samples(alpha, d))
    instance = Instance(problem, int(d), float(alpha), int(seed), dtype, is_readout_drawn, {}, given)
    require_memory(instance.d * instance.n * np.dtype(dtype).itemsize, "the inputs")
    return instance


def _law_of(inputs: Any) -> InputLaw:
    if isinstance(inputs, (str, InputLaw, Mapping)):
        return resolve(inputs)
    return Data(inputs)


def _require_rows(rows: np.ndarray, d: int, n: int) -> None:
    """Refuse a dimension that the data have not, and more samples than they hold."""
    if d != rows.shape[1]:
        raise ValueError(
            f"d = {d} is not the dimension of the data, which have {rows.shape[1]} columns; leave out d"
        )
    most = len(rows) - _LEAST_HELD_OUT
    if n > most:
        raise ValueError(
            f"n = {n} samples and {_LEAST_HELD_OUT} to test on are more than the {len(rows)} rows of the "
            f"data; take alpha <= {max(most, 0) / d**2:.3g}"
        )


def outputs(
    activation: Activation, weights: np.ndarray, readouts: np.ndarray, inputs: np.ndarray
) -> np.ndarray:
    """λ = vᵀσ(Wx/√d)/√k for each column x of ``inputs``, in float64 and a chunk of columns at a time."""
    k, d = weights.shape
    columns = max(1, _CHUNK // k)
    scaled = np.asarray(weights, dtype=float) / math.sqrt(d)
    parts = [
        readouts @ activation(scaled @ inputs[:, start : start + columns])
        for start in range(0, inputs.shape[1], columns)
    ]
    return np.concatenate(parts) / math.sqrt(k)


def require_memory(n_bytes: float, what: str) -> None:
    """Refuse, before anything is allocated, what would not fit into the memory that is free."""
    free = free_memory()
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{what} would need {n_bytes / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free; "
            "lower d or alpha, or use dtype='float32'"
        )


def free_memory() -> float | None:
    """Bytes that can be allocated without swapping, or None where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None


def _check_dtype(dtype: Any) -> None:
    if not (isinstance(dtype, str) and dtype in ("float32", "float64")):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")


def _finite(name: str, values: ArrayLike, dtype: str = "float64") -> np.ndarray:
    """An array of a precision in which all of it is finite."""
    try:
        with np.errstate(over="ignore"):  # said below
            array = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {type(values).__name__}") from None
    if array.size and not (math.isfinite(array.min()) and math.isfinite(array.max())):
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(
            f"{name} must be finite in {dtype}, but entry {place} is {array[place]}; remove such samples or "
            "replace what is missing"
        )
    return array


def check_counts(problem: Problem, d: int, alpha: float) -> None:
    """Refuse sizes without a hidden unit or without a sample."""
    if _n_units(problem, d) < 1:
        raise ValueError(
            f"d = {d} is too small for gamma = {problem.gamma:g}: k = gamma d rounds to no hidden unit; "
            f"take d >= {math.ceil(0.5 / problem.gamma) + 1}"
        )
    if _n_samples(alpha, d) < 1:
        raise ValueError(
            f"alpha = {alpha:g} at d = {d} leaves no sample: n = alpha d^2 rounds to 0; raise alpha"
        )


def _n_units(problem: Problem, d: int) -> int:
    return round(problem.gamma * d)


def _n_samples(alpha: float, d: int) -> int:
    return round(alpha * d**2)

r"""The two products over samples that a second-order regression needs, a block of samples at a time.

For inputs x_μ (taken about a centre) and a symmetric matrix Q these are

.. math:: x_\mu^\top Q\, x_\mu + b^\top x_\mu \quad\text{for every } \mu,
          \qquad \sum_\mu w_\mu x_\mu x_\mu^\top, \quad \sum_\mu w_\mu x_\mu ;

nothing of size n × d × d is ever made. Both cost half of a general matrix product. In the first Q may be
replaced by the triangle T (its diagonal, and twice what is above), which multiplies by the triangular
product of BLAS. The second is symmetric: with the weights shifted to be nonnegative it is ZᵀZ, Z = √(w + c)
x, minus c times the plain Gram matrix, known from the first pass. Blocks stay in the cache between their
uses, are multiplied in the precision of the data and added up in double precision.

Inputs may be an array, a ``numpy.memmap`` (read a block at a time) or a Dask array, whose products are
reductions over its chunks, wherever these live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["SampleBlocks", "is_dask"]

# Entries of a block: half a MB in single precision, which stays in the cache between its uses.
_BLOCK_SIZE = 2**17
_MIN_ROWS = 256
# A sum of more single-precision terms than this loses digits.
_MAX_ROWS = 8192


class SampleBlocks:
    """Inputs, one sample a row, seen about a ``centre`` and through two products.

    Parameters
    ----------
    inputs
        n × d, float32 or float64 (anything else is converted block by block): array, memmap or Dask array.
        The transpose of a d × n array is as good: no copy is made.
    centre : array of d, "mean" or None
        Subtracted from every sample; "mean" is the mean of the samples.

    """

    def __init__(self, inputs: Any, centre: Any = None) -> None:
        if len(inputs.shape) != 2 or 0 in inputs.shape:
            raise ValueError(f"inputs must be samples × features, at least one of each; got {inputs.shape}")
        self.inputs = inputs
        self.n_samples, self.n_features = map(int, inputs.shape)
        self.is_dask = is_dask(inputs)
        self.centre: np.ndarray | None = None
        if isinstance(centre, str):
            if centre != "mean":
                raise ValueError(f'centre must be an array, "mean" or None; got {centre!r}')
            self.centre = self._over_samples(_total) / self.n_samples
        elif centre is not None:
            self.centre = np.asarray(centre, dtype=float)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Σ (x - centre)(x - centre)ᵀ/n, float64."""
        return np.asarray(self._over_samples(_gram) / self.n_samples)

    def forms(self, matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """xᵀ Q x + bᵀ x for every sample, float64."""
        triangle = np.triu(matrix) + np.triu(matrix, 1)
        return np.asarray(self._over_samples(_forms, triangle, vector))

    def weighted_sum(self, weights: np.ndarray) -> np.ndarray:
        """Σ w x."""
        return np.asarray(self._over_samples(_weighted_vector, per_sample=(weights,)))

    def weighted_sums(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ w x xᵀ and Σ w x."""
        shift = max(0.0, -float(weights.min()))
        root = np.sqrt(weights + shift)
        gram, vector = self._over_samples(_weighted, per_sample=(root, weights))
        return gram - shift * self.n_samples * self.covariance, vector

    def _over_samples(
        self, function: Callable[..., Any], *shared: Any, per_sample: tuple[np.ndarray, ...] = ()
    ) -> Any:
        """The function of all samples: whole for an array, over the chunks of a Dask array."""
        if not self.is_dask:
            return function(self.inputs, self.centre, *shared, *per_sample)
        from dask.delayed import delayed

        inputs = self.inputs.rechunk({1: -1}) if len(self.inputs.chunks[1]) > 1 else self.inputs
        stops = np.cumsum(inputs.chunks[0])
        parts = [slice(stop - size, stop) for stop, size in zip(stops, inputs.chunks[0], strict=True)]
        work = delayed(function)
        tasks = [
            work(chunk, self.centre, *shared, *(w[part] for w in per_sample))
            for chunk, part in zip(inputs.to_delayed().ravel(), parts, strict=True)
        ]
        if function is _forms:
            return delayed(np.concatenate)(tasks).compute()
        # A tree of sums: what travels to the caller is one d × d matrix.
        while len(tasks) > 1:
            tasks = [delayed(_add)(tasks[i : i + 8]) for i in range(0, len(tasks), 8)]
        return tasks[0].compute()


def is_dask(inputs: Any) -> bool:
    """Whether the inputs are a Dask collection (told without importing Dask)."""
    return type(inputs).__module__.split(".")[0] == "dask"


def _add(results: list[Any]) -> Any:
    if isinstance(results[0], tuple):
        return tuple(sum(parts) for parts in zip(*results, strict=True))
    return sum(results)


class _Blocks:
    """Walks over samples; blocks and their products live in two rooms that are used again and again.

    Rooms are laid out as the samples are: by rows, or by columns for the transpose of a d × n array.
    """

    def __init__(self, inputs: np.ndarray, centre: np.ndarray | None) -> None:
        self.inputs, self.centre = inputs, centre
        self.n, self.d = inputs.shape
        self.rows = min(max(_MIN_ROWS, _BLOCK_SIZE // self.d), _MAX_ROWS, self.n)
        self.dtype = inputs.dtype if inputs.dtype in (np.float32, np.float64) else np.dtype(float)
        self.is_by_rows = inputs.strides[1] <= inputs.strides[0]
        self._rooms = np.empty((2, self.rows * self.d), dtype=self.dtype)

    def __iter__(self) -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, self.n, self.rows):
            part = slice(start, min(start + self.rows, self.n))
            block = np.asarray(self.inputs[part])
            if self.centre is not None:
                # The difference in double precision: features may be large beside their spread.
                room = self._room(0, len(block))
                block = np.subtract(block, self.centre, out=room, dtype=float, casting="same_kind")
            yield part, block.astype(self.dtype, copy=False)

    def scaled(self, x: np.ndarray, factor: np.ndarray | float) -> np.ndarray:
        """The block times a factor (for each sample or each feature), in the second room."""
        return np.asarray(np.multiply(x, factor, out=self._room(1, len(x))))

    def _room(self, which: int, n_rows: int) -> np.ndarray:
        flat = self._rooms[which, : n_rows * self.d]
        return flat.reshape(n_rows, self.d) if self.is_by_rows else flat.reshape(self.d, n_rows).T


class _GramSum:
    """Σ zzᵀ in double precision, from sums in that of the blocks over at most ``_MAX_ROWS`` samples."""

    def __init__(self, blocks: _Blocks) -> None:
        self._update = _blas("syrk", blocks.dtype)
        self._sum = np.zeros((blocks.d, blocks.d))
        self._part = np.zeros((blocks.d, blocks.d), dtype=blocks.dtype, order="F")
        self._n_rows = 0

    def add(self, z: np.ndarray) -> None:
        if self._n_rows + len(z) > _MAX_ROWS:
            self._flush()
        self._n_rows += len(z)
        a, transposed = (z.T, 0) if z.flags.c_contiguous else (z, 1)
        self._part = self._update(1.0, a, 1.0, self._part, trans=transposed, overwrite_c=1)

    def total(self) -> np.ndarray:
        """The sum; BLAS fills the upper triangle."""
        self._flush()
        return np.triu(self._sum) + np.triu(self._sum, 1).T

    def _flush(self) -> None:
        self._sum += self._part
        self._part[:] = 0
        self._n_rows = 0


def _total(inputs: np.ndarray, centre: None) -> np.ndarray:
    return np.asarray(sum(x.sum(axis=0, dtype=float) for _, x in _Blocks(inputs, centre)))


def _gram(inputs: np.ndarray, centre: np.ndarray | None) -> np.ndarray:
    blocks = _Blocks(inputs, centre)
    gram = _GramSum(blocks)
    for _, x in blocks:
        gram.add(blocks.scaled(x, 1.0))
    return gram.total()


def _forms(
    inputs: np.ndarray, centre: np.ndarray | None, triangle: np.ndarray, vector: np.ndarray
) -> np.ndarray:
    blocks = _Blocks(inputs, centre)
    a, b = np.asfortranarray(triangle, dtype=blocks.dtype), vector.astype(blocks.dtype)
    multiply = _blas("trmm", blocks.dtype)
    result = np.empty(blocks.n)
    diagonal = np.diag(a) if not np.triu(a, 1).any() else None
    for part, x in blocks:
        room = blocks.scaled(x, 1.0 if diagonal is None else diagonal)
        if diagonal is not None:  # no product is needed for a prior mean
            half = room
        elif blocks.is_by_rows:  # columns of the Fortran matrix that BLAS sees
            half = multiply(1.0, a, room.T, overwrite_b=1).T
        else:
            half = multiply(1.0, a, room, side=1, trans_a=1, overwrite_b=1)
        rows, columns = (half, x) if blocks.is_by_rows else (half.T, x.T)
        result[part] = np.einsum("ij,ij->i" if blocks.is_by_rows else "ji,ji->i", rows, columns)
        result[part] += x @ b
    return result


def _weighted_vector(inputs: np.ndarray, centre: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
    return np.asarray(sum(weights[part].astype(x.dtype) @ x for part, x in _Blocks(inputs, centre)))


def _weighted(
    inputs: np.ndarray, centre: np.ndarray | None, root: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    blocks = _Blocks(inputs, centre)
    gram, vector = _GramSum(blocks), np.zeros(blocks.d)
    for part, x in blocks:
        vector += weights[part].astype(x.dtype) @ x
        gram.add(blocks.scaled(x, root[part].astype(x.dtype)[:, None]))
    return gram.total(), vector


def _blas(name: str, dtype: np.dtype[Any]) -> Any:
    """A function of BLAS in single or double precision."""
    from scipy.linalg import blas  # imported here: it takes as long as all of this package

    return getattr(blas, ("s" if dtype == np.float32 else "d") + name)

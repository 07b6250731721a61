"""Inputs that are data: rows of a table, of a file, or of images that come with scikit-learn."""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._bad_value import BadValue
from .input_spectra import Gaussian, InputLaw

__all__ = ["Data", "FewRowsWarning", "centred", "from_data"]

Array = NDArray[np.float64]


class FewRowsWarning(UserWarning):
    """A covariance was measured from so few rows that its eigenvalues are spread by chance."""


class Data(InputLaw):
    """A table of data: one row a sample, one column an input; centred and scaled to trace d.

    Samples are its rows; the theory knows its covariance only (see ``assumption``).
    """

    rows: Array

    def __init__(self, rows: ArrayLike) -> None:
        self.rows = centred(rows)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def spec(self) -> str:
        raise ValueError("a table of data has no description; write it to a file and give file:PATH")

    @property
    def name(self) -> str:
        return f"table of {self.rows.shape[0]} × {self.rows.shape[1]}"

    @functools.cached_property
    def _gaussian(self) -> Gaussian:
        return _measured(self.rows)

    @property
    def eigenvalues(self) -> tuple[float, ...]:  # type: ignore[override]
        return self._gaussian.eigenvalues

    @property
    def probabilities(self) -> tuple[float, ...]:  # type: ignore[override]
        return self._gaussian.probabilities


def from_data(rows: ArrayLike) -> Gaussian:
    """Gaussian inputs with the covariance of a table of data: one row a sample, one column an input.

    Columns are centred and the covariance is scaled to mean eigenvalue 1, as :func:`centred` does.
    """
    x = centred(rows)
    n, d = x.shape
    if n < 10 * d:
        warnings.warn(
            f"a covariance of {d} inputs measured from {n} rows has eigenvalues that are spread by chance; "
            f"{10 * d} rows or more would settle them",
            FewRowsWarning,
            stacklevel=2,
        )
    return _measured(x)


def _measured(x: Array) -> Gaussian:
    e = np.linalg.eigvalsh(x.T @ x / len(x))
    e[e < 1e-12 * e[-1]] = 0.0  # rounding
    return Gaussian(tuple(e.tolist()), normalise=True)


def centred(rows: ArrayLike) -> Array:
    """Data with the mean of each column subtracted, scaled so that the squares have mean 1 (trace d)."""
    try:
        x = np.asarray(rows, dtype=float)
    except (TypeError, ValueError):
        raise BadValue("inputs", "{field} given as data must be a table of numbers") from None
    if x.ndim != 2 or x.shape[0] < 2 or x.shape[1] < 1:
        raise BadValue(
            "inputs",
            "{field} given as data must be a table with two rows or more (one row a sample, one column an "
            f"input), not an array of shape {x.shape}",
        )
    wrong = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if wrong.size:
        raise BadValue(
            "inputs",
            f"{{field}} given as data must be finite: row {wrong[0]} is not, one of {wrong.size}",
            remedy="leave these rows out, or fill them",
        )
    x = x - x.mean(axis=0)
    power = float(np.mean(x**2))
    if not power > 0:
        raise BadValue("inputs", "{field} given as data must vary: all rows are equal, and the trace is 0")
    return np.asarray(x / math.sqrt(power))

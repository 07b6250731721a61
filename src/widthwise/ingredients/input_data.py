"""Inputs that are data: rows of a table, of a file, or of images that come with scikit-learn."""

from __future__ import annotations

import functools
import hashlib
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .._bad_value import BadValue
from .._extras import MissingExtra, sentence
from .input_spectra import Gaussian, InputLaw

__all__ = [
    "Data",
    "Digits",
    "FewRowsWarning",
    "File",
    "Mnist",
    "Photographs",
    "blocks",
    "centred",
    "from_data",
]


class FewRowsWarning(UserWarning):
    """A covariance was measured from so few rows that its eigenvalues are spread by chance."""


class Data(InputLaw):
    """A table of data: one row a sample, one column an input; centred and scaled to trace d.

    Samples are its rows; the theory knows its covariance only (see ``assumption``).
    """

    is_data = True
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
    # Ten digits: what is below depends on the machine, and a law with other digits would be another law.
    return Gaussian(tuple(np.round(np.maximum(e, 0.0), 10).tolist()), normalise=True)


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


class _Known(InputLaw):
    """Data that a few words describe: loaded when they are first asked for, and then kept."""

    is_data = True

    def _load(self) -> Array:
        raise NotImplementedError

    @property
    def rows(self) -> Array:  # type: ignore[override]
        return _loaded(self)[0]

    @property
    def eigenvalues(self) -> tuple[float, ...]:  # type: ignore[override]
        return _loaded(self)[1].eigenvalues

    @property
    def probabilities(self) -> tuple[float, ...]:  # type: ignore[override]
        return _loaded(self)[1].probabilities


@functools.lru_cache(maxsize=4)
def _loaded(law: _Known) -> tuple[Array, Gaussian]:
    try:
        rows = centred(law._load())
    except ModuleNotFoundError as error:
        text = sentence(error, f"inputs {law.name!r}")
        if text is None:
            raise
        raise MissingExtra(text, name=error.name) from None
    return rows, _measured(rows)


@dataclass(frozen=True, repr=False)
class Digits(_Known):
    """The 1797 handwritten digits of 8 × 8 pixels that come with scikit-learn."""

    def _load(self) -> Array:
        from sklearn.datasets import load_digits

        return np.asarray(load_digits().data, dtype=float)


@dataclass(frozen=True, repr=False)
class Photographs(_Known):
    """Square patches of the two photographs that come with scikit-learn, in shades of grey.

    ``size`` is the side in pixels, 2 to 16: d = size²; patches begin at every second row and column of the
    photographs, 1.3·10⁵ in all. From each patch its own mean is
    subtracted, as is usual for patches of images: brightness would be one eigenvalue above all others.
    """

    size: float = 8

    def __post_init__(self) -> None:
        size = float(self.size)
        if not (size.is_integer() and 2 <= size <= 16):
            raise BadValue(
                "inputs", "{field}: patches of photographs have a side of 2 to 16 whole pixels", size
            )
        object.__setattr__(self, "size", int(size))

    def _load(self) -> Array:
        from sklearn.datasets import load_sample_images

        side = int(self.size)
        patches = [
            np.lib.stride_tricks.sliding_window_view(image.mean(axis=-1), (side, side))[::2, ::2]
            for image in load_sample_images().images
        ]
        rows = np.concatenate([patch.reshape(-1, side**2) for patch in patches])
        return np.asarray(rows - rows.mean(axis=1, keepdims=True))


@dataclass(frozen=True, repr=False)
class Mnist(_Known):
    """The 70,000 handwritten digits of MNIST, averaged to 12 × 12 pixels; loaded through the network once."""

    def _load(self) -> Array:
        from sklearn.datasets import fetch_openml

        try:
            found = fetch_openml("mnist_784", version=1, as_frame=False)
        except (OSError, ValueError) as error:
            raise BadValue(
                "inputs",
                f"{{field}} 'mnist' could not be loaded through the network ({error})",
                remedy="take digits or photographs, which need none, or file:PATH",
            ) from None
        return blocks(np.asarray(found.data, dtype=float).reshape(-1, 28, 28))


def blocks(images: Array) -> Array:
    """Images of 28 × 28 averaged to 12 × 12, over blocks of 4, 2, … 2, 4 rows and columns, one a row."""
    edges = np.concatenate([[0], np.arange(4, 25, 2)])
    sizes = np.diff(np.append(edges, 28))
    sums = np.add.reduceat(np.add.reduceat(images, edges, axis=1), edges, axis=2)
    return np.asarray((sums / np.outer(sizes, sizes)).reshape(len(images), -1))


@dataclass(frozen=True, repr=False)
class File(_Known):
    """A table of numbers in a file, .npy or .csv: one row a sample, one column an input.

    ``digest`` is that of the content when it was first read: results are not mixed with those of other data
    under the same name.
    """

    path: str
    digest: str = ""

    def __post_init__(self) -> None:
        path = Path(self.path)
        try:
            found = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        except OSError as error:
            reason = error.strerror or error
            raise BadValue("inputs", f"{{field}}: file {self.path!r} cannot be read: {reason}") from None
        if path.suffix not in (".npy", ".csv"):
            raise BadValue("inputs", "{field}: a file of data must end in .npy or .csv", self.path)
        if self.digest and self.digest != found:
            raise BadValue(
                "inputs",
                f"{{field}}: file {self.path!r} is not the one that was described: it has changed",
                remedy="leave out the digest to take it as it is now",
            )
        object.__setattr__(self, "path", str(self.path))
        object.__setattr__(self, "digest", found)

    @property
    def spec(self) -> dict[str, Any]:
        return {"kind": "file", "path": self.path, "digest": self.digest}

    @property
    def name(self) -> str:
        return Path(self.path).name

    def _load(self) -> Array:
        path = Path(self.path)
        try:
            if path.suffix == ".npy":
                return np.asarray(np.load(path, allow_pickle=False))
            return np.loadtxt(path, delimiter=",", ndmin=2)
        except (OSError, ValueError) as error:
            raise BadValue(
                "inputs", f"{{field}}: file {self.path!r} is no table of numbers: {error}"
            ) from None

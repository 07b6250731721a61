r"""Readout laws of a network with k features of its own, one after the other in importance.

A law of k numbers :math:`v_1, \dots, v_k` is the discrete law that has each with probability 1/k, scaled to
:math:`\sum_i v_i^2 = k`.  (Texts that write the network without its :math:`1/\sqrt k` have
:math:`\sum_i v_i^2 = 1`: their readouts are these over :math:`\sqrt k`.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array
from .discrete_readouts import Discrete, bad

__all__ = ["FEATURE_LAWS", "MOST_FEATURES", "Exponential", "Features", "Linear", "PowerLaw", "PowerLawLimit"]

MOST_FEATURES = 1_000_000
"""More would not fit into the memory of most computers once every one has its overlap."""

_N_PARTS = 900


class Features(Discrete):
    """Any k readouts, in the order given and scaled to second moment 1.

    A network of k units has exactly these. One of another width has their law laid out evenly: each of its
    units stands for a share of the features, with the root mean square of their readouts.
    """

    kind = "features"
    features: tuple[float, ...]

    def __init__(self, values: Sequence[float] | np.ndarray) -> None:
        try:
            v = np.atleast_1d(np.asarray(values, dtype=float))
        except (TypeError, ValueError):
            raise bad("{field}: features must be numbers", values) from None
        if v.ndim != 1 or v.size == 0:
            raise bad(f"{{field}}: features must be a list of at least one readout, got shape {v.shape}")
        _check_size(v.size)
        if not np.all(np.isfinite(v)):
            raise bad("{field}: features must be finite numbers, each the readout of one hidden unit")
        largest = float(np.max(np.abs(v)))
        if largest == 0:
            raise bad("{field}: features must not all be 0: nothing would reach the output")
        if not abs(np.mean(v**2) - 1) < 1e-13:  # else they are scaled already, and stay the same numbers
            v = v / largest
            v = v / math.sqrt(float(np.mean(v**2)))
        super().__init__(v, np.full(v.size, 1 / v.size))
        object.__setattr__(self, "features", tuple(v.tolist()))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.kind, self.features))

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self.spec == other.spec)

    @property
    def size(self) -> int:
        """k, the number of features."""
        return len(self.features)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.kind

    @property
    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": list(self.features)}

    def __repr__(self) -> str:
        return f"readouts.Features({list(self.features)!r})"

    def quantiles(self, size: int) -> Array:
        v = np.asarray(self.features)
        if size == v.size:
            return v
        v = v[np.argsort(-np.abs(v), kind="stable")]
        # Power up to a share of the features; its differences keep the second moment at 1.
        edges = np.linspace(0, 1, size + 1)
        total = np.interp(edges, np.linspace(0, 1, v.size + 1), np.append(0.0, np.cumsum(v**2)) / v.size)
        middle = np.minimum((0.5 * (edges[1:] + edges[:-1]) * v.size).astype(int), v.size - 1)
        sign = np.where(v[middle] < 0, -1.0, 1.0)
        values: Array = sign * np.sqrt(np.maximum(np.diff(total), 0.0) * size)
        return values


class _Profile(Features):
    """k readouts by a formula of one parameter."""

    parameter: str

    def __init__(self, value: float, size: float) -> None:
        object.__setattr__(self, self.parameter, _positive(self.kind, self.parameter, value))
        super().__init__(self._values(np.arange(_whole_size(size), dtype=float)))

    def _values(self, i: np.ndarray) -> np.ndarray:
        """Readouts of the features 0, 1, 2, ..."""
        raise NotImplementedError

    @cached_property
    def _hash(self) -> int:
        return hash((self.kind, getattr(self, self.parameter), self.size))

    @property
    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, self.parameter: getattr(self, self.parameter), "size": self.size}

    def __repr__(self) -> str:
        value = getattr(self, self.parameter)
        return f"readouts.{type(self).__name__}({self.parameter}={value!r}, size={self.size})"


class PowerLaw(_Profile):
    """v_i ∝ i^(-exponent), i = 1 ... size."""

    kind, parameter = "power-law", "exponent"
    exponent: float

    def __init__(self, exponent: float, size: float) -> None:
        super().__init__(exponent, size)

    def _values(self, i: np.ndarray) -> np.ndarray:
        return (i + 1) ** -self.exponent


class PowerLawLimit(Discrete):
    r"""What the law of k readouts i^(-exponent) tends to as k grows, for exponents below ½.

    .. math:: v = \sqrt{1 - 2\beta}\, u^{-\beta}, \qquad u \text{ uniform on } (0, 1).

    Atoms stand for 900 parts of even ratio down to u = 1e-12, with the mass and the power of each: errors
    come out to five digits. (From ½ on the largest features keep a finite share of the power, and k matters.)
    """

    exponent: float

    def __init__(self, exponent: float) -> None:
        value = _positive("power-law-limit", "exponent", exponent)
        if value >= 0.5:
            remedy = "give the number of features, as in power-law:1,100"
            raise bad("{field}: a power law has a limit for many features below exponent 1/2", value, remedy)
        edges = np.append(0.0, np.geomspace(1e-12, 1.0, _N_PARTS))
        mass = np.diff(edges)
        object.__setattr__(self, "exponent", value)
        super().__init__(self._sizes(edges), mass)

    def _sizes(self, edges: np.ndarray) -> np.ndarray:
        """Root mean square of v between neighbouring edges of u."""
        return np.sqrt(np.diff(edges ** (1 - 2 * self.exponent)) / np.diff(edges))

    def __hash__(self) -> int:
        return hash((type(self), self.exponent))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerLawLimit) and other.exponent == self.exponent

    @property
    def name(self) -> str:  # type: ignore[override]
        return "power-law-limit"

    @property
    def spec(self) -> dict[str, Any]:
        return {"kind": self.name, "exponent": self.exponent}

    def __repr__(self) -> str:
        return f"readouts.PowerLawLimit(exponent={self.exponent!r})"

    def quantiles(self, size: int) -> np.ndarray:
        return self._sizes(np.linspace(0, 1, size + 1))


class Exponential(_Profile):
    """v_i ∝ e^(-(i-1)/length), i = 1 ... size: each feature e^(-1/length) of the one before."""

    kind, parameter = "exponential", "length"
    length: float

    def __init__(self, length: float, size: float) -> None:
        super().__init__(length, size)

    def _values(self, i: np.ndarray) -> np.ndarray:
        return np.exp(-i / self.length)


class Linear(_Profile):
    """Evenly spaced readouts, the first ``ratio`` times the last."""

    kind, parameter = "linear", "ratio"
    ratio: float

    def __init__(self, ratio: float, size: float) -> None:
        super().__init__(ratio, size)

    def _values(self, i: np.ndarray) -> np.ndarray:
        return self.ratio + (1 - self.ratio) * i / max(i.size - 1, 1)


FEATURE_LAWS: dict[str, type[Discrete]] = {
    "power-law": PowerLaw,
    "power-law-limit": PowerLawLimit,
    "exponential": Exponential,
    "linear": Linear,
    "features": Features,
}
"""By the word that begins their description, as in ``power-law:1,100``."""


def _positive(kind: str, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise bad(f"{{field}}: the {name} of {kind} must be a number > 0", value) from None
    if not (number > 0 and math.isfinite(number)):
        raise bad(f"{{field}}: the {name} of {kind} must be > 0 and finite", number)
    return number


def _whole_size(size: Any) -> int:
    rule = "{field}: size must be a whole number >= 1 (features, k)"
    try:
        number = float(size)
    except (TypeError, ValueError):
        raise bad(rule, size) from None
    if not (number >= 1 and math.isfinite(number) and number == math.floor(number)):
        raise bad(rule, number)
    _check_size(number)
    return int(number)


def _check_size(size: float) -> None:
    if size > MOST_FEATURES:
        raise bad(
            f"{{field}}: there can be at most {MOST_FEATURES:g} features, whose overlaps must fit the memory",
            float(size),
            "take fewer",
        )

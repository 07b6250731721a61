"""Readout laws of finitely many values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._bad_value import BadValue, Remedy

__all__ = ["LEAST_READOUT", "NAMED_DISCRETE", "TOLERANCE", "Discrete", "Readouts", "bad"]

TOLERANCE = 1e-9
"""On sums of probabilities and on the second moment: digits a person types."""
LEAST_READOUT = 1e-30
"""Smaller readouts, at unit second moment, are told from 0 by no data that are computed."""
_ROUNDING = 1e-14  # of a sum of probabilities
_SAME, _FEW = 1e-7, 16  # difference of sizes that are one, relative, in a law of so many sizes at most


def bad(rule: str, value: Any = None, remedy: str | Remedy = "") -> BadValue:
    """What is wrong with readouts."""
    return BadValue("readouts", rule, value, remedy)


class Readouts:
    """A readout law. Discrete laws have atoms; continuous ones a density and closed forms."""

    name: str
    is_discrete: bool

    mean: float
    third_moment: float
    fourth_moment: float
    largest: float
    """max |v| over the support (inf when unbounded)."""

    @property
    def spec(self) -> str | dict[str, Any]:
        """What :func:`resolve` turns back into this law."""
        return self.name

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws."""
        raise NotImplementedError

    def quantiles(self, size: int) -> np.ndarray:
        """Readouts of ``size`` units laid out evenly: the law without its sampling noise."""
        raise NotImplementedError


@dataclass(frozen=True, init=False, repr=False)
class Discrete(Readouts):
    """Atoms of any sign, 0 included, with their probabilities.

    ``normalise=True`` divides the values by the root of their second moment; otherwise a
    second moment other than 1 is refused.
    """

    values: tuple[float, ...]
    probabilities: tuple[float, ...]

    is_discrete = True

    def __init__(self, values: Any, probabilities: Any, *, normalise: bool = False) -> None:
        v = np.atleast_1d(np.asarray(values, dtype=float))
        p = np.atleast_1d(np.asarray(probabilities, dtype=float))
        if v.ndim != 1 or v.shape != p.shape or v.size == 0:
            raise bad(
                f"{{field}} need as many values as probabilities, at least one; got {v.size} and {p.size}"
            )
        if not (np.all(np.isfinite(v)) and np.all(np.isfinite(p))):
            raise bad("{field}: values and probabilities must be finite numbers")
        if not np.all(p > 0):
            raise bad("{field}: probabilities must be > 0", float(p.min()), "leave out absent values")
        if abs(p.sum() - 1) > TOLERANCE:
            raise bad("{field}: probabilities must sum to 1", float(p.sum()), "divide them by their sum")
        if abs(p.sum() - 1) > _ROUNDING:  # else as given: a law made of its own repr is the same
            p = p / p.sum()
        largest = float(np.max(np.abs(v)))
        if largest == 0:
            raise bad("{field} must not all be 0: nothing would reach the output")
        if not 1e-150 < largest < 1e150 and normalise:  # squares beyond all doubles
            v, largest = v / largest, 1.0
        with np.errstate(over="ignore", under="ignore"):
            second = float(p @ v**2)
        if normalise:
            v = v / math.sqrt(second)
        elif abs(second - 1) > TOLERANCE:
            root = largest * math.sqrt(float(p @ (v / largest) ** 2))
            factor = f"multiply the values by {1 / root:.10g}"
            raise bad(
                "{field} must have second moment 1",
                second,
                Remedy(
                    f"{factor} (or pass normalise=True)",
                    f"{factor} (or give --normalise)",
                    f"{factor} (or write normalise = true)",
                    factor,
                ),
            )
        if np.any(tiny := (v != 0) & (np.abs(v) < LEAST_READOUT)):
            rule = f"{{field}}: values other than 0 must be at least {LEAST_READOUT:g} in size"
            raise bad(rule, float(v[tiny][0]), "write 0 for what is smaller, or take fewer features")
        v, where = np.unique(v, return_inverse=True)
        p = np.bincount(where.reshape(-1), weights=p)
        object.__setattr__(self, "values", tuple(float(x) for x in v))
        object.__setattr__(self, "probabilities", tuple(float(x) for x in p))

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        return next((name for name, law in NAMED_DISCRETE.items() if law == self), "discrete")

    @property
    def spec(self) -> str | dict[str, Any]:
        if self.name != "discrete":
            return self.name
        return {"values": list(self.values), "probabilities": list(self.probabilities)}

    def __repr__(self) -> str:
        return f"readouts.Discrete({self.values!r}, {self.probabilities!r})"

    def moment(self, order: int) -> float:
        """E v^order."""
        return float(np.dot(self.probabilities, np.power(self.values, order)))

    @cached_property
    def told_apart(self) -> tuple[float, ...]:
        """The values, with |v| that are nearly equal put to their common root mean square.

        Sizes within 1e-7 of each other are one: units that learn alike feel the square of the difference,
        which is rounding. In laws of many sizes each is a feature that is counted, and stays as it is.
        """
        v, p = np.array(self.values), np.array(self.probabilities)
        sizes = np.unique(np.abs(v[v != 0]))[::-1]
        if sizes.size > _FEW:
            return self.values
        while sizes.size:
            is_one = (np.abs(v) <= sizes[0]) & (np.abs(v) > sizes[0] * (1 - _SAME))
            if np.ptp(np.abs(v[is_one])) > 0:
                size = math.sqrt(float(p[is_one] @ v[is_one] ** 2 / p[is_one].sum()))
                v[is_one] = np.copysign(size, v[is_one])
            sizes = sizes[sizes <= sizes[0] * (1 - _SAME)]
        return tuple(v.tolist())

    @property
    def mean(self) -> float:  # type: ignore[override]
        # Exactly 0 for symmetric laws: rounding must not give them a spurious mean.
        mean = self.moment(1)
        return 0.0 if abs(mean) < 1e-15 else mean

    @property
    def third_moment(self) -> float:  # type: ignore[override]
        return self.moment(3)

    @property
    def fourth_moment(self) -> float:  # type: ignore[override]
        return self.moment(4)

    @property
    def largest(self) -> float:  # type: ignore[override]
        return float(np.max(np.abs(self.values)))

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.choice(self.values, size=size, p=self.probabilities)

    def quantiles(self, size: int) -> np.ndarray:
        edges = np.cumsum(self.probabilities)
        middle = (np.arange(size) + 0.5) / size
        index = np.minimum(np.searchsorted(edges, middle), len(self.values) - 1)
        return np.asarray(self.values)[index]


_ROOT5 = math.sqrt(5.0)
NAMED_DISCRETE: dict[str, Discrete] = {
    "homogeneous": Discrete((1.0,), (1.0,)),
    "rademacher": Discrete((-1.0, 1.0), (0.5, 0.5)),
    "four-point": Discrete((-3 / _ROOT5, -1 / _ROOT5, 1 / _ROOT5, 3 / _ROOT5), (0.25,) * 4),
}

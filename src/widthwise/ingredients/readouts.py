r"""Laws P_v of the readout weights: unit second moment, any mean and any sign.

A law enters the theory through averages over v and, in matrix denoising, through the
functions of a complex number z

.. math:: h(z) = E\,\frac{v^2}{z - v}, \qquad E\ln(1 - v/z),

closed forms for the continuous laws (no binning: bins make false gaps in the spectrum).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._arrays import Array, Complex
from .descriptions import Entry, Table
from .discrete_readouts import NAMED_DISCRETE, TOLERANCE, Discrete, Readouts, bad
from .features import FEATURE_LAWS, Exponential, Features, Linear, PowerLaw, PowerLawLimit
from .finite_laws import parts_of
from .gaussian_log_mean import gaussian_log_mean

__all__ = [
    "READOUTS",
    "Discrete",
    "Exponential",
    "Features",
    "Gaussian",
    "Linear",
    "PowerLaw",
    "PowerLawLimit",
    "Readouts",
    "Uniform",
    "resolve",
]


class _Continuous(Readouts):
    """A symmetric continuous law with closed forms of its transforms."""

    is_discrete = False
    mean = 0.0
    third_moment = 0.0
    cutoff: float
    """|v| beyond which the density is taken as 0 in quadratures (below 1e-17 in mass)."""

    def __repr__(self) -> str:
        return f"readouts.{type(self).__name__}()"

    def density(self, v: np.ndarray) -> np.ndarray:
        """p(v)."""
        raise NotImplementedError

    def power_below(self, v: np.ndarray) -> np.ndarray:
        """E[v²; |v| < v], accurate where it is small."""
        raise NotImplementedError

    def even_moment(self, order: int) -> float:
        """E v^(2 order)."""
        raise NotImplementedError

    def resolvent(self, z: np.ndarray) -> np.ndarray:
        """m(z) = E 1/(z - v) in the upper half plane."""
        raise NotImplementedError

    def resolvent_slope(self, z: np.ndarray, m: np.ndarray) -> np.ndarray:
        """m'(z), given m(z)."""
        raise NotImplementedError

    def weighted_resolvent(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """h(z) = E v²/(z - v) and h' for Im z >= 0.

        Near the support from the resolvent, h = z² m - z; far away, where this cancels,
        from the moment series Σ E[v^(2k+2)] / z^(2k+1).
        """
        (h0, h1), inner = self.split_resolvent(z)
        return h0 - inner * z, h1 - inner

    def split_resolvent(self, z: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """The same for |z| >= 1; for |z| < 1 of h + z = z² m, which is small where h is not.

        Also returns where the second holds.
        """
        z = np.asarray(z, dtype=complex)
        size = np.abs(z)
        inner, far = size < 1, size > self.cutoff
        if not far.any():
            return self._near(z, inner), inner
        h0, h1 = np.empty_like(z), np.empty_like(z)
        h0[~far], h1[~far] = self._near(z[~far], inner[~far])
        h0[far], h1[far] = self._far(z[far])[:2]
        return (h0, h1), inner

    def outer_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """h'(z) and h''(z) for real z beyond the support (for unbounded laws, the cutoff)."""
        raise NotImplementedError

    def log_potential(self, z: np.ndarray) -> np.ndarray:
        """E ln(1 - v/z) far from the support: -Σ E[v^(2k)] / (2k z^(2k))."""
        u = 1 / np.asarray(z, dtype=complex) ** 2
        total = np.zeros_like(u)
        for k in range(self._n_series, 0, -1):
            total = u * (total - self.even_moment(k) / (2 * k))
        return total

    _n_series: int

    def _near(self, z: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m = self.resolvent(z)
        zm, outer = z * m, ~inner
        h0, h1 = z * zm, 2 * zm + z * z * self.resolvent_slope(z, m)
        h0 -= outer * z
        h1 -= outer
        return h0, h1

    def _far(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        u = 1 / (z * z)
        h0, h1, h2 = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
        for k in range(self._n_series, -1, -1):
            moment = self.even_moment(k + 1)
            h0 = h0 * u + moment
            h1 = h1 * u - (2 * k + 1) * moment
            h2 = h2 * u + (2 * k + 1) * (2 * k + 2) * moment
        return h0 / z, h1 * u, h2 * u / z


@dataclass(frozen=True, repr=False)
class Gaussian(_Continuous):
    """v ~ N(0, 1): unbounded, so some unit is always learnt."""

    name = "gaussian"
    fourth_moment = 3.0
    largest = math.inf
    cutoff = 9.0
    _n_series = 30  # smallest term of the asymptotic series at |z| = 9: 4e-17

    def density(self, v: Array) -> Array:
        return np.exp(-0.5 * np.square(v)) / math.sqrt(2 * math.pi)

    def power_below(self, v: Array) -> Array:
        from scipy.special import gammainc

        share: Array = gammainc(1.5, 0.5 * np.square(v))
        return share

    def even_moment(self, order: int) -> float:
        return float(math.prod(range(1, 2 * order, 2)))

    def resolvent(self, z: Complex) -> Complex:
        from scipy.special import wofz

        value: Complex = -1j * math.sqrt(math.pi / 2) * wofz(z / math.sqrt(2))
        return value

    def resolvent_slope(self, z: Complex, m: Complex) -> Complex:
        return 1 - z * m  # Stein's identity

    def outer_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._far(z)[1:]

    def log_potential(self, z: np.ndarray) -> np.ndarray:
        z = np.asarray(z, dtype=complex)
        near = np.abs(z) <= self.cutoff
        result = np.empty_like(z)
        result[near] = gaussian_log_mean(z[near]) - np.log(z[near])
        result[~near] = super().log_potential(z[~near])
        return result

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.standard_normal(size)

    def quantiles(self, size: int) -> np.ndarray:
        from scipy.special import ndtri

        v = ndtri((np.arange(size) + 0.5) / size)
        return _of_unit_size(v)


def _of_unit_size(v: np.ndarray) -> np.ndarray:
    """Readouts scaled to (1/k) Σ v² = 1; the middle of a symmetric law, alone, is 0 and becomes 1."""
    size = math.sqrt(np.mean(v**2))
    return v / size if size > 0 else np.ones_like(v)


@dataclass(frozen=True, repr=False)
class Uniform(_Continuous):
    """v uniform on [-√3, √3]."""

    name = "uniform"
    fourth_moment = 9.0 / 5.0
    largest = math.sqrt(3.0)
    cutoff = 5.0
    _n_series = 20  # (3/25)^20 = 4e-19

    def density(self, v: np.ndarray) -> np.ndarray:
        return np.where(np.abs(v) <= self.largest, 1 / (2 * self.largest), 0.0)

    def power_below(self, v: Array) -> Array:
        return (np.minimum(v, self.largest) / self.largest) ** 3

    def even_moment(self, order: int) -> float:
        return 3.0**order / (2 * order + 1)

    def resolvent(self, z: np.ndarray) -> np.ndarray:
        edge = self.largest
        # Two logarithms, not the one of a quotient: their branch cut is the support itself.
        return (np.log(z + edge) - np.log(z - edge)) / (2 * edge)

    def resolvent_slope(self, z: Complex, m: Complex) -> Complex:
        return -1 / (z * z - 3.0)

    def outer_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        far = z > self.cutoff
        _, h1, h2 = self._far(np.where(far, z, self.cutoff))
        edge = self.largest
        x = np.where(far, 2 * edge, z)
        inverse = 1 / (x - edge) / (x + edge)
        m = np.log((x + edge) / (x - edge)) / (2 * edge)
        near1 = 2 * x * m - x * x * inverse - 1
        near2 = 2 * m - 4 * x * inverse + 2 * x**3 * inverse**2
        return np.where(far, h1, near1), np.where(far, h2, near2)

    def log_potential(self, z: np.ndarray) -> np.ndarray:
        z = np.asarray(z, dtype=complex)
        far = np.abs(z) > self.cutoff
        edge, x = self.largest, z[~far]
        primitive = (x + edge) * np.log(x + edge) - (x - edge) * np.log(x - edge)
        result = np.empty_like(z)
        result[~far] = primitive / (2 * edge) - 1 - np.log(x)
        result[far] = super().log_potential(z[far])
        return result

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.uniform(-self.largest, self.largest, size)

    def quantiles(self, size: int) -> np.ndarray:
        v = self.largest * (2 * (np.arange(size) + 0.5) / size - 1)
        return _of_unit_size(v)


_TABLE: Table[Readouts] = Table(
    "readouts",
    Readouts,
    {
        **{name: Entry(lambda law=law: law) for name, law in NAMED_DISCRETE.items()},
        "uniform": Entry(Uniform),
        "gaussian": Entry(Gaussian),
        **{name: Entry(law) for name, law in FEATURE_LAWS.items()},
        "discrete": Entry(Discrete, normalised=partial(Discrete, normalise=True), is_written=False),
    },
    from_values=lambda values, probabilities, normalise: _from_values(values, probabilities, normalise),
    from_scipy=lambda law: _from_scipy(law),
    unnamed_kind="discrete",
    other_forms=("values@probabilities such as -1,1@0.3,0.7", "values such as 1,-1"),
)
"""Where a law is added: a name and its constructor."""

READOUTS = tuple(name for name, entry in _TABLE.entries.items() if entry.is_written and not entry.required)
"""Names that :func:`resolve` knows; laws of k features have numbers besides."""

MOST_VALUES = 256
"""Distinct values of a list of readouts: each is a class of hidden units of its own."""

N_OF_SCIPY = 64
"""Values that stand for a continuous law of scipy.stats."""


def resolve(spec: Any, *, normalise: bool = False) -> Readouts:
    """The readout law that is meant.

    Parameters
    ----------
    spec
        A name of ``READOUTS``; ``"values@probabilities"``; a list or array of values, each as likely as the
        others (the readouts of a network at hand); a frozen law of scipy.stats; what ``law.spec`` gave; or
        a law. The normal and the uniform law of scipy.stats are taken exactly, other continuous ones as
        the means of 64 parts of equal probability.
    normalise : bool
        Divide values by the root of their second moment instead of refusing others than 1.
    """
    return _TABLE.read(spec, normalise=normalise)


def _from_values(values: Any, probabilities: Any, normalise: bool) -> Discrete:
    if probabilities is None:
        n = np.unique(values).size
        if n > MOST_VALUES:
            raise bad(
                f"{{field}} given as a list may have at most {MOST_VALUES} distinct values",
                n,
                f"group them, e.g. np.quantile(v, (np.arange({N_OF_SCIPY}) + 0.5)/{N_OF_SCIPY})",
            )
        probabilities = np.full(len(values), 1 / len(values))
    return Discrete(values, probabilities, normalise=normalise)


def _from_scipy(law: Any) -> Readouts:
    moments = float(law.mean()), float(law.var())
    if not np.all(np.isfinite(moments)):
        raise bad("{field} must have a finite second moment, which this law of scipy.stats has not")
    second = moments[0] ** 2 + moments[1]
    if abs(second - 1) > TOLERANCE:
        raise bad(
            "{field} must have second moment 1", second, f"multiply loc and scale by {second**-0.5:.10g}"
        )
    name = law.dist.name
    if name in ("norm", "uniform") and abs(moments[0]) < TOLERANCE:
        return Gaussian() if name == "norm" else Uniform()
    values, probabilities, _ = parts_of(law, N_OF_SCIPY)
    return Discrete(values, probabilities, normalise=True)

r"""Priors P_W of the inner weights: centred laws of unit variance, seen through  y = sqrt(snr) w0 + z.

``free_entropy`` is psi_{P_W} of Result 1 of arXiv:2505.24849,

    psi(snr) = E ln E_w exp(-snr w^2/2 + snr w0 w + sqrt(snr) z w),    psi(0) = 0,

and ``overlap`` is F = E[w0 <w>] = 2 psi', so that F(0) = 0, F'(0) = 1 and F increases to 1. All laws share
one set of methods; ``channel(snr)`` gives every quantity at the price of one.

>>> resolve("-1,0,1@0.125,0.75,0.125", normalise=True)
weights.Discrete((-2.0, 0.0, 2.0), (0.125, 0.75, 0.125))
"""

import abc
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .._bad_value import BadValue
from .descriptions import Described, Entry, Table
from .finite_laws import (
    ROUNDING,
    check_moments,
    checked_law,
    parts_of,
    positive_variances,
    set_fields,
    standardised,
    total_one,
)
from .scalar_channel import ChannelValues, as_snr, gaussian_channel, mixture_channel, uniform_channel

__all__ = [
    "Discrete",
    "Gaussian",
    "GaussianMixture",
    "Rademacher",
    "SparseGaussian",
    "Uniform",
    "WeightLaw",
    "resolve",
]

_SQRT3 = math.sqrt(3.0)


class WeightLaw(Described, abc.ABC):
    """A centred law of unit variance; its methods take an array of snr >= 0 and return one of its shape."""

    _module = "weights"
    is_discrete: bool = False
    is_symmetric: bool = True

    @property
    def entropy(self) -> float | None:
        """Entropy in nats of a discrete law, None for the others."""
        return None

    @abc.abstractmethod
    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Independent draws of the given shape."""

    def log_density(self, w: Any, xp: Any = np) -> Any:
        """ln P_W(w), in the arithmetic of ``xp`` (numpy or jax.numpy); a ValueError for a law with atoms.

        Constants are Python floats, so the precision is that of ``w``.
        """
        raise ValueError(f"{self!r} has atoms, hence no density; sample it with single flips (metropolis)")

    def channel(self, snr: ArrayLike) -> ChannelValues:
        """Free entropy, overlap, mmse, overlap slope and entropy deficit at once, as a named tuple."""
        x = as_snr(snr)
        values = self._channel(x.ravel())
        return ChannelValues(*(value.reshape(x.shape)[()] for value in values))

    def free_entropy(self, snr: ArrayLike) -> Array:
        """psi(snr) >= 0: snr/2 minus the mutual information of w and y."""
        return self.channel(snr).free_entropy

    def overlap(self, snr: ArrayLike) -> Array:
        """F = E[w0 <w>] = 2 psi', increasing from 0 to 1."""
        return self.channel(snr).overlap

    def mmse(self, snr: ArrayLike) -> Array:
        """E Var(w | y) = 1 - F, with relative accuracy however small it is."""
        return self.channel(snr).mmse

    def overlap_slope(self, snr: ArrayLike) -> Array:
        """F'(snr) = E[Var(w | y)^2], which is 1 at snr = 0."""
        return self.channel(snr).overlap_slope

    def entropy_deficit(self, snr: ArrayLike) -> Array:
        """psi - snr F/2 <= 0; decreases, to minus the entropy if the law is discrete, else without bound."""
        return self.channel(snr).entropy_deficit

    @abc.abstractmethod
    def _channel(self, x: Array) -> ChannelValues:
        """``channel`` at a flat array of valid snr."""


@dataclass(frozen=True, repr=False)
class Gaussian(WeightLaw):
    """Standard normal weights: F = snr/(1 + snr)."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        return rng.standard_normal(size)

    def log_density(self, w: Any, xp: Any = np) -> Any:
        return -w * w / 2 - math.log(2 * math.pi) / 2

    def _channel(self, x: Array) -> ChannelValues:
        return gaussian_channel(x)


@dataclass(frozen=True, repr=False)
class Rademacher(WeightLaw):
    """Weights +1 or -1 with equal probability."""

    is_discrete = True

    @property
    def entropy(self) -> float:
        return math.log(2)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        signs: np.ndarray = 2.0 * rng.integers(0, 2, size) - 1.0
        return signs

    def _channel(self, x: Array) -> ChannelValues:
        return mixture_channel((-1.0, 1.0), (0.0, 0.0), (0.5, 0.5))(x)


@dataclass(frozen=True, repr=False)
class Uniform(WeightLaw):
    """Weights uniform on [-sqrt(3), sqrt(3)]."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        return rng.uniform(-_SQRT3, _SQRT3, size)

    def log_density(self, w: Any, xp: Any = np) -> Any:
        return xp.where(xp.abs(w) <= _SQRT3, -math.log(2 * _SQRT3), -math.inf)

    def _channel(self, x: Array) -> ChannelValues:
        return uniform_channel(x)


@dataclass(frozen=True, repr=False)
class Discrete(WeightLaw):
    """Any discrete law of mean 0 and variance 1.

    Parameters
    ----------
    atoms, probabilities : sequences of one length
        Kept sorted by atom; equal atoms are merged and atoms of probability 0 dropped. Mean, variance and
        total probability may be off by 1e-9 (rounding), no more; ``Discrete.normalised`` shifts and rescales.
    """

    atoms: tuple[float, ...]
    probabilities: tuple[float, ...]

    is_discrete = True

    def __post_init__(self) -> None:
        atoms, probabilities = checked_law("atoms", self.atoms, self.probabilities)
        check_moments(atoms, 0 * atoms, probabilities, "weights.Discrete.normalised")
        atoms, probabilities = atoms[probabilities > 0], probabilities[probabilities > 0]
        values, label = np.unique(atoms, return_inverse=True)
        set_fields(self, atoms=values, probabilities=np.bincount(label, weights=probabilities))

    @classmethod
    def normalised(cls, atoms: ArrayLike, probabilities: ArrayLike) -> "Discrete":
        """The law with atoms shifted and rescaled to mean 0 and variance 1, probabilities to total 1."""
        values, _, weights = standardised("atoms", atoms, 0.0, probabilities)
        return cls(values, weights)

    @property
    def spec(self) -> dict[str, Any]:
        return {"kind": "discrete", "atoms": list(self.atoms), "probabilities": list(self.probabilities)}

    @property
    def name(self) -> str:
        return f"discrete({', '.join(f'{atom:.3g}' for atom in self.atoms)})"

    @property
    def entropy(self) -> float:
        p = np.array(self.probabilities)
        return float(-p @ np.log(p))

    @property
    def is_symmetric(self) -> bool:  # type: ignore[override]
        atoms, p = np.array(self.atoms), np.array(self.probabilities)
        return bool(
            np.allclose(atoms, -atoms[::-1], atol=ROUNDING) and np.allclose(p, p[::-1], atol=ROUNDING)
        )

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        return rng.choice(np.array(self.atoms), size=size, p=total_one(self.probabilities))

    def _channel(self, x: Array) -> ChannelValues:
        return mixture_channel(self.atoms, (0.0,) * len(self.atoms), self.probabilities)(x)


@dataclass(frozen=True, repr=False)
class SparseGaussian(WeightLaw):
    """Gauss–Bernoulli weights: 0 with probability 1 - density, else N(0, 1/density); density in (0, 1]."""

    density: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "density", float(self.density))
        if not 0 < self.density <= 1:
            raise ValueError(
                f"density must be in (0, 1] (the fraction of non-zero weights), got {self.density:g}"
            )

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        return np.where(
            rng.random(size) < self.density, rng.standard_normal(size) / np.sqrt(self.density), 0.0
        )

    def log_density(self, w: Any, xp: Any = np) -> Any:
        return Gaussian().log_density(w, xp) if self.density == 1 else super().log_density(w, xp)

    def _channel(self, x: Array) -> ChannelValues:
        if self.density == 1:
            return gaussian_channel(x)
        return mixture_channel((0.0, 0.0), (0.0, 1 / self.density), (1 - self.density, self.density))(x)


@dataclass(frozen=True, repr=False)
class GaussianMixture(WeightLaw):
    """Mixture of Gaussians of mean 0 and total variance 1; every component variance is > 0."""

    means: tuple[float, ...]
    variances: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        means, probabilities = checked_law("means", self.means, self.probabilities)
        variances = positive_variances(self.variances, means.size)
        kept = probabilities > 0
        set_fields(self, means=means[kept], variances=variances[kept], probabilities=probabilities[kept])
        check_moments(means, variances, probabilities, "weights.GaussianMixture.normalised")

    @classmethod
    def normalised(
        cls, means: ArrayLike, variances: ArrayLike, probabilities: ArrayLike
    ) -> "GaussianMixture":
        """The mixture shifted and rescaled to mean 0 and total variance 1, its probabilities to total 1."""
        variances = positive_variances(variances, np.size(means))
        return cls(*standardised("means", means, variances, probabilities))

    @property
    def spec(self) -> dict[str, Any]:
        fields = {"means": self.means, "variances": self.variances, "probabilities": self.probabilities}
        return {"kind": "gaussian-mixture"} | {key: list(value) for key, value in fields.items()}

    @property
    def name(self) -> str:
        return f"gaussian-mixture({', '.join(f'{mean:.3g}' for mean in self.means)})"

    @property
    def is_symmetric(self) -> bool:  # type: ignore[override]
        components = np.array([self.means, self.variances, self.probabilities])
        mirror = components * np.array([[-1.0], [1.0], [1.0]])
        here, there = (c[:, np.lexsort(np.round(c, 9))] for c in (components, mirror))
        return bool(np.allclose(here, there, atol=ROUNDING))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        label = rng.choice(len(self.means), size=size, p=total_one(self.probabilities))
        return np.array(self.means)[label] + np.sqrt(self.variances)[label] * rng.standard_normal(size)

    def log_density(self, w: Any, xp: Any = np) -> Any:
        components = zip(self.means, self.variances, self.probabilities, strict=True)
        terms = [
            math.log(p) - math.log(2 * math.pi * v) / 2 - (w - m) ** 2 / (2 * v) for m, v, p in components
        ]
        top = functools.reduce(xp.maximum, terms)
        return top + xp.log(sum(xp.exp(term - top) for term in terms))

    def _channel(self, x: Array) -> ChannelValues:
        return mixture_channel(self.means, self.variances, self.probabilities)(x)


_TABLE: Table[WeightLaw] = Table(
    "weights",
    WeightLaw,
    {
        "gaussian": Entry(Gaussian),
        "rademacher": Entry(Rademacher),
        "uniform": Entry(Uniform),
        "sparse-gaussian": Entry(SparseGaussian, aliases=("sparse",)),
        "discrete": Entry(Discrete, normalised=Discrete.normalised, is_written=False),
        "gaussian-mixture": Entry(GaussianMixture, normalised=GaussianMixture.normalised, is_written=False),
    },
    from_values=lambda values, probabilities, normalise: _from_values(values, probabilities, normalise),
    from_scipy=lambda law: _from_scipy(law),
    other_forms=("atoms@probabilities such as -2,0,2@0.125,0.75,0.125", "atoms such as 1,-1"),
)
"""Where a law is added: a name and its constructor."""

WEIGHTS = tuple(name for name, entry in _TABLE.entries.items() if entry.is_written)
"""Names that :func:`resolve` knows."""

MOST_ATOMS = 64
"""Distinct values of a list of weights that are taken as the atoms of a discrete law."""

N_PARTS = 32
"""Gaussians that stand for a continuous law of scipy.stats or for a list of many weights."""


def resolve(spec: Any, *, normalise: bool = False) -> WeightLaw:
    """The law that is meant.

    Parameters
    ----------
    spec
        ``"gaussian"``, ``"rademacher"``, ``"uniform"``, ``"sparse-gaussian:0.2"`` (or ``"sparse(0.2)"``),
        ``"atoms@probabilities"`` such as ``"-1,1@0.5,0.5"``, what ``law.spec`` gave, or a law. A list or
        array is a sample: a discrete law of as many atoms as it has distinct values, up to 64, and
        otherwise a mixture of 32 Gaussians with the means and variances of its 32 parts. So is a
        continuous law of scipy.stats, but for the normal and the uniform one, which are exact.
    normalise : bool
        Shift and rescale atoms or components to mean 0 and variance 1 instead of refusing others.
    """
    return _TABLE.read(spec, normalise=normalise)


def _from_values(values: Any, probabilities: Any, normalise: bool) -> WeightLaw:
    if probabilities is None:
        atoms, counts = np.unique(values, return_counts=True)
        if atoms.size > MOST_ATOMS:
            parts = np.array_split(np.sort(values), N_PARTS)
            means = tuple(part.mean() for part in parts)
            variances = tuple(max(part.var(), 1e-12) for part in parts)
            shares = tuple(part.size / len(values) for part in parts)
            make = GaussianMixture.normalised if normalise else GaussianMixture
            return make(means, variances, shares)
        values, probabilities = atoms, counts / counts.sum()
    return (Discrete.normalised if normalise else Discrete)(values, probabilities)


def _from_scipy(law: Any) -> WeightLaw:
    mean, variance = float(law.mean()), float(law.var())
    if not (math.isfinite(variance) and abs(mean) < ROUNDING and abs(variance - 1) < ROUNDING):
        raise BadValue(
            "weights",
            f"{{field}} must have mean 0 and variance 1, got mean {mean:.10g} and variance {variance:.10g}",
            remedy="choose loc and scale of the law of scipy.stats accordingly",
        )
    if law.dist.name in ("norm", "uniform"):
        return Gaussian() if law.dist.name == "norm" else Uniform()
    means, probabilities, variances = parts_of(law, N_PARTS)
    if hasattr(law, "pmf"):
        return Discrete.normalised(means, probabilities)
    return GaussianMixture.normalised(means, np.maximum(variances, 1e-12), probabilities)

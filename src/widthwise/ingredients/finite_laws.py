"""Checks of laws given by lists of numbers: values, variances and probabilities of a mixture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import Array
from .._bad_value import BadValue, Remedy

__all__ = [
    "ROUNDING",
    "check_moments",
    "checked_law",
    "parts_of",
    "positive_variances",
    "set_fields",
    "standardised",
    "total_one",
]

# Mean, variance - 1 and total probability - 1 up to this are taken for rounding of the input, and removed.
ROUNDING = 1e-9


def checked_law(
    what: str, values: ArrayLike, probabilities: ArrayLike, *, is_total_free: bool = False
) -> tuple[Array, Array]:
    """Values and probabilities as arrays, after checking everything but the moments."""
    x, p = (np.atleast_1d(np.asarray(a, dtype=float)) for a in (values, probabilities))
    if x.ndim != 1 or x.shape != p.shape or x.size == 0:
        raise ValueError(
            f"{what} and probabilities must be two lists of one length, got {x.size} and {p.size}"
        )
    if not (np.isfinite(x).all() and np.isfinite(p).all()):
        raise ValueError(f"{what} and probabilities must be finite, got {x.tolist()} and {p.tolist()}")
    if (p < 0).any():
        raise ValueError(f"probabilities must be >= 0, got {p.min():g}")
    if not is_total_free and abs(p.sum() - 1) > ROUNDING:
        raise ValueError(f"probabilities must sum to 1, got {p.sum():.10g}; divide them by their sum")
    if not p.sum() > 0:
        raise ValueError("probabilities must not all be 0")
    return x, p


def positive_variances(variances: ArrayLike, n_components: int) -> Array:
    v = np.atleast_1d(np.asarray(variances, dtype=float))
    if v.shape != (n_components,) or not np.all((v > 0) & np.isfinite(v)):
        raise ValueError(
            f"variances must be {n_components} numbers > 0, one for each mean, got {v.tolist()}; "
            "use weights.Discrete or weights.SparseGaussian for atoms"
        )
    return v


def check_moments(values: Array, variances: Array, p: Array, remedy: str) -> None:
    mean = values @ p
    variance = ((values - mean) ** 2 + variances) @ p
    if not variance > ROUNDING:
        raise BadValue(
            "weights",
            f"{{field}} must have mean 0 and variance 1, got mean {mean:.10g} and variance 0",
            remedy="give two different values or more",
        )
    if abs(mean) > ROUNDING or abs(variance - 1) > ROUNDING:
        steps = f"subtract the mean and divide by {np.sqrt(variance):.10g}"
        raise BadValue(
            "weights",
            f"{{field}} must have mean 0 and variance 1, got mean {mean:.10g} and variance {variance:.10g}",
            remedy=Remedy(
                f"{steps}, or use {remedy}(...)",
                f"{steps}, or give --normalise",
                f"{steps}, or write normalise = true",
                steps,
            ),
        )


def standardised(
    what: str, values: ArrayLike, variances: ArrayLike, probabilities: ArrayLike
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Values, variances and probabilities after the shift and the two rescalings, as tuples."""
    x, p = checked_law(what, values, probabilities, is_total_free=True)
    p = p / p.sum()
    x = x - x[np.argmax(p)]  # exact: values that nearly agree would lose all digits to the rounding of a mean
    x = x - x @ p
    v = np.broadcast_to(np.asarray(variances, dtype=float), x.shape)
    total = (x**2 + v) @ p
    if not total > 0:
        raise ValueError(f"a law of variance {total:g} cannot be rescaled to variance 1")
    return tuple((x / np.sqrt(total)).tolist()), tuple((v / total).tolist()), tuple(p.tolist())


def parts_of(law: Any, n: int) -> tuple[Array, Array, Array]:
    """Means, probabilities and variances of n parts of equal probability of a law of scipy.stats.

    The values themselves, if it is discrete.
    """
    if hasattr(law, "pmf"):
        low, high = law.ppf(1e-13), law.ppf(1 - 1e-13)
        values = np.arange(low, high + 1)
        shares = law.pmf(values)
        kept = shares > 0
        return values[kept], shares[kept] / shares[kept].sum(), np.zeros(int(kept.sum()))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    share = (np.arange(n)[:, None] + 0.5 * (1 + nodes)) / n  # of each part, in the order of the law
    x = law.ppf(share)
    mean = 0.5 * x @ weights
    variance = 0.5 * (x - mean[:, None]) ** 2 @ weights
    return mean, np.full(n, 1 / n), variance


def total_one(probabilities: Sequence[float]) -> Array:
    p = np.array(probabilities)
    shares: Array = p / p.sum()
    return shares


def set_fields(law: Any, **fields: NDArray[Any]) -> None:
    """Store arrays as tuples of floats in a frozen law, so that it can be hashed, compared and printed."""
    for key, value in fields.items():
        object.__setattr__(law, key, tuple(value.tolist()))

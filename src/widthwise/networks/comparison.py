r"""Measured beside predicted: means over instances, their standard errors, and one verdict.

Means of n instances scatter about the truth as Student's t says, not as the normal law does: with two
instances the standard error is itself known so badly that the truth lies further than 3 of them away one time
in five. An interval that misses the truth with probability ``LEVEL`` is

.. math:: \bar x \pm t_\nu(1 - \mathrm{LEVEL}/2)\, s/\sqrt n, \qquad \nu = n - 1,

which for n = 2 is 64 standard errors wide on each side. Points that share their relative scatter s, as the α
of one learner at one d usually do, are pooled: s from all of them, with ν = Σ(n_i - 1). The prediction is for
d → ∞, so a difference that is real may still be small; the verdict tells the two apart.

=========== =================================== ==================================
verdict     the interval                        the difference
=========== =================================== ==================================
agrees      holds the prediction, and is narrow
undecided   holds it, but is wide
close       does not hold it                    at most ``CLOSE`` of the scale
differs     does not hold it                    larger
=========== =================================== ==================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from ..theory import learning_curve

__all__ = [
    "CLOSE",
    "LEVEL",
    "NARROW",
    "Mean",
    "counted",
    "interval",
    "mean_of",
    "pooled",
    "predicted_branch",
    "prediction",
    "scale_of",
    "verdict",
]

LEVEL = 0.01
"""How often an interval misses the truth."""
CLOSE = 0.1
"""Differences up to this fraction of the scale are called close: what a small d does."""
NARROW = 0.25
"""An interval reaching no further than this fraction of the scale to each side is narrow."""

FLOOR = 0.01
"""Errors below this fraction of the error without data are compared as if they were that large."""

_VERDICTS = ("agrees", "last digit", "undecided", "close", "differs", "not predicted", "not measured")
_UNLIKE = 0.01  # probability below which the scatter of several points is not taken as shared


@dataclass(frozen=True)
class Mean:
    """Mean of independent measurements."""

    value: float
    standard_error: float
    """NaN where nothing is known of the scatter."""
    n: int
    degrees: float
    """Degrees of freedom of the standard error: n - 1 for n instances, infinity for one that is known."""

    @classmethod
    def from_std(cls, value: float, std: float, n: int) -> Mean:
        """From a standard deviation that divides by n, as published ones do."""
        return cls(value, std / math.sqrt(n - 1) if n > 1 else math.nan, n, n - 1)

    def deviation(self, predicted: float) -> float:
        """(mean - predicted) in standard errors; NaN where these are not known or 0."""
        return (self.value - predicted) / self.standard_error if self.standard_error > 0 else math.nan


def mean_of(values: ArrayLike) -> Mean:
    """Mean of the values that are numbers, and its standard error (NaN for fewer than two)."""
    kept = np.asarray(values, dtype=float).ravel()
    kept = kept[np.isfinite(kept)]
    if kept.size < 2:
        return Mean(float(kept[0]) if kept.size else math.nan, math.nan, kept.size, 0)
    error = float(kept.std(ddof=1)) / math.sqrt(kept.size)
    return Mean(float(kept.mean()), error, kept.size, kept.size - 1)


def pooled(groups: Sequence[ArrayLike], scales: ArrayLike) -> list[Mean]:
    """Means of several points whose scatter is in proportion to ``scales``, with the standard error of all.

    Where Bartlett's test finds that the scatter is not in that proportion, each point keeps its own.
    """
    own = [mean_of(values) for values in groups]
    scale = np.abs(np.broadcast_to(np.asarray(scales, dtype=float), len(own)))
    degrees = np.array([one.degrees for one in own])
    spread = np.array([one.standard_error * math.sqrt(one.n) for one in own]) / np.where(
        scale > 0, scale, np.nan
    )
    known = (degrees > 0) & np.isfinite(spread)
    total = float(degrees[known].sum())
    if known.sum() < 2 or not _is_shared(spread[known] ** 2, degrees[known]):
        return own
    shared = math.sqrt(float(degrees[known] @ spread[known] ** 2) / total)
    return [
        Mean(one.value, shared * float(at) / math.sqrt(one.n), one.n, total) if one.n and at > 0 else one
        for one, at in zip(own, scale, strict=True)
    ]


def interval(mean: Mean, level: float = LEVEL) -> float:
    """How far the confidence interval reaches to each side of the mean; infinite where nothing is known."""
    from scipy.special import ndtri, stdtrit

    if not (math.isfinite(mean.standard_error) and mean.degrees > 0):
        return math.inf
    quantile = ndtri(1 - level / 2) if math.isinf(mean.degrees) else stdtrit(mean.degrees, 1 - level / 2)
    return float(quantile) * mean.standard_error


def verdict(mean: Mean, predicted: float, scale: float | None = None) -> str:
    """One of the words of the table above; "not predicted" or "not measured" where that number is NaN.

    ``scale`` is what differences are fractions of: the size of the prediction unless given. Without a
    standard error a difference within ``CLOSE`` is close, and a larger one undecided.
    """
    if math.isnan(predicted):
        return "not predicted"
    if math.isnan(mean.value):
        return "not measured"
    size = abs(predicted) if scale is None else scale
    difference, reach = abs(mean.value - predicted), interval(mean)
    if difference > reach:
        return "close" if difference <= CLOSE * size else "differs"
    if math.isinf(reach):
        return "close" if difference <= CLOSE * size else "undecided"
    return "agrees" if reach <= NARROW * size else "undecided"


def counted(verdicts: Iterable[str]) -> str:
    """``17 agree, 1 differs``, in the order of the table above."""
    found = list(verdicts)
    order = dict.fromkeys([*_VERDICTS, *found])
    several = {"agrees": "agree", "differs": "differ"}
    words = [(found.count(one), one) for one in order if one in found]
    return ", ".join(f"{n} {one if n == 1 else several.get(one, one)}" for n, one in words)


def scale_of(problem: Problem, quantity: str, predicted: float) -> float:
    """What differences are fractions of: 1 for an overlap, else the prediction, if anything is left of it."""
    if "overlap" in quantity:
        return 1.0
    without_data = 0.5 * problem.hermite[2] ** 2 + float(problem.activation.tail_kernel(1.0))
    return max(abs(predicted), FLOOR * without_data)


def predicted_branch(learner: str) -> str:
    """The branch of the theory that a learner is expected on, if nothing holds it up."""
    return "universal" if learner == "gamp_rie" else "equilibrium"


def prediction(problem: Problem, alphas: ArrayLike, branch: str, quantity: str) -> np.ndarray:
    """The quantity along a branch; NaN where there is none."""
    curve = learning_curve(problem, np.asarray(alphas, dtype=float), branch)
    return np.array([getattr(point, quantity) if point.is_converged else math.nan for point in curve])


def _is_shared(variances: np.ndarray, degrees: np.ndarray) -> bool:
    """Bartlett's test of equal variances."""
    from scipy.special import chdtrc

    if not (variances > 0).all():
        return not (variances > 0).any()
    total, k = degrees.sum(), variances.size
    statistic: Any = total * math.log(degrees @ variances / total) - degrees @ np.log(variances)
    statistic /= 1 + ((1 / degrees).sum() - 1 / total) / (3 * (k - 1))
    return bool(chdtrc(k - 1, max(0.0, float(statistic))) > _UNLIKE)

r"""How a time grows with d when some runs never got there: censored likelihoods and their comparison.

The time of an instance is

.. math:: \ln t = \ln t^*(d) + s\,\epsilon, \qquad t^*(d) = e^{ad + b} \ \text{or}\ a d^b,

with ε standard normal (log-normal times) or the logarithm of an exponential variable (Weibull times). A run
that had not crossed when it ended after T iterations says that t > T, and enters the likelihood as P(t > T):
it is neither 0 nor dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import log_ndtr

__all__ = ["LAWS", "Times", "TimeFit", "bootstrap", "chi_square", "fit_times"]

_LEAST_SPREAD = 1e-3  # of ln t: a law may go through few times exactly, and its likelihood without end

LAWS = ("exponential", "power")
"""t*(d) = exp(a d + b), and t*(d) = a d^b."""

DISTRIBUTIONS = ("lognormal", "weibull")


@dataclass(frozen=True)
class Times:
    """Times of instances: ``time`` is when the run crossed, or ended without crossing (``is_censored``)."""

    d: np.ndarray
    time: np.ndarray
    is_censored: np.ndarray

    @classmethod
    def of(cls, d: ArrayLike, time: ArrayLike, is_censored: ArrayLike | None = None) -> Times:
        """Checked arrays; without ``is_censored`` all runs crossed."""
        sizes, times = np.atleast_1d(np.asarray(d, float)), np.atleast_1d(np.asarray(time, float))
        cut = (
            np.zeros(times.shape, bool)
            if is_censored is None
            else np.atleast_1d(np.asarray(is_censored, bool))
        )
        if not (sizes.shape == times.shape == cut.shape and sizes.ndim == 1):
            raise ValueError(
                f"d, time and is_censored must have one length; got {sizes.shape}, {times.shape}"
            )
        if not (np.isfinite(times).all() and (times > 0).all()):
            raise ValueError(
                "times must be > 0 and finite; give a run that never crossed as censored, at its end"
            )
        return cls(sizes, times, cut)

    def resampled(self, rng: np.random.Generator) -> Times:
        """Instances drawn with repetition, within each d."""
        chosen = np.concatenate(
            [rng.choice(np.flatnonzero(self.d == d), np.sum(self.d == d)) for d in np.unique(self.d)]
        )
        return Times(self.d[chosen], self.time[chosen], self.is_censored[chosen])


@dataclass(frozen=True)
class TimeFit:
    """A law fitted to times."""

    law: str
    a: float
    b: float
    spread: float
    """s, the standard deviation of ln t at given d (its scale, for Weibull times)."""
    log_likelihood: float
    distribution: str = "lognormal"

    @property
    def aic(self) -> float:
        """2·3 - 2 ln L: three parameters."""
        return 6.0 - 2.0 * self.log_likelihood

    def __call__(self, d: ArrayLike) -> np.ndarray:
        """t*(d): the median of log-normal times, the 63 % quantile of Weibull ones."""
        return law_value(self.law, self.a, self.b, d)

    @property
    def exponent(self) -> float:
        """What says how fast it grows: a of exp(ad + b), b of a d^b."""
        return self.a if self.law == "exponential" else self.b


def law_value(law: str, a: float, b: float, d: ArrayLike) -> np.ndarray:
    """exp(ad + b) or a d^b."""
    d = np.asarray(d, dtype=float)
    return np.exp(a * d + b) if law == "exponential" else a * d**b


def chi_square(d: ArrayLike, mean: ArrayLike, std: ArrayLike, law: str) -> tuple[float, float, float]:
    """a, b and χ² of a law, as in the tables of the paper.

    The recipe is inferred, not stated there: of those tried, the one that gives the printed values of its HMC
    table. The logarithm of the mean time is fitted by unweighted least squares, and χ² = Σ ((mean - t*)/std)²
    with std over instances (not the standard error of their mean).
    """
    d, mean, std = (np.asarray(values, dtype=float) for values in (d, mean, std))
    slope, start = np.polyfit(_abscissa(law, d), np.log(mean), 1)
    a, b = (slope, start) if law == "exponential" else (math.exp(start), slope)
    return float(a), float(b), float(np.sum(((mean - law_value(law, a, b, d)) / std) ** 2))


def fit_times(times: Times, law: str, distribution: str = "lognormal") -> TimeFit:
    """Maximum of the censored likelihood."""
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"unknown distribution {distribution!r}; choose from {', '.join(DISTRIBUTIONS)}")
    if np.unique(times.d[~times.is_censored]).size < 2:
        raise ValueError(
            "a law needs runs that crossed at two values of d at least; run longer, or at smaller d"
        )
    x, y = _abscissa(law, times.d), np.log(times.time)
    shift, scale = x.mean(), x.std()
    u = (x - shift) / scale  # so that slope and intercept are of one size and nearly independent
    slope, start = np.polyfit(u, y, 1)
    spread = max(float(np.std(y - slope * u - start)), _LEAST_SPREAD)
    if distribution == "lognormal" and not times.is_censored.any():  # least squares is the answer
        log_likelihood = -y.size * (math.log(spread) + 0.5 + 0.5 * math.log(2 * math.pi)) - float(y.sum())
        return _in_d(law, slope, start, shift, scale, spread, log_likelihood, distribution)

    def cost(parameters: np.ndarray) -> float:
        slope, start = parameters[:2]
        log_spread = max(parameters[2], math.log(_LEAST_SPREAD))
        e = (y - slope * u - start) * math.exp(-log_spread)
        if distribution == "lognormal":
            crossed, lasting = -0.5 * e**2 - 0.5 * math.log(2 * math.pi), log_ndtr(-e)
        else:
            grown = np.exp(np.minimum(e, 700.0))
            crossed, lasting = e - grown, -grown
        return -float(np.sum(np.where(times.is_censored, lasting, crossed - log_spread - y)))

    best = minimize(cost, [slope, start, math.log(spread)], method="BFGS")
    if not best.success:  # a flat end of the line search: the simplex settles it
        best = minimize(cost, best.x, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    slope, start, log_spread = best.x
    spread = max(math.exp(log_spread), _LEAST_SPREAD)
    return _in_d(law, slope, start, shift, scale, spread, -float(best.fun), distribution)


def _in_d(
    law: str,
    slope: float,
    start: float,
    shift: float,
    scale: float,
    spread: float,
    log_likelihood: float,
    distribution: str,
) -> TimeFit:
    """The fit ln t* = slope (x - shift)/scale + start in terms of a and b."""
    slope, start = slope / scale, start - slope * shift / scale
    a, b = (slope, start) if law == "exponential" else (math.exp(start), slope)
    return TimeFit(law, float(a), float(b), spread, log_likelihood, distribution)


def bootstrap(
    times: Times, *, n_samples: int = 400, seed: int = 0, level: float = 0.95, distribution: str = "lognormal"
) -> dict[str, dict[str, float]]:
    """Confidence intervals of both laws, from instances drawn again within each d.

    By law: ``low`` and ``high`` of the exponent, and ``preferred``, the share of samples in which this law
    has the higher likelihood.
    """
    rng = np.random.default_rng(seed)
    exponents: dict[str, list[float]] = {law: [] for law in LAWS}
    n_preferred = dict.fromkeys(LAWS, 0)
    for _ in range(n_samples):
        sample = times.resampled(rng)
        try:
            fits = {law: fit_times(sample, law, distribution) for law in LAWS}
        except ValueError:  # all that crossed was left out
            continue
        for law, fit in fits.items():
            exponents[law].append(fit.exponent)
        n_preferred[max(LAWS, key=lambda law: fits[law].log_likelihood)] += 1
    tail = (1 - level) / 2
    n_kept = len(exponents[LAWS[0]])
    if n_kept < 0.9 * n_samples:
        raise ValueError("too few runs crossed for a bootstrap; run longer, or at smaller d")
    return {
        law: {
            "low": float(np.quantile(exponents[law], tail)),
            "high": float(np.quantile(exponents[law], 1 - tail)),
            "preferred": n_preferred[law] / n_kept,
        }
        for law in LAWS
    }


def _abscissa(law: str, d: np.ndarray) -> np.ndarray:
    if law not in LAWS:
        raise ValueError(f"unknown law {law!r}; choose from {', '.join(LAWS)}")
    return d if law == "exponential" else np.log(d)

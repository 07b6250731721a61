r"""Few data, n = α₁d: only the linear part of the network is learnt, the rest is noise.

The network is then a linear model with the Gaussian signal S₁ = Wᵀv/√k (eq. linear-model of
arXiv:2505.24849).  Its overlap q₁ maximises

.. math:: \psi_\mathrm{out}(q_K) + \tfrac{1}{2\alpha_1}[q_1 + \ln(1 - q_1)], \qquad
          r_K - q_K = \mu_1^2(1 - q_1) + \tfrac12\mu_2^2 + g(1),

that is q₁ = q̂₁/(1 + q̂₁) and q̂₁ = 2α₁μ₁²ψ_out'(q_K); for Gaussian noise q̂₁ = α₁/(1 + Δ₁ - q₁) with
Δ₁ = (Δ + ½μ₂² + g(1))/μ₁².  As α₁ → ∞, q₁ → 1 and the error is that of the main theory at α → 0.
Inputs with a covariance average the scalar channel over their spectrum: q₁ = E_e[q̂₁e²/(1 + q̂₁e)].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .._display import Plotted
from .._sizes import alpha_linear_from
from ..ingredients.inputs import GaussianOnSpectrum
from ..ingredients.weights import Gaussian
from ..problem import Problem

__all__ = ["LinearRegime", "solve_linear"]

# ln q̂₁ at which roots are looked for; q₁ = q̂₁/(1 + q̂₁). Gaussian noise has one root, channels that
# are even in the output have 0 and may have more.
_LOG_HAT = np.arange(-60.0, 60.0, 0.25)
_N_HALVINGS = 60


@dataclass(frozen=True)
class LinearRegime(Plotted):
    """The optimum at n = α₁d samples; every field is a number, or an array like ``alpha_linear``."""

    problem: Problem
    alpha_linear: np.ndarray
    """α₁ = n/d."""
    linear_overlap: np.ndarray
    """q₁, between 0 and 1."""
    linear_overlap_hat: np.ndarray
    """q̂₁."""
    excess_error: np.ndarray
    """μ₁²(1 - q₁) + ½μ₂² + g(1)."""
    bayes_error: np.ndarray
    gibbs_error: np.ndarray


def solve_linear(
    problem: Problem,
    alpha_linear: ArrayLike | None = None,
    *,
    n: ArrayLike | None = None,
    d: float | None = None,
) -> LinearRegime:
    """Overlap q₁ and errors at n = α₁d samples, α₁ > 0 (a number or an array); or at n samples, given d."""
    given = np.asarray(alpha_linear_from(alpha_linear, n, d), dtype=float)
    bad = ~((given > 0) & np.isfinite(given))
    if np.any(bad):
        raise ValueError(
            f"alpha_linear must be > 0 and finite (samples per dimension, n/d); got {given[bad].flat[0]:g}"
        )
    log_hat = np.array([_best_root(problem, float(a)) for a in given.ravel()]).reshape(given.shape)
    channel, power = problem.channel, problem.output_power
    gap = _gap(problem, log_hat)
    hat = np.exp(log_hat)
    overlap = _signal(problem).overlap(hat)
    return LinearRegime(
        problem,
        given[()],
        overlap,
        hat,
        gap,
        np.asarray(channel.bayes_error(gap, power))[()],
        np.asarray(channel.gibbs_error(gap, power))[()],
    )


def _gap(problem: Problem, log_hat: np.ndarray) -> np.ndarray:
    """r_K - q_K."""
    _, mu1, mu2 = problem.hermite
    rest = 0.5 * mu2**2 + float(problem.activation.tail_kernel(1.0))
    return mu1**2 * _signal(problem).mmse(np.exp(log_hat)) + rest


def _signal(problem: Problem) -> Gaussian:
    """The law of S₁ as the inputs show it; it is Gaussian whatever the weights are."""
    return Gaussian() if problem.inputs.is_isotropic else GaussianOnSpectrum(problem.inputs)


def _best_root(problem: Problem, alpha: float) -> float:
    """ln q̂₁ of the maximiser; -inf when nothing is learnt."""
    channel, power, mu1 = problem.channel, problem.output_power, problem.hermite[1]
    if mu1 == 0:
        return -np.inf

    def surplus(log_hat: Array) -> Array:
        slope = channel.free_entropy_slope(_gap(problem, log_hat), power)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(2 * alpha * mu1**2 * slope, 0.0)) - log_hat

    def potential(log_hat: np.ndarray) -> np.ndarray:
        cost = _signal(problem).entropy_deficit(np.exp(log_hat))  # [q + ln(1 - q)]/2 for white inputs
        return channel.free_entropy(_gap(problem, log_hat), power) + cost / alpha

    values = surplus(_LOG_HAT)
    at = np.nonzero((values[:-1] > 0) & (values[1:] <= 0))[0]  # maxima of the potential
    if at.size == 0:
        return -np.inf
    low, high = _LOG_HAT[at], _LOG_HAT[at + 1]
    for _ in range(_N_HALVINGS):
        middle = 0.5 * (low + high)
        above = surplus(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    roots = 0.5 * (low + high)
    return float(roots[np.argmax(potential(roots))])

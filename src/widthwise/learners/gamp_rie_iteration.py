r"""GAMP-RIE: approximate message passing for second-order regression, with spectral shrinkage.

**Model.** For centred, white inputs x (mean 0, covariance I)

.. math:: y = c + b^\top x + \mathrm{Tr}[Q\,(xx^\top - I)] + \text{noise}, \qquad Q = Q^\top \in \mathbb{R}^{d\times d}.

A two-layer network is of this form up to third order: in arXiv:2505.24849, App. "Extension of GAMP-RIE to arbitrary
activation", Q = μ₂ S̄/(2√d) and b = μ₁ S₁/√d, and all higher orders are noise of variance g(1).

**Derivation.** In an orthonormal basis of symmetric matrices (inner product Tr AB) the features xxᵀ - I have, for
Gaussian x, covariance exactly 2·1, and are uncorrelated with x. So this is a generalised linear model with
N = d(d+1)/2 + d unknowns and uncorrelated features of variances 2 and 1. Generalised approximate message passing with
denoisers Q̂ = f(R), b̂ = h(ρ) reads

.. math::
    \omega_\mu &= c + \hat b^\top x_\mu + \mathrm{Tr}[\hat Q(x_\mu x_\mu^\top - I)] - V g_\mu,  &
    V &= 2\|Q - \hat Q\|^2 + \|b - \hat b\|^2, \\
    g_\mu &= \partial_\omega \ln Z(y_\mu, \omega_\mu, V),  &
    1/\tau^2 &= -\langle \partial_\omega g \rangle, \\
    R &= \hat Q + \frac{\tau^2}{2n} \sum_\mu g_\mu (x_\mu x_\mu^\top - I),  &
    \rho &= \hat b + \frac{\tau^2}{n} \sum_\mu g_\mu x_\mu ,

with Z(y, ω, V) = E P_out(y | ω + √V z). R is Q plus noise of variance τ²/(2n) in each orthonormal coordinate. A standard GOE
matrix has variance 2/d there, hence R = Q + σZ with σ² = τ² d/(4n), and f is the shrinkage of
eigenvalues at that noise (:mod:`widthwise.learners.empirical_shrinkage`). ρ is b plus noise τ²/n, and h a ridge.
V follows from the divergences of f and h (Stein): ‖Q - Q̂‖² = (2σ²/d) div f, so V/τ² = (div f + div h)/n.

**Gaussian noise.** g = (y - ω)/(Δ + V). Only the pseudo-residual r = τ² g = y - ω enters R, and τ² = ⟨r²⟩: the noise level
need not be known. r behaves as the residual of a fresh sample, so τ² estimates the test error and τ² - V the noise.

**Check.** With Q = μ₂S̄/(2√d) the snr of the denoiser is η = (μ₂²/(4d))/σ² = αμ₂²/τ², and τ² = Δ + g(1) + (μ₂²/2) mmse(η): the
universal branch, at which :mod:`widthwise.theory.state_evolution` arrives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from .empirical_shrinkage import Shrinkage
from .sample_blocks import SampleBlocks

__all__ = [
    "MAX_DAMPING",
    "ChannelOutput",
    "Design",
    "GampRieState",
    "GaussianOutput",
    "iterate",
    "ridge_posterior",
]

# Growth of τ² that is not put down to fluctuations: damping is raised and the best state taken up again.
_GROWTH = 1.05
MAX_DAMPING = 0.97


class Design:
    """Inputs in white coordinates x̃ = Tᵀ(x - centre), never formed: the products act on the raw samples.

    ``whitener`` T is d × r (r <= d where the inputs are degenerate); None is the identity.
    """

    def __init__(self, blocks: SampleBlocks, whitener: np.ndarray | None = None) -> None:
        self.blocks = blocks
        self.whitener = whitener
        self.n_samples = blocks.n_samples
        self.n_features = blocks.n_features if whitener is None else whitener.shape[1]

    def outputs(self, matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """bᵀx̃ + Tr[Q(x̃x̃ᵀ - I)] for every sample."""
        raw_matrix, raw_vector = self.to_raw(matrix, vector)
        return self.blocks.forms(raw_matrix, raw_vector) - np.trace(matrix)

    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ w (x̃x̃ᵀ - I) and Σ w x̃."""
        gram, vector = self.blocks.weighted_sums(weights)
        if self.whitener is not None:
            gram, vector = self.whitener.T @ gram @ self.whitener, self.whitener.T @ vector
        gram[np.diag_indices_from(gram)] -= weights.sum()
        return gram, vector

    def to_raw(self, matrix: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same quadratic and linear form in the coordinates of the inputs (about the centre)."""
        if self.whitener is None:
            return matrix, vector
        return self.whitener @ matrix @ self.whitener.T, self.whitener @ vector

    def second_moment(self) -> np.ndarray:
        """Σ x̃x̃ᵀ/n: the identity when T was made from these samples."""
        covariance = self.blocks.covariance
        return covariance if self.whitener is None else self.whitener.T @ covariance @ self.whitener


class Output(Protocol):
    """The output half of the iteration: from (y, ω, V) the residual r = τ²g, τ² and the intercept."""

    def __call__(
        self, labels: np.ndarray, omega: np.ndarray, variance: float
    ) -> tuple[np.ndarray, float, float]: ...


class GaussianOutput:
    """Gaussian noise. Without a ``noise`` variance τ² is measured; with it, τ² = noise + V once V is known."""

    def __init__(self, noise: float | None = None) -> None:
        if noise is not None and not (noise > 0 and math.isfinite(noise)):
            raise ValueError(
                f"noise must be > 0 and finite (a variance), or None to estimate it; got {noise!r}"
            )
        self.noise = noise

    def __call__(
        self, labels: np.ndarray, omega: np.ndarray, variance: float
    ) -> tuple[np.ndarray, float, float]:
        residual = labels - omega
        intercept = float(residual.mean())
        residual -= intercept
        if self.noise is not None and math.isfinite(variance):
            return residual, self.noise + variance, intercept
        return residual, float(np.mean(residual**2)), intercept


class ChannelOutput:
    """Any channel with ``output_derivatives(y, omega, variance)``: ∂ ln Z and -∂² ln Z in ω.

    ``tail`` is g(1), the variance of all orders above the second; ``intercept`` is μ₀ Σv/√k, which
    a channel that is not additive cannot give from the labels' mean.
    """

    def __init__(self, channel: Any, tail: float, intercept: float) -> None:
        if not hasattr(channel, "output_derivatives"):
            raise TypeError(
                f"channel {channel!r} has no output_derivatives(y, omega, variance), the derivatives of "
                "ln E P_out(y | omega + sqrt(variance) z); GAMP needs them"
            )
        self.channel, self.tail, self.intercept = channel, tail, intercept

    def __call__(
        self, labels: np.ndarray, omega: np.ndarray, variance: float
    ) -> tuple[np.ndarray, float, float]:
        slope, curvature = self.channel.output_derivatives(
            labels, omega + self.intercept, max(variance, 0.0) + self.tail
        )
        precision = float(np.mean(curvature))
        if not precision > 0:
            precision = float(np.mean(np.square(slope)))  # equal on average under the model (Nishimori)
        return np.asarray(slope) / precision, 1 / precision, self.intercept


@dataclass
class GampRieState:
    """Where the iteration stands: Q̂, b̂, c, and what it knows of its own error.

    ``residual_variance`` is τ², ``variance`` is V and ``history`` has one row of numbers a step.
    """

    matrix: np.ndarray
    vector: np.ndarray
    intercept: float = 0.0
    matrix_error: float = 0.0
    vector_error: float = 0.0
    residual_variance: float = math.inf
    n_steps: int = 0
    status: str = "max_steps"
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def variance(self) -> float:
        """V, the expected squared error of the prediction on a fresh sample; NaN before the first step of an unknown law."""
        return 2 * self.matrix_error + self.vector_error


def iterate(
    design: Design,
    labels: np.ndarray,
    shrinkage: Shrinkage,
    output: Output,
    *,
    linear_power: float | None,
    start: str | np.ndarray = "prior",
    damping: float = 0.0,
    max_damping: float = MAX_DAMPING,
    max_steps: int = 50,
    rtol: float = 1e-3,
    callback: Callable[[GampRieState], dict[str, float]] | None = None,
) -> GampRieState:
    """GAMP-RIE from a start to its fixed point.

    Parameters
    ----------
    linear_power : float or None
        Prior variance of each entry of b; None estimates it, 0 leaves the linear part out.
    start : "prior", "spectral" or a d × d array
        The prior mean; one shrinkage of the label-weighted covariance; or a matrix Q̂.
    damping : float
        Weight of the old iterate, in [0, 1); raised by itself when τ² grows, up to ``max_damping``.
    rtol : float
        Converged when the fit changes by less than rtol · τ (root mean square over the samples).
    callback
        Called with the state at every step; what it returns joins the history.

    Returns
    -------
    GampRieState
        ``status`` is "converged", "max_steps" or "stalled" (τ² could not be made to fall further; the best state is returned).
    """
    if not 0 <= damping < 1:
        raise ValueError(f"damping must lie in [0, 1) (weight of the old iterate), got {damping!r}")
    if max_steps < 1:
        raise ValueError(f"max_steps must be >= 1, got {max_steps!r}")
    n, d = design.n_samples, design.n_features
    labels = np.asarray(labels, dtype=float)
    state, residual_old, feedback = _first_state(design, labels, shrinkage, output, linear_power, start)
    fit_old: np.ndarray | None = None
    best: tuple[GampRieState, np.ndarray, np.ndarray] | None = None
    history: list[dict[str, float]] = []
    tiny = 1e-14 * float(np.var(labels)) + 1e-300
    for step in range(max_steps + 1):
        fit = design.outputs(state.matrix, state.vector)
        # The Onsager term: V g = (V/τ²) r of the step before.
        residual, tau2, state.intercept = output(labels, fit - feedback * residual_old, state.variance)
        tau2 = max(tau2, tiny)
        change = math.inf if fit_old is None else math.sqrt(float(np.mean((fit - fit_old) ** 2)) / tau2)
        state.residual_variance, state.n_steps = tau2, step
        row = {
            "step": step,
            "residual_variance": tau2,
            "variance": state.variance,
            "change": change,
            "damping": damping,
        }
        history.append(row | (callback(state) if callback else {}))
        if change < rtol * (1 - damping) or tau2 <= tiny:
            state.status = "converged"
            break
        if best is not None and not tau2 < _GROWTH * best[0].residual_variance:
            damping = 0.5 * (1 + damping)
            state, residual, fit = replace(best[0]), best[1], best[2]
            tau2 = state.residual_variance
            if damping > max_damping:
                state.status = "stalled"
                break
        elif best is None or tau2 < best[0].residual_variance:
            best = replace(state), residual, fit
        if step == max_steps:
            break

        gram, vector = design.sums(residual)
        noise_std = math.sqrt(tau2 * d / (4 * n))
        eigenvalues, basis = np.linalg.eigh(state.matrix + gram / (2 * n))
        shrunk = shrinkage(eigenvalues, noise_std)
        matrix = (basis * shrunk.values) @ basis.T
        new_vector, factor = _shrink_vector(state.vector + vector / n, tau2 / n, linear_power)
        matrix_error = 2 * noise_std**2 / d * max(shrunk.divergence, 0.0)
        keep = damping if math.isfinite(state.matrix_error) else 0.0
        state.matrix = damping * state.matrix + (1 - damping) * matrix
        state.vector = damping * state.vector + (1 - damping) * new_vector
        state.matrix_error = (
            matrix_error if keep == 0 else keep * state.matrix_error + (1 - keep) * matrix_error
        )
        state.vector_error = keep * state.vector_error + (1 - keep) * d * factor * tau2 / n
        feedback = state.variance / tau2
        residual_old, fit_old = residual, fit
    state.history = history
    return state


def ridge_posterior(
    second_moment: np.ndarray, correlation: np.ndarray, noise: float, power: float
) -> tuple[np.ndarray, float]:
    r"""Posterior mean of b in y = bᵀx + noise with b ~ N(0, power · I), and its degrees of freedom.

    With A = Σxxᵀ/n (``second_moment``), a = Σyx/n (``correlation``) and ``noise`` here the noise variance divided by n,

    .. math:: \langle b \rangle = \Big(A + \frac{\text{noise}}{\text{power}} I\Big)^{-1} a .

    For b = μ₁S₁/√d, power = μ₁²/d, and Δ₁ the noise variance over μ₁², this says ⟨S₁⟩ = (μ₁√d Δ₁)⁻¹ (I + XXᵀ/(dΔ₁))⁻¹ X y. Equation
    (mmse-S1) of the paper has the prefactor 1/√(dΔ₁), smaller by the standard deviation of the noise: it
    holds for labels divided by it.
    """
    values, basis = np.linalg.eigh(second_moment)
    shrunk = 1 / (np.maximum(values, 0.0) + noise / power)
    return basis @ (shrunk * (basis.T @ correlation)), float(np.sum(np.maximum(values, 0.0) * shrunk))


def _first_state(
    design: Design,
    labels: np.ndarray,
    shrinkage: Shrinkage,
    output: Output,
    linear_power: float | None,
    start: str | np.ndarray,
) -> tuple[GampRieState, np.ndarray, float]:
    """The linear part by ridge regression and the matrix as asked for; with its residual and Onsager coefficient."""
    n, d = design.n_samples, design.n_features
    if isinstance(start, str) and start not in ("prior", "spectral"):
        raise ValueError(f'start must be "prior", "spectral" or a {d} × {d} array; got {start!r}')
    state = GampRieState(shrinkage.prior_mean * np.eye(d), np.zeros(d))
    state.matrix_error = math.nan if shrinkage.prior_error is None else shrinkage.prior_error
    if not isinstance(start, str):
        state.matrix = np.array(start, dtype=float)
        if state.matrix.shape != (d, d):
            raise ValueError(f"start must be {d} × {d} (features), got {state.matrix.shape}")
    n_free = 0.0
    if isinstance(output, ChannelOutput):
        state.vector_error = d * (linear_power or 0.0)
    elif linear_power != 0.0 or start == "spectral":
        centred = labels - labels.mean()
        power_y = max(float(np.mean(centred**2)), 1e-300)
        gram, vector = design.sums(centred)
        if linear_power != 0.0:
            power = linear_power
            if power is None:
                power = max(float(vector @ vector) / n**2 - power_y * d / n, 1e-3 * power_y * d / n) / d
            noise = max(power_y - d * power, 0.05 * power_y)
            state.vector, n_free = ridge_posterior(design.second_moment(), vector / n, noise / n, power)
        if start == "spectral":
            values, basis = np.linalg.eigh(gram / (2 * n))
            shrunk = shrinkage(values, math.sqrt(power_y * d / (4 * n)))
            state.matrix = (basis * shrunk.values) @ basis.T
    if n_free == 0.0:
        return state, np.zeros(n), 0.0
    # A converged linear fit obeys r = y - fit + (n_free/n) r, the residual of a fresh sample.
    share = min(n_free / n, 0.95)
    residual = (labels - design.outputs(state.matrix, state.vector)) / (1 - share)
    residual -= residual.mean()
    state.vector_error = share * float(np.mean(residual**2))
    return state, residual, share


def _shrink_vector(noisy: np.ndarray, noise: float, power: float | None) -> tuple[np.ndarray, float]:
    """Posterior mean of a Gaussian vector from itself plus noise, and the factor it is shrunk by."""
    if power is None:
        power = max(float(np.mean(noisy**2)) - noise, 0.0)
    factor = power / (power + noise)
    return factor * noisy, factor

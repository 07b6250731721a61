r"""GAMP-RIE: approximate message passing for second-order regression, with spectral shrinkage.

**Model.** For centred, white inputs x (mean 0, covariance I)

.. math:: y = c + b^\top x + \mathrm{Tr}[Q\,(xx^\top - I)] + \text{noise}, \qquad Q = Q^\top .

A two-layer network is of this form up to third order: in arXiv:2505.24849, App. "Extension of GAMP-RIE to
arbitrary activation", Q = μ₂ S̄/(2√d) and b = μ₁ S₁/√d, and all higher orders are noise of variance g(1).

**Derivation.** In an orthonormal basis of symmetric matrices (inner product Tr AB) the features xxᵀ - I
have, for Gaussian x, covariance exactly 2·1, and are uncorrelated with x. So this is a generalised linear
model with N = d(d+1)/2 + d unknowns and uncorrelated features of variances 2 and 1. Generalised approximate
message passing with denoisers Q̂ = f(R), b̂ = h(ρ) reads

.. math::
    \omega_\mu &= c + \hat b^\top x_\mu + \mathrm{Tr}[\hat Q(x_\mu x_\mu^\top - I)] - V g_\mu,  &
    V &= 2\|Q - \hat Q\|^2 + \|b - \hat b\|^2, \\
    g_\mu &= \partial_\omega \ln Z(y_\mu, \omega_\mu, V),  &
    1/\tau^2 &= -\langle \partial_\omega g \rangle, \\
    R &= \hat Q + \frac{\tau^2}{2n} \sum_\mu g_\mu (x_\mu x_\mu^\top - I),  &
    \rho &= \hat b + \frac{\tau^2}{n} \sum_\mu g_\mu x_\mu ,

with Z(y, ω, V) = E P_out(y | ω + √V z). R is Q plus noise of variance τ²/(2n) in each orthonormal
coordinate. A standard GOE matrix has variance 2/d there, hence R = Q + σZ with σ² = τ² d/(4n), and f is the
shrinkage of eigenvalues at that noise (:mod:`widthwise.learners.empirical_shrinkage`). ρ is b plus noise
τ²/n, and h a ridge. V follows from the divergences of f and h (Stein): ‖Q - Q̂‖² = (2σ²/d) div f, so V/τ² =
(div f + div h)/n.

**Gaussian noise.** g = (y - ω)/(Δ + V). Only the pseudo-residual r = τ² g = y - ω enters R, and τ² = ⟨r²⟩:
the noise level need not be known. r behaves as the residual of a fresh sample, so τ² estimates the test
error and τ² - V the noise.

**Check.** With Q = μ₂S̄/(2√d) the snr of the denoiser is η = (μ₂²/(4d))/σ² = αμ₂²/τ², and τ² = Δ + g(1) +
(μ₂²/2) mmse(η): the universal branch, at which :mod:`widthwise.theory.state_evolution` arrives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
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

# Growth of τ², beyond three times its fluctuation √(2/n), at which the best state is taken up again with
# more damping.
_GROWTH = 1.05
MAX_DAMPING = 0.97
# At d < 100 a mode is left now and then that hardly shrinks (0.97 a step, of alternating sign) or cycles at
# a hundredth of the error, when an eigenvalue sits at the edge of its band. Damping removes it, and is taken
# back where the iteration drifts one way; not before
# the error itself has settled, so that the first steps follow state evolution. Every fourth step: no period
# of 2 or 4 hides.
_N_FREE_STEPS, _PERIOD, _SLOW, _CALM = 5, 4, 0.25, 0.3
_LABELS = 2**15


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
        return np.asarray(self.blocks.forms(raw_matrix, raw_vector) - np.trace(matrix))

    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ w (x̃x̃ᵀ - I) and Σ w x̃."""
        gram, vector = self.blocks.weighted_sums(weights)
        if self.whitener is not None:
            gram, vector = self.whitener.T @ gram @ self.whitener, self.whitener.T @ vector
        gram[np.diag_indices_from(gram)] -= weights.sum()
        return gram, vector

    def linear_sums(self, weights: np.ndarray) -> np.ndarray:
        """Σ w x̃, without the cost of a matrix product."""
        vector = self.blocks.weighted_sum(weights)
        return vector if self.whitener is None else self.whitener.T @ vector

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
    """Gaussian noise. Without a ``noise`` variance τ² is measured; with it, τ² = noise + V."""

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

    ``tail`` is g(1), the variance of all orders above the second. ``intercept`` is μ₀ Σv/√k, known in the
    limit; at finite d it moves by a variance ``intercept_power`` of order 1/d (the norms of the weights are
    not exactly √d) and is learnt as one more feature.
    """

    def __init__(self, channel: Any, tail: float, intercept: float, intercept_power: float = 0.0) -> None:
        if not hasattr(channel, "output_derivatives"):
            raise TypeError(
                f"channel {channel!r} has no output_derivatives(y, omega, variance), the derivatives of "
                "ln E P_out(y | omega + sqrt(variance) z); GAMP needs them"
            )
        self.channel, self.tail = channel, tail
        self.intercept, self._prior = intercept, (intercept, intercept_power)

    def __call__(
        self, labels: np.ndarray, omega: np.ndarray, variance: float
    ) -> tuple[np.ndarray, float, float]:
        slope, curvature = np.empty_like(omega), np.empty_like(omega)
        total = max(variance, 0.0) + self.tail
        for start in range(0, omega.size, _LABELS):  # channels without a closed form integrate at every label
            part = slice(start, start + _LABELS)
            slope[part], curvature[part] = self.channel.output_derivatives(
                labels[part], omega[part] + self.intercept, total
            )
        precision = float(np.mean(curvature))
        if not precision > 0:
            precision = float(np.mean(np.square(slope)))  # equal on average under the model (Nishimori)
        used, (centre, power) = self.intercept, self._prior
        noisy = used + float(np.mean(slope)) / precision - centre
        self.intercept = centre + noisy * power / (power + 1 / (precision * omega.size))
        return slope / precision, 1 / precision, used


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
    score: float = math.inf
    """max(τ², ⟨r²⟩): what tells a good state from one that diverges, see :func:`iterate`."""
    n_steps: int = 0
    status: str = "max_steps"
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def variance(self) -> float:
        """V, the expected squared error on a fresh sample; NaN before the first step of an unknown law."""
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
    max_steps: int = 100,
    rtol: float = 1e-3,
    callback: Callable[[GampRieState], dict[str, float]] | None = None,
) -> GampRieState:
    r"""GAMP-RIE from a start to its fixed point.

    A damped iterate keeps a share κ of the old one, and with it that share of the old Onsager term, so the
    latter is carried along: a_t = κ a_{t-1} + (1 - κ)(div/n) r. States are told apart by max(τ², ⟨r²⟩). Both
    are equal on average (Nishimori), and for Gaussian noise they are the same number; where the iteration
    leaves the model, as it may at small d with labels of few bits, the τ² of the channel falls while the
    residuals grow without bound.

    Parameters
    ----------
    linear_power : float or None
        Prior variance of each entry of b; None estimates it, 0 leaves the linear part out.
    start : "prior", "spectral" or a d × d array
        The prior mean; one shrinkage of the label-weighted covariance; or a matrix Q̂.
    damping : float
        Weight of the old iterate, in [0, 1), to begin with; it is raised by itself when the state gets
        worse, up to ``max_damping``.
    rtol : float
        Converged when the fit changes by less than rtol · τ (root mean square over the samples).
    callback
        Called with the state at every step; what it returns joins the history.

    Returns
    -------
    GampRieState
        ``status`` is "converged", "max_steps" or "stalled" (no damping made it better). Unless it has
        converged, the best state is returned, and never one that is worse than predicting the mean.
    """
    if not 0 <= damping < 1:
        raise ValueError(f"damping must lie in [0, 1) (weight of the old iterate), got {damping!r}")
    if max_steps < 1:
        raise ValueError(f"max_steps must be >= 1, got {max_steps!r}")
    n, d = design.n_samples, design.n_features
    labels = np.asarray(labels, dtype=float)
    nothing = _mean_alone(design, labels, shrinkage, copy(output), linear_power)
    state, onsager, fit_first = _first_state(design, labels, shrinkage, output, linear_power, start)
    fit_old: np.ndarray | None = None
    move_old: np.ndarray | None = None
    change_old, least = math.inf, damping
    growth = _GROWTH + 3 * math.sqrt(2 / n)
    # From a given matrix (the teacher's, say) τ² may well rise to its fixed point.
    ceiling = 0.0 if isinstance(start, str) else 1.5 * float(np.var(labels))
    best: tuple[GampRieState, np.ndarray, np.ndarray, np.ndarray] | None = None
    history: list[dict[str, float]] = []
    tiny = 1e-14 * float(np.var(labels)) + 1e-300
    for step in range(max_steps + 1):
        if step == 0 and fit_first is not None:
            fit = fit_first
        else:
            fit = design.outputs(state.matrix, state.vector)
        residual, tau2, state.intercept = output(labels, fit - onsager, state.variance)
        tau2 = max(tau2, tiny)
        change = math.inf if fit_old is None else math.sqrt(float(np.mean((fit - fit_old) ** 2)) / tau2)
        state.residual_variance, state.n_steps = tau2, step
        state.score = max(tau2, float(np.mean(residual**2)))
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
        move = None if fit_old is None else fit - fit_old
        if step > _N_FREE_STEPS and step % _PERIOD == 0:
            if change > max(_SLOW, 1.3 * damping**_PERIOD) * change_old:  # slower than damping alone makes it
                if _is_drift(move, move_old):
                    damping = max(least, 2 * damping - 1, 0.5 * damping)
                else:
                    damping = min(0.7 * damping + _CALM, max(damping, max_damping))
            change_old = change
        move_old = move
        if best is not None and not state.score < max(growth * best[0].score, ceiling):
            damping = 0.5 * (1 + damping)
            state, residual, fit, onsager = replace(best[0]), *best[1:]
            least, move_old = damping, None  # less has failed
            tau2 = state.residual_variance
            if damping > max_damping:
                state.status = "stalled"
                break
        elif best is None or state.score < best[0].score:
            best = replace(state), residual, fit, onsager
        if step == max_steps:
            break

        gram, vector = design.sums(residual)
        noise_std = math.sqrt(tau2 * d / (4 * n))
        eigenvalues, basis = np.linalg.eigh(state.matrix + gram / (2 * n))
        shrunk = shrinkage(eigenvalues, noise_std)
        matrix = (basis * shrunk.values) @ basis.T
        new_vector, factor = _shrink_vector(state.vector + vector / n, tau2 / n, linear_power)
        matrix_error = 2 * noise_std**2 / d * max(shrunk.divergence, 0.0)
        vector_error = d * factor * tau2 / n
        keep = damping if math.isfinite(state.matrix_error) else 0.0
        state.matrix = damping * state.matrix + (1 - damping) * matrix
        state.vector = damping * state.vector + (1 - damping) * new_vector
        state.matrix_error = (
            matrix_error if keep == 0 else keep * state.matrix_error + (1 - keep) * matrix_error
        )
        state.vector_error = keep * state.vector_error + (1 - keep) * vector_error
        onsager = damping * onsager + (1 - damping) * ((2 * matrix_error + vector_error) / tau2) * residual
        fit_old = fit
    if state.status != "converged" and best is not None and best[0].score < state.score:
        status, n_steps = state.status, state.n_steps
        state = replace(best[0], status=status, n_steps=n_steps)
    if state.score > nothing.score:
        state = replace(nothing, status="stalled", n_steps=state.n_steps)
    state.history = history
    return state


def _mean_alone(
    design: Design, labels: np.ndarray, shrinkage: Shrinkage, output: Output, linear_power: float | None
) -> GampRieState:
    """The state that predicts the mean of the labels, whatever the input."""
    d = design.n_features
    state = GampRieState(np.zeros((d, d)), np.zeros(d))
    state.matrix_error = math.nan if shrinkage.prior_error is None else shrinkage.prior_error
    state.vector_error = d * (linear_power or 0.0)
    residual, tau2, state.intercept = output(labels, np.zeros(len(labels)), state.variance)
    state.residual_variance = tau2
    state.score = max(tau2, float(np.mean(residual**2)))
    return state


def _is_drift(move: np.ndarray | None, before: np.ndarray | None) -> bool:
    """Whether two steps go the same way: then damping slows the iteration down, and does not calm it."""
    if move is None or before is None:
        return False
    return bool(move @ before > 0.7 * math.sqrt(float(move @ move) * float(before @ before)))


def ridge_posterior(
    second_moment: np.ndarray, correlation: np.ndarray, noise: float, power: float
) -> tuple[np.ndarray, float]:
    r"""Posterior mean of b in y = bᵀx + noise with b ~ N(0, power · I), and its degrees of freedom.

    With A = Σxxᵀ/n (``second_moment``), a = Σyx/n (``correlation``) and ``noise`` here the noise variance
    divided by n,

    .. math:: \langle b \rangle = \Big(A + \frac{\text{noise}}{\text{power}} I\Big)^{-1} a .

    For b = μ₁S₁/√d, power = μ₁²/d, and Δ₁ the noise variance over μ₁², this says ⟨S₁⟩ = (μ₁√d Δ₁)⁻¹ (I +
    XXᵀ/(dΔ₁))⁻¹ X y. Equation (mmse-S1) of the paper has the prefactor 1/√(dΔ₁), which is off by the factor
    √noise variance: it holds for labels in units of the standard deviation of the noise.
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
) -> tuple[GampRieState, np.ndarray, np.ndarray | None]:
    """Linear part by ridge, matrix as asked for; Onsager term, and the fit if it is known."""
    n, d = design.n_samples, design.n_features
    if isinstance(start, str) and start not in ("prior", "spectral"):
        raise ValueError(f'start must be "prior", "spectral" or a {d} × {d} array; got {start!r}')
    state = GampRieState(shrinkage.prior_mean * np.eye(d), np.zeros(d))
    state.matrix_error = math.nan if shrinkage.prior_error is None else shrinkage.prior_error
    if not isinstance(start, str):
        state.matrix = np.array(start, dtype=float)
        if state.matrix.shape != (d, d):
            raise ValueError(f"start must be {d} × {d} (features), got {state.matrix.shape}")
    is_spectral = isinstance(start, str) and start == "spectral"
    n_free, spectral = 0.0, np.zeros(1)
    if isinstance(output, ChannelOutput):
        state.vector_error = d * (linear_power or 0.0)
    elif linear_power != 0.0 or is_spectral:
        centred = labels - labels.mean()
        power_y = max(float(np.mean(centred**2)), 1e-300)
        gram, vector = design.sums(centred) if is_spectral else (None, design.linear_sums(centred))
        if linear_power != 0.0:
            power = linear_power
            if power is None:
                power = max(float(vector @ vector) / n**2 - power_y * d / n, 1e-3 * power_y * d / n) / d
            noise = max(power_y - d * power, 0.05 * power_y)
            state.vector, n_free = ridge_posterior(design.second_moment(), vector / n, noise / n, power)
        if gram is not None:
            values, basis = np.linalg.eigh(gram / (2 * n))
            noise_std = math.sqrt(power_y * d / (4 * n))
            shrunk = shrinkage(values, noise_std)
            state.matrix = (basis * shrunk.values) @ basis.T
            state.matrix_error = 2 * noise_std**2 / d * max(shrunk.divergence, 0.0)
            spectral = shrunk.divergence / n * centred  # Onsager term of a matrix made from these labels
    if n_free == 0.0 and not is_spectral:
        return state, np.zeros(n), None
    # A converged linear fit obeys r = y - fit + (n_free/n) r, the residual of a fresh sample.
    share = min(n_free / n, 0.95)
    fit = design.outputs(state.matrix, state.vector)
    residual = (labels - fit + spectral) / (1 - share)
    residual -= residual.mean()
    state.vector_error = share * float(np.mean(residual**2))
    return state, share * residual + spectral, fit


def _shrink_vector(noisy: np.ndarray, noise: float, power: float | None) -> tuple[np.ndarray, float]:
    """Posterior mean of a Gaussian vector from itself plus noise, and the factor it is shrunk by."""
    if power is None:
        power = max(float(np.mean(noisy**2)) - noise, 0.0)
    factor = power / (power + noise)
    return factor * noisy, factor

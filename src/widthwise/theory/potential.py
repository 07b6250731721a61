r"""The replica-symmetric potential and its saddle-point equations, as printed in arXiv:2505.24849.

The terms of the potential are put together here for every solution that is ranked (:func:`entropy_terms`);
the solver has each of them without cancellation, hats eliminated and all α at once.  The functions of single
order parameters take the terms as they are printed: for reading, and for checking.

==============================  =======================================================================
eq. fRS (free_ent_appendix)     :func:`rs_potential`, :func:`entropy_terms`
eq. tauDef (moment_matching)    :func:`tilt`
eq. NSB_equations_generic_ch    :func:`saddle_point_residuals` (NSB_equations_gaussian_ch for Gaussian noise)
eq. m_K-q_K-def, g_func         :func:`output_overlap`
eq. MI_generic_channel          :func:`mutual_information`
==============================  =======================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from ..denoising import MatrixDenoiser
from ..problem import Problem

if TYPE_CHECKING:
    from .solution import Solution

__all__ = [
    "entropy_terms",
    "mutual_information",
    "output_overlap",
    "rs_potential",
    "saddle_point_residuals",
    "tilt",
]


def entropy_terms(
    gamma: float, matrix_gap: Array, matrix_overlap_hat: Array, units: Array, information_drop: Array
) -> Array:
    r"""α(f - ψ_out), the terms of eq. fRS beside the data.

    .. math:: \tfrac14(r_2 - q_2)\hat q_2
        + \gamma E_v[\psi_W(\hat{\mathcal Q}) - \tfrac12\mathcal Q\hat{\mathcal Q}]
        + \iota(\tau) - \iota(\hat q_2 + \tau)

    Parameters
    ----------
    matrix_gap : array
        r₂ - q₂.
    units : array
        E_v[ψ_W - ½𝒬𝒬̂].
    information_drop : array
        ι(τ) - ι(q̂₂ + τ).
    """
    total: Array = 0.25 * matrix_gap * matrix_overlap_hat + gamma * units + information_drop
    return total


def mutual_information(alpha: Array, gamma: float, deficit: Array, entropy: Array) -> Array:
    """I/(kd), in nats (eq. MI_generic_channel).

    From ``deficit``, ψ_out at r_K less ψ_out at q_K, and ``entropy`` of :func:`entropy_terms`.
    """
    information: Array = (alpha * deficit - entropy) / gamma
    return information


def rs_potential(
    problem: Problem,
    alpha: float,
    matrix_overlap: float,
    matrix_overlap_hat: float,
    weight_overlap: ArrayLike,
    weight_overlap_hat: ArrayLike,
) -> float:
    r"""f_RS at any order parameters (eq. fRS); overlaps are arrays over the atoms of a discrete readout law.

    .. math:: f = \psi_\mathrm{out}(q_K; r_K) + \tfrac1{4\alpha}(1 + \gamma\bar v^2 - q_2)\hat q_2
        + \tfrac\gamma\alpha E_v[\psi_W(\hat{\mathcal Q}) - \tfrac12\mathcal Q\hat{\mathcal Q}]
        + \tfrac1\alpha[\iota(\tau) - \iota(\hat q_2 + \tau)]
    """
    _, p = _atoms(problem)
    overlap, hat = np.asarray(weight_overlap, dtype=float), np.asarray(weight_overlap_hat, dtype=float)
    denoiser = MatrixDenoiser(problem.readouts, problem.gamma)
    tau = tilt(problem, overlap)
    gap = problem.output_power - output_overlap(problem, matrix_overlap, overlap)
    scalar = p @ (problem.seen_weights.free_entropy(hat) - overlap * hat / 2)
    drop = denoiser.information(tau) - denoiser.information(tau + matrix_overlap_hat)
    matrix_gap, matrix_hat = np.array(problem.matrix_power - matrix_overlap), np.array(matrix_overlap_hat)
    entropy = entropy_terms(problem.gamma, matrix_gap, matrix_hat, scalar, drop)
    return float(problem.channel.free_entropy(gap, problem.output_power) + entropy / alpha)


def output_overlap(problem: Problem, matrix_overlap: float, weight_overlap: ArrayLike) -> float:
    """q_K = μ₁² + μ₂² q₂/2 + E_v v² g(𝒬_W(v))  (eqs. m_K-q_K-def and g_func)."""
    v, p = _atoms(problem)
    _, mu1, mu2 = problem.hermite
    kernel = problem.activation.tail_kernel(np.asarray(weight_overlap, dtype=float))
    return float(mu1**2 + mu2**2 * matrix_overlap / 2 + p @ (v**2 * kernel))


def tilt(problem: Problem, weight_overlap: ArrayLike) -> float:
    """τ(𝒬_W) = mmse_S⁻¹(1 - E_v v² 𝒬_W(v)²)  (eqs. tauDef and moment_matching)."""
    v, p = _atoms(problem)
    learnt = float(p @ (v**2 * np.asarray(weight_overlap, dtype=float) ** 2))
    return (
        float(MatrixDenoiser(problem.readouts, problem.gamma).inverse_mmse(1 - learnt)) if learnt > 0 else 0.0
    )


def saddle_point_residuals(problem: Problem, solution: Solution) -> dict[str, float]:
    r"""Left minus right of the four saddle-point equations (eq. NSB_equations_generic_ch), relatively.

    .. math::
        \mathcal Q = F(\hat{\mathcal Q}), \qquad
        \hat{\mathcal Q}(v) = \tfrac1{2\gamma}(q_2 - \gamma\bar v^2 - E v^2\mathcal Q^2)
            \,\partial_{\mathcal Q(v)}\tau
            + \tfrac{2\alpha}{\gamma}\partial_{\mathcal Q(v)}\psi_\mathrm{out}, \\
        q_2 = r_2 - \mathrm{mmse}_S(\hat q_2 + \tau), \qquad
        \hat q_2 = 4\alpha\,\partial_{q_2}\psi_\mathrm{out} .

    The derivatives at one readout are those of averages, divided by P_v(v).
    """
    s = solution
    v, p = _atoms(problem)
    gamma, alpha = problem.gamma, s.alpha
    _, _, mu2 = problem.hermite
    denoiser = MatrixDenoiser(problem.readouts, gamma)
    tau = tilt(problem, s.weight_overlap)
    gap = problem.output_power - output_overlap(problem, s.matrix_overlap, s.weight_overlap)
    slope = float(problem.channel.free_entropy_slope(gap, problem.output_power))
    learnt = float(p @ (v**2 * s.weight_overlap**2))
    tau_slope = 2 * v**2 * s.weight_overlap / -denoiser.mmse_slope(tau)
    hat = (s.matrix_overlap - gamma * float(p @ v) ** 2 - learnt) * tau_slope / (2 * gamma)
    hat = hat + 2 * alpha / gamma * slope * v**2 * problem.activation.tail_kernel_slope(s.weight_overlap)
    matrix_hat = 2 * alpha * mu2**2 * slope
    mmse = denoiser.mmse(s.matrix_overlap_hat + tau)
    return {
        "overlap": float(
            np.max(np.abs(s.weight_overlap - problem.seen_weights.overlap(s.weight_overlap_hat)))
        ),
        "overlap_hat": float(np.max(np.abs(s.weight_overlap_hat - hat) / (1 + np.abs(hat)))),
        "matrix_overlap": abs(s.matrix_overlap - (problem.matrix_power - mmse)),
        "matrix_overlap_hat": abs(s.matrix_overlap_hat - matrix_hat) / (1 + s.matrix_overlap_hat),
    }


def _atoms(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    law = problem.readouts
    if not law.is_discrete:
        raise ValueError(f"the printed potential is for discrete readouts; {law.name!r} has a density")
    return np.asarray(law.told_apart), np.asarray(law.probabilities)  # type: ignore[attr-defined]

r"""State evolution of GAMP-RIE: its error at every step, predicted by one scalar.

With v_t = E‖S̄ - S̄_t‖²/d the error on the matrix after t steps, the algorithm sees S̄ through Gaussian noise of
signal-to-noise ratio η_t, and denoises it optimally:

.. math:: \eta_t = 2\alpha\mu_2^2\,\psi_\mathrm{out}'(r_K - \text{gap}_t), \qquad
          \text{gap}_t = \tfrac12\mu_2^2 v_t + g(1), \qquad
          v_{t+1} = \mathrm{mmse}(\eta_t), \qquad v_0 = 1 .

For Gaussian noise η_t = αμ₂²/(Δ + gap_t). The linear part is known from the start (n = Θ(d²) samples, d unknowns). gap_t is
the excess error of step t. It decreases with t, since the map is increasing in v and v_1 <= v_0, and its
limit is the universal branch (the one with the largest error, should there be several).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..denoising import MatrixDenoiser
from ..problem import Problem

__all__ = ["StateEvolution", "state_evolution"]


@dataclass(frozen=True)
class StateEvolution:
    """Predicted course of GAMP-RIE; arrays over the steps 0, 1, …

    ``excess_error`` and ``matrix_mmse`` are those of the estimate at the step, ``matrix_overlap_hat`` is the snr it is made
    into the next one with. ``status`` is "converged" or "max_steps".
    """

    alpha: float
    excess_error: np.ndarray
    matrix_mmse: np.ndarray
    matrix_overlap_hat: np.ndarray
    status: str

    @property
    def matrix_overlap_centred(self) -> np.ndarray:
        """q₂ - γv̄² = 1 - v."""
        return 1 - self.matrix_mmse

    @property
    def n_steps(self) -> int:
        """Steps taken."""
        return self.excess_error.size - 1


def state_evolution(
    problem: Problem,
    alpha: float,
    *,
    n_steps: int | None = None,
    rtol: float = 1e-12,
    max_steps: int = 10_000,
) -> StateEvolution:
    """The error of GAMP-RIE after each step, in the limit of large d.

    Parameters
    ----------
    problem : Problem
        Any channel with a free entropy, any readouts, any gamma.
    alpha : float
        Samples per d², > 0.
    n_steps : int or None
        Exactly so many steps; None iterates until the error changes by less than ``rtol`` of itself.
    """
    alpha = float(alpha)
    if not (alpha > 0 and np.isfinite(alpha)):
        raise ValueError(f"alpha must be > 0 and finite (samples per d^2), got {alpha:g}")
    if n_steps is not None and n_steps < 0:
        raise ValueError(f"n_steps must be >= 0, got {n_steps}")
    mu2 = problem.hermite[2]
    tail = float(problem.activation.tail_kernel(1.0))
    power = problem.output_power
    denoiser = MatrixDenoiser(problem.readouts, problem.gamma)
    v = 1.0
    mmse, gaps, snrs = [], [], []
    status = "max_steps"
    last = max_steps if n_steps is None else n_steps
    for step in range(last + 1):
        gap = 0.5 * mu2**2 * v + tail
        snr = 2 * alpha * mu2**2 * float(problem.channel.free_entropy_slope(gap, power))
        mmse.append(v)
        gaps.append(gap)
        snrs.append(snr)
        if step == last:
            break
        new = float(denoiser.mmse(snr))
        # Without damping the error left is the change times rate/(1 - rate); near a rate of 1 that matters.
        change = abs(new - v)
        rate = 0.0 if len(mmse) < 2 else change / max(abs(v - mmse[-2]), 1e-300)
        if n_steps is None and change <= rtol * new * max(1 - rate, 1e-4):
            status = "converged"
            break
        v = new
    if n_steps is not None:
        status = "converged" if len(mmse) > 1 and abs(mmse[-1] - mmse[-2]) <= rtol * mmse[-1] else "max_steps"
    return StateEvolution(alpha, np.array(gaps), np.array(mmse), np.array(snrs), status)

r"""State evolution of GAMP-RIE: its error at every step, predicted by one scalar.

With v_t = E‖S̄ - S̄_t‖²/d the error on the matrix after t steps, the algorithm sees S̄ through Gaussian noise of
signal-to-noise ratio η_t, and denoises it optimally:

.. math:: \eta_t = 2\alpha\mu_2^2\,\psi_\mathrm{out}'(r_K - \text{gap}_t), \qquad
          \text{gap}_t = \tfrac12\mu_2^2 v_t + g(1), \qquad
          v_{t+1} = \mathrm{mmse}(\eta_t), \qquad v_0 = 1 .

For Gaussian noise η_t = αμ₂²/(Δ + gap_t). The linear part is known at once, having d unknowns for n = Θ(d²)
samples: from the start for Gaussian noise (a regression comes first), after one step for other channels.
gap_t is the excess error of step t. It decreases with t, since the map is increasing in v and v_1 <= v_0,
and its limit is the universal branch (the one with the largest error, should there be several).

At finite d the linear part costs d unknowns: given ``d``, gap_t has the further term

.. math:: \ell_t = \mu_1^2\,\frac{\nu}{\mu_1^2 + \nu}, \qquad
          \nu = \frac{\tau_{t-1}^2}{\alpha d}, \qquad \tau^2 = \frac{1}{2\psi_\mathrm{out}'},

about (Δ + gap)/(αd): the largest of the corrections of relative order 1/d, and the only one computed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._display import Plotted
from .._sizes import alpha_from
from ..denoising import MatrixDenoiser
from ..ingredients import channels
from ..problem import Problem

__all__ = ["StateEvolution", "state_evolution"]


@dataclass(frozen=True)
class StateEvolution(Plotted):
    """Predicted course of GAMP-RIE; arrays over the steps 0, 1, …

    ``excess_error`` and ``matrix_mmse`` are those of the estimate at the step, ``matrix_overlap_hat`` is
    the snr it is made into the next one with. ``status`` is "converged" or "max_steps".
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
    alpha: float | None = None,
    *,
    n: float | None = None,
    d: int | None = None,
    n_steps: int | None = None,
    rtol: float = 1e-12,
    max_steps: int = 10_000,
) -> StateEvolution:
    """The error of GAMP-RIE after each step, in the limit of large d or with the linear part's cost at d.

    Parameters
    ----------
    problem : Problem
        Any channel with a free entropy, any readouts, any gamma.
    alpha : float
        Samples per d², > 0.
    n : float
        Number of samples, with ``d``, in place of ``alpha``.
    d : int or None
        Dimension of the inputs, for the error of the linear part; None leaves it out.
    n_steps : int or None
        Exactly so many steps; None iterates until the error changes by less than ``rtol`` of itself.
    """
    problem.require_isotropic("state evolution of GAMP-RIE")
    alpha = float(alpha_from(alpha, n, d) if n is not None or alpha is None else alpha)
    if not (alpha > 0 and math.isfinite(alpha)):
        raise ValueError(f"alpha must be > 0 and finite (samples per d^2), got {alpha:g}")
    if d is not None and d < 1:
        raise ValueError(f"d must be >= 1 (dimension of the inputs), got {d}")
    if n_steps is not None and n_steps < 0:
        raise ValueError(f"n_steps must be >= 0, got {n_steps}")
    _, mu1, mu2 = problem.hermite
    tail = float(problem.activation.tail_kernel(1.0))
    denoiser = MatrixDenoiser(problem.readouts, problem.gamma)

    def precision(gap: float) -> float:
        return 2 * float(problem.channel.free_entropy_slope(gap, problem.output_power))

    def linear_error(tau2: float) -> float:
        nu = 0.0 if d is None else tau2 / (alpha * d)
        return mu1**2 * nu / (mu1**2 + nu) if nu > 0 else 0.0

    v = 1.0
    if isinstance(problem.channel, channels.Gaussian):
        linear = linear_error(1 / precision(0.5 * mu2**2 + tail))
    else:
        linear = mu1**2
    rows: list[tuple[float, float, float]] = []
    status = "max_steps"
    last = max_steps if n_steps is None else n_steps
    rate = 1.0
    for step in range(last + 1):
        gap = 0.5 * mu2**2 * v + tail + linear
        inverse_tau2 = precision(gap)
        rows.append((gap, v, alpha * mu2**2 * inverse_tau2))
        if step > 0:
            old = rows[-2][0]
            change = abs(gap - old)
            rate = change / max(abs(old - rows[-3][0]), 1e-300) if step > 1 else 0.5
            # What is left of a geometric sequence is its last change times rate/(1 - rate).
            if change <= rtol * gap * max(1 - rate, 1e-4):
                status = "converged"
                if n_steps is None:
                    break
        v, linear = float(denoiser.mmse(rows[-1][2])), linear_error(1 / inverse_tau2)
    gaps, mmse, snrs = np.array(rows).T
    return StateEvolution(alpha, gaps, mmse, snrs, status)

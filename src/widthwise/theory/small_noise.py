r"""Many samples or little noise: the posterior is Gaussian about the teacher, and overlaps are known exactly.

There n = αd² labels have the Fisher matrix (n/kd)(μ₂²𝓛 + c)/(Δ + ε) for the displacements v_i δw_i of the
units, with c = g'(1) and 𝓛 the quadratic form ‖δS₂‖² of the matrix S₂ = WᵀD_vW/√k; lower orders have too few
directions to count, and higher ones tell every unit apart. In the singular vectors of the W of units with
v ≠ 0 (k' = γ'd of them) the eigenvalues of 𝓛 are

==========================  ==============  =====================================================
eigenvalue                  share           direction
==========================  ==============  =====================================================
s + s'                      γ'/2            both units and inputs within the span of W
s                           1 - γ'          out of the rows of W (γ' < 1)
0                           γ'/2            rotations of units into each other: S₂ does not change
==========================  ==============  =====================================================

(1/2γ' and 1 - 1/2γ' for s + s' and 0 when γ' > 1), s and s' being independent eigenvalues of WWᵀ/d, of the
Marchenko-Pastur law. With ⟨·⟩ the mean over these and f the share of those that are not 0,

.. math:: 1 - \mathcal{Q}_W(v) = \frac{\gamma(\Delta + \varepsilon)}{\alpha v^2}\,\xi, \qquad
          1 - (q_2 - \gamma\bar v^2) = \frac{\Delta + \varepsilon}{\alpha}\,\kappa, \qquad
          \varepsilon = \frac{\gamma'(\Delta + \varepsilon)}{\alpha},

.. math:: \xi = \langle 1/(\mu_2^2\mathcal{L} + c)\rangle, \qquad
          \kappa = 2\gamma'\langle \mathcal{L}/(\mu_2^2\mathcal{L} + c)\rangle, \qquad
          \tfrac12\mu_2^2\kappa + \gamma' c\,\xi = \gamma' .

The saddle point of the theory has the same ε. Its mmse is 2γ'f/η at large η, and its tilt takes the errors of
the units for isotropic, so that its ξ solves

.. math:: c\,\xi + \frac{f\mu_2^2\xi}{f + \mu_2^2\xi} = 1, \qquad
          f = 1 - \gamma'/2 \;(\gamma' \le 1), \quad 1/2\gamma' \;(\gamma' \ge 1);

the factorised ansatz has f = 1/2γ' at any γ'. Neither is ⟨·⟩, except that the factorised one is as γ' → 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._bad_value import BadValue
from ..ingredients import channels
from ..ingredients.discrete_readouts import Discrete
from ..problem import Problem

__all__ = ["Coefficients", "SmallNoiseLimit", "small_noise_limit"]

_ROUNDING = 1e-12  # g'(1) as a fraction of the whole kernel's slope up to which it is rounding
_N_NODES = 200
_NARROWEST = 1e-10


@dataclass(frozen=True)
class Coefficients:
    """How fast the two overlaps approach their maximum, in units of (Δ + ε)/α."""

    overlap: float
    """ξ: 1 - 𝒬_W(v) = γ(Δ + ε)ξ/(αv²)."""
    matrix: float
    """κ: 1 - (q₂ - γv̄²) = (Δ + ε)κ/α."""


@dataclass(frozen=True)
class SmallNoiseLimit:
    """The coefficients of Δ/α → 0: the exact ones, and those of the main theory and the factorised ansatz."""

    problem: Problem
    exact: Coefficients
    main: Coefficients
    factorised: Coefficients
    active_gamma: float
    """γ', units with a readout other than 0 per input."""

    @property
    def matrix_shift(self) -> float:
        """κ of the main theory over the exact one, minus 1: by how much 1 - q₂ is wrong."""
        return self.main.matrix / self.exact.matrix - 1

    def excess_error(self, alpha: float) -> float:
        """ε = γ'Δ/(α - γ') for α > γ': exact and theory alike, at leading order in Δ."""
        if not alpha > self.active_gamma:
            raise BadValue(
                "alpha",
                f"{{field}} must be > {self.active_gamma:g}, the unknowns per d²: fewer labels leave the "
                "weights undetermined however small the noise",
                alpha,
            )
        noise = self.problem.channel.noise  # type: ignore[attr-defined]
        return float(self.active_gamma * noise / (alpha - self.active_gamma))

    def matrix_overlap_centred(self, alpha: float) -> float:
        """q₂ - γv̄² to first order, exact."""
        return 1 - self.exact.matrix * self.excess_error(alpha) / self.active_gamma

    def weight_overlap(self, alpha: float, readout: float = 1.0) -> float:
        """𝒬_W(v) of units with this readout to first order, exact."""
        gap = self.problem.gamma * self.exact.overlap * self.excess_error(alpha) / self.active_gamma
        return 1 - gap / readout**2


def small_noise_limit(problem: Problem) -> SmallNoiseLimit:
    """1 - 𝒬_W and 1 - q₂ of the specialised phase as Δ/α → 0: exact, by the main theory, and factorised.

    The exact coefficients come from the Fisher matrix (see the equations of this module) and hold for every
    law of the readouts; with readouts arbitrarily close to 0 the limit is approached as √(Δ/α) only, since
    units of v² < Δ/α stay unknown. ``problem.channel.noise`` does not enter the coefficients.

    Raises ``ValueError`` where the posterior does not become Gaussian about one teacher, or the noise is not
    Gaussian: weights with atoms, activations with jumps or without a part beyond second order, inputs with a
    covariance, other channels.

    >>> import widthwise as ww
    >>> limit = ww.theory.small_noise_limit(ww.Problem("sigma3", gamma=0.5))
    >>> [round(c.matrix, 4) for c in (limit.exact, limit.main, limit.factorised)]
    [0.2872, 0.2673, 0.3048]
    """
    slope = _checked_slope(problem)
    curvature = problem.hermite[2] ** 2
    gamma = problem.gamma * _share_of_active(problem)
    share = 1 - gamma / 2 if gamma <= 1 else 1 / (2 * gamma)
    return SmallNoiseLimit(
        problem,
        _exact(curvature, slope, gamma),
        _of_ansatz(curvature, slope, gamma, share),
        _of_ansatz(curvature, slope, gamma, 1 / (2 * gamma)),
        gamma,
    )


def _exact(curvature: float, slope: float, gamma: float) -> Coefficients:
    """ξ and κ by the mean over the spectrum of 𝓛; ``curvature`` is μ₂² and ``slope`` is c."""
    s, weight = _marchenko_pastur(gamma)
    inside, outside = (gamma / 2, 1 - gamma) if gamma <= 1 else (1 / (2 * gamma), 0.0)
    spectrum = np.concatenate([np.add.outer(s, s).ravel(), s])
    share = np.concatenate([inside * np.multiply.outer(weight, weight).ravel(), outside * weight])
    stiffness = curvature * spectrum + slope
    overlap = float(np.sum(share / stiffness)) + (1 - inside - outside) / slope
    return Coefficients(overlap, 2 * gamma * float(np.sum(share * spectrum / stiffness)))


def _marchenko_pastur(gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for means over the eigenvalues of WWᵀ/d that are not 0, W being γd × d.

    With s = (1 - √γ)² + 4√γ sin²(φ/2) the density is smooth but for the scale δ of the lower edge in φ;
    φ = 2δ sinh u resolves it at every γ, 1 included.
    """
    root = math.sqrt(gamma)
    edge = (1 - root) ** 2
    delta = max(abs(1 - root) / (2 * math.sqrt(root)), _NARROWEST)
    top = math.asinh(math.pi / (2 * delta))
    x, w = np.polynomial.legendre.leggauss(_N_NODES)
    u = 0.5 * top * (1 + x)
    phi = 2 * delta * np.sinh(u)
    s = edge + 4 * root * np.sin(phi / 2) ** 2
    density = 4 * gamma * np.sin(phi) ** 2 / (2 * math.pi * min(gamma, 1.0) * s)
    return s, 0.5 * top * w * density * 2 * delta * np.cosh(u)


def _of_ansatz(curvature: float, slope: float, gamma: float, share: float) -> Coefficients:
    """The root ξ > 0 of cξ(f + μ₂²ξ) + fμ₂²ξ = f + μ₂²ξ, and κ = 2γξ/(1 + μ₂²ξ/f) of its matrix channel."""
    linear = share * (slope + curvature) - curvature
    root = math.sqrt(linear**2 + 4 * slope * curvature * share)
    overlap = 2 * share / (linear + root) if linear > 0 else (root - linear) / (2 * slope * curvature)
    return Coefficients(overlap, 2 * gamma * overlap / (1 + curvature * overlap / share))


def _share_of_active(problem: Problem) -> float:
    """P(v ≠ 0)."""
    law = problem.readouts
    if not isinstance(law, Discrete):
        return 1.0
    return float(sum(p for v, p in zip(law.values, law.probabilities, strict=True) if v != 0))


def _checked_slope(problem: Problem) -> float:
    """c = g'(1), where the limit exists."""
    problem.require_isotropic("the limit of small noise")
    if not isinstance(problem.channel, channels.Gaussian):
        raise BadValue(
            "channel",
            "the limit of small noise is for {field} 'gaussian': other channels have no noise that goes to 0",
            remedy="give a number, the variance of Gaussian label noise",
        )
    if problem.weights.is_discrete or not _has_density(problem):
        raise BadValue(
            "weights",
            f"the limit of small noise needs {{field}} with a density: {problem.weights.name} weights are "
            "known without error before the noise vanishes",
            remedy="take 'gaussian' or 'uniform'",
        )
    if problem.activation.has_jumps:
        raise BadValue(
            "activation",
            f"{{field}} {problem.activation.name!r} jumps: its labels have no finite Fisher information on "
            "the weights, and errors vanish faster than the noise",
            remedy="take a continuous one",
        )
    slope = float(problem.activation.tail_kernel_slope(1.0))
    _, mu1, mu2 = problem.hermite
    if slope <= _ROUNDING * (mu1**2 + mu2**2):
        raise BadValue(
            "activation",
            f"{{field}} {problem.activation.name!r} has no part beyond second order: units can be rotated "
            "into each other at no cost, and their overlap does not approach 1",
            remedy="take one with g(x) ≠ 0",
        )
    return slope


def _has_density(problem: Problem) -> bool:
    try:
        problem.weights.log_density(np.zeros(1))
    except ValueError:
        return False
    return True

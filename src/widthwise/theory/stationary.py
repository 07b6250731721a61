r"""From points of a family to solutions: error, free entropy, mutual information, stability.

Free entropy of a stationary point of f_RS (eq. fRS), hats eliminated, r₂ - q₂ = mmse(τ + q̂₂):

.. math:: f = \psi_\mathrm{out} + \tfrac1{4\alpha}\hat q_2\,\mathrm{mmse}(\tau+\hat q_2)
    + \tfrac\gamma\alpha E[\psi_W(x) - \tfrac12 xQ] + \tfrac1\alpha[\iota(\tau) - \iota(\tau+\hat q_2)].

A solution is stable when it is a local maximum of f over (q₂, 𝒬_W).  The second variation is diagonal in
𝒬_W(v) but for the directions δm = δE v²𝒬², δG = δE v²g(𝒬) and δq₂, of which the last is eliminated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array, Bools
from .matrix_channel import MatrixPair
from .potential import entropy_terms, mutual_information
from .setting import Averages, Setting
from .solution import CONVERGED, Solution, readout_grid

__all__ = ["MARGIN", "Stationary", "is_maximum_over_classes", "is_maximum_over_profile", "solutions_at"]

MARGIN = 1e-11
"""Rounding of v²A - 1 next to the onset of a class, where stability changes."""
_MANY = 64  # classes beyond which the second variation is reduced to its coupling directions


@dataclass
class Stationary:
    """Stationary points of one branch as arrays, one entry each."""

    family: object
    """The curve that they lie on, and where: its parameter u, the unknowns z, and the residual there."""
    parameter: Array
    state: Array
    residual: Array
    alpha: Array
    log_tilt: Array
    log_hat: Array
    pair: MatrixPair
    averages: Averages
    overlap: Array
    """𝒬_W at the reported readouts."""
    snr: Array
    is_stable: Bools
    """Whether the second variation is negative."""


def solutions_at(setting: Setting, branch: str, s: Stationary) -> list[Solution]:
    """Stationary points with everything that is reported of them."""
    problem, channel, power = setting.problem, setting.problem.channel, setting.power
    if s.alpha.size == 0:
        return []
    hat = np.exp(s.log_hat)
    after = s.pair.mmse_after
    gap = setting.output_gap(after, s.averages.kernel_gap)
    drop = np.zeros(s.alpha.size)
    if setting.mu2_squared > 0:
        is_tilted = np.isfinite(s.log_tilt)
        drop[~is_tilted] = -setting.spectral.information(s.log_hat[~is_tilted])
        drop[is_tilted] = setting.matrix.information_drop(s.log_tilt[is_tilted], s.log_hat[is_tilted])
    log_tilt = s.log_tilt
    if setting.mu2_squared == 0 and setting.theory == "main" and (is_tilted := np.isfinite(log_tilt)).any():
        exact = setting.spectral.log_snr_of(s.averages.odds) if setting.has_tilt else np.nan
        log_tilt = np.where(is_tilted, exact, log_tilt)
    entropy = entropy_terms(setting.gamma, after, hat, s.averages.entropy, drop)
    known = channel.free_entropy_known(power)
    deficit = np.zeros(gap.size)
    if setting.is_linear:  # no gap is left
        data = np.full(gap.size, known)
        bayes = gibbs = np.full(gap.size, channel.irreducible_error(power))
    else:
        data = channel.free_entropy(gap, power)
        deficit = channel.free_entropy_deficit(gap, power)
        bayes, gibbs = channel.bayes_error(gap, power), channel.gibbs_error(gap, power)
    free_entropy = data + entropy / s.alpha
    information = mutual_information(s.alpha, setting.gamma, deficit, entropy)
    v, weight = readout_grid(problem)
    return [
        Solution(
            problem=problem,
            alpha=float(s.alpha[i]),
            branch=branch,
            is_equilibrium=False,
            is_stable=bool(s.is_stable[i]),
            status=CONVERGED,
            residual=float(s.residual[i]),
            excess_error=float(gap[i]),
            bayes_error=float(bayes[i]),
            gibbs_error=float(gibbs[i]),
            matrix_overlap=float(problem.matrix_power - after[i]),
            matrix_overlap_hat=float(hat[i]),
            matrix_overlap_centred=float(1 - after[i]),
            tilt=float(np.exp(log_tilt[i])),
            free_entropy=float(free_entropy[i]),
            mutual_information=float(information[i]),
            readout_values=v,
            readout_weights=weight,
            weight_overlap=s.overlap[i],
            weight_overlap_hat=s.snr[i],
            family=s.family,
            parameter=float(s.parameter[i]),
            state=s.state[i],
        )
        for i in range(s.alpha.size)
    ]


def _form(
    setting: Setting,
    alpha: np.ndarray,
    log_tilt: np.ndarray,
    log_coupling: np.ndarray,
    pair: MatrixPair,
    averages: Averages,
) -> tuple[np.ndarray, np.ndarray]:
    """The quadratic form of f in (δm, δG) with δq₂ eliminated, and whether f is a maximum in q₂."""
    half = 0.5 * setting.mu2_squared
    gap = setting.output_gap(pair.mmse_after, averages.kernel_gap)
    curvature = setting.problem.channel.free_entropy_curvature(gap, setting.power)
    form = np.zeros((alpha.size, 2, 2))
    form[:, 1, 1] = curvature
    if setting.mu2_squared == 0:
        return form, np.ones(alpha.size, dtype=bool)
    with np.errstate(all="ignore"):
        log_hat = setting.log_hat_scale + log_coupling
        log_after = np.logaddexp(log_tilt, log_hat)
        after_slope = -(pair.after_by_tilt + pair.after_by_hat)  # -d mmse/d ln η at τ + q̂₂
        # mmse (1 - mmse) o' = -d mmse/d ln η at τ, of the logarithm of the odds o.
        log_here = -np.logaddexp(0, pair.odds) - np.logaddexp(0, -pair.odds) + np.log(pair.rate)
        steep_after = after_slope * np.exp(-log_after)
        ratio = after_slope * np.exp(log_tilt - log_after - log_here)
        # δq₂ is eliminated first: its own coefficient is (k - 1)/(4α (-mmse'(τ + q̂₂))).
        k = 4 * alpha * curvature * half**2 * steep_after
        mm = np.exp(pair.log_pull - log_here) * pair.pull_by_tilt / (4 * alpha)
        form[:, 0, 0] = mm + curvature * (half * ratio) ** 2 / (1 - k)
        form[:, 0, 1] = form[:, 1, 0] = curvature * half * ratio / (1 - k)
        form[:, 1, 1] = curvature / (1 - k)
    return np.nan_to_num(form, nan=0.0, posinf=1e150, neginf=-1e150), k < 1


def is_maximum_over_classes(
    setting: Setting,
    alpha: Array,
    log_tilt: Array,
    log_coupling: Array,
    pair: MatrixPair,
    averages: Averages,
    snr: Array,
    pull: Array,
) -> Bools:
    """Whether the second variation is negative, for classes at any roots of their equations."""
    assert setting.classes is not None
    values2, powers = setting.classes.values2, setting.classes.powers
    form, is_maximum = _form(setting, alpha, log_tilt, log_coupling, pair, averages)
    coupling = np.exp(log_coupling)
    is_free = np.isfinite(snr)  # known weights cannot move
    u = setting.units(np.where(is_free, snr, 0.0))
    slope = pull[:, None] * u.overlap_slope + coupling[:, None] * np.where(snr > 0, u.kernel_curvature, 0.0)
    stiff = np.where(is_free, 1 - values2 * slope, 1.0)
    size = np.where(is_free & (snr > 0), np.sqrt(powers * values2 * u.overlap_slope), 0.0)
    directions = np.stack([2 * size * u.overlap, size * np.where(size > 0, u.kernel_slope, 0.0)], axis=-1)
    scale = 2 * alpha / setting.gamma
    with np.errstate(all="ignore"):
        if values2.size > _MANY:
            weighted = np.swapaxes(directions / stiff[..., None], 1, 2) @ directions
            largest = np.linalg.eigvals(np.nan_to_num(scale[:, None, None] * form @ weighted)).real.max(
                axis=1
            )
            is_stable: Bools = is_maximum & np.all(stiff > -MARGIN, axis=1) & (largest < 1)
            return is_stable
        hessian = scale[:, None, None] * (directions @ form @ np.swapaxes(directions, 1, 2))
    hessian = np.nan_to_num(hessian, nan=0.0, posinf=1e300, neginf=-1e300)
    hessian[:, np.arange(values2.size), np.arange(values2.size)] -= stiff
    return is_maximum & (np.linalg.eigvalsh(hessian)[:, -1] < MARGIN)


def is_maximum_over_profile(
    setting: Setting,
    alpha: Array,
    log_tilt: Array,
    log_coupling: Array,
    pair: MatrixPair,
    averages: Averages,
) -> Bools:
    """The same where every unit sits at its own maximum: two directions are left."""
    form, is_maximum = _form(setting, alpha, log_tilt, log_coupling, pair, averages)
    scale = 2 * alpha / setting.gamma
    pull, coupling = np.exp(pair.log_pull) / setting.gamma, np.exp(log_coupling)
    with np.errstate(all="ignore"):
        # Responses of (m, G) to fields on them, from the slopes in ln A and ln B.
        by_pull = averages.learnt_slopes[0] / pull
        response = np.empty((alpha.size, 2, 2))
        response[:, 0, 0] = 2 * by_pull
        response[:, 0, 1] = response[:, 1, 0] = averages.learnt_slopes[1] / coupling
        response[:, 1, 1] = -averages.kernel_slopes[1] / coupling
        largest = np.linalg.eigvals(np.nan_to_num(scale[:, None, None] * form @ response)).real.max(axis=1)
    is_stable: Bools = is_maximum & (largest < 1 + MARGIN)
    return is_stable

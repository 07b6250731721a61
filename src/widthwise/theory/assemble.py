r"""From couplings to solutions: error, overlaps, free entropy, stability.

Free entropy of a stationary point (hats eliminated, r₂ - q₂ = mmse(τ + q̂₂))

.. math:: f = \psi_\mathrm{out} + \tfrac1{4\alpha}\hat q_2\,\mathrm{mmse}(\tau+\hat q_2)
    + \tfrac\gamma\alpha E[\psi_W(x) - \tfrac12 xQ] + \tfrac1\alpha[\iota(\tau) - \iota(\tau+\hat q_2)].

A solution is stable when it is a local maximum of f over (q₂, 𝒬_W).  The second variation is
diagonal in 𝒬_W(v) but for three directions, δm = δE v²𝒬², δG = δE v²g(𝒬) and δq₂, so this
is decided by a 2 × 2 matrix however many readout values there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .matrix_table import MatrixPair
from .profiles import Averages
from .saddle import RTOL, ClassSolutions, Setting, pull_slopes
from .solution import CONVERGED, Solution, readout_grid
from .units import evaluate_units

__all__ = ["ACCEPTED", "assemble_averaged", "assemble_classes", "assemble_universal"]

ACCEPTED = 1e-10
"""Residual (relative error of every saddle-point equation) up to which a solution is reported."""
assert RTOL < ACCEPTED


@dataclass
class _Points:
    """Stationary points as arrays, before they become solutions."""

    alpha: np.ndarray
    tilt: np.ndarray
    hat: np.ndarray
    matrix: MatrixPair
    averages: Averages
    residual: np.ndarray
    is_stiff: np.ndarray
    """Whether units that are not learnt would stay so."""
    overlap: np.ndarray
    snr: np.ndarray
    stiffness: np.ndarray | None = None
    """1 - d(force)/dx of each learnt class (None: all units at their own maxima)."""
    levers: np.ndarray | None = None
    """√(P_v F') (2v²Q, v²g') of each learnt class: how it moves (m, G)."""


def assemble_universal(setting: Setting, alpha: np.ndarray, log_coupling: np.ndarray, residual: np.ndarray):
    """Solutions with every overlap 0."""
    n = alpha.size
    v, _ = readout_grid(setting.problem)
    zeros, ones = np.zeros(n), np.ones(n)
    hat = setting.gamma * setting.mu2_squared * np.exp(log_coupling)
    matrix = setting.table.pair(zeros, hat)
    recovered = matrix.pull  # 1 - mmse(q̂₂): the slope at 0 is -1
    largest = setting.problem.readouts.largest
    with np.errstate(invalid="ignore"):  # inf * 0 for unbounded readouts at mu_2 = 0
        is_stiff = (recovered == 0) | (largest**2 * recovered / setting.gamma < 1)
    averages = Averages(zeros, ones, setting.kernel_total * ones, zeros, np.zeros((2, n)), np.zeros((2, n)))
    blank = np.zeros((n, v.size))
    return _solutions(
        setting, "universal", _Points(alpha, zeros, hat, matrix, averages, residual, is_stiff, blank, blank)
    )


def assemble_classes(
    setting: Setting, alpha: np.ndarray, found: ClassSolutions, values2: np.ndarray, powers: np.ndarray
):
    """Solutions whose first classes (as many as ``found`` has columns) are learnt."""
    n, m = found.log_snr.shape
    problem = setting.problem
    tilt, coupling = np.exp(found.log_tilt), np.exp(found.log_coupling)
    x = np.exp(found.log_snr)
    u = evaluate_units(problem.activation, problem.weights, x)
    hat = setting.gamma * setting.mu2_squared * coupling
    matrix = setting.table.pair(tilt, hat)
    pull = matrix.pull / setting.gamma
    stiff = 1 - values2[:m] * (pull[:, None] * u.overlap_slope + coupling[:, None] * u.kernel_curvature)
    weights, unlearnt = powers[:m], powers[m:].sum()
    moved = weights * values2[:m] * u.overlap_slope / stiff
    averages = Averages(
        u.overlap**2 @ weights,
        (u.gap * (1 + u.overlap)) @ weights + unlearnt,
        u.kernel_gap @ weights + unlearnt * setting.kernel_total,
        u.entropy @ (weights / values2[:m]),
        np.stack([np.sum(moved * 2 * u.overlap * y, axis=1) for y in (u.overlap, u.kernel_slope)]),
        -np.stack([np.sum(moved * u.kernel_slope * y, axis=1) for y in (u.overlap, u.kernel_slope)]),
    )
    is_stiff = values2[m] * pull < 1 if m < values2.size else np.ones(n, dtype=bool)
    size = np.sqrt(weights * values2[:m] * u.overlap_slope)
    levers = np.stack([2 * size * u.overlap, size * u.kernel_slope], axis=-1)
    v, _ = readout_grid(problem)
    overlap, snr = np.zeros((n, v.size)), np.zeros((n, v.size))
    for i in range(m):
        own = np.isclose(v**2, values2[i], rtol=1e-10)
        overlap[:, own] = u.overlap[:, i : i + 1]
        snr[:, own] = x[:, i : i + 1]
    return _solutions(
        setting,
        "specialised",
        _Points(alpha, tilt, hat, matrix, averages, found.residual, is_stiff, overlap, snr, stiff, levers),
    )


def assemble_averaged(setting: Setting, profile, alpha: np.ndarray, found: ClassSolutions):
    """Solutions whose units all sit at their equilibrium roots."""
    tilt, coupling = np.exp(found.log_tilt), np.exp(found.log_coupling)
    hat = setting.gamma * setting.mu2_squared * coupling
    matrix = setting.table.pair(tilt, hat)
    pull = np.maximum(matrix.pull / setting.gamma, 1e-280)
    averages = profile.averages(pull, coupling)
    v, _ = readout_grid(setting.problem)
    snr = profile.snr_at(pull, coupling, v**2)
    overlap = setting.problem.weights.overlap(snr)
    is_stiff = np.ones(alpha.size, dtype=bool)
    return _solutions(
        setting,
        "specialised",
        _Points(alpha, tilt, hat, matrix, averages, found.residual, is_stiff, overlap, snr),
    )


def _solutions(setting: Setting, branch: str, p: _Points) -> list[Solution]:
    problem, channel, power = setting.problem, setting.problem.channel, setting.power
    if p.alpha.size == 0:
        return []
    after = p.matrix.mmse_after
    gap = setting.output_gap(after, p.averages.kernel_gap)
    free_entropy = (
        channel.free_entropy(gap, power)
        + (
            0.25 * p.hat * after
            + setting.gamma * p.averages.entropy
            + setting.table.information_drop(p.tilt, p.hat)
        )
        / p.alpha
    )
    information = p.alpha / setting.gamma * (channel.free_entropy_known(power) - free_entropy)
    # Next to perfect learning slopes underflow; such a point is not called stable, the perfect one is.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        is_stable = p.is_stiff & _is_maximum(setting, p, gap)
    matrix_overlap = problem.matrix_power - after
    bayes, gibbs = channel.bayes_error(gap, power), channel.gibbs_error(gap, power)
    v, weight = readout_grid(problem)
    solutions = []
    for i in range(p.alpha.size):
        if not p.residual[i] <= ACCEPTED:
            solutions.append(Solution.missing(problem, p.alpha[i], branch, "did not converge"))
            continue
        solutions.append(
            Solution(
                problem=problem,
                alpha=float(p.alpha[i]),
                branch=branch,
                is_equilibrium=False,
                is_stable=bool(is_stable[i]),
                status=CONVERGED,
                residual=float(p.residual[i]),
                excess_error=float(gap[i]),
                bayes_error=float(bayes[i]),
                gibbs_error=float(gibbs[i]),
                matrix_overlap=float(matrix_overlap[i]),
                matrix_overlap_hat=float(p.hat[i]),
                matrix_overlap_centred=float(1 - after[i]),
                tilt=float(p.tilt[i]),
                free_entropy=float(free_entropy[i]),
                mutual_information=float(information[i]),
                readout_values=v,
                readout_weights=weight,
                weight_overlap=p.overlap[i],
                weight_overlap_hat=p.snr[i],
            )
        )
    return solutions


def _is_maximum(setting: Setting, p: _Points, gap: np.ndarray) -> np.ndarray:
    """Whether the second variation is negative in the directions that couple the units."""
    alpha, half, matrix = p.alpha, 0.5 * setting.mu2_squared, p.matrix
    bend = setting.problem.channel.free_entropy_curvature(gap, setting.power)
    is_tilted = p.tilt > 0
    tau = np.where(is_tilted, p.tilt, 1.0)
    log_slope = np.where(is_tilted, matrix.log_slope, -1.0)
    steep = -log_slope / tau  # -mmse'(τ), 1 at τ = 0
    ratio = matrix.slope_ratio
    # δq₂ is eliminated first: its own coefficient is (k - 1)/(4α (-mmse'(τ + q̂₂))).
    k = 4 * alpha * bend * half**2 * ratio * steep
    steepening = setting.table.steepening(tau) if is_tilted.any() else np.zeros(tau.shape)
    by_tau, _ = pull_slopes(setting, matrix, tau, p.hat, steepening)
    mm = np.where(is_tilted, setting.gamma * by_tau / (-4 * alpha * log_slope), 0.0)
    mm = mm + bend * (half * ratio) ** 2 / (1 - k)
    mg = bend * half * ratio / (1 - k)
    gg = bend / (1 - k)
    scale = 2 * alpha / setting.gamma
    if p.stiffness is not None and p.levers is not None:
        # A class of finite weight may sit where it is not stiff, held by the others' response.
        form = np.stack([np.stack([mm, mg], -1), np.stack([mg, gg], -1)], -1)
        hessian = scale[:, None, None] * (p.levers @ form @ np.swapaxes(p.levers, 1, 2))
        hessian -= p.stiffness[:, :, None] * np.eye(p.stiffness.shape[1])
        return (k < 1) & (np.linalg.eigvalsh(hessian)[:, -1] < 0)
    n_mm = 2 * scale * p.averages.learnt_slopes[0]
    n_mg = scale * p.averages.learnt_slopes[1]
    n_gg = -scale * p.averages.kernel_gap_slopes[1]
    trace = n_mm * mm + 2 * n_mg * mg + n_gg * gg
    determinant = (n_mm * n_gg - n_mg**2) * (mm * gg - mg**2)
    largest = 0.5 * (trace + np.sqrt(np.maximum(trace**2 - 4 * determinant, 0.0)))
    return (k < 1) & (largest < 1)

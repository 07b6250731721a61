r"""The free entropy as a landscape over one overlap, at fixed α: why a branch wins.

.. math:: F(\mathcal Q) = \max_{\mathcal Q_W(\cdot):\; E v^2\mathcal Q_W(v)^2 = \mathcal Q^2}\;
          \mathrm{extr}_{q_2, \hat q_2, \hat{\mathcal Q}_W}\; f_\mathrm{RS},

so that its stationary points are the solutions of the saddle-point equations (those that no exchange of
overlap between readouts improves), its maximum is the equilibrium, and 𝒬 = 0 is the universal branch.  One
|readout| leaves nothing to maximise; two are scanned; a few are divided by dynamic programming
(:func:`best_divisions`).  For continuous laws profiles that obey x = v²(A'𝒬 + B g'(𝒬)) with a free
multiplier A' are the maximisers, and 𝒬 that no such profile has (where units jump) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array, Integers
from .._display import Plotted
from .._sizes import alpha_from
from ..numerics.roots import decreasing_root
from ..problem import Problem
from .families.continuous_profile import jump_levels
from .families.profile import profile_of
from .setting import Averages, Setting, class_averages, setting_of
from .solver import as_alpha
from .units import Root

__all__ = ["Landscape", "landscape"]

_LOG_COUPLING = (-46.0, 46.0)
_N_SHARES = 81
_MOST_DIVIDED = 16  # classes; beyond, profiles of a multiplier
_N_STRENGTHS, _N_CHOICES = 10, 241
_N_CELLS = 400  # of the square of the overall overlap, for dividing it


@dataclass(frozen=True)
class Landscape(Plotted):
    """F over 𝒬 = √E[v²𝒬_W²], and the overlap of each |readout| behind it, largest first (None for many)."""

    overlap: Array
    free_entropy: Array
    profile: Array | None


def landscape(
    problem: Problem,
    alpha: float | None = None,
    n_points: int = 121,
    *,
    n: float | None = None,
    d: float | None = None,
) -> Landscape:
    """The RS potential at α, maximised over everything but the overall overlap; right to about 1e-6.

    Parameters
    ----------
    n_points : int
        Values of 𝒬, denser towards 1, where discrete weights have their narrow maximum.
    """
    at = float(as_alpha(alpha_from(alpha, n, d), scalar=True)[0])
    setting = setting_of(problem)
    classes = setting.classes
    # 𝒬 = 1 itself has infinite conjugates; the last point is as close as any solution that can be seen.
    overlap = np.sin(0.5 * np.pi * np.linspace(0, 1, n_points)) * (1 - 1e-6)
    if classes is not None and len(classes) <= 2:
        # Where the first class is learnt and the second is not, discrete weights make a sharp peak.
        aside = np.geomspace(1e-6, 0.1, 16)
        cusp = np.sqrt(classes.powers[0]) * np.concatenate([1 - aside, [1.0], 1 + aside])
        overlap = np.union1d(overlap, cusp[cusp < overlap[-1]])
        return _scanned(setting, at, overlap, classes.values2, classes.powers)
    if classes is not None and len(classes) <= _MOST_DIVIDED:
        return _divided(setting, at, overlap, classes.values2, classes.powers)
    return _profiles(setting, at, n_points)


def _divided(setting: Setting, alpha: float, overlap: Array, values2: Array, powers: Array) -> Landscape:
    """Several classes: the best of the divisions that some strength of the data prefers."""
    choices = np.sin(0.5 * np.pi * np.linspace(0, 1, _N_CHOICES)) * (1 - 1e-6)
    choices = np.union1d(choices, 1 - np.geomspace(1e-6, 0.01, 16))
    units = setting.units(_conjugate(setting, choices))
    gap = setting.output_gap(
        np.linspace(1, 0, _N_STRENGTHS), np.linspace(setting.kernel_total, 0, _N_STRENGTHS)
    )
    strength = setting.problem.channel.free_entropy_slope(gap, setting.power)
    cost = (setting.gamma / alpha) * np.multiply.outer(powers / values2, units.entropy)
    gains = cost - strength[:, None, None] * np.multiply.outer(powers, units.kernel_gap)
    picks = best_divisions(gains, choices**2, powers)
    each = choices[picks]
    whole = np.sqrt(each**2 @ powers)
    kernel_gap, entropy = units.kernel_gap[picks] @ powers, units.entropy[picks] @ (powers / values2)
    f = _potential(setting, alpha, _tilt(setting, whole), kernel_gap, entropy)
    keep = _upper(whole, f, np.append(overlap, 1.0))
    return Landscape(whole[keep], f[keep], each[keep])


def best_divisions(gains: np.ndarray, squares: np.ndarray, powers: np.ndarray) -> np.ndarray:
    r"""Which overlap each class takes, for each strength β of the data and each cell of 𝒬².

    .. math:: \max \sum_c \Big[\tfrac{\gamma w_c}{\alpha v_c^2}\, s(\mathcal Q_c)
              - \beta w_c\,(g(1) - g(\mathcal Q_c))\Big],\qquad \sum_c w_c \mathcal Q_c^2 = \mathcal Q^2,

    is a sum over classes under one constraint, which dynamic programming maximises on a grid of 𝒬², whatever
    hills and valleys the single terms have.  The grid only decides which divisions are tried: each belongs
    exactly to the overlap that it adds up to.

    Parameters
    ----------
    gains : array (strengths, classes, choices)
        The term of a class for every overlap that it may take.
    squares : array (choices,)
        Those overlaps, squared, from 0 to 1.
    powers : array (classes,)
        w_c, of sum 1.

    Returns
    -------
    array of int (divisions, classes)
        Indices of choices, one row for each strength and cell that can be reached.
    """
    n_strengths, n_classes, _ = gains.shape
    cells = np.arange(_N_CELLS + 1)
    value = np.full((n_strengths, cells.size), -np.inf)
    value[:, 0] = 0.0
    picks, befores = [], []
    for c in range(n_classes):
        shift = np.rint(_N_CELLS * powers[c] * squares).astype(int)
        before = cells[:, None] - shift
        reached = np.where(before >= 0, value[:, np.maximum(before, 0)], -np.inf)
        total = reached + gains[:, None, c, :]
        pick = np.argmax(total, axis=-1)
        value = np.take_along_axis(total, pick[..., None], axis=-1)[..., 0]
        picks.append(pick)
        befores.append(np.take_along_axis(np.broadcast_to(before, total.shape), pick[..., None], -1)[..., 0])
    strength, cell = np.nonzero(np.isfinite(value))
    division = np.empty((strength.size, n_classes), dtype=int)
    for c in reversed(range(n_classes)):
        division[:, c] = picks[c][strength, cell]
        cell = befores[c][strength, cell]
    return np.unique(division, axis=0)


def _upper(x: Array, y: Array, edges: Array) -> Integers:
    """Indices of the highest point between each two edges, in order."""
    cell = np.searchsorted(edges, x, side="left")  # 0 is a cell of its own
    order = np.lexsort((-y, cell))
    first = order[np.concatenate([[True], np.diff(cell[order]) > 0])]
    highest: Integers = first[np.argsort(x[first])]
    return highest


def _scanned(setting: Setting, alpha: float, overlap: Array, values2: Array, powers: Array) -> Landscape:
    """One or two classes: at each 𝒬, the best division of it between them."""
    squares = overlap[:, None] ** 2
    if values2.size == 1:
        own = squares[..., None]
    else:
        # 𝒬₂² runs over what leaves 𝒬₁² = (𝒬² - w₂𝒬₂²)/w₁ between 0 and 1.
        low = np.maximum(0.0, (squares - powers[0]) / powers[1])
        high = np.minimum(1.0, squares / powers[1])
        second = low + (high - low) * np.sin(0.5 * np.pi * np.linspace(0, 1, _N_SHARES)) ** 2
        own = np.stack([(squares - powers[1] * second) / powers[0], second], axis=-1)
    each = np.sqrt(np.clip(own, 0.0, 1.0)) * (1 - 1e-9)
    shape = each.shape
    snr = _conjugate(setting, each.reshape(-1))
    units = setting.units(snr)
    kernel_gap = units.kernel_gap.reshape(shape) @ powers
    entropy = units.entropy.reshape(shape) @ (powers / values2)
    tilt = np.repeat(_tilt(setting, overlap), shape[1])
    f = _potential(setting, alpha, tilt, kernel_gap.ravel(), entropy.ravel()).reshape(shape[:2])
    best = np.argmax(f, axis=1)
    rows = np.arange(overlap.size)
    return Landscape(overlap, f[rows, best], each[rows, best])


def _profiles(setting: Setting, alpha: float, n_points: int) -> Landscape:
    """Many or continuous readouts: profiles of a free multiplier A', the strength B following from α."""
    multiplier = np.geomspace(1e-3, 1e7, n_points)

    def averages(log_coupling: Array, is_rough: bool = True) -> Averages:
        coupling = np.exp(log_coupling)
        if setting.classes is None:
            return profile_of(setting).averages(multiplier, coupling, is_rough=is_rough)
        values2 = setting.classes.values2
        is_upper = values2 > jump_levels(setting.units, multiplier, coupling)[:, None]
        upper, lower = (
            setting.units.roots(values2, multiplier, coupling, root, is_rough=is_rough)
            for root in (Root.HIGHEST, Root.LOWEST)
        )
        snr = np.where(is_upper, np.nan_to_num(upper), lower)
        u = setting.units.at_roots(snr)
        return class_averages(u, values2, setting.classes.powers, multiplier, coupling)

    def surplus(log_coupling: Array) -> Array:
        a = averages(log_coupling)
        tilt = _tilt_of(setting, a.learnt, a.left)
        return _strength(setting, alpha, tilt, a.kernel_gap, log_coupling) - log_coupling

    low, high = (np.full(n_points, end) for end in _LOG_COUPLING)
    log_coupling = decreasing_root(surplus, low, high, atol=1e-5)
    a = averages(log_coupling, is_rough=False)
    tilt = _tilt_of(setting, a.learnt, a.left)
    f = _potential(setting, alpha, tilt, a.kernel_gap, a.entropy)
    overlap = np.sqrt(np.clip(a.learnt / (a.learnt + a.left), 0.0, 1.0))
    nothing = _potential(setting, alpha, np.zeros(1), np.full(1, setting.kernel_total), np.zeros(1))
    order = np.argsort(overlap)
    keep = order[np.concatenate([[True], np.diff(overlap[order]) > 1e-4])]
    return Landscape(np.append(0.0, overlap[keep]), np.append(nothing, f[keep]), None)


def _conjugate(setting: Setting, overlap: Array) -> Array:
    """x with F(x) = 𝒬, by interpolation of ln x in the logarithm of the odds of 𝒬, polished by Newton."""
    weights = setting.units.weights
    channel = weights.channel(setting.units.grid)
    odds = np.log(channel.overlap) - np.log(np.maximum(channel.mmse, 1e-300))
    use = np.concatenate([[True], np.diff(np.maximum.accumulate(odds)) > 0]) & np.isfinite(odds)
    goal = np.log(np.maximum(overlap, 1e-12)) - np.log(np.maximum(1 - overlap, 1e-12))
    u = np.interp(goal, odds[use], np.log(setting.units.grid)[use])
    for _ in range(3):
        x = np.exp(u)
        now = weights.channel(x)
        at = np.log(now.overlap) - np.log(np.maximum(now.mmse, 1e-300))
        rate = now.overlap_slope * x / np.maximum(now.overlap * now.mmse, 1e-300)
        u = u + np.clip((goal - at) / np.maximum(rate, 1e-3), -0.5, 0.5)
    return np.where(overlap < 1e-12, 0.0, np.exp(u))


def _tilt(setting: Setting, overlap: Array) -> Array:
    return _tilt_of(setting, overlap**2, 1 - overlap**2)


def _tilt_of(setting: Setting, learnt: Array, left: Array) -> Array:
    """ln τ, τ = mmse⁻¹(1 - 𝒬²); -inf where nothing is learnt."""
    log_odds = np.log(np.maximum(learnt, 1e-290)) - np.log(np.maximum(left, 1e-290))
    return np.where(learnt > 1e-280, setting.matrix.rough_log_snr_of(log_odds), -np.inf)


def _after(setting: Setting, log_tilt: Array, log_coupling: Array) -> Array:
    """mmse(τ + q̂₂)."""
    if setting.mu2_squared == 0:
        return np.ones(log_tilt.size)
    return setting.matrix.mmse(np.logaddexp(log_tilt, setting.log_hat_scale + log_coupling))[0]


def _strength(
    setting: Setting, alpha: float, log_tilt: Array, kernel_gap: Array, log_coupling: Array
) -> Array:
    """ln of 2αψ_out'/γ at a given B."""
    gap = setting.output_gap(_after(setting, log_tilt, log_coupling), kernel_gap)
    slope = setting.problem.channel.free_entropy_slope(gap, setting.power)
    return np.log(2 * alpha * np.maximum(slope, 1e-300) / setting.gamma)


def _potential(setting: Setting, alpha: float, log_tilt: Array, kernel_gap: Array, entropy: Array) -> Array:
    """f with q₂ and its conjugate extremised, given the overlaps of the units."""
    low, high = (np.full(log_tilt.shape, end) for end in _LOG_COUPLING)
    log_coupling = decreasing_root(
        lambda u: _strength(setting, alpha, log_tilt, kernel_gap, u) - u, low, high, atol=1e-9
    )
    after = _after(setting, log_tilt, log_coupling)
    gap = setting.output_gap(after, kernel_gap)
    matrix = np.zeros(log_tilt.size)
    if setting.mu2_squared > 0:
        log_hat = setting.log_hat_scale + log_coupling
        is_tilted = np.isfinite(log_tilt)
        drop = -setting.matrix.information(log_hat)
        drop[is_tilted] = setting.matrix.information_drop(log_tilt[is_tilted], log_hat[is_tilted])
        matrix = 0.25 * np.exp(log_hat) * after + drop
    return (
        setting.problem.channel.free_entropy(gap, setting.power) + (matrix + setting.gamma * entropy) / alpha
    )

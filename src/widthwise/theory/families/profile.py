r"""The family of a continuous readout law: every unit at its equilibrium root.

The parameter is u = ln τ and the unknown z = ln B: E v²𝒬² grows with B at fixed τ (both couplings grow), so
moment matching fixes B, and α = γB/(2ψ_out') is explicit.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import Array, Bools, Integers
from ...numerics.roots import decreasing_root
from ..matrix_channel import MatrixPair
from ..setting import Averages, Setting, setting_of
from ..solution import Solution, readout_grid
from ..stationary import Stationary, is_maximum_over_profile, solutions_at
from .base import Family, with_sides
from .continuous_profile import ContinuousProfile
from .equations import Points, System

__all__ = ["ProfileFamily", "overlap_profile", "profile_of"]

_LOG_TILT = np.concatenate(
    [
        np.arange(np.log(1e-13), np.log(1e-3), 1.2),
        np.arange(np.log(1e-3), np.log(1e15), 0.7),
        np.arange(np.log(1e15), np.log(1e34), 2.5),
    ]
)
# τ grows as α⁶ where labels without noise leave only small readouts unknown: most problems need not go on.
_STOPS = np.log([1e15, 1e20, 1e27])
# Below, so few units of a bounded law are learnt that their share is lost in rounding where they jump.
_LEAST_TILT = np.log(1e-6)
_LOG_COUPLING = 60.0
_CLOSE = 1e-12  # to a root between brackets, in ln B
# Two ends so near in ln τ whose slopes say that they meet, to so much in ln B, are one curve.
_SHORT, _MET = 2.5, 1e-3
_RUNS_AWAY = 1e5  # d ln α/d ln τ


class ProfileFamily(Family):
    """Solutions in which units of a continuous law are learnt."""

    n_learnt = 1

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @cached_property
    def profile(self) -> ContinuousProfile:
        return profile_of(self.setting)

    @property
    def grid(self) -> np.ndarray:
        return _LOG_TILT

    @property
    def stops(self) -> np.ndarray:
        return _STOPS

    def state(
        self, u: np.ndarray, z: np.ndarray, *, is_rough: bool = False
    ) -> tuple[MatrixPair, np.ndarray, Averages]:
        """The matrix channel, A, and the averages over the units."""
        setting = self.setting
        pair = setting.matrix.pair(u, setting.log_hat_scale + z[:, 0])
        pull = np.maximum(np.exp(pair.log_pull) / setting.gamma, 1e-280)
        return pair, pull, self.profile.averages(pull, np.exp(z[:, 0]), is_rough=is_rough)

    def system(self, u: np.ndarray, z: np.ndarray) -> System:
        setting = self.setting
        pair, _, averages = self.state(u, z)
        half = 0.5 * setting.mu2_squared
        odds_a, odds_b = averages.odds_slopes
        by_z = (odds_a * pair.pull_by_hat + odds_b)[:, None, None]
        by_u = (odds_a * pair.pull_by_tilt - pair.rate)[:, None]
        gap = setting.output_gap(pair.mmse_after, averages.kernel_gap)
        log_alpha, alpha_by_gap = setting.log_alpha_and_slope(z[:, 0], gap)
        gap_a, gap_b = averages.kernel_slopes
        alpha_by_z = 1 + alpha_by_gap * (half * pair.after_by_hat + gap_a * pair.pull_by_hat + gap_b)
        alpha_by_u = alpha_by_gap * (half * pair.after_by_tilt + gap_a * pair.pull_by_tilt)
        return System(
            (averages.odds - pair.odds)[:, None],
            by_z,
            by_u,
            log_alpha,
            alpha_by_z[:, None],
            alpha_by_u,
        )

    def solved(self, u: np.ndarray, start: np.ndarray | None = None) -> Points:
        """As for any family; where Newton's method fails from a first guess, between brackets.

        Averages have a kink in B where a jump of the profile enters the support of the law.
        """
        found = super().solved(u, start)
        bad = np.nonzero(~found.is_good & (found.u > _LEAST_TILT))[0]
        if start is None and bad.size:
            u = found.u[bad]
            with np.errstate(all="ignore"):
                low, high = self._log_couplings(bad.size)
                has_root = (self._shortfall(u, low) > 0) & (self._shortfall(u, high) < 0)
                bad, u, low, high = bad[has_root], u[has_root], low[has_root], high[has_root]
                z = decreasing_root(lambda z: self._shortfall(u, z), low, high, atol=_CLOSE)
            again = super().solved(u, z[:, None])
            found.put(bad[again.is_good], again[again.is_good])
        return found

    def _log_couplings(self, size: int) -> tuple[Array, Array]:
        """Between which ln B is looked for."""
        unit = np.full(size, self.setting.log_coupling_unit)
        return unit - _LOG_COUPLING, unit + _LOG_COUPLING

    def _shortfall(self, u: Array, z: Array, *, is_rough: bool = False) -> Array:
        """By how much the odds that τ asks for exceed those of the units; falls with B."""
        odds: Array = self.setting.matrix.odds(u)[0] - self.state(u, z[:, None], is_rough=is_rough)[2].odds
        return odds

    def guess(self, u: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            least, most = self._log_couplings(u.size)
            z = decreasing_root(lambda z: self._shortfall(u, z, is_rough=True), least, most, atol=1e-3)
            # The grid is too coarse for a law whose support ends within one of its cells.
            bad = np.nonzero(~(np.abs(self._shortfall(u, z)) < 0.3) & (u > _LEAST_TILT))[0]
            if bad.size:
                near = np.full(bad.size, 0.1)
                is_near = (self._shortfall(u[bad], z[bad] - near) > 0) & (
                    self._shortfall(u[bad], z[bad] + near) < 0
                )
                low = np.where(is_near, z[bad] - near, least[bad])
                high = np.where(is_near, z[bad] + near, most[bad])
                # Next to a jump of the first units their share is proportional to what B exceeds a limit by.
                z[bad] = decreasing_root(lambda z: self._shortfall(u[bad], z), low, high, atol=_CLOSE)
            return z[:, None]

    def _with_ends(
        self, nodes: Points, is_joined: np.ndarray, u: np.ndarray, is_good: np.ndarray
    ) -> tuple[Points, np.ndarray]:
        """Ends at which α runs away (a matrix that can be known without the units); no others are real.

        Both sides of a place that was not found are joined where they meet.
        """
        nodes, is_joined = super()._with_ends(nodes, is_joined, u, is_good)
        if len(nodes) < 2:
            return nodes, is_joined
        low, high = nodes[:-1], nodes[1:]
        step = high.u - low.u
        off = np.abs(high.z - low.z - 0.5 * step[:, None] * (low.z_slope + high.z_slope))[:, 0]
        return nodes, is_joined | np.append((step < _SHORT) & (off < _MET), False)

    def _refined(self, nodes: Points, is_joined: np.ndarray) -> tuple[Points, np.ndarray]:
        """As for any family, up to both sides of places that were not found.

        Where the first units are learnt in a jump that enters the support, so few of them are that rounding
        of B decides their share: the curve has a kink next to a stretch that may not be resolved.
        """
        nodes, is_joined = super()._refined(nodes, is_joined)
        gaps = _gaps(nodes, is_joined)
        if not gaps.size:
            return nodes, is_joined
        low, high = nodes[gaps], nodes[gaps + 1]
        before, _ = self._last_before(low, high.u)
        behind, _ = self._last_before(high, low.u)
        return with_sides(nodes, is_joined, gaps, before, behind, np.ones(gaps.size, dtype=bool))

    def interrupted(self, alpha: np.ndarray) -> np.ndarray:
        nodes, is_joined = self.curve
        gaps = _gaps(nodes, is_joined)
        ends = np.sort(np.stack([nodes.log_alpha[gaps], nodes.log_alpha[gaps + 1]]), axis=0)
        inside = (np.log(alpha)[:, None] > ends[0]) & (np.log(alpha)[:, None] < ends[1])
        return np.nonzero(inside.any(axis=1))[0]

    def solutions(self, points: Points, alpha: np.ndarray | None = None) -> list[Solution]:
        setting = self.setting
        log_tilt, log_coupling = points.u, points.z[:, 0]
        pair, pull, averages = self.state(points.u, points.z)
        v, _ = readout_grid(setting.problem)
        snr = self.profile.snr_at(pull, np.exp(log_coupling), v**2)
        alpha = np.exp(points.log_alpha) if alpha is None else alpha
        is_stable = is_maximum_over_profile(setting, alpha, log_tilt, log_coupling, pair, averages)
        found = Stationary(
            self,
            points.u,
            points.z,
            points.residual,
            alpha,
            log_tilt,
            setting.log_hat_scale + log_coupling,
            pair,
            averages,
            setting.units.weights.overlap(snr),
            snr,
            is_stable,
        )
        return solutions_at(setting, "specialised", found)


def _gaps(nodes: Points, is_joined: Bools) -> Integers:
    """After which nodes the curve is interrupted, though α does not run away there."""
    is_end = np.abs(nodes.slope) > _RUNS_AWAY
    gaps: Integers = np.nonzero(~is_joined[:-1] & ~(is_end[:-1] & is_end[1:]))[0]
    return gaps


@lru_cache(maxsize=64)
def profile_of(setting: Setting) -> ContinuousProfile:
    """The overlap profile of units of any readout, made once; for a discrete law, of units added to it."""
    return ContinuousProfile(setting.units, setting.problem.readouts, setting.kernel_total)  # type: ignore[arg-type]


def overlap_profile(solution: Solution, readouts: ArrayLike, *, theory: str = "main") -> Array:
    """𝒬_W(v) of a solution at any readouts, finer than the grid that it reports.

    The couplings of a solution follow from its fields, A from τ and q̂₂ and B from the error; given these,
    𝒬_W(v) is a scalar equation for each v. For a readout that P_v does not have it is that of a single unit
    added with it.
    """
    v = np.atleast_1d(np.asarray(readouts, dtype=float))
    if not solution.is_converged:
        return np.full(v.shape, np.nan)
    if solution.branch == "universal":
        return np.zeros(v.shape)
    if np.isinf(solution.tilt):  # all weights are known
        return np.where(v == 0, 0.0, 1.0)
    problem = solution.problem
    setting = setting_of(problem, theory)
    slope = problem.channel.free_entropy_slope(np.array([solution.excess_error]), setting.power)
    coupling = 2 * solution.alpha / setting.gamma * slope
    with np.errstate(divide="ignore"):
        pair = setting.matrix.pair(np.log([solution.tilt]), np.log([solution.matrix_overlap_hat]))
    pull = np.maximum(np.exp(pair.log_pull) / setting.gamma, 1e-280)
    snr = profile_of(setting).snr_at(pull, coupling, v.ravel() ** 2)
    overlap: Array = np.asarray(setting.units.weights.overlap(snr))[0].reshape(v.shape)
    return overlap

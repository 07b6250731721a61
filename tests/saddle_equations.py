r"""The saddle point as a fixed point, from the ingredients alone: slow, and independent of the solver.

With one class for each |v| > 0, x its signal-to-noise ratio, Q = F(x), and B the coupling, a solution is a
fixed point of a map T of (x, B):

    x' = v² [A Q + B g'(Q)],   B' = (2α/γ) ψ_out'(gap),
    τ = mmse⁻¹(1 - E v²Q²),  q̂₂ = γ μ₂² B,  A = (mmse(τ) - mmse(τ + q̂₂))/(-γ mmse'(τ)),
    gap = ½ μ₂² mmse(τ + q̂₂) + E v² (g(1) - g(Q)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicHermiteSpline, CubicSpline
from scipy.optimize import root

import widthwise as ww

__all__ = ["LEAST_LOG_SNR", "Equations", "Root"]

LEAST_LOG_SNR = math.log(1e-7)
"""Units of less x are not looked for: they have just begun to be learnt."""

_SOLVED = 1e-9  # residual up to which a root counts; Newton's method leaves 1e-12
_LITTLE = 1e-9  # q̂₂/τ
_FEW = 3  # classes up to which all unknowns are moved at once when a root is polished


@dataclass
class Root:
    """A solution: ln x of the classes that are learnt (-inf of the others) and ln B."""

    log_snr: np.ndarray
    log_coupling: float
    overlap: np.ndarray
    matrix_mmse: float
    gap: float
    free_entropy: float
    sign: int
    """of det(1 - DT); 0 where it was not computed."""

    @property
    def is_ordered(self) -> bool:
        """Whether units of larger |v| are learnt at least as well (classes come from large to small)."""
        return bool(np.all(self.log_snr[1:] <= self.log_snr[:-1]))


class _Straight:
    """A spline with slopes given, and straight lines beyond its ends: odds are powers of the snr there."""

    def __init__(self, x: np.ndarray, y: np.ndarray, slope: np.ndarray) -> None:
        self._spline = CubicHermiteSpline(x, y, slope)
        self._derivative = self._spline.derivative()
        self._ends = x[0], x[-1]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        inside = np.clip(x, *self._ends)
        return self._spline(inside) + self._derivative(inside) * (x - inside)

    def slope(self, x: np.ndarray) -> np.ndarray:
        return self._derivative(np.clip(x, *self._ends))


class Equations:
    """The map T of a problem with discrete readouts; ``is_exact=False`` interpolates what is expensive."""

    def __init__(self, problem: ww.Problem, alpha: float) -> None:
        self.problem, self.alpha = problem, alpha
        self.gamma, self.mu2 = problem.gamma, problem.hermite[2]
        v, p = np.asarray(problem.readouts.told_apart), np.asarray(problem.readouts.probabilities)
        size = np.unique(np.abs(v[v != 0]))[::-1]
        self.v2 = size**2
        self.share = np.array([p[np.abs(v) == one].sum() for one in size])
        self.power = self.share * self.v2
        self.power = self.power / self.power.sum()
        self.denoiser = ww.denoising.MatrixDenoiser(problem.readouts, self.gamma)
        self.kernel_total = float(problem.activation.tail_kernel(1.0))
        t = np.arange(math.log(1e-9), math.log(1e13), 0.1)
        mmse, known, slope = self.denoiser.evaluate(np.exp(t))
        odds, steep = np.log(known / mmse), -slope * np.exp(t) / (mmse * known)
        self._odds, self._inverse = _Straight(t, odds, steep), _Straight(odds, t, 1 / steep)
        null = 0.5 * self.mu2**2 + self.kernel_total
        # Smaller gaps cost much where a channel is integrated; beyond, the slope is a power of the gap.
        log_gap = math.log(null) + np.linspace(-15, 0, 90)
        slope = problem.channel.free_entropy_slope(np.exp(log_gap), problem.output_power)
        log_slope = np.log(np.maximum(slope, 1e-300))  # even labels say nothing at the largest gap
        self._channel = _Straight(log_gap, log_slope, CubicSpline(log_gap, log_slope)(log_gap, 1))

    # -- pieces: everything takes arrays whose last axis is the class

    def units(self, log_snr: np.ndarray):
        """Q, 1 - Q and g'(Q); a class of ln x = -inf is not learnt."""
        unit = self.problem.seen_weights.channel(np.exp(log_snr))
        kernel = self.problem.activation
        mmse = np.minimum(unit.mmse, 1.0)
        return unit.overlap, mmse, kernel.tail_kernel_gap_slope(mmse), kernel.tail_kernel_gap(mmse)

    def tilt(self, overlap: np.ndarray, mmse: np.ndarray, is_exact: bool):
        """ln τ, mmse(τ), 1 - mmse(τ) and -mmse'(τ)."""
        learnt, left = overlap**2 @ self.power, (mmse * (1 + overlap)) @ self.power
        if is_exact:
            tau = np.asarray(self.denoiser.snr_of(left, learnt))
            return np.log(tau), left, learnt, -np.asarray(self.denoiser.mmse_slope(tau))
        t = self._inverse(np.log(learnt / left))
        return t, left, learnt, self._odds.slope(t) * left * learnt * np.exp(-t)

    def pull(self, tilt, log_coupling: np.ndarray, is_exact: bool):
        """A and mmse(τ + q̂₂)."""
        t, left, learnt, steep = tilt
        hat = self.gamma * self.mu2**2 * np.exp(log_coupling)
        if is_exact:
            after, known, _ = self.denoiser.evaluate(np.exp(t) + hat)
            gain = known - learnt if float(known) < 0.5 else left - after
            # A difference of nothing: to first order in q̂₂ it is q̂₂ times the slope.
            return np.where(hat < _LITTLE * np.exp(t), hat / self.gamma, gain / (self.gamma * steep)), after
        t2 = np.logaddexp(t, np.log(hat)) if self.mu2 else t
        odds, odds2 = self._odds(t), self._odds(t2)
        after = 1 / (1 + np.exp(odds2))
        return after * learnt * np.expm1(odds2 - odds) / (self.gamma * steep), after

    def coupling(self, gap: np.ndarray, is_exact: bool):
        """ln B'."""
        if is_exact:
            slope = self.problem.channel.free_entropy_slope(gap, self.problem.output_power)
            return np.log(2 * self.alpha / self.gamma * slope)
        return math.log(2 * self.alpha / self.gamma) + self._channel(np.log(gap))

    # -- the map

    def residual(self, log_snr: np.ndarray, log_coupling: np.ndarray, *, is_exact: bool = False):
        """ln T - ln of the unknowns (0 for classes that are not learnt); A, mmse(τ + q̂₂), gap and tilt."""
        overlap, mmse, slope, drop = self.units(log_snr)
        if np.all(overlap == 0):
            return self._universal(log_snr, log_coupling, is_exact)
        pull, after = self.pull(tilt := self.tilt(overlap, mmse, is_exact), log_coupling, is_exact)
        gap = 0.5 * self.mu2**2 * after + drop @ self.power
        force = self.v2 * (np.asarray(pull)[..., None] * overlap + np.exp(log_coupling)[..., None] * slope)
        units = np.where(np.isneginf(log_snr), 0.0, np.log(force) - log_snr)
        return units, self.coupling(gap, is_exact) - log_coupling, pull, after, gap, tilt

    def _universal(self, log_snr, log_coupling, is_exact):
        hat = self.gamma * self.mu2**2 * np.exp(log_coupling)
        if is_exact:
            after, known, _ = self.denoiser.evaluate(hat)
        else:
            odds = self._odds(np.log(hat)) if self.mu2 else np.full(np.shape(hat), -np.inf)
            after, known = 1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))
        gap = 0.5 * self.mu2**2 * after + self.kernel_total
        zero = (np.full(np.shape(hat), -np.inf), np.ones_like(hat), np.zeros_like(hat), np.ones_like(hat))
        rest = self.coupling(gap, is_exact) - log_coupling
        return np.zeros_like(log_snr), rest, known / self.gamma, after, gap, zero

    def coupling_for(self, log_snr: np.ndarray, first: int) -> np.ndarray:
        """ln B at which the equation of one learnt class holds, by bisection; NaN if no B does."""
        overlap, mmse, slope, _ = self.units(log_snr)
        tilt = self.tilt(overlap, mmse, False)
        q, g, goal = overlap[..., first], slope[..., first], np.exp(log_snr[..., first]) / self.v2[first]
        low = np.full(np.shape(goal), -60.0)
        high = np.minimum(np.where(g > 0, np.log(goal / g), 60.0) + 1e-12, 60.0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            short = self.pull(tilt, middle, False)[0] * q + np.exp(middle) * g < goal
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.where(high >= 60.0 - 1e-6, np.nan, 0.5 * (low + high))

    # -- roots

    def n_barriers(self, found: Root) -> int:
        """How many different unstable roots of ln x = ln v²(A F + B g') classes are at."""
        with np.errstate(all="ignore"):  # of classes that are not learnt
            pull = float(self.residual(found.log_snr, np.float64(found.log_coupling), is_exact=True)[2])

        def rise(u: np.ndarray) -> np.ndarray:
            """of the right side over the left, with ln x"""
            ends = []
            for side in (u + 1e-5, u - 1e-5):
                overlap, _, slope, _ = self.units(side)
                ends.append(np.log(pull * overlap + math.exp(found.log_coupling) * slope) - side)
            return ends[0] - ends[1]

        learnt = np.sort(found.log_snr[~np.isneginf(found.log_snr)])
        unstable = learnt[rise(learnt) > 0]
        pairs = zip(unstable[:-1], unstable[1:], strict=True)
        parted = [bool(np.any(rise(np.linspace(low, high, 60)) < 0)) for low, high in pairs]
        return int(unstable.size > 0) + sum(parted)

    def polished(self, log_snr: np.ndarray, log_coupling: float) -> Root | None:
        """The exact root near a point, or None."""
        learnt = np.flatnonzero(~np.isneginf(log_snr))
        full = np.array(log_snr, dtype=float)

        def equations(u: np.ndarray) -> np.ndarray:
            full[learnt] = np.clip(u[:-1], -60, 60)
            if not np.all(np.isfinite(u)):
                return np.full(u.size, 1e3)
            units, rest, *_ = self.residual(full, np.clip(u[-1], -60.0, 60.0), is_exact=True)
            return np.append(np.asarray(units)[learnt], rest)

        start = np.append(full[learnt], log_coupling)
        try:
            u = self._by_units(start, learnt) if learnt.size > _FEW else start
            u = u if learnt.size > _FEW else root(equations, u, options={"xtol": 1e-13}).x
            if not np.max(np.abs(equations(u))) < _SOLVED or np.any(u[:-1] < LEAST_LOG_SNR - 1):
                return None
        except (RuntimeError, ValueError, FloatingPointError):  # the mmse could not be inverted: too far out
            return None
        slope = None
        if learnt.size <= _FEW:
            slope = np.array([(equations(u + h) - equations(u - h)) / 2e-6 for h in 1e-6 * np.eye(u.size)]).T
            equations(u)
        return self.described(full.copy(), float(u[-1]), slope)

    def _by_units(self, start: np.ndarray, learnt: np.ndarray) -> np.ndarray:
        """Many classes: τ and B are the unknowns, and every unit follows them by itself from its start."""
        v2, power = self.v2[learnt], self.power[learnt]
        rest = 1 - power.sum()

        def units_at(outer: np.ndarray) -> tuple[np.ndarray, float]:
            tau, coupling = np.exp(np.clip(outer, -60, 60))
            mmse, known, slope = self.denoiser.evaluate([tau, tau + self.gamma * self.mu2**2 * coupling])
            gain = known[1] - known[0] if known[1] < 0.5 else mmse[0] - mmse[1]
            pull = gain / (-self.gamma * slope[0])

            def off(u: np.ndarray) -> np.ndarray:
                overlap, _, steep, _ = self.units(u)
                return np.log(v2 * (pull * overlap + coupling * steep)) - u

            u = start[:-1]
            for _ in range(60):
                value = off(u)
                step = -value * 2e-6 / (off(u + 1e-6) - off(u - 1e-6))
                u = np.clip(u + np.clip(np.nan_to_num(step), -0.5, 0.5), -60, 60)
            return u, float(mmse[1])

        def equations(outer: np.ndarray) -> np.ndarray:
            u, after = units_at(outer)
            overlap, mmse, _, drop = self.units(u)
            learnt_power, left = float(power @ overlap**2), float(power @ (mmse * (1 + overlap))) + rest
            gap = 0.5 * self.mu2**2 * after + float(power @ drop) + rest * self.kernel_total
            tau = float(self.denoiser.snr_of(left, learnt_power))
            return np.array([math.log(tau) - outer[0], float(self.coupling(np.array(gap), True)) - outer[1]])

        full = np.full(self.v2.size, -np.inf)
        full[learnt] = start[:-1]
        overlap, mmse, _, _ = self.units(full)
        first = float(self.tilt(overlap, mmse, True)[0])
        outer = root(equations, np.array([first, start[-1]]), options={"xtol": 1e-13}).x
        return np.append(units_at(outer)[0], outer[1])

    def described(self, log_snr: np.ndarray, log_coupling: float, slope: np.ndarray | None = None) -> Root:
        """A point with its error and free entropy; ``slope`` is the derivative of the residual."""
        _, _, pull, after, gap, tilt = self.residual(log_snr, np.float64(log_coupling), is_exact=True)
        unlearnt = np.isneginf(log_snr)
        sign = 0.0
        if slope is not None:
            sign = np.sign(np.linalg.det(-slope)) * np.prod(np.sign(1 - self.v2[unlearnt] * float(pull)))
        tau, hat = float(np.exp(tilt[0])), self.gamma * self.mu2**2 * math.exp(log_coupling)
        unit = self.problem.seen_weights.channel(np.exp(log_snr))
        before, behind = self.denoiser.information([tau, tau + hat])
        free_entropy = (
            float(self.problem.channel.free_entropy(gap, self.problem.output_power))
            + (
                0.25 * hat * float(after)
                + before
                - behind
                + self.gamma * float(self.share @ unit.entropy_deficit)
            )
            / self.alpha
        )
        return Root(
            log_snr, log_coupling, unit.overlap, float(after), float(gap), float(free_entropy), int(sign)
        )

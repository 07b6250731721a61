"""The equations and the potential of the paper, written out from the ingredients, at a solution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import widthwise as ww
from invariants import UNDERFLOW, channel_rounding, free_entropy_rounding, is_perfect

__all__ = ["stationary"]

# A hundred times the residual that is promised: the equations below are scaled otherwise than the solver's.
_EQUATION = 1e-8
# Relative, of the gap r - q: a few units, for a table of the channel adds to it.
_ROUNDING = 1e-14
# Of ψ_out' where it is large, for channels by quadrature: tables are right to 1e-11 of their size.
_TABLE = 1e-11
_TYPICAL = np.array([0.01, 0.5])  # gaps, in units of the power, at which their size is looked at
# A difference of two nearly equal mmse's, each right to 1e-13 (docs/how-far-to-trust-it.md), with room.
_MMSE = 1e-12
# The information of the matrix where its spectrum is about to split; elsewhere it is right to 1e-15.
_INFORMATION = 5e-12


def stationary(s: ww.Solution) -> list[str]:
    """The saddle-point equations of the paper and the potential, written out from the ingredients.

    For readouts with a density only the equations of the matrix and of the units at the reported readouts:
    averages over v would need the profile between them.
    """
    if s.status != "converged" or is_perfect(s):
        return []
    problem, gamma, alpha = s.problem, s.problem.gamma, s.alpha
    channel, kernel, power = problem.channel, problem.activation, problem.output_power
    v, p = np.asarray(s.readout_values), np.asarray(s.readout_weights)
    mu2 = problem.hermite[2]
    tilt = s.tilt
    if math.isnan(tilt):  # not given where nothing depends on it: docs/symbols.md
        tilt = float(ww.denoising.MatrixDenoiser(problem.readouts, gamma).inverse_mmse(_unlearnt_power(s)))
    matrix = _Matrix(problem, tilt, s.matrix_overlap_hat)
    hat = np.asarray(s.weight_overlap_hat)
    is_known = np.isinf(hat)  # units learnt perfectly: at the end of the range, not by an equation
    unit = problem.seen_weights.channel(np.minimum(hat, 1e59))
    left = np.minimum(unit.mmse, 1.0)  # rounding may leave it above
    found: list[str] = []

    def equal(name: str, value: Any, expected: Any, room: Any) -> None:
        off = np.abs(np.asarray(value) - np.asarray(expected)) - np.asarray(room)
        if not np.all(off <= 0):
            i = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            a, b = (float(np.broadcast_to(x, off.shape).flat[i]) for x in (value, expected))
            found.append(f"{name}: {a!r} is not {b!r} at alpha={alpha!r} (free entropy {s.free_entropy!r})")

    slope, curvature = (float(x) for x in channel.free_entropy_slopes(s.excess_error, power))
    coupling = 2 * alpha * slope
    # Where labels say nothing as long as nothing is known, the slope is what rounding makes of the gap, and
    # of the table of the channel.
    is_table = not isinstance(channel, ww.channels.Gaussian)
    size = float(np.max(channel.free_entropy_slope(_TYPICAL * power, power))) if is_table else 0.0
    blurred = 2 * alpha * (curvature * _ROUNDING * s.excess_error + _TABLE * size)
    room = mu2**2 * (_EQUATION * coupling + blurred)
    equal("matrix_overlap_hat", s.matrix_overlap_hat, mu2**2 * coupling, room)
    equal("matrix_overlap", s.matrix_overlap, problem.matrix_power - matrix.after, _EQUATION)
    equal("1 - matrix_overlap_centred", 1 - s.matrix_overlap_centred, matrix.after, _EQUATION)
    equal("weight_overlap", s.weight_overlap, unit.overlap, _EQUATION * unit.overlap + 1e-15)
    with np.errstate(invalid="ignore"):  # 0 times infinity: a readout 0, a slope at a jump
        # Of 1 - Q next to 1 nothing is left of g'(Q), which goes as Q².
        is_small = unit.overlap < 0.5
        kernel_slope = np.where(
            is_small,
            kernel.tail_kernel_slope(np.where(is_small, unit.overlap, 0.0)),
            kernel.tail_kernel_gap_slope(left),
        )
        force = v**2 * (matrix.pull * unit.overlap + coupling / gamma * kernel_slope)
    force = np.where(unit.overlap > 0, force, 0.0)
    room = _EQUATION * hat + v**2 * matrix.pull_rounding * unit.overlap
    equal("weight_overlap_hat", hat[~is_known], force[~is_known], room[~is_known])
    if not problem.readouts.is_discrete:
        return found
    learnt, unlearnt = p @ (v**2 * unit.overlap**2), p @ (v**2 * unit.mmse * (1 + unit.overlap))
    if math.isnan(s.tilt):
        pass
    elif learnt < 0.5:
        equal("1 - mmse(tilt)", matrix.known, learnt, _EQUATION * learnt)
    else:
        equal("mmse(tilt)", matrix.mmse, unlearnt, _EQUATION * unlearnt + UNDERFLOW)
    gap = 0.5 * mu2**2 * matrix.after + p @ (v**2 * kernel.tail_kernel_gap(left))
    equal("excess_error", s.excess_error, gap, _EQUATION * gap + UNDERFLOW)
    potential = (
        float(channel.free_entropy(s.excess_error, power))
        + (
            0.25 * s.matrix_overlap_hat * matrix.after
            + matrix.information_drop
            + gamma * float(p @ unit.entropy_deficit)
        )
        / alpha
    )
    # Both sides are right to this much, and f is flat: the solution's own error does not enter.
    room = 2 * free_entropy_rounding(s) + _INFORMATION / alpha
    equal("free_entropy", s.free_entropy, potential, room)
    known_entropy = float(channel.free_entropy_known(power))
    expected = alpha / gamma * (known_entropy - s.free_entropy)
    room = alpha / gamma * (free_entropy_rounding(s) + channel_rounding(problem))
    equal("mutual_information", s.mutual_information, expected, room)
    return found


def _unlearnt_power(s: ww.Solution) -> float:
    """1 - E[v² Q²], with relative accuracy."""
    v, p, q = (np.asarray(x) for x in (s.readout_values, s.readout_weights, s.weight_overlap))
    left = s.problem.seen_weights.mmse(np.minimum(s.weight_overlap_hat, 1e59))
    return max(float(p @ (v**2 * left * (1 + q))), 1e-25)


class _Matrix:
    """What the matrix contributes at a tilt τ and a further snr q̂₂, also where τ is beyond all doubles.

    Once snr v² is past 1e25 for the smallest readout, the mmse is c/snr, to rounding; discrete weights that
    are almost known need 1e200 and more.
    """

    _FAR = 1e25

    def __init__(self, problem: ww.Problem, tilt: float, hat: float) -> None:
        denoiser, gamma = ww.denoising.MatrixDenoiser(problem.readouts, problem.gamma), problem.gamma
        law = problem.readouts
        smallest = min((abs(v) for v in law.values if v != 0), default=1.0) if law.is_discrete else 1.0
        far = self._FAR / min(smallest, 1.0) ** 2
        if tilt < far:
            (self.mmse, self.after), (self.known, known), (slope, _) = denoiser.evaluate([tilt, tilt + hat])
            # Whichever of mmse and 1 - mmse is small is right relatively.
            gain = known - self.known if known < 0.5 else self.mmse - self.after
            self.pull = float(gain / (-gamma * slope))
            self.pull_rounding = float(_MMSE * min(self.mmse, known) / (-gamma * slope))
            before, behind = denoiser.information([tilt, tilt + hat])
            self.information_drop = float(before - behind)
        else:
            constant = far * float(denoiser.mmse(far))
            self.mmse, self.after, self.known = constant / tilt, constant / (tilt + hat), 1.0
            self.pull, self.pull_rounding = hat / (1 + hat / tilt) / gamma, 0.0
            self.information_drop = -0.25 * constant * math.log1p(hat / tilt)

r"""All branches of a problem at once and quickly, right to three or four digits: for moving a slider.

The families of :mod:`families` are explicit curves, α included, once the mmse of the matrix is
interpolated.  Evaluated with the same interpolated mmse, and its integral ι = ¼∫mmse, the formulas of
:mod:`assemble` give error, free entropy and stability without solving anything.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..ingredients.readouts import Readouts
from ..problem import Problem
from .assemble import assemble_averaged, assemble_classes, assemble_universal
from .averaged import LOG_TILT, trace_tilts
from .branches import Branch
from .families import Family, family_at
from .made_once import FEW_CLASSES, profile_of, readout_classes, setting_of
from .matrix_table import MatrixTable, matrix_table
from .saddle import ClassSolutions, Setting
from .solution import Solution
from .solver import exact_reason
from .units import GRID

__all__ = ["interpolated_setting", "sketch_branches"]

_LOG_HAT = np.linspace(np.log(1e-7), np.log(1e11), 90)
_N_UNIVERSAL, _N_PROFILE, _STRIDE = 48, 22, 6
_STEP = 0.006  # in overlap, and in α as a share of the range
_MARGIN = 1.15  # curves are followed this far out of the range, so that they leave the frame
_LOST = 3e-6  # free entropies closer than this are those of one solution: interpolation errs by as much


class InterpolatedTable(MatrixTable):
    """The mmse and its integral by interpolation, where :class:`MatrixTable` integrates over the spectrum."""

    def __init__(self, exact: MatrixTable) -> None:
        self.denoiser = exact.denoiser
        self._u, self._odds, self._rate = exact._u, exact._odds, exact._rate
        # ι on a fine grid of ln η: dι/d ln η = η mmse/4, by three Gauss points a cell.
        self._fine = np.linspace(np.log(1e-6), np.log(1e13), 600)
        x, w = np.polynomial.legendre.leggauss(3)
        half = 0.5 * (self._fine[1] - self._fine[0])
        nodes = self._fine[:-1, None] + half * (1 + x)
        cells = half * (0.25 * np.exp(nodes) * self.exact(np.exp(nodes))[0]) @ w
        self._growth = 0.25 * np.exp(self._fine) * self.exact(np.exp(self._fine))[0]
        self._information = 0.25e-6 + np.concatenate([[0.0], np.cumsum(cells)])

    def exact(self, snr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """mmse, 1 - mmse and slope, interpolated."""
        snr = np.maximum(snr, 1e-290)
        odds, rate, _ = self.odds(np.log(snr))
        mmse, recovered = np.exp(-np.logaddexp(0, odds)), np.exp(-np.logaddexp(0, -odds))
        return mmse, recovered, -rate * mmse * recovered / snr

    def information_drop(self, snr: np.ndarray, more: np.ndarray) -> np.ndarray:
        """ι(snr) - ι(snr + more)."""
        return self._integral(snr) - self._integral(snr + more)

    def _integral(self, snr: np.ndarray) -> np.ndarray:
        u = np.log(np.maximum(snr, 1e-290))
        inside = np.clip(u, self._fine[0], self._fine[-1])
        step = self._fine[1] - self._fine[0]
        i = np.minimum(((inside - self._fine[0]) / step).astype(int), self._fine.size - 2)
        t = (inside - self._fine[i]) / step
        y0, y1 = self._information[i], self._information[i + 1]
        m0, m1 = step * self._growth[i], step * self._growth[i + 1]
        value = y0 + t * (m0 + t * (3 * (y1 - y0) - 2 * m0 - m1 + t * (m0 + m1 - 2 * (y1 - y0))))
        beyond = np.maximum(u - self._fine[-1], 0.0)  # mmse = C/η there
        return np.where(snr < 1e-6, 0.25 * snr, value + self._growth[-1] * beyond)


@lru_cache(maxsize=64)
def _table(readouts: Readouts, gamma: float) -> InterpolatedTable:
    return InterpolatedTable(matrix_table(readouts, gamma))


def interpolated_setting(problem: Problem) -> Setting:
    """The numbers of a problem with an interpolated mmse."""
    return replace(setting_of(problem), table=_table(problem.readouts, problem.gamma))


def sketch_branches(problem: Problem, alpha: tuple[float, float]) -> list[Branch]:
    """Every branch between two values of α, as :func:`trace_branches` gives them, to a few digits.

    Residuals are NaN: nothing was solved.  Branches reach a little out of the range.
    """
    low, high = (float(x) for x in alpha)
    if not (0 < low < high and np.isfinite(high)):
        raise ValueError(f"alpha must be a range (low, high) with 0 < low < high, got ({low:g}, {high:g})")
    setting = interpolated_setting(problem)
    span = (low / _MARGIN, high * _MARGIN)
    curves = [("universal", _universal(setting, span))]
    if setting.kernel_total > 0 or setting.mu2_squared > 0:
        classes = readout_classes(problem)
        if classes is not None and classes[0].size <= FEW_CLASSES:
            for m in range(1, classes[0].size + 1):
                curves += [(f"specialised {m}", part) for part in _family(setting, classes, m, span)]
        else:
            curves += [("specialised", part) for part in _profiles(setting, span)]
    _join(curves)
    return _marked(problem, [(name, points) for name, points in curves if len(points) > 1])


def _join(curves: list[tuple[str, list[Solution]]]) -> None:
    """Give the universal branch a point where the first specialised one leaves it."""
    universal = curves[0][1]
    if np.any(np.diff([point.alpha for point in universal]) < 0):
        return  # it folds back itself
    for name, points in curves[1:]:
        born = points[0]
        if name in ("specialised", "specialised 1") and np.max(born.weight_overlap) < 1e-3:
            nothing = np.zeros_like(born.weight_overlap)
            mother = replace(born, branch="universal", weight_overlap=nothing, weight_overlap_hat=nothing)
            universal.append(mother)
    universal.sort(key=lambda point: point.alpha)


def _universal(setting: Setting, span: tuple[float, float]) -> list[Solution]:
    if setting.mu2_squared == 0:
        alpha = np.geomspace(*span, _N_UNIVERSAL)
        gap = setting.output_gap(np.ones(1), np.full(1, setting.kernel_total))
        slope = setting.problem.channel.free_entropy_slope(gap, setting.power)
        log_coupling = np.log(2 * alpha * slope / setting.gamma)
    else:
        hat = np.exp(_LOG_HAT)
        log_alpha = _universal_alpha(setting, hat)
        inside = np.nonzero((log_alpha > np.log(span[0])) & (log_alpha < np.log(span[1])))[0]
        first = max(int(inside[0]) - 1, 0) if inside.size else 0
        last = min(int(inside[-1]) + 1, hat.size - 1) if inside.size else hat.size - 1
        hat = np.exp(np.linspace(_LOG_HAT[first], _LOG_HAT[last], _N_UNIVERSAL))
        alpha = np.exp(_universal_alpha(setting, hat))
        log_coupling = np.log(hat / (setting.gamma * setting.mu2_squared))
    return _plain(assemble_universal(setting, alpha, log_coupling, np.zeros(alpha.size)), span)


def _universal_alpha(setting: Setting, hat: np.ndarray) -> np.ndarray:
    mmse = setting.table.exact(hat)[0]
    gap = setting.output_gap(mmse, np.full(hat.shape, setting.kernel_total))
    slope = setting.problem.channel.free_entropy_slope(gap, setting.power)
    return np.log(hat / (2 * setting.mu2_squared * np.maximum(slope, 1e-300)))


def _family(
    setting: Setting, classes: tuple[np.ndarray, np.ndarray], m: int, span: tuple[float, float]
) -> list[list[Solution]]:
    """The stretches of the m-th family inside the range."""
    values2, powers = classes
    curve = family_at(setting, values2, powers, m, GRID[1:])
    keep = _worth_drawing(setting, curve, span)
    if keep.size < 2:
        return []
    tilt, coupling, snr = (y[keep] for y in (curve.log_tilt, curve.log_coupling, curve.log_snr))
    found = ClassSolutions(tilt, coupling, snr, np.zeros(keep.size))
    return _cut(assemble_classes(setting, np.exp(curve.log_alpha[keep]), found, values2, powers), span)


def _worth_drawing(setting: Setting, curve: Family, span: tuple[float, float]) -> np.ndarray:
    """Places on a family in the range or next to it that are a visible step apart in α or overlap."""
    alpha = np.exp(np.clip(curve.log_alpha, -60, 60))
    inside = (alpha > span[0]) & (alpha < span[1])
    near = inside.copy()
    near[1:] |= inside[:-1]
    near[:-1] |= inside[1:]
    overlap = setting.problem.weights.overlap(np.exp(curve.log_snr[:, -1]))
    place = np.clip(alpha, *span) / (span[1] - span[0])
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(place)) + np.abs(np.diff(overlap)))])
    # The first of each step along the path, and both neighbours of every stretch's ends.
    is_new = np.concatenate([[True], np.diff(np.floor(path / _STEP)) > 0])
    ends = near & (np.concatenate([[True], ~near[:-1]]) | np.concatenate([~near[1:], [True]]))
    return np.nonzero(near & (is_new | ends))[0]


def _profiles(setting: Setting, span: tuple[float, float]) -> list[list[Solution]]:
    """The curve of equilibrium profiles inside the range, which a few tilts find."""
    profile = profile_of(setting.problem)
    coarse = LOG_TILT[::_STRIDE]
    log_alpha = trace_tilts(setting, profile, coarse, is_rough=True)[2]
    inside = np.nonzero((log_alpha > np.log(span[0])) & (log_alpha < np.log(span[1])))[0]
    if inside.size == 0:
        return []
    first, last = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, coarse.size - 1)
    fine = np.linspace(coarse[first], coarse[last], _N_PROFILE)
    tilt, coupling, log_alpha = trace_tilts(setting, profile, fine, is_rough=True)
    keep = np.isfinite(log_alpha)
    tilt, coupling, log_alpha = tilt[keep], coupling[keep], log_alpha[keep]
    found = ClassSolutions(tilt, coupling, np.empty((tilt.size, 0)), np.zeros(tilt.size))
    return _cut(assemble_averaged(setting, profile, np.exp(log_alpha), found), span)


def _plain(points: list[Solution], span: tuple[float, float]) -> list[Solution]:
    return [
        replace(p, residual=float("nan"))
        for p in points
        if p.is_converged and span[0] <= p.alpha <= span[1] and np.isfinite(p.free_entropy)
    ]


def _cut(points: list[Solution], span: tuple[float, float]) -> list[list[Solution]]:
    """Stretches of consecutive points inside the range."""
    parts: list[list[Solution]] = [[]]
    for point in points:
        kept = _plain([point], span)
        if kept:
            parts[-1] += kept
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if len(part) > 1]


def _marked(problem: Problem, curves: list[tuple[str, list[Solution]]]) -> list[Branch]:
    """Branches whose points know whether another branch has a higher free entropy at their α."""
    is_exact = bool(exact_reason(problem))
    stable = [_stable_lines(points) for _, points in curves]
    branches = []
    for i, (name, points) in enumerate(curves):
        alpha = np.array([p.alpha for p in points])
        rival = np.full(alpha.shape, -np.inf)
        for lines in (lines for j, lines in enumerate(stable) if j != i):
            for x, y in lines:
                rival = np.fmax(rival, np.interp(alpha, x, y, left=-np.inf, right=-np.inf))
        marked = [
            replace(
                p,
                is_equilibrium=p.branch == "universal"
                if is_exact
                else bool(p.is_stable and p.free_entropy >= best - _LOST * (1 + abs(p.free_entropy))),
            )
            for p, best in zip(points, rival, strict=True)
        ]
        branches.append(Branch(problem, name, marked, ()))
    return branches


def _stable_lines(points: list[Solution]) -> list[tuple[Any, Any]]:
    """(α, free entropy) of each run of stable points, in increasing α."""
    runs: list[list[Solution]] = [[]]
    for point in points:
        if point.is_stable:
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    lines = []
    for run in runs:
        if len(run) > 1:
            x, y = np.array([[p.alpha, p.free_entropy] for p in run]).T
            order = np.argsort(x)
            lines.append((x[order], y[order]))
    return lines

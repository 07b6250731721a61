r"""Laws of many features without a quadratic part: every feature a scalar problem, one coupling for all.

With μ₂ = 0 a feature of readout v sits at a root of x = c g'(F(x)), c = v²B, and only the error

.. math:: \varepsilon(B) = \sum_i P_i v_i^2\,[g(1) - g(\mathcal Q_i)], \qquad
          \alpha = \frac{\gamma B}{2\psi_\mathrm{out}'(\varepsilon)},

joins them.  ψ_out is convex in the overlap of the outputs, so that at the maximum of the potential every
feature is at the maximum of its own: the n largest at their upper root, from c = c_σ on, and the others at 0.
For each n the couplings c_σ/v_n² ≤ B ≤ c_σ/v_{n+1}² at which this is so give an interval of α; those that
hold the α asked for are the candidates, and the potential chooses among them and their neighbours.

A sum over n features costs far less than n terms: where they lie close, the smooth functions of ln c are
interpolated by polynomials on short stretches, and a stretch becomes eight terms with weights of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..._arrays import Array
from ...numerics.piecewise import PiecewiseChebyshev
from ...numerics.roots import decreasing_root
from ...problem import Problem
from ..setting import Averages, ReadoutClasses, Setting, setting_of
from ..solution import UNRESOLVED, Solution, readout_grid
from ..stationary import Stationary, solutions_at
from ..units import UnitTable, UnitValues
from .classes import ThresholdFamily
from .equations import ACCEPTED
from .universal import can_be_perfect

__all__ = ["FeatureProblem", "FeaturePoint", "feature_problem", "has_many_features", "solve_features"]

MANY_FEATURES = 24
"""Up to so many sizes of readouts :mod:`many` tries every number of them."""

_N_TABLE = 600  # brackets of the upper root
_NEAREST = 2.5e-3  # in ln c to the fold, where a feature is followed no more: it loses its place well before
_WIDTH, _N_NODES = 0.02, 8  # of a stretch, in ln v²; the nearest singularity, a fold, is several widths away
_CROWDED = 2 * _N_NODES  # features of a stretch from which it is interpolated
_N_ALL, _N_SCANNED = 1000, 500  # numbers n of learnt features at which α is tabulated: all of them, or some
_NEAR = 1e-6  # in ln α, of the ends of intervals
_WIDE, _STEP = 0.1, 0.25  # in ln B: an interval within which α may turn, and how closely it is looked at
_N_ALONG = 4
_N_STEPS = 60
_ACCURATE = 1e-13
_TINY = 1e-6  # of c[g(1) - g], where its table has lost half its digits
_REACH = 3  # neighbours on each side that the best n is compared with
_MOST_STARTS = 4


def has_many_features(setting: Setting) -> bool:
    """Whether the solutions of a problem are found here."""
    return (
        setting.classes is not None
        and len(setting.classes) > MANY_FEATURES
        and setting.mu2_squared == 0
        and not setting.is_linear
        and not setting.units.can_be_known
        and _upper_root(setting.units) is not None
    )


def solve_features(setting: Setting, alpha: Array) -> Iterator[tuple[int, Solution]]:
    """Solutions in which features are learnt, with the index of their α."""
    features = feature_problem(setting.problem, setting.theory)
    for i, value in enumerate(alpha.tolist()):
        points = features.points(value)
        if features.is_lost(value, points):
            yield i, Solution.missing(setting.problem, value, "specialised", UNRESOLVED)
        for point in points:
            yield i, features.solution(point)


@dataclass(frozen=True)
class FeaturePoint:
    """The solution with the n largest classes learnt at some α; sums are over the law."""

    alpha: float
    n: int
    log_coupling: float
    residual: float
    slope: float
    """d ln α/d ln B at fixed n: positive where the solution is stable."""
    gap: float
    """ε, the excess error."""
    learnt_gap: float
    """Its part from the features that are learnt."""
    potential: float
    """αf up to what does not depend on the solution."""


class _UpperRoot:
    """The upper root of x = c g'(F(x)) from a little above its fold on, as functions of ln c.

    c[g(1) - g(Q)] and ψ_W - ½xQ vary slowly, and are Chebyshev series in the root of ln c less that of the
    fold, where they are smooth (12 digits).
    """

    def __init__(self, units: UnitTable, log_x: Array, log_c: Array) -> None:
        self.units = units
        self._log_x, self._log_c = log_x, log_c
        self.log_fold = float(log_c[0])
        self.least = self.log_fold + _NEAREST
        """Least ln c that is followed."""
        self.most = float(log_c[-1])
        """Largest ln c of the table, beyond any α that is computed."""

        def functions(s: Array) -> Array:
            log_c = self.log_fold + s**2
            u = units(self(log_c))
            return np.stack([np.exp(log_c) * u.kernel_gap, u.entropy])

        ends = (math.sqrt(_NEAREST), math.sqrt(self.most - self.log_fold))
        self._series = PiecewiseChebyshev(functions, ends, widest=0.5, atol=1e-13, noise=1e-9)
        self.log_jump = self._where_it_wins()
        """ln c_σ, from which a feature alone is better learnt than not."""

    def _where_it_wins(self) -> float:
        def loss(log_c: Array) -> Array:
            gap, _, entropy = self.values(log_c)
            return -entropy - 0.5 * np.exp(log_c) * (self.units.activation.tail_kernel(1.0) - gap)

        # The gain grows with c, by half the kernel.
        top = np.array([self.least + 20.0])
        return float(decreasing_root(loss, np.array([self.least]), top, atol=1e-14)[0])

    def __call__(self, log_c: Array) -> Array:
        """x."""
        cell = np.clip(np.searchsorted(self._log_c, log_c) - 1, 0, self._log_c.size - 2)
        low, high = self._log_x[cell], self._log_x[cell + 1]
        left, right = self._log_c[cell], self._log_c[cell + 1]
        share = np.clip((log_c - left) / (right - left), 0.0, 1.0)
        ones = np.ones(log_c.size)
        return self.units.polish(ones, 0.0 * ones, np.exp(log_c), low, high, low + share * (high - low))

    def values(self, log_c: Array) -> tuple[Array, Array, Array]:
        """g(1) - g(Q), its derivative in ln c, and ψ_W - ½xQ."""
        s = np.sqrt(log_c - self.log_fold)
        scaled, slope, _ = self._series(s, 0)
        entropy, _, _ = self._series(s, 1)
        gap = scaled * np.exp(-log_c)
        return gap, slope / (2 * s) * np.exp(-log_c) - gap, entropy

    def exact_values(self, log_c: Array) -> tuple[Array, Array, Array]:
        """The same from the roots themselves."""
        u = self.units(self(log_c))
        return u.kernel_gap, -u.kernel_slope * overlap_rate(u), u.entropy


def overlap_rate(u: UnitValues) -> Array:
    """dQ/d ln c along x = c g'(F(x))."""
    return u.overlap_slope * u.snr / (1 - u.snr * u.kernel_curvature / u.kernel_slope)


@dataclass(frozen=True)
class _Sum:
    gap: float
    learnt_gap: float
    gap_slope: float
    """dε/d ln B."""
    entropy: float


class _Sums:
    """Sums over the n largest features of smooth functions of ln v²."""

    def __init__(self, classes: ReadoutClasses) -> None:
        self.log_v2 = np.log(classes.values2)
        self.powers, self.masses = classes.powers, classes.masses
        self.tail = np.append(np.cumsum(self.powers[::-1])[::-1], 0.0)
        """Power of what is left out, by n."""
        cell = np.floor((self.log_v2[0] - self.log_v2) / _WIDTH).astype(int)
        starts = np.nonzero(np.append(True, np.diff(cell) > 0))[0]
        ends = np.append(starts[1:], cell.size)
        nodes, powers, masses, last, used = [], [], [], [0], [0]
        angle = np.cos(np.pi * (np.arange(_N_NODES) + 0.5) / _N_NODES)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            own = slice(start, end)
            if end - start < _CROWDED:
                nodes.append(self.log_v2[own])
                powers.append(self.powers[own])
                masses.append(self.masses[own])
            else:
                middle = self.log_v2[0] - (cell[start] + 0.5) * _WIDTH
                basis = _lagrange(angle, (self.log_v2[own] - middle) / (0.5 * _WIDTH))
                nodes.append(middle + 0.5 * _WIDTH * angle)
                powers.append(basis @ self.powers[own])
                masses.append(basis @ self.masses[own])
            last.append(end)
            used.append(used[-1] + nodes[-1].size)
        self._nodes = tuple(np.concatenate(part) for part in (nodes, powers, masses))
        self._last, self._used = np.array(last), np.array(used)

    def __len__(self) -> int:
        return self.log_v2.size

    def terms(self, n: int) -> tuple[Array, Array, Array]:
        """ln v², weights by power and weights by mass, to sum over the n largest."""
        block = int(np.searchsorted(self._last, n, side="right")) - 1
        whole, rest = slice(0, self._used[block]), slice(self._last[block], n)
        single = (self.log_v2, self.powers, self.masses)
        if rest.stop == rest.start:
            return tuple(part[whole] for part in self._nodes)  # type: ignore[return-value]
        return tuple(  # type: ignore[return-value]
            np.concatenate([part[whole], own[rest]]) for part, own in zip(self._nodes, single, strict=True)
        )


class FeatureProblem:
    """Solutions of a problem with many features at any α."""

    def __init__(self, setting: Setting) -> None:
        assert setting.classes is not None
        root = _upper_root(setting.units)
        assert root is not None
        self.setting, self.sums, self.root = setting, _Sums(setting.classes), root
        self.channel, self.power = setting.problem.channel, setting.power
        self._scan()

    # ------------------------------------------------------------------ candidates

    def _scan(self) -> None:
        """ln α at both ends of the couplings at which just the n largest prefer to be learnt, for many n."""
        k = len(self.sums)
        spread = np.round(np.geomspace(1, k, _N_SCANNED)).astype(int)
        wide = np.nonzero(-np.diff(self.sums.log_v2) > _WIDE)[0] + 1
        n = np.unique(np.concatenate([np.arange(1, min(k, _N_ALL) + 1), spread, wide, wide + 1]))
        # Features so small that their samples are beyond anything computed are left alone.
        n = n[self.root.log_jump - self.sums.log_v2[n - 1] + self.sums.log_v2[0] < self.root.most]
        coupling = self.root.log_jump - self.sums.log_v2[n - 1]
        drop = self.setting.kernel_total - self.root.values(np.array([self.root.log_jump]))[0]
        gap = np.array([self.sum(int(m), u).gap for m, u in zip(n, coupling, strict=True)])
        self._n, self._begin = n, self._log_alpha(coupling, gap)
        # With the n-th feature not yet learnt, at the same coupling.
        self._end_before = self._log_alpha(coupling, gap + self.sums.powers[n - 1] * drop)
        most = self.root.most - float(self.sums.log_v2[0])
        self._end = float(self._log_alpha(np.array([most]), np.array([self.sum(int(n[-1]), most).gap]))[0])
        """ln α where the table of the root ends."""
        self.last_alone = float(np.exp(self._begin[-1]))
        """α about which the last feature is learnt, where each is learnt by itself."""
        self._wide = [self._along(m) for m in n.tolist() if self._width(m) > _WIDE]

    def _width(self, n: int) -> float:
        """In ln B, of the interval of n; the last one ends with the table."""
        log_v2 = self.sums.log_v2
        if n < len(self.sums):
            return float(log_v2[n - 1] - log_v2[n])
        return self.root.most - self.root.log_jump + float(log_v2[n - 1] - log_v2[0])

    def _along(self, n: int) -> tuple[int, Array, Array]:
        """n, and ln B and ln α along its interval: α may fall with B before it rises."""
        width = self._width(n)
        steps = np.linspace(0.0, width, max(math.ceil(width / _STEP), _N_ALONG) + 1)
        coupling = self.root.log_jump - self.sums.log_v2[n - 1] + steps
        gap = np.array([self.sum(n, u).gap for u in coupling.tolist()])
        return n, coupling, self._log_alpha(coupling, gap)

    def _turned(self, log_alpha: float) -> Iterator[tuple[int, float]]:
        """n and ln B where α is reached, rising with B, within a wide interval."""
        for n, coupling, along in self._wide:
            for j in np.nonzero((along[:-1] < log_alpha) & (along[1:] >= log_alpha))[0].tolist():
                share = (log_alpha - along[j]) / (along[j + 1] - along[j])
                yield n, float(coupling[j] + share * (coupling[j + 1] - coupling[j]))

    def _log_alpha(self, log_coupling: Array, gap: Array) -> Array:
        return self.setting.log_alpha(log_coupling, np.clip(gap, 0.0, self.power))

    def candidates(self, alpha: float) -> list[int]:
        """Numbers n for which this α is within reach of their interval."""
        log_alpha = math.log(alpha)
        n, begin = self._n, self._begin
        is_next = np.append(np.diff(n) == 1, True)  # the last one ends with the table
        end = np.append(self._end_before[1:], self._end)
        inside = is_next & (begin <= log_alpha + _NEAR) & (log_alpha <= end + _NEAR)
        found = set(n[inside].tolist())
        # Between numbers that were left out of the table: two neighbours, of which one begins before this α
        # and the next one behind it. The first one ends at a larger α than that.
        for j in np.nonzero(~is_next[:-1] & (begin[:-1] <= log_alpha) & (log_alpha <= begin[1:]))[0].tolist():
            low, high = int(n[j]), int(n[j + 1])
            while high > low + 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._begins_at(middle) <= log_alpha else (low, middle)
            found |= {low, high}
        return sorted(found)

    def _begins_at(self, n: int) -> float:
        """ln α from which the n largest prefer to be learnt."""
        coupling = self.root.log_jump - float(self.sums.log_v2[n - 1])
        return float(self._log_alpha(np.array([coupling]), np.array([self.sum(n, coupling).gap]))[0])

    # ------------------------------------------------------------------ solutions

    def points(self, alpha: float) -> list[FeaturePoint]:
        """Solutions at α, among them the one of largest potential with at least one feature learnt."""
        starts = self.candidates(alpha)
        solved: dict[int, FeaturePoint | None] = {n: self.at(n, alpha) for n in starts}
        for n, guess in self._turned(math.log(alpha)):
            found = self.at(n, alpha, guess)
            if n not in solved or _height(found) > _height(solved[n]):
                solved[n] = found
        starts = sorted(solved)
        value = np.array([_height(solved[n]) for n in starts])
        padded = np.concatenate([[-np.inf], value, [-np.inf]])
        tops = [i for i in range(len(starts)) if value[i] >= padded[i] and value[i] >= padded[i + 2]]
        tops = sorted((i for i in tops if np.isfinite(value[i])), key=lambda i: -value[i])[:_MOST_STARTS]
        for i in tops:
            self._climb(starts[i], alpha, solved)
        return [point for point in solved.values() if point is not None]

    def equilibrium(self, alpha: float) -> FeaturePoint:
        """The solution of largest potential; n = 0 where nothing is learnt, NaN if it was not resolved.

        Of those with finite signal-to-noise ratios; see :meth:`is_known`.
        """
        points = self.points(alpha)
        if self.is_lost(alpha, points):
            return FeaturePoint(alpha, 0, *(6 * [math.nan]))
        stable = [point for point in points if point.slope > 0]
        return max([self.nothing(alpha), *stable], key=lambda point: point.potential)

    def is_lost(self, alpha: float, points: list[FeaturePoint]) -> bool:
        """Whether there must be more solutions at α than these."""
        return not points and bool(self.candidates(alpha))

    def is_known(self, alpha: float) -> bool:
        """Whether every weight is known exactly in equilibrium."""
        return can_be_perfect(self.setting) and self._lead(alpha, self.equilibrium(alpha)) < 0

    def _lead(self, alpha: float, point: FeaturePoint) -> float:
        """Potential of a point less that of weights that are all known."""
        entropy = float(self.setting.problem.weights.entropy or 0.0) * float(np.sum(self.sums.masses))
        return point.potential - self._potential(alpha, 0.0, -entropy)

    def last_unknown(self, alpha: float) -> float:
        """The largest α up to the given one at which the weights are not all known.

        The lead of the equilibrium is a maximum of functions that are linear in α, hence convex, and falls:
        Newton's method from below never passes its zero.
        """
        if not can_be_perfect(self.setting):
            return alpha
        last, nothing = 0.0, self.nothing(0.0)
        step = self._lead(0.0, nothing) / self.deficit(nothing.gap)
        for _ in range(_N_STEPS):
            if step <= _ACCURATE * last or last + step >= alpha:
                break
            last += step
            best = self.equilibrium(last)
            rate = self.deficit(best.gap)
            step = self._lead(last, best) / rate if rate > 0 else math.inf
        return last if last + step < alpha else alpha

    def nothing(self, alpha: float) -> FeaturePoint:
        """The universal solution."""
        total = self.setting.kernel_total
        return FeaturePoint(alpha, 0, math.nan, 0.0, 1.0, total, 0.0, self._potential(alpha, total, 0.0))

    def _climb(self, n: int, alpha: float, solved: dict[int, FeaturePoint | None]) -> None:
        """Solutions for the numbers about n, and on from there while the potential grows."""
        near = solved[n]

        def height(m: int) -> float:
            if m not in solved:
                guess = None if near is None else near.log_coupling
                solved[m] = self.at(m, alpha, guess) if 1 <= m <= len(self.sums) else None
            return _height(solved[m])

        step = 1
        while True:
            best = max(range(n - _REACH, n + _REACH + 1), key=height)
            if not np.isfinite(height(best)) or best == n:
                return
            # Far from the top the steps grow.
            further = best + step * (1 if best > n else -1)
            step = 2 * step if height(further) > height(best) else 1
            n = further if height(further) > height(best) else best

    def at(self, n: int, alpha: float, log_coupling: float | None = None) -> FeaturePoint | None:
        """The solution with n features learnt, by Newton's method from a guess of ln B, or None."""
        smallest = float(self.sums.log_v2[n - 1])
        least, goal = self.root.least - smallest, math.log(alpha)
        most = self.root.most - float(self.sums.log_v2[0])
        u = self.root.log_jump - smallest if log_coupling is None else max(log_coupling, least)
        best: FeaturePoint | None = None
        for _ in range(_N_STEPS):
            found = self.sum(n, u)
            bend, rate = (
                float(f(np.array([found.gap]), self.power)[0])
                for f in (self.channel.free_entropy_curvature, self.channel.free_entropy_slope)
            )
            slope = 1 + bend / rate * found.gap_slope
            error = float(self._log_alpha(np.array([u]), np.array([found.gap]))[0]) - goal
            if not (math.isfinite(error) and math.isfinite(slope)):
                break
            if best is None or abs(error) < best.residual:
                potential = self._potential(alpha, found.gap, found.entropy)
                best = FeaturePoint(alpha, n, u, abs(error), slope, found.gap, found.learnt_gap, potential)
            elif best.residual < 1e-11:  # at rounding
                break
            if abs(error) <= _ACCURATE or (u == least and error > 0) or (u == most and error < 0):
                break
            # Where α falls with B the solution would be unstable: the stable one is above.
            step = -error / slope if slope > 0 else 0.1
            u = min(max(u + min(max(step, -0.5), 0.5), least), most)
        return best if best is not None and best.residual <= ACCEPTED else None

    def sum(self, n: int, log_coupling: float) -> _Sum:
        """ε and entropy with the n largest learnt."""
        log_v2, powers, masses = self.sums.terms(n)
        log_c = np.maximum(log_v2 + log_coupling, self.root.least)
        gap, slope, entropy = self.root.values(log_c)
        learnt_gap = float(powers @ gap)
        if learnt_gap < _TINY * float(powers @ np.exp(-log_c)):
            # Discrete weights are known exponentially well, beyond the digits of a table of c[g(1) - g].
            gap, slope, entropy = self.root.exact_values(log_c)
            learnt_gap = float(powers @ gap)
        total = learnt_gap + self.setting.kernel_total * float(self.sums.tail[n])
        return _Sum(total, learnt_gap, float(powers @ slope), float(masses @ entropy))

    def _potential(self, alpha: float, gap: float, entropy: float) -> float:
        """α[ψ_out - ψ_out at ε = 0] + γ E[ψ_W - ½xQ]."""
        return self.setting.gamma * entropy - alpha * self.deficit(gap)

    def deficit(self, gap: float) -> float:
        """ψ_out at ε = 0 less ψ_out."""
        return float(self.channel.free_entropy_deficit(np.array([gap]), self.power)[0])

    # ------------------------------------------------------------------ in full

    def solution(self, point: FeaturePoint) -> Solution:
        """The solution at a point, with the overlap of every feature."""
        averages = self.averages(point)
        error = self._log_alpha(np.array([point.log_coupling]), averages.kernel_gap)[0] - math.log(
            point.alpha
        )
        setting = self.setting
        assert setting.classes is not None
        v, _ = readout_grid(setting.problem)
        x = np.append(self.snr(point), 0.0)  # the last one for v = 0
        sizes = np.append(np.sqrt(setting.classes.values2), 0.0)[::-1]
        nearest = np.clip(np.searchsorted(sizes, np.abs(v)), 1, sizes.size - 1)
        nearest -= np.abs(sizes[nearest - 1] - np.abs(v)) < np.abs(sizes[nearest] - np.abs(v))
        snr = x[::-1][nearest]
        log_tilt = averages.odds
        log_hat = np.full(1, -np.inf)
        found = Stationary(
            ThresholdFamily(setting, (0, point.n)),
            np.array([point.log_coupling]),
            log_tilt[:, None],
            np.array([abs(float(error))]),
            np.array([point.alpha]),
            log_tilt,
            log_hat,
            setting.matrix.pair(log_tilt, log_hat),
            averages,
            setting.units.weights.overlap(snr)[None],
            snr[None],
            np.array([point.slope > 0]),
        )
        return solutions_at(setting, "specialised", found)[0]

    def averages(self, point: FeaturePoint) -> Averages:
        """Averages over the law at a point, from the roots themselves."""
        log_v2, powers, masses = self.sums.terms(point.n)
        x = self.root(log_v2 + point.log_coupling)
        u = self.setting.units(x)
        moved = overlap_rate(u)
        tail = self.sums.tail[point.n]
        sums = (
            powers @ u.overlap**2,
            powers @ (u.gap * (1 + u.overlap)) + tail,
            powers @ u.kernel_gap + self.setting.kernel_total * tail,
            masses @ u.entropy,
        )
        slopes = (powers @ (2 * u.overlap * moved), -(powers @ (u.kernel_slope * moved)))
        return Averages(*(np.array([x]) for x in sums), *(np.array([[0.0], [x]]) for x in slopes))

    def snr(self, point: FeaturePoint) -> Array:
        """x of every class, largest readout first."""
        x = np.zeros(len(self.sums))
        x[: point.n] = self.root(self.sums.log_v2[: point.n] + point.log_coupling)
        return x


def _height(point: FeaturePoint | None) -> float:
    """The potential of a stable solution."""
    return -math.inf if point is None or point.slope <= 0 else point.potential


@lru_cache(maxsize=16)
def feature_problem(problem: Problem, theory: str) -> FeatureProblem:
    """The features of a problem, scanned once."""
    return FeatureProblem(setting_of(problem, theory))


@lru_cache(maxsize=16)
def _upper_root(units: UnitTable) -> _UpperRoot | None:
    """The only stable root but 0; None where units have several."""
    log_c = units.log_level(np.zeros(1), np.ones(1))[0]
    good = units.values.kernel_slope > 0
    log_x, log_c = units.log_grid[good], log_c[good]
    bottom = int(np.argmin(log_c))
    is_rising = np.diff(log_c) > 0
    if is_rising[: max(bottom - 1, 0)].any() or not is_rising[bottom + 1 :].all() or bottom + 3 > log_c.size:
        return None
    fine = np.linspace(log_x[max(bottom - 1, 0)], log_x[bottom + 1], 2001)
    begin = float(fine[np.argmin(fine - np.log(units(np.exp(fine)).kernel_slope))])
    log_x = np.concatenate([np.linspace(begin, begin + 3, _N_TABLE), log_x[log_x > begin + 3]])
    log_c = log_x - np.log(units(np.exp(log_x)).kernel_slope)
    return _UpperRoot(units, log_x, log_c) if np.all(np.diff(log_c) > 0) else None


def _lagrange(nodes: Array, at: Array) -> Array:
    """Lagrange polynomials of the nodes (rows) at given places (columns)."""
    apart = at - nodes[:, None]
    result = np.ones((nodes.size, at.size))
    for i in range(nodes.size):
        for j in range(nodes.size):
            if i != j:
                result[i] *= apart[j] / (nodes[i] - nodes[j])
    return result

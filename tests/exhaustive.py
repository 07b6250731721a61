r"""A slow search for all solutions at one α, from the ingredients alone (:mod:`saddle_equations`).

Up to three classes of |v|: for every set of classes that are learnt, a grid over their ln x. The equation of
the first gives the coupling B (its right side rises with B); in every cell at whose corners each of the
other equations changes its sign a root is polished. Any number of classes: the map is iterated with damping
from many starts, which finds stable solutions. The grid is searched with interpolated functions, roots are
polished with exact ones.

The map T takes a box into itself, so that over all its fixed points, mirrored to x < 0,

    Σ 2^(number of classes learnt) sign det(1 - DT) = 1      (Lefschetz).

:func:`index_sum` is the left side: it tells whether the search itself is complete. (Not where units may be
known exactly at finite α: those fixed points are at infinity.)
"""

from __future__ import annotations

import itertools
import math

import numpy as np

import widthwise as ww
from invariants import free_entropy_rounding, null_error
from saddle_equations import LEAST_LOG_SNR, Equations, Root

__all__ = ["index_sum", "lacking", "search"]

_MOST_ON_GRID = 3
_N_GRID = {1: 3000, 2: 220, 3: 56}
_LN_X = (LEAST_LOG_SNR, math.log(1e7))
_N_NEWTON = 25
_N_BEST = 6
_PROMISED = 16  # distinct |v| up to which every solution with ordered overlaps and one barrier is promised


def search(problem: ww.Problem, alpha: float, rng: np.random.Generator, n_starts: int = 60) -> list[Root]:
    """All solutions that are found, ordered or not."""
    with np.errstate(all="ignore"):  # points of a grid may be far from any solution
        return _search(Equations(problem, alpha), rng, n_starts)


def _search(equations: Equations, rng: np.random.Generator, n_starts: int) -> list[Root]:
    n_classes = equations.v2.size
    found: list[Root] = []
    starts = [*_universal_starts(equations), *_iterated(equations, rng, n_starts)]
    if n_classes <= _MOST_ON_GRID:
        for n_learnt in range(1, n_classes + 1):
            for learnt in itertools.combinations(range(n_classes), n_learnt):
                starts += _grid_starts(equations, learnt)
    candidates = list(_distinct(equations, starts))
    if n_classes > _PROMISED:
        # Which solution is best is all that is asked; f is flat at a root, so that a rough one ranks it.
        candidates.sort(key=lambda c: -_free_entropy(equations, *c))
        candidates = candidates[:_N_BEST]
    for log_snr, log_coupling in candidates:
        new = equations.polished(log_snr, log_coupling)
        if new is not None and not any(_is_same(new, old) for old in found):
            found.append(new)
    return found


def _free_entropy(equations: Equations, log_snr: np.ndarray, log_coupling: float) -> float:
    try:
        return equations.described(log_snr, log_coupling).free_entropy
    except (RuntimeError, FloatingPointError):  # the mmse could not be inverted: too far out
        return -math.inf


def _distinct(equations: Equations, starts: list[tuple[np.ndarray, float]]):
    """Different roots of the interpolated equations near the starts, by Newton's method on all at once."""
    groups: dict[tuple[int, ...], list[np.ndarray]] = {}
    for log_snr, log_coupling in starts:
        learnt = tuple(np.flatnonzero(~np.isneginf(log_snr)).tolist())
        groups.setdefault(learnt, []).append(np.append(log_snr[list(learnt)], log_coupling))
    for learnt, rows in groups.items():
        u = np.array(rows)
        n_steps = _N_NEWTON if len(learnt) <= _MOST_ON_GRID else 0  # iteration has brought the others there

        def placed(u, learnt=learnt):
            full = np.full((len(u), equations.v2.size), -np.inf)
            full[:, list(learnt)] = np.clip(u[:, :-1], -60, 60)
            return full

        def equation(u, learnt=learnt, placed=placed):
            units, rest, *_ = equations.residual(placed(u), np.clip(u[:, -1], -60, 60))
            return np.nan_to_num(np.column_stack([units[:, list(learnt)], rest]), nan=1e3)

        for _ in range(n_steps):
            value = equation(u)
            slope = np.stack([(equation(u + h) - value) / 1e-6 for h in 1e-6 * np.eye(u.shape[1])], axis=-1)
            step = -np.einsum("nij,nj->ni", np.linalg.pinv(slope), value)
            u = u + step * np.minimum(1.0, 0.5 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
        good = np.abs(equation(u)).max(axis=1) < 1e-4
        kept: list[np.ndarray] = []
        for row in u[good]:
            if not any(np.max(np.abs(row - other)) < (1e-5 if n_steps else 1e-2) for other in kept):
                kept.append(row)
                yield placed(row[None])[0], float(row[-1])


def index_sum(found: list[Root]) -> int:
    """1 if all solutions are there (and a little more often than that: errors may cancel)."""
    return sum(r.sign * 2 ** int(np.count_nonzero(r.overlap > 0)) for r in found)


def lacking(problem: ww.Problem, alpha: float, rng: np.random.Generator) -> list[str]:
    """What the search finds and ``solutions`` lacks, and whatever beats the equilibrium."""
    if not problem.readouts.is_discrete or null_error(problem) == 0:
        return []
    there = ww.solutions(problem, alpha)
    best = next((s for s in there if s.is_equilibrium), None)
    if best is None or any(s.status != "converged" for s in there):
        return []
    violations = []
    n_classes = np.unique(np.abs(problem.readouts.told_apart)).size
    for r in search(problem, alpha, rng):
        words = f"alpha={alpha!r}: error {r.gap!r}, free entropy {r.free_entropy!r}, overlaps {r.overlap}"
        if not best.note and r.free_entropy > best.free_entropy + 2 * free_entropy_rounding(best):
            violations.append(f"a solution beats the equilibrium ({best.free_entropy!r}) at {words}")
        elif r.is_ordered and n_classes <= _PROMISED and not any(_is_listed(r, s) for s in there):
            if Equations(problem, alpha).n_barriers(r) < 2:
                violations.append(f"solutions() lacks one at {words}")
    return violations


def _is_listed(r: Root, s: ww.Solution) -> bool:
    v = np.abs(np.asarray(s.readout_values))
    sizes = np.unique(v[v != 0])[::-1]
    overlap = np.array([s.weight_overlap[v == size].max() for size in sizes])
    # Of tiny gaps the search knows the channel from a power law.
    rtol = 1e-6 if r.gap > 1e-6 * null_error(s.problem) else 1e-2
    return bool(np.max(np.abs(overlap - r.overlap)) < 1e-6 and abs(s.excess_error - r.gap) < rtol * r.gap)


def _is_same(one: Root, other: Root) -> bool:
    apart = np.max(np.abs(one.overlap - other.overlap))
    return bool(apart < 1e-7 and abs(one.gap - other.gap) < 1e-7 * one.gap)


def _universal_starts(equations: Equations):
    nothing = np.full(equations.v2.size, -np.inf)
    grid = equations.coupling(np.array(equations.kernel_total + 0.5 * equations.mu2**2), True)
    grid = grid + np.linspace(-1e-9, 40, 2000)
    rest = equations.residual(nothing, grid)[1]
    if not equations.mu2:
        yield nothing, float(grid[0])
    for i in np.flatnonzero(np.sign(rest[:-1]) != np.sign(rest[1:])):
        yield nothing, float(0.5 * (grid[i] + grid[i + 1]))


def _grid_starts(equations: Equations, learnt: tuple[int, ...]):
    """Middles of the cells in which every equation changes its sign."""
    m = len(learnt)
    axis = np.linspace(*_LN_X, _N_GRID[m])
    shape = (axis.size,) * m
    log_snr = np.full((axis.size**m, equations.v2.size), -np.inf)
    for k, place in zip(learnt, np.meshgrid(*[axis] * m, indexing="ij"), strict=True):
        log_snr[:, k] = place.ravel()
    log_coupling = equations.coupling_for(log_snr, learnt[0])
    units, rest, *_ = equations.residual(log_snr, log_coupling)
    signs = [np.sign(rest)] + [np.sign(units[:, k]) for k in learnt[1:]]
    crossed = np.ones(tuple(n - 1 for n in shape), dtype=bool)
    for sign in signs:
        corners = [
            sign.reshape(shape)[tuple(slice(c, c - 1 or None) for c in corner)]
            for corner in itertools.product((0, 1), repeat=m)
        ]
        crossed &= (np.max(corners, axis=0) > 0) & (np.min(corners, axis=0) < 0)
    starts = []
    for cell in np.argwhere(crossed)[:400]:
        corner = np.ravel_multi_index(tuple(cell), shape)
        start = log_snr[corner].copy()
        start[list(learnt)] += 0.5 * (axis[1] - axis[0])
        starts.append((start, float(log_coupling[corner])))
    return starts


def _iterated(equations: Equations, rng: np.random.Generator, n_starts: int):
    """Where damped iteration ends up, from overlaps that are ordered and random."""
    n_classes = equations.v2.size
    n_learnt = 1 + np.arange(max(n_starts, n_classes)) % n_classes
    n_starts = n_learnt.size
    log_snr = (
        rng.uniform(-6, 12, (n_starts, 1)) + np.log(equations.v2) + rng.normal(size=(n_starts, n_classes))
    )
    log_snr = np.where(np.arange(n_classes) < n_learnt[:, None], log_snr, -20.0)
    log_coupling = equations.coupling(np.array(equations.kernel_total + 0.5 * equations.mu2**2), True)
    log_coupling = log_coupling + rng.uniform(0, 5, n_starts)
    for step in range(400):
        units, rest, *_ = equations.residual(log_snr, log_coupling)
        weight = 0.5 if step < 200 else 1.0
        log_snr = np.clip(np.nan_to_num(log_snr + weight * units, nan=-20.0), -20.0, 25.0)
        log_coupling = np.clip(np.nan_to_num(log_coupling + weight * rest, nan=0.0), -60.0, 60.0)
    for row, coupling in zip(log_snr, log_coupling, strict=True):
        yield np.where(row > _LN_X[0], row, -np.inf), float(coupling)

r"""Integrals over whole bands by the trapezoidal rule in the angle φ, a = middle + half·sin φ.

Continued to negative b the curve closes around its poles, and an integrand that is odd in b is, times cos φ,
periodic and analytic in φ.  With N steps from end to end the rule errs by the coefficient c_2N of the cosine
series, which falls as exp(-2Nσ), σ being the distance (in the complex plane of φ) to the next band or to
where one nearly splits.  The ends add nothing, and halving the steps keeps all values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from .spectral_curve import Bands, CurvePoints, Poles

__all__ = ["Tolerance", "integrate_far_bands"]

_EPSILON = 2e-16
_FIRST, _N_LEVELS = 8, 6  # steps at first; 256 at last
_TOO_MANY = 400  # steps that the decay so far lets expect: adaptive panels need fewer nodes


class Tolerance:
    """Errors allowed on each panel, relative to the whole of its spectrum as far as it has been seen."""

    def __init__(self, poles: Poles, n_spectra: int, hidden: float) -> None:
        self._poles, self._hidden = poles, hidden
        self._scale = np.zeros(n_spectra)

    def rounding(self, values: np.ndarray, points: CurvePoints) -> np.ndarray:
        """By how much rounding blurs the values of each panel: no halving makes that smaller."""
        blurred: np.ndarray = _EPSILON * (np.abs(values) * self._poles.blur(points)).max(axis=-1)
        return blurred

    def of(
        self, part: np.ndarray, floor: np.ndarray, owner: np.ndarray, total: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Allowed error of each panel, and size of the last coefficients that may hide none larger.

        Panels hold ``part`` (outputs × panels) of the spectra ``owner``; ``total`` is what is settled.
        """
        if not np.all(np.isfinite(part)):
            raise FloatingPointError("the spectral curve gave a value that is not finite")
        # Coarse panels may miss a narrow band, so the scale grows as it is seen.
        seen = np.abs(total).max(axis=0)
        np.add.at(seen, owner, np.abs(part).max(axis=0))
        self._scale = np.maximum(self._scale, seen)
        scale = self._scale[owner]
        return self._poles.rtol * scale + floor, self._hidden * scale + floor


@dataclass(frozen=True)
class _Rule:
    """Nodes and weights; those of the rule with twice the step come first.

    ``is_half``: on the upper half of a band that is its own mirror image.
    """

    n_steps: int
    phi: np.ndarray
    weights: np.ndarray
    to_series: np.ndarray
    """To c_k for k = N/2 - 1, N/2, N - 1, N."""
    to_new: np.ndarray
    """From b at the old nodes to b at the new ones."""

    @property
    def n_old(self) -> int:
        return len(self.to_new)


@cache
def _rule(level: int, is_half: bool) -> _Rule:
    n = _FIRST * 2**level
    new = np.arange(1, n, 2) if level else np.arange(1, n)
    new = new[2 * new >= n] if is_half else new
    before = _rule(level - 1, is_half) if level else None
    old_phi = before.phi if before else np.empty(0)
    phi = np.concatenate([old_phi, -0.5 * math.pi + math.pi * new / n])
    weights = np.full(phi.size, math.pi / n)
    if is_half:
        weights[np.abs(phi) < 1e-9] *= 0.5
    psi = phi + 0.5 * math.pi
    orders = np.array([n // 2 - 1, n // 2, n - 1, n])
    share = 2 / math.pi * weights[:, None]
    to_series = share * np.cos(psi[:, None] * orders)
    to_new = np.empty((0, new.size))
    if before is not None:
        old, k = psi[: old_phi.size], np.arange(1, n // 2)
        to_sines = 2 / math.pi * before.weights[:, None] * np.sin(old[:, None] * k)
        if is_half:
            to_sines += 2 / math.pi * before.weights[:, None] * np.sin((math.pi - old)[:, None] * k)
        to_new = to_sines @ np.sin(k[:, None] * psi[old_phi.size :])
    if is_half:
        to_series += share * np.cos((math.pi - psi)[:, None] * orders)
    return _Rule(n, phi, weights, to_series, to_new)


def integrate_far_bands(
    poles: Poles,
    c0: np.ndarray,
    integrand: Callable[[CurvePoints], np.ndarray],
    bands: Bands,
    tolerance: Tolerance,
    *,
    is_half: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The integral over the bands that are resolved (outputs × spectra), and which are not."""
    total = np.zeros((1, c0.size))
    band = np.arange(bands.owner.size)
    hard: list[np.ndarray] = []
    values = b = floor = np.empty(0)
    for level in range(_N_LEVELS):
        rule = _rule(level, is_half)
        phi = rule.phi[rule.n_old :]
        owner, half = bands.owner[band], bands.half[band][:, None]
        a = bands.middle[band][:, None] + half * np.sin(phi)
        here = np.broadcast_to(c0[owner][:, None], a.shape)
        guess = (b @ rule.to_new) if level else np.sqrt(poles.band_guess(bands.chosen(band), a, c0[owner]))
        points = poles.points(a, here, np.maximum(guess, 0.0) ** 2)
        new = integrand(points) * (half * np.cos(phi))
        new_floor = tolerance.rounding(new, points)
        values = np.concatenate([values, new], axis=-1) if level else new
        b = np.concatenate([b, points.b], axis=-1) if level else points.b
        floor = np.maximum(floor, new_floor) if level else new_floor
        part = values @ rule.weights
        if total.shape[0] != part.shape[0]:
            total = np.zeros((part.shape[0], c0.size))
        allowed, hidden = tolerance.of(part, floor, owner, total)
        c = np.abs(values @ rule.to_series)
        early, late = c[..., :2].max(axis=-1), c[..., 2:].max(axis=-1)
        ratio = np.minimum(late / np.maximum(early, 1e-300), 1.0)
        is_fine = np.all((late * ratio**2 <= allowed) & (late <= hidden), axis=0)
        for row, piece in zip(total, part, strict=True):
            np.add.at(row, owner[is_fine], piece[is_fine])
        if is_fine.all():
            band = band[:0]
            break
        # From N/2 to N the coefficients fell by the ratio: where will they be small enough?
        with np.errstate(divide="ignore"):
            more = 0.5 * np.log(hidden / np.maximum(late, 1e-300)) / np.log(np.minimum(ratio, 0.999))
        is_hard = ~is_fine & np.any((1 + more) * rule.n_steps > _TOO_MANY, axis=0) & (level > 0)
        hard.append(band[is_hard])
        go_on = ~is_fine & ~is_hard
        band, values, b, floor = band[go_on], values[:, go_on], b[go_on], floor[:, go_on]
        if not band.size:
            break
    return total, np.concatenate([*hard, band])

r"""Scalar Gaussian channel  y = sqrt(snr) w + z,  z ~ N(0, 1),  for a centred w of unit variance.

``MixtureChannel`` takes a finite mixture of Gaussians: component i has mean m_i, variance v_i >= 0 (0 for an
atom) and probability p_i. Then y is a mixture too, with means sqrt(snr) m_i and variances 1 + snr v_i, and
every quantity is an average over y of the label posterior pi_i(y). With I = I(w; y) the mutual information,

    mmse = E Var(w | y) = 1 - F,    F = E <w>^2 = 2 psi',    F' = E Var(w | y)^2,    psi = snr/2 - I,
    I    = H(p) + sum_i p_i ln(1 + snr v_i)/2 - E[-sum_i pi_i ln pi_i].

No line subtracts nearly equal numbers, so the mmse of a discrete law keeps its relative accuracy when it is
exponentially small. The integrals are tabulated as piecewise Chebyshev series (in snr close to 0, in log snr
beyond), a piece being made when it is first needed: 21 quadratures an octave once, then 0.8 ms for 1000 snr
(75 ms by direct quadrature for two atoms, 700 ms for ten).
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["SNR_MAX", "ChannelValues", "MixtureChannel", "as_snr", "mixture_channel", "uniform_channel"]

Array = NDArray[np.float64]

# Far above any use; below it no square of sqrt(snr) * mean / width overflows.
SNR_MAX = 1e60

# Gauss–Legendre panels: 16 nodes on 1.5 standard deviations, and on 3 logistic widths next to a crossing of
# two components (zeros of p(y) lie pi widths off the axis), leave less than 1e-15.
_NODE, _NODE_WEIGHT = np.polynomial.legendre.leggauss(16)
_PANEL = 1.5
_BODY = np.arange(-10.5, 10.6, _PANEL)
# Panels double away from a crossing: there p Var(w|y) falls at least like exp(-|t|/2), t in logistic widths.
_CROSSING = np.array([-80.0, -48, -24, -12, -6, -3, 0, 3, 6, 12, 24, 48, 80])
_CROSSING_PANEL = np.array([32.0, 24, 12, 6, 3, 3, 3, 3, 3, 6, 12, 24, 32])

_DEGREE = 20
_CHEBYSHEV_NODE = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
_TO_COEFFICIENTS = np.linalg.inv(np.polynomial.chebyshev.chebvander(_CHEBYSHEV_NODE, _DEGREE))
_TAIL = 1e-13  # a piece is halved while its last two coefficients exceed this
_MAX_HALVINGS = 8
# The first piece, in snr itself, ends where snr (m^2 + v) reaches this for the largest component.
_SMALL = 2.0**-4
# exp(-800) is below the smallest double.
_SATURATION = 800.0
# Uniform law: from this snr on both edges are 9.8 noise deviations from the middle and decouple.
_UNIFORM_SWITCH = 32.0
# int phi^2/Phi = -int Phi ln Phi over the line: what an edge costs in mmse and in information (mpmath).
_EDGE = 0.90319728556862535
_BATCH = 2_000_000  # doubles in one array of the quadrature


class ChannelValues(NamedTuple):
    """Everything the saddle point asks of P_W, as arrays of the shape of ``snr``."""

    free_entropy: Array
    overlap: Array
    mmse: Array
    overlap_slope: Array
    entropy_deficit: Array


class _Pieces(NamedTuple):
    """Chebyshev pieces sorted by where they start, in octaves above the first piece."""

    start: Array
    length: Array
    coefficients: Array  # (degree + 1, 4 functions, pieces)


class MixtureChannel:
    """Channel integrals of one mixture, tabulated as they are asked for.

    Parameters
    ----------
    means, variances, probabilities : sequences of one length
        A centred law of unit variance (not checked here); a component of variance 0 is an atom.
    is_smooth : bool
        The atoms are the nodes of a quadrature of a smooth law, fine against the noise: do not resolve the
        crossings between neighbours.
    """

    def __init__(self, means: ArrayLike, variances: ArrayLike, probabilities: ArrayLike, *, is_smooth=False):
        self._m, self._v, self._p = (np.array(a, dtype=float) for a in (means, variances, probabilities))
        self._is_smooth = is_smooth
        self._label_entropy = float(-self._p @ np.log(self._p))
        self._small = _SMALL / float(np.max(self._m**2 + self._v))
        # Past this snr a discrete law has mmse < exp(-800), 0 in double precision, and I is the entropy.
        self._saturated = np.inf
        if not self._v.any():
            gap = np.diff(np.sort(self._m)).min()
            self._saturated = 8 * _SATURATION / gap**2
        self._first: Array | None = None
        self._pieces = _Pieces(np.empty(0), np.empty(0), np.empty((_DEGREE + 1, 4, 0)))

    def __call__(self, snr: Array) -> ChannelValues:
        """All quantities at a flat array of valid snr (see ``as_snr``)."""
        log_mmse, log_slope = np.full(snr.shape, -np.inf), np.full(snr.shape, -np.inf)
        overlap, information = np.ones(snr.shape), np.full(snr.shape, self._label_entropy)
        psi = np.empty(snr.shape)
        small = snr <= self._small
        middle = ~small & (snr < self._saturated)
        if middle.any():
            octave = np.log2(snr[middle] / self._small)
            values = self._evaluate(octave)
            log_mmse[middle], log_slope[middle], overlap[middle], information[middle] = values
        if small.any():
            if self._first is None:
                self._first = self._fit_small()
            x = snr[small]
            values = _clenshaw(self._first[..., None], 2 * x / self._small - 1)
            log_mmse[small], log_slope[small] = values[:2]
            overlap[small], psi[small] = x * values[2], x * x * values[3]
        mmse, slope = np.exp(log_mmse), np.exp(log_slope)
        overlap = np.where(mmse < 0.5, 1 - mmse, overlap)
        deficit = np.where(small, psi - snr * overlap / 2, snr * mmse / 2 - information)
        psi = np.where(small, psi, snr / 2 - information)
        return ChannelValues(psi, overlap, mmse, slope, deficit)

    def integrals(self, snr: Array, *, is_small: bool = False) -> Array:
        """Rows ln(mmse), ln(F'), F and I by direct quadrature over y.

        ``is_small`` keeps F relatively accurate as snr -> 0, at the price of overflow at large snr.
        """
        owner, left, right, anchor = self._panels(snr)
        rows = np.empty((4, snr.size))
        count = np.bincount(owner, minlength=snr.size)
        n_together = max(1, int(_BATCH // (_NODE.size * self._m.size * count.max())))
        for low in range(0, snr.size, n_together):
            group = slice(*np.searchsorted(owner, [low, low + n_together]))
            batch = snr[low : low + n_together]
            rows[:, low : low + n_together] = self._integrate(
                batch, owner[group] - low, left[group], right[group], anchor[group], is_small
            )
        return rows

    def _integrate(self, snr, owner, left, right, anchor, is_small) -> Array:
        m, v, p = (a[:, None, None] for a in (self._m, self._v, self._p))
        x = snr[owner][:, None]
        root, s = np.sqrt(x), np.sqrt(1 + x * v)
        half = (right - left)[:, None] / 2
        # y is kept as a distance from the mean of one component: for atoms much closer to each other than
        # to 0, y itself has too few digits at large snr.
        t = (left - root[:, 0] * self._m[anchor])[:, None] + half * (1 + _NODE)
        z = (t + root * (self._m[anchor][:, None] - m)) / s
        log_joint = np.log(p) - np.log(s) - z * z / 2
        top = log_joint.max(axis=0)
        posterior = np.exp(log_joint - top)
        total = posterior.sum(axis=0)
        posterior /= total
        gain = root * v * z / s  # posterior mean of component i, minus m_i
        mean = m + gain
        # Spread about the mean of the most likely component: the difference below loses at most a factor
        # equal to the number of components, and nothing when one component dominates.
        reference = np.take_along_axis(mean, log_joint.argmax(axis=0)[None], axis=0)
        spread = mean - reference
        shift = (posterior * spread).sum(axis=0)
        variance = (posterior * (v / s**2 + spread**2)).sum(axis=0) - shift**2
        if is_small:
            y = t + root * self._m[anchor][:, None]
            exponent = (x * v * y * y + 2 * root * m * y - x * m * m) / (2 * s * s) - np.log1p(x * v) / 2
            ratio = p * np.exp(exponent)
            estimate = (p * m * np.expm1(exponent) + ratio * gain).sum(axis=0) / ratio.sum(axis=0)
        else:
            estimate = reference[0] + shift
        surprise = np.log(total) - (posterior * (log_joint - top)).sum(axis=0)

        log_density = top + np.log(total) + np.log(half * _NODE_WEIGHT / np.sqrt(2 * np.pi))
        density = np.exp(log_density)
        first = np.searchsorted(owner, np.arange(snr.size))

        def add(terms):
            return np.add.reduceat(terms.sum(axis=1), first)

        def log_add(logs):
            peak = np.maximum.reduceat(logs.max(axis=1), first)
            return peak + np.log(add(np.exp(logs - peak[owner][:, None])))

        with np.errstate(divide="ignore"):  # Var(w|y) may underflow far from the crossings
            log_variance = np.log(variance)
        information = (
            self._label_entropy + np.log1p(snr[:, None] * self._v) @ self._p / 2 - add(density * surprise)
        )
        return np.stack(
            [
                log_add(log_density + log_variance),
                log_add(log_density + 2 * log_variance),
                add(density * estimate**2),
                information,
            ]
        )

    def _panels(self, snr):
        """Panels (owner, left, right, anchor): which snr, the ends in y, the component y is measured from."""
        x = snr[:, None]
        centre, width = np.sqrt(x) * self._m, np.sqrt(1 + x * self._v)
        edge = (centre[..., None] + width[..., None] * _BODY).reshape(snr.size, -1)
        size = np.broadcast_to(width[..., None] * _PANEL, (*width.shape, _BODY.size)).reshape(snr.size, -1)
        if not self._is_smooth and self._m.size > 1:
            at, scale = self._crossings(snr, centre, width)
            low, high = edge.min(axis=1)[:, None, None], edge.max(axis=1)[:, None, None]
            more = np.clip(at[..., None] + scale[..., None] * _CROSSING, low, high)
            edge = np.concatenate([edge, more.reshape(snr.size, -1)], axis=1)
            size = np.concatenate([size, (scale[..., None] * _CROSSING_PANEL).reshape(snr.size, -1)], axis=1)
        order = np.argsort(edge, axis=1)
        edge, size = np.take_along_axis(edge, order, axis=1), np.take_along_axis(size, order, axis=1)
        # Drop an edge closer to the last one kept than half the panel it asks for.
        last = edge[:, 0]
        for column in range(1, edge.shape[1]):
            last = np.where(edge[:, column] - last >= size[:, column] / 2, edge[:, column], last)
            edge[:, column] = last
        owner, start = np.nonzero(np.diff(edge, axis=1) > 0)
        left, right = edge[owner, start], edge[owner, start + 1]
        # The anchor is the mean to the left: it changes at a mean, where p Var(w|y) is least.
        by_mean = np.argsort(self._m)
        n_before = np.count_nonzero(centre[:, by_mean][owner] <= left[:, None], axis=1)
        return owner, left, right, by_mean[np.maximum(n_before - 1, 0)]

    def _crossings(self, snr, centre, width):
        """Where the two most likely components change places, and over which distance (padded)."""
        i, j = np.triu_indices(self._m.size, 1)
        gap, s_i, s_j = centre[:, j] - centre[:, i], width[:, i], width[:, j]
        a = (1 / s_j**2 - 1 / s_i**2) / 2
        b = -gap / s_j**2
        c = np.log(self._p[i] * s_j / (self._p[j] * s_i)) + gap**2 / (2 * s_j**2)
        with np.errstate(all="ignore"):  # absent roots become NaN or infinite and are dropped
            q = -(b + np.copysign(np.sqrt(b * b - 4 * a * c), b)) / 2
            t = np.concatenate([q / a, c / q], axis=1)
            slope = np.abs(2 * np.tile(a, 2) * t + np.tile(b, 2))
            narrow = np.tile(np.minimum(s_i, s_j), 2)
            scale = np.minimum(1 / slope, narrow)
            at = np.tile(centre[:, i], 2) + t
            log_joint = (
                np.log(self._p / width)[:, None]
                - ((at[..., None] - centre[:, None]) / width[:, None]) ** 2 / 2
            )
            here = np.take_along_axis(log_joint, np.tile(i, 2)[None, :, None], axis=2)[..., 0]
            is_top = np.isfinite(at) & (here >= log_joint.max(axis=2) - 1e-6 * (1 + np.abs(here)))
        n_top = int(is_top.sum(axis=1).max())
        if n_top == 0:
            return centre[:, :1], width[:, :1]
        order = np.argsort(~is_top, axis=1, kind="stable")[:, :n_top]
        kept = np.take_along_axis(is_top, order, axis=1)
        return (
            np.where(kept, np.take_along_axis(at, order, axis=1), centre[:, :1]),
            np.where(kept, np.take_along_axis(scale, order, axis=1), width[:, :1]),
        )

    def _fit_small(self) -> Array:
        """Series in snr of ln(mmse), ln(F'), F/snr and psi/snr^2 on [0, small]."""
        x = self._small * (1 + _CHEBYSHEV_NODE) / 2
        log_mmse, log_slope, overlap, _ = self.integrals(x, is_small=True)
        ratio = _TO_COEFFICIENTS @ (overlap / x)
        # psi = int_0^snr F/2, that is psi/snr^2 = int_0^1 u f(snr u) du / 2 for the series f of F/snr.
        u, weight = (1 + _NODE) / 2, _NODE_WEIGHT / 2
        inner = np.polynomial.chebyshev.chebval(2 * np.outer(x / self._small, u) - 1, ratio)
        psi = inner @ (weight * u) / 2
        return _TO_COEFFICIENTS @ np.stack([log_mmse, log_slope, overlap / x, psi], axis=1)

    def _evaluate(self, octave: Array) -> Array:
        pieces = self._pieces
        wanted = np.unique(np.floor(octave))
        missing = wanted[~np.isin(wanted, pieces.start)]
        if missing.size:
            made = [piece for start in missing for piece in self._fit(start, 1.0, 0)]
            starts, lengths, series = zip(*made, strict=True)
            start = np.append(pieces.start, starts)
            order = np.argsort(start)
            pieces = _Pieces(
                start[order],
                np.append(pieces.length, lengths)[order],
                np.concatenate([pieces.coefficients, np.stack(series, axis=-1)], axis=-1)[..., order],
            )
            self._pieces = pieces  # one assignment: a concurrent call at worst repeats the work
        index = np.searchsorted(pieces.start, octave, side="right") - 1
        local = 2 * (octave - pieces.start[index]) / pieces.length[index] - 1
        return _clenshaw(pieces.coefficients[..., index], local)

    def _fit(self, start: float, length: float, n_halvings: int) -> list[tuple[float, float, Array]]:
        x = self._small * 2.0 ** (start + length * (1 + _CHEBYSHEV_NODE) / 2)
        rows = self.integrals(x)
        # Past F = 1/2 the table serves 1 - mmse: the noise of E <w>^2 (1e-12 at snr 1e10) must not split it.
        rows[2] = np.where(rows[0] < np.log(0.5), -np.expm1(rows[0]), rows[2])
        series = _TO_COEFFICIENTS @ rows.T
        tail = np.abs(series[-2:]).max(axis=0)
        is_resolved = bool(np.all(tail <= _TAIL * np.maximum(1, np.abs(series[0]))))
        if is_resolved or n_halvings == _MAX_HALVINGS:
            return [(start, length, series)]
        half = length / 2
        return self._fit(start, half, n_halvings + 1) + self._fit(start + half, half, n_halvings + 1)


@functools.lru_cache(maxsize=64)
def mixture_channel(
    means: tuple[float, ...], variances: tuple[float, ...], probabilities: tuple[float, ...]
) -> MixtureChannel:
    """The channel of a law, one for equal arguments, with the rounding of its moments removed.

    The identities then hold to the last digits even if the atoms were given with ten.
    """
    m, v, p = np.array(means), np.array(variances), np.array(probabilities)
    p = p / p.sum()
    m = m - m @ p
    scale = (m**2 + v) @ p
    return MixtureChannel(m / np.sqrt(scale), v / scale, p)


def uniform_channel(snr: Array) -> ChannelValues:
    """All quantities of the uniform law on [-sqrt(3), sqrt(3)], at a flat array of valid snr."""
    is_near = snr < _UNIFORM_SWITCH
    if not is_near.any():
        return _separated_edges(snr)
    near = _uniform_nodes()(np.minimum(snr, _UNIFORM_SWITCH))
    far = _separated_edges(np.maximum(snr, _UNIFORM_SWITCH))
    return ChannelValues(*(np.where(is_near, a, b) for a, b in zip(near, far, strict=True)))


def as_snr(snr: ArrayLike) -> Array:
    """``snr`` as a float array, refused unless every value lies in [0, SNR_MAX]."""
    values = np.asarray(snr, dtype=float)
    is_valid = (values >= 0) & (values <= SNR_MAX)  # written so that NaN is refused too
    if not is_valid.all():
        bad = values[~is_valid].flat[0]
        raise ValueError(f"snr must be a number between 0 and {SNR_MAX:g}, got {bad:g}")
    return values


def _clenshaw(coefficients: Array, t: Array) -> Array:
    """Chebyshev series with their own coefficients (degree + 1, functions, points) at each t (points)."""
    b1 = b2 = np.zeros(np.broadcast_shapes(coefficients.shape[1:], t.shape))
    for c in coefficients[:0:-1]:
        b1, b2 = c + 2 * t * b1 - b2, b1
    return coefficients[0] + t * b1 - b2


@functools.lru_cache(maxsize=1)
def _uniform_nodes() -> MixtureChannel:
    # 64 Gauss–Legendre atoms are the uniform law to 1e-15 while it spans less than 20 noise deviations.
    node, weight = np.polynomial.legendre.leggauss(64)
    return MixtureChannel(np.sqrt(3) * node, np.zeros(64), weight / 2, is_smooth=True)


def _separated_edges(snr: Array) -> ChannelValues:
    """Uniform law when its edges are far apart in units of the noise, up to exp(-3 snr/2)."""
    a = np.sqrt(3 * snr)
    mmse = (1 - _EDGE / a) / snr
    slope = (1 - 1.5 * _EDGE / a) / snr**2
    information = np.log(2 * a) - np.log(2 * np.pi * np.e) / 2 + _EDGE / a
    return ChannelValues(snr / 2 - information, 1 - mmse, mmse, slope, snr * mmse / 2 - information)

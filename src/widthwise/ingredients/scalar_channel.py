r"""Scalar Gaussian channel  y = sqrt(snr) w + z,  z ~ N(0, 1),  for a centred w of unit variance.

``MixtureChannel`` takes a finite mixture of Gaussians: component i has mean m_i, variance v_i >= 0 (0 for an
atom) and probability p_i. Then y is a mixture too, with means sqrt(snr) m_i and variances 1 + snr v_i, and
every quantity is an average over y of the label posterior pi_i(y) (eq. bracket_FP_equations of
arXiv:2505.24849). With I = I(w; y) the mutual information,

    mmse = E Var(w | y) = 1 - F,    F = E <w>^2 = 2 psi',    F' = E Var(w | y)^2,    psi = snr/2 - I,
    I    = H(p) + sum_i p_i ln(1 + snr v_i)/2 - E[-sum_i pi_i ln pi_i].

No line subtracts nearly equal numbers: the mmse keeps its relative accuracy when it is exponentially small, F
and psi keep theirs as snr -> 0. The larger of F and mmse is 1 minus the other, so that they add up to 1. The
integrals are tabulated as piecewise Chebyshev series (in snr close to 0, in log snr beyond, in 1/snr once
every component is wider than the noise), a piece being made when it is first needed: 21 quadratures for two
octaves once, then 1 ms for 1000 snr (75 ms by direct quadrature for two atoms, 700 ms for ten).
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .mixture_integrals import MixtureIntegrals

__all__ = [
    "SNR_MAX",
    "ChannelValues",
    "MixtureChannel",
    "as_snr",
    "gaussian_channel",
    "mixture_channel",
    "uniform_channel",
]

# Far above any use; below it no square of sqrt(snr) * mean / width overflows.
SNR_MAX = 1e60

_DEGREE = 20
_CHEBYSHEV_NODE = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
_TO_COEFFICIENTS = np.linalg.inv(np.polynomial.chebyshev.chebvander(_CHEBYSHEV_NODE, _DEGREE))
_PIECE = 2.0  # octaves
_TAIL, _ROUNDING = 1e-13, 4e-15  # a piece is halved while its last two coefficients exceed these
_MAX_HALVINGS = 9
# The first piece, in snr itself, ends where snr (m^2 + v) reaches this for the largest component.
_SMALL = 2.0**-4
# The last piece, in 1/snr, begins where snr v has reached this for the smallest variance.
_RESOLVED = 2.0**8
# exp(-800) is below the smallest double.
_SATURATION = 800.0
# F >= snr/(1 + snr) for any law of unit variance: from here on F >= 1/2, and 1 - mmse is as good.
_LOW = 1.0
# Uniform law: from this snr on both edges are 9.8 noise deviations from the middle and decouple.
_UNIFORM_SWITCH = 32.0
# int phi^2/Phi = -int Phi ln Phi over the line: what an edge costs in mmse and in information (mpmath).
_EDGE = 0.90319728556862535
_POWERS = np.array([[1.0], [2.0], [-0.5]])  # of snr that make mmse, F' and exp(I) constant at large snr


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
    """Channel integrals of one mixture, tabulated as they are asked for."""

    def __init__(self, integrals: MixtureIntegrals) -> None:
        self.integrals = integrals
        m, v = self.integrals.means, self.integrals.variances
        self._small = _SMALL / float(np.max(m**2 + v))
        # Past this snr a discrete law has mmse < exp(-800), 0 in double precision, and I is the entropy.
        self._saturated = np.inf
        # Past this one the noise is narrower than any component.
        self._resolved = np.inf
        if not v.any():
            steps = np.diagonal(self.integrals.apart, -1)
            self._saturated = 8 * _SATURATION / steps[steps > 0].min() ** 2
        elif v.all():
            self._resolved = _RESOLVED / float(v.min())
        self._first: Array | None = None
        self._last: Array | None = None
        self._pieces = _Pieces(np.empty(0), np.empty(0), np.empty((_DEGREE + 1, 4, 0)))

    def __call__(self, snr: Array) -> ChannelValues:
        """All quantities at a flat array of valid snr (see ``as_snr``)."""
        values = ChannelValues(*(np.empty(snr.shape) for _ in range(5)))
        small, saturated = snr <= self._small, snr >= self._saturated
        resolved = snr >= self._resolved
        middle = ~(small | saturated | resolved)
        for own, evaluate in (
            (small, self._at_small),
            (middle, self._at_middle),
            (resolved, self._at_resolved),
            (saturated, self._at_saturated),
        ):
            if own.any():
                for value, part in zip(values, evaluate(snr[own]), strict=True):
                    value[own] = part
        return values

    def _at_small(self, x: Array) -> ChannelValues:
        if self._first is None:
            # Series in snr of ln(mmse), ln(F'), ln(F/snr) and ln(psi/snr^2).
            self._first = _series(self.integrals.low(self._small * (1 + _CHEBYSHEV_NODE) / 2))
        return _from_low(x, _clenshaw(self._first[..., None], 2 * x / self._small - 1))

    def _at_middle(self, x: Array) -> ChannelValues:
        octave = np.log2(x / self._small)
        rows = self._look_up(octave)
        low, high = _from_low(x, rows), _from_high(x, rows[:3])
        is_low = self._is_low(octave)
        return ChannelValues(*(np.where(is_low, a, b) for a, b in zip(low, high, strict=True)))

    def _at_resolved(self, x: Array) -> ChannelValues:
        if self._last is None:
            # Series in resolved/snr of ln(snr mmse), ln(snr^2 F') and I - ln(snr)/2.
            far = 2 * self._resolved / (1 + _CHEBYSHEV_NODE)
            self._last = _series(self.integrals.high(far) + np.log(far) * _POWERS)
        rows = _clenshaw(self._last[..., None], 2 * self._resolved / x - 1)
        return _from_high(x, rows - np.log(x) * _POWERS)

    def _at_saturated(self, x: Array) -> ChannelValues:
        gone = np.full(x.shape, -np.inf)
        return _from_high(x, np.stack([gone, gone, np.full(x.shape, self.integrals.label_entropy)]))

    def _is_low(self, octave: Any) -> Any:
        """Whether the piece begins below snr = 1, where F may be less than 1/2."""
        return _PIECE * np.floor(octave / _PIECE) < np.log2(_LOW / self._small)

    def _look_up(self, octave: Array) -> Array:
        """Rows of ``MixtureIntegrals.low`` or, with one left empty, of ``high``."""
        pieces = self._pieces
        wanted = _PIECE * np.unique(np.floor(octave / _PIECE))
        missing = wanted[~np.isin(wanted, pieces.start)]
        if missing.size:
            made = [piece for start in missing for piece in self._fit(start, _PIECE, 0)]
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
        if self._is_low(start):
            rows = self.integrals.low(x)
        else:
            rows = np.concatenate([self.integrals.high(x), np.zeros((1, x.size))])
        series = _series(rows)
        tail = np.abs(series[-2:]).max(axis=0)
        is_resolved = bool(np.all(tail <= np.maximum(_TAIL, _ROUNDING * np.abs(series[0]))))
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
    centre = m @ p
    scale = np.sqrt(((m - centre) ** 2 + v) @ p)
    return MixtureChannel(MixtureIntegrals(m, v, p, centre=float(centre), scale=float(scale)))


def gaussian_channel(snr: Array) -> ChannelValues:
    """All quantities of the standard normal law, at a flat array of valid snr."""
    mmse = 1 / (1 + snr)
    overlap, log = snr * mmse, np.log1p(snr)
    # snr - ln(1 + snr) cancels at small snr: ln(1 + snr) = 2 artanh(s) with s = snr/(2 + snr) <= 1/3.
    x = np.minimum(snr, 1.0)
    s = x / (2 + x)
    rest = np.zeros_like(s)
    for k in range(35, 1, -2):
        rest = (rest + 1 / k) * s * s
    psi = np.where(snr < 1, x * s - 2 * s * rest, snr - log) / 2
    deficit = np.where(snr < 1, psi - snr * overlap / 2, (overlap - log) / 2)
    return ChannelValues(psi, overlap, mmse, mmse**2, deficit)


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


def _series(rows: Array) -> Array:
    """Chebyshev coefficients (degree + 1, functions) of rows known at the Chebyshev nodes."""
    return _TO_COEFFICIENTS @ rows.T


def _from_low(x: Array, rows: Array) -> ChannelValues:
    """From ln(mmse), ln(F'), ln(F/snr) and ln(psi/snr^2)."""
    log_mmse, log_slope, log_overlap, log_psi = rows
    overlap, psi = x * np.exp(log_overlap), x * np.exp(log_psi) * x
    mmse = np.exp(log_mmse)
    is_less = overlap < 0.5
    overlap, mmse = np.where(is_less, overlap, 1 - mmse), np.where(is_less, 1 - overlap, mmse)
    return ChannelValues(psi, overlap, mmse, np.exp(log_slope), psi - x * overlap / 2)


def _from_high(x: Array, rows: Array) -> ChannelValues:
    """From ln(mmse), ln(F') and I."""
    log_mmse, log_slope, information = rows
    mmse = np.exp(log_mmse)
    return ChannelValues(x / 2 - information, 1 - mmse, mmse, np.exp(log_slope), x * mmse / 2 - information)


def _clenshaw(coefficients: Array, t: Array) -> Array:
    """Chebyshev series with their own coefficients (degree + 1, functions, points) at each t (points)."""
    b1 = b2 = np.zeros(np.broadcast_shapes(coefficients.shape[1:], t.shape))
    for c in coefficients[:0:-1]:
        b1, b2 = c + 2 * t * b1 - b2, b1
    total: Array = coefficients[0] + t * b1 - b2
    return total


@functools.lru_cache(maxsize=1)
def _uniform_nodes() -> MixtureChannel:
    # 64 Gauss–Legendre atoms are the uniform law to 1e-15 while it spans less than 20 noise deviations.
    node, weight = np.polynomial.legendre.leggauss(64)
    return MixtureChannel(MixtureIntegrals(np.sqrt(3) * node, np.zeros(64), weight / 2, is_smooth=True))


def _separated_edges(snr: Array) -> ChannelValues:
    """Uniform law when its edges are far apart in units of the noise, up to exp(-3 snr/2)."""
    a = np.sqrt(3 * snr)
    mmse = (1 - _EDGE / a) / snr
    slope = (1 - 1.5 * _EDGE / a) / snr**2
    information = np.log(2 * a) - np.log(2 * np.pi * np.e) / 2 + _EDGE / a
    return ChannelValues(snr / 2 - information, 1 - mmse, mmse, slope, snr * mmse / 2 - information)

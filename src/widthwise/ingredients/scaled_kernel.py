r"""E[σ(s y) σ(t z)] for unit Gaussians y, z of correlation ρ: hidden units whose weights have any norm.

Mehler's formula (App. A of arXiv:2505.24849) with a deviation for each unit,

.. math:: E[\sigma(sy)\sigma(tz)] = \sum_\ell c_\ell(s)\, c_\ell(t)\, \rho^\ell, \qquad
          c_\ell(s) = E[\sigma(sz) \mathrm{He}_\ell(z)] / \sqrt{\ell!},

is summed to the end for polynomials and smooth functions; a + px + q|x| has a closed form. The series of
other functions with a kink decays like a power of ℓ: what it misses at ρ = ±1 is known from one integral,
and is carried to |ρ| < 1 by that power law.
"""

import math
from functools import lru_cache, partial

import numpy as np

from .._arrays import Array
from .activations import Activation
from .hermite import Panels, hermite_series, resolve

__all__ = ["ScaledKernel", "scaled_kernel"]

_LENGTH = 320  # terms; smooth functions end earlier
_N_CHEBYSHEV = 20  # c_l(s) on a half octave of s to 1e-12, up to l = 320
_CELLS_PER_OCTAVE = 2
_AT_ONCE = 20_000  # powers of all correlations in one array, or one order after the other


@lru_cache(maxsize=32)
def scaled_kernel(activation: Activation) -> "ScaledKernel":
    """The kernel of an activation, with its tables kept."""
    return ScaledKernel(activation)


class ScaledKernel:
    """Covariance of hidden units, called on deviations s (a), t (b) and correlations ρ (a × b)."""

    def __init__(self, activation: Activation) -> None:
        self.activation = activation
        self.fold = activation._fold_at_zero()
        self._cells: dict[int, Array] = {}

    def __call__(self, s: Array, t: Array, correlation: Array) -> Array:
        """Matrix of E[σ(s_i y) σ(t_j z)]; correlations beyond ±1 by rounding are taken as ±1."""
        s, t = np.asarray(s, dtype=float), np.asarray(t, dtype=float)
        rho = np.clip(correlation, -1.0, 1.0)
        return self._folded(s, t, rho) if self.fold is not None else self._series(s, t, rho)

    def _folded(self, s: Array, t: Array, rho: Array) -> Array:
        left, a, right = self.activation(np.array([-1.0, 0.0, 1.0]))
        p, q = 0.5 * (right - left), self.fold or 0.0
        arc = np.sqrt(1 - rho**2) + rho * np.arcsin(rho)
        means = a * q * math.sqrt(2 / math.pi) * (s[:, None] + t)
        kernel: Array = a**2 + means + np.outer(s, t) * (p**2 * rho + 2 / math.pi * q**2 * arc)
        return kernel

    def _series(self, s: Array, t: Array, rho: Array) -> Array:
        a, b = self.coefficients(s), self.coefficients(t)
        # A term holds the product of two coefficients: 1e-9 each is 1e-18 together.
        used = np.flatnonzero(np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0)) > 1e-9)
        length = int(used[-1]) + 1 if used.size else 1
        orders = np.flatnonzero(np.any(a[:, :length], axis=0) & np.any(b[:, :length], axis=0))
        if rho.size * length < _AT_ONCE:
            powers = rho[..., None] ** orders
            total: Array = np.einsum("il,jl,ijl->ij", a[:, orders], b[:, orders], powers)
        else:
            total, power, last = np.zeros_like(rho), np.ones_like(rho), 0
            for order in orders.tolist():
                power *= rho ** (order - last)
                total += a[:, order, None] * b[:, order] * power
                last = order
        # Coefficients that fall off geometrically, as those of tanh(2x), have left no tail by then.
        if np.abs(a[:, -4:]).max() * np.abs(b[:, -4:]).max() > 1e-11:
            self._add_tail(total, s, t, rho, a, b)
        return total

    def coefficients(self, s: Array) -> Array:
        """c_0(s) ... c_{L-1}(s), one row for each deviation."""
        position = _CELLS_PER_OCTAVE * np.log2(np.maximum(s, 1e-9))
        cell = np.floor(position).astype(int)
        result = np.empty((s.size, _LENGTH))
        for index in np.unique(cell):
            here = cell == index
            result[here] = _interpolation(position[here] - index) @ self._cell(int(index))
        return result

    def _cell(self, index: int) -> Array:
        if index not in self._cells:
            nodes = 2.0 ** ((index + _chebyshev()) / _CELLS_PER_OCTAVE)
            self._cells[index] = np.array([self._coefficients_at(s) for s in nodes])
        return self._cells[index]

    def _coefficients_at(self, s: float) -> Array:
        panels = self._panels(s)
        values = self.activation(s * panels.nodes)
        series = hermite_series(panels, values, _LENGTH)
        size = math.sqrt(panels.mean(values**2))
        return np.where(np.abs(series) < 1e-15 * size, 0.0, series)  # the rest is rounding

    def _panels(self, *deviations: float) -> Panels:
        """Panels on which σ(s z) is resolved for each of the deviations s."""
        radius = self.activation._radius
        kinks = [k / s for s in deviations for k in self.activation.kinks if abs(k / s) < radius]
        edges = np.concatenate([np.linspace(-radius, radius, int(4 * radius) + 1), kinks])
        for s in deviations:
            edges = resolve(partial(self._stretched, s), edges)
        return Panels(edges)

    def _stretched(self, s: float, z: Array) -> Array:
        return self.activation(s * z)

    def _add_tail(self, total: Array, s: Array, t: Array, rho: Array, a: Array, b: Array) -> None:
        """What the terms beyond the last add where |ρ| is so close to 1 that it is not negligible."""
        with np.errstate(divide="ignore"):
            reach = -(_LENGTH - 0.5) * np.log(np.abs(rho))
        signs = (-1.0) ** np.arange(_LENGTH)
        for i, j in zip(*np.nonzero(reach < 14.0), strict=True):  # exp(-14) = 8e-7
            sign = 1.0 if rho[i, j] > 0 else -1.0
            panels = self._panels(s[i], t[j])
            whole = panels.mean(
                self.activation(s[i] * panels.nodes) * self.activation(sign * t[j] * panels.nodes)
            )
            missing = whole - np.sum(a[i] * b[j] * (signs if sign < 0 else 1.0))
            total[i, j] += missing * _tail_shape(self._tail_power, reach[i, j])

    @property
    def _tail_power(self) -> float:
        """p in c_l² ~ l^-p: 3/2 if σ jumps, 5/2 if σ' does, 7/2 for a milder kink."""
        if self.activation._jumps():
            return 1.5
        near = np.array([k + e for k in self.activation.kinks for e in (-1e-9, 1e-9)]).reshape(-1, 2)
        slopes = self.activation.derivative(near)
        return 2.5 if np.any(np.abs(slopes[:, 1] - slopes[:, 0]) > 1e-6) else 3.5


def _tail_shape(power: float, y: float) -> float:
    """Sum of l^-p ρ^l over l >= L against its value at ρ = 1, with y = -L ln ρ: (p - 1) E_p(y)."""
    if y <= 0:
        return 1.0
    order, value = 0.5, math.sqrt(math.pi / y) * math.erfc(math.sqrt(y))
    while order < power:
        value = (math.exp(-y) - y * value) / order
        order += 1
    return (power - 1) * value


def _chebyshev() -> Array:
    """Nodes on (0, 1)."""
    angles = (np.arange(_N_CHEBYSHEV) + 0.5) * math.pi / _N_CHEBYSHEV
    return 0.5 * (1 - np.cos(angles))


def _interpolation(x: Array) -> Array:
    """Matrix from values on the nodes to values at x in [0, 1], through the Chebyshev coefficients."""
    return np.polynomial.chebyshev.chebvander(2 * x - 1, _N_CHEBYSHEV - 1) @ _to_chebyshev()


@lru_cache(maxsize=1)
def _to_chebyshev() -> Array:
    """Matrix from values on the nodes to Chebyshev coefficients."""
    project = np.polynomial.chebyshev.chebvander(2 * _chebyshev() - 1, _N_CHEBYSHEV - 1).T * 2 / _N_CHEBYSHEV
    project[0] /= 2
    return project

r"""Gaussian averages of one function and its coefficients on the Hermite basis, by panels of Gauss–Legendre.

With He_l the probabilists' polynomials and z ~ N(0, 1) (eqs. sigma_hermite and avg_sigma of
arXiv:2505.24849),

    mu_l = E[He_l(z) sigma(z)],        c_l = mu_l / sqrt(l!),        E[sigma(z)^2] = sum_l c_l^2.

Panels end at the kinks and shrink where the function is steep, so that sixteen nodes resolve it to
rounding on each. Gauss–Hermite nodes would stop at 1e-3 for ReLU and at 1e-6 for tanh(2x).
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from .._arrays import Array

__all__ = ["Panels", "gauss_legendre", "hermite_series", "resolve"]

N_NODES = 16
RADII = (13.0, 18.0, 26.0, 36.0)  # exp(-x^2/4) is 4e-19 at 13: enough unless sigma grows fast
_RESOLVED = 2e-14
_NARROWEST = 1e-12
_MOST_PANELS = 4000


class Panels:
    """Gauss–Legendre nodes on consecutive intervals, with the weights of dx."""

    def __init__(self, edges: Array) -> None:
        node, weight = gauss_legendre(N_NODES)
        half = 0.5 * np.diff(edges)[:, None]
        self.edges = edges
        self.nodes = (edges[:-1, None] + half * (1 + node)).ravel()
        self.weights = (half * weight).ravel()

    def mean(self, values: Array) -> float:
        """Standard Gaussian average of a function known on the nodes."""
        return float(np.sum(values * self.weights * np.exp(-0.5 * self.nodes**2)) / np.sqrt(2 * np.pi))


@cache
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Nodes on (-1, 1) and weights, exact up to degree 2n - 1."""
    return np.polynomial.legendre.leggauss(n)


@cache
def _to_legendre() -> Array:
    """Matrix from values on the nodes to the Legendre coefficients of the interpolant."""
    node, weight = gauss_legendre(N_NODES)
    table = np.polynomial.legendre.legvander(node, N_NODES - 1)
    return (table * weight[:, None]).T * (np.arange(N_NODES) + 0.5)[:, None]


def resolve(
    function: Callable[[Array], Array],
    edges: Sequence[float] | Array,
    floor: float = 0.0,
    check_ends: bool = False,
) -> Array:
    r"""Finer ``edges`` such that ``function`` is a polynomial of degree 15 on each panel, to rounding.

    Rounding is meant against the largest value of \|function\| exp(-x^2/4): panels out in the tail of the
    Gaussian are not refined for nothing. ``floor`` replaces that value where it is larger: the size of the
    terms whose difference the function is. At a kink that is not an edge the panels halve down to 1e-12;
    with ``check_ends`` also at one that hides between the last node of a panel and its end.
    """
    pending, done = np.unique(np.asarray(edges, dtype=float)), []
    node, _ = gauss_legendre(N_NODES)
    left, right = pending[:-1], pending[1:]
    scale, n_done = floor, 0
    while left.size:
        x = 0.5 * (left + right)[:, None] + 0.5 * (right - left)[:, None] * node
        nearest = np.where(left * right < 0, 0.0, np.minimum(np.abs(left), np.abs(right)))
        damping = np.exp(-0.25 * nearest**2)
        values = function(x)
        scale = max(scale, float(np.max(np.abs(values) * np.exp(-0.25 * x**2))))
        tail = np.abs(values @ _to_legendre().T[:, -3:]).max(axis=1) * damping
        if check_ends:
            coefficients = values @ _to_legendre().T
            at_right = np.abs(coefficients.sum(axis=1) - function(right))
            at_left = np.abs((coefficients * (-1.0) ** np.arange(N_NODES)).sum(axis=1) - function(left))
            tail = np.maximum(tail, 0.01 * np.maximum(at_left, at_right) * damping)
        good = (tail <= _RESOLVED * scale) | (right - left < _NARROWEST)
        done.append(left[good])
        n_done += int(np.count_nonzero(good))
        if n_done + 2 * np.count_nonzero(~good) > _MOST_PANELS:
            raise ValueError(
                f"the function is too rough or noisy to integrate: it needs more than {_MOST_PANELS} panels "
                f"near x = {left[~good][0]:.3g}; choose one that is smooth between a few kinks"
            )
        middle = 0.5 * (left + right)[~good]
        left, right = np.concatenate([left[~good], middle]), np.concatenate([middle, right[~good]])
    return np.append(np.sort(np.concatenate(done)), pending[-1])


def hermite_series(panels: Panels, values: Array, length: int) -> Array:
    r"""Normalised coefficients c_0 ... c_{length-1} of a function known on the nodes.

    Uses the Hermite functions He_l exp(-x^2/4) / sqrt(l!), which stay bounded: their three-term recurrence
    neither overflows nor loses digits. Panels of width 1/2 carry it up to l = 1400.
    """
    x = panels.nodes
    root = np.exp(-0.25 * x**2) / (2 * np.pi) ** 0.25
    integrand = values * panels.weights * root
    below, current = np.zeros_like(x), root
    coefficients = np.empty(length)
    for order in range(length):
        coefficients[order] = current @ integrand
        below, current = current, (x * current - np.sqrt(order) * below) / np.sqrt(order + 1)
    return coefficients

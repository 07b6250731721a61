"""Quadrature rules that channels share: composite Gauss–Legendre, and a trapezoid for Gaussian averages."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..._arrays import Array

__all__ = [
    "NORMAL_NODES",
    "NORMAL_WEIGHTS",
    "REACH",
    "hermite_rule",
    "legendre_series",
    "panels",
    "subdivide",
]

REACH = 9.0
"""Standard deviations at which Gaussian averages are cut: the mass beyond is 2e-19."""

# Trapezoid, not Gauss–Hermite: all functions averaged with it have their nearest pole 2.8 or more standard
# deviations off the axis, so that the error exp(-2π·2.8/0.4) is below rounding with 45 nodes.
NORMAL_NODES = np.linspace(-REACH, REACH, 46)
NORMAL_WEIGHTS = np.exp(-0.5 * NORMAL_NODES**2)
NORMAL_WEIGHTS /= NORMAL_WEIGHTS.sum()


@lru_cache(maxsize=8)
def _legendre(n: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(n)


@lru_cache(maxsize=64)
def hermite_rule(n: int) -> tuple[Array, Array]:
    """Gauss–Hermite nodes and weights for a standard Gaussian."""
    x, w = np.polynomial.hermite_e.hermegauss(n)
    return x, w / w.sum()


def panels(edges: Array, n: int = 16) -> tuple[Array, Array]:
    """Gauss–Legendre nodes and weights, ``n`` to each panel; ``edges`` may carry leading axes."""
    x, w = _legendre(n)
    half = 0.5 * np.diff(edges, axis=-1)[..., None]
    middle = 0.5 * (edges[..., 1:] + edges[..., :-1])[..., None]
    shape = (*edges.shape[:-1], -1)
    return (middle + half * x).reshape(shape), (half * w).reshape(shape)


@lru_cache(maxsize=8)
def legendre_series(n: int = 16) -> Array:
    """Matrix from weighted values, at the nodes of a panel, to half its width times Legendre coefficients."""
    x, _ = _legendre(n)
    return (np.polynomial.legendre.legvander(x, n - 1) * (np.arange(n) + 0.5)).T


def subdivide(edges: Array, width: float) -> Array:
    """The edges with every panel wider than ``width`` cut into equal parts."""
    parts = np.maximum(np.ceil(np.diff(edges) / width - 1e-9).astype(int), 1)
    pieces = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(edges, edges[1:], parts, strict=False)]
    return np.concatenate([*pieces, edges[-1:]])

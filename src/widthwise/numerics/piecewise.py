"""Smooth functions of one variable as Chebyshev series on panels that are halved until they resolve.

A panel is accepted when the last coefficients of its series are below the tolerance, when halving it has not
made them smaller (the function itself is known no better), or when it has become as narrow as allowed.

Series are fitted in Chebyshev polynomials T_k and evaluated in powers of t. Coefficients fall faster than the
largest one of T_k grows, as 2.4^k, so that nothing is lost, and a few points cost one small matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, cached_property
from itertools import pairwise

import numpy as np

__all__ = ["PiecewiseChebyshev"]

_GRADE = 4.0  # panels beside a break are as many times wider from one to the next
_FEW = 400  # points up to which one matrix product is quicker than Horner's scheme


@cache
def _chebyshev(n_terms: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in (-1, 1), and the matrix from values there to coefficients."""
    angles = np.pi * (np.arange(n_terms) + 0.5) / n_terms
    to_series = 2 / n_terms * np.cos(np.outer(np.arange(n_terms), np.pi - angles))
    to_series[0] /= 2
    return -np.cos(angles), to_series


@cache
def _with_slopes(n_terms: int) -> tuple[np.ndarray, np.ndarray]:
    """Half as many nodes, and the matrix from values and then slopes there to coefficients.

    On Chebyshev nodes this is as well-conditioned as can be: values are weighted by positive numbers that sum
    to 1, and slopes by less than 1/4.
    """
    nodes, _ = _chebyshev(n_terms // 2)
    values = np.polynomial.chebyshev.chebvander(nodes, n_terms - 1)
    slopes = np.polynomial.chebyshev.chebvander(nodes, n_terms - 2) @ np.polynomial.chebyshev.chebder(
        np.eye(n_terms)
    )
    return nodes, np.linalg.inv(np.concatenate([values, slopes]))


class PiecewiseChebyshev:
    """Several functions of one variable on an interval, with two derivatives and integrals.

    Parameters
    ----------
    function
        ``function(x)`` for an array x gives the functions as rows: shape (n_functions, x.size).
    has_slopes
        ``function(x)`` gives a pair of such arrays, the second one of slopes: then half as many x are needed.
    ends
        The interval (low, high).
    breaks
        Places where the functions are not smooth: ends of panels. Of several that are closer to each other
        than ``narrowest`` the first is taken.
    beside_break
        Width of the first panels beside a break, from where they grow.
    widest, narrowest
        Limits to the width of a panel.
    atol, noise
        The last coefficients of every function on every panel are below ``atol``, or below ``noise`` and of
        the size that rounding gives them.
    n_terms
        Coefficients of each series; the last two are a fair measure of what is left out.
    """

    def __init__(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        ends: tuple[float, float],
        *,
        breaks: Iterable[float] = (),
        widest: float = 2.0,
        narrowest: float = 1e-3,
        atol: float = 1e-11,
        noise: float = 1e-8,
        n_terms: int = 12,
        beside_break: float = np.inf,
        has_slopes: bool = False,
    ) -> None:
        self._n_terms = n_terms
        nodes, to_series = _with_slopes(n_terms) if has_slopes else _chebyshev(n_terms)
        low, high = ends
        edges = _first_edges(low, high, breaks, narrowest, beside_break, widest)
        left, right = edges[:-1], edges[1:]
        panels: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        parent = np.full(left.size, np.inf)  # last coefficients of the panel that was halved
        while left.size:
            half = 0.5 * (right - left)[:, None]
            x = 0.5 * (left + right)[:, None] + half * nodes
            values = np.asarray(function(x.ravel()))
            if has_slopes:
                value, slope = values.reshape(2, -1, *x.shape)
                values = np.concatenate([value, half * slope], axis=-1)
            series = values.reshape(-1, left.size, n_terms) @ to_series.T
            rest = np.abs(series[..., -2:]).max(axis=(0, 2))
            # A smooth function gains 2^-10 by halving, a jump in its second derivative still 2^-2.
            is_noise = (rest > 0.5 * parent) & (rest < noise)
            done = (rest <= atol) | is_noise | (right - left <= 2 * narrowest)
            panels.append((left[done], right[done], series[:, done]))
            left, right, parent = left[~done], right[~done], np.repeat(rest[~done], 2)
            middle = 0.5 * (left + right)
            left, right = (
                np.stack([left, middle], axis=1).ravel(),
                np.stack([middle, right], axis=1).ravel(),
            )
        start = np.concatenate([p[0] for p in panels])
        order = np.argsort(start)
        self.low, self.high = float(low), float(high)
        self._start = start[order]
        self._half = 0.5 * (np.concatenate([p[1] for p in panels]) - start)[order]
        self._series = np.concatenate([p[2] for p in panels], axis=1)[:, order]

    @property
    def n_panels(self) -> int:
        return self._start.size

    @property
    def nodes(self) -> np.ndarray:
        """Chebyshev nodes of every panel, as many as there are terms."""
        places: np.ndarray = self._start[:, None] + self._half[:, None] * (1 + _chebyshev(self._n_terms)[0])
        return places

    @property
    def edges(self) -> np.ndarray:
        """Ends of the panels, from the lowest to the highest."""
        return np.append(self._start, self.high)

    def __call__(self, x: np.ndarray, which: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A function and its first two derivatives at x (inside the interval)."""
        panel, t = self._locate(x)
        if which not in self._derivatives:
            first = self._polynomials[:, which]
            orders = np.arange(first.shape[1])
            second = np.append(orders[1:] * first[:, 1:], np.zeros((len(first), 1)), axis=1)
            third = np.append(orders[1:] * second[:, 1:], np.zeros((len(first), 1)), axis=1)
            self._derivatives[which] = np.stack([first, second, third], axis=1)
        shape, half = t.shape, self._half[panel]
        value, slope, curvature = _at_powers(self._derivatives[which], panel.ravel(), t.ravel())
        return value.reshape(shape), slope.reshape(shape) / half, curvature.reshape(shape) / half**2

    def values(self, x: np.ndarray, n_functions: int | None = None) -> np.ndarray:
        """The first functions (or all of them) at x, as rows, without derivatives."""
        panel, t = self._locate(x)
        if n_functions not in self._first:
            self._first[n_functions] = np.ascontiguousarray(self._polynomials[:, :n_functions])
        return _at_powers(self._first[n_functions], panel, t)

    @cached_property
    def _polynomials(self) -> np.ndarray:
        """Coefficients by panel, function and power of t."""
        return np.ascontiguousarray(np.moveaxis(self._series, 1, 0) @ _to_powers(self._series.shape[2]))

    @cached_property
    def _derivatives(self) -> dict[int, np.ndarray]:
        """Of each function: its polynomial and those of two derivatives in t."""
        return {}

    @cached_property
    def _first(self) -> dict[int | None, np.ndarray]:
        """Polynomials of the first functions only."""
        return {}

    def integrated(self, which: int) -> PiecewiseChebyshev:
        """The integral of one function from the lower end."""
        c, n = self._series[which], self._n_terms
        integral = np.zeros((c.shape[0], n + 1))
        for k in range(1, n + 1):
            before = 2 * c[:, 0] if k == 1 else c[:, k - 1]
            after = c[:, k + 1] if k + 1 < n else 0.0
            integral[:, k] = (before - after) / (2 * k)
        integral *= self._half[:, None]
        signs = (-1.0) ** np.arange(1, n + 1)
        integral[:, 0] = -(integral[:, 1:] * signs).sum(axis=1)  # 0 at the left end of each panel
        totals = integral.sum(axis=1)
        integral[:, 0] += np.concatenate([[0.0], np.cumsum(totals)[:-1]])
        new = object.__new__(PiecewiseChebyshev)
        new.low, new.high, new._n_terms = self.low, self.high, n
        new._start, new._half, new._series = self._start, self._half, integral[None]
        return new

    def _locate(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        panel = np.searchsorted(self._start[1:], x, side="right")
        return panel, (x - self._start[panel]) / self._half[panel] - 1


def _first_edges(
    low: float, high: float, breaks: Iterable[float], apart: float, beside_break: float, widest: float
) -> np.ndarray:
    """Ends of the panels to begin with: at breaks, narrow beside them, nowhere wider than allowed."""
    cuts = [low]
    for place in sorted(breaks):
        if cuts[-1] + apart < place < high - apart:
            cuts.append(place)
    cuts.append(high)
    edges = [low]
    for a, b in pairwise(cuts):
        # Distances from the break on either side up to the middle.
        steps = []
        step = beside_break
        while step < min(0.5 * (b - a), widest):
            steps.append(step)
            step *= _GRADE
        after = [a + step for step in steps] if a > low else []
        before = [b - step for step in reversed(steps)] if b < high else []
        for start, stop in pairwise([a, *after, *before, b]):
            n = max(1, int(np.ceil((stop - start) / widest)))
            edges.extend(np.linspace(start, stop, n + 1)[1:].tolist())
    return np.array(edges)


@cache
def _to_powers(n_terms: int) -> np.ndarray:
    """The matrix from coefficients of T_k to those of powers of t."""
    rows = [np.polynomial.chebyshev.cheb2poly(row) for row in np.eye(n_terms)]
    return np.stack([np.append(row, np.zeros(n_terms - row.size)) for row in rows])


def _at_powers(polynomials: np.ndarray, panel: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Polynomials of the given panels at t, one function a row."""
    n_terms = polynomials.shape[2]
    if t.size <= _FEW:
        powers = np.empty((t.size, n_terms, 1))
        powers[:, 0, 0], powers[:, 1:, 0] = 1.0, t[:, None]
        np.multiply.accumulate(powers, axis=1, out=powers)
        few: np.ndarray = (polynomials[panel] @ powers)[..., 0].T
        return few
    result: np.ndarray = polynomials[..., -1].T.take(panel, axis=1)
    for k in range(n_terms - 2, -1, -1):  # Horner's scheme
        result *= t
        result += polynomials[..., k].T.take(panel, axis=1)
    return result

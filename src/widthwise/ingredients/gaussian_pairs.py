r"""Averages E[f(y) f(z)] over unit Gaussians y, z of correlation x = ± cos(theta), 0 < theta <= pi/3.

The pair is turned to its half sum and half difference, y = m + h and z = ± (m - h), which are independent
with deviations cos(theta/2) and sin(theta/2). The inner average

    A(h; s) = sqrt(s / 2 pi) ∫ f(m + h) f(± (m - h)) exp(-s m^2 / 2) dm,        s = 1 / cos^2(theta/2),

depends on theta through s in [1, 4/3] only. It is tabulated once, as polynomials in h on panels and as a
Taylor series in s - 7/6; each angle then costs one integral over h. For given h the integral over m is cut
where y or z meets a kink of f, and the panels in h end where two such cuts cross, at 2 h = k_i - k_j: between
the cuts everything is smooth and Gauss–Legendre converges at once, for theta near 0 as well as of order one.

Where the primitive of f jumps, f also holds Dirac masses; their averages are added in closed form.
"""

from collections.abc import Callable

import numpy as np

from widthwise.ingredients.hermite import N_NODES, gauss_legendre, resolve

from .._arrays import Array

__all__ = ["PairAverage"]

_WIDE = 2.4  # sixteen nodes integrate the Gaussian on such a panel to 1e-16
_MIDDLE = 7 / 6
_N_TAYLOR = 19  # (E/6)^19 / 19! exp(-7E/6) < 1e-17 for every E = m^2/2
_MOST_CUTS = 1000
_CHUNK = 400_000  # evaluations at a time, to stay in the cache and bound the memory


class PairAverage:
    r"""sin(theta)^p E[f(y) f(z)] as a function of theta in (0, pi/3], p = 1 if it ``is_singular``, else 0.

    It is where two Dirac masses meet as theta -> 0: any one meets itself if the correlation tends to 1, and
    its mirror image, if there is one, if it tends to -1.

    Parameters
    ----------
    function : callable
        f, smooth between ``kinks``.
    kinks : sequence of float
    radius : float
        Where f(x) exp(-x^2/4) has become negligible.
    jumps : sequence of (place, height)
        Dirac masses to be added to f.
    floor : float
        Size of the terms whose difference f is: its rounding is relative to this.
    mirrored : bool
        Take the correlation -cos(theta) instead of cos(theta).
    """

    def __init__(
        self,
        function: Callable[[Array], Array],
        kinks: tuple[float, ...],
        radius: float,
        jumps: tuple[tuple[float, float], ...] = (),
        mirrored: bool = False,
        floor: float = 0.0,
    ) -> None:
        self.function = function
        self.jumps = jumps
        self.sign = -1.0 if mirrored else 1.0
        self.is_singular = any(place == self.sign * other for place, _ in jumps for other, _ in jumps)
        self.radius = radius / np.sqrt(2)  # m carries exp(-m^2/2) where each f sees only exp(-x^2/4)
        self._base = _spread(-self.radius, self.radius)
        inside = np.array([k for k in kinks if abs(k) < self.radius])
        edges = resolve(function, np.concatenate([self._base, inside]), floor)
        # Edges that refine the base are cuts too: the function is steep there.
        self._cuts = np.union1d(np.setdiff1d(edges, self._base), inside)
        if self._cuts.size > _MOST_CUTS:
            raise ValueError(
                f"the activation varies too fast: its derivative needs {self._cuts.size} panels, at most "
                f"{_MOST_CUTS} are allowed; choose one with fewer kinks or oscillations"
            )
        sample = function(self._base + 0.1)
        size = float(np.max(np.abs(sample) * np.exp(-0.25 * self._base**2)))
        self._edges = self._outer_edges(inside, floor * size)
        self._table = self._tabulate()

    def __call__(self, theta: Array) -> Array:
        """The average at each angle."""
        angles = np.ravel(theta)
        values = np.array([self._smooth(angle) for angle in angles])
        if self.jumps:
            sine = np.sin(angles)
            masses = np.array([self._singular(angle) for angle in angles])
            values = values * sine + masses if self.is_singular else values + masses / sine
        return values.reshape(np.shape(theta))

    def _outer_edges(self, kinks: Array, floor: float) -> Array:
        """Places of h between which the inner average is a polynomial to rounding."""
        reach = 0.5 * self.radius  # h has deviation sin(theta/2) <= 1/2
        low = 0.0 if self.sign > 0 else -reach
        crossings = 0.5 * (kinks[:, None] - self.sign * kinks[None, :]).ravel()
        crossings = crossings[(crossings > low) & (crossings < reach)]
        edges = np.unique(np.concatenate([np.linspace(low, reach, 4 if low == 0.0 else 7), crossings]))
        edges = edges[np.insert(np.diff(edges) > 1e-12, 0, True)]
        # In units of 2h the Gaussian weight is at most exp(-(2h)^2/2), as `resolve` expects.
        return 0.5 * resolve(
            lambda d: self._inner(0.5 * d.ravel(), 1)[:, 0].reshape(d.shape), 2 * edges, floor
        )

    def _inner(self, h: Array, n_taylor: int) -> Array:
        """Taylor coefficients of A(h; s) / sqrt(s) in 7/6 - s, for each h: shape (h, n_taylor)."""
        n_cells = self._base.size + 2 * self._cuts.size
        rows = max(1, _CHUNK // (n_cells * N_NODES))
        parts = [self._inner_chunk(h[i : i + rows], n_taylor) for i in range(0, h.size, rows)]
        return np.concatenate(parts)

    def _inner_chunk(self, h: Array, n_taylor: int) -> Array:
        node, weight = gauss_legendre(N_NODES)
        column = h[:, None]
        base = np.broadcast_to(self._base, (h.size, self._base.size))
        edges = np.concatenate([base, self._cuts - column, self.sign * self._cuts + column], axis=1)
        edges = np.sort(np.clip(edges, -self.radius, self.radius), axis=1)
        half = 0.5 * np.diff(edges, axis=1)
        used = half > 1e-15
        row = np.nonzero(used)[0]
        half_used = half[used][:, None]
        m = edges[:, :-1][used][:, None] + half_used * (1 + node)
        moved = h[row][:, None]
        energy = 0.5 * m * m
        term = self.function(m + moved) * self.function(self.sign * (m - moved)) * np.exp(-_MIDDLE * energy)
        term *= half_used / np.sqrt(2 * np.pi)
        result = np.empty((h.size, n_taylor))
        for k in range(n_taylor):
            result[:, k] = np.bincount(row, weights=term @ weight, minlength=h.size)
            if k + 1 < n_taylor:
                term *= energy / (k + 1)
        return result

    def _tabulate(self) -> Array:
        """Legendre coefficients in h of each Taylor coefficient: shape (N_NODES, panel, n_taylor)."""
        node, weight = gauss_legendre(N_NODES)
        width = np.diff(self._edges)
        h = self._edges[:-1] + 0.5 * width * (1 + node[:, None])
        values = self._inner(h.ravel(), _N_TAYLOR).reshape(N_NODES, width.size, _N_TAYLOR)
        basis = np.polynomial.legendre.legvander(node, N_NODES - 1)
        project = (basis * weight[:, None]).T * (np.arange(N_NODES) + 0.5)[:, None]
        return np.tensordot(project, values, axes=1)

    def _smooth(self, theta: float) -> float:
        deviation = np.sin(theta / 2)
        s = 1 / np.cos(theta / 2) ** 2
        table = self._table @ (np.sqrt(s) * (_MIDDLE - s) ** np.arange(_N_TAYLOR))
        reach = min(self.radius * deviation, self._edges[-1])
        low = 0.0 if self.sign > 0 else -reach
        inner = self._edges[(self._edges > low) & (self._edges < reach)]
        edges = np.union1d(_spread(low, reach, _WIDE * deviation), inner)
        node, weight = gauss_legendre(N_NODES)
        half = 0.5 * np.diff(edges)[:, None]
        middle = edges[:-1, None] + half
        panel = np.clip(np.searchsorted(self._edges, middle[:, 0], side="right") - 1, 0, self._edges.size - 2)
        h = middle + half * node
        local = 2 * (h - self._edges[panel, None]) / np.diff(self._edges)[panel, None] - 1
        values = np.polynomial.legendre.legval(local, table[:, panel, None], tensor=False)
        values = values * np.exp(-0.5 * (h / deviation) ** 2) * (half / deviation)
        fold = 2.0 if self.sign > 0 else 1.0  # y and z may be exchanged: h and -h count alike
        mean: float = fold * float(np.sum(values @ weight)) / np.sqrt(2 * np.pi)
        return mean

    def _singular(self, theta: float) -> float:
        """sin(theta) times what the Dirac masses add: with each other, and with f."""
        sine, x = np.sin(theta), self.sign * np.cos(theta)
        total = 0.0
        for place, height in self.jumps:
            density = height * np.exp(-0.5 * place**2) / np.sqrt(2 * np.pi)
            total += 2 * sine * density * self._conditional(place, x, sine)
            for other, step in self.jumps:
                # Quadratic form split so that nothing cancels where the two masses meet.
                meeting = (place - self.sign * other) ** 2 / (2 * sine**2)
                form = meeting + self.sign * place * other / (1 + np.cos(theta))
                total += height * step * np.exp(-form) / (2 * np.pi)
        return total

    def _conditional(self, place: float, x: float, sine: float) -> float:
        """E[f(z) | y = place]."""
        node, weight = gauss_legendre(N_NODES)
        cuts = (self._cuts - x * place) / sine
        edges = np.union1d(self._base, cuts[np.abs(cuts) < self.radius])
        half = 0.5 * np.diff(edges)[:, None]
        t = edges[:-1, None] + half * (1 + node)
        values = self.function(x * place + sine * t) * np.exp(-0.5 * t**2)
        return float(np.sum(values * half * weight) / np.sqrt(2 * np.pi))


def _spread(low: float, high: float, width: float = _WIDE) -> Array:
    return np.linspace(low, high, int(np.ceil((high - low) / width)) + 1)

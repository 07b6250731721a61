r"""One quadrature for all channels that have no closed form: adaptive in the label y, in λ and in ω.

The labels and the outputs λ get one grid each, refined until P_out(y | λ) is integrated to 1e-13 in either
direction.  Then, for a gap V,

- where √V is not small against the panels in λ, Z = K P is a product of matrices, K the Gaussian
  kernel N(λ; ω, V), and its derivatives in ω are those of the kernel;
- where it is, P_out is smooth on the scale √V: Z is a Gauss–Hermite average around each ω, and
  ∂Z the average of P_out times its score ∂ ln P_out/∂λ, free of cancellation down to V = 0.  Near
  breaks of P_out it is a product again, on panels that end at the break, and if P_out jumps there ∂Z comes
  from the kernel.

Panels in ω are halved until the averages over them have converged: ∂² ln Z can vary much faster than Z, as
for y = λ² + noise, where the sign of λ is settled within a distance V/λ of ω = 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .label_rules import CHUNK, MISSED, refine_labels, require_normalised, require_size
from .rules import REACH, hermite_rule, legendre_series, panels, subdivide

if TYPE_CHECKING:
    from .integrated import Integrated

__all__ = ["OutputQuadrature", "quadrature"]

# What the panels in ω may miss, of ψ, ψ', ψ'' and the error, and how often a panel is halved for it.
_RTOL = np.array([1e-12, 1e-12, 1e-10, 1e-12])
_MOST_HALVINGS = 12

_ALL = slice(None)


@lru_cache(maxsize=64)
def quadrature(channel: Integrated, power: float) -> OutputQuadrature:
    """The grids for a channel at a power, made once."""
    return OutputQuadrature(channel, power)


class OutputQuadrature:
    """Grids in y and λ on which P_out is resolved, for outputs of variance ``power``."""

    def __init__(self, channel: Integrated, power: float) -> None:
        self.channel, self.power, self.centre = channel, power, channel.centre
        radius = REACH * math.sqrt(power)
        low, high = self.centre - radius, self.centre + radius
        self.breaks = np.array([b for b in sorted(channel.breaks) if low < b < high])
        edges = np.unique(np.concatenate([np.linspace(low, high, 13), self.breaks]))
        rule = channel.label_rule(low, high)
        self._is_continuous = rule.label is not None
        label_edges = rule.values
        require_size(channel, 16 * edges.size, label_edges.size * (16 if self._is_continuous else 1))
        for _ in range(12):
            outputs, _ = panels(edges)
            label_edges, labels_moved = refine_labels(channel, rule, label_edges, outputs)
            self.labels, self.label_weights = rule.nodes(label_edges)
            edges, outputs_moved = self._refine_outputs(edges)
            require_size(channel, edges.size * 16, self.labels.size)
            if not (labels_moved or outputs_moved):
                break
        self.edges = edges
        self.narrowest = float(np.min(np.diff(edges)))
        self._trim_labels()
        outputs, _ = panels(edges)
        self._seen = outputs, self._density(outputs) > 1e-40
        self._kept: tuple[int, tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
        self.known = self._known()
        self._require_normalised()

    # ------------------------------------------------------------------ the grids

    def _density(self, outputs: np.ndarray, band: slice = _ALL) -> np.ndarray:
        """P_out on (outputs, labels)."""
        return _without_traces(np.exp(self.channel.log_likelihood(self.labels[band], outputs[..., None])))

    def _refine_outputs(self, edges: np.ndarray) -> tuple[np.ndarray, bool]:
        moved = False
        check = np.column_stack([edges[:-1], edges[1:]])
        done = []
        while check.size:
            halves = np.column_stack([check[:, 0], check.mean(axis=1), check[:, 1]])
            missed = np.empty(len(check))
            size = max(1, CHUNK // (48 * self.labels.size))
            for i in range(0, len(check), size):
                part = slice(i, i + size)
                coarse, fine = (self._masses(e[part]) for e in (check, halves))
                missed[part] = np.abs(coarse - fine) @ self.label_weights
            good = missed <= MISSED
            done.append(check[good][:, 0])
            bad = halves[~good]
            moved |= bool(bad.size)
            check = np.concatenate([bad[:, :2], bad[:, 1:]])
            require_size(self.channel, 16 * (sum(map(len, done)) + len(check)), self.labels.size)
        return np.append(np.sort(np.concatenate(done)), edges[-1]), moved

    def _masses(self, edges: np.ndarray) -> np.ndarray:
        """∫ N(λ; centre, power) P_out(y | λ) dλ over each row of edges, for each label."""
        x, w = panels(edges)
        w = w * np.exp(-0.5 * (x - self.centre) ** 2 / self.power) / math.sqrt(2 * math.pi * self.power)
        return np.einsum("ij,ijk->ik", w, self._density(x))

    def _trim_labels(self) -> None:
        outputs, w = panels(self.edges)
        w = w * np.exp(-0.5 * (outputs - self.centre) ** 2 / self.power)
        mass = (w @ self._density(outputs)) * self.label_weights
        per_panel = 16 if self._is_continuous else 1
        keep = np.repeat(mass.reshape(-1, per_panel).sum(axis=1) > 1e-20 * mass.sum(), per_panel)
        self.labels, self.label_weights = self.labels[keep], self.label_weights[keep]

    def _require_normalised(self) -> None:
        outputs, _ = panels(self.edges)
        outputs = outputs[np.abs(outputs - self.centre) < 5 * math.sqrt(self.power)]
        require_normalised(self.channel, outputs, self._density(outputs) @ self.label_weights)

    def _known(self) -> tuple[float, float]:
        """E ∫ P ln P and E Var(y | λ)."""
        outputs, w = panels(self.edges)
        w = w * np.exp(-0.5 * (outputs - self.centre) ** 2 / self.power) / math.sqrt(2 * math.pi * self.power)
        p = self._density(outputs) * self.label_weights
        log_p = self.channel.log_likelihood(self.labels, outputs[:, None])
        with np.errstate(invalid="ignore"):
            entropy = np.where(p > 0, p * log_p, 0.0).sum(axis=1)
        mean = p @ self.labels
        variance = np.sum(p * (self.labels - mean[:, None]) ** 2, axis=1)
        return float(w @ entropy), float(w @ variance) if self._has_variance() else math.inf

    def _has_variance(self) -> bool:
        """Whether E y² has converged on the grid of labels: it has not for a heavy tail."""
        if not self._is_continuous:
            return True
        outputs = np.array([self.centre])
        part = (self._density(outputs) * self.label_weights * self.labels**2)[0]
        ends = part[:2].sum() + part[-2:].sum()
        return bool(ends < 1e-8 * part.sum())

    # ------------------------------------------------------------------ functions of the gap

    def evaluate(self, gap: float) -> np.ndarray:
        """ψ, ψ', ψ'' and the mean-square Bayes error at one gap."""
        q = max(self.power - gap, 0.0)
        if q <= 1e-15 * self.power:
            values = self._rows(np.array([self.centre]), gap)[:, 0]
            return values[:4] / values[4]
        total = np.zeros(5)
        edges = self._omega_edges(gap)
        check = np.column_stack([edges[:-1], edges[1:]])
        for _ in range(_MOST_HALVINGS):
            values, missed = self._on_panels(check, gap, q)
            scale = np.abs(total + values.sum(axis=1))
            good = np.all(missed <= _RTOL[:, None] * scale[:4, None], axis=0)
            total += values[:, good].sum(axis=1)
            if good.all():
                break
            low, high = check[~good].T
            middle = 0.5 * (low + high)
            check = np.stack([low, middle, middle, high], axis=1).reshape(-1, 2)
        else:
            total += values[:, ~good].sum(axis=1)
        return total[:4] / total[4]

    def _on_panels(self, edges: np.ndarray, gap: float, q: float) -> tuple[np.ndarray, np.ndarray]:
        """Integrals over each panel of ω, of shape (5, panels), and what they miss of the first four."""
        omega, weight = (x.reshape(-1) for x in panels(edges))
        weight = weight * np.exp(-0.5 * (omega - self.centre) ** 2 / q) / math.sqrt(2 * math.pi * q)
        rows = np.concatenate([self._rows(part, gap) for part in self._batches(omega, gap)], axis=1)
        parts = (rows * weight).reshape(5, len(edges), -1)
        # Coefficients fall like ρ^-n, and the rule misses those from n = 32 on: the last one squared,
        # with something to spare.
        series = np.abs(parts[:4] @ legendre_series().T)
        largest = np.max(series, axis=2)
        ratio = np.max(series[..., -2:], axis=2) / np.where(largest > 0, largest, 1.0)
        return parts.sum(axis=2), largest * ratio**1.75

    def _rows(self, omega: np.ndarray, gap: float) -> np.ndarray:
        """The integrands of the four functions at each ω, and the mass Z dy, of shape (5, ω)."""
        band = self._band(omega, gap)
        make = self._around if self._is_local(gap) else self._by_kernel
        return _sums(*make(omega, gap, band), self.labels[band], self.label_weights[band])

    def _band(self, omega: np.ndarray, gap: float) -> slice:
        """Labels that can be seen from some of the ω."""
        outputs, is_seen = self._seen
        reach = REACH * math.sqrt(gap)
        first, last = np.searchsorted(outputs, [omega.min() - reach, omega.max() + reach])
        found = np.nonzero(is_seen[max(first - 1, 0) : last + 1].any(axis=0))[0]
        return slice(found[0], found[-1] + 1) if found.size else _ALL

    def _batches(self, omega: np.ndarray, gap: float) -> Iterator[np.ndarray]:
        size = max(16, CHUNK // (50 * self.labels.size)) if self._is_local(gap) else 4096
        size = min(size, 64) if self.labels.size > 64 else size
        for i in range(0, omega.size, size):
            yield omega[i : i + size]

    def predictive(self, omega: np.ndarray, gap: float) -> np.ndarray:
        """Z on (ω, labels); gap 0 gives P_out."""
        if gap == 0:
            return self._density(omega)
        make = self._around if self._is_local(gap) else self._by_kernel
        size = max(16, min(256, CHUNK // (200 * self.labels.size)))
        return np.concatenate(
            [make(omega[i : i + size], gap, _ALL, n_derivatives=0)[0] for i in range(0, omega.size, size)]
        )

    def _is_local(self, gap: float) -> bool:
        return math.sqrt(gap) < self.narrowest / 10

    def _omega_edges(self, gap: float) -> np.ndarray:
        """Panels in ω to begin with."""
        root_q, root_v = math.sqrt(max(self.power - gap, 0.0)), math.sqrt(gap)
        low, high = self.centre - REACH * root_q, self.centre + REACH * root_q
        if not self._is_local(gap):
            return subdivide(np.array([low, high]), min(max(3 * root_v, self.narrowest), 1.5 * root_q))
        steps = np.array([-13, -9, -6, -3.5, -1.5, 0, 1.5, 3.5, 6, 9, 13]) * root_v
        near = [b + steps for b in self.breaks]
        return np.unique(np.clip(np.concatenate([self.edges, *near]), low, high))

    def _on_outputs(self, gap: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, weights and P_out for a kernel of variance V; kept, for many V have the same."""
        edges = subdivide(self.edges, 4 * math.sqrt(gap))
        if self._kept is None or self._kept[0] != edges.size:
            outputs, w = panels(edges)
            self._kept = edges.size, (outputs, w, self._density(outputs))
        return self._kept[1]

    def _by_kernel(
        self, omega: np.ndarray, gap: float, band: slice, n_derivatives: int = 2
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Z, ∂Z and ∂²Z in ω, on (ω, labels of the band)."""
        outputs, w, density = self._on_outputs(gap)
        reach = REACH * math.sqrt(gap)
        near = slice(*np.searchsorted(outputs, [omega.min() - reach, omega.max() + reach]))
        outputs, w, density = outputs[near], w[near], density[near, band]
        u = (outputs - omega[:, None]) / math.sqrt(gap)
        kernel = w * _without_traces(np.exp(-0.5 * u**2)) / math.sqrt(2 * math.pi * gap)
        if n_derivatives == 0:
            z = kernel @ density
            return z, z, z
        shares = np.concatenate([kernel, kernel * (u / math.sqrt(gap)), kernel * ((u**2 - 1) / gap)])
        z, first, second = (shares @ density).reshape(3, omega.size, -1)
        return z, first, second

    def _around(
        self, omega: np.ndarray, gap: float, band: slice, n_derivatives: int = 2
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same where P_out is smooth on the scale √V but for its breaks."""
        root = math.sqrt(gap)
        result = np.empty((3, omega.size, self.labels[band].size))
        nearest = np.full(omega.size, -1)
        if self.breaks.size:
            distance = np.abs(self.breaks - omega[:, None])
            nearest = np.where(distance.min(axis=1) < REACH * root, np.argmin(distance, axis=1), -1)
        for i in np.unique(nearest):
            own = nearest == i
            if i < 0:
                # Panels of width w hold frequencies up to 16/w; so many nodes average them to 1e-14.
                u, w = hermite_rule(9 + math.ceil(80 * root / self.narrowest))
                outputs = omega[own, None] + root * u
            else:
                ends = self.breaks[i] + 2 * REACH * root * np.array([-1.0, 1.0])
                inside = self.breaks[(self.breaks > ends[0]) & (self.breaks < ends[1])]
                outputs, weight = panels(subdivide(np.sort(np.append(ends, inside)), 4 * root))
                u = (outputs - omega[own, None]) / root
                w = weight * _without_traces(np.exp(-0.5 * u**2)) / (math.sqrt(2 * math.pi) * root)
            result[:, own] = self._average(outputs, gap, u, w, band, n_derivatives)
        return result[0], result[1], result[2]

    def _average(self, outputs, gap, u, w, band, n_derivatives) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Averages over u from P_out at outputs ω + u√V, which all ω share if ``outputs`` has one axis."""
        root, channel = math.sqrt(gap), self.channel
        density = self._density(outputs, band)
        z = w @ density
        if n_derivatives == 0:
            return z, z, z
        is_by_kernel = channel.has_jumps and self.breaks.size > 0
        if is_by_kernel or (not channel.has_exact_score and root > 0.01 * self.narrowest):
            return z, (w * u) @ density / root, (w * (u**2 - 1)) @ density / gap
        density = density * channel.score(self.labels[band], outputs[..., None], 0.02 * self.narrowest)
        return z, w @ density, (w * u) @ density / root


def _without_traces(x: np.ndarray) -> np.ndarray:
    """``x`` without what is too small to matter, for processors are slow at products of such numbers."""
    x[x < 1e-150] = 0.0
    return x


def _sums(
    z: np.ndarray, first: np.ndarray, second: np.ndarray, labels: np.ndarray, label_weights: np.ndarray
) -> np.ndarray:
    """∫dy of Z ln Z, ½Z(∂ ln Z)², ½Z(∂² ln Z)², Z(y - <y>)² and Z at each ω, from Z and its derivatives."""
    is_seen = z > 1e-130  # below, ratios lose their digits and nothing is left to integrate
    mass = np.where(is_seen, z, 0.0) * label_weights
    safe = np.where(is_seen, z, 1.0)
    slope = np.where(is_seen, first, 0.0) / safe
    bend = np.where(is_seen, second, 0.0) / safe - slope**2
    row = mass.sum(axis=1)
    mean = (mass @ labels) / np.where(row > 0, row, 1.0)
    values = (np.log(safe), 0.5 * slope**2, 0.5 * bend**2, (labels - mean[:, None]) ** 2)
    return np.stack([*(np.einsum("ij,ij->i", mass, x) for x in values), row])

r"""One quadrature for all channels that have no closed form: adaptive in the label y and in the output λ.

The labels and the outputs get one grid each, refined until P_out(y | λ) is integrated to 1e-13 in either
direction.  Then, for a gap V,

- where √V is not small against the panels in λ, Z = K P is a product of matrices, K the Gaussian
  kernel N(λ; ω, V), and its derivatives in ω are those of the kernel;
- where it is, P_out is smooth on the scale √V: Z is a Gauss–Hermite average around each ω, and
  ∂Z the average of P_out times its score ∂ ln P_out/∂λ, free of cancellation down to V = 0.  Near
  breaks of P_out the average is split, and if P_out jumps there ∂Z comes from the kernel again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from .base import Channel
from .rules import REACH, hermite_rule, panels, subdivide
from .tables import GapTable

__all__ = [
    "Integrated",
    "LabelRule",
    "OutputQuadrature",
    "quadrature",
    "refined_labels",
    "require_normalised",
]

_ATOL = 1e-13  # mass that a panel may miss
_MOST_NODES = 6000  # in one direction; a table then takes minutes and the matrices a gigabyte
_PER_SIDE = 3  # panels on each side of a break in an average over u
_CHUNK = 1_000_000  # elements of one temporary array


@dataclass(frozen=True)
class LabelRule:
    """Where labels live: single values, or an interval swept by ``label(t)`` with density ``stretch(t)``."""

    values: np.ndarray
    """The labels themselves, or edges in t to begin with."""
    label: Callable[[np.ndarray], np.ndarray] | None = None
    stretch: Callable[[np.ndarray], np.ndarray] | None = None

    def nodes(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.label is None or self.stretch is None:
            return self.values, np.ones(self.values.size)
        t, w = panels(edges)
        return self.label(t), w * self.stretch(t)


class Integrated(Channel):
    """A channel whose functions come from :class:`OutputQuadrature`, through a table in the gap."""

    has_jumps: bool = False
    """Whether P_out itself, and not only its slope, is discontinuous at the breaks."""

    has_exact_score: bool = True
    """Whether :meth:`score` is a formula, not a difference."""

    def label_rule(self, low: float, high: float) -> LabelRule:
        """Labels that matter for outputs between ``low`` and ``high``."""
        labels = self.labels
        assert labels is not None
        return LabelRule(np.array(labels))

    def score(self, labels: np.ndarray, outputs: np.ndarray, step: float) -> np.ndarray:
        """∂ ln P_out/∂λ; ``step`` is a length on which P_out hardly changes.

        Here by differences of eighth order, which at 1/50 of a resolved panel are right to 1e-11.
        """
        total = np.zeros(np.broadcast_shapes(labels.shape, outputs.shape))
        for k, c in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), start=1):
            ahead = self.log_likelihood(labels, outputs + k * step)
            behind = self.log_likelihood(labels, outputs - k * step)
            with np.errstate(invalid="ignore"):
                total += c * np.nan_to_num(ahead - behind, nan=0.0, posinf=0.0, neginf=0.0)
        return total / step

    def predictive(self, omega: ArrayLike, gap: float, power: float) -> tuple[np.ndarray, np.ndarray]:
        grid = quadrature(self, float(power))
        z = grid.predictive(np.asarray(omega, dtype=float), gap)
        return grid.labels, z * grid.label_weights

    def mean(self, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        flat = outputs.reshape(-1)
        if flat.size == 0:
            return outputs
        rule = self.label_rule(float(flat.min()), float(flat.max()))
        y, w = refined_labels(self, rule, flat if flat.size < 64 else np.linspace(flat.min(), flat.max(), 64))
        result = np.empty(flat.size)
        size = max(1, _CHUNK // y.size)
        for i in range(0, flat.size, size):
            mass = w * np.exp(self.log_likelihood(y, flat[i : i + size, None]))
            result[i : i + size] = (mass @ y) / mass.sum(axis=1)
        return result.reshape(outputs.shape)

    def free_entropy_known(self, power: float) -> float:
        return float(quadrature(self, float(power)).known[0])

    def irreducible_error(self, power: float) -> float:
        return float(quadrature(self, float(power)).known[1])

    def _evaluate(self, gap: np.ndarray, power: float) -> np.ndarray:
        values = _table(self, power)(gap)
        if math.isinf(quadrature(self, power).known[1]):
            values[3] = math.inf
        return values


@lru_cache(maxsize=64)
def quadrature(channel: Integrated, power: float) -> OutputQuadrature:
    """The grids for a channel at a power, made once."""
    return OutputQuadrature(channel, power)


@lru_cache(maxsize=64)
def _table(channel: Integrated, power: float) -> GapTable:
    grid = quadrature(channel, power)
    # A jump of P_out makes ψ' diverge like V^(-1/2) and ψ'' like V^(-3/2), a kink ψ'' like V^(-1/2).
    powers = (0, 0, 0, 0) if not grid.breaks.size else (0, 1, 3, 0) if channel.has_jumps else (0, 0, 1, 0)
    return GapTable(grid.evaluate, power, powers)


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
        _require_size(channel, 16 * edges.size, label_edges.size * (16 if self._is_continuous else 1))
        for _ in range(12):
            outputs, _ = panels(edges)
            label_edges, labels_moved = _refine_labels(channel, rule, label_edges, outputs)
            self.labels, self.label_weights = rule.nodes(label_edges)
            edges, outputs_moved = self._refine_outputs(edges)
            _require_size(channel, edges.size * 16, self.labels.size)
            if not (labels_moved or outputs_moved):
                break
        self.edges = edges
        self.narrowest = float(np.min(np.diff(edges)))
        self._trim_labels()
        self._kept: tuple[float, tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
        self.known = self._known()
        self._require_normalised()

    # ------------------------------------------------------------------ the grids

    def _density(self, outputs: np.ndarray) -> np.ndarray:
        """P_out on (outputs, labels)."""
        return np.exp(self.channel.log_likelihood(self.labels, outputs[..., None]))

    def _refine_outputs(self, edges: np.ndarray) -> tuple[np.ndarray, bool]:
        moved = False
        check = np.column_stack([edges[:-1], edges[1:]])
        done = []
        while check.size:
            halves = np.column_stack([check[:, 0], check.mean(axis=1), check[:, 1]])
            missed = np.empty(len(check))
            size = max(1, _CHUNK // (48 * self.labels.size))
            for i in range(0, len(check), size):
                part = slice(i, i + size)
                coarse, fine = (self._masses(e[part]) for e in (check, halves))
                missed[part] = np.abs(coarse - fine) @ self.label_weights
            good = missed <= _ATOL
            done.append(check[good][:, 0])
            bad = halves[~good]
            moved |= bool(bad.size)
            check = np.concatenate([bad[:, :2], bad[:, 1:]])
            _require_size(self.channel, 16 * (sum(map(len, done)) + len(check)), self.labels.size)
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
        keep = np.repeat(mass.reshape(-1, per_panel).sum(axis=1) > 1e-22 * mass.sum(), per_panel)
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
        total = np.zeros(4)
        mass = 0.0
        for omega, weight in self._omega(gap):
            z, first, second = self._derivatives(omega, gap)
            values, own = _sums(z, first, second, weight, self.labels, self.label_weights)
            total += values
            mass += own
        return total / mass

    def predictive(self, omega: np.ndarray, gap: float) -> np.ndarray:
        """Z on (ω, labels); gap 0 gives P_out."""
        if gap == 0:
            return self._density(omega)
        if not self._is_local(gap):
            outputs, w, density = self._on_outputs(gap)
            kernel = np.exp(-0.5 * (outputs - omega[:, None]) ** 2 / gap)
            return (kernel * (w / math.sqrt(2 * math.pi * gap))) @ density
        size = max(1, _CHUNK // (200 * self.labels.size))
        return np.concatenate(
            [self._around(omega[i : i + size], gap, n_derivatives=0)[0] for i in range(0, omega.size, size)]
        )

    def _is_local(self, gap: float) -> bool:
        return math.sqrt(gap) < self.narrowest / 5

    def _omega(self, gap: float):
        """Batches of nodes in ω with weights N(ω; centre, r - V) dω."""
        q = max(self.power - gap, 0.0)
        if q <= 1e-15 * self.power:
            yield np.array([self.centre]), np.ones(1)
            return
        root_q, root_v = math.sqrt(q), math.sqrt(gap)
        low, high = self.centre - REACH * root_q, self.centre + REACH * root_q
        if self._is_local(gap):
            edges = np.clip(self.edges, low, high)
            near = np.array([0.0, 0.8, 1.8, 3, 4.5, 6.5, 9, 13])
            near = np.concatenate([-near[:0:-1], near]) * root_v
            edges = np.unique(np.concatenate([edges, *(np.clip(b + near, low, high) for b in self.breaks)]))
        else:
            width = min(max(2.5 * root_v, self.narrowest), 1.2 * root_q)
            edges = subdivide(np.array([low, high]), width)
        omega, weight = panels(edges)
        weight = weight * np.exp(-0.5 * (omega - self.centre) ** 2 / q) / math.sqrt(2 * math.pi * q)
        size = max(16, _CHUNK // (50 * self.labels.size)) if self._is_local(gap) else 4096
        for i in range(0, omega.size, size):
            yield omega[i : i + size], weight[i : i + size]

    def _derivatives(self, omega: np.ndarray, gap: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Z, ∂Z and ∂²Z in ω, on (ω, labels)."""
        if not self._is_local(gap):
            return self._by_kernel(omega, gap)
        return self._around(omega, gap)

    def _on_outputs(self, gap: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, weights and P_out for a kernel of variance V; kept, as calls at one V follow each other."""
        if self._kept is None or self._kept[0] != gap:
            outputs, w = panels(subdivide(self.edges, 4 * math.sqrt(gap)))
            self._kept = gap, (outputs, w, self._density(outputs))
        return self._kept[1]

    def _by_kernel(self, omega: np.ndarray, gap: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        outputs, w, density = self._on_outputs(gap)
        u = (outputs - omega[:, None]) / math.sqrt(gap)
        kernel = w * np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi * gap)
        return (
            kernel @ density,
            (kernel * u) @ density / math.sqrt(gap),
            (kernel * (u**2 - 1)) @ density / gap,
        )

    def _around(
        self, omega: np.ndarray, gap: float, n_derivatives: int = 2
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        root = math.sqrt(gap)
        # Resolved panels of width w hold frequencies up to 16/w; this many nodes average them to 1e-14.
        n = 9 + math.ceil(80 * root / self.narrowest)
        u, w = (np.broadcast_to(x, (omega.size, n)) for x in hermite_rule(n))
        if not self.breaks.size:
            return self._average(omega, gap, u, w, n_derivatives)
        is_near = np.min(np.abs(self.breaks - omega[:, None]), axis=1) < REACH * root
        result = np.empty((3, omega.size, self.labels.size))
        if np.any(~is_near):
            far = ~is_near
            result[:, far] = self._average(omega[far], gap, u[far], w[far], n_derivatives)
        if np.any(is_near):
            u, w = self._split_rule(omega[is_near], root)
            result[:, is_near] = self._average(omega[is_near], gap, u, w, n_derivatives)
        return result[0], result[1], result[2]

    def _split_rule(self, omega: np.ndarray, root: float) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights for a standard Gaussian u, split where ω + u√V meets a break."""
        cuts = np.clip((self.breaks - omega[:, None]) / root, -REACH, REACH)
        ends = np.full((omega.size, 1), REACH)
        cuts = np.concatenate([-ends, cuts, ends], axis=1)
        share = np.arange(_PER_SIDE) / _PER_SIDE
        edges = cuts[:, :-1, None] + share * np.diff(cuts, axis=1)[..., None]
        u, w = panels(np.concatenate([edges.reshape(omega.size, -1), ends], axis=1))
        return u, w * np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi)

    def _average(self, omega, gap, u, w, n_derivatives) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        root = math.sqrt(gap)
        outputs = omega[:, None] + root * u
        mass = w[..., None] * self._density(outputs)
        z = mass.sum(axis=1)
        if n_derivatives == 0:
            return z, z, z
        channel = self.channel
        by_kernel = channel.has_jumps and self.breaks.size > 0
        if by_kernel or (not channel.has_exact_score and root > 0.01 * self.narrowest):
            first = np.einsum("ij,ijk->ik", u, mass) / root
            return z, first, np.einsum("ij,ijk->ik", u**2 - 1, mass) / gap
        mass *= channel.score(self.labels, outputs[..., None], 0.02 * self.narrowest)
        return z, mass.sum(axis=1), np.einsum("ij,ijk->ik", u, mass) / root


def _sums(z, first, second, weight, labels, label_weights) -> tuple[np.ndarray, float]:
    """ψ, ψ', ψ'' and E Var(y | ω) from Z and its derivatives, and the mass they hold."""
    is_seen = z > 1e-250  # below, ratios lose their digits and nothing is left to integrate
    mass = weight[:, None] * np.where(is_seen, z, 0.0) * label_weights
    safe = np.where(is_seen, z, 1.0)
    slope = np.where(is_seen, first, 0.0) / safe
    bend = np.where(is_seen, second, 0.0) / safe - slope**2
    row = z @ label_weights
    mean = (z @ (label_weights * labels)) / np.where(row > 0, row, 1.0)
    spread = (labels - mean[:, None]) ** 2
    values = np.array(
        [np.vdot(mass, x) for x in (np.log(safe), 0.5 * slope**2, 0.5 * bend**2, spread)], dtype=float
    )
    return values, float(mass.sum())


def require_normalised(channel: Channel, outputs: np.ndarray, masses: np.ndarray) -> None:
    """Refuse a likelihood whose labels do not have total probability 1 at some output."""
    off = np.abs(masses - 1)
    worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
    if not off[worst] < 1e-8:
        raise ValueError(
            f"{channel!r} does not normalise: the labels have total probability {masses[worst]:.10g} at "
            f"output {outputs[worst]:.4g}, off by {masses[worst] - 1:.3g}; divide the likelihood by it, or "
            "correct labels or support"
        )


def refined_labels(
    channel: Integrated, rule: LabelRule, outputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    edges, _ = _refine_labels(channel, rule, rule.values, outputs)
    return rule.nodes(edges)


def _refine_labels(
    channel: Integrated, rule: LabelRule, edges: np.ndarray, outputs: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Edges in t between which P_out(y | λ) is integrated to 1e-13 for each of the outputs."""
    if rule.label is None or rule.stretch is None:
        return edges, False
    label, stretch = rule.label, rule.stretch

    def masses(e: np.ndarray) -> np.ndarray:
        t, w = panels(e)
        p = np.exp(channel.log_likelihood(label(t)[..., None], outputs))
        return np.einsum("ij,ijk->ik", w * stretch(t), p)

    moved = False
    check = np.column_stack([edges[:-1], edges[1:]])
    done = []
    size = max(1, _CHUNK // (32 * outputs.size))
    while check.size:
        halves = np.column_stack([check[:, 0], check.mean(axis=1), check[:, 1]])
        missed = np.concatenate(
            [
                np.max(np.abs(masses(check[i : i + size]) - masses(halves[i : i + size])), axis=1)
                for i in range(0, len(check), size)
            ]
        )
        good = (missed <= _ATOL) | (np.diff(check, axis=1)[:, 0] < 1e-9)
        done.append(check[good][:, 0])
        bad = halves[~good]
        moved |= bool(bad.size)
        check = np.concatenate([bad[:, :2], bad[:, 1:]])
        _require_size(channel, outputs.size, 16 * (sum(map(len, done)) + len(check)))
    return np.append(np.sort(np.concatenate(done)), edges[-1]), moved


def _require_size(channel: Integrated, n_outputs: int, n_labels: int) -> None:
    if max(n_outputs, n_labels) > _MOST_NODES:
        raise ValueError(
            f"{channel!r} would need a grid of {n_outputs} outputs by {n_labels} labels (at most "
            f"{_MOST_NODES} each): its likelihood varies on too fine a scale, or is not smooth; raise "
            "the noise, or name the values of the output where it is not smooth as breaks"
        )

"""Where labels live, and the nodes in y between which a likelihood P_out(y | λ) is resolved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._arrays import Array
from .base import Channel
from .rules import panels

__all__ = [
    "CHUNK",
    "LabelRule",
    "MISSED",
    "counts_rule",
    "refine_labels",
    "refined_labels",
    "require_normalised",
    "require_size",
]

MISSED = 1e-13
"""Mass that a panel may miss."""

CHUNK = 1_000_000
"""Elements of one temporary array."""

# In one direction; the matrices then take a gigabyte. With bands they take less, but a table takes minutes.
_MOST_COUNTS = 1024  # all of which are labels of their own
_MOST_NODES, _MOST_IN_BANDS = 6000, 30_000


@dataclass(frozen=True)
class LabelRule:
    """Where labels live: single values, or an interval swept by ``label(t)`` with density ``stretch(t)``."""

    values: np.ndarray
    """The labels themselves, or edges in t to begin with."""
    label: Callable[[np.ndarray], np.ndarray] | None = None
    stretch: Callable[[np.ndarray], np.ndarray] | None = None
    weights: np.ndarray | None = None
    """Of the labels, if they are not all there but stand for others between them."""
    is_resolved: bool = False
    """Whether the edges need no refining."""

    def nodes(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.label is None or self.stretch is None:
            return self.values, np.ones(self.values.size) if self.weights is None else self.weights
        t, w = panels(edges)
        return self.label(t), w * self.stretch(t)


def counts_rule(most: int) -> LabelRule:
    """Labels 0, 1, ... up to ``most``; where there are many, sixteen stand for all those of a panel.

    Gauss's rule for sums: nodes and weights from the recurrence of Gram's polynomials, exact for polynomials
    of degree 31. The law of a count y varies on the scale √y, on which panels hold two at most.
    """
    if most <= _MOST_COUNTS:
        return LabelRule(np.arange(most + 1.0))
    nodes, weights = [np.arange(float(_MOST_COUNTS))], [np.ones(_MOST_COUNTS)]
    start = _MOST_COUNTS
    while start <= most:
        n = int(2 * np.sqrt(start))
        k = np.arange(1, 16)
        off_diagonal = np.sqrt(k**2 * (n**2 - k**2) / (4.0 * (4 * k**2 - 1)))
        x, vectors = np.linalg.eigh(np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
        nodes.append(start + 0.5 * (n - 1) + x)
        weights.append(n * vectors[0] ** 2)
        start += n
    return LabelRule(np.concatenate(nodes), weights=np.concatenate(weights))


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


def refined_labels(channel: Channel, rule: LabelRule, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    edges, _ = refine_labels(channel, rule, rule.values, outputs)
    return rule.nodes(edges)


def refine_labels(
    channel: Channel, rule: LabelRule, edges: np.ndarray, outputs: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Edges in t between which P_out(y | λ) is integrated to 1e-13 for each of the outputs."""
    if rule.label is None or rule.stretch is None or rule.is_resolved:
        return edges, False
    label, stretch = rule.label, rule.stretch

    def masses(e: Array) -> Array:
        t, w = panels(e)
        p = np.exp(channel.log_likelihood(label(t)[..., None], outputs))
        mass: Array = np.einsum("ij,ijk->ik", w * stretch(t), p)
        return mass

    moved = False
    check = np.column_stack([edges[:-1], edges[1:]])
    done = []
    size = max(1, CHUNK // (32 * outputs.size))
    while check.size:
        halves = np.column_stack([check[:, 0], check.mean(axis=1), check[:, 1]])
        missed = np.concatenate(
            [
                np.max(np.abs(masses(check[i : i + size]) - masses(halves[i : i + size])), axis=1)
                for i in range(0, len(check), size)
            ]
        )
        good = (missed <= MISSED) | (np.diff(check, axis=1)[:, 0] < 1e-9)
        done.append(check[good][:, 0])
        bad = halves[~good]
        moved |= bool(bad.size)
        check = np.concatenate([bad[:, :2], bad[:, 1:]])
        require_size(channel, outputs.size, 16 * (sum(map(len, done)) + len(check)))
    return np.append(np.sort(np.concatenate(done)), edges[-1]), moved


def require_size(channel: Channel, n_outputs: int, n_labels: int) -> None:
    most = _MOST_IN_BANDS if getattr(channel, "has_bands", False) else _MOST_NODES
    if max(n_outputs, n_labels) > most:
        raise ValueError(
            f"{channel!r} would need a grid of {n_outputs} outputs by {n_labels} labels (at most "
            f"{most} each): its likelihood varies on too fine a scale, or is not smooth; raise "
            "the noise, or name the values of the output where it is not smooth as breaks"
        )

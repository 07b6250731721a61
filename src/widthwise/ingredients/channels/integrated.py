"""Channels whose functions come from the quadrature, through a table in the gap."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from .base import Channel
from .label_rules import CHUNK, LabelRule, refined_labels
from .quadrature import quadrature
from .tables import GapTable

__all__ = ["Integrated"]


class Integrated(Channel):
    """A channel whose functions come from :class:`OutputQuadrature`, through a table in the gap."""

    has_jumps: bool = False
    """Whether P_out itself, and not only its slope, is discontinuous at the breaks."""

    has_exact_score: bool = True
    """Whether :meth:`score` is a formula, not a difference."""

    has_bands: bool = False
    """Whether :meth:`label_range` says where the labels of an output are."""

    def label_rule(self, low: float, high: float) -> LabelRule:
        """Labels that matter for outputs between ``low`` and ``high``."""
        labels = self.labels
        assert labels is not None
        return LabelRule(np.array(labels))

    def label_range(self, low: float, high: float) -> tuple[float, float] | None:
        """Labels between which all are that outputs from ``low`` to ``high`` give; None if not known."""
        return None

    def score(self, labels: np.ndarray, outputs: np.ndarray, step: float) -> np.ndarray:
        """∂ ln P_out/∂λ; ``step`` is a length on which P_out hardly changes.

        Here by differences of eighth order, which at 1/50 of a resolved panel are right to 1e-11.
        """
        return self._difference(labels, outputs, step, (4 / 5, -1 / 5, 4 / 105, -1 / 280))

    def rough_score(self, labels: np.ndarray, outputs: np.ndarray, step: float) -> np.ndarray:
        """The score to three digits or more, as smooth as it is; not dearer."""
        if self.has_exact_score:
            return self.score(labels, outputs, step)
        return self._difference(labels, outputs, step, (0.5,))

    def _difference(
        self, labels: np.ndarray, outputs: np.ndarray, step: float, weights: tuple[float, ...]
    ) -> np.ndarray:
        """∂ ln P_out/∂λ from as many neighbours on either side as there are weights."""
        total = np.zeros(np.broadcast_shapes(labels.shape, outputs.shape))
        for k, c in enumerate(weights, start=1):
            ahead = self.log_likelihood(labels, outputs + k * step)
            behind = self.log_likelihood(labels, outputs - k * step)
            with np.errstate(invalid="ignore"):
                total += c * np.nan_to_num(ahead - behind, nan=0.0, posinf=0.0, neginf=0.0)
        return total / step

    def predictive(self, omega: ArrayLike, gap: float, power: float) -> tuple[np.ndarray, np.ndarray]:
        grid = quadrature(self, float(power))
        omega = np.asarray(omega, dtype=float)
        order = np.argsort(omega, kind="stable")
        z = np.empty((omega.size, grid.labels.size))
        z[order] = grid.predictive(omega[order], gap)
        return grid.labels, z * grid.label_weights

    def mean(self, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        flat = outputs.reshape(-1)
        if flat.size == 0:
            return outputs
        rule = self.label_rule(float(flat.min()), float(flat.max()))
        y, w = refined_labels(self, rule, flat if flat.size < 64 else np.linspace(flat.min(), flat.max(), 64))
        result = np.empty(flat.size)
        size = max(1, CHUNK // y.size)
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
        # An even rule teaches nothing at q = 0: there the table's last digit may carry ψ' below 0.
        values[1:3] = np.maximum(values[1:3], 0.0)
        if not quadrature(self, power).has_variance:
            values[3] = math.inf
        return values


@lru_cache(maxsize=64)
def _table(channel: Integrated, power: float) -> GapTable:
    grid = quadrature(channel, power)
    # A jump of P_out makes ψ' diverge like V^(-1/2) and ψ'' like V^(-3/2), a kink ψ'' like V^(-1/2).
    powers = (0, 0, 0, 0) if not grid.breaks.size else (0, 1, 3, 0) if channel.has_jumps else (0, 0, 1, 0)

    def evaluate(gaps: np.ndarray) -> np.ndarray:
        values = np.array([grid.evaluate(float(gap)) for gap in gaps]).T
        if not grid.has_variance:
            values[3] = 0.0  # whatever the grid makes of it
        return values

    return GapTable(evaluate, power, powers, is_largest=True)

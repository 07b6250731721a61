r"""What is measured on a network with weights W and readouts v, against its teacher W⁰, v⁰.

The output covariance of two networks over fresh inputs is exact (no test set; eqs. K and mehler of
arXiv:2505.24849): with Ω = WᵃWᵇᵀ/d,

.. math:: K^{ab} = \frac1k \sum_{ij} v^a_i v^b_j\, E[\sigma(h_i)\sigma(h_j)], \qquad
          Q^{ab}_\ell = \frac1k \sum_{ij} v^a_i v^b_j\, \Omega_{ij}^\ell,

where (h_i, h_j) is Gaussian with variances Ωᵃᵃ_ii, Ωᵇᵇ_jj and covariance Ω_ij. One network errs by

.. math:: E(\lambda - \lambda^0)^2 = K^{11} - 2K^{01} + K^{00}   \quad\text{(``gibbs_excess_error``)};

the mean of the posterior by half of that at equilibrium (``excess_error``; eqs. Gibbs_v_Bayes_error and
simple_gen_error_for_numerics) and by K⁰⁰ - 2K⁰¹ + K¹² for two replicas at any time (eq.
general_finitesize_gen_error_noapprox, which does not use the Nishimori identities). The centred overlap of
S = WᵀD_vW/√k (eq. def_S) is measured as 1 - ‖S - S⁰‖²/(2d²).

For Gaussian inputs of covariance C, Ω = WᵃCWᵇᵀ/d, and everything else stays. For data K is the mean over rows
that are held out, and overlaps are those of the covariance of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..ingredients.activations import Activation
from ..ingredients.scaled_kernel import scaled_kernel
from .instance import Instance, outputs

__all__ = [
    "FOUND",
    "N_ORDERS",
    "Groups",
    "Observer",
    "fresh_error",
    "match_features",
    "match_units",
    "output_covariance",
    "overlap_powers",
]

N_ORDERS = 6  # Q_1 ... Q_6 are reported
FOUND = 0.7
"""Cosine with a unit of the student from which a unit of the teacher counts as found."""
_N_BINS = 10  # for continuous readouts: enough to see the shape, with several units in each at d = 100


@dataclass(frozen=True)
class Groups:
    """Units whose overlaps are averaged together: equal readouts, or neighbouring ones in equal numbers."""

    values: np.ndarray
    """Readout value of each group (the mean over its units)."""
    label: np.ndarray
    """Group of each unit."""

    @classmethod
    def of(cls, readouts: np.ndarray, n_bins: int = _N_BINS) -> Groups:
        """Groups by value; bins if there are more values than ``n_bins``."""
        values, label = np.unique(readouts, return_inverse=True)
        if values.size > n_bins:
            rank = np.argsort(np.argsort(readouts, kind="stable"), kind="stable")
            label = rank * n_bins // readouts.size
        return cls(np.bincount(label, weights=readouts) / np.bincount(label), label)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Mean over the units of each group."""
        return np.bincount(self.label, weights=values) / np.bincount(self.label)


class Observer:
    """Measures networks against the teacher of one instance; holds what depends on the teacher only.

    Parameters
    ----------
    instance : Instance
    is_matched : bool
        Pair student and teacher units by assignment before averaging W·W⁰ (for random starts). Pairing picks
        the best of many: where nothing is learnt it still finds an overlap of about √(2 ln k / d).
    n_bins : int
        Bins for readouts with more values than that.
    width : int, optional
        Units of a student that has readouts of its own, and maybe another width than the teacher. Overlaps
        are then cosines of the teacher's units with the student's that are matched with them, whatever the
        readouts (0 for units left without), and ``features_found`` counts those above ``FOUND``.
    """

    def __init__(
        self, instance: Instance, *, is_matched: bool = False, n_bins: int = _N_BINS, width: int | None = None
    ) -> None:
        self.instance = instance
        self.is_matched = is_matched
        self.width = width
        self.groups = Groups.of(instance.readouts, n_bins)
        self._teacher = (np.asarray(instance.weights, dtype=float), instance.readouts)

    @cached_property
    def teacher_power(self) -> float:
        """K⁰⁰, the second moment of the teacher's output."""
        return self.covariance(self._teacher, self._teacher)

    @cached_property
    def _teacher_q2(self) -> float:
        seen = self._seen(self._teacher)
        return float(overlap_powers(seen, seen, 2)[1])

    def _seen(self, network: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        return self.instance.seen(network[0]), network[1]

    @cached_property
    def _teacher_outputs(self) -> np.ndarray:
        return self._outputs(self._teacher)

    def _outputs(self, network: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        assert self.instance.held_out is not None
        return outputs(self.instance.problem.activation, *network, self.instance.held_out)

    def covariance(self, a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> float:
        """K of two networks, each given as (weights, readouts)."""
        if self.instance.held_out is not None:
            one, two = (self._teacher_outputs if n is self._teacher else self._outputs(n) for n in (a, b))
            return float(np.mean(one * two))
        seen = self._seen(a)
        other = seen if a[0] is b[0] else self._seen(b)
        return output_covariance(self.instance.problem.activation, seen, (other[0], b[1]))

    def __call__(self, weights: np.ndarray, readouts: np.ndarray | None = None) -> dict[str, Any]:
        """All observables of one network, by name; readouts are the teacher's unless given."""
        student = self._student(weights, readouts)
        cross = self.covariance(student, self._teacher)
        gibbs = max(0.0, self.covariance(student, student) - 2 * cross + self.teacher_power)
        seen = self._seen(student)
        orders = overlap_powers(seen, self._seen(self._teacher), N_ORDERS)
        own = overlap_powers(seen, seen, 2)[1]
        found = {}
        if self.width is not None:
            found["features_found"] = np.float64(np.sum(match_features(self.instance, student[0]) > FOUND))
        return {
            "gibbs_excess_error": np.float64(gibbs),
            "excess_error": np.float64(0.5 * gibbs),
            "output_overlap": np.float64(cross),
            "matrix_overlap_centred": np.float64(1 - 0.5 * (own - 2 * orders[1] + self._teacher_q2)),
            "overlap_power": orders,
            "weight_overlap": self.weight_overlap(*student),
            **found,
        }

    def weight_overlap(self, weights: np.ndarray, readouts: np.ndarray | None = None) -> np.ndarray:
        """𝒬_W(v): mean of W_i·CW⁰_i/d over each group of units, after matching if asked for."""
        w, _ = self._student(weights, readouts)
        if self.width is not None:
            return self.groups.mean(match_features(self.instance, w))
        if self.is_matched:
            match, sign = match_units(self.instance, w, self.groups)
            w = sign[:, None] * w[match]
        seen = (self.instance.seen(matrix) for matrix in (w, self._teacher[0]))
        return self.groups.mean(np.einsum("ij,ij->i", *seen) / self.instance.d)

    def replicas(
        self, first: tuple[np.ndarray, np.ndarray | None], second: tuple[np.ndarray, np.ndarray | None]
    ) -> dict[str, float]:
        """Two draws against each other and the teacher: excess error without Nishimori, and both sides of it.

        A draw is (weights, readouts), with None for the teacher's readouts.

        ``excess_error`` is K⁰⁰ - 2K⁰¹ + K¹²; at equilibrium ``teacher_overlap`` (mean of K⁰¹ and K⁰²) and
        ``replica_overlap`` (K¹²) agree on average.
        """
        one, two = self._student(*first), self._student(*second)
        teacher = 0.5 * (self.covariance(one, self._teacher) + self.covariance(two, self._teacher))
        between = self.covariance(one, two)
        return {
            "excess_error": self.teacher_power - 2 * teacher + between,
            "teacher_overlap": teacher,
            "replica_overlap": between,
        }

    def distances(
        self, weights: np.ndarray, readouts: Iterable[np.ndarray | None], seen: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """½E(λ¹ - λ²)² of every chain and the next one, given what was ``seen`` of each.

        At equilibrium the teacher is one more draw, so that on average this is ``excess_error``, which is
        ½E(λ¹ - λ⁰)² (Nishimori).
        """
        students = [self._student(w, v) for w, v in zip(weights, readouts, strict=True)]
        own = seen["gibbs_excess_error"] + 2 * seen["output_overlap"] - self.teacher_power
        n = len(students)
        between = np.array([self.covariance(students[i], students[(i + 1) % n]) for i in range(n)])
        half: np.ndarray = np.maximum(0.5 * (own + np.roll(own, -1)) - between, 0.0)
        return half

    def _student(self, weights: np.ndarray, readouts: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        w = np.asarray(weights, dtype=float)
        shape = self._teacher[0].shape if self.width is None else (self.width, self.instance.d)
        if w.shape != shape:
            raise ValueError(f"weights must have the shape {shape} (k, d), got {w.shape}")
        return w, self._teacher[1] if readouts is None else np.asarray(readouts, dtype=float)


def output_covariance(
    activation: Activation, a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> float:
    """E λᵃλᵇ over standard Gaussian inputs, exact, for networks of any width given as (weights, readouts)."""
    (w, v), (u, r) = a, b
    k, d = math.sqrt(w.shape[0] * u.shape[0]), int(w.shape[1])
    s, t = (np.sqrt(np.einsum("ij,ij->i", m, m) / d) for m in (w, u))
    scale = np.maximum(np.outer(s, t), np.finfo(float).tiny)
    correlation = (w @ u.T) / d / scale
    if w is u:
        np.fill_diagonal(correlation, np.sign(s))  # exactly 1, not up to rounding
    covariances: np.ndarray = scaled_kernel(activation)(s, t, correlation)
    return float(v @ covariances @ r) / k


def overlap_powers(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray], n_orders: int = N_ORDERS
) -> np.ndarray:
    """Q_1 ... Q_n of two networks."""
    (w, v), (u, r) = a, b
    k, d = math.sqrt(w.shape[0] * u.shape[0]), w.shape[1]
    omega = (w @ u.T) / d
    power, result = np.ones_like(omega), np.empty(n_orders)
    for order in range(n_orders):
        power *= omega
        result[order] = v @ power @ r / k
    return result


def fresh_error(
    instance: Instance, weights: np.ndarray, readouts: np.ndarray | None = None, n_test: int = 10_000
) -> float:
    """Mean-square error of the prediction E[y | λ] of a network on fresh labels."""
    x, y = instance.test_set(n_test)
    prediction = instance.problem.channel.mean(instance.outputs(weights, x, readouts))
    return float(np.mean((y - prediction) ** 2))


def match_units(instance: Instance, weights: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Student unit matched to each teacher unit, and the sign to give it, by the largest total overlap.

    Units are exchanged within groups of equal readouts. For an even activation the sign of a unit is free;
    for an odd one (v, w) and (-v, -w) are the same unit, so units of readouts v and -v are exchanged too.
    """
    from scipy.optimize import linear_sum_assignment

    overlap = instance.seen(instance.weights) @ instance.seen(weights).T / instance.d
    parity = _parity(instance)
    turn = np.where(groups.values[groups.label] < 0, -1.0, 1.0) if parity < 0 else np.ones(instance.k)
    label = _folded_label(groups) if parity < 0 else groups.label
    gain = np.abs(overlap) if parity > 0 else turn[:, None] * overlap * turn
    match, sign = np.empty(instance.k, dtype=int), np.ones(instance.k)
    for group in np.unique(label):
        units = np.flatnonzero(label == group)
        rows, columns = linear_sum_assignment(gain[np.ix_(units, units)], maximize=True)
        match[units[rows]] = units[columns]
    if parity > 0:
        sign = np.where(overlap[np.arange(instance.k), match] < 0, -1.0, 1.0)
    elif parity < 0:
        sign = turn * turn[match]
    return match, sign


def match_features(instance: Instance, weights: np.ndarray) -> np.ndarray:
    """Cosine of each of the teacher's units with its match in a student of any width.

    Units are matched one to one by the largest total cosine; where the student is narrower, the teacher's
    units that are left over get 0. The sign of a unit is free for an even activation, and for an odd one,
    where the readout takes it up.
    """
    from scipy.optimize import linear_sum_assignment

    seen = [instance.seen(w) for w in (instance.weights, weights)]
    tiny = np.finfo(float).tiny
    one, other = (w / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), tiny) for w in seen)
    cosine = one @ other.T
    if _parity(instance) != 0:
        cosine = np.abs(cosine)
    rows, columns = linear_sum_assignment(cosine, maximize=True)
    matched = np.zeros(instance.k)
    matched[rows] = cosine[rows, columns]
    return matched


def _folded_label(groups: Groups) -> np.ndarray:
    """Labels of groups by |v|."""
    sizes = np.round(np.abs(groups.values), 9)
    return np.asarray(np.unique(sizes, return_inverse=True)[1][groups.label])


def _parity(instance: Instance) -> int:
    """1 for an even activation, -1 for an odd one, else 0."""
    x = np.linspace(0.05, 6.0, 120) * math.sqrt(1.1)
    right, left = instance.problem.activation(x), instance.problem.activation(-x)
    size = 1e-12 * np.max(np.abs(right) + np.abs(left))
    if np.max(np.abs(right - left)) <= size:
        return 1
    return -1 if np.max(np.abs(right + left)) <= size else 0

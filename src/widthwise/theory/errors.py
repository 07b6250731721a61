r"""Errors of prediction for any cost (Result 2 of arXiv:2505.24849), of the posterior mean or of one draw.

Given the common field ξ the replicas λ¹, λ², ... are independent, so that the series of Result 2 sums to

.. math:: \varepsilon = E_\xi \int dy\, Z(y;\omega, V)\; C(y, m(\omega)), \qquad
          m(\omega) = E_u f(\omega + u\sqrt V), \quad \omega = \xi\sqrt q,\; V = r - q.

The optimal prediction for a ready-made measure is read off Z instead: its mean, its likeliest label, its
median, or Z itself.  For one draw λ¹ from the posterior (Gibbs), λ⁰ given λ¹ is Gaussian of mean (q/r)λ¹
and variance V(2 - V/r): a single average over λ¹ again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..ingredients.channels import Additive, Channel
from ..ingredients.channels.integrated import Integrated
from ..ingredients.channels.quadrature import quadrature
from ..ingredients.channels.rules import REACH, panels
from .solution import LearningCurve, Solution

__all__ = ["KINDS", "MEASURES", "channel_error", "error"]

MEASURES = ("mean-square", "zero-one", "cross-entropy", "absolute")
KINDS = ("bayes", "gibbs")

Cost = Callable[[np.ndarray, np.ndarray], Any]


def error(
    solution: Solution | LearningCurve,
    measure: str | Cost = "mean-square",
    kind: str = "bayes",
    *,
    prediction: Callable[[np.ndarray], Any] | None = None,
    kinks: Sequence[float] = (),
) -> Any:
    """Error in predicting a fresh label, a number for a solution and an array for a curve.

    Parameters
    ----------
    solution : Solution or LearningCurve
    measure : str or callable
        ``"mean-square"``, ``"zero-one"`` (share of wrong labels, of the likeliest label),
        ``"cross-entropy"`` (nats, of the predictive law), ``"absolute"`` (of the median); or a
        cost C(y, prediction) of two arrays, smooth in y if labels are continuous.
    kind : {"bayes", "gibbs"}
        Of the posterior average, or of one draw from the posterior used as if it were true.
    prediction : callable
        f(λ), with a cost of one's own: the Bayes prediction is its posterior mean. E[y | λ] unless given.
    kinks : sequence of numbers
        Where f is not smooth.

    Points without a solution give NaN.
    """
    points = [solution] if isinstance(solution, Solution) else list(solution)
    channel, power = solution.problem.channel, solution.problem.output_power
    _check(channel, measure, kind, prediction)
    values = np.array(
        [
            channel_error(channel, p.excess_error, power, measure, kind, prediction=prediction, kinks=kinks)
            if p.is_converged
            else math.nan
            for p in points
        ]
    )
    return float(values[0]) if isinstance(solution, Solution) else values


def channel_error(
    channel: Channel,
    gap: float,
    power: float,
    measure: str | Cost = "mean-square",
    kind: str = "bayes",
    *,
    prediction: Callable[[np.ndarray], Any] | None = None,
    kinks: Sequence[float] = (),
) -> float:
    """The same for outputs of variance ``power`` known up to the variance ``gap``."""
    _check(channel, measure, kind, prediction)
    gap = min(gap, power)
    if callable(measure):
        return _cost_error(channel, gap, power, measure, kind, prediction or channel.mean, kinks)
    if measure == "mean-square":
        value = channel.bayes_error(gap, power) if kind == "bayes" else channel.gibbs_error(gap, power)
        return float(value)
    if measure == "cross-entropy":
        if kind == "bayes":
            return -float(channel.free_entropy(gap, power))
        return _gibbs_cross_entropy(channel, gap, power)
    if measure == "absolute" and isinstance(channel, Additive):
        return float(channel.absolute_error(gap if kind == "bayes" else 2 * gap))
    if measure == "absolute" and not channel.is_discrete:
        return _absolute_error(channel, gap, power, kind)
    decide = _likeliest if measure == "zero-one" else _median
    return _decision_error(channel, gap, power, kind, decide, measure == "zero-one")


@dataclass(frozen=True)
class _Field:
    """The Gaussian variable that a prediction depends on: ω for Bayes, λ¹ for Gibbs."""

    channel: Channel
    power: float
    centre: float
    variance: float
    """Of the field."""
    pull: float
    """Mean of λ⁰ given the field, per unit of it."""
    gap: float
    """Variance of λ⁰ given the field."""

    @classmethod
    def of(cls, channel: Channel, gap: float, power: float, kind: str) -> _Field:
        q = max(power - gap, 0.0)
        if kind == "bayes":
            return cls(channel, power, channel.centre, q, 1.0, gap)
        return cls(channel, power, channel.centre, power, q / power, gap * (1 + q / power))

    def rule(self, special: Sequence[float] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of the field, with panels that narrow towards special points."""
        if self.variance <= 1e-15 * self.power:
            return np.array([self.centre]), np.ones(1)
        root = math.sqrt(self.variance)
        low, high = self.centre - REACH * root, self.centre + REACH * root
        edges: list[np.ndarray] = [np.linspace(low, high, 19)]
        if isinstance(self.channel, Integrated):
            edges.append(quadrature(self.channel, self.power).edges)
        steps = math.sqrt(self.gap) * 0.7 * 1.6 ** np.arange(60)
        steps = np.concatenate([[0.0], steps[steps < high - low]])
        for point in (*special, *self.channel.breaks):
            edges += [point + steps, point - steps]
        joined = np.unique(np.clip(np.concatenate(edges), low, high))
        x, w = panels(joined)
        w = w * np.exp(-0.5 * (x - self.centre) ** 2 / self.variance)
        return x, w / w.sum()

    def law(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Law of a label given the field: labels and probabilities on (field, labels)."""
        return self.channel.predictive(self.centre + self.pull * (x - self.centre), self.gap, self.power)


def _decision_error(
    channel: Channel, gap: float, power: float, kind: str, decide, is_zero_one: bool
) -> float:
    """Error of a decision among single labels, which changes at some values of the field."""
    field = _Field.of(channel, gap, power, kind)

    def decision(x: np.ndarray) -> np.ndarray:
        labels, p = field.law(x) if kind == "bayes" else channel.predictive(x, 0.0, power)
        return decide(labels, p)

    x, w = field.rule()
    turns = _turning_points(decision, x)
    if turns:
        x, w = field.rule(turns)
    labels, p = field.law(x)
    chosen = decision(x)
    if is_zero_one:
        # The sum of the other labels, not 1 - p: it keeps its digits where errors are rare.
        p = p.copy()
        p[np.arange(x.size), chosen] = 0.0
        return float(w @ p.sum(axis=1))
    return float(w @ np.sum(p * np.abs(labels - labels[chosen][:, None]), axis=1))


def _turning_points(decision: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> list[float]:
    """Where the decision changes, by halving between neighbouring nodes."""
    found = decision(x)
    at = np.nonzero(np.diff(found))[0]
    if at.size == 0:
        return []
    low, high, left = x[at], x[at + 1], found[at]
    for _ in range(42):
        middle = 0.5 * (low + high)
        same = decision(middle) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return list(0.5 * (low + high))


def _likeliest(labels: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.argmax(p, axis=1)


def _median(labels: np.ndarray, p: np.ndarray) -> np.ndarray:
    order = np.argsort(labels)
    total = np.cumsum(p[:, order], axis=1)
    return order[np.argmax(total >= 0.5 * total[:, -1:], axis=1)]


def _gibbs_cross_entropy(channel: Channel, gap: float, power: float) -> float:
    if isinstance(channel, Additive):
        y, p = channel.predictive(np.zeros(1), 2 * gap, power)
        return -float(np.sum(p * channel.log_likelihood(y, 0.0)))
    field = _Field.of(channel, gap, power, "gibbs")
    x, w = field.rule((0.0,))
    labels, p = field.law(x)
    with np.errstate(invalid="ignore"):
        terms = np.where(p > 0, p * channel.log_likelihood(labels, x[:, None]), 0.0)
    return -float(w @ terms.sum(axis=1))


def _absolute_error(channel: Channel, gap: float, power: float, kind: str) -> float:
    """E|y - median| for continuous labels, by interpolating polynomials: right to about 1e-8."""
    assert isinstance(channel, Integrated)
    field = _Field.of(channel, gap, power, kind)
    x, w = field.rule()
    labels, p = field.law(x)
    medians = (
        _Panelled(labels, p).quantile()
        if kind == "bayes"
        else _Panelled(*channel.predictive(x, 0.0, power)).quantile()
    )
    return float(w @ _Panelled(labels, p).absolute(medians))


class _Panelled:
    """Laws on labels given at Gauss–Legendre nodes, 16 to a panel, as polynomials on each panel."""

    def __init__(self, labels: np.ndarray, p: np.ndarray) -> None:
        self.n, size = p.shape[0], 16
        x, weight = np.polynomial.legendre.leggauss(size)
        to_series = (np.polynomial.legendre.legvander(x, size - 1) * weight[:, None]).T
        to_series *= (np.arange(size) + 0.5)[:, None]
        density = p.reshape(self.n, -1, size) / weight
        y = labels.reshape(-1, size)
        self._label = y @ to_series.T
        # Antiderivatives that vanish at the left end of each panel.
        self._mass, self._moment = (
            np.polynomial.legendre.legint(np.moveaxis(f @ to_series.T, -1, 0), lbnd=-1)
            for f in (density, density * y)
        )
        self._masses, self._moments = (
            p.reshape(self.n, -1, size).sum(axis=2),
            (p * labels).reshape(self.n, -1, size).sum(axis=2),
        )

    def quantile(self) -> np.ndarray:
        """The median of each law."""
        panel, x, _ = self._at_half()
        return np.array(
            [np.polynomial.legendre.legval(a, self._label[k]) for a, k in zip(x, panel, strict=True)]
        )

    def _at_half(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        goal = 0.5 * self._masses.sum(axis=1)
        total = np.cumsum(self._masses, axis=1)
        panel = np.argmax(total >= goal[:, None], axis=1)
        rows = np.arange(self.n)
        before = total[rows, panel] - self._masses[rows, panel]
        own = self._mass[:, rows, panel]
        low, high = -np.ones(self.n), np.ones(self.n)
        for _ in range(52):
            middle = 0.5 * (low + high)
            below = before + np.polynomial.legendre.legval(middle, own, tensor=False) < goal
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return panel, 0.5 * (low + high), before

    def absolute(self, points: np.ndarray) -> np.ndarray:
        """E|y - point| for each law and its point."""
        rows = np.arange(self.n)
        ends = np.array([np.polynomial.legendre.legval(1.0, c) for c in self._label])
        panel = np.clip(np.searchsorted(ends, points), 0, len(ends) - 1)
        low, high = -np.ones(self.n), np.ones(self.n)
        series = self._label[panel].T
        for _ in range(52):
            middle = 0.5 * (low + high)
            below = np.polynomial.legendre.legval(middle, series, tensor=False) < points
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        x = 0.5 * (low + high)
        parts = []
        for series, sums in ((self._mass, self._masses), (self._moment, self._moments)):
            total = np.cumsum(sums, axis=1)
            before = total[rows, panel] - sums[rows, panel]
            inside = np.polynomial.legendre.legval(x, series[:, rows, panel], tensor=False)
            parts += [before + inside, total[:, -1]]
        mass, all_mass, moment, all_moment = parts
        return points * (2 * mass - all_mass) + all_moment - 2 * moment


def _cost_error(
    channel: Channel,
    gap: float,
    power: float,
    cost: Cost,
    kind: str,
    prediction: Callable[[np.ndarray], Any],
    kinks: Sequence[float],
) -> float:
    field = _Field.of(channel, gap, power, kind)
    places = tuple(float(k) for k in kinks)
    if prediction == channel.mean:
        places += tuple(channel.breaks)
    x, w = field.rule(places)
    if kind == "bayes":
        guess = _gaussian_mean(prediction, x, gap, places)
    else:
        guess = np.broadcast_to(np.asarray(prediction(x), dtype=float), x.shape)
    labels, p = field.law(x)
    values = np.asarray(cost(labels, guess[:, None]), dtype=float)
    return float(w @ np.sum(p * values, axis=1))


def _gaussian_mean(function, omega: np.ndarray, variance: float, kinks: Sequence[float]) -> np.ndarray:
    """E f(ω + u√V), the average split at the kinks of f."""
    root = math.sqrt(variance)
    ends = np.full((omega.size, 1), REACH)
    cuts = np.clip((np.sort(np.array(kinks, dtype=float)) - omega[:, None]) / root, -REACH, REACH)
    cuts = np.concatenate([-ends, cuts, ends], axis=1)
    share = np.arange(6) / 6
    edges = (cuts[:, :-1, None] + share * np.diff(cuts, axis=1)[..., None]).reshape(omega.size, -1)
    u, w = panels(np.concatenate([edges, ends], axis=1))
    w = w * np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi)
    return np.sum(w * np.asarray(function(omega[:, None] + root * u), dtype=float), axis=1)


def _check(channel: Channel, measure: Any, kind: str, prediction: Any) -> None:
    if kind not in KINDS:
        raise ValueError(f"unknown kind of error {kind!r}; choose from {', '.join(KINDS)}")
    if callable(measure):
        return
    if measure not in MEASURES:
        near = get_close_matches(str(measure), MEASURES, n=1)
        hint = f", did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"unknown error {measure!r}{hint}; choose from {', '.join(MEASURES)}, or pass a cost "
            "C(y, prediction)"
        )
    if prediction is not None:
        raise ValueError(f"{measure!r} has its own optimal prediction; pass prediction= only with a cost")
    if measure == "zero-one" and not channel.is_discrete:
        raise ValueError(
            f"the zero-one error needs single labels, and those of {channel!r} are continuous; "
            "choose mean-square, absolute or cross-entropy"
        )

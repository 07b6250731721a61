r"""Errors of prediction for any cost (Result 2 of arXiv:2505.24849), of the posterior mean or of one draw.

Definitions: eq. Bayes_error_def, eq. gen_err_result for the square, eq. Gibbs_error for one draw.

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
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from .._arrays import Array, Integers
from .._bad_value import did_you_mean
from ..ingredients.channels import Additive, Channel
from ..ingredients.channels.integrated import Integrated
from ..ingredients.channels.quadrature import quadrature
from ..ingredients.channels.rules import REACH, panels, subdivide
from ..problem import Problem
from .solution import LearningCurve, Solution

__all__ = [
    "ERRORS",
    "KINDS",
    "MEASURES",
    "channel_error",
    "check_error",
    "error",
    "error_at",
    "gap_of_error",
    "with_error",
]

MEASURES = ("mean-square", "zero-one", "cross-entropy", "absolute")
KINDS = ("bayes", "gibbs")
ERRORS = (*MEASURES, *(f"gibbs-{measure}" for measure in MEASURES))
"""Names that ``error=`` takes wherever a curve is computed."""

_SIZE = 16  # nodes to a panel of labels

Cost = Callable[[np.ndarray, np.ndarray], Any]
Curve = TypeVar("Curve", bound=LearningCurve)


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
    if not hasattr(solution, "problem"):
        raise TypeError(
            f"error takes a solution or a curve, as in error(solve(problem, 2.0), 'zero-one'); got "
            f"{type(solution).__name__}"
        )
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


def check_error(problem: Problem, name: str) -> tuple[str, str]:
    """Measure and kind that a name such as "zero-one" or "gibbs-zero-one" means, if it fits the labels."""
    measure, kind = str(name), "bayes"
    if measure.startswith("gibbs-"):
        measure, kind = measure.removeprefix("gibbs-"), "gibbs"
    if measure not in MEASURES:
        raise ValueError(
            f"unknown error {name!r}; {did_you_mean(name, ERRORS, 1)}choose from {', '.join(MEASURES)}, "
            "or one of them after gibbs-"
        )
    _check(problem.channel, measure, kind, None)
    return measure, kind


def error_at(problem: Problem, gaps: ArrayLike, name: str) -> np.ndarray:
    """An error by name where the output is known up to variances ``gaps``; NaN where these are."""
    measure, kind = check_error(problem, name)
    gaps = np.asarray(gaps, dtype=float)
    values = [
        math.nan
        if math.isnan(gap)
        else channel_error(problem.channel, float(gap), problem.output_power, measure, kind)
        for gap in gaps.reshape(-1)
    ]
    return np.array(values).reshape(gaps.shape)


def with_error(curve: Curve, name: str) -> Curve:
    """The curve with an error by name as ``error`` of its points."""
    values = error_at(curve.problem, curve.excess_error, name)
    result = copy(curve)
    result._points = tuple(
        replace(point, error_name=name, error=float(value))
        for point, value in zip(curve, values, strict=True)
    )
    return result


def gap_of_error(problem: Problem, name: str, target: float) -> float:
    """The gap r - q at which a Bayes error has the value ``target``: more knowledge never raises it.

    0 if it is below the error when λ is known, infinity if above the error when nothing is.
    """
    power = problem.output_power
    if not float(error_at(problem, 0.0, name)) < target:
        return 0.0
    if float(error_at(problem, power, name)) <= target:
        return math.inf
    low, high = math.log(1e-30 * power), math.log(power)
    while high - low > 1e-11:
        middle = 0.5 * (low + high)
        if float(error_at(problem, math.exp(middle), name)) > target:
            high = middle
        else:
            low = middle
    return math.exp(low)


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

    def rule(self, cuts: Sequence[float] = (), kinks: Sequence[float] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of the field; panels end at the cuts, and narrow to the scale √V at kinks."""
        if self.variance <= 1e-15 * self.power:
            return np.array([self.centre]), np.ones(1)
        root = math.sqrt(self.variance)
        low, high = self.centre - REACH * root, self.centre + REACH * root
        edges = np.array([low, high])
        width = math.sqrt(self.gap)
        if isinstance(self.channel, Integrated):
            # Its law of the labels is resolved on these, but for breaks, whatever the gap.
            edges = np.concatenate([edges, quadrature(self.channel, self.power).edges])
            kinks = (*kinks, *self.channel.breaks)
        elif not self.channel.is_additive:
            kinks = (*kinks, 0.0)
            width = math.sqrt(self.gap + getattr(self.channel, "noise", 0.0))
        steps = width * np.cumsum(1.6 ** np.arange(60))
        steps = np.concatenate([[0.0], steps[steps < high - low]])
        graded = [k + side * steps for k in kinks for side in (-1, 1)]
        edges = np.unique(np.clip(np.concatenate([edges, cuts, *graded]), low, high))
        x, w = panels(subdivide(edges, 1.6 * root))
        w = w * np.exp(-0.5 * (x - self.centre) ** 2 / self.variance)
        return x, w / w.sum()

    def law(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Law of a label given the field: labels and probabilities on (field, labels)."""
        return self.channel.predictive(self.centre + self.pull * (x - self.centre), self.gap, self.power)


def _decision_error(
    channel: Channel,
    gap: float,
    power: float,
    kind: str,
    decide: Callable[[Array, Array], Integers],
    is_zero_one: bool,
) -> float:
    """Error of a decision among single labels, which changes at some values of the field."""
    field = _Field.of(channel, gap, power, kind)

    def decision(x: Array) -> Integers:
        labels, p = field.law(x) if kind == "bayes" else channel.predictive(x, 0.0, power)
        return decide(labels, p)

    x, w = field.rule()
    turns = _turning_points(decision, x, 42 if kind == "gibbs" else 24)
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


def _turning_points(
    decision: Callable[[np.ndarray], np.ndarray], x: np.ndarray, n_halvings: int
) -> list[float]:
    """Where the decision changes, by halving between neighbouring nodes.

    A Bayes decision is best, so that its error is of second order in where it turns.
    """
    found = decision(x)
    at = np.nonzero(np.diff(found))[0]
    if at.size == 0:
        return []
    low, high, left = x[at], x[at + 1], found[at]
    for _ in range(n_halvings):
        middle = 0.5 * (low + high)
        same = decision(middle) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return list(0.5 * (low + high))


def _likeliest(labels: Array, p: Array) -> Integers:
    chosen: Integers = np.argmax(p, axis=1)
    return chosen


def _median(labels: Array, p: Array) -> Integers:
    order = np.argsort(labels)
    total = np.cumsum(p[:, order], axis=1)
    chosen: Integers = order[np.argmax(total >= 0.5 * total[:, -1:], axis=1)]
    return chosen


def _gibbs_cross_entropy(channel: Channel, gap: float, power: float) -> float:
    if isinstance(channel, Additive):
        y, p = channel.predictive(np.zeros(1), 2 * gap, power)
        return -float(np.sum(p * channel.log_likelihood(y, 0.0)))
    field = _Field.of(channel, gap, power, "gibbs")
    x, w = field.rule()
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
    laws = _LabelLaws(labels, p)
    guess = laws if kind == "bayes" else _LabelLaws(*channel.predictive(x, 0.0, power))
    return float(w @ laws.absolute(guess.median()))


class _LabelLaws:
    """Laws given at Gauss–Legendre nodes, 16 to a panel, as polynomials there: right to about 1e-8."""

    def __init__(self, labels: Array, p: Array) -> None:
        """``labels`` and, on (laws, labels), density times weight."""
        self.n = p.shape[0]
        x, weight = legendre.leggauss(_SIZE)
        to_series = (legendre.legvander(x, _SIZE - 1) * weight[:, None]).T
        to_series *= (np.arange(_SIZE) + 0.5)[:, None]
        self._to_series, self._weight = to_series, weight
        self._parts = p.reshape(self.n, -1, _SIZE)
        self._labels = labels.reshape(-1, _SIZE)
        self._label_series = self._labels @ to_series.T

    def median(self) -> np.ndarray:
        """The median of each law."""
        panel, x = self._inside(self._parts, 0.5)
        return legendre.legval(x, self._label_series[panel].T, tensor=False)

    def _inside(self, parts: Array, share: float) -> tuple[Integers, Array]:
        """Panel, and place in it, where each law has that share of its mass below."""
        masses = parts.sum(axis=2)
        total = np.cumsum(masses, axis=1)
        goal = share * total[:, -1]
        panel = np.argmax(total >= goal[:, None], axis=1)
        rows = np.arange(self.n)
        left = goal - (total[rows, panel] - masses[rows, panel])
        return panel, _increasing(self._integral(parts[rows, panel]), left)

    def _integral(self, parts: Array) -> np.ndarray:
        """Series of the mass from the left end of the panel, from that at its nodes; one law a column."""
        return legendre.legint((parts / self._weight) @ self._to_series.T, lbnd=-1, axis=1).T

    def absolute(self, points: Array) -> Array:
        """E|y - point| for each law and its point."""
        rows = np.arange(self.n)
        ends = legendre.legval(1.0, self._label_series.T)
        panel = np.clip(np.searchsorted(ends, points), 0, len(self._labels) - 1)
        x = _increasing(self._label_series[panel].T, points)
        below, total = [], []
        for parts in (self._parts, self._parts * self._labels):
            sums = np.cumsum(parts.sum(axis=2), axis=1)
            before = np.where(panel > 0, sums[rows, panel - 1], 0.0)
            inside = legendre.legval(x, self._integral(parts[rows, panel]), tensor=False)
            below.append(before + inside)
            total.append(sums[:, -1])
        mass, moment = below
        mean: Array = points * (2 * mass - total[0]) + total[1] - 2 * moment
        return mean


def _increasing(series: Array, goal: Array) -> Array:
    """Where increasing functions on [-1, 1] reach their goals: Newton's method inside brackets."""
    slope = legendre.legder(series)
    low, high = -np.ones(goal.size), np.ones(goal.size)
    x = np.zeros(goal.size)
    for _ in range(60):
        off = legendre.legval(x, series, tensor=False) - goal
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = x - off / legendre.legval(x, slope, tensor=False)
        is_done = (np.abs(newton - x) < 1e-12) | (high - low < 1e-15)
        if is_done.all():
            break
        is_inside = (newton > low) & (newton < high)
        x = np.where(is_done, x, np.where(is_inside, newton, 0.5 * (low + high)))
    return x


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
    x, w = field.rule(kinks=places)
    if kind == "bayes":
        guess = _gaussian_mean(prediction, x, gap, places)
    else:
        guess = np.broadcast_to(np.asarray(prediction(x), dtype=float), x.shape)
    labels, p = field.law(x)
    values = np.asarray(cost(labels, guess[:, None]), dtype=float)
    return float(w @ np.sum(p * values, axis=1))


def _gaussian_mean(
    function: Callable[[Array], Any], omega: Array, variance: float, kinks: Sequence[float]
) -> Array:
    """E f(ω + u√V), the average split at the kinks of f."""
    root = math.sqrt(variance)
    ends = np.full((omega.size, 1), REACH)
    cuts = np.clip((np.sort(np.array(kinks, dtype=float)) - omega[:, None]) / root, -REACH, REACH)
    cuts = np.concatenate([-ends, cuts, ends], axis=1)
    share = np.arange(6) / 6
    edges = (cuts[:, :-1, None] + share * np.diff(cuts, axis=1)[..., None]).reshape(omega.size, -1)
    u, w = panels(np.concatenate([edges, ends], axis=1))
    w = w * np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi)
    mean: Array = np.sum(w * np.asarray(function(omega[:, None] + root * u), dtype=float), axis=1)
    return mean


def _check(channel: Channel, measure: Any, kind: str, prediction: Any) -> None:
    if kind not in KINDS:
        raise ValueError(f"unknown kind of error {kind!r}; choose from {', '.join(KINDS)}")
    if callable(measure):
        return
    if measure not in MEASURES:
        raise ValueError(
            f"unknown error {measure!r}; {did_you_mean(measure, MEASURES, 1)}"
            f"choose from {', '.join(MEASURES)}, or pass a cost C(y, prediction)"
        )
    if prediction is not None:
        raise ValueError(f"{measure!r} has its own optimal prediction; pass prediction= only with a cost")
    if measure == "zero-one" and not channel.is_discrete:
        raise ValueError(
            f"the zero-one error needs single labels, and those of {channel!r} are continuous; "
            "choose mean-square, absolute or cross-entropy"
        )

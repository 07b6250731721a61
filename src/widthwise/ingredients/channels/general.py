r"""Counts, an outer non-linearity, and channels of one's own: all through the quadrature.

``Poisson``: y ~ Poisson(rate · ln(1 + e^λ)).  ``Nonlinear``: y = f(λ) + √noise z.  ``Custom``: any
ln P_out(y | λ), over finitely many labels or an interval; it is checked to normalise.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import Array, Bools
from ..activations import Activation, activation
from ..array_functions import evaluate_in
from .base import positive, set_shift, special
from .integrated import Integrated
from .label_rules import LabelRule, counts_rule, refined_labels, require_normalised, require_size

__all__ = ["Custom", "Nonlinear", "Poisson"]


@dataclass(frozen=True, repr=False)
class Poisson(Integrated):
    """Counts y = 0, 1, 2, ... of mean rate · softplus(λ)."""

    rate: float = 1.0
    shift: float | None = None

    name: ClassVar[str] = "poisson"
    is_discrete = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive(self.rate, "rate (mean count per unit of softplus)"))
        set_shift(self)

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        soft = xp.logaddexp(0.0, outputs)
        # ln softplus(λ) is λ far on the left, where softplus itself underflows.
        log_soft = xp.where(outputs < -30, outputs, xp.log(xp.maximum(soft, 1e-30)))
        log_mean = math.log(self.rate) + log_soft
        return labels * log_mean - self.rate * soft - special(xp).gammaln(labels + 1.0)

    def score(self, labels: Array, outputs: Array, step: float) -> Array:
        soft = np.logaddexp(0.0, outputs)
        share = np.where(outputs < -30, 1.0, special(np).expit(outputs) / np.maximum(soft, 1e-30))
        return share * (labels - self.rate * soft)

    def mean(self, outputs: ArrayLike) -> Array:
        mean: Array = self.rate * np.logaddexp(0.0, np.asarray(outputs, dtype=float))
        return mean

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        return rng.poisson(self.mean(outputs)).astype(float)

    has_bands = True

    def label_rule(self, low: float, high: float) -> LabelRule:
        return counts_rule(math.ceil(self.label_range(low, high)[1]))

    def label_range(self, low: float, high: float) -> tuple[float, float]:
        least, most = (float(self.mean(x)) for x in (low, high))
        return least - 9 * math.sqrt(least) - 30, most + 9 * math.sqrt(most) + 30

    def _is_possible(self, labels: Array) -> Bools:
        is_count: Bools = (labels >= 0) & (labels == np.floor(labels))
        return is_count

    def _label_words(self) -> str:
        return "whole numbers >= 0"


@dataclass(frozen=True, repr=False)
class Nonlinear(Integrated):
    """y = function(λ) + √noise z; the function is given like an activation, ``noise`` is a variance > 0."""

    function: Any
    noise: float
    shift: float | None = None

    name: ClassVar[str] = "nonlinear"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", positive(self.noise, "noise (variance Delta of the labels)"))
        object.__setattr__(self, "function", activation(self.function))
        set_shift(self)

    @property
    def spec(self) -> dict[str, Any]:
        if self.function.spec is None:
            raise ValueError(
                f"function {self.function.name!r} is a bare callable and has no description; "
                "give it as an expression in x"
            )
        return {**super().spec, "function": self.function.spec}

    def __repr__(self) -> str:
        shift = "" if self.shift is None else f", shift={self.shift!r}"
        return f"channels.Nonlinear({self.function.spec or self.function!r}, {self.noise!r}{shift})"

    @property
    def breaks(self) -> tuple[float, ...]:  # type: ignore[override]
        kinks: tuple[float, ...] = self.function.kinks
        return kinks

    @cached_property
    def has_jumps(self) -> bool:  # type: ignore[override]
        kinks = np.array(self.function.kinks)
        step = 1e-9 * np.maximum(1.0, np.abs(kinks))
        return bool(np.any(np.abs(self.function(kinks + step) - self.function(kinks - step)) > 1e-6))

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        f = self._in(xp)(outputs)
        return -((labels - f) ** 2) / (2 * self.noise) - 0.5 * math.log(2 * math.pi * self.noise)

    def _in(self, xp: Any) -> Callable[[Any], Any]:
        function: Activation = self.function
        if xp is np:
            return function
        tree = getattr(function._function, "tree", None)
        if tree is not None:
            return lambda x: evaluate_in(xp, tree, x)
        return cast(Callable[[Any], Any], function._source)

    def score(self, labels: Array, outputs: Array, step: float) -> Array:
        score: Array = (labels - self.function(outputs)) * self.function.derivative(outputs) / self.noise
        return score

    def mean(self, outputs: ArrayLike) -> Array:
        mean: Array = self.function(outputs)
        return mean

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> Array:
        outputs = np.asarray(outputs, dtype=float)
        mean = self.mean(outputs)
        return mean + math.sqrt(self.noise) * rng.standard_normal(outputs.shape)

    has_bands = True

    def label_rule(self, low: float, high: float) -> LabelRule:
        first, last = self.label_range(low, high)
        # Panels of five widths integrate the noise to rounding wherever it lies.
        n_panels = max(math.ceil((last - first) / (5 * math.sqrt(self.noise))), 4)
        require_size(self, 0, 16 * n_panels)
        return LabelRule(np.linspace(first, last, n_panels + 1), lambda t: t, np.ones_like, is_resolved=True)

    def label_range(self, low: float, high: float) -> tuple[float, float]:
        f = self.function(np.linspace(low, high, 2001))
        reach = 14 * math.sqrt(self.noise)  # where the density of the noise is below 1e-40
        return float(f.min()) - reach, float(f.max()) + reach


@dataclass(frozen=True, repr=False)
class Custom(Integrated):
    """A channel given by its log-likelihood.

    Parameters
    ----------
    function : callable
        ln P_out(y | λ) of two arrays that broadcast, density or probability; it may take a third
        argument ``xp`` (numpy or jax.numpy) to serve the learners that differentiate.
    labels : sequence of numbers
        All labels, if there are finitely many ...
    support : pair of numbers
        ... or the interval of the labels, whose ends may be infinite.
    breaks : sequence of numbers
        Outputs λ at which the likelihood is not smooth; needed for accuracy if there are any.
    shift : float
        Mean of λ; see :class:`Channel`.
    sampler : callable
        ``sampler(rng, outputs)`` draws labels; otherwise the distribution function is inverted.

    Raises
    ------
    ValueError
        If the labels do not have total probability 1: the message gives the deviation.
    """

    function: Callable[..., Any]
    labels: tuple[float, ...] | None = None
    support: tuple[float, float] | None = None
    breaks: tuple[float, ...] = ()
    shift: float | None = None
    sampler: Callable[..., Any] | None = field(default=None)

    name: ClassVar[str] = "custom"
    has_exact_score = False
    has_jumps = True  # of breaks that are named: right for jumps and for kinks

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"a custom channel needs a callable ln P(y | output), got {self.function!r}")
        if (self.labels is None) == (self.support is None):
            raise ValueError("a custom channel needs either labels (a list) or support (an interval)")
        set_field = object.__setattr__
        if self.labels is not None:
            set_field(self, "labels", _numbers(self.labels, "labels"))
            if len(set(self.labels)) != len(self.labels) or not np.all(np.isfinite(self.labels)):
                raise ValueError(f"labels must be distinct finite numbers, got {self.labels}")
        if self.support is not None:
            low, high = support = _numbers(self.support, "support", 2)
            if not low < high:
                raise ValueError(f"support must be (low, high) with low < high, got ({low:g}, {high:g})")
            set_field(self, "support", support)
        set_field(self, "breaks", _numbers(self.breaks, "breaks"))
        set_shift(self)
        outputs = self.centre + np.linspace(-3.1, 2.9, 13)
        y, w = refined_labels(self, self.label_rule(outputs[0], outputs[-1]), outputs)
        with np.errstate(all="ignore"):
            require_normalised(self, outputs, np.exp(self.log_likelihood(y, outputs[:, None])) @ w)

    @property
    def spec(self) -> dict[str, Any]:
        raise ValueError(
            "a custom channel has no description in words or numbers; keep the code that makes it"
        )

    def __repr__(self) -> str:
        where = f"labels={self.labels}" if self.labels is not None else f"support={self.support}"
        return f"channels.Custom({getattr(self.function, '__name__', 'function')}, {where})"

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.labels is not None

    @cached_property
    def _takes_module(self) -> bool:
        try:
            return "xp" in inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            return False

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        extra = {"xp": xp} if self._takes_module else {}
        if xp is not np:
            return self.function(labels, outputs, **extra)
        with np.errstate(all="ignore"):
            value = self.function(labels, outputs, **extra)
            shape = np.broadcast_shapes(np.shape(labels), np.shape(outputs))
            return np.broadcast_to(np.asarray(value, dtype=float), shape)

    def _is_possible(self, labels: np.ndarray) -> np.ndarray:
        if self.support is None:
            return super()._is_possible(labels)
        return (labels >= self.support[0]) & (labels <= self.support[1])

    def _label_words(self) -> str:
        if self.support is None:
            return super()._label_words()
        return f"numbers from {self.support[0]:g} to {self.support[1]:g}"

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        if self.sampler is not None:
            return np.asarray(self.sampler(rng, outputs), dtype=float)
        flat, u = outputs.reshape(-1), rng.random(outputs.size)
        drawn = np.empty(flat.size)
        for i in range(0, flat.size, 512):
            part = slice(i, i + 512)
            drawn[part] = self._inverse(flat[part], u[part])
        return drawn.reshape(outputs.shape)

    def _inverse(self, outputs: Array, u: Array) -> Array:
        """Labels at which the distribution function is u."""
        rule = self.label_rule(float(outputs.min()), float(outputs.max()))
        y, w = refined_labels(self, rule, np.linspace(outputs.min(), outputs.max(), 33))
        total = np.cumsum(w * np.exp(self.log_likelihood(y, outputs[:, None])), axis=1)
        total /= total[:, -1:]
        if self.labels is not None:
            labels: Array = y[np.minimum(np.sum(total < u[:, None], axis=1), y.size - 1)]
            return labels
        # Sums up to a node stand for the middle of its weight: linear between them.
        middle = total - 0.5 * np.diff(total, axis=1, prepend=0.0)
        return np.array([np.interp(a, row, y) for a, row in zip(u, middle, strict=True)])

    def label_rule(self, low: float, high: float) -> LabelRule:
        if self.labels is not None:
            return LabelRule(np.array(self.labels))
        assert self.support is not None
        first, last = self.support
        if math.isfinite(first) and math.isfinite(last):
            expit = special(np).expit
            span = last - first
            return self._with_peaks(
                -36.0,
                36.0,
                low,
                high,
                lambda t: first + span * expit(t),
                lambda t: span * expit(t) * expit(-t),
            )
        if math.isfinite(first):
            return self._with_peaks(-37.0, 40.0, low, high, lambda t: first + np.exp(t), np.exp)
        if math.isfinite(last):
            return self._with_peaks(-40.0, 37.0, low, high, lambda t: last - np.exp(-t), lambda t: np.exp(-t))
        return self._with_peaks(-40.0, 40.0, low, high, np.sinh, np.cosh)

    def _with_peaks(
        self,
        left: float,
        right: float,
        low: float,
        high: float,
        label: Callable[[Array], Array],
        stretch: Callable[[Array], Array],
    ) -> LabelRule:
        """Edges in t fine enough for the narrowest peak of the likelihood to be seen."""
        outputs = np.linspace(low, high, 25)
        t = np.linspace(left, right, 2001)

        def height(t: np.ndarray) -> np.ndarray:
            value = np.asarray(self.log_likelihood(label(t), outputs)) + np.log(stretch(t))
            return np.where(np.isfinite(value), value, -1e300)

        best = t[np.argmax(height(t[:, None]), axis=0)]
        a, b = best - (t[1] - t[0]), best + (t[1] - t[0])
        for _ in range(60):  # a ternary search for each output
            one, two = a + (b - a) / 3, b - (b - a) / 3
            rising = height(one) < height(two)
            a, b = np.where(rising, one, a), np.where(rising, b, two)
        mode = np.clip(0.5 * (a + b), left, right)
        # Half-width at e⁻¹ of the height, by halving from a wide bracket on either side.
        top = height(mode)
        widths = []
        for side in (-1.0, 1.0):
            inner, outer = np.zeros_like(mode), np.full_like(mode, right - left)
            for _ in range(50):
                middle = 0.5 * (inner + outer)
                above = height(np.clip(mode + side * middle, left, right)) > top - 1
                inner, outer = np.where(above, middle, inner), np.where(above, outer, middle)
            widths.append(outer)
        width = float(np.min(np.maximum(*widths)))
        span = 8 * float(np.max(np.maximum(*widths)))
        begin, end = max(left, float(mode.min()) - span), min(right, float(mode.max()) + span)
        n_fine = min(max(math.ceil((end - begin) / (6 * width)), 4), 400)
        edges = np.concatenate([np.linspace(left, right, 26), np.linspace(begin, end, n_fine + 1)])
        return LabelRule(np.unique(edges), label, stretch)


def _numbers(values: Any, what: str, length: int | None = None) -> tuple[float, ...]:
    try:
        numbers = tuple(float(x) for x in values)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be a sequence of numbers, got {values!r}") from None
    if any(math.isnan(x) for x in numbers) or (length is not None and len(numbers) != length):
        raise ValueError(f"{what} must be {length or 'some'} numbers, got {values!r}")
    return numbers

"""The one description of a learning task: what the theory solves and an instance samples."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ._bad_value import BadValue, Remedy, did_you_mean
from ._display import Shown
from ._sizes import MEANINGS, gamma_from, noise_from, positive
from .ingredients import channels, inputs, readouts, weights
from .ingredients.activations import Activation, activation
from .ingredients.weights import WeightLaw

__all__ = ["NOISELESS", "WORDS", "NoiselessLimitWarning", "Problem", "bad_values", "read_part"]

NOISELESS = 1e-12
"""Noise, as a fraction of the variance of the output, that stands for none."""
NOISES = (1e-26, 1e60)
"""Noise, as a multiple of the variance of the outputs of a unit, that is computed with."""
OUTPUT_SIZES = (1e-60, 1e60)
"""Where fourth powers of outputs, also over what is left of them, are doubles."""

NO_QUADRATIC_PART = 1e-28
"""μ₂² as a fraction of the variance of the output up to which it is the rounding of an odd activation."""


class NoiselessLimitWarning(UserWarning):
    """Noise 0 was asked for, and a tiny one is computed with."""


@dataclass(frozen=True, init=False, repr=False)
class Problem(Shown):
    """A two-layer network with k = γd hidden units, learnt from n = αd² labels.

    Parameters
    ----------
    activation
        A name, an expression in x such as ``"tanh(2*x)"``, a callable, or an ``Activation``.
    weights
        ``"gaussian"``, ``"rademacher"``, ``"uniform"``, a list of values, a law of scipy.stats, or a law of
        :mod:`widthwise.weights` (centred, unit variance).
    readouts
        ``"homogeneous"``, ``"rademacher"``, ``"four-point"``, ``"uniform"``, ``"gaussian"``, a list of
        values, a law of scipy.stats, or a law of :mod:`widthwise.readouts` (unit second moment).
    channel
        A number is the variance of Gaussian label noise; or a channel. By default noise of variance 0.1.
    gamma : float
        Hidden units per input k/d, > 0; by default 0.5.
    noise : float, optional
        Variance Δ of Gaussian label noise, in place of ``channel``. 0 is the noiseless limit, computed with
        10⁻¹² of the variance of the output; a warning says so.
    snr : float, optional
        Variance of the network's output over that of Gaussian label noise, in place of ``channel``:
        Δ = r_K/snr, r_K being ``output_power``.
    k, d : float, optional
        Hidden units and dimension of the inputs, in place of ``gamma`` = k/d.
    inputs
        ``"isotropic"``, or Gaussian inputs whose covariance has other eigenvalues: a list of them (mean 1),
        ``"power-law:1.2,144"``, ``"spiked:4,0.1"`` or a law of :mod:`widthwise.inputs`, such as
        ``inputs.from_data(table)``; or data (``"digits"``, ``"file:PATH"``), of which the theory knows the
        covariance and instances draw rows. Needs Gaussian weights and an activation without quadratic part.
    normalise : bool
        Rescale weights and readouts that are given by their values to the moments that are required.

    Frozen, hashable and checked once, here. What is wrong is a ``ValueError`` that knows the field, the rule,
    the value and the way out.

    An activation of mean μ₀ ≠ 0 gives the output a mean μ₀Λ, Λ = Σv_i/√k.  Additive channels do not see
    it and for centred readouts it is 0; otherwise it must be stated, as ``shift`` of the channel.
    """

    activation: Activation
    weights: weights.WeightLaw
    readouts: readouts.Readouts
    channel: channels.Channel
    gamma: float
    inputs: inputs.InputLaw

    def __init__(
        self,
        activation: Any = "relu",
        weights: Any = "gaussian",
        readouts: Any = "homogeneous",
        channel: Any = None,
        gamma: Any = None,
        *,
        noise: Any = None,
        snr: Any = None,
        k: Any = None,
        d: Any = None,
        inputs: Any = "isotropic",
        normalise: bool = False,
    ) -> None:
        given = {"activation": activation, "weights": weights, "readouts": readouts, "channel": channel}
        given |= {"gamma": gamma, "noise": noise, "snr": snr, "k": k, "d": d, "inputs": inputs}
        for name, value in _parts(given, normalise).items():
            if isinstance(value, BadValue):
                raise value
            object.__setattr__(self, name, value)
        variance = self._required_variance()
        self._require_shift(variance)
        self._require_rotations()
        if snr is not None:
            object.__setattr__(self, "channel", channels.Gaussian(noise_from(snr, self.output_power)))
        elif _is_zero(noise) or _is_zero(channel):
            self._take_limit()
        self._require_ordinary_noise(variance)

    def _take_limit(self) -> None:
        tiny = NOISELESS * self.output_power
        object.__setattr__(self, "channel", channels.Gaussian(tiny))
        warnings.warn(
            f"noise 0 is answered by its limit, noise {tiny:.3g}: an error that stays finite is that of the "
            "limit to eleven digits, and one that vanishes with the noise shows as about this size",
            NoiselessLimitWarning,
            stacklevel=3,
        )

    def _required_variance(self) -> float:
        """Of the outputs of a unit; refused where it cannot be computed with."""
        mean, square = float(self.activation.hermite[0]), float(self.activation.second_moment)
        variance = square - mean**2
        if not variance > 1e-14 * square:
            raise BadValue(
                "activation",
                f"{{field}} {self.activation.name!r} is constant: there is nothing to learn",
                remedy="choose another",
            )
        size = math.sqrt(variance)
        if not (OUTPUT_SIZES[0] <= size and square <= OUTPUT_SIZES[1] ** 2):
            raise BadValue(
                "activation",
                f"{{field}} must have outputs of a size from {OUTPUT_SIZES[0]:g} to {OUTPUT_SIZES[1]:g} "
                "(standard deviation for Gaussian inputs)",
                size,
                "measure outputs and labels in another unit",
            )
        return variance

    def _require_ordinary_noise(self, variance: float) -> None:
        noise = getattr(self.channel, "noise", 0.0)
        if noise and not NOISES[0] * variance <= noise <= NOISES[1] * variance:
            raise BadValue(
                "channel",
                f"noise must be from {NOISES[0]:g} to {NOISES[1]:g} times the variance of the outputs of a "
                f"unit, here {variance:.4g}",
                float(noise),
                "what is learnt goes as a power of the noise long before",
            )

    def _require_shift(self, variance: float) -> None:
        mean, v = self.hermite[0], self.readouts.mean
        is_centred = abs(mean * v) < 1e-12 * math.sqrt(variance)
        if self.channel.is_additive or self.channel.shift is not None or is_centred:
            return
        shift = " (0 if labels are made from the centred output), or take centred readouts"
        in_text = "add shift=, as in sign:shift=0," + shift
        raise BadValue(
            "channel",
            f"the mean of the output must be stated: activation {self.activation.name!r} has mean {mean:.4g} "
            f"and the readouts {v:.4g}, so that it is {mean:.4g} Λ with Λ = Σv/√k, and {self.channel!r} "
            "depends on it",
            remedy=Remedy("give shift= to the channel" + shift, in_text, in_text, in_text),
        )

    def _require_rotations(self) -> None:
        """Refuse inputs with a covariance where no formula holds for them."""
        if self.inputs.is_isotropic:
            return
        if not isinstance(self.weights, weights.Gaussian):
            raise BadValue(
                "inputs",
                f"{{field}} that are not isotropic need Gaussian weights, not {self.weights.name}: others "
                "are not invariant under rotations, and the answer depends on the directions of the inputs",
                remedy="take weights 'gaussian', or inputs 'isotropic'",
            )
        mu2 = self.hermite[2]
        if mu2**2 >= NO_QUADRATIC_PART * self.output_power:
            raise BadValue(
                "inputs",
                "{field} that are not isotropic need an activation without quadratic part: "
                f"{self.activation.name!r} has μ₂ = {mu2:.4g}, and the matrix of its quadratic part, seen "
                "through a covariance, is not invariant under rotations; no formula for it is known",
                remedy="take an odd activation such as tanh or erf, or inputs 'isotropic'",
            )

    def require_isotropic(self, what: str) -> None:
        """Refuse inputs with a covariance, in the name of a method that is made for white ones."""
        inputs.require_isotropic(self.inputs, what)

    @cached_property
    def seen_weights(self) -> WeightLaw:
        """The weights as the inputs show them: their law, or its channel averaged over the spectrum."""
        return self.weights if self.inputs.is_isotropic else inputs.GaussianOnSpectrum(self.inputs)

    def offset(self, readouts: Any) -> float:
        """What is added to the outputs of a network with these k readouts before the channel acts.

        shift - μ₀Λ, Λ = Σv_i/√k, where the channel states a shift; otherwise 0.
        """
        if self.channel.shift is None:
            return 0.0
        total = math.fsum(float(v) for v in readouts) / math.sqrt(len(readouts))
        return self.channel.shift - self.hermite[0] * total

    def __repr__(self) -> str:
        spec = self.activation.spec
        parts = [
            f"activation={self.activation!r}" if spec is None else f"activation={spec!r}",
            f"weights={_pasteable(self.weights)}",
            f"readouts={_pasteable(self.readouts)}",
            f"channel={self.channel.noise!r}"
            if isinstance(self.channel, channels.Gaussian)
            else f"channel={self.channel!r}",
            f"gamma={self.gamma!r}",
        ]
        if not self.inputs.is_isotropic:
            parts.append(f"inputs={_pasteable(self.inputs)}")
        return f"Problem({', '.join(parts)})"

    def replace(self, **changes: Any) -> Problem:
        """A problem that differs in what is given, in the words of the constructor."""
        _refuse_unknown(changes)
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in changes}
        for name, words in _IN_PLACE_OF.items():
            if any(changes.get(word) is not None for word in words):
                kept.pop(name, None)
        return Problem(**kept, **changes)

    def to_dict(self) -> dict[str, Any]:
        """A description that JSON can carry; :meth:`from_dict` reads it back."""
        if self.activation.spec is None:
            raise ValueError(
                f"activation {self.activation.name!r} is a bare callable and has no description; "
                "give it as an expression in x"
            )
        described = {
            "activation": self.activation.spec,
            "weights": self.weights.spec,
            "readouts": self.readouts.spec,
            "channel": self.channel.spec,
            "gamma": self.gamma,
        }
        return described if self.inputs.is_isotropic else described | {"inputs": self.inputs.spec}

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Problem:
        """The problem of a description: what :meth:`to_dict` made, or any words of the constructor."""
        _refuse_unknown(description)
        return cls(**description)

    @property
    def snr(self) -> float | None:
        """Variance of the output over that of the noise, r_K/Δ; None for labels without additive noise."""
        noise = getattr(self.channel, "noise", None) if self.channel.is_additive else None
        return None if noise is None else self.output_power / float(noise)

    @cached_property
    def hermite(self) -> tuple[float, float, float]:
        """μ₀, μ₁, μ₂ of the activation."""
        mu = self.activation.hermite
        return float(mu[0]), float(mu[1]), float(mu[2])

    @cached_property
    def matrix_power(self) -> float:
        """r₂ = 1 + γv̄², the power of S₂ (eq. nishi_r_2)."""
        return 1 + self.gamma * self.readouts.mean**2

    @cached_property
    def output_power(self) -> float:
        """r_K = μ₁² + μ₂² r₂/2 + g(1), the variance of the network's output (eq. covariance_vars)."""
        _, mu1, mu2 = self.hermite
        return mu1**2 + 0.5 * mu2**2 * self.matrix_power + float(self.activation.tail_kernel(1.0))


_READERS: dict[str, Callable[..., Any]] = {
    "activation": lambda given, normalise: activation(given),
    "weights": lambda given, normalise: weights.resolve(given, normalise=normalise),
    "readouts": lambda given, normalise: readouts.resolve(given, normalise=normalise),
    "channel": lambda given, normalise: channels.resolve(given),
    "gamma": lambda given, normalise: _gamma(given),
    "inputs": lambda given, normalise: inputs.resolve(given, normalise=normalise),
}
"""One reader for each field, for Python, command line, sweep files and page alike."""

_IN_PLACE_OF = {"channel": ("noise", "snr"), "gamma": ("k", "d")}

WORDS = (*_READERS, "noise", "snr", "k", "d", "normalise")
"""All words that describe a problem."""


def bad_values(description: Mapping[str, Any]) -> dict[str, BadValue]:
    """Everything that is wrong in a description, by the field to blame; empty if it is a problem."""
    _refuse_unknown(description)
    given = {name: value for name, value in description.items() if name != "normalise"}
    found = _parts(given, bool(description.get("normalise", False)))
    wrong = {value.field: value for value in found.values() if isinstance(value, BadValue)}
    if not wrong:
        try:
            Problem(**description)
        except BadValue as error:
            wrong[error.field] = error
    return wrong


def read_part(name: str, given: Any, *, normalise: bool = False) -> Any:
    """One part of a problem from its description: the law, the activation, the channel, the number."""
    try:
        return _READERS[name](given, normalise)
    except BadValue as error:
        raise BadValue.about(name, error) from None
    except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
        raise BadValue.about(name, error) from error


def _parts(given: Mapping[str, Any], normalise: bool) -> dict[str, Any]:
    """Each field as the problem keeps it, or what is wrong with it."""
    found: dict[str, Any] = {}
    defaults = {"activation": "relu", "weights": "gaussian", "readouts": "homogeneous"}
    defaults["inputs"] = "isotropic"
    for name in _READERS:
        try:
            value = given.get(name)
            if name in _IN_PLACE_OF:
                value = _channel(given) if name == "channel" else _width(given)
            found[name] = read_part(name, defaults.get(name) if value is None else value, normalise=normalise)
        except BadValue as error:
            found[name] = error
    return found


def _channel(given: Mapping[str, Any]) -> Any:
    named = [name for name in ("channel", "noise", "snr") if given.get(name) is not None]
    if len(named) > 1:
        raise BadValue(
            named[1],
            f"give one of channel, noise and snr; got {' and '.join(named)}: noise is the variance of the "
            "Gaussian channel, and snr the variance of the output over it",
        )
    if _is_zero(given.get("noise")) or _is_zero(given.get("channel")):
        return channels.Gaussian(NOISELESS)  # the scale follows when the variance of the output is known
    if given.get("noise") is not None:
        return channels.Gaussian(positive("noise", given["noise"]))
    if given.get("snr") is not None:
        positive("snr", given["snr"])  # the channel follows when the variance of the output is known
    return given.get("channel") if given.get("channel") is not None else channels.Gaussian(0.1)


def _is_zero(given: Any) -> bool:
    """Whether a variance of noise is given as 0, as a number or a text."""
    if isinstance(given, (bool, np.bool_)):
        return False
    try:
        return isinstance(given, (int, float, str, np.generic)) and float(given) == 0
    except (ValueError, OverflowError):
        return False


def _width(given: Mapping[str, Any]) -> Any:
    k, d = given.get("k"), given.get("d")
    if k is None and d is None:
        return given.get("gamma") if given.get("gamma") is not None else 0.5
    if given.get("gamma") is not None:
        raise BadValue("k" if k is not None else "d", "give gamma, or k and d, not both: gamma is k/d")
    return gamma_from(k, d)


def _refuse_unknown(parts: Mapping[str, Any]) -> None:
    unknown = sorted(set(parts) - set(WORDS))
    if unknown:
        hint = did_you_mean(unknown[0], WORDS)
        raise ValueError(f"a problem has no {unknown}; {hint}its parts are {', '.join(WORDS)}")


def _gamma(gamma: Any) -> float:
    value = positive("gamma", gamma)
    if not 1e-6 <= value <= 1e6:
        raise BadValue("gamma", f"{{field}} must lie between 1e-6 and 1e6 ({MEANINGS['gamma']})", value)
    return value


def _pasteable(law: Any) -> str:
    return repr(law.spec) if isinstance(law.spec, str) else repr(law)

"""The one description of a learning task: what the theory solves and an instance samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ._display import Shown
from .ingredients import channels, readouts, weights
from .ingredients.activations import Activation, activation

__all__ = ["Problem"]


@dataclass(frozen=True, init=False, repr=False)
class Problem(Shown):
    """A two-layer network with k = γd hidden units, learnt from n = αd² labels.

    Parameters
    ----------
    activation
        A name, an expression in x such as ``"tanh(2*x)"``, a callable, or an ``Activation``.
    weights
        ``"gaussian"``, ``"rademacher"``, ``"uniform"``, or a law of :mod:`widthwise.weights`
        (centred, unit variance).
    readouts
        ``"homogeneous"``, ``"rademacher"``, ``"four-point"``, ``"uniform"``, ``"gaussian"``,
        or a law of :mod:`widthwise.readouts` (unit second moment).
    channel
        A number is the variance of Gaussian label noise; or a channel.
    gamma : float
        Hidden units per input k/d, > 0.

    Frozen, hashable and checked once, here.

    An activation of mean μ₀ ≠ 0 gives the output a mean μ₀Λ, Λ = Σv_i/√k.  Additive channels do not see
    it and for centred readouts it is 0; otherwise it must be stated, as ``shift`` of the channel.
    """

    activation: Activation
    weights: weights.WeightLaw
    readouts: readouts.Readouts
    channel: channels.Channel
    gamma: float

    def __init__(
        self,
        activation: Any = "relu",
        weights: Any = "gaussian",
        readouts: Any = "homogeneous",
        channel: Any = 0.1,
        gamma: float = 0.5,
    ) -> None:
        set_field = object.__setattr__
        set_field(self, "activation", _activation(activation))
        set_field(self, "weights", _weights(weights))
        set_field(self, "readouts", _readouts(readouts))
        set_field(self, "channel", _channel(channel))
        set_field(self, "gamma", _gamma(gamma))
        mu = self.activation.hermite
        if self.activation.second_moment - mu[0] ** 2 < 1e-14 * max(1.0, self.activation.second_moment):
            raise ValueError(
                f"activation {self.activation.name!r} is constant: there is nothing to learn; choose another"
            )

        self._require_shift()

    def _require_shift(self) -> None:
        mean, v = self.hermite[0], self.readouts.mean
        if self.channel.is_additive or self.channel.shift is not None or abs(mean * v) < 1e-12:
            return
        raise ValueError(
            f"the mean of the output must be stated: activation {self.activation.name!r} has mean {mean:.4g} "
            f"and the readouts {v:.4g}, so that it is {mean:.4g} Λ with Λ = Σv/√k, and {self.channel!r} "
            "depends on it; give shift= to the channel (0 if labels are made from the centred output), or "
            "take centred readouts"
        )

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
        return f"Problem({', '.join(parts)})"

    def replace(self, **changes: Any) -> Problem:
        """A problem that differs in the given ingredients."""
        _refuse_unknown(changes)
        return Problem(**{f.name: changes.get(f.name, getattr(self, f.name)) for f in fields(self)})

    def to_dict(self) -> dict[str, Any]:
        """A description that JSON can carry; :meth:`from_dict` reads it back."""
        if self.activation.spec is None:
            raise ValueError(
                f"activation {self.activation.name!r} is a bare callable and has no description; "
                "give it as an expression in x"
            )
        return {
            "activation": self.activation.spec,
            "weights": self.weights.spec,
            "readouts": self.readouts.spec,
            "channel": self.channel.spec,
            "gamma": self.gamma,
        }

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> Problem:
        """The problem of a description made by :meth:`to_dict`."""
        _refuse_unknown(description)
        return cls(**description)

    @cached_property
    def hermite(self) -> tuple[float, float, float]:
        """μ₀, μ₁, μ₂ of the activation."""
        mu = self.activation.hermite
        return float(mu[0]), float(mu[1]), float(mu[2])

    @cached_property
    def matrix_power(self) -> float:
        """r₂ = 1 + γv̄², the power of S₂."""
        return 1 + self.gamma * self.readouts.mean**2

    @cached_property
    def output_power(self) -> float:
        """r_K = μ₁² + μ₂² r₂/2 + g(1), the variance of the network's output."""
        _, mu1, mu2 = self.hermite
        return mu1**2 + 0.5 * mu2**2 * self.matrix_power + float(self.activation.tail_kernel(1.0))


def _refuse_unknown(parts: dict[str, Any]) -> None:
    known = {f.name for f in fields(Problem)}
    unknown = set(parts) - known
    if unknown:
        raise ValueError(f"a problem has no {sorted(unknown)}; its parts are {sorted(known)}")


def _activation(spec: Any) -> Activation:
    return activation(spec)


def _weights(spec: Any) -> weights.WeightLaw:
    return weights.resolve(spec)


def _readouts(spec: Any) -> readouts.Readouts:
    return readouts.resolve(spec)


def _channel(spec: Any) -> channels.Channel:
    return channels.resolve(spec)


def _gamma(gamma: Any) -> float:
    try:
        value = float(gamma)
    except (TypeError, ValueError):
        raise ValueError(f"gamma must be a number > 0 (hidden units per input, k/d); got {gamma!r}") from None
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"gamma must be > 0 and finite (hidden units per input, k/d); got {value:g}")
    if not 1e-6 <= value <= 1e6:
        raise ValueError(f"gamma must lie between 1e-6 and 1e6 to be computed reliably; got {value:g}")
    return value


def _pasteable(law: Any) -> str:
    return repr(law.spec) if isinstance(law.spec, str) else repr(law)

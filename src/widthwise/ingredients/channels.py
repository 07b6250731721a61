r"""Output channels P_out(y | λ): how a label is made from the network's output λ.

The theory needs two functions of a channel, of the overlap q and the power r of λ,

.. math:: \psi_\mathrm{out}(q; r) = \int dy\, E_\xi\, Z \ln Z,  \qquad
          Z = E_u P_\mathrm{out}(y \mid \xi\sqrt q + u\sqrt{r - q}),

and its slope in q, half the Fisher information that a label carries on λ.  Both are
written in the *gap* r - q, which stays accurate when the network is learnt almost perfectly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Channel", "Gaussian", "resolve"]


class Channel:
    """What the theory and the learners ask of an output channel."""

    name: str
    is_additive: bool
    """Whether P_out(y | λ) depends on y - λ only (then the mean of the activation drops out)."""

    @property
    def spec(self) -> dict[str, Any]:
        """What :func:`resolve` turns back into this channel."""
        raise NotImplementedError

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        """ln P_out(y | λ) elementwise, in the arithmetic of ``xp`` (numpy or jax.numpy)."""
        raise NotImplementedError

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        """One label for each output λ."""
        raise NotImplementedError

    def free_entropy(self, gap: ArrayLike, power: float) -> np.ndarray:
        """ψ_out at q = power - gap."""
        raise NotImplementedError

    def free_entropy_slope(self, gap: ArrayLike, power: float) -> np.ndarray:
        """∂ψ_out/∂q > 0."""
        raise NotImplementedError

    def free_entropy_curvature(self, gap: ArrayLike, power: float) -> np.ndarray:
        """∂²ψ_out/∂q²."""
        raise NotImplementedError

    def free_entropy_known(self, power: float) -> float:
        """ψ_out(power; power): minus the entropy of the label given λ."""
        raise NotImplementedError

    def bayes_error(self, gap: ArrayLike, power: float) -> np.ndarray:
        """Mean-square error of the optimal prediction of a fresh label."""
        raise NotImplementedError

    def gibbs_error(self, gap: ArrayLike, power: float) -> np.ndarray:
        """Mean-square error of the prediction by one draw from the posterior."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Gaussian(Channel):
    """y = λ + √noise z: ``noise`` is the variance Δ of the label noise, > 0."""

    noise: float

    name = "gaussian"
    is_additive = True

    def __post_init__(self) -> None:
        try:
            noise = float(self.noise)
        except (TypeError, ValueError):
            raise ValueError(f"noise must be a number (variance of the labels), got {self.noise!r}") from None
        if not (noise > 0 and math.isfinite(noise)):
            raise ValueError(f"noise must be > 0 and finite (variance Delta of the labels); got {noise:g}")
        object.__setattr__(self, "noise", noise)

    def __repr__(self) -> str:
        return f"channels.Gaussian({self.noise!r})"

    @property
    def spec(self) -> dict[str, Any]:
        return {"kind": "gaussian", "noise": self.noise}

    def log_likelihood(self, labels: Any, outputs: Any, xp: Any = np) -> Any:
        return -((labels - outputs) ** 2) / (2 * self.noise) - 0.5 * math.log(2 * math.pi * self.noise)

    def sample(self, rng: np.random.Generator, outputs: ArrayLike) -> np.ndarray:
        outputs = np.asarray(outputs, dtype=float)
        return outputs + math.sqrt(self.noise) * rng.standard_normal(outputs.shape)

    def free_entropy(self, gap: ArrayLike, power: float) -> np.ndarray:
        return -0.5 * np.log(2 * math.pi * math.e * (self.noise + np.asarray(gap)))

    def free_entropy_slope(self, gap: ArrayLike, power: float) -> np.ndarray:
        return 0.5 / (self.noise + np.asarray(gap))

    def free_entropy_curvature(self, gap: ArrayLike, power: float) -> np.ndarray:
        return 0.5 / (self.noise + np.asarray(gap)) ** 2

    def free_entropy_known(self, power: float) -> float:
        return -0.5 * math.log(2 * math.pi * math.e * self.noise)

    def bayes_error(self, gap: ArrayLike, power: float) -> np.ndarray:
        return self.noise + np.asarray(gap)

    def gibbs_error(self, gap: ArrayLike, power: float) -> np.ndarray:
        return self.noise + 2 * np.asarray(gap)


def resolve(spec: Any) -> Channel:
    """The channel meant by a number (variance of Gaussian label noise), a mapping, or a channel."""
    if isinstance(spec, Channel):
        return spec
    if isinstance(spec, dict):
        kind = spec.get("kind")
        if kind != "gaussian" or set(spec) != {"kind", "noise"}:
            raise ValueError(f"unknown channel {spec!r}; give {{'kind': 'gaussian', 'noise': ...}}")
        return Gaussian(spec["noise"])
    if isinstance(spec, (int, float, np.floating, np.integer)) and not isinstance(spec, bool):
        return Gaussian(float(spec))
    raise ValueError(
        f"unknown channel {spec!r}; give the variance of Gaussian label noise as a number, or a channel"
    )

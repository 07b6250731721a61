r"""From the sizes of a data set to the ratios of the theory, and nowhere else.

.. math:: \alpha = n/d^2, \qquad \gamma = k/d, \qquad \Delta = r_K/\mathrm{snr},

n samples of dimension d, k hidden units, r_K the variance of the network's output (signal power).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._bad_value import BadValue

__all__ = [
    "MEANINGS",
    "alpha_from",
    "alpha_linear_from",
    "conversions",
    "gamma_from",
    "noise_from",
    "positive",
]

MEANINGS = {
    "n": "number of samples",
    "d": "dimension of the inputs",
    "k": "number of hidden units",
    "snr": "variance of the network's output over that of the label noise",
    "alpha": "samples per squared dimension, n/d²",
    "gamma": "hidden units per input, k/d",
    "noise": "variance Delta of the label noise",
}
"""What the words mean, for messages."""


def positive(field: str, value: Any) -> float:
    """A finite number > 0; texts are read as numbers, true and false are none."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = float(value)
    except OverflowError:
        raise BadValue(field, f"{{field}} must be > 0 and < 1e308 ({MEANINGS[field]})", value) from None
    except (TypeError, ValueError):
        raise BadValue(field, f"{{field}} must be a number > 0 ({MEANINGS[field]})", value) from None
    if not (number > 0 and math.isfinite(number)):
        rule = "> 0" if math.isfinite(number) else "> 0 and finite"
        raise BadValue(field, f"{{field}} must be {rule} ({MEANINGS[field]})", number)
    return number


def alpha_from(alpha: Any, n: Any, d: Any) -> Any:
    """α as it is given, or n/d²; a list of n gives a list of α."""
    return _ratio("alpha", alpha, n, d, 2)


def alpha_linear_from(alpha_linear: Any, n: Any, d: Any) -> Any:
    """α₁ as it is given, or n/d."""
    return _ratio("alpha_linear", alpha_linear, n, d, 1)


def _ratio(name: str, given: Any, n: Any, d: Any, power: int) -> Any:
    rule = f"{name} = n/d" + ("²" if power == 2 else "")
    if n is None and d is None:
        if given is None:
            raise BadValue(name, "{field} is missing", remedy=f"give {rule}, or n and d")
        return given
    if given is not None:
        raise BadValue("n" if n is not None else "d", f"give {name}, or n and d, not both: {rule}")
    if n is None or d is None:
        missing = "n" if n is None else "d"
        raise BadValue(missing, f"{{field}} is missing ({MEANINGS[missing]})", remedy=f"{rule} needs both")
    size = positive("d", d) ** power
    if np.ndim(n):
        return np.array([positive("n", one) for one in np.ravel(n)]) / size
    return positive("n", n) / size


def gamma_from(k: Any, d: Any) -> float:
    """γ = k/d."""
    if k is None or d is None:
        missing = "k" if k is None else "d"
        raise BadValue(
            missing, f"{{field}} is missing ({MEANINGS[missing]})", remedy="gamma = k/d needs both"
        )
    return positive("k", k) / positive("d", d)


def noise_from(snr: Any, output_power: float) -> float:
    """Δ = r_K/snr."""
    noise = output_power / positive("snr", snr)
    if not 0 < noise < math.inf:
        rule = f"the variance of the noise, {output_power:.4g}/{{field}}, must be a finite number > 0"
        raise BadValue("snr", rule, positive("snr", snr), "take a number of a usual size")
    return noise


def conversions(**made: tuple[float, str]) -> str:
    """``alpha = n/d² = 2.5, gamma = k/d = 0.5``: what was converted, for the reader to check."""
    return ", ".join(f"{name} = {rule} = {value:.6g}" for name, (value, rule) in made.items())

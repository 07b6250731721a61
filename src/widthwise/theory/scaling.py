r"""Scaling laws: how the best possible error falls with the number of samples, and what width it takes.

Features are learnt one after the other, the largest readouts first.  Their number k_c(n) is the effective
width; for readouts :math:`v_i \propto i^{-\beta}` with β > ½ and label noise the optimal error is of order
k_c d/n,

.. math:: \varepsilon \propto n^{1/(2\beta) - 1} \quad (k_c < k), \qquad
          \varepsilon \propto n^{-1} \quad (k_c = k)

(arXiv:2605.10395).  One draw from the posterior, restricted to what is learnt, errs by
:math:`2\varepsilon - g(1)\sum_{i > k_c} P_i v_i^2`: features that are not learnt are left out, not drawn.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._bad_value import BadValue
from .._display import Plotted
from .._records import as_csv, as_json
from .._sizes import MEANINGS, positive
from ..ingredients.features import Features, PowerLaw
from ..problem import Problem
from .families.features import FeatureProblem, feature_problem, has_many_features
from .maxwell import last_jump
from .setting import setting_of
from .solution import CONVERGED, UNRESOLVED, Solution
from .solver import ALPHA_RANGE, learning_curve

__all__ = ["ScalingLaw", "crossover", "effective_width", "scaling_law"]

_OCTAVE = math.sqrt(2.0)
_N_HALVINGS = 60
_RTOL = 1e-9
_COLUMNS = ("n", "alpha", "excess_error", "effective_width", "one_draw_error", "local_exponent", "status")


@dataclass(frozen=True, eq=False)
class ScalingLaw(Plotted):
    """The optimum along n at one dimension: arrays, one entry for each n asked for."""

    problem: Problem = field(repr=False)
    d: float
    n: np.ndarray
    """Samples."""
    excess_error: np.ndarray
    """ε of the optimal prediction."""
    effective_width: np.ndarray
    """k_c, the number of hidden units that are learnt (of k = γd)."""
    one_draw_error: np.ndarray
    """ε of the network that one draw from the posterior makes of the learnt features alone."""
    local_exponent: np.ndarray
    """d ln ε/d ln n over the octave from n/√2 to √2 n, which averages over the steps of single features."""
    status: tuple[str, ...]
    """"converged" or the reason why there are no numbers, for each n."""

    @property
    def k(self) -> float:
        """Hidden units of the teacher, γd."""
        return self.problem.gamma * self.d

    @property
    def alpha(self) -> np.ndarray:
        """n/d²."""
        return self.n / self.d**2

    @property
    def predicted_exponents(self) -> tuple[float, float]:
        """Of ε in n, while features are found and when all are: 1/(2β) - 1 and -1.

        The first is that of power laws with β > ½ at ε below the noise (far above it, 1 - 2β); it is NaN for
        other laws, whose error does not fall as a power of n in that regime.
        """
        law = self.problem.readouts
        has_power = isinstance(law, PowerLaw) and law.exponent > 0.5
        return (1 / (2 * law.exponent) - 1 if has_power else math.nan), -1.0  # type: ignore[attr-defined]

    @cached_property
    def crossover(self) -> float:
        """n from which all units are learnt: where the first of the predicted exponents gives way to -1.

        Infinite where some never are (readouts 0, or of any size).
        """
        return crossover(self.problem, self.d)

    def __len__(self) -> int:
        return self.n.size

    def to_dicts(self) -> list[dict[str, Any]]:
        """A record for each n."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return [
            {name: str(c[i]) if name == "status" else float(c[i]) for name, c in columns.items()}
            for i in range(len(self))
        ]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """CSV, each row with the parameters; written to ``path`` if one is given."""
        return _kept(as_csv(self._description, self.to_dicts(), _COLUMNS), path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """JSON with the predicted exponents and the crossover; written to ``path`` if one is given."""
        first, second = self.predicted_exponents
        said = self._description | {
            "predicted_exponents": [first, second],
            "crossover": self.crossover,
        }
        return _kept(as_json(said, self.to_dicts()), path)

    @property
    def _description(self) -> dict[str, Any]:
        return self.problem.to_dict() | {"d": self.d}

    def to_xarray(self) -> Any:
        """An xarray Dataset over n."""
        import xarray

        data = {name: ("n", np.asarray(getattr(self, name))) for name in _COLUMNS if name != "n"}
        first, second = self.predicted_exponents
        attributes = {
            "problem": repr(self.problem),
            "d": self.d,
            "exponent_while_features_are_found": first,
            "exponent_when_all_are": second,
            "crossover": self.crossover,
        }
        return xarray.Dataset(data, {"n": self.n}, attrs=attributes)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, one row for each n."""
        import pandas

        return pandas.DataFrame(self.to_dicts(), columns=list(_COLUMNS))


def scaling_law(problem: Problem, n: ArrayLike, d: float | None = None) -> ScalingLaw:
    """Error, effective width and exponents of the optimum against the number of samples.

    Parameters
    ----------
    problem : Problem
        With readouts such as ``readouts.PowerLaw(exponent, size)``; others work too.
    n : numbers
        Samples, > 0.
    d : number, optional
        Dimension of the inputs. A law of k features fixes it, k = γd, and need not be told.

    Returns
    -------
    ScalingLaw
    """
    size = _dimension(problem, d)
    samples = _samples(n)
    low, high = ALPHA_RANGE
    alpha = samples / size**2
    if np.any(bad := (alpha < _OCTAVE * low) | (alpha > high / _OCTAVE)):
        reach = f"{_OCTAVE * low * size**2:.3g} and {high / _OCTAVE * size**2:.3g}"
        rule = f"{{field}} must lie between {reach} at d = {size:g} to be computed reliably"
        raise BadValue("n", rule, float(samples[bad][0]))
    order = np.unique(np.concatenate([alpha, alpha / _OCTAVE, alpha * _OCTAVE]))
    found = _optimum(problem, order)
    here, before, after = (np.searchsorted(order, a) for a in (alpha, alpha / _OCTAVE, alpha * _OCTAVE))
    error = found.gap
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.log(error[after] / error[before]) / math.log(2)
    return ScalingLaw(
        problem,
        size,
        samples,
        error[here],
        _whole(problem.gamma * size * found.share[here]),
        2 * error[here] - found.left_out[here],
        exponent,
        tuple(found.status[i] for i in here),
    )


def effective_width(problem: Problem, alpha: np.ndarray, d: float) -> np.ndarray:
    """Hidden units, of γd, that the optimum has learnt at each α; NaN where it has no numbers."""
    return _whole(problem.gamma * d * _optimum(problem, alpha).share)


def _whole(widths: np.ndarray) -> np.ndarray:
    """Numbers of units, whole where they are but for rounding."""
    nearest = np.round(widths)
    return np.where(np.abs(widths - nearest) < 1e-9 * (1 + nearest), nearest, widths)


@dataclass(frozen=True)
class _Optimum:
    gap: np.ndarray
    share: np.ndarray
    """Of the hidden units, learnt."""
    left_out: np.ndarray
    """g(1) E[v²; not learnt]."""
    status: Sequence[str]


def _optimum(problem: Problem, alpha: np.ndarray) -> _Optimum:
    setting = setting_of(problem)
    if has_many_features(setting):
        return _of_features(feature_problem(problem, "main"), alpha)
    points = learning_curve(problem, alpha)
    rows = [_learnt(point) for point in points]
    share, left = (np.array(column) for column in zip(*rows, strict=True))
    return _Optimum(points.excess_error, share, setting.kernel_total * left, [p.status for p in points])


def _of_features(features: FeatureProblem, alpha: np.ndarray) -> _Optimum:
    points = [features.equilibrium(float(a)) for a in alpha]
    masses = np.append(0.0, np.cumsum(features.sums.masses))
    is_known = np.array([features.is_known(float(a)) for a in alpha])
    n = np.where(is_known, len(features.sums), [point.n for point in points])
    gap = np.where(is_known, 0.0, [point.gap for point in points])
    left = features.setting.kernel_total * features.sums.tail[n]
    share = np.where(np.isnan(gap), np.nan, masses[n])
    return _Optimum(gap, share, left, [UNRESOLVED if np.isnan(g) else CONVERGED for g in gap])


def _learnt(point: Solution) -> tuple[float, float]:
    """Share of the units that are learnt, and E v² of the others."""
    if not point.is_converged:
        return math.nan, math.nan
    weights = point.readout_weights * (point.weight_overlap > 0)
    return float(weights.sum()), float(1 - weights @ point.readout_values**2)


def crossover(problem: Problem, d: float | None = None) -> float:
    """n from which every unit is learnt; infinite where some never are."""
    return _crossover(problem) * _dimension(problem, d) ** 2


def _crossover(problem: Problem) -> float:
    """α from which every unit is learnt."""
    setting = setting_of(problem)
    if setting.classes is None or setting.is_linear or setting.classes.masses.sum() < 1 - 1e-9:
        return math.inf
    if has_many_features(setting):
        return last_jump(feature_problem(problem, "main"))

    def is_all(alpha: float) -> bool:
        return bool(_optimum(problem, np.array([alpha])).share[0] > 1 - 1e-9)

    low, high = 1.0, 1.0
    while not is_all(high):
        low, high = high, 4 * high
        if high > ALPHA_RANGE[1]:
            return math.inf
    while is_all(low):
        low, high = 0.25 * low, low
        if low < ALPHA_RANGE[0]:
            return 0.0
    for _ in range(_N_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_all(middle) else (middle, high)
        if high / low - 1 < _RTOL:
            break
    return high


def _dimension(problem: Problem, d: float | None) -> float:
    law = problem.readouts
    if d is None:
        if not isinstance(law, Features):
            raise BadValue(
                "d", f"{{field}} must be given ({MEANINGS['d']}): {law.name} readouts do not fix it"
            )
        return law.size / problem.gamma
    value = positive("d", d)
    if isinstance(law, Features) and abs(problem.gamma * value - law.size) > 0.5 + 1e-9 * law.size:
        rule = f"{{field}} must be k/gamma = {law.size / problem.gamma:g} for {law.size} features"
        raise BadValue("d", rule, value, "leave it out, or change gamma or the number of features")
    return value


def _samples(n: ArrayLike) -> np.ndarray:
    values = np.atleast_1d(np.asarray(n))
    if values.ndim != 1 or values.size == 0:
        raise BadValue("n", f"{{field}} must be a number or a list of numbers, got shape {values.shape}")
    return np.array([positive("n", value) for value in values.tolist()])


def _kept(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text

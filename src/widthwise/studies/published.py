"""Measurements that come with the package: those that others published, and students and HMC of our own.

``read_hmc`` has means over instances of the excess error for readouts i^(-0.3), tanh(2x) without its linear
part, label noise 0.04 and γ = ½: those of arXiv:2605.10395 (d = 200, 16 instances) and of
``examples/scaling_hmc.py``. ``read_widths`` has the students of ``examples/scaling_widths.py``, and
``published_mnist`` HMC on images.

Of the times of HMC (``read_published``) there are means and standard deviations over ten instances, in which
one that never crossed counts as 0. The moments of those that crossed follow from them. Log-normal times enter
the likelihood through the mean and the variance of their logarithms only, so that stand-ins with the
published moments, laid out at quantiles, have the likelihood of log-normal instances; intervals drawn from
them are those of such instances, not of the ones that were run.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.special import ndtri

from .hardness import Crossing
from .survival import LAWS, chi_square

__all__ = [
    "PRINTED_CHI_SQUARE",
    "HmcPoint",
    "PublishedPoint",
    "published_chi_square",
    "published_crossings",
    "published_mnist",
    "read_hmc",
    "read_published",
    "read_widths",
]

PRINTED_CHI_SQUARE = {
    "homogeneous": {"exponential": (2.22, 1.47, 1.14), "power": (8.01, 7.25, 6.35)},
    "rademacher": {"exponential": (1.88, 2.12, 1.70), "power": (8.10, 7.70, 8.57)},
    "gaussian": {"exponential": (0.66, 0.44, 0.26), "power": (0.62, 0.53, 0.39)},
}
"""χ² of the paper's HMC table, by readouts and law, in the order of its thresholds."""


@dataclass(frozen=True)
class PublishedPoint:
    """Mean and deviation of the time at one d, as published and without the runs that never crossed."""

    readouts: str
    threshold: float
    d: int
    n_instances: int
    n_never: int
    limit: int
    mean: float
    std: float

    @property
    def n_crossed(self) -> int:
        """Instances that crossed."""
        return self.n_instances - self.n_never

    @property
    def mean_crossed(self) -> float:
        """Mean time of the instances that crossed."""
        return self.mean * self.n_instances / self.n_crossed

    @property
    def std_crossed(self) -> float:
        """Standard deviation of the instances that crossed (the published one divides by their number)."""
        second = (self.std**2 + self.mean**2) * self.n_instances / self.n_crossed
        return math.sqrt(second - self.mean_crossed**2)


def read_published() -> list[PublishedPoint]:
    """The table of the package."""
    kinds: dict[str, Any] = {"readouts": str, "threshold": float, "mean": float, "std": float}
    return [
        PublishedPoint(**{name: kinds.get(name, int)(text) for name, text in row.items()})
        for row in _rows("hardness_hmc.csv")
    ]


def published_chi_square(*, is_smallest_left_out: bool = True) -> dict[tuple[str, float, str], float]:
    """χ² by (readouts, threshold, law), never-crossing instances as 0 as published.

    With the smallest d left out (60 for homogeneous and Rademacher readouts, 80 for Gaussian ones) these are
    the values that the paper prints.
    """
    points = read_published()
    found = {}
    for readouts, threshold in dict.fromkeys((p.readouts, p.threshold) for p in points):
        chosen = [p for p in points if (p.readouts, p.threshold) == (readouts, threshold)]
        chosen = chosen[1:] if is_smallest_left_out else chosen
        columns = ([p.d for p in chosen], [p.mean for p in chosen], [p.std for p in chosen])
        for law in LAWS:
            found[readouts, threshold, law] = chi_square(*columns, law)[2]
    return found


def published_crossings(*, is_censoring_kept: bool = True) -> list[Crossing]:
    """Stand-ins for the instances; those that never crossed are censored at the end of a run, or dropped."""
    found = []
    for p in read_published():
        variance = math.log1p((p.std_crossed / p.mean_crossed) ** 2)
        z = ndtri((np.arange(p.n_crossed) + 0.5) / p.n_crossed)
        z /= z.std()
        logs = math.log(p.mean_crossed) - variance / 2 + math.sqrt(variance) * z
        found += [Crossing(p.readouts, p.threshold, p.d, i, math.exp(v), False) for i, v in enumerate(logs)]
        if is_censoring_kept:
            seeds = range(p.n_crossed, p.n_instances)
            found += [Crossing(p.readouts, p.threshold, p.d, i, float(p.limit), True) for i in seeds]
    return found


@dataclass(frozen=True)
class HmcPoint:
    """Mean excess error of posterior samples over instances."""

    source: str
    """"published" or "widthwise"."""
    d: int
    alpha: float
    n_instances: int
    excess_error: float
    standard_error: float


def read_hmc(source: str | None = None) -> list[HmcPoint]:
    """All points, or those of one source."""
    points = [
        HmcPoint(
            row["source"],
            int(row["d"]),
            float(row["alpha"]),
            int(row["n_instances"]),
            float(row["excess_error"]),
            float(row["standard_error"]),
        )
        for row in _rows("scaling_hmc.csv")
    ]
    return [point for point in points if source in (None, point.source)]


def read_widths() -> list[dict[str, float]]:
    """A row for each n and width of the students, with the words of :class:`~.width.WidthRow`."""
    return [
        {name: float(value) for name, value in row.items() if name != "is_best"}
        for row in _rows("scaling_widths.csv")
    ]


def published_mnist() -> dict[str, Any]:
    """What the authors of arXiv:2510.24616 measured with HMC on MNIST, and its spectrum."""
    text = _text("mnist_inputs.json")
    content: dict[str, Any] = json.loads(text)
    means, errors = (np.array([one[name] for one in content["hmc"]]) for name in ("mean", "se"))
    weights = 1 / errors**2
    return {
        "eigenvalues": np.array(content["eigenvalues"]),
        "alpha": np.array(content["alpha"]),
        "excess_error": (means * weights).sum(axis=0) / weights.sum(axis=0),
        "standard_error": weights.sum(axis=0) ** -0.5,
    }


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in _text(name).splitlines() if not line.startswith("#")))


def _text(name: str) -> str:
    return (files(__package__) / "data" / name).read_text(encoding="utf-8")

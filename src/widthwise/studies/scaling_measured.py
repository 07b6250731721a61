"""Measurements beside the theory of scaling laws: published HMC, and HMC and Adam students of our own.

``read_hmc`` has means over instances of the excess error for readouts i^(-0.3), tanh(2x) without its linear
part, label noise 0.04 and γ = ½: those of arXiv:2605.10395 (d = 200, 16 instances) and of
``examples/scaling_hmc.py``. ``read_widths`` has the students of ``examples/scaling_widths.py``.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["HmcPoint", "read_hmc", "read_widths"]


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


def _rows(name: str) -> list[dict[str, str]]:
    text = (files(__package__) / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))

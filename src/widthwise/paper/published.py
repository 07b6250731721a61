"""What the authors measured and published beside their code, as tables in our words.

The numbers are theirs (arXiv:2505.24849; github.com/Minh-Toan/extensive-width-NN), re-tabulated into
``data/measurements.json``; its ``source`` says what each is.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ..networks.comparison import Mean
from .table import Table

__all__ = ["dynamics", "measurements", "nishimori", "source"]


@cache
def _data() -> dict[str, Any]:
    text = (files(__package__) / "data" / "measurements.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def source() -> dict[str, str]:
    """Where the numbers come from and what they mean."""
    source: dict[str, str] = _data()["source"]
    return source


def measurements(item: str) -> Table:
    """Means over instances, with the standard error that follows from their deviation, one row for each α."""
    rows = []
    for entry in _data()["measurements"]:
        if entry["item"] != item:
            continue
        counts = entry["n_instances"]
        counts = counts if isinstance(counts, list) else [counts] * len(entry["alpha"])
        shared = {name: entry[name] for name in ("series", "learner", "start", "d")}
        for alpha, mean, std, n in zip(entry["alpha"], entry["mean"], entry["std"], counts, strict=True):
            rows.append(
                shared
                | {
                    "source": "authors",
                    "alpha": alpha,
                    "quantity": entry["quantity"],
                    "measured": mean,
                    "standard_error": Mean.from_std(mean, std, n).standard_error,
                    "deviation_over_instances": std,
                    "n_instances": n,
                }
            )
    return Table(rows)


def dynamics() -> list[dict[str, Any]]:
    """Overlaps along two HMC runs at d = 200 (see ``source()['dynamics']`` for the case)."""
    runs: list[dict[str, Any]] = _data()["dynamics"]
    return runs


def nishimori() -> dict[str, dict[str, list[float]]]:
    """e₁₂/e₀₁ - 1 along two HMC runs, by their start (see ``source()['nishimori']``)."""
    runs: dict[str, dict[str, list[float]]] = _data()["nishimori"]
    return runs

"""The three sizes at which items run, in one place: ``smoke``, ``laptop`` and ``paper``.

``smoke`` is for the tests: seconds an item, at sizes where corrections of order 1/d are large. ``laptop`` is
what docs/reproduction holds: minutes an item on two cores. ``paper`` has the paper's own sizes and numbers of
instances, and is meant for a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SCALES", "Settings", "settings_of"]

SCALES = ("smoke", "laptop", "paper")


@dataclass(frozen=True)
class Settings:
    """What an item needs to know about a scale."""

    scale: str
    d: int = 0
    """Dimension of the inputs."""
    n_seeds: int = 1
    alphas: tuple[float, ...] = ()
    iterations: Mapping[str, int] = field(default_factory=dict)
    """Length of a run, by learner."""
    n_points: int = 80
    """Points of a theory curve."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What only one item has."""

    def __getitem__(self, name: str) -> Any:
        return self.more[name]


def _steps(first: float, last: float, step: float) -> tuple[float, ...]:
    n = round((last - first) / step)
    return tuple(round(first + i * step, 10) for i in range(n + 1))


_TABLE: dict[str, dict[str, dict[str, Any]]] = {
    "gaussian-weights": {
        "smoke": {"d": 24, "alphas": (2.0,), "iterations": {"hmc": 60, "adam": 300, "gamp_rie": 60}},
        "laptop": {
            "d": 60,
            "n_seeds": 2,
            "alphas": (0.5, 1.0, 2.0, 4.0),
            "iterations": {"hmc": 400, "adam": 1500, "gamp_rie": 100},
        },
        "paper": {
            "d": 150,
            "n_seeds": 10,
            "alphas": _steps(0.5, 8.0, 0.5),
            "iterations": {"hmc": 1250, "adam": 20000, "gamp_rie": 200},
        },
    },
    "binary-weights": {
        "smoke": {"d": 30, "alphas": (0.6, 2.2), "iterations": {"metropolis": 200, "gamp_rie": 60}},
        "laptop": {
            "d": 60,
            "n_seeds": 4,
            "alphas": (0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0),
            "iterations": {"metropolis": 4000, "gamp_rie": 100},
        },
        "paper": {
            "d": 150,
            "n_seeds": 16,
            "alphas": _steps(0.2, 4.0, 0.2),
            "iterations": {"metropolis": 4000, "gamp_rie": 200},
        },
    },
    "readouts": {
        "smoke": {"d": 24, "alphas": (2.0,), "iterations": {"hmc": 60}, "more": {"profile_alphas": (2.0,)}},
        "laptop": {
            "d": 60,
            "n_seeds": 2,
            "alphas": (0.5, 1.0, 1.5, 2.0, 4.0, 6.0),
            "iterations": {"hmc": 2000},
            "more": {"profile_alphas": (0.5, 1.0, 2.0, 4.0)},
        },
        "paper": {
            "d": 150,
            "n_seeds": 50,
            "alphas": _steps(0.5, 7.0, 0.5),
            "iterations": {"hmc": 1250},
            "more": {"profile_alphas": (0.5, 1.0, 2.0, 4.0)},
        },
    },
    "overlaps": {
        "smoke": {"d": 30, "iterations": {"hmc": 80}},
        "laptop": {"d": 80, "n_seeds": 2, "iterations": {"hmc": 800}},
        "paper": {"d": 200, "n_seeds": 1, "iterations": {"hmc": 1000}},
    },
    "ansatz": {
        "smoke": {"d": 24, "alphas": (2.0,), "iterations": {"hmc": 60}},
        "laptop": {"d": 60, "n_seeds": 3, "alphas": (0.5, 1.0, 2.0, 4.0), "iterations": {"hmc": 1000}},
        "paper": {"d": 150, "n_seeds": 10, "alphas": _steps(0.5, 7.0, 0.5), "iterations": {"hmc": 1250}},
    },
    "gamp-rie": {
        "smoke": {"d": 30, "alphas": (1.0, 2.0), "iterations": {"metropolis": 60, "gamp_rie": 60}},
        "laptop": {
            "d": 60,
            "n_seeds": 4,
            "alphas": (0.4, 0.8, 1.2, 1.6, 2.0, 3.0, 4.0),
            "iterations": {"metropolis": 200, "gamp_rie": 100},
        },
        "paper": {
            "d": 150,
            "n_seeds": 16,
            "alphas": _steps(0.2, 4.0, 0.2),
            "iterations": {"metropolis": 4000, "gamp_rie": 200},
        },
    },
    "hmc-sigma3": {
        "smoke": {"d": 24, "alphas": (2.0,), "iterations": {"hmc": 60}},
        "laptop": {"d": 60, "n_seeds": 2, "alphas": (1.0, 3.0), "iterations": {"hmc": 400}},
        "paper": {"d": 150, "n_seeds": 4, "alphas": _steps(0.5, 8.0, 0.5), "iterations": {"hmc": 500}},
    },
    "classification": {
        "smoke": {"d": 30, "alphas": (3.0,), "iterations": {"gamp_rie": 60}, "n_points": 12},
        "laptop": {
            "d": 60,
            "n_seeds": 4,
            "alphas": (1.0, 2.0, 4.0, 6.0, 8.0),
            "iterations": {"gamp_rie": 200},
        },
        "paper": {"d": 150, "n_seeds": 16, "alphas": _steps(1.0, 10.0, 1.0), "iterations": {"gamp_rie": 400}},
    },
    "limits": {
        "smoke": {"d": 30, "alphas": (2.0,), "iterations": {"gamp_rie": 60}, "n_points": 12},
        "laptop": {
            "d": 60,
            "n_seeds": 4,
            "alphas": (0.5, 1.0, 2.0, 3.0, 4.0),
            "iterations": {"gamp_rie": 100},
        },
        "paper": {"d": 150, "n_seeds": 16, "alphas": _steps(0.5, 4.0, 0.5), "iterations": {"gamp_rie": 200}},
    },
    "nishimori": {
        "smoke": {"d": 16, "iterations": {"hmc": 40}},
        "laptop": {"d": 40, "n_seeds": 3, "iterations": {"hmc": 250}},
        "paper": {"d": 150, "n_seeds": 4, "iterations": {"hmc": 1000}},
    },
    "phase-diagram": {"smoke": {"n_points": 6}, "laptop": {"n_points": 50}, "paper": {"n_points": 120}},
    "hardness-adam": {
        "smoke": {
            "iterations": {"adam": 500},
            "more": {"d": (16, 24), "n_batches": 1, "record_every": 10},
            "n_seeds": 2,
        },
        "laptop": {
            "iterations": {"adam": 3000},
            "more": {"d": (20, 30, 40, 50), "n_batches": 2, "record_every": 10},
            "n_seeds": 3,
        },
        "paper": {
            "iterations": {"adam": 20000},
            "more": {"d": (60, 80, 100, 120, 140, 160, 180, 200), "n_batches": None, "record_every": 1},
            "n_seeds": 10,
        },
    },
    "hardness-hmc": {
        "smoke": {"iterations": {"hmc": 100}, "more": {"d": (20, 28), "record_every": 2}, "n_seeds": 2},
        "laptop": {"iterations": {"hmc": 400}, "more": {"d": (40, 60, 80), "record_every": 4}, "n_seeds": 4},
        "paper": {
            "iterations": {"hmc": 4000},
            "more": {"d": (60, 80, 100, 120, 140, 160, 180, 200, 220, 240), "record_every": 1},
            "n_seeds": 10,
        },
    },
    "hermite": {scale: {} for scale in SCALES},
    "numbers": {scale: {} for scale in SCALES},
}


def settings_of(item: str, scale: str) -> Settings:
    """The settings of an item at a scale."""
    if scale not in SCALES:
        raise ValueError(f"unknown scale {scale!r}; choose from {', '.join(SCALES)}")
    coarse = {"n_points": 24} if scale == "smoke" else {}
    return Settings(scale=scale, **(coarse | _TABLE[item][scale]))

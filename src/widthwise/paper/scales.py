"""The sizes at which items run, in one place: ``smoke``, ``laptop``, ``workstation`` and ``paper``.

``smoke`` is for the tests: seconds an item, at sizes where corrections of order 1/d are large. ``laptop``
takes minutes an item on two cores. ``workstation`` has d = 100 and more over the paper's whole range of α, in
some 40 hours of one core that may be spent in parts. ``paper`` has the paper's own sizes and numbers of
instances, and is meant for a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SCALES", "Settings", "settings_of"]

SCALES = ("smoke", "laptop", "workstation", "paper")


@dataclass(frozen=True)
class Settings:
    """What an item needs to know about a scale."""

    scale: str
    d: int = 0
    """Dimension of the inputs."""
    d_of: Mapping[str, int] = field(default_factory=dict)
    """The same, by learner, where it is another one."""
    n_seeds: int = 1
    """Instances of a point."""
    n_seeds_of: Mapping[str, int] = field(default_factory=dict)
    """The same, by learner, where it is another number."""
    few: tuple[float, int] | None = None
    """(α, number): beyond this α points are costly, and have no more instances than this."""
    last_alpha: Mapping[str, float] = field(default_factory=dict)
    """Where runs end, by "learner/start", if before the last α."""
    alphas: tuple[float, ...] = ()
    iterations: Mapping[str, int] = field(default_factory=dict)
    """Length of a run, by learner."""
    n_points: int = 80
    """Points of a theory curve."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What only one item has."""

    def __getitem__(self, name: str) -> Any:
        return self.more[name]

    def size(self, learner: str) -> int:
        """Dimension of the inputs for a learner."""
        return self.d_of.get(learner, self.d)

    def seeds(self, learner: str, alpha: float) -> range:
        """The instances of a point; a learner with a number of its own has it at every α."""
        if learner in self.n_seeds_of:
            return range(self.n_seeds_of[learner])
        is_costly = self.few is not None and alpha > self.few[0]
        return range(min(self.n_seeds, self.few[1]) if self.few and is_costly else self.n_seeds)

    def is_within(self, learner: str, start: str, alpha: float) -> bool:
        """Whether runs of a learner from this start go as far as this α."""
        return alpha <= self.last_alpha.get(f"{learner}/{start}", alpha)


def _steps(first: float, last: float, step: float) -> tuple[float, ...]:
    n = round((last - first) / step)
    return tuple(round(first + i * step, 10) for i in range(n + 1))


_NINE = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
_CHAIN = 300
"""HMC iterations of Figures 1, 3, 5 and 6 at d = 100, which share their runs: 12 000 gradients, where an
independent draw of q₂ takes 125 (ReLU, α = 1) to a few hundred."""

_TABLE: dict[str, dict[str, dict[str, Any]]] = {
    "gaussian-weights": {
        "smoke": {"d": 24, "alphas": (2.0,), "iterations": {"hmc": 60, "adam": 300, "gamp_rie": 60}},
        "laptop": {
            "d": 60,
            "n_seeds": 2,
            "alphas": (0.5, 1.0, 2.0, 4.0),
            "iterations": {"hmc": 400, "adam": 1500, "gamp_rie": 100},
        },
        "workstation": {
            "d": 100,
            "n_seeds": 6,
            "n_seeds_of": {"gamp_rie": 8},
            "few": (2.0, 3),
            "last_alpha": {"hmc/random": 4.0},
            "alphas": _NINE,
            "iterations": {"hmc": _CHAIN, "adam": 3000, "gamp_rie": 200},
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
        "workstation": {
            "d": 100,
            "d_of": {"gamp_rie": 150},
            "n_seeds": 6,
            "n_seeds_of": {"gamp_rie": 8},
            "few": (1.3, 3),
            "alphas": (0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0),
            "iterations": {"metropolis": 2000, "gamp_rie": 200},
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
        "workstation": {
            "d": 100,
            "n_seeds": 6,
            "few": (2.0, 3),
            "alphas": _NINE[:-1],
            "iterations": {"hmc": _CHAIN},
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
        "workstation": {"d": 200, "n_seeds": 3, "iterations": {"hmc": 300}},
        "paper": {"d": 200, "n_seeds": 1, "iterations": {"hmc": 1000}},
    },
    "ansatz": {
        "smoke": {"d": 24, "alphas": (2.0,), "iterations": {"hmc": 60}},
        "laptop": {"d": 60, "n_seeds": 3, "alphas": (0.5, 1.0, 2.0, 4.0), "iterations": {"hmc": 1000}},
        "workstation": {
            "d": 100,
            "n_seeds": 6,
            "few": (2.0, 3),
            "alphas": _NINE[:-1],
            "iterations": {"hmc": _CHAIN},
        },
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
        "workstation": {
            "d": 150,
            "d_of": {"metropolis": 100},
            "n_seeds": 3,
            "n_seeds_of": {"gamp_rie": 8},
            "alphas": (0.4, 0.8, 1.2, 1.6, 2.0, 3.0, 4.0),
            "iterations": {"metropolis": 4000, "gamp_rie": 200},
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
        "workstation": {
            "d": 100,
            "n_seeds": 3,
            "alphas": (0.5, 1.0, 2.0, 3.0, 4.0, 6.0),
            "iterations": {"hmc": 200},
        },
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
        "workstation": {
            "d": 150,
            "n_seeds": 8,
            "alphas": _steps(1.0, 10.0, 1.0),
            "iterations": {"gamp_rie": 400},
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
        "workstation": {
            "d": 150,
            "n_seeds": 8,
            "alphas": (0.5, 1.0, 2.0, 3.0, 4.0),
            "iterations": {"gamp_rie": 200},
        },
        "paper": {"d": 150, "n_seeds": 16, "alphas": _steps(0.5, 4.0, 0.5), "iterations": {"gamp_rie": 200}},
    },
    "nishimori": {
        "smoke": {"d": 16, "iterations": {"hmc": 40}},
        "laptop": {"d": 40, "n_seeds": 3, "iterations": {"hmc": 250}},
        "workstation": {"d": 100, "n_seeds": 3, "iterations": {"hmc": 300}},
        "paper": {"d": 150, "n_seeds": 4, "iterations": {"hmc": 1000}},
    },
    "phase-diagram": {
        "smoke": {"n_points": 6},
        "laptop": {"n_points": 50},
        "workstation": {"n_points": 80},
        "paper": {"n_points": 120},
    },
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
        "workstation": {
            "iterations": {"adam": 3000},
            "more": {"d": (20, 30, 40, 50, 60, 80, 100), "n_batches": None, "record_every": 10},
            "n_seeds": 6,
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
        "workstation": {
            "iterations": {"hmc": 400},
            "more": {
                "d": (40, 60, 80, 100, 120, 140),
                "record_every": 4,
                "beyond": {"d": 80, "iterations": 1000, "n_seeds": 6},
            },
            "n_seeds": 16,
        },
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

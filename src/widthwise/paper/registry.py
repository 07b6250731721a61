"""All items, by name, in the order of the paper; a module is imported when its item is asked for."""

from __future__ import annotations

from importlib import import_module

from .._bad_value import did_you_mean
from .item import Item

__all__ = ["NAMES", "choose", "find"]

NAMES = {
    "gaussian-weights": "errors with Gaussian weights, three readout laws, four learners (Figure 1)",
    "binary-weights": "errors with binary weights and metastable branches (Figure 2)",
    "readouts": "which neurons are learnt, by readout (Figure 3)",
    "overlaps": "overlaps along HMC runs (Figure 4)",
    "hermite": "Hermite coefficients (Table 1)",
    "ansatz": "factorised ansatz against the main theory (Figures 5 and 6)",
    "gamp-rie": "GAMP-RIE with ReLU and ELU, and chains out of equilibrium (Figure 7)",
    "hardness-adam": "time that Adam needs to leave the universal branch (Figures 8 to 10, Table 2)",
    "hardness-hmc": "time that HMC needs to leave the universal branch (Figures 11 and 12, Table 3)",
    "hmc-sigma3": "HMC on sigma3, Gaussian and uniform weights (beyond the paper)",
    "phase-diagram": "phases over width and data (beyond the paper)",
    "classification": "classification with and without noise (beyond the paper)",
    "nishimori": "two chains differ as a chain and the teacher do, along HMC runs (beyond the paper)",
    "limits": "bounds, few and many data, exact and universal cases",
    "numbers": "every number that the paper prints for its theory, against ours",
}
"""Name and what it shows."""


def find(name: str) -> Item:
    """The item of a name."""
    if name not in NAMES:
        hint = did_you_mean(name, NAMES, 1)
        raise ValueError(f"unknown item {name!r}; {hint}choose from all, {', '.join(NAMES)}")
    item: Item = import_module(f".{name.replace('-', '_')}", __package__).ITEM
    return item


def choose(names: list[str]) -> list[Item]:
    """The items of a list of names, each once; ``all`` stands for every one."""
    wanted = [n for name in names for n in (NAMES if name == "all" else (name,))]
    return [find(name) for name in dict.fromkeys(wanted)]

"""One figure or table of the paper: its problems, theory, runs and drawing, in one form.

An item is computed in three steps that leave files behind: the theory (rows), the runs (one row each, from
the store), and the comparison of both; the figure is a function of these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..problem import Problem
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..sweeps.result import Result
    from ..sweeps.task import Task

__all__ = ["Item", "Printed", "Tables"]

Printed = tuple[Sequence[str], Sequence[Sequence[Any]]]
"""Header and rows of a printed table."""


@dataclass
class Tables:
    """What an item has computed, and the settings it was computed with."""

    settings: Settings
    theory: Table = field(default_factory=Table)
    measured: Table = field(default_factory=Table)
    """One row a run."""
    traces: Table = field(default_factory=Table)
    """Observables along runs, for items that show dynamics."""
    published: Table = field(default_factory=Table)
    """The authors' measurements."""
    comparison: Table = field(default_factory=Table)
    beside: Table = field(default_factory=Table)
    """The same of runs that are put aside: other d, to see what finite size does."""


@dataclass(frozen=True, eq=False)
class Item:
    """A reproducible part of the paper, or something beyond it in the same form."""

    name: str
    place: str
    """Where it is in the paper, or "beyond the paper"."""
    title: str
    caption: str
    problems: Mapping[str, Problem]
    """By the name of their series."""
    theory: Callable[[Settings], Table]
    draw: Callable[[Tables], Figure] | None = None
    """The figure; None for a table."""
    tasks: Callable[[Settings], Sequence[tuple[str, Task]]] | None = None
    """Runs, each with the name of its series; None where theory is all there is."""
    line_of: Callable[[str, str, str], str] = lambda series, learner, start: default_line(learner, start)
    """The theory line that a run is compared with, of (series, learner, start)."""
    quantities: tuple[str, ...] = ("excess_error",)
    """What is compared with the theory."""
    traced: Callable[[Task], tuple[str, ...]] = lambda task: ()
    """Observables of a run that are kept along it, for items that show dynamics."""
    observe: Callable[[Result], dict[str, Any]] = lambda result: {}
    """Further columns of the row of a run."""
    has_common_rows: bool = True
    """Whether rows are those that every item has, so that other items' tables can be used."""
    compare: Callable[[Tables], Table] | None = None
    """A comparison of its own, where the common one does not fit."""
    remarks: Callable[[Tables], list[str]] = lambda tables: []
    """Sentences for the report, about agreement and its limits."""
    table: Callable[[Tables], Printed] | None = None
    """Header and rows of a printed table, for items that are one."""


def default_line(learner: str, start: str) -> str:
    """Chains from the teacher sample the posterior; everything else stays on the universal branch."""
    return "equilibrium" if start == "teacher" and learner in ("hmc", "metropolis") else "universal"

"""The Nishimori identity along HMC runs: two chains differ as much as a chain and the teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..networks.comparison import Mean, mean_of
from ..problem import Problem
from ..theory import solve
from . import marks
from .compare import judged
from .item import Item, Tables
from .lines import parameters
from .published import nishimori
from .runs import tasks_over
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

ALPHA = 5.0
SERIES = "relu/homogeneous"
PROBLEMS = {SERIES: Problem("relu", "gaussian", "homogeneous", channel=0.1, gamma=0.5)}
BRANCHES = {"teacher": "equilibrium", "random": "universal"}
"""Where chains of each start are for the times that are run."""
COLORS = {"teacher": "#0072B2", "random": "#D55E00"}
STARTS = {"teacher": "from the teacher", "random": "from random weights"}


def theory(settings: Settings) -> Table:
    problem = PROBLEMS[SERIES]
    return Table(
        {"series": SERIES, "line": line, **parameters(problem), "alpha": ALPHA, "status": s.status}
        | {"excess_error": s.excess_error}
        for line in BRANCHES.values()
        for s in [solve(problem, ALPHA, branch=line)]
    )


def deviation(run: Table) -> np.ndarray:
    """e₁₂/e₀₁ - 1 at each record of a run but the first, where both are 0 if it began on the teacher."""
    distance, error = run.column("chain_distance")[1:], run.column("excess_error")[1:]
    apart: np.ndarray = distance / error - 1
    return apart


def compared(tables: Tables) -> Table:
    """The mean of the deviation over the second half of each run, which is 0 at equilibrium."""
    rows = Table()
    for (start, d), group in tables.traces.groups("start", "d"):
        means = [np.mean(np.array_split(deviation(run), 2)[1]) for _, run in group.groups("seed")]
        rows.append(_row("ours", start, d, mean_of(np.array(means))))
    for start, entry in nishimori().items():
        late = np.array(entry["deviation"])[np.array(entry["iteration"]) > 0.5 * entry["iteration"][-1]]
        # one data set: the scatter along its run is no error over instances
        rows.append(_row("authors", start, 150, Mean(float(late.mean()), np.nan, 1, 0)))
    return rows


def _row(source: str, start: str, d: int, mean: Mean) -> dict[str, Any]:
    row = {"series": SERIES, "learner": "hmc", "start": start, "d": d, "alpha": ALPHA, "source": source}
    row |= {"quantity": "e12/e01 - 1", "measured": mean.value, "standard_error": mean.standard_error}
    return row | {"n_instances": mean.n, "predicted": 0.0} | judged(mean, 0.0, 1.0)


def draw(tables: Tables) -> Figure:
    with marks.applied():
        figure, axes = marks.figure(1, 2, width=marks.PAGE, height=2.8)
        left, right = axes[0]
        left.axhline(0, color=marks.GREY, lw=0.8)
        for start, name in STARTS.items():
            color = COLORS[start]
            for number, run in enumerate(_runs(tables, start)):
                iteration = run.column("iteration")
                label = f"{name}, d = {run[0]['d']}" if number == 0 else None
                left.plot(iteration[1:], deviation(run), color=color, lw=0.9, alpha=0.85, label=label)
                right.plot(iteration, run.column("excess_error"), color=color, lw=0.9)
                right.plot(iteration, run.column("chain_distance"), color=color, lw=0.9, ls=(0, (2, 1)))
            theirs = nishimori()[start]
            style = {"color": color, "marker": "o", "ms": 2.6, "ls": "none", "mfc": "none", "mew": 0.7}
            left.plot(np.array(theirs["iteration"])[1:], theirs["deviation"][1:], **style)
            level = tables.theory.where(line=BRANCHES[start]).column("excess_error")[0]
            right.axhline(level, color=color, lw=1.4, alpha=0.5)
        left.plot([], [], color="0.3", marker="o", ms=2.6, mfc="none", ls="none", label="authors, d = 150")
        right.plot([], [], color="0.3", lw=0.9, label="a chain and the teacher")
        right.plot([], [], color="0.3", lw=0.9, ls=(0, (2, 1)), label="two chains")
        left.set(xscale="log", ylim=(-0.5, 1.0), xlabel="HMC iteration", ylabel=r"$e_{12}/e_{01} - 1$")
        top = 2.4 * tables.theory.column("excess_error").max()
        right.set(ylim=(0, top), xlabel="HMC iteration", ylabel="half the mean-square difference")
        figure.legend(frameon=False, loc="outside lower center", ncols=3)
    return figure


def remarks(tables: Tables) -> list[str]:
    told, errors = [], []
    for start, name in STARTS.items():
        row = next((r for r in tables.comparison if r["source"] == "ours" and r["start"] == start), None)
        if row is not None:
            told.append(f"{name} {row['measured']:+.3f} ± {row['standard_error']:.3f}")
            late = [np.array_split(run.column("excess_error"), 2)[1].mean() for run in _runs(tables, start)]
            errors.append(f"{name} {np.mean(late):.4f}")
    levels = (f"{row['excess_error']:.4f} ({row['line']})" for row in tables.theory)
    return [
        "At equilibrium the teacher is one more draw: two chains on the same data differ as much as a chain "
        "and the teacher. The converse does not hold: the authors' chains from random weights obey the "
        "identity on the universal branch, where they are metastable.",
        f"Mean of e₁₂/e₀₁ - 1 over the second halves of our runs: {'; '.join(told)} (over instances).",
        f"Mean of e₀₁ there: {'; '.join(errors)}; the theory has {' and '.join(levels)}. Small networks "
        "leave the universal branch soon.",
        "The authors' iterations have ten leapfrog steps, ours forty on average; their chains from the "
        "teacher are of a network with γ = 1 (by the only notebook that is stored).",
    ]


def _runs(tables: Tables, start: str) -> list[Table]:
    return [run for _, run in tables.traces.where(start=start).groups("seed")]


ITEM = Item(
    name="nishimori",
    place="beyond the paper",
    title="The Nishimori identity along HMC runs",
    caption="Half the mean-square difference of the outputs of two chains, e₁₂, and of a chain and the "
    "teacher, e₀₁, for ReLU with Gaussian weights and homogeneous readouts, γ = 0.5, Δ = 0.1, α = 5. Left: "
    "their ratio less 1; circles are the authors' (one data set each). Right: both; horizontal lines are the "
    "optimal error and that of the universal branch.",
    problems=PROBLEMS,
    theory=theory,
    tasks=lambda settings: tasks_over(
        PROBLEMS,
        settings,
        [("hmc", start) for start in STARTS],
        alphas=lambda series: (ALPHA,),
        hmc={"n_chains": 2},
    ),
    draw=draw,
    compare=compared,
    traced=lambda task: ("excess_error", "chain_distance"),
    remarks=remarks,
)

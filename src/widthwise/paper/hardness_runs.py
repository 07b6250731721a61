"""What the two items on hardness share: times of runs, fits of two laws, and their figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..networks.comparison import mean_of
from ..problem import Problem
from ..theory import solve
from . import marks
from .item import Printed
from .lines import parameters
from .scales import Settings
from .table import Table

if TYPE_CHECKING:
    from ..studies.hardness import Crossing
    from ..sweeps.result import Result
    from ..sweeps.task import Task

__all__ = [
    "COLORS",
    "branch_rows",
    "chosen_tasks",
    "crossings_of",
    "draw_times",
    "draw_trajectories",
    "fit_rows",
    "fit_table",
    "likelier",
    "times_of",
]

COLORS = ("#0072B2", "#009E73", "#D55E00")
_MARKERS = ("o", "s", "^")
_D_COLORS = "viridis"


def branch_rows(problems: Mapping[str, Problem], alpha: float, branches: Sequence[str]) -> Table:
    """Branches of the theory between which runs move."""
    rows = Table()
    for law, problem in problems.items():
        for line in branches:
            solution = solve(problem, alpha, branch=line)
            row = {"series": law, "line": line, **parameters(problem), "alpha": alpha}
            row |= {"status": solution.status, "excess_error": solution.excess_error}
            rows.append(row | {"matrix_overlap_centred": solution.matrix_overlap_centred})
    return rows


def chosen_tasks(
    problems: Mapping[str, Problem],
    learner: str,
    alpha: float,
    thresholds: Mapping[str, Sequence[float]],
    settings: Settings,
) -> list[tuple[str, Task]]:
    """The runs of all studies; of the batch sizes, the ``n_batches`` largest (all if None)."""
    from ..studies.hardness import HardnessStudy

    chosen = []
    n_batches = settings.more.get("n_batches")
    for series, problem in problems.items():
        for sizes, n_seeds, iterations in _parts(settings, learner):
            study = HardnessStudy(
                problem,
                learner,
                sizes,
                range(n_seeds),
                alpha,
                iterations,
                settings["record_every"],
                tuple(thresholds[series]),
            )
            for task in study.tasks():
                n = round(task.alpha * task.d**2)
                batch = task.settings.get("batch_size")
                if batch is None or n_batches is None or batch >= n >> (1 + n_batches):
                    chosen.append((series, task))
    return chosen


def _parts(settings: Settings, learner: str) -> list[tuple[list[int], int, int]]:
    """Sizes with their number of instances and length of runs: large ones may have others."""
    beyond = settings.more.get("beyond")
    last = beyond["d"] if beyond else max(settings["d"])
    parts = [([d for d in settings["d"] if d <= last], settings.n_seeds, settings.iterations[learner])]
    if beyond:
        large = [d for d in settings["d"] if d > last]
        parts.append((large, beyond["n_seeds"], beyond["iterations"]))
    return parts


def times_of(result: Result, thresholds: Sequence[float], *, is_above: bool) -> dict[str, Any]:
    """Columns ``time_1`` ... of a run: iterations until each threshold was crossed, NaN if never."""
    from ..studies.hardness import crossing_time

    if result.status == "failed":
        return {}
    task = result.task
    row: dict[str, Any] = {"batch_size": task.settings.get("batch_size", "")}
    name, window = ("matrix_overlap_centred", 1) if is_above else ("excess_error", 10)
    values = result.trace[name][1].mean(axis=0)
    # Adam's threshold is for the test loss, noise included
    values = values if is_above else values + _noise(task.problem)
    steps = result.trace["draw"][1]
    window = max(1, window // int(task.settings.get("record_every", 1)))
    for i, level in enumerate(thresholds, 1):
        row[f"time_{i}"] = crossing_time(steps, values, level, is_above=is_above, window=window)
    if is_above:
        row["final_overlap"] = float(values[-max(1, values.size // 10) :].mean())
    return row


def _noise(problem: Problem) -> float:
    channel: Any = problem.channel
    return float(channel.noise)


def crossings_of(measured: Table, thresholds: Mapping[str, Sequence[float]]) -> list[Crossing]:
    """Times by run, with the batch size that is fastest at each d; those that never crossed are censored."""
    from ..studies.hardness import Crossing, with_best_batch

    found: list[Crossing] = []
    for (series,), group in measured.groups("series"):
        one: list[Crossing] = []
        for row in group:
            for i, level in enumerate(thresholds[series], 1):
                time = row.get(f"time_{i}", math.nan)
                is_censored = not math.isfinite(time)
                end = float(row["iterations"]) if is_censored else float(time)
                batch = row.get("batch_size") or None
                one.append(Crossing(series, level, row["d"], row["seed"], end, is_censored, batch))
        found += with_best_batch(one)
    return found


def fit_rows(crossings: Sequence[Crossing], n_bootstrap: int = 200) -> Table:
    """Both laws for each threshold that enough runs crossed."""
    from ..studies.hardness import analyse

    rows = Table()
    for key in dict.fromkeys((one.readouts, one.threshold) for one in crossings):
        chosen = [one for one in crossings if (one.readouts, one.threshold) == key]
        try:
            rows += [row.to_dict() for row in analyse(chosen, n_bootstrap=n_bootstrap)]
        except ValueError:  # too few runs crossed
            continue
    return rows


def fit_table(fits: Table, names: Mapping[str, str], threshold: str) -> Printed:
    """The fits as a printed table, with the χ² of the paper where a row has it."""
    fits = Table(row for row in fits if "chi_square" in row)
    has_printed = any("printed_chi_square" in row for row in fits)
    header = ["readouts", threshold, "law", "runs", "never crossed", "χ² (ours)"]
    header += [*(["χ² (paper)"] if has_printed else []), "exponent", "95 %", "likelier in"]
    rows = []
    for row in fits:
        exponent = row["a"] if row["law"] == "exponential" else row["b"]
        chi = f"{row['chi_square']:.2f}" if math.isfinite(row["chi_square"]) else "–"
        cells = [names[row["series"]], row["threshold"], row["law"], row["n_runs"], row["n_censored"], chi]
        cells += [row["printed_chi_square"]] if has_printed else []
        cells += [f"{exponent:.3g}", f"{row['low']:.3g} to {row['high']:.3g}", f"{row['preferred']:.0%}"]
        rows.append(cells)
    return header, rows


def likelier(fits: Table) -> str:
    """At how many thresholds each law of growth is the likelier, in a sentence."""
    chosen = [row for row in fits if row.get("law") == "exponential" and "preferred" in row]
    if not chosen:
        return "Too few runs crossed their thresholds for a fit."
    ahead = sum(row["preferred"] > 0.5 for row in chosen)
    sure = sum(max(row["preferred"], 1 - row["preferred"]) >= 0.95 for row in chosen)
    return (
        f"Of {len(chosen)} thresholds the exponential law is the likelier at {ahead}, the power law at "
        f"{len(chosen) - ahead}; in 95 % of the bootstrap samples or more at {sure}."
    )


def draw_times(axes: Any, crossings: Sequence[Crossing], fits: Table, names: Mapping[str, str]) -> None:
    """Times in a semilog panel and, if there is room, a log-log one; a row of axes for each readout law.

    Open markers: some runs never crossed, and count with their length.
    """
    for row, (series, name) in zip(axes, names.items(), strict=True):
        mine = [one for one in crossings if one.readouts == series]
        levels = sorted({one.threshold for one in mine})
        sizes = sorted({one.d for one in mine})
        for ax, law, formula in zip(
            row, ("exponential", "power"), ("$e^{ad + b}$", "$a\\,d^b$"), strict=False
        ):
            for level, color, marker in zip(levels, COLORS, _MARKERS, strict=False):
                _draw_level(ax, [one for one in mine if one.threshold == level], color, marker)
                _draw_fit(ax, fits.where(readouts=series, threshold=level, law=law), sizes, color)
            ax.set(yscale="log", xlabel="$d$", title=f"{name}: {formula}")
            if law == "power":
                ax.set_xscale("log")
            _label_times(ax)
            ax.set_xticks(sizes, [str(d) for d in sizes])
            ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        row[0].set_ylabel("time $t^*(d)$")
        if mine:
            row[0].legend(frameon=False, handlelength=1.2, title="threshold", title_fontsize=6.8)


def _label_times(ax: Any) -> None:
    """Times at 1, 2 and 5 of every decade, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _draw_level(ax: Any, chosen: Sequence[Crossing], color: Any, marker: str) -> None:
    label = f"{chosen[0].threshold:.3f}"
    for d in sorted({one.d for one in chosen}):
        group = [one for one in chosen if one.d == d]
        times = np.array([one.time for one in group])
        face = "white" if any(one.is_censored for one in group) else color
        error = mean_of(times).standard_error if times.size > 1 else 0.0
        shown = {"color": color, "marker": marker, "ms": 4, "mfc": face, "ls": "none", "elinewidth": 0.8}
        ax.errorbar(d, times.mean(), error, label=label, **shown)
        label = "_nolegend_"


def _draw_fit(ax: Any, fits: Table, sizes: Sequence[int], color: Any) -> None:
    """A law of growth over the sizes that it is fitted to; shaded, the interval of its exponent."""
    from ..studies.survival import law_value

    if not fits:
        return
    d = np.linspace(sizes[0], sizes[-1], 100)
    row = fits[0]
    fitted = law_value(row["law"], row["a"], row["b"], d)
    ax.plot(d, fitted, color=color, lw=1.1, ls=(0, (4, 1.6)))
    low, high = (float(row.get(name, math.nan)) for name in ("low", "high"))
    if not (math.isfinite(low) and math.isfinite(high)):
        return
    # ln t is a straight line in d or in ln d: turned about the middle of the sizes
    x = d if row["law"] == "exponential" else np.log(d)
    exponent = row["a"] if row["law"] == "exponential" else row["b"]
    arm = x - np.mean(x[[0, -1]])
    edges = [fitted * np.exp((slope - exponent) * arm) for slope in (low, high)]
    ax.fill_between(d, np.minimum(*edges), np.maximum(*edges), color=color, alpha=0.13, linewidth=0)


def draw_trajectories(ax: Any, traces: Table, quantity: str, *, is_log: bool = False) -> None:
    """Mean over instances of an observable along runs, one standard deviation shaded, a colour a d.

    ``is_log``: of its logarithm.
    """
    from matplotlib import colormaps

    sizes = sorted(set(traces.column("d")))
    for i, d in enumerate(sizes):
        color = colormaps[_D_COLORS](0.9 * i / max(len(sizes) - 1, 1))
        runs = [run for _, run in traces.where(d=int(d)).groups("seed")]
        steps = runs[0].column("iteration")
        values = np.array([run.column(quantity) for run in runs if len(run) == len(runs[0])])
        values = np.log(values) if is_log else values
        mean, spread = values.mean(axis=0), values.std(axis=0)
        low, middle, high = (np.exp(y) if is_log else y for y in (mean - spread, mean, mean + spread))
        ax.plot(steps, middle, color=color, lw=1.2, label=f"$d = {int(d)}$")
        ax.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
    marks.tidy(ax)

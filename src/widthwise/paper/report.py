"""The report: for each item the figure, settings and agreement, in Markdown and HTML; numbers are in files.

It reads the files that :mod:`reproduce` wrote and computes nothing, so that it can be made again anywhere.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._bad_value import plural
from .._version import __version__
from ..networks.comparison import CLOSE, LEVEL, NARROW, counted
from . import published
from .causes import CAUSES
from .registry import NAMES, find
from .reproduce import Outcome, load
from .table import Table

__all__ = ["numbers_page", "write_report"]

_MOST_SIZES = 2  # that have rows of their own in a summary
_MOST_ROWS = 8  # of a table that is printed; longer ones are files


def write_report(out: str | os.PathLike[str]) -> tuple[Path, Path]:
    """``report.md`` and ``report.html`` in the folder of results."""
    folder = Path(out)
    outcomes = [(name, load(find(name), folder)) for name in NAMES]
    parts = [_head(outcomes)] + [_section(o) for _, o in outcomes if o is not None]
    text = "\n\n".join(parts).rstrip() + "\n"
    markdown, page = folder / "report.md", folder / "report.html"
    markdown.write_text(text, encoding="utf-8")
    page.write_text(_html(text), encoding="utf-8")
    return markdown, page


def numbers_page(out: str | os.PathLike[str]) -> Path | None:
    """``numbers.md``: the numbers printed in the paper beside ours, a page of its own."""
    outcome = load(find("numbers"), out)
    if outcome is None or outcome.item.table is None:
        return None
    verdicts = _counts(outcome.tables.comparison, None)
    lines = [
        "# Numbers printed in the paper",
        f"Made by `widthwise reproduce numbers`, version {outcome.version}: {verdicts}.",
        *outcome.item.remarks(outcome.tables),
        _table(*outcome.item.table(outcome.tables)),
    ]
    path = Path(out) / "numbers.md"
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return path


def _head(outcomes: Sequence[tuple[str, Outcome | None]]) -> str:
    rows = []
    for name, outcome in outcomes:
        if outcome is None:
            rows.append([name, find(name).place, "not run", "", "", ""])
            continue
        ours, theirs = (_counts(outcome.tables.comparison, who) for who in ("ours", "authors"))
        if not ours and not theirs:
            ours = _counts(outcome.tables.comparison, None)
        link = f"[{name}](#{_slug(outcome.item.title)})"
        minutes = outcome.seconds.get("runs", 0.0) / 60
        runs = f"{outcome.n_runs} ({minutes:.1f} min)" if outcome.n_runs else "theory only"
        rows.append([link, outcome.item.place, _scale_said(outcome), runs, ours, theirs])
    source = published.source()
    return "\n\n".join(
        [
            "# Reproduction of the paper",
            "Every figure and table of [arXiv:2505.24849](https://arxiv.org/abs/2505.24849), computed "
            f"again by `widthwise reproduce all` (version {__version__}) and compared with the theory. The "
            "predictions are for d → ∞; corrections are of relative order 1/d, a few percent here.",
            f"A measurement *agrees* if its {1 - LEVEL:.0%} confidence interval (Student's t, with the "
            "scatter of all α that share it) holds the prediction and reaches no further than "
            f"{NARROW:.0%} of it to each side (of 1, for overlaps); it is *undecided* if the interval is "
            "wider. If the interval does not hold the prediction, it is *close* within "
            f"{CLOSE:.0%}, the size of what a small d does; otherwise it *differs*. Standard errors are over "
            "instances. GAMP-RIE has a prediction at finite d (column *at this d*), and its deviations are "
            "taken from that one.",
            "Why a chain of ours misses the prediction is told as far as its table can: *memory*, if it is "
            "nearer to its start than predicted and out of equilibrium (another start or two replicas give "
            "another error, it is worth fewer than ten draws, or its overlap is still on its way); *linear "
            "part*, if that is half of the difference or more, by (Δ + excess)/(αd); *not told apart* "
            "otherwise: finite size in another way, or the ansatz, which [is off](../is-it-exact.md) by 7 % "
            "of 1 − q₂ at γ = ½ and small noise.",
            f"Pale points are the authors' own measurements ({source['paper']}), published at "
            f"<{source['repository']}> and re-tabulated. {source['earlier']} {source['later']}",
            _table(["item", "place", "scale", "runs", "ours", "authors'"], rows),
        ]
    )


def _scale_said(outcome: Outcome) -> str:
    """The scale, how much of it is left, and what stands in for it."""
    scale, n_stand_ins = outcome.tables.settings.scale, outcome.n_stand_ins
    if not outcome.n_left:
        return scale
    said = f"{scale}, {plural(outcome.n_left, 'run')} left"
    return f"{said}; {n_stand_ins} of smaller scales shown" if n_stand_ins else said


def _section(outcome: Outcome) -> str:
    item, tables = outcome.item, outcome.tables
    parts = [f"## {item.title}", f"*{item.place}* · `widthwise reproduce {item.name}`"]
    if item.draw is not None:
        parts.append(f"![{item.title}]({item.name}/{item.name}.png)")
    parts.append(item.caption + _small_marks(outcome))
    parts.append(_settings(outcome))
    files = ["theory", "measured", "comparison"]
    if item.table is not None and item.name != "numbers":
        header, rows = item.table(tables)
        if len(rows) <= _MOST_ROWS:
            parts.append(_table(header, rows))
        else:
            files.append("table")
    if item.name == "numbers":
        parts.append("The whole table is on [a page of its own](numbers.md).")
    remarks = item.remarks(tables)
    if remarks:
        parts.append("\n".join(f"- {remark}" for remark in remarks))
    judged = Table(row for row in tables.comparison if "measured" in row and "verdict" in row)
    if judged:
        parts.append(_summary(judged))
        said = (_by_size(judged, tables.beside), _why(judged), _farthest(judged))
        parts += [sentence for sentence in said if sentence]
    links = ", ".join(
        f"[{name}.csv]({item.name}/{name}.csv)" for name in files if (outcome.folder / f"{name}.csv").exists()
    )
    parts.append(f"Files: {links}.")
    return "\n\n".join(parts)


def _small_marks(outcome: Outcome) -> str:
    """A sentence for the caption of a figure that shows points of smaller scales too."""
    sizes = sorted({int(row["d"]) for row in outcome.tables.comparison if row.get("stands_in")})
    if not sizes:
        return ""
    return (
        f" Small marks are at d = {', '.join(map(str, sizes))}, of a smaller scale: at these points fewer "
        f"than two instances are done at scale {outcome.tables.settings.scale}."
    )


def _settings(outcome: Outcome) -> str:
    """What was run, from the rows of the runs: sizes, instances, lengths, draws, times, versions."""
    measured, settings = outcome.tables.measured, outcome.tables.settings
    words = [f"scale {settings.scale}"]
    for (scale, learner, iterations), group in measured.groups("scale", "learner", "iterations"):
        said = _runs_said(group, str(learner), iterations)
        words.append(f"{said}, of scale {scale}" if scale and scale != settings.scale else said)
    if measured:
        minutes = outcome.seconds.get("runs", 0) / 60
        words.append(f"{plural(outcome.n_runs, 'run')} in {minutes:.1f} minutes of one process")
    if outcome.n_left:
        words.append(f"{plural(outcome.n_left, 'run')} still to be made")
    if outcome.n_failed:
        words.append(f"{plural(outcome.n_failed, 'run')} failed")
    versions = sorted({str(row["version"]) for row in measured if "version" in row} | {outcome.version})
    made = f" Version {', '.join(versions)}." if versions != [__version__] else ""
    return f"Settings: {'; '.join(words)}.{made}"


def _runs_said(group: Table, learner: str, iterations: Any) -> str:
    """The runs of one learner and length: "hmc at d = 100, 3 to 6 instances, α = 1, 2, 300 iterations"."""
    sizes = sorted({int(row["d"]) for row in group})
    points = [len({row["seed"] for row in g}) for _, g in group.groups("series", "start", "d", "alpha")]
    low, high = min(points), max(points)
    alphas = sorted({float(row["alpha"]) for row in group})
    words = [
        f"{learner} at d = {', '.join(map(str, sizes))}",
        plural(high, "instance") if low == high else f"{low} to {high} instances",
        "α = " + ", ".join(f"{a:g}" for a in alphas),
    ]
    if iterations:
        words.append(plural(int(iterations), "iteration"))
    draws = group.column("effective_draws")
    draws = draws[[math.isfinite(x) for x in draws]]
    if draws.size:
        words[-1] += f" (worth {sorted(draws)[draws.size // 2]:.0f} independent draws, median)"
    return ", ".join(words)


def _summary(judged: Table) -> str:
    """A row for each learner, quantity and d, all cases together; each point is in the file."""
    rows = []
    for key, same in judged.groups("source", "learner", "start", "quantity"):
        sizes = sorted({int(row["d"]) for row in same if "d" in row})
        # times to a threshold are taken at many d, and are no two measurements of one thing
        parts = [same] if len(sizes) > _MOST_SIZES else [group for _, group in same.groups("d")]
        for group in parts:
            found = sorted({int(row["d"]) for row in group if "d" in row})
            size = f"{found[0]} to {found[-1]}" if len(found) > 1 else "".join(map(str, found))
            relative = group.column("relative_deviation")
            relative = relative[[math.isfinite(x) for x in relative]]
            typical = f"{float(abs(relative).mean()):.1%}" if relative.size else "–"
            who, learner, start, quantity = (str(value or "") for value in key)
            rows.append([who, learner, start, size, quantity, len(group), typical, _counts(group, None)])
    return _table(["who", "learner", "start", "d", "quantity", "points", "mean |m − p|/p", "verdicts"], rows)


def _by_size(judged: Table, beside: Table) -> str:
    """How far the same points of ours are off at each d for which the tables have them."""
    said = []
    ours = Table([*judged.where(source="ours"), *beside.where(quantity=tuple(judged.distinct("quantity")))])
    ours = Table(row for row in ours if "readout" not in row and row["verdict"] != "not predicted")
    for (learner, start, quantity), group in ours.groups("learner", "start", "quantity"):
        sizes = sorted({int(row["d"]) for row in group})
        places = [{(row["series"], row["alpha"]) for row in group if row["d"] == d} for d in sizes]
        shared = set.intersection(*places)
        if len(sizes) < 2 or not shared:
            continue
        means = [
            np.mean(
                [
                    float(row["relative_deviation"])
                    for row in group
                    if row["d"] == d and (row["series"], row["alpha"]) in shared
                ]
            )
            for d in sizes
        ]
        told = ", ".join(f"{mean:+.1%} at d = {d}" for d, mean in zip(sizes, means, strict=True))
        said.append(f"{quantity} of {learner} from {start} ({plural(len(shared), 'point')}): {told}")
    return f"Mean of (m − p)/p at the same points: {'; '.join(said)}." if said else ""


def _why(judged: Table) -> str:
    """What our chains that miss the theory miss it by, where their tables tell."""
    found = [row["cause"] for row in judged if "cause" in row]
    counts = [f"{found.count(cause)} {cause}" for cause in CAUSES if cause in found]
    return f"Of our chains {len(found)} points are close or differ: {', '.join(counts)}." if found else ""


def _farthest(judged: Table) -> str:
    """The two measurements of ours that differ most."""
    differing = [row for row in judged if row["verdict"] == "differs" and row.get("source") != "authors"]
    differing = [row for row in differing if math.isfinite(row.get("relative_deviation", math.nan))]
    differing.sort(key=lambda row: -abs(row["relative_deviation"]))
    said = []
    for row in differing[:2]:
        who = " ".join(str(row[name]) for name in ("series", "learner", "start") if row.get(name))
        readout = f", v = {row['readout']:.2g}" if "readout" in row else ""
        said.append(
            f"{who}, α = {row['alpha']:g}{readout}: {row['quantity']} {_number(float(row['measured']))} for "
            f"{_number(float(row['predicted']))}"
        )
    return f"Farthest off, of ours: {'; '.join(said)}." if said else ""


def _counts(rows: Table, who: str | None) -> str:
    chosen = rows if who is None else rows.where(source=who)
    return counted(row["verdict"] for row in chosen if "verdict" in row)


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if math.isfinite(value) else "–"


def _table(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    def line(cells: Sequence[Any]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(header), line(["---"] * len(header)), *map(line, rows)])


# --- HTML ----------------------------------------------------------------------------------------

_STYLE = """
body{font:16px/1.55 system-ui,sans-serif;max-width:66rem;margin:2rem auto;padding:0 1rem;color:#1d1d1d}
h1,h2{line-height:1.25}h2{margin-top:3rem;border-top:1px solid #ddd;padding-top:1.2rem}
img{max-width:100%;height:auto;display:block;margin:1rem 0}
table{display:block;overflow-x:auto;border-collapse:collapse;font-size:13px;margin:.6rem 0}
th,td{padding:.2rem .55rem;border-bottom:1px solid #e3e3e3;text-align:left;white-space:nowrap}
th{border-bottom:1.5px solid #999}td:last-child,th:last-child{white-space:normal}
code{background:#f3f3f3;padding:.1rem .25rem;border-radius:3px}summary{cursor:pointer;font-weight:600}
"""


def _html(text: str) -> str:
    """The page; headings have the anchors that the table on top links to."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"xhtmlOut": False}).enable("table").render(text)
    body = re.sub(r"<h2>(.*?)</h2>", lambda found: f'<h2 id="{_slug(found[1])}">{found[1]}</h2>', body)
    title = "Reproduction of the paper"
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )


def _slug(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")

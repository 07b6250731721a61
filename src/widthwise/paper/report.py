"""The report: for each item the figure, settings, agreement and the full table, in Markdown and HTML.

It reads the files that :mod:`reproduce` wrote and computes nothing, so that it can be made again anywhere.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._bad_value import plural
from .._version import __version__
from ..networks.comparison import CLOSE, LEVEL, NARROW, counted
from . import published
from .registry import NAMES, find
from .reproduce import Outcome, load
from .table import Table

__all__ = ["numbers_page", "write_report"]

_COLUMNS = {
    "source": "who",
    "series": "case",
    "learner": "learner",
    "start": "start",
    "d": "d",
    "alpha": "α",
    "quantity": "quantity",
    "readout": "v",
    "measured": "measured",
    "standard_error": "± s.e.",
    "interval": "99 %",
    "n_instances": "n",
    "line": "line",
    "predicted": "predicted",
    "predicted_at_d": "at this d",
    "deviation_in_standard_errors": "(m − p)/s.e.",
    "relative_deviation": "(m − p)/p",
    "verdict": "verdict",
}


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
        rows.append([link, outcome.item.place, outcome.tables.settings.scale, runs, ours, theirs])
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
            f"Pale points are the authors' own measurements ({source['paper']}), published at "
            f"<{source['repository']}> and re-tabulated.",
            _table(["item", "place", "scale", "runs", "ours", "authors'"], rows),
        ]
    )


def _section(outcome: Outcome) -> str:
    item, tables = outcome.item, outcome.tables
    parts = [f"## {item.title}", f"*{item.place}* · `widthwise reproduce {item.name}`"]
    parts.append(f"![{item.title}]({item.name}/{item.name}.png)")
    parts.append(item.caption)
    parts.append(_settings(outcome))
    if item.table is not None and item.name != "numbers":
        parts.append(_table(*item.table(tables)))
    if item.name == "numbers":
        parts.append("The whole table is on [a page of its own](numbers.md).")
    remarks = item.remarks(tables)
    if remarks:
        parts.append("\n".join(f"- {remark}" for remark in remarks))
    judged = Table(row for row in tables.comparison if "measured" in row)
    if judged:
        parts.append(_summary(judged))
        differing = judged.where(verdict="differs")
        if differing:
            parts.append(f"**What differs** ({len(differing)} of {len(judged)}):")
            parts.append(_comparison(differing))
        ours = Table(row for row in judged if row.get("source") != "authors")
        if ours:
            parts += [
                "<details><summary>Measured against predicted, all of ours</summary>",
                _comparison(ours),
            ]
            parts.append("</details>")
    files = [
        name for name in ("theory", "measured", "comparison") if (outcome.folder / f"{name}.csv").exists()
    ]
    links = ", ".join(f"[{name}.csv]({item.name}/{name}.csv)" for name in files)
    if (outcome.folder / f"{item.name}.pdf").exists():
        links += f", [figure as PDF]({item.name}/{item.name}.pdf)"
    parts.append(f"Files: {links}.")
    return "\n\n".join(parts)


def _settings(outcome: Outcome) -> str:
    s = outcome.tables.settings
    words = [f"scale {s.scale}"]
    if outcome.n_runs:
        words += [f"d = {s.d}", plural(s.n_seeds, "instance")]
        if s.alphas:
            words.append("α = " + ", ".join(f"{a:g}" for a in s.alphas))
        words += [f"{plural(n, 'iteration')} of {name}" for name, n in s.iterations.items()]
        words.append(
            f"{plural(outcome.n_runs, 'run')} in {outcome.seconds.get('runs', 0) / 60:.1f} minutes of one "
            "process"
        )
    if outcome.n_failed:
        words.append(f"{plural(outcome.n_failed, 'run')} failed")
    return f"Settings: {'; '.join(words)}. Version {outcome.version}."


def _summary(judged: Table) -> str:
    """A row for each learner and case: how many agree, and the typical deviation."""
    rows = []
    names = ("source", "series", "learner", "start", "quantity")
    for key, group in judged.groups(*names):
        deviation = group.column("deviation_in_standard_errors")
        relative = group.column("relative_deviation")
        known = deviation[[math.isfinite(x) for x in deviation]]
        root = math.sqrt(float((known**2).mean())) if known.size else math.nan
        cells = [str(value or "") for value in key]
        typical = f"{float(abs(relative).mean()):.1%}"
        rows.append([*cells, len(group), _number(root, 2), typical, _counts(group, None)])
    header = ["who", "case", "learner", "start", "quantity", "points", "rms (m − p)/s.e.", "mean |m − p|/p"]
    return _table([*header, "verdicts"], rows)


def _comparison(rows: Table) -> str:
    columns = [name for name in _COLUMNS if any(name in row for row in rows)]
    cells = [[_cell(name, row.get(name, "")) for name in columns] for row in rows]
    return _table([_COLUMNS[name] for name in columns], cells)


def _counts(rows: Table, who: str | None) -> str:
    chosen = rows if who is None else rows.where(source=who)
    return counted(row["verdict"] for row in chosen if "verdict" in row)


def _cell(name: str, value: Any) -> str:
    if value == "" or not isinstance(value, (int, float)):
        return str(value)
    if name == "relative_deviation":
        return f"{value:+.1%}"
    if name == "deviation_in_standard_errors":
        return f"{value:+.1f}" if math.isfinite(value) else "–"
    return _number(float(value)) if isinstance(value, float) else str(value)


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

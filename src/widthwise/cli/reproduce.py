"""``widthwise reproduce``: figures and tables of the paper, computed again and compared with the theory."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._bad_value import plural
from .bundles import takes_bundles
from .output import BadInput, print_table, talk, use_no_screen, write
from .problem_options import choose
from .sweep_options import Where, explained

if TYPE_CHECKING:
    from ..paper import Item

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class WhereRuns(Where):
    """As other commands; results are always kept."""

    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="Folder that keeps the results of runs; what it has is not run again.",
            show_default="DIR/store of --out",
            rich_help_panel="Where",
        ),
    ] = None


@app.command()
@takes_bundles
def reproduce(
    items: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ITEM",
            help="Names of items (see --list), separated by spaces or commas; all; or report.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            metavar="SIZE",
            help="smoke (d about 30, seconds), laptop (d 60 to 100, minutes an item on two cores), "
            "workstation (d 100 to 200, some 40 hours of one core in all) or paper (the paper's own sizes; "
            "for a cluster). Points that are not finished are shown with runs of a smaller scale that "
            "--out has.",
        ),
    ] = "smoke",
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Folder for figures, tables and the report.")
    ] = "reproduction",
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known",
            metavar="DIR",
            help="Results of another call or machine (a folder like that of --out): runs that their tables "
            "have are taken over. May be given several times; the tables in --out count without saying.",
            rich_help_panel="Where",
        ),
    ] = None,
    max_hours: Annotated[
        float | None,
        typer.Option(
            "--max-hours",
            metavar="HOURS",
            help="Begin no run later than this, the cheapest first; what is finished goes into the tables, "
            "and the same command goes on from there.",
            rich_help_panel="Where",
        ),
    ] = None,
    list_items: Annotated[bool, typer.Option("--list", help="List the items and exit.")] = False,
    *,
    where: WhereRuns,
) -> None:
    """Compute figures and tables of the paper again: theory, runs, comparison, figure.

    For each item it writes the figure (PNG and PDF), every point of the theory, every run, and a table of
    measured against predicted with standard errors. An interrupted command goes on where it stopped, and runs
    that the tables in --out have are not made again (delete their rows if they should be). "report" gathers
    what is in --out into report.md and report.html. Exit code 1 says that some run failed.

    Example: widthwise reproduce --list

    Example: widthwise reproduce gaussian-weights,hermite --scale smoke

    Example: widthwise reproduce all --scale laptop --out results

    Example: widthwise reproduce gaussian-weights --scale workstation --max-hours 2 --workers 1 --out results

    Example: widthwise reproduce all --scale paper --max-hours 8 --known from-another-machine --out results

    Example: widthwise reproduce all --scale paper --cluster tcp://host:8786 --out results
    """
    from ..paper import NAMES, SCALES
    from ..paper import choose as choose_items

    if list_items:
        print_table(["item", "shows"], [[name, text] for name, text in NAMES.items()])
        return
    names = [name for word in items or [] for name in word.split(",") if name]
    if not names:
        raise BadInput(f"say what to reproduce: all, report, or some of {', '.join(NAMES)}")
    scale = choose("--scale", scale, SCALES, "scale")
    folder = _folder(out)
    if max_hours is not None and not max_hours >= 0:
        raise BadInput(f"--max-hours must be >= 0, got {max_hours:g}")
    for name in known or []:
        if not Path(name).is_dir():
            raise BadInput(
                f"--known: there is no folder {name!r}; give one that 'reproduce --out' has written"
            )
    where = replace(where, store=where.store or str(folder / "store"))
    use_no_screen()
    try:
        chosen = choose_items([name for name in names if name != "report"])
    except ValueError as error:
        raise BadInput(str(error)) from None
    n_failed = 0
    if chosen:
        n_failed = explained(lambda: _compute(chosen, scale, folder, where, known or [], max_hours))
    if "report" in names or len(chosen) > 1:
        _report(folder)
    if n_failed:
        talk(f"{plural(n_failed, 'run')} failed; 'widthwise store ls {where.store}' says why")
        raise typer.Exit(1)


def _compute(
    chosen: list[Item], scale: str, folder: Path, where: Where, known: list[str], max_hours: float | None
) -> int:
    from ..paper import announce
    from ..paper import reproduce as compute

    n_failed = 0
    store = str(where.store)
    talk(announce(chosen, scale, store, where.workers, [*known, folder]))
    if where.dry_run:
        raise typer.Exit(0)
    end = math.inf if max_hours is None else time.monotonic() + 3600 * max_hours
    for item in chosen:
        talk(f"{item.name}: {item.title} ({item.place})")
        outcome = compute(
            item,
            scale,
            folder,
            store,
            cluster=where.cluster,
            n_workers=where.workers,
            progress=None,
            retry_failed=where.retry_failed,
            known=known,
            max_seconds=None if max_hours is None else max(0.0, end - time.monotonic()),
        )
        n_failed += outcome.n_failed
        write(f"{outcome}; {outcome.folder}")
    return n_failed


def _report(folder: Path) -> None:
    from ..paper.report import numbers_page, write_report

    numbers_page(folder)
    for path in write_report(folder):
        talk(f"report written to {path}")


def _folder(out: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out: {out!r} cannot be made a folder: {error.strerror}") from None
    return folder

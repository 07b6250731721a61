"""What commands print and draw: data and tables on stdout, talk on stderr, figures in files."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .._bad_value import plural
from .._records import Record, as_csv, as_json
from .bundles import Bundle

__all__ = [
    "BadInput",
    "Format",
    "JsonOption",
    "Output",
    "ReaderLeft",
    "end_without",
    "flush",
    "number",
    "print_table",
    "talk",
    "use_no_screen",
    "write",
]

FIGURE_TYPES = (".eps", ".jpg", ".jpeg", ".pdf", ".png", ".svg", ".tif", ".tiff", ".webp")

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel="Output")]

_HEADINGS = {"mutual_information": "mutual\ninform-\nation"}  # so that a table fits in 80 columns


class BadInput(Exception):
    """Something the user typed: one sentence on stderr, exit code 2."""


class ReaderLeft(Exception):
    """Nobody reads stdout any more (``widthwise ... | head``): a reason to stop, not an error."""


def talk(message: str) -> None:
    """One line on stderr."""
    print(message, file=sys.stderr)


def write(text: str) -> None:
    """Data, to stdout."""
    _guarded(lambda: print(text, end="" if text.endswith("\n") else "\n"))


def flush() -> None:
    """Send what is left in the buffer, while a reader that went away can still be dealt with."""
    _guarded(sys.stdout.flush)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> None:
    """A Rich table on stdout. Columns named in ``snake_case`` are folded into several lines."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    rows = list(rows)
    is_terminal = sys.stdout.isatty()
    # A file or a pipe has no width of its own; 80 columns would break numbers in two.
    console = Console(highlight=False, markup=False, width=None if is_terminal else 200)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(columns):
        is_text = any(row[i][:1].isalpha() for row in rows)
        head = _HEADINGS.get(name, name.replace("_", "\n"))
        table.add_column(head, justify="left" if is_text else "right", vertical="bottom")
    for row in rows:
        table.add_row(*row)
    # (a measurement is never wider than the console it is made on)
    if Console(width=1000).measure(table).maximum > console.width:
        table.padding = (0, 0, 0, 0)
    if title:
        _guarded(lambda: console.print(title, soft_wrap=True))
    _guarded(lambda: console.print(table))


def number(value: float, digits: int = 5) -> str:
    """A number for a table, a dash for NaN."""
    if math.isnan(value):
        return "–"
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e5:
        return f"{value:.{digits - 1}e}"
    # Shares stay aligned: 0.99998 and 1.00000 stand in one column.
    return f"{value:#.{digits}g}" if size >= 10 else f"{value:.{digits}f}"


def end_without(n_missing: int, n_points: int, reasons: str = "") -> None:
    """Say that some points have no numbers, and end with code 1; nothing if all have."""
    if n_missing:
        verb = "has" if n_missing == 1 else "have"
        talk(f"{n_missing} of {plural(n_points, 'point')} {verb} no numbers{reasons and f' ({reasons})'}")
        raise typer.Exit(1)


def use_no_screen() -> None:
    """Draw into files only: a command must not ask for a display."""
    import matplotlib

    matplotlib.use("agg")


@dataclass(frozen=True)
class Format(Bundle):
    """How records are printed: as a table, as JSON or as CSV."""

    json: JsonOption = False
    csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV, each row with the parameters.", rich_help_panel="Output")
    ] = False

    def __post_init__(self) -> None:
        if self.json and self.csv:
            raise BadInput("give --json or --csv, not both")

    def print(self, shared: Record, records: Sequence[Record], as_table: Callable[[], None]) -> None:
        """The records with what they share, or what ``as_table`` prints of them."""
        if self.json or self.csv:
            write(as_json(shared, records) if self.json else as_csv(shared, records))
        else:
            as_table()


@dataclass(frozen=True)
class Output(Format):
    """How records are printed, and the file that a figure of them goes to."""

    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Write a figure; the ending of the name (.png, .pdf, .svg) says which kind. Without a "
            "name it is called after the command.",
            rich_help_panel="Output",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse, before the work is done, a figure that could not be written."""
        super().__post_init__()
        if self.plot is None:
            return
        path = Path(self.plot)
        if path.suffix.lower() not in FIGURE_TYPES:
            raise BadInput(f"--plot must end in one of {', '.join(FIGURE_TYPES)}; got {self.plot!r}")
        if path.is_dir():
            raise BadInput(f"--plot must name a file, but {self.plot!r} is a folder")
        if not path.parent.is_dir():
            raise BadInput(f"--plot: there is no folder {str(path.parent)!r}; create it first")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BadInput(f"--plot: {self.plot!r} cannot be written; choose another place")

    def draw(self, figure: Callable[[], Any]) -> None:
        """Write the figure, if one was asked for, and say so; a disk that refuses is a sentence."""
        if self.plot is None:
            return
        use_no_screen()
        try:
            figure().savefig(self.plot, dpi=200)
        except OSError as error:
            raise BadInput(f"--plot: {self.plot!r} cannot be written: {error.strerror or error}") from None
        talk(f"figure written to {self.plot}")


def _guarded(action: Any) -> None:
    try:
        action()
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it ends, and would complain: give it a sink.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ReaderLeft from None

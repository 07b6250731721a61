"""What commands that run tasks share: where to run them, what they say beforehand, and how they end."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from .._interrupt import allow
from .bundles import Bundle
from .output import BadInput, talk
from .problem_options import read_numbers

if TYPE_CHECKING:
    from ..sweeps.driver import Report
    from ..sweeps.store import Store
    from ..sweeps.task import Task

__all__ = ["Place", "SeedsOption", "Where", "WorkersOption", "check_seeds", "explained", "read_dimensions"]

_PANEL = "Where"

WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="Processes on this machine, >= 1.",
        show_default="one for each core",
        rich_help_panel=_PANEL,
    ),
]
SeedsOption = Annotated[int, typer.Option("--seeds", metavar="N", help="Instances at each point.")]


@dataclass(frozen=True)
class Place(Bundle):
    """Where results are kept, and which processes make them."""

    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="Folder that keeps the results; what it has is not run again.",
            show_default="none: nothing is kept",
            rich_help_panel=_PANEL,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Run on the Dask cluster of this scheduler, e.g. tcp://host:8786, instead of this machine.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    workers: WorkersOption = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise BadInput(f"--workers must be >= 1 (processes), got {self.workers}")
        if self.workers is not None and self.cluster is not None:
            raise BadInput("give --workers or --cluster, not both: a cluster has workers of its own")


@dataclass(frozen=True)
class Where(Place):
    """Where tasks are run and their results kept."""

    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Run tasks again that failed before.", rich_help_panel=_PANEL),
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Say what would be run and how long it would take; run nothing.",
            rich_help_panel=_PANEL,
        ),
    ] = False

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """The store in the folder, or one that lives as long as the command."""
        from ..sweeps.store import Store

        if self.store is not None:
            yield Store(self.store)
            return
        with tempfile.TemporaryDirectory(prefix="widthwise-") as scratch:
            yield Store(scratch)

    def run(self, what: str, tasks: Sequence[Task], store: Store) -> Report:
        """Say what is going to be run, run it unless asked not to, and name what failed."""
        from ..sweeps.driver import run_tasks
        from ..sweeps.estimate import forecast

        talk(what)
        if self.store is not None:
            allow(30.0)  # for running tasks to write their checkpoints
        if self.dry_run:
            talk(explained(lambda: forecast(tasks, store, self.workers)))
            raise typer.Exit(0)
        report = explained(
            lambda: run_tasks(
                tasks, store, cluster=self.cluster, n_workers=self.workers, retry_failed=self.retry_failed
            ),
            is_kept=self.store is not None,
        )
        talk(f"{report} ({report.seconds:.1f} s)")
        for task, error in list(report.failures.items())[:10]:
            talk(f"failed: {task}: {error}")
        if report.n_failed > 10:
            talk(f"... and {report.n_failed - 10} more; see 'widthwise store ls'")
        return report


Answer = TypeVar("Answer")


def check_seeds(seeds: int, *, least: int = 1) -> None:
    """A number of instances that makes sense."""
    if seeds < least:
        raise BadInput(f"--seeds must be >= {least} (instances at each point), got {seeds}")


def read_dimensions(text: str) -> list[int]:
    """The values of ``--d``."""
    sizes = read_numbers("--d", text, "dimension of the inputs")
    if any(size != int(size) for size in sizes):
        raise BadInput(f"--d must be whole numbers (dimension of the inputs); got {text!r}")
    return [int(size) for size in sizes]


def explained(action: Callable[[], Answer], *, is_kept: bool = True) -> Answer:
    """Run something on a store; what stops it is a sentence."""
    from ..sweeps.store import StoreError

    try:
        return action()
    except StoreError as error:
        talk(f"error: {error}")
        raise typer.Exit(1) from None
    except ConnectionError as error:
        talk(f"error: --cluster: {error}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt as error:
        if not is_kept:
            talk("nothing is kept without --store")
        elif str(error):
            talk(f"{error}; running tasks have left their checkpoints: the same command goes on from there")
        raise

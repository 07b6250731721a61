"""``widthwise store``: look at, check and export the results of sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._bad_value import plural
from .._records import as_json
from .output import BadInput, JsonOption, number, print_table, talk, write
from .sweep_options import explained

if TYPE_CHECKING:
    from ..sweeps.store import Store

__all__ = ["app"]

app = typer.Typer(
    name="store",
    add_completion=False,
    no_args_is_help=True,
    help="Look at, check and export the results of sweeps.\n\nExample: widthwise store ls runs",
)

DEFAULT = "runs"
"""The folder that the examples of all commands keep their results in."""

FolderArgument = Annotated[str, typer.Argument(metavar="[DIR]", help="Folder of a store.")]


@app.command("ls")
def list_results(folder: FolderArgument = DEFAULT, json: JsonOption = False) -> None:
    """Means over seeds of what is stored, and what failed.

    Example: widthwise store ls runs
    """
    store = _open(folder)
    entries = store.entries()
    table = store.summary().to_dict("records")
    if json:
        write(as_json({"store": folder}, table, key="where"))
        return
    quantities = ("excess_error", "matrix_overlap_centred")
    several = len({line["problem"] for line in table}) > 1
    columns = [*(["problem"] if several else []), "learner", "d", "alpha", "seeds", "failed"]
    columns += [c for name in quantities for c in (name, "standard_error")]
    rows = []
    for line in table:
        row = [
            *([line["problem"]] if several else []),
            line["learner"],
            str(line["d"]),
            f"{line['alpha']:.6g}",
        ]
        row += [str(line["n_seeds"]), str(line["n_failed"])]
        for name in quantities:
            row += [
                number(line.get(name, float("nan"))),
                number(line.get(f"{name}_standard_error", float("nan"))),
            ]
        rows.append(row)
    print_table(columns, rows, title=f"{plural(len(entries), 'result')} in {folder}")
    for entry in entries.values():
        if entry.status == "failed":
            talk(f"failed: {entry.key[:8]} {entry.task}: {entry.error}")
    for name, reason in store.damaged.items():
        talk(f"damaged: {name}: {reason}")


@app.command()
def show(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of a store.")],
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a result, or the beginning of one.")],
) -> None:
    """Everything about one result.

    Example: widthwise store show runs 3f9a
    """
    store = _open(folder)
    try:
        result = explained(lambda: store.read(key))
    except KeyError as error:
        raise BadInput(error.args[0]) from None
    facts: dict[str, Any] = {"status": result.status, "run_status": result.run_status, "error": result.error}
    facts |= {"version": result.version, "timings": result.timings, "warnings": result.warnings}
    values = [{"name": name, "value": array.tolist()} for name, (_, array) in result.values.items()]
    write(as_json({"task": result.task.description, **facts}, values, key="result", name="values"))
    if result.details:
        talk(result.details)


@app.command()
def export(
    folder: FolderArgument = DEFAULT,
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write CSV; - is stdout.")] = None,
    parquet: Annotated[str | None, typer.Option("--parquet", metavar="FILE", help="Write Parquet.")] = None,
    netcdf: Annotated[
        str | None, typer.Option("--netcdf", metavar="FILE", help="Write one Dataset over all axes.")
    ] = None,
) -> None:
    """All results as one table, a row for each.

    Example: widthwise store export runs --csv runs.csv
    """
    if csv is None and parquet is None and netcdf is None:
        raise BadInput("say where to: --csv FILE, --parquet FILE or --netcdf FILE")
    store = _open(folder)
    table = store.to_dataframe()
    if csv == "-":
        write(table.to_csv(index=False, lineterminator="\n"))
    elif csv is not None:
        _save("--csv", csv, lambda: table.to_csv(csv, index=False, lineterminator="\n"))
    if parquet is not None:
        _save("--parquet", parquet, lambda: table.to_parquet(parquet, index=False))
    if netcdf is not None:
        _save("--netcdf", netcdf, lambda: store.dataset().to_netcdf(netcdf, engine="h5netcdf"))


@app.command()
def verify(
    folder: FolderArgument = DEFAULT,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="Leave damaged files where they are.")
    ] = False,
) -> None:
    """Read every file through and compare it with its digest.

    Damaged files are set aside, so that the next run of their sweep makes them again. Exit code 1 says that
    there were some.

    Example: widthwise store verify runs
    """
    store = _open(folder)
    wrong = store.verify(set_aside=not only_report)
    for name, reason in wrong.items():
        write(f"{name}: {reason}")
    n_good, n_bad = len(store.entries()), len(wrong.keys() - {"index.jsonl"})
    talk(f"{plural(n_good, 'result is', 'results are')} whole, {n_bad} damaged")
    if wrong:
        raise typer.Exit(1)


@app.command()
def prune(
    folder: FolderArgument = DEFAULT,
    failed: Annotated[bool, typer.Option("--failed", help="Remove failed results too.")] = False,
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="SWEEP.toml", help="Remove results that are not of this sweep."),
    ] = None,
) -> None:
    """Remove what is left over: unfinished writes, damaged files, checkpoints of finished tasks.

    Example: widthwise store prune runs --failed
    """
    from ..sweeps.sweep_file import SweepFileError, read_sweep

    store = _open(folder)
    try:
        tasks = None if keep is None else read_sweep(keep).tasks()
    except SweepFileError as error:
        raise BadInput(f"--keep: {error}") from None
    removed = explained(lambda: store.prune(failed=failed, keep=tasks))
    for name in removed:
        write(name)
    talk(f"{plural(len(removed), 'file')} removed")


def _open(folder: str) -> Store:
    from ..sweeps.store import StoreError, open_store

    try:
        return open_store(folder)
    except StoreError as error:
        raise BadInput(str(error)) from None


def _save(option: str, name: str, action: Any) -> None:
    if not Path(name).absolute().parent.is_dir():
        raise BadInput(f"{option}: there is no folder {str(Path(name).parent)!r}; create it first")
    try:
        action()
    except OSError as error:
        raise BadInput(f"{option}: {name!r} cannot be written: {error.strerror or error}") from None
    except ImportError as error:
        raise BadInput(f"{option}: {error}") from None
    talk(f"written to {name}")

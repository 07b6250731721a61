"""``widthwise explore``: a local page on which the theory follows a slider."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..problem import Problem
from .output import BadInput, talk
from .problem_options import choose, read_positive, takes_problem

__all__ = ["app"]

_FILE = "One file"

app = typer.Typer(add_completion=False)


@app.command()
@takes_problem
def explore(
    problem: Problem,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; at others than this machine's own the page asks for a token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="NUMBER", help="Port to listen on; 0 takes a free one.")
    ] = 8050,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="FOLDER", help="Store of a sweep whose results the page can show."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the page in a browser.")
    ] = False,
    export: Annotated[
        str | None,
        typer.Option(
            "--export",
            metavar="FILE.html",
            help="Write one file with a slider, that needs no server and no network, and end.",
            rich_help_panel=_FILE,
        ),
    ] = None,
    over: Annotated[
        str,
        typer.Option(
            "--over",
            metavar="NAME",
            help="What the slider of the file changes: gamma or noise.",
            rich_help_panel=_FILE,
        ),
    ] = "gamma",
    alpha_max: Annotated[
        str,
        typer.Option(
            "--alpha-max",
            metavar="VALUE",
            help="Largest alpha = n/d² of the curves in the file, > 0.",
            rich_help_panel=_FILE,
        ),
    ] = "6",
    quantity: Annotated[
        str,
        typer.Option(
            "--quantity",
            metavar="NAME",
            help="What the curves in the file show: excess_error, bayes_error, gibbs_error, zero-one, "
            "zero-one-gibbs, cross-entropy, absolute, matrix_overlap_centred, free_entropy, "
            "mutual_information.",
            rich_help_panel=_FILE,
        ),
    ] = "excess_error",
) -> None:
    """Explore learning curves on a local page: move a slider and see the phases.

    The page begins with the problem that the options describe. Everything is served from this machine;
    nothing is fetched from the network. Ctrl-C ends it. With --export there is no server: the curves at 21
    values of the width or of the noise are computed and written as one page, for a talk or a collaborator.

    Example: widthwise explore

    Example: widthwise explore --port 0 --no-browser

    Example: widthwise explore --weights rademacher --export curves.html --over noise --alpha-max 4
    """
    if export is not None:
        _export(problem, export, over, alpha_max, quantity)
        return
    if not 0 <= port <= 65535:
        raise BadInput(f"--port must lie between 0 and 65535; got {port}")
    try:
        from ..explorer.security import is_home
        from ..explorer.server import serve
        from ..explorer.state import query_of
    except ImportError as error:
        raise BadInput(
            f"the explorer needs {error.name}, which is not installed; pip install 'widthwise[explorer]'"
        ) from None
    try:
        query = query_of(problem)
    except ValueError as error:
        words = str(error)
        raise BadInput(
            f"the page cannot show this problem: {words[:1].lower()}{words[1:].rstrip('.')}"
        ) from None
    opened = _opened(store)
    if not is_home(host):
        talk(f"others can reach {host}: the page answers those only who open it with its token")
    try:
        serve(host, port, store=opened, query=query, has_browser=not no_browser, announce=talk)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]
        raise BadInput(f"--port {port} at {host} cannot be used: {reason}; choose another") from None


def _export(problem: Problem, name: str, over: str, alpha_max: str, quantity: str) -> None:
    try:
        from ..explorer.quantities import QUANTITIES
        from ..explorer.standalone import OVER, write_page
    except ImportError as error:
        raise BadInput(
            f"--export needs {error.name}, which is not installed; pip install 'widthwise[explorer]'"
        ) from None
    path = Path(name)
    if path.suffix.lower() not in (".html", ".htm"):
        raise BadInput(f"--export must end in .html; got {name!r}")
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"--export: {name!r} cannot be written: it is a folder, or its folder is not there")
    over = choose("--over", over, OVER, "slider")
    quantity = choose("--quantity", quantity, QUANTITIES, "quantity")
    reach = read_positive("--alpha-max", alpha_max, "samples per squared dimension, n/d²")
    try:
        write_page(path, problem, over, reach=reach, quantity=quantity, show_progress=True)
    except ValueError as error:
        raise BadInput(f"--export: {error}") from None
    except OSError as error:
        raise BadInput(f"--export: {name!r} cannot be written: {error.strerror or error}") from None
    talk(f"one page with a slider over {over} written to {name} ({path.stat().st_size / 1e3:.0f} kB)")


def _opened(folder: str | None) -> Any:
    if folder is None:
        return None
    from ..sweeps.store import StoreError, open_store

    try:
        return open_store(folder)
    except StoreError as error:
        raise BadInput(f"--store: {error}") from None

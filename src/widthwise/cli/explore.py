"""``widthwise explore``: a local page on which the theory follows a slider."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .output import talk
from .problem_options import BadInput

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_HOME = ("127.0.0.1", "localhost", "::1")


@app.command()
def explore(
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; others than this machine's own give a warning.",
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
) -> None:
    """Explore learning curves on a local page: move a slider and see the phases.

    Everything is served from this machine; nothing is fetched from the network. Ctrl-C ends it.

    Example: widthwise explore

    Example: widthwise explore --port 0 --no-browser
    """
    if not 0 <= port <= 65535:
        raise BadInput(f"--port must lie between 0 and 65535; got {port}")
    try:
        from ..explorer.serve import serve
    except ImportError as error:
        raise BadInput(
            f"the explorer needs {error.name}, which is not installed; pip install 'widthwise[explorer]'"
        ) from None
    opened = _opened(store)
    if host not in _HOME:
        talk(f"warning: anyone who can reach {host} can use this page and make this machine compute")
    try:
        serve(host, port, store=opened, has_browser=not no_browser, announce=talk)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]
        raise BadInput(f"--port {port} at {host} cannot be used: {reason}; choose another") from None


def _opened(folder: str | None) -> Any:
    if folder is None:
        return None
    from ..sweeps.store import StoreError, open_store

    try:
        return open_store(folder)
    except StoreError as error:
        raise BadInput(f"--store: {error}") from None

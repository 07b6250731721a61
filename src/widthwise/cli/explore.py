"""``widthwise explore``: a local page on which the theory follows a slider."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .output import talk
from .problem_options import BadInput

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def explore(
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
) -> None:
    """Explore learning curves on a local page: move a slider and see the phases.

    Everything is served from this machine; nothing is fetched from the network. Ctrl-C ends it.

    Example: widthwise explore

    Example: widthwise explore --port 0 --no-browser
    """
    if not 0 <= port <= 65535:
        raise BadInput(f"--port must lie between 0 and 65535; got {port}")
    try:
        from ..explorer.security import is_home
        from ..explorer.serve import serve
    except ImportError as error:
        raise BadInput(
            f"the explorer needs {error.name}, which is not installed; pip install 'widthwise[explorer]'"
        ) from None
    opened = _opened(store)
    if not is_home(host):
        talk(f"others can reach {host}: the page answers those only who open it with its token")
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

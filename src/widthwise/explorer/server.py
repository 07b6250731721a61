"""The application (layout, callbacks, workers and headers put together), and the server that runs it."""

from __future__ import annotations

import logging
import socket
import threading
import webbrowser
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import quote, urlsplit

from .._threads import n_cores
from .._workers import LocalProcesses
from . import layout, state
from .callbacks import register
from .comparing import store_choices
from .compute import Workers
from .experiment import MAX_RUNS, MAX_SECONDS
from .requests import answer_live
from .security import HOME, harden, is_home, new_token

__all__ = ["Explorer", "Running", "make_app", "serve"]

SKETCH_SECONDS = 20.0
EXACT_SECONDS = 120.0
N_TABS = 6
"""Tabs that compute at once, each in a process of its own; those of the others wait for their turn."""


class Explorer:
    """A Dash application and the processes behind it; ``close`` ends them."""

    def __init__(self, store: Any = None, hosts: Collection[str] = HOME, token: str | None = None) -> None:
        self.store, self.hosts, self.token = store, hosts, token
        self.quick = Workers(2, SKETCH_SECONDS, n_most=N_TABS, share=5.0, keep_running=True)
        self.slow = Workers(2, EXACT_SECONDS, n_most=N_TABS, share=20.0)
        self.background = Workers(max(1, n_cores() - 1), EXACT_SECONDS, n_most=N_TABS // 2, share=30.0)
        self.experiments = LocalProcesses(MAX_RUNS, time_limit=MAX_SECONDS)
        self.runs: dict[str, Any] = {}
        self.app = make_app(self)

    def close(self) -> None:
        """End all processes."""
        for workers in (self.quick, self.slow, self.background):
            workers.close()
        for run in list(self.runs.values()):
            run.stop()
        self.experiments.shutdown(wait=False, cancel_futures=True)


def make_app(explorer: Explorer) -> Any:
    """The page as a Dash application."""
    from dash import Dash
    from flask import has_request_context, request

    app = Dash(
        __package__,
        title="widthwise explorer",
        update_title="",
        serve_locally=True,
        compress=False,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
        index_string=_INDEX,
        add_log_handler=False,
    )

    def current_page() -> Any:
        # The layout is fetched by the page, whose address the browser sends along.
        address = request.headers.get("Referer", "") if has_request_context() else ""
        series = store_choices(explorer.store) if explorer.store is not None else None
        shown, notes = state.read_query(urlsplit(address).query)
        return layout.page(shown, series, notes)

    app.layout = current_page
    register(app, explorer)
    answer_live(app.server, explorer)
    harden(app, explorer.hosts, explorer.token)
    return app


class Running:
    """The page on an address, served from a thread; a context manager.

    At an address that others can reach it asks for a token, which ``entry``, the address to open, has.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, store: Any = None) -> None:
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Before any process is started; and werkzeug itself would end Python where a port is taken.
        with socket.create_server((host, port), family=family) as listener:
            token = None if is_home(host) else new_token()
            self.explorer = Explorer(store, () if token else {*HOME, host}, token)
            flask = self.explorer.app.server
            self._server: Any = make_server(host, port, flask, threaded=True, fd=listener.fileno())
            port = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{port}/"
        self.entry = self.address + (f"?token={quote(token)}" if token else "")
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.explorer.close()

    def wait(self) -> None:
        """Until the server ends."""
        while self._thread.is_alive():
            self._thread.join(1.0)


def serve(
    host: str,
    port: int,
    *,
    store: Any = None,
    query: str = "",
    has_browser: bool,
    announce: Callable[[str], None],
) -> None:
    """Serve the page, which begins with what ``query`` says, until Ctrl-C."""
    with Running(host, port, store) as running:
        entry = running.entry + (query.replace("?", "&") if "?" in running.entry else query)
        announce(f"the explorer is at {entry} (Ctrl-C ends it)")
        if has_browser:
            webbrowser.open(entry)
        running.wait()


_INDEX = """<!DOCTYPE html>
<html lang="en">
    <head>
        {%metas%}
        <title>{%title%}</title>
        {%favicon%}
        {%css%}
    </head>
    <body>
        {%app_entry%}
        <footer>
            {%config%}
            {%scripts%}
            {%renderer%}
        </footer>
    </body>
</html>
"""

"""The application: layout, callbacks, workers and headers put together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from .._threads import n_cores
from .._workers import LocalProcesses
from . import layout, live, state
from .callbacks import register
from .comparing import store_choices
from .compute import Workers
from .experiment import MAX_RUNS, MAX_SECONDS
from .security import HOME, harden

__all__ = ["Explorer", "make_app"]

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
    live.register(app.server, explorer)
    harden(app, explorer.hosts, explorer.token)
    return app


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

"""The application: layout, callbacks, workers and headers put together."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from . import layout, live, state
from .callbacks import register
from .comparing import store_choices
from .compute import Workers
from .security import HOME, harden

__all__ = ["Explorer", "make_app"]

SKETCH_SECONDS = 20.0
EXACT_SECONDS = 120.0


class Explorer:
    """A Dash application and the processes behind it; ``close`` ends them."""

    def __init__(self, store: Any = None, hosts: Collection[str] = HOME) -> None:
        self.store, self.hosts = store, hosts
        self.quick = Workers(2, SKETCH_SECONDS, keep_running=True)
        self.slow = Workers(2, EXACT_SECONDS)
        self.background = Workers(max(1, (os.cpu_count() or 2) - 1), EXACT_SECONDS)
        self.runs: dict[str, Any] = {}
        self.app = make_app(self)

    def close(self) -> None:
        """End all processes."""
        for workers in (self.quick, self.slow, self.background):
            workers.close()
        for run in self.runs.values():
            run.stop()


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
        return layout.page(state.from_query(urlsplit(address).query), series)

    app.layout = current_page
    register(app, explorer)
    live.register(app.server, explorer)
    harden(app, explorer.hosts)
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

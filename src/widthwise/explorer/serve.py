"""Running the page: a threaded server on a local address, until Ctrl-C."""

from __future__ import annotations

import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from .security import HOME, is_home, new_token
from .server import Explorer

__all__ = ["Running", "serve"]


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

"""Limits and headers: the page talks to its own server only, and the server takes little at a time."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["HOME", "MAX_REQUEST", "MAX_UPLOAD", "harden"]

HOME = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine for itself."""

MAX_UPLOAD = 200_000
"""Bytes of a table of data; some thousand rows."""
MAX_REQUEST = 2_000_000
"""Bytes of any request (an upload arrives as base 64, beside the state of the page)."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The page itself reads the state from the address that its first request comes from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


def harden(app: Any, hosts: Collection[str] = HOME) -> None:
    """Give every answer of a Dash application its headers, and refuse what is too large or from elsewhere.

    ``hosts`` are the names by which the page may be called (empty: any): a name that someone else points at
    this machine is none of them.
    """
    from flask import Response, abort, request

    server: Flask = app.server
    server.config["MAX_CONTENT_LENGTH"] = MAX_REQUEST
    policy: list[str] = []

    @server.before_request
    def refuse_foreign_requests() -> None:
        # A page elsewhere must not make this server work: browsers say where a request comes from.
        name = request.host.rpartition(":")[0] if ":" in request.host.rpartition("]")[2] else request.host
        if hosts and name not in hosts:
            abort(403)
        origin = request.headers.get("Origin")
        if origin is not None and origin.split("://")[-1] != request.host:
            abort(403)

    @server.after_request
    def add_headers(response: Response) -> Response:
        if not policy:
            policy.append(_policy(app))
        for name, value in _HEADERS.items():
            response.headers[name] = value
        response.headers["Content-Security-Policy"] = policy[0]
        return response

    @server.errorhandler(Exception)
    def keep_quiet(error: Exception) -> tuple[str, int]:
        code = getattr(error, "code", None)
        if not isinstance(code, int):
            server.logger.warning("a request failed: %s: %s", type(error).__name__, error)
            code = 400 if isinstance(error, (ValueError, TypeError, KeyError, AttributeError)) else 500
        return "the request could not be understood\n", code


def _policy(app: Any) -> str:
    """No source but this server; Dash's inline script is named by its hash, Plotly writes style sheets."""
    scripts = " ".join(f"'{value}'" if not value.startswith("'") else value for value in app.csp_hashes())
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src 'self' {scripts}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )

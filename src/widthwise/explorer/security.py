"""Limits and headers: the page talks to its own server only, and the server takes little at a time."""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["HOME", "MAX_REQUEST", "MAX_UPLOAD", "harden", "is_home", "new_token"]

_COOKIE = "widthwise-token"

HOME = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine for itself."""

MAX_UPLOAD = 200_000
"""Bytes of a table of data; some thousand rows."""
MAX_REQUEST = 2_000_000
"""Bytes of any request (an upload arrives as base 64, beside the state of the page)."""

_OF_THE_REQUEST = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Errors that a request which cannot be understood causes."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The page itself reads the state from the address that its first request comes from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


def is_home(host: str) -> bool:
    """Whether an address is one that only this machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, which may be anybody's
        return False


def new_token() -> str:
    """What visitors from elsewhere have to bring: WIDTHWISE_TOKEN if that is set, else drawn at random."""
    return os.environ.get("WIDTHWISE_TOKEN") or secrets.token_urlsafe(24)


def harden(app: Any, hosts: Collection[str] = HOME, token: str | None = None) -> None:
    """Give every answer of a Dash application its headers, and refuse what is too large or from elsewhere.

    ``hosts`` are the names by which the page may be called (empty: any): a name that someone else points at
    this machine is none of them. With a ``token`` only those are answered who bring it: once in the address,
    ``?token=...``, and from then on in a cookie.
    """
    from flask import Response, abort, make_response, redirect, request

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
        if origin is not None and origin not in (f"http://{request.host}", f"https://{request.host}"):
            abort(403)

    @server.before_request
    def ask_for_token() -> Any:
        if token is None or _is_same(request.cookies.get(_COOKIE, ""), token):
            return None
        if request.method == "GET" and _is_same(request.args.get("token", ""), token):
            left = {name: value for name, value in request.args.items() if name != "token"}
            answer = make_response(redirect(request.path + (f"?{urlencode(left)}" if left else "")))
            answer.set_cookie(_COOKIE, token, httponly=True, samesite="Strict")
            return answer
        return Response("a token is asked for: open the address that the server printed\n", 401)

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
            code = 400 if isinstance(error, _OF_THE_REQUEST) else 500
        return "the request could not be understood\n", code


def _is_same(given: str, token: str) -> bool:
    """Compared in a time that says nothing about the place of the first difference."""
    return hmac.compare_digest(given.encode(), token.encode())


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

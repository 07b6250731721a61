"""Asking workers: from the cache if it is there, in words if it went wrong, nothing if it is out of date."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .compute import Cache, Dropped, Workers

__all__ = ["ask"]


def ask(
    workers: Workers, cache: Cache, owner: Any, function: Callable[..., Any], *arguments: Any, blame: str
) -> Any:
    """A result, a sentence for the control ``blame``, or None if a newer wish took its place."""
    key = (function.__name__, json.dumps(arguments, sort_keys=True, default=repr))
    found = cache.get(key)
    if found is not None:
        return found
    answer = workers.submit(owner, function, *arguments)
    try:
        found = answer.result(2 * workers.time_limit)
    except Dropped:
        return None
    except TimeoutError as error:
        if not answer.done():  # it still waits for its turn, and nobody for it
            workers.cancel(owner)
            return {blame: "Too many ask at once; try again in a moment."}
        if "others wait" in str(error):
            return {blame: "This takes too long to compute while others wait; try again later."}
        return {blame: "This takes too long to compute; try a simpler problem."}
    except Exception as error:  # whatever it is, it is for the user to read
        return {blame: f"This could not be computed: {str(error) or type(error).__name__}"}
    cache.put(key, found)
    return found

"""Asking workers: from the cache if it is there, in words if it went wrong, nothing if it is out of date."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .compute import Cache, Dropped, TookTooLong, Workers

__all__ = ["ask"]


def ask(
    workers: Workers, cache: Cache, owner: Any, function: Callable[..., Any], *arguments: Any, blame: str
) -> Any:
    """A result, a sentence for the control ``blame``, or None if a newer wish took its place."""
    key = (function.__name__, json.dumps(arguments, sort_keys=True, default=repr))
    found = cache.get(key)
    if found is not None:
        return found
    try:
        found = workers.submit(owner, function, *arguments).result(2 * workers.time_limit)
    except Dropped:
        return None
    except TookTooLong:
        return {blame: "This takes too long to compute; try a simpler problem."}
    except (ValueError, RuntimeError, ArithmeticError, MemoryError) as error:
        return {blame: f"This could not be computed: {error}"}
    cache.put(key, found)
    return found

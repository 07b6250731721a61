"""What a sweep says while it runs: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from .result import Result

__all__ = ["reporter"]


@contextlib.contextmanager
def reporter(progress: bool | Callable[..., Any] | None, driver: Any) -> Iterator[Callable[..., Any]]:
    """A function of (result, report) that tells what happened."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda result, report: None
    else:
        yield _lines(driver)


def _lines(driver: Any) -> Callable[..., None]:
    total = len(driver.pending)
    start = time.perf_counter()
    n_seen = 0

    def tell(result: Result, report: Any) -> None:
        nonlocal n_seen
        n_seen += 1
        left = (time.perf_counter() - start) / n_seen * (total - n_seen)
        said = (
            result.error if result.status == "failed" else f"excess error {result.scalar('excess_error'):.4g}"
        )
        print(f"{n_seen}/{total} {result.task}: {said}; about {left:.0f} s left", file=sys.stderr, flush=True)

    return tell

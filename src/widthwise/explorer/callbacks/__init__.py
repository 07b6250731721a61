"""What happens when something on the page is moved, one module for each part of it."""

from __future__ import annotations

from typing import Any

from . import curve, data, jobs, page, questions

__all__ = ["register"]


def register(app: Any, explorer: Any) -> None:
    """Connect all parts of the page."""
    for part in (page, curve, questions, data, jobs):
        part.register(app, explorer)

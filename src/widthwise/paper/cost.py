"""What a scale costs: how many runs, how many of them are done, and the time that the rest takes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .item import Item
from .reproduce import tasks_of

__all__ = ["announce"]


def announce(
    items: Sequence[Item],
    scale: str,
    store: str | os.PathLike[str],
    n_workers: int | None,
    *,
    is_cluster: bool = False,
) -> str:
    """One line to print before anything is run."""
    from ..experiments import Store

    tasks = list(dict.fromkeys(task for item in items for _, task in tasks_of(item, scale)))
    entries = Store(store).entries() if os.path.isdir(store) else {}
    missing = [task for task in tasks if task.key not in entries]
    text = f"{len(items)} items at scale {scale}: {len(tasks)} runs, {len(missing)} to do"
    return text

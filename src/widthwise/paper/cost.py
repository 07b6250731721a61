"""What a scale costs: how many runs there are, how many are done, and the time that the rest takes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from .._bad_value import plural
from .item import Item
from .known import read_known
from .reproduce import tasks_of, unknown_tasks

__all__ = ["announce"]


def announce(
    items: Sequence[Item],
    scale: str,
    store: str | os.PathLike[str],
    n_workers: int | None = None,
    folders: Sequence[str | os.PathLike[str]] = (),
) -> str:
    """One line to print before anything is run; the time comes from a measurement on this machine.

    ``folders`` of results have runs that need not be made again.
    """
    from ..sweeps import LocalProcesses, Store
    from ..sweeps.estimate import estimate

    tasks = list(dict.fromkeys(task for item in items for _, task in tasks_of(item, scale)))
    entries = Store(store).entries() if os.path.isdir(store) else {}
    needed = [
        task
        for item in items
        for task in unknown_tasks(
            item,
            [task for _, task in tasks_of(item, scale)],
            read_known([Path(folder) / item.name for folder in folders]),
        )
    ]
    missing = [task for task in dict.fromkeys(needed) if task.key not in entries]
    text = f"{plural(len(items), 'item')} at scale {scale}: {plural(len(tasks), 'run')}, {len(missing)} to do"
    if not missing:
        return text
    # Tasks of few kinds are measured: a mixture of them, not the first ones only.
    spread = sorted(missing, key=lambda task: task.key)
    with LocalProcesses(1) as executor:
        expected = estimate(spread, executor, entries.values())
    workers = n_workers or LocalProcesses().n_workers
    return f"{text}; {expected.sentence(workers)}"

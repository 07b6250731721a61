"""What cannot be read is kept under another name, beside what was set aside before."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

__all__ = ["move_aside"]


def move_aside(path: Path) -> None:
    """Rename anything, a file or not, to ``....damaged``, with the first number behind it that is free."""
    names = (path.with_name(f"{path.name}.damaged{number or ''}") for number in itertools.count())
    os.replace(path, next(name for name in names if not os.path.lexists(name)))

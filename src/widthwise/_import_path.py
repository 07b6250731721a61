"""What a user names as ``package.module:name``: the one import by a name that is not written in the code."""

from __future__ import annotations

import pkgutil
from typing import Any

__all__ = ["imported"]


def imported(path: str, what: str) -> Any:
    """The object at an import path; a ValueError that begins with ``what`` if there is none."""
    try:
        return pkgutil.resolve_name(path)
    except SystemExit:
        raise ValueError(f"{what} {path!r} cannot be imported: its module ends Python") from None
    except Exception as error:  # a module that is imported may do anything
        raise ValueError(f"{what} {path!r} cannot be imported: {error}") from None

"""Docstrings are written for reading in a terminal; here ``|v|`` and ``coef_`` are kept from being markup."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["escape", "setup"]

_LITERAL = re.compile(r"(``.+?``|`[^`]+`|\*\*.+?\*\*)")
_BAR = re.compile(r"(?<!\\)\|(?=\S)")
_PROSE = re.compile(r"\s*\.\. (rubric|note|warning)")  # directives whose content is text
_REFERENCE = re.compile(r"(?<![\w\\])([A-Za-z]\w*)_(?!\w)")


def escape(lines: list[str]) -> list[str]:
    """The lines with bars and trailing underscores escaped, except in literals, formulas and code."""
    result, block = [], -1
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if block >= 0 and line.strip() and indent <= block:
            block = -1
        is_verbatim = block >= 0 or line.lstrip().startswith((">>>", "..", ":"))
        if block < 0 and re.search(r"::(\s|$)", line) and not _PROSE.match(line):
            block = indent
        result.append(line if is_verbatim else _escape_line(line))
    return result


def _escape_line(line: str) -> str:
    parts = _LITERAL.split(line)
    parts[::2] = [_REFERENCE.sub(r"\1\\_", _BAR.sub(r"\\|", part)) for part in parts[::2]]
    return "".join(parts)


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = escape(lines)


def setup(app: Any) -> dict[str, bool]:
    # After numpydoc (500), which turns sections into markup of its own.
    app.connect("autodoc-process-docstring", _process, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

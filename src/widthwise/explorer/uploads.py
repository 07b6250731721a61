"""Uploaded tables of measurements, read as data and nothing else, within limits."""

from __future__ import annotations

import base64
import binascii

from ..networks.measurements import Measured, read_measurements
from .security import MAX_UPLOAD

__all__ = ["MAX_ROWS", "decode", "read_table"]

MAX_ROWS = 500
"""More points than a figure can show."""


def decode(contents: str) -> str:
    """The text of an upload, which arrives as ``data:...;base64,...``."""
    _, found, data = contents.partition(";base64,")
    if not found or len(data) > MAX_UPLOAD * 4 // 3 + 4:
        raise ValueError(f"the file is too large or is no text; at most {MAX_UPLOAD // 1000} kB are read")
    try:
        raw = base64.b64decode(data, validate=True)
        return raw.decode("utf-8-sig")
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("the file is no text in UTF-8; save the table as CSV") from None


def read_table(text: str) -> list[Measured]:
    """The measurements of a table."""
    return read_measurements(text, MAX_ROWS)

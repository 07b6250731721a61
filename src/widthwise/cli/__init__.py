"""The command line: ``widthwise`` and its commands, one module for each."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 is done, 1 means that some point did not converge or does not exist, 2 is bad usage,
    130 is Ctrl-C and 141 a reader that went away. Data goes to stdout, talk to stderr.
    """
    from .._interrupt import as_command
    from .app import run

    with as_command():
        return run(arguments)

"""Ctrl-C in the first moments of the command line; imports nothing that is not there when Python starts."""

import os
import sys

EXIT_CODE = 130
"""128 + SIGINT, as shells have it."""
_words = [b"interrupted\n"]  # said once: a second Ctrl-C and the end of the time allowed may come together


def is_command() -> bool:
    """Whether this process is the command ``widthwise`` (or ``python -m widthwise``)."""
    words = sys.orig_argv[1:]
    while words and words[0].startswith("-") and words[0] != "-m":
        words = words[1:]
    if words[:1] == ["-m"]:
        return words[1:2] == ["widthwise"]
    return bool(words) and os.path.basename(words[0]).removesuffix(".exe") == "widthwise"


def quit_at_once(number: int, frame: object) -> None:
    """Say so and end, without clearing up: nothing has been begun."""
    try:
        os.write(2, _words.pop())
    except IndexError:
        pass
    os._exit(EXIT_CODE)


if is_command():
    import _signal  # the module behind signal, which takes a hundredth of a second to import

    _signal.signal(_signal.SIGINT, quit_at_once)

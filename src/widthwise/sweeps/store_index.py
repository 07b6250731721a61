"""The numbers of all results in one file, so that opening a store does not open thousands.

A line is the JSON of an entry behind a digest of it. It counts only while the digest agrees and the file of
the result has the size and the time that the line says; other files are read themselves, checked, and their
lines added, if the store can be written to. What is no file in its place (a pipe, a folder) is not read.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .aside import move_aside
from .result import Result
from .result_file import DamagedFile, NewerFile, decode
from .task import Task, key_of

__all__ = ["Entry", "Index"]

_LONGEST = 64  # arrays beyond are left in the file


@dataclass
class Entry:
    """One result without its trace."""

    key: str
    size: int
    modified: int
    description: str
    status: str
    run_status: str
    error: str
    seconds: float
    version: str
    values: dict[str, Any]
    dims: dict[str, list[str]]

    @cached_property
    def task(self) -> Task:
        """The task it is the result of."""
        return Task.from_description(self.description)

    @cached_property
    def parts(self) -> dict[str, Any]:
        """Its description as a dictionary."""
        parts: dict[str, Any] = json.loads(self.description)
        return parts


class Index:
    """The file of entries of a store."""

    def __init__(self, path: Path, results: Path) -> None:
        self.path = path
        self.results = results
        self.damaged: dict[str, str] = {}
        self.newer: dict[str, str] = {}
        self._entries: dict[str, Entry] = {}
        self._position = 0

    def read(self) -> dict[str, Entry]:
        """The entries of the files that are there now, by key."""
        self._read_lines()
        files: dict[str, os.stat_result] = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(self.results) as listing:
            for item in listing:
                if item.name.endswith(".nc"):
                    with contextlib.suppress(FileNotFoundError):
                        is_link = item.is_symlink() and not os.path.exists(item.path)
                        files[item.name.removesuffix(".nc")] = item.stat(follow_symlinks=not is_link)
        self.damaged, self.newer = {}, {}
        found, fresh = {}, []
        for key in sorted(files):
            seen, entry = files[key], self._entries.get(key)
            is_known = entry is not None and (entry.size, entry.modified) == (seen.st_size, seen.st_mtime_ns)
            if entry is None or not is_known or not stat.S_ISREG(seen.st_mode):
                entry = self._from_file(key, seen)
                if entry is None:
                    continue
                fresh.append(entry)
            found[key] = entry
        if fresh:
            with contextlib.suppress(OSError):  # a store that can only be read
                self._append(fresh)
        self._entries = found
        return dict(found)

    def read_one(self, key: str) -> Entry | None:
        """The entry of one key, from its file."""
        try:
            seen = (self.results / f"{key}.nc").stat()
        except OSError:
            return None
        return self._from_file(key, seen)

    def wrong_lines(self) -> list[str]:
        """Keys whose line is believed and says something else than the file."""
        believed = self.read()
        self._entries = {}  # now from the files
        written = {key: _line(entry) for key, entry in self.read().items()}
        return [key for key, line in written.items() if key in believed and line != _line(believed[key])]

    @property
    def obstacle(self) -> str:
        """What is wrong with that which stands in the place of the file; empty if nothing is."""
        try:
            return "" if stat.S_ISREG(os.stat(self.path).st_mode) else "not a file"
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"it cannot be read: {error.strerror or error}"

    def add(self, result: Result) -> None:
        """Note a result whose file was just written."""
        self._clear_way()
        path = self.results / f"{result.task.key}.nc"
        entry = _entry(result, path.stat())
        self._append([entry])
        self._entries[entry.key] = entry

    def rewrite(self) -> None:
        """Start the file again with what is there."""
        self._entries = {}
        entries = self.read()
        self._clear_way()
        beside = self.path.with_suffix(f".{os.getpid()}.part")
        beside.write_text("".join(map(_line, entries.values())), encoding="utf-8")
        os.replace(beside, self.path)
        self._position = 0

    def _from_file(self, key: str, seen: os.stat_result) -> Entry | None:
        path = self.results / f"{key}.nc"
        try:
            return _entry(decode(path, key=key), seen)
        except FileNotFoundError:
            return None
        except DamagedFile as error:
            self.damaged[path.name] = str(error)
            if isinstance(error, NewerFile):
                self.newer[key] = str(error)
            return None

    def _read_lines(self) -> None:
        """Lines added since the last time; a torn one is no line."""
        if self.obstacle:
            return
        try:
            if self.path.stat().st_size < self._position:
                self._position = 0
            with open(self.path, "rb") as file:
                file.seek(self._position)
                content = file.read()
                self._position += len(content)
        except OSError:
            return
        for line in content.splitlines():
            try:
                mark, text = line.decode().split(" ", 1)
                entry = Entry(**json.loads(text)) if mark == _mark(text) else None
            except (ValueError, TypeError, RecursionError):
                continue
            if entry is not None and _is_plausible(entry):
                self._entries[entry.key] = entry

    def _clear_way(self) -> None:
        """Set aside what is no file: a pipe would be waited for, and a folder cannot be written."""
        if self.obstacle:
            move_aside(self.path)

    def _append(self, entries: list[Entry]) -> None:
        if self.obstacle:
            raise OSError(errno.EINVAL, self.obstacle)
        # An empty line first: whatever a crash left torn before ends there. One write, so that the lines of
        # two drivers do not mix.
        text = "\n" + "".join(map(_line, entries))
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)


def _entry(result: Result, seen: os.stat_result) -> Entry:
    short = {name: pair for name, pair in result.values.items() if pair[1].size <= _LONGEST}
    return Entry(
        key=result.task.key,
        size=seen.st_size,
        modified=seen.st_mtime_ns,
        description=result.task.text,
        status=result.status,
        run_status=result.run_status,
        error=result.error,
        seconds=result.timings.get("seconds", float("nan")),
        version=result.version,
        values={name: array.tolist() for name, (_, array) in short.items()},
        dims={name: list(dims) for name, (dims, _) in short.items() if dims},
    )


def _is_plausible(entry: Entry) -> bool:
    """Whether an entry is of the types that are written, and its key that of its description."""
    texts = (entry.key, entry.description, entry.status, entry.run_status, entry.error, entry.version)
    if not all(isinstance(text, str) for text in texts):
        return False
    if not (
        isinstance(entry.seconds, float) and isinstance(entry.values, dict) and isinstance(entry.dims, dict)
    ):
        return False
    return entry.status in ("done", "failed") and entry.key == key_of(entry.description)


def _line(entry: Entry) -> str:
    # Sorted, for a file lists its values in an order of its own.
    text = json.dumps(asdict(entry), separators=(",", ":"), sort_keys=True)
    return f"{_mark(text)} {text}\n"


def _mark(text: str) -> str:
    """What tells a line that was written from one that was torn or edited."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]

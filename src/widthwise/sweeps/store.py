"""A folder of results: one file for each finished task, whole or absent, whatever happens.

::

    results/<key>.nc    written under another name, synced, renamed; these files are the truth
    checkpoints/        where unfinished runs can be continued from
    index.jsonl         numbers of all results, read at once; made again when it is missing or stale
    lock                a byte of it is locked for each task in progress, so that two drivers share the work
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._display import Plotted
from .aside import move_aside
from .result import Result
from .result_file import DamagedFile, NewerFile, decode, encode
from .store_index import Entry, Index
from .task import DISK_ERRORS, Task

if TYPE_CHECKING:
    import pandas
    import xarray

__all__ = ["Store", "StoreError", "open_store"]

_DISK = DISK_ERRORS | {
    errno.EACCES: "it may not be written to",
    errno.EPERM: "it may not be written to",
    errno.EEXIST: "something that is no folder stands in the place of one; move it away",
    errno.ENOTDIR: "something that is no folder stands in the place of one; move it away",
    errno.EISDIR: "a folder stands in the place of a file; move it away",
}


class StoreError(RuntimeError):
    """A store that cannot be used; what was finished before is kept."""


def open_store(path: str | os.PathLike[str]) -> Store:
    """The store in a folder, for reading."""
    folder = Path(path)
    if not os.path.isdir(folder):
        raise StoreError(f"there is no store {str(folder)!r}; a sweep makes one")
    _require_reading(folder)
    if not (folder / "results").is_dir() and any(folder.iterdir()):
        raise StoreError(f"{str(folder)!r} is not a store: it has no folder 'results'")
    return Store(folder)


class Store(Plotted):
    """Results of tasks in a folder; made by a sweep, opened with :func:`open_store`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        if "\0" in str(self.path):
            raise StoreError(f"{str(path)!r} cannot be a store: no name of a folder holds a NUL character")
        self.results = self.path / "results"
        self.checkpoints = self.path / "checkpoints"
        self._index = Index(self.path / "index.jsonl", self.results)
        self._lock: int | None = None
        self._claimed: set[str] = set()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    # --- reading -----------------------------------------------------------------------------------

    def entries(self) -> dict[str, Entry]:
        """What is stored, by key: the numbers of each result without its trace."""
        return self._index.read()

    def entry(self, key: str) -> Entry | None:
        """What is stored for one key now, None if there is nothing that can be read."""
        return self._index.read_one(key)

    @property
    def damaged(self) -> dict[str, str]:
        """Files that :meth:`entries` could not read, with the reason."""
        self._index.read()
        return dict(self._index.damaged)

    @property
    def newer(self) -> dict[str, str]:
        """Keys whose file only a later version can read, as of the last reading, with the reason."""
        return dict(self._index.newer)

    def __contains__(self, task: Task) -> bool:
        return task.key in self.entries()

    def __len__(self) -> int:
        return len(self.entries())

    def read(self, task: Task | str) -> Result:
        """The whole result of a task (or of a key, or of the beginning of one)."""
        key = task.key if isinstance(task, Task) else self.find(task)
        try:
            return decode(self._file(key), key=key)
        except FileNotFoundError:
            raise KeyError(f"{self!r} has no result of {task}") from None
        except NewerFile as error:
            raise StoreError(f"{self._file(key).name} cannot be read: {error}") from None
        except DamagedFile as error:
            raise StoreError(f"{self._file(key).name} is damaged ({error}); run its sweep again") from None

    def find(self, beginning: str) -> str:
        """The key that begins so."""
        found = [key for key in self.entries() if key.startswith(beginning)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} results have a key that begins with {beginning!r}; see the list")
        return found[0]

    def trace(self, task: Task | str) -> xarray.Dataset:
        """Observables along the run of a task, with dimensions chain and draw."""
        import xarray

        return xarray.Dataset(self.read(task).trace)

    def dataset(self, names: Iterable[str] | None = None, *, tasks: Iterable[Task] | None = None) -> Any:
        """One xarray Dataset over learner, d, alpha and seed (and problem, if there are several).

        What is missing or failed is NaN. ``names`` and ``tasks`` choose quantities and results.
        """
        from .store_tables import dataset

        return dataset(self._chosen(tasks), names)

    def to_dataframe(self, *, tasks: Iterable[Task] | None = None) -> pandas.DataFrame:
        """A row for each result, with the parts of its description as columns."""
        from .store_tables import dataframe

        return dataframe(self._chosen(tasks))

    def summary(self, *, tasks: Iterable[Task] | None = None) -> pandas.DataFrame:
        """Means over seeds; standard errors as ``..._standard_error``; ``n_seeds`` and ``n_failed``."""
        from .store_tables import summary

        return summary(self._chosen(tasks))

    def _chosen(self, tasks: Iterable[Task] | None) -> list[Entry]:
        entries = self.entries()
        if tasks is None:
            return list(entries.values())
        return [entries[task.key] for task in tasks if task.key in entries]

    # --- writing -----------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the folders, and refuse a place that cannot be written to."""
        import h5py  # noqa: F401  (results need it: said before anything is run, not after)

        with self.explained():
            self.results.mkdir(parents=True, exist_ok=True)
            self.checkpoints.mkdir(exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        _require_reading(self.path)

    def write(self, result: Result, image: bytes | None = None) -> None:
        """Keep a result: under another name, synced, then renamed.

        What cannot be read in its place is set aside; what a later version wrote is not, but a StoreError.
        """
        image = encode(result) if image is None else image
        target = self._file(result.task.key)
        beside = target.with_name(f"{target.name}.{os.getpid()}.part")
        with self.explained():
            try:
                with open(beside, "wb") as file:
                    file.write(image)
                    file.flush()
                    os.fsync(file.fileno())
                self._set_aside_if_wrong(target)
                os.replace(beside, target)
            except (OSError, StoreError):
                with contextlib.suppress(OSError):
                    beside.unlink()
                raise
            _sync_folder(self.results)
            self._index.add(result)
        if result.status == "done":
            with contextlib.suppress(OSError):
                (self.checkpoints / f"{result.task.key}.npz").unlink()

    def discard_old_checkpoints(self) -> None:
        """Remove the checkpoints of finished tasks that a driver left which was killed just then."""
        entries = self.entries()
        for path in self.checkpoints.glob("*.npz"):
            entry = entries.get(path.name.removesuffix(".npz"))
            if entry is not None and entry.status == "done":
                with contextlib.suppress(OSError):
                    path.unlink()

    def modified(self, key: str) -> int | None:
        """When the file of a key was last written, None if there is none."""
        try:
            return self._file(key).stat().st_mtime_ns
        except OSError:
            return None

    def claim(self, key: str) -> bool:
        """Reserve a task for this process; False if another process has it.

        The lock is the system's: it goes with the process, however that ends. Where the file system has no
        locks every claim succeeds, and two drivers merely do some work twice.
        """
        try:
            import fcntl
        except ImportError:
            return True
        with self.explained():
            if self._lock is None:
                self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)
        self._claimed.add(key)
        return True

    def release(self, key: str) -> None:
        """Give a task up."""
        if self._lock is None or key not in self._claimed:
            return
        import fcntl

        self._claimed.discard(key)
        fcntl.lockf(self._lock, fcntl.LOCK_UN, 1, _place(key))

    def close(self) -> None:
        """Give up all tasks."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
            self._claimed.clear()

    # --- care --------------------------------------------------------------------------------------

    def verify(self, *, set_aside: bool = True) -> dict[str, str]:
        """Read every file through and compare it with its digests and the index; what is wrong, by name.

        Damaged files are set aside (renamed to ``....damaged``), so that the next run of their sweep makes
        them again, and the index is made again. What a later version wrote is named and stays.
        """
        wrong = {}
        names = sorted(name for name in _listed(self.results) if name.endswith(".nc"))
        for path in (self.results / name for name in names):
            error = _what_is_wrong(path)
            if error is None:
                continue
            wrong[path.name] = str(error)
            if set_aside and not isinstance(error, NewerFile):
                with contextlib.suppress(OSError):
                    move_aside(path)
        lines = self._index.wrong_lines()
        if self._index.obstacle:
            wrong["index.jsonl"] = self._index.obstacle
        elif lines:
            wrong["index.jsonl"] = f"it says something else than the files of {', '.join(lines[:3])}"
            wrong["index.jsonl"] += f" and {len(lines) - 3} more" if len(lines) > 3 else ""
        if set_aside:
            with contextlib.suppress(OSError):
                self._index.rewrite()
        return wrong

    def _set_aside_if_wrong(self, path: Path) -> None:
        if not os.path.lexists(path):
            return
        error = _what_is_wrong(path)
        if isinstance(error, NewerFile):
            raise StoreError(f"{path.name} is kept as it is: {error}")
        if error is not None:
            move_aside(path)

    def prune(self, *, failed: bool = False, keep: Iterable[Task] | None = None) -> list[str]:
        """Remove what is left over: unfinished writes, damaged files, checkpoints of finished tasks.

        With ``failed`` also failed results; with ``keep`` all results and checkpoints of other tasks.
        Returns the names removed. Not while a sweep is running on the store.
        """
        removed = [*self.results.glob("*.part"), *self.results.glob("*.damaged*")]
        removed += [*self.path.glob("index.*.part"), *self.path.glob("index.jsonl.damaged*")]
        entries = self.entries()
        done = {key for key, entry in entries.items() if entry.status == "done"}
        wanted = None if keep is None else {task.key for task in keep}
        for key, entry in entries.items():
            if (failed and entry.status == "failed") or (wanted is not None and key not in wanted):
                removed.append(self._file(key))
        for path in self.checkpoints.glob("*.npz*"):
            key = path.name.split(".")[0]
            if key in done or path.suffix == ".part" or (wanted is not None and key not in wanted):
                removed.append(path)
        with self.explained():
            removed = [path for path in removed if _remove(path)]
            self._index.rewrite()
        return [str(path.relative_to(self.path)) for path in removed]

    def _file(self, key: str) -> Path:
        return self.results / f"{key}.nc"

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the disk says into one sentence."""
        try:
            yield
        except OSError as error:
            reason = _DISK.get(error.errno or 0, error.strerror or str(error))
            raise StoreError(
                f"the store {str(self.path)!r} cannot be written: {reason}; what was finished is kept, "
                "and the same command goes on from there"
            ) from error


def _require_reading(folder: Path) -> None:
    """Refuse a store whose files cannot be listed: all results would seem to be missing."""
    for place in (folder, folder / "results"):
        if os.path.isdir(place) and not os.access(place, os.R_OK | os.X_OK):
            raise StoreError(f"the store {str(folder)!r} may not be read; ask its owner, or see 'ls -l'")


def _what_is_wrong(path: Path) -> DamagedFile | None:
    try:
        decode(path, key=path.name.removesuffix(".nc"))
    except DamagedFile as error:
        return error
    except FileNotFoundError:  # just removed
        return None
    return None


def _remove(path: Path) -> bool:
    """Remove a file, or a folder that is empty; what else is in one is nobody's to remove."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return True
    with contextlib.suppress(OSError):
        path.rmdir()
    return not path.exists()


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _place(key: str) -> int:
    """The byte of the lock file that stands for a key."""
    return int(key[:14], 16)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every system can
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

"""The file that a run saves itself to and goes on from."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..networks.instance import Instance

__all__ = ["Checkpoint", "OtherRun"]

Arrays = dict[str, np.ndarray]

_FORMAT = 3  # of what is saved; a file of another format belongs to another run
_CHECKPOINT_SECONDS = 20.0  # between two writes: a crash loses no more, and writing costs little


class OtherRun(ValueError):
    """A checkpoint that belongs to another instance, learner, settings or version."""


class Checkpoint:
    """The file of a run, written beside and renamed so that a crash leaves the old one whole."""

    def __init__(
        self, path: str | os.PathLike[str] | None, learner: str, instance: Instance, settings: dict[str, Any]
    ) -> None:
        self.path = None if path is None else Path(path)
        self.fingerprint = _fingerprint(learner, instance, settings)
        self.written = time.perf_counter()

    def read(self) -> Arrays | None:
        """What was written, None if nothing was; a ValueError if it belongs to another run."""
        if self.path is None or not self.path.exists():
            return None
        if not self.path.is_file():  # a pipe would be waited for
            raise OtherRun(f"checkpoint {str(self.path)!r} is not a file; give another path, or move it away")
        try:
            with np.load(self.path, allow_pickle=False) as file:
                saved = dict(file)
        except Exception as error:  # torn, or no archive of arrays
            raise OtherRun(f"checkpoint {str(self.path)!r} cannot be read ({error}); remove it") from None
        if str(saved.pop("fingerprint", "none")) != self.fingerprint:
            raise OtherRun(
                f"checkpoint {str(self.path)!r} belongs to another run (instance, learner, settings or "
                "version differ); give another path, or remove the file"
            )
        return saved

    def write_now_and_then(self, done: int, state: Arrays, records: Callable[[], Arrays]) -> None:
        """Write if the last time was a while ago."""
        if time.perf_counter() - self.written > _CHECKPOINT_SECONDS:
            self.write(done, state, records())

    def write(self, done: int, state: Arrays, records: Arrays) -> None:
        """Write the state of a chain and its records after ``done`` iterations."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".part")
        content: dict[str, Any] = {"fingerprint": np.array(self.fingerprint), "done": np.array(done)}
        with open(beside, "wb") as file:
            np.savez(file, **content | state | records)
        os.replace(beside, self.path)
        self.written = time.perf_counter()


def _fingerprint(learner: str, instance: Instance, settings: dict[str, Any]) -> str:
    """What must agree for a checkpoint to be gone on with; the number of iterations need not."""
    where = [repr(instance.problem), instance.d, instance.n, instance.alpha, instance.seed, instance.dtype]
    text = json.dumps(
        [_FORMAT, learner, where, instance.is_readout_drawn, settings], sort_keys=True, default=_digest
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(value: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()

"""One run of one learner on one instance: what a sweep is made of, and what a result is named after.

A task is its description: two tasks with the same one are the same task, on any machine. ``key`` is the
hash of it, and the name of the file that the result goes to.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from .._bad_value import shown
from .._import_path import imported
from ..learners import LEARNERS
from ..networks.instance import Instance, sample_instance
from ..problem import Problem
from .aside import move_aside
from .result import Result, failure, success

__all__ = ["DISK_ERRORS", "Interrupted", "Task", "find_learner", "key_of", "run_task"]


DISK_ERRORS = {
    errno.ENOSPC: "its disk is full",
    errno.EDQUOT: "the quota of its disk is used up",
    errno.EFBIG: "its disk takes no larger files",
    errno.EROFS: "its disk is read-only",
}
"""What the disk may say while a task runs."""


class Interrupted(Exception):
    """The learner was stopped by Ctrl-C: there is no result, but a checkpoint to go on from."""


@dataclass(frozen=True, eq=False)
class Task:
    """A learner with its settings, on the instance of a problem at (d, alpha, seed).

    Parameters
    ----------
    problem : Problem
        One that can be described (``Problem.to_dict``): no bare callables.
    d, alpha, seed
        As for :func:`~widthwise.sample_instance`.
    learner : str
        ``"hmc"``, ``"metropolis"``, ``"adam"``, ``"gamp_rie"``, or ``"package.module:function"``: any
        function of an instance and the settings that returns a ``Run``, or numbers and arrays by name.
    settings : dict
        Arguments of the learner, such as JSON can carry. Its ``seed`` is the task's unless given.
    """

    problem: Problem
    d: int
    alpha: float
    seed: int
    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    is_readout_drawn: bool = False

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "d", int(self.d))
        set_field(self, "alpha", float(self.alpha))
        set_field(self, "seed", int(self.seed))
        set_field(self, "settings", _plain_settings(self.learner, self.settings))

    @cached_property
    def description(self) -> dict[str, Any]:
        """Everything that decides the result, as JSON carries it; :meth:`from_description` reads it."""
        return {
            "problem": _problem_dict(self.problem),
            "d": self.d,
            "alpha": self.alpha,
            "seed": self.seed,
            "learner": self.learner,
            "settings": dict(self.settings),
            "dtype": self.dtype,
            "is_readout_drawn": self.is_readout_drawn,
        }

    @cached_property
    def text(self) -> str:
        """The description as canonical JSON."""
        return canonical(self.description)

    @cached_property
    def key(self) -> str:
        """Hash of the description: 32 hexadecimal digits."""
        return key_of(self.text)

    @classmethod
    def from_description(cls, description: Mapping[str, Any] | str) -> Task:
        """The task of a description, given as a dictionary or as JSON."""
        given = dict(json.loads(description) if isinstance(description, str) else description)
        problem = _problem_of(canonical(given.pop("problem")))
        return cls(problem, **given)

    @cached_property
    def instance(self) -> Instance:
        """The instance it runs on; its arrays are drawn when they are first asked for."""
        return sample_instance(
            self.problem,
            self.d,
            self.alpha,
            self.seed,
            dtype=self.dtype,
            is_readout_drawn=self.is_readout_drawn,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Task.from_description, (self.text,)

    def __str__(self) -> str:
        return f"{self.learner} d={self.d} alpha={self.alpha:g} seed={self.seed}"


def key_of(text: str) -> str:
    """The key of a description in canonical JSON."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: one text for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def find_learner(name: str) -> Callable[..., Any]:
    """The learner of a name or of ``package.module:function``."""
    if ":" not in name:
        if name not in LEARNERS:
            raise ValueError(
                f"unknown learner {name!r}; choose from {', '.join(LEARNERS)}, or name a function as "
                "package.module:function"
            )
        return LEARNERS[name]
    found: Callable[..., Any] = imported(name, "learner")
    try:
        inspect.signature(found)
    except (TypeError, ValueError):
        message = f"learner {name!r} is not a function of an instance, or does not say what it takes"
        raise ValueError(message) from None
    return found


def run_task(
    task: Task, checkpoint_dir: str | Path | None = None, *, progress: bool | None = False
) -> Result:
    """Run a task; an error of the learner, or an error that is not a number, becomes a failed result.

    With ``checkpoint_dir`` a learner that can is continued from its checkpoint there, if there is one.
    Raises :class:`Interrupted` when Ctrl-C stopped it, and OSError when the disk is full.
    """
    try:
        learner = find_learner(task.learner)
        accepted = _parameters(learner)
        options = dict(task.settings)
        if "seed" in accepted:
            options.setdefault("seed", task.seed)
        if "progress" in accepted:
            options["progress"] = progress
        checkpoint = None
        if checkpoint_dir is not None and "checkpoint" in accepted and Path(checkpoint_dir).is_dir():
            checkpoint = Path(checkpoint_dir) / f"{task.key}.npz"
            options["checkpoint"] = checkpoint
            if os.path.lexists(checkpoint) and not checkpoint.is_file():  # a pipe would be waited for
                move_aside(checkpoint)
        is_continued = checkpoint is not None and checkpoint.exists()
        try:
            result = success(task, lambda: learner(task.instance, **options))
        except Exception as error:
            if checkpoint is None or not is_continued or _is_of_the_disk(error):
                raise
            # Torn, of another version, or of something else: what the checkpoint may be to blame for is tried
            # without it before it counts.
            with contextlib.suppress(FileNotFoundError):
                move_aside(checkpoint)
            result = success(task, lambda: learner(task.instance, **options))
    except Exception as error:
        if _is_of_the_disk(error):
            raise  # a checkpoint that could not be written is no fault of the task
        return failure(task, error)
    if result.run_status == "interrupted":
        raise Interrupted(str(task))
    return result


def _parameters(learner: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(learner).parameters


def check_settings(learner: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings that a learner does not take."""
    accepted = _parameters(find_learner(learner))
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in accepted.values()):
        return
    known = [name for name in list(accepted)[1:] if name not in ("progress", "checkpoint")]
    for name in settings:
        if name not in known:
            raise ValueError(f"{learner} has no setting {name!r}; it takes {', '.join(known) or 'none'}")
    try:
        hints = get_type_hints(find_learner(learner))
    except Exception:  # of a learner of the user's own: whatever it says, nothing can be checked
        return
    for name, value in _plain_settings(learner, settings).items():
        if not _fits(value, hints.get(name, Any)):
            raise ValueError(
                f"setting {name!r} of {learner} must be {_words(accepted[name].annotation)}, got {value!r}"
            )


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value that JSON can carry is of a type; true where that cannot be told."""
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if hint in (bool, str, type(None)):
        return isinstance(value, hint)
    if get_origin(hint) in (list, tuple, Sequence):
        inner = [one for one in get_args(hint) if one is not Ellipsis] or [Any]
        return isinstance(value, list) and all(any(_fits(v, one) for one in inner) for v in value)
    return True


def _words(annotation: Any) -> str:
    """A type as users call it."""
    names = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false"}
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return " or ".join(names.get(part.strip(), part.strip()) for part in text.split("|"))


def _is_of_the_disk(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in DISK_ERRORS


def _plain_settings(learner: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in settings.items():
        try:
            text = json.dumps(value, allow_nan=False, default=_plain_number)
            plain[name] = json.loads(text, parse_int=_whole_number)
        except (TypeError, ValueError, RecursionError):
            got = shown(value) if isinstance(value, (int, float)) else type(value)
            raise ValueError(
                f"setting {name!r} of {learner} must be a finite number < 1e300, a text, true or false, or a "
                f"list of them, so that it can be written down; got {got}"
            ) from None
    return plain


def _whole_number(text: str) -> int:
    if len(text) > 300:
        raise ValueError("too large to be counted with")
    return int(text)


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be described")


@lru_cache(maxsize=256)
def _problem_dict(problem: Problem) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(problem.to_dict()))
    return plain


@lru_cache(maxsize=256)
def _problem_of(text: str) -> Problem:
    return Problem.from_dict(json.loads(text))

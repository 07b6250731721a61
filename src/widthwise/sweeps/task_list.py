"""The tasks of a sweep: all combinations of its parts, each made when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from ..problem import Problem
from .task import Task, canonical

__all__ = ["Tasks"]


class Tasks(Sequence[Task]):
    """The tasks of a sweep, each made when it is asked for: a billion take no more memory than one."""

    def __init__(
        self,
        learners: Sequence[tuple[str, Mapping[str, Any]]],
        problems: Sequence[Problem],
        d: Sequence[int],
        alpha: Sequence[float],
        seeds: Sequence[int],
        dtype: str,
        is_readout_drawn: bool,
    ) -> None:
        self._learners = list(
            {canonical([name, dict(given)]): (name, given) for name, given in learners}.values()
        )
        self._problems = list({canonical(problem.to_dict()): problem for problem in problems}.values())
        self._d, self._alpha = list(dict.fromkeys(d)), list(dict.fromkeys(alpha))
        self._seeds = seeds if isinstance(seeds, range) else list(dict.fromkeys(seeds))
        self._axes: tuple[Sequence[Any], ...] = (
            self._learners,
            self._problems,
            self._d,
            self._alpha,
            self._seeds,
        )
        self._rest = dtype, is_readout_drawn

    def __len__(self) -> int:
        return math.prod(map(len, self._axes))

    @overload
    def __getitem__(self, index: int) -> Task: ...

    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...

    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        left = range(len(self))[index]
        places = []
        for axis in reversed(self._axes):
            left, place = divmod(left, len(axis))
            places.append(axis[place])
        return self._task(*reversed(places))

    def __iter__(self) -> Iterator[Task]:
        for learner in self._learners:
            for problem in self._problems:
                for d in self._d:
                    for alpha in self._alpha:
                        for seed in self._seeds:
                            yield self._task(learner, problem, d, alpha, seed)

    def __contains__(self, task: object) -> bool:
        if not isinstance(task, Task) or task.seed not in self._seeds or task.d not in self._d:
            return False
        learners = [pair for pair in self._learners if pair[0] == task.learner]
        problems = [problem for problem in self._problems if problem == task.problem]
        return task.alpha in self._alpha and any(
            self._task(learner, problem, task.d, task.alpha, task.seed) == task
            for learner in learners
            for problem in problems
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Tasks, list)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _task(
        self, learner: tuple[str, Mapping[str, Any]], problem: Problem, d: int, alpha: float, seed: int
    ) -> Task:
        return Task(problem, d, alpha, seed, *learner, *self._rest)

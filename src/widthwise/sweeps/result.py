"""What a task gives: numbers by name, the course of the run, or the error that ended it."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._version import __version__
from ..learners.run import Run

if TYPE_CHECKING:
    import xarray

    from .task import Task

__all__ = ["Result", "failure", "success"]

Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]


@dataclass
class Result:
    """Result of one task.

    ``values`` holds scalars and short arrays as (dimensions, array); ``trace`` the same along the run, with
    dimensions chain and draw first.
    """

    task: Task
    status: str
    """``"done"`` or ``"failed"``."""
    values: Variables = field(default_factory=dict)
    trace: Variables = field(default_factory=dict)
    run_status: str = ""
    """What the learner says of itself: done, converged, stopped early, out of time, ..."""
    error: str = ""
    details: str = ""
    """Traceback of the error."""
    warnings: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    version: str = __version__

    def scalar(self, name: str) -> float:
        """A number by name; NaN if there is none."""
        return float(self.values[name][1]) if name in self.values else float("nan")

    def to_xarray(self) -> xarray.Dataset:
        """The numbers, with those of the trace under ``trace_...``."""
        import xarray

        everything = self.values | {
            name if name in ("chain", "draw", "order", "readout") else f"trace_{name}": value
            for name, value in self.trace.items()
        }
        return xarray.Dataset(everything, attrs={"status": self.status, "task": self.task.text})


def success(task: Task, run: Callable[[], Any]) -> Result:
    """The result of what ``run`` returns; failed if its error is not a number."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        answer = run()
        values, trace, run_status, timings = _read(answer)
    result = Result(
        task,
        "done",
        values,
        trace,
        run_status,
        warnings=list(dict.fromkeys(str(one.message) for one in said)),
        timings={"seconds": time.perf_counter() - start} | timings,
    )
    bad = _not_finite(values)
    if bad and run_status != "interrupted":
        result.status, result.error = "failed", f"{task.learner} returned {bad}"
    return result


def failure(task: Task, error: BaseException) -> Result:
    """A failed result that says why."""
    said = str(error) or type(error).__name__
    details = "".join(traceback.format_exception(error))
    return Result(task, "failed", error=f"{type(error).__name__}: {said}", details=details)


def _read(answer: Any) -> tuple[Variables, Variables, str, dict[str, float]]:
    if isinstance(answer, Run):
        return *_of_run(answer), answer.status, dict(answer.timings)
    if isinstance(answer, Mapping):  # an xarray Dataset is one, with dimensions of its own
        values: Variables = {}
        for name, value in {**dict(getattr(answer, "coords", {})), **answer}.items():
            array = np.asarray(value)
            dims = getattr(value, "dims", None)
            if dims is None:
                dims = tuple(f"{name}_{i}" for i in range(array.ndim))
            values[str(name)] = (tuple(map(str, dims)), _numeric(str(name), array))
        return values, {}, "done", {}
    raise TypeError(f"a learner must return a Run, or numbers by name; got {type(answer).__name__}")


def _of_run(run: Run) -> tuple[Variables, Variables]:
    trace: Variables = {}
    values: Variables = {}
    settled = run.settled
    for name, variable in run.trace.variables.items():
        dims = tuple(map(str, variable.dims))
        if dims[:2] == ("chain", "draw"):
            trace[str(name)] = (dims, np.asarray(variable.values, dtype=float))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the mean of nothing recorded is NaN
                mean = np.nanmean(settled.variables[name].values, axis=(0, 1))
            values[str(name)] = (dims[2:], np.asarray(mean, dtype=float))
        elif dims == (str(name),):  # a coordinate; matrices of a predictor are not kept
            trace[str(name)] = (dims, np.asarray(variable.values))
    used = {d for dims, _ in values.values() for d in dims}
    values |= {name: trace[name] for name in sorted(used & set(trace))}
    trace = {
        name: value
        for name, value in trace.items()
        if value[0] != (name,) or any(name in dims for dims, _ in trace.values() if dims != (name,))
    }
    values["test_error"] = ((), np.asarray(run.test_error, dtype=float))
    if run.is_sampler:
        for name, value in run.replicas.items():
            label = "replica_excess_error" if name == "excess_error" else name
            values.setdefault(label, ((), np.asarray(value, dtype=float)))
        verdict = run.equilibrium
        nothing = float("nan")
        r_hat, draws = verdict.r_hat.values(), verdict.effective_draws.values()
        worst = (max(r_hat, default=nothing), min(draws, default=nothing), bool(verdict))
        for name, number in zip(("r_hat", "effective_draws", "is_at_equilibrium"), worst, strict=True):
            values.setdefault(name, ((), np.asarray(number, dtype=float)))
    return values, trace


def _numeric(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"a learner must return numbers, but {name!r} holds {array.dtype}")
    return array.astype(float) if array.dtype.kind == "b" else array


def _not_finite(values: Variables) -> str:
    """What is wrong with the numbers; nothing where the error (or anything, without one) is finite."""
    if "excess_error" in values:
        error = values["excess_error"][1]
        return "" if np.isfinite(error).all() else f"an excess error of {np.ravel(error)[0]:g}"
    if any(np.isfinite(value).any() for _, value in values.values()):
        return ""
    return "no finite number" if values else "nothing"

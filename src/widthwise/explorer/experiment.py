"""A small live experiment: a learner in a process of its own, whose error is watched as it falls."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from typing import Any

import numpy as np

from .._workers import LocalProcesses, TookTooLong, report
from .figures import finish
from .tasks import quietly, read_problem

__all__ = ["LEARNERS", "MAX_D", "MAX_RUNS", "MAX_SECONDS", "Experiment", "experiment_figure"]

MAX_D = 60
MAX_SECONDS = 300.0
MAX_RUNS = 2
"""Live experiments at a time, in all tabs together."""
LEARNERS = {
    "gamp_rie": "GAMP-RIE (polynomial time)",
    "hmc": "Hamiltonian Monte Carlo",
    "metropolis": "Metropolis (discrete weights)",
}
MEASURED, THEORY = "#E0457B", "#2A93D5"
"""Colours that are seen on a light and on a dark ground."""
_ITERATIONS = {"hmc": 120, "metropolis": 300}


class Experiment:
    """A run in a process of the given ones."""

    def __init__(
        self,
        processes: LocalProcesses,
        fields: Mapping[str, Any],
        learner: str,
        d: int,
        alpha: float,
        start: str,
        seed: int,
    ) -> None:
        if learner not in LEARNERS:
            raise ValueError(f"unknown learner {learner!r}")
        if not (isinstance(d, int) and 4 <= d <= MAX_D):
            raise ValueError(f"d must be a whole number from 4 to {MAX_D} for a live run, got {d}")
        if start not in ("random", "teacher"):
            raise ValueError(f"a run starts at random or on the teacher, not {start!r}")
        self.learner, self.d, self.alpha, self.start = learner, d, alpha, start
        self.steps: list[int] = []
        self.errors: list[float] = []
        self.predicted: dict[str, float] = {}
        self.status = "starting"
        self.message = ""
        self._processes = processes
        arguments = (dict(fields), learner, d, alpha, start, seed)
        self._call = processes.submit_reporting(self._hear, _run, *arguments)
        self._call.add_done_callback(self._finish)

    @property
    def is_over(self) -> bool:
        return self.status not in ("starting", "running")

    @property
    def words(self) -> str:
        """How it is going."""
        return self.message or f"{self.status} …"

    def stop(self) -> None:
        """End the process; what was measured stays."""
        if not self.is_over:
            self.status, self.message = "stopped", "Stopped."
        self._processes.end(self._call)

    def _hear(self, said: tuple[str, Any]) -> None:
        kind, value = said
        if self.is_over:
            return
        if kind == "step":
            self.status = "running"
            self.errors.append(value[1])
            self.steps.append(value[0])
        else:
            self.predicted = value

    def _finish(self, call: Future[Any]) -> None:
        error = CancelledError() if call.cancelled() else call.exception()
        if self.is_over:
            return
        if error is None:
            self.status, self.message = call.result()
        elif isinstance(error, TookTooLong):
            self.status, self.message = "stopped", "The time for a live run is up."
        else:
            self.status, self.message = "failed", "The process ended without a result."


def _run(
    fields: dict[str, Any], learner: str, d: int, alpha: float, start: str, seed: int
) -> tuple[str, str]:
    """Status and message of a run, whose steps are reported."""

    def step(n: int, latest: Mapping[str, float]) -> None:
        report(("step", (n, float(np.mean(latest["excess_error"])))))

    try:
        from .. import learners
        from ..networks.instance import sample_instance
        from ..theory.solver import solve

        problem, errors = read_problem(fields)
        if problem is None:
            raise ValueError(next(iter(errors.values())))
        found = {b: quietly(solve, problem, alpha, b) for b in ("equilibrium", "universal")}
        report(("predicted", {b: s.excess_error for b, s in found.items() if s.is_converged}))
        instance = sample_instance(problem, d=d, alpha=alpha, seed=seed)
        if learner == "gamp_rie":
            run = quietly(learners.gamp_rie, instance, progress=step)
        else:
            n = _ITERATIONS[learner]
            function = learners.LEARNERS[learner]
            run = quietly(
                function, instance, start=start, iterations=n, record_every=max(1, n // 100), progress=step
            )
        return "done", _summary(run, found["universal" if learner == "gamp_rie" else "equilibrium"])
    except ImportError as error:
        return "failed", f"{error.name} is not installed; pip install 'widthwise[simulate]'."
    except (ValueError, RuntimeError, MemoryError, NotImplementedError) as error:
        text = str(error)
        return "failed", text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _summary(run: Any, predicted: Any) -> str:
    """The end of a run in words, beside the branch of the theory that the learner is expected on."""
    how = "" if run.status == "done" else f" ({run.status})"
    text = f"Done{how}: excess error {run.excess_error:.4g}"
    if predicted.is_converged and predicted.excess_error > 0:
        share = 100 * (run.excess_error / predicted.excess_error - 1)
        text += f", {share:+.0f} % from the theory's {predicted.excess_error:.4g} ({predicted.branch})"
    return f"{text}."


def experiment_figure(run: Experiment | None) -> Any:
    """The error along the run, with what the theory predicts as horizontal lines."""
    import plotly.graph_objects as go

    figure = go.Figure()
    if run is not None:
        marks = {"color": MEASURED, "size": 6}
        figure.add_trace(
            go.Scatter(
                x=run.steps,
                y=run.errors,
                mode="lines+markers",
                line={"color": MEASURED, "width": 1.6},
                marker=marks,
                name=f"{LEARNERS[run.learner].split(' (')[0]}, d = {run.d}",
            )
        )
        end = max(run.steps[-1] if run.steps else 1, 10)
        looks = {"equilibrium": (THEORY, "solid"), "universal": (THEORY, "dash")}
        for name, value in run.predicted.items():
            color, dash = looks[name]
            figure.add_trace(
                go.Scatter(
                    x=[0, end],
                    y=[value, value],
                    mode="lines",
                    line={"color": color, "dash": dash, "width": 2.2},
                    name=f"theory, {name}",
                    hovertemplate=f"{value:.5g}<extra>theory, {name}</extra>",
                )
            )
    return finish(figure, x="iteration", y="excess error", is_log_y=True)

"""A small live experiment: a learner in a process of its own, whose error is watched as it falls."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from .compute import process_context
from .figures import finish
from .tasks import quietly, read_problem

__all__ = ["LEARNERS", "MAX_D", "Experiment", "experiment_figure"]

MAX_D = 60
MAX_SECONDS = 300.0
LEARNERS = {
    "gamp_rie": "GAMP-RIE (polynomial time)",
    "hmc": "Hamiltonian Monte Carlo",
    "metropolis": "Metropolis (discrete weights)",
}
_ITERATIONS = {"hmc": 400, "metropolis": 300}


class Experiment:
    """A run in its own process; what it says is collected when asked for."""

    def __init__(
        self, fields: Mapping[str, Any], learner: str, d: int, alpha: float, start: str, seed: int
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
        self._begun = time.monotonic()
        context = process_context()
        self._pipe, theirs = context.Pipe(duplex=False)
        arguments = (theirs, dict(fields), learner, d, alpha, start, seed)
        self._process = context.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    @property
    def is_over(self) -> bool:
        return self.status not in ("starting", "running")

    @property
    def words(self) -> str:
        """How it is going."""
        return self.message or f"{self.status} …"

    def collect(self) -> None:
        """Read what the process has said so far."""
        try:
            while self._pipe.poll():
                kind, value = self._pipe.recv()
                if kind == "step":
                    self.status = "running"
                    self.steps.append(value[0])
                    self.errors.append(value[1])
                elif kind == "predicted":
                    self.predicted = value
                else:
                    self.status, self.message = kind, value
        except (EOFError, OSError):
            if not self.is_over:
                self.status, self.message = "failed", "The process ended without a result."
        if not self.is_over and time.monotonic() - self._begun > MAX_SECONDS:
            self.stop("The time for a live run is up.")

    def stop(self, reason: str = "Stopped.") -> None:
        """End the process; what was measured stays."""
        if not self.is_over:
            self.status, self.message = "stopped", reason
        if self._process.is_alive():
            self._process.terminate()


def _run(
    pipe: Any, fields: dict[str, Any], learner: str, d: int, alpha: float, start: str, seed: int
) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def step(n: int, latest: Mapping[str, float]) -> None:
        pipe.send(("step", (n, float(np.mean(latest["excess_error"])))))

    try:
        from .. import learners
        from ..networks.instance import sample_instance
        from ..theory.solver import solve

        problem, errors = read_problem(fields)
        if problem is None:
            raise ValueError(next(iter(errors.values())))
        found = {b: quietly(solve, problem, alpha, b) for b in ("equilibrium", "universal")}
        pipe.send(("predicted", {b: s.excess_error for b, s in found.items() if s.is_converged}))
        instance = sample_instance(problem, d=d, alpha=alpha, seed=seed)
        if learner == "gamp_rie":
            run = quietly(learners.gamp_rie, instance, progress=step)
        else:
            n = _ITERATIONS[learner]
            function = learners.LEARNERS[learner]
            run = quietly(
                function, instance, start=start, iterations=n, record_every=max(1, n // 100), progress=step
            )
        pipe.send(("done", f"Done ({run.status}): excess error {run.excess_error:.4g}."))
    except ImportError as error:
        pipe.send(("failed", f"{error.name} is not installed; pip install 'widthwise[simulate]'."))
    except (ValueError, RuntimeError, MemoryError, NotImplementedError) as error:
        text = str(error)
        pipe.send(("failed", text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")))


def experiment_figure(run: Experiment | None) -> Any:
    """The error along the run, with what the theory predicts as horizontal lines."""
    import plotly.graph_objects as go

    figure = go.Figure()
    if run is not None:
        marks = {"color": "#C2185B", "size": 6}
        figure.add_trace(
            go.Scatter(
                x=run.steps,
                y=run.errors,
                mode="lines+markers",
                line={"color": "#C2185B", "width": 1.6},
                marker=marks,
                name=f"{LEARNERS[run.learner].split(' (')[0]}, d = {run.d}",
            )
        )
        end = max(run.steps[-1] if run.steps else 1, 10)
        looks = {"equilibrium": ("#0072B2", "solid"), "universal": ("#0072B2", "dash")}
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

"""What runs for longer and can be stopped: the phase diagram and the live experiment of each tab."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from dash import Input, Output, State, ctx, no_update

from ..experiment import MAX_RUNS, Experiment, experiment_figure
from ..phases import Diagram, diagram_figure
from ..requests import as_state
from ..state import bounded, problem_fields, sentence
from .wiring import on_change

__all__ = ["register"]

MAX_KEPT = 16


class Job(Protocol):
    """Something that runs beside the page."""

    def stop(self) -> None:
        """End it; what it has found stays."""

    @property
    def is_over(self) -> bool: ...

    @property
    def words(self) -> str: ...


def register(app: Any, explorer: Any) -> None:
    """Connect the buttons that start and stop."""
    runs: OrderedDict[str, Any] = OrderedDict()
    explorer.runs = runs

    def begin_diagram(state: Mapping[str, Any], tab: str) -> Diagram:
        axis = "noise" if state.get("against") == "noise" else "gamma"
        fields = problem_fields(state)
        if axis == "noise" and "noise" not in fields:
            raise ValueError("these labels have no noise to vary")
        return Diagram.over(fields, axis, bounded(state, "reach"), tab, explorer.background)

    def begin_run(state: Mapping[str, Any], tab: str) -> Experiment:
        if sum(not run.is_over for run in runs.values()) >= MAX_RUNS:
            raise ValueError("other tabs are running experiments; stop one")
        size, alpha = round(bounded(state, "size")), min(bounded(state, "alpha"), 20.0)
        learner, start = str(state.get("learner")), str(state.get("start"))
        fields = problem_fields(state)
        return Experiment(explorer.experiments, fields, learner, size, alpha, start, seed=0)

    _connect(app, "diagram", OrderedDict(), begin_diagram, _draw_diagram)
    _connect(app, "run", runs, begin_run, lambda run, _: experiment_figure(run))


def _connect(
    app: Any,
    name: str,
    jobs: OrderedDict[str, Any],
    begin: Callable[[Mapping[str, Any], str], Job],
    draw: Callable[[Any, Mapping[str, Any]], Any],
) -> None:
    """Start, watch and stop one job of a kind in each tab."""
    lock = threading.Lock()
    idle = (True, False, True)

    @on_change(
        app,
        Output(name, "figure"),
        Output(f"{name}-progress", "children"),
        Output(f"{name}-error", "children"),
        *[Output(f"{name}-{part}", "disabled") for part in ("tick", "start", "stop")],
        *[Input(f"{name}-{part}", "n_clicks") for part in ("start", "stop")],
        Input(f"{name}-tick", "n_intervals"),
        State("state", "data"),
        State("tab", "data"),
    )
    def watch(_start: Any, _stop: Any, _tick: Any, data: Any, tab: Any) -> Any:
        state, tab = as_state(data), str(tab)
        with lock:
            job = jobs.get(tab)
            if ctx.triggered_id == f"{name}-start":
                if job is not None:
                    job.stop()
                try:
                    job = jobs[tab] = begin(state, tab)
                except ValueError as error:
                    return no_update, "", sentence(str(error)), *idle
                while len(jobs) > MAX_KEPT:  # those of the tabs that were used last stay
                    jobs.popitem(last=False)[1].stop()
            elif job is not None and ctx.triggered_id == f"{name}-stop":
                job.stop()
        if job is None:
            return no_update, "", "", *idle
        is_over = job.is_over
        return draw(job, state), job.words, "", is_over, not is_over, is_over


def _draw_diagram(diagram: Diagram, state: Mapping[str, Any]) -> Any:
    try:
        here = bounded(state, diagram.axis), bounded(state, "alpha")
    except ValueError:
        return diagram_figure(diagram)
    return diagram_figure(diagram, here)

"""What runs for longer and can be stopped: the phase diagram and the live experiment of each tab."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from dash import Input, Output, State, ctx, no_update

from ..experiment import Experiment, experiment_figure
from ..phases import Diagram, diagram_figure
from ..state import bounded, problem_fields
from ..wanted import as_state

__all__ = ["register"]

MAX_RUNS = 2
"""Live experiments at a time, in all tabs together."""
MAX_KEPT = 16


def register(app: Any, explorer: Any) -> None:
    """Connect the buttons that start and stop."""
    diagrams: OrderedDict[str, Diagram] = OrderedDict()
    runs: OrderedDict[str, Experiment] = OrderedDict()
    explorer.runs = runs
    lock = threading.Lock()

    @app.callback(
        Output("diagram", "figure"),
        Output("diagram-progress", "children"),
        Output("diagram-tick", "disabled"),
        Output("diagram-start", "disabled"),
        Output("diagram-stop", "disabled"),
        Input("diagram-start", "n_clicks"),
        Input("diagram-stop", "n_clicks"),
        Input("diagram-tick", "n_intervals"),
        State("state", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_diagram(_start: Any, _stop: Any, _tick: Any, data: Any, tab: Any) -> Any:
        tab = str(tab)
        with lock:
            current = diagrams.get(tab)
            if ctx.triggered_id == "diagram-start":
                state = as_state(data)
                axis = "noise" if state.get("against") == "noise" else "gamma"
                fields = problem_fields(state)
                if axis == "noise" and "noise" not in fields:
                    return no_update, "These labels have no noise to vary.", True, False, True
                if current is not None:
                    current.cancel(explorer.background)
                current = Diagram.over(fields, axis, _reach(state), tab)
                current.start(explorer.background)
                diagrams[tab] = current
                _forget(diagrams, lambda old: old.cancel(explorer.background))
            elif current is not None and ctx.triggered_id == "diagram-stop":
                current.cancel(explorer.background)
        if current is None:
            return no_update, "", True, False, True
        is_over = current.is_done or current.is_cancelled
        here = _here(data, current.axis)
        return diagram_figure(current, here), current.progress, is_over, not is_over, is_over

    @app.callback(
        Output("run", "figure"),
        Output("run-progress", "children"),
        Output("run-tick", "disabled"),
        Output("run-start", "disabled"),
        Output("run-stop", "disabled"),
        Output("size-error", "children"),
        Input("run-start", "n_clicks"),
        Input("run-stop", "n_clicks"),
        Input("run-tick", "n_intervals"),
        State("state", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def draw_run(_start: Any, _stop: Any, _tick: Any, data: Any, tab: Any) -> Any:
        tab = str(tab)
        with lock:
            current = runs.get(tab)
            if ctx.triggered_id == "run-start":
                state = as_state(data)
                if current is not None:
                    current.stop()
                busy = sum(run.is_running for run in runs.values())
                if busy >= MAX_RUNS:
                    return no_update, "Other tabs are running experiments; stop one.", True, False, True, ""
                try:
                    size, alpha = bounded(state, "size"), bounded(state, "alpha")
                    current = Experiment(
                        problem_fields(state),
                        str(state.get("learner")),
                        round(size),
                        min(alpha, 20.0),
                        str(state.get("start")),
                        seed=0,
                    )
                except ValueError as error:
                    return no_update, "", True, False, True, f"{str(error)[:1].upper()}{str(error)[1:]}."
                runs[tab] = current
                _forget(runs, lambda old: old.stop())
            elif current is not None and ctx.triggered_id == "run-stop":
                current.collect()
                current.stop()
        if current is None:
            return no_update, "", True, False, True, ""
        current.collect()
        words = current.message or {"starting": "starting …", "running": "running …"}.get(current.status, "")
        is_over = not current.is_running
        return experiment_figure(current), words, is_over, not is_over, is_over, ""


def _forget(items: OrderedDict[str, Any], end: Any) -> None:
    """Keep the jobs of the tabs that were used last."""
    while len(items) > MAX_KEPT:
        _, old = items.popitem(last=False)
        end(old)


def _reach(state: Any) -> float:
    try:
        return bounded(state, "reach")
    except ValueError:
        return 6.0


def _here(data: Any, axis: str) -> tuple[float, float] | None:
    try:
        state = as_state(data)
        return bounded(state, axis), bounded(state, "alpha")
    except ValueError:
        return None

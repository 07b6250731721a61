"""The phase diagram, column by column: coarse at once, finer as long as nobody stops it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..plotting.phases import fine_map, phase_places
from ..problem import Problem
from ..theory.diagram import BEYOND
from ..theory.diagram_data import phase_names
from ..theory.solver import all_solutions
from ..theory.transitions import Transition, transitions
from .compute import Workers
from .figures import ALPHA_LABEL, finish
from .phase_lines import Line, join_lines
from .tasks import quietly, read_problem

__all__ = ["AXES", "Column", "Diagram", "column_lines", "diagram_column", "diagram_figure"]

AXES = {"gamma": "width γ = k/d", "noise": "noise Δ"}
N_COLUMNS, N_ROWS = 33, 64
N_HALVINGS = 4
"""How often the gap at the end of a line is halved."""


@dataclass
class Column:
    """One value of γ or Δ at all α."""

    value: float
    phase: np.ndarray
    error: np.ndarray
    lines: list[Transition]


def diagram_column(fields: Mapping[str, Any], axis: str, value: float, alphas: np.ndarray) -> Column:
    """How many classes of units are learnt, and the error, along α."""
    problem, errors = read_problem({**fields, axis: value})
    if problem is None:
        raise ValueError(next(iter(errors.values())))
    phase, error = np.full(alphas.shape, np.nan), np.full(alphas.shape, np.nan)
    for i, found in enumerate(quietly(all_solutions, problem, alphas)):
        best = next((s for s in found if s.is_equilibrium), None)
        if best is not None:
            is_few = problem.readouts.is_discrete
            phase[i] = best.n_learnt if is_few else float(best.branch == "specialised")
            error[i] = best.excess_error
    return Column(value, phase, error, _lines_of(problem, alphas))


def column_lines(fields: Mapping[str, Any], axis: str, value: float, alphas: np.ndarray) -> list[Transition]:
    """Only the transitions of a column."""
    problem, _ = read_problem({**fields, axis: value})
    return [] if problem is None else _lines_of(problem, alphas)


def _lines_of(problem: Problem, alphas: np.ndarray) -> list[Transition]:
    # Beyond the frame, so that a line is seen to leave it.
    return list(quietly(transitions, problem, BEYOND * float(alphas[-1]), n_grid=20))


@dataclass
class Diagram:
    """A diagram being computed; ``columns`` grows as workers finish."""

    fields: Mapping[str, Any]
    axis: str
    values: np.ndarray
    alphas: np.ndarray
    owner: str
    workers: Workers
    columns: dict[int, Column] = field(default_factory=dict)
    between: dict[float, list[Transition]] = field(default_factory=dict)
    """Transitions between columns, where a line begins or ends."""
    failed: int = 0
    is_cancelled: bool = False
    is_joined: bool = False
    _tasks: list[tuple[Any, Future[Column]]] = field(default_factory=list)

    @classmethod
    def over(
        cls, fields: Mapping[str, Any], axis: str, reach: float, owner: str, workers: Workers
    ) -> Diagram:
        """A diagram around a problem, with all its columns queued: a coarse one first."""
        centre = float(fields.get(axis) or 0.5)
        low, high = {"gamma": (0.05, 2.0), "noise": (1e-3, 1.0)}[axis]
        values = np.geomspace(min(low, centre), max(high, centre), N_COLUMNS)
        diagram = cls(dict(fields), axis, values, np.geomspace(reach / 100, reach, N_ROWS), owner, workers)
        diagram._start()
        return diagram

    def _start(self) -> None:
        order = dict.fromkeys(int(i) for step in (8, 4, 2, 1) for i in range(0, self.values.size, step))
        for i in order:
            owner = (self.owner, "diagram", i)
            value = float(self.values[i])
            task = self.workers.submit(owner, diagram_column, self.fields, self.axis, value, self.alphas)
            self._tasks.append((i, task))
        threading.Thread(target=self._gather, daemon=True).start()

    def _gather(self) -> None:
        for i, task in self._tasks:
            try:
                self.columns[i] = task.result()
            except Exception:  # one column less; what is cancelled is not counted as failed
                self.failed += not self.is_cancelled
        for _ in range(N_HALVINGS):
            for low, high in self._open_ends():
                if self.is_cancelled:
                    return
                value = float(np.sqrt(low * high))
                owner = (self.owner, "diagram", value)
                given = (self.fields, self.axis, value, self.alphas)
                try:
                    self.between[value] = self.workers.submit(owner, column_lines, *given).result()
                except Exception:  # the line ends a little earlier
                    continue
        self.is_joined = True

    def _lines(self) -> list[tuple[float, list[Transition]]]:
        """All known transitions, ordered by their column."""
        own = {column.value: column.lines for column in list(self.columns.values())}
        return sorted((own | dict(self.between)).items())

    def _open_ends(self) -> list[tuple[float, float]]:
        """Neighbouring columns between which a line begins or ends inside the frame."""
        lines, found = self._lines(), []
        top = float(self.alphas[-1])
        for (low, here), (high, there) in zip(lines[:-1], lines[1:], strict=True):
            if sum(0 < t.alpha < top for t in here) != sum(0 < t.alpha < top for t in there):
                found.append((low, high))
        return found

    def stop(self) -> None:
        """Keep what is there and drop the rest."""
        self.is_cancelled = True
        for i in range(self.values.size):
            self.workers.cancel((self.owner, "diagram", i))

    @property
    def is_over(self) -> bool:
        return self.is_cancelled or self.is_joined

    @property
    def words(self) -> str:
        """How far it is."""
        total, n = self.values.size, len(self.columns)
        failed = f"; {self.failed} could not be computed" if self.failed else ""
        if self.is_cancelled:
            return f"Stopped after {n} of {total} columns{failed}."
        if n + self.failed < total:
            return f"{n} of {total} columns{failed} …"
        return f"{n} of {total} columns{failed}" + ("." if self.is_over else "; the ends of the lines …")


def diagram_figure(diagram: Diagram, current: tuple[float, float] | None = None) -> Any:
    """Phases as colours, transitions as lines, and where the page stands as a cross."""
    import plotly.graph_objects as go

    figure = go.Figure()
    columns = [diagram.columns[i] for i in sorted(diagram.columns)]
    if len(columns) > 1:
        phase = np.array([column.phase for column in columns])
        shown = np.log10(np.maximum([column.error for column in columns], 1e-12))
        strokes = join_lines(diagram._lines())
        values = [column.value for column in columns]
        edges = [[dict(stroke.points).get(value, np.nan) for value in values] for stroke in strokes]
        x, y, z = fine_map(values, diagram.alphas, shown, edges, is_log=(True, True), shape=(160, 160))
        figure.add_trace(
            go.Heatmap(
                x=x,
                y=y,
                z=np.round(z.T, 4),
                zmin=_least(shown),
                zmax=float(np.nanmax(shown)),
                colorscale="Cividis_r",
                colorbar={
                    "title": {"text": "log₁₀ of the<br>excess error", "side": "top", "font": {"size": 13}},
                    "thickness": 14,
                    "outlinewidth": 0,
                    "nticks": 6,
                },
                hovertemplate="%{x:.3g}, α = %{y:.3g}<br>excess error 10^%{z:.3f}<extra></extra>",
            )
        )
        _add_lines(figure, strokes)
        _add_names(figure, diagram, columns, phase, edges)
    if current is not None:
        mark = {"symbol": "cross-thin", "size": 15, "line": {"width": 3, "color": "#D55E00"}}
        figure.add_trace(
            go.Scatter(x=[current[0]], y=[current[1]], mode="markers", marker=mark, name="this page")
        )
    finish(figure, x=AXES[diagram.axis], y=ALPHA_LABEL, is_log_x=True, is_log_y=True)
    low, high = np.log10(diagram.values[[0, -1]])
    figure.update_xaxes(range=[low, high], showgrid=False)
    figure.update_yaxes(range=list(np.log10(diagram.alphas[[0, -1]])), showgrid=False)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(dtick="D2")  # 1, 2 and 5 of each decade
    figure.update_layout(margin={"t": 12, "b": 60}, showlegend=False)
    return figure


def _least(logs: np.ndarray) -> float:
    """End of the colours: five decades below the largest error, or the smallest one."""
    return float(max(np.nanmin(logs), np.nanmax(logs) - 5))


def _add_names(
    figure: Any, diagram: Diagram, columns: list[Column], grid: np.ndarray, lines: list[list[float]]
) -> None:
    """The name of each phase, where there is most room for it."""
    problem, _ = read_problem({**diagram.fields, diagram.axis: columns[0].value})
    if problem is None:
        return
    for name, x, y in phase_places(
        grid, [column.value for column in columns], diagram.alphas, phase_names(problem)
    ):
        figure.add_annotation(
            x=np.log10(x),
            y=np.log10(y),
            text=name,
            showarrow=False,
            font={"size": 14, "color": "#ffffff"},
            bgcolor="rgba(20,24,30,0.55)",
            borderpad=4,
        )


def _add_lines(figure: Any, strokes: list[Line]) -> None:
    """White strokes along the transitions: solid where the optimum jumps."""
    import plotly.graph_objects as go

    for stroke in strokes:
        if len(stroke.points) < 2:
            continue  # a line needs two columns; the next ones may bring them
        x, y = zip(*stroke.points, strict=True)
        dash = "solid" if stroke.kind == "first-order" else "dot"
        who = f"|v| = {stroke.readout:.3g}, " if np.isfinite(stroke.readout) else ""
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                line={"color": "#ffffff", "width": 2.5, "dash": dash},
                showlegend=False,
                hovertemplate="%{x:.3g}, α = %{y:.5g}<extra>" + who + stroke.kind + "</extra>",
            )
        )

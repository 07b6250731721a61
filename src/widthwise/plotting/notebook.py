"""How results look in a notebook: a small table, and for a curve a sketch of it, as plain HTML and SVG.

No style sheet and no script: colours are those of the page, so that dark ones work too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._bad_value import plural
from .._display import table
from ..denoising import MatrixDenoiser
from ..ingredients import channels
from ..learners.run import Run
from ..networks.measurements import ComparedCurve
from ..problem import Problem
from ..studies.width import WidthTable
from ..studies.yardstick import Yardstick
from ..sweeps.store import Store
from ..theory import (
    LearningCurve,
    LinearRegime,
    PhaseDiagram,
    SamplesNeeded,
    ScalingLaw,
    Solution,
    StateEvolution,
)
from ..theory.landscape import Landscape
from ..theory.transitions import TransitionList

__all__ = ["sparkline"]

_MAX_ROWS = 8
_LEFT = 'style="text-align:left"'
_SOLUTION = (
    "alpha",
    "branch",
    "is_stable",
    "excess_error",
    "bayes_error",
    "matrix_overlap_centred",
    "weight_overlap",
    "mutual_information",
    "status",
)
_CURVE = ("alpha", "branch", "excess_error", "matrix_overlap_centred", "mutual_information")
_YARDSTICK = ("estimator", "alpha", "error", "standard_error", "optimal_error", "universal_error")


def sparkline(x: ArrayLike, y: ArrayLike, *, width: int = 240, height: int = 54) -> str:
    """A sketch of y against x as SVG; gaps where y is not a number, nothing for fewer than two points."""
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    good = np.isfinite(xs) & np.isfinite(ys)
    if good.sum() < 2:
        return ""
    low, high = ys[good].min(), ys[good].max()
    left, right = xs[good].min(), xs[good].max()
    px = 3 + (width - 6) * (xs - left) / max(right - left, 1e-300)
    py = height - 4 - (height - 8) * (ys - low) / max(high - low, 1e-300)
    runs: list[list[str]] = [[]]
    for a, b, is_good in zip(px, py, good, strict=True):
        if is_good:
            runs[-1].append(f"{a:.1f},{b:.1f}")
        elif runs[-1]:
            runs.append([])
    lines = "".join(f'<polyline points="{" ".join(run)}"/>' for run in runs if len(run) > 1)
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" fill="none" '
        f'stroke="currentColor" stroke-width="1.5" stroke-linejoin="round">{lines}</svg>'
    )


# --- tables ----------------------------------------------------------------------------------------


@table.register
def _problem(problem: Problem) -> str:
    channel = problem.channel
    gaussian = isinstance(channel, channels.Gaussian) and f"Gaussian, variance {channel.noise:g}"
    rows = [
        ("activation", problem.activation.spec or problem.activation.name),
        ("weights", _law(problem.weights)),
        ("readouts", _law(problem.readouts)),
        ("channel", gaussian or repr(channel)),
        ("gamma", f"{problem.gamma:g}"),
    ]
    rows += [] if problem.inputs.is_isotropic else [("inputs", problem.inputs.name)]
    return _named("Problem", rows)


@table.register
def _solution(solution: Solution) -> str:
    rows = [(name.replace("_", " "), _text(getattr(solution, name))) for name in _SOLUTION]
    return _named("Solution", rows)


@table.register
def _curve(curve: LearningCurve) -> str:
    title = f"{type(curve).__name__}: {plural(len(curve), 'point')}, {escape(repr(curve.problem))}"
    if not len(curve):
        return f"<p>{title}</p>"
    shown = _spread(len(curve))
    table = _table(_CURVE, ([getattr(curve[i], name) for name in _CURVE] for i in shown))
    sketch = sparkline(curve.alpha, curve.excess_error)
    return f"<p>{title}</p><div>{sketch}<br/><small>excess error against alpha</small></div>{table}"


@table.register
def _compared(found: ComparedCurve) -> str:
    rows = found.to_dicts()
    names = ("alpha", "measured", "standard_error", "predicted", "deviation", "verdict")
    body = _table(names, ([row[name] for name in names] for row in rows))
    return f"<p>{escape(found.quantity.replace('_', ' '))}: {escape(repr(found.curve.problem))}</p>{body}"


@table.register
def _diagram(diagram: PhaseDiagram) -> str:
    return f"<p>{escape(repr(diagram))}</p>{diagram.data._repr_html_()}"


@table.register
def _transitions(found: TransitionList) -> str:
    if not found:
        return f"<p>{escape(str(found))}</p>"
    names = ("readout", "kind", "alpha", "spinodals", "overlap_jump")
    return _table(names, ([getattr(one, name) for name in names] for one in found))


@table.register
def _scaling(law: ScalingLaw) -> str:
    names = ("n", "excess_error", "effective_width", "one_draw_error", "local_exponent")
    rows = ([getattr(law, name)[i] for name in names] for i in _spread(len(law)))
    title = f"<p>ScalingLaw: d = {law.d:g}, {escape(repr(law.problem))}</p>"
    return title + sparkline(np.log(law.n), np.log(law.excess_error)) + _table(names, rows)


@table.register
def _widths(found: WidthTable) -> str:
    names = (
        "n",
        "width",
        "excess_error",
        "standard_error",
        "features_found",
        "optimal_error",
        "effective_width",
    )
    return _table(names, ([getattr(row, name) for name in names] for row in found.rows))


@table.register
def _samples_needed(need: SamplesNeeded) -> str:
    return f"<p>{escape(str(need))}</p>"


@table.register
def _state_evolution(course: StateEvolution) -> str:
    names = ("step", "excess_error", "matrix_overlap_centred", "matrix_overlap_hat")
    shown = _spread(course.excess_error.size)
    table = _table(names, ([i, *(getattr(course, name)[i] for name in names[1:])] for i in shown))
    title = f"StateEvolution: alpha = {course.alpha:g}, {plural(course.n_steps, 'step')}, {course.status}"
    sketch = sparkline(np.arange(course.excess_error.size), course.excess_error)
    return f"<p>{title}</p><div>{sketch}<br/><small>excess error against the step</small></div>{table}"


@table.register
def _linear_regime(points: LinearRegime) -> str:
    names = ("alpha_linear", "linear_overlap", "excess_error", "bayes_error")
    columns = [np.ravel(getattr(points, name)) for name in names]
    table = _table(names, ([column[i] for column in columns] for i in _spread(columns[0].size)))
    sketch = sparkline(columns[0], columns[2])
    return f"<p>LinearRegime: {escape(repr(points.problem))}</p>{sketch}{table}"


@table.register
def _landscape(scan: Landscape) -> str:
    sketch = sparkline(scan.overlap, scan.free_entropy)
    return f"<p>Landscape</p><div>{sketch}<br/><small>free entropy against the overlap</small></div>"


@table.register
def _denoiser(denoiser: MatrixDenoiser) -> str:
    snr = np.geomspace(0.01, 100, 60)
    sketch = sparkline(np.log(snr), denoiser.mmse(snr))
    note = "mmse against ln snr, from 0.01 to 100"
    return f"<p>{escape(repr(denoiser))}</p><div>{sketch}<br/><small>{note}</small></div>"


@table.register
def _store(store: Store) -> str:
    summary = store.summary().to_dict("records")
    names = ("learner", "d", "alpha", "n_seeds", "n_failed", "excess_error", "excess_error_standard_error")
    table = _table(names, ([summary[i].get(name) for name in names] for i in _spread(len(summary))))
    return f"<p>{escape(repr(store))}: {plural(len(store), 'result')}</p>{table if summary else ''}"


@table.register
def _run(run: Run) -> str:
    trace = run.trace["excess_error"].mean("chain")
    rows = [
        ("learner", run.learner),
        ("instance", f"d = {run.instance.d}, alpha = {run.instance.alpha:g}, seed = {run.instance.seed}"),
        ("status", run.status),
        ("excess error", _text(run.excess_error)),
        ("matrix overlap centred", _text(run.matrix_overlap_centred)),
        ("weight overlap", _text(run.weight_overlap)),
    ]
    sketch = sparkline(trace["draw"].to_numpy(), trace.to_numpy())
    return f"{_named('Run', rows)}<div>{sketch}<br/><small>excess error along the run</small></div>"


@table.register
def _yardstick(results: Yardstick) -> str:
    names = (*_YARDSTICK, "equivalent_share", "note")
    table = _table(names, ([row[name] for name in names] for row in results.rows))
    return (
        f"<p>{escape(repr(results.problem))}, d = {results.d}, {results.measure.replace('_', ' ')}</p>{table}"
    )


def _named(title: str, rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><th {_LEFT}>{escape(name)}</th><td {_LEFT}>{escape(value)}</td></tr>" for name, value in rows
    )
    return f"<p><b>{title}</b></p><table>{cells}</table>"


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(value))}</td>" for value in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return "–" if math.isnan(value) else f"{value:.5g}"
    if isinstance(value, np.ndarray):
        shown = [f"{item:.4g}" for item in value[: _MAX_ROWS // 2]]
        return ", ".join(shown) + (f", … ({value.size} values)" if value.size > len(shown) else "")
    if isinstance(value, tuple):
        return " to ".join(_text(item) for item in value)
    return str(value)


def _law(law: Any) -> str:
    return law.spec if isinstance(law.spec, str) else repr(law)


def _spread(n: int) -> list[int]:
    """Indices of a few points from first to last."""
    return sorted({round(i) for i in np.linspace(0, n - 1, min(n, _MAX_ROWS))})

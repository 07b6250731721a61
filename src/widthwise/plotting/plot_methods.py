"""Which figure belongs to which result: what ``.plot()`` draws."""

from __future__ import annotations

from typing import Any

from .._display import figure
from ..denoising import MatrixDenoiser
from ..learners.run import Run
from ..networks.measurements import ComparedCurve
from ..problem import Problem
from ..studies.input_study import InputTable
from ..studies.width import WidthTable
from ..studies.yardstick import Yardstick
from ..sweeps.comparison import compare
from ..sweeps.store import Store
from ..theory import LearningCurve, LinearRegime, PhaseDiagram, ScalingLaw, Solution, StateEvolution
from ..theory.landscape import Landscape
from ..theory.transitions import TransitionList
from .curves import plot_bifurcation, plot_error
from .diagrams import plot_phase_diagram
from .inputs import plot_inputs
from .measurements import plot_compared
from .results import plot_landscape, plot_linear_regime, plot_solution, plot_state_evolution
from .runs import plot_run, plot_yardstick
from .scaling import plot_scaling, plot_widths
from .spectra import plot_spectrum


@figure.register
def _curve(curve: LearningCurve, ax: Any = None, **options: Any) -> Any:
    return plot_error(ax, curve, **options)


@figure.register
def _compared(found: ComparedCurve, ax: Any = None, **options: Any) -> Any:
    return plot_compared(ax, found, **options)


@figure.register
def _solution(solution: Solution, ax: Any = None, **options: Any) -> Any:
    return plot_solution(ax, solution, **options)


@figure.register
def _state_evolution(course: StateEvolution, ax: Any = None, **options: Any) -> Any:
    return plot_state_evolution(ax, course, **options)


@figure.register
def _linear_regime(points: LinearRegime, ax: Any = None, **options: Any) -> Any:
    return plot_linear_regime(ax, points, **options)


@figure.register
def _landscape(scan: Landscape, ax: Any = None, **options: Any) -> Any:
    return plot_landscape(ax, scan, **options)


@figure.register
def _transitions(found: TransitionList, ax: Any = None, **options: Any) -> Any:
    """All branches up to where transitions were looked for."""
    low = 0.02 * min([found.alpha_max, *(one.alpha for one in found if one.alpha > 0)])
    return plot_bifurcation(ax, found.problem, (low, found.alpha_max), **{"found": found, **options})


@figure.register
def _scaling(law: ScalingLaw, ax: Any = None, **options: Any) -> Any:
    return plot_scaling(ax, law, **options)


@figure.register
def _widths(table: WidthTable, ax: Any = None, **options: Any) -> Any:
    return plot_widths(ax, table, **options)


@figure.register
def _denoiser(denoiser: MatrixDenoiser, ax: Any = None, snr: float = 1.0, **options: Any) -> Any:
    return plot_spectrum(ax, denoiser, snr, **options)


@figure.register
def _diagram(diagram: PhaseDiagram, ax: Any = None, **options: Any) -> Any:
    return plot_phase_diagram(diagram.data, ax=ax, **options)


@figure.register
def _run(run: Run, ax: Any = None, **options: Any) -> Any:
    return plot_run(ax, run, **options)


@figure.register
def _yardstick(results: Yardstick, ax: Any = None, **options: Any) -> Any:
    return plot_yardstick(ax, results, **options)


@figure.register
def _inputs(table: InputTable, ax: Any = None, **options: Any) -> Any:
    return plot_inputs(ax, table, **options)


@figure.register
def _store(store: Store, ax: Any = None, quantity: str = "excess_error", branch: str | None = None) -> Any:
    """Means over seeds beside the theory."""
    from .experiments import plot_quantity

    entries = list(store.entries().values())
    if not entries:
        raise ValueError(f"there is nothing to draw: {store!r} is empty")
    problems = {str(entry.parts["problem"]): Problem.from_dict(entry.parts["problem"]) for entry in entries}
    ax = plot_quantity(ax, list(problems.values()), compare(entries, branch=branch), quantity)
    ax.legend(frameon=False)
    return ax

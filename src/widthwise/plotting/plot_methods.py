"""Which figure belongs to which result: what ``.plot()`` draws."""

from __future__ import annotations

from collections.abc import Callable
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
from .experiments import plot_compared, plot_quantity
from .inputs import plot_inputs
from .results import plot_landscape, plot_linear_regime, plot_solution, plot_spectrum, plot_state_evolution
from .runs import plot_run, plot_yardstick
from .scaling import plot_scaling, plot_widths


def _drawn_by(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda result, ax=None, **options: draw(ax, result, **options)


for _kind, _draw in (
    (LearningCurve, plot_error),
    (ComparedCurve, plot_compared),
    (Solution, plot_solution),
    (StateEvolution, plot_state_evolution),
    (LinearRegime, plot_linear_regime),
    (Landscape, plot_landscape),
    (ScalingLaw, plot_scaling),
    (WidthTable, plot_widths),
    (Run, plot_run),
    (Yardstick, plot_yardstick),
    (InputTable, plot_inputs),
):
    figure.register(_kind, _drawn_by(_draw))


@figure.register
def _transitions(found: TransitionList, ax: Any = None, **options: Any) -> Any:
    """All branches up to where transitions were looked for."""
    low = 0.02 * min([found.alpha_max, *(one.alpha for one in found if one.alpha > 0)])
    return plot_bifurcation(ax, found.problem, (low, found.alpha_max), **{"found": found, **options})


@figure.register
def _denoiser(denoiser: MatrixDenoiser, ax: Any = None, snr: float = 1.0, **options: Any) -> Any:
    return plot_spectrum(ax, denoiser, snr, **options)


@figure.register
def _diagram(diagram: PhaseDiagram, ax: Any = None, **options: Any) -> Any:
    return plot_phase_diagram(diagram.data, ax=ax, **options)


@figure.register
def _store(store: Store, ax: Any = None, quantity: str = "excess_error", branch: str | None = None) -> Any:
    """Means over seeds beside the theory."""
    entries = list(store.entries().values())
    if not entries:
        raise ValueError(f"there is nothing to draw: {store!r} is empty")
    problems = {str(entry.parts["problem"]): Problem.from_dict(entry.parts["problem"]) for entry in entries}
    ax = plot_quantity(ax, list(problems.values()), compare(entries, branch=branch), quantity)
    ax.legend(frameon=False)
    return ax

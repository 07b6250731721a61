"""Which figure belongs to which result: what ``.plot()`` draws."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["plot"]

_FIGURES = {
    "LearningCurve": ("curves", "plot_error"),
    "Solution": ("results", "plot_solution"),
    "StateEvolution": ("results", "plot_state_evolution"),
    "LinearRegime": ("results", "plot_linear_regime"),
    "Landscape": ("results", "plot_landscape"),
    "TransitionList": ("any_result", "_transitions"),
    "MatrixDenoiser": ("any_result", "_denoiser"),
    "Dataset": ("any_result", "_diagram"),
    "Run": ("runs", "plot_run"),
    "Store": ("any_result", "_store"),
    "Yardstick": ("runs", "plot_yardstick"),
}
"""By the name of the class: a module of this package and a function of (axes, thing) in it."""


def plot(thing: Any, ax: Any = None, **options: Any) -> Any:
    """Draw a result on the axes given, or on new ones, and return them."""
    for kind in type(thing).__mro__:
        if kind.__name__ in _FIGURES:
            module, name = _FIGURES[kind.__name__]
            return getattr(import_module(f"{__package__}.{module}"), name)(ax, thing, **options)
    known = ", ".join(_FIGURES)
    raise TypeError(f"there is no figure for {type(thing).__name__}; there are those of {known}")


def _transitions(ax: Any, found: Any, **options: Any) -> Any:
    """All branches up to where transitions were looked for."""
    from .curves import plot_bifurcation

    low = 0.02 * min([found.alpha_max, *(one.alpha for one in found if one.alpha > 0)])
    return plot_bifurcation(ax, found.problem, (low, found.alpha_max), **{"found": found, **options})


def _denoiser(ax: Any, denoiser: Any, snr: float = 1.0, **options: Any) -> Any:
    from .spectra import plot_spectrum

    return plot_spectrum(ax, denoiser, snr, **options)


def _diagram(ax: Any, data: Any, quantity: str = "excess_error", **options: Any) -> Any:
    from .diagrams import plot_phase_diagram

    return plot_phase_diagram(data, quantity, ax, **options)


def _store(ax: Any, store: Any, quantity: str = "excess_error", branch: str | None = None) -> Any:
    """Means over seeds beside the theory."""
    from ..problem import Problem
    from ..sweeps.comparison import compare
    from .experiments import plot_quantity

    entries = list(store.entries().values())
    if not entries:
        raise ValueError(f"there is nothing to draw: {store!r} is empty")
    problems = {str(entry.parts["problem"]): Problem.from_dict(entry.parts["problem"]) for entry in entries}
    ax = plot_quantity(ax, list(problems.values()), compare(entries, branch=branch), quantity)
    ax.legend(frameon=False)
    return ax

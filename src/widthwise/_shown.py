"""What results do for the eye, in a notebook and on paper.

A result lies below its figures and tables, so it only knows that there are some: ``table`` and ``figure``
dispatch on the class of the result, and :mod:`widthwise.plotting` registers one for each class. It is loaded
when somebody looks, by a function that ``widthwise`` itself hands over (:func:`load_views_with`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

__all__ = ["PhaseDiagramView", "Plotted", "Shown", "figure", "load_views_with", "register_accessor", "table"]

_loaders: list[Callable[[], object]] = []


def load_views_with(loader: Callable[[], object]) -> None:
    """Have ``loader`` called before anything is shown; it imports the modules that register views."""
    _loaders.append(loader)


@singledispatch
def table(thing: object) -> str:
    """A problem or a result as HTML for a notebook."""
    raise TypeError(f"there is no table for {type(thing).__name__}; there are those of {_known(table)}")


@singledispatch
def figure(thing: object, ax: Any = None, **options: Any) -> Any:
    """A result drawn on the axes given, or on new ones, which are returned."""
    raise TypeError(f"there is no figure for {type(thing).__name__}; there are those of {_known(figure)}")


class Shown:
    """Has a small table, and a sketch where there is a curve, in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        _load()
        return table(self)


class Plotted(Shown):
    """Can also be drawn."""

    __slots__ = ()

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw on the axes given (new ones unless given) and return them; options are those of the figure."""
        _load()
        return figure(self, ax, **options)


def register_accessor() -> None:
    """Give datasets ``data.widthwise.plot()``, for the phase diagrams among them."""
    import xarray

    if not hasattr(xarray.Dataset, "widthwise"):
        register: Any = xarray.register_dataset_accessor
        register("widthwise")(PhaseDiagramView)


class PhaseDiagramView:
    """What a phase diagram can do beyond a dataset."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def plot(self, quantity: str = "excess_error", ax: Any = None, **options: Any) -> Any:
        """Colours for a quantity, lines for transitions; see ``plotting.plot_phase_diagram``."""
        _load()
        return figure(self, ax, quantity=quantity, **options)


def _load() -> None:
    for loader in _loaders:  # each time: a second thread waits for the import instead of finding half of it
        loader()


def _known(views: Any) -> str:
    return ", ".join(kind.__name__ for kind in views.registry if kind is not object)

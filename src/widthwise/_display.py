"""How results are displayed: tables in notebooks, ``.plot()`` and ``.interactive()``.

A result lies below its figures and tables, so it only knows that there are some: ``table``, ``figure`` and
``interactive_figure`` dispatch on the class of the result; :mod:`widthwise.plotting` and
:mod:`widthwise.explorer.figures` register one for each class. They are loaded when somebody looks, by
functions that ``widthwise`` itself hands over (:func:`load_views_with`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

from ._extras import explained

__all__ = [
    "Interactive",
    "Plotted",
    "Shown",
    "compare_with",
    "comparison",
    "draw",
    "figure",
    "interactive_figure",
    "load_views_with",
    "table",
]

_loaders: dict[str, Callable[[], object]] = {}


def load_views_with(**loaders: Callable[[], object]) -> None:
    """What to call before something is shown (``views``), made interactive or compared (``comparison``).

    Each imports the modules that register views.
    """
    _loaders.update(loaders)


@singledispatch
def table(thing: object) -> str:
    """A problem or a result as HTML for a notebook."""
    raise TypeError(f"there is no table for {type(thing).__name__}; there are those of {_known(table)}")


@singledispatch
def figure(thing: object, ax: Any = None, **options: Any) -> Any:
    """A result drawn on the axes given, or on new ones, which are returned."""
    raise TypeError(f"there is no figure for {type(thing).__name__}; there are those of {_known(figure)}")


@singledispatch
def interactive_figure(thing: object, quantity: str, **options: Any) -> Any:
    """A result as a Plotly figure."""
    raise TypeError(
        f"{type(thing).__name__} has no interactive figure; there are those of {_known(interactive_figure)}"
    )


def draw(thing: object, ax: Any = None, **options: Any) -> Any:
    """What :func:`figure` makes of a result."""
    _load("views")
    return figure(thing, ax, **options)


@singledispatch
def comparison(thing: object, data: Any, quantity: str | None = None) -> Any:
    """Measurements beside a result."""
    raise TypeError(f"{type(thing).__name__} cannot be compared with measurements")


def compare_with(thing: object, data: Any, quantity: str | None = None) -> Any:
    """What :func:`comparison` makes of a result and measurements."""
    _load("comparison")
    return comparison(thing, data, quantity)


class Shown:
    """Has a small table, and a sketch where there is a curve, in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        _load("views")
        return table(self)


class Plotted(Shown):
    """Can also be drawn."""

    __slots__ = ()

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw on the axes given (new ones unless given) and return them; options are those of the figure."""
        return draw(self, ax, **options)


class Interactive(Plotted):
    """Can also be drawn as a figure that answers the mouse."""

    __slots__ = ()

    @explained
    def interactive(self, quantity: str = "excess_error", **options: Any) -> Any:
        """A Plotly figure of a quantity; see :func:`widthwise.explorer.figures.interactive`."""
        _load("interactive")
        return interactive_figure(self, quantity, **options)


def _load(what: str) -> None:
    _loaders[what]()  # each time: a second thread waits for the import instead of finding half of it


def _known(views: Any) -> str:
    return ", ".join(kind.__name__ for kind in views.registry if kind is not object)

"""What results do for the eye, in a notebook and on paper.

Figures and tables lie above the theory, so a result only knows that there are some: which, is looked up in
:mod:`widthwise.notebook` and :mod:`widthwise.plotting.any_result` when somebody looks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Plotted", "Shown", "register_accessor"]


def _above(module: str) -> Any:
    return import_module(f"{__package__}.{module}")


class Shown:
    """Has a small table, and a sketch where there is a curve, in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return _above("notebook").html(self)


class Plotted(Shown):
    """Can also be drawn."""

    __slots__ = ()

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw on the axes given (new ones unless given) and return them; options are those of the figure."""
        return _above("plotting.any_result").plot(self, ax, **options)


def register_accessor() -> None:
    """Give datasets ``data.widthwise.plot()``, for the phase diagrams among them."""
    import xarray

    if not hasattr(xarray.Dataset, "widthwise"):
        xarray.register_dataset_accessor("widthwise")(_OfDataset)


class _OfDataset:
    """What a phase diagram can do beyond a dataset."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def plot(self, quantity: str = "excess_error", ax: Any = None, **options: Any) -> Any:
        """Colours for a quantity, lines for transitions; see ``plotting.plot_phase_diagram``."""
        return _above("plotting.any_result").plot(self._data, ax, quantity=quantity, **options)

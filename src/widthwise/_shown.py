"""What results do for the eye, in a notebook and on paper.

Figures and tables lie above the theory, so a result only knows that there are some: which, is looked up in
:mod:`widthwise.notebook` when somebody looks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Plotted", "Shown"]


def _notebook() -> Any:
    return import_module(f"{__package__}.notebook")


class Shown:
    """Has a small table, and a sketch where there is a curve, in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return _notebook().html(self)


class Plotted(Shown):
    """Can also be drawn."""

    __slots__ = ()

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw on the axes given (new ones unless given) and return them; options are those of the figure."""
        return _notebook().plot(self, ax, **options)

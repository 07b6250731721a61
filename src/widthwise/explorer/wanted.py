"""What a curve is asked for: the problem, the range and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .state import LIMITS, bounded, problem_fields, read_pins

__all__ = ["Wanted", "as_state"]


def as_state(data: Any) -> Mapping[str, Any]:
    """What the browser sent, if it is a record at all."""
    if not isinstance(data, Mapping):
        raise ValueError("the state of the page must be a record")
    return data


class Wanted:
    """A wish of the browser, made safe; ``errors`` are sentences for controls out of their range."""

    def __init__(self, data: Any) -> None:
        state = as_state(data)
        self.fields = problem_fields(state)
        self.quantity = str(state.get("quantity"))
        self.is_log_x, self.is_log_y = state.get("xaxis") == "log", state.get("yaxis") == "log"
        self.pins = read_pins(str(state.get("pins") or ""))
        self.serial = state.get("serial")
        self.errors: dict[str, str] = {}
        try:
            self.reach = bounded(state, "reach")
        except ValueError:
            low, high = LIMITS["reach"]
            self.errors["reach"] = f"The largest α must lie between {low:g} and {high:g}."
            self.reach = 6.0

    @property
    def axes(self) -> dict[str, bool]:
        """Which axes are logarithmic."""
        return {"is_log_x": self.is_log_x, "is_log_y": self.is_log_y}

    @property
    def curve(self) -> tuple[Mapping[str, Any], float, str, dict[str, bool]]:
        """What a task needs to compute the curve."""
        return self.fields, self.reach, self.quantity, self.axes

    @property
    def look(self) -> dict[str, Any]:
        """What a figure needs to draw it."""
        return {**self.axes, "reach": self.reach}

"""Numbers printed in the paper beside ours: agreement to the last printed digit, or the reason why not."""

from __future__ import annotations

from typing import Any

from .._version import __version__

__all__ = ["printed_row", "unit_of"]


def unit_of(printed: str) -> float:
    """One unit of the last digit of a number as printed, e.g. 0.001 of "0.883" and 1e-8 of "1.115e-5"."""
    mantissa, _, exponent = printed.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - digits)


def printed_row(
    place: str, quantity: str, case: str, printed: str, ours: float, reason: str = ""
) -> dict[str, Any]:
    """One line of the comparison; ``reason`` is kept only where the numbers differ."""
    unit = unit_of(printed)
    difference = abs(ours - float(printed))
    # half a unit is rounding; a little more, printed values that were themselves cut or rounded twice
    verdict = "agrees" if difference <= 0.501 * unit else "last digit" if difference <= unit else "differs"
    return {
        "place": place,
        "quantity": quantity,
        "case": case,
        "printed": printed,
        "ours": ours,
        "verdict": verdict,
        "reason": "" if verdict == "agrees" else reason,
        "version": __version__,
    }

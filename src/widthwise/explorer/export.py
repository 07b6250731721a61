"""What is shown, to take away: CSV, JSON, and the Python or command line that makes it again."""

from __future__ import annotations

import shlex
from typing import Any

from .._records import as_csv, as_json, spec_text
from ..problem import Problem
from .tasks import SPAN, CurveResult

__all__ = ["command_line", "curve_csv", "curve_json", "python_code"]


def curve_csv(result: CurveResult) -> str:
    """All points of all branches, each row with the problem and the version."""
    return as_csv(result.problem.to_dict(), _records(result))


def curve_json(result: CurveResult) -> str:
    """The same as ``widthwise predict --json`` prints."""
    return as_json(result.problem.to_dict(), _records(result))


def _records(result: CurveResult) -> list[dict[str, Any]]:
    records = []
    for branch, values in zip(result.branches, result.values, strict=True):
        for point, value in zip(branch, values, strict=True):
            records.append(
                {"curve": branch.asked, **point.to_dict(), f"shown_{result.quantity}": float(value)}
            )
    return records


def python_code(
    problem: Problem,
    reach: float,
    alpha: float,
    quantity: str = "excess_error",
    *,
    is_log_x: bool = False,
    is_log_y: bool = True,
) -> str:
    """A script that computes what the page shows: transitions, one α, and the figure with all branches."""
    axes = f"is_log_x={is_log_x}, is_log_y={is_log_y}"
    return (
        "import widthwise as ww\n"
        "from widthwise.explorer.drawing import learning_curve_figure\n\n"
        f"problem = ww.{_with_prefix(repr(problem))}\n"
        f"for transition in ww.transitions(problem, {reach:g}):\n"
        "    print(transition)\n"
        f"for solution in ww.solutions(problem, alpha={alpha:g}):\n"
        "    print(solution)\n"
        f"figure = learning_curve_figure(problem, {reach:g}, {quantity!r}, {axes})\n"
        "figure.show()\n"
    )


def command_line(problem: Problem, reach: float) -> str:
    """The commands that print the curve and its transitions."""
    description = problem.to_dict()
    is_gaussian = problem.channel.name == "gaussian"
    options = [
        ("--activation", spec_text(description["activation"])),
        ("--weights", spec_text(description["weights"])),
        ("--readouts", spec_text(description["readouts"])),
        ("--noise" if is_gaussian else "--channel", spec_text(description["channel"])),
        ("--gamma", f"{problem.gamma:.12g}"),
    ]
    if "inputs" in description:
        options.append(("--inputs", spec_text(description["inputs"])))
    shared = " ".join(f"{name} {shlex.quote(value)}" for name, value in options)
    return (
        f"widthwise predict {shared} --branch all --alpha {reach / SPAN:g}:{reach:g}:60\n"
        f"widthwise transitions {shared} --alpha-max {reach:g}\n"
    )


def _with_prefix(text: str) -> str:
    """Laws and channels by their public names."""
    for name in ("readouts", "weights", "channels", "inputs"):
        text = text.replace(f"={name}.", f"=ww.{name}.")
    return text

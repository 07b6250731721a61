"""A problem in a few words; and what is shown, to take away: CSV, JSON, Python, command line."""

from __future__ import annotations

import shlex
from typing import Any

from .._records import as_csv, as_json, spec_text
from ..problem import Problem
from .tasks import SPAN, CurveResult

__all__ = ["command_line", "curve_csv", "curve_json", "describe", "differences", "python_code"]


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


def describe(problem: Problem, *, without: str = "") -> str:
    """A short name of a problem; ``without`` "gamma" or "noise" leaves out that number."""
    parts = _parts(problem)
    if without == "gamma":
        del parts["gamma"]
    elif without == "noise":
        parts["channel"] = (
            f"{problem.channel.name} noise" if problem.channel.is_additive else problem.channel.name
        )
    return ", ".join(parts.values())


def differences(problem: Problem, other: Problem) -> str:
    """What tells a problem from another one."""
    own, others = _parts(problem), _parts(other)
    if "inputs" in others:
        own.setdefault("inputs", "isotropic inputs")
    return ", ".join(words for name, words in own.items() if words != others.get(name)) or "the same problem"


def _parts(problem: Problem) -> dict[str, str]:
    channel: Any = problem.channel
    texts = {name: spec_text(spec) for name, spec in problem.to_dict().items() if name != "gamma"}
    labels = texts["channel"] if channel.name == "gaussian" else f"{_short(texts['channel'])} labels"
    named = {
        "activation": _short(texts["activation"]),
        "weights": f"{_short(texts['weights'])} weights",
        "readouts": f"{_short(texts['readouts'])} readouts",
        "gamma": f"γ = {problem.gamma:.4g}",
        "channel": f"Δ = {channel.noise:g}" if channel.name == "gaussian" else labels,
    }
    return named | ({"inputs": f"{_short(texts['inputs'])} inputs"} if "inputs" in texts else {})


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:22]} …"

"""Short names of problems: all of one, or only what tells several apart."""

from __future__ import annotations

from typing import Any

from .._records import spec_text
from ..problem import Problem

__all__ = ["describe", "differences"]


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

"""One HTML file that needs no server: curves computed beforehand at the values of a slider."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..plotting import states_of, stretches_of
from ..plotting.style import STATE_NAMES
from ..problem import Problem
from ..theory.diagram import progress_bar
from ..theory.diagram_data import with_noise
from .export import describe
from .figures import ALPHA_LABEL, change_words
from .quantities import QUANTITIES, allowed
from .tasks import SPAN, CurveResult, compute_curve, read_curve

__all__ = ["OVER", "frame_task", "make_page", "slider_values", "write_page"]

OVER = {"gamma": "width γ", "noise": "noise Δ"}
"""What the slider can change."""
_SYMBOLS = {"gamma": "γ", "noise": "Δ"}
_RANGES = {"gamma": (0.1, 2.0), "noise": (0.01, 1.0)}
_N_VALUES = 21
_DIGITS = 6

Frame = dict[str, Any]


def write_page(
    path: str | Path,
    problem: Problem,
    over: str = "gamma",
    values: Sequence[float] | None = None,
    *,
    reach: float = 6.0,
    quantity: str = "excess_error",
    is_log_x: bool = False,
    is_log_y: bool = True,
    show_progress: bool = False,
) -> Path:
    """Write a page with the learning curves of a problem at some values of ``over``, "gamma" or "noise".

    Without ``values`` there are 21 around those of the problem.
    """
    here = _value_of(problem, over)
    reason = allowed(quantity, problem.channel)
    if reason:
        raise ValueError(reason[:1].lower() + reason[1:].rstrip("."))
    chosen = slider_values(over, here) if values is None else list(values)
    axes = {"is_log_x": is_log_x, "is_log_y": is_log_y}
    frames = []
    with progress_bar(show_progress, len(chosen), "curves") as advance:
        for value in chosen:
            varied = problem.replace(gamma=value) if over == "gamma" else _with_noise(problem, value)
            frames.append(_frame(compute_curve(varied, reach, quantity, **axes), float(value)))
            advance()
    path = Path(path)
    path.write_text(make_page(problem, over, here, frames, reach, axes), encoding="utf-8")
    return path


def slider_values(over: str, here: float) -> list[float]:
    """Values that are even in the logarithm, one of them that of the problem."""
    low, high = _RANGES[over]
    values = np.geomspace(min(low, here / 3), max(high, here * 3), _N_VALUES)
    values[int(np.argmin(np.abs(np.log(values / here))))] = here
    return [float(f"{value:.3g}") if value != here else here for value in values]


def frame_task(
    fields: Mapping[str, Any], over: str, value: float, reach: float, quantity: str, axes: Mapping[str, bool]
) -> Frame | dict[str, str]:
    """The curve of the page's controls at one value of the slider (a task for a worker)."""
    result = read_curve({**fields, over: value}, reach, quantity, axes)
    return result if isinstance(result, dict) else _frame(result, value)


def _frame(result: CurveResult, value: float) -> Frame:
    lines = []
    for branch, y in zip(result.branches, result.values, strict=True):
        alpha = branch.alpha
        for start, stop, state in stretches_of(states_of(branch)):
            good = np.isfinite(y[start:stop])
            if good.sum() > 1:
                lines.append(
                    {
                        "state": state,
                        "x": _rounded(alpha[start:stop][good]),
                        "y": _rounded(y[start:stop][good]),
                    }
                )
    changes = [
        {"alpha": float(f"{c.alpha:.{_DIGITS}g}"), "isJump": c.kind == "first-order"}
        for c in result.changes
        if c.alpha > 0
    ]
    words = "; ".join(change_words(result.changes, result.problem.readouts.is_discrete))
    return {
        "value": value,
        "lines": lines,
        "changes": changes,
        "words": f"{words or 'No transition in this range'}.",
        "quantity": result.quantity,
    }


def make_page(
    problem: Problem, over: str, here: float, frames: Sequence[Frame], reach: float, axes: Mapping[str, bool]
) -> str:
    """The file, from the frames of its slider, which begins at ``here``."""
    quantity = frames[0]["quantity"]
    every = np.concatenate([line["y"] for frame in frames for line in frame["lines"]])
    is_log_y = axes["is_log_y"] and bool((every > 0).any())
    shown = every[every > 0] if is_log_y else every
    low, high = float(shown.min()), float(shown.max())
    if is_log_y:
        low, high = max(low, 1e-6 * high) / 1.15, high * 1.15
    else:
        low, high = min(low, 0.0), high + 0.05 * (high - low)
    data = {
        "frames": [_visible(frame, low) if is_log_y else frame for frame in frames],
        "first": min(range(len(frames)), key=lambda i: abs(frames[i]["value"] - here)),
        "symbol": _SYMBOLS[over],
        "states": STATE_NAMES,
        "x": {
            "low": reach / SPAN if axes["is_log_x"] else 0.0,
            "high": reach,
            "isLog": axes["is_log_x"],
            "title": ALPHA_LABEL,
        },
        "y": {"low": low, "high": high, "isLog": is_log_y, "title": _plain(QUANTITIES[quantity].label)},
    }
    fixed = describe(problem, without=over)
    texts = {
        "title": "widthwise: learning curves",
        "heading": f"Learning curves while {OVER[over].split()[0]} changes",
        "problem": fixed,
        "slider": OVER[over],
        "version": __version__,
        "count": str(len(frames)),
    }
    page = (files(__package__) / "standalone.html").read_text(encoding="utf-8")
    for name, text in texts.items():
        page = page.replace("{{" + name + "}}", html.escape(text))
    numbers = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return page.replace("{{data}}", numbers.replace("</", "<\\/"))


def _visible(frame: Frame, low: float) -> Frame:
    """Lines without what a logarithmic axis cannot show."""
    lines = []
    for line in frame["lines"]:
        pairs = [(a, b) for a, b in zip(line["x"], line["y"], strict=True) if b >= low]
        if len(pairs) > 1:
            xs, ys = zip(*pairs, strict=True)
            lines.append({**line, "x": xs, "y": ys})
    return {**frame, "lines": lines}


def _value_of(problem: Problem, over: str) -> float:
    if over not in OVER:
        raise ValueError(f"a slider changes {' or '.join(map(repr, OVER))}, got {over!r}")
    value = problem.gamma if over == "gamma" else getattr(problem.channel, "noise", None)
    if not value:
        raise ValueError("these labels have no noise to vary; let the slider change 'gamma'")
    return float(value)


def _with_noise(problem: Problem, noise: float) -> Problem:
    return problem.replace(channel=with_noise(problem.channel, noise))


def _rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]


def _plain(label: str) -> str:
    """A label without Plotly's markup."""
    return re.sub("<sub>.*?</sub>", "", label.replace("<sub>opt</sub>", "ₒₚₜ"))

"""What a phase diagram is to compute: its axes, and the problem at each point of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._sizes import positive
from ..ingredients.channels import Channel
from ..problem import Problem
from .setting import THEORIES

__all__ = ["Plan", "make_plan", "with_noise"]


@dataclass
class Plan:
    """Rows of problems (one task each) and the values of α that all share."""

    problem: Problem
    axes: dict[str, np.ndarray]
    rows: list[list[Problem]]
    alpha: np.ndarray
    theory: str
    parameter: Callable[[float], Problem] | None
    name: str
    has_lines: bool = True
    refine: int = 0
    snr: float | None = None
    """Held fixed: the noise then follows the variance of the output."""

    @property
    def has_alpha_axis(self) -> bool:
        return "alpha" in self.axes

    def make(self, at: dict[str, float]) -> Problem:
        """The problem at a point of the axes other than α."""
        made = self.problem if self.parameter is None else self.parameter(at[self.name])
        changes: dict[str, Any] = {} if self.snr is None else {"snr": self.snr}
        if "snr" in at:
            changes["snr"] = at["snr"]
        if "gamma" in at:
            changes["gamma"] = at["gamma"]
        if "noise" in at:
            changes["channel"] = with_noise(made.channel, at["noise"])
        return made.replace(**changes) if changes else made

    def without_functions(self) -> Plan | None:
        """The plan without functions of the caller, or None where they are needed."""
        needs_parameter = self.parameter is not None and self.has_lines and not self.has_alpha_axis
        if needs_parameter or any(p.activation.spec is None for row in self.rows for p in row):
            return None
        return replace(self, parameter=None)


def with_noise(channel: Channel, noise: float) -> Channel:
    """The channel with another variance of its noise."""
    if "noise" not in {part.name for part in fields(channel)}:  # type: ignore[arg-type]
        raise ValueError(
            f"{channel!r} has no noise that could be an axis; use parameter= and values= instead"
        )
    return replace(channel, noise=noise)  # type: ignore[type-var]


def make_plan(
    problem: Problem,
    alpha: ArrayLike,
    gamma: ArrayLike | None,
    noise: ArrayLike | None,
    parameter: Callable[[float], Problem] | None,
    values: ArrayLike | None,
    name: str,
    theory: str,
    has_lines: bool = True,
    refine: int = 0,
    snr: ArrayLike | None = None,
) -> Plan:
    if theory not in THEORIES:
        raise ValueError(f"unknown theory {theory!r}; choose from {', '.join(THEORIES)}")
    if (parameter is None) != (values is None):
        raise ValueError("give parameter, a callable from a value to a Problem, together with its values")
    if name in ("alpha", "gamma", "noise", "snr", "size", "line"):
        raise ValueError(f"the axis of a parameter cannot be called {name!r}; choose another name")
    if refine != int(refine) or refine < 0:
        raise ValueError(f"refine must be a whole number >= 0 (halvings of cells at lines), got {refine!r}")
    axes: dict[str, np.ndarray] = {}
    if gamma is not None:
        axes["gamma"] = _axis("gamma", gamma)
    if noise is not None:
        axes["noise"] = _axis("noise", noise)
    fixed_snr = None
    if snr is not None:
        if noise is not None:
            raise ValueError(
                "snr and noise cannot both be given: noise is the variance of the output over snr"
            )
        if np.ndim(snr):
            axes["snr"] = _axis("snr", snr)
        else:
            fixed_snr = positive("snr", snr)
            problem = problem.replace(snr=fixed_snr)
    if parameter is not None and values is not None:
        axes[name] = _axis(name, values, is_positive=False)
    alphas = np.asarray(alpha, dtype=float)
    if alphas.ndim:
        axes["alpha"] = _axis("alpha", alphas)
    elif not (alphas > 0 and np.isfinite(alphas)):
        raise ValueError(
            f"alpha must be > 0 and finite (samples per squared dimension, n/d^2); got {float(alphas):g}"
        )
    if len(axes) != 2:
        raise ValueError(
            f"a diagram has two axes, here {len(axes)}"
            f"{' (' + ', '.join(axes) + ')' if axes else ''}: "
            "give arrays for two of alpha, gamma, noise, snr and parameter"
        )

    plan = Plan(
        problem, axes, [], np.atleast_1d(alphas), theory, parameter, name, has_lines, refine, fixed_snr
    )
    others = [key for key in axes if key != "alpha"]
    if len(others) == 1:
        plan.rows = [[plan.make({others[0]: float(x)})] for x in axes[others[0]]]
    else:
        first, second = others
        plan.rows = [
            [plan.make({first: float(x), second: float(y)}) for y in axes[second]] for x in axes[first]
        ]
    return plan


def _axis(name: str, values: ArrayLike, *, is_positive: bool = True) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"{name} must be a list of two values or more for an axis, got shape {array.shape}")
    bad = ~np.isfinite(array) | ((array <= 0) if is_positive else False)
    if bad.any():
        raise ValueError(f"{name} must be {'> 0 and ' if is_positive else ''}finite; got {array[bad][0]:g}")
    if np.unique(array).size < array.size:
        raise ValueError(f"{name} has the same value twice")
    return np.sort(array)

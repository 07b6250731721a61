"""Formulas evaluated in the arithmetic of an array module, NumPy or JAX: learners differentiate them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .functions import Node

__all__ = ["evaluate_in"]


def evaluate_in(xp: Any, tree: Node, x: Any) -> Any:
    """The formula at each element of ``x``, an array of the module ``xp``."""
    functions = _functions(xp)
    value = tree.fold(lambda node, values: _at(functions, node, x, values))
    return xp.broadcast_to(value, x.shape)


def _at(functions: dict[str, Callable[..., Any]], node: Node, x: Any, values: list[Any]) -> Any:
    if node.kind == "x":
        return x
    if node.kind == "number":
        return node.value
    if node.kind == "he":
        below, value = 1.0, values[0]
        for order in range(1, int(node.value)):
            below, value = value, values[0] * value - order * below
        return value
    return functions[node.kind](*values)


@lru_cache(maxsize=2)
def _functions(xp: Any) -> dict[str, Callable[..., Any]]:
    from .channels.base import special

    def power(u: Any, exponent: Any) -> Any:
        whole = isinstance(exponent, float) and exponent == round(exponent)
        return u ** int(exponent) if whole else xp.power(u, exponent)

    return {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "**": power,
        "relu": lambda u: xp.maximum(u, 0.0),
        "elu": lambda u: xp.where(u > 0, u, xp.expm1(xp.minimum(u, 0.0))),
        "softplus": lambda u: xp.maximum(u, 0.0) + xp.log1p(xp.exp(-xp.abs(u))),
        "sigmoid": lambda u: 0.5 * (1.0 + xp.tanh(0.5 * u)),
        "hardtanh": lambda u: xp.clip(u, -1.0, 1.0),
        "heaviside": lambda u: xp.heaviside(u, 0.5),
        "erf": special(xp).erf,
        "max": xp.maximum,
        "min": xp.minimum,
        "atan": xp.arctan,
        "abs": xp.abs,
        "sign": xp.sign,
        **{name: getattr(xp, name) for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "sinh", "cosh")},
    }

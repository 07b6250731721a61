r"""The operators and functions a formula may use: value, derivative and points of non-smoothness of each.

A :class:`Node` is one operation on other nodes. ``switches`` are the arguments whose sign decides a
branch (``u`` in ``abs(u)``, ``a - b`` in ``max(a, b)``), ``divisors`` those that may not vanish.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar
from weakref import WeakValueDictionary

import numpy as np

from .._arrays import Array

__all__ = ["FUNCTIONS", "Function", "Node", "function_named", "number", "power"]

Value = Array | np.float64
"""Of a formula: an array, or one number where x does not enter."""

_Result = TypeVar("_Result")

_KNOWN: WeakValueDictionary[tuple[str, tuple["Node", ...], float], "Node"] = WeakValueDictionary()

# The fixed point of mean 0 and variance 1 (arXiv:1706.02515): E selu = 0 and E selu² = 1 over a Gaussian.
_SELU_SLOPE, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805

MAX_HERMITE = 50  # He_50 has norm 50!^(1/2) = 1.7e32: further ones only lose digits


@dataclass(frozen=True, eq=False)
class Node:
    """One operation of a formula; ``value`` is used by numbers (and by he, for its degree).

    There is one node for each operation on given inputs, however often it is asked for: ``gelu(u)``, which
    has u in it twice, holds it once. Whatever is done to a formula is done once for each node, so that the
    cost grows with the length of the formula and not with what it would be if written out.
    """

    kind: str
    inputs: tuple["Node", ...] = ()
    value: float = 0.0

    def __new__(cls, kind: str, inputs: tuple["Node", ...] = (), value: float = 0.0) -> "Node":
        key = kind, inputs, value
        node = _KNOWN.get(key)
        if node is None:
            node = _KNOWN[key] = super().__new__(cls)
        return node

    def __reduce__(self) -> tuple[type["Node"], tuple[str, tuple["Node", ...], float]]:
        return Node, (self.kind, self.inputs, self.value)

    def evaluate(self, x: Array) -> "Value":
        """Value at ``x``: an array like ``x``, or a scalar where ``x`` does not enter."""
        return self.fold(lambda node, values: node._at(x, values))

    def derivative(self) -> "Node":
        """d/dx of this node, with zeros and ones simplified away."""
        return self.fold(lambda node, slopes: node._slope(slopes))

    def fold(self, combine: Callable[["Node", list[_Result]], _Result]) -> _Result:
        """``combine(node, results of its inputs)`` for every node below, once each, and for this one last."""
        results: dict[Node, _Result] = {}
        for node, spent in self._schedule:
            results[node] = combine(node, [results[below] for below in node.inputs])
            for below in spent:
                del results[below]
        return results[self]

    def walk(self) -> Iterator["Node"]:
        """This node and all below it, each once."""
        for node, _ in reversed(self._schedule):
            yield node

    @cached_property
    def _schedule(self) -> list[tuple["Node", list["Node"]]]:
        """Nodes in an order in which they can be evaluated, and which inputs each is the last to need."""
        order: dict[Node, None] = {}
        pending = [(self, False)]
        while pending:
            node, is_ready = pending.pop()
            if is_ready:
                order[node] = None
            elif node not in order:
                pending.append((node, True))
                pending += [(below, False) for below in node.inputs if below not in order]
        last = {below: node for node in order for below in node.inputs}
        return [
            (node, [below for below in dict.fromkeys(node.inputs) if last[below] is node]) for node in order
        ]

    def _at(self, x: Array, values: list["Value"]) -> "Value":
        if self.kind == "x":
            return x
        if self.kind == "number":
            return np.float64(self.value)
        if self.kind == "he":
            return _hermite(int(self.value), values[0])
        return _VALUE[self.kind](*values)

    def _slope(self, slopes: list["Node"]) -> "Node":
        if self.kind in ("x", "number"):
            return number(float(self.kind == "x"))
        if self.kind == "he":
            partials: tuple[Node, ...] = (times(number(self.value), he(int(self.value) - 1, self.inputs[0])),)
        else:
            partials = _PARTIALS[self.kind](*self.inputs)
        total = number(0.0)
        for partial, slope in zip(partials, slopes, strict=True):
            total = plus(total, times(partial, slope))
        return total

    def switches(self) -> tuple["Node", ...]:
        """Nodes at whose zeros this operation is not smooth."""
        if self.kind in ("abs", "sign", "heaviside", "relu", "elu"):
            return self.inputs
        if self.kind in ("max", "min"):
            return (minus(*self.inputs),)
        if self.kind == "hardtanh":
            return (minus(self.inputs[0], number(1.0)), plus(self.inputs[0], number(1.0)))
        return ()

    def divisors(self) -> tuple["Node", ...]:
        """Nodes that may not vanish for this operation to be finite."""
        if self.kind == "log":
            return self.inputs
        if self.kind == "/" or (self.kind == "**" and self.inputs[1].value < 0):
            return (self.inputs[1] if self.kind == "/" else self.inputs[0],)
        return ()


@dataclass(frozen=True)
class Function:
    """How a call is turned into a node, and how many arguments it takes."""

    build: Callable[..., Node]
    least: int = 1
    most: int = 1


def function_named(name: str) -> Function | None:
    """The function called ``name``, with he0, he1, he2, ... up to he50; None if there is none."""
    if match := re.fullmatch(r"he(\d{1,2})", name):
        degree = int(match.group(1))
        return Function(lambda u: he(degree, u)) if degree <= MAX_HERMITE else None
    return FUNCTIONS.get(name)


def number(value: float) -> Node:
    """A constant."""
    return Node("number", (), float(value))


def plus(a: Node, b: Node) -> Node:
    """a + b."""
    if a == number(0.0):
        return b
    return a if b == number(0.0) else Node("+", (a, b))


def minus(a: Node, b: Node) -> Node:
    """a - b."""
    return Node("-", (a, b))


def times(a: Node, b: Node) -> Node:
    """a b."""
    if number(0.0) in (a, b):
        return number(0.0)
    if a == number(1.0):
        return b
    return a if b == number(1.0) else Node("*", (a, b))


def power(base: Node, exponent: Node) -> Node:
    """base ** exponent; a constant exponent is folded so that x**-2 is known to be a division."""
    if all(node.kind != "x" for node in exponent.walk()):
        exponent = number(float(exponent.evaluate(np.zeros(1))))
        return Node("**", (base, exponent))
    if all(node.kind != "x" for node in base.walk()):
        return call(
            "exp", times(exponent, number(math.log(max(float(base.evaluate(np.zeros(1))), 0.0) or math.nan)))
        )
    return call("exp", times(exponent, call("log", base)))


def call(name: str, *inputs: Node) -> Node:
    """A primitive function of other nodes."""
    return Node(name, inputs)


def he(degree: int, u: Node) -> Node:
    """Probabilists' Hermite polynomial of ``u``."""
    return number(1.0) if degree == 0 else u if degree == 1 else Node("he", (u,), float(degree))


def _hermite(degree: int, u: Value) -> Value:
    below: Value | float
    below, value = 1.0, u
    for order in range(1, degree):
        below, value = value, u * value - order * below
    return value


def _fold(name: str) -> Callable[..., Node]:
    def build(first: Node, *others: Node) -> Node:
        for other in others:
            first = call(name, first, other)
        return first

    return build


def _leaky(u: Node, slope: Node | None = None) -> Node:
    return plus(call("relu", u), times(slope or number(0.01), call("min", u, number(0.0))))


def _clip(u: Node, low: Node, high: Node) -> Node:
    return call("min", call("max", u, low), high)


def _gelu(u: Node) -> Node:
    return times(u, _normal_cdf(u))


def _silu(u: Node) -> Node:
    return times(u, call("sigmoid", u))


def _mish(u: Node) -> Node:
    return times(u, call("tanh", call("softplus", u)))


def _selu(u: Node) -> Node:
    """scale (u for u > 0, else slope (e^u - 1)), with the constants that keep mean 0 and variance 1."""
    positive = call("relu", u)
    negative = minus(call("elu", u), positive)
    return times(number(_SELU_SCALE), plus(positive, times(number(_SELU_SLOPE), negative)))


def _normal_cdf(u: Node) -> Node:
    erf = call("erf", times(number(math.sqrt(0.5)), u))
    return times(number(0.5), plus(number(1.0), erf))


def _erf_value(u: Value) -> Value:
    from scipy.special import erf  # imported here: SciPy would double the time of `import widthwise`

    value: Value = erf(u)
    return value


def _elu_value(u: Value) -> Value:
    return np.where(u > 0, u, np.expm1(np.minimum(u, 0.0)))


def _sigmoid_value(u: Value) -> Value:
    return 0.5 * (1.0 + np.tanh(0.5 * u))


def _softplus_value(u: Value) -> Value:
    return np.maximum(u, 0.0) + np.log1p(np.exp(-np.abs(u)))


def _power_value(u: Value, exponent: Value) -> Value:
    # Integer powers by multiplication where they are small: x**3 through pow is ten times slower.
    if np.ndim(exponent) == 0 and exponent in (2.0, 3.0, 4.0):
        square = u * u
        return square if exponent == 2.0 else square * u if exponent == 3.0 else square * square
    return np.power(u, exponent)


_VALUE: dict[str, Callable[..., Value]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": _power_value,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "heaviside": lambda u: np.heaviside(u, 0.5),
    "max": np.maximum,
    "min": np.minimum,
    "relu": lambda u: np.maximum(u, 0.0),
    "elu": _elu_value,
    "softplus": _softplus_value,
    "sigmoid": _sigmoid_value,
    "tanh": np.tanh,
    "hardtanh": lambda u: np.clip(u, -1.0, 1.0),
    "erf": _erf_value,
    "sin": np.sin,
    "cos": np.cos,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "atan": np.arctan,
}

_ONE, _ZERO = number(1.0), number(0.0)

# Partial derivatives with respect to each input, away from the switches.
_PARTIALS: dict[str, Callable[..., tuple[Node, ...]]] = {
    "+": lambda a, b: (_ONE, _ONE),
    "-": lambda a, b: (_ONE, number(-1.0)),
    "*": lambda a, b: (b, a),
    "/": lambda a, b: (Node("/", (_ONE, b)), times(number(-1.0), Node("/", (a, times(b, b))))),
    "**": lambda a, b: (times(b, _lower(a, b.value - 1)), _ZERO),
    "exp": lambda u: (call("exp", u),),
    "log": lambda u: (Node("/", (_ONE, u)),),
    "sqrt": lambda u: (Node("/", (number(0.5), call("sqrt", u))),),
    "abs": lambda u: (call("sign", u),),
    "sign": lambda u: (_ZERO,),
    "heaviside": lambda u: (_ZERO,),
    "max": lambda a, b: (call("heaviside", minus(a, b)), call("heaviside", minus(b, a))),
    "min": lambda a, b: (call("heaviside", minus(b, a)), call("heaviside", minus(a, b))),
    "relu": lambda u: (call("heaviside", u),),
    "elu": lambda u: (call("exp", call("min", u, _ZERO)),),
    "softplus": lambda u: (call("sigmoid", u),),
    "sigmoid": lambda u: (times(call("sigmoid", u), call("sigmoid", times(number(-1.0), u))),),
    "tanh": lambda u: (minus(_ONE, power(call("tanh", u), number(2.0))),),
    "hardtanh": lambda u: (call("heaviside", minus(_ONE, times(u, u))),),
    "erf": lambda u: (times(number(2 / math.sqrt(math.pi)), call("exp", times(number(-1.0), times(u, u)))),),
    "sin": lambda u: (call("cos", u),),
    "cos": lambda u: (times(number(-1.0), call("sin", u)),),
    "sinh": lambda u: (call("cosh", u),),
    "cosh": lambda u: (call("sinh", u),),
    "atan": lambda u: (Node("/", (_ONE, plus(_ONE, times(u, u)))),),
}


def _lower(base: Node, exponent: float) -> Node:
    return _ONE if exponent == 0 else base if exponent == 1 else Node("**", (base, number(exponent)))


def _primitive(name: str) -> Function:
    return Function(lambda u: call(name, u))


FUNCTIONS: dict[str, Function] = {
    **{
        name: _primitive(name)
        for name in (
            *("exp", "log", "sqrt", "abs", "sign", "heaviside", "relu", "elu", "softplus", "sigmoid"),
            *("tanh", "hardtanh", "erf", "sin", "cos", "sinh", "cosh", "atan"),
        )
    },
    "step": _primitive("heaviside"),
    "gelu": Function(_gelu),
    "silu": Function(_silu),
    "swish": Function(_silu),
    "mish": Function(_mish),
    "selu": Function(_selu),
    "leaky": Function(_leaky, 1, 2),
    "max": Function(_fold("max"), 2, 8),
    "min": Function(_fold("min"), 2, 8),
    "clip": Function(_clip, 3, 3),
}

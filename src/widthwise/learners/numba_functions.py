"""Activations and channels as scalar functions that Numba inlines into a vectorised loop.

Formulas made of arithmetic, max, min, tanh and the like are compiled from their tree, node by node.
Everything else (exp, erf, sin, a bare callable) is read from a table with steps of 1/1024 and linear
interpolation: an error of 1e-7 σ'', the rounding of single precision, for |x| < 12 and linear beyond; a
kink that is not a multiple of 1/1024 is rounded off there. Channels become the log-likelihood of one sample
as a function of what one unit says to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numba
import numpy as np

from ..ingredients.activations import Activation
from ..ingredients.channels import Channel, Gaussian, Nonlinear
from ..ingredients.functions import Node

__all__ = ["LabelKernel", "label_kernel", "numba_activation"]

Compiled = Callable[..., Any]

_OPTIONS: dict[str, Any] = {"fastmath": True, "nogil": True, "forceinline": True, "error_model": "numpy"}
_REACH, _STEPS = 12, 1024
_N_LABEL_STEPS = 1 << 16
_MOST_ENTRIES, _LEAST_STEPS = 1 << 26, 1 << 10  # of a table with a row for each label: 256 MB


def _fast(function: Compiled) -> Compiled:
    compiled: Compiled = numba.njit(**_OPTIONS)(function)
    return compiled


@lru_cache(maxsize=32)
def numba_activation(activation: Activation, dtype: str = "float32") -> Compiled:
    """σ as a compiled function of one number."""
    real = np.dtype(dtype).type
    tree = getattr(activation._function, "tree", None)
    if tree is not None and all(_is_compiled(node) for node in tree.walk()):
        return _compile(tree, real, {})
    grid = np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1) / _STEPS
    return _table(activation(grid), -_REACH, _STEPS, real)


@dataclass(frozen=True)
class LabelKernel:
    """How labels enter a single-flip step.

    The log-likelihood of a sample is ``factor(step, parameters) * term(code, others, own, step, parameters,
    table)``, up to what does not depend on one unit's ``own`` = σ(h): what all samples share is multiplied
    once. ``others + step * own`` is λ - ``shift``, with λ - y for additive channels and λ otherwise; ``code``
    tells the labels apart in the second case.
    """

    term: Compiled
    factor: Compiled
    codes: np.ndarray
    shift: np.ndarray | float
    parameters: np.ndarray
    table: np.ndarray


def label_kernel(
    channel: Channel, labels: np.ndarray, outputs: np.ndarray, dtype: Any = np.float32
) -> LabelKernel:
    """The kernel of a channel for given labels; ``outputs`` at the start fix the range of its table."""
    codes = np.zeros(labels.size, dtype=np.uint8)
    if isinstance(channel, Gaussian):
        parameters = np.array([1 / channel.noise], dtype=dtype)
        nothing = np.zeros((1, 1), dtype=dtype)
        return LabelKernel(_gaussian_term, _gaussian_factor, codes, labels, parameters, nothing)
    spread = float(np.max(np.abs(labels - outputs)) if channel.is_additive else np.max(np.abs(outputs)))
    reach = 8.0 * (1.0 + spread)
    shift: np.ndarray | float = labels if channel.is_additive else 0.0
    term, n_steps, values = _table_term, _N_LABEL_STEPS, np.zeros(1)
    if isinstance(channel, Nonlinear):
        term, codes = _nonlinear_term, labels.astype(dtype)
    elif not channel.is_additive:
        values, where = np.unique(labels, return_inverse=True)
        codes = where.astype(np.uint8 if values.size <= 256 else np.uint32)
        n_steps = min(n_steps, _MOST_ENTRIES // values.size)
        if n_steps < _LEAST_STEPS:
            raise ValueError(
                f"metropolis tabulates the likelihood of each label, and {channel.name!r} gave {values.size} "
                f"different ones; at most {_MOST_ENTRIES // _LEAST_STEPS} are possible: lower d or alpha"
            )
    per_unit = n_steps / (2 * reach)
    grid = np.arange(n_steps + 1) / per_unit - reach
    if isinstance(channel, Nonlinear):
        rows, precision = channel.function(grid)[None], 1 / channel.noise
    else:
        rows = np.array([channel.log_likelihood(np.full_like(grid, value), grid) for value in values])
        rows -= np.mean(channel.log_likelihood(labels, outputs))  # sums near 0 keep their digits
        precision = 0.0
    parameters = np.array([-reach, per_unit, precision], dtype=dtype)
    return LabelKernel(term, _table_factor, codes, shift, parameters, rows.astype(dtype))


@_fast
def _gaussian_term(
    code: Any, others: float, own: float, step: float, parameters: np.ndarray, table: np.ndarray
) -> Any:
    return own * (others + np.float32(0.5) * step * own)


@_fast
def _gaussian_factor(step: float, parameters: np.ndarray) -> Any:
    return -parameters[0] * step


@_fast
def _table_term(
    code: Any, others: float, own: float, step: float, parameters: np.ndarray, table: np.ndarray
) -> Any:
    return _looked_up(table[code], others + step * own, parameters)


@_fast
def _nonlinear_term(
    label: float, others: float, own: float, step: float, parameters: np.ndarray, table: np.ndarray
) -> Any:
    miss = label - _looked_up(table[0], others + step * own, parameters)
    return np.float32(0.5) * (np.float32(1) - parameters[2] * miss * miss)  # 0 on average


@_fast
def _table_factor(step: float, parameters: np.ndarray) -> Any:
    return 1.0


@_fast
def _looked_up(row: np.ndarray, x: float, parameters: np.ndarray) -> Any:
    position = (x - parameters[0]) * parameters[1]
    i = min(max(int(position), 0), row.size - 2)
    return row[i] + (position - i) * (row[i + 1] - row[i])


def _table(values: np.ndarray, low: float, per_unit: float, real: Any) -> Compiled:
    table, base, scale, last = values.astype(real), real(low), real(per_unit), np.int32(values.size - 2)

    @_fast
    def function(x: Any) -> Any:
        position = (x - base) * scale
        i = min(max(np.int32(position), np.int32(0)), last)
        j = np.uint32(i)  # a signed index would be checked for counting from the end
        return table[j] + (position - real(i)) * (table[j + np.uint32(1)] - table[j])

    return function


# ---------------------------------------------------------------------- formulas


def _is_compiled(node: Node) -> bool:
    if node.kind == "**":
        exponent = node.inputs[1]
        return exponent.kind == "number" and exponent.value in range(1, 13)
    return node.kind in ("x", "number", "he", *_BINARY, *_UNARY)


def _compile(node: Node, real: Any, done: dict[Node, Compiled]) -> Compiled:
    """The compiled function of a node, each distinct node once."""
    if node not in done:
        if node.kind == "x":
            done[node] = _fast(lambda x: x)
        elif node.kind == "number":
            done[node] = _constant(real(node.value))
        else:
            children = [_compile(child, real, done) for child in node.inputs]
            if node.kind == "he":
                done[node] = _hermite(children[0], int(node.value), real)
            elif node.kind == "**":
                done[node] = _power(children[0], int(node.inputs[1].value))
            elif node.kind in _BINARY:
                done[node] = _BINARY[node.kind](*children)
            else:
                done[node] = _UNARY[node.kind](children[0], real)
    return done[node]


def _constant(value: Any) -> Compiled:
    return _fast(lambda x: value)


def _hermite(f: Compiled, degree: int, real: Any) -> Compiled:
    """Horner in u² (times u for odd degrees): short dependency chains, no recurrence in the loop."""
    powers = np.polynomial.hermite_e.herme2poly([0.0] * degree + [1.0])[::-1][::2]
    first, rest, is_odd = real(powers[0]), tuple(real(c) for c in powers[1:]), degree % 2 == 1

    @_fast
    def function(x: Any) -> Any:
        u = f(x)
        square = u * u
        total = first
        for c in numba.literal_unroll(rest):
            total = total * square + c
        return total * u if is_odd else total

    return function


def _power(f: Compiled, exponent: int) -> Compiled:
    @_fast
    def function(x: Any) -> Any:
        u = f(x)
        result = u
        for _ in range(exponent - 1):
            result = result * u
        return result

    return function


def _tanh(f: Compiled, real: Any) -> Compiled:
    """tanh as x P(x²)/Q(x²) with one division, vectorised.

    Minimax on |x| < 8.4 with four powers each, found by reweighted least squares: 1e-8 from tanh, 3e-7 with
    the rounding of single precision.
    """
    if real is np.float64:
        return _fast(lambda x: np.tanh(f(x)))
    one, top = real(1), real(8.4)  # tanh(8.4) = 1 - 1e-7
    p0, p1, p2, p3, p4 = (
        real(c) for c in (0.999999951, 0.134126886, 3.53356424e-3, 2.12518695e-5, 1.42880429e-8)
    )
    q1, q2, q3, q4 = (real(c) for c in (0.467460022, 2.60204718e-2, 3.34846411e-4, 8.1489632e-7))

    @_fast
    def function(x: Any) -> Any:
        u = min(max(f(x), -top), top)
        s = u * u
        numerator = p0 + s * (p1 + s * (p2 + s * (p3 + s * p4)))
        return u * numerator / (one + s * (q1 + s * (q2 + s * (q3 + s * q4))))

    return function


def _sigmoid(f: Compiled, real: Any) -> Compiled:
    half = real(0.5)
    scaled = _fast(lambda x: half * f(x))
    inner = _tanh(scaled, real)
    return _fast(lambda x: half + half * inner(x))


def _clipped(f: Compiled, real: Any) -> Compiled:
    one = real(1)
    return _fast(lambda x: min(max(f(x), -one), one))


def _relu(f: Compiled, real: Any) -> Compiled:
    zero = real(0)
    return _fast(lambda x: max(f(x), zero))


_BINARY: dict[str, Callable[[Compiled, Compiled], Compiled]] = {
    "+": lambda f, g: _fast(lambda x: f(x) + g(x)),
    "-": lambda f, g: _fast(lambda x: f(x) - g(x)),
    "*": lambda f, g: _fast(lambda x: f(x) * g(x)),
    "/": lambda f, g: _fast(lambda x: f(x) / g(x)),
    "max": lambda f, g: _fast(lambda x: max(f(x), g(x))),
    "min": lambda f, g: _fast(lambda x: min(f(x), g(x))),
}

_UNARY: dict[str, Callable[[Compiled, Any], Compiled]] = {
    "relu": _relu,
    "abs": lambda f, real: _fast(lambda x: abs(f(x))),
    "sqrt": lambda f, real: _fast(lambda x: np.sqrt(f(x))),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "hardtanh": _clipped,
}

r"""Formulas in one variable ``x``: reading, evaluating, differentiating, and finding where they bend.

A formula such as ``max(x,0) + 0.1*x**3`` is read by a small recursive-descent parser into a tree of
:class:`Node`. Only the numbers, operators and functions listed here exist, so that a formula may come
from a command line or a web page: nothing is ever handed to the Python interpreter.

Powers (``**`` or ``^``) bind to the right and more tightly than a minus on their left:
``-x**2`` is ``-(x**2)`` and ``2**-x`` is allowed.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from widthwise._bad_value import BadValue, Remedy, did_you_mean
from widthwise.ingredients.functions import FUNCTIONS, Node, function_named, number, power

from .._arrays import Array, Bools

__all__ = ["Expression", "parse"]

MAX_LENGTH = 200  # characters; long enough for any activation, short enough to bound the work
MAX_DEPTH = 30  # of nested parentheses, signs and powers: far below the recursion limit of Python
SEARCH_RADIUS = 40.0  # kinks further out carry no Gaussian mass

_CONSTANTS = {"pi": math.pi, "e": math.e}
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|.))")


@dataclass(frozen=True)
class Expression:
    """A formula in ``x``, called on arrays; equal to another when the texts agree up to blanks."""

    text: str
    tree: Node = field(compare=False)

    def __call__(self, x: Array) -> Array:
        """Value at each ``x``; may be non-finite where the formula is."""
        x = np.asarray(x, dtype=float)
        with np.errstate(all="ignore"):
            value = self.tree.evaluate(x)
        return value if isinstance(value, np.ndarray) and value.shape == x.shape else np.full(x.shape, value)

    def derivative(self) -> "Expression":
        """The symbolic derivative, valid away from the kinks."""
        return replace(self, text=f"d/dx[{self.text}]", tree=self.tree.derivative())

    def kinks(self, radius: float = SEARCH_RADIUS) -> tuple[float, ...]:
        """Points of [-radius, radius] where an ``abs``, ``max``, ``sign``, ... changes its branch."""
        found = [_branch_points(switch, radius) for node in self.tree.walk() for switch in node.switches()]
        return _distinct(np.concatenate(found)) if found else ()

    def poles(self, radius: float) -> tuple[float, ...]:
        """Points of [-radius, radius] where a denominator, or the argument of a logarithm, vanishes."""
        found = []
        for node in self.tree.walk():
            for divisor in node.divisors():
                found += [_branch_points(divisor, radius), _touching_points(divisor, radius)]
        return _distinct(np.concatenate(found)) if found else ()


def parse(text: str) -> Expression:
    """Expression for a formula in ``x``; a ValueError says where the reading stopped and why.

    At most 200 characters and 30 nested levels. Blanks do not count.
    """
    if len(text) > MAX_LENGTH:
        raise BadValue(
            "activation",
            f"a formula may have at most {MAX_LENGTH} characters, got {len(text)}",
            remedy=Remedy("pass a Python callable instead", *3 * ["shorten it"]),
        )
    return _Parser(text).expression()


@dataclass(frozen=True)
class _Token:
    kind: str  # "number", "name", "symbol" or "end"
    text: str
    position: int  # counted from 1, as a reader would


class _Parser:
    """Recursive descent over  sum = product {(+|-) product},  product = sign {(*|/) sign},
    sign = (+|-) sign | atom [** sign],  atom = number | name | name(sum, ...) | (sum)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.at = 0
        self.depth = 0

    def expression(self) -> Expression:
        tree = self._sum()
        if self._next.kind != "end":
            raise self._error("expected an operator or the end")
        return Expression(re.sub(r"\s+", "", self.text), tree)

    @property
    def _next(self) -> _Token:
        return self.tokens[self.at]

    def _take(self, *symbols: str) -> str | None:
        """The next token if it is one of ``symbols``, consumed; else None."""
        token = self._next
        if token.kind == "symbol" and token.text in symbols:
            self.at += 1
            return token.text
        return None

    def _expect(self, symbol: str) -> None:
        if self._take(symbol) is None:
            raise self._error(f"expected {symbol!r}")

    def _error(self, reason: str, token: _Token | None = None) -> ValueError:
        position = (token or self._next).position
        before = self.tokens[self.at - 1] if self.at else None
        is_product = before is not None and (before.kind == "number" or before.text in ("x", ")"))
        if token is None and is_product and (self._next.kind in ("number", "name") or self._next.text == "("):
            reason = f"a product needs its sign, write {before.text}*{self._next.text}"  # type: ignore[union-attr]
        return ValueError(f"cannot read {self.text!r} at position {position}: {reason}")

    def _sum(self) -> Node:
        left = self._product()
        while symbol := self._take("+", "-"):
            left = Node(symbol, (left, self._product()))
        return left

    def _product(self) -> Node:
        left = self._sign()
        while symbol := self._take("*", "/"):
            left = Node(symbol, (left, self._sign()))
        return left

    def _sign(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(f"nested more than {MAX_DEPTH} levels deep")
        if symbol := self._take("+", "-"):
            inner = self._sign()
            node = inner if symbol == "+" else Node("*", (number(-1.0), inner))
        else:
            node = self._atom()
            if self._take("**", "^"):
                node = power(node, self._sign())
        self.depth -= 1
        return node

    def _atom(self) -> Node:
        token = self._next
        if token.kind == "number":
            self.at += 1
            return number(float(token.text))
        if token.kind == "name":
            self.at += 1
            return self._call(token) if self._take("(") else self._variable(token)
        if self._take("("):
            inner = self._sum()
            self._expect(")")
            return inner
        raise self._error("expected a number, x, a function or '('")

    def _variable(self, token: _Token) -> Node:
        if token.text == "x":
            return Node("x")
        if token.text in _CONSTANTS:
            return number(_CONSTANTS[token.text])
        if function_named(token.text) is not None:
            raise self._error(f"{token.text!r} is a function, write {token.text}(x)", token)
        raise self._error(_unknown(token.text), token)

    def _call(self, token: _Token) -> Node:
        function = function_named(token.text)
        if function is None and token.text in ("x", *_CONSTANTS):
            raise self._error(f"a product needs its sign, write {token.text}*(", token)
        if function is None:
            raise self._error(_unknown(token.text), token)
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._expect(")")
        if not function.least <= len(arguments) <= function.most:
            wanted = f"{function.least}" + (f" to {function.most}" if function.most > function.least else "")
            raise self._error(f"{token.text} takes {wanted} argument(s), got {len(arguments)}", token)
        return function.build(*arguments)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        assert match is not None and match.lastindex is not None  # the last alternative takes any character
        kind = ("number", "name", "symbol")[match.lastindex - 1]
        yield _Token(kind, match.group(match.lastindex), match.start(match.lastindex) + 1)
        at = match.end()
    yield _Token("end", "", len(text.rstrip()) + 1)


def _unknown(name: str) -> str:
    hint = did_you_mean(name, [*FUNCTIONS, *_CONSTANTS, "x"], 3).strip()
    known = f"known are x, pi, e, {', '.join(FUNCTIONS)}, heN"
    return f"unknown name {name!r}; {hint or known}"


def _grid(radius: float) -> Array:
    # A step of 0.01 separates the branch points of any formula that is not itself a fast oscillation.
    return np.linspace(-radius, radius, int(200 * radius) + 1)


def _evaluate(node: Node, x: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.broadcast_to(node.evaluate(x), x.shape)


def _bisect(same_as_left: Callable[[Array], Bools], left: Array, right: Array) -> tuple[Array, Array]:
    for _ in range(60):
        middle = 0.5 * (left + right)
        same = same_as_left(middle)
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return left, right


def _branch_points(node: Node, radius: float) -> Array:
    """Where the sign (-1, 0 or 1) of ``node`` changes: both crossings and the ends of flat zeros."""
    x = _grid(radius)
    sign = np.sign(_evaluate(node, x))
    change = np.flatnonzero((sign[1:] != sign[:-1]) & ~np.isnan(sign[1:]) & ~np.isnan(sign[:-1]))
    if change.size == 0:
        return np.empty(0)
    sign_left = sign[change]
    left, right = _bisect(lambda m: np.sign(_evaluate(node, m)) == sign_left, x[change], x[change + 1])
    closer = np.abs(_evaluate(node, left)) < np.abs(_evaluate(node, right))
    points: Array = np.where(closer, left, right)
    return points


def _touching_points(node: Node, radius: float) -> Array:
    """Where ``node`` reaches 0 without changing sign, as (x - 1)**2 does at 1."""
    x = _grid(radius)
    size = np.abs(_evaluate(node, x))
    low = 1 + np.flatnonzero((size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:]))
    if low.size == 0:
        return np.empty(0)
    left, right = x[low - 1], x[low + 1]
    for _ in range(80):  # ternary search: each round keeps two thirds of the bracket
        a, b = left + (right - left) / 3, right - (right - left) / 3
        keep_left = np.abs(_evaluate(node, a)) <= np.abs(_evaluate(node, b))
        left, right = np.where(keep_left, left, a), np.where(keep_left, b, right)
    bottom = 0.5 * (left + right)
    return bottom[np.abs(_evaluate(node, bottom)) < 1e-12 * max(1.0, float(np.nanmedian(size)))]


def _distinct(points: Array) -> tuple[float, ...]:
    # Fifteen digits turn 0.30000000000000004 back into 0.3; two bisections of one kink agree to 1e-9.
    kept: list[float] = []
    for point in sorted(float(f"{p:.15g}") if abs(p) > 1e-14 else 0.0 for p in points):
        if not kept or point - kept[-1] > 1e-9:
            kept.append(point)
    return tuple(kept)

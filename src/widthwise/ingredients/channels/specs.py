"""Channels from numbers, words and mappings: what a Problem, a file or a command line gives."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from .additive import Gaussian, Laplace, StudentT
from .base import Channel
from .binary import Probit, Sign
from .general import Nonlinear, Poisson
from .logistic import Logistic

__all__ = ["CHANNELS", "resolve"]

_KINDS: dict[str, Any] = {
    kind.name: kind for kind in (Gaussian, Probit, Sign, Logistic, Laplace, StudentT, Poisson, Nonlinear)
}

CHANNELS: tuple[str, ...] = tuple(_KINDS)
"""Names that :func:`resolve` knows."""

_FORMS = (
    "0.1 (variance of Gaussian label noise)",
    "gaussian:NOISE",
    "probit:NOISE",
    "sign",
    "logistic",
    "logistic:STEEPNESS",
    "laplace:NOISE",
    "student-t:NOISE,DOF",
    "poisson",
    "poisson:RATE",
    "nonlinear:FORMULA,NOISE",
)


def resolve(spec: Any) -> Channel:
    """The channel meant by a number (variance of Gaussian label noise), a text, a mapping, or a channel.

    Texts are a name and its numbers, ``"probit:0.1"``, ``"student-t:0.1,5"``, ``"nonlinear:tanh(2*x),0.1"``;
    ``shift=0.3`` may follow for channels that are not additive: ``"sign:shift=0.3"``.
    """
    if isinstance(spec, Channel):
        return spec
    if isinstance(spec, Mapping):
        given = dict(spec)
        kind = _kind(given.pop("kind", None), spec)
        return _make(kind, (), given, spec)
    if isinstance(spec, (int, float, np.floating, np.integer)) and not isinstance(spec, bool):
        return Gaussian(float(spec))
    if isinstance(spec, str):
        return _from_text(spec)
    raise ValueError(
        f"unknown channel {spec!r}; give the variance of Gaussian label noise as a number, or a channel"
    )


def _from_text(text: str) -> Channel:
    try:
        return Gaussian(float(text))
    except ValueError as error:
        if "must be" in str(error):
            raise
    name, _, rest = text.partition(":")
    kind = _kind(name.strip().lower().replace("_", "-"), text)
    parts = [part.strip() for part in _split(rest)] if rest.strip() else []
    named: dict[str, Any] = {}
    while parts and (match := re.fullmatch(r"([a-z_]+)\s*=\s*(.+)", parts[-1])):
        named[match.group(1)] = _number(match.group(2), text)
        parts.pop()
    values = [p if kind is Nonlinear and i == 0 else _number(p, text) for i, p in enumerate(parts)]
    return _make(kind, tuple(values), named, text)


def _split(text: str) -> list[str]:
    """Parts between commas that are not inside parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _kind(name: Any, spec: Any) -> Any:
    if name in _KINDS:
        return _KINDS[name]
    near = difflib.get_close_matches(str(name), CHANNELS, n=2)
    hint = f"did you mean {' or '.join(repr(match) for match in near)}? " if near else ""
    raise ValueError(f"unknown channel {spec!r}; {hint}choose from {'; '.join(_FORMS)}")


def _make(kind: Any, values: tuple[Any, ...], named: dict[str, Any], spec: Any) -> Channel:
    known = [f.name for f in fields(kind)]
    required = [f.name for f in fields(kind) if f.default is f.default_factory]  # both are MISSING
    given = [*known[: len(values)], *named]
    if len(values) > len(known) or set(named) - set(known) or len(set(given)) < len(given):
        raise ValueError(
            f"channel {spec!r}: {kind.name} takes {', '.join(known)}; got {', '.join(map(str, given))}"
        )
    missing = [name for name in required if name not in given]
    if missing:
        form = next(form for form in reversed(_FORMS) if form.startswith(kind.name))
        raise ValueError(f"channel {spec!r} lacks {' and '.join(missing)}; write {form}")
    return kind(*values, **named)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"channel {whole!r}: {text!r} is not a number; choose from {'; '.join(_FORMS)}"
        ) from None

"""Channels from numbers, words and mappings: what a Problem, a file or a command line gives."""

from __future__ import annotations

from typing import Any

from ..descriptions import Entry, Table
from .additive import Gaussian, Laplace, StudentT
from .base import Channel
from .binary import Probit, Sign
from .general import Nonlinear, Poisson
from .logistic import Logistic

__all__ = ["CHANNELS", "resolve"]

_TABLE: Table[Channel] = Table(
    "channel",
    Channel,
    {
        kind.name: Entry(kind)
        for kind in (Gaussian, Probit, Sign, Logistic, Laplace, StudentT, Poisson, Nonlinear)
    },
    from_number=Gaussian,
    other_forms=("a number, the variance of Gaussian label noise",),
)
"""Where a channel is added: its name and its class."""

CHANNELS: tuple[str, ...] = tuple(_TABLE.entries)
"""Names that :func:`resolve` knows."""


def resolve(spec: Any) -> Channel:
    """The channel meant by a number (variance of Gaussian label noise), a text, a mapping, or a channel.

    Texts are a name and its numbers, ``"probit:0.1"``, ``"student-t:0.1,5"``, ``"nonlinear:tanh(2*x),0.1"``;
    ``shift=0.3`` may follow for channels that are not additive: ``"sign:shift=0.3"``.
    """
    return _TABLE.read(spec)

"""Options that all commands share: the problem, and lists of numbers such as ``--alpha``."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NoReturn

import numpy as np
import typer

from ..ingredients import channels, readouts, weights
from ..ingredients.activations import ACTIVATIONS, activation
from ..problem import Problem

__all__ = [
    "MAX_COUNT",
    "ActivationOption",
    "AlphaOption",
    "BadInput",
    "ChannelOption",
    "GammaOption",
    "NoiseOption",
    "NormaliseOption",
    "ReadoutsOption",
    "WeightsOption",
    "choose",
    "complain",
    "read_alphas",
    "read_numbers",
    "read_positive",
    "read_problem",
    "read_readouts",
    "takes_problem",
]

MAX_COUNT = 10_000  # more points than any figure needs; a slip such as 0.5:8:1e9 is caught

_PANEL = "Problem"

# Ways out that an ingredient offers in Python, and what they are here.
_REMEDIES = {
    "pass normalise=True": "give --normalise",
    "use weights.Discrete.normalised(...)": "give --normalise",
    ", or pass a callable": "",
    "as a number, or a channel": "as a number",
    "give shift= to the channel": "add shift=, as in sign:shift=0,",
}

ActivationOption = Annotated[
    str,
    typer.Option(
        "--activation",
        metavar="NAME|FORMULA",
        help="Activation sigma of the hidden units: a name (relu, tanh, erf, gelu, sigma3, ...) or a formula "
        "in x such as 'tanh(2*x)'.",
        rich_help_panel=_PANEL,
        autocompletion=lambda incomplete: [name for name in ACTIVATIONS if name.startswith(incomplete)],
    ),
]
WeightsOption = Annotated[
    str,
    typer.Option(
        "--weights",
        metavar="LAW",
        help="Law P_W of the inner weights, of mean 0 and variance 1: gaussian, rademacher, uniform, "
        "'sparse-gaussian(0.2)' or values@probabilities such as '-1,1@0.5,0.5'.",
        rich_help_panel=_PANEL,
    ),
]
ReadoutsOption = Annotated[
    str,
    typer.Option(
        "--readouts",
        metavar="LAW",
        help="Law P_v of the readouts, of second moment 1: homogeneous, rademacher, four-point, uniform, "
        "gaussian or values@probabilities such as '-1,1@0.3,0.7'.",
        rich_help_panel=_PANEL,
        autocompletion=lambda incomplete: [n for n in readouts.READOUTS if n.startswith(incomplete)],
    ),
]
NoiseOption = Annotated[
    str | None,
    typer.Option(
        "--noise",
        metavar="VAR",
        help="Variance Delta of the Gaussian noise of the labels, > 0.",
        show_default="0.1",
        rich_help_panel=_PANEL,
    ),
]
ChannelOption = Annotated[
    str | None,
    typer.Option(
        "--channel",
        metavar="LAW",
        help="Law P_out of a label given the output, in place of --noise: probit:0.1, sign, logistic:3, "
        "laplace:0.1, student-t:0.1,5, poisson:2 or 'nonlinear:tanh(2*x),0.1'; ',shift=0.3' states the mean "
        "of the output where it matters.",
        rich_help_panel=_PANEL,
        autocompletion=lambda incomplete: [n for n in channels.CHANNELS if n.startswith(incomplete)],
    ),
]
GammaOption = Annotated[
    str,
    typer.Option(
        "--gamma",
        metavar="RATIO",
        help="Hidden units per input gamma = k/d, > 0.",
        rich_help_panel=_PANEL,
    ),
]
NormaliseOption = Annotated[
    bool,
    typer.Option(
        "--normalise",
        help="Rescale laws given as values@probabilities to the moments that are required.",
        rich_help_panel=_PANEL,
    ),
]
AlphaOption = Annotated[
    str,
    typer.Option(
        "--alpha",
        metavar="VALUES",
        help="Samples per squared dimension alpha = n/d², > 0: one value (2), a list (0.5,1,2) or a range "
        "(0.5:8:16 is first, last, count).",
    ),
]


class BadInput(Exception):
    """Something the user typed: one sentence on stderr, exit code 2."""


def read_problem(
    *,
    activation_text: str,
    weights_text: str,
    readouts_text: str,
    noise_text: str | None,
    channel_text: str | None,
    gamma_text: str,
    normalise: bool,
) -> Problem:
    """The problem that the shared options describe."""
    if noise_text is not None and channel_text is not None:
        raise BadInput("give --noise or --channel, not both: --noise is the variance of the Gaussian channel")
    sigma = _ask("--activation", activation, activation_text)
    law = _ask("--weights", lambda text: weights.resolve(text, normalise=normalise), weights_text)
    if channel_text is None:
        text = "0.1" if noise_text is None else noise_text
        channel: Any = channels.Gaussian(read_positive("--noise", text, "variance Delta of the label noise"))
    else:
        channel = _ask("--channel", channels.resolve, _number(channel_text))
    gamma = read_positive("--gamma", gamma_text, "hidden units per input, k/d")
    readout_law = read_readouts(readouts_text, normalise=normalise)
    try:
        return Problem(sigma, law, readout_law, channel, gamma)
    except ValueError as error:  # parts that are good alone but not together
        named = ("gamma", "activation", "weights", "readouts", "channel")
        by_name = [name for name in named if str(error).startswith(f"{name} ")]
        complain(f"--{(by_name or ['activation' if channel_text is None else 'channel'])[0]}", error)


def takes_problem(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the shared options in place of its first argument, the problem they describe."""
    asked = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = inspect.signature(_from_options, eval_str=True).parameters

    @functools.wraps(command)
    def with_options(**options: Any) -> None:
        command(_from_options(**{name: options.pop(name) for name in shared}), **options)

    # All by name, so that a context or an argument without a default may follow the options.
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*shared.values(), *asked)]
    with_options.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    with_options.__annotations__ = {}
    return with_options


def _from_options(
    activation: ActivationOption = "relu",
    weights: WeightsOption = "gaussian",
    readouts: ReadoutsOption = "homogeneous",
    noise: NoiseOption = None,
    channel: ChannelOption = None,
    gamma: GammaOption = "0.5",
    normalise: NormaliseOption = False,
) -> Problem:
    return read_problem(
        activation_text=activation,
        weights_text=weights,
        readouts_text=readouts,
        noise_text=noise,
        channel_text=channel,
        gamma_text=gamma,
        normalise=normalise,
    )


def read_readouts(text: str, *, normalise: bool) -> readouts.Readouts:
    """The law that ``--readouts`` names."""
    law: readouts.Readouts = _ask(
        "--readouts", lambda text: readouts.resolve(text, normalise=normalise), text
    )
    return law


def read_positive(option: str, text: str, meaning: str) -> float:
    """One finite number > 0."""
    value = _number(text)
    if isinstance(value, str):
        raise BadInput(f"{option} must be a number > 0 ({meaning}); got {text!r}")
    if not (value > 0 and math.isfinite(value)):
        raise BadInput(f"{option} must be > 0{_and_finite(value)} ({meaning}); got {value:g}")
    return value


def read_alphas(text: str) -> np.ndarray:
    """The values of ``--alpha``, all finite and > 0, in the order given."""
    return read_numbers("--alpha", text, "samples per squared dimension, n/d²")


def read_numbers(option: str, text: str, meaning: str, *, is_zero_allowed: bool = False) -> np.ndarray:
    """``2``, ``0.5,1,2`` or ``0.5:8:16`` (first, last, count) as an array of numbers > 0.

    Both ends of a range are among its values; one of the last below the first descends.
    """
    values = _range(option, text) if ":" in text else _list(option, text)
    good = np.isfinite(values) & ((values >= 0) if is_zero_allowed else (values > 0))
    if not good.all():
        worst = float(values[~good][0])
        rule = ">= 0" if is_zero_allowed else "> 0"
        raise BadInput(f"{option} must be {rule}{_and_finite(worst)} ({meaning}); got {worst:g}")
    return values


def choose(option: str, name: str, known: Iterable[str], what: str) -> str:
    """``name`` if it is known; else a complaint with its near matches."""
    known = list(known)
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise BadInput(f"{option}: unknown {what} {name!r}; {hint}choose from {', '.join(known)}")


def complain(option: str, error: Exception) -> NoReturn:
    """The message of an error, in terms of the option that caused it."""
    message = str(error)
    for in_python, on_command_line in _REMEDIES.items():
        message = message.replace(in_python, on_command_line)
    name = option.lstrip("-")
    # "gamma must be ..." reads "--gamma must be ..."; "unknown readouts ..." keeps its words.
    sentence = f"--{message}" if message.startswith(f"{name} ") else f"{option}: {message}"
    raise BadInput(sentence) from error


def _ask(option: str, make: Callable[[Any], Any], text: Any) -> Any:
    try:
        return make(text)
    except (ValueError, TypeError, OverflowError) as error:
        complain(option, error)


def _range(option: str, text: str) -> np.ndarray:
    parts = text.split(":")
    first, last = (_number(part) for part in (parts[0], parts[1]))
    if len(parts) != 3 or isinstance(first, str) or isinstance(last, str):
        raise BadInput(f"{option} takes a range as first:last:count, e.g. 0.5:8:16; got {text!r}")
    try:
        count = int(parts[2])
    except ValueError:
        count = 0
    if not 2 <= count <= MAX_COUNT:
        raise BadInput(
            f"{option} takes a range as first:last:count with a whole count from 2 to {MAX_COUNT}; "
            f"got {text!r}"
        )
    if not (math.isfinite(first) and math.isfinite(last)):
        raise BadInput(f"{option} must be finite at both ends of a range; got {text!r}")
    return np.linspace(first, last, count)


def _list(option: str, text: str) -> np.ndarray:
    values = [_number(part) for part in text.split(",")]
    if any(isinstance(value, str) for value in values):
        raise BadInput(
            f"{option} takes a number (2), a list (0.5,1,2) or a range first:last:count (0.5:8:16); "
            f"got {text!r}"
        )
    return np.array(values, dtype=float)


def _number(text: str) -> float | str:
    """The number that ``text`` spells, or ``text`` itself."""
    try:
        return float(text)
    except ValueError:
        return text


def _and_finite(value: float) -> str:
    return "" if math.isfinite(value) else " and finite"

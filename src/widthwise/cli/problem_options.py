"""Options that all commands share: the problem, and lists of numbers such as ``--alpha``."""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NoReturn

import numpy as np
import typer

from .._bad_value import BadValue, did_you_mean
from .._sizes import MEANINGS, alpha_from, conversions
from ..ingredients import channels, readouts
from ..ingredients.activations import ACTIVATIONS
from ..ingredients.inputs import INPUTS
from ..ingredients.weights import WEIGHTS
from ..problem import Problem, read_part
from .bundles import named_options, takes_bundles
from .output import BadInput, talk

__all__ = [
    "MAX_COUNT",
    "ActivationOption",
    "AlphaOption",
    "BadInput",
    "ChannelOption",
    "DimensionOption",
    "GammaOption",
    "NoiseOption",
    "NormaliseOption",
    "HiddenOption",
    "InputsOption",
    "ReadoutsOption",
    "SamplesOption",
    "SizeOption",
    "SnrOption",
    "WeightsOption",
    "choose",
    "complain",
    "read_alphas",
    "read_numbers",
    "read_positive",
    "read_problem",
    "read_readouts",
    "takes_problem",
    "worded",
]

MAX_COUNT = 10_000  # more points than any figure needs; a slip such as 0.5:8:1e9 is caught


def _option(
    *flags: str,
    metavar: str,
    help: str,
    default: str | bool = True,
    names: Iterable[str] = (),
    panel: str | None = "Problem",
) -> Any:
    """An option of the problem; ``names`` complete what is typed, ``default`` is what help shows of it."""
    return typer.Option(
        *flags,
        metavar=metavar,
        help=help,
        show_default=default,
        rich_help_panel=panel,
        autocompletion=_completion(names) if names else None,
    )


def _completion(names: Iterable[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


ActivationOption = Annotated[
    str,
    _option(
        "--activation",
        metavar="NAME|FORMULA",
        help="Activation sigma of the hidden units: a name (relu, tanh, erf, gelu, silu, sigma3, ...) or a "
        "formula in x such as 'tanh(2*x)'.",
        names=ACTIVATIONS,
    ),
]
WeightsOption = Annotated[
    str,
    _option(
        "--weights",
        metavar="LAW",
        help="Law P_W of the inner weights, of mean 0 and variance 1: gaussian, rademacher, uniform, "
        "sparse-gaussian:0.2 or values@probabilities such as '-1,1@0.5,0.5'.",
        names=WEIGHTS,
    ),
]
ReadoutsOption = Annotated[
    str,
    _option(
        "--readouts",
        metavar="LAW",
        help="Law P_v of the readouts, of second moment 1: homogeneous, rademacher, four-point, uniform, "
        "gaussian, values@probabilities such as '-1,1@0.3,0.7', or k features, the first the largest: "
        "power-law:exponent,k, exponential:length,k, linear:ratio,k or features:[3,2,1].",
        names=readouts.READOUTS,
    ),
]
NoiseOption = Annotated[
    str | None,
    _option(
        "--noise",
        metavar="VAR",
        help="Variance Delta of the Gaussian noise of the labels, > 0.",
        default="0.1",
    ),
]
ChannelOption = Annotated[
    str | None,
    _option(
        "--channel",
        metavar="LAW",
        help="Law P_out of a label given the output, in place of --noise: probit:0.1, sign, logistic:3, "
        "laplace:0.1, student-t:0.1,5, poisson:2 or 'nonlinear:tanh(2*x),0.1'; ',shift=0.3' states the mean "
        "of the output where it matters.",
        names=channels.CHANNELS,
    ),
]
GammaOption = Annotated[
    str | None,
    _option("--gamma", metavar="RATIO", help="Hidden units per input gamma = k/d, > 0.", default="0.5"),
]
SnrOption = Annotated[
    str | None,
    _option(
        "--snr",
        metavar="RATIO",
        help="Variance of the network's output over that of Gaussian label noise, > 0, in place of --noise.",
        default=False,
    ),
]
HiddenOption = Annotated[
    str | None,
    _option(
        "--k", metavar="K", help="Number k of hidden units, with --d, in place of --gamma.", default=False
    ),
]
SizeOption = Annotated[
    str | None,
    _option(
        "--d",
        "-d",
        metavar="D",
        help="Dimension d of the inputs, for --n (alpha = n/d²) and --k (gamma = k/d).",
        default=False,
    ),
]
SamplesOption = Annotated[
    str | None,
    _option(
        "--n",
        metavar="VALUES",
        help="Number n of samples, with --d, in place of --alpha: one value, a list or a range.",
        default=False,
        panel=None,
    ),
]
InputsOption = Annotated[
    str,
    _option(
        "--inputs",
        metavar="LAW",
        help="Covariance of Gaussian inputs by its eigenvalues, of mean 1: isotropic, power-law:1.2,144 "
        "(exponent, count), spiked:4,0.1 (eigenvalue, share), eigenvalues such as '1.5,0.5' or "
        "eigenvalues@probabilities such as '3,0.5@0.2,0.8'; or that of data, on which learners then run: "
        "digits, photographs:8, mnist, file:PATH.",
        names=INPUTS,
    ),
]
NormaliseOption = Annotated[
    bool,
    typer.Option(
        "--normalise",
        help="Rescale laws given as values@probabilities to the moments that are required.",
        rich_help_panel="Problem",
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
DimensionOption = Annotated[
    str | None, typer.Option("--d", "-d", metavar="D", help="Dimension d of the inputs: n is printed too.")
]


def read_problem(**words: Any) -> Problem:
    """The problem that the options describe, in the words of :class:`Problem`."""
    try:
        return Problem(**{name: value for name, value in words.items() if value is not None})
    except BadValue as error:
        raise worded(error) from error


def worded(error: BadValue) -> BadInput:
    """What is wrong with a value, in terms of the option that it was given for."""
    return BadInput(error.words("command", f"--{error.field.replace('_', '-')}"))


def takes_problem(command: Callable[..., None], **other_defaults: str) -> Callable[..., None]:
    """The command with the shared options in place of its first argument, the problem they describe.

    Further arguments may be bundles of options. ``other_defaults`` are those in which a command differs
    from the others.

    Where there is an ``alpha``, ``--n`` and ``--d`` may stand for it, as ``--k`` and ``--d`` for ``gamma``;
    what was converted is told on stderr.
    """
    command = takes_bundles(command)
    asked = list(inspect.signature(command).parameters.values())[1:]
    names = [one.name for one in asked]
    shared = dict(inspect.signature(_from_options, eval_str=True).parameters)
    shared |= {name: shared[name].replace(default=value) for name, value in other_defaults.items()}
    del shared["d"]  # where a command has no dimension of its own, it is added below
    defaults = {one.name: one.default for one in asked if one.name in ("alpha", "d")}
    extra = {"n": SamplesOption} if "alpha" in names else {}
    extra |= {} if "d" in names else {"d": SizeOption}

    @functools.wraps(command)
    def with_options(**options: Any) -> None:
        words = {name: options.pop(name) for name in shared}
        n = options.pop("n", None)
        d = options["d"] if "d" in names else options.pop("d")
        made: dict[str, tuple[float, str]] = {}
        if n is None and words["k"] is None and d is not None and "d" not in names:
            raise BadInput("--d goes with --n or --k: alpha = n/d², gamma = k/d")
        size = _one_size(d if d is not None else defaults.get("d")) if n or words["k"] else None
        if n is not None:
            if options["alpha"] is not None:
                raise BadInput("give --alpha, or --n and --d, not both: alpha is n/d²")
            alphas = _alphas_of(n, size)
            options["alpha"] = ",".join(map(repr, alphas.tolist()))
            made |= {"alpha": (alphas[0], "n/d²")} if alphas.size == 1 else {}
        problem = _from_options(**words, d=size if words["k"] is not None else None)
        made |= {"gamma": (problem.gamma, "k/d")} if words["k"] is not None else {}
        if words["snr"] is not None:
            made["noise"] = (problem.output_power / problem.snr, "variance of the output/snr")  # type: ignore[operator]
        if made:
            talk(conversions(**made))
        for name, default in defaults.items():
            options[name] = default if options[name] is None else options[name]
        command(problem=problem, **options)

    hidden = [_with_default_none(one) if one.name in defaults else one for one in asked]
    added = [_optional(name, annotation) for name, annotation in extra.items()]
    named_options(with_options, [*shared.values(), *added, *hidden])
    return with_options


def _optional(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _with_default_none(parameter: inspect.Parameter) -> inspect.Parameter:
    """The option without its default, which help still shows: so that one can see whether it was given."""
    kind, option = parameter.annotation.__origin__, copy.copy(parameter.annotation.__metadata__[0])
    if parameter.default is not None:
        option.show_default = str(parameter.default)
    return parameter.replace(default=None, annotation=Annotated[kind | None, option])


def _one_size(d: Any) -> Any:
    if d is None:
        raise BadInput("--n and --k need --d: alpha = n/d², gamma = k/d")
    sizes = read_numbers("--d", str(d), MEANINGS["d"])
    if sizes.size != 1:
        raise BadInput(f"--n and --k need one value of --d; got {sizes.size}")
    return float(sizes[0])


def _alphas_of(n: str, d: Any) -> np.ndarray:
    try:
        return np.atleast_1d(alpha_from(None, read_numbers("--n", n, MEANINGS["n"]), d))
    except BadValue as error:
        raise worded(error) from error


def _from_options(
    activation: ActivationOption = "relu",
    weights: WeightsOption = "gaussian",
    readouts: ReadoutsOption = "homogeneous",
    noise: NoiseOption = None,
    snr: SnrOption = None,
    channel: ChannelOption = None,
    gamma: GammaOption = None,
    k: HiddenOption = None,
    inputs: InputsOption = "isotropic",
    normalise: NormaliseOption = False,
    *,
    d: Any = None,
) -> Problem:
    words: Mapping[str, Any] = locals()
    return read_problem(**words)


def read_readouts(text: str, *, normalise: bool) -> readouts.Readouts:
    """The law that ``--readouts`` names."""
    try:
        law: readouts.Readouts = read_part("readouts", text, normalise=normalise)
    except BadValue as error:
        raise worded(error) from error
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
    raise BadInput(
        f"{option}: unknown {what} {name!r}; {did_you_mean(name, known)}choose from {', '.join(known)}"
    )


def complain(option: str, error: Exception) -> NoReturn:
    """The message of an error, in terms of the option that caused it."""
    raise worded(BadValue.about(option.lstrip("-").replace("-", "_"), error)) from error


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

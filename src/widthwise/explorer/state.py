"""What the page shows, as one flat record of texts and numbers: the controls, and the query of its address.

Every field is a control of the page with the same identifier.  Only what differs from the default is
written into the address.  A person may write it too, so an ingredient that no list offers is taken as one's
own (``?activation=tanh(2*x)``), and what cannot be read is said on the page and replaced by the default.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from .._bad_value import BadValue, shown
from .._records import spec_text
from ..ingredients import channels, readouts
from ..problem import Problem, bad_values, read_part
from .menus import ACTIVATIONS, CHANNELS, INPUTS, OWN, READOUTS, WEIGHTS

__all__ = [
    "BLAMED",
    "CURVE",
    "DEFAULTS",
    "LIMITS",
    "MAX_PINS",
    "MAX_TEXT",
    "N_ROWS",
    "PROBLEM",
    "bounded",
    "from_query",
    "problem_fields",
    "problem_of",
    "query_of",
    "read_pins",
    "read_query",
    "sentence",
    "to_query",
]

N_ROWS = 6
"""Rows of the table of readouts."""
MAX_TEXT = 200
MAX_PINS = 6
MAX_QUERY = 8000

_TABLE: dict[str, Any] = {f"v{i}": None for i in range(N_ROWS)} | {f"p{i}": None for i in range(N_ROWS)}
_TABLE |= {"v0": -1.2, "p0": 0.3, "v1": 0.4, "p1": 0.3, "v2": 1.1, "p2": 0.4}

PROBLEM: dict[str, Any] = {
    "activation": "relu",
    "formula": "tanh(2*x)",
    "weights": "gaussian",
    "law": "-2,0,2@0.125,0.75,0.125",
    "readouts": "homogeneous",
    **_TABLE,
    "channel": "gaussian",
    "noise": 0.1,
    "label": "student-t:0.1,5",
    "gamma": 0.5,
    "inputs": "isotropic",
    "eigenvalues": "3,0.5@0.2,0.8",
}
"""The fields that make up the problem, with their defaults."""

DEFAULTS: dict[str, Any] = {
    **PROBLEM,
    "reach": 6.0,
    "quantity": "excess_error",
    "yaxis": "log",
    "xaxis": "linear",
    "pins": "",
    "alpha": 2.0,
    "view": "point",
    "against": "gamma",
    "goal": 0.01,
    "dimension": 100.0,
    "beta": 1.0,
    "features": 100.0,
    "samples": 10.0,
    "learner": "gamp_rie",
    "size": 40.0,
    "start": "random",
    "over": "gamma",
    "lecture": 0.0,
}
"""Every field of the page."""

BLAMED = ("activation", "weights", "readouts", "channel", "noise", "gamma", "inputs", "reach", "quantity")
"""Controls with a place for a sentence about the curve beside them."""

CURVE = (*PROBLEM, "reach", "quantity", "yaxis", "xaxis", "pins")
"""Fields that change the learning curve."""

_NUMBERS = {name for name, value in DEFAULTS.items() if isinstance(value, float)} | set(_TABLE)

LIMITS = {
    "gamma": (0.02, 20.0),
    "noise": (1e-4, 10.0),
    "reach": (0.2, 100.0),
    "alpha": (1e-3, 100.0),
    "goal": (1e-6, 1.0),
    "dimension": (2.0, 1e6),
    "beta": (0.1, 3.0),
    "features": (2.0, 1e5),
    "samples": (1e-3, 1e5),
    "size": (4.0, 60.0),
    "lecture": (0.0, 6.0),
}
"""Least and largest value that the controls take: what the page can draw quickly and sensibly."""


def from_query(query: str) -> dict[str, Any]:
    """The state of an address; unknown names and values of the wrong kind fall back to the defaults."""
    return read_query(query)[0]


def read_query(query: str) -> tuple[dict[str, Any], list[str]]:
    """The state of an address, and a sentence for each part of it that could not be used."""
    state, notes = dict(DEFAULTS), []
    if len(query) > MAX_QUERY:
        return state, [f"The address is too long: at most {MAX_QUERY} characters are read."]
    try:
        pairs = parse_qsl(query.lstrip("?"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return state, ["The address holds more than 100 fields, and none of them was read."]
    for name, text in pairs:
        what = f"“{name[:20]}={text[:40]}” in the address"
        if name not in DEFAULTS:
            notes.append(f"{what} is no field of this page and was left out.")
        elif name in _TABLE and not text:
            state[name] = None  # a cell that was cleared
        elif name in _NUMBERS:
            value = _number(text)
            if value is None:
                notes.append(f"{what} is no number; {state[name]} is used instead.")
            else:
                state[name] = value
        elif name == "pins":
            state[name] = json.dumps(read_pins(text), separators=(",", ":")) if read_pins(text) else ""
        elif text and len(text) <= MAX_TEXT:
            state[name] = text
        elif text:
            notes.append(f"{what} has more than {MAX_TEXT} characters and was left out.")
    return state, notes + _take_own(state)


def _take_own(state: dict[str, Any]) -> list[str]:
    """Ingredients that no list offers, put into the fields for one's own."""
    for name, offered, field in (
        ("activation", ACTIVATIONS, "formula"),
        ("weights", WEIGHTS, "law"),
        ("channel", CHANNELS, "label"),
        ("inputs", INPUTS, "eigenvalues"),
    ):
        if state[name] not in offered:
            state[name], state[field] = OWN, state[name]
    if state["readouts"] in READOUTS:
        return []
    text, state["readouts"] = state["readouts"], PROBLEM["readouts"]
    try:
        law: Any = read_part("readouts", text, normalise=True)
    except (ValueError, TypeError, ArithmeticError) as error:
        return [f"readouts in the address: {sentence(BadValue.about('readouts', error))}"]
    if law.name in READOUTS:
        state["readouts"] = law.name
    elif not law.is_discrete or len(law.values) > N_ROWS:
        return [f"The table of readouts has {N_ROWS} rows, too few for “{text[:40]}” in the address."]
    else:
        state["readouts"] = OWN
        for i in range(N_ROWS):
            is_used = i < len(law.values)
            state[f"v{i}"] = float(law.values[i]) if is_used else None
            state[f"p{i}"] = float(law.probabilities[i]) if is_used else None
    return []


def to_query(state: Mapping[str, Any]) -> str:
    """The query that :func:`from_query` reads back."""
    pairs = []
    for name, default in DEFAULTS.items():
        value = state.get(name, default)
        if value != default and (value is not None or name in _TABLE):
            pairs.append(
                (name, f"{value:.12g}" if isinstance(value, float) else "" if value is None else value)
            )
    return f"?{urlencode(pairs)}" if pairs else ""


def query_of(problem: Problem) -> str:
    """The query of an address that shows a problem; a ``ValueError`` says why the page cannot show it."""
    described = {name: spec_text(spec) for name, spec in problem.to_dict().items() if name != "gamma"}
    if problem.channel.name == "gaussian":
        described["noise"] = described.pop("channel")
    query = "?" + urlencode({**described, "gamma": f"{problem.gamma:.12g}"})
    state, notes = read_query(query)
    shown, errors = problem_of(state)
    if notes or shown is None:
        raise ValueError(" ".join([*notes, *errors.values()]))
    return to_query(state)


def problem_fields(state: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a state that makes up its problem, without what its choices leave unused."""
    kept = {name: state.get(name, default) for name, default in PROBLEM.items()}
    unused: list[str] = []
    unused += [] if kept["activation"] == OWN else ["formula"]
    unused += [] if kept["weights"] == OWN else ["law"]
    unused += [] if kept["readouts"] == OWN else list(_TABLE)
    unused += [] if kept["channel"] == OWN else ["label"]
    unused += [] if kept["inputs"] == OWN else ["eigenvalues"]
    unused += ["noise"] if kept["channel"] in ("sign", OWN) else []
    return {name: value for name, value in kept.items() if name not in unused}


def read_pins(text: str) -> list[dict[str, Any]]:
    """Pinned problems of an address: a JSON list of the fields in which each differs from the defaults."""
    try:
        found = json.loads(text) if text and len(text) <= MAX_QUERY else []
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, list):
        return []
    pins = []
    for item in found[:MAX_PINS]:
        if isinstance(item, dict) and all(
            name in PROBLEM and isinstance(value, (str, int, float, type(None)))
            for name, value in item.items()
        ):
            pins.append(item)
    return pins


def problem_of(state: Mapping[str, Any]) -> tuple[Problem | None, dict[str, str]]:
    """The problem that the controls describe, or a sentence for each control that has none."""
    errors: dict[str, str] = {}

    def ask(field: str, make: Any) -> Any:
        try:
            return make()
        except (ValueError, TypeError, OverflowError, ArithmeticError, MemoryError) as error:
            errors[field] = sentence(BadValue.about(field, error))
            return None

    def own(field: str, choice: str) -> str:
        return _text(state, field) if choice == OWN else choice

    chosen, law, table, label = (
        str(state.get(k, DEFAULTS[k])) for k in ("activation", "weights", "readouts", "channel")
    )
    sigma = ask("activation", lambda: read_part("activation", own("formula", chosen)))
    inner = ask("weights", lambda: read_part("weights", own("law", law)))
    outer = ask("readouts", lambda: _table_law(state) if table == OWN else read_part("readouts", table))
    noise = ask("noise", lambda: bounded(state, "noise")) if label not in ("sign", OWN) else 1.0
    channel: Any = None
    if noise is not None:
        field = "channel" if label in ("sign", OWN) else "noise"
        channel = ask(field, lambda: _channel(state, label, noise))
    gamma = ask("gamma", lambda: bounded(state, "gamma"))
    shown = str(state.get("inputs", DEFAULTS["inputs"]))
    inputs = ask("inputs", lambda: _spectrum(own("eigenvalues", shown)))
    if errors:
        return None, errors
    parts = {"activation": sigma, "weights": inner, "readouts": outer, "channel": channel, "gamma": gamma}
    parts["inputs"] = inputs
    wrong = bad_values(parts)
    if wrong:
        return None, {field: sentence(error) for field, error in wrong.items()}
    return Problem(**parts), {}


_MEANINGS = {
    "gamma": "hidden units per input, k/d",
    "noise": "variance of the label noise",
    "reach": "largest number of samples per d² to draw",
    "alpha": "samples per d²",
    "goal": "target of the excess error",
    "dimension": "dimension of the inputs",
    "size": "dimension of the inputs",
    "beta": "exponent of the readouts",
    "features": "hidden units of the teacher",
    "samples": "samples for each weight",
}


def bounded(state: Mapping[str, Any], name: str) -> float:
    """A number of the state within the limits of its control."""
    value = _number(state.get(name))
    low, high = LIMITS[name]
    if value is None or not low <= value <= high:
        given = state.get(name)
        got = "nothing" if given in (None, "") else given if isinstance(given, (str, float)) else shown(given)
        raise ValueError(f"{name} must lie between {low:g} and {high:g} ({_MEANINGS[name]}); got {got}")
    return value


def _channel(state: Mapping[str, Any], label: str, noise: float) -> Any:
    if label == OWN:
        return read_part("channel", _text(state, "label"))
    if label == "sign":
        return channels.Sign()
    if label == "logistic":
        return channels.Logistic(1 / noise)
    return read_part("channel", {"kind": label, "noise": noise})


def _spectrum(text: str) -> Any:
    """The law of the inputs; a page that others may open reads no files, and loads no data."""
    if re.match(r"\s*(file|mnist|digits|photographs)\b", text, re.IGNORECASE):
        raise ValueError("data are for Python and the command line; give the eigenvalues of their covariance")
    return read_part("inputs", text, normalise=True)


def _table_law(state: Mapping[str, Any]) -> Any:
    rows = [(_number(state.get(f"v{i}")), _number(state.get(f"p{i}"))) for i in range(N_ROWS)]
    rows = [row for row in rows if row != (None, None)]
    for value, share in rows:
        if value is None or share is None:
            raise ValueError("every row of the table needs a value and a probability; complete or clear it")
    if not rows:
        raise ValueError("the table of readouts is empty; give values and their probabilities")
    # A second moment other than 1 only rescales the output, so the page always normalises it.
    return readouts.Discrete([v for v, _ in rows], [p for _, p in rows], normalise=True)


def _text(state: Mapping[str, Any], name: str) -> str:
    text = str(state.get(name) or "").strip()
    if not text:
        raise ValueError("nothing is written here yet")
    if len(text) > MAX_TEXT:
        raise ValueError(f"at most {MAX_TEXT} characters, got {len(text)}")
    return text


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def sentence(error: BadValue | str) -> str:
    """What is wrong with a control, as it stands beside it."""
    message = error if isinstance(error, str) else error.words("page")
    return message[:1].upper() + message[1:] + ("" if message.endswith((".", "?")) else ".")

"""Random valid problems, over the whole space that a user could fill; all from one generator.

``random_problem(rng)`` draws a :class:`Drawn`: the problem, the kinds of its ingredients (for counts), the
formula of its activation, and a text that makes it again. Half of the mass is where things happen (γ from
0.02 to 50, ordinary noise), the rest goes out to the ends of what the package accepts. Problems that
``Problem`` refuses are avoided by construction: laws are normalised, and where the mean of the output
matters it is stated.

``random_alphas(rng, problem, n)`` are values of α, most of them within two decades of γ: α/γ labels for
each weight, which is the scale on which units are learnt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import widthwise as ww

__all__ = [
    "ALPHAS",
    "PREAMBLE",
    "Drawn",
    "cauchy",
    "fuzzy_sign",
    "pasteable",
    "random_alphas",
    "random_problem",
    "three_labels",
]

ALPHAS = (1e-4, 1e4)
"""Where α is drawn."""

PREAMBLE = "import widthwise as ww\nfrom widthwise import Problem, channels, readouts, weights"
"""Lines before a pasted problem."""

_LARGEST_ATOM_COUNT = 64


@dataclass(frozen=True)
class Drawn:
    """A problem with what it is made of."""

    problem: ww.Problem
    kinds: dict[str, str]
    """weights, readouts, channel, activation: the word under which each is counted."""
    formula: str
    """The activation as a formula in x."""

    @property
    def text(self) -> str:
        """Lines that make the problem again."""
        return f"{PREAMBLE}\n{_needed(self.problem)}problem = {pasteable(self.problem)}"


def random_problem(rng: np.random.Generator) -> Drawn:
    """One problem, valid by construction."""
    activation_kind, formula = _activation(rng)
    weights_kind, weights = _weights(rng)
    readouts_kind, readouts = _readouts(rng)
    channel_kind, make_channel = _channel(rng)
    gamma = _wide(rng, (0.02, 50.0), (1e-3, 1e3), (1e-4, 1e4))
    # The mean of the output is a parameter of its own; often it is stated also where it need not be.
    shift = _round(rng.normal()) if rng.random() < 0.7 else 0.0
    problem = _assembled(formula, weights, readouts, make_channel, gamma, shift, rng.random() < 0.3)
    kinds = {
        "activation": activation_kind,
        "weights": weights_kind,
        "readouts": readouts_kind,
        "channel": channel_kind,
    }
    return Drawn(problem, kinds, formula)


def random_alphas(rng: np.random.Generator, problem: ww.Problem, n: int) -> np.ndarray:
    """``n`` values of α in order: three quarters within two decades of γ, the rest over ``ALPHAS``."""
    low, high = ALPHAS
    near = problem.gamma * 10 ** rng.uniform(-2, 2, n)
    far = _log_uniform(rng, low, high, n)
    return np.sort(np.clip(np.where(rng.random(n) < 0.75, near, far), low, high))


def pasteable(problem: ww.Problem) -> str:
    """``repr(problem)``, with the parameters of the channels of this module written out."""
    channel = problem.channel
    if not isinstance(channel, ww.channels.Custom):
        return repr(problem)
    function: Any = channel.function
    where = f"labels={channel.labels}" if channel.labels is not None else "support=(-inf, inf)"
    shift = "" if channel.shift is None else f", shift={channel.shift!r}"
    made = f"channels.Custom({function!r}, {where}, breaks={channel.breaks}{shift})"
    return repr(problem).replace(repr(channel), made)


def _needed(problem: ww.Problem) -> str:
    if not isinstance(problem.channel, ww.channels.Custom):
        return ""
    return "from math import inf\nfrom random_problems import cauchy, fuzzy_sign, three_labels  # tests/\n"


def _assembled(formula, weights, readouts, make_channel, gamma, shift, is_stated) -> ww.Problem:
    activation = ww.Problem(formula).activation
    # The rule of Problem, with room: rounding may leave a mean of 1e-12 on either side.
    is_needed = abs(activation.hermite[0] * readouts.mean) > 1e-14
    shift = shift if is_needed or is_stated else None
    power = ww.Problem(activation, weights, readouts, 1.0, gamma).output_power
    return ww.Problem(activation, weights, readouts, make_channel(shift, power), gamma)


# ---------------------------------------------------------------------- activations

_SMOOTH = (
    "softplus(x)", "gelu(x)", "tanh(x)", "erf(x)", "sigmoid(x)", "sin(x)", "exp(-x**2)", "x*tanh(x)",
    "atan(3*x)", "x/(1+x**2)", "sqrt(1+x**2)", "cos(2*x)", "log(1+x**2)", "x**2*tanh(x)",
)  # fmt: skip
_KINKED = (
    "relu(x)", "leaky(x,0.01)", "elu(x)", "hardtanh(x)", "abs(x)", "max(x,0.3*x**2)", "clip(x,-0.5,1.3)",
    "relu(x-1.2)", "abs(x-0.4)-abs(x+1.1)", "relu(x)**2", "min(x,1)", "max(tanh(x),0.2)", "x*abs(x)",
)  # fmt: skip
_JUMPING = (
    "sign(x)", "step(x)", "step(x-0.7)", "sign(x)+x", "sign(x-0.3)+0.2*x**2", "step(x)-step(x-1)",
    "relu(x)+0.1*step(x)", "sign(he2(x))", "tanh(x)+0.01*sign(x)", "step(x+1.5)+sign(x-0.2)",
)  # fmt: skip
_POLYNOMIAL = ("x**2", "x", "he2(x)/sqrt(2)", "he3(x)/sqrt(6)", "he2(x)/sqrt(2)+he3(x)/6", "he3(x)", "he4(x)")


def _activation(rng: np.random.Generator) -> tuple[str, str]:
    kind = _pick(rng, {"smooth": 4, "steep": 3, "kinked": 5, "jump": 3, "named polynomial": 3, "hermite": 4})
    if kind == "steep":
        slope = _log_uniform(rng, 0.1, 10)
        formula = f"{_choose(rng, ('tanh', 'erf', 'sin', 'sigmoid', 'atan'))}({_round(slope)!r}*x)"
    elif kind == "hermite":
        formula = _hermite_sum(rng)
    else:
        formula = _choose(
            rng,
            {"smooth": _SMOOTH, "kinked": _KINKED, "jump": _JUMPING, "named polynomial": _POLYNOMIAL}[kind],
        )
    if rng.random() < 0.2:
        formula = f"{_round(_log_uniform(rng, 0.03, 30))!r}*({formula})"
    if rng.random() < 0.1:
        formula = f"{formula}+{_round(rng.uniform(0.1, 2))!r}"  # a mean of its own
    return kind, formula


def _hermite_sum(rng: np.random.Generator) -> str:
    """Two to four orders with coefficients of very different sizes, each in units of its norm."""
    orders = sorted(rng.choice(np.arange(1, 9), size=int(rng.integers(2, 5)), replace=False).tolist())
    terms = []
    for order in orders:
        size = _round(_log_uniform(rng, 1e-3, 1) / math.sqrt(math.factorial(order)))
        terms.append(f"{size!r}*he{order}(x)")
    return "+".join(terms)


# ---------------------------------------------------------------------- weights


def _weights(rng: np.random.Generator) -> tuple[str, Any]:
    kind = _pick(
        rng,
        {"gaussian": 5, "rademacher": 3, "uniform": 2, "sparse": 3, "discrete": 4, "mixture": 3},
    )
    if kind in ("gaussian", "rademacher", "uniform"):
        return kind, kind
    if kind == "sparse":
        return kind, ww.weights.SparseGaussian(_round(_log_uniform(rng, 1e-3, 1)))
    if kind == "discrete":
        return kind, ww.weights.Discrete.normalised(*_atoms(rng, 2, 8, lowest=1e-6))
    means, p = _atoms(rng, 2, 4, lowest=1e-4)
    variances = _round(_log_uniform(rng, 1e-3, 3, means.size))
    return kind, ww.weights.GaussianMixture.normalised(means, variances, p)


def _atoms(rng: np.random.Generator, least: int, most: int, lowest: float) -> tuple[np.ndarray, np.ndarray]:
    """Distinct atoms with probabilities, some of them tiny."""
    n = int(rng.integers(least, most + 1))
    atoms = rng.normal(size=n)
    if rng.random() < 0.3:
        atoms[int(rng.integers(n))] = 0.0
    if rng.random() < 0.25 and n > 2:  # a pair that only much data tells apart
        atoms[-1] = atoms[0] * (1 + _log_uniform(rng, 1e-3, 0.3)) + 1e-3
    p = rng.dirichlet(np.full(n, 1.5)) + 1e-3
    if rng.random() < 0.4:
        p[int(rng.integers(n))] = _log_uniform(rng, lowest, 1e-2)
    atoms = np.unique(_round(atoms))
    p = p[: atoms.size]
    return atoms, p / p.sum()


# ---------------------------------------------------------------------- readouts


def _readouts(rng: np.random.Generator) -> tuple[str, Any]:
    kind = _pick(
        rng,
        {
            "homogeneous": 3, "rademacher": 2, "four-point": 2, "uniform": 2, "gaussian": 2,
            "rare": 5, "near-equal": 3, "with zero": 3, "pairs": 2, "few": 5, "many": 3,
        },
    )  # fmt: skip
    if kind in ("homogeneous", "rademacher", "four-point", "uniform", "gaussian"):
        return kind, ww.readouts.resolve(kind)
    make = {"rare": _rare, "near-equal": _near_equal, "with zero": _with_zero, "pairs": _pairs}
    values, p = (make.get(kind) or (_few if kind == "few" else _many))(rng)
    if rng.random() < 0.3:
        values = np.abs(values)
    return kind, ww.readouts.Discrete(values, p / p.sum(), normalise=True)


def _rare(rng):
    """One or two large readouts that hardly any unit has, and a bulk."""
    n_rare, n_bulk = int(rng.integers(1, 3)), int(rng.integers(1, 6))
    values = np.concatenate([_log_uniform(rng, 1.5, 30, n_rare), rng.uniform(0.05, 1.2, n_bulk)])
    share = _log_uniform(rng, 1e-5, 0.1, n_rare)
    bulk = rng.dirichlet(np.ones(n_bulk)) + 1e-3
    return _signed(rng, values), np.concatenate([share, bulk / bulk.sum() * (1 - share.sum())])


def _near_equal(rng):
    base = rng.uniform(0.3, 2, int(rng.integers(1, 4)))
    twins = base * (1 + _log_uniform(rng, 1e-9, 0.1, base.size))
    values = _signed(rng, np.concatenate([base, twins]))
    return values, rng.dirichlet(np.full(values.size, 2.0)) + 1e-4


def _with_zero(rng):
    values, p = _few(rng)
    zero = _choose(rng, (0.001, 0.1, 0.5, 0.9, 0.99))
    return np.append(values, 0.0), np.append(p / p.sum() * (1 - zero), zero)


def _pairs(rng):
    """±v with different probabilities: one class of |v|, a matrix of any skewness."""
    size = rng.uniform(0.2, 2, int(rng.integers(1, 4)))
    return np.concatenate([size, -size]), rng.dirichlet(np.full(2 * size.size, 1.0)) + 1e-4


def _few(rng):
    values = rng.normal(size=int(rng.integers(1, 7))) + _choose(rng, (0.0, 0.0, 1.5))
    values[np.abs(values) < 1e-2] = 0.5
    return values, rng.dirichlet(np.ones(values.size)) + 1e-4


def _many(rng):
    n = int(rng.integers(7, _LARGEST_ATOM_COUNT + 1))
    if rng.random() < 0.5:
        values = np.arange(1, n + 1) ** -rng.uniform(0.1, 1.5)
        return values, np.full(n, 1.0)
    return _signed(rng, rng.uniform(0.05, 2, n)), rng.dirichlet(np.full(n, 1.0)) + 1e-5


def _signed(rng, values):
    return values * rng.choice([-1.0, 1.0], np.shape(values))


# ---------------------------------------------------------------------- channels


class _Likelihood:
    """A log-likelihood with a scale; equal and hashable by value, so that problems with it are."""

    def __init__(self, scale: float) -> None:
        self.scale = float(scale)
        self.__name__ = repr(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.scale!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.scale == other.scale  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.scale))


class cauchy(_Likelihood):
    """y = λ + Cauchy noise: labels without a mean."""

    def __call__(self, labels, outputs, xp=np):
        return -xp.log(math.pi * self.scale * (1 + ((labels - outputs) / self.scale) ** 2))


class three_labels(_Likelihood):
    """y = -1, 0, 1 with odds exp(scale y λ)."""

    def __call__(self, labels, outputs, xp=np):
        a = self.scale * outputs
        return labels * a - xp.logaddexp(xp.logaddexp(a, -a), 0.0)


class fuzzy_sign(_Likelihood):
    """y = sign λ, wrong with probability scale: a jump that is named as a break."""

    def __call__(self, labels, outputs, xp=np):
        return xp.where(labels * outputs >= 0, math.log1p(-self.scale), math.log(self.scale))


_OUTER = ("tanh(2*x)", "abs(x)", "relu(x)", "x**2", "sign(x)+0.3*x", "x+0.2*x**3", "x")


def _channel(rng: np.random.Generator):
    kind = _pick(
        rng,
        {
            "gaussian": 12, "probit": 3, "sign": 3, "logistic": 3, "laplace": 3, "student-t": 3, "poisson": 2,
            "nonlinear": 2, "custom": 1,
        },
    )  # fmt: skip
    channels = ww.channels
    noise = _round(_wide(rng, (1e-2, 3.0), (1e-4, 10.0), (1e-6, 10.0)))
    if kind == "gaussian":
        return kind, lambda shift, power: channels.Gaussian(noise)
    if kind == "laplace":
        return kind, lambda shift, power: channels.Laplace(noise)
    if kind == "student-t":
        dof = _round(2 + _log_uniform(rng, 1e-2, 1e2))
        return kind, lambda shift, power: channels.StudentT(noise, dof)
    if kind == "probit":
        return kind, lambda shift, power: channels.Probit(noise, shift)
    if kind == "sign":
        return kind, lambda shift, power: channels.Sign(shift)
    if kind == "logistic":
        steepness = _round(_wide(rng, (0.3, 10.0), (1e-3, 1e3), (1e-3, 1e3)))
        return kind, lambda shift, power: channels.Logistic(steepness, shift)
    if kind == "poisson":
        rate = _round(_wide(rng, (0.3, 10.0), (1e-3, 1e2), (1e-3, 1e3)))
        return kind, lambda shift, power: channels.Poisson(min(rate, _largest_rate(shift, power)), shift)
    if kind == "nonlinear":
        function = _choose(
            rng, ("tanh(2*x)", "abs(x)", "relu(x)", "x**2", "sign(x)+0.3*x", "x+0.2*x**3", "x")
        )
        return kind, lambda shift, power: channels.Nonlinear(
            function, max(noise, _least_noise(function, shift, power)), shift
        )
    scale = _round(_log_uniform(rng, 0.03, 3))
    which = int(rng.integers(3))
    if which == 0:
        support = (-math.inf, math.inf)
        return kind, lambda shift, power: channels.Custom(cauchy(scale), support=support, shift=shift)
    if which == 1:
        return kind, lambda shift, power: channels.Custom(
            three_labels(scale), labels=(-1.0, 0.0, 1.0), shift=shift
        )
    wrong = _round(_log_uniform(rng, 1e-4, 0.4))
    return kind, lambda shift, power: channels.Custom(
        fuzzy_sign(wrong), labels=(-1.0, 1.0), breaks=(0.0,), shift=shift
    )


def _least_noise(function: str, shift: float | None, power: float) -> float:
    """The labels lie on a grid of at most 6000 values, some four to a width of the noise."""
    values = ww.Problem(function).activation((shift or 0.0) + math.sqrt(power) * np.linspace(-10, 10, 201))
    return float(np.ptp(values) / 1000) ** 2


def _largest_rate(shift: float | None, power: float) -> float:
    """Counts go up to 6000."""
    return 3000 / float(np.logaddexp(0, (shift or 0.0) + 10 * math.sqrt(power)))


# ---------------------------------------------------------------------- drawing


def _pick(rng: np.random.Generator, odds: dict[str, float]) -> str:
    p = np.array(list(odds.values()), dtype=float)
    return str(rng.choice(list(odds), p=p / p.sum()))


def _choose(rng: np.random.Generator, options):
    return options[int(rng.integers(len(options)))]


def _log_uniform(rng: np.random.Generator, low: float, high: float, size=None):
    return np.exp(rng.uniform(math.log(low), math.log(high), size))


def _wide(rng: np.random.Generator, *ranges: tuple[float, float]) -> float:
    """Log-uniform: 65 % in the first range, 25 % in the second, 10 % in the third."""
    low, high = ranges[int(rng.choice(3, p=[0.65, 0.25, 0.1]))]
    return float(_round(_log_uniform(rng, low, high)))


def _round(x):
    """Four digits: what one can read and type."""
    values = np.array([float(f"{v:.4g}") for v in np.ravel(x)])
    return values.reshape(np.shape(x)) if np.shape(x) else float(values[0])

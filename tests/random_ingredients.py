"""Random activations, laws of weights and of readouts, and channels; :mod:`random_problems` joins them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import widthwise as ww

__all__ = [
    "cauchy",
    "fuzzy_sign",
    "log_uniform",
    "random_activation",
    "random_channel",
    "random_readouts",
    "random_weights",
    "rounded",
    "three_labels",
    "wide",
]

_LARGEST_ATOM_COUNT = 64


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


def random_activation(rng: np.random.Generator) -> tuple[str, str]:
    """A kind and a formula in x."""
    kind = _pick(rng, {"smooth": 4, "steep": 3, "kinked": 5, "jump": 3, "named polynomial": 3, "hermite": 4})
    if kind == "steep":
        slope = log_uniform(rng, 0.1, 10)
        formula = f"{_choose(rng, ('tanh', 'erf', 'sin', 'sigmoid', 'atan'))}({rounded(slope)!r}*x)"
    elif kind == "hermite":
        formula = _hermite_sum(rng)
    else:
        formula = _choose(
            rng,
            {"smooth": _SMOOTH, "kinked": _KINKED, "jump": _JUMPING, "named polynomial": _POLYNOMIAL}[kind],
        )
    if rng.random() < 0.2:
        formula = f"{rounded(log_uniform(rng, 0.03, 30))!r}*({formula})"
    if rng.random() < 0.1:
        formula = f"{formula}+{rounded(rng.uniform(0.1, 2))!r}"  # a mean of its own
    return kind, formula


def _hermite_sum(rng: np.random.Generator) -> str:
    """Two to four orders with coefficients of very different sizes, each in units of its norm."""
    orders = sorted(rng.choice(np.arange(1, 9), size=int(rng.integers(2, 5)), replace=False).tolist())
    terms = []
    for order in orders:
        size = rounded(log_uniform(rng, 1e-3, 1) / math.sqrt(math.factorial(order)))
        terms.append(f"{size!r}*he{order}(x)")
    return "+".join(terms)


# ---------------------------------------------------------------------- weights


def random_weights(rng: np.random.Generator) -> tuple[str, Any]:
    """A kind and a law, or its name."""
    kind = _pick(
        rng,
        {"gaussian": 5, "rademacher": 3, "uniform": 2, "sparse": 3, "discrete": 4, "mixture": 3},
    )
    if kind in ("gaussian", "rademacher", "uniform"):
        return kind, kind
    if kind == "sparse":
        return kind, ww.weights.SparseGaussian(rounded(log_uniform(rng, 1e-3, 1)))
    if kind == "discrete":
        return kind, ww.weights.Discrete.normalised(*_atoms(rng, 2, 8, lowest=1e-6))
    means, p = _atoms(rng, 2, 4, lowest=1e-4)
    variances = rounded(log_uniform(rng, 1e-3, 3, means.size))
    return kind, ww.weights.GaussianMixture.normalised(means, variances, p)


def _atoms(rng: np.random.Generator, least: int, most: int, lowest: float) -> tuple[np.ndarray, np.ndarray]:
    """Distinct atoms with probabilities, some of them tiny."""
    n = int(rng.integers(least, most + 1))
    atoms = rng.normal(size=n)
    if rng.random() < 0.3:
        atoms[int(rng.integers(n))] = 0.0
    if rng.random() < 0.25 and n > 2:  # a pair that only much data tells apart
        atoms[-1] = atoms[0] * (1 + log_uniform(rng, 1e-3, 0.3)) + 1e-3
    p = rng.dirichlet(np.full(n, 1.5)) + 1e-3
    if rng.random() < 0.4:
        p[int(rng.integers(n))] = log_uniform(rng, lowest, 1e-2)
    atoms = np.unique(rounded(atoms))
    p = p[: atoms.size]
    return atoms, p / p.sum()


# ---------------------------------------------------------------------- readouts


def random_readouts(rng: np.random.Generator) -> tuple[str, Any]:
    """A kind and a law of up to 64 atoms, or with a density."""
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
    values = np.concatenate([log_uniform(rng, 1.5, 30, n_rare), rng.uniform(0.05, 1.2, n_bulk)])
    share = log_uniform(rng, 1e-5, 0.1, n_rare)
    bulk = rng.dirichlet(np.ones(n_bulk)) + 1e-3
    return _signed(rng, values), np.concatenate([share, bulk / bulk.sum() * (1 - share.sum())])


def _near_equal(rng):
    base = rng.uniform(0.3, 2, int(rng.integers(1, 4)))
    twins = base * (1 + log_uniform(rng, 1e-9, 0.1, base.size))
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


def random_channel(rng: np.random.Generator) -> tuple[str, Callable[[float | None, float], Any]]:
    """A kind, and what makes the channel of a shift (or None) and the power of the output."""
    kind = _pick(
        rng,
        {
            "gaussian": 12, "probit": 3, "sign": 3, "logistic": 3, "laplace": 3, "student-t": 3, "poisson": 2,
            "nonlinear": 2, "custom": 1,
        },
    )  # fmt: skip
    channels = ww.channels
    noise = rounded(wide(rng, (1e-2, 3.0), (1e-4, 10.0), (1e-6, 10.0)))
    if kind == "gaussian":
        return kind, lambda shift, power: channels.Gaussian(noise)
    if kind == "laplace":
        return kind, lambda shift, power: channels.Laplace(noise)
    if kind == "student-t":
        dof = rounded(2 + log_uniform(rng, 1e-2, 1e2))
        return kind, lambda shift, power: channels.StudentT(noise, dof)
    if kind == "probit":
        return kind, lambda shift, power: channels.Probit(noise, shift)
    if kind == "sign":
        return kind, lambda shift, power: channels.Sign(shift)
    if kind == "logistic":
        steepness = rounded(wide(rng, (0.3, 10.0), (1e-3, 1e3), (1e-3, 1e3)))
        return kind, lambda shift, power: channels.Logistic(steepness, shift)
    if kind == "poisson":
        rate = rounded(wide(rng, (0.3, 10.0), (1e-3, 1e2), (1e-3, 1e3)))
        return kind, lambda shift, power: channels.Poisson(min(rate, _largest_rate(shift, power)), shift)
    if kind == "nonlinear":
        function = _choose(
            rng, ("tanh(2*x)", "abs(x)", "relu(x)", "x**2", "sign(x)+0.3*x", "x+0.2*x**3", "x")
        )
        return kind, lambda shift, power: channels.Nonlinear(
            function, max(noise, _least_noise(function, shift, power)), shift
        )
    scale = rounded(log_uniform(rng, 0.03, 3))
    which = int(rng.integers(3))
    if which == 0:
        support = (-math.inf, math.inf)
        return kind, lambda shift, power: channels.Custom(cauchy(scale), support=support, shift=shift)
    if which == 1:
        return kind, lambda shift, power: channels.Custom(
            three_labels(scale), labels=(-1.0, 0.0, 1.0), shift=shift
        )
    wrong = rounded(log_uniform(rng, 1e-4, 0.4))
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


def log_uniform(rng: np.random.Generator, low: float, high: float, size=None):
    """Uniform in the logarithm."""
    return np.exp(rng.uniform(math.log(low), math.log(high), size))


def wide(rng: np.random.Generator, *ranges: tuple[float, float]) -> float:
    """Log-uniform: 65 % in the first range, 25 % in the second, 10 % in the third."""
    low, high = ranges[int(rng.choice(3, p=[0.65, 0.25, 0.1]))]
    return float(rounded(log_uniform(rng, low, high)))


def rounded(x):
    """Four digits: what one can read and type."""
    values = np.array([float(f"{v:.4g}") for v in np.ravel(x)])
    return values.reshape(np.shape(x)) if np.shape(x) else float(values[0])

"""One reader of descriptions: the same words in Python, on the command line, in a sweep file, on the page."""

import json
import math
import pickle
import re

import numpy as np
import pytest
from scipy import integrate, stats

import widthwise as ww
from widthwise._bad_value import BadValue, Remedy, did_you_mean
from widthwise.cli import main
from widthwise.explorer.state import DEFAULTS, problem_of
from widthwise.ingredients import readouts, weights
from widthwise.ingredients.channels import specs
from widthwise.ingredients.descriptions import Entry, Table
from widthwise.problem import NoiselessLimitWarning, bad_values
from widthwise.sweeps.sweep_file import SweepFileError, read_sweep

SWEEP = """d = 20
alpha = 1.0
seeds = 1
[[problem]]
{problem}
[[learner]]
name = "gamp_rie"
"""


def on_the_command_line(capsys, words):
    options = [f"--{name}={value}" for name, value in words.items()]
    code = main(["predict", *options, "--alpha", "1", "--json"])
    return code, capsys.readouterr()


def in_a_file(tmp_path, words):
    lines = [f"{name} = {json.dumps(value)}" for name, value in words.items()]
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.format(problem="\n".join(lines)))
    return read_sweep(path).problems[0]


# --- the same problem by any way ------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        {"activation": "swish", "weights": "sparse(0.3)", "readouts": "four-point", "snr": 7.5, "gamma": 0.3},
        {"readouts": "1,-1,-1", "channel": "student-t:0.1,dof=5", "k": 34, "d": 20},
        {"readouts": "-1,2@0.5,0.5", "weights": "-2,1@0.3,0.7", "noise": 0.2, "normalise": True},
    ],
)
def test_one_problem_by_every_way(capsys, tmp_path, words):
    problem = ww.Problem(**words)
    assert in_a_file(tmp_path, words) == problem
    assert ww.Problem.from_dict(words) == problem
    options = {name: value for name, value in words.items() if name != "normalise"}
    code, captured = on_the_command_line(capsys, options) if "normalise" not in words else (0, None)
    if captured is not None:
        assert code == 0
        assert ww.Problem.from_dict(json.loads(captured.out)["problem"]) == problem


@pytest.mark.parametrize(
    ("words", "field", "rule", "remedies"),
    [
        # ways out in Python, on the command line, in a file
        (
            {"readouts": "1,2@0.5,0.5"},
            "readouts",
            "second moment 1; got 2.5",
            ["normalise=True", "--normalise", "normalise = true"],
        ),
        (
            {"activation": "rellu"},
            "activation",
            "did you mean 'relu' or",
            ["pass a callable", "formula", "formula"],
        ),
        ({"activation": "tanh(2x)"}, "activation", "write 2*x", ["2*x"] * 3),
        ({"gamma": -0.5}, "gamma", "gamma must be > 0 (hidden units per input, k/d); got -0.5", ["> 0"] * 3),
        (
            {"channel": "sign"},
            "channel",
            "mean of the output",
            ["give shift=", "sign:shift=0", "sign:shift=0"],
        ),
        ({"noise": 1, "snr": 2}, "snr", "give one of channel, noise and snr", ["noise and snr"] * 3),
        # In a file, k is one of the sizes beside d.
        ({"k": 3}, "d", "d is missing (dimension of the inputs)", ["gamma = k/d", "--d", None]),
    ],
)
def test_one_mistake_worded_in_each_place(capsys, tmp_path, words, field, rule, remedies):
    with pytest.raises(BadValue) as caught:
        ww.Problem(**words)
    error = caught.value
    assert error.field == field and rule in str(error) and remedies[0] in str(error)
    assert list(bad_values(words)) == [field]
    code, captured = on_the_command_line(capsys, words)
    assert code == 2 and captured.out == ""
    assert (
        captured.err.startswith("error: --") and captured.err.count("\n") == 1 and remedies[1] in captured.err
    )
    if remedies[2] is None:
        return
    with pytest.raises(SweepFileError, match=r"line \d+: ") as caught:
        in_a_file(tmp_path, words)
    assert remedies[2] in str(caught.value) and "--" not in str(caught.value)


def test_the_page_blames_every_control_at_once():
    wrong = {"activation": "own", "formula": "tanh(2x)", "weights": "own", "law": "0,1@0.5,0.5", "gamma": 99}
    problem, errors = problem_of({**DEFAULTS, **wrong})
    assert problem is None and set(errors) == {"activation", "weights", "gamma"}
    assert "2*x" in errors["activation"] and "normalise" not in errors["weights"]
    assert set(bad_values({"activation": "tanh(2x)", "weights": "0,1@0.5,0.5", "gamma": -1})) == {
        "activation",
        "weights",
        "gamma",
    }


def test_a_bad_value_keeps_its_parts():
    error = BadValue("gamma", "{field} must be > 0", -1.0, Remedy("choose another", page=""))
    assert str(error) == "gamma must be > 0; got -1; choose another"
    assert error.words("command", "--gamma") == "--gamma must be > 0; got -1"
    assert error.words("page") == "gamma must be > 0; got -1"
    again = pickle.loads(pickle.dumps(error))
    assert (again.field, again.rule, again.value, again.remedy) == (
        error.field,
        error.rule,
        error.value,
        error.remedy,
    )


def test_suggestions_are_never_what_was_typed():
    assert did_you_mean("relu", ["relu", "elu"]) == "did you mean 'elu'? "
    assert did_you_mean("Rademacher", ["rademacher"]) == "did you mean 'rademacher'? "
    assert did_you_mean("zzz", ["relu"]) == ""


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [readouts._TABLE, weights._TABLE, specs._TABLE], ids=lambda t: t.field)
def test_every_form_that_a_message_offers_can_be_read(table):
    numbers = {"NOISE": "0.1", "DOF": "5", "DENSITY": "0.2", "FUNCTION": "tanh(x)"}
    numbers |= {"EXPONENT": "0.3", "LENGTH": "3", "RATIO": "2.5", "SIZE": "9", "VALUES": "[3,2,1]"}
    for form in table.forms.split("; "):
        if not form.startswith("a number"):
            example = re.sub("[A-Z]+", lambda found: numbers[found[0]], form.rpartition("such as ")[2])
            assert isinstance(table.read(example), table.base), form


def test_a_law_is_added_by_one_entry():
    class Slope:
        def __init__(self, slope: float, name: str = "x", *, is_steep: bool = False) -> None:
            self.parts = slope, name, is_steep

    table: Table = Table("inputs", Slope, {"slope": Entry(Slope, aliases=("tilt",))})
    assert table.read("slope:0.3").parts == (0.3, "x", False)
    assert table.read("Tilt(0.3, name=y)").parts == (0.3, "y", False)
    assert table.read({"kind": "slope", "slope": 0.3, "is_steep": True}).parts == (0.3, "x", True)
    for given, words in [
        ("slope", "lacks slope; write slope:SLOPE"),
        ("slope:a", "slope must be a number; 'a' is not"),
        ("slope:1,2,3,4", "slope takes slope, name, is_steep"),
        ("slop:1", "did you mean 'slope'?"),
        ({"kind": "slope", "hight": 2}, "slope takes slope, name, is_steep; got hight"),
        (3, "inputs must be a name"),
    ]:
        with pytest.raises(BadValue) as caught:
            table.read(given)
        assert words in str(caught.value) and caught.value.field == "inputs"


def test_laws_from_values():
    v = np.array([0.5, -1.5, 0.5, 1.0])
    assert ww.Problem(readouts=v, normalise=True).readouts == readouts.Discrete(
        [0.5, -1.5, 1.0], [0.5, 0.25, 0.25], normalise=True
    )
    assert ww.Problem(weights=[1, -1, -1, 1]).weights.entropy == pytest.approx(math.log(2))
    with pytest.raises(BadValue, match="at most 256 distinct values; got 300; group them"):
        ww.Problem(readouts=np.linspace(-1, 1, 300), normalise=True)
    # Many values are a sample of a continuous law, which must not have the entropy of their number.
    sample = np.random.default_rng(3).laplace(size=4000)
    law = weights.resolve(sample, normalise=True)
    assert law.entropy is None and law.mmse(0.0) == pytest.approx(1)


def test_laws_of_scipy():
    assert readouts.resolve(stats.norm()) == readouts.Gaussian()
    assert readouts.resolve(stats.uniform(-math.sqrt(3), 2 * math.sqrt(3))) == readouts.Uniform()
    assert weights.resolve(stats.norm()) == weights.Gaussian()
    half = stats.expon(scale=math.sqrt(0.5))  # skewed, of second moment 1
    law = readouts.resolve(half)
    assert law.mean == pytest.approx(half.mean(), rel=1e-2) and law.moment(2) == pytest.approx(1)
    coin = stats.bernoulli(0.3)
    with pytest.raises(BadValue, match="second moment 1; got 0.3; multiply loc and scale by 1.8257"):
        readouts.resolve(coin)
    with pytest.raises(BadValue, match="finite second moment"):
        readouts.resolve(stats.cauchy())
    with pytest.raises(BadValue, match="mean 0 and variance 1, got mean 0 and variance 2"):
        weights.resolve(stats.laplace())


def test_weights_of_scipy_against_quadrature():
    # Overlap F(snr) of Laplace weights by two nested integrals, against the mixture that stands for them.
    density = stats.laplace(scale=math.sqrt(0.5))
    snr = 1.7
    w = np.linspace(-14, 14, 4001)
    prior = density.pdf(w)

    def squared_mean(y: float) -> float:
        likelihood = prior * np.exp(-0.5 * (y - math.sqrt(snr) * w) ** 2) / math.sqrt(2 * math.pi)
        total = integrate.trapezoid(likelihood, w)
        return integrate.trapezoid(likelihood * w, w) ** 2 / total

    y = np.linspace(-20, 20, 801)
    exact = integrate.trapezoid([squared_mean(one) for one in y], y)
    # The last of 32 parts holds the tail beyond 2.0: its fourth moment is off, the overlap by less than 1 %.
    assert weights.resolve(density).overlap(snr) == pytest.approx(exact, rel=1e-2)


# --- activations ----------------------------------------------------------------------------------

X = np.array([-3.1, -0.7, 0.0, 0.4, 2.6])


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("silu", lambda x: x / (1 + np.exp(-x))),
        ("swish", lambda x: x / (1 + np.exp(-x))),
        ("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
        ("hardtanh", lambda x: np.clip(x, -1, 1)),
        ("hard_tanh", lambda x: np.clip(x, -1, 1)),
        ("heaviside", lambda x: np.heaviside(x, 0.5)),
        ("step", lambda x: np.heaviside(x, 0.5)),
        ("LeakyReLU", lambda x: np.where(x > 0, x, 0.01 * x)),
        ("cos", np.cos),
    ],
)
def test_activations_that_people_type(name, function):
    sigma = ww.Problem(name).activation
    assert sigma(X) == pytest.approx(function(X), abs=1e-14)
    assert ww.Problem(sigma.spec).activation == sigma


def test_selu_keeps_mean_and_variance():
    # Its two constants are defined by E selu = 0 and E selu² = 1 over a standard Gaussian.
    sigma = ww.Problem("selu").activation
    assert sigma.hermite[0] == pytest.approx(0, abs=1e-12)
    assert sigma.second_moment == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("formula", "written"),
    [("tanh(2x)", "2*x"), ("3(x+1)", "3*("), ("x(x+1)", "x*("), ("(x+1)(x-1)", ")*("), ("2x", "2*x")],
)
def test_a_product_without_its_sign(formula, written):
    with pytest.raises(ValueError, match=re.escape(f"write {written}")):
        ww.Problem(formula)


# --- sizes ----------------------------------------------------------------------------------------


def test_sizes_are_ratios():
    problem = ww.Problem(readouts="gaussian", k=60, d=200, snr=10)
    assert (problem.gamma, problem.snr) == (0.3, pytest.approx(10))
    assert problem.channel.noise == pytest.approx(problem.output_power / 10)
    assert ww.solve(problem, n=1e5, d=200).alpha == 2.5
    assert ww.learning_curve(problem, n=[4e4, 1e5], d=200).alpha.tolist() == [1.0, 2.5]
    assert ww.solutions(problem, n=1e5, d=200)[0].excess_error == ww.solve(problem, 2.5).excess_error
    assert ww.solve_linear(problem, n=600, d=200).alpha_linear == 3.0
    assert ww.sample_instance(problem, d=20, n=300).n == 300
    assert problem.replace(noise=0.3).channel.noise == 0.3
    assert problem.replace(k=1, d=2).gamma == 0.5


def test_snr_is_measured_on_data():
    # The variance of a network's output over that of the noise, at a d where both are known to a per cent.
    problem = ww.Problem("tanh(2*x)", readouts="rademacher", gamma=1.7, snr=4.0)
    x = np.random.default_rng(0).standard_normal((10_000, 200))
    w = np.random.default_rng(1).standard_normal((340, 200))
    v = problem.readouts.quantiles(340)
    output = problem.activation(x @ w.T / math.sqrt(200)) @ v / math.sqrt(340)
    assert output.var() / problem.channel.noise == pytest.approx(4.0, rel=0.08)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "alpha is missing; give alpha = n/d², or n and d"),
        ({"n": 100}, "d is missing (dimension of the inputs); alpha = n/d² needs both"),
        ({"alpha": 1.0, "d": 20}, "give alpha, or n and d, not both"),
        ({"n": -1, "d": 20}, "n must be > 0 (number of samples); got -1"),
        ({"n": 100, "d": math.inf}, "d must be > 0 and finite"),
    ],
)
def test_sizes_that_make_no_ratio(given, words):
    with pytest.raises(BadValue) as caught:
        ww.solve(ww.Problem(), **given)
    assert words in str(caught.value)


def test_conversions_are_shown(capsys):
    arguments = ["--n", "1e5", "--d", "200", "--k", "60", "--snr", "10"]
    assert main(["predict", *arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(
        "alpha = n/d² = 2.5, gamma = k/d = 0.3, noise = variance of the output/snr = "
    )
    problem = ww.Problem.from_dict(json.loads(captured.out)["problem"])
    assert problem.gamma == 0.3 and problem.snr == pytest.approx(10)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--n", "100"], "--n and --k need --d"),
        (["--d", "100"], "--d goes with --n or --k"),
        (["--n", "100", "--d", "20,30"], "need one value of --d; got 2"),
        (["--n", "100", "--d", "20", "--alpha", "1"], "give --alpha, or --n and --d, not both"),
        (["--snr", "0"], "--snr must be > 0"),
        (["--k", "0", "--d", "20"], "--k must be > 0 (number of hidden units); got 0"),
    ],
)
def test_sizes_on_the_command_line(capsys, arguments, sentence):
    assert main(["predict", *arguments]) == 2
    assert sentence in capsys.readouterr().err


# --- no noise -------------------------------------------------------------------------------------


def test_noise_zero_is_the_limit():
    with pytest.warns(NoiselessLimitWarning, match="answered by its limit"):
        problem = ww.Problem("tanh", readouts="rademacher", noise=0, gamma=0.3)
    # Below the jump the error is that of the linear part alone, g(1); far above, perfect learning: with
    # n - kd more equations than weights the error is Δ γ/(α - γ), which vanishes with the noise.
    rest = float(problem.activation.tail_kernel(1.0))
    assert ww.solve(problem, 0.1).excess_error == pytest.approx(rest, rel=1e-10)
    learnt = ww.solve(problem, 2.0).excess_error
    assert learnt == pytest.approx(problem.channel.noise * 0.3 / 1.7, rel=1e-6)
    assert learnt < 1e-12 * problem.output_power
    small = problem.replace(noise=1e-7)
    assert ww.solve(problem, 2.0, "universal").excess_error == pytest.approx(
        ww.solve(small, 2.0, "universal").excess_error, rel=1e-5
    )


def test_noise_zero_on_the_command_line(capsys):
    assert main(["predict", "--noise", "0", "--alpha", "2", "--branch", "universal"]) == 0
    assert "warning: noise 0 is answered by its limit" in capsys.readouterr().err


def test_snr_in_diagrams(capsys):
    """As an axis, and held fixed while the width changes: the noise follows the variance of the output."""
    options = ["--no-lines", "--workers", "1", "--json"]
    assert main(["diagram", "--snr", "3,12", "--gamma", "0.3,1.7", "--alpha", "1.5", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "channel" not in found["problem"] and len(found["points"]) == 4
    for point in found["points"]:
        problem = ww.Problem(gamma=point["gamma"], snr=point["snr"])
        assert point["excess_error"] == pytest.approx(ww.solve(problem, 1.5).excess_error, rel=1e-9)
    assert main(["diagram", "--snr", "3", "--gamma", "0.3,1.7", "--alpha", "0.4,1.5", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problem"]["snr"] == 3 and "channel" not in found["problem"]
    noises = set()
    for point in found["points"]:
        problem = ww.Problem(gamma=point["gamma"], snr=3)
        noises.add(round(problem.channel.noise, 9))
        assert point["excess_error"] == pytest.approx(
            ww.solve(problem, point["alpha"]).excess_error, rel=1e-9
        )
    assert len(noises) == 2
    alone = ["--snr", "10", "--k", "6", "--d", "20", "--alpha", "1"]
    for more, words in (
        (["--noise", "0.1"], "give --noise or --snr, not both"),
        (["--channel", "sign"], "give one of channel, noise and snr"),
        (["--gamma", "0.3"], "give --gamma, or --k and --d, not both"),
        ([], "a diagram has two axes, here 0"),
    ):
        assert main(["diagram", *alone, *more]) == 2
        assert words in capsys.readouterr().err
    assert main(["diagram", "--snr", "-1,2", "--alpha", "1,2"]) == 2
    assert "--snr must be > 0" in capsys.readouterr().err
    assert main(["diagram", "--snr", "10", "--k", "6,7", "--n", "100,200", "--d", "20", *options]) == 0
    with pytest.raises(ValueError, match="snr and noise cannot both"):
        ww.phase_diagram(ww.Problem(), alpha=[1, 2], noise=[0.1, 0.2], snr=3)


def test_one_snr_beside_noise_is_shown(capsys):
    arguments = ["--snr", "1,10", "--k", "6", "--n", "400,2000", "--d", "20", "--no-lines", "--workers", "1"]
    assert main(["diagram", *arguments]) == 0
    assert capsys.readouterr().err.startswith("gamma = k/d = 0.3\n")


def test_sizes_in_diagrams_and_transitions(capsys):
    options = [
        "diagram",
        "--n",
        "400,2000",
        "--d",
        "20",
        "--k",
        "6,8",
        "--no-lines",
        "--workers",
        "1",
        "--json",
    ]
    assert main(options) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert {(p["gamma"], p["alpha"]) for p in points} == {(g, a) for g in (0.3, 0.4) for a in (1.0, 5.0)}
    assert main(["diagram", "--n", "400,2000"]) == 2
    assert "--d goes with" in capsys.readouterr().err
    assert main(["diagram", "--n", "400,2000", "--d", "20", "--alpha", "1:2:2"]) == 2
    assert "give --alpha, or --n and --d, not both" in capsys.readouterr().err
    assert main(["transitions", "--readouts", "four-point", "--d", "100"]) == 0
    first = ww.transitions(ww.Problem(readouts="four-point"))[0].alpha
    assert f" {math.ceil(first * 1e4)} " in capsys.readouterr().out

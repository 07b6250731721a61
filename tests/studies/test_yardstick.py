"""The yardstick: errors against exact ones, equivalent data against the curve, the same data for all."""

import json
import math
import warnings

import numpy as np
import pytest

import widthwise as ww
from widthwise.cli import main
from widthwise.networks.observables import Observer
from widthwise.studies import leaderboard
from widthwise.studies.equivalent_data import equivalent_data
from widthwise.studies.estimators import READY_MADE, known_mean, prepare
from widthwise.studies.kernel_ridge import KernelRidgeLoo
from widthwise.studies.yardstick import COLUMNS, yardstick
from widthwise.studies.yardstick_fit import fit, fresh_errors
from widthwise.theory.errors import channel_error

pytest.importorskip("sklearn")

RELU = ww.Problem("relu", readouts="four-point", channel=0.2, gamma=0.7)
BINARY = ww.Problem("relu", readouts="rademacher", channel="probit:0.1", gamma=0.6)


class Constant:
    """Predicts one number, and remembers what it saw."""

    seen: list[np.ndarray] = []

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def fit(self, X, y):
        Constant.seen.append(np.array(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


class Broken(Constant):
    def fit(self, X, y):
        raise RuntimeError("out of order")


def standard_errors(outcome: dict, exact: float, name: str = "excess_error") -> float:
    return abs(outcome[name] - exact) / outcome["test_standard_error"]


# --- one fit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("readouts", ["homogeneous", "four-point"])
def test_a_constant_misses_the_variance_of_the_output(readouts):
    instance = ww.sample_instance(RELU.replace(readouts=readouts), d=31, alpha=0.5, seed=3)
    outcome = fit(instance, estimator=Constant(0.3), n_test=40_000)
    # E ReLU(sz) = s/√(2π) for a unit of norm s√d: known_mean takes s = 1, the units of this teacher differ.
    norms = np.linalg.norm(instance.weights, axis=1) / math.sqrt(instance.d)
    mean = float(instance.readouts @ norms) / math.sqrt(2 * math.pi * instance.k)
    power = Observer(instance).teacher_power
    exact = power - mean**2 + (mean - known_mean(instance) - 0.3) ** 2
    assert standard_errors(outcome, exact) < 4
    assert outcome["fit_seconds"] >= 0 and outcome["peak_memory"] >= 0


def test_the_teacher_has_no_excess_error_and_the_irreducible_share_of_wrong_labels():
    instance = ww.sample_instance(RELU, d=23, alpha=0.5, seed=1)
    teacher = lambda x: instance.outputs(instance.weights, x) - known_mean(instance)  # noqa: E731
    assert np.max(fresh_errors(instance, teacher, 500)) < 1e-20
    instance = ww.sample_instance(BINARY, d=60, alpha=0.1, seed=1)
    errors = fresh_errors(instance, lambda x: instance.outputs(instance.weights, x), 40_000)
    # The power of this teacher's output is not exactly that of the limit.
    power = float(np.var(instance.outputs(instance.weights, instance.test_set(40_000)[0])))
    exact = channel_error(BINARY.channel, 1e-12, power, "zero-one")
    assert abs(errors.mean() - exact) < 4 * errors.std() / 200


def test_ridge_learns_the_linear_part_as_the_theory_of_few_data_says():
    problem = ww.Problem("relu", readouts="rademacher", channel=0.1, gamma=1.3)
    results = yardstick("ridge", problem, 60, [0.2], 8, is_calibrated=False, n_test=10_000)
    (row,) = results.rows
    predicted = ww.solve_linear(problem, 0.2 * 60).excess_error
    # The rest of the network is noise only up to terms of order 1/d: 3 % at d = 60.
    assert row["error"] == pytest.approx(float(predicted), abs=4 * row["standard_error"] + 0.03 * predicted)


def test_gamp_rie_errs_as_its_own_run_says():
    instance = ww.sample_instance(RELU, d=30, alpha=1.5, seed=2)
    outcome = fit(instance, estimator="gamp-rie", n_test=40_000)
    assert standard_errors(outcome, ww.learners.gamp_rie(instance).excess_error) < 4


def test_kernel_ridge_leaves_one_out_exactly():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((24, 3)), rng.standard_normal(24)
    model = KernelRidgeLoo(width=0.8, penalties=[0.3]).fit(X, y)
    residuals = []
    for i in range(24):
        keep = np.arange(24) != i
        # The mean is that of all samples: only the sample is left out of the closed form.
        other = KernelRidgeLoo(width=0.8, penalties=[0.3]).fit(X[keep], y[keep] - model.mean_)
        kernel = other._kernel(X[i : i + 1], X[keep])
        dual = np.linalg.solve(other._kernel(X[keep], X[keep]) + 0.3 * np.eye(23), y[keep] - model.mean_)
        residuals.append(y[i] - model.mean_ - (kernel @ dual).item())
    assert model.loss_ == pytest.approx(np.mean(np.square(residuals)), rel=1e-10)


@pytest.mark.parametrize("name", ["ridge", "quadratic-ridge", "kernel-ridge", "random-features", "mlp"])
@pytest.mark.parametrize("problem", [RELU, BINARY], ids=["regression", "classification"])
def test_ready_made_entries_beat_ignorance(name, problem):
    instance = ww.sample_instance(problem, d=16, alpha=4.0, seed=0)
    options = {"random-features": {"n_components": 300}}.get(name)
    fitted = prepare(name, instance, 0, options)()
    x, _ = instance.test_set(4000)
    guess, truth = fitted.predict(x), instance.outputs(instance.weights, x) - known_mean(instance)
    assert np.corrcoef(guess, truth)[0, 1] > 0.5


@pytest.mark.parametrize(
    "name", ["mlp", "gamp-rie", *(pytest.param(name, marks=pytest.mark.slow) for name in ("adam", "hmc"))]
)
def test_no_entry_peeks_at_the_teacher(name):
    """With the same labels said to be of another teacher, an entry predicts the same."""
    instance = ww.sample_instance(RELU, d=8, alpha=2.0, seed=5)
    options = {"adam": {"iterations": 40}, "hmc": {"iterations": 20}, "mlp": {"max_iter": 20}}.get(name)
    guesses = []
    for weights in (instance.weights, np.random.default_rng(1).standard_normal(instance.weights.shape)):
        said = instance.with_data(labels=instance.labels, weights=weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # chains too short to settle
            guesses.append(prepare(name, said, 3, options)().predict(instance.inputs))
    np.testing.assert_allclose(guesses[0], guesses[1], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gradient-boosting", "adam", "hmc"])
def test_long_entries_beat_ignorance(name):
    test_ready_made_entries_beat_ignorance(name, RELU)


# --- equivalent data -------------------------------------------------------------------------------


def test_equivalent_data_inverts_the_optimal_curve():
    alphas = [0.05, 0.6, 3.1, 40.0]
    curve = ww.learning_curve(RELU, alphas)
    found = [one.alpha for one in equivalent_data(RELU, curve.excess_error)]
    assert found == pytest.approx(alphas, rel=1e-4)
    wrong = ww.error(ww.learning_curve(BINARY, alphas[1:]), "zero-one")
    assert [e.alpha for e in equivalent_data(BINARY, wrong, "zero-one")] == pytest.approx(
        alphas[1:], rel=5e-3
    )


def test_equivalent_data_at_a_jump_and_out_of_range():
    problem = ww.Problem("tanh(2*x)", "rademacher", "homogeneous", 0.1, 0.5)
    (jump,) = ww.transitions(problem, 4.0)
    before, after = (ww.solve(problem, jump.alpha * (1 + s)).excess_error for s in (-1e-6, 1e-6))
    found = equivalent_data(problem, [0.5 * (before + after), 10.0, 1.0001 * before, 0.0, math.nan])
    assert found[0].alpha == pytest.approx(jump.alpha, rel=1e-3)
    assert (found[1].alpha, found[1].note) == (0.0, "no better than without data")
    assert (found[2].alpha, found[2].note) == (0.0, "no better than the linear part")
    assert found[3].alpha == math.inf
    assert math.isnan(found[4].alpha)


# --- the whole -------------------------------------------------------------------------------------


def test_all_estimators_see_the_same_data_and_the_theory_beside_it():
    Constant.seen.clear()
    results = yardstick([Constant(), Constant(0.5), "gamp-rie"], RELU, 20, [1.0, 0.4], [4, 7], n_test=2000)
    assert results.estimators == ["Constant-1", "Constant-2", "gamp-rie"]
    for first, second in zip(Constant.seen[::2], Constant.seen[1::2], strict=True):
        assert np.array_equal(first, second)
    assert [row["alpha"] for row in results.of("gamp-rie")] == [1.0, 0.4]
    for row in results.rows:
        assert tuple(row) == COLUMNS
        assert row["optimal_error"] == pytest.approx(ww.solve(RELU, row["alpha"]).excess_error, rel=1e-10)
        universal = ww.solve(RELU, row["alpha"], "universal").excess_error
        assert row["universal_error"] == pytest.approx(universal, rel=1e-10)
        assert row["gap"] == row["error"] - row["optimal_error"]
        assert (row["n"], row["n_seeds"], row["n_failed"]) == (round(row["alpha"] * 400), 2, 0)
    for row in results.of("gamp-rie"):
        assert row["finite_size"] == pytest.approx(row["error"] / row["universal_error"] - 1)
    assert "no better than without data" in str(results)
    assert (
        results.to_xarray()["error"].sel(estimator="Constant-2", alpha=0.4)
        == results.of("Constant-2")[1]["error"]
    )


def test_a_fit_that_fails_is_counted_and_named():
    results = yardstick([Broken(), Constant()], RELU, 12, 1.0, 2, is_calibrated=False, n_test=500)
    broken, good = results.rows
    assert (broken["n_failed"], broken["n_seeds"], broken["note"]) == (2, 0, "RuntimeError: out of order")
    assert math.isnan(broken["error"]) and good["n_failed"] == 0
    assert "no fit succeeded" in str(results)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rigde", RELU, 10, 1.0), "did you mean 'ridge'"),
        (("no.such.module:thing", RELU, 10, 1.0), "cannot be imported"),
        ((3, RELU, 10, 1.0), "must have fit and predict"),
        (([], RELU, 10, 1.0), "there is no estimator"),
        (("ridge", RELU, 10, -1.0), "alpha must"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        yardstick(*arguments, is_calibrated=False)


def test_objects_have_no_place_in_a_store(tmp_path):
    with pytest.raises(ValueError, match="import path"):
        yardstick(Constant(), RELU, 10, 1.0, store=tmp_path, is_calibrated=False)


@pytest.mark.slow
def test_a_store_keeps_the_fits_and_gives_the_same_numbers(tmp_path):
    entries = ["ridge", "sklearn.tree:DecisionTreeRegressor"]
    options = {"DecisionTreeRegressor": {"max_depth": 3, "random_state": 0}}
    call = lambda store: yardstick(  # noqa: E731
        entries,
        RELU,
        12,
        [1.0],
        2,
        store=store,
        n_workers=1,
        options=options,
        n_test=500,
        is_calibrated=False,
    )
    kept, plain = call(tmp_path / "store"), call(None)
    assert [row["error"] for row in kept.rows] == pytest.approx(
        [row["error"] for row in plain.rows], rel=1e-12
    )
    files = {p: p.stat().st_mtime_ns for p in (tmp_path / "store").rglob("*.nc")}
    call(tmp_path / "store")
    assert files and files == {p: p.stat().st_mtime_ns for p in (tmp_path / "store").rglob("*.nc")}


# --- leaderboard and command line ------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_leaderboard_grows_and_compares_versions(tmp_path, ending):
    path = tmp_path / f"scores.{ending}"
    old = yardstick([Constant(), Constant(0.5)], RELU, 12, [1.0], 3, is_calibrated=False, n_test=500)
    object.__setattr__(old, "version", "0.0.9")
    assert leaderboard.append(path, old) == 2
    assert leaderboard.changes(path) == []
    new = yardstick([Constant(), Constant(0.5)], RELU, 12, [1.0], [5, 6, 7], is_calibrated=False, n_test=500)
    leaderboard.append(path, new)
    rows = leaderboard.read(path)
    assert [row["version"] for row in rows] == ["0.0.9"] * 2 + [ww.__version__] * 2
    assert rows[3]["error"] == new.rows[1]["error"]
    assert ww.Problem.from_dict(json.loads(rows[0]["problem"])) == RELU
    first = leaderboard.changes(path)[0]
    assert first["change"] == pytest.approx(new.rows[0]["error"] - old.rows[0]["error"])
    scatter = math.hypot(new.rows[0]["standard_error"], old.rows[0]["standard_error"])
    assert first["change_in_standard_errors"] == pytest.approx(first["change"] / scatter)
    errors = [row["error"] for row in leaderboard.ranking(path)]
    assert errors == sorted(errors) and len(errors) == 2


def test_other_files_are_no_leaderboards(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("a,b\n1,2\n")
    results = yardstick(Constant(), RELU, 12, [1.0], 1, is_calibrated=False, n_test=500)
    with pytest.raises(ValueError, match="is no leaderboard"):
        leaderboard.append(path, results)
    assert path.read_text() == "a,b\n1,2\n"
    with pytest.raises(ValueError, match=".csv or .json"):
        leaderboard.append(tmp_path / "scores.txt", results)


@pytest.mark.slow
def test_command_line(capsys, tmp_path):
    options = ["--d", "12", "--alpha", "1,2", "--seeds", "2", "--test", "500", "--readouts", "four-point"]
    figure, scores = tmp_path / "y.png", tmp_path / "y.csv"
    command = ["yardstick", "ridge", *options, "--json", "--plot", str(figure), "--leaderboard", str(scores)]
    assert main(command) == 0
    data = json.loads(capsys.readouterr().out)
    assert [point["alpha"] for point in data["points"]] == [1.0, 2.0]
    assert set(COLUMNS) <= set(data["points"][0]) and data["problem"]["measure"] == "excess_error"
    assert figure.stat().st_size > 1000 and len(leaderboard.read(scores)) == 2
    assert main(["yardstick", "ridge", *options]) == 0
    assert "equivalent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rigde"], "did you mean 'ridge'"),
        (["--seeds", "0"], "--seeds must be >= 1"),
        (["--leaderboard", "x.txt"], ".csv or .json"),
        (["--workers", "2"], "need --store"),
        (["--json", "--csv"], "not both"),
    ],
)
def test_command_line_bad_input(capsys, arguments, sentence):
    assert main(["yardstick", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("error: ") and sentence in captured.err


def test_every_ready_made_name_is_in_the_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    main(["yardstick", "--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in READY_MADE)

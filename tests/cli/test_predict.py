"""``widthwise predict``: what it prints, where, and with which exit code."""

import csv
import io
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import widthwise as ww
from patience import PATIENCE
from widthwise.cli import main
from widthwise.theory.solution import FIELDS

# Generic and quick: two |readouts|, an onset between the two alphas.
OPTIONS = ["--readouts", "four-point", "--gamma", "0.7", "--noise", "0.2"]
PROBLEM = ww.Problem("relu", "gaussian", "four-point", 0.2, 0.7)
SPAWN = [sys.executable, "-m", "widthwise"]


def run(capsys, *arguments):
    code = main(["predict", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# --- formats -------------------------------------------------------------------------------------


def test_json_has_the_promised_shape_and_the_numbers_of_the_library(capsys):
    code, out, err = run(capsys, *OPTIONS, "--alpha", "0.3,2", "--json")
    data = json.loads(out)
    assert code == 0
    assert list(data) == ["version", "problem", "points"]
    assert data["version"] == ww.__version__
    assert ww.Problem.from_dict(data["problem"]) == PROBLEM
    assert [set(point) for point in data["points"]] == [set(FIELDS)] * 2
    for point, expected in zip(data["points"], ww.learning_curve(PROBLEM, [0.3, 2]), strict=True):
        # all digits: the same computation, printed and read back
        assert point["alpha"] == expected.alpha
        assert point["branch"] == expected.branch
        assert point["excess_error"] == pytest.approx(expected.excess_error, rel=1e-9)
        assert point["weight_overlap"] == pytest.approx(expected.weight_overlap.tolist(), rel=1e-9)
        assert point["status"] == "converged"
    assert "points in" in err


def test_csv_rows_carry_parameters_status_and_version(capsys):
    code, out, _ = run(capsys, *OPTIONS, "--alpha", "0.3:2:3", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert len(rows) == 3
    assert list(rows[0]) == [
        "activation",
        "weights",
        "readouts",
        "channel",
        "gamma",
        "version",
        *sorted_fields(),
    ]
    for row in rows:
        assert (row["activation"], row["weights"], row["readouts"]) == ("relu", "gaussian", "four-point")
        assert (float(row["channel"]), float(row["gamma"])) == (0.2, 0.7)
        assert (row["version"], row["status"], row["is_stable"]) == (ww.__version__, "converged", "true")
    exact = ww.solve(PROBLEM, 2.0)
    assert float(rows[-1]["excess_error"]) == pytest.approx(exact.excess_error, rel=1e-9)
    overlap = [float(x) for x in rows[-1]["weight_overlap"].split(";")]
    assert overlap == pytest.approx(exact.weight_overlap.tolist(), rel=1e-9)


def sorted_fields():
    always = ["alpha", "branch", "is_equilibrium", "is_stable", "status"]
    return [*always, *(name for name in FIELDS if name not in always)]


def test_csv_laws_can_be_given_back(capsys):
    laws = ["--readouts=-1,2@0.5,0.5", "--weights", "-2,1@0.3,0.7", "--normalise"]
    _, out, _ = run(capsys, *laws, "--alpha", "1", "--csv", "--quantity", "excess_error")
    (row,) = csv.DictReader(io.StringIO(out))
    again = ["--readouts", row["readouts"], "--weights", row["weights"], "--channel", row["channel"]]
    _, out, _ = run(capsys, *again, "--alpha", "1", "--csv", "--quantity", "excess_error")
    assert next(csv.DictReader(io.StringIO(out))) == row


def test_table(capsys):
    code, out, err = run(capsys, *OPTIONS, "--alpha", "0.3,2")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == repr(PROBLEM)
    assert lines[-2].split()[:3] == ["0.3", "universal", "equilibrium"]
    exact = ww.solve(PROBLEM, 2.0)
    assert float(lines[-1].split()[3]) == pytest.approx(exact.excess_error, abs=5e-6)  # five decimals
    assert "1.342" in out
    assert "status" not in out
    assert err.count("\n") == 1


def test_table_of_a_continuous_law_names_the_readouts_it_shows(capsys):
    code, out, _ = run(capsys, "--readouts", "uniform", "--alpha", "1")
    assert code == 0
    assert out.count("|v| =") == 3


def test_quantities(capsys):
    _, out, _ = run(capsys, "--alpha", "2", "--json", "--quantity", "tilt, bayes_error,tilt,alpha")
    (point,) = json.loads(out)["points"]
    assert list(point) == ["alpha", "branch", "is_equilibrium", "is_stable", "status", "tilt", "bayes_error"]
    _, out, _ = run(capsys, "--alpha", "2", "--quantity", "weight_overlap_hat,residual")
    assert "excess" not in out
    assert "residual" in out


def test_all_branches(capsys):
    bistable = ["--activation", "sigma3", "--weights", "rademacher", "--noise", "1.25", "--alpha", "0.3,1.6"]
    code, out, _ = run(capsys, *bistable, "--branch", "all", "--json")
    points = json.loads(out)["points"]
    assert code == 0
    assert [p["alpha"] for p in points] == sorted(p["alpha"] for p in points)
    here = [p for p in points if p["alpha"] == 1.6]
    assert len(here) == 4
    assert sum(p["is_equilibrium"] for p in here) == 1
    entropies = [p["free_entropy"] for p in here]
    assert entropies == sorted(entropies, reverse=True)
    code, out, _ = run(capsys, *bistable, "--branch", "all")
    for word in ("equilibrium", "metastable", "unstable"):
        assert word in out


def test_missing_points_are_null_and_the_exit_code_says_so(capsys):
    arguments = [*OPTIONS, "--alpha", "0.1,2", "--branch", "specialised"]
    code, out, err = run(capsys, *arguments, "--json")
    missing, found = json.loads(out)["points"]
    assert code == 1
    assert missing["status"] == "no such solution"
    assert missing["excess_error"] is None
    assert missing["weight_overlap"] == [None] * 4
    assert found["status"] == "converged"
    assert "1 of 2 points" in err
    code, out, _ = run(capsys, *arguments, "--csv")
    row = next(csv.DictReader(io.StringIO(out)))
    assert code == 1
    assert math.isnan(float(row["excess_error"]))
    code, out, _ = run(capsys, *arguments)
    assert code == 1
    assert "no such solution" in out


# --- figures -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_figure_is_written(capsys, tmp_path, ending, magic):
    path = tmp_path / f"curve{ending}"
    code, out, err = run(capsys, "--alpha", "0.1:3:5", "--json", "--plot", path)
    assert code == 0
    assert path.read_bytes().startswith(magic)
    assert len(json.loads(out)["points"]) == 5
    assert str(path) in err


# --- bad input -----------------------------------------------------------------------------------

BAD = [
    (["--gamma", "-0.5"], "--gamma must be > 0 (hidden units per input, k/d); got -0.5"),
    (["--gamma", "0"], "--gamma must be > 0"),
    (["--gamma", "nan"], "--gamma must be > 0 and finite"),
    (["--gamma", "inf"], "--gamma must be > 0 and finite"),
    (["--gamma", "wide"], "--gamma must be a number > 0 (hidden units per input, k/d); got 'wide'"),
    (["--noise", "-0.5"], "--noise must be > 0 (variance Delta of the label noise); got -0.5"),
    (["--noise", "-1"], "--noise must be > 0"),
    (["--noise", "nan"], "--noise must be > 0"),
    (["--noise", "loud"], "--noise must be a number"),
    (["--channel", "gaussian:0"], "must be > 0"),
    (["--channel", "nosuchchannel"], "--channel: "),
    (["--noise", "1", "--channel", "1"], "give one of channel, noise and snr; got channel and noise"),
    (["--alpha", "0.5:8"], "--alpha takes a range as first:last:count"),
    (["--alpha", "0"], "--alpha must be > 0 (samples per squared dimension, n/d²); got 0"),
    (["--alpha", "-2"], "--alpha must be > 0"),
    (["--alpha", "nan"], "--alpha must be > 0 and finite"),
    (["--alpha", "much"], "--alpha takes a number"),
    (["--alpha", "1e300"], "--alpha must lie between"),
    (["--alpha", "1e300", "--branch", "all"], "--alpha must lie between"),
    (["--activation", "rleu"], "did you mean 'relu'?"),
    (["--activation", "tanh("], "--activation: cannot read 'tanh(' at position"),
    (["--activation", "1/x"], "must be finite"),
    (["--activation", "exp(x**2)"], "grows too fast"),
    (["--activation", "3"], "is constant"),
    (["--activation", "__import__('os')"], "unknown name '__import__'"),
    (["--activation", ""], "--activation: "),
    (["--weights", "gausian"], "did you mean 'gaussian'"),
    (["--weights", "0,1@0.5,0.5"], "--weights must have mean 0 and variance 1"),
    (["--weights", "-1,1@0.5,0.6"], "must sum to 1"),
    (["--readouts", "four-pint"], "did you mean 'four-point'"),
    (["--readouts", "1,2@0.5,0.5"], "--readouts must have second moment 1; got 2.5"),
    (["--readouts", "1,2@0.5,0.5"], "or give --normalise"),
    (["--readouts", "1,1@0.5,0.6"], "--readouts: probabilities must sum to 1; got 1.1"),
    (["--readouts", "1,a@0.5,0.5"], "cannot read the numbers"),
    (["--readouts", "1,2@1"], "as many values as probabilities"),
    (["--branch", "specialized"], "did you mean 'specialised'"),
    (["--quantity", "exces_error"], "did you mean 'excess_error'"),
    (["--quantity", ""], "--quantity: unknown quantity ''"),
    (["--json", "--csv"], "give --json or --csv, not both"),
    (["--plot", "/no/such/folder/x.png"], "--plot: there is no folder"),
    (["--plot", "x.docx"], "--plot must end in one of"),
    (["--plot", "x"], "--plot must end in one of"),
    (["--plot", "x.png", "--alpha", "2"], "--plot needs at least two values"),
    (["--gama", "2"], "--gamma"),
    (["--alpha"], "--alpha"),
    (["stray"], "stray"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sentence in err


def test_figure_that_is_a_folder(capsys, tmp_path):
    folder = tmp_path / "x.png"
    folder.mkdir()
    assert (
        run(capsys, "--plot", folder)[2]
        == f"error: --plot must name a file, but {str(folder)!r} is a folder\n"
    )


def test_figure_that_the_disk_refuses(capsys, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def refuse(self, name, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", refuse)
    code, _, err = run(capsys, "--alpha", "1,2", "--plot", tmp_path / "x.png")
    assert code == 2
    assert "cannot be written: No space left on device" in err


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow is to be expected
@pytest.mark.parametrize("option", ["--gamma", "--noise", "--alpha"])
@pytest.mark.parametrize("size", ["1e300", "1e-300"])
def test_absurd_sizes_end_without_a_traceback(capsys, option, size):
    arguments = [option, size] if option == "--alpha" else [option, size, "--alpha", "1"]
    code, _, err = run(capsys, *arguments)
    assert code in (0, 1, 2)  # 2: refused as beyond what can be computed
    assert "Traceback" not in err


# --- manners -------------------------------------------------------------------------------------


@pytest.mark.waits
def test_as_a_program():
    done = subprocess.run(
        [*SPAWN, "predict", "--alpha", "1", "--json"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["points"][0]["alpha"] == 1.0
    assert done.stderr.startswith("1 point in")
    done = subprocess.run(
        [*SPAWN, "predict", "--gamma", "-1"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "error: --gamma must be > 0 (hidden units per input, k/d); got -1\n"


@pytest.mark.waits
def test_nothing_heavy_is_imported():
    heavy = ("matplotlib", "rich", "scipy", "xarray", "pandas", "jax", "numba")
    code = (
        "import sys; from widthwise.cli import main; main(['predict', '--alpha', '1', '--json']); "
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.waits
@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of Unix")
def test_a_reader_that_leaves_is_no_error():
    process = subprocess.Popen(
        [*SPAWN, "predict", "--alpha", "1:2:200", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(PATIENCE) == 141
    assert "Traceback" not in err
    assert "Broken" not in err


def test_interrupt_is_one_line(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("widthwise.cli.predict._solve", interrupted)
    code, out, err = run(capsys, "--alpha", "1")
    assert (code, out, err) == (130, "", "interrupted\n")


def test_warnings_are_talk(capsys, monkeypatch):
    import warnings

    from widthwise.cli import predict

    solve = predict._solve

    def warned(*arguments):
        warnings.warn("careful", RuntimeWarning, stacklevel=1)
        return solve(*arguments)

    monkeypatch.setattr(predict, "_solve", warned)
    code, out, err = run(capsys, "--alpha", "1", "--json")
    assert code == 0
    assert json.loads(out)
    assert err.splitlines()[0] == "warning: careful"


def test_order_of_alpha_is_kept(capsys):
    _, out, _ = run(capsys, "--alpha", "3,1,2", "--json")
    assert [p["alpha"] for p in json.loads(out)["points"]] == [3, 1, 2]
    assert np.all([p["is_equilibrium"] for p in json.loads(out)["points"]])


# --- channels and error measures -----------------------------------------------------------------


CLASSES = ["--readouts", "rademacher", "--channel", "probit:0.1", "--alpha", "0.8"]


def test_an_error_measure_is_a_column_of_every_format(capsys):
    problem = ww.Problem("relu", readouts="rademacher", channel="probit:0.1")
    exact = ww.solve(problem, 0.8, error="zero-one").error
    code, out, _ = run(capsys, *CLASSES, "--error", "zero-one", "--json")
    assert code == 0 and json.loads(out)["points"][0]["zero_one_error"] == pytest.approx(exact, rel=1e-9)
    _, out, _ = run(capsys, *CLASSES, "--error", "zero-one", "--csv", "--quantity", "tilt")
    row = next(csv.DictReader(io.StringIO(out)))
    assert float(row["zero_one_error"]) == pytest.approx(exact, rel=1e-9) and "excess_error" not in row
    _, out, _ = run(capsys, *CLASSES, "--error", "zero-one", "--branch", "all")
    assert f"{exact:.5f}" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--error", "zero-one"], "--error: the zero-one error needs single labels"),
        ([*CLASSES, "--error", "zero-on"], "did you mean 'zero-one'"),
        (["--channel", "sign"], "add shift=, as in sign:shift=0"),
        (["--channel", "probit:-1"], "must be > 0 and finite; got -1"),
        (["--channel", "laplace:0"], "must be > 0 and finite; got 0"),
        (["--channel", "probt:1"], "did you mean 'probit'"),
    ],
)
def test_bad_channels_and_errors_are_one_sentence(capsys, options, words):
    code, out, err = run(capsys, *options)
    assert (code, out) == (2, "") and words in err and len(err.strip().splitlines()) == 1

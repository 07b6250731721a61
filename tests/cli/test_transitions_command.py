"""``widthwise transitions``: the library's values, in three formats, and its manners."""

import csv
import io
import json

import pytest

import widthwise as ww
from widthwise.cli import main

# A continuous onset, then a jump between two specialised branches.
OPTIONS = ["--activation", "sigma3", "--weights", "rademacher", "--noise", "1.25", "--alpha-max", "3"]
PROBLEM = ww.Problem("sigma3", "rademacher", "homogeneous", 1.25, 0.5)
FIELDS = ["readout", "alpha", "kind", "spinodals", "overlap_jump", "error_jump"]


@pytest.fixture(scope="module")
def expected():
    return ww.transitions(PROBLEM, 3.0)


def run(capsys, *arguments):
    code = main(["transitions", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_json(capsys, expected):
    code, out, err = run(capsys, *OPTIONS, "--json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert list(data) == ["version", "problem", "transitions"]
    assert ww.Problem.from_dict(data["problem"]) == PROBLEM
    onset, jump = data["transitions"]
    assert list(onset) == list(jump) == FIELDS
    for record, t in zip((onset, jump), expected, strict=True):
        assert (record["readout"], record["kind"]) == (t.readout, t.kind)
        assert record["alpha"] == pytest.approx(t.alpha, rel=1e-10)
        assert record["overlap_jump"] == pytest.approx(t.overlap_jump, abs=1e-9)
        assert record["error_jump"] == pytest.approx(t.error_jump, abs=1e-9)
    assert onset["spinodals"] == []
    assert jump["spinodals"] == pytest.approx(expected[1].spinodals, rel=1e-10)


@pytest.mark.slow
def test_csv_and_table(capsys, expected):
    code, out, _ = run(capsys, *OPTIONS, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["kind"] for row in rows] == ["continuous", "first-order"]
    assert float(rows[1]["alpha"]) == pytest.approx(expected[1].alpha, rel=1e-10)
    assert (rows[0]["weights"], rows[0]["version"]) == ("rademacher", ww.__version__)
    low, high = map(float, rows[1]["spinodals"].split(";"))
    assert low < float(rows[1]["alpha"]) < high
    code, out, err = run(capsys, *OPTIONS)
    last = out.splitlines()[-1].split()
    assert (code, err, last[2]) == (0, "", "first-order")
    # eight digits in the table
    assert float(last[1]) == pytest.approx(expected[1].alpha, rel=1e-7)


@pytest.mark.slow
def test_what_is_infinite(capsys):
    """The old branch of an odd activation never loses stability; Gaussian readouts set in at 0+."""
    odd = ["--activation", "sigma2", "--weights", "rademacher", "--noise", "1.25", "--alpha-max", "2"]
    _, out, _ = run(capsys, *odd, "--json")
    (jump,) = json.loads(out)["transitions"]
    assert jump["spinodals"][1] is None
    _, out, _ = run(capsys, "--readouts", "gaussian", "--alpha-max", "1")
    assert out.splitlines()[-1].split()[:3] == ["∞", "0+", "continuous"]


def test_truncated_support(capsys):
    code, out, _ = run(
        capsys, "--readouts", "gaussian", "--noise", "1e-4", "--alpha-max", "1", "--truncate", "4", "--json"
    )
    (onset,) = json.loads(out)["transitions"]
    problem = ww.Problem("relu", readouts="gaussian", channel=1e-4)
    assert code == 0
    assert onset["readout"] == 4
    assert onset["alpha"] == pytest.approx(ww.transitions(problem, 1.0, truncate=4.0)[0].alpha, rel=1e-10)


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]], ids=" ".join)
def test_none_found_is_a_sentence_and_no_data(capsys, form):
    code, out, err = run(capsys, "--alpha-max", "0.1", *form)
    assert code == 0
    assert err == f"{ww.transitions(ww.Problem('relu'), 0.1)}\n"
    assert "reaches 1" in err
    if form == ["--json"]:
        assert json.loads(out)["transitions"] == []
    elif form == ["--csv"]:
        (header,) = csv.reader(io.StringIO(out))
        assert header[-len(FIELDS) :] == FIELDS
    else:
        assert out == ""


def test_quadratic_activation_says_why_there_is_none(capsys):
    code, out, err = run(capsys, "--activation", "x**2", "--alpha-max", "3")
    assert (code, out) == (0, "")
    assert "exact for a quadratic activation" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_figure(capsys, tmp_path):
    path = tmp_path / "branches.png"
    code, out, err = run(capsys, *OPTIONS, "--plot", path, "--json")
    assert code == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert json.loads(out)["transitions"]
    assert err == f"figure written to {path}\n"


BAD = [
    (["--alpha-max", "0"], "--alpha-max must be > 0 (samples per squared dimension, n/d²); got 0"),
    (["--alpha-max", "-1"], "--alpha-max must be > 0"),
    (["--alpha-max", "inf"], "--alpha-max must be > 0 and finite"),
    (["--alpha-max", "nan"], "--alpha-max must be > 0"),
    (["--alpha-max", "1e300"], "--alpha-max: alpha must lie between"),
    (["--alpha-max", "1:2:3"], "--alpha-max must be a number > 0"),
    (["--truncate", "3"], "--truncate is for readouts of unbounded support"),
    (["--readouts", "gaussian", "--truncate", "0"], "--truncate must be > 0"),
    (["--readouts", "gaussian", "--truncate", "wide"], "--truncate must be a number > 0"),
    (["--gamma", "-1"], "--gamma must be > 0"),
    (["--json", "--csv"], "give --json or --csv, not both"),
    (["--plot", "x.docx"], "--plot must end in one of"),
    (["stray"], "stray"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sentence in err


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow is to be expected
@pytest.mark.parametrize("option", ["--gamma", "--noise"])
@pytest.mark.parametrize("size", ["1e300", "1e-300"])
def test_absurd_sizes_end_without_a_traceback(capsys, option, size):
    code, _, err = run(capsys, option, size, "--alpha-max", "1")
    assert code in (0, 1, 2)  # 2: refused as out of range
    assert "Traceback" not in err


def test_jumps_of_many_sizes_are_shown_without_spinodals(capsys):
    code, out, _ = run(
        capsys, "--activation", "tanh(2*x)", "--weights", "rademacher", "--readouts", "power-law:0.2,40",
        "--noise", 1e-9, "--gamma", 1.7, "--alpha-max", 10,
    )  # fmt: skip
    jump = ww.transitions(
        ww.Problem("tanh(2*x)", "rademacher", ww.readouts.PowerLaw(0.2, 40), 1e-9, 1.7), 10.0
    )[0]
    line = next(text for text in out.splitlines() if "first-order" in text)
    assert code == 0 and line.split()[-2:] == [f"{jump.overlap_jump:.5f}", f"{jump.error_jump:.5f}"]
    assert str(jump).endswith(f"(overlap +{jump.overlap_jump:.4g})")

"""Own measurements: read from any table, gathered over runs, judged once."""

import json

import numpy as np
import pandas
import pytest

import widthwise as ww
from widthwise.cli import main
from widthwise.networks.measurements import Measured, measurements_of

PROBLEM = ww.Problem(readouts="gaussian", gamma=0.3)
CURVE = ww.learning_curve(PROBLEM, [0.5, 2.0])


@pytest.mark.parametrize(
    "text",
    [
        "alpha,error,standard_error,runs\n0.5,0.06,0.001,5\n",
        "alpha;error;se;runs\n0,5;0,06;0,001;5\n",
        "n\td\terror\tse\truns\n5000\t100\t0,06\t0,001\t5\n",
    ],
)
def test_one_measurement_in_many_tables(tmp_path, text):
    path = tmp_path / "my.csv"
    path.write_text(text, encoding="utf-8-sig")
    expected = [Measured(0.5, 0.06, 0.001, 5)]
    assert measurements_of(path) == measurements_of(str(path)) == measurements_of(text) == expected
    columns = {"alpha": [0.5], "error": [0.06], "se": [0.001], "runs": [5]}
    assert measurements_of(columns) == measurements_of(pandas.DataFrame(columns)) == expected
    assert measurements_of([[0.5, 0.06, 0.001, 5]]) == expected


def test_runs_of_one_alpha_are_gathered():
    runs = np.array([0.05, 0.06, 0.08])
    (found,) = measurements_of([[0.5, value] for value in runs])
    assert (found.value, found.n) == (pytest.approx(runs.mean()), 3)
    assert found.error == pytest.approx(runs.std(ddof=1) / np.sqrt(3))


def test_verdicts_are_those_of_the_one_comparison():
    exact = CURVE.excess_error
    rng = np.random.default_rng(2)
    runs = [
        [a, x * (1 + 0.01 * z)] for a, x in zip(CURVE.alpha, exact, strict=True) for z in rng.normal(size=6)
    ]
    found = CURVE.compare(runs)
    assert [one.verdict for one in found.points] == ["agrees", "agrees"]
    assert [one.predicted for one in found.points] == exact.tolist()
    far = CURVE.compare([[a, 1.5 * value] for a, value in runs])
    assert [one.verdict for one in far.points] == ["differs", "differs"]
    assert repr(far) == "<ComparedCurve excess_error, 2 measurements: 2 differ>"
    assert far.to_dataframe()["deviation"].tolist() == pytest.approx([0.5, 0.5], abs=0.02)
    assert "differs" in str(far) and "differs" in far.to_csv() and "differs" in far._repr_html_()


def test_other_quantities():
    found = CURVE.compare([[2.0, 0.9, 0.01]], "matrix_overlap_centred")
    assert found.points[0].predicted == CURVE[1].matrix_overlap_centred
    with pytest.raises(ValueError, match="did you mean 'bayes_error'"):
        CURVE.compare([[2.0, 0.9]], "bayes_eror")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("nowhere.csv", "cannot be read: No such file"),
        ([1.0, 2.0], "rows of alpha, value"),
        ("n,error\n1,2\n", "no column is called alpha, and no two n and d"),
        ("n,d,error\n0,10,2\n", "row 2: n must be > 0"),
    ],
)
def test_bad_data(data, words):
    with pytest.raises(ValueError, match=words):
        CURVE.compare(data)


def test_command(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    value = f"{CURVE[0].excess_error:.6f}".replace(".", ",")
    (tmp_path / "my.csv").write_text(f"alpha;error;se\n0,5;{value};0,0001\n")
    options = ["predict", "--readouts", "gaussian", "--gamma", "0.3", "--data", "my.csv"]
    assert main([*options, "--plot"]) == 0
    captured = capsys.readouterr()
    assert "agrees" in captured.out and "figure written to predict.png" in captured.err
    assert (tmp_path / "predict.png").stat().st_size > 5000
    assert main([*options, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["points"]
    assert row["predicted"] == pytest.approx(CURVE[0].excess_error, rel=1e-9)
    assert main(["predict", "--data", "nowhere.csv"]) == 2
    assert "error: --data: 'nowhere.csv' cannot be read" in capsys.readouterr().err
    assert main([*options, "--quantity", "tilt,residual"]) == 2

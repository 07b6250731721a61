"""``widthwise scaling``: table, JSON, CSV, figure, messages."""

import csv
import io
import json

import pytest

from widthwise.cli.app import run

PROBLEM = ["scaling", "--activation", "tanh(2*x)", "--readouts", "power-law:1,100", "--noise", "0.01"]


def test_table_names_the_exponents_and_the_crossover(capsys):
    assert run([*PROBLEM, "--n", "80000"]) == 0
    said = capsys.readouterr()
    assert "2.4219e-03" in said.out and " 31 " in said.out and "3.4693e-03" in said.out
    assert "-0.5 while features are found, -1 when all are, from n = 6.522e+05 on" in said.err


def test_json_and_csv_agree(capsys):
    assert run([*PROBLEM, "--n", "1e4:1e6:3", "-d", "200", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [round(point["n"]) for point in found["points"]] == [10_000, 100_000, 1_000_000]
    assert found["problem"]["readouts"] == {"kind": "power-law", "exponent": 1.0, "size": 100}
    assert run([*PROBLEM, "--n", "1e4:1e6:3", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(row["excess_error"]) for row in rows] == [p["excess_error"] for p in found["points"]]


def test_without_n_the_range_is_about_the_crossover(tmp_path, capsys):
    assert run([*PROBLEM, "--plot", str(tmp_path / "law.png")]) == 0
    assert (tmp_path / "law.png").stat().st_size > 5000
    assert " 100 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--n", "-3"], "--n must be > 0"),
        (["--n", "0"], "--n must be > 0"),
        (["--n", "1e4", "-d", "100"], "--d must be k/gamma = 200 for 100 features"),
        (["--readouts", "power-law:-1,100"], "the exponent of power-law must be > 0"),
        (["--readouts", "power-law:1,0"], "size must be a whole number >= 1"),
        (["--readouts", "four-point"], "--d must be given"),
        (["--n", "1e4", "--plot", "law.png"], "--plot needs at least two values of --n"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words, capsys):
    assert run([*PROBLEM, *arguments]) == 2
    said = capsys.readouterr()
    assert not said.out and words in said.err and said.err.count("\n") == 1

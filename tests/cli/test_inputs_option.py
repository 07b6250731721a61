"""--inputs on the command line: a covariance, data, and what is refused; and the study of inputs."""

import json

import pytest

import widthwise as ww
from widthwise.cli.app import run as main


def test_predict(capsys):
    words = ["predict", "--activation", "tanh(2*x)", "--inputs", "3,0.5@0.2,0.8", "--alpha", "4", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    problem = ww.Problem("tanh(2*x)", inputs="3,0.5@0.2,0.8")
    text = json.dumps(found)
    assert '"eigenvalues": [3.0, 0.5]' in text
    assert f"{ww.solve(problem, 4.0).excess_error:.10g}"[:10] in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--inputs", "spiked:4,0.1"],
            "--inputs that are not isotropic need an activation without quadratic",
        ),
        (["--activation", "tanh", "--inputs", "1,2"], "divide the eigenvalues by 1.5, or give --normalise"),
        (["--activation", "tanh", "--inputs", "2,-0.5,1.5"], "eigenvalues of a covariance must be >= 0"),
        (["--activation", "tanh", "--inputs", "file:none.npy"], "file 'none.npy' cannot be read"),
    ],
)
def test_what_is_refused(words, sentence, capsys):
    assert main(["predict", *words, "--alpha", "1"]) == 2
    error = capsys.readouterr().err
    assert sentence in " ".join(error.split()) and "Traceback" not in error


def test_study_of_inputs(capsys):
    assert main(["study", "inputs", "--inputs", "digits", "--alpha", "0.1", "--seeds", "1", "--dry-run"]) == 0
    assert "hmc, adam on digits and on Gaussian inputs of their covariance" in capsys.readouterr().err
    assert main(["study", "inputs", "--inputs", "spiked:4,0.1"]) == 2
    assert "of this study must be data" in capsys.readouterr().err
    assert main(["study", "inputs", "--inputs", "digits", "--alpha", "3"]) == 2
    assert "more than the 1797 rows" in capsys.readouterr().err

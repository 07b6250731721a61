"""What is taken away makes the same again; figures in notebooks; stores; the command."""

import json
import subprocess
import sys

import numpy as np
import pytest

import widthwise as ww

pytest.importorskip("dash")

from widthwise.cli.app import run
from widthwise.explorer.comparing import store_choices, store_points
from widthwise.explorer.export import command_line, curve_csv, curve_json, python_code
from widthwise.explorer.state import DEFAULTS, problem_fields
from widthwise.explorer.tasks import exact_curve, sketch_curve

TABLE = {"readouts": "own", "v2": None, "p2": None, "p1": 0.7, "label": "laplace:0.2", "gamma": 0.3}


@pytest.mark.slow
def test_python_runs_and_describes_the_same_problem():
    problem = exact_curve(problem_fields({**DEFAULTS, **TABLE}), 3.0, "excess_error").problem
    names = {}
    code = python_code(problem, 3.0, 1.7).replace("branches[0].interactive().show()", "")
    exec(code, names)
    assert names["problem"] == problem
    assert names["branches"][0].problem == problem


def test_command_line_is_understood(capsys):
    problem = ww.Problem("tanh(2*x)", "rademacher", "four-point", channel="probit:0.1", gamma=0.3)
    predict, transitions = command_line(problem, 4.0).splitlines()
    import shlex

    assert run([*shlex.split(transitions)[1:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert ww.Problem.from_dict(found["problem"]) == problem
    assert shlex.split(predict)[1] == "predict"


def test_files_hold_every_point():
    result = exact_curve(problem_fields(DEFAULTS), 3.0, "gibbs_error")
    n = sum(map(len, result.branches))
    found = json.loads(curve_json(result))
    assert len(found["points"]) == n and len(curve_csv(result).splitlines()) == n + 1
    point = found["points"][3]
    assert point["shown_gibbs_error"] == point["gibbs_error"]


def test_zero_one_error_of_classification():
    fields = problem_fields(
        {**DEFAULTS, "channel": "probit", "activation": "sigma3", "readouts": "rademacher"}
    )
    result = sketch_curve(fields, 3.0, "zero-one")
    assert result.quantity == "zero-one" and not result.errors
    assert all(np.nanmax(y) <= 0.5 and np.nanmin(y) > 0 for y in result.values)
    refused = sketch_curve(problem_fields(DEFAULTS), 3.0, "zero-one")
    assert refused.quantity == "excess_error" and "classes" in refused.errors["quantity"]


def test_interactive_figure_shows_all_order_parameters():
    curve = ww.learning_curve(ww.Problem(readouts="four-point", gamma=0.7), [0.5, 1.0, 2.0])
    figure = curve.interactive()
    assert figure.data[0].name == "equilibrium"
    text = figure.data[-1].text[-1]
    assert all(word in text for word in ("q₂", "q̂₂", "τ", "𝒬", "free entropy"))
    with pytest.raises(ValueError, match="unknown quantity"):
        curve.interactive("happiness")


def test_series_of_a_store(store):
    (choice,) = store_choices(store)
    points = store_points(store, choice, "excess_error")
    assert [p.alpha for p in points] == [0.5, 1.0]
    assert all(p.value > 0 and p.std > 0 for p in points)
    with pytest.raises(ValueError, match="no such series"):
        store_points(store, "../7", "excess_error")


def test_command_refuses_what_it_cannot_use(tmp_path, capsys):
    assert run(["explore", "--port", "70000"]) == 2
    assert run(["explore", "--store", str(tmp_path / "none"), "--no-browser"]) == 2
    assert "there is no store" in capsys.readouterr().err


def test_a_port_in_use_is_one_sentence(capsys):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["explore", "--port", str(port), "--no-browser"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and f"--port {port} at 127.0.0.1 cannot be used: Address" in message


def test_command_serves_until_interrupted():
    import re
    import signal
    import urllib.request

    command = [
        sys.executable,
        "-m",
        "widthwise",
        "explore",
        "--port",
        "0",
        "--no-browser",
        "--host",
        "0.0.0.0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "warning: anyone who can reach" in process.stderr.readline()
            port = re.search(r":(\d+)/", process.stderr.readline()).group(1)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                assert b"widthwise explorer" in answer.read()
            process.send_signal(signal.SIGINT)
            assert "ended" in process.communicate(timeout=120)[1]
        finally:
            process.kill()
    assert process.returncode == 0

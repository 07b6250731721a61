"""What is taken away makes the same again; figures in notebooks; stores; the command."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import widthwise as ww
from patience import PATIENCE

pytest.importorskip("dash")

from widthwise.cli.app import run
from widthwise.explorer.comparing import store_choices, store_points
from widthwise.explorer.drawing import result_figure
from widthwise.explorer.export import command_line, curve_csv, curve_json, python_code
from widthwise.explorer.standalone import frame_task, make_page, slider_values, write_page
from widthwise.explorer.state import DEFAULTS, from_query, problem_fields, problem_of, query_of
from widthwise.explorer.tasks import read_curve

AXES = {"is_log_x": False, "is_log_y": True}

TABLE = {"readouts": "own", "v2": None, "p2": None, "p1": 0.7, "label": "laplace:0.2", "gamma": 0.3}


@pytest.mark.slow
def test_python_makes_the_figure_of_the_page():
    axes = {"is_log_x": True, "is_log_y": False}
    result = read_curve(problem_fields({**DEFAULTS, **TABLE}), 3.0, "bayes_error", axes)
    names = {}
    code = python_code(result.problem, 3.0, 1.7, "bayes_error", **axes)
    exec(code.replace("figure.show()", ""), names)
    assert names["problem"] == result.problem
    shown, made = result_figure(result, {**axes, "reach": 3.0}), names["figure"].to_dict()
    assert len(result.branches) > 1 and len(made["data"]) == len(shown["data"])
    for mine, theirs in zip(made["data"], shown["data"], strict=True):
        assert mine["name"] == theirs["name"] and list(mine["x"]) == theirs["x"]
        assert list(mine["y"]) == pytest.approx(theirs["y"], rel=1e-9)
    assert made["layout"]["xaxis"]["type"] == "log"


def test_command_line_is_understood(capsys):
    problem = ww.Problem("tanh(2*x)", "rademacher", "four-point", channel="probit:0.1", gamma=0.3)
    predict, transitions = command_line(problem, 4.0).splitlines()
    import shlex

    assert run([*shlex.split(transitions)[1:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert ww.Problem.from_dict(found["problem"]) == problem
    assert shlex.split(predict)[1] == "predict"


def test_files_hold_every_point():
    result = read_curve(problem_fields(DEFAULTS), 3.0, "gibbs_error", AXES)
    n = sum(map(len, result.branches))
    found = json.loads(curve_json(result))
    assert len(found["points"]) == n and len(curve_csv(result).splitlines()) == n + 1
    point = found["points"][3]
    assert point["shown_gibbs_error"] == point["gibbs_error"]


def test_zero_one_error_of_classification():
    fields = problem_fields(
        {**DEFAULTS, "channel": "probit", "activation": "sigma3", "readouts": "rademacher"}
    )
    result = read_curve(fields, 3.0, "zero-one", AXES, is_smooth=False)
    assert result.quantity == "zero-one" and not result.errors
    assert all(np.nanmax(y) <= 0.5 and np.nanmin(y) > 0 for y in result.values)
    refused = read_curve(problem_fields(DEFAULTS), 3.0, "zero-one", AXES)
    assert refused.quantity == "excess_error" and "classes" in refused.errors["quantity"]


def test_interactive_figure_shows_all_order_parameters():
    curve = ww.learning_curve(ww.Problem(readouts="four-point", gamma=0.7), [0.5, 1.0, 2.0])
    figure = curve.interactive()
    assert figure.data[0].name == "equilibrium"
    text = figure.data[-1].text[-1]
    assert all(word in text for word in ("q₂", "q̂₂", "τ", "𝒬", "free entropy"))
    with pytest.raises(ValueError, match="unknown quantity"):
        curve.interactive("happiness")


def test_one_file_holds_the_curves_of_every_value_of_the_slider(tmp_path):
    problem = ww.Problem(weights="rademacher", gamma=0.4)
    path = write_page(tmp_path / "page.html", problem, "noise", [0.05, 0.2], reach=2.0)
    text = path.read_text(encoding="utf-8")
    assert (
        "src=" not in text
        and "href=" not in text
        and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    )
    data = json.loads(re.search(r"const DATA = (.*);\n", text).group(1))
    assert [frame["value"] for frame in data["frames"]] == [0.05, 0.2]
    for frame in data["frames"]:
        varied = problem.replace(channel=frame["value"])
        line = max((one for one in frame["lines"] if one["state"] == 0), key=lambda one: len(one["x"]))
        alpha, value = line["x"][-2], line["y"][-2]
        assert ww.solve(varied, alpha).excess_error == pytest.approx(value, rel=1e-4)
        jumps = [t.alpha for t in ww.transitions(varied, 2.0)]
        assert [change["alpha"] for change in frame["changes"]] == pytest.approx(jumps, rel=1e-5)
    with pytest.raises(ValueError, match="a slider changes"):
        write_page(path, problem, "luck")


def test_the_slider_begins_at_the_problem():
    for over, here in (("gamma", 0.37), ("noise", 1e-3), ("gamma", 15.0)):
        values = slider_values(over, here)
        assert here in values and values == sorted(values) and len(set(values)) == len(values)
    fields = problem_fields(DEFAULTS)
    frames = [frame_task(fields, "gamma", value, 3.0, "excess_error", AXES) for value in (0.5, 1.0)]
    text = make_page(ww.Problem(), "gamma", 1.0, frames, 3.0, AXES)
    assert '"first":1' in text


def test_one_file_as_a_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("widthwise.explorer.standalone._N_VALUES", 3)
    problem = ["--weights", "rademacher", "--gamma", "0.4", "--snr", "5"]
    file = tmp_path / "curves.html"
    command = ["explore", "--export", str(file), "--alpha-max", "2", "--quantity", "bayes_error"]
    assert run([*command, *problem]) == 0
    assert "one page with a slider over gamma written to" in capsys.readouterr().err
    data = json.loads(re.search(r"const DATA = (.*);\n", file.read_text(encoding="utf-8")).group(1))
    assert data["frames"][data["first"]]["value"] == 0.4 and data["x"]["high"] == 2.0
    noise = ww.Problem(weights="rademacher", gamma=0.4, snr=5).channel.noise
    for frame in data["frames"]:
        line = max((one for one in frame["lines"] if one["state"] == 0), key=lambda one: len(one["x"]))
        varied = ww.Problem(weights="rademacher", gamma=frame["value"], noise=noise)
        assert ww.solve(varied, line["x"][-2]).bayes_error == pytest.approx(line["y"][-2], rel=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--export", "curves.pdf"], "--export must end in .html; got 'curves.pdf'"),
        (["--export", "nowhere/curves.html"], "its folder is not there"),
        (["--export", "c.html", "--over", "gama"], "unknown slider 'gama'; did you mean 'gamma'?"),
        (["--export", "c.html", "--alpha-max", "0"], "--alpha-max must be > 0"),
        (["--export", "c.html", "--quantity", "zero-one"], "the 0–1 error needs labels that are classes"),
        (
            ["--export", "c.html", "--over", "noise", "--channel", "sign:shift=0"],
            "these labels have no noise to vary",
        ),
        (["--export", "c.html", "--gamma", "-1"], "--gamma must be > 0"),
        (["--gamma", "100"], "the page cannot show this problem: gamma must lie between 0.02 and 20"),
        (["--readouts", "power-law:1,100"], "the page cannot show this problem: the table of readouts has 6"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_the_page_or_its_file_cannot_show_is_said_at_once(tmp_path, capsys, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    assert run(["explore", "--no-browser", *options]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "problem",
    [
        ww.Problem(),
        ww.Problem("tanh(2*x)", "rademacher", "four-point", channel="probit:0.1", gamma=0.3),
        ww.Problem("elu", "sparse-gaussian:0.2", "gaussian", noise=0.25, gamma=1.7),
        ww.Problem("sigma3", "-1,1@0.5,0.5", "-1.2,0.4,1.1@0.3,0.3,0.4", channel="sign", normalise=True),
        ww.Problem("erf", channel="student-t:0.1,5", inputs="3,0.5@0.2,0.8"),
    ],
    ids=str,
)
def test_the_page_begins_with_the_problem_of_the_options(problem):
    shown, errors = problem_of(from_query(query_of(problem)))
    assert not errors and ww.solve(shown, 1.3).excess_error == pytest.approx(
        ww.solve(problem, 1.3).excess_error, rel=1e-9
    )
    assert shown.gamma == problem.gamma and shown.channel == problem.channel


def test_series_of_a_store(store):
    (choice,) = store_choices(store)
    points = store_points(store, choice, "excess_error")
    assert [p.alpha for p in points] == [0.5, 1.0]
    assert all(p.value > 0 and p.error > 0 and p.n == 2 for p in points)
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


@pytest.mark.waits
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
        "--gamma",
        "0.3",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "others can reach 0.0.0.0" in process.stderr.readline()
            port, token = re.search(r":(\d+)/\?token=([^&]+)&gamma=0.3 ", process.stderr.readline()).groups()
            visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with visitor.open(f"http://127.0.0.1:{port}/?token={token}", timeout=PATIENCE) as answer:
                assert b"widthwise explorer" in answer.read()
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=PATIENCE)[1].splitlines()[-1] == "interrupted"
        finally:
            process.kill()
    assert process.returncode == 130

"""The group of commands: overview, version, help, completion, unknown commands."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import widthwise as ww
from patience import PATIENCE
from widthwise.cli import main
from widthwise.cli.app import COMMANDS, app


def test_alone_it_gives_an_overview(capsys):
    assert main([]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert all(f"  {name}" in captured.out for name in COMMANDS)
    assert len(captured.out.splitlines()) < 24


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"widthwise {ww.__version__}\n"


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_has_an_example(capsys, command):
    assert main([*command, "--help"]) == 0
    assert "Example: widthwise" in capsys.readouterr().out


def test_help_gives_meaning_symbol_domain_and_default(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    main(["predict", "--help"])
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if "--gamma" in line and "RATIO" in line)
    assert "Hidden units per input gamma = k/d, > 0." in lines[at]
    assert "default: (0.5)" in lines[at] + lines[at + 1]


@pytest.mark.parametrize(
    ("word", "sentence"), [("predct", "did you mean 'predict'"), ("zzz", "choose from predict")]
)
def test_unknown_command(capsys, word, sentence):
    assert main([word]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: unknown command {word!r}; ")
    assert sentence in captured.err


def test_help_names_every_command_and_folds_with_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"\b{name} +[A-Z]", shown) for name in COMMANDS)
    assert main(["predict", "--help"]) == 0
    assert "for n = alpha d² samples and k = gamma d hidden units. Exit code 1" in capsys.readouterr().out


def test_unknown_option(capsys):
    assert main(["--verison"]) == 2
    assert capsys.readouterr().err.startswith("error: no such option")


@pytest.mark.waits
def test_commands_are_imported_only_when_called():
    code = (
        "import sys; from widthwise.cli import main; main(['predict', '--alpha', '1', '--json']); "
        "print(*[f'widthwise.cli.{m}' in sys.modules for m in ('predict', 'spectrum')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr.splitlines()[-1] == "True False"


@pytest.mark.waits
@pytest.mark.skipif(os.name != "posix", reason="bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("widthwise sp", ["spectrum"]),
        ("widthwise predict --re", ["--readouts"]),
        ("widthwise predict --readouts fo", ["four-point"]),
        ("widthwise yardstick kern", ["kernel-ridge"]),
    ],
)
def test_shell_completion(words, offered):
    environment = os.environ | {
        "_WIDTHWISE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "widthwise"], capture_output=True, text=True, timeout=PATIENCE, env=environment
    )
    assert done.stdout.split() == offered


# --- spectrum ------------------------------------------------------------------------------------


def test_spectrum_json(capsys):
    assert main(["spectrum", "--readouts", "four-point", "--gamma", "0.3", "--snr", "0,40", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["problem"] == {"readouts": "four-point", "gamma": 0.3}
    free, point = data["points"]
    assert (free["matrix_mmse"], free["matrix_information"], free["bands"]) == (1.0, 0.0, [[-2.0, 2.0]])
    denoiser = ww.denoising.MatrixDenoiser("four-point", 0.3)
    assert point["matrix_mmse"] == denoiser.mmse(40.0)
    assert point["matrix_information"] == denoiser.information(40.0)
    assert point["bands"] == [list(band) for band in denoiser.support(40.0)]
    assert len(point["bands"]) == 5


@pytest.mark.parametrize("snr", [1e-300, 5e-324])
@pytest.mark.parametrize("law", ["homogeneous", "four-point", "uniform", "-1.4,0.3@0.47,0.53"])
def test_spectrum_of_next_to_no_signal(capsys, tmp_path, law, snr):
    """The semicircle, mmse 1, and I = η/4 from dI/dη = mmse/4 (0 where that cannot be told from 0)."""
    options = ["--readouts", law, "--normalise", "--gamma", "0.3", "--snr", str(snr)]
    assert main(["spectrum", *options, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    (point,) = json.loads(captured.out)["points"]
    assert point["matrix_mmse"] == 1 and point["matrix_information"] == pytest.approx(0.25 * snr, rel=1e-12)
    assert point["bands"] == [pytest.approx([-2, 2], rel=1e-12)]
    assert main(["spectrum", *options, "--plot", str(tmp_path / "spectrum.png")]) == 0


def test_spectrum_table_csv_and_figure(capsys, tmp_path):
    assert main(["spectrum", "--snr", "3.7"]) == 0
    assert "3.7" in capsys.readouterr().out
    assert main(["spectrum", "--readouts", "gaussian", "--snr", "1:2:2", "--csv"]) == 0
    header, first, _ = capsys.readouterr().out.splitlines()
    assert header == "readouts,gamma,version,snr,matrix_mmse,matrix_information,bands"
    assert first.endswith(",-inf:inf")
    path = tmp_path / "spectrum.png"
    assert main(["spectrum", "--snr", "3.7", "--plot", str(path)]) == 0
    assert path.stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--snr", "-1"], "--snr must be >= 0 (signal-to-noise ratio of the matrix channel); got -1"),
        (["--snr", "nan"], "--snr must be >= 0 and finite"),
        (["--snr", "1e300"], "--snr must be at most 1e+30"),
        (["--snr", "loud"], "--snr takes a number"),
        (["--gamma", "0"], "--gamma must be > 0"),
        (["--readouts", "gausian"], "did you mean 'gaussian'"),
        (["--snr", "1,2", "--plot", "x.png"], "--plot shows one value of --snr; got 2"),
        (["--snr", "1", "--plot", "/no/such/folder/x.png"], "there is no folder"),
    ],
)
def test_spectrum_bad_input(capsys, arguments, sentence):
    assert main(["spectrum", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert sentence in captured.err


@pytest.mark.parametrize(
    "arguments", [["hardness"], ["hardness", "--learner", "adam"], ["simulate"]], ids=" ".join
)
def test_defaults_can_be_run(capsys, arguments):
    assert main([*arguments, "--dry-run"]) == 0
    assert "tasks" in capsys.readouterr().err


def test_a_store_without_a_command_shows_its_help(capsys):
    assert main(["store"]) == 0
    captured = capsys.readouterr()
    assert "prune" in captured.out and captured.err == ""
    assert main(["store", "ls"]) == 2
    assert "'runs'" in capsys.readouterr().err


def examples():
    """Every example that the help of a command gives."""
    import typer

    group = typer.main.get_command(app)
    for name in COMMANDS:
        command = group.get_command(typer.Context(group), name)
        for one in (command, *getattr(command, "commands", {}).values()):
            for line in re.findall(r"Example: widthwise (.*)", one.help or ""):
                yield line.strip()


@pytest.mark.parametrize("line", sorted(set(examples())))
def test_examples_of_the_help_can_be_read(line):
    import typer

    from widthwise.problem import WORDS

    command, words = typer.main.get_command(app), shlex.split(line)
    words += ["name.png"] if words[-1] == "--plot" else []
    while True:
        context = command.make_context("widthwise", list(words), resilient_parsing=False)
        if not hasattr(command, "get_command"):
            break
        command, words = command.get_command(context, words[0]), words[1:]
    given = {name: value for name, value in context.params.items() if name in WORDS and value is not None}
    is_list = any(":" in str(given.get(name, "")) for name in ("gamma", "noise", "snr"))  # axes
    if "activation" in given and not is_list:
        given.pop("d", None) if given.get("k") is None else None
        assert ww.Problem(**given)

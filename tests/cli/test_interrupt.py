"""Ctrl-C: exit code 130 and one line, whatever a command is doing; what is truncated is not counted."""

import os
import signal
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import widthwise as ww
from patience import PATIENCE
from widthwise import _interrupt, _starting
from widthwise.cli import main

pytestmark = [pytest.mark.waits, pytest.mark.skipif(os.name != "posix", reason="signals")]


def ctrl_c(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["predict"], "widthwise.theory.solver.all_solutions"),
        (["transitions"], "widthwise.theory.transitions.transitions"),
        (["plan", "--excess-error", "0.01"], "widthwise.theory.planner.samples_needed"),
        (["diagram", "--gamma", "0.2:0.4:2"], "widthwise.theory.diagram.phase_diagram"),
        (["spectrum"], "widthwise.denoising.MatrixDenoiser"),
        (["simulate", "--learner", "gamp_rie"], "widthwise.sweeps.driver.run_tasks"),
        (["hardness"], "widthwise.sweeps.driver.run_tasks"),
        (["hardness", "--published"], "widthwise.studies.hardness.analyse"),
        (["yardstick", "ridge", "--d", "10"], "widthwise.studies.yardstick_fit.fit"),
        (["store", "ls", "nowhere"], "widthwise.sweeps.store.open_store"),
        (["reproduce", "hermite", "--out", "nowhere"], "widthwise.paper.announce"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_command_ends_with_130(capsys, monkeypatch, tmp_path, arguments, where):
    monkeypatch.chdir(tmp_path)
    module, _, name = where.rpartition(".")
    monkeypatch.setattr(import_module(module), name, ctrl_c)
    assert main(arguments) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Stubborn:
    """Takes Ctrl-C for the end of its training, as multi-layer perceptrons of scikit-learn do."""

    def fit(self, x, y):
        try:
            ctrl_c()
        except KeyboardInterrupt:
            pass
        return self

    def predict(self, x):
        return np.zeros(len(x))


def test_a_truncated_fit_is_not_counted():
    with pytest.raises(KeyboardInterrupt):
        ww.yardstick(Stubborn(), ww.Problem(), 10, 1.0, 1, is_calibrated=False, n_test=100)


def test_noticed_leaves_the_handler_as_it_was():
    before = signal.getsignal(signal.SIGINT)
    with _interrupt.noticed() as came:
        assert not came()
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt), _interrupt.noticed():
        ctrl_c()
    assert signal.getsignal(signal.SIGINT) is before


def test_while_importing(tmp_path):
    # A module that presses Ctrl-C when it is imported, in the place of the first one that takes long.
    (tmp_path / "numpy.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n")
    source = os.path.dirname(os.path.dirname(ww.__file__))
    done = subprocess.run(
        [sys.executable, "-m", "widthwise", "predict"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{source}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


STUCK = """
import os, signal, time
from widthwise._interrupt import allow, as_command
with as_command():
    allow(0.1)
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        {then}
"""


@pytest.mark.parametrize(
    "then", ["time.sleep(1000)", "os.kill(os.getpid(), signal.SIGINT); time.sleep(1000)"]
)
def test_what_does_not_end_is_ended(then):
    done = subprocess.run(
        [sys.executable, "-c", STUCK.format(then=then)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize(
    ("argv", "is_command"),
    [
        (["python", "-m", "widthwise", "plan"], True),
        (["python", "-X", "dev", "-m", "widthwise"], False),  # an option with a value is not worth reading
        (["python", "-u", "/usr/bin/widthwise"], True),
        (["python", "-m", "widthwise._worker_process"], False),
        (["python", "-m", "pytest", "widthwise"], False),
        (["python"], False),
    ],
)
def test_which_processes_are_the_command(monkeypatch, argv, is_command):
    monkeypatch.setattr(sys, "orig_argv", argv)
    assert _starting.is_command() is is_command


def test_it_is_said_once_that_it_was_interrupted():
    """A second Ctrl-C and the clock may end the process at the same moment: here the exit takes its time."""
    text = (
        "import os, threading, time\n"
        "from widthwise._starting import quit_at_once\n"
        "end = os._exit\n"
        "os._exit = lambda code: (time.sleep(0.2), end(code))\n"
        "threading.Thread(target=quit_at_once, args=(2, None)).start()\n"
        "quit_at_once(2, None)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.waits
def test_while_a_text_is_executed(tmp_path):
    """As when a dataclass is made: Python would end by the signal, with -2 in place of the exit code."""
    (tmp_path / "interrupted.py").write_text(
        "import sys\nfrom widthwise._interrupt import as_command\n"
        "try:\n    with as_command():\n        exec('raise KeyboardInterrupt')\n"
        "except KeyboardInterrupt:\n    sys.exit(130)\n"
    )
    done = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, timeout=PATIENCE)
    assert done.returncode == 130

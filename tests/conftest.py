"""Its place puts this folder on the path of every test: ``import oracles`` works from below."""

import os
import signal
import sys

import pytest
from hypothesis import settings

# The same examples in every run; ``pytest --hypothesis-profile=explore`` draws new ones, and more of them.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("same")

# ``pytest -n`` starts a process a core: JAX in each keeps to one, also where there are more than two.
os.environ.setdefault("NPROC", "1")


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Those that a test leaves open are warned of in a later one, once they are more than twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_configure() -> None:
    """Let signals reach the programs that tests start.

    A shell that starts something in the background, ``make test &``, has it ignore Ctrl-C, ``nohup make
    test`` has it ignore that its terminal is closed, and so do all processes below it: tests that send such a
    signal would wait for ever. What is caught here is not inherited.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One process for all of the smoke run, whose fixture takes minutes.

    (With pytest 9.2 the groups of pytest-xdist 3.8, which renames tests for them, are lost.)
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Scheduling(LoadGroupScheduling):
        def _split_scope(self, nodeid):
            return "smoke" if "test_smoke.py" in nodeid else super()._split_scope(nodeid)

    return Scheduling(config, log)

"""Its place puts this folder on the path of every test: ``import oracles`` works from below."""

import signal

from hypothesis import settings

# The same examples in every run; ``pytest --hypothesis-profile=explore`` draws new ones, and more of them.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("same")


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs that tests start.

    A shell that starts something in the background, ``make test &``, has it ignore Ctrl-C, and so do all
    processes below it: tests that interrupt one would wait for ever. What is caught here is not inherited.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

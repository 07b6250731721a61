"""A plugin of pytest that runs every test several times in one process: ``-p repeat_rounds --rounds 5``.

What takes long to start (JAX, a browser, the collection of all tests) is started once for all of them.
"""

import pytest

__all__ = ["ROUND"]

ROUND = "round"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rounds", type=int, default=1, help="how often every test is run")


@pytest.fixture
def _round(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    rounds = range(metafunc.config.getoption("--rounds"))
    metafunc.fixturenames.append("_round")
    metafunc.parametrize("_round", rounds, indirect=True, ids=[f"{ROUND}{i + 1}" for i in rounds])

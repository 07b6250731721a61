"""``widthwise.experiments`` has no code of its own: its names are those of networks, sweeps and studies."""

import pytest

import widthwise as ww
from widthwise import experiments


@pytest.mark.parametrize("name", experiments.__all__)
def test_every_name_is_there_and_is_the_one_of_its_package(name):
    found = getattr(experiments, name)
    if isinstance(found, type(experiments)):
        home = next(package for package in (ww.sweeps, ww.studies) if hasattr(package, name))
        for public in getattr(home, name).__all__:
            assert getattr(found, public) is getattr(getattr(home, name), public)
    else:
        assert any(getattr(package, name, None) is found for package in (ww.networks, ww.sweeps))
    assert name in dir(experiments)


def test_modules_can_be_imported_by_their_documented_paths():
    from widthwise.experiments.hardness import analyse
    from widthwise.experiments.sweep import Sweep
    from widthwise.studies import hardness

    assert analyse is hardness.analyse
    assert Sweep is ww.Sweep


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="nothing_like_it"):
        experiments.nothing_like_it


def test_stores_know_the_learner_of_the_yardstick_by_its_first_name():
    """The name is part of the key of a stored fit: another one would fit everything again."""
    from widthwise.studies import yardstick_fit
    from widthwise.sweeps.task import find_learner

    assert yardstick_fit.LEARNER == "widthwise.experiments.yardstick_fit:fit"
    assert find_learner(yardstick_fit.LEARNER) is yardstick_fit.fit

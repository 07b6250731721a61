"""Tables of functions of the gap: right everywhere, whatever was asked before."""

import numpy as np
import pytest

from widthwise.ingredients.channels.tables import GapTable

POWER, NOISE = 1.7, 3e-7


def smooth(gap):
    """ψ, ψ', ψ'' of Gaussian noise, and an error."""
    width = NOISE + gap
    return np.array([-0.5 * np.log(width), 0.5 / width, 0.5 / width**2, width])


def kinked(gap):
    """Powers of the root of the gap, one of which diverges at 0, that vanish where nothing is known."""
    root, known = np.sqrt(gap), np.sqrt(-np.log(gap / POWER))
    return np.array([known / (1 + root), np.exp(-root), (1 + known) / root, known**3])


CASES = [
    (smooth, {}, 1e-25, POWER),
    (smooth, {}, 1e-25, 1e6 * POWER),
    (kinked, {"powers": (0, 0, 1, 0), "is_largest": True}, 1e-3, POWER),
]


@pytest.mark.parametrize(("function", "options", "least", "most"), CASES)
def test_values_are_those_of_the_functions(function, options, least, most):
    """Over all decades, at both ends of levels, and next to the largest gap."""
    table = GapTable(function, POWER, **options)
    levels = POWER * 32.0 ** -np.arange(0, 30)
    gap = np.concatenate([np.geomspace(least, most, 400), levels, POWER * (1 - np.geomspace(1e-13, 0.5, 40))])
    gap = gap[(gap >= least) & (gap <= most)]
    exact = function(gap)
    size = np.array([[1.0], [0.0], [0.0], [1e-3]])
    assert np.all(np.abs(table(gap) - exact) <= [[1e-11], [1e-10], [2e-7], [1e-10]] * (size + np.abs(exact)))


@pytest.mark.parametrize(("function", "options", "least", "most"), CASES)
def test_what_was_asked_before_does_not_matter(function, options, least, most):
    """One by one from below, where nothing is known yet of larger gaps, and all at once."""
    gap = np.geomspace(least, most, 37)
    one_by_one, together = (GapTable(function, POWER, **options) for _ in range(2))
    rising = np.concatenate([one_by_one(gap[i : i + 1]) for i in range(gap.size)], axis=1)
    np.testing.assert_allclose(rising, together(gap), rtol=1e-7, atol=1e-11)
    np.testing.assert_allclose(one_by_one(gap), rising, rtol=1e-7, atol=1e-11)


def test_nothing_is_asked():
    assert GapTable(smooth, POWER)(np.empty(0)).shape == (4, 0)

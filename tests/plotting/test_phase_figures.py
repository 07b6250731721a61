"""Maps between the points of a phase diagram: sharp on lines, smooth elsewhere, named where there is room."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.plotting import style
from widthwise.plotting.phases import fine_map, phase_places
from widthwise.theory.diagram_data import phase_names

X = np.linspace(0.3, 1.7, 9)
Y = np.geomspace(0.1, 5.0, 25)


def jumping(x, y):
    """A quantity that is smooth but for a jump on y = 0.9 exp(x) / 2."""
    return np.where(y > 0.45 * np.exp(x), 3 + 0.2 * x * np.log(y), 1 + 0.1 * x - 0.3 * np.log(y))


def test_a_jump_stays_a_jump():
    values, line = jumping(X[:, None], Y), 0.45 * np.exp(X)
    x, y, z = fine_map(X, Y, values, [line], is_log=(False, True))
    off = np.abs(z - jumping(x[:, None], y))
    # ln y of the line is straight in x, so it is where it should be, up to the width of a pixel
    near = np.abs(np.log(y) - np.log(0.45 * np.exp(x))[:, None]) < 0.02
    assert off[~near].max() < 0.06 and np.median(off) < 1e-3
    blurred = fine_map(X, Y, values, [], is_log=(False, True))[2]
    assert np.abs(blurred - jumping(x[:, None], y))[~near].max() > 0.5


def test_a_line_that_ends_between_two_columns():
    line = np.where(X < 1.0, 0.45 * np.exp(X), np.nan)
    values = np.where(X[:, None] < 1.0, jumping(X[:, None], Y), jumping(X[:, None], 0.01 + 0 * Y))
    z = fine_map(X, Y, values, [line], is_log=(False, True))[2]
    assert np.isfinite(z).all() and values.min() - 1e-12 <= z.min() and z.max() <= values.max() + 1e-12


def test_names_stand_in_their_phases():
    grid = (Y[None, :] > X[:, None]).astype(float) + (Y[None, :] > 4.9)
    lines = [X]
    found = phase_places(grid, X, Y, ["none", "some", "all"], lines)
    assert [name for name, _, _ in found] == ["none", "some", "all"]
    for name, x, y in found[:2]:
        assert (y > x) == (name == "some") and X[0] < x < X[-1] and Y[0] < y < Y[-1]
    tiny = np.zeros((9, 25))
    tiny[0, 0] = 1
    assert [name for name, _, _ in phase_places(tiny, X, Y, ["none", "some"])] == ["none"]


@pytest.mark.parametrize(
    ("readouts", "names"),
    [
        ("rademacher", ["universal", "specialised"]),
        ("uniform", ["universal", "specialised"]),
        ("four-point", ["universal", "|v| ≥ 1.34 learnt", "all units learnt"]),
    ],
)
def test_phases_by_what_is_learnt(readouts, names):
    assert phase_names(ww.Problem(readouts=readouts)) == names


def test_the_style_is_only_taken_where_it_is_asked_for():
    import matplotlib

    with matplotlib.rc_context():
        before = matplotlib.rcParams["font.size"]
        with style.applied():
            assert matplotlib.rcParams["font.size"] == style.SETTINGS["font.size"] != before
        assert matplotlib.rcParams["font.size"] == before
        style.use()
        assert matplotlib.rcParams["font.size"] == style.SETTINGS["font.size"]

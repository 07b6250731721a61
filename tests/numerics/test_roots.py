"""Roots of functions whose roots are known: brackets, Newton's method with and without one."""

import numpy as np
import pytest

from widthwise.numerics.roots import bracketed_root, decreasing_root, guarded_step, newton_rows


def test_decreasing_root_of_many_at_once():
    root = np.array([-2.9, -0.3, 0.0, 1.7, 4.4])
    found = decreasing_root(
        lambda x: np.exp(-x) - np.exp(-root), np.full(5, -5.0), np.full(5, 9.0), atol=1e-12
    )
    assert found == pytest.approx(root, abs=1e-11)


def test_decreasing_root_next_to_an_end():
    """In the first or the last 1/64 of the interval, of one function and beside others."""
    root = np.array([-4.97, 8.9, 1.3])
    for which in ([0], [1], [0, 1, 2]):
        goal, ends = root[which], (np.full(len(which), -5.0), np.full(len(which), 9.0))
        found = decreasing_root(lambda x, goal=goal: np.exp(-x) - np.exp(-goal), *ends, atol=1e-14)
        assert found == pytest.approx(goal, abs=1e-11)


def test_decreasing_root_without_a_change_of_sign_ends_next_to_the_nearer_end():
    ends = np.array([-1.0, -1.0]), np.array([2.0, 2.0])
    found = decreasing_root(lambda x: np.array([5.0, -5.0]) - x, *ends)
    assert found == pytest.approx([2.0, -1.0], abs=3.0 / 64)


@pytest.mark.parametrize("root", [0.31, 1e-3, 2.99])
def test_bracketed_root_and_its_last_bracket(root):
    found, (low, high) = bracketed_root(lambda x: (x / root) ** 3 - 1, 1e-6, 3.0, xtol=1e-13, ftol=0.0)
    assert found == pytest.approx(root, rel=1e-12)
    assert min(low, high) <= root * (1 + 1e-13) and max(low, high) >= root * (1 - 1e-13)


def test_bracketed_root_takes_infinite_values():
    found, _ = bracketed_root(lambda x: -np.inf if x < 0.2 else x - 0.7, 0.0, 1.0, xtol=1e-12, ftol=1e-13)
    assert found == pytest.approx(0.7, abs=1e-10)


@pytest.mark.parametrize("power", [0.5, 0.45, 1.0, 3.0])
def test_guarded_steps_end_where_newtons_method_goes_to_and_fro(power):
    """Of sign(x)|x|^½ Newton's method goes from x to -x for ever, of lower powers farther away each time."""
    root, x = np.array([0.0, 0.3, -1.1]), np.array([1.0, 1.3, 1.4])
    low, high = root - 2.0, root + 2.7
    for _ in range(80):
        error = np.sign(x - root) * np.abs(x - root) ** power
        low, high = np.where(error <= 0, x, low), np.where(error >= 0, x, high)
        x = guarded_step(x, -(x - root) / power, low, high)
    assert x == pytest.approx(root, abs=1e-9)


def test_newton_rows_keeps_the_best_point_of_each_row():
    goal = np.array([2.0, 9.0, -1.0])

    def equations(rows, z):
        return z**2 - goal[rows, None], 2 * z[..., None]

    found, residual = newton_rows(equations, np.array([[1.0], [1.0], [1.0]]), rtol=1e-14, max_steps=40)
    assert found[:2, 0] == pytest.approx(np.sqrt(goal[:2]), rel=1e-13)
    assert np.all(residual[:2] < 1e-12) and residual[2] >= 1.0  # x² = -1 has no root, and says so

"""Sketches of all branches: the solutions to a few digits, found without solving."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.theory.sketch import interpolated_setting, sketch_branches

PROBLEMS = [
    ww.Problem("relu", channel=0.1, gamma=0.3),
    ww.Problem("tanh(2*x)", "rademacher", "four-point", channel=0.1, gamma=0.7),
    ww.Problem("relu", readouts="gaussian", channel=0.1, gamma=1.7),
    ww.Problem("sigma3", "uniform", "rademacher", channel="probit:0.1", gamma=0.3),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.readouts.name + "-" + p.activation.name)
def test_sketch_agrees_with_the_solver(problem):
    n_seen = n_flags = 0
    for branch in sketch_branches(problem, (0.05, 5.0)):
        for point in list(branch)[2:-2:9]:
            exact = ww.solutions(problem, point.alpha)
            apart = [
                abs(s.excess_error / point.excess_error - 1)
                + np.max(np.abs(s.weight_overlap - point.weight_overlap))
                for s in exact
            ]
            near = exact[int(np.argmin(apart))]
            if np.max(point.weight_overlap) < 1e-3 and branch.asked != "universal":
                continue  # just born: not yet to be told from what it leaves
            assert min(apart) < 2e-3
            assert near.free_entropy == pytest.approx(point.free_entropy, abs=2e-5)
            n_seen += 1
            n_flags += (near.is_stable, near.is_equilibrium) == (point.is_stable, point.is_equilibrium)
    assert n_seen >= 6
    assert n_flags >= 0.9 * n_seen  # next to an onset or a fold three digits do not decide


def test_interpolated_information_is_the_integral_of_the_mmse():
    table = interpolated_setting(PROBLEMS[1]).table
    denoiser = ww.denoising.MatrixDenoiser("four-point", 0.7)
    snr, more = np.array([0.0, 0.4, 30.0, 2e5]), np.array([1.3, 2.0, 1e3, 1e6])
    exact = denoiser.information(snr) - denoiser.information(snr + more)
    assert table.information_drop(snr, more) == pytest.approx(exact, rel=2e-5)


def test_bad_range_is_refused():
    with pytest.raises(ValueError, match="0 < low < high"):
        sketch_branches(PROBLEMS[0], (2.0, 1.0))

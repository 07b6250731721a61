"""The landscape of the free entropy: its stationary points are the solutions."""

import itertools

import numpy as np
import pytest
from potential import rs_potential

import widthwise as ww
from widthwise.theory.landscape import best_divisions, landscape

THREE = ww.Problem("sigma3", "rademacher", channel=1.25, gamma=0.5)  # three solutions at α = 1.6
TWO = ww.Problem("tanh(2*x)", "rademacher", "four-point", channel=0.1, gamma=0.3)
SMOOTH = ww.Problem("relu", readouts="uniform", channel=0.1, gamma=0.3)


def overall(solution):
    """√E[v²𝒬²]."""
    return np.sqrt(solution.readout_weights @ (solution.readout_values * solution.weight_overlap) ** 2)


def turning_points(found):
    slope = np.sign(np.diff(found.free_entropy))
    return found.overlap[1:-1][slope[1:] != slope[:-1]]


@pytest.mark.parametrize(("problem", "alpha"), [(THREE, 1.6), (TWO, 3.6), (SMOOTH, 1.7)])
def test_solutions_lie_on_it(problem, alpha):
    found = landscape(problem, alpha, 241)
    for s in ww.solutions(problem, alpha):
        near = np.interp(overall(s), found.overlap, found.free_entropy)
        # A line between two points is short of a maximum by curvature times spacing squared; a scan of
        # 81 divisions between two readouts misses the best one by as much.
        assert near == pytest.approx(s.free_entropy, abs=5e-4)
        if problem is not TWO:
            assert near == pytest.approx(s.free_entropy, abs=5e-5)


@pytest.mark.parametrize(("problem", "alpha"), [(THREE, 1.6), (TWO, 0.6)])
def test_stationary_points_are_the_solutions(problem, alpha):
    found = landscape(problem, alpha, 481)
    solutions = sorted(overall(s) for s in ww.solutions(problem, alpha) if s.branch == "specialised")
    assert turning_points(found) == pytest.approx(solutions, abs=8e-3)


def test_its_maximum_is_the_equilibrium():
    for alpha in (1.0, 1.6, 2.5):
        found = landscape(THREE, alpha, 481)
        best = ww.solve(THREE, alpha)
        assert found.overlap[np.argmax(found.free_entropy)] == pytest.approx(overall(best), abs=8e-3)
        assert found.free_entropy.max() == pytest.approx(best.free_entropy, abs=2e-5)


def test_it_is_the_potential_of_the_paper():
    """At each 𝒬: f with the conjugate of 𝒬 eliminated, stationary in q₂ and its conjugate."""
    problem = ww.Problem("relu", channel=0.2, gamma=0.3, readouts="rademacher")
    found = landscape(problem, 1.7, 21)
    overlap, f = found.overlap[12], found.free_entropy[12]
    hat = overlap / (1 - overlap)  # Gaussian weights: F(x) = x/(1 + x)
    both = np.full(2, overlap), np.full(2, hat)

    denoiser = ww.denoising.MatrixDenoiser(problem.readouts, problem.gamma)
    tau = denoiser.inverse_mmse(1 - overlap**2)
    q2_hat = 1.0
    for _ in range(100):  # the two equations of q₂, iterated
        q2 = problem.matrix_power - denoiser.mmse(tau + q2_hat)
        gap = 0.5 * problem.hermite[2] ** 2 * (problem.matrix_power - q2)
        gap += float(problem.activation.tail_kernel(1.0) - problem.activation.tail_kernel(overlap))
        q2_hat = 1.7 * problem.hermite[2] ** 2 / (0.2 + gap)
    assert f == pytest.approx(rs_potential(problem, 1.7, q2, q2_hat, *both), abs=2e-6)


def test_best_divisions_are_those_of_an_enumeration():
    rng = np.random.default_rng(5)
    squares = np.sort(np.append(rng.uniform(size=6), [0.0, 1.0]))
    powers = np.array([0.5, 0.2, 0.3])
    gains = rng.normal(size=(2, 3, 8))
    every = np.array(list(itertools.product(range(8), repeat=3)))
    cells = np.rint(400 * powers * squares[every]).sum(axis=1)
    wanted = set()
    for own in gains:
        total = own[np.arange(3), every].sum(axis=1)
        for cell in np.unique(cells):
            here = np.nonzero(cells == cell)[0]
            wanted.add(tuple(every[here[np.argmax(total[here])]].tolist()))
    assert {tuple(row) for row in best_divisions(gains, squares, powers).tolist()} == wanted


@pytest.mark.parametrize(
    ("activation", "weights", "alpha"), [("relu", "gaussian", 1.3), ("tanh(2*x)", "rademacher", 2.5)]
)
def test_several_readouts_are_divided_without_gaps(activation, weights, alpha):
    law = ww.readouts.Discrete([-1.5, 0.3, 0.6, 1.0, 1.3], [0.2] * 5, normalise=True)
    problem = ww.Problem(activation, weights, law, channel=0.1, gamma=0.5)
    found = landscape(problem, alpha)
    assert np.diff(found.overlap).max() < 0.05 and found.overlap[0] == 0
    for s in ww.solutions(problem, alpha):
        near = np.interp(overall(s), found.overlap, found.free_entropy)
        # Choices of 0.007 in each overlap, and lines between points, cost a few 1e-5.
        if s.is_stable:
            assert near == pytest.approx(s.free_entropy, abs=5e-5)
        assert near > s.free_entropy - 5e-5  # others may gain by an exchange between readouts
    assert found.free_entropy.max() == pytest.approx(ww.solve(problem, alpha).free_entropy, abs=5e-5)


def test_bad_alpha_is_refused():
    with pytest.raises(ValueError, match="alpha must be > 0"):
        landscape(THREE, -1.0)

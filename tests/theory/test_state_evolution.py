"""State evolution of GAMP-RIE: its fixed point is the universal branch, its course is monotone."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.theory.state_evolution import state_evolution

ASYMMETRIC = ww.readouts.Discrete((-1.2, 0.4, 1.1), (0.3, 0.3, 0.4), normalise=True)
CASES = [
    (ww.Problem("relu", readouts="homogeneous", channel=0.1, gamma=0.5), 1.0),
    (ww.Problem("elu", readouts="gaussian", channel=0.03, gamma=1.7), 0.4),
    (ww.Problem("sigma3", readouts=ASYMMETRIC, channel=0.7, gamma=0.3), 3.0),
    (ww.Problem("relu", readouts="homogeneous", channel=1e-4, gamma=0.5), 5.0),
    (ww.Problem("sigma3", readouts="rademacher", channel=ww.channels.Probit(0.1), gamma=0.5), 2.0),
    (ww.Problem("he2", readouts=ASYMMETRIC, channel=ww.channels.Probit(0.4), gamma=1.3), 0.7),
    (ww.Problem("relu", readouts="uniform", channel=ww.channels.Laplace(0.1), gamma=0.8), 1.5),
]
IDS = [f"{p.activation.name}-{p.readouts.name}-{p.channel.name}" for p, _ in CASES]


@pytest.mark.parametrize(("problem", "alpha"), CASES, ids=IDS)
def test_the_fixed_point_is_the_universal_branch(problem, alpha):
    course = state_evolution(problem, alpha)
    solution = ww.solve(problem, alpha, branch="universal")
    assert course.status == "converged"
    assert course.excess_error[-1] == pytest.approx(solution.excess_error, rel=1e-8)
    assert course.matrix_overlap_hat[-1] == pytest.approx(solution.matrix_overlap_hat, rel=1e-8)
    assert course.matrix_overlap_centred[-1] == pytest.approx(solution.matrix_overlap_centred, abs=1e-8)


@pytest.mark.parametrize(("problem", "alpha"), CASES, ids=IDS)
def test_the_error_falls_at_every_step_from_that_of_no_data(problem, alpha):
    course = state_evolution(problem, alpha)
    _, mu1, mu2 = problem.hermite
    linear = 0.0 if problem.channel.name == "gaussian" else mu1**2
    start = linear + mu2**2 / 2 + float(problem.activation.tail_kernel(1.0))
    assert course.excess_error[0] == pytest.approx(start, rel=1e-12)
    # 1e-12: the last steps move by less than rounding.
    assert np.all(np.diff(course.excess_error) <= 1e-12 * start)


def test_gaussian_noise_obeys_the_scalar_equation():
    problem, alpha = CASES[2]
    mu2, tail = problem.hermite[2], float(problem.activation.tail_kernel(1.0))
    course = state_evolution(problem, alpha)
    snr = course.matrix_overlap_hat[-1]
    mmse = ww.denoising.MatrixDenoiser(problem.readouts, problem.gamma).mmse(snr)
    assert snr * (problem.channel.noise + tail + mu2**2 / 2 * mmse) == pytest.approx(
        alpha * mu2**2, rel=1e-10
    )


def test_the_cost_of_the_linear_part_shrinks_as_one_over_d():
    problem, alpha = CASES[0]
    limit = state_evolution(problem, alpha).excess_error[-1]
    extra = [state_evolution(problem, alpha, d=d).excess_error[-1] - limit for d in (2000, 4000)]
    # (Δ + ε)/(αd), times what a larger τ² does to the matrix: a factor between 1 and 2 here.
    assert 1 < extra[0] * alpha * 2000 / (problem.channel.noise + limit) < 2
    assert extra[0] / extra[1] == pytest.approx(2, rel=2e-3)  # the next order is 1/(αd)
    assert state_evolution(problem, alpha, d=10**9).excess_error[-1] == pytest.approx(limit, rel=1e-8)


def test_without_a_quadratic_part_nothing_is_learnt():
    problem = ww.Problem("tanh(2*x)", channel=0.1)
    course = state_evolution(problem, 3.0)
    assert course.excess_error[-1] == pytest.approx(float(problem.activation.tail_kernel(1.0)), rel=1e-12)


def test_a_given_number_of_steps_is_taken():
    problem, alpha = CASES[0]
    full, short = state_evolution(problem, alpha), state_evolution(problem, alpha, n_steps=3)
    assert short.n_steps == 3 and short.status == "max_steps"
    np.testing.assert_allclose(short.excess_error, full.excess_error[:4], rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [((-1.0, {}), "alpha"), ((1.0, {"d": 0}), "d must"), ((1.0, {"n_steps": -1}), "n_steps")],
)
def test_bad_arguments(arguments, word):
    alpha, options = arguments
    with pytest.raises(ValueError, match=word):
        state_evolution(CASES[0][0], alpha, **options)

"""Many data: information saturates at the entropy of discrete weights, overlaps reach 1 exponentially."""

import numpy as np
import pytest

import widthwise as ww

ATOMS = ww.weights.Discrete.normalised((-1.5, 0.2, 1.0), (0.2, 0.4, 0.4))


@pytest.mark.parametrize("theory", ["main", "factorised"])
@pytest.mark.parametrize(("weights", "scale"), [("rademacher", 1.0), (ATOMS, 3.0)])
def test_information_rises_to_the_entropy_of_the_weights(weights, scale, theory):
    problem = ww.Problem("relu", weights, "rademacher", 0.1, 0.7)
    p = np.array([0.5, 0.5]) if weights == "rademacher" else np.asarray(ATOMS.probabilities)
    curve = ww.learning_curve(problem, scale * np.array([2.0, 4.0, 6.0, 8.0, 30.0, 100.0]), theory=theory)
    left = -p @ np.log(p) - curve.mutual_information
    assert np.all(left[:4] > 0) and np.all(np.diff(left[:4]) < 0)
    assert np.all(left > -1e-10)  # αf/γ is a difference of numbers of size α: rounding
    assert abs(left[-1]) < 1e-9


def test_overlap_reaches_one_exponentially():
    r"""x = 𝒬̂_W -> α v² (μ₂² + g'(1))/(γΔ), and 1 - 𝒬 = exp(-x δ²/8 + o(x)), δ the least gap between atoms."""
    problem = ww.Problem("relu", "rademacher", "four-point", 0.1, 0.7)
    alphas = np.array([100.0, 140.0])
    curve = ww.learning_curve(problem, alphas)
    v2 = curve[0].readout_values ** 2
    slope = float(problem.activation.tail_kernel_slope(1.0))
    rate = v2 * (problem.hermite[2] ** 2 + slope) / (problem.gamma * 0.1)
    assert curve.weight_overlap_hat / alphas[:, None] == pytest.approx(np.stack([rate, rate]), rel=1e-6)
    left = problem.weights.channel(curve.weight_overlap_hat).mmse
    # x grows by 40 rate between the two; δ = 2, and the prefactor, x^(-1/2), is the correction.
    decay = -np.diff(np.log(left), axis=0)[0] / (40 * rate)
    assert decay == pytest.approx(0.5, abs=0.02)
    # the tilt diverges as 1/(1 - 𝒬), so that the pull of the matrix is q̂₂/γ
    assert np.all(curve.tilt > 1e8)


def test_error_falls_as_one_over_alpha_for_gaussian_weights():
    problem = ww.Problem("elu", "gaussian", "rademacher", 0.1, 0.7)
    error = ww.learning_curve(problem, [1e3, 1e4, 1e5]).excess_error
    assert error[1:] * [1e4, 1e5] == pytest.approx(error[:-1] * [1e3, 1e4], rel=0.02)
    # kd weights from n = αd² labels of noise Δ: the error of a regression, γΔ/α
    assert error[-1] * 1e5 == pytest.approx(0.7 * 0.1, rel=2e-3)

"""The factorised ansatz: its potential, its place beside the main theory, the structured relaxation."""

from functools import partial

import numpy as np
import pytest
from potential import central_differences, order_parameters
from scipy.optimize import brentq

import widthwise as ww
from widthwise.theory.matrix_channel import GaussianMatrix
from widthwise.theory.transitions import factorised_transition

ASYMMETRIC = ww.readouts.Discrete((-1.2, 0.4, 1.1), (0.3, 0.3, 0.4), normalise=True)
RELU = ww.Problem("relu", readouts="four-point", channel=0.1, gamma=0.5)


def factorised_potential(problem, alpha, q2, q2_hat, overlap, overlap_hat):
    """f_sp as printed."""
    v, p = np.asarray(problem.readouts.values), np.asarray(problem.readouts.probabilities)
    gamma, (_, mu1, mu2), g = problem.gamma, problem.hermite, problem.activation.tail_kernel
    r2 = 1 + gamma * (p @ v) ** 2
    q_k = mu1**2 + mu2**2 * q2 / 2 + p @ (v**2 * g(overlap))
    r_k = problem.output_power
    scalar = p @ (problem.weights.free_entropy(overlap_hat) - overlap * overlap_hat / 2)
    entropy = np.log(1 + q2_hat * (1 - p @ (v**2 * overlap**2)))
    return float(
        problem.channel.free_entropy(r_k - q_k, r_k)
        + (r2 - q2) * q2_hat / (4 * alpha)
        + gamma / alpha * scalar
        - entropy / (4 * alpha)
    )


@pytest.mark.parametrize(
    ("problem", "alpha"),
    [
        (ww.Problem("relu", readouts=ASYMMETRIC, channel=0.2, gamma=0.3), 2.5),
        (ww.Problem("sigma3", "rademacher", ASYMMETRIC, 0.7, 1.7), 8.0),
        (ww.Problem("elu", readouts="four-point", channel=0.05, gamma=1.7), 9.0),
    ],
)
def test_solutions_are_stationary_points_of_the_printed_potential(problem, alpha):
    """Central differences, relative step 1e-4 (of 1 - 𝒬 for the overlaps): error step² f'''."""
    found = [s for s in ww.solutions(problem, alpha, theory="factorised") if s.branch == "specialised"]
    assert found
    for s in found:
        potential = partial(factorised_potential, problem, alpha)
        assert potential(*order_parameters(s)) == pytest.approx(s.free_entropy, abs=1e-12)
        for which, _, difference in central_differences(potential, s):
            assert abs(difference) < 1e-11, which


def test_gaussian_matrix_is_consistent():
    matrix = GaussianMatrix()
    snr, more = np.array([1e-9, 1e-6, 0.3, 7.0, 1e8]), np.array([0.2, 1e-3, 5.0, 0.01, 3.0])
    u, step = np.log(snr), 1e-5
    mmse, recovered, slope = matrix.mmse(u)
    assert mmse == pytest.approx(1 / (1 + snr)) and mmse + recovered == pytest.approx(1)
    assert slope == pytest.approx(
        (matrix.mmse(u + step)[0] - matrix.mmse(u - step)[0]) / (2 * step), abs=1e-10
    )
    # I-MMSE: 4 dι/d ln η = η mmse
    rise = matrix.information(u + step) - matrix.information(u - step)
    assert 4 * rise / (2 * step) == pytest.approx(snr * mmse, rel=1e-6)
    pair = matrix.pair(u, np.log(more))
    # γA = q̂₂/(1 + q̂₂(1 - m)) with 1 - m = mmse(τ)
    assert np.exp(pair.log_pull) == pytest.approx(more / (1 + more * mmse), rel=1e-13)
    assert pair.mmse_after == pytest.approx(1 / (1 + snr + more))
    for slopes, du, dh in ((pair.pull_by_tilt, step, 0.0), (pair.pull_by_hat, 0.0, step)):
        ends = [matrix.pair(u + sign * du, np.log(more) + sign * dh).log_pull for sign in (1, -1)]
        assert slopes == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)
    assert matrix.information_drop(u, np.log(more)) == pytest.approx(
        -0.25 * np.log1p(more / (1 + snr)), rel=1e-12
    )


def test_overlap_printed_for_sigma3():
    """0.941 of the paper for homogeneous readouts; without the spectrum Rademacher gives the same."""
    for readouts in ("homogeneous", "rademacher"):
        s = ww.solve(ww.Problem("sigma3", readouts=readouts), 1.0, theory="factorised")
        assert s.branch == "specialised"
        assert s.matrix_overlap_centred == pytest.approx(0.9408, abs=5e-5)
        assert s.weight_overlap[0] == pytest.approx(0.9218, abs=5e-5)


@pytest.mark.parametrize("readouts", ["homogeneous", ASYMMETRIC])
def test_equal_to_the_main_theory_without_a_quadratic_part(readouts):
    problem = ww.Problem("tanh(2*x)", readouts=readouts, gamma=0.6)
    alphas = [0.2, 1.5, 4.0]
    one, other = (ww.learning_curve(problem, alphas, theory=t) for t in ("main", "factorised"))
    assert list(one.branch) == list(other.branch)
    assert other.excess_error == pytest.approx(one.excess_error, rel=1e-9)
    assert other.free_entropy == pytest.approx(one.free_entropy, abs=1e-11)
    assert other.weight_overlap == pytest.approx(one.weight_overlap, abs=1e-9)


def test_same_error_with_many_data():
    alphas = [50.0, 500.0, 5000.0]
    one, other = (ww.learning_curve(RELU, alphas, theory=t) for t in ("main", "factorised"))
    apart = np.abs(other.excess_error / one.excess_error - 1)
    assert apart[0] < 0.01
    assert np.all(apart[1:] < 0.4 * apart[:-1])  # as α^(-1/2): the kink of ReLU
    binary = RELU.replace(weights="rademacher")
    one, other = (ww.solve(binary, 50.0, theory=t).excess_error for t in ("main", "factorised"))
    assert other == pytest.approx(one, rel=1e-9) and one < 1e-12


def test_same_universal_branch():
    for s, t in zip(
        *(ww.learning_curve(RELU, [0.5, 3.0], "universal", theory=t) for t in ("main", "factorised")),
        strict=True,
    ):
        assert s.free_entropy == t.free_entropy and s.excess_error == t.excess_error
        assert t.is_stable


def test_transition_is_a_jump_beyond_that_of_the_main_theory():
    at = factorised_transition(RELU)
    assert at == pytest.approx(1.8604110, abs=1e-6)
    below, above = (ww.solve(RELU, at * (1 + e), theory="factorised") for e in (-1e-7, 1e-7))
    assert (below.branch, above.branch) == ("universal", "specialised")
    assert above.free_entropy == pytest.approx(below.free_entropy, abs=1e-7)
    assert np.max(above.weight_overlap) > 0.5
    main = ww.solve(RELU, 0.5)
    assert main.branch == "specialised"  # onset of the main theory is below 0.5


@pytest.mark.parametrize("gamma", [0.2, 1.3])
def test_never_selected_for_the_quadratic_activation_with_gaussian_weights(gamma):
    problem = ww.Problem("x**2", channel=0.1, gamma=gamma)
    alphas = np.geomspace(0.05, 200, 25)
    special, universal = (
        ww.learning_curve(problem, alphas, branch, theory="factorised")
        for branch in ("specialised", "universal")
    )
    exists = np.isfinite(special.free_entropy)
    assert (exists.sum() >= 10) == (gamma < 1)  # f_sp has no specialised solution at all beyond γ = 1
    assert np.all(special.free_entropy[exists] < universal.free_entropy[exists])
    assert factorised_transition(problem, 200.0) == np.inf


def test_gaussian_entries_carry_the_most_information():
    """f_uni >= f_sp(𝒬 ≡ 0): the factorised theory cannot leave the universal branch continuously."""
    snr = np.geomspace(0.01, 100, 9)
    for readouts in ("homogeneous", ASYMMETRIC, "gaussian"):
        information = ww.denoising.MatrixDenoiser(readouts, 0.4).information(snr)
        assert np.all(information < 0.25 * np.log1p(snr))


def structured_entropy(shares, overlaps, q2):
    r"""Entropy of the structured Gaussian relaxation, extremised given the overlap of the sum.

    Components S(v), each with Gaussian entries: the covariance of two replicas is
    Q₀(v, v') = δ v²𝒬(v)² and that of one with itself δ v². Order parameters are all Q₂(v, v'), with
    conjugates Q̂(v, v'); the energy knows q₂ = Σ √(P_v P_v') Q₂(v, v') only. Per replica, the exponent is

        ¼ Tr Q̂(R - Q₂) - ¼ ln det(1 + Q̂ (R - Q₀)),      R = diag v², Q₀ = diag v²𝒬²,

    and stationarity in Q₂ at given q₂ (multiplier λ) makes Q̂ = λ uuᵀ with u = √P_v.
    """
    values2, p = shares
    u = np.sqrt(p)
    free = np.diag(values2 * (1 - overlaps**2))

    def sum_left(multiplier):
        """uᵀ(R - Q₂)u at the stationary point R - Q₂ = free (1 + Q̂ free)⁻¹."""
        hat = multiplier * np.outer(u, u)
        return u @ free @ np.linalg.inv(np.eye(u.size) + hat @ free) @ u

    goal = u @ np.diag(values2) @ u - q2
    multiplier = brentq(lambda m: sum_left(m) - goal, 0.0, 1e6, xtol=1e-14)
    hat = multiplier * np.outer(u, u)
    left = free @ np.linalg.inv(np.eye(u.size) + hat @ free)
    # stationary in Q̂ too: any symmetric change of Q̂ leaves the exponent unchanged at first order
    rng = np.random.default_rng(0)
    exponent = lambda h: 0.25 * np.trace(h @ left) - 0.25 * np.linalg.slogdet(np.eye(u.size) + h @ free)[1]  # noqa: E731
    for _ in range(4):
        change = rng.standard_normal(hat.shape)
        change = 1e-4 * (change + change.T)
        assert abs(exponent(hat + change) - exponent(hat - change)) < 1e-10
    return exponent(hat)


def test_structured_gaussian_relaxation_collapses():
    """The energy sees the sum of the components only, so the many-component entropy is the scalar one."""
    values2, p = np.array([1.8, 0.9, 0.1]), np.array([0.3, 0.5, 0.2])
    values2 = values2 / (p @ values2)
    overlaps = np.array([0.8, 0.35, 0.1])
    m = p @ (values2 * overlaps**2)
    for q2 in (m + 1e-3, 0.5 * (1 + m), 0.98):
        hat = 1 / (1 - q2) - 1 / (1 - m)  # from r₂ - q₂ = (1 - m)/(1 + q̂₂(1 - m))
        scalar = 0.25 * hat * (1 - q2) - 0.25 * np.log1p(hat * (1 - m))
        assert structured_entropy((values2, p), overlaps, q2) == pytest.approx(scalar, abs=1e-11)


def test_bad_theory():
    with pytest.raises(ValueError, match="unknown theory 'best'; choose from main, factorised"):
        ww.solve(RELU, 1.0, theory="best")

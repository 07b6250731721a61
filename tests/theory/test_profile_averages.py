"""Averages over the overlap profile of a continuous law, against sums over a fine grid of readouts."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.theory.families import specialised_families
from widthwise.theory.setting import setting_of


def by_readouts(problem, pull, coupling):
    """E v²(1-Q²), E v²[g(1)-g(Q)] and E[entropy], each unit at the root that its potential prefers.

    Simpson's rule in ln v on either side of the readout at which the profile leaves 0.
    """
    profile, units = specialised_families(problem)[0].profile, setting_of(problem).units
    a, b = np.array([pull]), np.array([coupling])
    first = np.sqrt(profile.first_level(a, b)[0])
    largest = np.sqrt(min(profile.reach2, 40.0**2))
    y = np.linspace(np.log(first) + 1e-12, np.log(largest), 20001)
    v = np.exp(y)
    weight = np.full(y.size, 2.0)
    weight[1::2], weight[[0, -1]] = 4.0, 1.0
    weight *= (y[1] - y[0]) / 3 * v * 2 * problem.readouts.density(v)
    u = units(profile.snr_at(a, b, v**2)[0])
    unlearnt = problem.readouts.power_below(first)
    return (
        weight @ (v**2 * u.gap * (1 + u.overlap)) + unlearnt,
        weight @ (v**2 * u.kernel_gap) + unlearnt * profile.kernel_total,
        weight @ u.entropy,
    )


@pytest.mark.parametrize("coupling", [3e1, 3e3, 3e6, 3e9])
@pytest.mark.parametrize("activation", ["step(x)", "tanh(2*x)", "sin(3*x)"])
@pytest.mark.parametrize("inputs", [None, "power-law(2.9, 60)"])
def test_over_all_decades(activation, coupling, inputs):
    """Was wrong by 2 per cent where x of a step goes over 22 decades, and in the sixth digit over ten."""
    inputs = {} if inputs is None else {"inputs": inputs}
    problem = ww.Problem(activation, "gaussian", "gaussian", 0.01, 0.3, **inputs)
    profile = specialised_families(problem)[0].profile
    found = profile.averages(np.zeros(1), np.array([coupling]))
    left, kernel_gap, entropy = by_readouts(problem, 1e-280, coupling)
    assert found.left[0] == pytest.approx(left, rel=1e-10)
    assert found.kernel_gap[0] == pytest.approx(kernel_gap, rel=1e-10)
    assert found.entropy[0] == pytest.approx(entropy, rel=1e-10)


@pytest.mark.parametrize(
    ("weights", "readouts", "pull", "coupling"),
    [
        ("rademacher", "uniform", 1e3, 5e4),
        ("rademacher", "uniform", 1e9, 5e10),
        ("gaussian", "gaussian", 1e7, 3e6),
        ("sparse-gaussian(0.01)", "gaussian", 1e6, 1e7),
    ],
)
def test_from_where_units_leave_zero(weights, readouts, pull, coupling):
    """Was wrong by 3e-4 for the first: most is left where x is of order 1, a small share of ln v."""
    problem = ww.Problem("max(tanh(x),0.2)", weights, readouts, 0.01, 0.3)
    found = specialised_families(problem)[0].profile.averages(np.array([pull]), np.array([coupling]))
    left, kernel_gap, entropy = by_readouts(problem, pull, coupling)
    assert found.left[0] == pytest.approx(left, rel=1e-8)
    assert found.kernel_gap[0] == pytest.approx(kernel_gap, rel=1e-8)
    assert found.entropy[0] == pytest.approx(entropy, rel=1e-8)


def test_small_readouts_without_noise_are_learnt_as_alpha_to_the_sixth():
    """The unknown have v² < 1/A ~ α^-4, hence an error α^-6 over 12 decades of τ. Was lost at α = 900."""
    problem = ww.Problem("max(tanh(x),0.2)", "rademacher", "uniform", ww.channels.Sign(), 2.548)
    curve = ww.learning_curve(problem, np.geomspace(1e3, 1e5, 5))
    powers = np.diff(np.log(curve.excess_error)) / np.diff(np.log(curve.alpha))
    np.testing.assert_allclose(powers, -6, atol=1e-4)


def test_information_of_a_step_over_five_decades():
    """dI/dα is ψ_out at the error over γ, by secants; the error never rises."""
    from invariants import rising

    problem = ww.Problem(
        "step(x)", "gaussian", "gaussian", "laplace:2e-5", 8e-4, inputs="power-law(2.875, 102)"
    )
    assert not rising(ww.learning_curve(problem, np.geomspace(1e-2, 60, 25)))


def test_a_jump_that_closes():
    """Some units jump by ever less as α grows, then no more: I was off by 1e-4 once the grid had lost it."""
    from invariants import rising

    atoms, chance = np.array([-1.1243, 0.8847, 0.8996]), np.array([0.44167, 0.38145, 0.17688])
    atoms = atoms - chance @ atoms
    weights = ww.weights.Discrete(atoms / np.sqrt(chance @ atoms**2), chance)
    problem = ww.Problem("0.3818*he2(x)+0.004279*he7(x)", weights, "gaussian", 0.06041, 1.303)
    curve = ww.learning_curve(problem, np.linspace(1.09, 1.25, 33))
    assert all(s.is_converged for s in curve)
    assert not rising(curve)

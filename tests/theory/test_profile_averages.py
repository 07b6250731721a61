"""Averages over the overlap profile of a continuous law, against sums over a fine grid of readouts."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.theory.families.registry import specialised_families
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


def test_information_of_a_step_over_five_decades():
    """dI/dα is ψ_out at the error over γ, by secants; the error never rises."""
    from invariants import rising

    problem = ww.Problem(
        "step(x)", "gaussian", "gaussian", "laplace:2e-5", 8e-4, inputs="power-law(2.875, 102)"
    )
    assert not rising(ww.learning_curve(problem, np.geomspace(1e-2, 60, 25)))

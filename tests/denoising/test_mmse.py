"""The mmse: two formulas, thirty-digit values, limits, slope, inverse, bands that touch, extremes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from denoising.laws import ASYMMETRIC, CONTINUOUS, DISCRETE, WITH_ZERO, touching_snr
from widthwise.denoising import MatrixDenoiser
from widthwise.denoising.discrete_poles import DiscretePoles
from widthwise.denoising.mmse import mmse_by_both_formulas
from widthwise.denoising.quadrature import Panels
from widthwise.ingredients.readouts import Discrete, Exponential, Linear
from widthwise.ingredients.readouts import resolve as law_of

EVERY = DISCRETE | CONTINUOUS
GAMMAS = [0.05, 0.3, 0.999, 1.0, 1.7, 20.0]
SNR = np.geomspace(1e-6, 1e6, 49)
RARE = Discrete([-1.0, 1.0, 50.0], [0.5 - 5e-7, 0.5 - 5e-7, 1e-6], normalise=True)

# From oracles.Curve at 30 digits: gamma, snr, mmse, 1 - mmse (readouts ASYMMETRIC). On each
# side of snr = 0.2, where the formula changes, and at the ends of the range.
THIRTY_DIGITS = [
    (0.3, 1e-06, "0.9999990000009958786892", "9.999990041213107298107e-7"),
    (0.3, 0.19, "0.795095483886432628322", "0.204904516113567358726"),
    (0.3, 0.21, "0.7730522733003469149353", "0.2269477266996530739895"),
    (0.3, 40.0, "0.0125789366710080052217", "0.9874210633289920435729"),
    (0.3, 1e6, "5.099997321445135017767e-7", "0.9999994900002678877016"),
    (1.7, 1e-06, "0.9999990000009992746485", "9.999990007253515093279e-7"),
    (1.7, 0.19, "0.8386818193048964908913", "0.1613181806951035079933"),
    (1.7, 0.21, "0.8244074317828520418126", "0.1755925682171479706994"),
    (1.7, 2.7, "0.2597961789755286480813", "0.7402038210244713534181"),
    (1.7, 40.0, "0.02413974518192962027432", "0.9758602548180703717406"),
    (1.7, 1e6, "9.999985002232190974561e-7", "0.9999990000014997715283"),
]
# The same for the continuous laws at 18 digits (the Gaussian ones below 0.21 to 13).
EIGHTEEN_DIGITS = [
    ("uniform", 0.3, 0.19, "0.7610719317570689"),
    ("uniform", 0.3, 0.21, "0.7355077657874037"),
    ("uniform", 0.3, 1000.0, "0.0005032957599995802"),
    ("uniform", 1.7, 40.0, "0.02397250261253673"),
    ("uniform", 0.05, 1e6, "9.748322330893077e-8"),
    ("gaussian", 0.3, 0.19, "0.6862346956270906"),
    ("gaussian", 0.3, 0.21, "0.6595378987577809"),
    ("gaussian", 0.3, 1000.0, "0.0005007658490488175"),
    ("gaussian", 1.7, 40.0, "0.02366760973646596"),
    ("gaussian", 0.05, 1e6, "9.747681629757088e-8"),
]


def eighth_order_slope(f, x, step):
    """f'(x) from eight neighbours; the error is of order step⁸ f⁽⁹⁾."""
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    return weights @ f(x + step * np.arange(-4, 5)) / step


# ---------------------------------------------------------------------------- values


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("law", DISCRETE.values(), ids=DISCRETE)
def test_two_formulas_agree_for_atoms(law, gamma):
    snr = SNR[:: 6 if law is DISCRETE["64 atoms"] else 1]
    denoiser = MatrixDenoiser(law, gamma)
    large, small = mmse_by_both_formulas(denoiser._poles, snr)
    mmse = denoiser.mmse(snr)
    # Each is used where it is stable; where it is not, it cancels by η² c0² = 1/η or 1/mmse.
    rounding = 2e-15 * np.where(snr < 0.2, 1 / snr, 1 / mmse)
    assert np.all(np.abs(large / small - 1) < 1e-10 + rounding)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("law", CONTINUOUS)
def test_two_formulas_agree_for_continuous_laws(law, gamma):
    denoiser = MatrixDenoiser(law, gamma)
    large, small = mmse_by_both_formulas(denoiser._poles, SNR)
    mmse = denoiser.mmse(SNR)
    # Quadratures ask for 1e-12 of 1 here, which the unstable formula turns into 1e-12/η or 1e-12/mmse.
    lost = 1e-11 * np.where(SNR < 0.2, 1 / SNR, 1 / mmse)
    assert np.all(np.abs(large / small - 1) < 1e-9 + lost)


@pytest.mark.parametrize(("gamma", "snr", "mmse", "recovered"), THIRTY_DIGITS)
def test_thirty_digit_values(gamma, snr, mmse, recovered):
    denoiser = MatrixDenoiser(ASYMMETRIC, gamma)
    assert denoiser.mmse(snr) == pytest.approx(float(mmse), rel=1e-13)
    assert denoiser.recovered(snr) == pytest.approx(float(recovered), rel=1e-13)


@pytest.mark.parametrize(("law", "gamma", "snr", "mmse"), EIGHTEEN_DIGITS)
def test_values_of_continuous_laws(law, gamma, snr, mmse):
    assert MatrixDenoiser(law, gamma).mmse(snr) == pytest.approx(float(mmse), rel=2e-11)


@pytest.mark.slow
@pytest.mark.parametrize("row", [1, 10])
def test_the_thirty_digits_themselves(row):
    gamma, snr, mmse, recovered = THIRTY_DIGITS[row]
    curve = oracles.Curve((ASYMMETRIC.values, ASYMMETRIC.probabilities), gamma, snr)
    bands = oracles.bands_in_a(MatrixDenoiser(ASYMMETRIC, gamma), snr)
    large, small = curve.mmse(bands, degree=5)
    assert float(abs(large - small)) < 1e-21
    assert float(large) == pytest.approx(float(mmse), rel=1e-15)
    assert float(1 - small) == pytest.approx(float(recovered), rel=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("law", [ASYMMETRIC, WITH_ZERO], ids=["asymmetric", "with-zero"])
@pytest.mark.parametrize("snr", [0.6, 12.0])
def test_roots_of_the_polynomial_and_quad(law, snr):
    denoiser = MatrixDenoiser(law, 0.3)
    plain = oracles.mmse(law.values, law.probabilities, 0.3, snr, denoiser.support(snr))
    assert denoiser.mmse(snr) == pytest.approx(plain, rel=1e-8)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(-3, 3).filter(lambda v: abs(v) > 1e-3), min_size=1, max_size=6, unique=True),
    weights=st.lists(st.floats(0.02, 1), min_size=6, max_size=6),
    gamma=st.floats(0.05, 20),
)
def test_any_law(values, weights, gamma):
    p = np.array(weights[: len(values)])
    denoiser = MatrixDenoiser(Discrete(values, p / p.sum(), normalise=True), gamma)
    snr = np.geomspace(1e-3, 1e3, 13)
    mmse, recovered, slope = denoiser.evaluate(snr)
    assert np.all((mmse > 0) & (mmse <= 1)) and np.all(np.diff(mmse) < 0) and np.all(slope < 0)
    np.testing.assert_allclose(mmse + recovered, 1, rtol=1e-15)
    large, small = mmse_by_both_formulas(denoiser._poles, snr)
    assert np.all(np.abs(large / small - 1) < 1e-10)
    # Knowing nothing of the law but its second moment one reaches 1/(1 + η): the optimum is below.
    assert np.all(mmse < 1 / (1 + snr) * (1 + 1e-12))


# ---------------------------------------------------------------------------- limits


@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_no_data(law):
    denoiser = MatrixDenoiser(law, 0.3)
    assert denoiser.mmse(0.0) == 1.0
    assert denoiser.recovered(0.0) == 0.0
    assert denoiser.mmse_slope(0.0) == -1.0
    mmse, recovered, slope = denoiser.evaluate([0.0, 0.5])
    np.testing.assert_array_equal([mmse[0], recovered[0], slope[0]], [1, 0, -1])


@pytest.mark.parametrize("gamma", [0.3, 1.7])
@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_small_snr_expansion(law, gamma):
    # mmse' = -1 + 2(1 - (E v³)²/γ)η + O(η²), checked beyond the switch to it (1e-5 min(1, γ)).
    denoiser, snr = MatrixDenoiser(law, gamma), np.array([2e-6, 2e-5, 4e-5])
    curvature = 2 * (1 - law_of(law).third_moment ** 2 / gamma)
    expected = -1 + curvature * snr
    # The next coefficient is below 1000 for all these laws (it grows as E v⁴/γ).
    assert np.all(np.abs(denoiser.mmse_slope(snr) - expected) < 1000 * snr**2 + 1e-9)
    assert np.all(np.abs(denoiser.recovered(snr) - snr + 0.5 * curvature * snr**2) < 350 * snr**3 + 1e-19)


@pytest.mark.parametrize("gamma", [0.3, 1.7])
@pytest.mark.parametrize("law", [ASYMMETRIC, "gaussian"], ids=["asymmetric", "gaussian"])
def test_slope_across_the_tiny_snr_switch(law, gamma):
    # Truncation below is of order η² ~ 1e-10, rounding above of order 1e-15/η ~ 1e-10.
    switch = 1e-5 * min(1.0, gamma)
    below, above = MatrixDenoiser(law, gamma).mmse_slope(switch * np.array([1 - 1e-9, 1 + 1e-9]))
    assert below == pytest.approx(above, abs=1e-8)


@pytest.mark.parametrize("gamma", [0.05, 0.3, 0.9, 1.0, 1.1, 1.7, 20.0])
@pytest.mark.parametrize("law", ["homogeneous", ASYMMETRIC, "four-point"], ids=str)
def test_much_data(law, gamma):
    # η mmse -> 1 - (1-γ)₊²; the correction is 1/η, but η^(-1/2) at γ = 1.
    limit = 1 - max(1 - gamma, 0.0) ** 2
    snr = 1e9
    tolerance = 1e-3 if abs(gamma - 1) < 1e-9 else 1e-5
    assert snr * MatrixDenoiser(law, gamma).mmse(snr) == pytest.approx(limit, rel=tolerance)


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9])
def test_width_one_is_no_special_case(distance):
    snr = np.array([0.1, 3.0, 1e3, 1e6])
    left, middle, right = (MatrixDenoiser("four-point", 1 + x).mmse(snr) for x in (-distance, 0, distance))
    # mmse is once differentiable in γ there: the mean of the neighbours is o(distance) away.
    np.testing.assert_allclose(0.5 * (left + right), middle, rtol=0.05 * distance + 1e-13)


def test_units_with_readout_zero_only_dilute():
    # An atom at 0 of probability 1 - p is a law of width pγ on the rest.
    p, snr = 0.6, np.array([0.05, 0.8, 7.0, 1e4])
    whole = MatrixDenoiser(Discrete([0.0, p**-0.5], [1 - p, p]), 0.5)
    np.testing.assert_allclose(whole.mmse(snr), MatrixDenoiser("homogeneous", 0.5 * p).mmse(snr), rtol=1e-12)


def test_signs_flipped_or_atoms_split_change_nothing():
    snr = np.array([0.05, 0.8, 7.0, 1e4])
    expected = MatrixDenoiser(ASYMMETRIC, 0.3).evaluate(snr)
    flipped = Discrete([-v for v in ASYMMETRIC.values], ASYMMETRIC.probabilities)
    v = ASYMMETRIC.values
    split = Discrete([v[0], v[1], v[2] * (1 - 1e-9), v[2] * (1 + 1e-9)], [0.3, 0.3, 0.2, 0.2], normalise=True)
    for law, rtol in ((flipped, 1e-12), (split, 1e-8)):
        np.testing.assert_allclose(MatrixDenoiser(law, 0.3).evaluate(snr), expected, rtol=rtol)


def test_very_wide_networks_are_gaussian():
    snr = np.array([0.1, 1.0, 30.0])
    mmse, _, slope = MatrixDenoiser("rademacher", 1e9).evaluate(snr)
    np.testing.assert_allclose(mmse, 1 / (1 + snr), rtol=1e-8)
    np.testing.assert_allclose(slope, -1 / (1 + snr) ** 2, rtol=1e-7)


# ---------------------------------------------------------------------------- slope and inverse


@pytest.mark.parametrize("gamma", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_slope_is_the_derivative(law, gamma):
    # In ln η with step 0.003: truncation 1e-19 f⁽⁹⁾, rounding 1e-15/0.003; f⁽⁹⁾ is large near touching bands.
    denoiser = MatrixDenoiser(law, gamma)
    for snr in (0.011, 0.13, 0.37, 5.3, 611.0):
        f = denoiser.recovered if snr < 0.2 else denoiser.mmse
        difference = eighth_order_slope(lambda x, f=f: f(np.exp(x)), math.log(snr), 0.003) / snr
        difference *= -1 if snr < 0.2 else 1
        assert denoiser.mmse_slope(snr) == pytest.approx(difference, rel=3e-9)


@pytest.mark.parametrize(
    ("law", "gamma", "snr"),
    [
        ("uniform", 1.252e-4, 1.23670543e-4),
        ("uniform", 1.252e-4, 5e-4),
        (Discrete([-26.7, -0.87, 1.55], [2.4e-5, 0.863976, 0.136], normalise=True), 0.0083, 6.3e-4),
    ],
)
def test_slope_where_a_band_is_narrow_and_far_out(law, gamma, snr):
    # At the ends of a band derivatives at a fixed eigenvalue diverge: rounding of the ends, relative to their
    # distance from 0, would be felt by its root.
    denoiser, half_width = MatrixDenoiser(law, gamma), 0.05
    series = np.polynomial.Chebyshev.interpolate(
        lambda x: denoiser.log_odds(np.exp(x)), 19, math.log(snr) + half_width * np.array([-1, 1])
    )
    mmse, recovered, slope = denoiser.evaluate(snr)
    rate = -slope * snr / (mmse * recovered)
    assert rate == pytest.approx(series.deriv()(math.log(snr)), rel=1e-9)


@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_inverse_round_trip(law, gamma):
    denoiser = MatrixDenoiser(law, gamma)
    snr = np.array([1e-5, 0.003, 0.3, 4.0, 1e3, 1e6])
    mmse, recovered, _ = denoiser.evaluate(snr)
    np.testing.assert_allclose(denoiser.snr_of(mmse, recovered), snr, rtol=1e-8)
    # From the mmse alone, 1 - mmse is known to ε only.
    assert np.all(np.abs(denoiser.inverse_mmse(mmse) - snr) < 1e-8 * snr + 1e-15)


def test_inverse_at_the_extremes():
    denoiser = MatrixDenoiser(ASYMMETRIC, 0.3)
    assert denoiser.inverse_mmse(1.0) == 0.0
    goal = np.array([1e-14, 1e-9, 1 - 1e-9, 1.0])
    snr = denoiser.inverse_mmse(goal)
    assert snr[-1] == 0 and np.all(np.diff(snr) < 0)
    np.testing.assert_allclose(denoiser.mmse(snr[:3]), goal[:3], rtol=1e-9)
    assert denoiser.inverse_mmse(np.full((2, 2), 0.5)).shape == (2, 2)


@pytest.mark.parametrize("mmse", [0.0, -0.1, 1.0 + 1e-12, math.nan])
def test_inverse_refuses_what_no_snr_gives(mmse):
    with pytest.raises(ValueError, match=r"mmse must lie in \(0, 1\]"):
        MatrixDenoiser("homogeneous", 0.3).inverse_mmse(mmse)


# ---------------------------------------------------------------------------- hard places


@pytest.mark.parametrize(
    ("law", "low", "high"),
    [("homogeneous", 0.1, 20.0), (ASYMMETRIC, 1.0, 40.0)],
    ids=["homogeneous", "asymmetric"],
)
def test_where_bands_touch(law, low, high):
    denoiser = MatrixDenoiser(law, 0.3)
    touching = touching_snr(denoiser, low, high)
    offsets = np.array([-1e-3, -1e-6, -1e-9, -1e-12, 0.0, 1e-12, 1e-9, 1e-6, 1e-3])
    snr = touching * (1 + offsets)
    large, small = mmse_by_both_formulas(denoiser._poles, snr)
    np.testing.assert_allclose(large, small, rtol=1e-12)
    mmse, _, slope = denoiser.evaluate(snr)
    assert np.all(np.isfinite(slope)) and np.all(np.diff(mmse) < 0)
    # Smooth through the point: values on both sides lie on one tangent.
    tangent = mmse[4] + slope[4] * touching * offsets
    np.testing.assert_allclose(mmse[1:-1], tangent[1:-1], rtol=1e-11)
    np.testing.assert_allclose(slope[1:-1], slope[4], rtol=2e-5)
    # 4ι' = mmse across it.
    gained = denoiser.information(snr[-1]) - denoiser.information(snr[0])
    assert gained == pytest.approx(0.25 * mmse[4] * (snr[-1] - snr[0]), rel=1e-5)


EXTREME = EVERY | {
    "rare": RARE,
    "rare neighbour": Discrete([1.0, 1.5], [1 - 1e-6, 1e-6], normalise=True),
    "wide": Discrete([1e-6, 1.0, -1e3], [0.4, 0.5, 0.1], normalise=True),
    "close": Discrete([1.0, 1.0 + 1e-9, -0.5], [0.4, 0.5, 0.1], normalise=True),
}


@pytest.mark.parametrize("gamma", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("law", EXTREME.values(), ids=EXTREME)
def test_extremes_are_finite_and_no_panel_chases_rounding(law, gamma, monkeypatch):
    sizes, nodes = [], Panels.nodes

    def counted(self, band, *more):
        sizes.append(band.size)
        return nodes(self, band, *more)

    monkeypatch.setattr(Panels, "nodes", counted)
    denoiser = MatrixDenoiser(law, gamma)
    snr = np.array([1e-15, 1e-12, 1e-9, 1e-6, 0.02, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15])
    mmse, recovered, slope = denoiser.evaluate(snr)
    information = denoiser.information(snr)
    # At most 800 for each spectrum; halving down to the rounding would make ten thousand.
    assert sum(sizes) < 2000 * snr.size
    assert np.all(np.isfinite([mmse, recovered, slope, information]))
    assert np.all((mmse > 0) & (mmse <= 1)) and np.all(np.diff(mmse[3:]) < 0)
    np.testing.assert_allclose(recovered[:3], snr[:3], rtol=1e-6)
    assert np.all(snr[-3:] * mmse[-3:] < 1 + 1e-9)


@pytest.mark.parametrize(
    ("law", "gamma"),
    [
        (Exponential(length=3.322, size=62), 0.7735),
        (Exponential(length=1.0, size=20), 1.7),
        (Discrete([2.0, 1e-3, 1e-6, -1e-9], [0.2, 0.3, 0.25, 0.25], normalise=True), 0.3),
    ],
)
def test_readouts_over_many_decades(law, gamma, monkeypatch):
    """One band may reach from readouts of size 1 to those of 1e-9, where a must keep its digits.

    As snr → ∞ snr·mmse tends to 1 - (1 - γ)₊² like 1/snr, once v²snr is large for the smallest readout too.
    """
    sizes, nodes = [], Panels.nodes

    def counted(self, anchor, *more):
        sizes.append(anchor.size)
        return nodes(self, anchor, *more)

    monkeypatch.setattr(Panels, "nodes", counted)
    denoiser, snr = MatrixDenoiser(law, gamma), np.geomspace(1e8, 1e36, 29)
    limit = 1 - max(0.0, 1 - gamma) ** 2
    smallest = float(np.min(np.abs(law.values)))
    power = snr * denoiser.mmse(snr)
    assert np.all(np.diff(power) > -4e-15) and np.all(power < limit + 4e-15)
    is_seen = smallest**2 * snr > 1e16
    assert is_seen.any() and power[is_seen] == pytest.approx(limit, rel=1e-14, abs=0)
    assert sum(sizes) < 800 * snr.size  # rounding of a was halved down to before, 4000 each


def any_law(rng):
    """One to 64 atoms over decades, some rare, some nearly equal, some 0; or a continuous law."""
    kind = rng.integers(6)
    if kind < 2:
        return ("uniform", "gaussian")[kind]
    n = int(rng.integers(1, 65 if kind == 2 else 7))
    v = rng.normal(size=n) * 10 ** rng.uniform(-2, 2, n)
    p = rng.dirichlet(np.ones(n)) + 1e-12
    if n > 2:
        v[1], v[2] = v[0] * (1 + 10 ** rng.uniform(-14, -2)), 0.0
        p[0] = 1e-12
    return Discrete(v, p / p.sum(), normalise=True)


@pytest.mark.parametrize("seed", range(24))
def test_the_whole_space(seed):
    rng = np.random.default_rng([14, seed])
    law, gamma = law_of(any_law(rng)), 10 ** rng.uniform(-3, 3)
    denoiser = MatrixDenoiser(law, gamma)
    snr = np.concatenate([[1e-300, 1e-160, 1e-40], np.geomspace(1e-17, 1e33, 51), [1e45, 1e160, 1e300]])
    mmse, recovered, slope = denoiser.evaluate(snr)
    assert np.all((mmse > 0) & (mmse <= 1) & (recovered > 0) & (recovered <= 1) & (slope <= 0))
    assert np.all(mmse[snr > 1e-15] < 1) and np.all(recovered[snr < 1e13] < 1)
    log_odds = np.log(recovered) - np.log(mmse)
    assert np.all(np.diff(log_odds) > 0)
    np.testing.assert_allclose(np.log(denoiser.snr_of(mmse, recovered)), np.log(snr), atol=1e-11)
    # As many eigenvalues as there are units with a readout: η mmse → 1 - (1 - γ)₊².
    share = gamma * (
        1 - dict(zip(law.values, law.probabilities, strict=True)).get(0.0, 0.0)
        if isinstance(law, Discrete)
        else 1.0
    )
    if abs(share - 1) > 0.05:
        limit = share * (2 - share) if share < 1 else 1.0
        assert mmse[-1] * 1e300 == pytest.approx(limit, rel=1e-9)
    # 4 dι/dη = mmse, which decreases: every secant lies between the values at its ends.
    information = denoiser.information(snr)
    secant = 4 * np.diff(information) / np.diff(snr)
    blur = 1 + 1e-13 * information[1:] / np.diff(information)
    assert np.all(secant < mmse[:-1] * blur) and np.all(secant > mmse[1:] / blur)


@pytest.mark.parametrize("law", DISCRETE.values(), ids=DISCRETE)
@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.7])
def test_trapezoidal_rule_and_panels_agree(law, gamma, monkeypatch):
    # Many at once, so that some bands are done by one and some by the other.
    denoiser = MatrixDenoiser(law, gamma)
    snr = np.concatenate(
        [np.geomspace(1e-4, 1e6, 41), np.multiply.outer([0.99, 1 + 1e-5], denoiser.splittings).ravel()]
    )
    both = denoiser.mmse(snr), denoiser.recovered(snr), denoiser.information(snr), denoiser.mmse_slope(snr)
    monkeypatch.setattr(DiscretePoles, "has_whole_bands", False)
    panels = denoiser.mmse(snr), denoiser.recovered(snr), denoiser.information(snr), denoiser.mmse_slope(snr)
    np.testing.assert_allclose(both, panels, rtol=1e-11)
    np.testing.assert_allclose(both[0], denoiser.evaluate(snr)[0], rtol=1e-11)


def test_rare_atoms():
    # The band of the rare atom is a thousandth as wide as the spectrum and still counts.
    denoiser = MatrixDenoiser(RARE, 0.3)
    large, small = mmse_by_both_formulas(denoiser._poles, np.geomspace(1e-2, 1e3, 11))
    np.testing.assert_allclose(large, small, rtol=2e-11)


def test_error_estimate_is_the_difference():
    denoiser = MatrixDenoiser("four-point", 0.7)
    assert 0 <= denoiser.error_estimate(0.3) < 1e-13
    assert denoiser.error_estimate(0.0) == 0.0


def test_many_at_once_equal_one_by_one():
    denoiser = MatrixDenoiser(ASYMMETRIC, 0.3)
    snr = np.geomspace(1e-3, 1e3, 12).reshape(3, 4)
    one_by_one = [[denoiser.mmse(x) for x in row] for row in snr]
    np.testing.assert_allclose(denoiser.mmse(snr), one_by_one, rtol=1e-13)
    np.testing.assert_allclose(denoiser.evaluate(snr)[0], one_by_one, rtol=1e-13)


def test_a_point_on_a_pole_gives_finite_sums():
    """A first guess may lie on one: division by zero before."""
    poles = DiscretePoles(Discrete((-1.2, 0.8), (0.4, 0.6), normalise=True), 0.7)
    for sums in (poles.sums, poles.all_sums):
        assert all(np.all(np.isfinite(s)) for s in sums(poles.where.copy(), np.zeros(2)))


@pytest.mark.parametrize(("ends", "size"), [((-1.05, -0.95), 58), ((-0.25, -0.17), 58), ((-1.05, -0.95), 31)])
def test_many_bands_about_to_split_leave_no_steps(ends, size):
    """A smooth function of ln snr, whatever panels it is integrated on: steps of 1e-11 were left."""
    denoiser = MatrixDenoiser(Linear(55.17, size), 0.04586)
    x = np.linspace(-1, 1, 161)
    log_snr = 0.5 * (ends[1] - ends[0]) * x + 0.5 * (ends[0] + ends[1])
    for values in denoiser.evaluate(np.exp(log_snr)):
        series = np.polynomial.chebyshev.chebfit(x, values, 16)
        rest = values - np.polynomial.chebyshev.chebval(x, series)
        assert np.max(np.abs(rest)) < 1e-13 * np.max(np.abs(values))

"""Readout laws: moments, closed forms against mpmath, quantiles, specs, messages."""

import json
import math
import pickle
import re

import mpmath as mp
import numpy as np
import pytest

import widthwise as ww
from widthwise.ingredients.readouts import READOUTS, Discrete, Gaussian, Uniform, resolve

SKEWED = Discrete([-1.2, 0.4, 1.1], [0.3, 0.3, 0.4], normalise=True)
LAWS = [*(resolve(name) for name in READOUTS), SKEWED]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)

# Near the support, on each side of |z| = cutoff (5 and 9), near the axis and far from it, and far away.
PLACES = [
    *(0.3 + 0.2j, -1.4 + 1e-3j, 1.6 + 1e-8j, 2.5 + 0.5j, 1e-3 + 0.01j, 3.0j),
    *(
        4.99 + 0.01j,
        5.01 + 0.01j,
        4.9j,
        5.1j,
        -8.99 + 0.02j,
        9.01 + 0.02j,
        8.9j,
        9.1j,
        6.3 + 6.3j,
        6.4 + 6.4j,
    ),
    *(40 + 1j, 3e3j),
]


def average(law, f, cuts):
    """E f(v) at 30 digits by tanh-sinh between the cuts."""
    if isinstance(law, Uniform):
        end, density = mp.sqrt(3), lambda v: 1 / (2 * mp.sqrt(3))
    else:
        end, density = mp.mpf(14), mp.npdf
    inside = [mp.mpf(c) for c in cuts if abs(c) < end]
    return mp.quad(lambda v: f(v) * density(v), [-end, *sorted(inside), end])


def closed(law, z):
    """h and h' at 40 digits."""
    with mp.workdps(40):
        z = mp.mpc(z)
        if isinstance(law, Uniform):
            e = mp.sqrt(3)
            m = (mp.log(z + e) - mp.log(z - e)) / (2 * e)
            slope = -1 / (z * z - 3)
        else:
            m = -1j * mp.sqrt(mp.pi / 2) * mp.exp(-z * z / 2) * mp.erfc(-1j * z / mp.sqrt(2))
            slope = 1 - z * m
        return z * z * m - z, 2 * z * m + z * z * slope - 1


# ---------------------------------------------------------------------------- moments


@each_law
def test_unit_second_moment_and_the_others(law):
    v = law.quantiles(200_000)
    assert np.mean(v**2) == pytest.approx(1, abs=1e-4)
    assert np.mean(v) == pytest.approx(law.mean, abs=1e-4)
    assert np.mean(v**3) == pytest.approx(law.third_moment, abs=1e-3)
    assert np.mean(v**4) == pytest.approx(law.fourth_moment, rel=1e-3)
    assert np.max(np.abs(v)) <= law.largest * (1 + 1e-5)


@each_law
def test_draws_have_the_moments(law):
    v = law.sample(np.random.default_rng(3), 200_000)
    for power, exact in ((1, law.mean), (2, 1.0), (3, law.third_moment), (4, law.fourth_moment)):
        sample = v**power
        error = sample.std(ddof=1) / math.sqrt(v.size)
        assert abs(sample.mean() - exact) <= 4 * error + 1e-12


def test_known_moments():
    assert resolve("four-point").fourth_moment == pytest.approx(41 / 25)
    assert resolve("four-point").mean == 0.0
    assert Gaussian().even_moment(3) == 15.0
    assert Uniform().even_moment(2) == pytest.approx(9 / 5)
    assert resolve("homogeneous").mean == 1.0
    assert math.isinf(Gaussian().largest) and Uniform().largest == math.sqrt(3)


def test_quantiles_have_the_right_frequencies():
    v = SKEWED.quantiles(1000)
    assert [int(np.sum(v == x)) for x in SKEWED.values] == [300, 300, 400]
    assert np.all(np.diff(v) >= 0)
    # Also when the frequencies cannot be exact: never off by a whole unit.
    for size in (1, 7, 33):
        counts = np.array([np.sum(SKEWED.quantiles(size) == x) for x in SKEWED.values])
        assert np.all(np.abs(counts - size * np.array(SKEWED.probabilities)) < 1)
    for law in (Gaussian(), Uniform()):
        v = law.quantiles(51)
        assert np.mean(v**2) == pytest.approx(1, abs=1e-13)
        np.testing.assert_allclose(v, -v[::-1], atol=1e-13)


# ---------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("law", [Uniform(), Gaussian()], ids=["uniform", "gaussian"])
@pytest.mark.parametrize("z", PLACES)
def test_weighted_resolvent(law, z):
    h, slope = law.weighted_resolvent(np.array([z]))
    exact, exact_slope = closed(law, z)
    # h = z²m - z cancels: |z|² and |z|⁴ times the rounding of m (wofz: some 1e-15), up to the cutoff.
    loss = min(abs(z), law.cutoff) ** 2
    assert abs(h[0] - complex(exact)) < 6e-15 * (4 + loss) * abs(complex(exact))
    assert abs(slope[0] - complex(exact_slope)) < 6e-15 * (4 + loss**2) * abs(complex(exact_slope))


@pytest.mark.parametrize("law", [Uniform(), Gaussian()], ids=["uniform", "gaussian"])
def test_small_imaginary_parts_are_relatively_accurate(law):
    # The density of the curve in the tails is an imaginary part far below the real one.
    for x in (0.4, 1.1, 1.7):
        z = x + 1e-9j
        exact = closed(law, z)[0]
        value = law.weighted_resolvent(np.array([z]))[0][0]
        assert value.imag == pytest.approx(float(exact.imag), rel=1e-13)
    if isinstance(law, Gaussian):
        for x in (3.0, 6.0, 8.5):
            exact = -math.pi * x**2 * math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
            value = law.weighted_resolvent(np.array([x + 0j]))[0][0]
            assert value.imag == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("law", [Uniform(), Gaussian()], ids=["uniform", "gaussian"])
@pytest.mark.parametrize(
    "z",
    [0.3 + 0.2j, 2.5 + 0.5j, -1.4 + 0.3j, 4.98 + 0.3j, 5.02 + 0.3j, 8.98 + 0.3j, 9.02 + 0.3j, 40 + 1j],
)
def test_log_potential(law, z):
    # ln(z - v) - ln z, each on its principal branch: continuous in the upper half plane.
    with mp.workdps(30):
        w = mp.mpc(z)
        cuts = [*range(-6, 7), z.real, z.real - z.imag, z.real + z.imag]
        exact = complex(average(law, lambda v: mp.log(w - v) - mp.log(w), cuts))
    assert abs(law.log_potential(np.array([z]))[0] - exact) < 2e-14


@pytest.mark.parametrize("law", [Uniform(), Gaussian()], ids=["uniform", "gaussian"])
def test_log_potential_is_a_primitive(law):
    # d/dz E ln(1 - v/z) = m - 1/z = h/z²; central differences with step 1e-4, error 1e-8 of the third slope.
    z, step = np.array(PLACES[:4] + PLACES[6:]), 1e-4j
    slope = (law.log_potential(z + step) - law.log_potential(z - step)) / (2 * step)
    keep = z.imag > 1e-3
    expected = law.weighted_resolvent(z)[0] / z**2
    np.testing.assert_allclose(slope[keep], expected[keep], atol=1e-5)


def test_log_potential_is_quiet_everywhere():
    with np.errstate(all="raise"):
        for law in (Uniform(), Gaussian()):
            law.log_potential(np.array([1e-9 + 1e-9j, 1j, 1e9 + 1j]))


@pytest.mark.parametrize(
    ("law", "z"),
    [
        (Uniform(), 1.8),
        (Uniform(), 4.99),
        (Uniform(), 5.01),
        (Uniform(), 30.0),
        (Gaussian(), 9.0),
        (Gaussian(), 20.0),
    ],
)
def test_outer_slopes(law, z):
    h1, h2 = law.outer_slopes(np.array([z]))
    step = mp.mpf(10) ** -12
    with mp.workdps(40):  # central difference at 40 digits: error 1e-24
        second = (closed(law, z + step)[1].real - closed(law, z - step)[1].real) / (2 * step)
    assert h1[0] == pytest.approx(float(closed(law, z)[1].real), rel=2e-13)
    assert h2[0] == pytest.approx(float(second), rel=2e-12)


# ---------------------------------------------------------------------------- making them


def test_equal_atoms_are_merged():
    law = Discrete([1.0, -1.0, 1.0], [0.25, 0.5, 0.25])
    assert law == resolve("rademacher")
    assert law.values == (-1.0, 1.0) and law.probabilities == (0.5, 0.5)
    assert law.name == "rademacher"


def test_values_of_any_size_are_normalised():
    """Squares of these are beyond all doubles."""
    for size in (1e200, 1e-200):
        law = Discrete([3 * size, 4 * size], [0.5, 0.5], normalise=True)
        assert law.values == pytest.approx(Discrete([3, 4], [0.5, 0.5], normalise=True).values, rel=1e-14)
        with pytest.raises(ValueError, match=re.escape(f"multiply the values by {1 / size:g}")):
            Discrete([size], [1.0])


def test_values_that_are_as_good_as_none_are_refused():
    with pytest.raises(ValueError, match=r"at least 1e-30 in size; got -1\.41.*e-31; write 0 for"):
        Discrete([1.0, -1e-31, 1e-31], [0.5, 0.25, 0.25], normalise=True)
    assert 0.0 in Discrete([1.0, 0.0], [0.5, 0.5], normalise=True).values
    problem = ww.Problem("relu", readouts=Discrete([1.0, -1e-29], [0.4, 0.6], normalise=True), gamma=0.3)
    none = ww.Problem("relu", readouts=Discrete([1.0, 0.0], [0.4, 0.6], normalise=True), gamma=0.3)
    small, without = (ww.solve(p, 1.7) for p in (problem, none))
    assert small.excess_error == pytest.approx(without.excess_error, rel=1e-12)


def test_normalise():
    law = Discrete([3.0, 4.0], [0.5, 0.5], normalise=True)
    assert law.moment(2) == pytest.approx(1, abs=1e-15)
    assert law.values[1] / law.values[0] == pytest.approx(4 / 3)
    assert resolve("3,4@0.5,0.5", normalise=True) == law
    assert resolve({"values": [3, 4], "probabilities": [0.5, 0.5]}, normalise=True) == law


def test_wrong_second_moment_says_by_what_factor():
    with pytest.raises(ValueError, match=r"second moment 1; got 12\.5; multiply the values by 0\.2828427125"):
        Discrete([3.0, 4.0], [0.5, 0.5])
    factor = 0.2828427125
    assert Discrete([3 * factor, 4 * factor], [0.5, 0.5]).name == "discrete"


@each_law
def test_spec_round_trip(law):
    again = resolve(json.loads(json.dumps(law.spec)))
    assert again == law and hash(again) == hash(law)
    assert pickle.loads(pickle.dumps(law)) == law


@each_law
def test_repr_pastes_back(law):
    import widthwise.ingredients.readouts as readouts

    assert eval(repr(law), {"readouts": readouts}) == law  # the text is our own


def test_names_and_text():
    assert resolve("Four_Point") is resolve("four-point")
    assert resolve(" -1, 1 @ 0.5, 0.5 ") == resolve("rademacher")
    assert resolve(SKEWED) is SKEWED


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Discrete([1.0], [0.5]), "sum to 1; got 0.5; divide"),
        (lambda: Discrete([1.0, 2.0], [1.0]), "as many values as probabilities"),
        (lambda: Discrete([], []), "at least one"),
        (lambda: Discrete([1.0, math.nan], [0.5, 0.5]), "must be finite"),
        (lambda: Discrete([1.0, 1.0], [1.5, -0.5]), "must be > 0; got -0.5"),
        (lambda: Discrete([0.0], [1.0]), "not all be 0"),
        (lambda: Discrete([[1.0]], [[1.0]]), "as many values"),
        (lambda: resolve("rademaker"), "did you mean 'rademacher'"),
        (lambda: resolve("1,x@0.5,0.5"), "cannot read the numbers"),
        (lambda: resolve("1,1@0.5;0.5"), "cannot read the numbers"),
        (lambda: resolve({"values": [1.0]}), "lacks probabilities"),
        (lambda: resolve(3.0), "must be a name"),
        (lambda: resolve("zzz"), "choose from homogeneous; rademacher"),
    ],
)
def test_messages(make, words):
    with pytest.raises(ValueError) as caught:
        make()
    assert words in str(caught.value)


def test_laws_made_again_agree_to_the_last_digit():
    # Probabilities that sum to 1 but for rounding must be kept as they are.
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(2, 65))
        law = Discrete(rng.normal(size=n), rng.dirichlet(np.ones(n)), normalise=True)
        assert Discrete(law.values, law.probabilities) == law
        assert resolve(law.spec) == law


@pytest.mark.parametrize("law", ["gaussian", "uniform", "homogeneous", "rademacher"])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_quantiles_have_second_moment_one_also_if_there_are_few(law, size):
    v = resolve(law).quantiles(size)
    assert np.all(np.isfinite(v)) and np.mean(v**2) == pytest.approx(1.0, rel=1e-14)


def test_sizes_that_are_told_apart():
    law = ww.readouts.Discrete(
        [-1.0, 1.0 + 6e-8, 1.0 + 1.2e-7, 0.3, 0.0], [0.2, 0.3, 0.1, 0.3, 0.1], normalise=True
    )
    v, p = np.array(law.told_apart), np.array(law.probabilities)
    sizes = np.unique(np.abs(v))
    # From the largest down: what is within 1e-7 of it is one size, with the same sum of squares.
    assert sizes.size == 4 and np.all(np.sign(v) == np.sign(law.values))
    assert np.abs(v / np.where(v == 0, 1, law.values))[v != 0] == pytest.approx(1, abs=1e-7)
    assert p @ v**2 == pytest.approx(1, abs=1e-15)
    assert ww.readouts.resolve("four-point").told_apart == ww.readouts.resolve("four-point").values


def test_features_are_all_told_apart():
    """Of many sizes each is counted, however close."""
    law = ww.readouts.Features(1 + 1e-8 * np.arange(17))
    assert np.unique(law.told_apart).size == 17
    assert np.unique(ww.readouts.Features(1 + 1e-8 * np.arange(10)).told_apart).size == 1

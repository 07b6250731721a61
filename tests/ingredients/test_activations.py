"""Activations: Table 1 of the paper, thirty-digit references, closed forms against quadrature, identities."""

import math
import pickle

import mpmath
import numpy as np
import pytest

from widthwise.ingredients.activations import ACTIVATIONS, Activation, activation
from widthwise.ingredients.gaussian_pairs import PairAverage
from widthwise.ingredients.kernels import TabulatedKernel

EVERY = [
    *("relu", "leaky-relu(0.1)", "elu", "softplus", "gelu", "tanh", "erf", "sigmoid", "sin", "hard-tanh"),
    *(
        "sigma2",
        "sigma3",
        "he7",
        "tanh(2*x)",
        "max(x-0.3,0)+abs(x+1)",
        "tanh(20*x)",
        "exp(0.7*x)",
        "max(x,0)**2",
    ),
]


def hand_made_bend(x):
    return np.where(x > 0.37, 2 * x, x + 0.37) + 0.2 * np.sin(x)


# ---------------------------------------------------------------------------- coefficients


def test_table_of_the_paper():
    relu, elu, steep = activation("relu"), activation("elu"), activation("tanh(2*x)")
    r = 1 / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(relu.hermite[:5], [r, 0.5, r, 0, -r], atol=1e-15)
    assert relu.second_moment == pytest.approx(0.5, abs=1e-15)
    np.testing.assert_allclose(elu.hermite[:5], [0.16052, 0.76158, 0.26158, -0.13736, -0.13736], atol=5.1e-6)
    # Printed as 0.64494; it is 1 + e^2 Phi(-2) - 2 e^(1/2) Phi(-1) = 0.6449454, cut off and not rounded.
    exact = 1 + math.exp(2) * math.erfc(math.sqrt(2)) / 2 - math.exp(0.5) * math.erfc(math.sqrt(0.5))
    assert elu.second_moment == pytest.approx(exact, abs=1e-14)
    assert math.floor(elu.second_moment * 1e5) == 64494
    np.testing.assert_allclose(steep.hermite[:5], [0, 0.72948, 0, -0.61398, 0], atol=5.1e-6)
    assert steep.second_moment == pytest.approx(0.63526, abs=5.1e-6)


REFERENCE = {
    "elu": (lambda x: x if x > 0 else mpmath.expm1(x), [0]),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), []),
    "tanh(2*x)": (lambda x: mpmath.tanh(2 * x), [0]),
    "hard-tanh": (lambda x: max(min(x, mpmath.mpf(1)), mpmath.mpf(-1)), [-1, 1]),
    "tanh(20*x)": (lambda x: mpmath.tanh(20 * x), [-0.1, 0, 0.1]),
}


@pytest.mark.slow
@pytest.mark.parametrize("spec", REFERENCE)
def test_coefficients_against_thirty_digits(spec):
    function, breaks = REFERENCE[spec]
    levels = (0, 1, 2, 3, 6, 11)
    found = activation(spec).hermite_coefficients(11)
    with mpmath.workdps(30):
        edges = sorted({-14, -7, -3, -1, 1, 3, 7, 14, *breaks})
        for level in levels:
            exact = mpmath.quad(lambda z: function(z) * _he(level, z) * mpmath.npdf(z), edges)  # noqa: B023
            assert abs(found[level] - exact) < 1e-13 * math.sqrt(math.factorial(level))


def _he(level, z):
    below, value = mpmath.mpf(0), mpmath.mpf(1)
    for order in range(level):
        below, value = value, z * value - order * below
    return value


def test_polynomials_have_exact_coefficients():
    np.testing.assert_allclose(activation("quadratic").hermite[:4], [1, 0, 2, 0], atol=1e-14)
    np.testing.assert_allclose(activation("he7").hermite_coefficients(9)[7], math.factorial(7), rtol=1e-13)
    np.testing.assert_allclose(activation("sigma3").hermite[:5], [0, 0, math.sqrt(2), 1, 0], atol=1e-14)
    assert activation("he30").second_moment == pytest.approx(math.factorial(30), rel=1e-12)
    for spec in ("quadratic", "linear", "2.5", "3*x-1"):
        flat = activation(spec)
        assert flat.tail_kernel(np.array([0.3, 1.0])).tolist() == [0.0, 0.0]
        assert float(flat.tail_kernel_slope(1.0)) == 0.0
        assert float(flat.tail_kernel_gap(0.2)) == 0.0


def test_order_is_limited():
    assert activation("relu").hermite_coefficients(150).shape == (151,)
    with pytest.raises(ValueError, match="between 0 and 150"):
        activation("relu").hermite_coefficients(151)


# ---------------------------------------------------------------------------- the kernel against references


SLOPES = {
    "elu": lambda x: mpmath.mpf(1) if x > 0 else mpmath.exp(x),
    "softplus": lambda x: 1 / (1 + mpmath.exp(-x)),
    "tanh(2*x)": lambda x: 2 * mpmath.sech(2 * x) ** 2,
    "hard-tanh": lambda x: mpmath.mpf(abs(x) < 1),
}


def _rule(function, edges):
    """Gauss–Legendre with 24 nodes on each interval, in the working precision of mpmath."""
    rule = mpmath.calculus.quadrature.GaussLegendre(mpmath.mp).get_nodes(-1, 1, 4, mpmath.mp.prec)
    edges = sorted({mpmath.mpf(edge) for edge in edges})
    total = mpmath.mpf(0)
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        half = (high - low) / 2
        total += half * mpmath.fsum(w * function(low + half * (1 + node)) for node, w in rule)
    return total


def _mp_pair(function, breaks, gap):
    """E[f(y) f(z)] at correlation 1 - gap, with y, z = c u ± s v cut at the kinks."""
    c, s = mpmath.sqrt(1 - gap / 2), mpmath.sqrt(gap / 2)

    def inner(v):
        cuts = [(b + e * s * v) / c for b in breaks for e in (-1, 1)]
        edges = [*range(-10, 11, 2), *[cut for cut in cuts if abs(cut) < 10]]
        return _rule(lambda u: function(c * u + s * v) * function(c * u - s * v) * mpmath.npdf(u), edges)

    crossings = [(a - b) / (2 * s) for a in breaks for b in breaks if 0 < (a - b) / (2 * s) < 10]
    return 2 * _rule(lambda v: inner(v) * mpmath.npdf(v), [0, 2, 4, 6, 10, *crossings])


def _mp_tail(spec, gap_text):
    """g and g' at 1 - gap."""
    function, breaks = REFERENCE[spec]
    with mpmath.workdps(22):
        gap = mpmath.mpf(gap_text)
        x = 1 - gap
        edges = [*range(-12, 13, 1), *breaks]
        mu = [_rule(lambda z: function(z) * _he(k, z) * mpmath.npdf(z), edges) for k in range(3)]  # noqa: B023
        value = _mp_pair(function, breaks, gap) - mu[0] ** 2 - mu[1] ** 2 * x - mu[2] ** 2 * x**2 / 2
        return float(value), float(_mp_pair(SLOPES[spec], breaks, gap) - mu[1] ** 2 - mu[2] ** 2 * x)


# (activation, gap, g(1 - gap), g'(1 - gap)) as printed by _mp_tail, ten to twenty seconds each.
TAIL = [
    ("elu", "0.7", 9.277385216543623e-05, 0.0009594560857673752),
    ("elu", "0.1", 0.00333936688857073, 0.0134873697472176),
    ("elu", "0.001", 0.004945838019832502, 0.0195822567803143),
    ("elu", "1e-8", 0.004965467147631313, 0.019677302811257957),
    ("softplus", "0.7", 1.3182171562073453e-06, 1.760453617001368e-05),
    ("softplus", "0.1", 0.00010966676672527952, 0.0004950117196980763),
    ("softplus", "0.001", 0.0001677046472772739, 0.0006846713861788162),
    ("softplus", "1e-8", 0.00016839038222498474, 0.000686813013721544),
    ("tanh(2*x)", "0.7", 0.0017478882698223693, 0.01783648094311554),
    ("tanh(2*x)", "0.1", 0.06532458596335658, 0.2920512174863854),
    ("tanh(2*x)", "0.001", 0.10263363808585696, 0.48859623381058115),
    ("tanh(2*x)", "1e-8", 0.10312376039721363, 0.4916642730939121),
    ("hard-tanh", "0.7", 0.0010732380619945833, 0.010863828379056662),
    ("hard-tanh", "0.1", 0.03408690836792955, 0.1302950070533732),
    ("hard-tanh", "0.001", 0.049782739815227725, 0.20799043347032026),
    ("hard-tanh", "1e-8", 0.04999360612125756, 0.2165972459902342),
]


@pytest.mark.parametrize(("spec", "gap", "value", "slope"), TAIL)
def test_kernel_against_mpmath(spec, gap, value, slope):
    made = activation(spec)
    x = 1 - float(gap)
    assert float(made.tail_kernel(x)) == pytest.approx(value, abs=1e-13)
    assert float(made.tail_kernel_slope(x)) == pytest.approx(slope, abs=1e-13)
    assert float(made.tail_kernel_gap_slope(float(gap))) == pytest.approx(slope, abs=1e-13)


@pytest.mark.slow
def test_reference_values_can_be_remade():
    spec, gap, value, slope = TAIL[14]
    assert _mp_tail(spec, gap) == pytest.approx((value, slope), abs=1e-15)


CLOSED = {
    "relu": lambda x: (
        (np.sqrt(1 - x * x) + x * (np.pi - np.arccos(x))) / (2 * np.pi)
        - 1 / (2 * np.pi)
        - x / 4
        - x * x / (4 * np.pi)
    ),
    "erf": lambda x: 2 / np.pi * (np.arcsin(2 * x / 3) - 2 * x / 3),
    "sin": lambda x: np.exp(-1) * (np.sinh(x) - x),
    "sigma3": lambda x: x**3 / 6,
    "he7": lambda x: 5040 * x**7,
    "sin(30*x)": lambda x: 0.5 * (np.exp(900 * (x - 1)) - np.exp(-900 * (x + 1))),
    "sign(x)": lambda x: 2 / np.pi * (np.arcsin(x) - x),
}


@pytest.mark.parametrize("spec", CLOSED)
def test_kernel_against_closed_forms(spec):
    made = activation(spec)
    x = np.array([-1.0, -0.93, -0.4, 0.31, 0.4999, 0.5001, 0.83, 0.999, 1 - 1e-9, 1.0])
    np.testing.assert_allclose(made.tail_kernel(x), CLOSED[spec](x), rtol=0, atol=3e-14 * made.second_moment)


@pytest.mark.parametrize("spec", ["relu", "leaky-relu(0.1)", "erf", "sin", "sigma3", "tanh(2*x)", "softplus"])
@pytest.mark.parametrize("mirrored", [False, True])
def test_quadrature_agrees_with_the_quicker_route(spec, mirrored):
    made = activation(spec)
    theta = np.array([1e-9, 1e-4, 0.03, 0.4, np.pi / 3])
    x = (-1 if mirrored else 1) * np.cos(theta)
    quadrature = made._pair_slope((), mirrored)
    assert isinstance(quadrature, PairAverage)
    scale = float(made.tail_kernel_slope(1.0))
    np.testing.assert_allclose(quadrature(theta), made.tail_kernel_slope(x), atol=2e-13 * scale)


def test_jumps_add_dirac_masses():
    # For a step at k,  dE[step step]/dx  is the density of the pair at (k, k).
    made, place = activation("step(x-0.4)+relu(x)"), 0.4
    steps, bends = activation("step(x-0.4)"), activation("relu")
    x = np.array([-0.9, 0.2, 0.8, 0.9999])
    density = np.exp(-(place**2) / (1 + x)) / (2 * np.pi * np.sqrt(1 - x * x))
    expected = density - steps.hermite[1] ** 2 - steps.hermite[2] ** 2 * x
    np.testing.assert_allclose(steps.tail_kernel_slope(x), expected, rtol=1e-11, atol=1e-13)
    assert np.isinf(made.tail_kernel_slope(1.0)) and np.isinf(made.tail_kernel_curvature(1.0))
    # Polarisation: what is neither step nor bend alone is their cross term, symmetric and even in sign.
    other = activation("step(x-0.4)-relu(x)")
    total = made.tail_kernel(x) + other.tail_kernel(x)
    np.testing.assert_allclose(total, 2 * (steps.tail_kernel(x) + bends.tail_kernel(x)), atol=1e-13)


TINY = np.geomspace(1e-300, 0.9, 61)


def test_sign_near_one_against_its_closed_form():
    # E[sign sign] = (2/pi) arcsin(x), and mu_1^2 = 2/pi, mu_2 = 0.
    made = activation("sign(x)")
    width = np.sqrt(TINY * (2 - TINY))  # sqrt(1 - x^2)
    slope = 2 / np.pi * (1 / width - 1)
    np.testing.assert_allclose(made.tail_kernel_gap_slope(TINY), slope, rtol=3e-13, atol=1e-13)
    drop = 2 / np.pi * (2 * np.arcsin(np.sqrt(TINY / 2)) - TINY)
    np.testing.assert_allclose(made.tail_kernel_gap(TINY), drop, rtol=3e-13)
    gap, width = TINY[TINY > 1e-200], width[TINY > 1e-200]  # where width^3 does not underflow
    bend = 2 / np.pi * gap * (1 - gap) / width**3
    np.testing.assert_allclose(made.tail_kernel_gap_bend(gap), bend, rtol=3e-12)
    np.testing.assert_allclose(made.tail_kernel_gap_curvature(gap), bend / gap, rtol=3e-12)
    np.testing.assert_allclose(made.tail_kernel_gap_bend(1e-300), 0.5 * slope[0], rtol=3e-12)
    for function in (made.tail_kernel_gap_slope, made.tail_kernel_gap_curvature, made.tail_kernel_gap_bend):
        assert function(0.0) == np.inf
    assert made.tail_kernel_gap(0.0) == 0 and np.isinf(made.tail_kernel_gap_curvature(1e-250))


@pytest.mark.parametrize(
    "spec",
    ["step(x-0.4)+relu(x)", "sign(x-0.3)+0.2*x", "max(sign(x+0.7),tanh(2*x))", "relu", "elu", "tanh(3*x)"],
)
def test_near_one_the_gap_its_slope_and_its_curvature_are_derivatives(spec):
    made = activation(spec)
    # In ln(gap) with step 0.02, of eighth order: 1e-14 or rounding 1e-15/0.02 of each function's own size.
    gap, h = np.array([1e-280, 3e-120, 1e-17, 2e-8, 0.011, 0.37])[:, None], 0.02
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]) / h
    points = gap * np.exp(h * np.arange(-4, 5))
    slope, bend = made.tail_kernel_gap_slope(gap), made.tail_kernel_gap_bend(gap)
    drop_rate = (made.tail_kernel_gap(points) @ weights)[:, None]
    np.testing.assert_allclose(drop_rate, gap * slope, rtol=1e-11)
    fall = -(made.tail_kernel_gap_slope(points) @ weights)[:, None]
    assert np.all(np.abs(fall - bend) < 1e-9 * bend + 1e-12 * slope)
    curved = gap > 1e-200
    np.testing.assert_allclose(
        made.tail_kernel_gap_curvature(gap[curved]) * gap[curved], bend[curved], rtol=1e-13
    )
    assert np.all(np.diff(made.tail_kernel_gap_slope(TINY)) <= 1e-14 * slope.max())


@pytest.mark.parametrize("spec", ["step(x-0.4)", "sign(x-0.3)+0.2*x"])
def test_a_jump_without_mirror_image_is_no_matter_at_minus_one(spec):
    # E[sigma(y) sigma(-y + small)]: the slope is that of the density of the pair at (k, k), 0 at x = -1.
    made = activation(spec)
    expected = -(made.hermite[1] ** 2) + made.hermite[2] ** 2
    if spec.startswith("sign"):
        # sigma' = 2 delta(x - 0.3) + 0.2
        expected += 2 * 0.2 * 2 * math.exp(-(0.3**2) / 2) / math.sqrt(2 * math.pi) + 0.2**2
    np.testing.assert_allclose(made.tail_kernel_slope([-1.0, -1 + 1e-14]), expected, rtol=1e-12)


# ---------------------------------------------------------------------------- identities


@pytest.mark.parametrize("spec", [*EVERY, "sign(x)", "step(x-0.4)+relu(x)", "x**2+0.001*abs(x-0.3)"])
def test_parseval_at_one(spec):
    made = activation(spec)
    mu = made.hermite
    total = float(made.tail_kernel(1.0)) + mu[0] ** 2 + mu[1] ** 2 + mu[2] ** 2 / 2
    assert total == pytest.approx(made.second_moment, rel=1e-13)


@pytest.mark.parametrize("spec", EVERY)
def test_slope_and_curvature_are_derivatives(spec):
    made = activation(spec)
    x = np.array([-0.93, -0.61, -0.3, 0.07, 0.44, 0.52, 0.77, 0.97])
    h = 1e-4  # fourth order: truncation 1e-16 g^(5), rounding 1e-12
    for lower, upper in (
        (made.tail_kernel, made.tail_kernel_slope),
        (made.tail_kernel_slope, made.tail_kernel_curvature),
    ):
        difference = (8 * (lower(x + h) - lower(x - h)) - lower(x + 2 * h) + lower(x - 2 * h)) / (12 * h)
        scale = float(np.max(np.abs(upper(x))))
        np.testing.assert_allclose(upper(x), difference, atol=2e-9 * scale)


@pytest.mark.parametrize("spec", EVERY)
def test_positive_increasing_and_continuous_at_the_switch(spec):
    made = activation(spec)
    x = np.linspace(0, 1, 501)
    assert np.all(made.tail_kernel(x) >= 0)
    assert np.all(np.diff(made.tail_kernel(x)) >= 0)
    for end in (-0.5, 0.5):
        pair = np.array([np.nextafter(end, 0), np.nextafter(end, 2 * end)])
        for function in (made.tail_kernel, made.tail_kernel_slope, made.tail_kernel_curvature):
            inside, outside = function(pair)
            assert outside == pytest.approx(inside, rel=1e-9, abs=1e-13 * made.second_moment)


@pytest.mark.parametrize("spec", EVERY)
def test_small_overlaps_keep_relative_accuracy(spec):
    made = activation(spec)
    x = np.array([1e-9, 1e-5, 1e-2])
    mu = made.hermite_coefficients(24)
    series = sum(mu[k] ** 2 / math.factorial(k) * x**k for k in range(3, 25))
    np.testing.assert_allclose(made.tail_kernel(x), series, rtol=1e-12, atol=1e-60)


@pytest.mark.parametrize("spec", EVERY)
def test_gap_is_the_difference_where_that_is_accurate(spec):
    made = activation(spec)
    gap = np.array([1.0, 0.8, 0.5, 0.3, 0.01])
    difference = made.tail_kernel(1.0) - made.tail_kernel(1 - gap)
    np.testing.assert_allclose(made.tail_kernel_gap(gap), difference, atol=1e-13 * made.second_moment)


def test_gap_of_relu_to_full_relative_accuracy():
    made = activation("relu")
    with mpmath.workdps(80):
        for gap in ("1e-30", "1e-17", "3e-9", "0.002", "0.3", "0.7"):
            x = 1 - mpmath.mpf(gap)
            pair = lambda t: (mpmath.sqrt(1 - t * t) + t * (mpmath.pi - mpmath.acos(t))) / (2 * mpmath.pi)  # noqa: E731
            drop = pair(mpmath.mpf(1)) - pair(x) - (1 - x) / 4 - (1 - x * x) / (4 * mpmath.pi)
            assert float(made.tail_kernel_gap(float(gap))) == pytest.approx(float(drop), rel=1e-12)


@pytest.mark.parametrize("spec", EVERY)
def test_tiny_gaps_follow_the_slope(spec):
    # g(1) - g(1 - gap) = gap g'(1) up to a relative correction of order sqrt(gap)
    made = activation(spec)
    gap = np.array([1e-30, 1e-26])
    expected = gap * made.tail_kernel_slope(1.0)
    np.testing.assert_allclose(made.tail_kernel_gap(gap), expected, rtol=1e-11)


def test_curvature_at_one_knows_the_kinks():
    assert np.isinf(activation("relu").tail_kernel_curvature(1.0))
    assert np.isinf(activation("hard-tanh").tail_kernel_curvature(1.0))
    # sigma'' of elu jumps but is square integrable:  g''(1) = E sigma''^2 - mu_2^2,
    # with E[e^{2z}; z < 0] = e^2 Phi(-2)
    elu = activation("elu")
    exact = math.exp(2) * 0.5 * math.erfc(math.sqrt(2)) - elu.hermite[2] ** 2
    assert float(elu.tail_kernel_curvature(1.0)) == pytest.approx(exact, abs=1e-9)
    for rate in (2, 20):  # from the series; from the table of a quadrature
        steep = activation(f"tanh({rate}*x)")
        x = steep._panels.nodes
        second = -2 * rate**2 * np.tanh(rate * x) / np.cosh(rate * x) ** 2
        exact = steep._panels.mean(second**2) - steep.hermite[2] ** 2
        assert float(steep.tail_kernel_curvature(1.0)) == pytest.approx(exact, rel=1e-8)


def test_domain_of_the_kernel():
    made = activation("relu")
    for bad in (1.0 + 2e-12, -1.1, np.nan):
        with pytest.raises(ValueError, match="between -1 and 1"):
            made.tail_kernel(np.array([0.5, bad]))
    for bad in (-1e-3, -2e-12, 1.0 + 2e-12, np.nan):
        for function in (
            made.tail_kernel_gap,
            made.tail_kernel_gap_slope,
            made.tail_kernel_gap_curvature,
            made.tail_kernel_gap_bend,
        ):
            with pytest.raises(ValueError, match="gap must be between 0 and 1"):
                function(bad)
    # Rounding may carry an overlap past its ends.
    assert made.tail_kernel(1 + 4e-16) == made.tail_kernel(1.0)
    assert made.tail_kernel_slope(-1 - 9e-13) == made.tail_kernel_slope(-1.0)
    assert made.tail_kernel_gap(1 + 2.3e-16) == made.tail_kernel_gap(1.0)
    assert made.tail_kernel_gap_slope(-3e-16) == made.tail_kernel_gap_slope(0.0)
    assert made.tail_kernel(np.full((2, 3), 0.7)).shape == (2, 3)
    assert made.tail_kernel_gap(np.full((2, 3), 0.7)).shape == (2, 3)


# ---------------------------------------------------------------------------- the object


def test_every_name_round_trips():
    for name in (*ACTIVATIONS, "leaky-relu(0.123456789)", "he9", "tanh(2*x)", "max( x, 0 )"):
        made = activation(name)
        again = activation(made.spec)
        assert again == made and hash(again) == hash(made)
        assert eval(repr(made), {"activation": activation}) == made
        assert pickle.loads(pickle.dumps(made)) == made
        assert activation(made) is made


def test_equality():
    assert activation("Leaky_ReLU(0.01)") == activation("leaky-relu")
    assert activation("tanh( 2*x )") == activation("tanh(2*x)")
    assert activation("tanh") != activation("tanh(2*x)")
    assert activation(np.tanh) == activation(np.tanh)
    assert activation(np.tanh) != activation(np.sin)
    assert activation("tanh") != "tanh"
    assert isinstance(activation("relu"), Activation)


@pytest.mark.parametrize(
    "name", ["relu", "leaky-relu", "elu", "softplus", "gelu", "hard-tanh", "sigma3", "erf"]
)
def test_derivative_of_names(name):
    made = activation(name)
    x, h = np.array([-1.7, -0.31, 0.42, 2.3]), 1e-4
    difference = (8 * (made(x + h) - made(x - h)) - made(x + 2 * h) + made(x - 2 * h)) / (12 * h)
    np.testing.assert_allclose(made.derivative(x), difference, atol=1e-10)


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        (hand_made_bend, "max(x-0.37,0)+x+0.37+0.2*sin(x)"),
        (lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), "elu"),
        (np.tanh, "tanh"),
        (math.atan, "atan(x)"),  # of one number only
        (lambda x: np.sign(x - 0.3), "sign(x-0.3)"),
    ],
)
def test_callables_match_formulas(function, formula):
    bare, exact = activation(function), activation(formula)
    assert bare.spec is None
    assert bare.kinks == pytest.approx(exact.kinks, abs=1e-6)
    x = np.linspace(-0.98, 0.98, 15)
    np.testing.assert_allclose(bare.tail_kernel(x), exact.tail_kernel(x), atol=1e-12)
    np.testing.assert_allclose(bare.tail_kernel_slope(x), exact.tail_kernel_slope(x), atol=1e-11)
    x = np.array([-14.0, -2.1, 0.11, 3.3])
    np.testing.assert_allclose(bare.derivative(x), exact.derivative(x), atol=1e-9)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("rleu", r"unknown activation 'rleu'; did you mean 'relu'"),
        ("nonsense-name", "choose from relu"),
        ("he1", "degree N between 2 and 50"),
        ("he99", "degree N between 2 and 50"),
        ("leaky-relu(1.2.3)", "takes the slope"),
        ("log(x)", "at x = 0"),
        ("1/x", "at x = 0"),
        ("1/(x-0.123)", "at x = 0.123"),
        ("sqrt(x)", "must be finite"),
        ("log(x+20)/(x-2)", "at x = 2"),
        ("exp(x**2/4)", "grows too fast"),
        ("exp(x**2)", "grows too fast"),
        ("exp(x**4)", "must be finite"),
        ("tanh(2*x", "at position 9"),
        (3.5, "activation must be a name"),
        (lambda x: x / 0.0, "must be finite"),
    ],
)
def test_refusals(spec, reason):
    with pytest.raises(ValueError, match=reason):
        activation(spec)


def test_noise_is_refused_not_integrated():
    rng = np.random.default_rng(3)
    with pytest.raises(ValueError, match="too rough or noisy"):
        activation(lambda x: np.tanh(x) + 1e-3 * rng.standard_normal(np.shape(x)))


def test_routes():
    # One representative of each: closed form, long series, quadrature; short series has no table.
    for spec in ("relu", "tanh(2*x)", "hard-tanh"):
        assert isinstance(activation(spec)._kernel, TabulatedKernel)
    assert not isinstance(activation("sigma3")._kernel, TabulatedKernel)

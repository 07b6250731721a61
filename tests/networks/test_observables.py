"""Observables: exact averages against quadrature and fresh data, and the matching of units."""

import numpy as np
import pytest

import widthwise as ww
from widthwise.ingredients.activations import activation
from widthwise.ingredients.scaled_kernel import scaled_kernel
from widthwise.networks import Observer, sample_instance
from widthwise.networks.observables import Groups, fresh_error, match_units, overlap_powers


def pair_average(function, s, t, rho, kinks=()):
    """E σ(s y) σ(t z) by nested Gauss–Legendre panels that end at the kinks: slow and obvious."""
    nodes, weights = np.polynomial.legendre.leggauss(24)

    def average(integrand, cuts):
        edges = np.unique(np.concatenate([np.linspace(-9, 9, 37), [c for c in cuts if abs(c) < 9]]))
        half = np.diff(edges)[:, None] / 2
        z = (edges[:-1, None] + half * (1 + nodes)).ravel()
        return np.sum(integrand(z) * np.exp(-(z**2) / 2) * (half * weights).ravel()) / np.sqrt(2 * np.pi)

    root = np.sqrt(1 - rho**2)

    def inner(y):
        cuts = [(k / t - rho * y) / root for k in kinks]
        return average(lambda z: function(t * (rho * y + root * z)), cuts)

    return average(lambda y: function(s * y) * np.array([inner(one) for one in y]), [k / s for k in kinks])


@pytest.mark.parametrize(
    ("spec", "accuracy"),
    [
        ("relu", 1e-12),
        ("leaky-relu(0.2)", 1e-12),
        ("sigma3", 1e-12),
        ("tanh(2*x)", 1e-10),
        ("softplus", 1e-12),
        ("elu", 1e-9),  # what the tail of the series adds beyond its power law
        ("hard-tanh", 5e-7),
        ("max(x-0.5,0)", 5e-7),
    ],
)
@pytest.mark.parametrize(("s", "t", "rho"), [(1.1, 0.8, 0.5), (0.9, 0.95, -0.97), (1.2, 1.21, 0.995)])
def test_kernel_of_unequal_norms(spec, accuracy, s, t, rho):
    act = activation(spec)
    value = scaled_kernel(act)(np.array([s]), np.array([t]), np.array([[rho]]))[0, 0]
    assert value == pytest.approx(pair_average(act, s, t, rho, act.kinks), abs=accuracy)


def test_kernel_of_unit_norms_is_that_of_the_theory():
    act = activation("tanh(2*x)")
    x = np.linspace(-0.9, 0.9, 7)
    value = scaled_kernel(act)(np.ones(1), np.ones(7), x[None])[0]
    mu = act.hermite
    assert np.allclose(
        value, mu[0] ** 2 + mu[1] ** 2 * x + mu[2] ** 2 * x**2 / 2 + act.tail_kernel(x), atol=1e-12
    )


@pytest.mark.parametrize("spec", ["relu", "tanh(2*x)", "elu", "sigma3"])
def test_population_error_is_that_on_fresh_data(spec):
    inst = sample_instance(
        ww.Problem(spec, readouts="four-point", gamma=0.6, channel=0.2), d=30, alpha=1.0, seed=3
    )
    rng = np.random.default_rng(0)
    w = 0.8 * inst.weights + 0.5 * rng.standard_normal(inst.weights.shape)
    x, _ = inst.test_set(40_000)
    squares = (inst.outputs(w, x) - inst.outputs(inst.weights, x)) ** 2
    seen = Observer(inst)(w)
    error = squares.std() / np.sqrt(squares.size)
    assert abs(seen["gibbs_excess_error"] - squares.mean()) < 4 * error
    assert seen["excess_error"] == seen["gibbs_excess_error"] / 2
    with_noise = fresh_error(inst, w)
    assert with_noise == pytest.approx(seen["gibbs_excess_error"] + 0.2, rel=0.1)


def test_teacher_is_perfect():
    inst = sample_instance(ww.Problem("relu", readouts="gaussian", gamma=0.8), d=25, alpha=1.0, seed=1)
    seen = Observer(inst)(inst.weights)
    assert seen["gibbs_excess_error"] == pytest.approx(0, abs=1e-13)
    assert seen["matrix_overlap_centred"] == pytest.approx(1, abs=1e-13)
    norms = np.mean(inst.weights**2, axis=1)
    assert np.allclose(seen["weight_overlap"], Groups.of(inst.readouts).mean(norms))


def test_matrix_overlap_is_the_distance_of_the_matrices():
    inst = sample_instance(ww.Problem("relu", readouts="four-point", gamma=0.8), d=15, alpha=1.0, seed=1)
    w = np.random.default_rng(0).standard_normal(inst.weights.shape)
    s, s0 = ((m.T * inst.readouts) @ m / np.sqrt(inst.k) for m in (w, inst.weights))
    direct = 1 - np.sum((s - s0) ** 2) / (2 * inst.d**2)
    assert Observer(inst)(w)["matrix_overlap_centred"] == pytest.approx(direct, abs=1e-12)
    second = overlap_powers((w, inst.readouts), (inst.weights, inst.readouts))[1]
    assert second == pytest.approx(np.sum(s * s0) / inst.d**2, abs=1e-12)


def test_two_replicas_need_no_equilibrium():
    inst = sample_instance(ww.Problem("relu", gamma=0.6), d=20, alpha=1.0, seed=2)
    rng = np.random.default_rng(1)
    one, two = (rng.standard_normal(inst.weights.shape) for _ in range(2))
    observer, x = Observer(inst), inst.test_set(60_000)[0]
    a, b, zero = (inst.outputs(w, x) for w in (one, two, inst.weights))
    # (λ⁰ - λ¹)(λ⁰ - λ²) has the mean of the formula, up to the mean of the two teacher overlaps.
    products = (zero - a) * (zero - b)
    seen = observer.replicas((one, None), (two, None))["excess_error"]
    assert abs(seen - products.mean()) < 4 * products.std() / np.sqrt(products.size)


def test_distances_of_chains_are_those_on_fresh_inputs():
    """½E(λ¹ - λ²)² of neighbours in a ring, against a hundred thousand inputs; 0 for a chain and itself."""
    inst = sample_instance(ww.Problem("relu", readouts="four-point", gamma=1.7), d=12, alpha=1.0, seed=3)
    rng = np.random.default_rng(4)
    chains = np.stack([inst.weights + s * rng.normal(size=inst.weights.shape) for s in (0.3, 0.9, 0.5)])
    observer = Observer(inst)
    seen = [observer(w) for w in chains]
    row = {name: np.array([one[name] for one in seen]) for name in ("gibbs_excess_error", "output_overlap")}
    found = observer.distances(chains, [None] * 3, row)
    inputs = rng.normal(size=(inst.d, 100_000))
    outputs = [inst.readouts @ np.maximum(w @ inputs / np.sqrt(inst.d), 0) / np.sqrt(inst.k) for w in chains]
    for i in range(3):
        half = 0.5 * (outputs[i] - outputs[(i + 1) % 3]) ** 2
        assert abs(found[i] - half.mean()) < 4 * half.std() / np.sqrt(half.size)
    twice = observer.distances(chains[[1, 1]], [None] * 2, {name: v[[1, 1]] for name, v in row.items()})
    assert twice == pytest.approx(0, abs=1e-12)


def shuffled(inst, rng, n_swaps=1):
    """The teacher with units of equal readouts exchanged."""
    w = inst.weights.copy()
    for value in np.unique(inst.readouts):
        units = np.flatnonzero(inst.readouts == value)
        w[units] = w[rng.permutation(units)]
    return w


def test_matching_undoes_permutations():
    inst = sample_instance(ww.Problem("relu", readouts="four-point", gamma=0.9), d=30, alpha=1.0, seed=1)
    w = shuffled(inst, np.random.default_rng(0))
    assert np.all(Observer(inst)(w)["weight_overlap"] < 0.8)
    matched = Observer(inst, is_matched=True)(w)["weight_overlap"]
    assert np.allclose(matched, Observer(inst)(inst.weights)["weight_overlap"])


def test_matching_uses_the_signs_that_the_activation_allows():
    rng = np.random.default_rng(0)
    even = sample_instance(ww.Problem("he2", gamma=0.9), d=30, alpha=1.0, seed=1)
    w = shuffled(even, rng) * rng.choice([-1, 1], even.k)[:, None]
    perfect = Observer(even)(even.weights)["weight_overlap"]
    assert np.allclose(Observer(even, is_matched=True)(w)["weight_overlap"], perfect)

    odd = sample_instance(ww.Problem("tanh", readouts="rademacher", gamma=0.8), d=30, alpha=1.0, seed=1)
    mirror = -odd.weights[::-1]  # readouts are (-1, ..., 1): each unit becomes its mirror image
    assert Observer(odd)(mirror)["gibbs_excess_error"] == pytest.approx(0, abs=1e-12)
    match, sign = match_units(odd, mirror, Groups.of(odd.readouts))
    assert np.allclose(sign[:, None] * mirror[match], odd.weights)

    plain = sample_instance(ww.Problem("relu", gamma=0.9), d=30, alpha=1.0, seed=1)
    assert np.all(match_units(plain, -plain.weights, Groups.of(plain.readouts))[1] == 1)


def test_bins_of_continuous_readouts():
    groups = Groups.of(np.random.default_rng(0).standard_normal(57), n_bins=10)
    assert groups.values.size == 10 and np.all(np.diff(groups.values) > 0)
    assert np.ptp(np.bincount(groups.label)) <= 1


def test_wrong_shape():
    inst = sample_instance(ww.Problem("relu"), d=10, alpha=1.0)
    with pytest.raises(ValueError, match="shape"):
        Observer(inst)(np.zeros((3, 10)))

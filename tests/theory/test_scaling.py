"""Scaling laws: a fixed point written anew, published numbers, exponents, transitions, messages."""

import json

import numpy as np
import pytest
from tests.theory.feature_fixed_point import optimum

import widthwise as ww
from widthwise.theory.families.features import feature_problem
from widthwise.theory.families.many import solve_many
from widthwise.theory.scaling import crossover
from widthwise.theory.setting import class_averages, setting_of

# He_3 and He_5: g(q) = μ_3² q³/3! + μ_5² q⁵/5! with μ_3 = 1, μ_5 = 0.1 · 5!.
ODD = "(x**3 - 3*x)/6 + 0.1*(x**5 - 10*x**3 + 15*x)"
KERNEL = (
    lambda q: q**3 / 6 + 1.2 * q**5,
    lambda q: q**2 / 2 + 6.0 * q**4,
    lambda q: q + 24.0 * q**3,
)
LAWS = [
    ww.readouts.PowerLaw(0.3, 40),
    ww.readouts.PowerLaw(0.7, 40),
    ww.readouts.PowerLaw(1.0, 40),
    ww.readouts.PowerLaw(1.5, 40),
    ww.readouts.Linear(2.5, 40),
    ww.readouts.Exponential(7.0, 40),
    ww.readouts.Features(np.where(np.arange(30) % 3, 1, -1) * (1 + np.sqrt(np.arange(30)))),
]
# The published setting, without the linear part that counts for nothing.
TANH = "tanh(2*x) - 0.7294775314861*x"
ALPHAS = (
    2.0,
    2.38909,
    2.85389,
    3.4091,
    4.07234,
    4.8646,
    5.81099,
    6.94151,
    8.29196,
    9.90514,
    11.8322,
    14.1341,
)
WIDTHS = [31, 35, 39, 43, 47, 52, 57, 63, 69, 76, 84, 92]


def published(exponent, size=100, noise=0.01):
    return ww.Problem(TANH, readouts=ww.readouts.PowerLaw(exponent, size), channel=noise, gamma=0.5)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: repr(law)[9:35])
def test_optimum_is_that_of_a_fixed_point_written_anew(law):
    gamma, noise = 0.7, 0.03
    problem = ww.Problem(ODD, readouts=law, channel=noise, gamma=gamma)
    d = law.size / gamma
    n = d * np.array([12.0, 90.0, 500.0])
    found = ww.scaling_law(problem, n)
    for i, samples in enumerate(n):
        error, width, q = optimum(law.features, samples / d, noise, KERNEL)
        assert found.excess_error[i] == pytest.approx(error, rel=1e-9)
        assert found.effective_width[i] == width
        v2 = np.sort(np.array(law.features) ** 2)[::-1] / law.size
        left = KERNEL[0](1.0) * v2[width:].sum()
        one_draw = 2 * float(v2[:width] @ (KERNEL[0](1.0) - KERNEL[0](q))) + left
        assert found.one_draw_error[i] == pytest.approx(one_draw, rel=1e-9)


@pytest.mark.slow
def test_solutions_are_those_of_the_general_method():
    # The same equations by the families of laws with a matrix part, where numbers of features compete.
    problem = ww.Problem(ODD, readouts=ww.readouts.PowerLaw(0.45, 30), channel=0.03, gamma=1.7)
    alpha = 2.1
    one = ww.solve(problem, alpha)
    others = [s for _, s in solve_many(setting_of(problem), np.array([alpha]))]
    best = max(others, key=lambda s: s.free_entropy)
    assert one.is_stable and one.residual < 1e-12
    assert one.free_entropy == pytest.approx(best.free_entropy, rel=1e-12)
    assert one.mutual_information == pytest.approx(best.mutual_information, rel=1e-10)
    np.testing.assert_allclose(one.weight_overlap, best.weight_overlap, rtol=1e-9)
    assert one.matrix_overlap_centred == pytest.approx(best.matrix_overlap_centred, rel=1e-9)
    # Metastable neighbours are found by both.
    both = {s.n_learnt for s in ww.solutions(problem, alpha)} & {s.n_learnt for s in others}
    assert len(both) >= 3


def test_crowded_features_are_summed_to_rounding():
    problem = ww.Problem(ODD, readouts=ww.readouts.PowerLaw(0.8, 4000), channel=0.02, gamma=0.4)
    features = feature_problem(problem, "main")
    point = features.equilibrium(3.0)
    assert 2000 < point.n < 4000  # within a stretch that is interpolated
    assert features.sums.terms(point.n)[0].size < 0.7 * point.n
    classes, setting = setting_of(problem).classes, setting_of(problem)
    coupling = np.exp(np.array([point.log_coupling]))
    values = setting.units.at_roots(features.snr(point)[None])
    exact = class_averages(values, classes.values2, classes.powers, np.zeros(1), coupling)
    assert point.gap == pytest.approx(float(exact.kernel_gap[0]), rel=1e-12)
    averages = features.averages(point)
    for name in ("learnt", "left", "kernel_gap", "entropy"):
        assert getattr(averages, name)[0] == pytest.approx(float(getattr(exact, name)[0]), rel=1e-12), name
    assert averages.kernel_slopes[1, 0] == pytest.approx(float(exact.kernel_slopes[1, 0]), rel=1e-10)


def test_published_effective_widths():
    problem = published(1.0)
    found = ww.scaling_law(problem, np.array(ALPHAS) * 200**2, d=200)
    assert found.effective_width.tolist() == WIDTHS
    # Recomputed values beside the published data: ε and one draw at α = 2.
    assert found.excess_error[0] == pytest.approx(0.00242195, abs=5e-9)
    assert found.one_draw_error[0] == pytest.approx(0.00346933, abs=5e-9)


def test_published_errors_where_numbers_of_features_compete():
    # β = 0.3: at α = 1.35 the equation has several roots, and 0.041075 is one of smaller potential.
    found = ww.scaling_law(published(0.3, noise=0.04), np.array([0.3, 1.05, 1.35, 1.5]) * 200**2)
    np.testing.assert_allclose(found.excess_error, [0.0963335, 0.0618475, 0.0413745, 0.0251814], atol=1e-7)
    assert found.effective_width.tolist() == [2, 30, 66, 100]


def test_constants_of_a_feature():
    root = feature_problem(published(1.0), "main").root
    # λ of the text is B v². The jump by two-dimensional trapezoidal sums and bisection; as published
    # 19.274074 and 0.750827, the fold 17.679820.
    assert np.exp(root.log_jump) == pytest.approx(19.274080653480322, rel=1e-11)
    assert np.exp(root.log_fold) == pytest.approx(17.6798198975067, rel=1e-5)
    q = 1 / (1 + 1 / root(np.array([root.log_jump]))[0])
    assert q == pytest.approx(0.7508274012206935, rel=1e-10)


def test_transitions_are_the_steps_of_the_effective_width():
    problem = published(1.0, size=30)
    found = ww.transitions(problem, 12.0)
    alphas = np.array([t.alpha for t in found])
    assert len(found) == 30 and np.all(np.diff(alphas) > 0)
    assert [t.readout for t in found] == pytest.approx(problem.readouts.features)
    d = 60.0
    for i in (0, 7, 22, 29):
        beside = ww.scaling_law(problem, alphas[i] * d**2 * np.array([1 - 1e-7, 1 + 1e-7]))
        assert beside.effective_width.tolist() == [i, i + 1]
        drop = beside.excess_error[0] - beside.excess_error[1]
        assert found[i].error_jump == pytest.approx(drop, rel=1e-4)  # steps of 1e-7 about a jump
    assert ww.scaling_law(problem, [1e4]).crossover == pytest.approx(alphas[-1] * d**2, rel=1e-9)


def test_the_last_jump_is_the_last_of_all():
    # Irregular sizes, of which several jump together: the last is looked for without those before it.
    rng = np.random.default_rng(3)
    for law in (rng.normal(size=40), np.repeat([3.0, 1.0, 0.4], 7), rng.exponential(size=25) ** 2):
        problem = ww.Problem(ODD, readouts=ww.readouts.Features(tuple(law)), channel=0.05, gamma=0.3)
        crossover = ww.scaling_law(problem, [1e4]).crossover / (len(law) / 0.3) ** 2
        every = ww.transitions(problem, 1.1 * crossover)
        assert len(every) == np.unique(np.abs(law)).size
        assert crossover == pytest.approx(every[-1].alpha, rel=1e-9)


@pytest.mark.slow
def test_features_of_one_size_are_learnt_together():
    # Three sizes, ten features each: near copies jump at once though each is a class of its own.
    sizes = np.repeat([3.0, 2.0, 1.0], 10) * (1 + 1e-7 * np.arange(30))
    found = ww.transitions(ww.Problem(ODD, readouts=ww.readouts.Features(sizes), channel=0.05), 40.0)
    alphas = np.array([t.alpha for t in found])
    assert len(found) == 30
    assert np.unique(np.round(alphas, 3)).size == 3


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_exponents(exponent):
    problem, k, d = published(exponent, 300_000), 300_000, 600_000
    while_found = ww.scaling_law(problem, np.array([3e3, 3e4]) * d, d=d)
    first, second = while_found.predicted_exponents
    assert (first, second) == (pytest.approx(1 / (2 * exponent) - 1), -1.0)
    distance = np.abs(while_found.local_exponent - first)
    assert distance[-1] < 0.01 and distance[-1] < distance[0]
    after = ww.scaling_law(problem, while_found.crossover * np.array([2.0, 30.0]))
    assert np.all(after.effective_width == k)
    assert after.local_exponent[1] == pytest.approx(-1, abs=5e-3)
    # ε → kdΔ/n with coefficient one.
    coefficient = after.excess_error * after.n / (k * d * 0.01)
    assert coefficient[1] == pytest.approx(1, abs=5e-3) and coefficient[1] < coefficient[0]


@pytest.mark.slow
def test_a_small_exponent_is_approached_as_features_are_added():
    # Near ½ the tail that k features leave out counts for long: noise so large that ε is far below it.
    slopes = [
        ww.scaling_law(published(0.7, k, 30.0), [9e6 * 2 * k]).local_exponent[0] for k in (3000, 300_000)
    ]
    first, last = np.abs(np.array(slopes) - (1 / 1.4 - 1))
    assert last < 0.02 and last < 0.5 * first


def test_prefactor_of_the_first_regime():
    # ε = A (Δ + ε) k_c d/n for k → ∞, with A_1 = 3.0779: k_c is far from both ends here.
    found = ww.scaling_law(published(1.0, 100_000), [4e4 * 2e5])
    width, error = found.effective_width[0], found.excess_error[0]
    assert error * found.n[0] / ((0.01 + error) * width * 2e5) == pytest.approx(3.0779, rel=0.02)


@pytest.mark.slow
def test_relu_features_are_learnt_in_order_too():
    problem = ww.Problem("relu", readouts=ww.readouts.PowerLaw(1.0, 30), channel=0.01)
    found = ww.scaling_law(problem, np.array([0.3, 3.0]) * 60**2)
    curve = ww.learning_curve(problem, [0.3, 3.0])
    np.testing.assert_allclose(found.excess_error, curve.excess_error, rtol=1e-12)
    assert found.effective_width.tolist() == [s.n_learnt for s in curve]
    assert 0 < found.effective_width[0] < found.effective_width[1] <= 30


def test_result_goes_to_files_and_datasets(tmp_path):
    found = ww.scaling_law(published(1.0), [8e4, 4e5, 2e6])
    data = found.to_xarray()
    assert data.sizes == {"n": 3} and data.attrs["d"] == 200
    np.testing.assert_array_equal(data["effective_width"], found.effective_width)
    said = json.loads(found.to_json(tmp_path / "law.json"))
    assert said == json.loads((tmp_path / "law.json").read_text())
    assert [point["n"] for point in said["points"]] == [8e4, 4e5, 2e6]
    assert said["problem"]["predicted_exponents"] == [-0.5, -1.0]
    lines = found.to_csv().splitlines()
    assert len(lines) == 4 and "effective_width" in lines[0] and "power-law:1.0,100" in lines[1]
    assert list(found.to_dataframe()["status"]) == ["converged"] * 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": [0.0]}, "n must be > 0 (number of samples); got 0"),
        ({"n": [-3.0]}, "n must be > 0"),
        ({"n": []}, "n must be a number or a list"),
        ({"n": "many"}, "n must be a number > 0"),
        ({"n": [1e4], "d": 150}, "d must be k/gamma = 200 for 100 features"),
        ({"n": [1e4], "d": -1}, "d must be > 0"),
        ({"n": [1e-20]}, "to be computed reliably"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words):
    with pytest.raises(ValueError, match="^[^\n]+$") as error:
        ww.scaling_law(published(1.0), **arguments)
    assert words in str(error.value)


def test_laws_without_a_width_need_a_dimension():
    with pytest.raises(ValueError, match="d must be given"):
        ww.scaling_law(ww.Problem("tanh(2*x)", readouts="four-point"), [1e4])
    found = ww.scaling_law(ww.Problem("tanh(2*x)", readouts="four-point", channel=0.1), [4e4], d=100)
    assert found.effective_width[0] in (0.0, 25.0, 50.0)
    assert np.isnan(found.predicted_exponents[0])


def test_many_sizes_with_a_matrix_part_are_refused():
    with pytest.raises(ValueError, match="take fewer features"):
        ww.solve(ww.Problem("relu", readouts=ww.readouts.PowerLaw(1.0, 3000)), 1.0)


def test_features_that_are_known_exactly_are_learnt():
    """Binary weights, labels without noise: beyond some α every weight is known."""
    problem = ww.Problem("he3(x)/sqrt(6)", "rademacher", ww.readouts.PowerLaw(0.7, 30), "sign", 0.3)
    alphas, d = np.array([0.5, 5.0, 50.0]), 30 / 0.3
    law, curve = ww.scaling_law(problem, alphas * d**2), ww.learning_curve(problem, alphas)
    assert curve[-1].excess_error == 0 and curve[0].excess_error > 0
    assert law.excess_error == pytest.approx(curve.excess_error, rel=1e-9, abs=0)
    assert law.effective_width[-1] == 30
    few, many = (ww.transitions(problem, alpha_max) for alpha_max in (5.0, 500.0))
    assert len(many) >= len(few) > 0
    assert [t.alpha for t in many][: len(few)] == pytest.approx([t.alpha for t in few], rel=1e-12)
    place = crossover(problem) / d**2
    before, after = (ww.solve(problem, place * (1 + side)) for side in (-1e-6, 1e-6))
    assert np.any(before.weight_overlap == 0) and np.all(after.weight_overlap > 0)
    # The jump to "all known" is listed once for each size that is learnt in it, and for no other.
    last = [t for t in many if t.alpha == many[-1].alpha]
    assert last[0].alpha == pytest.approx(place, rel=1e-8)
    assert sorted(t.readout for t in last) == pytest.approx(
        np.sort(np.abs(before.readout_values[before.weight_overlap == 0]))
    )
    for t in last:
        assert t.overlap_jump == 1 and t.error_jump == pytest.approx(before.excess_error, rel=1e-4)


@pytest.mark.parametrize(
    ("law", "noise", "gamma"),
    [(ww.readouts.PowerLaw(0.2, 60), 1e-9, 1.7), (ww.readouts.Linear(3, 40), 1e-4, 0.3)],
)
def test_features_that_are_learnt_in_one_jump(law, noise, gamma):
    """Binary weights and little noise: many features are learnt at once, and all are listed."""
    problem = ww.Problem("tanh(2*x)", "rademacher", law, noise, gamma)
    listed, d = ww.transitions(problem, 100.0), law.size / gamma
    assert len(listed) == law.size and len({t.alpha for t in listed}) < law.size / 2
    for alpha in sorted({t.alpha for t in listed}):
        before, after = (ww.solve(problem, alpha * (1 + side)) for side in (-1e-7, 1e-7))
        together = [t for t in listed if t.alpha == alpha]
        assert sum(after.weight_overlap > 0) - sum(before.weight_overlap > 0) == len(together)
        drop = before.excess_error - after.excess_error
        assert together[0].error_jump == pytest.approx(drop, rel=1e-4)
    assert crossover(problem) / d**2 == pytest.approx(listed[-1].alpha, rel=1e-9)


@pytest.mark.parametrize("size", [60, 365])
def test_of_irregular_features_the_best_number_is_learnt(size):
    """Against every number n of learnt features, one by one: many are solutions next to each other."""
    values = np.random.default_rng(size).normal(size=size)
    problem = ww.Problem(
        "0.2*he3(x)+0.1*he5(x)", readouts=ww.readouts.Features(values), channel=4e-4, gamma=0.59
    )
    features = feature_problem(problem, "main")
    for alpha in (0.5306, 0.5495, 0.6, 0.73, 1.1):
        best = features.equilibrium(alpha)
        others = [features.at(n, alpha, best.log_coupling) for n in range(1, size + 1)]
        heights = [p.potential for p in others if p is not None and p.slope > 0]
        assert best.potential >= max(heights) - 1e-13
        assert ww.solve(problem, alpha).excess_error == pytest.approx(best.gap, rel=1e-9)
    assert np.all(np.diff(ww.learning_curve(problem, np.linspace(0.5, 0.8, 60)).excess_error) <= 0)


def test_error_never_rises_with_hundreds_of_features():
    """Solutions were lost between the numbers of features that are tabulated."""
    problem = ww.Problem(
        "x+0.3*he3(x)", readouts=ww.readouts.Linear(96.2, 294), channel=0.0074, gamma=0.02345
    )
    curve = ww.learning_curve(problem, np.geomspace(0.9, 3.0, 40))
    assert all(s.is_converged for s in curve)
    assert np.all(np.diff(curve.excess_error) < 0) and curve.excess_error[0] < 1e-3


def test_tilt_of_many_features_is_not_given():
    """Nothing depends on it, and the spectrum of many sizes is dear; with few it is the paper's equation."""
    for size in (60, 70):
        problem = ww.Problem("tanh(2*x)", readouts=ww.readouts.PowerLaw(0.4, size), channel=0.1, gamma=1.7)
        s = ww.solve(problem, 3.0)
        exact = ww.denoising.MatrixDenoiser(problem.readouts, 1.7).inverse_mmse(1 - s.matrix_overlap_centred)
        assert np.isnan(s.tilt) if size > 64 else s.tilt == pytest.approx(exact, rel=1e-8)
        assert ww.solve(problem, 1e-3).tilt == 0

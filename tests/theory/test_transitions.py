"""Transitions and branches: exact onsets, Maxwell points, folds."""

import math

import numpy as np
import pytest

import widthwise as ww
from widthwise.theory.families import specialised_families
from widthwise.theory.onsets import births, onset_criterion

SIGMA3 = ww.Problem("sigma3", "rademacher", "homogeneous", 1.25, 0.5)
SIGMA2 = ww.Problem("sigma2", "rademacher", "homogeneous", 1.25, 0.5)
FOUR = ww.Problem("relu", readouts="four-point", channel=0.1, gamma=0.7)
ODD = ww.Problem("tanh(2*x)", readouts="four-point", channel=0.1, gamma=0.5)


def test_four_point_readouts_are_learnt_one_level_after_the_other():
    found = ww.transitions(FOUR, alpha_max=20.0)
    assert [t.kind for t in found] == ["continuous", "continuous"]
    assert [t.readout for t in found] == pytest.approx([3 / math.sqrt(5), 1 / math.sqrt(5)])
    for t in found:
        # Just above, the overlap of these units is small but not zero, and the equilibrium is stable.
        below, above = ww.solve(FOUR, t.alpha * (1 - 1e-5)), ww.solve(FOUR, t.alpha * (1 + 1e-5))
        own = np.isclose(np.abs(above.readout_values), t.readout)
        assert np.all(below.weight_overlap[own] == 0)
        assert np.all((above.weight_overlap[own] > 0) & (above.weight_overlap[own] < 1e-4))
        assert above.is_stable and below.is_stable


def test_the_first_onset_is_exact():
    found = ww.transitions(FOUR, alpha_max=1.0)
    assert found[0].alpha == ww.onset(FOUR)
    assert onset_criterion(FOUR, found[0].alpha) == pytest.approx(1, abs=1e-10)
    # It is also where the family of solutions with small overlap ends.
    log_alpha = specialised_families(FOUR)[0].at(np.log([1e-8])).log_alpha
    assert np.exp(log_alpha[0]) == pytest.approx(found[0].alpha, rel=3e-8)


def test_continuous_onset_then_a_jump_for_binary_weights():
    found = ww.transitions(SIGMA3, alpha_max=5.0)
    assert [t.kind for t in found] == ["continuous", "first-order"]
    jump = found[1]
    low, high = jump.spinodals
    assert low < jump.alpha < high
    at = [s for s in ww.solutions(SIGMA3, jump.alpha) if s.is_stable]
    assert len(at) == 2
    assert at[0].free_entropy - at[1].free_entropy == pytest.approx(0, abs=1e-11)
    gap = abs(at[0].weight_overlap[0] - at[1].weight_overlap[0])
    assert jump.overlap_jump == pytest.approx(gap, abs=1e-6)
    assert jump.error_jump == pytest.approx(abs(at[0].excess_error - at[1].excess_error), abs=1e-6)
    # Outside the spinodals only one stable solution is left.
    for alpha in (low * 0.9995, high * 1.0005):
        assert sum(s.is_stable for s in ww.solutions(SIGMA3, alpha)) == 1


def test_one_first_order_transition_for_an_odd_polynomial():
    (only,) = ww.transitions(SIGMA2, alpha_max=5.0)
    assert only.kind == "first-order" and only.readout == 1
    assert only.spinodals[0] < only.alpha and only.spinodals[1] == math.inf
    assert ww.solve(SIGMA2, only.alpha * (1 - 1e-7)).branch == "universal"
    assert ww.solve(SIGMA2, only.alpha * (1 + 1e-7)).branch == "specialised"


def test_a_branch_without_an_end_has_no_upper_spinodal():
    """sigma1: small overlaps stay locally stable however large α, and the jump comes long before."""
    found = ww.transitions(ww.Problem("sigma1", "rademacher", "homogeneous", 1.25, 0.5), alpha_max=4.0)
    assert [t.kind for t in found] == ["continuous", "first-order"]
    assert found[1].spinodals[0] < found[1].alpha < found[1].spinodals[1] == math.inf


def test_the_exact_answer_for_quadratic_activations_has_no_transition():
    found = ww.transitions(ww.Problem("x**2"), alpha_max=2.0)
    assert not found and found.criterion > 1
    assert "exact for a quadratic activation" in str(found)


@pytest.mark.slow
def test_odd_activation_with_two_readout_levels():
    found = ww.transitions(ODD, alpha_max=12.0)
    assert [t.kind for t in found] == ["first-order"] * 2
    assert found[0].readout > found[1].readout and found[0].alpha < found[1].alpha


def test_unbounded_readouts_set_in_at_once():
    problem = ww.Problem("relu", readouts="gaussian", channel=1e-4)
    (only,) = ww.transitions(problem, alpha_max=1.0)
    assert only.alpha == 0 and only.readout == math.inf and "0+" in str(only)
    cut = [ww.transitions(problem, 1.0, truncate=v)[0].alpha for v in (2.0, 3.0, 4.0)]
    assert cut[0] > cut[1] > cut[2] > 0
    assert cut[2] == pytest.approx(0.02, abs=5e-3)  # the paper's value: a truncation of the support


@pytest.mark.slow
def test_bounded_continuous_readouts():
    (only,) = ww.transitions(ww.Problem("relu", readouts="uniform"), alpha_max=1.0)
    assert only.alpha == pytest.approx(ww.onset(ww.Problem("relu", readouts="uniform")))
    assert only.readout == pytest.approx(math.sqrt(3))
    problem = ww.Problem("tanh(2*x)", readouts="uniform")
    (odd,) = ww.transitions(problem, alpha_max=2.0)
    assert ww.solve(problem, odd.alpha * 0.999).branch == "universal"
    assert ww.solve(problem, odd.alpha * 1.001).branch == "specialised"


def test_nothing_in_range_says_so():
    found = ww.transitions(ww.Problem("relu"), alpha_max=0.1)
    assert list(found) == []
    assert "no transition up to alpha = 0.1" in str(found)
    assert found.criterion == pytest.approx(onset_criterion(ww.Problem("relu"), 0.1))
    assert found.criterion < 1
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="alpha_max must be > 0"):
            ww.transitions(FOUR, bad)


def test_wide_networks_never_lose_stability_by_the_matrix_alone():
    """1 - mmse < 1, so max v² (q₂ - γv̄²)/γ stays below 1 when γ > max v²."""
    assert ww.onset(ww.Problem("relu", gamma=1.2)) == math.inf
    assert ww.onset(ww.Problem("relu", gamma=0.9)) < math.inf
    assert ww.onset(ODD) == math.inf


def test_branches_go_through_folds():
    branches = ww.trace_branches(SIGMA3, alpha=(0.3, 3.0))
    assert branches[0].asked == "universal"
    (curve,) = branches[1:]
    assert len(curve.folds) == 2
    high, low = curve.folds
    assert 1.5 < low < high < 1.7
    overlap = curve.weight_overlap[:, 0]
    assert np.all(np.diff(overlap) > 0)  # a graph over the overlap, not over α
    turns = np.sign(np.diff(curve.alpha))
    assert np.any(turns < 0) and np.any(turns > 0)
    # α goes back exactly between the folds, and that part is unstable.
    back = (curve.alpha[1:] - curve.alpha[:-1]) < 0
    assert not np.any(curve.is_stable[1:-1][back[1:] & back[:-1]])
    # (Points next to a fold are marginal.)
    clear = np.all(np.abs(np.log(curve.alpha[:, None] / np.array(curve.folds))) > 2e-3, axis=1)
    outer = (overlap < overlap[curve.alpha == high][0]) | (overlap > overlap[curve.alpha == low][0])
    assert np.all(curve.is_stable[clear & outer & (curve.alpha > 0.7)])
    assert not np.any(curve.is_stable[clear & ~outer])
    assert np.max(curve.residual) < 1e-10
    # Each point of the branch is among the solutions at its α. (At a fold itself two solutions are one, and
    # rounding of α decides whether there are two or none.)
    for point in [p for p in curve if p.alpha not in curve.folds][5::12]:
        found = ww.solutions(SIGMA3, point.alpha)
        assert min(abs(s.excess_error - point.excess_error) for s in found) < 1e-8


@pytest.mark.slow
def test_folds_are_extrema():
    """Beyond a fold the two solutions that meet there are gone."""
    (fold,) = ww.trace_branches(SIGMA2, alpha=(0.5, 3.0))[1].folds
    assert len(ww.solutions(SIGMA2, fold * (1 + 1e-6))) == 3
    assert len(ww.solutions(SIGMA2, fold * (1 - 1e-6))) == 1


@pytest.mark.parametrize(
    ("problem", "which"), [(FOUR.replace(gamma=0.13), 1), (FOUR.replace(gamma=0.1), 1), (SIGMA3, 1)]
)
def test_spinodals_are_exact(problem, which):
    """A parabola through three points of the curve has its vertex at the fold, to 1e-8 of α."""
    family = specialised_families(problem)[which - 1]
    folds = family.folds
    for u, log_alpha in zip(folds.u, folds.log_alpha, strict=True):
        step = 1e-3
        before, at, after = family.at(u + np.array([-step, 0.0, step])).log_alpha
        slope, curvature = (after - before) / (2 * step), (after + before - 2 * at) / step**2
        assert abs(0.5 * slope**2 / curvature) < 1e-9
        assert log_alpha == pytest.approx(at, abs=1e-11)


@pytest.mark.slow
def test_the_first_transition_of_narrow_networks_jumps():
    """Below a width of about 0.17 the units of large readouts jump; α at equal free entropies."""
    first = ww.transitions(FOUR.replace(gamma=0.13), 1.0)[0]
    assert first.kind == "first-order" and first.spinodals[0] < first.alpha < first.spinodals[1]
    one, other = (
        s
        for s in ww.solutions(FOUR.replace(gamma=0.13), first.alpha)
        if s.is_stable or s.branch == "universal"
    )
    assert one.free_entropy == pytest.approx(other.free_entropy, abs=1e-13)


@pytest.mark.slow
def test_two_jumps_close_to_one_another():
    """Where the first and the third stretch cross, the second lies above both."""
    readouts = ww.readouts.Discrete([12, 15, 17], [3 / 7, 1 / 7, 3 / 7], normalise=True)
    found = ww.transitions(ww.Problem("sigma2", "gaussian", readouts, 0.07, 0.12), 6.0)
    assert [t.readout for t in found] == pytest.approx(sorted(readouts.values, reverse=True))
    assert found[0].alpha < found[1].alpha < 1.05 * found[0].alpha


EIGHT = ww.readouts.Discrete(
    [0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 1.9], [0.2, 0.15, 0.15, 0.1, 0.1, 0.1, 0.1, 0.1], normalise=True
)


@pytest.mark.slow
def test_eight_sizes_of_readouts_jump_one_after_the_other():
    problem = ww.Problem("tanh(2*x)", readouts=EIGHT, gamma=0.6)
    found = ww.transitions(problem, 2.0)
    assert [t.readout for t in found] == pytest.approx(np.sort(EIGHT.values)[::-1][:4])
    assert all(t.kind == "first-order" and t.overlap_jump > 0.7 for t in found) and not found.note
    for t in found:
        below, above = (ww.solve(problem, t.alpha * (1 + e)) for e in (-1e-7, 1e-7))
        own = np.isclose(np.abs(below.readout_values), t.readout)
        assert np.all(below.weight_overlap[own] == 0) and np.all(above.weight_overlap[own] > 0.7)


PEAKS = ww.weights.GaussianMixture.normalised(
    (-0.63, 1.05, 1.84), (0.0057, 0.0159, 0.0314), (0.7, 0.13, 0.17)
)
FOUR_SIZES = ww.readouts.Discrete([1.9, 1.6, 1.2, 0.7], [0.04, 0.05, 0.06, 0.85], normalise=True)
THREE = ww.readouts.Discrete([1.0, 0.93, 0.88], [0.2, 0.3, 0.5], normalise=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "alpha_max", "kinds"),
    [
        (ww.Problem("relu", readouts=EIGHT, gamma=0.61), 1.5, {"continuous"}),
        # In the last transition all classes, which are learnt already, jump together.
        (ww.Problem("sign(he2(x))", "gaussian", THREE, 1.7e-4, 0.13), 0.5, {"continuous", "first-order"}),
        # Where v²A = 1 a class has a single root left: each jumps before that.
        (ww.Problem("4.3*relu(x-1.2)", PEAKS, FOUR_SIZES, 0.011, 0.13), 0.3, {"first-order"}),
    ],
)
def test_many_sizes_of_readouts_are_learnt_as_few_are(monkeypatch, problem, alpha_max, kinds):
    """Two routes: a family for each class, or the number of learnt classes chosen by the potential."""
    from widthwise.theory import families

    found = []
    n_sizes = len(problem.readouts.values)
    for few in (n_sizes, n_sizes - 1):
        monkeypatch.setattr(families, "FEW_CLASSES", few)
        families._specialised.cache_clear()
        births.cache_clear()
        found.append(ww.transitions(problem, alpha_max))
    families._specialised.cache_clear()
    births.cache_clear()
    one_by_one, as_many = found
    assert len(one_by_one) > 2 and {t.kind for t in one_by_one} == kinds
    assert [t.kind for t in as_many] == [t.kind for t in one_by_one]
    for name in ("alpha", "readout", "overlap_jump", "error_jump"):
        expected = [getattr(t, name) for t in one_by_one]
        assert [getattr(t, name) for t in as_many] == pytest.approx(expected, rel=1e-9)


def test_a_continuous_law_says_that_its_units_follow():
    assert "smaller |v| follow" in ww.transitions(ww.Problem("relu", readouts="uniform"), 1.0).note


@pytest.mark.slow
def test_many_sizes_that_set_in_between_two_values_of_alpha():
    """Each is learnt where v²A = 1, however few values of α are looked at."""
    problem = ww.Problem("sign(he2(x))", readouts=ww.readouts.Exponential(47.0, 20), channel=2e-4, gamma=0.13)
    coarse, fine = (ww.transitions(problem, 0.12, n_grid=n) for n in (6, 30))
    assert len(coarse) > 10 and {t.kind for t in coarse} == {"continuous"}
    assert [t.readout for t in coarse] == pytest.approx(np.sort(problem.readouts.values)[::-1][: len(coarse)])
    assert [t.alpha for t in coarse] == pytest.approx([t.alpha for t in fine], rel=1e-11)


def test_a_jump_close_to_the_end_of_stability_is_no_continuous_onset():
    """The branch reaches back by 1.5e-5 of α: α(q) = α₀(1 - aq + bq²), by the equations of Landau's theory.

    It folds at q = a/2b, a²/4b below 1. The slope of the potential is q(α - α(q)) but for a factor, so that
    it is the potential of q = 0 at q = 2a/3b, 2a²/9b below.
    """
    weights = ww.weights.GaussianMixture(
        (-1.572390012362435, -1.1835829145870111, 0.4491679976994003, 0.46696592629188516),
        (0.546611211397594, 1.2085087341523417, 1.354471477368144, 0.0169077077918598),
        (0.1282083272684827, 0.1235701678585651, 0.08680309946042969, 0.6614184054125225),
    )
    problem = ww.Problem("max(tanh(x),0.2)", weights, "homogeneous", ww.channels.Sign(shift=0.0), 0.1017)
    (jump,) = ww.transitions(problem, 0.3)
    assert jump.kind == "first-order"
    begin, end = jump.spinodals
    assert end == ww.onset(problem) and 1e-5 < end / begin - 1 < 2e-5
    assert (end - jump.alpha) / (end - begin) == pytest.approx(8 / 9, rel=3e-3)
    folds = specialised_families(problem)[0].folds
    fold = problem.weights.overlap(np.exp(folds.u[np.argmin(folds.log_alpha)]))
    assert jump.overlap_jump == pytest.approx(4 / 3 * float(fold), rel=3e-3)


def test_a_rare_size_that_jumps_is_unstable_at_0_from_one_birth_on():
    """Where v²A = 1 and the class jumps, the family on which it wakes up has a step; that is no birth."""
    readouts = ww.readouts.Discrete(
        [7.2, 2.0, 0.375, 0.122], [0.0186, 1.3e-5, 0.18, 0.801387], normalise=True
    )
    problem = ww.Problem("relu(x-1.2)", "rademacher", readouts, ww.channels.Probit(0.24, shift=0.0), 33.8)
    sizes = np.sort(readouts.values)[::-1]
    (birth,) = (b for b in births(problem) if b.number == 1)
    (jump,) = (t for t in ww.transitions(problem, 300.0) if t.readout == pytest.approx(sizes[1]))
    assert jump.kind == "first-order" and jump.spinodals[1] == birth.alpha
    before, behind = (
        next(
            s for s in ww.solutions(problem, birth.alpha * (1 + e)) if np.count_nonzero(s.weight_overlap) == 1
        )
        for e in (-2e-6, 2e-6)
    )
    assert before.is_stable and not behind.is_stable


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weights_known_exactly_without_noise():
    """Binary weights and signs of the output: the last transition is to no error at all."""
    problem = ww.Problem("tanh(2*x)", "rademacher", "four-point", ww.channels.Sign(), 0.3)
    first, second = ww.transitions(problem, 10.0)
    assert (first.kind, second.kind) == ("first-order", "first-order") and first.readout > second.readout
    below, above = (ww.solve(problem, second.alpha * (1 + e)) for e in (-1e-7, 1e-7))
    assert above.excess_error == 0 and below.excess_error == pytest.approx(second.error_jump, rel=1e-4)
    assert below.free_entropy == pytest.approx(above.free_entropy, abs=1e-6)
    # Nothing is born and nothing folds for wide networks, and yet there is a jump.
    (only,) = ww.transitions(ww.Problem("relu", "rademacher", "rademacher", ww.channels.Sign(), 1.3), 10.0)
    assert only.kind == "first-order" and only.overlap_jump == 1


def test_bad_range():
    for bad in ((2.0, 1.0), (0.0, 1.0), (1.0, math.inf)):
        with pytest.raises(ValueError, match="0 < low < high"):
            ww.trace_branches(SIGMA3, alpha=bad)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_few_units_that_are_known_at_once(share):
    """Most readouts are 0: the others are known from few labels a unit on, and the jump is listed."""
    law = ww.readouts.Discrete([0.0, 1.0, -2.5], [1 - share, 0.7 * share, 0.3 * share], normalise=True)
    problem = ww.Problem("sign(x)+x", "rademacher", law, 2e-4, gamma=36.0)
    listed = ww.transitions(problem, 360.0)
    assert sorted(t.readout for t in listed) == pytest.approx(sorted(abs(v) for v in law.values if v))
    for t in listed:
        before, after = (ww.solve(problem, t.alpha * (1 + side)) for side in (-1e-7, 1e-7))
        own = np.isclose(np.abs(before.readout_values), t.readout)
        gain = np.max(after.weight_overlap[own]) - np.max(before.weight_overlap[own])
        assert gain == pytest.approx(t.overlap_jump, abs=1e-6) and gain > 0.5

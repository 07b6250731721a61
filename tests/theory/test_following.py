"""Solutions of discrete laws followed in α: to where families have them, and to the folds where they end."""

from __future__ import annotations

import math

import numpy as np
import pytest

import widthwise as ww
from widthwise import Problem, channels, readouts, weights
from widthwise.theory.families import specialised_families
from widthwise.theory.families.followed import birth_along, follow, followed_end
from widthwise.theory.onsets import births

# Eight values of the weights are found out one after the other: large units have up to three stable roots.
STAIRS = Problem(
    "sign(x-0.3)+0.2*x**2",
    weights.Discrete.normalised(
        (-1.146, -0.818, -0.461, -0.335, 0.044, 0.459, 0.471, 1.588),
        (0.221, 0.060, 0.235, 0.031, 0.134, 0.007, 0.075, 0.237),
    ),
    readouts.Discrete((-18.8, 0.9), (6e-5, 1 - 6e-5), normalise=True),
    channel=channels.Nonlinear("abs(x)", 1.2, shift=1.4),
    gamma=3.3,
)
# Two sizes of readouts, of which the second is learnt without a jump.
GENTLE = Problem(
    "relu",
    "gaussian",
    readouts.Discrete((1.8, -0.7), (0.25, 0.75), normalise=True),
    channel=0.3,
    gamma=0.3,
)


@pytest.fixture(scope="module")
def second_birth():
    (birth,) = [b for b in births(GENTLE) if b.number == 1]
    return birth


def among(solution, others):
    """Whether a solution is one of others at the same α."""
    return any(
        math.isclose(solution.excess_error, s.excess_error, rel_tol=1e-9)
        and np.allclose(solution.weight_overlap, s.weight_overlap, rtol=1e-8, atol=1e-12)
        for s in others
    )


@pytest.mark.parametrize("alpha", [0.3, 0.8, 2.0, 20.0])
def test_follows_to_what_families_have(alpha):
    start = ww.solve(GENTLE, 5.0)
    assert among(follow(start, alpha), ww.solutions(GENTLE, alpha))


def test_birth_is_where_the_exact_criterion_has_it(second_birth):
    for side in (0.9, 0.99, 1.05):  # from before it, and from behind with the class put back to 0
        start = ww.solve(GENTLE, side * second_birth.alpha)
        # Both solve v²A = 1 to rounding.
        assert birth_along(start, 1) == pytest.approx(second_birth.alpha, rel=1e-10)


def test_a_class_is_born_and_lost_on_the_way(second_birth):
    before, behind = (ww.solve(GENTLE, s * second_birth.alpha) for s in (0.9, 1.1))
    assert np.count_nonzero(before.weight_overlap) < np.count_nonzero(behind.weight_overlap)
    for start, goal in ((before, behind), (behind, before)):
        found = follow(start, goal.alpha)
        np.testing.assert_allclose(found.weight_overlap, goal.weight_overlap, rtol=1e-9, atol=1e-14)
        assert found.free_entropy == pytest.approx(goal.free_entropy, rel=1e-12)
        assert found.residual < 1e-10


def test_branches_end_at_folds():
    folds = np.exp(specialised_families(STAIRS)[0].folds.log_alpha)
    ends = [
        end
        for alpha in (0.043, 0.22, 0.235, 0.26)
        for s in ww.solutions(STAIRS, alpha)
        if s.is_stable and s.branch == "specialised" and np.count_nonzero(s.weight_overlap) == 1
        for end in (followed_end(s, -1), followed_end(s, 1))
    ]
    assert len(ends) >= 8
    # Steps end at 1e-10 of α.
    off = [np.min(np.abs(folds / end - 1)) for end in ends if 0 < end < math.inf]
    assert max(off) < 1e-8
    assert sum(0 < end < math.inf for end in ends) >= 6


def test_a_branch_does_not_go_beyond_its_end():
    s = ww.solve(STAIRS, 0.1)
    end = followed_end(s, 1)
    assert follow(s, end * (1 - 1e-6)).is_stable
    assert follow(s, end * (1 + 1e-4)) is None


def test_jumps_between_roots_of_one_class():
    """The middle one of three roots is followed to where it is equal to the lowest."""
    listed = ww.transitions(STAIRS, 1.0)
    assert [t.kind for t in listed] == ["first-order"] * 3
    folds = np.exp(specialised_families(STAIRS)[0].folds.log_alpha)
    for t in listed:
        low, high = (ww.solve(STAIRS, t.alpha * (1 + e)) for e in (-1e-7, 1e-7))
        jump = np.max(high.weight_overlap - low.weight_overlap)
        assert jump == pytest.approx(t.overlap_jump, rel=1e-3)
        assert low.free_entropy == pytest.approx(high.free_entropy, abs=1e-6)
        begin = t.spinodals[0]
        assert begin < t.alpha < t.spinodals[1]
        assert np.min(np.abs(folds / begin - 1)) < 1e-8


def test_both_solutions_beside_a_fold_are_listed():
    """Units that are all but known: the two differ by less than rounding in their overlaps, not in x."""
    fold = ww.transitions(STAIRS, 1.0)[-1].spinodals[0]
    for beyond in (1e-7, 1e-5, 1e-3):
        inside = len(ww.solutions(STAIRS, fold * (1 + beyond)))
        outside = len(ww.solutions(STAIRS, fold * (1 - beyond)))
        assert inside == outside + 2

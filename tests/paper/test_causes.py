"""Why a chain misses the theory: each cause is found from its own trace, and from nothing else."""

import math

import pytest

import widthwise as ww
from widthwise.paper.causes import CAUSES, with_causes
from widthwise.paper.table import Table

PROBLEM = ww.Problem("relu", noise=0.3, gamma=0.7)
PLACE = {"series": "s", "learner": "hmc", "start": "teacher", "d": 40, "alpha": 1.7, "source": "ours"}


def row(measured, predicted, quantity="excess_error", verdict="differs", error=0.001, **more):
    found = PLACE | {"quantity": quantity, "measured": measured, "predicted": predicted, "verdict": verdict}
    return found | {"difference": measured - predicted, "standard_error": error} | more


def cause(first, *others, runs=()):
    table = with_causes(Table([first, *others]), Table(runs), {"s": PROBLEM})
    return table[0].get("cause")


def run(**columns):
    return {name: PLACE[name] for name in ("series", "learner", "start", "d", "alpha")} | columns


def test_the_linear_part_explains_errors_that_are_too_large_by_its_cost():
    cost = (0.3 + 0.05) / (1.7 * 40)
    assert cause(row(0.05 + cost, 0.05)) == cause(row(0.05 + 1.9 * cost, 0.05)) == "linear part"
    assert cause(row(0.05 + 2.1 * cost, 0.05)) == cause(row(0.05 + 0.6 * cost, 0.05)) == "not told apart"
    assert cause(row(0.05 - cost, 0.05)) == "not told apart"
    assert cause(row(0.5 + cost, 0.5, "weight_overlap")) == "not told apart"


def test_two_starts_that_disagree_are_memory_on_the_side_of_each():
    low, high = row(0.03, 0.05), row(0.07, 0.05, start="random")
    assert cause(low, high) == cause(high, low) == "memory"
    # within their errors they do not disagree; nor do they if errors are not known
    for error in (0.02, math.nan):
        assert cause(low | {"standard_error": error}, high) == "not told apart"
    # a chain from the teacher that errs more than predicted does not remember it
    assert cause(row(0.09, 0.05), high) == "not told apart"
    # another d, another alpha, the authors' chains: no evidence
    for other in ({"d": 60}, {"alpha": 1.8}, {"source": "authors"}):
        assert cause(low, high | other) == "not told apart"


def test_two_replicas_few_draws_or_a_moving_overlap_are_memory():
    low = row(0.03, 0.05)
    assert cause(low, row(0.045, 0.05, "replica_excess_error")) == "memory"
    assert cause(low, row(0.0301, 0.05, "replica_excess_error")) == "not told apart"
    large = row(0.4, 0.1, "weight_overlap")
    for one in (low, large):
        assert cause(one, runs=[run(effective_draws=x) for x in (4.0, 9.0, 30.0)]) == "memory"
        assert cause(one, runs=[run(effective_draws=x) for x in (4.0, 11.0, 30.0)]) == "not told apart"
        assert cause(one, runs=[run(overlap_drift=-0.03, effective_draws=50.0)]) == "memory"
        assert cause(one, runs=[run(overlap_drift=0.03, effective_draws=50.0)]) == "not told apart"
        assert cause(one, runs=[run(overlap_drift=-0.03) | {"start": "random"}]) == "not told apart"
    assert cause(row(0.02, 0.1, "weight_overlap"), runs=[run(effective_draws=4.0)]) == "not told apart"


@pytest.mark.parametrize(
    "change",
    [{"verdict": "agrees"}, {"verdict": "undecided"}, {"source": "authors"}, {"learner": "gamp_rie"}],
)
def test_only_our_chains_that_miss_are_asked(change):
    assert cause(row(0.03, 0.05) | change) is None
    assert set(CAUSES) == {"memory", "linear part", "not told apart"}

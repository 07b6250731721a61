"""Means, standard errors and verdicts of measured against predicted."""

import math

import numpy as np
import pytest

import widthwise as ww
from widthwise.paper import Item, Settings, Tables
from widthwise.paper.compare import compare, means
from widthwise.paper.table import Table
from widthwise.theory.state_evolution import state_evolution

PROBLEM = ww.Problem("relu", "gaussian", "four-point", 0.3, 0.8)
SETTINGS = Settings("smoke")


def run(error, seed, *, learner="hmc", start="teacher", alpha=1.5, **more):
    return {
        "series": "case",
        "learner": learner,
        "start": start,
        "d": 40,
        "alpha": alpha,
        "seed": seed,
        "status": "done",
        "excess_error": error,
    } | more


def item(**options):
    nothing = Table()
    return Item("x", "", "", "", {"case": PROBLEM}, lambda s: nothing, lambda t: None, **options)


def test_mean_and_standard_error_over_instances():
    (row,) = means(Table([run(0.1, 0), run(0.2, 1), run(0.6, 2)]), "excess_error")
    assert row["measured"] == pytest.approx(0.3)
    assert row["standard_error"] == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / math.sqrt(3))
    assert row["n_instances"] == 3


def test_one_instance_has_the_error_of_its_chain_and_failures_are_left_out():
    failed = run(9.9, 1) | {"status": "failed"}
    (row,) = means(Table([run(0.1, 0, chain_error=0.02), failed]), "excess_error")
    assert (row["measured"], row["standard_error"], row["n_instances"]) == (0.1, 0.02, 1)


def test_overlaps_are_compared_by_readout():
    values = [-1.3416, -0.4472, 0.4472, 1.3416]
    runs = [run(0.1, s, weight_overlap=[0.5, 0.1, 0.2, 0.6], readout_values=values) for s in (0, 1)]
    tables = Tables(SETTINGS, measured=Table(runs))
    rows = compare(item(quantities=("weight_overlap",)), tables)
    solution = ww.solve(PROBLEM, 1.5)
    assert [row["readout"] for row in rows] == values
    np.testing.assert_allclose([row["predicted"] for row in rows], solution.weight_overlap)


@pytest.mark.parametrize(
    ("learner", "start", "branch"),
    [("hmc", "teacher", "equilibrium"), ("hmc", "random", "universal"), ("adam", "random", "universal")],
)
def test_each_start_has_its_branch(learner, start, branch):
    tables = Tables(SETTINGS, measured=Table([run(0.1, 0, learner=learner, start=start, chain_error=0.01)]))
    (row,) = compare(item(), tables)
    expected = ww.solve(PROBLEM, 1.5, branch=branch).excess_error
    assert row["predicted"] == pytest.approx(expected, rel=1e-12)
    assert row["deviation_in_standard_errors"] == pytest.approx((0.1 - expected) / 0.01)
    assert (row["verdict"] == "not predicted") == (learner == "adam")


def test_gamp_rie_is_compared_at_its_dimension():
    tables = Tables(SETTINGS, measured=Table([run(0.1, 0, learner="gamp_rie", start="prior")]))
    (row,) = compare(item(), tables)
    at_d = state_evolution(PROBLEM, 1.5, d=40).excess_error[-1]
    assert row["predicted"] < row["predicted_at_d"] == pytest.approx(at_d)
    assert row["difference"] == pytest.approx(0.1 - at_d)


def test_points_of_one_learner_share_their_scatter():
    alphas = (0.5, 1.0, 1.5, 2.0)
    expected = {a: ww.solve(PROBLEM, a).excess_error for a in alphas}
    runs = [run(expected[a] * (1.02 + s), i, alpha=a) for a in alphas for i, s in enumerate((-0.03, 0.03))]
    rows = compare(item(), Tables(SETTINGS, measured=Table(runs)))
    # Two instances each cannot tell, four times two can: t₄ instead of t₁.
    assert [row["verdict"] for row in rows] == ["agrees"] * 4
    for row in rows:
        assert row["interval"] == pytest.approx(4.604 * row["standard_error"], rel=1e-3)
    (row,) = compare(item(), Tables(SETTINGS, measured=Table(runs[:2])))
    assert row["verdict"] == "undecided"

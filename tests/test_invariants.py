"""The invariants see what is wrong: each on a right answer, and on one that was changed."""

import dataclasses

import numpy as np
import pytest

import widthwise as ww
from exhaustive import index_sum, lacking, search
from invariants import alike, bounded, counted, honest, ranked, rising
from saddle_equations import Equations
from stationarity import stationary
from transition_checks import transitions_hold

PROBLEM = ww.Problem(
    "relu", "gaussian", ww.readouts.Discrete([-1.3, 0.8], [0.3, 0.7], normalise=True), 0.1, 0.3
)
BINARY = ww.Problem("sigma3", "rademacher", "homogeneous", 1.25, 0.5)
CLOSE_ATOMS = ww.weights.Discrete.normalised([-1.2, 0.6, 0.602], [0.3, 0.3, 0.4])
SIGN = ww.Problem("tanh(2*x)", "rademacher", "homogeneous", ww.channels.Sign(), 0.5)


def changed(solution, **factors):
    return dataclasses.replace(solution, **{k: getattr(solution, k) * f for k, f in factors.items()})


@pytest.fixture(scope="module")
def solution():
    return ww.solve(PROBLEM, 1.0)


class TestOneSolution:
    def test_right(self, solution):
        assert np.all(solution.weight_overlap > 0)
        assert honest(solution) == bounded(solution) == stationary(solution) == []

    def test_all_known(self):
        s = ww.solve(SIGN, 2.0)
        assert s.excess_error == 0
        assert honest(s) == bounded(s) == stationary(s) == []

    def test_gave_up(self):
        blank = ww.Solution.missing(PROBLEM, 1.0, "equilibrium", "did not converge")
        assert honest(blank) == bounded(blank) == stationary(blank) == []
        assert honest(dataclasses.replace(blank, excess_error=0.1))
        assert honest(dataclasses.replace(blank, status=""))

    def test_honest(self, solution):
        assert honest(dataclasses.replace(solution, residual=2e-10))
        assert honest(dataclasses.replace(solution, tilt=np.nan))
        assert honest(dataclasses.replace(solution, tilt=np.inf))
        assert honest(dataclasses.replace(solution, branch="universal"))

    def test_bounded(self, solution):
        assert bounded(changed(solution, excess_error=-1.0))
        assert bounded(changed(solution, excess_error=100.0))
        assert bounded(changed(solution, gibbs_error=1 + 1e-6))
        assert bounded(changed(solution, mutual_information=-1.0))
        s = ww.solve(BINARY, 3.0)
        assert not bounded(s) and bounded(dataclasses.replace(s, mutual_information=0.6932))

    @pytest.mark.parametrize(
        "name",
        [
            "excess_error",
            "matrix_overlap",
            "matrix_overlap_hat",
            "matrix_overlap_centred",
            "tilt",
            "weight_overlap",
            "weight_overlap_hat",
            "mutual_information",
        ],
    )
    def test_stationary(self, solution, name):
        """1e-6 is a hundred times what the equations are held to."""
        assert stationary(changed(solution, **{name: 1 + 1e-6}))

    def test_free_entropy(self, solution):
        """As promised to 1e-11; the check allows four times that, for |f| < 1."""
        assert stationary(dataclasses.replace(solution, free_entropy=solution.free_entropy + 1e-10))


class TestAllSolutions:
    def test_right(self):
        there = ww.solutions(BINARY, 1.6)
        assert len(there) == 4
        assert ranked(there) == counted(there) == []

    def test_ranked(self):
        there = ww.solutions(BINARY, 1.6)
        assert ranked([])
        assert ranked(there[::-1])
        assert ranked([*there, there[0]])
        assert ranked(there[:-1])  # without the universal one
        assert ranked([dataclasses.replace(s, is_equilibrium=False) for s in there])
        assert ranked([dataclasses.replace(there[0], is_stable=False), *there[1:]])
        second = [dataclasses.replace(s, is_equilibrium=i == 1) for i, s in enumerate(there)]
        assert ranked(second)

    def test_one_gave_up(self):
        """Then no other may be called the equilibrium."""
        there = ww.solutions(BINARY, 1.6)
        blank = ww.Solution.missing(BINARY, 1.6, "specialised", "did not converge")
        assert ranked([blank, *there])
        assert ranked([blank, *(dataclasses.replace(s, is_equilibrium=False) for s in there)]) == []

    @pytest.mark.parametrize("lost", [0, 1, 2])
    def test_counted(self, lost):
        there = ww.solutions(BINARY, 1.6)
        assert counted([s for i, s in enumerate(there) if i != lost])

    @pytest.mark.parametrize(
        ("activation", "shift"), [("0.1*exp(-x**2)", -0.75), ("0.001*he3(x) + 0.0002*he6(x)", -0.3)]
    )
    def test_a_barrier_too_close_to_known_weights(self, activation, shift):
        """Labels that change 20 standard deviations out or more (so far that they tell nothing to double
        precision), and atoms that only x > 1e9 tells apart."""
        far = ww.Problem(activation, CLOSE_ATOMS, "homogeneous", ww.channels.Sign(shift=shift), 0.3)
        there = ww.solutions(far, 0.2)
        assert [s.excess_error > 0 for s in there] == [True, False]
        assert counted(there) == []
        near = dataclasses.replace(far, channel=ww.channels.Sign(shift=-2.7 * far.output_power**0.5))
        there = ww.solutions(near, 0.2)
        assert counted(there) == []
        barrier = next(s for s in there if not s.is_stable)
        assert counted([s for s in there if s is not barrier])


class TestAlongAlpha:
    @pytest.mark.parametrize("problem", [PROBLEM, BINARY, SIGN])
    def test_right(self, problem):
        assert rising(ww.learning_curve(problem, np.geomspace(0.05, 8, 25))) == []

    def test_wrong(self):
        """Each point of a curve in turn is put on a branch that is not the best."""
        alphas = np.geomspace(1.2, 3, 7)
        curve, other = (
            list(ww.learning_curve(BINARY, alphas, branch)) for branch in ("equilibrium", "universal")
        )
        for i in range(1, 6):
            assert rising([*curve[:i], other[i], *curve[i + 1 :]])
        assert rising([dataclasses.replace(curve[0], alpha=1.25), *curve[1:]])

    def test_alike(self):
        one, two = ww.learning_curve(PROBLEM, [1.0, 1.0 + 1e-6])
        assert alike(one, one) == []
        assert alike(one, dataclasses.replace(two, alpha=1.0))


def test_transitions():
    problem = ww.Problem("tanh(2*x)", "rademacher", "four-point", 0.1, 0.5)
    listed = ww.transitions(problem, 4.0)
    curve = ww.learning_curve(problem, np.geomspace(0.3, 3.9, 9))
    assert len(listed) == 2
    assert transitions_hold(problem, listed, 4.0, curve) == []
    moved = [dataclasses.replace(listed[0], alpha=listed[0].alpha * (1 + 1e-5)), listed[1]]
    assert transitions_hold(problem, moved, 4.0, curve)
    assert transitions_hold(problem, listed[:1], 4.0, curve)
    smooth = [dataclasses.replace(listed[0], kind="continuous"), listed[1]]
    assert transitions_hold(problem, smooth, 4.0, curve)


def test_spinodals():
    listed = ww.transitions(BINARY, 5.0)
    curve = ww.learning_curve(BINARY, [0.5, 1.5, 4.0])
    assert transitions_hold(BINARY, listed, 5.0, curve) == []
    i = next(i for i, t in enumerate(listed) if t.kind == "first-order")
    low, high = listed[i].spinodals
    for wrong in ((low * 1.01, high), (low, high * 0.99), (high, low), None):
        shifted = [*listed[:i], dataclasses.replace(listed[i], spinodals=wrong), *listed[i + 1 :]]
        assert transitions_hold(BINARY, shifted, 5.0, curve), wrong


def test_a_spinodal_with_another_fold_close_by():
    """The branch folds twice within 3e-6 of α and goes on for 1e-4: its end is the first of the folds."""
    law = ww.readouts.Discrete(
        [-1.1419293347152348, 0.5117333418243869, 0.5220969729465008]
        + [0.7274396615039705, 1.124288656155323, 1.3872884839205348],
        [0.20427376995548766, 0.22015095039287053, 0.009650816193922392]
        + [0.061273678648807825, 0.5000646407306818, 0.004586144078229752],
    )
    problem = ww.Problem(
        "0.1589*he2(x) + 0.001169*he3(x) + 0.003011*he6(x)",
        "rademacher",
        law,
        ww.channels.Laplace(0.01973),
        0.0008102,
    )
    listed = ww.transitions(problem, 0.002)
    i = next(i for i, t in enumerate(listed) if t.readout == pytest.approx(0.7274396615))
    assert transitions_hold(problem, listed[i : i + 1], 0.002, []) == []
    low, high = listed[i].spinodals
    for wrong in (high * (1 + 3e-7), high * (1 - 3e-5)):
        moved = dataclasses.replace(listed[i], spinodals=(low, wrong))
        assert transitions_hold(problem, [moved], 0.002, [])


class TestSearch:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("problem", "alpha", "overlaps"),
        [
            (BINARY, 1.6, [0.0, 0.4557, 0.8050, 0.9389]),
            (ww.Problem("relu", "gaussian", "four-point", 0.1, 0.5), 1.6, [0.0, 0.6804]),
        ],
    )
    def test_complete(self, problem, alpha, overlaps):
        """Indices add up to 1, with the unordered solutions; the values are those of the design notes."""
        found = search(problem, alpha, np.random.default_rng(1))
        assert index_sum(found) == 1
        assert sorted(np.max(r.overlap) for r in found) == pytest.approx(overlaps, abs=1e-4)
        assert lacking(problem, alpha, np.random.default_rng(1)) == []

    def test_an_unordered_solution(self):
        """Units of the smaller readout alone: a solution, of odd index, that is not promised."""
        law = ww.readouts.Discrete([3, -0.5], [0.03, 0.97], normalise=True)
        found = search(ww.Problem("gelu", "gaussian", law, 0.5, 0.03), 0.0203, np.random.default_rng(1))
        assert index_sum(found) == 1
        assert [r.is_ordered for r in sorted(found, key=lambda r: r.gap)] == [True, False, True]

    def test_two_sizes_on_two_barriers(self):
        """Such a solution has two unstable directions at least: it is no barrier between two others."""
        law = ww.readouts.Discrete([-0.9999997858, 1.0000005806], [0.7305, 0.2695], normalise=True)
        channel = ww.channels.Probit(0.1547)
        problem = ww.Problem("1.308*(tanh(x)+0.01*sign(x))", "rademacher", law, channel, 0.08021)
        found = search(problem, 4.5265, np.random.default_rng(1))
        counts = {tuple(np.round(r.overlap, 3)): Equations(problem, 4.5265).n_barriers(r) for r in found}
        assert counts[0.0, 0.0] == 0
        assert counts[0.098, 0.0] == 1
        assert counts[0.098, 0.098] == 1  # the same one
        large = sorted(Equations(problem, 4.5265).n_barriers(r) for r in found if r.overlap[0] > 0.9)
        assert large == [0, 1, 1, 2]

    @pytest.mark.slow
    def test_what_is_lacking_is_told(self, monkeypatch):
        there = ww.solutions(BINARY, 1.6)
        for lost in (1, 2, 3):
            rest = [s for i, s in enumerate(there) if i != lost]
            monkeypatch.setattr(ww, "solutions", lambda *_, rest=rest: rest)
            told = lacking(BINARY, 1.6, np.random.default_rng(1))
            assert len(told) == 1 and "lacks" in told[0]
        rest = [dataclasses.replace(there[1], is_equilibrium=True), *there[2:]]
        monkeypatch.setattr(ww, "solutions", lambda *_: rest)
        assert "beats" in lacking(BINARY, 1.6, np.random.default_rng(1))[0]

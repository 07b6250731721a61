"""How much data a target needs: it is met there and not before, on both branches."""

import json
import math

import numpy as np
import pytest

import widthwise as ww
from widthwise.cli import main
from widthwise.theory.planner import samples_needed

RELU = ww.Problem("relu", readouts="four-point", channel=0.1, gamma=0.7)
JUMP = ww.Problem("sigma2", "rademacher", channel=0.1, gamma=0.5)


@pytest.mark.parametrize(("error", "d"), [(0.03, 120), (0.012, None)])
def test_the_target_is_met_there_and_not_before(error, d):
    need = samples_needed(RELU, excess_error=error, d=d)
    for branch, part in (("equilibrium", need.optimum), ("universal", need.universal)):
        at = ww.solve(RELU, part.alpha, branch).excess_error
        assert at == pytest.approx(error, rel=1e-8)
        assert ww.solve(RELU, part.alpha * 0.999, branch).excess_error > error
        assert part.is_reachable and not part.is_jump
        assert part.n == (None if d is None else math.ceil(part.alpha * d**2))
    assert need.alpha == need.optimum.alpha < need.universal.alpha
    assert need.n == need.optimum.n


def test_universal_branch_saturates():
    g = float(RELU.activation.tail_kernel(1.0))
    need = samples_needed(RELU, excess_error=0.9 * g, d=100)
    assert need.optimum.is_reachable and not need.universal.is_reachable
    assert need.universal.limit == pytest.approx(g) and need.universal.alpha == math.inf
    assert need.universal.n is None
    assert "never gets there" in str(need) and f"{g:.6g}" in str(need)
    assert ww.solve(RELU, 1e6, "universal").excess_error == pytest.approx(g, rel=1e-4)


@pytest.mark.slow
def test_targets_of_every_size_are_in_order():
    errors = [1e-4, 0.011, 0.3]
    alphas = [samples_needed(RELU, excess_error=e).alpha for e in errors]
    assert np.all(np.diff(alphas) <= 0)


def test_jumps():
    """Any target inside the jump of a first-order transition needs the same α, the Maxwell point."""
    (transition,) = ww.transitions(JUMP, 2.0)
    before, after = (ww.solve(JUMP, transition.alpha * (1 + e)).excess_error for e in (-1e-6, 1e-6))
    for share in (0.3, 0.7):
        need = samples_needed(JUMP, excess_error=after + share * (before - after))
        assert need.optimum.is_jump and "jump" in str(need)
        assert need.alpha == pytest.approx(transition.alpha, rel=1e-8)


@pytest.mark.slow
def test_overlaps():
    need = samples_needed(RELU, overlap=0.6)
    s = ww.solve(RELU, need.alpha)
    assert s.readout_weights @ (s.readout_values**2 * s.weight_overlap) == pytest.approx(0.6, abs=1e-8)
    assert not need.universal.is_reachable and need.universal.limit == 0
    small = samples_needed(RELU, overlap=0.6, readout=0.447)
    own = np.argmin(np.abs(np.abs(s.readout_values) - small.readout))
    assert ww.solve(RELU, small.alpha).weight_overlap[own] == pytest.approx(0.6, abs=1e-8)
    assert small.alpha > need.alpha
    matrix = samples_needed(RELU, matrix_overlap=0.6)
    assert ww.solve(RELU, matrix.alpha).matrix_overlap_centred == pytest.approx(0.6, abs=1e-8)
    universal = ww.solve(RELU, matrix.universal.alpha, "universal")
    assert universal.matrix_overlap_centred == pytest.approx(0.6, abs=1e-8)


def test_few_data_suffice():
    """Above ½μ₂² + g(1) the linear part of the network is enough, n = α₁d."""
    target = 0.25
    need = samples_needed(RELU, excess_error=target, d=300)
    assert need.alpha == 0 and need.optimum.alpha_linear == need.universal.alpha_linear
    assert ww.solve_linear(RELU, need.optimum.alpha_linear).excess_error == pytest.approx(target, rel=1e-9)
    assert need.n == math.ceil(need.optimum.alpha_linear * 300)
    assert "fewer than order d^2" in str(need)
    assert "no samples" in str(samples_needed(RELU, excess_error=5.0))


def test_out_of_reach_is_a_statement():
    need = samples_needed(RELU, excess_error=0.0)
    assert not need.optimum.is_reachable and need.alpha == math.inf and need.n is None
    assert str(need).startswith("No number of samples gives excess error <= 0")
    quadratic = samples_needed(ww.Problem("x**2", gamma=0.3), overlap=0.2)
    assert not quadratic.optimum.is_reachable and quadratic.optimum.limit == 0
    assert not samples_needed(ww.Problem("tanh"), matrix_overlap=0.5).universal.is_reachable


def test_before_specialisation_both_need_the_same():
    need = samples_needed(RELU, matrix_overlap=0.2)
    assert need.optimum == need.universal and "needs no more" in str(need)


@pytest.mark.slow
def test_factorised_theory_has_its_own_answer():
    at = ww.theory.factorised_transition(RELU)
    need = samples_needed(RELU, overlap=0.2, theory="factorised")
    assert need.optimum.is_jump and need.alpha == pytest.approx(at, rel=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give one target"),
        ({"excess_error": 0.1, "overlap": 0.5}, "got excess_error, overlap"),
        ({"excess_error": -1.0}, "excess_error must be >= 0"),
        ({"excess_error": math.nan}, "excess_error must be >= 0"),
        ({"overlap": 1.0}, "must be > 0 and < 1"),
        ({"overlap": 0.5, "d": 2.5}, "d must be a whole number"),
        ({"overlap": 0.5, "readout": 0.8}, "choose from 0.4472, 1.342"),
        ({"excess_error": 0.5, "readout": 0.4472}, "belongs to overlap"),
        ({"overlap": 0.5, "theory": "best"}, "unknown theory 'best'"),
    ],
)
def test_bad_targets(options, message):
    with pytest.raises(ValueError, match=message):
        samples_needed(RELU, **options)


@pytest.mark.slow
def test_command_line(capsys):
    options = ["plan", "--readouts", "four-point", "--gamma", "0.7"]
    assert main([*options, "--excess-error", "0.03", "-d", "120"]) == 0
    need = samples_needed(RELU, excess_error=0.03, d=120)
    out = capsys.readouterr().out
    assert " ".join(str(need).split()) in " ".join(out.split())
    assert str(need.universal.n) in out
    assert main([*options, "--excess-error", "0.03", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [p["learner"] for p in record["points"]] == ["optimum", "universal"]
    assert record["points"][0]["alpha"] == pytest.approx(need.alpha)
    assert main([*options, "--excess-error", "0"]) == 1
    for bad in ([], ["--overlap", "2"], ["--excess-error", "x"], ["--overlap", "0.5", "-d", "1.5"]):
        assert main([*options, *bad]) == 2
        assert capsys.readouterr().err.startswith("error: ")


def test_an_error_measure_as_target():
    """α at which the share of wrong labels passes the target, at the optimum and on the universal branch."""
    problem = ww.Problem("relu", readouts="rademacher", channel="probit:0.02", gamma=0.3)
    answer = ww.samples_needed(problem, error="zero-one", target=0.1, d=100)
    for need, branch in ((answer.optimum, "equilibrium"), (answer.universal, "universal")):
        reached = ww.solve(problem, need.alpha, branch, error="zero-one").error
        assert reached == pytest.approx(0.1, rel=1e-7)
        assert need.n == math.ceil(need.alpha * 100**2)
    assert "ero-one error <= 0.1 needs" in str(answer)
    # Below the error of one who knows the teacher: arctan(√(Δ/r))/π.
    floor = math.atan(math.sqrt(0.02 / problem.output_power)) / math.pi
    out_of_reach = ww.samples_needed(problem, error="zero-one", target=0.9 * floor)
    assert not out_of_reach.optimum.is_reachable and out_of_reach.n is None
    assert out_of_reach.optimum.limit == pytest.approx(floor, rel=1e-9)
    assert ww.samples_needed(problem, error="zero-one", target=0.5).alpha == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"error": "zero-one"}, "go together"),
        ({"error": "zero-one", "target": 0.1, "overlap": 0.5}, "in place of other targets"),
        ({"error": "gibbs-zero-one", "target": 0.1}, "leave gibbs- out"),
        ({"error": "zero-on", "target": 0.1}, "did you mean"),
        ({"error": "zero-one", "target": math.nan}, "must be finite"),
    ],
)
def test_bad_error_targets(options, words):
    with pytest.raises(ValueError, match=words):
        ww.samples_needed(ww.Problem("tanh", channel="sign"), **options)


@pytest.mark.parametrize("target", [0.5, 0.2, 0.05, 0.012, 0.002])
def test_limits_do_not_depend_on_how_easy_the_target_is(target):
    # With all data the optimum errs by 0, the universal branch by g(1), whatever was asked for.
    problem = ww.Problem("relu", readouts="four-point", gamma=0.3)
    answer = ww.samples_needed(problem, excess_error=target)
    assert answer.optimum.limit == 0
    assert answer.universal.limit == pytest.approx(float(problem.activation.tail_kernel(1.0)), rel=1e-12)

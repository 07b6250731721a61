"""Properties of transitions and diagrams over random problems.

The free entropy is continuous across transitions, larger readouts are learnt first, spinodals bracket the
Maxwell point, and a diagram's cut is the learning curve.
"""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import widthwise as ww

ALPHA_MAX = 6.0
# A transition is known to 1e-11 of itself; the solutions are compared this far from it.
BESIDE = 1e-6

# Laws of two to four sizes, well apart: two that are all but equal set in within rounding of one another.
sizes = st.lists(st.integers(3, 20), min_size=1, max_size=3, unique=True)


@st.composite
def problems(draw):
    values = np.array(draw(sizes), dtype=float)
    weights = np.array([draw(st.integers(1, 4)) for _ in values], dtype=float)
    readouts = ww.readouts.Discrete(values, weights / weights.sum(), normalise=True)
    return ww.Problem(
        draw(st.sampled_from(["relu", "tanh(2*x)", "sigma3", "sigma2"])),
        draw(st.sampled_from(["gaussian", "rademacher"])),
        readouts,
        channel=draw(st.sampled_from([0.07, 0.6, 1.25])),
        gamma=draw(st.sampled_from([0.12, 0.3, 0.8, 1.7])),
    )


few = settings(
    max_examples=8, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@pytest.mark.slow
@few
@given(problems())
def test_transitions(problem):
    found = ww.transitions(problem, ALPHA_MAX)
    known = 0.0
    for t in found:
        assert t.alpha >= known
        known = t.alpha
        below, above = (ww.solve(problem, t.alpha * (1 + e)) for e in (-BESIDE, BESIDE))
        # d(αf)/dα = ψ_out is bounded: f moves by no more than the step, whether or not the branch changes.
        assert abs(above.free_entropy - below.free_entropy) < 20 * BESIDE * (1 + abs(below.free_entropy))
        own = np.isclose(np.abs(above.readout_values), t.readout)
        jump = np.max(above.weight_overlap[own] - below.weight_overlap[own])
        if t.kind == "first-order":
            assert t.spinodals[0] <= t.alpha <= t.spinodals[1]
            assert jump == pytest.approx(t.overlap_jump, abs=1e-3)
            assert below.excess_error - above.excess_error == pytest.approx(t.error_jump, abs=1e-3)
            assert t.error_jump > 0
        else:
            assert 0 <= jump < 0.01
            assert np.all(below.weight_overlap[own] == 0)
    # Larger readouts are learnt first: by the order of first transitions, and by overlaps at each α.
    first = {}
    for t in found:
        first.setdefault(round(t.readout, 9), t.alpha)
    order = sorted(first, reverse=True)
    every = sorted(np.unique(np.round(np.abs(problem.readouts.values), 9)), reverse=True)
    assert order == every[: len(order)]
    assert all(first[a] <= first[b] for a, b in zip(order[:-1], order[1:], strict=True))
    for s in ww.learning_curve(problem, np.geomspace(0.05, ALPHA_MAX, 5)):
        by_size = s.weight_overlap[np.argsort(np.abs(s.readout_values))]
        assert np.all(np.diff(by_size) >= -1e-9)
        n_learnt = len({round(abs(v), 9) for v in s.readout_values[s.weight_overlap > 0]})
        assert n_learnt == sum(alpha < s.alpha for alpha in first.values())


@pytest.mark.slow
@few
@given(problems())
def test_a_cut_of_a_diagram_is_the_learning_curve(problem):
    alpha, gamma = np.array([0.15, 0.9, ALPHA_MAX]), [problem.gamma, 1.3 * problem.gamma]
    data = ww.phase_diagram(problem, gamma=gamma, alpha=alpha, n_workers=1)
    cut = data.sel(gamma=problem.gamma)
    curve = ww.learning_curve(problem, alpha)
    assert cut.excess_error.values == pytest.approx(curve.excess_error, rel=1e-9)
    assert cut.free_entropy.values == pytest.approx(curve.free_entropy, rel=1e-9)
    assert list(cut.branch.values) == list(curve.branch)
    lines = cut.transition_alpha.values
    expected = [t.alpha for t in ww.transitions(problem, 1.5 * ALPHA_MAX)]
    assert sorted(lines[np.isfinite(lines)]) == pytest.approx(expected, rel=1e-8)
    # the points that refine it lie on the learning curve too, either side of every line in the frame
    own = data.refined_gamma.values == problem.gamma
    more, errors = data.refined_alpha.values[own], data.refined_excess_error.values[own]
    inside = [a for a in expected if alpha[0] < a < alpha[-1]]
    for a in inside:
        assert more[more < a].max() == pytest.approx(a, rel=1e-4)
        assert more[more > a].min() == pytest.approx(a, rel=1e-4)
    if more.size:
        assert errors == pytest.approx(ww.learning_curve(problem, more).excess_error, rel=1e-9)
    assert bool(more.size) == bool(inside)
    assert not math.isnan(float(data.excess_error.sum()))

"""The theory with a side channel, and what the table of runs through one says of the small overlap."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import widthwise as ww

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def study():
    """The script of the study; its neighbours are found while it is loaded."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        spec = importlib.util.spec_from_file_location("side_channel_study", EXAMPLES / "side_channel.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(EXAMPLES))
    return module


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "alpha"), [("sigma1", 1.3), ("sigma3", 1.4)])
def test_without_a_side_channel_the_overlap_is_that_of_the_solution(study, activation, alpha):
    problem = study.problem_of(activation)
    found = ww.solve(problem, alpha).weight_overlap[0]
    assert study.predicted(problem, alpha, 0.0) == pytest.approx(found, rel=1e-7)
    # and a weak one moves it a little, upwards
    values = [study.predicted(problem, alpha, s) for s in (1e-5, 0.01, 0.03)]
    assert values[0] == pytest.approx(found, abs=1e-4) and np.all(np.diff([found, *values]) > 0)


@pytest.mark.slow
def test_before_the_onset_the_overlap_vanishes_with_the_side_channel(study):
    """σ₁ at α = 0.4 < 0.58: linear response, more than the side channel alone."""
    problem = study.problem_of("sigma1")
    weak, weaker = (study.predicted(problem, 0.4, s) for s in (0.02, 0.01))
    assert weak / weaker == pytest.approx(2, rel=0.15) and weaker > problem.weights.overlap(0.01)


def test_the_table_shows_no_overlap_as_the_side_channel_vanishes(study):
    """σ₁, α = 1.6: 𝒬 is proportional to s, from either start, where the theory ends at 0.26."""
    chosen = [
        (float(row["strength"]), float(row["weight_overlap"]))
        for key, row in study.table().items()
        if key[:3] == ("sigma1", 1.6, 40) and int(row["iterations"]) >= 6000
    ]
    s, overlap = np.array(chosen).T
    assert set(s) >= {0.05, 0.1, 0.2} and s.size >= 18
    # the scatter over instances grows with s: weights 1/s²
    design = np.stack([np.ones_like(s), s], axis=1) / s[:, None]
    fit, residual, *_ = np.linalg.lstsq(design, overlap / s, rcond=None)
    # starts on one instance are not independent: half as many degrees of freedom
    error = np.sqrt(residual[0] / (s.size / 2 - 2) * np.linalg.inv(design.T @ design)[0, 0])
    theory = ww.solve(study.problem_of("sigma1"), 1.6).weight_overlap[0]
    assert abs(fit[0]) < 3 * error and fit[0] < theory - 4 * error

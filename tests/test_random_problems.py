"""The theory on two hundred fixed random problems; ``make fuzz`` draws fresh ones."""

import numpy as np
import pytest

from checking import Effort, check_problem
from random_problems import random_alphas, random_problem

N_PROBLEMS, N_QUICK, N_TOGETHER = 204, 6, 6
# A part of what make fuzz looks at: the cost is that of one problem from nothing, and half of another.
CHEAP = Effort(
    n_alphas=5,
    n_rounds=2,
    n_solutions=1,
    invariance_share=0.06,
    transition_share=0.05,
    exhaustive_share=0.0,
)
N_SEARCHED = 2
THOROUGH = Effort(n_focus=2, n_rounds=4, n_solutions=3, transition_share=0.5, exhaustive_share=1.0)


def violations_of(seed, effort):
    rng = np.random.default_rng(seed)
    drawn = random_problem(rng)
    report = check_problem(drawn, rng, effort)
    if not report.violations:
        return ""
    return "\n".join([f"seed {seed}", drawn.text, *(f"# - {text}" for text in report.violations)])


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=[pytest.mark.slow] if first >= N_QUICK else [])
        for first in range(0, N_PROBLEMS, N_TOGETHER)
    ],
)
def test_random_problems(first):
    told = [violations_of(seed, CHEAP) for seed in range(first, first + N_TOGETHER)]
    assert not any(told), "\n".join(filter(None, told))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10_000, 10_000 + N_SEARCHED))
def test_random_problems_searched_exhaustively(seed):
    told = violations_of(seed, THOROUGH)
    assert not told, told


def test_one_generator_makes_everything():
    texts, alphas = [], []
    for _ in range(2):
        rng = np.random.default_rng(5)
        drawn = random_problem(rng)
        texts.append(drawn.text)
        alphas.append(random_alphas(rng, drawn.problem, 9))
    assert texts[0] == texts[1] and np.array_equal(*alphas)
    assert np.all(np.diff(alphas[0]) > 0)


def test_every_kind_is_drawn_and_can_be_pasted():
    seen: dict[str, set[str]] = {}
    names: dict = {}
    for seed in range(300):
        drawn = random_problem(np.random.default_rng(seed))
        for part, kind in drawn.kinds.items():
            seen.setdefault(part, set()).add(kind)
        exec(drawn.text, names)
        made, problem = names["problem"], drawn.problem
        assert made.activation == problem.activation and made.gamma == problem.gamma
        assert made.channel == problem.channel
        if problem.readouts.is_discrete:  # dividing by the sum once more may move a last digit
            assert np.allclose(made.readouts.values, problem.readouts.values, rtol=1e-14, atol=0)
    assert {part: len(kinds) for part, kinds in seen.items()} == {
        "activation": 6,
        "weights": 6,
        "readouts": 12,
        "channel": 9,
    }

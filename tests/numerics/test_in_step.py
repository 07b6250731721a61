"""Computations in step: what they ask is answered together, and each gets its own answer."""

from __future__ import annotations

import numpy as np
import pytest

from widthwise.numerics.in_step import ask, in_step, is_in_step


def collatz(n):
    """Steps to 1, every one of them asked for, some calls deep."""

    def further(n):
        return ask(n)

    steps = 0
    while n != 1:
        n, steps = further(n), steps + 1
    return steps


def next_ones(batches):
    def answer(questions):
        batches.append(len(questions))
        return [3 * n + 1 if n % 2 else n // 2 for n in questions]

    return answer


def test_each_gets_its_own_answers_and_they_are_given_together():
    batches = []
    found = in_step([lambda n=n: collatz(n) for n in (6, 1, 27, 7)], next_ones(batches))
    assert found == [8, 0, 111, 16]
    # As many batches as the longest asks, and in each one question of everybody who still runs.
    assert len(batches) == 111
    assert batches == [sum(k < steps for steps in found) for k in range(111)]


def test_no_tasks_and_tasks_that_ask_nothing():
    assert in_step([], next_ones([])) == []
    assert in_step([lambda: 3, lambda: None], next_ones([])) == [3, None]


def test_in_step_within_a_task():
    inner, outer = [], []

    def both(n):
        return in_step([lambda: collatz(n), lambda: collatz(n + 1)], next_ones(inner)) + [collatz(n)]

    assert in_step([lambda: both(6), lambda: both(1)], next_ones(outer)) == [[8, 16, 8], [0, 1, 0]]
    assert len(inner) == 16 + 1 and len(outer) == 8
    assert not is_in_step()


def test_errors_of_tasks_and_of_answers_are_raised_and_the_others_are_ended():
    ended = []

    def careful():
        try:
            return collatz(27)
        finally:
            ended.append(True)

    def fails():
        collatz(6)
        raise ValueError("seven")

    with pytest.raises(ValueError, match="seven"):
        in_step([careful, fails], next_ones([]))
    assert ended == [True]
    with pytest.raises(ZeroDivisionError):
        in_step([careful], lambda questions: [1 // 0])
    assert ended == [True, True]
    with pytest.raises(RuntimeError, match="in_step"):
        ask(1)


def test_how_rounding_is_warned_of_is_each_task_s_own():
    """A task that waits within ``np.errstate`` changes nothing for the others."""

    def quiet():
        with np.errstate(all="ignore"):
            ask(1)
            return np.geterr()["divide"]

    def loud():
        ask(2)
        return np.geterr()["divide"]

    with np.errstate(divide="raise"):
        assert in_step([quiet, loud], lambda questions: [np.geterr()["divide"]] * 2) == ["ignore", "raise"]

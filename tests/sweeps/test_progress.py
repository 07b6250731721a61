"""The time that a sweep says is left."""

from types import SimpleNamespace

import numpy as np
import pytest

from widthwise.sweeps.estimate import Estimate
from widthwise.sweeps.progress import Clock


def clock_after(estimated, taken, n_done, n_workers=1):
    keys = [str(i) for i in range(len(estimated))]
    clock = Clock(
        Estimate(dict(zip(keys, estimated, strict=True)), dict.fromkeys(keys, 1.0), len(keys)), n_workers
    )
    for key, seconds in zip(keys[:n_done], taken[:n_done], strict=True):
        result = SimpleNamespace(
            task=SimpleNamespace(key=key), status="failed", error="", timings={"seconds": float(seconds)}
        )
        clock.note(result)
    return clock


@pytest.mark.parametrize("n_workers", [1, 2])
def test_small_tasks_that_mostly_begin(n_workers):
    """A thousand of a millisecond that take a second each, then ten of a hundred seconds."""
    estimated = np.array([1e-3] * 1000 + [100.0] * 10)
    taken = estimated + 1.0 + 0.1 * np.sin(np.arange(estimated.size))
    for n_done in (1, 20, 999, 1003):
        left = clock_after(estimated, taken, n_done, n_workers).seconds_left()
        assert left == pytest.approx(taken[n_done:].sum() / n_workers, rel=0.15)


@pytest.mark.parametrize("factor", [0.3, 2.5])
def test_another_speed_than_measured(factor):
    estimated = np.geomspace(1, 30, 40)
    taken = factor * estimated * (1 + 0.1 * np.sin(3 * np.arange(estimated.size)))
    for n_done in (20, 39):
        left = clock_after(estimated, taken, n_done).seconds_left()
        assert left == pytest.approx(taken[n_done:].sum(), rel=0.3)
    assert clock_after(estimated, taken, 40).seconds_left() == 0


def test_nothing_is_done_yet():
    assert clock_after([3.0, 5.0], [], 0).seconds_left() == pytest.approx(8.0)
    assert clock_after([np.nan, 5.0], [], 0).seconds_left() == pytest.approx(10.0)

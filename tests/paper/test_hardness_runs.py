"""What the items on hardness share: which runs there are at which d, and how fits are drawn."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from widthwise.paper import find, settings_of
from widthwise.paper.hardness_runs import _draw_fit
from widthwise.paper.marks import figure
from widthwise.paper.table import Table


def test_large_sizes_have_longer_runs_of_fewer_instances():
    settings = settings_of("hardness-hmc", "workstation")
    beyond = settings["beyond"]
    found = {}
    for series, task in find("hardness-hmc").tasks(settings):
        found.setdefault((series, task.d), []).append((task.seed, task.settings["iterations"]))
    assert {d for _, d in found} == set(settings["d"]) and len(found) == 3 * len(settings["d"])
    for (_, d), runs in found.items():
        n, length = (beyond["n_seeds"], beyond["iterations"]) if d > beyond["d"] else (16, 400)
        assert sorted(runs) == [(seed, length) for seed in range(n)]
    item = find("hardness-hmc")
    traced = {task.seed for _, task in item.tasks(settings) if item.traced(task)}
    assert traced == set(range(6))  # trajectories are large


@pytest.mark.parametrize(("law", "a", "b", "low", "high"), [
    ("exponential", 0.03, 1.2, 0.02, 0.05),
    ("power", 0.7, 1.9, 1.5, 2.0),
])  # fmt: skip
def test_the_band_of_a_fit_is_that_of_its_exponent(law, a, b, low, high):
    sizes = (30, 50, 110)
    _, axes = figure()
    ax = axes[0, 0]
    _draw_fit(ax, Table([{"law": law, "a": a, "b": b, "low": low, "high": high}]), sizes, "black")
    d, time = ax.lines[0].get_data()
    np.testing.assert_allclose(time, np.exp(a * d + b) if law == "exponential" else a * d**b, rtol=1e-12)
    (band,) = [c for c in ax.collections if isinstance(c, PolyCollection)]
    x, y = band.get_paths()[0].vertices.T
    first, last = y[np.isclose(x, 30)], y[np.isclose(x, 110)]
    u = np.array([30.0, 110.0]) if law == "exponential" else np.log([30.0, 110.0])
    # along its edges ln t grows with the exponents of the interval
    assert np.log(last.max() / first.min()) / np.diff(u) == pytest.approx(high, rel=1e-9)
    assert np.log(last.min() / first.max()) / np.diff(u) == pytest.approx(low, rel=1e-9)


def test_a_fit_without_an_interval_has_no_band():
    _, axes = figure()
    _draw_fit(axes[0, 0], Table([{"law": "power", "a": 1.0, "b": 2.0}]), (20, 40), "black")
    _draw_fit(axes[0, 0], Table(), (20, 40), "black")
    assert len(axes[0, 0].lines) == 1 and not axes[0, 0].collections

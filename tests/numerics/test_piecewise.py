"""Piecewise Chebyshev series: values, derivatives and integrals of functions with known ones."""

import numpy as np
import pytest

from widthwise.numerics.piecewise import PiecewiseChebyshev


def functions(x):
    return np.stack([np.sin(3 * x) * np.exp(-x / 3), np.abs(x - 0.7) ** 3])


SERIES = PiecewiseChebyshev(functions, (-3.0, 4.2), breaks=[0.7, 9.0], atol=1e-12)
X = np.linspace(-3.0, 4.2, 1001)


def test_values_and_derivatives():
    value, slope, curvature = SERIES(X)
    wave = np.exp(-X / 3)
    assert value == pytest.approx(np.sin(3 * X) * wave, abs=1e-12)
    assert slope == pytest.approx((3 * np.cos(3 * X) - np.sin(3 * X) / 3) * wave, abs=1e-9)
    exact = (-9 * np.sin(3 * X) - 2 * np.cos(3 * X) + np.sin(3 * X) / 9) * wave
    assert curvature == pytest.approx(exact, abs=1e-7)
    kinked, slope, _ = SERIES(X, 1)
    assert kinked == pytest.approx(np.abs(X - 0.7) ** 3, abs=1e-11)
    assert slope == pytest.approx(3 * (X - 0.7) * np.abs(X - 0.7), abs=1e-9)


def test_few_and_many_points_have_the_same_values():
    few = np.concatenate([SERIES.values(part) for part in np.array_split(X, 7)], axis=1)
    assert SERIES.values(X) == pytest.approx(few, rel=1e-14, abs=1e-14)
    assert np.array_equal(SERIES.values(X, 1)[0], SERIES.values(X)[0])
    for many, parts in zip(
        SERIES(X), zip(*(SERIES(x) for x in np.array_split(X, 7)), strict=True), strict=True
    ):
        assert many == pytest.approx(np.concatenate(parts), rel=1e-9, abs=1e-9)


def test_integral_from_the_lower_end():
    def primitive(x):
        return np.sign(x - 0.7) * (x - 0.7) ** 4 / 4

    value, slope, _ = SERIES.integrated(1)(X)
    assert value == pytest.approx(primitive(X) - primitive(-3.0), abs=1e-11)
    assert slope == pytest.approx(np.abs(X - 0.7) ** 3, abs=1e-11)


def test_panels_tile_the_interval():
    edges = SERIES.edges
    assert edges[0] == -3.0 and edges[-1] == 4.2 and np.all(np.diff(edges) > 0)
    assert np.any(edges == 0.7) and SERIES.nodes.shape == (SERIES.n_panels, 12)
    assert np.all((SERIES.nodes > edges[:-1, None]) & (SERIES.nodes < edges[1:, None]))


def test_rounding_is_not_resolved():
    """Noise of 1e-10 does not fall when panels are halved: they are accepted, not halved for ever."""
    rng = np.random.default_rng(3)
    noisy = PiecewiseChebyshev(
        lambda x: np.sin(x)[None] + 1e-10 * rng.standard_normal(x.size), (0.0, 6.0), atol=1e-13
    )
    assert noisy.n_panels < 40
    assert noisy(np.linspace(0, 6, 50))[0] == pytest.approx(np.sin(np.linspace(0, 6, 50)), abs=1e-8)


def test_a_kink_that_was_not_named_is_resolved_by_halving():
    kinked = PiecewiseChebyshev(lambda x: np.abs(x - 0.3)[None], (-1.0, 1.0), narrowest=1e-4, atol=1e-12)
    x = np.linspace(-1, 1, 77)
    assert kinked(x)[0] == pytest.approx(np.abs(x - 0.3), abs=1e-4)


def test_values_and_slopes_give_the_same_series_from_half_as_many_places():
    """To rounding where the last terms are; the place of a kink in the third derivative is a break."""
    places: list[int] = []

    def with_slopes(x):
        places.append(x.size)
        wave = np.exp(-x / 3)
        slopes = [(3 * np.cos(3 * x) - np.sin(3 * x) / 3) * wave, 3 * (x - 0.7) * np.abs(x - 0.7)]
        return functions(x), np.stack(slopes)

    both = PiecewiseChebyshev(with_slopes, (-3.0, 4.2), breaks=[0.7, 9.0], atol=1e-12, has_slopes=True)
    assert np.array_equal(both.edges, SERIES.edges) and places[0] == 6 * 4
    for which in (0, 1):
        for one, other, atol in zip(both(X, which), SERIES(X, which), (1e-12, 1e-9, 1e-7), strict=True):
            assert one == pytest.approx(other, abs=atol)

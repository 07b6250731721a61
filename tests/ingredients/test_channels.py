"""The Gaussian channel: its definition, slopes, errors, specs and messages."""

import json
import math

import numpy as np
import pytest

from widthwise.ingredients import channels
from widthwise.ingredients.channels import Channel, Gaussian, resolve

NOISE, POWER = 0.13, 1.7
GAPS = np.array([0.0, 1e-9, 0.02, 0.6, 1.7])


def test_definition():
    # ψ_out = ∫dy E_ξ Z ln Z with Z = E_u P_out(y | ξ√q + u√(r - q)): y has variance Δ + r - q about ξ√q.
    gap = 0.6
    variance = NOISE + gap
    y = np.linspace(-12, 12, 4001) * math.sqrt(variance)
    u, w = np.polynomial.hermite_e.hermegauss(120)
    z = np.exp(-((y[:, None] - math.sqrt(gap) * u) ** 2) / (2 * NOISE)) @ w
    z /= math.sqrt(2 * math.pi * NOISE) * w.sum()
    value = np.sum(z * np.log(np.maximum(z, 1e-300))) * (y[1] - y[0])
    assert Gaussian(NOISE).free_entropy(gap, POWER) == pytest.approx(value, abs=1e-10)


def test_slopes():
    # q = r - gap; central differences with step 1e-4, error 1e-8 of the third derivative.
    channel, gap, step = Gaussian(NOISE), GAPS[2:], 1e-4
    slope = (channel.free_entropy(gap - step, POWER) - channel.free_entropy(gap + step, POWER)) / (2 * step)
    np.testing.assert_allclose(channel.free_entropy_slope(gap, POWER), slope, rtol=1e-6)
    curvature = channel.free_entropy_slope(gap - step, POWER) - channel.free_entropy_slope(gap + step, POWER)
    np.testing.assert_allclose(channel.free_entropy_curvature(gap, POWER), curvature / (2 * step), rtol=2e-6)


def test_known_output_and_errors():
    channel = Gaussian(NOISE)
    assert channel.free_entropy_known(POWER) == channel.free_entropy(0.0, POWER)
    assert channel.free_entropy_known(POWER) == pytest.approx(-0.5 * math.log(2 * math.pi * math.e * NOISE))
    np.testing.assert_allclose(channel.bayes_error(GAPS, POWER) - NOISE, GAPS, atol=1e-16)
    np.testing.assert_allclose(channel.gibbs_error(GAPS, POWER) - NOISE, 2 * GAPS, atol=1e-16)
    assert np.all(np.diff(channel.free_entropy(GAPS, POWER)) < 0)
    assert channel.is_additive


def test_resolve():
    assert resolve(0.1) == Gaussian(0.1) == resolve(np.float64(0.1)) and resolve(1) == Gaussian(1.0)
    channel = Gaussian(0.1)
    assert resolve(channel) is channel and isinstance(channel, Channel)
    assert resolve(json.loads(json.dumps(channel.spec))) == channel
    assert hash(Gaussian(1)) == hash(Gaussian(1.0))
    assert eval(repr(channel), {"channels": channels}) == channel  # the text is our own


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (0.0, "must be > 0 and finite"),
        (-0.1, "got -0.1"),
        (math.nan, "must be > 0"),
        (math.inf, "finite"),
        (True, "channel must be a name"),
        ("loud", "unknown channel"),
        ({"kind": "probitt"}, "unknown channel"),
        ({"kind": "gaussian", "noise": "x"}, "must be a number"),
    ],
)
def test_messages(spec, words):
    with pytest.raises(ValueError) as caught:
        resolve(spec)
    assert words in str(caught.value)
    assert "noise" in str(caught.value) or "channel" in str(caught.value)

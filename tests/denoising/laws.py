"""Readout laws shared by the tests of matrix denoising: generic ones first."""

import numpy as np

from widthwise.ingredients.readouts import Discrete

ASYMMETRIC = Discrete([-1.2, 0.4, 1.1], [0.3, 0.3, 0.4], normalise=True)
WITH_ZERO = Discrete([-2.0, 0.0, 1.0], [0.1, 0.4, 0.5], normalise=True)


def many_atoms(n=64, seed=5):
    rng = np.random.default_rng(seed)
    return Discrete(0.3 + rng.standard_normal(n), rng.dirichlet(np.ones(n)), normalise=True)


DISCRETE = {
    "asymmetric": ASYMMETRIC,
    "homogeneous": "homogeneous",
    "rademacher": "rademacher",
    "four-point": "four-point",
    "with-zero": WITH_ZERO,
    "64 atoms": many_atoms(),
}
CONTINUOUS = {"uniform": "uniform", "gaussian": "gaussian"}


def touching_snr(denoiser, low, high):
    """The snr at which the number of bands changes, to the last digit, by bisection."""
    n_low = len(denoiser.support(low))
    if n_low == len(denoiser.support(high)):
        raise ValueError("no bands touch between the ends")
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return middle
        if len(denoiser.support(middle)) == n_low:
            low = middle
        else:
            high = middle

"""Scaling laws the slow way: for every number of learnt features, the fixed point of the error.

λ_i = n v_i²/(d(Δ + ε)), q_i/(1 - q_i) = λ_i g'(q_i), ε = Σ v_i²[g(1) - g(q_i)] with Σ v_i² = 1; of all
numbers the one of largest F = -(n/d) ln(Δ + ε) + Σ[q_i + ln(1 - q_i)].
"""

import numpy as np

_Q = 1 - np.geomspace(1e-9, 0.95, 4000)[::-1]


def upper_overlap(snr, kernel_slope, kernel_curvature):
    """The largest q with q/(1 - q) = λ g'(q) for each λ; NaN where there is only 0."""
    needed = _Q / (1 - _Q) / kernel_slope(_Q)
    bottom = np.argmin(needed)
    q = np.interp(snr, needed[bottom:], _Q[bottom:])
    for _ in range(6):
        error = q - (1 - q) * snr * kernel_slope(q)
        q = q - error / (1 + snr * (kernel_slope(q) - (1 - q) * kernel_curvature(q)))
    return np.where(snr > needed[bottom], q, np.nan)


def optimum(readouts, samples_per_input, noise, kernel):
    """ε, number of learnt features and their overlaps; kernel is (g, g', g'')."""
    g, slope, curvature = kernel
    v2 = np.sort(np.asarray(readouts, dtype=float) ** 2)[::-1]
    v2 = v2 / v2.sum()
    best = (-samples_per_input * np.log(noise + g(1.0)), g(1.0), 0, np.empty(0))
    for n in range(1, v2.size + 1):
        error = 0.0
        for _ in range(500):  # monotone from below
            q = upper_overlap(samples_per_input * v2[:n] / (noise + error), slope, curvature)
            new = float(v2[:n] @ (g(1.0) - g(q)) + g(1.0) * v2[n:].sum())
            if not np.isfinite(new) or abs(new - error) < 1e-14 * new:
                break
            error = new
        if not np.isfinite(new):
            continue
        value = -samples_per_input * np.log(noise + new) + float(np.sum(q + np.log1p(-q)))
        best = max(best, (value, new, n, q), key=lambda one: one[0])
    return best[1:]

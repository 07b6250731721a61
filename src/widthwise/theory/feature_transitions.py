r"""Where each feature is learnt, for laws of many features with μ₂ = 0.

With n features learnt the potential αf_n obeys d(αf_n)/dα = ψ_out(ε_n), and ε_n falls with n: two of these
curves cross once, and the equilibrium follows their upper envelope.  Neighbours that cross in the wrong order
are learnt in one jump, as the envelope of straight lines is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .families.features import FeaturePoint, FeatureProblem

__all__ = ["MOST_LISTED", "FeatureJump", "feature_jumps", "last_jump"]

MOST_LISTED = 2000
"""Features up to which every transition is computed."""

_N_STEPS = 60
_RTOL = 1e-13
_SIDE = 1e-6  # in ln α, beside a jump; potentials of many features are not told apart much closer


@dataclass(frozen=True)
class FeatureJump:
    """The equilibrium passes from ``before`` to ``after`` at α."""

    alpha: float
    before: FeaturePoint
    after: FeaturePoint


def feature_jumps(features: FeatureProblem, alpha_max: float) -> list[FeatureJump]:
    """All jumps up to alpha_max, in order."""
    last = features.equilibrium(alpha_max).n
    envelope: list[tuple[int, FeatureJump | None]] = [(0, None)]  # a number, and the jump to it
    for n in range(1, last + 1):
        while True:
            jump = crossing(features, envelope[-1][0], n)
            earlier = envelope[-1][1]
            if jump is None or (earlier is not None and jump.alpha <= earlier.alpha):
                if len(envelope) == 1:
                    break
                envelope.pop()
                continue
            envelope.append((n, jump))
            break
    return [jump for _, jump in envelope if jump is not None and jump.alpha <= alpha_max]


def last_jump(features: FeatureProblem) -> float:
    """α from which all features are learnt."""
    many = len(features.sums)
    jump = crossing(features, many - 1, many)
    if jump is None:
        return math.inf

    def n_at(alpha: float) -> int:
        return features.equilibrium(alpha).n

    low, high = jump.alpha * (1 - _SIDE), jump.alpha * (1 + _SIDE)
    below = n_at(low)
    if below < many and n_at(high) == many:
        return jump.alpha
    # The last ones are learnt with others, at a smaller α.
    while below == many:
        low, high = 0.8 * low, low
        below = n_at(low)
    while n_at(high) < many:
        low, high = high, 1.25 * high
    while high / low > 1 + _SIDE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if n_at(middle) == many else (middle, high)
    jump = crossing(features, n_at(low), many)
    return high if jump is None else jump.alpha


def crossing(features: FeatureProblem, few: int, many: int) -> FeatureJump | None:
    """Where ``many`` learnt features become better than ``few``."""
    log_v2, root = features.sums.log_v2, features.root
    guess = root.log_jump - float(log_v2[many - 1])
    gap = features.sum(many, guess).gap
    alpha = float(np.exp(features.setting.log_alpha(np.array([guess]), np.array([gap]))[0]))
    low, high = 0.0, np.inf
    best: FeatureJump | None = None
    start = guess
    for _ in range(_N_STEPS):
        before = features.at(few, alpha, start) if few else features.nothing(alpha)
        after = features.at(many, alpha, guess)
        if after is None or after.slope <= 0:  # not yet
            low = alpha
        elif before is None or before.slope <= 0:
            high = alpha
        else:
            best = FeatureJump(alpha, before, after)
            gain = after.potential - before.potential
            rate = features.deficit(before.gap) - features.deficit(after.gap)
            low, high = (alpha, high) if gain < 0 else (low, alpha)
            step = -gain / rate
            if abs(step) <= _RTOL * alpha:
                return best
            guess, start = after.log_coupling, before.log_coupling if few else start
            if low < alpha + step < high and abs(step) < 0.5 * alpha:
                alpha += step
                continue
        if high - low <= _RTOL * low:
            return best
        alpha = 0.5 * (low + high) if np.isfinite(high) else 1.02 * low
        if low == 0.0:
            alpha = 0.98 * high
    return best

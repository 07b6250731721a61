r"""Nothing is known of single units (the universal branch), or every weight is (perfect learning).

On the universal branch 𝒬 ≡ 0 and τ = 0.  The parameter is u = ln B; q̂₂ = γμ₂²B, q₂ = r₂ - mmse(q̂₂) and
α = γB/(2ψ_out') are explicit.  For additive noise α grows with B.  For a channel that hardly tells λ from -λ,
ψ_out' starts near 0 and grows faster than B: the curve folds, and a solution that has learnt nothing stands
beside one that has.

Perfect learning of discrete weights is a maximum of the RS potential at the end of its range, for any α,
though no stationary point, in two cases.  Without noise ψ_out falls like the root of the gap when the gap
opens, which beats the entropy gained by blurring discrete weights.  With an activation that jumps,
g(1) - g(𝒬) opens like √(1 - 𝒬), which does so with noise too.  There

.. math:: f = \psi_\mathrm{out}(r; r) - \frac{\gamma}{\alpha} H(P_W)\, P(v \ne 0),

and the mutual information is the entropy of the weights that can be learnt, its limit for many data in any
case (eq. large_alpha_limit of arXiv:2505.24849).
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from ...ingredients.channels import Additive, Channel, Nonlinear
from ...ingredients.channels.quadrature import quadrature
from ..matrix_channel import MatrixPair
from ..setting import Averages, Setting
from ..solution import CONVERGED, Solution, readout_grid
from ..stationary import MARGIN, Stationary, solutions_at
from .base import Family
from .equations import Points, System

__all__ = ["UniversalFamily", "can_be_perfect", "perfect_solutions"]


class UniversalFamily(Family):
    """Solutions with every overlap 0."""

    n_learnt = 0

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @property
    def grid(self) -> np.ndarray:
        setting = self.setting
        full = setting.output_gap(np.ones(1), np.full(1, setting.kernel_total))
        slope = setting.problem.channel.free_entropy_slope(full, setting.power)
        # From where nothing is learnt; labels that hardly depend on what is known of λ need a large B.
        least = max(float(slope[0]), self._least_slope, 1e-30 / setting.power)
        low = float(np.log(2 / setting.gamma) + np.log(least) + np.log(1e-16))
        return np.arange(low, low + 150.0, 0.8)

    @property
    def stops(self) -> np.ndarray:
        return self.grid[88::8]

    def guess(self, u: np.ndarray) -> np.ndarray:
        return np.empty((u.size, 0))

    def pair(self, u: np.ndarray) -> MatrixPair:
        """The matrix channel at τ = 0: γA = 1 - mmse(q̂₂), for mmse'(0) = -1."""
        setting = self.setting
        log_hat = setting.log_hat_scale + u
        zeros = np.zeros(u.size)
        if setting.mu2_squared == 0:
            return MatrixPair(
                np.full(u.size, -np.inf), zeros, zeros + 1, zeros - np.inf, zeros + 1, zeros + 1, zeros, zeros
            )
        mmse, recovered, slope = setting.spectral.mmse(log_hat)
        with np.errstate(divide="ignore"):
            log_pull = np.log(recovered)
        return MatrixPair(
            log_pull,
            zeros,
            -slope / np.maximum(recovered, 1e-300),
            zeros - np.inf,
            zeros + 1,
            mmse,
            zeros,
            slope,
        )

    def system(self, u: np.ndarray, z: np.ndarray) -> System:
        setting, n = self.setting, u.size
        pair = self.pair(u)
        gap = setting.output_gap(pair.mmse_after, np.full(n, setting.kernel_total))
        slope, curvature = setting.problem.channel.free_entropy_slopes(gap, setting.power)
        # Where ψ_out' is rounding around 0 nothing can be said, and no α is met.
        slope = np.where(slope > self._least_slope, slope, np.nan)
        alpha_by_gap = curvature / slope
        by_u = 1 + alpha_by_gap * 0.5 * setting.mu2_squared * pair.after_by_hat
        return System(
            np.empty((n, 0)),
            np.empty((n, 0, 0)),
            np.empty((n, 0)),
            np.log(0.5 * setting.gamma) + u - np.log(slope),
            np.empty((n, 0)),
            by_u,
        )

    @cached_property
    def _least_slope(self) -> float:
        """ψ_out' that is not rounding, where B = 0 is a solution; 0 elsewhere."""
        if not self.learns_nothing:
            return 0.0
        middle = self.setting.problem.channel.free_entropy_slope(0.5 * self.setting.power, self.setting.power)
        return 1e-9 * float(middle)

    @property
    def learns_nothing(self) -> bool:
        """Whether B = 0 is a solution.

        Labels that depend on |λ| say nothing where nothing is known of λ, and constant ones never do; of a
        linear activation n = Θ(d) samples have told everything.
        """
        setting, channel = self.setting, self.setting.problem.channel
        if setting.is_linear or self._labels_are_constant:
            return True
        full = setting.output_gap(np.ones(1), np.full(1, setting.kernel_total))
        if setting.power - full[0] >= 1e-12 * setting.power:
            return False
        first = channel.free_entropy_slope(np.array([full[0], 0.5 * setting.power]), setting.power)
        return bool(first[0] <= 1e-9 * first[1])  # both are 0 if labels say nothing at all

    @cached_property
    def _labels_are_constant(self) -> bool:
        """Whether other labels than one are rarer than the smallest double (a threshold far out)."""
        setting = self.setting
        gap = setting.power * np.array([1.0, 1e-6, 1e-12])
        return not setting.problem.channel.free_entropy_slope(gap, setting.power).any()

    def before_the_curve(self, alpha: np.ndarray) -> tuple[np.ndarray, Points]:
        """Where α is below all that is traced: nothing is learnt yet, and B is proportional to α."""
        nodes, _ = self.curve
        first = nodes[:1]
        is_early = np.zeros(alpha.size, dtype=bool)
        if len(first) and abs(first.slope[0] - 1) < 1e-9:
            is_early = np.log(alpha) < first.log_alpha[0]
        index = np.nonzero(is_early)[0]
        log_alpha = np.log(alpha[index])
        u = log_alpha - first.log_alpha[0] + first.u[0] if index.size else log_alpha
        n, blank = index.size, np.empty((index.size, 0))
        return index, Points(u, blank, log_alpha, np.zeros(n), blank, np.ones(n))

    def nothing(self, alpha: np.ndarray) -> list[Solution]:
        """The solutions at B = 0."""
        n = alpha.size
        blank = np.empty((n, 0))
        u = np.full(n, -np.inf)
        return self.solutions(Points(u, blank, np.log(alpha), np.zeros(n), blank, np.ones(n)), alpha)

    def solutions(self, points: Points, alpha: np.ndarray | None = None) -> list[Solution]:
        setting, n = self.setting, len(points)
        v, _ = readout_grid(setting.problem)
        log_hat = setting.log_hat_scale + points.u
        pair = self.pair(points.u)
        recovered = np.exp(pair.log_pull)  # γA at τ = 0
        largest2 = setting.problem.readouts.largest**2
        with np.errstate(invalid="ignore"):  # inf * 0 for unbounded readouts at mu_2 = 0
            is_stiff = (recovered == 0) | (largest2 * recovered / setting.gamma < 1 + MARGIN)
        blank = np.zeros((n, v.size))
        alpha = np.exp(points.log_alpha) if alpha is None else alpha
        is_maximum = np.ones(n, dtype=bool)
        if setting.mu2_squared > 0:
            gap = setting.output_gap(pair.mmse_after, np.full(n, setting.kernel_total))
            hat = np.exp(log_hat)
            # -mmse'(q̂₂), from d mmse/d ln q̂₂.
            with np.errstate(divide="ignore", invalid="ignore"):
                steep = np.where(hat > 0, -pair.after_by_hat / hat, 1.0)
            curvature = setting.problem.channel.free_entropy_curvature(gap, setting.power)
            is_maximum = 4 * alpha * curvature * (0.5 * setting.mu2_squared) ** 2 * steep < 1
        averages = Averages(
            np.zeros(n),
            np.ones(n),
            np.full(n, setting.kernel_total),
            np.zeros(n),
            np.zeros((2, n)),
            np.zeros((2, n)),
        )
        found = Stationary(
            self,
            points.u,
            points.z,
            points.residual,
            alpha,
            np.full(n, -np.inf),
            log_hat,
            pair,
            averages,
            blank,
            blank,
            is_stiff & is_maximum,
        )
        return solutions_at(setting, "universal", found)


def can_be_perfect(setting: Setting) -> bool:
    """Whether the equilibrium may have no error at all at finite α."""
    if setting.problem.weights.entropy is None or setting.is_linear:
        return False
    return setting.units.can_be_known or _is_sharp(setting.problem.channel, setting.power)


@lru_cache(maxsize=128)
def _is_sharp(channel: Channel, power: float) -> bool:
    """Whether ψ_out' diverges as the gap closes, as it does where P_out jumps, with or without noise."""
    if channel.is_noiseless:
        return True
    if isinstance(channel, Additive):
        return False  # a smooth density
    if isinstance(channel, Nonlinear):  # however far out: rare outputs are the last to tell of the weights
        return channel.has_jumps and quadrature(channel, power).breaks.size > 0
    near, far = channel.free_entropy_slope(np.array([1e-12, 1e-10]) * power, power)
    return bool(near > 5 * far)  # 10 for a jump


def perfect_solutions(setting: Setting, alpha: np.ndarray) -> list[Solution]:
    """The solution in which every weight of a readout other than 0 is known, at each α."""
    if not can_be_perfect(setting):
        return []
    problem = setting.problem
    v, p = readout_grid(problem)
    entropy = problem.weights.entropy
    assert entropy is not None
    is_seen = v != 0
    information = float(entropy) * float(p[is_seen].sum())
    known = problem.channel.free_entropy_known(problem.output_power)
    error = problem.channel.irreducible_error(problem.output_power)
    return [
        Solution(
            problem=problem,
            alpha=float(a),
            branch="specialised",
            is_equilibrium=False,
            is_stable=True,
            status=CONVERGED,
            residual=0.0,
            excess_error=0.0,
            bayes_error=error,
            gibbs_error=error,
            matrix_overlap=problem.matrix_power,
            matrix_overlap_hat=np.inf,
            matrix_overlap_centred=1.0,
            tilt=np.inf,
            free_entropy=known - problem.gamma / float(a) * information,
            mutual_information=information,
            readout_values=v,
            readout_weights=p,
            weight_overlap=np.where(is_seen, 1.0, 0.0),
            weight_overlap_hat=np.where(is_seen, np.inf, 0.0),
        )
        for a in alpha
    ]

r"""Averages over y = sqrt(snr) w + z of the posterior of w, a mixture of Gaussians, by direct quadrature.

Component i has mean m_i, variance v_i >= 0 and probability p_i. With s_i^2 = 1 + snr v_i, its posterior has
variance v_i/s_i^2 and a mean that can be written in two ways,

    m_i + sqrt(snr) v_i z_i/s_i  =  y/sqrt(snr) - z_i/(sqrt(snr) s_i),        z_i = (y - sqrt(snr) m_i)/s_i,

the first without cancellation while snr v_i is small, the second when it is large.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import Array
from .mixture_panels import NODE, NODE_WEIGHT, MixturePanels, Panels

__all__ = ["MixtureIntegrals"]

Index = NDArray[np.intp]

_BATCH = 60_000  # doubles in one array
# Squared distance, beyond that of the second nearest atom, at which others are left out: exp(-160) covers
# probabilities down to 1e-12 and atoms as close as 1e-15. And beyond the nearest: exp(-800) is 0.
_FAR, _GONE = 320.0, 1600.0
_BRIEF = 0.4  # up to here 16 terms of the exponential series are right to rounding


class _Posterior(NamedTuple):
    """Components (first axis) seen from the nodes y (panels, nodes)."""

    seen: Index  # which components
    root: Array  # sqrt(snr)
    from_cell: Array  # y as a distance from the mean of its cell
    apart: Array  # that mean minus m_i
    s: Array
    z: Array
    log_ratio: Array  # ln of the joint probability with y, against the most likely component
    top: Array
    total: Array
    probability: Array


class MixtureIntegrals:
    """The integrals of the law of (w - centre)/scale, which must be centred, with unit variance.

    ``means``, ``variances`` and ``probabilities`` are those of w, of total probability 1 (not checked here);
    a component of variance 0 is an atom. ``is_smooth`` says that the atoms are the nodes of a quadrature of
    a smooth law, fine against the noise: crossings between neighbours are not resolved.

    Distances between means are taken before the shift: those of nearly equal atoms keep their digits.
    """

    def __init__(
        self,
        means: ArrayLike,
        variances: ArrayLike,
        probabilities: ArrayLike,
        *,
        centre: float = 0.0,
        scale: float = 1.0,
        is_smooth: bool = False,
    ):
        m, v, p = (np.array(a, dtype=float) for a in (means, variances, probabilities))
        order = np.argsort(m, kind="stable")
        m, self.variances, self.probabilities = m[order], v[order] / scale**2, p[order]
        self.means = (m - centre) / scale
        self.apart = (m[:, None] - m) / scale
        self.label_entropy = float(-p @ np.log(p))
        self._panels = MixturePanels(self.apart, self.variances, self.probabilities, is_smooth=is_smooth)

    def low(self, snr: Array) -> Array:
        """Rows ln(mmse), ln(F'), ln(F/snr) and ln(psi/snr^2), relatively accurate however small snr is.

        The law must be centred.
        """
        log_mmse, log_slope, power, psi = self._integrate(snr, is_low=True)
        return np.stack([log_mmse, log_slope, np.log(power / snr), np.log(psi / snr / snr)])

    def high(self, snr: Array) -> Array:
        """Rows ln(mmse), ln(F') and I, the first two accurate however small the mmse is."""
        log_mmse, log_slope, surprise = self._integrate(snr, is_low=False)
        known = np.log1p(snr[:, None] * self.variances) @ self.probabilities / 2
        return np.stack([log_mmse, log_slope, self.label_entropy + known - surprise])

    def _integrate(self, snr: Array, is_low: bool) -> Array:
        panels = self._panels(snr)
        root = np.sqrt(snr)[panels.owner]
        rows = np.zeros((4 if is_low else 3, panels.owner.size))
        rows[:2] = -np.inf
        for part, first, n_seen in self._classes(panels, root, is_low):
            own = Panels(panels.owner[part], panels.cell[part], panels.low[part], panels.high[part])
            rows[:, part] = self._on_panels(own, root[part][:, None], first, n_seen, is_low)
        start = np.searchsorted(panels.owner, np.arange(snr.size))
        peak = np.maximum.reduceat(rows[:2], start, axis=1)
        rows[:2] = np.exp(rows[:2] - peak[:, panels.owner])
        rows = np.add.reduceat(rows, start, axis=1)
        rows[:2] = peak + np.log(rows[:2])
        return rows

    def _classes(self, panels: Panels, root: Array, is_low: bool) -> Iterator[tuple[Index, Index, int]]:
        """Panels to be taken together, with the first component that each has to look at, and how many."""
        n, n_panels = self.means.size, panels.owner.size
        first, count = np.zeros(n_panels, dtype=np.intp), np.full(n_panels, n)
        if not self.variances.any():
            first, count = self._in_sight(panels, root)
            if not is_low:  # a panel that sees one atom only has nothing to confuse it with
                count[count == 1] = 0
        size = np.minimum(2 ** np.ceil(np.log2(np.maximum(count, 1))).astype(int), n)
        for n_seen in np.unique(size[count > 0]).tolist():
            chosen = np.flatnonzero((size == n_seen) & (count > 0))
            n_together = max(1, _BATCH // (NODE.size * n_seen))
            for k in range(0, chosen.size, n_together):
                part = chosen[k : k + n_together]
                yield part, np.minimum(first[part], n - n_seen), n_seen

    def _in_sight(self, panels: Panels, root: Array) -> tuple[Index, Index]:
        """First atom that can matter somewhere on a panel, and how many of its neighbours can."""
        first, count = np.empty_like(panels.cell), np.empty_like(panels.cell)
        rows = max(1, _BATCH // self.means.size)
        for k in range(0, first.size, rows):
            part = slice(k, k + rows)
            low, high = panels.low[part, None], panels.high[part, None]
            at = root[part, None] * self.apart[:, panels.cell[part]].T
            nearest = np.maximum(np.maximum(at - high, low - at), 0.0)
            farthest = np.maximum(np.abs(at - high), np.abs(at - low))
            second = np.partition(farthest, 1, axis=1)
            seen = (nearest**2 <= second[:, 1:2] ** 2 + _FAR) & (nearest**2 <= second[:, :1] ** 2 + _GONE)
            first[part] = np.argmax(seen, axis=1)
            count[part] = self.means.size - np.argmax(seen[:, ::-1], axis=1) - first[part]
        return first, count

    def _on_panels(self, panels: Panels, root: Array, first: Index, n_seen: int, is_low: bool) -> Array:
        """Logarithms of the integrals of Var and Var^2 over each panel, and the other integrals needed."""
        half = 0.5 * (panels.high - panels.low)[:, None]
        index = first + np.arange(n_seen)[:, None]
        post = self._posterior(root, panels.cell, panels.low[:, None] + half * (1 + NODE), index)
        log_density = post.top + np.log(post.total * (half * NODE_WEIGHT / np.sqrt(2 * np.pi)))
        with np.errstate(divide="ignore"):  # Var(w | y) may underflow far from the crossings
            log_variance = np.log(self._variance(post))
        density = np.exp(log_density)
        rows = [_log_sum(log_density + log_variance), _log_sum(log_density + 2 * log_variance)]
        if is_low:
            log_evidence, estimate = self._evidence(post, panels.cell)
            # L averages to 1 over pure noise: psi = E ln L is then an average of positive terms.
            rows.append((density * estimate**2).sum(axis=1))
            rows.append((density * _exponential_tail(-log_evidence)).sum(axis=1))
        else:
            surprise = np.log(post.total) - (post.probability * post.log_ratio).sum(axis=0)
            rows.append((density * surprise).sum(axis=1))
        return np.stack(rows)

    def _posterior(self, root: Array, cell: Index, from_cell: Array, index: Index) -> _Posterior:
        apart, index = self.apart[cell, index][..., None], index[..., None]
        s = np.sqrt(1 + root**2 * self.variances[index])
        z = (from_cell + root * apart) / s
        log_joint = np.log(self.probabilities)[index] - np.log(s) - z * z / 2
        top = log_joint.max(axis=0)
        log_ratio = np.maximum(log_joint - top, -1e4)
        probability = np.exp(log_ratio)
        total = probability.sum(axis=0)
        return _Posterior(index, root, from_cell, apart, s, z, log_ratio, top, total, probability / total)

    def _variance(self, post: _Posterior) -> Array:
        """Var(w | y): the variances of the components and the squared distances between their means."""
        # Spread about the mean of the most likely component: the difference below loses at most a factor
        # equal to the number of components, and nothing when one component dominates.
        likeliest = post.log_ratio.argmax(axis=0)
        if post.seen.shape[1] == 1:
            best = post.seen[likeliest, 0, 0]
        else:
            best = post.seen[likeliest, np.arange(likeliest.shape[0])[:, None], 0]
        spread = np.take(self.apart, post.seen * self.means.size + best)
        v = self.variances[post.seen]
        if v.any():
            spread = self._spread_of_wide(post, v, likeliest[None], spread)
        shift = (post.probability * spread).sum(axis=0)
        variance: Array = (post.probability * (v / post.s**2 + spread**2)).sum(axis=0) - shift**2
        return variance

    def _spread_of_wide(self, post: _Posterior, v: Array, likeliest: Index, apart: Array) -> Array:
        """Distances between posterior means, given those between the means of the components."""
        # Each is seen from m_i or, if the component is wider than the noise, from y/sqrt(snr).
        is_wide = np.broadcast_to(post.root**2 * v > 1, post.z.shape)
        from_mean = post.z * post.s / post.root
        shift = np.where(is_wide, -post.z / (post.root * post.s), post.root * v * post.z / post.s)
        wide_best, from_best, shift_best = (
            np.take_along_axis(a, likeliest, axis=0) for a in (is_wide, from_mean, shift)
        )
        between = np.where(
            is_wide, np.where(wide_best, 0.0, from_best), np.where(wide_best, -from_mean, apart)
        )
        distance: Array = between + (shift - shift_best)
        return distance

    def _evidence(self, post: _Posterior, cell: Index) -> tuple[Array, Array]:
        """ln of L = sum_i p_i L_i, the likelihoods against pure noise, and the posterior mean of w."""
        x, m = post.root**2, self.means[post.seen]
        v, p = self.variances[post.seen], self.probabilities[post.seen]
        y = post.from_cell + post.root * self.means[cell][:, None]
        gain = post.root * v * post.z / post.s
        far = post.top + np.log(post.total) + y * y / 2
        if len(post.seen) < self.means.size:  # no longer near the noise alone
            return far, (post.probability * (m + gain)).sum(axis=0)
        linear = post.root * m * y
        # ln L_i minus the linear term, whose average over a centred law is 0.
        rest = (x * v * y * (y - 2 * post.root * m) - x * m * m) / (2 * post.s**2) - np.log1p(x * v) / 2
        log_likelihood = np.minimum(linear + rest, 700.0)
        is_brief = np.abs(log_likelihood) < _BRIEF
        brief = _exponential_tail(np.where(is_brief, log_likelihood, 0.0)) + rest
        excess = (p * np.where(is_brief, brief, np.expm1(log_likelihood) - linear)).sum(axis=0)
        is_near = np.abs(excess) < _BRIEF
        log_evidence = np.where(is_near, np.log1p(np.where(is_near, excess, 0.0)), far)
        # pi_i - p_i, by its exponent where the two are close.
        close = np.where(is_brief & is_near, log_likelihood - log_evidence, 0.0)
        change = np.where(is_brief & is_near, p * np.expm1(close), post.probability - p)
        return log_evidence, (m * change + post.probability * gain).sum(axis=0)


def _log_sum(logs: Array) -> Array:
    peak = np.maximum(logs.max(axis=1, keepdims=True), -1e300)
    with np.errstate(divide="ignore"):
        log_sum: Array = peak[:, 0] + np.log(np.exp(logs - peak).sum(axis=1))
        return log_sum


def _exponential_tail(u: Array) -> Array:
    """exp(u) - 1 - u, by its series where it would cancel."""
    brief = np.where(np.abs(u) < _BRIEF, u, 0.0)
    series = np.zeros_like(brief)
    for k in range(16, 2, -1):
        series = (series + 1) * brief / k
    with np.errstate(over="ignore"):
        return np.where(np.abs(u) < _BRIEF, (1 + series) * brief**2 / 2, np.expm1(u) - u)

r"""Second-order regression with spectral shrinkage for inputs that are not Gaussian.

GAMP takes the features x and xxᵀ - I for uncorrelated, which heavy tails, skewness or a few distinct values
break; its steps then overshoot. Here the same model and the same shrinkage are joined by vector approximate
message passing, whose linear half solves the regression for the features as they are:

.. math::
    \hat Q_2 &= \text{posterior mean of } Q \text{ for the prior } N(R_2, \gamma_2^{-1}) \text{ and the data},
    & 1/\eta_2 &= \text{its mean variance}, \\
    \gamma_1 &= \eta_2 - \gamma_2, \quad R_1 = (\eta_2 \hat Q_2 - \gamma_2 R_2)/\gamma_1, \\
    \hat Q_1 &= \text{shrinkage of } R_1 = Q + \sigma Z, \ \sigma^2 = d/(2\gamma_1),
    & \gamma_1/\eta_1 &= \mathrm{div}/N, \\
    \gamma_2 &= \eta_1 - \gamma_1, \quad R_2 = (\eta_1 \hat Q_1 - \gamma_1 R_1)/\gamma_2 ,

precisions being those of the N = d(d+1)/2 orthonormal coordinates. The noise variance and the power of the
linear part are updated by expectation maximisation. It starts from the same with R_2 = 0 throughout, which
is ridge regression on all quadratic features with penalties of maximal evidence: also the answer to fall
back on.

With few unknowns the regression is solved by a Cholesky factor, else by conjugate gradients with the two
products of :class:`~widthwise.learners.sample_blocks.SampleBlocks` and its trace by a random probe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .empirical_shrinkage import Shrinkage
from .gamp_rie_iteration import Design, GampRieState

__all__ = ["iterate_lmmse"]

# Unknowns up to which the Gram matrix of the features is formed (column by column) and factorised.
_N_DENSE = 700
_N_RIDGE = 60  # steps of expectation maximisation at most
_CG_RTOL = 1e-4
_CG_STEPS = 200
_GROWTH = 1.02
_MAX_DAMPING = 0.95


def iterate_lmmse(
    design: Design,
    labels: np.ndarray,
    shrinkage: Shrinkage,
    *,
    noise: float | None = None,
    damping: float = 0.3,
    max_steps: int = 100,
    rtol: float = 1e-3,
    seed: int = 0,
) -> GampRieState:
    """The fixed point of the scheme above, as a state of the same kind as GAMP-RIE's.

    ``status`` is "converged", "max_steps" or "stalled"; in the last two the answer is the step of least
    generalised cross-validation error, at worst the ridge regression.
    """
    n, d = design.n_samples, design.n_features
    size = d * (d + 1) // 2
    model = _Regression(design, labels, np.random.default_rng(seed))
    power_y = max(float(np.var(labels)), 1e-300)
    # Half of the variance to each part and to the noise is nearer than an order of magnitude; the rest is
    # learnt.
    belief = _Belief(0.5 * power_y if noise is None else noise, size / (0.1 * power_y), d / (0.3 * power_y))
    mean = np.zeros((d, d))
    for _ in range(_N_RIDGE):
        post = model.posterior(belief, mean)
        old = belief
        belief = old.updated(post, size, d, n, is_noise_known=noise is not None)
        belief.matrix_precision = size / (float(np.sum(post.matrix**2)) + size * post.matrix_variance)
        change = belief.distance(old)
        if change < 0.01:
            break
    best = _Step(mean, belief, post, post.cross_validation(belief, size, d, n))
    history = [_row(0, best, size, 0.0, damping)]
    here, status = best, "max_steps"
    for step in range(1, max_steps + 1):
        target, precision = _shrunk_prior(here, shrinkage)
        mean = damping * here.mean + (1 - damping) * target
        belief = here.belief.updated(here.post, size, d, n, is_noise_known=noise is not None)
        belief.matrix_precision = here.belief.matrix_precision**damping * precision ** (1 - damping)
        post = model.posterior(belief, mean)
        new = _Step(mean, belief, post, post.cross_validation(belief, size, d, n))
        change = math.sqrt(float(np.mean((post.fit - here.post.fit) ** 2)) / max(new.score, 1e-14 * power_y))
        history.append(_row(step, new, size, change, damping))
        if change < rtol * (1 - damping) and new.score < _GROWTH * best.score:
            here, status = new, "converged"
            break
        if new.score < _GROWTH * best.score:
            here = new
            best = new if new.score < best.score else best
        else:
            damping = 0.5 * (1 + damping)
            here = best
            if damping > _MAX_DAMPING:
                status = "stalled"
                break
    here = here if status == "converged" else best
    state = GampRieState(here.post.matrix, here.post.vector, here.post.intercept, status=status)
    state.matrix_error, state.vector_error = size * here.post.matrix_variance, d * here.post.vector_variance
    state.residual_variance = here.belief.noise + state.variance
    state.n_steps, state.history = len(history) - 1, history
    return state


@dataclass
class _Step:
    """A Gaussian prior for Q, what else is believed, and the posterior that follows."""

    mean: np.ndarray
    belief: _Belief
    post: _Posterior
    score: float


def _shrunk_prior(here: _Step, shrinkage: Shrinkage) -> tuple[np.ndarray, float]:
    """Mean and precision of the Gaussian that stands for the spectral prior in the next regression."""
    d = len(here.mean)
    eta2, gamma2 = 1 / here.post.matrix_variance, here.belief.matrix_precision
    gamma1 = max(eta2 - gamma2, 1e-6 * eta2)
    noisy = (eta2 * here.post.matrix - gamma2 * here.mean) / gamma1
    values, basis = np.linalg.eigh(noisy)
    shrunk = shrinkage(values, math.sqrt(d / (2 * gamma1)))
    # Shrinkage must leave some variance and remove some, or the Gaussian that stands for it has none.
    ratio = min(max(2 * shrunk.divergence / (d * (d + 1)), 1e-3), 1 - 1e-3)
    eta1 = gamma1 / ratio
    target = (basis * (eta1 * shrunk.values - gamma1 * values)) @ basis.T / (eta1 - gamma1)
    return target, eta1 - gamma1


def _row(step: int, here: _Step, size: int, change: float, damping: float) -> dict[str, float]:
    variance = 2 * size * here.post.matrix_variance + here.post.vector_variance * len(here.mean)
    return {
        "step": step,
        "residual_variance": here.score,
        "variance": variance,
        "change": change,
        "damping": damping,
    }


@dataclass
class _Belief:
    """Noise variance and prior precisions of the entries of Q and of b."""

    noise: float
    matrix_precision: float
    vector_precision: float

    def updated(self, post: _Posterior, size: int, d: int, n: int, *, is_noise_known: bool) -> _Belief:
        """One step of expectation maximisation for the noise and the power of b."""
        n_free = post.n_free(self, size, d)
        noise = self.noise
        if not is_noise_known:
            noise = max(
                post.residual_power + self.noise * n_free / n, 1e-12 * (post.residual_power + self.noise)
            )
        power = float(np.mean(post.vector**2)) + post.vector_variance
        return _Belief(noise, self.matrix_precision, 1 / max(power, 1e-300))

    def distance(self, other: _Belief) -> float:
        pairs = ((self.noise, other.noise), (self.matrix_precision, other.matrix_precision))
        return max(abs(math.log(a / b)) for a, b in pairs)


@dataclass
class _Posterior:
    """Gaussian posterior of (Q, b): means, mean variances, fit at the training samples (about its mean)."""

    matrix: np.ndarray
    vector: np.ndarray
    intercept: float
    matrix_variance: float
    vector_variance: float
    fit: np.ndarray
    residual_power: float

    def n_free(self, belief: _Belief, size: int, d: int) -> float:
        """Effective number of parameters."""
        return size * (1 - belief.matrix_precision * self.matrix_variance) + d * (
            1 - belief.vector_precision * self.vector_variance
        )

    def cross_validation(self, belief: _Belief, size: int, d: int, n: int) -> float:
        """Generalised cross-validation: the estimate of the test error that decides between steps."""
        left = max(1 - self.n_free(belief, size, d) / n, 1e-3)
        score = self.residual_power / left**2
        return score if math.isfinite(score) else math.inf


class _Regression:
    """Bayesian linear regression on centred features x̃ and x̃x̃ᵀ."""

    def __init__(self, design: Design, labels: np.ndarray, rng: np.random.Generator) -> None:
        self.design = design
        self.labels = labels
        self.n, self.d = design.n_samples, design.n_features
        self.correlation = self._adjoint(labels - labels.mean())
        self.is_dense = self.d * (self.d + 3) // 2 <= _N_DENSE
        if self.is_dense:
            self._basis = _symmetric_basis(self.d)
            columns = [self._gram(*self._split(e)) for e in self._basis]
            self._dense = np.array([self._basis @ column for column in columns])
        else:
            # Unit variance in every orthonormal coordinate: 1 on the diagonal, 1/2 beside it.
            z = rng.standard_normal((self.d, self.d))
            probe = 0.5 * (z + z.T)
            probe[np.diag_indices(self.d)] = np.diag(z)
            self._probe = np.concatenate([probe.ravel(), rng.standard_normal(self.d)])
            self._last = np.zeros((2, self.d**2 + self.d))

    def posterior(self, belief: _Belief, mean: np.ndarray) -> _Posterior:
        d = self.d
        prior = np.concatenate([np.full(d * d, belief.matrix_precision), np.full(d, belief.vector_precision)])
        right = self.correlation / belief.noise
        right[: d * d] += belief.matrix_precision * mean.ravel()
        if self.is_dense:
            weights = np.array(
                [belief.matrix_precision] * (len(self._basis) - d) + [belief.vector_precision] * d
            )
            covariance = np.linalg.inv(self._dense / belief.noise + np.diag(weights))
            solution = self._basis.T @ (covariance @ (self._basis @ right))
            variances = np.diag(covariance)
            matrix_variance, vector_variance = float(variances[:-d].mean()), float(variances[-d:].mean())
        else:
            solution = self._solve(belief.noise, prior, right, self._last[0])
            spread = self._solve(belief.noise, prior, self._probe, self._last[1])
            self._last = np.stack([solution, spread])
            product = spread * self._probe
            matrix_variance = float(product[: d * d].sum()) / (d * (d + 1) / 2)
            vector_variance = float(product[d * d :].sum()) / d
            matrix_variance = min(
                max(matrix_variance, 1e-12 / belief.matrix_precision), 1 / belief.matrix_precision
            )
            vector_variance = min(
                max(vector_variance, 1e-12 / belief.vector_precision), 1 / belief.vector_precision
            )
        matrix, vector = self._split(solution)
        matrix = 0.5 * (matrix + matrix.T)
        fit = self.design.outputs(matrix, vector)
        intercept = float(np.mean(self.labels - fit))
        fit -= fit.mean()
        residual = self.labels - self.labels.mean() - fit
        return _Posterior(
            matrix, vector, intercept, matrix_variance, vector_variance, fit, float(np.mean(residual**2))
        )

    def _solve(self, noise: float, prior: np.ndarray, right: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Conjugate gradients from the last solution."""
        residual = right - self._gram(*self._split(x)) / noise - prior * x
        direction = residual.copy()
        power = float(residual @ residual)
        goal = _CG_RTOL**2 * float(right @ right)
        for _ in range(_CG_STEPS):
            if power <= goal:
                break
            image = self._gram(*self._split(direction)) / noise + prior * direction
            step = power / float(direction @ image)
            x = x + step * direction
            residual -= step * image
            power, before = float(residual @ residual), power
            direction = residual + power / before * direction
        return x

    def _split(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = self.d
        return flat[: d * d].reshape(d, d), flat[d * d :]

    def _gram(self, matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
        return self._adjoint(self.design.outputs(matrix, vector))

    def _adjoint(self, values: np.ndarray) -> np.ndarray:
        matrix, vector = self.design.sums(values - values.mean())
        return np.concatenate([matrix.ravel(), vector])


def _symmetric_basis(d: int) -> np.ndarray:
    """Orthonormal basis of symmetric matrices and vectors, one flat row each."""
    rows, columns = np.triu_indices(d)
    basis = np.zeros((rows.size + d, d * d + d))
    index = np.arange(rows.size)
    value = np.where(rows == columns, 1.0, math.sqrt(0.5))
    basis[index, rows * d + columns] = value
    basis[index, columns * d + rows] = value
    basis[rows.size + np.arange(d), d * d + np.arange(d)] = 1.0
    return basis

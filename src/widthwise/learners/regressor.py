r"""GAMP-RIE as a scikit-learn regressor: second-order regression with optimal shrinkage of the interactions.

The model is y = c + bᵀx̃ + Tr[Q(x̃x̃ᵀ - I)] + noise in white coordinates x̃ of the inputs. All d(d+1)/2
coefficients of Q are shrunk together, through the eigenvalues of a noisy version of Q, by as much as their
spectrum says: no penalty is tuned and no cross-validation run. Samples are read in blocks, two matrix
products a step.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .._threads import one_thread_below
from ..denoising import MatrixDenoiser
from .empirical_shrinkage import EmpiricalShrinkage, KnownLaw, Shrinkage
from .gamp_rie_iteration import MAX_DAMPING, Design, GampRieState, GaussianOutput, iterate
from .lmmse_rie import iterate_lmmse
from .sample_blocks import SampleBlocks, is_dask

__all__ = ["GampRieRegressor"]

# Directions whose share of the variance (of standardised inputs) is below this are rounding, not data.
_DEGENERATE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-10}


class GampRieRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear and quadratic regression with optimal spectral shrinkage of the quadratic part.

    Parameters
    ----------
    denoiser : {"empirical", "known"}, default="empirical"
        Shrink the eigenvalues of the quadratic part from their observed spectrum alone, or by the law of
        WᵀD_vW for ``readouts`` and ``gamma`` (teacher–student work).
    readouts : str or law, default="homogeneous"
        Law of the readouts, for ``denoiser="known"``.
    gamma : float, default=0.5
        Hidden units per input, for ``denoiser="known"``.
    scale : float or None, default=None
        Q = scale · S̄ for ``denoiser="known"`` (for a two-layer network μ₂/(2√d)); None estimates it.
    noise : float or None, default=None
        Variance of what neither the linear nor the quadratic part explains, > 0; None estimates it.
    whiten : {"full", "scale", "none"}, default="full"
        Turn the inputs white by their covariance (shrunk towards its diagonal where samples are few), by
        their variances only, or not at all (inputs already of mean 0 and covariance 1).
    solver : {"auto", "gamp", "lmmse"}, default="auto"
        Message passing that takes the features for uncorrelated (two matrix products a step; exact for
        Gaussian inputs), the scheme that solves the regression for the features as they are (tens of
        products a step), or the second whenever the first does not settle.
    damping : float, default=0.0
        Weight of the old iterate, in [0, 1); raised by itself when the iteration does not settle.
    max_iter : int, default=100
    tol : float, default=1e-3
        Stop when the fit changes by less than ``tol`` times its error.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Linear part, in the units of the inputs, about their mean ``mean_``.
    quadratic_ : array of shape (n_features, n_features)
        Symmetric matrix of the quadratic part, in the units of the inputs, about ``mean_``.
    intercept_ : float
        ŷ(x) = intercept_ + (x - mean_)·coef_ + (x - mean_)ᵀ quadratic_ (x - mean_).
    noise_ : float
        Noise variance, given or estimated.
    excess_error_ : float
        Estimated squared error of the prediction beyond the noise, from the training samples.
    n_iter_ : int
    history_ : list of dict
        For each step: ``residual_variance`` (estimate of the test error), ``variance``, ``change``,
        ``damping``.
    solver_ : str
        The solver that gave the answer.
    status_ : str
        "converged", "max_steps" or "stalled".
    """

    def __init__(
        self,
        denoiser: str = "empirical",
        *,
        readouts: Any = "homogeneous",
        gamma: float = 0.5,
        scale: float | None = None,
        noise: float | None = None,
        whiten: str = "full",
        solver: str = "auto",
        damping: float = 0.0,
        max_iter: int = 100,
        tol: float = 1e-3,
    ) -> None:
        self.denoiser = denoiser
        self.readouts = readouts
        self.gamma = gamma
        self.scale = scale
        self.noise = noise
        self.whiten = whiten
        self.solver = solver
        self.damping = damping
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> GampRieRegressor:
        """Learn from samples ``X`` (n × d: array, memmap or Dask array) and targets ``y``."""
        X, y = self._validated(X, y)
        with one_thread_below(X.shape[1]):
            self._fit(X, y)
        if self.status_ == "max_steps":
            warnings.warn(
                f"GAMP-RIE did not settle in {self.max_iter} steps; raise max_iter or damping",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _fit(self, X: Any, y: np.ndarray) -> None:
        if self.whiten == "none":
            blocks = SampleBlocks(X)
            whitener = None
        elif self.whiten in ("full", "scale"):
            blocks = SampleBlocks(X, centre="mean")
            whitener = _whitener(blocks, np.dtype(X.dtype), self.whiten == "full")
        else:
            raise ValueError(f'whiten must be "full", "scale" or "none", got {self.whiten!r}')
        design = Design(blocks, whitener)
        state = self._state(design, y)
        matrix, vector = design.to_raw(state.matrix, state.vector)
        self.mean_ = np.zeros(blocks.n_features) if blocks.centre is None else blocks.centre
        self.coef_, self.quadratic_ = vector, matrix
        self.intercept_ = state.intercept - float(np.trace(state.matrix))
        self.excess_error_ = state.variance if math.isfinite(state.variance) else math.nan
        self.noise_ = (
            max(state.residual_variance - state.variance, 0.0) if self.noise is None else float(self.noise)
        )
        self.n_iter_ = max(state.n_steps, 1)
        self.history_ = state.history
        self.status_ = state.status
        self._whitener = whitener
        self._errors = state.matrix_error, state.vector_error, state.residual_variance / design.n_samples

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets."""
        X = self._checked(X)
        with one_thread_below(X.shape[1]):
            return SampleBlocks(X, self.mean_).forms(self.quadratic_, self.coef_) + self.intercept_

    def predict_std(self, X: Any, *, with_noise: bool = False) -> np.ndarray:
        """Posterior standard deviation of the prediction; of a fresh target with ``with_noise=True``.

        The errors on Q and b are taken as isotropic in white coordinates, which makes the variance at x̃
        equal to e_Q (|x̃|⁴ - 2|x̃|² + d) + e_b |x̃|² + τ²/n.
        """
        X = self._checked(X)
        d = self.n_features_in_ if self._whitener is None else self._whitener.shape[1]
        matrix_error, vector_error, mean_error = self._errors
        metric = np.eye(self.n_features_in_) if self._whitener is None else self._whitener @ self._whitener.T
        size = SampleBlocks(X, self.mean_).forms(metric, np.zeros(self.n_features_in_))
        variance = mean_error + np.zeros(len(size))
        if d:
            per_entry = 2 * matrix_error / (d * (d + 1))
            variance += per_entry * (size**2 - 2 * size + d) + vector_error / d * size
        return np.sqrt(variance + (self.noise_ if with_noise else 0.0))

    def _state(self, design: Design, y: np.ndarray) -> GampRieState:
        d = design.n_features
        output, shrinkage = GaussianOutput(self.noise), self._shrinkage(d)
        if self.solver not in ("auto", "gamp", "lmmse"):
            raise ValueError(f'solver must be "auto", "gamp" or "lmmse", got {self.solver!r}')
        power = float(np.var(y))
        if d == 0 or power <= 1e-24 * float(
            np.mean(y**2)
        ):  # constant inputs or targets: only the mean to learn
            self.solver_ = "gamp"
            return GampRieState(
                np.zeros((d, d)), np.zeros(d), float(y.mean()), residual_variance=power, status="converged"
            )
        self.solver_ = "gamp"
        if self.solver != "lmmse":
            state = iterate(
                design,
                y,
                shrinkage,
                output,
                linear_power=None,
                damping=self.damping,
                max_steps=self.max_iter,
                rtol=self.tol,
                # Left to choose, give up as soon as GAMP overshoots: its assumptions do not hold.
                max_damping=self.damping if self.solver == "auto" else MAX_DAMPING,
            )
            if self.solver == "gamp" or state.status != "stalled":
                return state
        self.solver_ = "lmmse"
        return iterate_lmmse(
            design,
            y,
            shrinkage,
            noise=self.noise,
            damping=max(self.damping, 0.3),
            max_steps=self.max_iter,
            rtol=self.tol,
        )

    def _shrinkage(self, n_features: int) -> Shrinkage:
        if self.denoiser == "empirical":
            return EmpiricalShrinkage()
        if self.denoiser == "known":
            return KnownLaw(MatrixDenoiser(self.readouts, self.gamma), self.scale, n_features)
        raise ValueError(f'denoiser must be "empirical" or "known", got {self.denoiser!r}')

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        if not is_dask(X):
            dtypes = [np.float64, np.float32]
            X, y = validate_data(self, X, y, dtype=dtypes, y_numeric=True, ensure_min_samples=2)
            return X, np.asarray(y, dtype=float)
        # Checking a Dask array for NaN would read it once more; a NaN shows up in the mean instead.
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
        y = np.asarray(column_or_1d(y, warn=True), dtype=float)
        check_array(y[:, None], estimator=self)
        if math.isnan(sum(X.shape)):
            X = X.compute_chunk_sizes()
        check_consistent_length(X, y)
        self.n_features_in_ = int(X.shape[1])
        return X, y

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        if not is_dask(X):
            return validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has shape {X.shape}, but GampRieRegressor is expecting {self.n_features_in_} features "
                "as input"
            )
        return X


def _whitener(blocks: SampleBlocks, dtype: np.dtype, is_full: bool) -> np.ndarray:
    """T with Tᵀ C T = 1, C the covariance; fewer columns than features where C is degenerate."""
    n, d = blocks.n_samples, blocks.n_features
    covariance = blocks.covariance
    if not np.isfinite(covariance).all():
        raise ValueError("Input X contains NaN, infinity or values too large to be squared.")
    variance = np.diag(covariance).copy()
    floor = _DEGENERATE.get(dtype, 1e-10)
    # A constant column has no variance but rounding, at the scale of its mean.
    size = variance + np.square(0.0 if blocks.centre is None else blocks.centre)
    is_varying = variance > floor**2 * size
    std = np.sqrt(variance[is_varying])
    if not is_full or std.size == 0:
        kept = np.eye(d)[:, is_varying]
        return kept / std
    correlation = covariance[np.ix_(is_varying, is_varying)] / np.outer(std, std)
    # Towards the diagonal by d/n, the relative error of a covariance: nothing at n = Θ(d²).
    share = min(1.0, std.size / n)
    correlation = (1 - share) * correlation + share * np.eye(std.size)
    values, basis = np.linalg.eigh(correlation)
    keep = values > floor * values[-1]
    whitener = np.zeros((d, int(keep.sum())))
    whitener[is_varying] = basis[:, keep] / np.sqrt(values[keep]) / std[:, None]
    return whitener

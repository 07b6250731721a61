r"""Kernel ridge regression whose penalty is chosen by leaving one out, after one eigendecomposition.

With K = U diag(e) Uᵀ and G = (K + pI)⁻¹ the residuals of leaving each sample out are (Gy)_i / G_ii: every
penalty p costs two products with U.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from ..networks.instance import require_memory

__all__ = ["KernelRidgeLoo"]


class KernelRidgeLoo(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression in the space of a Gaussian kernel exp(-|x - x'|²/(2 width² d)).

    Parameters
    ----------
    width : float
        Width of the kernel in units of √d, the usual distance of inputs of unit variance.
    penalties : sequence of float or None
        Those to choose from; a range over nine decades unless given.
    """

    def __init__(self, width: float = 1.0, penalties: Any = None) -> None:
        self.width = width
        self.penalties = penalties

    def fit(self, X: Any, y: Any) -> KernelRidgeLoo:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        require_memory(3 * 8 * len(y) ** 2, "the kernel matrix")
        self.mean_ = float(np.mean(y))
        e, u = np.linalg.eigh(self._kernel(X, X))
        e, z = np.maximum(e, 0.0), u.T @ (y - self.mean_)
        choices = np.logspace(-6, 3, 19) if self.penalties is None else np.asarray(self.penalties, float)
        squares = u**2

        def loss(penalty: float) -> float:
            inverse = 1 / (e + penalty)
            return float(np.mean((u @ (inverse * z) / (squares @ inverse)) ** 2))

        losses = [loss(penalty) for penalty in choices]
        self.penalty_ = float(choices[int(np.argmin(losses))])
        self.loss_ = float(np.min(losses))
        self.dual_ = u @ (z / (e + self.penalty_))
        self.samples_ = X
        return self

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self._kernel(X, self.samples_) @ self.dual_ + self.mean_)

    def _kernel(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(rbf_kernel(a, b, gamma=1 / (2 * self.width**2 * a.shape[1])))

"""Matrix denoising of S = Wᵀ D_v W/√k: spectrum, minimum error, information, optimal shrinkage."""

from .denoiser import MatrixDenoiser

__all__ = ["MatrixDenoiser"]

"""Matrix denoising of S = Wᵀ D_v W/√k: spectrum, minimum error, information, optimal shrinkage."""

from .denoiser import LARGEST_SPECTRAL_SNR, MatrixDenoiser

__all__ = ["LARGEST_SPECTRAL_SNR", "MatrixDenoiser"]

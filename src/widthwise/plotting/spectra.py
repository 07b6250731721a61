"""The spectrum of the matrix channel and its shrinkage function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..denoising import MatrixDenoiser
from .style import COLUMN, PALETTE, TITLE, applied, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["eigenvalue_grid", "plot_spectrum"]


def plot_spectrum(ax: Axes | None, denoiser: MatrixDenoiser, snr: float, *, color: Any = None) -> Axes:
    """Spectral density of the noisy matrix Y and, on the right axis, the shrinkage ξ of its eigenvalues."""

    with applied():
        is_new = ax is None
        ax = new_axes(ax, (COLUMN, 0.72 * COLUMN))
        color = PALETTE[0] if color is None else color
        y = eigenvalue_grid(denoiser, snr)
        density = np.where(np.isfinite(y), denoiser.density(np.nan_to_num(y), snr), np.nan)
        ax.fill_between(y, density, color=color, alpha=0.25, linewidth=0)
        ax.plot(y, density, color=color, linewidth=1.4, label="density of eigenvalues")
        ax.set_xlabel(r"eigenvalue $y$ of $Y = \sqrt{\eta}\,\bar S + Z$")
        ax.set_ylabel(r"spectral density $\rho(y)$", color=color)
        ax.set_ylim(bottom=0)
        twin = ax.twinx()
        twin.plot(
            y,
            np.where(density > 0, denoiser.shrink(np.nan_to_num(y), snr), np.nan),
            color=PALETTE[1],
            lw=1.2,
        )
        twin.set_ylabel(r"best estimate $\xi(y)$", color=PALETTE[1])
        twin.spines["top"].set_visible(False)
        twin.spines["right"].set_visible(True)
        ax.spines["top"].set_visible(False)
        if is_new:
            law = denoiser.readouts.name
            ax.set_title(
                rf"{law} readouts, $\gamma = {denoiser.gamma:g}$, $\eta = {snr:g}$, "
                rf"$\mathrm{{mmse}} = {denoiser.mmse(snr):.4g}$",
                fontsize=TITLE,
            )
    return ax


def eigenvalue_grid(denoiser: MatrixDenoiser, snr: float) -> np.ndarray:
    """Points in each band, denser at its ends where the density has a square root; NaN between bands."""
    bands = denoiser.support(snr)
    if not np.isfinite(bands[0][0]):  # Gaussian readouts: the part where the density can be seen
        reach = 2.0
        while denoiser.density(reach, snr) > 2e-4 and reach < 1e6:
            reach *= 1.15
        bands = [(-reach, reach)]
    unit = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 400))
    pieces = [np.append(low + (high - low) * unit, np.nan) for low, high in bands]
    return np.concatenate(pieces)[:-1]

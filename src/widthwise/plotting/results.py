"""Figures of single results: overlaps of a solution, steps of GAMP-RIE, few data, landscapes, spectra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..denoising import MatrixDenoiser
from ..theory import Solution
from ..theory.families.profile import overlap_profile
from ..theory.landscape import Landscape
from ..theory.linear_regime import LinearRegime
from ..theory.state_evolution import StateEvolution
from .style import COLUMN, LABELS, PALETTE, TITLE, applied, label_of, new_axes, tidy, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "eigenvalue_grid",
    "plot_landscape",
    "plot_linear_regime",
    "plot_solution",
    "plot_spectrum",
    "plot_state_evolution",
]


def plot_solution(ax: Axes | None, solution: Solution, **style: Any) -> Axes:
    """Overlap of the units with the teacher's against their readout: dots for atoms, a line for a density."""

    law = solution.problem.readouts
    style = {"color": PALETTE[0], "marker": "o" if law.is_discrete else "", **style}
    if law.is_discrete:
        v, overlap = solution.readout_values, solution.weight_overlap
    else:
        reach = min(law.largest, 4.0)
        v = np.linspace(-reach, reach, 801)
        overlap = overlap_profile(solution, v)
    with applied():
        ax = new_axes(ax)
        ax.plot(v, overlap, ls="none" if law.is_discrete else "-", **style)
        ax.set_xlabel("readout $v$")
        ax.set_ylabel(label_of("weight_overlap"))
        ax.set_ylim(-0.03, 1.03)
        ax.set_title(
            f"{title_of(solution.problem)}\n" rf"$\alpha = {solution.alpha:.4g}$, {solution.branch} branch",
            fontsize=TITLE,
        )
        tidy(ax)
    return ax


def plot_state_evolution(
    ax: Axes | None, course: StateEvolution, quantity: str = "excess_error", **style: Any
) -> Axes:
    """A quantity of GAMP-RIE against the step."""
    return _line(
        ax,
        np.arange(course.excess_error.size),
        getattr(course, quantity),
        ("step of GAMP-RIE", label_of(quantity)),
        {"marker": "o", "markersize": 3, **style},
    )


def plot_linear_regime(
    ax: Axes | None, points: LinearRegime, quantity: str = "excess_error", **style: Any
) -> Axes:
    """A quantity against α₁ = n/d."""
    alphas = np.atleast_1d(points.alpha_linear)
    values = np.atleast_1d(getattr(points, quantity))
    shown = {"marker": "o" if alphas.size == 1 else "", **style}
    return _line(ax, alphas, values, (r"samples per dimension $\alpha_1 = n/d$", label_of(quantity)), shown)


def plot_landscape(ax: Axes | None, scan: Landscape, **style: Any) -> Axes:
    """The free entropy against the overall overlap: its maxima are solutions."""
    names = (r"overall overlap $\mathcal{Q}$", LABELS["free_entropy"])
    return _line(ax, scan.overlap, scan.free_entropy, names, style)


def _line(ax: Axes | None, x: Any, y: Any, names: tuple[str, str], style: dict[str, Any]) -> Axes:

    with applied():
        ax = new_axes(ax)
        ax.plot(x, y, **{"color": PALETTE[0], "linewidth": 1.4, **style})
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[1])
        tidy(ax)
    return ax


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
            y, np.where(density > 0, denoiser.shrink(np.nan_to_num(y), snr), np.nan), color=PALETTE[1], lw=1.2
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

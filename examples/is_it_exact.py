"""The figure of "Is it exact?": coefficients of small noise, Fisher matrices and HMC against three theories.

Reads ``small_noise_fisher.csv`` and ``small_noise_hmc.csv`` beside this file and writes the picture of the
documentation.

    python examples/is_it_exact.py
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import small_noise_hmc
import widthwise as ww
from widthwise.plotting.style import PAGE, applied, tidy

HERE = Path(__file__).resolve().parent
PICTURE = HERE.parent / "docs/images/is_it_exact.png"
COLORS = {"exact": "black", "main": "#0072B2", "factorised": "#D55E00"}
NAMES = {"exact": "exact (no noise)", "main": "main theory", "factorised": "factorised ansatz"}
HMC = {
    ("sigma3", 0.01, 1.0, 0.5): ("σ₃, γ = 0.5, Δ = 0.01", "kappa", r"$\gamma(1 - q_2)/\varepsilon$"),
    ("relu", 0.1, 0.8, 0.1): ("ReLU, γ = 0.1, Δ = 0.1", "xi", r"$(1 - \mathcal{Q})/\varepsilon$"),
}


def draw_coefficients(ax) -> None:
    """κ of both theories over the exact one, against γ, with Fisher matrices extrapolated in 1/d (σ₃)."""
    gammas = np.geomspace(0.02, 5, 60)
    limits = [ww.theory.small_noise_limit(ww.Problem("sigma3", gamma=g)) for g in gammas]
    for name, color in COLORS.items():
        ratio = [getattr(limit, name).matrix / limit.exact.matrix for limit in limits]
        ax.plot(gammas, ratio, color=color, label=NAMES[name])
    with (HERE / "small_noise_fisher.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["activation"] == "sigma3"]
    for gamma in sorted({float(row["gamma"]) for row in rows}):
        mine = [row for row in rows if float(row["gamma"]) == gamma]
        d, y = (np.array([float(row[name]) for row in mine]) for name in ("d", "matrix_coefficient"))
        value, error = small_noise_hmc.extrapolated(d, y)
        exact = ww.theory.small_noise_limit(ww.Problem("sigma3", gamma=gamma)).exact.matrix
        ax.errorbar(gamma, value / exact, 2 * error / exact, color="0.35", marker="o", ms=4, zorder=4)
    ax.errorbar([], [], [], color="0.35", marker="o", ms=4, ls="none", label="Fisher matrices, 1/d → 0")
    ax.set(xscale="log", xlabel=r"$\gamma = k/d$", ylabel=r"$\kappa/\kappa_\mathrm{exact}$")
    ax.set_title("σ₃, noise → 0", fontsize=9)


def draw_hmc(ax, case, title: str, name: str, label: str) -> None:
    """A ratio against 1/d: one pale point an instance, means, the line through them, and the theories."""
    rows = [row for key, row in small_noise_hmc.table().items() if key[:4] == case]
    d, y = small_noise_hmc.ratios(rows)[name]
    theory = small_noise_hmc.predicted(*case)
    for which, values in theory.items():
        key = which.split(",")[0]
        style = ":" if key == "exact" else "-"
        ax.axhline(values[name], color=COLORS[key], ls=style, lw=1.2)
    ax.plot(1 / d, y, ".", color="0.75", ms=3)
    for size in np.unique(d):
        here = y[d == size]
        error = 2 * here.std(ddof=1) / np.sqrt(here.size) if here.size > 1 else 0.0
        ax.errorbar(1 / size, here.mean(), error, color="#009E73", marker="s", ms=4)
    limit, error = small_noise_hmc.extrapolated(d, y)
    ax.errorbar(0, limit, 2 * error, color="#009E73", marker="s", ms=5, mfc="white", clip_on=False, zorder=5)
    smallest = 1 / d.min()
    mean = y[d == d.min()].mean()
    ax.plot([0, smallest], [limit, mean], color="#009E73", lw=0.8, ls="--")
    ax.set(xlabel="$1/d$", ylabel=label, xlim=(-0.001, 1.08 * smallest))
    ax.set_title(title, fontsize=9)


def main() -> None:
    with applied():
        figure, axes = plt.subplots(1, 3, figsize=(PAGE, 2.9))
        draw_coefficients(axes[0])
        for ax, (case, words) in zip(axes[1:], HMC.items(), strict=True):
            draw_hmc(ax, case, *words)
        for ax in axes:
            tidy(ax)
        axes[1].errorbar([], [], [], color="#009E73", marker="s", ms=4, ls="none", label="HMC (bars: 2 s.e.)")
        drawn, names = axes[0].get_legend_handles_labels()
        more, said = axes[1].get_legend_handles_labels()
        figure.legend(
            drawn + more,
            names + said,
            loc="lower center",
            ncols=5,
            frameon=False,
            fontsize=7,
            columnspacing=1.2,
        )
        figure.set_layout_engine("tight", rect=(0, 0.09, 1, 1))
        figure.savefig(PICTURE, dpi=160)


if __name__ == "__main__":
    main()

"""The small overlap between onset and jump: seen through a side channel whose strength goes to 0.

For binary weights and σ₁ or σ₃ the theory has a small overlap 𝒬 from a continuous onset on, well before
the jump. Networks of finite d do not show it: units may change places (and, for an even σ, signs), and a
chain loses track of which unit of the teacher each of its own was. A side channel √s W⁰ + Z with a small
strength s names the units. In the theory it shifts the signal of every weight,

    𝒬 = F_W(x + s),    x = A𝒬 + B g'(𝒬),

with A, B and α tied as without it. Chains start on the teacher and at random: one comes from above, the
other from below, and units are taken as they are, not matched. If the overlap is there, 𝒬(s) tends to it as
s → 0 (after d → ∞); if it is not, 𝒬(s) goes to 0 with s. At finite d the field has to hold a unit against the
others, which takes s of order ln(k)/d: below that, 𝒬 falls whatever the theory says.

Adds to ``side_channel.csv`` beside this file, one row a run, those that it does not have or has of fewer
sweeps. ``--show`` puts the means beside the theory, ``--draw`` makes the picture of the documentation.

    python examples/side_channel.py --dimensions 60 --strengths 0.05 0.1 0.2 --seeds 4
"""

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

import widthwise as ww
from growing_table import GrowingTable
from widthwise.denoising import MatrixDenoiser
from widthwise.learners import metropolis
from widthwise.networks import sample_instance

CASES = ("sigma1:1.6", "sigma3:1.2")  # activation and α, between onset and jump
STRENGTHS = (0.05, 0.1, 0.2)
STARTS = ("teacher", "random")
LEAST = 6000  # sweeps that chains from the two starts need to meet at d = 40
PICTURE = Path(__file__).resolve().parents[1] / "docs/images/side_channel.png"
KEY = {"activation": str, "alpha": float, "d": int, "strength": float, "start": str, "seed": int}
COLUMNS = (
    *KEY,
    "iterations",
    "weight_overlap",
    "matrix_overlap_centred",
    "excess_error",
    "effective_draws",
    "status",
    "seconds",
    "version",
)


def problem_of(activation: str) -> ww.Problem:
    """Figure 2's."""
    return ww.Problem(activation, "rademacher", "homogeneous", channel=1.25, gamma=0.5)


def predicted(problem: ww.Problem, alpha: float, strength: float, *, most: float = 0.6) -> float:
    """The overlap with a side channel: the root that comes from 0 as the strength grows, below ``most``.

    One size of readouts (|v| = 1) and Gaussian noise. Without a side channel the root 0 is left out.
    """
    matrix = MatrixDenoiser(problem.readouts, problem.gamma)
    sigma, law, gamma = problem.activation, problem.weights, problem.gamma
    half = 0.5 * problem.hermite[2] ** 2
    noise = float(problem.channel.noise)
    total = float(sigma.tail_kernel(1.0))

    def excess(overlap: float) -> float:
        """F_W(x + s) - 𝒬, with B from α."""
        tilt = float(matrix.inverse_mmse(1 - overlap**2))
        rest = total - float(sigma.tail_kernel(overlap))

        def too_little(coupling: float) -> float:
            gap = half * float(matrix.mmse(tilt + 2 * gamma * half * coupling)) + rest
            return gamma * coupling * (noise + gap) - alpha  # ψ_out' = 1/(2(Δ + gap))

        coupling = float(brentq(too_little, 0.0, alpha / (gamma * noise) + 1.0, xtol=1e-14))
        after = float(matrix.mmse(tilt + 2 * gamma * half * coupling))
        pull = (1 - overlap**2 - after) / -float(matrix.mmse_slope(tilt)) / gamma
        snr = pull * overlap + coupling * float(sigma.tail_kernel_slope(overlap))
        return float(law.overlap(snr + strength)) - overlap

    # at the smallest overlaps F - 𝒬 is positive: s > 0, or the onset is behind
    grid = np.linspace(1e-3, most, 40)
    values = [excess(q) for q in grid]
    for i in range(grid.size - 1):
        if values[i] > 0 >= values[i + 1]:
            return float(brentq(excess, grid[i], grid[i + 1], xtol=1e-12))
    return float("nan")


def table() -> GrowingTable:
    """The runs so far."""
    return GrowingTable(__file__, **KEY)


def measure(key: tuple[str, float, int, float, str, int], iterations: int) -> dict[str, str]:
    """One run; the overlap is that of its second half, unit by unit."""
    activation, alpha, d, strength, start, seed = key
    instance = sample_instance(problem_of(activation), d, alpha, seed)
    begin = time.perf_counter()
    run = metropolis(
        instance, start=start, iterations=iterations, record_every=10, seed=seed, side_snr=strength
    )
    overlaps = np.mean(run.draws * instance.weights, axis=(-2, -1)).ravel()
    found = (
        *key,
        iterations,
        f"{overlaps.mean():.5g}",
        f"{run.matrix_overlap_centred:.6g}",
        f"{run.excess_error:.6g}",
        f"{run.equilibrium.effective_draws['excess_error']:.0f}",
        run.status,
        f"{time.perf_counter() - begin:.0f}",
        ww.__version__,
    )
    return dict(zip(COLUMNS, map(str, found), strict=True))


def means(rows: dict[tuple[Any, ...], dict[str, str]]) -> dict[tuple[Any, ...], tuple[float, float, int]]:
    """Overlap, its standard error over instances and their number, by case, d, strength and start."""
    found = {}
    for place in sorted({key[:5] for key in rows}):
        values = np.array([float(row["weight_overlap"]) for key, row in rows.items() if key[:5] == place])
        error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
        found[place] = float(values.mean()), float(error), values.size
    return found


def show(rows: GrowingTable) -> None:
    measured = means(rows)
    for case in sorted({key[:2] for key in measured}):
        problem = problem_of(case[0])
        without = predicted(problem, case[1], 0.0)
        print(f"{case[0]}, alpha = {case[1]:g}; theory without a side channel {without:.4f}")
        theory = {s: predicted(problem, case[1], s) for *place, s, _ in measured if tuple(place[:2]) == case}
        for (activation, alpha, d, strength, start), (mean, error, n) in measured.items():
            if (activation, alpha) == case:
                alone = float(problem.weights.overlap(strength))
                print(
                    f"  d = {d:3d}  s = {strength:5.3f}  {start:7s}  Q = {mean:.4f} ± {error:.4f} ({n} "
                    f"instances); theory {theory[strength]:.4f}, side channel alone {alone:.4f}"
                )


def draw(rows: GrowingTable) -> None:
    """𝒬 against s: the theory, the side channel alone, and chains from both starts at each d."""
    import matplotlib.pyplot as plt

    from widthwise.plotting.style import PAGE, applied, tidy

    measured = means({key: row for key, row in rows.items() if int(row["iterations"]) >= LEAST})
    colors = {40: "#3D8FC7", 60: "#0B3C5D", 80: "#009E73", 100: "#CC79A7"}
    with applied():
        figure, axes = plt.subplots(1, 2, figsize=(PAGE, 2.7), sharey=True)
        for ax, (activation, sign) in zip(axes, (("sigma1", "σ₁"), ("sigma3", "σ₃")), strict=True):
            problem = problem_of(activation)
            alpha = next(key[1] for key in measured if key[0] == activation)
            s = np.linspace(0, 0.22, 23)
            ax.plot(s, [predicted(problem, alpha, x, most=0.8) for x in s], color="#D55E00", label="theory")
            ax.plot(s, problem.weights.overlap(s), color="0.5", ls=":", label="side channel alone")
            for (name, _, d, strength, start), (mean, error, n) in measured.items():
                if name == activation:
                    shape = {"marker": "o" if start == "teacher" else "x", "ms": 4.5, "mfc": "none"}
                    shift = 0.002 if start == "teacher" else -0.002
                    bar = error if n > 1 else None
                    ax.errorbar(strength + shift, mean, bar, color=colors[d], elinewidth=0.8, **shape)
            for d in sorted({key[2] for key in measured if key[0] == activation}):
                ax.plot([], [], color=colors[d], marker="o", ms=4.5, mfc="none", ls="none", label=f"d = {d}")
            ax.set(xlim=(0, 0.225), ylim=(0, 0.66), xlabel="strength $s$ of the side channel")
            ax.set_xticks([0, 0.05, 0.1, 0.15, 0.2])
            ax.set_title(f"{sign}, α = {alpha:g}")
            ax.legend(frameon=False, loc="upper left")
            tidy(ax)
        axes[0].set_ylabel(r"$\mathcal{Q}_W$")
        figure.tight_layout()
        figure.savefig(PICTURE, dpi=160)
    print(f"{PICTURE} is drawn")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", default=CASES, help="activation:alpha")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[60, 100])
    parser.add_argument("--strengths", type=float, nargs="+", default=STRENGTHS)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=3000)
    parser.add_argument("--draw", action="store_true", help="only draw what the table has")
    parser.add_argument("--show", action="store_true", help="only show what the table has")
    options = parser.parse_args()
    rows = table()
    if options.draw:
        return draw(rows)
    for d in [] if options.show else options.dimensions:
        for seed in range(options.seeds):
            for case in options.cases:
                for strength, start in itertools.product(options.strengths, STARTS):
                    activation, alpha = case.split(":")
                    key = (activation, float(alpha), d, strength, start, seed)
                    if key not in rows or int(rows[key]["iterations"]) < options.iterations:
                        rows.add(measure(key, options.iterations))
                        print(*(f"{name}={rows[key][name]}" for name in COLUMNS[:12]), flush=True)
    show(rows)


if __name__ == "__main__":
    main()

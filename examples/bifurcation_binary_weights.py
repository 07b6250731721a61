"""Bifurcation diagrams of binary weights: overlap and excess error on every branch of solutions.

Three activations with Rademacher weights and equal readouts, Δ = 1.25, γ = 0.5, as in the binary-weights
figure of arXiv:2505.24849. σ₁ and σ₃ have a second Hermite component: units are learnt continuously
first and jump later, while the odd σ₂ only jumps. Curves turn back at their folds; the equilibrium
(solid) changes branch at the Maxwell point, where the free entropies are equal.

With ``--save STEM`` it writes STEM.png and STEM.csv (every point of every branch).
"""

import argparse
import csv
from pathlib import Path

import matplotlib

import widthwise as ww
from widthwise.plotting import plot_bifurcation, style

ACTIVATIONS = {
    "sigma1": (r"$\sigma_1 = \mathrm{He}_2/\sqrt{2}$", 4.5),
    "sigma2": (r"$\sigma_2 = \mathrm{He}_3/\sqrt{6}$", 2.5),
    "sigma3": (r"$\sigma_3 = \mathrm{He}_2/\sqrt{2} + \mathrm{He}_3/6$", 2.5),
}
LOW = 0.2
COLUMNS = ("alpha", "weight_overlap", "excess_error", "free_entropy", "is_equilibrium", "is_stable")


def problem_of(activation: str) -> ww.Problem:
    return ww.Problem(activation, "rademacher", "homogeneous", channel=1.25, gamma=0.5)


def draw():
    """The figure, and the rows of the table behind it."""
    import matplotlib.pyplot as plt

    with style.applied():
        size = (style.PAGE, 0.57 * style.PAGE)
        figure, axes = plt.subplots(2, len(ACTIVATIONS), figsize=size, sharex="col", sharey="row")
        rows = []
        for (name, (symbol, high)), (top, bottom) in zip(ACTIVATIONS.items(), axes.T, strict=True):
            problem = problem_of(name)
            found = ww.transitions(problem, high)
            branches = ww.trace_branches(problem, (LOW, high), at=[t.alpha for t in found])
            plot_bifurcation(top, branches, found=found)
            plot_bifurcation(bottom, branches, quantity="excess_error", found=found)
            top.set_title(symbol)
            top.set_xlabel("")
            bottom.set_xlabel(r"$\alpha = n/d^2$")
            for transition in found:
                print(f"{name}: {transition}")
            for i, branch in enumerate(branches):
                for p in branch:
                    values = (p.alpha, p.weight_overlap[0], p.excess_error, p.free_entropy)
                    rows.append([name, i, *values, p.is_equilibrium, p.is_stable])
        for ax in axes[:, 1:].flat:
            ax.set_ylabel("")
        axes[1, 0].set_ylim(0, 1.12)
        axes[0, 0].set_ylabel(r"overlap $\mathcal{Q}_W$")
        explain(figure)
    return figure, rows


def explain(figure) -> None:
    """One legend for all panels."""
    from matplotlib.lines import Line2D

    lines = {"equilibrium": "-", "metastable": (0, (4, 1.6)), "unstable": (0, (1, 1.4))}
    handles = [Line2D([], [], color="0.27", lw=1.3, ls=line, label=name) for name, line in lines.items()]
    handles.append(Line2D([], [], color="0.27", ls="none", marker=".", ms=4.5, label="fold"))
    handles.append(Line2D([], [], color="0.55", lw=0.6, label="Maxwell point"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=style.TITLE, frameon=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", metavar="STEM", type=Path, help="write STEM.png and STEM.csv")
    stem = parser.parse_args().save
    matplotlib.use("agg")
    figure, rows = draw()
    if stem is None:
        print("give --save STEM to write the figure and its table")
        return
    figure.savefig(stem.with_suffix(".png"), dpi=160)
    with stem.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["activation", "branch", *COLUMNS])
        writer.writerows(rows)
    print(f"written: {stem.with_suffix('.png')}, {stem.with_suffix('.csv')}")


if __name__ == "__main__":
    main()

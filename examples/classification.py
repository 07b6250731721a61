"""Classification: share of wrong labels against α for noisy and noiseless signs, with ReLU and tanh.

Solid lines are the Bayes-optimal error (equilibrium), dashed ones the universal branch where it is not the
equilibrium, dotted ones the error of a learner that knows the teacher. Writes classification.csv and .png.
"""

import csv
from pathlib import Path

import numpy as np

import widthwise as ww
from widthwise.theory.errors import channel_error

TITLES = {"relu": "ReLU", "tanh(2*x)": "tanh(2x)"}
CHANNELS = {"sign": "no noise", "probit:0.02": "noise 0.02", "probit:0.1": "noise 0.1"}
ALPHAS = np.linspace(0.05, 10, 100)
BRANCHES = ("equilibrium", "universal")
COLORS = ("#0b4f8a", "#3d8fc7", "#e07b39")


def main(folder: Path = Path("demo")) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from widthwise.plotting import style

    style.use()
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(style.PAGE, 0.45 * style.PAGE), sharey=True)
    rows = []
    for ax, activation in zip(axes, TITLES, strict=True):
        for color, (channel, label) in zip(COLORS, CHANNELS.items(), strict=True):
            problem = ww.Problem(activation, readouts="rademacher", channel=channel)
            changes = ww.transitions(problem, alpha_max=ALPHAS[-1])
            sides = [change.alpha * (1 + side) for change in changes for side in (-1e-6, 1e-6)]
            alphas = np.sort(np.concatenate([ALPHAS, sides]))
            curve, universal = (ww.learning_curve(problem, alphas, b, error="zero-one") for b in BRANCHES)
            errors, others = curve.error, universal.error
            floor = channel_error(problem.channel, 1e-14, problem.output_power, "zero-one")
            ax.plot(alphas, errors, color=color, label=label)
            ax.plot(alphas, np.where(others > errors * (1 + 1e-9), others, np.nan), "--", color=color, lw=1)
            ax.axhline(floor, color=color, lw=0.8, ls=":")
            for change in changes:
                ax.plot(change.alpha, np.interp(change.alpha, alphas, errors), "o", color=color, ms=4)
                print(f"{activation}, {label}: {change}")
            rows += [
                [activation, channel, f"{a:.8g}", s.branch, f"{e:.8g}", f"{u:.8g}", f"{s.excess_error:.8g}"]
                for a, s, e, u in zip(alphas, curve, errors, others, strict=True)
            ]
        ax.set_title(TITLES[activation])
        ax.set_xlabel(r"samples per squared dimension, $\alpha = n/d^2$")
        ax.set_xlim(0, ALPHAS[-1])
    axes[0].set_ylabel("share of wrong labels")
    axes[0].set_ylim(0, 0.3)
    marks = {"optimum": "-", "universal branch": "--", "teacher known": ":", "transition": "o"}
    handles = [axes[1].plot([], [], mark, color="0.4", label=word)[0] for word, mark in marks.items()]
    axes[1].legend(handles=handles, loc="upper right")
    axes[0].legend(loc="upper right", title=r"$y = \mathrm{sign}(\lambda + \mathrm{noise})$")
    figure.savefig(folder / "classification.png", dpi=160)
    with (folder / "classification.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["activation", "channel", "alpha", "branch", "zero_one", "zero_one_universal", "excess_error"]
        )
        writer.writerows(rows)
    print(f"written to {folder / 'classification.png'} and .csv")


if __name__ == "__main__":
    main()

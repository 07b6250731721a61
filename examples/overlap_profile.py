"""The sequence of transitions for Gaussian readouts: which units are learnt as data grow.

Writes overlap_profile.png: 𝒬_W(v) at growing α. Units whose readout is large are learnt first, and the
readout at which the overlap leaves 0 moves down without end.
"""

import widthwise as ww
from widthwise.cli.output import use_no_screen
from widthwise.plotting import plot_overlap_profile


def main(name: str = "overlap_profile.png") -> None:
    problem = ww.Problem("relu", readouts="gaussian", channel=0.1, gamma=0.5)
    curve = ww.learning_curve(problem, [0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
    use_no_screen()
    ax = plot_overlap_profile(None, curve)
    ax.set_title(r"ReLU, Gaussian readouts, $\gamma = 0.5$, $\Delta = 0.1$", fontsize=8)
    ax.figure.savefig(name, dpi=160)
    print(f"figure written to {name}")


if __name__ == "__main__":
    main()

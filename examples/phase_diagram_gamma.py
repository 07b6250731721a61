"""Phases over the width: ReLU networks with four readout values, (γ, α) diagrams.

Writes phase_diagram_gamma.png: the excess error of the optimum, and how far it lies below what a
polynomial-time learner reaches. Units of large readouts are learnt first, those of narrow networks earlier.
Below γ = 0.17 they are learnt in a jump, above without one; near γ = 1.45 a jump begins to follow the onset,
and beyond γ = 1.69 it takes its place.
"""

import numpy as np

import widthwise as ww
from widthwise.cli.output import use_no_screen
from widthwise.plotting import plot_phase_diagrams


def main(n_gamma: int = 60, n_alpha: int = 60, name: str = "phase_diagram_gamma.png") -> None:
    problem = ww.Problem("relu", readouts="four-point", channel=0.1)
    data = ww.phase_diagram(
        problem,
        gamma=np.linspace(0.1, 2.4, n_gamma),
        alpha=np.geomspace(0.05, 40, n_alpha),
        show_progress=True,
    )
    use_no_screen()
    figure = plot_phase_diagrams(data, ("excess_error", "gap"))
    figure.savefig(name, dpi=160)
    print(f"figure written to {name}")


if __name__ == "__main__":
    main()

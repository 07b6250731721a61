"""Phases over the noise: binary weights, (Δ, α) diagram with a continuous and a first-order line.

Writes phase_diagram_noise.png: the excess error, and the mutual information, which ends at ln 2 for a weight.
With σ₃ = He₂/√2 + He₃/6 the units begin to be learnt without a jump, and are all but known after a second
transition, a jump. Between the dotted lines two solutions are stable.
"""

import numpy as np

import widthwise as ww
from widthwise.cli.output import use_no_screen
from widthwise.plotting import plot_phase_diagrams


def main(n_noise: int = 40, n_alpha: int = 48, name: str = "phase_diagram_noise.png") -> None:
    problem = ww.Problem("sigma3", weights="rademacher", readouts="homogeneous", gamma=0.5)
    data = ww.phase_diagram(
        problem,
        noise=np.linspace(0.2, 2.2, n_noise),
        alpha=np.linspace(0.2, 3.5, n_alpha),
        show_progress=True,
    )
    use_no_screen()
    figure = plot_phase_diagrams(data, ("excess_error", "mutual_information"))
    figure.savefig(name, dpi=160)
    print(f"figure written to {name}")


if __name__ == "__main__":
    main()

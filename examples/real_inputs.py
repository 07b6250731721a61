"""Teachers on real inputs: HMC and Adam on patches of photographs and on digits, beside two theories.

Labels are those of a teacher (tanh(2x), Gaussian readouts, gamma = 0.5, noise 0.1) on data that come with
scikit-learn, and on Gaussian inputs of the same covariance. Writes ``real_inputs.csv`` beside this file and
draws the figure of the page "Your data", with the published points on MNIST; about 15 minutes of one core.

    python examples/real_inputs.py            # what is in the table is only drawn
    python examples/real_inputs.py --run      # run everything again
"""

import csv
import sys
from pathlib import Path

import matplotlib.pyplot as plt

import widthwise as ww
from widthwise.plotting.inputs import plot_inputs, plot_published_mnist
from widthwise.plotting.style import PAGE, applied
from widthwise.studies.input_study import InputRow, InputStudy, InputTable
from widthwise.sweeps.driver import run_tasks
from widthwise.sweeps.store import Store

TABLE = Path(__file__).with_suffix(".csv")
PICTURE = Path(__file__).resolve().parents[1] / "docs/images/real_inputs.png"
STUDIES = {"photographs:6": (0.25, 0.5, 1.0, 2.0, 4.0), "digits": (0.1, 0.2, 0.35)}
COLUMNS = ("data", "inputs", "learner", "alpha", "n_seeds", "excess_error", "standard_error")
N_SEEDS = 4


def problem(data: str) -> ww.Problem:
    return ww.Problem("tanh(2*x)", readouts="gaussian", channel=0.1, gamma=0.5, inputs=data)


def measure() -> None:
    """Run both studies and write the table."""
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for data, alphas in STUDIES.items():
            study = InputStudy(problem(data), alphas, N_SEEDS)
            store = Store(TABLE.with_name("real_inputs_runs"))
            run_tasks(study.tasks(), store)
            for row in study.table(store).rows:
                numbers = (f"{row.excess_error:.5g}", f"{row.standard_error:.2g}")
                writer.writerow([data, row.inputs, row.learner, row.alpha, row.n_seeds, *numbers])


def measured(data: str) -> InputTable:
    """The rows of one study from the table."""
    nan = float("nan")  # the figure computes its own curves
    with TABLE.open() as file:
        rows = [
            InputRow(
                row["inputs"],
                row["learner"],
                float(row["alpha"]),
                float(row["excess_error"]),
                float(row["standard_error"]),
                int(row["n_seeds"]),
                nan,
                nan,
            )
            for row in csv.DictReader(file)
            if row["data"] == data
        ]
    one = problem(data)
    return InputTable(one, one.inputs.rows.shape[1], rows)


def main() -> None:
    if "--run" in sys.argv:
        measure()
    with applied():
        figure, axes = plt.subplots(1, 3, figsize=(PAGE, 2.9))
        for ax, data in zip(axes, STUDIES, strict=False):
            plot_inputs(ax, measured(data))
        plot_published_mnist(axes[2])
        for ax in axes:
            ax.get_legend().remove()
        for ax in axes[1:]:
            ax.set_ylabel("")
        drawn, names = axes[0].get_legend_handles_labels()
        figure.legend(drawn, names, loc="lower center", ncols=3)
        figure.set_layout_engine("tight", rect=(0, 0.12, 1, 1))
        figure.savefig(PICTURE, dpi=160)


if __name__ == "__main__":
    main()

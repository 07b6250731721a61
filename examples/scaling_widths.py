"""How wide should the student be? Adam students of several widths beside the effective width of the theory.

The setting of arXiv:2605.10395 (readouts 1/i, tanh(2x) without its linear part, label noise 0.01) at d = 60.
Writes ``scaling_widths.csv`` beside this file; runs are kept in a store.

    python examples/scaling_widths.py --store runs/widths
"""

import argparse
from pathlib import Path

import widthwise as ww
from widthwise.studies.width import WidthStudy

TABLE = Path(__file__).with_suffix(".csv")
D = 60
PROBLEM = ww.Problem(
    "tanh(2*x) - 0.7294775314861*x", readouts=ww.readouts.PowerLaw(1.0, D // 2), channel=0.01, gamma=0.5
)
ALPHAS = (2.0, 4.0, 8.0)
WIDTHS = (4, 7, 10, 14, 19, 25, 32, 45)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=8000)
    parser.add_argument("--store", default="scaling_widths_runs")
    options = parser.parse_args()
    study = WidthStudy(PROBLEM, D, ALPHAS, WIDTHS, options.seeds, {"iterations": options.iterations})
    table = study.run(options.store, n_workers=1)
    table.to_dataframe().to_csv(TABLE, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()

"""HMC against the theory of scaling laws: features with readouts i^(-0.3), learnt one after the other.

The setting of arXiv:2605.10395 (tanh(2x) without its linear part, label noise 0.04, γ = ½) at smaller d.
Chains start on the features that the theory predicts to be learnt; see ``widthwise.studies.feature_hmc``.
Writes ``scaling_hmc.csv`` beside this file, one row a run. Runs are kept in a store: a second call
goes on where the first one stopped.

    python examples/scaling_hmc.py --store runs/scaling
"""

import argparse
import csv
from pathlib import Path

import widthwise as ww
from widthwise.sweeps import Sweep

TABLE = Path(__file__).with_suffix(".csv")
ACTIVATION = "tanh(2*x) - 0.7294775314861*x"
ALPHAS = (0.6, 0.9, 1.2, 1.5, 2.1, 3.0)


def problem_at(d: int) -> ww.Problem:
    """k = d/2 features at dimension d."""
    return ww.Problem(ACTIVATION, readouts=ww.readouts.PowerLaw(0.3, d // 2), channel=0.04, gamma=0.5)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dimensions", type=int, nargs="+", default=[60, 100])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--iterations", type=int, default=800)
    parser.add_argument("--store", default="scaling_hmc_runs")
    options = parser.parse_args()
    learner = ("widthwise.studies.feature_hmc:hmc_on_learnt", {"iterations": options.iterations})
    rows = []
    for d in options.dimensions:
        problem = problem_at(d)
        sweep = Sweep([problem], [d], ALPHAS, options.seeds, [learner])
        sweep.run(options.store, n_workers=1)
        store = ww.open_store(options.store)
        for task in sweep.tasks():
            run = store.read(task)
            theory = ww.solve(problem, task.alpha)
            rows.append(
                {
                    "d": d,
                    "alpha": task.alpha,
                    "seed": task.seed,
                    "iterations": options.iterations,
                    "excess_error": f"{run.scalar('excess_error'):.6g}",
                    "excess_error_theory": f"{theory.excess_error:.6g}",
                }
            )
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()

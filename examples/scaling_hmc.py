"""HMC against the theory of scaling laws: features with readouts i^(-0.3), learnt one after the other.

The setting of arXiv:2605.10395 (tanh(2x) without its linear part, label noise 0.04, γ = ½) at smaller d.
Chains start on the features that the theory predicts to be learnt; see ``widthwise.studies.feature_hmc``.
Adds to ``scaling_hmc.csv`` beside this file, one row a run, those that it does not have yet. Runs under way
are kept in a store: a second call goes on where the first one stopped.

    python examples/scaling_hmc.py --dimensions 140 --alphas 0.9
"""

import argparse

import widthwise as ww
from growing_table import GrowingTable
from widthwise.sweeps import Sweep

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
    parser.add_argument("--alphas", type=float, nargs="+", default=ALPHAS)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--iterations", type=int, default=800)
    parser.add_argument("--store", default="scaling_hmc_runs")
    options = parser.parse_args()
    rows = GrowingTable(__file__, d=int, alpha=float, seed=int)
    for d in options.dimensions:
        for alpha in options.alphas:
            wanted = [seed for seed in range(options.seeds) if (d, alpha, seed) not in rows]
            if wanted:
                rows.add(*measure(d, alpha, wanted, options.iterations, options.store))


def measure(d: int, alpha: float, seeds: list[int], iterations: int, path: str) -> list[dict[str, str]]:
    problem = problem_at(d)
    theory = ww.solve(problem, alpha).require()
    learner = ("widthwise.studies.feature_hmc:hmc_on_learnt", {"iterations": iterations})
    sweep = Sweep([problem], [d], [alpha], seeds, [learner])
    sweep.run(path, n_workers=1)
    store = ww.open_store(path)
    return [
        {
            "d": str(d),
            "alpha": str(alpha),
            "seed": str(task.seed),
            "iterations": str(iterations),
            "excess_error": f"{store.read(task).scalar('excess_error'):.6g}",
            "excess_error_theory": f"{theory.excess_error:.6g}",
        }
        for task in sweep.tasks()
    ]


if __name__ == "__main__":
    main()

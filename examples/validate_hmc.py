"""Hamiltonian Monte Carlo against the theory: error, matrix overlap and weight overlap.

Gaussian weights, homogeneous readouts, label noise 0.1. Chains start

- on the teacher, and forget it until they are at equilibrium;
- at the overlap that the theory predicts, W = QW⁰ + √(1 - Q²) Z with Z from the prior: if the theory is
  right they have little left to forget (not asked for where the prediction is above 0.8, near the teacher);
- at random, for ReLU: compared with the universal branch, where they stay.

Writes ``validate_hmc.csv`` beside this file, one row a run, and goes on where an earlier call stopped.

    python examples/validate_hmc.py --dimensions 60
    python examples/validate_hmc.py --dimensions 100 --starts predicted --iterations 300

What the table shows is told in "How far can I trust it?" of the documentation.
"""

import argparse
import itertools

import numpy as np

import widthwise as ww
from growing_table import GrowingTable
from widthwise.learners import hmc
from widthwise.networks import sample_instance

KEY = {
    "start": str,
    "activation": str,
    "gamma": float,
    "noise": float,
    "alpha": float,
    "d": int,
    "seed": int,
    "iterations": int,
}
MEASURED = ("excess_error", "matrix_overlap_centred", "weight_overlap")


def cases(options: argparse.Namespace):
    """Every run asked for, as the values of ``KEY``."""
    for d, seed, alpha, gamma in itertools.product(
        options.dimensions, range(options.seeds), options.alphas, options.gammas
    ):
        for start, activation in itertools.product(options.starts, ("relu", "tanh(2*x)")):
            if start == "random" and not (activation == "relu" and gamma == 0.5 and alpha >= 2):
                continue
            yield start, activation, gamma, 0.1, alpha, d, seed, options.iterations


def measure(start, activation, gamma, noise, alpha, d, seed, iterations) -> dict | None:
    """One row of the table; None where the predicted start would be as good as the teacher."""
    problem = ww.Problem(activation, channel=noise, gamma=gamma)
    theory = ww.solve(problem, alpha, branch="universal" if start == "random" else "equilibrium")
    overlap = theory.weight_overlap[0]  # one readout value
    instance = sample_instance(problem, d, alpha, seed)
    where = start
    if start == "predicted":
        if overlap > 0.8:
            return None
        noise_of_start = np.random.default_rng(seed).standard_normal(instance.weights.shape)
        where = overlap * instance.weights + np.sqrt(1 - overlap**2) * noise_of_start
    run = hmc(instance, start=where, iterations=iterations, seed=seed)
    row = dict(zip(KEY, (start, activation, gamma, noise, alpha, d, seed, iterations), strict=True))
    for name in MEASURED:
        measured, predicted = getattr(run, name), getattr(theory, name)
        if name == "weight_overlap":
            measured, predicted = measured[0], overlap
            if start == "predicted":  # unit by unit with the teacher's it came from, not with the nearest
                measured = np.mean(run.draws * instance.weights)
        row |= {name: f"{measured:.5g}", f"{name}_theory": f"{predicted:.5g}"}
    return row | {
        "excess_error_standard_error": f"{run.standard_error('excess_error'):.2g}",
        "replica_excess_error": f"{run.replicas['excess_error']:.5g}",
        "acceptance": f"{run.mean('acceptance'):.2f}",
        "status": run.status,
        "seconds": f"{run.timings['seconds']:.0f}",
        "version": ww.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dimensions", type=int, nargs="+", default=[60])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--gammas", type=float, nargs="+", default=[0.5, 0.8])
    parser.add_argument("--starts", nargs="+", default=["teacher", "predicted", "random"])
    parser.add_argument("--iterations", type=int, default=800)
    options = parser.parse_args()

    rows = GrowingTable(__file__, **KEY)
    for case in cases(options):
        if case in rows:
            continue
        row = measure(*case)
        if row is None:
            continue
        rows.add(row)
        shown = ("activation", "gamma", "alpha", "d", "start", "excess_error", "excess_error_theory")
        print(" ".join(f"{name}={row[name]}" for name in shown), flush=True)


if __name__ == "__main__":
    main()
